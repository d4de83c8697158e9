/* L1 array: broadcasting and overlap (see broadcast.h).
 *
 * Overlap is decided by byte ranges first; two interleaved views of equal strides
 * (a[::2], a[1::2]) are then told apart by their offset modulo the greatest common
 * divisor of the strides. Deciding the general case is a bounded Diophantine problem
 * (NP-hard in the number of axes); a cautious yes only costs a copy.
 */
#include "array/broadcast.h"

#include <stdio.h>

static asn_status mismatch(int n, const asn_layout *const *layouts) {
    char text[512];
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof text - 1; i++) {
        char shape[256];
        asn_shape_format(shape, sizeof shape, layouts[i]->ndim, layouts[i]->shape);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s ", shape);
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "operands could not be broadcast together with shapes %s", text);
}

asn_status asn_broadcast_shape(int n, const asn_layout *const *layouts, int *ndim,
                               int64_t *shape) {
    int most = 0;
    for (int i = 0; i < n; i++)
        most = layouts[i]->ndim > most ? layouts[i]->ndim : most;
    for (int d = 0; d < most; d++)
        shape[d] = 1;
    for (int i = 0; i < n; i++) {
        int lead = most - layouts[i]->ndim;
        for (int d = 0; d < layouts[i]->ndim; d++) {
            int64_t extent = layouts[i]->shape[d];
            if (extent == 1) continue;
            if (shape[lead + d] != 1 && shape[lead + d] != extent)
                return mismatch(n, layouts);
            shape[lead + d] = extent;
        }
    }
    *ndim = most;
    return ASN_OK;
}

bool asn_broadcast_strides(const asn_layout *l, int ndim, const int64_t *shape,
                           int64_t *strides) {
    int lead = ndim - l->ndim;
    if (lead < 0) return false;
    for (int d = 0; d < lead; d++)
        strides[d] = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (l->shape[d] == shape[lead + d])
            strides[lead + d] = shape[lead + d] == 1 ? 0 : l->strides[d];
        else if (l->shape[d] == 1)
            strides[lead + d] = 0;
        else
            return false;
    }
    return true;
}

static int64_t gcd(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    b = b < 0 ? -b : b;
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

bool asn_layouts_overlap(const asn_layout *a, const asn_layout *b) {
    int64_t alow, ahigh, blow, bhigh;
    asn_layout_bounds(a, &alow, &ahigh);
    asn_layout_bounds(b, &blow, &bhigh);
    if (alow >= ahigh || blow >= bhigh || ahigh <= blow || bhigh <= alow) return false;
    int64_t step = 0;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1) step = gcd(step, a->strides[d]);
    for (int d = 0; d < b->ndim; d++)
        if (b->shape[d] > 1) step = gcd(step, b->strides[d]);
    if (step == 0) return true;
    /* Element addresses are offset + multiples of step: the residues' item ranges must
     * meet. */
    int64_t gap = (b->offset - a->offset) % step;
    gap = gap < 0 ? gap + step : gap;
    return gap < asn_itemsize((asn_dtype)a->dtype) ||
           step - gap < asn_itemsize((asn_dtype)b->dtype);
}

bool asn_layout_self_overlaps(const asn_layout *l) {
    if (l->size <= 1) return false;
    /* Sorted by |stride|, each axis must step over everything the smaller ones reach. */
    int64_t reach = asn_itemsize((asn_dtype)l->dtype), last = -1;
    for (int left = l->ndim; left > 0; left--) {
        int64_t least = INT64_MAX;
        int64_t extent_product_reach = 0;
        int same = 0;
        for (int d = 0; d < l->ndim; d++) {
            int64_t s = l->strides[d] < 0 ? -l->strides[d] : l->strides[d];
            if (l->shape[d] > 1 && s > last && s < least) least = s;
        }
        if (least == INT64_MAX) break;
        for (int d = 0; d < l->ndim; d++) {
            int64_t s = l->strides[d] < 0 ? -l->strides[d] : l->strides[d];
            if (l->shape[d] > 1 && s == least) {
                same++;
                extent_product_reach = (l->shape[d] - 1) * s;
            }
        }
        if (same > 1 || least < reach) return true;
        reach += extent_product_reach;
        last = least;
    }
    return false;
}
