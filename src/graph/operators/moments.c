/* L2 graph: means and variances (see moments.h).
 *
 * Every step is an operation of the table, so that it is recorded: a mean joins the
 * program that computes its array, and a variance reads the array twice. */
#include "graph/operators/moments.h"

#include <string.h>

#include "array/views.h"

/* (Contract in moments.h.) NumPy sums halves in float32 and rounds the mean to half. */
void asn_mean_dtypes(asn_dtype in, asn_dtype wish, asn_dtype *sum, asn_dtype *result) {
    *sum = *result = wish;
    if (wish != ASN_DTYPE_NONE) return;
    *sum = *result = in;
    if (!asn_is_inexact(in)) *sum = *result = ASN_F64;
    if (asn_is_half(in)) *sum = ASN_F32;
}

/* (Contract in moments.h.) Complex deviations are real once squared, but for the sum's
 * dtype NumPy starts from the input's. */
void asn_variance_dtypes(asn_dtype in, asn_dtype wish, asn_dtype *sum,
                         asn_dtype *result) {
    *sum = *result = wish;
    if (wish != ASN_DTYPE_NONE) return;
    *sum = asn_is_inexact(in) ? in : ASN_F64;
    *result = asn_real_dtype(*sum);
}

/* (Contract in moments.h.) With where the number is a reduction of its own: the mask,
 * stretched to a's shape, summed over the same axes. */
asn_status asn_item_count_init(asn_item_count *n, const asn_array *a,
                               const asn_reduce_options *o) {
    n->varies = o->where != NULL;
    n->number = 1;
    for (int d = 0; d < a->layout.ndim; d++)
        if (o->axes >> d & 1) n->number *= a->layout.shape[d];
    if (!n->varies) return ASN_OK;
    asn_layout stretched;
    ASN_TRY(asn_view_broadcast(&stretched, &o->where->layout, a->layout.ndim,
                               a->layout.shape));
    asn_array mask;
    asn_array_view(&mask, o->where, &stretched);
    asn_reduce_options counting = {
        .axes = o->axes, .keepdims = o->keepdims, .dtype = ASN_I64, .now = o->now};
    asn_status status = asn_ufunc_reduce(ASN_OP_ADD, &mask, NULL, &n->counts, &counting);
    asn_array_fini(&mask);
    return status;
}

/* Ends it. */
void asn_item_count_fini(asn_item_count *n) {
    if (n->varies) asn_array_fini(&n->counts);
}

/* target /= count (minus ddof, not below 0), in place. */
static asn_status divide_by(asn_array *target, const asn_item_count *n,
                            const asn_operand *ddof) {
    asn_ufunc_options options = {ASN_CASTING_UNSAFE, ASN_DTYPE_NONE, 'K', NULL};
    asn_operand in[2] = {{.array = target}, {.array = NULL}};
    asn_array left, limited;
    /* the same number everywhere: a scalar, which makes no result wider */
    if (!n->varies) {
        double count = (double)n->number;
        if (ddof) {
            asn_scalar number;
            ASN_TRY(asn_scalar_cast(&ddof->scalar, ASN_F64, &number));
            double d;
            memcpy(&d, number.bytes, sizeof d);
            count = count - d < 0 ? 0 : count - d;
        }
        in[1].weak = 'f';
        in[1].scalar.dtype = ASN_F64;
        memcpy(in[1].scalar.bytes, &count, sizeof count);
        return asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    }
    if (!ddof) {
        in[1].array = &n->counts;
        return asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    }
    /* counts - ddof, but at least 0 */
    asn_operand less[2] = {{.array = &n->counts}, *ddof}, floor[2];
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, less, NULL, &left, &options));
    floor[0] = (asn_operand){.array = &left};
    floor[1] = asn_operand_int(0);
    asn_status status = asn_ufunc_call(ASN_OP_MAXIMUM, floor, NULL, &limited, &options);
    asn_array_fini(&left);
    ASN_TRY(status);
    in[1].array = &limited;
    status = asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    asn_array_fini(&limited);
    return status;
}

