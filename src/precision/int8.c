/* L2 precision: int8 with a scale for each channel, and products of it (precision.h).
 *
 * Dynamic quantisation as PyTorch's quantize_dynamic does it, symmetric: rows of the
 * first operand are quantised at each call, columns of the second one then or once
 * before. The sums of products are CANN's QuantMatmulV4 with an int32 result, exact up to
 * 2**17 terms, and are scaled in float32: with a half as its result the operator would
 * round to it. Where the device lacks the operator, or refuses it, the product is that of
 * the integers as float32: exact up to 2**24.
 *
 * CANN's DynamicQuant is not used for the rows: it takes halves alone, and a float32
 * would be rounded twice. */
#include <float.h>

#include "aclnnop/aclnn_quant_matmul_v4.h"
#include "graph/device/operator.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"
#include "precision/narrow.h"

asn_status asn_precision_quantise(asn_array *q, asn_array *scale, const asn_array *x,
                                  int axis) {
    if (asn_layout_dtype(&x->layout) != ASN_F32)
        return asn_error_set(ASN_ERR_TYPE,
                             "quantize_per_channel: dtype is %s; it must be float32",
                             asn_dtype_name(asn_layout_dtype(&x->layout)));
    if (axis < 0 || axis >= x->layout.ndim || x->layout.shape[axis] == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "quantize_per_channel: axis %d of an array of %d dimensions "
                             "is none, or empty",
                             axis, (int)x->layout.ndim);
    const asn_reduce_options along = {
        .axes = UINT64_C(1) << axis, .keepdims = true, .dtype = ASN_DTYPE_NONE};
    ASN_TEMPORARIES;
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, x));
    ASN_MAKE(most, asn_ufunc_reduce(ASN_OP_MAXIMUM, size, NULL, most, &along));
    ASN_MAKE(part,
             asn_np_binary(part, ASN_OP_DIVIDE, asn_np_of(most), asn_operand_float(127)));
    ASN_MAKE(step, asn_np_binary(step, ASN_OP_MAXIMUM, asn_np_of(part),
                                 asn_operand_float(FLT_MIN)));
    ASN_MAKE(exact, asn_np_binary(exact, ASN_OP_DIVIDE, asn_np_of(x), asn_np_of(step)));
    ASN_MAKE(whole, asn_np_unary(whole, ASN_OP_RINT, exact));
    ASN_TRY(asn_np_astype(q, whole, ASN_I8));
    asn_status status = asn_array_share(scale, step);
    if (status) asn_array_fini(q);
    return status;
}

asn_status asn_precision_dequantise(asn_array *out, const asn_array *q,
                                    const asn_array *scale) {
    ASN_TEMPORARIES;
    ASN_MAKE(single, asn_np_astype(single, q, ASN_F32));
    return asn_np_binary(out, ASN_OP_MULTIPLY, asn_np_of(single), asn_np_of(scale));
}

/* The operator into int32 `sums`; its scale is of no account there, but must be given.
 * *done false: the device does not do it. */
static asn_status quant_matmul(const asn_array *a, const asn_array *b,
                               const asn_array *sums, bool *done) {
    static asn_acl_operator op;
    const int64_t one = 1;
    const asn_operand value = asn_operand_int(1);
    uint64_t workspace = 0;
    aclOpExecutor *executor = NULL;
    aclTensor *t[4];
    __typeof__(aclnnQuantMatmulV4GetWorkspaceSize) *plan;
    *done = false;
    if (!op.run && !asn_acl_find("QuantMatmulV4", &op)) return ASN_OK;
    ASN_TEMPORARIES;
    ASN_MAKE(scale, asn_array_new(scale, ASN_F32, 1, &one, 'C'));
    ASN_TRY(asn_assign(scale, &value, ASN_CASTING_SAME_KIND, NULL));
    const asn_array *arrays[] = {a, b, scale, sums};
    asn_status status = asn_operator_tensors(4, arrays, 1u << 3, t);
    plan = (__typeof__(plan))op.get_workspace;
    if (!status) {
        const int code = plan(t[0], t[1], t[2], NULL, NULL, NULL, false, false, t[3],
                              &workspace, &executor);
        *done = code == 0;
        for (int i = 0; ASN_CAPTURING && *done && i < 4; i++)
            asn_capture_tensor(t[i]);
        if (code && code != ACLNN_ERR_PARAM_INVALID)
            status = asn_acl_failed(code, "matmul");
        if (*done) status = asn_operator_run(&op, workspace, executor, "matmul");
    }
    asn_operator_drop(4, t);
    return status;
}

