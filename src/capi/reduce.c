/* L3 C binding: reductions and scans (ufunc.h).
 *
 * A reduction of everything to one number goes the direct way for small arrays
 * (graph/small/direct.h), which gives a number without an array between; the handle is
 * then made of it. Anything else, and what the direct way declines, is the core's
 * reduction. The named ones (sum, max, ...) are the general one by the name of their
 * operation.
 *
 * Axes are a mask of bits. NULL is all axes; a list of none reduces nothing, as axis=()
 * in NumPy.
 */
#include "capi/capi.h"

#include "graph/small/direct.h"
#include "graph/operators/moments.h"
#include "numpy/sums.h"

/* A reduction's options in the core's terms; `initial` is what they point to. */
typedef struct {
    asn_reduce_options options;
    asn_operand initial;
} reduction;

/* NULL: all axes, no options. The initial value lies in `r`, which the options point
 * into. */
static asn_status read_options(reduction *r, const asnp_array *a,
                               const asnp_reduce_options *given) {
    /* ASNP_REDUCE_DEFAULTS: all axes, no dtype, no mask, no initial value. */
    static const asnp_reduce_options defaults = ASNP_REDUCE_DEFAULTS;
    if (!given) given = &defaults;
    NEED(a);
    r->options = (asn_reduce_options){.keepdims = given->keepdims != 0};
    ASN_TRY(asn_capi_axes(given->num_axes, given->axes, asn_capi_layout(a)->ndim,
                          &r->options.axes));
    ASN_TRY(asn_capi_dtype(given->dtype, true, &r->options.dtype));
    ASN_TRY(asn_capi_mask(given->where, "where"));
    if (given->where) r->options.where = &given->where->array;
    if (given->initial) {
        ASN_TRY(asn_capi_number(*given->initial, &r->initial));
        r->options.initial = &r->initial;
    }
    return ASN_OK;
}

/* Where the mask hides everything there is nothing to begin with. */
static asn_status check_where(asn_op op, const asn_reduce_options *o) {
    if (!o->where || o->initial || asn_op_table[op].has_identity) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "reduction operation '%s' does not have an identity, so to use "
                         "a where mask one has to specify 'initial'",
                         asn_op_table[op].name);
}

/* All axes and nothing else asked for: the result may come as one number. */
static bool is_plain(const asnp_reduce_options *o) {
    return !o || (!o->axes && !o->keepdims && o->dtype == ASNP_DTYPE_NONE && !o->where &&
                  !o->initial);
}

/* A number as a 0-d array. */
static asnp_status number_result(const asn_scalar *value, asnp_array **out) {
    const asn_operand number = {.scalar = *value};
    asn_array made;
    /* Of the value's own dtype: bool of any, the input's of maximum. */
    return asn_capi_wrap(asn_full(&made, (asn_dtype)value->dtype, 0, NULL, 'C', &number),
                         &made, out);
}

/* By the ways for small arrays, and for any and all of large ones. */
static asn_status reduce_whole(asn_op op, const asnp_array *a, asn_scalar *value,
                               bool *done) {
    bool truth;
    /* any and all of a large array go piece by piece, until the answer is known. */
    *done = asn_direct_reduce(op, &a->array, value);
    if (*done || (op != ASN_OP_LOGICAL_OR && op != ASN_OP_LOGICAL_AND)) return ASN_OK;
    ASN_TRY(asn_truth_reduce(op, &a->array, &truth, done));
    *value = asn_scalar_bool(truth);
    return ASN_OK;
}

/* ufunc.reduce; the direct way is for the defaults alone. */
asnp_status asnp_reduce(const char *name, const asnp_array *a,
                        const asnp_reduce_options *options, asnp_array **out) {
    IN_LIBRARY;
    asn_op op;
    reduction r;
    asn_array made;
    asn_scalar value;
    bool done = false;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_binary_op(name, &op));
    if (is_plain(options)) ASN_TRY(reduce_whole(op, a, &value, &done));
    if (done) return number_result(&value, out);
    ASN_TRY(read_options(&r, a, options));
    ASN_TRY(check_where(op, &r.options));
    return asn_capi_wrap(asn_ufunc_reduce(op, &a->array, NULL, &made, &r.options), &made,
                         out);
}