/* (Contract in moments.h.) A sum, divided in place by the count. */
asn_status asn_mean(const asn_array *a, const asn_reduce_options *o,
                    const asn_item_count *n, asn_array *out) {
    ASN_TRY(asn_ufunc_reduce(ASN_OP_ADD, a, NULL, out, o));
    asn_status status = divide_by(out, n, NULL);
    if (status != ASN_OK) asn_array_fini(out);
    return status;
}

/* *out = |a - mean|**2, real. For complex numbers that is the real part of x times its
 * conjugate, as in NumPy, so that results agree to the last bit. */
static asn_status squared_deviation(const asn_array *a, const asn_array *mean,
                                    asn_array *out) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_operand in[2] = {{.array = a}, {.array = mean}};
    asn_array x;
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, in, NULL, &x, &options));
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    asn_operand self = {.array = &x};
    asn_status status;
    if (!asn_is_complex((asn_dtype)x.layout.dtype)) {
        status = asn_ufunc_call(ASN_OP_SQUARE, &self, NULL, out, &plain);
    } else {
        asn_array conjugate, product;
        status = asn_ufunc_call(ASN_OP_CONJUGATE, &self, NULL, &conjugate, &plain);
        if (status == ASN_OK) {
            asn_operand pair[2] = {{.array = &x}, {.array = &conjugate}};
            status = asn_ufunc_call(ASN_OP_MULTIPLY, pair, NULL, &product, &plain);
            asn_array_fini(&conjugate);
        }
        if (status == ASN_OK) {
            asn_operand whole = {.array = &product};
            status = asn_ufunc_call(ASN_OP_REAL, &whole, NULL, out, &plain);
            asn_array_fini(&product);
        }
    }
    asn_array_fini(&x);
    return status;
}

/* The mean over the reduced axes, kept as extent 1 so that it can be subtracted. It is
 * taken over the same elements (o's where). */
static asn_status kept_mean(const asn_array *a, const asn_reduce_options *o,
                            asn_dtype dtype, asn_array *out) {
    asn_reduce_options keep = *o;
    keep.keepdims = true;
    keep.dtype = dtype;
    asn_item_count n;
    ASN_TRY(asn_item_count_init(&n, a, &keep));
    asn_status status = asn_mean(a, &keep, &n, out);
    asn_item_count_fini(&n);
    return status;
}

/* (Contract in moments.h.) In two passes, as NumPy's: the mean, then the sum of squared
 * deviations from it, over the number of elements less ddof. One pass over squares would
 * lose what the mean has in common with them. */
asn_status asn_variance(const asn_array *a, const asn_array *given_mean,
                        const asn_reduce_options *o, asn_dtype dtype,
                        const asn_item_count *n, const asn_operand *ddof, bool root,
                        asn_array *out) {
    asn_array mean, deviation;
    if (given_mean)
        ASN_TRY(asn_array_share(&mean, given_mean));
    else
        ASN_TRY(kept_mean(a, o, dtype, &mean));
    asn_status status = squared_deviation(a, &mean, &deviation);
    asn_array_fini(&mean);
    ASN_TRY(status);
    asn_reduce_options sum = *o;
    /* The deviations of a complex array are real: its own dtype says nothing about their
     * sum. Those of integers from a given integer are integers, and summed as floats. */
    if (o->dtype == ASN_DTYPE_NONE)
        sum.dtype =
            asn_is_inexact((asn_dtype)deviation.layout.dtype) ? ASN_DTYPE_NONE : dtype;
    status = asn_ufunc_reduce(ASN_OP_ADD, &deviation, NULL, out, &sum);
    asn_array_fini(&deviation);
    ASN_TRY(status);
    /* more degrees than elements: NumPy divides by 0, and says so */
    status = divide_by(out, n, ddof);
    if (status == ASN_OK && root) {
        asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
        asn_operand self = {.array = out};
        status = asn_ufunc_call(ASN_OP_SQRT, &self, out, NULL, &options);
    }
    if (status != ASN_OK) asn_array_fini(out);
    return status;
}
