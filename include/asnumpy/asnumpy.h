/* AsNumpy's array library in C.
 *
 * Arrays are opaque handles with NumPy's semantics: views share memory, operations are
 * recorded and fused, and run when a value is needed. Every function returns an
 * AsnStatus; ASN_SUCCESS is 0, and after a failure asn_message() is a sentence about it
 * (thread-local, valid until the thread's next failure). A function that makes an array
 * writes a new handle to its last argument, owned by the caller and released with
 * asn_release. Shapes count elements. Handles may be used from any thread; one handle
 * from one thread at a time.
 *
 *     asn_handle *a, *b, *c;
 *     asn_from_host(ASN_TYPE_FLOAT64, 1, (int64_t[]){3}, (double[]){1, 2, 3}, &a);
 *     asn_ufunc("sqrt", 1, &a, &b);
 *     asn_reduce("add", b, -1, 0, &c);
 *
 * Link with -lasnumpy; the device's libraries are found beside it (see ASNUMPY_DEVICE).
 */
#ifndef ASNUMPY_ASNUMPY_H_
#define ASNUMPY_ASNUMPY_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ASNUMPY_API __attribute__((visibility("default")))
#else
#define ASNUMPY_API
#endif

typedef struct asn_handle asn_handle;
typedef int32_t AsnStatus;
enum { ASN_SUCCESS = 0 };

/* Dtypes carry CANN's aclDataType values. */
typedef enum {
    ASN_TYPE_FLOAT32 = 0,
    ASN_TYPE_FLOAT16 = 1,
    ASN_TYPE_INT8 = 2,
    ASN_TYPE_INT32 = 3,
    ASN_TYPE_UINT8 = 4,
    ASN_TYPE_INT16 = 6,
    ASN_TYPE_UINT16 = 7,
    ASN_TYPE_UINT32 = 8,
    ASN_TYPE_INT64 = 9,
    ASN_TYPE_UINT64 = 10,
    ASN_TYPE_FLOAT64 = 11,
    ASN_TYPE_BOOL = 12,
    ASN_TYPE_COMPLEX64 = 16,
    ASN_TYPE_COMPLEX128 = 17,
    ASN_TYPE_BFLOAT16 = 27
} AsnType;

/* The calling thread's last failure; "" when there was none. Borrowed. */
ASNUMPY_API const char *asn_message(void);

/* ---- creation and host memory */
/* Copies row-major host data. */
ASNUMPY_API AsnStatus asn_from_host(AsnType type, int32_t ndim, const int64_t *shape,
                                    const void *data, asn_handle **out);
/* Uninitialised elements. */
ASNUMPY_API AsnStatus asn_empty(AsnType type, int32_t ndim, const int64_t *shape,
                                asn_handle **out);
/* Every element `value`. */
ASNUMPY_API AsnStatus asn_fill(AsnType type, int32_t ndim, const int64_t *shape,
                               double value, asn_handle **out);
/* All elements, row-major, into `data` of `nbytes` = asn_nbytes(a); waits for them. */
ASNUMPY_API AsnStatus asn_to_host(const asn_handle *a, void *data, size_t nbytes);
/* Ends a handle; NULL is fine. Memory goes when its last view does. */
ASNUMPY_API void asn_release(asn_handle *a);

/* ---- facts */
ASNUMPY_API int32_t asn_ndim(const asn_handle *a);
/* Borrowed; ndim entries. */
ASNUMPY_API const int64_t *asn_shape(const asn_handle *a);
ASNUMPY_API AsnType asn_type_of(const asn_handle *a);
ASNUMPY_API size_t asn_nbytes(const asn_handle *a);

/* ---- views: they share memory with `a` and write through */
ASNUMPY_API AsnStatus asn_slice(const asn_handle *a, int32_t axis, int64_t start,
                                int64_t stop, int64_t step, asn_handle **out);
/* perm NULL: all axes reversed. */
ASNUMPY_API AsnStatus asn_transpose(const asn_handle *a, const int32_t *perm,
                                    asn_handle **out);
/* A view where strides allow, else a copy; one extent may be -1. */
ASNUMPY_API AsnStatus asn_reshape(const asn_handle *a, int32_t ndim, const int64_t *shape,
                                  asn_handle **out);
/* Read-only. */
ASNUMPY_API AsnStatus asn_broadcast(const asn_handle *a, int32_t ndim,
                                    const int64_t *shape, asn_handle **out);

/* ---- operations */
/* Any operation of the table by NumPy's name ("add", "sqrt", "where", ...), with
 * broadcasting and NumPy's promotion. */
ASNUMPY_API AsnStatus asn_ufunc(const char *name, int32_t num_in, asn_handle *const *in,
                                asn_handle **out);
/* The same into an existing array (or view); overlap with inputs is safe. */
ASNUMPY_API AsnStatus asn_ufunc_into(const char *name, int32_t num_in,
                                     asn_handle *const *in, asn_handle *out);
/* One array and a number on its right, which takes the array's dtype as a Python number
 * does. */
ASNUMPY_API AsnStatus asn_ufunc_scalar(const char *name, asn_handle *a, double value,
                                       asn_handle **out);
/* ufunc.reduce along `axis`, or all axes when axis is -1. keepdims 0 or 1. */
ASNUMPY_API AsnStatus asn_reduce(const char *name, asn_handle *a, int32_t axis,
                                 int32_t keepdims, asn_handle **out);
ASNUMPY_API AsnStatus asn_matrix_product(asn_handle *a, asn_handle *b, asn_handle **out);
/* A row-major copy as `type`, by C casts. */
ASNUMPY_API AsnStatus asn_astype(asn_handle *a, AsnType type, asn_handle **out);

/* Runs everything recorded and waits for it. */
ASNUMPY_API AsnStatus asn_sync(void);

#ifdef __cplusplus
}
#endif
#endif
