/* L1 array: layouts of views (see views.h). Every function is arithmetic on shape and
 * strides.
 *
 * The rules are NumPy's. Contiguity and alignment are computed anew for each view. Bounds
 * need no check: a view touches no byte that its source does not. */
#include "array/views.h"

#include <string.h>

/* An inherited view: dtype and writeability come from l, the rest is recomputed. */
static void finish(asn_layout *out, const asn_layout *l, asn_dtype dtype) {
    out->dtype = (uint8_t)dtype;
    out->flags = l->flags & ASN_WRITEABLE;
    asn_layout_inherit_truth(out, l);
    asn_layout_update(out);
}

asn_status asn_view_transpose(asn_layout *out, const asn_layout *l, const int *perm) {
    ASN_TRY(asn_layout_alloc(out, l->ndim));
    for (int d = 0; d < l->ndim; d++) {
        int from = perm ? perm[d] : l->ndim - 1 - d;
        out->shape[d] = l->shape[from];
        out->strides[d] = l->strides[from];
    }
    out->offset = l->offset;
    finish(out, l, (asn_dtype)l->dtype);
    return ASN_OK;
}

/* A negative extent stands for what is left, which must be whole; beside an extent of 0
 * it cannot be told. */
asn_status asn_shape_resolve(int64_t size, int ndim, const int64_t *shape,
                             int64_t *resolved) {
    char text[256];
    int64_t known = 1;
    int unknown = -1;
    bool fits = true;
    for (int d = 0; d < ndim; d++) {
        resolved[d] = shape[d];
        if (shape[d] < 0) {
            if (unknown >= 0)
                return asn_error_set(ASN_ERR_VALUE,
                                     "can only specify one unknown dimension");
            unknown = d;
        } else {
            fits = fits && asn_mul_size(known, shape[d], &known);
        }
    }
    bool good = fits && (unknown < 0 ? known == size : known > 0 && size % known == 0);
    if (!good)
        return asn_error_set(
            ASN_ERR_VALUE, "cannot reshape array of size %lld into shape %s",
            (long long)size, asn_shape_format(text, sizeof text, ndim, shape));
    if (unknown >= 0) resolved[unknown] = size / known;
    return ASN_OK;
}

/* Strides for `shape` over l's elements in the given order, if the elements can be walked
 * so. Works group by group: the shortest runs of old and new axes with equal products; a
 * run of old axes must be one arithmetic progression to be cut anew (NumPy's no-copy
 * reshape). */
static bool reshape_strides(const asn_layout *l, int ndim, const int64_t *shape, bool f,
                            int64_t *strides) {
    int64_t old_shape[ASN_MAX_DIMS], old_strides[ASN_MAX_DIMS];
    int old_ndim = 0;
    for (int d = 0; d < l->ndim; d++) {
        /* Axes of length 1 take no part. */
        if (l->shape[d] == 1) continue;
        old_shape[old_ndim] = l->shape[d];
        old_strides[old_ndim++] = l->strides[d];
    }
    int oi = 0, oj = 1, ni = 0, nj = 1;
    while (ni < ndim && oi < old_ndim) {
        int64_t np = shape[ni], op = old_shape[oi];
        /* Grow the smaller product by an axis until both runs are as long. */
        while (np != op) {
            if (np < op)
                np *= shape[nj++];
            else
                op *= old_shape[oj++];
        }
        for (int k = oi; k < oj - 1; k++) {
            bool joined = f ? old_strides[k + 1] == old_shape[k] * old_strides[k]
                            : old_strides[k] == old_shape[k + 1] * old_strides[k + 1];
            if (!joined) return false;
        }
        if (f) {
            strides[ni] = old_strides[oi];
            for (int k = ni + 1; k < nj; k++)
                strides[k] = strides[k - 1] * shape[k - 1];
        } else {
            strides[nj - 1] = old_strides[oj - 1];
            for (int k = nj - 1; k > ni; k--)
                strides[k - 1] = strides[k] * shape[k];
        }
        ni = nj++;
        oi = oj++;
    }
    /* New axes of length 1 at the end: their strides are arbitrary, and NumPy's. */
    int64_t last = ni >= 1 ? strides[ni - 1] : asn_itemsize((asn_dtype)l->dtype);
    if (f && ni >= 1) last *= shape[ni - 1];
    for (int k = ni; k < ndim; k++)
        strides[k] = last;
    return true;
}