/* The sums as float32, of the operator or of a product of float32. */
static asn_status sums_of(const asn_array *a, const asn_array *b, asn_array *out) {
    int64_t shape[ASN_MAX_DIMS];
    const asn_layout *x = &a->layout, *y = &b->layout;
    const int ndim = x->ndim > y->ndim ? x->ndim : y->ndim;
    bool done = false;
    for (int i = 1; i <= ndim; i++) {
        const int64_t p = i <= x->ndim ? x->shape[x->ndim - i] : 1;
        const int64_t q = i <= y->ndim ? y->shape[y->ndim - i] : 1;
        shape[ndim - i] = p > q ? p : q;
    }
    shape[ndim - 2] = x->shape[x->ndim - 2];
    shape[ndim - 1] = y->shape[y->ndim - 1];
    ASN_TEMPORARIES;
    ASN_MAKE(sums, asn_array_new(sums, ASN_I32, ndim, shape, 'C'));
    ASN_TRY(quant_matmul(a, b, sums, &done));
    if (done) return asn_np_astype(out, sums, ASN_F32);
    ASN_MAKE(p, asn_np_astype(p, a, ASN_F32));
    ASN_MAKE(q, asn_np_astype(q, b, ASN_F32));
    return asn_product_plain(p, q, out);
}

/* Dtypes, and that a and q multiply; the scale's shape is that of q's columns. */
static asn_status check(const asn_array *a, const asn_array *q, const asn_array *scale) {
    const asn_layout *x = &a->layout, *y = &q->layout, *s = &scale->layout;
    char left[256], right[256];
    if (x->dtype != ASN_F32 || y->dtype != ASN_I8 || s->dtype != ASN_F32)
        return asn_error_set(ASN_ERR_TYPE,
                             "int8 product: dtypes are %s, %s and %s; they must be "
                             "float32, int8 and float32",
                             asn_dtype_name(asn_layout_dtype(x)),
                             asn_dtype_name(asn_layout_dtype(y)),
                             asn_dtype_name(asn_layout_dtype(s)));
    bool fits = x->ndim >= 2 && y->ndim >= 2 && s->ndim == y->ndim &&
                x->shape[x->ndim - 1] == y->shape[y->ndim - 2] &&
                s->shape[s->ndim - 2] == 1 && x->shape[x->ndim - 1] > 0;
    for (int i = 0; fits && i < s->ndim; i++)
        fits = i == s->ndim - 2 || s->shape[i] == y->shape[i];
    for (int i = 3; fits && i <= x->ndim && i <= y->ndim; i++)
        fits = x->shape[x->ndim - i] == y->shape[y->ndim - i] ||
               x->shape[x->ndim - i] == 1 || y->shape[y->ndim - i] == 1;
    if (fits && x->shape[x->ndim - 1] <= ASN_INT8_MOST_TERMS) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "int8 product: shapes %s and %s do not multiply, or their sums "
                         "have none or more than %d terms",
                         asn_shape_format(left, sizeof left, x->ndim, x->shape),
                         asn_shape_format(right, sizeof right, y->ndim, y->shape),
                         ASN_INT8_MOST_TERMS);
}

asn_status asn_precision_multiply_int8(const asn_array *a, const asn_array *q,
                                       const asn_array *scale, asn_array *result) {
    ASN_TRY(check(a, q, scale));
    ASN_TEMPORARIES;
    asn_array *rows = &temporaries_.made[0];
    ASN_TRY(asn_precision_quantise(&rows[0], &rows[1], a, a->layout.ndim - 1));
    temporaries_.count = 2;
    ASN_MAKE(sums, sums_of(&rows[0], q, sums));
    ASN_MAKE(half,
             asn_np_binary(half, ASN_OP_MULTIPLY, asn_np_of(sums), asn_np_of(&rows[1])));
    return asn_np_binary(result, ASN_OP_MULTIPLY, asn_np_of(half), asn_np_of(scale));
}