/* Cast to out's dtype whatever it is, as NumPy's out= of a reduction. */
asnp_status asnp_reduce_into(const char *name, const asnp_array *a,
                             const asnp_reduce_options *options, asnp_array *out) {
    IN_LIBRARY;
    asn_op op;
    reduction r;
    NEED(out);
    ASN_TRY(asn_capi_writeable(out));
    ASN_TRY(asn_capi_binary_op(name, &op));
    ASN_TRY(read_options(&r, a, options));
    ASN_TRY(check_where(op, &r.options));
    return asn_ufunc_reduce(op, &a->array, &out->array, NULL, &r.options);
}

/* A named reduction: axes and keepdims, nothing else. */
static asnp_status by_name(const char *name, const asnp_array *a, int32_t num_axes,
                           const int32_t *axes, int32_t keepdims, asnp_array **out) {
    asnp_reduce_options options = ASNP_REDUCE_DEFAULTS;
    options.num_axes = num_axes;
    options.axes = axes;
    options.keepdims = keepdims;
    return asnp_reduce(name, a, &options, out);
}

/* Small integers are added up in int64 or uint64, as in NumPy. */
asnp_status asnp_sum(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("add", a, num_axes, axes, keepdims, out);
}

/* Likewise. */
asnp_status asnp_prod(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                      int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("multiply", a, num_axes, axes, keepdims, out);
}

/* NaN wins; of no elements VALUE, since there is no identity. */
asnp_status asnp_max(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("maximum", a, num_axes, axes, keepdims, out);
}

asnp_status asnp_min(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("minimum", a, num_axes, axes, keepdims, out);
}

/* Every dtype has truth: what is not 0, NaN too. */
asnp_status asnp_any(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("logical_or", a, num_axes, axes, keepdims, out);
}

asnp_status asnp_all(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return by_name("logical_and", a, num_axes, axes, keepdims, out);
}

/* number.dtype tells whether the count came as a number. */
asnp_status asnp_count_nonzero(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                               int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    asn_reduce_options over = {.keepdims = keepdims != 0, .dtype = ASN_DTYPE_NONE};
    /* Of everything: a number, without an array between. */
    bool plain = !axes && !keepdims;
    asn_scalar number;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_axes(num_axes, axes, asn_capi_layout(a)->ndim, &over.axes));
    asn_status status =
        asn_np_count_nonzero(&made, plain ? &number : NULL, &a->array, &over);
    return !status && plain && number.dtype != ASN_DTYPE_NONE
               ? number_result(&number, out)
               : asn_capi_wrap(status, &made, out);
}

/* ---- mean, var, std */

/* Options, and how many elements go into each result, which a mean divides by. */
static asn_status begin_moment(reduction *r, asn_item_count *n, const asnp_array *a,
                               int32_t num_axes, const int32_t *axes, int32_t keepdims) {
    asnp_reduce_options given = ASNP_REDUCE_DEFAULTS;
    given.num_axes = num_axes;
    given.axes = axes;
    given.keepdims = keepdims;
    ASN_TRY(read_options(r, a, &given));
    return asn_item_count_init(n, &a->array, &r->options);
}

/* `total` as `dtype`; takes it. */
static asnp_status deliver(asn_status status, asn_array *total, asn_dtype dtype,
                           asnp_array **out) {
    asn_array rounded;
    if (status || asn_layout_dtype(&total->layout) == dtype)
        return asn_capi_wrap(status, total, out);
    status = asn_copy(&rounded, total, dtype, 'K');
    asn_array_fini(total);
    return asn_capi_wrap(status, &rounded, out);
}

/* Integers are averaged in float64; halves are summed wider and rounded at the end
 * (deliver). */
asnp_status asnp_mean(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                      int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    reduction r;
    asn_item_count n;
    asn_dtype result;
    asn_array total;
    asn_scalar value;
    NEED(a);
    NEED(out);
    /* A small array: a number at once. */
    if (!axes && !keepdims && asn_direct_mean(&a->array, &value))
        return number_result(&value, out);
    ASN_TRY(begin_moment(&r, &n, a, num_axes, axes, keepdims));
    asn_mean_dtypes(asn_capi_type(a), ASN_DTYPE_NONE, &r.options.dtype, &result);
    asn_status status = asn_mean(&a->array, &r.options, &n, NULL, &total);
    return deliver(status, &total, result, out);
}