asn_status asn_view_reshape(asn_layout *out, const asn_layout *l, int ndim,
                            const int64_t *shape, char order, bool *possible) {
    if (ndim > ASN_MAX_DIMS) return asn_layout_alloc(out, ndim);
    int64_t resolved[ASN_MAX_DIMS], strides[ASN_MAX_DIMS];
    ASN_TRY(asn_shape_resolve(l->size, ndim, shape, resolved));
    if (order == 'A')
        order =
            (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS) ? 'F' : 'C';
    bool contiguous = l->flags & (order == 'F' ? ASN_F_CONTIGUOUS : ASN_C_CONTIGUOUS);
    *possible = true;
    /* In the order asked for, or without elements: any shape fits. */
    if (contiguous || l->size == 0) {
        const uint8_t kept = ASN_INHERITED | ASN_ALIGNED; /* the memory is the same */
        ASN_TRY(asn_layout_init(out, (asn_dtype)l->dtype, ndim, resolved, order));
        out->offset = l->offset;
        out->flags = (uint8_t)((out->flags & ~kept) | (l->flags & kept));
        return ASN_OK;
    }
    *possible = reshape_strides(l, ndim, resolved, order == 'F', strides);
    if (!*possible) return ASN_OK;
    ASN_TRY(asn_layout_init_strided(out, (asn_dtype)l->dtype, ndim, resolved, strides,
                                    l->offset, l->flags & ASN_WRITEABLE));
    asn_layout_inherit_truth(out, l);
    return ASN_OK;
}

asn_status asn_view_range(asn_layout *out, const asn_layout *l, int axis, int64_t start,
                          int64_t extent) {
    ASN_TRY(asn_layout_copy(out, l));
    out->offset += start * out->strides[axis];
    out->shape[axis] = extent;
    asn_layout_update(out);
    return ASN_OK;
}

/* bytes: a stretched shape must still have a size that can be counted. */
asn_status asn_view_broadcast(asn_layout *out, const asn_layout *l, int ndim,
                              const int64_t *shape) {
    char from[256], to[256];
    for (int d = 0; d < ndim; d++)
        if (shape[d] < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "all elements of broadcast shape must be non-negative");
    bool good = ndim >= l->ndim;
    for (int d = 0; good && d < l->ndim; d++)
        good = l->shape[d] == shape[ndim - l->ndim + d] || l->shape[d] == 1;
    if (!good)
        return asn_error_set(
            ASN_ERR_VALUE,
            "operands could not be broadcast together with remapped shapes "
            "[original->remapped]: %s and requested shape %s",
            asn_shape_format(from, sizeof from, l->ndim, l->shape),
            asn_shape_format(to, sizeof to, ndim, shape));
    ASN_TRY(asn_layout_alloc(out, ndim));
    int lead = ndim - l->ndim;
    int64_t bytes = asn_itemsize((asn_dtype)l->dtype);
    for (int d = 0; d < ndim; d++) {
        if (shape[d] && !asn_mul_size(bytes, shape[d], &bytes)) {
            asn_layout_fini(out);
            return asn_layout_too_big();
        }
        out->shape[d] = shape[d];
        bool stretched = d < lead || (l->shape[d - lead] == 1 && shape[d] != 1);
        out->strides[d] = stretched ? 0 : l->strides[d - lead];
    }
    out->offset = l->offset;
    finish(out, l, (asn_dtype)l->dtype);
    out->flags &= (uint8_t)~ASN_WRITEABLE;
    return ASN_OK;
}

/* The diagonal is the last axis; its stride is the sum of both. numpy.diagonal is
 * read-only. */
