/* L3 python: ndarray.acl_tensor(): an aclTensor over the array's memory, for code that
 * calls CANN's operators itself (ctypes, extensions).
 *
 * The core's own tensors live as long as one call of an operator, under the library's
 * lock (graph/device/operator.h). This one is the program's, so it is made of a loan, as
 * DLPack's tensors are: what was recorded of the memory has run and is waited for, on all
 * streams; while the loan lasts, nothing that touches the memory stays recorded, and work
 * on any stream comes after what others put on streams whose handle they have. At the
 * loan's end that work counts as a use of the memory, which may still run: the memory
 * goes to nobody else before it has ended.
 *
 * What CANN documents of aclCreateTensor holds on every device: at most 8 dimensions,
 * strides and offset in elements and not negative. A capsule owns tensor and loan;
 * asnumpy._custom._acl_tensor makes the object of it that programs see. */
#include "python/convert.h"
#include "python/ndarray/methods.h"

static const char TENSOR[] = "asnumpy.aclTensor";
enum { MOST_DIMS = 8 }; /* of CANN's */

typedef struct {
    aclTensor *tensor;
    asn_buffer *loan; /* NULL of an array without elements */
} owned;

/* Where the elements lie, in elements: the memory begins at `base`. */
typedef struct {
    char *base;
    int64_t offset, length, strides[ASN_MAX_DIMS];
} place;

/* The tensor goes, the memory is taken back. The device is closed while there is a tensor
 * only if the memory is the host's own; then the tensor went with it. */
static void drop(owned *o) {
    if (o->tensor && asn_acl.aclDestroyTensor) asn_acl.aclDestroyTensor(o->tensor);
    asn_array_take_back_device(o->loan);
    PyMem_Free(o);
}

static void end_capsule(PyObject *capsule) {
    drop(PyCapsule_GetPointer(capsule, TENSOR));
}

/* -1 with ValueError: CANN has no tensor of such a layout. */
static int check_layout(const asn_layout *l) {
    const char *dtype = asn_dtype_name((asn_dtype)l->dtype);
    int item = asn_itemsize((asn_dtype)l->dtype);
    if (l->ndim > MOST_DIMS) {
        PyErr_Format(PyExc_ValueError,
                     "acl_tensor: the array has %d dimensions; CANN's tensors have at "
                     "most %d",
                     l->ndim, MOST_DIMS);
        return -1;
    }
    for (int d = 0; d < l->ndim && l->size; d++) {
        if (l->shape[d] < 2) continue; /* no step is made */
        if (l->strides[d] < 0) {
            PyErr_Format(PyExc_ValueError,
                         "acl_tensor: axis %d has stride %lld bytes; CANN's tensors take "
                         "no negative strides: give it a copy",
                         d, (long long)l->strides[d]);
            return -1;
        }
        if (l->strides[d] % item) {
            PyErr_Format(PyExc_ValueError,
                         "acl_tensor: axis %d has stride %lld bytes, no multiple of the "
                         "%d of %s, in which CANN's tensors count: give it a copy",
                         d, (long long)l->strides[d], item, dtype);
            return -1;
        }
    }
    if (l->size && !(l->flags & ASN_ALIGNED)) {
        PyErr_Format(PyExc_ValueError,
                     "acl_tensor: the %s elements are not aligned in memory: give it a "
                     "copy",
                     dtype);
        return -1;
    }
    return 0;
}

/* The storage that the tensor tells of is the whole of the array's memory, from the first
 * byte on at which an element of this dtype may begin. */
static place place_of(const asn_array *a, void *data) {
    const asn_layout *l = &a->layout;
    int64_t item = asn_itemsize((asn_dtype)l->dtype);
    place p = {0};
    for (int d = 0; d < l->ndim; d++) { /* where no step is made any will do */
        p.strides[d] = l->strides[d] / item;
        if (p.strides[d] < 0 || l->strides[d] % item) p.strides[d] = 1;
    }
    if (!l->size) return p;
    p.offset = l->offset / item;
    p.base = (char *)data - p.offset * item;
    p.length = (a->buffer->nbytes - l->offset % item) / item;
    return p;
}

/* (capsule, address, strides, offset, storage address, storage's elements) */
static PyObject *describe(owned *o, const asn_layout *l, const place *p) {
    PyObject *capsule = PyCapsule_New(o, TENSOR, end_capsule);
    if (!capsule) {
        drop(o);
        return NULL;
    }
    PyObject *strides = asn_shape_to_py(l->ndim, p->strides);
    PyObject *address = PyLong_FromVoidPtr(o->tensor);
    PyObject *storage = PyLong_FromVoidPtr(p->base);
    PyObject *r = strides && address && storage
                      ? Py_BuildValue("(OOOLOL)", capsule, address, strides,
                                      (long long)p->offset, storage, (long long)p->length)
                      : NULL;
    Py_DECREF(capsule);
    Py_XDECREF(strides);
    Py_XDECREF(address);
    Py_XDECREF(storage);
    return r;
}

/* (Contract in methods.h.) */
PyObject *asn_acl_tensor_parts(PyObject *self) {
    const asn_array *a = asn_of(self);
    const asn_layout *l = &a->layout;
    if (check_layout(l) < 0) return NULL;
    void *data = NULL;
    owned *o = PyMem_Calloc(1, sizeof *o);
    if (!o) return PyErr_NoMemory();
    asn_status status = asn_device_open();
    if (!status && l->size) status = asn_array_lend_device(a, &data, &o->loan);
    if (status || asn_fp_check() < 0) {
        drop(o);
        return status ? asn_raise(status) : NULL;
    }
    place p = place_of(a, data);
    o->tensor = asn_acl.aclCreateTensor(
        l->shape, (uint64_t)l->ndim, (aclDataType)asn_dtype_table[l->dtype].acl,
        p.strides, p.offset, ACL_FORMAT_ND, &p.length, 1, p.base);
    if (o->tensor) return describe(o, l, &p);
    asn_raise(asn_error_set(ASN_ERR_MEMORY,
                            "acl_tensor: the device cannot describe a tensor of %d "
                            "dimensions",
                            l->ndim));
    drop(o);
    return NULL;
}

/* ndarray.acl_tensor: the object is Python's (asnumpy._custom._acl_tensor). */
ASN_METHOD(acl_tensor) {
    ASN_ARGS("acl_tensor", "");
    (void)v;
    return asn_support_call("acl_tensor", &self, 1);
}
