/* L3 C face: sorting, searching, unique elements, counting (order.h). */
#include "capi/capi.h"

typedef asn_status (*sorting)(asn_array *result, const asn_array *a, int axis);
typedef asn_status (*partitioning)(asn_array *result, const asn_array *a, int axis,
                                   int num_kth, const int64_t *kth);

static asnp_status sorted_by(sorting sort, const asnp_array *a, int32_t axis,
                             asnp_array **out) {
    asn_array used, made;
    int at;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_axis(a, axis, &used, &at));
    asn_status status = sort(&made, &used, at);
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}

asnp_status asnp_sort(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return sorted_by(asn_sort, a, axis, out);
}

asnp_status asnp_argsort(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return sorted_by(asn_argsort, a, axis, out);
}

asnp_status asnp_sort_in_place(asnp_array *a, int32_t axis) {
    IN_LIBRARY;
    int at;
    NEED(a);
    ASN_TRY(asn_capi_writeable(a));
    if (axis == ASNP_FLATTENED)
        return asn_error_set(ASN_ERR_VALUE,
                             "sort_in_place: axis is ASNP_FLATTENED; it must be one");
    ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, &at));
    return asn_order_in_place(&a->array, at, 0, NULL);
}

static asnp_status partitioned_by(partitioning partition, const asnp_array *a,
                                  int32_t axis, int32_t num_kth, const int64_t *kth,
                                  asnp_array **out) {
    asn_array used, made;
    int64_t places[ASN_MAX_DIMS];
    int at;
    NEED(a);
    NEED(kth);
    NEED(out);
    if (num_kth < 1 || num_kth > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "num_kth is %d; it may be 1 to %d",
                             (int)num_kth, ASN_MAX_DIMS);
    ASN_TRY(asn_capi_axis(a, axis, &used, &at));
    asn_status status = ASN_OK;
    int64_t extent = used.layout.shape[at];
    for (int i = 0; i < num_kth && !status; i++) {
        places[i] = kth[i] < 0 ? kth[i] + extent : kth[i];
        if (places[i] < 0 || places[i] >= extent)
            status = asn_error_set(ASN_ERR_VALUE, "kth(=%lld) out of bounds (%lld)",
                                   (long long)kth[i], (long long)extent);
    }
    if (!status) status = partition(&made, &used, at, num_kth, places);
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}

asnp_status asnp_partition(const asnp_array *a, int32_t axis, int32_t num_kth,
                           const int64_t *kth, asnp_array **out) {
    IN_LIBRARY;
    return partitioned_by(asn_partition, a, axis, num_kth, kth, out);
}

asnp_status asnp_argpartition(const asnp_array *a, int32_t axis, int32_t num_kth,
                              const int64_t *kth, asnp_array **out) {
    IN_LIBRARY;
    return partitioned_by(asn_argpartition, a, axis, num_kth, kth, out);
}

static asn_status as_dtype(const asnp_array *a, asn_dtype dtype, asn_array *out) {
    return asn_capi_type(a) == dtype ? asn_array_share(out, &a->array)
                                     : asn_copy(out, &a->array, dtype, 'K');
}

asnp_status asnp_searchsorted(const asnp_array *sorted, const asnp_array *values,
                              int32_t right, asnp_array **out) {
    IN_LIBRARY;
    asn_array left, wanted, made;
    NEED(sorted);
    NEED(values);
    NEED(out);
    if (asn_capi_layout(sorted)->ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "searchsorted: sorted has %d dimensions; it must have 1",
                             asn_capi_layout(sorted)->ndim);
    asn_dtype dtype = asn_promote(asn_capi_type(sorted), asn_capi_type(values));
    ASN_TRY(as_dtype(sorted, dtype, &left));
    asn_status status = as_dtype(values, dtype, &wanted);
    if (!status) {
        status = asn_searchsorted(&made, &left, &wanted, right != 0);
        asn_array_fini(&wanted);
    }
    asn_array_fini(&left);
    return asn_capi_wrap(status, &made, out);
}

asnp_status asnp_bincount(const asnp_array *a, const asnp_array *weights,
                          int64_t minlength, asnp_array **out) {
    IN_LIBRARY;
    asn_array reals, made;
    NEED(a);
    NEED(out);
    if (!asn_can_cast(asn_capi_type(a), ASN_I64, ASN_CASTING_SAFE))
        return asn_error_set(ASN_ERR_TYPE,
                             "bincount: elements are of %s, which does not cast to int64 "
                             "by the rule 'safe'",
                             asn_dtype_name(asn_capi_type(a)));
    if (asn_capi_layout(a)->ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "bincount: the array has %d dimensions; it must have 1",
                             asn_capi_layout(a)->ndim);
    if (minlength < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "bincount: minlength is %lld; it may not be negative",
                             (long long)minlength);
    if (!weights)
        return asn_capi_wrap(asn_bincount(&made, &a->array, NULL, minlength), &made, out);
    if (!asn_layout_same_shape(asn_capi_layout(a), asn_capi_layout(weights)))
        return asn_error_set(ASN_ERR_VALUE,
                             "The weights and list don't have the same length.");
    if (asn_is_complex(asn_capi_type(weights)))
        return asn_error_set(ASN_ERR_TYPE, "bincount: weights must be real numbers");
    ASN_TRY(as_dtype(weights, ASN_F64, &reals));
    asn_status status = asn_bincount(&made, &a->array, &reals, minlength);
    asn_array_fini(&reals);
    return asn_capi_wrap(status, &made, out);
}

