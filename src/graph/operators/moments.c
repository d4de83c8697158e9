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

/* (Contract in moments.h.) The dtype of the mean: deviations of complex numbers are real
 * once squared, and summed so. */
asn_dtype asn_variance_dtype(asn_dtype in, asn_dtype wish) {
    if (wish != ASN_DTYPE_NONE) return wish;
    return asn_is_inexact(in) ? in : ASN_F64;
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

/* Whether the dtype has exactly this value. */
static bool is_exact(double value, asn_dtype dtype) {
    asn_scalar exact = asn_scalar_float(value), there, back;
    return !asn_scalar_cast(&exact, dtype, &there) &&
           !asn_scalar_cast(&there, ASN_F64, &back) &&
           memcmp(exact.bytes, back.bytes, sizeof value) == 0;
}

/* The same number everywhere, as an operand of a division of `dtype`. It is divided by in
 * that dtype where the dtype has it, else, as always in NumPy, in float64: a half has no
 * 70000. */
static asn_status count_operand(const asn_item_count *n, const asn_operand *ddof,
                                asn_dtype dtype, asn_operand *count) {
    double number = (double)n->number, less;
    if (ddof) {
        asn_scalar whole;
        ASN_TRY(asn_scalar_cast(&ddof->scalar, ASN_F64, &whole));
        memcpy(&less, whole.bytes, sizeof less);
        number = number - less < 0 ? 0 : number - less;
    }
    *count = asn_operand_float(number);
    if (asn_is_inexact(dtype) && !is_exact(number, dtype)) count->weak = 0;
    return ASN_OK;
}

/* target /= count (minus ddof, not below 0), in place. */
static asn_status divide_by(const asn_array *target, const asn_item_count *n,
                            const asn_operand *ddof) {
    asn_ufunc_options options = {ASN_CASTING_UNSAFE, ASN_DTYPE_NONE, 'K', NULL};
    asn_operand in[2] = {{.array = target}, {.array = NULL}};
    asn_array left, limited;
    if (!n->varies) {
        ASN_TRY(count_operand(n, ddof, asn_layout_dtype(&target->layout), &in[1]));
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
                    const asn_item_count *n, const asn_array *into, asn_array *out) {
    ASN_TRY(asn_ufunc_reduce(ASN_OP_ADD, a, into, out, o));
    asn_status status = divide_by(into ? into : out, n, NULL);
    if (status != ASN_OK && !into) asn_array_fini(out);
    return status;
}

/* *out = |a - mean|**2. For complex numbers that is the real part of x times its
 * conjugate, as in NumPy, so that results agree to the last bit; deviations of integers
 * and floats from a mean that is complex NumPy squares as they are. */
static asn_status squared_deviation(const asn_array *a, const asn_operand *mean,
                                    asn_array *out) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_operand in[2] = {{.array = a}, *mean};
    asn_array x;
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, in, NULL, &x, &options));
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    asn_operand self = {.array = &x};
    asn_status status;
    asn_dtype dtype = asn_layout_dtype(&a->layout);
    bool real = !asn_is_complex(dtype) && dtype != ASN_BOOL;
    if (real || !asn_is_complex(asn_layout_dtype(&x.layout))) {
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
    asn_status status = asn_mean(a, &keep, &n, NULL, out);
    asn_item_count_fini(&n);
    return status;
}

/* The squared deviations from the mean that is given, or from that of the elements. */
static asn_status deviations(const asn_array *a, const asn_operand *given_mean,
                             const asn_reduce_options *o, asn_dtype dtype,
                             asn_array *out) {
    if (given_mean) return squared_deviation(a, given_mean, out);
    asn_array mean;
    ASN_TRY(kept_mean(a, o, dtype, &mean));
    asn_operand from = {.array = &mean};
    asn_status status = squared_deviation(a, &from, out);
    asn_array_fini(&mean);
    return status;
}

/* target = sqrt(target). A result that is one number NumPy converts to its dtype,
 * whatever that is; into an array of integers it does not write a root. */
static asn_status take_root(const asn_array *target, bool number) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    if (number) options.casting = ASN_CASTING_UNSAFE;
    asn_operand self = {.array = target};
    return asn_ufunc_call(ASN_OP_SQRT, &self, target, NULL, &options);
}

/* (Contract in moments.h.) In two passes, as NumPy's: the mean, then the sum of squared
 * deviations from it, over the number of elements less ddof. One pass over squares would
 * lose what the mean has in common with them. */
asn_status asn_variance(const asn_array *a, const asn_operand *given_mean,
                        const asn_reduce_options *o, asn_dtype dtype,
                        const asn_item_count *n, const asn_operand *ddof, bool root,
                        const asn_array *into, asn_array *out) {
    asn_array deviation;
    ASN_TRY(deviations(a, given_mean, o, dtype, &deviation));
    asn_reduce_options sum = *o;
    /* The deviations of a complex array are real: its own dtype says nothing about their
     * sum. Those of integers may be integers (from a given mean), and are summed as
     * floats. */
    if (o->dtype == ASN_DTYPE_NONE)
        sum.dtype = asn_is_inexact(asn_layout_dtype(&a->layout)) ? ASN_DTYPE_NONE : dtype;
    const asn_array *target = into ? into : out;
    asn_status status = asn_ufunc_reduce(ASN_OP_ADD, &deviation, into, out, &sum);
    asn_array_fini(&deviation);
    ASN_TRY(status);
    /* more degrees than elements: NumPy divides by 0, and says so */
    status = divide_by(target, n, ddof);
    if (!status && root) status = take_root(target, !into && out->layout.ndim == 0);
    if (status && !into) asn_array_fini(out);
    return status;
}
