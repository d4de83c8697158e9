/* AsNumpy in C: making arrays, their facts, views of them, joining, single elements.
 * Include asnumpy/asnumpy.h. */
#ifndef ASNUMPY_ARRAY_H_
#define ASNUMPY_ARRAY_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- creation. shape: ndim extents, none negative (VALUE); at most 64 dimensions. */

/* Uninitialised elements. */
ASNUMPY_API asnp_status asnp_empty(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                                   asnp_array **out);
ASNUMPY_API asnp_status asnp_zeros(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                                   asnp_array **out);
ASNUMPY_API asnp_status asnp_ones(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                                  asnp_array **out);
/* Every element `value`. OVERFLOW: an integer that the dtype does not have. */
ASNUMPY_API asnp_status asnp_full(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                                  asnp_number value, asnp_array **out);
/* Shape and order in memory of `a`; dtype ASNP_DTYPE_NONE: a's. */
ASNUMPY_API asnp_status asnp_empty_like(const asnp_array *a, asnp_dtype dtype,
                                        asnp_array **out);
/* start, start + step, ... up to stop, which is left out. dtype ASNP_DTYPE_NONE: int64
 * when all three are integers, else float64. TYPE: bool, complex. VALUE: step 0. */
ASNUMPY_API asnp_status asnp_arange(asnp_number start, asnp_number stop, asnp_number step,
                                    asnp_dtype dtype, asnp_array **out);
/* num float64 numbers from start to stop, both included. VALUE: num negative. */
ASNUMPY_API asnp_status asnp_linspace(double start, double stop, int64_t num,
                                      asnp_array **out);
/* rows x columns with ones on diagonal k (0 the main one, 1 above it). */
ASNUMPY_API asnp_status asnp_eye(asnp_dtype dtype, int64_t rows, int64_t columns,
                                 int64_t k, asnp_array **out);
/* A copy of row-major host data; with `strides` (bytes; NULL: row-major) of any layout,
 * `data` being element (0, ..., 0). */
ASNUMPY_API asnp_status asnp_from_host(asnp_dtype dtype, int32_t ndim,
                                       const int64_t *shape, const int64_t *strides,
                                       const void *data, asnp_array **out);
/* An array in host memory that the caller keeps until release(context) is called, once,
 * by any thread, when the last handle on it goes: no copy where the device reaches host
 * memory. Elsewhere the elements are copied and release is called before this returns.
 * Arguments as of asnp_from_host; data must be aligned for the dtype. release may be
 * NULL. On failure release is not called. */
ASNUMPY_API asnp_status asnp_adopt(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                                   const int64_t *strides, void *data,
                                   void (*release)(void *), void *context,
                                   asnp_array **out);
/* A row-major copy. */
ASNUMPY_API asnp_status asnp_copy(const asnp_array *a, asnp_array **out);
/* A row-major copy as dtype, by C casts. */
ASNUMPY_API asnp_status asnp_astype(const asnp_array *a, asnp_dtype dtype,
                                    asnp_array **out);
/* Another handle on the same elements. */
ASNUMPY_API asnp_status asnp_share(const asnp_array *a, asnp_array **out);
/* Ends a handle; NULL is fine. Memory goes with the last handle on it. */
ASNUMPY_API void asnp_release(asnp_array *a);

/* ---- to the host */

/* All elements, row-major, into `data` of nbytes = asnp_nbytes(a); waits for them. */
ASNUMPY_API asnp_status asnp_to_host(const asnp_array *a, void *data, size_t nbytes);
/* The host address of element (0, ..., 0), after waiting; strides as asnp_strides says.
 * Until the handle's memory goes the host may read and write there; operations on this
 * memory run at once from now on. TYPE: the device's memory is out of the host's reach.
 */
ASNUMPY_API asnp_status asnp_data(const asnp_array *a, void **data);

/* ---- facts; of a NULL handle -1, 0, NULL or ASNP_DTYPE_NONE, with a message */

ASNUMPY_API int32_t asnp_ndim(const asnp_array *a);
/* Borrowed; ndim extents. */
ASNUMPY_API const int64_t *asnp_shape(const asnp_array *a);
/* Borrowed; ndim strides in bytes. */
ASNUMPY_API const int64_t *asnp_strides(const asnp_array *a);
/* Number of elements. */
ASNUMPY_API int64_t asnp_size(const asnp_array *a);
ASNUMPY_API asnp_dtype asnp_dtype_of(const asnp_array *a);
/* Bytes of all elements, packed. */
ASNUMPY_API size_t asnp_nbytes(const asnp_array *a);
/* 1 when elements may be written (a broadcast view's may not), else 0. */
ASNUMPY_API int32_t asnp_is_writeable(const asnp_array *a);
/* 1 when the elements lie row-major without gaps, else 0. */
ASNUMPY_API int32_t asnp_is_contiguous(const asnp_array *a);
/* 1 when the memory bounds of two arrays overlap, else 0. */
ASNUMPY_API int32_t asnp_may_share_memory(const asnp_array *a, const asnp_array *b);

