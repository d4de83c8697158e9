/* L3 python: tensors and copy queues, for asnumpy.memory: descriptors come as (dtype,
 * shape, order of axes, alignment), host memory as NumPy arrays. A queue and a transfer
 * are capsules; a transfer's keeps the host array and the device memory it works on, and
 * waits for it when it goes.
 *
 * What the descriptors and queues are is graph/operators/tensor.h's. Waiting is done
 * without the interpreter's lock. These functions are private: asnumpy.memory checks what
 * users give it, and the errors here are for what it cannot know. */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include "graph/operators/formats.h"
#include "graph/operators/tensor.h"

static const char QUEUE[] = "asnumpy.queue", TRANSFER[] = "asnumpy.transfer";

/* v: dtype, shape, order (the axes from the outermost in memory to the innermost),
 * alignment (bytes). The number of axes must agree; an axis that is none is left to the
 * core to refuse, as -1. -1: an error. */
static int descriptor_from(PyObject *const *v, asn_descriptor *d) {
    int64_t order[ASN_MAX_DIMS];
    int ndim, num_order;
    if (asn_dtype_from_py(v[0], &d->dtype) < 0 ||
        asn_shape_from_py(v[1], d->shape, &ndim) < 0 ||
        asn_shape_from_py(v[2], order, &num_order) < 0 ||
        asn_int64_from_py(v[3], &d->alignment) < 0)
        return -1;
    if (num_order != ndim) {
        PyErr_Format(PyExc_ValueError, "descriptor: the layout has %d axes, the shape %d",
                     num_order, ndim);
        return -1;
    }
    d->ndim = ndim;
    for (int i = 0; i < ndim; i++)
        d->order[i] = order[i] < 0 || order[i] >= ndim ? -1 : (int32_t)order[i];
    return 0;
}

/* (dtype, shape, order, alignment): how many bytes, if it is one the device takes. */
static PyObject *f_tensor_check(PyObject *const *v) {
    asn_descriptor d;
    int64_t nbytes;
    if (descriptor_from(v, &d) < 0) return NULL;
    ASN_PY_TRY(asn_descriptor_check(&d, &nbytes));
    return PyLong_FromLongLong(nbytes);
}

/* (dtype, shape, order, alignment): its elements are not set. */
static PyObject *f_tensor_new(PyObject *const *v) {
    asn_descriptor d;
    asn_array made;
    if (descriptor_from(v, &d) < 0) return NULL;
    ASN_PY_TRY(asn_tensor_new(&made, &d));
    return asn_ndarray_wrap(&made);
}

/* (dtype, shape, order, alignment, dead): in the memory of `dead`, which must be large
 * enough, and whose elements are lost. */
static PyObject *f_tensor_reuse(PyObject *const *v) {
    asn_descriptor d;
    asn_array made;
    if (!asn_is_ndarray(v[4])) {
        PyErr_Format(PyExc_TypeError, "reuse takes an asnumpy array, got %s",
                     Py_TYPE(v[4])->tp_name);
        return NULL;
    }
    if (descriptor_from(v, &d) < 0) return NULL;
    ASN_PY_TRY(asn_tensor_reuse(&made, &d, asn_of(v[4])));
    return asn_ndarray_wrap(&made);
}

/* Borrows; NULL: TypeError, which names the function. */
static PyArrayObject *host_of(PyObject *object, const char *what) {
    if (PyArray_Check(object)) return (PyArrayObject *)object;
    PyErr_Format(PyExc_TypeError, "%s takes a NumPy array, got %s", what,
                 Py_TYPE(object)->tp_name);
    return NULL;
}

/* (dtype, shape, order, alignment, host): host's elements, whatever their dtype and
 * strides, as the descriptor says. */
