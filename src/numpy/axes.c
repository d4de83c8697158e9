/* L2 numpy: the order and the direction of axes (axes.h).
 *
 * Everything but roll is a view: a permutation of axes, or negative strides. A roll
 * copies. Along one axis it is an operation of its own; along several it is either one
 * such roll after the other, which inside an expression costs nothing until it runs and
 * for small arrays is the least work, or, for large ones, one copy of each block of
 * elements that stays together: 2**k blocks for k axes that move, each element written
 * once.
 */
#include "numpy/axes.h"

#include <string.h>

#include "array/views.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"

/* (Contract in axes.h.) Out of bounds comes before twice, as NumPy looks at each axis
 * before it compares them. */
asn_status asn_np_axes(int n, const int64_t *given, int ndim, const char *name,
                       int *axes) {
    uint64_t seen = 0;
    bool repeated = false;
    for (int i = 0; i < n; i++) {
        asn_status status = asn_axis_normalize(given[i], ndim, &axes[i]);
        if (status && name)
            return asn_error_set(ASN_ERR_AXIS,
                                 "%s: axis %lld is out of bounds for array of "
                                 "dimension %d",
                                 name, (long long)given[i], ndim);
        ASN_TRY(status);
        repeated |= seen >> axes[i] & 1;
        seen |= (uint64_t)1 << axes[i];
    }
    if (!repeated) return ASN_OK;
    return name ? asn_error_set(ASN_ERR_VALUE, "repeated axis in `%s` argument", name)
                : asn_error_set(ASN_ERR_VALUE, "repeated axis");
}

/* A view of `a`, whose axis i is a's axis perm[i]. */
static asn_status transposed(asn_array *out, const asn_array *a, const int *perm) {
    asn_layout view;
    ASN_TRY(asn_view_transpose(&view, &a->layout, perm));
    asn_array_view(out, a, &view);
    return ASN_OK;
}

/* (Contract in axes.h.) The axes that are not moved keep their order in the places that
 * are left. More axes than an array may have can only be repeated ones, so they are
 * refused before they are read into fixed arrays. */
asn_status asn_np_moved_order(int ndim, int num_source, const int64_t *source,
                              int num_destination, const int64_t *destination,
                              int *perm) {
    int from[ASN_MAX_DIMS], to[ASN_MAX_DIMS];
    uint64_t moved = 0;
    if (num_source > ASN_MAX_DIMS || num_destination > ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "repeated axis in `%s` argument",
                             num_source > ASN_MAX_DIMS ? "source" : "destination");
    ASN_TRY(asn_np_axes(num_source, source, ndim, "source", from));
    ASN_TRY(asn_np_axes(num_destination, destination, ndim, "destination", to));
    if (num_source != num_destination)
        return asn_error_set(ASN_ERR_VALUE,
                             "`source` and `destination` arguments must have the same "
                             "number of elements");
    for (int d = 0; d < ndim; d++)
        perm[d] = -1;
    for (int i = 0; i < num_source; i++) {
        perm[to[i]] = from[i];
        moved |= (uint64_t)1 << from[i];
    }
    for (int d = 0, rest = 0; d < ndim; d++) {
        if (perm[d] >= 0) continue;
        while (moved >> rest & 1)
            rest++;
        perm[d] = rest++;
    }
    return ASN_OK;
}

asn_status asn_np_moveaxis(asn_array *out, const asn_array *a, int num_source,
                           const int64_t *source, int num_destination,
                           const int64_t *destination) {
    int perm[ASN_MAX_DIMS];
    ASN_TRY(asn_np_moved_order(a->layout.ndim, num_source, source, num_destination,
                               destination, perm));
    return transposed(out, a, perm);
}

asn_status asn_np_swapaxes(asn_array *out, const asn_array *a, int64_t axis1,
                           int64_t axis2) {
    int ndim = a->layout.ndim, first, second, perm[ASN_MAX_DIMS];
    ASN_TRY(asn_axis_normalize(axis1, ndim, &first));
    ASN_TRY(asn_axis_normalize(axis2, ndim, &second));
    for (int d = 0; d < ndim; d++)
        perm[d] = d == first ? second : d == second ? first : d;
    return transposed(out, a, perm);
}

/* As a move: to the place before `start`, counted with the axis itself taken out. */
asn_status asn_np_rollaxis(asn_array *out, const asn_array *a, int64_t axis,
                           int64_t start) {
    int ndim = a->layout.ndim, from;
    ASN_TRY(asn_axis_normalize(axis, ndim, &from));
    if (start < -ndim || start > ndim)
        return asn_error_set(ASN_ERR_AXIS,
                             "'start' arg requires %d <= start < %d, but %lld was passed "
                             "in",
                             -ndim, ndim + 1, (long long)start);
    int64_t source = from, to = start < 0 ? start + ndim : start;
    to -= from < to;
    return asn_np_moveaxis(out, a, 1, &source, 1, &to);
}

/* INT64_MAX and INT64_MIN are the ends of a slice that steps backwards. Axes behind the
 * last flipped one need no item. */
asn_status asn_np_flip(asn_array *out, const asn_array *a, uint64_t mask) {
    asn_index_item items[ASN_MAX_DIMS];
    int last = mask ? 64 - __builtin_clzll(mask) : 0;
    if (!last) return asn_array_share(out, a);
    for (int d = 0; d < last; d++)
        items[d] =
            mask >> d & 1
                ? (asn_index_item){.kind = ASN_INDEX_SLICE,
                                   .start = INT64_MAX,
                                   .stop = INT64_MIN,
                                   .step = -1}
                : (asn_index_item){.kind = ASN_INDEX_SLICE, .stop = INT64_MAX, .step = 1};
    return asn_index_view(out, a, last, items);
}

