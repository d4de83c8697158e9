/* AsNumpy in C: a[...] in general, picking and placing elements by index or mask.
 * Include asnumpy/asnumpy.h. */
#ifndef ASNUMPY_INDEX_H_
#define ASNUMPY_INDEX_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One entry of an index: what stands between two commas of a[...]. */
typedef struct {
    int32_t kind; /* 'i' integer, 's' slice, '.' ellipsis, 'n' newaxis, 'a' array */
    int64_t start, stop, step;
    const asnp_array *array;
} asnp_index;

/* i */
static inline asnp_index asnp_at(int64_t i) {
    asnp_index x = {'i', i, 0, 1, NULL};
    return x;
}
/* start:stop:step, counted from the end when negative; ASNP_END as in types.h */
static inline asnp_index asnp_span(int64_t start, int64_t stop, int64_t step) {
    asnp_index x = {'s', start, stop, step, NULL};
    return x;
}
/* : */
static inline asnp_index asnp_whole(void) {
    return asnp_span(0, ASNP_END, 1);
}
/* ... */
static inline asnp_index asnp_ellipsis(void) {
    asnp_index x = {'.', 0, 0, 1, NULL};
    return x;
}
/* None */
static inline asnp_index asnp_newaxis(void) {
    asnp_index x = {'n', 0, 0, 1, NULL};
    return x;
}
/* An array of integers, or a mask of bools that takes as many axes as it has. */
static inline asnp_index asnp_by(const asnp_array *array) {
    asnp_index x = {'a', 0, 0, 1, array};
    return x;
}

/* a[index[0], ..., index[n - 1]]: a view when no array is among them, else a new array
 * with NumPy's placement of axes. INDEX: out of bounds, too many, a mask of another
 * shape, an array of floats. */
ASNUMPY_API asnp_status asnp_index_get(const asnp_array *a, int32_t n,
                                       const asnp_index *index, asnp_array **out);
/* a[index...] = value, broadcast and cast; where places repeat, the last value stays.
 * VALUE: read-only. */
ASNUMPY_API asnp_status asnp_index_set(asnp_array *a, int32_t n, const asnp_index *index,
                                       asnp_operand value);
/* a[index...] op= value for a ufunc of two arguments, unbuffered: places that repeat
 * take every value. */
ASNUMPY_API asnp_status asnp_index_update(const char *name, asnp_array *a, int32_t n,
                                          const asnp_index *index, asnp_operand value);

/* What an index out of bounds means. */
typedef enum { ASNP_RAISE = 0, ASNP_WRAP = 1, ASNP_CLIP = 2 } asnp_mode;

/* Elements by integer `indices` along an axis (ASNP_FLATTENED: of all elements), whose
 * place the shape of `indices` takes. INDEX out of bounds under ASNP_RAISE. */
ASNUMPY_API asnp_status asnp_take(const asnp_array *a, const asnp_array *indices,
                                  int32_t axis, asnp_mode mode, asnp_array **out);
/* Elements picked along an axis by indices of a's number of dimensions, as argsort gives
 * them. */
ASNUMPY_API asnp_status asnp_take_along_axis(const asnp_array *a,
                                             const asnp_array *indices, int32_t axis,
                                             asnp_array **out);
ASNUMPY_API asnp_status asnp_put_along_axis(asnp_array *a, const asnp_array *indices,
                                            asnp_operand values, int32_t axis);
/* The elements where a mask of a's shape is true, as one axis. */
ASNUMPY_API asnp_status asnp_mask_get(const asnp_array *a, const asnp_array *mask,
                                      asnp_array **out);
/* a[mask] = value: one value, or as many as the mask has true elements. */
ASNUMPY_API asnp_status asnp_mask_set(asnp_array *a, const asnp_array *mask,
                                      asnp_operand value);
/* Where elements are not 0: asnp_ndim(a) int64 arrays, one an axis, into out[]. VALUE:
 * 0-d. */
ASNUMPY_API asnp_status asnp_nonzero(const asnp_array *a, asnp_array **out);
/* x where condition (bool, or not 0) holds, else y; all broadcast, x and y promoted. */
ASNUMPY_API asnp_status asnp_where(const asnp_array *condition, asnp_operand x,
                                   asnp_operand y, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
