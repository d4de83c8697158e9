/* L3 C binding: sorts, partitions, searches, counts, unique elements (array.h).
 *
 * Sorts are stable and put NaN last, as the core's are in both bindings; there is no
 * choice of algorithm to pass on. What concerns arguments that both bindings take is
 * numpy/ordering.h's and numpy/unique.h's.
 *
 * Axes may be negative; ASNP_FLATTENED sorts a flattened copy (or a share, where the
 * array is one line).
 */
#include "capi/capi.h"
#include "numpy/ordering.h"
#include "numpy/unique.h"

typedef asn_status (*sorting)(asn_array *result, const asn_array *a, int axis);
typedef asn_status (*partitioning)(asn_array *result, const asn_array *a, int axis,
                                   int num_kth, const int64_t *kth);

/* A sort or argsort along one axis, or of all elements flattened. */
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

static asn_status sorted_values(asn_array *made, const asn_array *a, int axis) {
    return asn_sort(made, a, axis, true);
}

/* A new array; NaN last, equal elements in their order. */
asnp_status asnp_sort(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return sorted_by(sorted_values, a, axis, out);
}

/* int64 positions, by which take_along_axis sorts. */
asnp_status asnp_argsort(const asnp_array *a, int32_t axis, asnp_array **out) {
    IN_LIBRARY;
    return sorted_by(asn_argsort, a, axis, out);
}

/* A flattened copy could not be in place: an axis must be named. */
asnp_status asnp_sort_in_place(asnp_array *a, int32_t axis) {
    IN_LIBRARY;
    int at;
    NEED(a);
    ASN_TRY(asn_capi_writeable(a));
    if (axis == ASNP_FLATTENED)
        return asn_error_set(ASN_ERR_VALUE,
                             "sort_in_place: axis is ASNP_FLATTENED; it must be one");
    ASN_TRY(asn_axis_normalize(axis, asn_capi_layout(a)->ndim, &at));
    return asn_order_in_place(&a->array, at, true, 0, NULL);
}

/* At most ASN_MAX_DIMS positions: more are nearly a sort, which Python's binding then
 * does. */
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
    for (int i = 0; i < num_kth; i++)
        places[i] = kth[i];
    /* Negative positions count from the end; they are checked here. */
    asn_status status = asn_np_kth(num_kth, places, used.layout.shape[at]);
    if (!status) status = partition(&made, &used, at, num_kth, places);
    asn_array_fini(&used);
    return asn_capi_wrap(status, &made, out);
}

/* A new array: what is at the positions is final, nothing else is in order. */
asnp_status asnp_partition(const asnp_array *a, int32_t axis, int32_t num_kth,
                           const int64_t *kth, asnp_array **out) {
    IN_LIBRARY;
    return partitioned_by(asn_partition, a, axis, num_kth, kth, out);
}

/* The positions that partition so. */
asnp_status asnp_argpartition(const asnp_array *a, int32_t axis, int32_t num_kth,
                              const int64_t *kth, asnp_array **out) {
    IN_LIBRARY;
    return partitioned_by(asn_argpartition, a, axis, num_kth, kth, out);
}

/* Values of another dtype are promoted with the sorted ones. */
asnp_status asnp_searchsorted(const asnp_array *sorted, const asnp_array *values,
                              int32_t right, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(sorted);
    NEED(values);
    NEED(out);
    return asn_capi_wrap(
        asn_np_searchsorted(&made, &sorted->array, &values->array, right != 0), &made,
        out);
}

/* The largest element decides the length, which waits for it. */
asnp_status asnp_bincount(const asnp_array *a, const asnp_array *weights,
                          int64_t minlength, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(
        asn_np_bincount(&made, &a->array, weights ? &weights->array : NULL, minlength),
        &made, out);
}

/* ---- unique */

/* All handles or none; a result that is NULL is not computed. */
asnp_status asnp_unique(const asnp_array *a, asnp_array **values, asnp_array **first,
                        asnp_array **inverse, asnp_array **counts) {
    IN_LIBRARY;
    asn_array made[ASN_UNIQUE_RESULTS], *results[ASN_UNIQUE_RESULTS];
    asnp_array **const to[ASN_UNIQUE_RESULTS] = {values, first, inverse, counts};
    asnp_array *handles[ASN_UNIQUE_RESULTS] = {NULL};
    asnp_status status = ASNP_OK;
    NEED(a);
    NEED(values);
    for (int i = 0; i < ASN_UNIQUE_RESULTS; i++)
        results[i] = to[i] ? &made[i] : NULL;
    ASN_TRY(asn_np_unique(results, &a->array, true));
    for (int i = 0; i < ASN_UNIQUE_RESULTS; i++) {
        if (!to[i]) continue;
        if (status)
            asn_array_fini(&made[i]);
        else
            status = asn_capi_wrap(ASN_OK, &made[i], &handles[i]);
    }
    if (status) asn_capi_release(handles, ASN_UNIQUE_RESULTS);
    for (int i = 0; i < ASN_UNIQUE_RESULTS && !status; i++)
        if (to[i]) *to[i] = handles[i];
    return status;
}