/* A quarter turn is a flip of one axis and a swap, half a turn two flips. */
asn_status asn_np_rot90(asn_array *out, const asn_array *a, int turns,
                        const int64_t axes[2]) {
    int ndim = a->layout.ndim;
    int64_t apart = axes[0] - axes[1];
    if (apart == 0 || apart == ndim || apart == -ndim)
        return asn_error_set(ASN_ERR_VALUE, "Axes must be different.");
    for (int i = 0; i < 2; i++)
        if (axes[i] < -ndim || axes[i] >= ndim)
            return asn_error_set(ASN_ERR_VALUE,
                                 "Axes=(%lld, %lld) out of range for array of ndim=%d.",
                                 (long long)axes[0], (long long)axes[1], ndim);
    uint64_t first = (uint64_t)1 << (axes[0] + (axes[0] < 0 ? ndim : 0));
    uint64_t second = (uint64_t)1 << (axes[1] + (axes[1] < 0 ? ndim : 0));
    uint64_t reversed[4] = {0, second, first | second, first};
    if (turns % 2 == 0) return asn_np_flip(out, a, reversed[turns]);
    asn_array flipped;
    ASN_TRY(asn_np_flip(&flipped, a, reversed[turns]));
    asn_status status = asn_np_swapaxes(out, &flipped, axes[0], axes[1]);
    asn_array_fini(&flipped);
    return status;
}

/* ---- roll */

/* Up to so many bytes an axis at a time costs less than a block at a time, and nothing
 * inside an expression, which reads the pieces where they lie. */
enum { ROLLED_BY_AXES = 1 << 18 };

/* One roll after the other; each reads the result of the one before. Some axis moves. */
static asn_status by_axes(asn_array *out, const asn_array *a, const int64_t *shifts) {
    asn_array last;
    const asn_array *from = a;
    for (int d = 0; d < a->layout.ndim; d++) {
        asn_array next;
        if (!shifts[d]) continue;
        asn_status status = asn_roll(&next, from, shifts[d], d);
        if (from != a) asn_array_fini(&last);
        ASN_TRY(status);
        asn_array_move(&last, &next);
        from = &last;
    }
    asn_array_move(out, &last);
    return ASN_OK;
}

/* Block `which` (bit i: the part that comes back along the i-th axis that moves) of both
 * arrays; those without such elements are empty. */
static asn_status copy_block(const asn_array *to, const asn_array *from,
                             const int64_t *shifts, uint64_t which) {
    asn_index_item source[ASN_MAX_DIMS], target[ASN_MAX_DIMS];
    const asn_layout *l = &from->layout;
    for (int d = 0, at = 0; d < l->ndim; d++) {
        int64_t cut = l->shape[d] - shifts[d];
        bool wraps = shifts[d] && which >> at++ & 1;
        source[d] = (asn_index_item){.kind = ASN_INDEX_SLICE,
                                     .start = wraps ? cut : 0,
                                     .stop = wraps ? l->shape[d] : cut,
                                     .step = 1};
        target[d] = (asn_index_item){.kind = ASN_INDEX_SLICE,
                                     .start = wraps ? 0 : shifts[d],
                                     .stop = wraps ? shifts[d] : l->shape[d],
                                     .step = 1};
    }
    asn_array piece;
    ASN_TRY(asn_index_view(&piece, from, l->ndim, source));
    const asn_operand value = {.array = &piece};
    asn_status status = asn_index_set(to, l->ndim, target, &value);
    asn_array_fini(&piece);
    return status;
}

/* One copy for each combination of the parts that axes are cut into; `moved` axes are
 * cut. */
static asn_status by_blocks(asn_array *out, const asn_array *a, const int64_t *shifts,
                            int moved) {
    ASN_TRY(asn_array_new_like(out, a, asn_layout_dtype(&a->layout), 'K'));
    asn_status status = ASN_OK;
    for (uint64_t which = 0; which < (uint64_t)1 << moved && !status; which++)
        status = copy_block(out, a, shifts, which);
    if (status) asn_array_fini(out);
    return status;
}

/* Shifts are taken modulo the extents, so any int64 will do. Laid out as `a` is ('K'). */
asn_status asn_np_roll(asn_array *out, const asn_array *a, const int64_t *shifts) {
    int64_t within[ASN_MAX_DIMS];
    int moved = 0, last = 0;
    const asn_layout *l = &a->layout;
    for (int d = 0; d < l->ndim; d++) {
        within[d] = l->size ? shifts[d] % l->shape[d] : 0;
        within[d] += within[d] < 0 ? l->shape[d] : 0;
        moved += within[d] != 0;
        last = within[d] ? d : last;
    }
    if (!moved) return asn_copy(out, a, asn_layout_dtype(l), 'K');
    if (moved == 1) return asn_roll(out, a, within[last], last);
    return asn_layout_nbytes(l) <= ROLLED_BY_AXES ? by_axes(out, a, within)
                                                  : by_blocks(out, a, within, moved);
}

/* n // 2 forwards and -(n // 2) back: of odd extents these are no inverse of themselves.
 */
asn_status asn_np_fftshift(asn_array *out, const asn_array *a, int n, const int *axes,
                           bool back) {
    int64_t shifts[ASN_MAX_DIMS];
    for (int d = 0; d < a->layout.ndim; d++)
        shifts[d] = 0;
    for (int i = 0; i < n; i++) {
        int64_t half = a->layout.shape[axes[i]] / 2;
        shifts[axes[i]] += back ? -half : half;
    }
    return asn_np_roll(out, a, shifts);
}