/* Small arrays at once; large whole ones by the device's own operator where ddof is a
 * whole number; the rest by composition (moments.h). */
static asnp_status spread(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                          double ddof, int32_t keepdims, bool root, asnp_array **out) {
    reduction r;
    asn_item_count n;
    asn_array total;
    /* A weak number, which is subtracted from the counts. */
    asn_operand less = asn_operand_float(ddof);
    asn_scalar value;
    bool done = false;
    NEED(a);
    NEED(out);
    if (!axes && !keepdims && ddof >= 0) {
        done = asn_direct_variance(&a->array, ddof, root, &value);
        if (!done && ddof < 0x1p53 && ddof == (double)(int64_t)ddof)
            ASN_TRY(asn_variance_whole(&a->array, (int64_t)ddof, root, &value, &done));
        if (done) return number_result(&value, out);
    }
    ASN_TRY(begin_moment(&r, &n, a, num_axes, axes, keepdims));
    asn_dtype sum = asn_variance_dtype(asn_capi_type(a), ASN_DTYPE_NONE);
    asn_status status =
        asn_variance(&a->array, NULL, &r.options, sum, &n, &less, root, NULL, &total);
    return asn_capi_wrap(status, &total, out);
}

asnp_status asnp_var(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     double ddof, int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return spread(a, num_axes, axes, ddof, keepdims, false, out);
}

asnp_status asnp_std(const asnp_array *a, int32_t num_axes, const int32_t *axes,
                     double ddof, int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    return spread(a, num_axes, axes, ddof, keepdims, true, out);
}

/* ---- positions */

/* Flattened: one number, by the direct way where there is one. at -1: of
 * all elements, row-major. */
static asnp_status position(const asnp_array *a, int32_t axis, int32_t keepdims,
                            bool maximum, asnp_array **out) {
    asn_array made;
    int at = -1;
    int64_t place;
    NEED(a);
    NEED(out);
    if (axis == ASNP_FLATTENED && !keepdims &&
        asn_direct_arg(&a->array, !maximum, &place)) {
        asn_scalar value = asn_scalar_int(place);
        return number_result(&value, out);
    }
    if (axis != ASNP_FLATTENED)
        ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, &at));
    return asn_capi_wrap(asn_argreduce(&made, &a->array, at, keepdims != 0, maximum),
                         &made, out);
}

/* The first of equal extremes; NaN counts as one. */
asnp_status asnp_argmax(const asnp_array *a, int32_t axis, int32_t keepdims,
                        asnp_array **out) {
    IN_LIBRARY;
    return position(a, axis, keepdims, true, out);
}

asnp_status asnp_argmin(const asnp_array *a, int32_t axis, int32_t keepdims,
                        asnp_array **out) {
    IN_LIBRARY;
    return position(a, axis, keepdims, false, out);
}

/* ---- scans */

/* ufunc.accumulate; dtype NONE: as NumPy, small integers in int64 or uint64. */
asnp_status asnp_accumulate(const char *name, const asnp_array *a, int32_t axis,
                            asnp_dtype dtype, asnp_array **out) {
    IN_LIBRARY;
    asn_op op;
    asn_dtype loop;
    asn_array used, made;
    int at;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_binary_op(name, &op));
    ASN_TRY(asn_capi_dtype(dtype, true, &loop));
    ASN_TRY(asn_capi_axis(a, axis, &used, &at));
    asn_status status = asn_ufunc_accumulate(op, &used, at, loop, NULL, &made);
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}

/* NumPy's dtype for a sum; axis ASNP_FLATTENED: over all elements, row-major. */
asnp_status asnp_cumsum(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return asnp_accumulate("add", a, axis, ASNP_DTYPE_NONE, out);
}

asnp_status asnp_cumprod(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return asnp_accumulate("multiply", a, axis, ASNP_DTYPE_NONE, out);
}
