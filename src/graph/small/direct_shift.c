/* L2 graph: assignments of an array to itself, moved by some elements: a[1:] = a[:-1],
 * g[:, 1:] = g[:, :-1] (see direct.h).
 *
 * Source and target have the same strides, so that all elements move by one distance. Row
 * by row from the end that they move towards, nothing is overwritten before it was read:
 * rows lie apart, and what a row becomes lies beyond those that come later. One pass
 * instead of a copy and a copy back (us, so, by copies, NumPy's: of a million float64
 * x[1:] = x[:-1] 132, 350, 433; of a thousand 0.24, 2.6, 0.58).
 */
#include <string.h>

#include "graph/small/binding.h"
#include "graph/small/direct.h"
#include "graph/small/small_call.h"
#include "graph/ufunc/truth.h"

/* The places of the elements, as rows that are moved whole. */
typedef struct {
    int num_dims;                                             /* around the rows */
    int64_t shape[ASN_INLINE_DIMS], strides[ASN_INLINE_DIMS]; /* outermost first */
    int64_t row;                                              /* bytes */
} rows;

/* Rows without gaps, one after the other in memory, as long as they can be. */
static bool find_rows(rows *r, const asn_layout *l) {
    int64_t reach = asn_itemsize(asn_layout_dtype(l)); /* of what is inside */
    int first = l->ndim;
    if (l->ndim > ASN_INLINE_DIMS) return false;
    for (; first > 0; first--) {
        if (l->shape[first - 1] != 1 && l->strides[first - 1] != reach) break;
        reach *= l->shape[first - 1];
    }
    r->row = reach;
    r->num_dims = first;
    for (int d = first - 1; d >= 0; d--) {
        if (l->shape[d] != 1 && l->strides[d] < reach) return false;
        r->shape[d] = l->shape[d];
        r->strides[d] = l->strides[d];
        if (l->shape[d] != 1) reach = l->strides[d] * l->shape[d];
    }
    return true;
}

/* Moves all rows by `distance` bytes, from the last to the first if that is positive. */
static void move_rows(const rows *r, char *from, int64_t distance) {
    int64_t index[ASN_INLINE_DIMS] = {0}, count = 1;
    const bool back = distance > 0;
    for (int d = 0; d < r->num_dims; d++) {
        count *= r->shape[d];
        if (back) from += r->strides[d] * (r->shape[d] - 1);
    }
    while (count--) {
        memmove(from + distance, from, (size_t)r->row);
        for (int d = r->num_dims - 1; d >= 0; d--) {
            from += back ? -r->strides[d] : r->strides[d];
            if (++index[d] < r->shape[d]) break;
            from += (back ? r->strides[d] : -r->strides[d]) * r->shape[d];
            index[d] = 0;
        }
    }
}

/* (Contract in direct.h.) Rows that are short and many are slower than two copies. */
bool asn_direct_shift(const asn_array *dst, const asn_array *src) {
    enum { LEAST = 64 }; /* bytes of a row, where there are many */
    const asn_layout *to = &dst->layout, *from = &src->layout;
    asn_buffer *b = dst->buffer;
    rows r;
    if (src->buffer != b || to->dtype != from->dtype || asn_is_noncanonical(src) ||
        !(to->flags & ASN_WRITEABLE) || to->size == 0 ||
        !asn_layout_same_shape(to, from) ||
        memcmp(to->strides, from->strides, (size_t)to->ndim * sizeof *to->strides) ||
        !find_rows(&r, to) || (r.row < LEAST && to->size > ASN_DIRECT_ELEMENTS))
        return false;
    uint64_t begin = asn_small_begin();
    bool done = asn_direct_ready() && b->data && !b->trace_refs && !b->trace_writes;
    if (done) move_rows(&r, (char *)b->data + from->offset, to->offset - from->offset);
    return asn_small_end(begin, done, "assign", to);
}
