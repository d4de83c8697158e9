/* L2 graph: operations of the device on whole lines of elements, in one call each:
 * linear interpolation, sliding products, products of sparse matrices (see families.h).
 * Operands are contiguous, or packed first.
 */
#include "graph/operators/families.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/device/relative.h"
#include "graph/device/operator.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"

enum { MOST_LINES = 4 };

/* `a` itself or a packed copy. */
static asn_status packed_line(asn_array *line, const asn_array *a) {
    if (asn_layout_contiguous(&a->layout))
        ASN_TRY(asn_array_share(line, a));
    else
        ASN_TRY(asn_copy(line, a, (asn_dtype)a->layout.dtype, 'C'));
    return ASN_OK;
}

/* What a call needs beside its operands. */
typedef struct {
    double left, right;
    int64_t first;
} line_numbers;

/* One operator: o is its operands, the result last; lines are the inputs that they
 * describe; out is the result's layout. */
typedef int (*line_call)(const aclnnxOperand *o, const asn_array *lines,
                         const asn_layout *out, const line_numbers *numbers);

/* aclnnxInterp on x, xp and fp. */
static int call_interp(const aclnnxOperand *o, const asn_array *lines,
                       const asn_layout *out, const line_numbers *numbers) {
    return asn_acl.aclnnxInterp(&o[0], &o[1], &o[2], &o[3], out->size,
                                lines[1].layout.size, numbers->left, numbers->right,
                                asn_stream());
}

/* aclnnxCorrelate on a and v. */
static int call_correlate(const aclnnxOperand *o, const asn_array *lines,
                          const asn_layout *out, const line_numbers *numbers) {
    return asn_acl.aclnnxCorrelate(&o[0], &o[1], &o[2], lines[0].layout.size,
                                   lines[1].layout.size, numbers->first, out->size,
                                   asn_stream());
}

/* aclnnxSparseMatmul on indptr, indices, data and b. */
static int call_sparse(const aclnnxOperand *o, const asn_array *lines,
                       const asn_layout *out, const line_numbers *numbers) {
    (void)numbers;
    return asn_acl.aclnnxSparseMatmul(&o[0], &o[1], &o[2], &o[3], &o[4], out->shape[0],
                                      lines[3].layout.shape[0], out->shape[1],
                                      lines[1].layout.size, asn_stream());
}

/* The call, with the library's lock held. `result` has its layout, and memory from here
 * on: of an empty one nothing is called. `have` counts the lines that need their fini;
 * the memory of packed ones stays until the streams that read it are done. */
static asn_status run_locked(asn_array *result, const asn_array *const *from, int num,
                             line_call call, const line_numbers *numbers,
                             const char *name) {
    asn_array lines[MOST_LINES];
    const asn_array *all[MOST_LINES + 1];
    aclnnxOperand o[MOST_LINES + 1];
    int have = 0;
    asn_status status = ASN_OK;
    for (; have < num && !status; have += !status) {
        status = packed_line(&lines[have], from[have]);
        all[have] = &lines[have];
    }
    all[num] = result;
    if (!status) status = asn_relative_operands(num + 1, all, 1, o);
    if (!status && result->layout.size)
        status = asn_relative_begin(num + 1, all, 1, false);
    if (!status && result->layout.size) {
        for (int i = 0; i <= num; i++)
            o[i].strides = NULL; /* contiguous, however many axes there are */
        status =
            asn_relative_end(call(o, lines, &result->layout, numbers), name, num, from);
    }
    while (have > 0)
        asn_array_fini(&lines[--have]);
    return status;
}

/* With the lock; the result is ended where the call fails. */
static asn_status run_lines(asn_array *result, const asn_array *const *from, int num,
                            line_call call, const line_numbers *numbers,
                            const char *name) {
    asn_lock();
    asn_status status = run_locked(result, from, num, call, numbers, name);
    asn_unlock();
    if (status) asn_array_fini(result);
    return status;
}

/* The error that sends the caller to its composition of other operations. */
static asn_status absent(const char *name) {
    return asn_error_set(ASN_ERR_UNSUPPORTED, "%s: the device has no such operation",
                         name);
}

/* (Contract in families.h.) All operands are float64; whether xp ascends is not looked
 * at. */
asn_status asn_interp(asn_array *result, const asn_array *x, const asn_array *xp,
                      const asn_array *fp, double left, double right) {
    const asn_array *from[] = {x, xp, fp};
    const asn_layout *l = &x->layout;
    ASN_TRY(asn_device_open());
    if (!asn_fuse_enabled() || !asn_acl.aclnnxInterp) return absent("interp");
    ASN_TRY(asn_array_new(result, ASN_F64, l->ndim, l->shape, 'C'));
    return run_lines(result, from, 3, call_interp,
                     &(line_numbers){.left = left, .right = right}, "interp");
}

/* (Contract in families.h.) Halves, bool and complex numbers have no loop. */
asn_status asn_correlate(asn_array *result, const asn_array *a, const asn_array *v,
                         int64_t first, int64_t count) {
    const asn_array *from[] = {a, v};
    asn_dtype dtype = (asn_dtype)a->layout.dtype;
    bool has_loop = asn_is_integer(dtype) || dtype == ASN_F32 || dtype == ASN_F64;
    ASN_TRY(asn_device_open());
    if (!asn_fuse_enabled() || !asn_acl.aclnnxCorrelate || !has_loop)
        return absent("correlate");
    ASN_TRY(asn_array_new(result, dtype, 1, &count, 'C'));
    return run_lines(result, from, 2, call_correlate, &(line_numbers){.first = first},
                     "correlate");
}

/* (Contract in families.h.) Halves have no loop. */
asn_status asn_sparse_matmul(asn_array *result, const asn_array *indptr,
                             const asn_array *indices, const asn_array *data,
                             const asn_array *b) {
    const asn_array *from[] = {indptr, indices, data, b};
    const asn_dtype dtype = (asn_dtype)data->layout.dtype;
    ASN_TRY(asn_device_open());
    if (!asn_fuse_enabled() || !asn_acl.aclnnxSparseMatmul || asn_is_half(dtype))
        return absent("sparse_matmul");
    const int64_t shape[2] = {indptr->layout.size - 1, b->layout.shape[1]};
    ASN_TRY(asn_array_new(result, dtype, 2, shape, 'C'));
    return run_lines(result, from, 4, call_sparse, &(line_numbers){0}, "sparse_matmul");
}
