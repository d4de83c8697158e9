/* L2 graph: asn_array, the array library's array: a layout over a shared buffer.
 *
 * A value type: the caller provides the struct (inside a Python object, on the stack),
 * functions initialise it and asn_array_fini ends it. The buffer is reference-counted and
 * may still be unwritten: recorded operations produce its bytes when the trace is
 * flushed, so every read of bytes goes through the functions at the end of this header.
 *
 * Threads: calls may come from any thread; the library serialises them on one lock.
 */
#ifndef ASN_GRAPH_ARRAY_H
#define ASN_GRAPH_ARRAY_H

#include "array/layout.h"
#include "array/scalar.h"
#include "runtime/memory/buffer.h"

typedef struct {
    asn_layout layout;
    asn_buffer *buffer; /* shares */
} asn_array;

/* An argument: an array, or a scalar. A weak scalar (weak != 0) is a Python number: its
 * scalar holds int64 or uint64 for 'i', float64 for 'f', complex128 for 'c', bool for
 * 'b'. A strong scalar is a NumPy scalar. */
typedef struct {
    const asn_array *array; /* NULL: scalar */
    asn_scalar scalar;
    char weak;
} asn_operand;

/* Numbers as Python's. */
static inline asn_operand asn_operand_int(int64_t value) {
    return (asn_operand){.scalar = asn_scalar_int(value), .weak = 'i'};
}
static inline asn_operand asn_operand_float(double value) {
    return (asn_operand){.scalar = asn_scalar_float(value), .weak = 'f'};
}

/* Uninitialised elements; storage is taken only when something writes them. order 'C' or
 * 'F'. */
ASN_CHECK_RESULT asn_status asn_array_new(asn_array *out, asn_dtype dtype, int ndim,
                                          const int64_t *shape, char order);
ASN_CHECK_RESULT asn_status asn_array_new_like(asn_array *out, const asn_array *a,
                                               asn_dtype dtype, char order);
static inline void asn_array_fini(asn_array *a) {
    asn_layout_fini(&a->layout);
    asn_buffer_release(a->buffer);
    a->buffer = NULL;
}
/* Another handle on the same elements. */
ASN_CHECK_RESULT asn_status asn_array_share(asn_array *out, const asn_array *a);
/* Whether the memory bounds of two arrays overlap; two buffers may be two adoptions of
 * the same host memory. */
bool asn_array_may_share(const asn_array *a, const asn_array *b);
/* Whether they are handles on one array: the same elements at the same places. */
bool asn_array_is(const asn_array *a, const asn_array *b);
/* *bytes: how far the first element of b lies behind that of a. False: one has
 * memory of its own that is not there yet. */
bool asn_array_distance(const asn_array *a, const asn_array *b, int64_t *bytes);
/* A view: takes `view` (made by array/views.h from a's layout). */
void asn_array_view(asn_array *out, const asn_array *a, asn_layout *view);
/* The elements [start, start + extent) of an axis, a view. */
ASN_CHECK_RESULT asn_status asn_array_range(asn_array *out, const asn_array *a, int axis,
                                            int64_t start, int64_t extent);
void asn_array_move(asn_array *to, asn_array *from);

/* An array over host memory that the caller keeps alive until release(context) is called
 * (by any thread, once). Zero-copy where the device can reach host memory; otherwise the
 * bytes are copied and release is called before returning. `layout` is taken; its offset
 * is relative to data. */
ASN_CHECK_RESULT asn_status asn_array_adopt(asn_array *out, asn_layout *layout,
                                            void *data, int64_t nbytes,
                                            void (*release)(void *), void *context);
/* The same over memory of the device in use (asn_device_get), which another library of
 * this process lends: every operation that touches it runs at once and is waited for.
 * Nothing is copied; the device is open. */
ASN_CHECK_RESULT asn_status asn_array_adopt_device(asn_array *out, asn_layout *layout,
                                                   void *data, int64_t nbytes,
                                                   void (*release)(void *),
                                                   void *context);