/* ---- views: they share memory with `a` and write through. Axes count from the end when
 * negative (AXIS out of range). */

/* Elements start, start + step, ... before stop of one axis, counted from the end when
 * negative and cut to the axis. VALUE: step 0. */
ASNUMPY_API asnp_status asnp_slice(const asnp_array *a, int32_t axis, int64_t start,
                                   int64_t stop, int64_t step, asnp_array **out);
/* Element `index` of an axis, which goes. INDEX: out of bounds. */
ASNUMPY_API asnp_status asnp_pick(const asnp_array *a, int32_t axis, int64_t index,
                                  asnp_array **out);
/* Result axis i is axis perm[i]; perm NULL: all axes reversed. */
ASNUMPY_API asnp_status asnp_transpose(const asnp_array *a, const int32_t *perm,
                                       asnp_array **out);
ASNUMPY_API asnp_status asnp_swapaxes(const asnp_array *a, int32_t axis1, int32_t axis2,
                                      asnp_array **out);
ASNUMPY_API asnp_status asnp_moveaxis(const asnp_array *a, int32_t source,
                                      int32_t destination, asnp_array **out);
/* A new axis of extent 1 that becomes axis `axis` of the result. */
ASNUMPY_API asnp_status asnp_expand_dims(const asnp_array *a, int32_t axis,
                                         asnp_array **out);
/* Without the axes listed, which have extent 1 (VALUE); axes NULL: without all such. */
ASNUMPY_API asnp_status asnp_squeeze(const asnp_array *a, int32_t num_axes,
                                     const int32_t *axes, asnp_array **out);
/* The axes listed reversed; NULL: all. */
ASNUMPY_API asnp_status asnp_flip(const asnp_array *a, int32_t num_axes,
                                  const int32_t *axes, asnp_array **out);
/* The diagonal of two axes as the last axis of the result; offset > 0 is above it. */
ASNUMPY_API asnp_status asnp_diagonal(const asnp_array *a, int64_t offset, int32_t axis1,
                                      int32_t axis2, asnp_array **out);
/* The real and imaginary parts of a complex array. TYPE: not complex. */
ASNUMPY_API asnp_status asnp_real(const asnp_array *a, asnp_array **out);
ASNUMPY_API asnp_status asnp_imag(const asnp_array *a, asnp_array **out);
/* Stretched to a shape; read-only. VALUE: it does not broadcast. */
ASNUMPY_API asnp_status asnp_broadcast_to(const asnp_array *a, int32_t ndim,
                                          const int64_t *shape, asnp_array **out);
/* A view where strides allow, else a copy; one extent may be -1. VALUE: another size. */
ASNUMPY_API asnp_status asnp_reshape(const asnp_array *a, int32_t ndim,
                                     const int64_t *shape, asnp_array **out);
/* One axis of all elements, row-major: a view where strides allow, else a copy. */
ASNUMPY_API asnp_status asnp_ravel(const asnp_array *a, asnp_array **out);

/* ---- joining: new arrays of the promoted dtype. VALUE: n < 1, shapes that differ. */

/* Along an existing axis. */
ASNUMPY_API asnp_status asnp_concatenate(int32_t n, asnp_array *const *arrays,
                                         int32_t axis, asnp_array **out);
/* Along a new axis. */
ASNUMPY_API asnp_status asnp_stack(int32_t n, asnp_array *const *arrays, int32_t axis,
                                   asnp_array **out);
/* Each element `count` times along an axis (ASNP_FLATTENED: of all elements). */
ASNUMPY_API asnp_status asnp_repeat(const asnp_array *a, int64_t count, int32_t axis,
                                    asnp_array **out);

/* ---- single elements: index has ndim entries, counted from the end when negative
 * (INDEX out of bounds); NULL when ndim is 0. Reading waits for the element. */

/* kind 'b', 'i', 'u' (uint64), 'f' or 'c' by the dtype. */
ASNUMPY_API asnp_status asnp_get(const asnp_array *a, const int64_t *index,
                                 asnp_number *out);
/* TYPE: the array is complex. */
ASNUMPY_API asnp_status asnp_get_double(const asnp_array *a, const int64_t *index,
                                        double *out);
/* TYPE: the array is not of integers or bools. OVERFLOW: above int64's. */
ASNUMPY_API asnp_status asnp_get_int64(const asnp_array *a, const int64_t *index,
                                       int64_t *out);
/* By C casts; integers that the dtype does not have are an OVERFLOW. VALUE: read-only. */
ASNUMPY_API asnp_status asnp_set(asnp_array *a, const int64_t *index, asnp_number value);

/* ---- writing through a view */

/* a[...] = value, broadcast and cast as NumPy's assignment does (by C casts). VALUE:
 * read-only, or it does not broadcast. */
ASNUMPY_API asnp_status asnp_assign(asnp_array *a, asnp_operand value);
/* The same where mask (bool, broadcast to a's shape) is true. */
ASNUMPY_API asnp_status asnp_assign_where(asnp_array *a, asnp_operand value,
                                          const asnp_array *mask);

#ifdef __cplusplus
}
#endif
#endif