asn_status asn_view_diagonal(asn_layout *out, const asn_layout *l, int64_t k, int axis1,
                             int axis2) {
    if (l->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "diag requires an array of at least two dimensions");
    if (axis1 == axis2)
        return asn_error_set(ASN_ERR_VALUE, "axis1 and axis2 cannot be the same");
    ASN_TRY(asn_layout_alloc(out, l->ndim - 1));
    int64_t rows = l->shape[axis1], cols = l->shape[axis2], s1 = l->strides[axis1],
            s2 = l->strides[axis2];
    int64_t row0 = k < 0 ? -k : 0, col0 = k > 0 ? k : 0;
    int64_t n = rows - row0 < cols - col0 ? rows - row0 : cols - col0;
    int at = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (d == axis1 || d == axis2) continue;
        out->shape[at] = l->shape[d];
        out->strides[at++] = l->strides[d];
    }
    out->shape[at] = n > 0 ? n : 0;
    out->strides[at] = s1 + s2;
    out->offset = l->offset + (n > 0 ? row0 * s1 + col0 * s2 : 0);
    finish(out, l, (asn_dtype)l->dtype);
    out->flags &= (uint8_t)~ASN_WRITEABLE;
    return ASN_OK;
}

asn_status asn_view_squeeze(asn_layout *out, const asn_layout *l, uint64_t mask) {
    int kept = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (mask >> d & 1) {
            if (l->shape[d] != 1)
                return asn_error_set(ASN_ERR_VALUE,
                                     "cannot select an axis to squeeze out "
                                     "which has size not equal to one");
        } else {
            kept++;
        }
    }
    ASN_TRY(asn_layout_alloc(out, kept));
    for (int d = 0, at = 0; d < l->ndim; d++) {
        if (mask >> d & 1) continue;
        out->shape[at] = l->shape[d];
        out->strides[at++] = l->strides[d];
    }
    out->offset = l->offset;
    finish(out, l, (asn_dtype)l->dtype);
    return ASN_OK;
}

/* A new axis has stride 0, which no element uses. */
asn_status asn_view_expand(asn_layout *out, const asn_layout *l, int result_ndim,
                           uint64_t mask) {
    ASN_TRY(asn_layout_alloc(out, result_ndim));
    for (int d = 0, from = 0; d < result_ndim; d++) {
        bool fresh = mask >> d & 1;
        out->shape[d] = fresh ? 1 : l->shape[from];
        out->strides[d] = fresh ? 0 : l->strides[from];
        from += !fresh;
    }
    out->offset = l->offset;
    finish(out, l, (asn_dtype)l->dtype);
    return ASN_OK;
}

/* A complex number is two reals: the strides stay. */
asn_status asn_view_part(asn_layout *out, const asn_layout *l, int part) {
    ASN_TRY(asn_layout_copy(out, l));
    asn_dtype real = asn_real_dtype((asn_dtype)l->dtype);
    if (part) out->offset += asn_itemsize(real);
    finish(out, l, real);
    return ASN_OK;
}

asn_status asn_view_dtype(asn_layout *out, const asn_layout *l, asn_dtype dtype) {
    /* The last axis is cut into, or made of, elements of the other size. */
    int64_t from = asn_itemsize((asn_dtype)l->dtype), to = asn_itemsize(dtype);
    if (from != to) {
        if (l->ndim == 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "Changing the dtype of a 0d array is only "
                                 "supported if the itemsize is unchanged");
        int last = l->ndim - 1;
        if (l->shape[last] != 1 && l->size > 0 && l->strides[last] != from)
            return asn_error_set(
                ASN_ERR_VALUE, "To change to a dtype of a different size, the last axis "
                               "must be contiguous");
        if (to > from && (l->shape[last] * from) % to != 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "When changing to a larger dtype, its size must be a "
                                 "divisor of the total size in bytes of the last axis of "
                                 "the array.");
        if (to < from && from % to != 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "When changing to a smaller dtype, its size must be a "
                                 "divisor of the size of original dtype");
    }
    ASN_TRY(asn_layout_copy(out, l));
    if (from != to) {
        out->shape[l->ndim - 1] = l->shape[l->ndim - 1] * from / to;
        out->strides[l->ndim - 1] = to;
    }
    finish(out, l, dtype);
    return ASN_OK;
}
