/* L2 numpy: flat indices and coordinates (coordinates.h).
 *
 * A flat index is the sum of coordinates times steps; the way back is a division and a
 * remainder for each dimension. Both are written twice, for one number and for arrays:
 * numbers never become arrays, which would cost more than the arithmetic.
 *
 * Bounds are looked at by the least and the greatest element, two reductions, so that
 * nothing is read element by element unless there is an error to report; in a capture,
 * where values are not there yet, that look is refused by the engine.
 */
#include "numpy/coordinates.h"

#include <string.h>

#include "numpy/elementwise.h"
#include "numpy/temporaries.h"

/* The elements from one position to the next along each dimension, the product of the
 * extents that vary faster (those behind it, or in order 'F' those before it), and the
 * number of all. VALUE: more than int64 has. */
static asn_status find_steps(int ndim, const int64_t *shape, char order, int64_t *steps,
                             int64_t *size) {
    *size = 1;
    for (int i = 0; i < ndim; i++) {
        int d = order == 'F' ? i : ndim - 1 - i;
        steps[d] = *size;
        if (!asn_mul_size(*size, shape[d], size))
            return asn_error_set(ASN_ERR_VALUE,
                                 "dimensions are too large; arrays and shapes with a "
                                 "total size greater than 'intp' are not supported.");
    }
    return ASN_OK;
}

/* NumPy's error for a flat index. */
static asn_status out_of_bounds(int64_t flat, int64_t size) {
    return asn_error_set(ASN_ERR_VALUE,
                         "index %lld is out of bounds for array with size %lld",
                         (long long)flat, (long long)size);
}

/* (Contract in coordinates.h.) Also for a flat index of no elements there is an error. */
asn_status asn_np_unravel(int64_t flat, int ndim, const int64_t *shape, char order,
                          int64_t *at) {
    int64_t steps[ASN_MAX_DIMS], size;
    ASN_TRY(find_steps(ndim, shape, order, steps, &size));
    if (flat < 0 || flat >= size) return out_of_bounds(flat, size);
    for (int d = 0; d < ndim; d++)
        at[d] = flat / steps[d] % shape[d];
    return ASN_OK;
}

/* The least (or greatest) element of an int64 array that has some. */
static asn_status extreme(const asn_array *a, bool greatest, int64_t *value) {
    ASN_TEMPORARIES;
    const int ndim = a->layout.ndim;
    const asn_reduce_options all = {.axes = ndim == 64 ? ~(uint64_t)0
                                                       : ((uint64_t)1 << ndim) - 1,
                                    .dtype = ASN_DTYPE_NONE,
                                    .now = true};
    asn_scalar found;
    ASN_MAKE(one, asn_ufunc_reduce(greatest ? ASN_OP_MAXIMUM : ASN_OP_MINIMUM, a, NULL,
                                   one, &all));
    ASN_TRY(asn_array_get_item(one, 0, &found));
    memcpy(value, found.bytes, sizeof *value);
    return ASN_OK;
}

/* *beyond: an element that is none of 0 ... n - 1. */
static asn_status look_beyond(const asn_array *a, int64_t n, bool *beyond) {
    int64_t low, high;
    *beyond = false;
    if (a->layout.size == 0) return ASN_OK;
    ASN_TRY(extreme(a, false, &low));
    ASN_TRY(extreme(a, true, &high));
    *beyond = low < 0 || high >= n;
    return ASN_OK;
}

/* Names the first element beyond. The error path: elements are copied to the host. */
static asn_status report_beyond(const asn_array *flat, int64_t size) {
    int64_t n = flat->layout.size, at = 0;
    int64_t *values = asn_malloc((size_t)n * sizeof *values);
    if (!values) return ASN_ERR_MEMORY;
    asn_status status = asn_array_to_host(flat, values);
    while (!status && at < n - 1 && values[at] >= 0 && values[at] < size)
        at++;
    if (!status) status = out_of_bounds(values[at], size);
    asn_free(values);
    return status;
}

/* op(a, n), element by element. */
static asn_status with_number(asn_array *out, asn_op op, const asn_array *a, int64_t n) {
    return asn_np_binary(out, op, asn_np_of(a), asn_operand_int(n));
}

/* flat // step % extent */
static asn_status coordinate(asn_array *out, const asn_array *flat, int64_t step,
                             int64_t extent) {
    ASN_TEMPORARIES;
    ASN_MAKE(whole, with_number(whole, ASN_OP_FLOOR_DIVIDE, flat, step));
    return with_number(out, ASN_OP_REMAINDER, whole, extent);
}