/* Copies from host memory with any byte strides, same dtype. */
ASN_CHECK_RESULT asn_status asn_array_from_host(asn_array *out, asn_dtype dtype, int ndim,
                                                const int64_t *shape,
                                                const int64_t *strides, const void *data);

/* The same into the axes' order that asn_layout_like makes of `order`. */
ASN_CHECK_RESULT asn_status asn_array_from_host_as(asn_array *out, asn_dtype dtype,
                                                   int ndim, const int64_t *shape,
                                                   const int64_t *strides,
                                                   const void *data, char order);

/* Writes n elements to out; engine and what: whatever the filler needs. */
typedef asn_status (*asn_filling)(void *engine, const void *what, int64_t n, void *out);
/* Something of a binding's that a capture (replay.h) holds as long as there is its
 * replay, which enters it before it launches and leaves it behind that, without the
 * library's lock. enter and leave may be NULL. */
typedef struct {
    void *object;
    void (*retain)(void *object), (*release)(void *object);
    asn_status (*enter)(void *object);
    void (*leave)(void *object);
} asn_keeper;
typedef struct {
    asn_filling fill;
    void *engine;
    const void *what;
    size_t size; /* of what */
    /* For captures. NULL: a copy of what's bytes will do; else has `copy`, such a copy,
     * point to copies of what lies elsewhere, for n elements. False: no memory. */
    bool (*keep)(void *copy, int64_t n);
    asn_keeper keeper; /* what the engine is part of */
} asn_filler;
/* All elements of a fresh row-major array computed by the host: in its memory where the
 * host reaches it, else through a copy. In a capture, at each replay. */
ASN_CHECK_RESULT asn_status asn_array_fill(const asn_array *a, const asn_filler *source);

/* Makes the elements final (flushes recorded operations on the buffer, waits for the
 * stream). */
ASN_CHECK_RESULT asn_status asn_array_sync(const asn_array *a);
/* Host address of element (0, ..., 0) after asn_array_sync; TypeError ("lives on ascend:0
 * ...") when the device's memory cannot be reached from the host. Valid while the buffer
 * lives. A writer calls this too: recorded readers are flushed first. */
ASN_CHECK_RESULT asn_status asn_array_host(const asn_array *a, void **data);
/* The same, for an address that outlives the call and nobody gives back
 * (__array_interface__, asnp_data): the buffer is marked shared, and from then on every
 * operation that touches it runs at once, since the host may read or write it at any
 * time. Use asn_array_host for a look inside one call. */
ASN_CHECK_RESULT asn_status asn_array_export(const asn_array *a, void **data);
/* The same until asn_array_take_back(*loan) (buffer protocol, DLPack, NumPy arrays over
 * the memory); NULL is nothing to take back. */
ASN_CHECK_RESULT asn_status asn_array_lend(const asn_array *a, void **data,
                                           asn_buffer **loan);
/* The same for a library that computes on the device: an address there, whether the host
 * reaches it or not. */
ASN_CHECK_RESULT asn_status asn_array_lend_device(const asn_array *a, void **data,
                                                  asn_buffer **loan);
void asn_array_take_back(asn_buffer *loan);
/* The same from somebody who may have put work that uses the memory on streams whose
 * handles were given out (asn_streams_handle): such work may still run. */
void asn_array_take_back_device(asn_buffer *loan);
/* All elements into dst, row-major. */
ASN_CHECK_RESULT asn_status asn_array_to_host(const asn_array *a, void *dst);
/* One element at a byte offset from element (0, ..., 0). */
ASN_CHECK_RESULT asn_status asn_array_get_item(const asn_array *a, int64_t byte_offset,
                                               asn_scalar *out);
ASN_CHECK_RESULT asn_status asn_array_set_item(const asn_array *a, int64_t byte_offset,
                                               const asn_scalar *value);

#endif
