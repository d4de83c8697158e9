/* L1 array: making, copying and describing layouts (see layout.h).
 *
 * Invariants of every initialised layout: shape and strides point into `dims` when
 * ndim <= ASN_INLINE_DIMS, else to one block of 2 * ndim; size is the product of the
 * extents and fits int64 in bytes; flags agree with shape and strides. An extent of 1
 * places no demand on its stride, and an empty array is contiguous in both orders, as in
 * NumPy.
 */
#include "array/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On failure l is one that asn_layout_fini may be called on. */
asn_status asn_layout_alloc(asn_layout *l, int ndim) {
    l->ndim = ndim;
    l->flags = 0;
    l->offset = 0;
    l->size = 0;
    if (ndim <= ASN_INLINE_DIMS) {
        l->shape = l->dims;
        l->strides = l->dims + ASN_INLINE_DIMS;
        return ASN_OK;
    }
    if (ndim > ASN_MAX_DIMS) {
        l->ndim = 0;
        l->shape = l->strides = l->dims;
        return asn_error_set(
            ASN_ERR_VALUE,
            "maximum supported dimension for an ndarray is currently %d, "
            "found %d",
            ASN_MAX_DIMS, ndim);
    }
    int64_t *block = asn_malloc(2 * (size_t)ndim * sizeof *block);
    if (!block) {
        l->ndim = 0;
        l->shape = l->strides = l->dims;
        return ASN_ERR_MEMORY;
    }
    l->shape = block;
    l->strides = block + ndim;
    return ASN_OK;
}

asn_status asn_layout_copy(asn_layout *out, const asn_layout *l) {
    ASN_TRY(asn_layout_alloc(out, l->ndim));
    for (int d = 0; d < l->ndim; d++) {
        out->shape[d] = l->shape[d];
        out->strides[d] = l->strides[d];
    }
    out->dtype = l->dtype;
    out->flags = l->flags;
    out->size = l->size;
    out->offset = l->offset;
    return ASN_OK;
}

/* Pointers into the struct itself must follow it. */
void asn_layout_move(asn_layout *to, asn_layout *from) {
    *to = *from;
    if (from->shape == from->dims) {
        to->shape = to->dims;
        to->strides = to->dims + ASN_INLINE_DIMS;
    }
    from->shape = from->dims;
}

asn_status asn_layout_too_big(void) {
    return asn_error_set(ASN_ERR_VALUE,
                         "array is too big; `arr.size * arr.dtype.itemsize` is larger "
                         "than the maximum possible size.");
}

/* Takes over the shape and computes the size; on failure the layout is ended. */
static asn_status set_extents(asn_layout *l, int ndim, const int64_t *shape) {
    int64_t size = 1, span = asn_itemsize((asn_dtype)l->dtype);
    bool fits = true, empty = false;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] < 0) {
            asn_layout_fini(l);
            return asn_error_set(ASN_ERR_VALUE, "negative dimensions are not allowed");
        }
        l->shape[d] = shape[d];
        empty |= shape[d] == 0;
        /* The address space must hold the array with its empty axes left out, as NumPy
         * asks. */
        if (shape[d] > 0 && (fits = fits && asn_mul_size(span, shape[d], &span)))
            size *= shape[d];
    }
    if (!fits) {
        asn_layout_fini(l);
        return asn_layout_too_big();
    }
    l->size = empty ? 0 : size;
    return ASN_OK;
}

/* Strides from the last axis ('C') or the first ('F') on; an extent of 0 counts as 1, as
 * in NumPy. */
asn_status asn_layout_init(asn_layout *out, asn_dtype dtype, int ndim,
                           const int64_t *shape, char order) {
    ASN_TRY(asn_layout_alloc(out, ndim));
    out->dtype = (uint8_t)dtype;
    ASN_TRY(set_extents(out, ndim, shape));
    int64_t stride = asn_itemsize(dtype);
    for (int i = 0; i < ndim; i++) {
        int d = order == 'F' ? i : ndim - 1 - i;
        out->strides[d] = stride;
        stride *= shape[d] ? shape[d] : 1;
    }
    out->flags = ASN_WRITEABLE | ASN_ALIGNED;
    if (ndim <= 1 || out->size == 0) {
        out->flags |= ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS;
    } else {
        asn_layout_update(out);
    }
    return ASN_OK;
}

asn_status asn_layout_init_strided(asn_layout *out, asn_dtype dtype, int ndim,
                                   const int64_t *shape, const int64_t *strides,
                                   int64_t offset, bool writeable) {
    ASN_TRY(asn_layout_alloc(out, ndim));
    out->dtype = (uint8_t)dtype;
    ASN_TRY(set_extents(out, ndim, shape));
    if (ndim > 0) memcpy(out->strides, strides, (size_t)ndim * sizeof *strides);
    out->offset = offset;
    out->flags = writeable ? ASN_WRITEABLE : 0;
    asn_layout_update(out);
    return ASN_OK;
}