/* (Contract in coordinates.h.) All results or none. */
asn_status asn_np_unravel_index(asn_array *results, const asn_array *flat, int ndim,
                                const int64_t *shape, char order) {
    int64_t steps[ASN_MAX_DIMS], size;
    bool beyond;
    ASN_TRY(find_steps(ndim, shape, order, steps, &size));
    ASN_TRY(look_beyond(flat, size, &beyond));
    if (beyond) return report_beyond(flat, size);
    if (!ndim && flat->layout.size && flat->layout.ndim)
        return asn_error_set(ASN_ERR_VALUE,
                             "multiple indices are not supported for 0d array");
    int made = 0;
    asn_status status = ASN_OK;
    for (; made < ndim && !status; made += !status)
        status = coordinate(&results[made], flat, steps[made], shape[made]);
    while (status && made)
        asn_array_fini(&results[--made]);
    return status;
}

/* NumPy's error for a coordinate out of bounds. */
static asn_status invalid_entry(void) {
    return asn_error_set(ASN_ERR_VALUE, "invalid entry in coordinates array");
}

/* NumPy's error for coordinates of no elements. */
static asn_status empty_dimension(void) {
    return asn_error_set(ASN_ERR_VALUE, "cannot take indices of an empty dimension");
}

/* (Contract in coordinates.h.) Coordinates that are kept within the bounds are moved to
 * the nearest (CLIP), or taken modulo the extent (WRAP). */
asn_status asn_np_ravel_multi(const int64_t *at, int ndim, const int64_t *shape,
                              const asn_np_bounds *modes, char order, int64_t *flat) {
    int64_t steps[ASN_MAX_DIMS], size;
    ASN_TRY(find_steps(ndim, shape, order, steps, &size));
    *flat = 0;
    for (int d = 0; d < ndim; d++) {
        int64_t n = shape[d], one = at[d];
        if (n == 0) return empty_dimension();
        if (modes[d] == ASN_BOUNDS_RAISE && (one < 0 || one >= n)) return invalid_entry();
        if (modes[d] == ASN_BOUNDS_WRAP) one = (one % n + n) % n;
        *flat += (one < 0 ? 0 : one >= n ? n - 1 : one) * steps[d];
    }
    return ASN_OK;
}

/* What lies within the bounds, as the mode says. Raising must wait for the values. */
static asn_status within(asn_array *out, const asn_array *at, int64_t extent,
                         asn_np_bounds mode) {
    if (mode == ASN_BOUNDS_WRAP) return with_number(out, ASN_OP_REMAINDER, at, extent);
    if (mode == ASN_BOUNDS_CLIP) {
        const asn_operand in[3] = {
            {.array = at}, asn_operand_int(0), asn_operand_int(extent - 1)};
        return asn_ufunc_call(ASN_OP_CLIP, in, NULL, out, NULL);
    }
    bool beyond;
    ASN_TRY(look_beyond(at, extent, &beyond));
    return beyond ? invalid_entry() : asn_array_share(out, at);
}

/* *total += tame * step; the first one makes *total. A sum that broadcasts becomes a new
 * array. */
static asn_status add_dimension(asn_array *total, bool first, const asn_array *tame,
                                int64_t step) {
    ASN_TEMPORARIES;
    asn_array sum;
    if (first) return with_number(total, ASN_OP_MULTIPLY, tame, step);
    ASN_MAKE(part, with_number(part, ASN_OP_MULTIPLY, tame, step));
    ASN_TRY(asn_np_binary(&sum, ASN_OP_ADD, asn_np_of(total), asn_np_of(part)));
    asn_array_fini(total);
    asn_array_move(total, &sum);
    return ASN_OK;
}

/* Coordinates that are checked, or brought within the bounds. */
static asn_status checked_dimension(asn_array *total, bool first, const asn_array *at,
                                    int64_t extent, int64_t step, asn_np_bounds mode) {
    ASN_TEMPORARIES;
    if (extent == 0) return empty_dimension();
    ASN_MAKE(tame, within(tame, at, extent, mode));
    return add_dimension(total, first, tame, step);
}

/* (Contract in coordinates.h.) Dimensions are added up one by one in *result, which
 * starts with the first. */
asn_status asn_np_ravel_multi_index(asn_array *result, const asn_array *const *at,
                                    int ndim, const int64_t *shape,
                                    const asn_np_bounds *modes, char order) {
    int64_t steps[ASN_MAX_DIMS] = {1}, size;
    bool empty = false; /* then they broadcast to nothing, and none is out of bounds */
    ASN_TRY(find_steps(ndim, shape, order, steps, &size));
    for (int d = 0; d < ndim; d++)
        empty |= at[d]->layout.size == 0;
    asn_status status = ASN_OK;
    int made = 0;
    for (; made < ndim && !status; made += !status)
        status = empty ? add_dimension(result, made == 0, at[made], steps[made])
                       : checked_dimension(result, made == 0, at[made], shape[made],
                                           steps[made], modes[made]);
    if (status && made) asn_array_fini(result);
    return status;
}
