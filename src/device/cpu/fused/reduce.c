/* CPU device: direct entries to reductions: one operation over views, and reduceat.
 *
 * A reduction over views is a program of one copy with a reducing output, so it has the
 * engine's order and its bits. reduceat is NumPy's: segment i goes from indices[i] to
 * indices[i + 1], or is the one element at indices[i] where that is no greater; the last
 * one goes to the end. Each segment is a reduction by itself (reduce_segments, the
 * general path); many short ones of contiguous lines go straight to the fold kernel.
 */
#include "device/cpu/fused/reduce.h"

#include <string.h>

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/threads.h"

/* ASN_ERR_NO_LOOP: no fold of `op` for the dtype (halves fold as float32). */
static asn_status check_reduction(asn_op op, const asnd_nd *in) {
    asn_dtype loop = asn_is_half(in->dtype) ? ASN_F32 : in->dtype;
    if ((unsigned)op >= ASN_OP_CAST || !asn_kernels_get()->fold[op][loop])
        return asn_error_set(ASN_ERR_NO_LOOP, "%s: no reduction for dtype %s",
                             (unsigned)op < ASN_OP_COUNT ? asn_op_table[op].name
                                                         : "opcode",
                             asn_dtype_name(in->dtype));
    return ASN_OK;
}

asn_status asn_cpu_reduce(asn_op op, uint64_t mask, const asnd_nd *in, const asnd_nd *out,
                          uint32_t *fp_flags) {
    int64_t strides[ASN_ND_MAX_DIMS];
    ASN_TRY(check_reduction(op, in));
    if (out->ndim != in->ndim || out->dtype != in->dtype)
        return asn_error_set(ASN_ERR_VALUE, "%s: a %d-d %s reduces into a %d-d %s",
                             asn_op_table[op].name, in->ndim, asn_dtype_name(in->dtype),
                             out->ndim, asn_dtype_name(out->dtype));
    for (int d = 0; d < in->ndim; d++)
        strides[d] = mask >> d & 1 ? 0 : out->strides[d];
    uint8_t acl = (uint8_t)asn_dtype_table[in->dtype].acl;
    aclnnxOperand operands[2] = {
        {.data = in->data,
         .strides = in->strides,
         .dtype = acl,
         .reduceOp = ACLNNX_NO_REDUCE},
        {.data = out->data, .strides = strides, .dtype = acl, .reduceOp = (uint16_t)op}};
    aclnnxInstr copy = {ASN_OP_COPY, acl, acl, 1, {0, 0, 0}};
    aclnnxProgram p = {.numDims = in->ndim,
                       .numIn = 1,
                       .numOut = 1,
                       .numInstrs = 1,
                       .numRegs = 2,
                       .shape = in->shape,
                       .reduceMask = mask,
                       .operands = operands,
                       .instrs = &copy,
                       .fpFlags = fp_flags};
    return asn_cpu_fused(&p);
}

/* ---- reduceat */

typedef struct {
    asnd_lines *lines; /* views: in, out, both with stride 0 along the axis */
    asnd_fold_fn fold;
    int item;
    int64_t in_stride, out_stride, extent, segments;
    const char *indices;
    int64_t index_stride;
} reduceat_run;

/* The length of segment i, and its first position in *first. */
static int64_t segment(const reduceat_run *r, int64_t i, int64_t *first) {
    *first = *(const int64_t *)(r->indices + i * r->index_stride);
    int64_t end = r->extent;
    if (i + 1 < r->segments)
        end = *(const int64_t *)(r->indices + (i + 1) * r->index_stride);
    return end > *first ? end - *first : 1;
}

/* Contiguous segments of one line, without the engine's overhead per segment. */
static void reduceat_chunk(void *ctx, int64_t number) {
    const reduceat_run *r = ctx;
    asnd_line line;
    asn_lines_seek(r->lines, &line, number);
    for (int64_t i = 0; i < r->segments; i++) {
        int64_t first, n = segment(r, i, &first);
        const char *p = line.at[0] + first * r->in_stride;
        char *acc = line.at[1] + i * r->out_stride;
        memcpy(acc, p, (size_t)r->item);
        r->fold(n - 1, acc, p + r->in_stride);
    }
}

/* The general path: one program per segment. */
static asn_status reduce_segments(asn_op op, const asnd_nd *in, int axis,
                                  const asnd_nd *out, const reduceat_run *r) {
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    for (int64_t i = 0; i < r->segments; i++) {
        int64_t first;
        shape[axis] = segment(r, i, &first);
        asnd_nd from = {in->data + first * in->strides[axis], in->ndim, in->dtype, shape,
                        in->strides};
        asnd_nd to = {out->data + i * out->strides[axis], out->ndim, out->dtype, shape,
                      out->strides};
        ASN_TRY(asn_cpu_reduce(op, (uint64_t)1 << axis, &from, &to, NULL));
    }
    return ASN_OK;
}

/* Float sums only take the direct way where segments are short: a fold adds one after the
 * other, the engine with its rounding errors carried along. */
asn_status asn_cpu_reduceat(asn_op op, const asnd_nd *in, int axis,
                            const asnd_nd *indices, const asnd_nd *out) {
    ASN_TRY(check_reduction(op, in));
    if (axis < 0 || axis >= in->ndim || indices->ndim != 1 || indices->dtype != ASN_I64 ||
        out->ndim != in->ndim || out->dtype != in->dtype)
        return asn_error_set(ASN_ERR_VALUE,
                             "reduceat: axis %d of a %d-d %s, %d-d %s indices", axis,
                             in->ndim, asn_dtype_name(in->dtype), indices->ndim,
                             asn_dtype_name(indices->dtype));
    asnd_lines lines;
    reduceat_run r = {.lines = &lines,
                      .extent = in->shape[axis],
                      .segments = indices->shape[0],
                      .indices = indices->data,
                      .index_stride = indices->strides[0],
                      .item = asn_itemsize(in->dtype),
                      .in_stride = in->strides[axis],
                      .out_stride = out->strides[axis]};
    for (int64_t i = 0; i < r.segments; i++) {
        int64_t at = *(const int64_t *)(r.indices + i * r.index_stride);
        if (at < 0 || at >= r.extent)
            return asn_error_set(
                ASN_ERR_INDEX, "index %lld out-of-bounds in %s.reduceat [0, %lld)",
                (long long)at, asn_op_table[op].name, (long long)r.extent);
    }
    bool sums = op == ASN_OP_ADD && asn_is_inexact(in->dtype);
    bool direct = r.in_stride == r.item && !asn_is_half(in->dtype) &&
                  (!sums || r.extent < 16 * r.segments);
    if (!direct || r.segments == 0) return reduce_segments(op, in, axis, out, &r);
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    shape[axis] = 1;
    asn_lines_init(r.lines, in->ndim, shape, axis, 2, (char *[]){in->data, out->data},
                   (const int64_t *[]){in->strides, out->strides});
    r.fold = asn_kernels_get()->fold[op][in->dtype];
    double ns = (double)r.lines->count * ((double)r.extent + 5.0 * (double)r.segments);
    asn_pool_run(reduceat_chunk, &r, r.lines->count, ns);
    return ASN_OK;
}
