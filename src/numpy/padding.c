/* L2 numpy: arrays with more elements around them (padding.h).
 *
 * Mode "wrap", one axis after the other, so that corners come from what was padded
 * before. Up to a whole extent on either side that is a join of three views; more
 * elements than there are are taken by positions modulo the extent. The other modes are
 * Python's (_padding.py).
 */
#include "numpy/padding.h"

#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/temporaries.h"

/* The elements from `start` up to `stop` along an axis. */
static asn_status slab(asn_array *out, const asn_array *a, int axis, int64_t start,
                       int64_t stop) {
    asn_index_item items[ASN_MAX_DIMS];
    for (int d = 0; d <= axis; d++)
        items[d] = (asn_index_item){.kind = ASN_INDEX_SLICE,
                                    .start = d == axis ? start : 0,
                                    .stop = d == axis ? stop : INT64_MAX,
                                    .step = 1};
    return asn_index_view(out, a, axis + 1, items);
}

/* Along one axis, which has elements; several times where they are fewer than the
 * width. */
static asn_status wrap_axis(asn_array *result, const asn_array *a, int axis,
                            const int64_t width[2]) {
    ASN_TEMPORARIES;
    const int64_t n = a->layout.shape[axis];
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    if (width[0] > n || width[1] > n) {
        const asn_scalar first = asn_scalar_int(-width[0]), one = asn_scalar_int(1);
        ASN_MAKE(places,
                 asn_arange(places, ASN_I64, &first, &one, width[0] + n + width[1]));
        return asn_take(result, a, places, axis, 1);
    }
    ASN_MAKE(before, slab(before, a, axis, n - width[0], n));
    ASN_MAKE(after, slab(after, a, axis, 0, width[1]));
    return asn_concatenate(3, (const asn_array *[]){before, a, after}, axis, dtype,
                           ASN_CASTING_NO, NULL, result);
}

/* NumPy's error for an axis without elements that would grow, and extents that overflow.
 */
static asn_status check(const asn_layout *l, const int64_t (*widths)[2]) {
    for (int d = 0; d < l->ndim; d++) {
        int64_t total;
        if (!l->shape[d] && (widths[d][0] || widths[d][1]))
            return asn_error_set(ASN_ERR_VALUE,
                                 "can't extend empty axis %d using modes other than "
                                 "'constant' or 'empty'",
                                 d);
        if (!asn_add_size(widths[d][0], widths[d][1], &total) ||
            !asn_add_size(total, l->shape[d], &total))
            return asn_layout_too_big();
    }
    return ASN_OK;
}

/* The result is in a's order of memory. It is never `a` itself, even where nothing is
 * added. */
asn_status asn_np_pad_wrapped(asn_array *result, const asn_array *a,
                              const int64_t (*widths)[2]) {
    ASN_TEMPORARIES;
    const asn_array *from = a;
    const int both = ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS;
    const int wanted = (a->layout.flags & both) == ASN_F_CONTIGUOUS ? ASN_F_CONTIGUOUS
                                                                    : ASN_C_CONTIGUOUS;
    ASN_TRY(check(&a->layout, widths));
    for (int d = 0; d < a->layout.ndim; d++) {
        if (!widths[d][0] && !widths[d][1]) continue;
        ASN_MAKE(wider, wrap_axis(wider, from, d, widths[d]));
        from = wider;
    }
    if (from != a && from->layout.flags & wanted) return asn_array_share(result, from);
    return asn_copy(result, from, asn_layout_dtype(&a->layout),
                    wanted == ASN_F_CONTIGUOUS ? 'F' : 'C');
}
