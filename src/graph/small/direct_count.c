/* L2 graph: positions and counts of a few elements, found by the host in the device's
 * memory (see direct.h).
 *
 * The sizes of these results depend on values: the general path asks the device for them,
 * waits, and asks again (ns on ten elements so, here, and NumPy's: nonzero 1130, 121,
 * 504; bincount 1170, 109, 340).
 */
#include <string.h>

#include "graph/small/direct.h"
#include "graph/small/small_call.h"
#include "graph/small/true_bytes.h"

/* ---- nonzero */

/* The positions of what is true in a line. */
static void write_line(int64_t n, const uint8_t *keep, int64_t *at) {
    for (int64_t i = 0; i < n; i += 8)
        for (uint64_t left = asn_true_bytes(keep + i, n - i); left; left &= left - 1)
            *at++ = i + __builtin_ctzll(left) / 8;
}

/* at[d][k]: the d-th coordinate of the k-th true element. */
static void write_positions(const asn_layout *l, const uint8_t *keep,
                            int64_t *const *at) {
    int64_t index[ASN_INLINE_DIMS] = {0}, k = 0;
    if (l->ndim == 1) {
        write_line(l->size, keep, at[0]);
        return;
    }
    for (int64_t i = 0; i < l->size; i++) {
        if (keep[i]) {
            for (int d = 0; d < l->ndim; d++)
                at[d][k] = index[d];
            k++;
        }
        for (int d = l->ndim - 1; d >= 0 && ++index[d] == l->shape[d]; d--)
            index[d] = 0;
    }
}

/* Counts first, so that the results have their length at once. */
static bool nonzero_locked(asn_array *results, const asn_array *mask) {
    const asn_layout *l = &mask->layout;
    const uint8_t *keep = asn_direct_memory(mask, false);
    int64_t *at[ASN_INLINE_DIMS];
    int made = 0;
    if (!keep || l->ndim < 1 || l->ndim > ASN_INLINE_DIMS) return false;
    const int64_t count = asn_count_true(keep, l->size);
    while (made < l->ndim &&
           asn_direct_new(&results[made], ASN_I64, 1, &count, (void **)&at[made]))
        made++;
    if (made == l->ndim) {
        write_positions(l, keep, at);
        return true;
    }
    while (made > 0)
        asn_array_fini(&results[--made]);
    return false;
}

bool asn_direct_nonzero(asn_array *results, const asn_array *mask) {
    uint64_t begin = asn_small_begin();
    bool done =
        asn_layout_dtype(&mask->layout) == ASN_BOOL && nonzero_locked(results, mask);
    return asn_small_end(begin, done, "nonzero", &mask->layout);
}

/* ---- bincount */

/* Counts into a fresh result of as many bins as the largest element asks for. A negative
 * or a large element is the general path's: an error, or a long result. */
static bool bincount_locked(asn_array *result, const asn_array *x,
                            const asn_array *weights, int64_t minlength) {
    const int64_t *at = asn_direct_memory(x, false);
    const double *weight = at && weights ? asn_direct_memory(weights, false) : NULL;
    int64_t bins = minlength;
    void *data;
    if (!at || (weights && !weight)) return false;
    for (int64_t i = 0; i < x->layout.size; i++) {
        if (at[i] < 0 || at[i] >= ASN_DIRECT_ELEMENTS) return false;
        if (at[i] >= bins) bins = at[i] + 1;
    }
    if (!asn_direct_new(result, weights ? ASN_F64 : ASN_I64, 1, &bins, &data))
        return false;
    memset(data, 0, (size_t)bins * 8);
    for (int64_t i = 0; i < x->layout.size; i++)
        if (weight)
            ((double *)data)[at[i]] += weight[i];
        else
            ((int64_t *)data)[at[i]]++;
    return true;
}

bool asn_direct_bincount(asn_array *result, const asn_array *x, const asn_array *weights,
                         int64_t minlength) {
    uint64_t begin = asn_small_begin();
    bool done = asn_layout_dtype(&x->layout) == ASN_I64 &&
                bincount_locked(result, x, weights, minlength);
    return asn_small_end(begin, done, "bincount", &x->layout);
}
