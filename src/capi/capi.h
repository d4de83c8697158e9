/* L3 C binding: what the files of include/asnumpy's functions share: handles, checks of
 * arguments, arrays wrapped into handles. The binding has no semantics of its own:
 * handles in, core calls, status out; what NumPy composes of several functions is
 * src/numpy's.
 */
#ifndef ASN_CAPI_CAPI_H
#define ASN_CAPI_CAPI_H

#include "asnumpy/asnumpy.h"

#include "array/views.h"
#include "graph/array.h"
#include "graph/operators/families.h"
#include "graph/lock.h"
#include "graph/ufunc/ufunc.h"
#include "numpy/shape.h"

/* A handle: an array of the core's, which the handle owns. Its layout never changes. */
struct asnp_array {
    asn_array array;
};

/* The library's lock until the function returns. The core looks at the state of buffers
 * without it where a binding's calls are serial, as Python's are under its global lock;
 * here any thread may be recording, or running what this one recorded. */
static inline char asn_capi_lock(void) {
    asn_lock();
    return 0;
}
static inline void asn_capi_unlock(const char *held) {
    (void)held;
    asn_unlock();
}
#define IN_LIBRARY                                                                       \
    __attribute__((cleanup(asn_capi_unlock), unused)) const char held_ = asn_capi_lock()

/* The layout and the dtype of a handle that is not NULL. */
static inline const asn_layout *asn_capi_layout(const asnp_array *a) {
    return &a->array.layout;
}
static inline asn_dtype asn_capi_type(const asnp_array *a) {
    return asn_layout_dtype(&a->array.layout);
}

/* NULL_POINTER, with `what` in the message, where the pointer is NULL. */
ASN_CHECK_RESULT asn_status asn_capi_need(const void *pointer, const char *what);
/* Returns early where an argument is NULL, naming it. */
#define NEED(pointer) ASN_TRY(asn_capi_need(pointer, #pointer))

/* A handle around an array, into *out: takes `made` when `status` is good. */
asnp_status asn_capi_wrap(asn_status status, asn_array *made, asnp_array **out);
/* The same around a view of `a`: takes `layout`. */
asnp_status asn_capi_view(asn_status status, const asnp_array *a, asn_layout *layout,
                          asnp_array **out);
/* Ends n handles, of which some may be NULL. */
void asn_capi_release(asnp_array **handles, int n);

/* A dtype of the core's; `optional`: ASNP_DTYPE_NONE is ASN_DTYPE_NONE. */
ASN_CHECK_RESULT asn_status asn_capi_dtype(asnp_dtype dtype, bool optional,
                                           asn_dtype *out);
/* A number of dimensions, and a shape where there are any. VALUE: out of range. */
ASN_CHECK_RESULT asn_status asn_capi_shape(int32_t ndim, const int64_t *shape);
/* A number as a weak scalar; a number, or an array that is borrowed. VALUE: no kind. */
ASN_CHECK_RESULT asn_status asn_capi_number(asnp_number number, asn_operand *out);
ASN_CHECK_RESULT asn_status asn_capi_operand(asnp_operand given, asn_operand *out);
/* A bit per axis; axes NULL: all. AXIS; VALUE: twice the same one. */
ASN_CHECK_RESULT asn_status asn_capi_axes(int32_t num_axes, const int32_t *axes, int ndim,
                                          uint64_t *mask);
/* VALUE: the array is a read-only view. */
ASN_CHECK_RESULT asn_status asn_capi_writeable(const asnp_array *a);
/* An axis, or for ASNP_FLATTENED axis 0 of all elements: *used is a share of `a` or its
 * elements flattened, the caller's. */
ASN_CHECK_RESULT asn_status asn_capi_axis(const asnp_array *a, int32_t axis,
                                          asn_array *used, int *at);
/* A bool array for where= and masks. */
ASN_CHECK_RESULT asn_status asn_capi_mask(const asnp_array *mask, const char *what);
/* The row of an operation's name; the library's lock is held. */
bool asn_capi_find_op(const char *name, asn_op *op);
ASN_CHECK_RESULT asn_status asn_capi_op(const char *name, asn_op *op);
/* The name of a ufunc, as asnp_ufunc_name has it; NULL: there is none. Static. */
const char *asn_capi_ufunc_name(const char *name);
/* The same of two arguments. */
ASN_CHECK_RESULT asn_status asn_capi_binary_op(const char *name, asn_op *op);

#endif
