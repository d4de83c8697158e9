/* L2 graph: the layer of the device's interface that a profile puts in
 * (asn_acl_interpose): copies, and the fused operator's relatives, leave an event each,
 * whoever calls them.
 *
 * Fused programs and CANN's operators are recorded where they are launched (launch.c,
 * operator.c): what is told of them, lines and dtypes of the operations, operands' sizes,
 * the interface does not pass on.
 */
#include "graph/profile_events.h"

#include <math.h>

#include "graph/opcodes.h"
#include "runtime/device.h"

#define BELOW asn_acl_below[ASN_LAYER_PROFILE]

/* Ends a mark; a call that failed has moved nothing. */
static void end(asn_mark mark, int32_t code, const char *name, int64_t bytes,
                int64_t flops) {
    if (!mark.ticks) return;
    asn_event *e = asn_profile_close(mark, ASN_EVENT_OPERATOR, name, 0);
    if (!code) {
        e->bytes = bytes;
        e->work = flops;
    }
    asn_profile_keep(mark);
}

/* A few bytes that the host copies itself are a small operation: 10 ns, of which an event
 * would tell in a hundred. */
static int32_t record_memcpy(void *dst, size_t room, const void *src, size_t count,
                             aclrtMemcpyKind kind) {
    enum { FEW = 1024 };
    const bool in = kind == ACL_MEMCPY_HOST_TO_DEVICE;
    if (!in && kind != ACL_MEMCPY_DEVICE_TO_HOST)
        return BELOW.aclrtMemcpy(dst, room, src, count, kind);
    const char *name = in ? "copy from host" : "copy to host";
    bool small = count <= FEW && asn_device_host_access();
    uint64_t begin = small ? asn_profile_begin_small() : 0;
    asn_mark mark = small ? ASN_NO_MARK : asn_profile_begin();
    int32_t code = BELOW.aclrtMemcpy(dst, room, src, count, kind);
    if (mark.ticks && !code)
        asn_profile_note(mark, in ? ASN_EVENT_TO_DEVICE : ASN_EVENT_TO_HOST, name,
                         (int64_t)count);
    if (asn_profile_small_timed(begin, !code))
        asn_profile_small(begin, name, (int64_t)count, 0);
    return code;
}

/* An element counts as one operation of the row, at each step of the scan. */
static int32_t record_scan(int32_t op, const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t ndim, const int64_t *shape, int32_t axis,
                           uint32_t *flags, void *stream) {
    asn_op row = asn_op_of_device(op);
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code = BELOW.aclnnxScan(op, in, out, ndim, shape, axis, flags, stream);
    end(mark, code, asn_op_table[row].name,
        asn_operand_bytes(in, ndim, shape) + asn_operand_bytes(out, ndim, shape),
        asn_elements_of(ndim, shape) * asn_flops_of(row, asn_dtype_from_acl(in->dtype)));
    return code;
}

static int32_t record_update_at(int32_t op, const aclnnxOperand *self, int32_t ndim,
                                const int64_t *shape, int32_t num,
                                const aclnnxOperand *indices, int32_t index_ndim,
                                const int64_t *index_shape, const aclnnxOperand *values,
                                uint32_t *flags, void *stream) {
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code = BELOW.aclnnxUpdateAt(op, self, ndim, shape, num, indices, index_ndim,
                                        index_shape, values, flags, stream);
    /* The values lie over the indices' shape and the axes that have none. */
    int64_t bytes = asn_operand_bytes(values, index_ndim, index_shape);
    for (int d = num; d < ndim; d++)
        if (!values->strides || values->strides[index_ndim + d - num]) bytes *= shape[d];
    end(mark, code, "update at", asn_operand_bytes(self, ndim, shape) + bytes, 0);
    return code;
}

/* Comparisons are no floating-point operations. */
static int32_t record_sort(const aclnnxOperand *in, const aclnnxOperand *out,
                           int32_t ndim, const int64_t *shape, int32_t axis,
                           int32_t indices, int32_t num_kth, const int64_t *kth,
                           void *stream) {
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code =
        BELOW.aclnnxSort(in, out, ndim, shape, axis, indices, num_kth, kth, stream);
    end(mark, code, indices == ACLNNX_SORT_INDICES ? "argsort" : "sort",
        asn_operand_bytes(in, ndim, shape) + asn_operand_bytes(out, ndim, shape), 0);
    return code;
}

/* 5 n log2(n) operations for a transform of n points, as is usual. */
void asn_record_fft(asn_mark mark, int32_t code, int64_t n, const aclnnxOperand *in,
                    const int64_t *in_shape, const aclnnxOperand *out,
                    const int64_t *out_shape, int32_t ndim) {
    double size = (double)asn_elements_of(ndim, out_shape);
    double flops = n ? size * 5 * log2((double)(n > 1 ? n : 2)) : 0;
    end(mark, code, "fft",
        asn_operand_bytes(in, ndim, in_shape) + asn_operand_bytes(out, ndim, out_shape),
        (int64_t)flops);
}