/* ---- unique */

/* out = a op b of all elements but the first and all but the last. */
static asnp_status neighbours(const char *name, const asnp_array *a, asnp_array **out) {
    asnp_array *later = NULL, *earlier = NULL;
    asnp_status status = asnp_slice(a, 0, 1, ASNP_END, 1, &later);
    if (!status) status = asnp_slice(a, 0, 0, -1, 1, &earlier);
    if (!status) status = asnp_binary(name, later, earlier, out);
    asnp_release(later);
    asnp_release(earlier);
    return status;
}

/* A mask of the elements that start a run in a sorted array; NaNs are one run. */
static asnp_status run_starts(const asnp_array *sorted, asnp_array **out) {
    asnp_array *t[6] = {NULL};
    int64_t n = asnp_size(sorted);
    asnp_status status = asnp_ones(ASNP_BOOL, 1, &n, &t[0]);
    if (!status && n > 1) status = neighbours("not_equal", sorted, &t[1]);
    if (!status && n > 1 && asn_is_inexact(asn_capi_type(sorted))) {
        status = asnp_unary("isnan", sorted, &t[2]);
        if (!status) status = neighbours("logical_and", t[2], &t[3]);
        if (!status) status = asnp_unary("logical_not", t[3], &t[4]);
        asnp_operand both[2] = {asnp_of(t[1]), asnp_of(t[4])};
        if (!status) status = asnp_ufunc_into("logical_and", 2, both, 1, &t[1], NULL);
    }
    if (!status && n > 1) status = asnp_slice(t[0], 0, 1, ASNP_END, 1, &t[5]);
    if (!status && n > 1) status = asnp_assign(t[5], asnp_of(t[1]));
    if (!status) {
        *out = t[0];
        t[0] = NULL;
    }
    asn_capi_release(t, 6);
    return status;
}

/* For each element its place among the runs, in a's shape. */
static asnp_status inverse_of(const asnp_array *a, const asnp_array *order,
                              const asnp_array *starts, asnp_array **out) {
    asnp_array *t[3] = {NULL};
    asnp_index at = asnp_by(order);
    int64_t n = asnp_size(a);
    asnp_status status = asnp_cumsum(starts, 0, &t[0]);
    if (!status) status = asnp_binary_number("subtract", t[0], asnp_int(1), &t[1]);
    if (!status) status = asnp_empty(ASNP_INT64, 1, &n, &t[2]);
    if (!status) status = asnp_index_set(t[2], 1, &at, asnp_of(t[1]));
    if (!status) status = asnp_reshape(t[2], asnp_ndim(a), asnp_shape(a), out);
    asn_capi_release(t, 3);
    return status;
}

/* The lengths of runs: the distances between their starts. */
static asnp_status run_lengths(const asnp_array *starts, asnp_array **out) {
    asnp_array *t[3] = {NULL};
    const int64_t one = 1;
    asnp_status status = asnp_nonzero(starts, &t[0]);
    if (!status)
        status = asnp_full(ASNP_INT64, 1, &one, asnp_int(asnp_size(starts)), &t[1]);
    if (!status) status = asnp_concatenate(2, t, 0, &t[2]);
    if (!status) status = neighbours("subtract", t[2], out);
    asn_capi_release(t, 3);
    return status;
}

asnp_status asnp_unique(const asnp_array *a, asnp_array **values, asnp_array **first,
                        asnp_array **inverse, asnp_array **counts) {
    IN_LIBRARY;
    asnp_array *flat = NULL, *order = NULL, *sorted = NULL, *starts = NULL;
    asnp_array *made[4] = {NULL};
    asnp_array **const to[4] = {values, first, inverse, counts};
    NEED(a);
    NEED(values);
    asnp_status status = asnp_ravel(a, &flat);
    if (!status && (first || inverse)) {
        status = asnp_argsort(flat, 0, &order);
        if (!status) status = asnp_take(flat, order, 0, ASNP_RAISE, &sorted);
    } else if (!status) {
        status = asnp_sort(flat, 0, &sorted);
    }
    if (!status) status = run_starts(sorted, &starts);
    if (!status) status = asnp_mask_get(sorted, starts, &made[0]);
    if (!status && first) status = asnp_mask_get(order, starts, &made[1]);
    if (!status && inverse) status = inverse_of(a, order, starts, &made[2]);
    if (!status && counts) status = run_lengths(starts, &made[3]);
    for (int i = 0; i < 4; i++) {
        if (status)
            asnp_release(made[i]);
        else if (to[i])
            *to[i] = made[i];
    }
    asnp_release(flat);
    asnp_release(order);
    asnp_release(sorted);
    asnp_release(starts);
    return status;
}
