/* L1 array: a layout is where the elements of an array lie: dtype, shape, byte strides,
 * byte offset.
 *
 * Pure arithmetic: no memory of the device, no Python. A view of an array is a new layout
 * over the same buffer. Up to ASN_INLINE_DIMS dimensions live inside the struct; more
 * take one heap block, so a layout is copied with asn_layout_copy, never with `=`.
 */
#ifndef ASN_ARRAY_LAYOUT_H
#define ASN_ARRAY_LAYOUT_H

#include <stddef.h>

#include "base/alloc.h"
#include "base/dtype.h"
#include "base/status.h"

enum { ASN_MAX_DIMS = 64, ASN_INLINE_DIMS = 4 };

enum {
    ASN_C_CONTIGUOUS = 1,
    ASN_F_CONTIGUOUS = 2,
    ASN_WRITEABLE = 4,
    ASN_ALIGNED = 8, /* every element at a multiple of the dtype's alignment */
    /* a non-canonical bool: over bytes that something else made, of which any but 0 is
       true (graph/ufunc/truth.h) */
    ASN_NONCANONICAL = 16,
    ASN_INHERITED = ASN_WRITEABLE | ASN_NONCANONICAL, /* what a view takes over */
};

typedef struct {
    int32_t ndim;
    uint8_t dtype; /* asn_dtype */
    uint8_t flags;
    int64_t size;   /* number of elements */
    int64_t offset; /* bytes from the buffer's start to element (0, ..., 0) */
    int64_t *shape,
        *strides; /* strides in bytes; both point to `dims` or to one heap block */
    int64_t dims[2 * ASN_INLINE_DIMS];
} asn_layout;

/* The dtype as its enumeration. */
static inline asn_dtype asn_layout_dtype(const asn_layout *l) {
    return (asn_dtype)l->dtype;
}
/* Row-major without gaps. */
static inline bool asn_layout_contiguous(const asn_layout *l) {
    return l->flags & ASN_C_CONTIGUOUS;
}

/* Storage for ndim dimensions, their values unset. ValueError past ASN_MAX_DIMS. */
ASN_CHECK_RESULT asn_status asn_layout_alloc(asn_layout *l, int ndim);
/* Ends the dimensions; may be called again. */
static inline void asn_layout_fini(asn_layout *l) {
    if (l->shape == l->dims) return;
    asn_free(l->shape);
    l->shape = l->dims;
}
ASN_CHECK_RESULT asn_status asn_layout_copy(asn_layout *out, const asn_layout *l);
/* Moves *from into *to (uninitialised); *from needs no fini any more. */
void asn_layout_move(asn_layout *to, asn_layout *from);

/* Contiguous in row-major ('C') or column-major ('F') order, offset 0, writeable.
 * ValueError for a negative extent or a size past the address space. */
ASN_CHECK_RESULT asn_status asn_layout_init(asn_layout *out, asn_dtype dtype, int ndim,
                                            const int64_t *shape, char order);
/* Any strides (bytes); flags are computed. */
ASN_CHECK_RESULT asn_status asn_layout_init_strided(asn_layout *out, asn_dtype dtype,
                                                    int ndim, const int64_t *shape,
                                                    const int64_t *strides,
                                                    int64_t offset, bool writeable);
/* A fresh layout of `dtype` with l's shape, its axes ordered as `order` says: 'C', 'F',
 * 'A' (F if l is F- and not C-contiguous), 'K' (as close to l's strides as possible) or
 * 'I' (as an iteration goes over l: the same where no axis is stretched). */
ASN_CHECK_RESULT asn_status asn_layout_like(asn_layout *out, const asn_layout *l,
                                            asn_dtype dtype, char order);
/* Recomputes size, contiguity and alignment after shape or strides were set by hand. */
void asn_layout_update(asn_layout *l);
/* Marks `view`, over l's bytes, as a non-canonical bool if it may be one. */
static inline void asn_layout_inherit_truth(asn_layout *view, const asn_layout *l) {
    bool raw = view->dtype == ASN_BOOL &&
               (l->dtype != ASN_BOOL || (l->flags & ASN_NONCANONICAL) != 0);
    view->flags =
        (uint8_t)((view->flags & ~ASN_NONCANONICAL) | (raw ? ASN_NONCANONICAL : 0));
}
/* Bytes a fresh array of this layout needs. */
static inline int64_t asn_layout_nbytes(const asn_layout *l) {
    return l->size * asn_itemsize((asn_dtype)l->dtype);
}
/* ValueError: more bytes than there are addresses. */
ASN_CHECK_RESULT asn_status asn_layout_too_big(void);
/* The byte range [*low, *high) that the elements touch, offset included; empty arrays:
 * low == high. Strides that lead past all addresses: from the least to the greatest. */
void asn_layout_bounds(const asn_layout *l, int64_t *low, int64_t *high);
bool asn_layout_same_shape(const asn_layout *a, const asn_layout *b);
/* Same dtype size, shape, strides and offset: element i is element i. */
bool asn_layout_identical(const asn_layout *a, const asn_layout *b);

/* "(2, 3)" into text (NUL-terminated, cut to fit); returns text. */
char *asn_shape_format(char *text, size_t capacity, int ndim, const int64_t *shape);

/* axis + ndim when negative. AxisError out of range. */
ASN_CHECK_RESULT asn_status asn_axis_normalize(int64_t axis, int ndim, int *out);
/* The same for functions of NumPy's that ask the shape itself: IndexError out of range.
 */
ASN_CHECK_RESULT asn_status asn_axis_of_shape(int64_t axis, int ndim, int *out);

#endif