static PyObject *f_tensor_prepare(PyObject *const *v) {
    asn_descriptor d;
    asn_array made;
    asn_dtype dtype;
    PyArrayObject *host = host_of(v[4], "prepare");
    if (!host || descriptor_from(v, &d) < 0 ||
        asn_dtype_from_py((PyObject *)PyArray_DESCR(host), &dtype) < 0)
        return NULL;
    int64_t strides[ASN_MAX_DIMS];
    /* The core converts element by element, so the shapes must be one. */
    if (PyArray_NDIM(host) != d.ndim) {
        PyErr_Format(PyExc_ValueError, "prepare: %d axes of host memory for %d",
                     PyArray_NDIM(host), d.ndim);
        return NULL;
    }
    for (int i = 0; i < d.ndim; i++) {
        strides[i] = PyArray_STRIDE(host, i);
        if (PyArray_DIM(host, i) != d.shape[i]) {
            PyErr_Format(PyExc_ValueError,
                         "prepare: axis %d has %zd elements in host memory, %lld in the "
                         "descriptor",
                         i, PyArray_DIM(host, i), (long long)d.shape[i]);
            return NULL;
        }
    }
    ASN_PY_TRY(asn_tensor_prepare(&made, &d, dtype, strides, PyArray_DATA(host)));
    return asn_ndarray_wrap(&made);
}

/* (dtype, shape, order, alignment, array, host). The host array lies as the descriptor
 * says: asnumpy.memory made or checked it. */
static PyObject *f_tensor_copy_back(PyObject *const *v) {
    asn_descriptor d;
    PyArrayObject *host = host_of(v[5], "copy_back");
    if (!host || descriptor_from(v, &d) < 0) return NULL;
    ASN_PY_TRY(asn_tensor_copy_back(asn_of(v[4]), &d, PyArray_DATA(host)));
    Py_RETURN_NONE;
}

/* ---- queues */

/* Waits for the queue's transfers. */
static void end_queue(PyObject *capsule) {
    asn_dma *q = PyCapsule_GetPointer(capsule, QUEUE);
    Py_BEGIN_ALLOW_THREADS;
    asn_dma_free(q);
    Py_END_ALLOW_THREADS;
}

/* (staging_bytes): how much memory the queue may use to copy through. */
static PyObject *f_queue_new(PyObject *const *v) {
    int64_t bytes;
    asn_dma *q;
    if (asn_int64_from_py(v[0], &bytes) < 0) return NULL;
    ASN_PY_TRY(asn_dma_new(&q, bytes));
    PyObject *capsule = PyCapsule_New(q, QUEUE, end_queue);
    if (!capsule) asn_dma_free(q);
    return capsule;
}

/* (queue): counts since it was made, as a dict. */
static PyObject *f_queue_stats(PyObject *const *v) {
    asn_dma_stats s;
    asn_dma *q = PyCapsule_GetPointer(v[0], QUEUE);
    if (!q) return NULL;
    asn_dma_get_stats(q, &s);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K}", "transfers", (unsigned long long)s.transfers, "pieces",
        (unsigned long long)s.pieces, "bytes", (unsigned long long)s.bytes, "waiting",
        (unsigned long long)s.waiting);
}

/* What a transfer's capsule holds. */
typedef struct {
    asn_transfer *transfer;
    PyObject *host; /* a reference */
    asn_array kept; /* its memory on the device */
} transfer_state;

/* Its error is dropped: who wanted it has called wait(). */
static void wait_quietly(asn_transfer *t) {
    Py_BEGIN_ALLOW_THREADS;
    if (asn_transfer_wait(t)) asn_error_clear();
    Py_END_ALLOW_THREADS;
}

/* The copy may still run: its memory must not go before it has ended. */
static void end_transfer(PyObject *capsule) {
    transfer_state *s = PyCapsule_GetPointer(capsule, TRANSFER);
    wait_quietly(s->transfer);
    asn_transfer_release(s->transfer);
    asn_array_fini(&s->kept);
    Py_DECREF(s->host);
    PyMem_Free(s);
}

/* A capsule of the transfer. Takes the transfer and kept; if it cannot be made the
 * transfer is waited for, since it works on memory that goes now. */