/* NumPy: an axis of length 1 fits any order, and an empty array has every flag. */
void asn_layout_update(asn_layout *l) {
    int64_t size = 1, expect = asn_itemsize((asn_dtype)l->dtype);
    bool c = true, f = true;
    for (int d = 0; d < l->ndim; d++)
        size *= l->shape[d];
    for (int d = l->ndim - 1; d >= 0 && c; d--) {
        if (l->shape[d] == 1) continue;
        c = l->strides[d] == expect;
        expect *= l->shape[d];
    }
    expect = asn_itemsize((asn_dtype)l->dtype);
    for (int d = 0; d < l->ndim && f; d++) {
        if (l->shape[d] == 1) continue;
        f = l->strides[d] == expect;
        expect *= l->shape[d];
    }
    /* The bits of offset and strides together: aligned when the low ones are all 0. */
    int64_t low = l->offset;
    for (int d = 0; d < l->ndim; d++)
        low |= l->shape[d] > 1 ? l->strides[d] : 0;
    bool aligned = (low & (asn_dtype_table[l->dtype].alignment - 1)) == 0;
    l->size = size;
    l->flags &= ASN_INHERITED;
    if (c || size == 0) l->flags |= ASN_C_CONTIGUOUS;
    if (f || size == 0) l->flags |= ASN_F_CONTIGUOUS;
    if (aligned || size == 0) l->flags |= ASN_ALIGNED;
}

/* Axes by falling |stride|: 'K', with those of one stride (of stretched axes, 0) in their
 * order, as NumPy's PyArray_NewLikeArray has them; 'I', where stretched axes and those of
 * extent 1 stay where they are, as its iterators have them (an insertion sort, since it
 * must be stable under ambiguous pairs). */
static void sort_axes_by_stride(const asn_layout *l, char order, int *perm) {
    for (int d = 0; d < l->ndim; d++) {
        int at = d;
        int64_t stride = llabs(l->strides[d]);
        for (int i = d - 1; i >= 0; i--) {
            int64_t other = llabs(l->strides[perm[i]]);
            if (order == 'I' &&
                (stride == 0 || other == 0 || l->shape[d] == 1 || l->shape[perm[i]] == 1))
                continue;
            if (stride <= other) break;
            at = i;
        }
        memmove(perm + at + 1, perm + at, (size_t)(d - at) * sizeof *perm);
        perm[at] = d;
    }
}

/* Contiguous sources keep their order; only others need the sort. */
asn_status asn_layout_like(asn_layout *out, const asn_layout *l, asn_dtype dtype,
                           char order) {
    if (order == 'A')
        order =
            (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS) ? 'F' : 'C';
    /* 'K' and 'I' of a contiguous layout are its own order. */
    const bool kept = order == 'K' || order == 'I';
    if (kept && (l->ndim <= 1 || (l->flags & ASN_C_CONTIGUOUS)))
        order = 'C';
    else if (kept && (l->flags & ASN_F_CONTIGUOUS))
        order = 'F';
    const bool sorted = order == 'K' || order == 'I';
    ASN_TRY(asn_layout_init(out, dtype, l->ndim, l->shape, sorted ? 'C' : order));
    if (!sorted) return ASN_OK;
    int perm[ASN_MAX_DIMS];
    sort_axes_by_stride(l, order, perm);
    int64_t stride = asn_itemsize(dtype);
    for (int i = l->ndim - 1; i >= 0; i--) {
        out->strides[perm[i]] = stride;
        stride *= l->shape[perm[i]] ? l->shape[perm[i]] : 1;
    }
    asn_layout_update(out);
    return ASN_OK;
}

/* Negative strides extend the range downwards. */
void asn_layout_bounds(const asn_layout *l, int64_t *low, int64_t *high) {
    *low = *high = l->offset;
    if (l->size == 0) return;
    bool fits = true;
    for (int d = 0; d < l->ndim; d++) {
        int64_t reach;
        fits &= asn_mul_size(l->shape[d] - 1, l->strides[d], &reach);
        if (reach < 0)
            fits &= asn_add_size(*low, reach, low);
        else
            fits &= asn_add_size(*high, reach, high);
    }
    fits &= asn_add_size(*high, asn_itemsize((asn_dtype)l->dtype), high);
    if (__builtin_expect(!fits, 0)) *low = -INT64_MAX, *high = INT64_MAX;
}

bool asn_layout_same_shape(const asn_layout *a, const asn_layout *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* Strides along an axis of extent 1 do not count. */
bool asn_layout_identical(const asn_layout *a, const asn_layout *b) {
    if (a->offset != b->offset || !asn_layout_same_shape(a, b) ||
        asn_itemsize((asn_dtype)a->dtype) != asn_itemsize((asn_dtype)b->dtype))
        return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
    return true;
}

char *asn_shape_format(char *text, size_t capacity, int ndim, const int64_t *shape) {
    size_t at = 0;
    at += (size_t)snprintf(text, capacity, "(");
    for (int d = 0; d < ndim && at < capacity; d++)
        at += (size_t)snprintf(text + at, capacity - at, "%lld%s", (long long)shape[d],
                               d + 1 < ndim ? ","
                               : ndim == 1  ? ","
                                            : "");
    if (at < capacity) snprintf(text + at, capacity - at, ")");
    return text;
}

asn_status asn_axis_normalize(int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return asn_error_set(ASN_ERR_AXIS,
                             "axis %lld is out of bounds for array of dimension %d",
                             (long long)axis, ndim);
    *out = (int)(axis < 0 ? axis + ndim : axis);
    return ASN_OK;
}

asn_status asn_axis_of_shape(int64_t axis, int ndim, int *out) {
    if (axis < -ndim || axis >= ndim)
        return asn_error_set(ASN_ERR_INDEX,
                             "axis %lld: tuple index out of range: the array has %d "
                             "dimensions",
                             (long long)axis, ndim);
    return asn_axis_normalize(axis, ndim, out);
}
