/* L2 graph: small operations that run at once, on the calling thread, without a node.
 *
 * Each function either does the whole operation and says true, or does nothing (and sets
 * no error) and says false: the operands are large, strided, recorded, of dtypes without
 * a loop, or the device has no single loops. The general path then does the same thing.
 * So a caller tries this first, and need not know when it can be done.
 *
 * An array is "ready" here when the host may read its memory now: it has memory, nothing
 * recorded writes it, nothing is queued. */
#ifndef ASN_GRAPH_SMALL_DIRECT_H
#define ASN_GRAPH_SMALL_DIRECT_H

#include "graph/lock.h"
#include "graph/ufunc/ufunc.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"

enum { ASN_DIRECT_ELEMENTS = 2048, ASN_DIRECT_CHOICES = 32 };
enum {
    ASN_SPREAD_ELEMENTS = 512
}; /* gathering one by one: the general path catches up */

/* Address of the element at a byte offset from element (0, ..., 0) when nothing recorded
 * or queued writes it and the host may read it; NULL else. */
static inline char *asn_direct_element(const asn_array *a, int64_t offset) {
    const asn_buffer *b = a->buffer;
    asn_look_begin();
    bool rests =
        b->data && !asn_stream_busy && !b->trace_writes && asn_device_host_access();
    char *element = rests ? (char *)b->data + a->layout.offset + offset : NULL;
    asn_look_end();
    return element;
}

/* op(in...) into a new result, or into `out` (result is not touched then). */
bool asn_direct_call(asn_op op, const asn_operand *in, const asn_array *out,
                     asn_array *result);
/* The same on numbers alone, for operations of one result. */
bool asn_direct_scalar(asn_op op, const asn_operand *in, asn_scalar *out);
/* The reduction of all of `a`, in NumPy's default dtype. */
bool asn_direct_reduce(asn_op op, const asn_array *a, asn_scalar *out);
/* Position of the first largest (smallest) element. */
bool asn_direct_arg(const asn_array *a, bool smallest, int64_t *out);
/* The same of each row of a's last axis, which is dropped, or kept with one element. */
bool asn_direct_arg_rows(asn_array *result, const asn_array *a, bool keepdims,
                         bool smallest);
/* Mean, and variance with `ddof`, or its root, of all of `a`, in NumPy's default dtype.
 */
bool asn_direct_mean(const asn_array *a, asn_scalar *out);
bool asn_direct_variance(const asn_array *a, double ddof, bool root, asn_scalar *out);
/* A row-major copy as `dtype`. */
bool asn_direct_copy(asn_array *result, const asn_array *a, asn_dtype dtype);

/* dst[...] = src, or a scalar, of one dtype. */
bool asn_direct_assign(const asn_array *dst, const asn_operand *src);
/* dst[...] = src, which overlaps it in the same strides, of any size. */
bool asn_direct_shift(const asn_array *dst, const asn_array *src);
/* Row-major, every element `value` cast to dtype. */
bool asn_direct_full(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                     const asn_scalar *value);
/* start + i * step */
bool asn_direct_arange(asn_array *result, asn_dtype dtype, const asn_scalar *start,
                       const asn_scalar *step, int64_t n);
/* The row-major elements of the arrays, one after the other, as an array of `shape`. */
bool asn_direct_join(asn_array *result, int n, const asn_array *const *arrays,
                     asn_dtype dtype, int ndim, const int64_t *shape);
/* a[index], for an int64 array over the first axis or a mask of a's shape. */
bool asn_direct_index(asn_array *result, const asn_array *a, const asn_array *index);
/* a[index] = value, of a's dtype: a number (with an array of indices a is 1-d then), or
 * an array of rows, or one row, for the 1-d int64 indices. */
bool asn_direct_index_set(const asn_array *a, const asn_array *index,
                          const asn_operand *value);
/* a.flat[index] = values, of a's dtype, as many as there are indices or one. */
bool asn_direct_put(const asn_array *a, const asn_array *index, const asn_array *values);
/* Values, of a's dtype and repeated, where the mask is true: each the next one, or those
 * at the same positions. */
bool asn_direct_place(const asn_array *a, const asn_array *mask, const asn_array *values,
                      bool by_position);
/* from[which[i]][i]; arrays of one shape, n of them of one dtype. */
bool asn_direct_choose(asn_array *result, const asn_array *which, int n,
                       const asn_array *const *from);
/* The row-major elements of a bool or uint8 array as bits, eight to a uint8, the first in
 * its highest; and those of uint8 as 0 and 1. */
bool asn_direct_pack(asn_array *result, const asn_array *a);
bool asn_direct_unpack(asn_array *result, const asn_array *a);
/* Positions of the true elements of a mask, one array per axis. */
bool asn_direct_nonzero(asn_array *results, const asn_array *mask);
/* How often each of 0 ... max(x), or its `weights` added up; minlength of them at least.
 */
bool asn_direct_bincount(asn_array *result, const asn_array *x, const asn_array *weights,
                         int64_t minlength);
/* a @ b, matrices and vectors of one dtype; floating-point exceptions are reported in the
 * name of `what` (NULL: not at all). */
bool asn_direct_matmul(asn_array *result, const asn_array *a, const asn_array *b,
                       const char *what);
/* The inner product of complex vectors of one dtype and any length, a conjugated. */
bool asn_direct_vdot(asn_array *result, const asn_array *a, const asn_array *b);

/* a's elements as `dtype`, in place or in ASN_DIRECT_SCRATCH bytes of scratch; NULL when
 * they are not ready, row-major and few, or no loop converts them. Library's lock held.
 */
enum { ASN_DIRECT_SCRATCH = 8192 };
const void *asn_direct_converted(const asn_array *a, asn_dtype dtype, void *scratch,
                                 uint32_t *met);
/* Host address of a's elements, to be read now (or written, for_write), when they are
 * ready, row-major and few; NULL else. Library's lock held. */
void *asn_direct_memory(const asn_array *a, bool for_write);
/* The same of however many elements, for who touches few of them. */
void *asn_direct_large_memory(const asn_array *a, bool for_write);
/* Host address of element (0, ..., 0) of an array that no recorded operation writes; NULL
 * else. Whether something is queued is the caller's to ask. */
const char *asn_direct_materialised(const asn_array *a);
/* a's elements, stretched to a shape of `size` elements, into row-major memory. Lock
 * held, single loops may run. */
bool asn_direct_stretch(void *dst, const asn_array *a, int ndim, const int64_t *shape,
                        int64_t size);
/* The other way: row-major elements into those of a ready array. Likewise. */
void asn_direct_unspread(const asn_array *a, const void *src);
/* A new row-major array with storage, to be filled through *data now. */
bool asn_direct_new(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                    void **data);

#endif