static PyObject *wrap_transfer(asn_transfer *t, PyObject *host, asn_array *kept) {
    transfer_state *s = PyMem_Malloc(sizeof *s);
    PyObject *capsule = s ? PyCapsule_New(s, TRANSFER, NULL) : PyErr_NoMemory();
    if (!capsule) {
        wait_quietly(t);
        asn_transfer_release(t);
        asn_array_fini(kept);
        PyMem_Free(s);
        return NULL;
    }
    s->transfer = t;
    s->host = Py_NewRef(host);
    asn_array_move(&s->kept, kept);
    PyCapsule_SetDestructor(capsule, end_transfer);
    return capsule;
}

/* (dtype, shape, order, alignment, host, priority, queue): (transfer, array). The array
 * may be used at once by asking for its order first (_transfer_order). */
static PyObject *f_queue_send(PyObject *const *v) {
    asn_descriptor d;
    int64_t priority;
    asn_array made, kept;
    asn_transfer *t;
    asn_dma *q = PyCapsule_GetPointer(v[6], QUEUE);
    PyArrayObject *host = host_of(v[4], "send");
    if (!q || !host || descriptor_from(v, &d) < 0 ||
        asn_int64_from_py(v[5], &priority) < 0)
        return NULL;
    ASN_PY_TRY(asn_tensor_send(q, &d, PyArray_DATA(host), (int)priority, &made, &t));
    /* The capsule keeps the device's memory too, whatever becomes of the array. */
    asn_status status = asn_array_share(&kept, &made);
    if (status) { /* the copy ends before its memory */
        wait_quietly(t);
        asn_transfer_release(t);
        asn_array_fini(&made);
        return asn_raise(status);
    }
    PyObject *capsule = wrap_transfer(t, v[4], &kept);
    PyObject *array = asn_ndarray_wrap(&made);
    if (capsule && array) return Py_BuildValue("NN", capsule, array);
    Py_XDECREF(capsule);
    Py_XDECREF(array);
    return NULL;
}

/* (array, host, priority, queue): the transfer into host. */
static PyObject *f_queue_fetch(PyObject *const *v) {
    int64_t priority;
    asn_array kept;
    asn_transfer *t;
    asn_dma *q = PyCapsule_GetPointer(v[3], QUEUE);
    PyArrayObject *host = host_of(v[1], "fetch");
    if (!q || !host || asn_int64_from_py(v[2], &priority) < 0) return NULL;
    ASN_PY_TRY(
        asn_tensor_fetch(q, asn_of(v[0]), PyArray_DATA(host), (int)priority, &kept, &t));
    return wrap_transfer(t, v[1], &kept);
}

/* (transfer): does not wait. */
static PyObject *f_transfer_done(PyObject *const *v) {
    transfer_state *s = PyCapsule_GetPointer(v[0], TRANSFER);
    return s ? PyBool_FromLong(asn_transfer_done(s->transfer)) : NULL;
}

/* (transfer): raises its error; may be called again. */
static PyObject *f_transfer_wait(PyObject *const *v) {
    transfer_state *s = PyCapsule_GetPointer(v[0], TRANSFER);
    if (!s) return NULL;
    asn_status status;
    Py_BEGIN_ALLOW_THREADS;
    status = asn_transfer_wait(s->transfer);
    Py_END_ALLOW_THREADS;
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}

/* (transfer): what is recorded on the array from now on comes after it, on the device. */
static PyObject *f_transfer_order(PyObject *const *v) {
    transfer_state *s = PyCapsule_GetPointer(v[0], TRANSFER);
    if (!s) return NULL;
    ASN_PY_TRY(asn_tensor_order(s->transfer, &s->kept));
    Py_RETURN_NONE;
}

/* ---- formats: names of CANN's, which the core knows
 *
 * What can be wrong with a shape or an array is the core's to say: these read arguments
 * alone. */

/* The format that a str names. -1: an error, TypeError for what is none. */
static int format_from(PyObject *name, int *format) {
    const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
    if (!text) {
        if (!PyErr_Occurred())
            PyErr_Format(PyExc_TypeError, "a format is a str, got %s",
                         Py_TYPE(name)->tp_name);
        return -1;
    }
    ASN_PY_TRY_INT(asn_format_find(text, format));
    return 0;
}