static int32_t record_fft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                          const int64_t *in_shape, const aclnnxOperand *out,
                          const int64_t *out_shape, int32_t ndim, int32_t axis,
                          uint32_t *flags, void *stream) {
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code = BELOW.aclnnxFft(kind, n, scale, in, in_shape, out, out_shape, ndim,
                                   axis, flags, stream);
    asn_record_fft(mark, code, n, in, in_shape, out, out_shape, ndim);
    return code;
}

const char *asn_linalg_name(int32_t op) {
    static const char *const names[] = {
        [ACLNNX_LINALG_SOLVE] = "solve",       [ACLNNX_LINALG_INV] = "inv",
        [ACLNNX_LINALG_DET] = "det",           [ACLNNX_LINALG_SLOGDET] = "slogdet",
        [ACLNNX_LINALG_CHOLESKY] = "cholesky", [ACLNNX_LINALG_QR] = "qr",
        [ACLNNX_LINALG_QR_RAW] = "qr",         [ACLNNX_LINALG_QR_R] = "qr",
        [ACLNNX_LINALG_SVD] = "svd",           [ACLNNX_LINALG_SVDVALS] = "svd",
        [ACLNNX_LINALG_EIG] = "eig",           [ACLNNX_LINALG_EIGVALS] = "eigvals",
        [ACLNNX_LINALG_EIGH] = "eigh",         [ACLNNX_LINALG_EIGVALSH] = "eigvalsh",
        [ACLNNX_LINALG_LSTSQ] = "lstsq",
    };
    return names[op];
}

void asn_record_linalg(asn_mark mark, int32_t code, int32_t op, int32_t num,
                       const aclnnxTensor *operands) {
    int64_t bytes = 0;
    for (int i = 0; i < num; i++)
        bytes += asn_elements_of(operands[i].numDims, operands[i].shape) *
                 asn_itemsize(asn_dtype_from_acl(operands[i].dtype));
    end(mark, code, asn_linalg_name(op), bytes, 0);
}

static int32_t record_linalg(int32_t op, int32_t options, double rcond, int32_t num_batch,
                             int32_t num, const aclnnxTensor *operands, int64_t *failed,
                             uint32_t *flags) {
    asn_mark mark = asn_profile_begin(); /* on the calling thread, whichever device */
    int32_t code =
        BELOW.aclnnxLinalg(op, options, rcond, num_batch, num, operands, failed, flags);
    asn_record_linalg(mark, code, op, num, operands);
    return code;
}

static int32_t record_interp(const aclnnxOperand *x, const aclnnxOperand *xp,
                             const aclnnxOperand *fp, const aclnnxOperand *out, int64_t n,
                             int64_t points, double left, double right, void *stream) {
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code = BELOW.aclnnxInterp(x, xp, fp, out, n, points, left, right, stream);
    end(mark, code, "interp",
        asn_operand_bytes(x, 1, &n) + asn_operand_bytes(xp, 1, &points) +
            asn_operand_bytes(fp, 1, &points) + asn_operand_bytes(out, 1, &n),
        0);
    return code;
}

static int32_t record_correlate(const aclnnxOperand *a, const aclnnxOperand *v,
                                const aclnnxOperand *out, int64_t n, int64_t m,
                                int64_t first, int64_t count, void *stream) {
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code = BELOW.aclnnxCorrelate(a, v, out, n, m, first, count, stream);
    end(mark, code, "correlate",
        asn_operand_bytes(a, 1, &n) + asn_operand_bytes(v, 1, &m) +
            asn_operand_bytes(out, 1, &count),
        0);
    return code;
}

static int32_t record_sparse(const aclnnxOperand *indptr, const aclnnxOperand *indices,
                             const aclnnxOperand *data, const aclnnxOperand *b,
                             const aclnnxOperand *out, int64_t m, int64_t k, int64_t n,
                             int64_t nnz, void *stream) {
    const int64_t in[2] = {k, n}, to[2] = {m, n};
    asn_mark mark = asn_profile_begin_on_device();
    int32_t code =
        BELOW.aclnnxSparseMatmul(indptr, indices, data, b, out, m, k, n, nnz, stream);
    end(mark, code, "sparse_matmul",
        asn_operand_bytes(indices, 1, &nnz) + asn_operand_bytes(data, 1, &nnz) +
            asn_operand_bytes(b, 2, in) + asn_operand_bytes(out, 2, to),
        0);
    return code;
}

static void install(asn_acl_api *table) {
    table->aclrtMemcpy = record_memcpy;
    if (table->aclnnxScan) table->aclnnxScan = record_scan;
    if (table->aclnnxUpdateAt) table->aclnnxUpdateAt = record_update_at;
    if (table->aclnnxSort) table->aclnnxSort = record_sort;
    if (table->aclnnxFft) table->aclnnxFft = record_fft;
    if (table->aclnnxLinalg) table->aclnnxLinalg = record_linalg;
    if (table->aclnnxInterp) table->aclnnxInterp = record_interp;
    if (table->aclnnxCorrelate) table->aclnnxCorrelate = record_correlate;
    if (table->aclnnxSparseMatmul) table->aclnnxSparseMatmul = record_sparse;
}

void asn_record_layer(void) {
    asn_acl_interpose(ASN_LAYER_PROFILE, asn_profile_on ? install : NULL);
}