/* (shape, format, dtype): the shape of memory, of which the last axes of a format in
 * blocks are the blocks' own. */
static PyObject *f_format_shape(PyObject *const *v) {
    int64_t shape[ASN_MAX_DIMS], memory[ASN_MAX_DIMS];
    int ndim, num, format;
    asn_dtype dtype;
    if (asn_shape_from_py(v[0], shape, &ndim) < 0 || format_from(v[1], &format) < 0 ||
        asn_dtype_from_py(v[2], &dtype) < 0)
        return NULL;
    ASN_PY_TRY(asn_format_shape(format, dtype, ndim, shape, &num, memory));
    return asn_shape_to_py(num, memory);
}

/* (channels): a name that the others take. */
static PyObject *f_format_choose(PyObject *const *v) {
    int64_t channels;
    int format;
    if (asn_int64_from_py(v[0], &channels) < 0) return NULL;
    ASN_PY_TRY(asn_format_choose(channels, &format));
    return PyUnicode_FromString(asn_format_name(format));
}

/* (array, source, target, canonical shape or None): anything that asarray takes, as a
 * row-major copy. The shape leaves out what fills the last blocks up; None keeps it. */
static PyObject *f_format_convert(PyObject *const *v) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0, source, target;
    asn_array made;
    if (format_from(v[1], &source) < 0 || format_from(v[2], &target) < 0 ||
        (v[3] != Py_None && asn_shape_from_py(v[3], shape, &ndim) < 0))
        return NULL;
    PyObject *a = asn_asarray(v[0]);
    if (!a) return NULL;
    asn_status status = asn_format_convert(&made, asn_of(a), source, target, ndim,
                                           v[3] == Py_None ? NULL : shape);
    Py_DECREF(a);
    ASN_PY_TRY(status);
    return asn_ndarray_wrap(&made);
}

asn_function_def asn_tensor_functions[] = {
    ASN_FUNCTION("_tensor_check", "dtype, shape, order, alignment, /", f_tensor_check,
                 "Bytes of a descriptor's elements."),
    ASN_FUNCTION("_tensor_new", "dtype, shape, order, alignment, /", f_tensor_new,
                 "An array of a descriptor."),
    ASN_FUNCTION("_tensor_reuse", "dtype, shape, order, alignment, dead, /",
                 f_tensor_reuse, "The same in another's memory."),
    ASN_FUNCTION("_tensor_prepare", "dtype, shape, order, alignment, host, /",
                 f_tensor_prepare, "Host memory converted to a descriptor."),
    ASN_FUNCTION("_tensor_copy_back", "dtype, shape, order, alignment, array, host, /",
                 f_tensor_copy_back, "An array converted into host memory."),
    ASN_FUNCTION("_format_shape", "shape, format, dtype, /", f_format_shape,
                 "The shape of memory in a format."),
    ASN_FUNCTION("_format_convert", "array, source, target, shape, /", f_format_convert,
                 "A copy in another format."),
    ASN_FUNCTION("_format_choose", "channels, /", f_format_choose,
                 "The format for so many channels."),
    ASN_FUNCTION("_queue_new", "staging_bytes, /", f_queue_new, "A copy queue."),
    ASN_FUNCTION("_queue_stats", "queue, /", f_queue_stats, "Its counts."),
    ASN_FUNCTION("_queue_send",
                 "dtype, shape, order, alignment, host, priority, queue, /", f_queue_send,
                 "Host memory to the device."),
    ASN_FUNCTION("_queue_fetch", "array, host, priority, queue, /", f_queue_fetch,
                 "An array to host memory."),
    ASN_FUNCTION("_transfer_done", "transfer, /", f_transfer_done, "Whether it ended."),
    ASN_FUNCTION("_transfer_wait", "transfer, /", f_transfer_wait, "Waits for it."),
    ASN_FUNCTION("_transfer_order", "transfer, /", f_transfer_order,
                 "Later work comes after it."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
