/* L3 python: elements for host code: the buffer protocol and NumPy arrays over an array's
 * memory.
 *
 * Where the host reaches the device's memory nothing is copied: the exporter waits for
 * the elements, hands out the address and keeps the array alive. Elsewhere exporting is a
 * BufferError and to_numpy() copies. Memory that is out is lent (asn_buffer_lend):
 * operations on it are not kept recorded until the loan ends, because host code may write
 * it at any time.
 *
 * Data of a dtype that the device lacks (text, dates, objects, records, long doubles)
 * stays NumPy's, on the host: a call that meets it fails with HostDtypeError, and is made
 * again with NumPy's function (asnumpy._support.on_host). So are calls with arrays of
 * NumPy's subclasses (masked arrays, matrices, quantities): a copy of their elements on
 * the device would drop what they add. */
#include "python/convert.h"
#include "python/docs.h"
#include "python/ndarray/methods.h"

static char nothing[16]
    __attribute__((aligned(16))); /* where arrays of no elements lie */

/* Address of the elements for code outside the library, which has it until the loan ends:
 * materialises them and reports their floating-point exceptions, which may be an error.
 * *loan: to be taken back; NULL: there are no elements. */
static int lend_memory(PyObject *self, void **data, asn_buffer **loan) {
    *data = nothing;
    *loan = NULL;
    if (asn_of(self)->layout.size == 0) return 0;
    ASN_COUNT(asn_py.host_reads);
    ASN_PY_TRY_INT(asn_array_lend(asn_of(self), data, loan));
    if (asn_fp_check() == 0) return 0;
    asn_array_take_back(*loan);
    return -1;
}

/* The struct module's code of a dtype, as the buffer protocol has it; NULL of bfloat16,
 * for which there is none. */
static const char *buffer_format(asn_dtype dtype) {
    static const char *const formats[ASN_DTYPE_COUNT] = {
        [ASN_BOOL] = "?", [ASN_I8] = "b",   [ASN_U8] = "B",  [ASN_I16] = "h",
        [ASN_U16] = "H",  [ASN_I32] = "i",  [ASN_U32] = "I", [ASN_I64] = "l",
        [ASN_U64] = "L",  [ASN_F16] = "e",  [ASN_F32] = "f", [ASN_F64] = "d",
        [ASN_C64] = "Zf", [ASN_C128] = "Zd"};
    return formats[dtype];
}

/* What keeps the memory for a NumPy array, and ends the loan with it: a memoryview. (Of
 * bfloat16, which has none, the array itself, for good.) */
static PyObject *owner_of_memory(PyObject *self, void **data) {
    const asn_layout *l = &asn_of(self)->layout;
    if (buffer_format((asn_dtype)l->dtype)) {
        PyObject *owner = PyMemoryView_FromObject(self);
        if (owner) *data = PyMemoryView_GET_BUFFER(owner)->buf;
        return owner;
    }
    *data = nothing;
    if (l->size) ASN_PY_TRY(asn_array_export(asn_of(self), data));
    ASN_COUNT(asn_py.host_reads);
    return asn_fp_check() == 0 ? Py_NewRef(self) : NULL;
}

static void copy_dims(int64_t *to, const int64_t *from, int n) {
    for (int i = 0; i < n; i++)
        to[i] = from[i];
}

/* (Contract in core.h.) On a device whose memory the host does not reach it is a copy,
 * which the caller cannot tell apart but by writing to it. */
PyObject *asn_host_view(PyObject *self) {
    const asn_layout *l = &asn_of(self)->layout;
    void *data;
    if (!asn_device_host_access()) return asn_host_copy(self);
    PyArray_Descr *descr = asn_descr((asn_dtype)l->dtype);
    PyObject *owner = descr ? owner_of_memory(self, &data) : NULL;
    if (!owner) return NULL;
    npy_intp shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS];
    copy_dims((int64_t *)shape, l->shape, l->ndim);
    copy_dims((int64_t *)strides, l->strides, l->ndim);
    Py_INCREF(descr);
    PyObject *host =
        PyArray_NewFromDescr(&PyArray_Type, descr, l->ndim, shape, strides, data,
                             l->flags & ASN_WRITEABLE ? NPY_ARRAY_WRITEABLE : 0, NULL);
    /* PyArray_SetBaseObject takes the owner even where it fails; here it was not reached.
     */
    if (!host) {
        Py_DECREF(owner);
        return NULL;
    }
    if (PyArray_SetBaseObject((PyArrayObject *)host, owner) < 0) Py_CLEAR(host);
    return host;
}

/* The copy is row-major and writeable, whatever self is. */
PyObject *asn_host_copy(PyObject *self) {
    const asn_layout *l = &asn_of(self)->layout;
    PyArray_Descr *descr = asn_descr((asn_dtype)l->dtype);
    if (!descr) return NULL;
    npy_intp shape[ASN_MAX_DIMS];
    copy_dims((int64_t *)shape, l->shape, l->ndim);
    Py_INCREF(descr);
    PyObject *host =
        PyArray_NewFromDescr(&PyArray_Type, descr, l->ndim, shape, NULL, NULL, 0, NULL);
    if (!host || l->size == 0) return host;
    ASN_COUNT(asn_py.host_reads);
    asn_status status =
        asn_array_to_host(asn_of(self), PyArray_DATA((PyArrayObject *)host));
    if (status != ASN_OK) {
        Py_DECREF(host);
        return asn_raise(status);
    }
    if (asn_fp_check() < 0) Py_CLEAR(host);
    return host;
}

/* ---- buffer protocol */

/* Strides for a consumer, who may look at those of extents of 1 too: of a contiguous
 * array they are what the extents say. */
static void buffer_strides(const asn_layout *l, bool fortran, int64_t *strides) {
    copy_dims(strides, l->strides, l->ndim);
    bool f = l->flags & ASN_F_CONTIGUOUS;
    bool c = (l->flags & ASN_C_CONTIGUOUS) && !(f && fortran);
    int64_t step = asn_itemsize((asn_dtype)l->dtype);
    for (int k = 0; (c || f) && k < l->ndim; k++) {
        int d = c ? l->ndim - 1 - k : k;
        strides[d] = step;
        step *= l->shape[d];
    }
}

/* Whether several indices show one element (np.broadcast_to, a view of stride 0). */
static bool is_stretched(const asn_layout *l) {
    for (int d = 0; d < l->ndim && l->size; d++)
        if (l->strides[d] == 0 && l->shape[d] > 1) return true;
    return false;
}

/* Ends getbuffer with an error; view->obj must be NULL then, by the protocol. */
static int refuse(Py_buffer *view, const char *why) {
    view->obj = NULL;
    PyErr_SetString(PyExc_ValueError, why); /* as NumPy has it; not a BufferError */
    return -1;
}

/* PyTorch, which would read float32 in one dimension whatever lies there. Its own error
 * says nothing, so a warning tells what to call instead. */
static int refuse_torch(Py_buffer *view, int flags) {
    static const char *const why =
        "torch.asarray and torch.frombuffer read an asnumpy array's memory as float32 "
        "without asking for its dtype and shape: use torch.from_dlpack(a) or "
        "torch.as_tensor(a), or torch.frombuffer(memoryview(a), dtype=...)";
    view->obj = NULL;
    if (flags == PyBUF_WRITABLE && PyErr_WarnEx(PyExc_RuntimeWarning, why, 1) < 0)
        return -1;
    PyErr_SetString(PyExc_BufferError, why);
    return -1;
}

/* NumPy drops an exception of the buffer protocol and tries the next one, which would
 * find nothing left to compute, and memory without the result: __array__ raises the
 * exception instead. One for each thread: the last failure is what the protocol that is
 * asked next on this thread follows. */
static _Thread_local struct {
    PyObject *of, *type, *value, *trace; /* owns; of the array that was asked last */
} dropped;

static void forget_dropped(void) {
    Py_CLEAR(dropped.of);
    Py_CLEAR(dropped.type);
    Py_CLEAR(dropped.value);
    Py_CLEAR(dropped.trace);
}

/* Keeps the exception that is set, which stays set, and the array it came from. */
static void note_dropped(PyObject *self) {
    forget_dropped();
    PyErr_Fetch(&dropped.type, &dropped.value, &dropped.trace);
    dropped.of = Py_NewRef(self);
    PyErr_Restore(Py_XNewRef(dropped.type), Py_XNewRef(dropped.value),
                  Py_XNewRef(dropped.trace));
}

/* -1: the exception that was dropped is set again, and forgotten. */
int asn_host_check_dropped(PyObject *self) {
    if (ASN_LIKELY(dropped.of != self)) return 0;
    PyErr_Restore(dropped.type, dropped.value, dropped.trace);
    dropped.type = dropped.value = dropped.trace = NULL;
    forget_dropped();
    return -1;
}

/* What a view of the buffer protocol keeps. */
typedef struct {
    asn_buffer *loan;
    Py_ssize_t dims[]; /* extents and strides */
} lent;

/* The buffer protocol's request, tested in NumPy's order and with its errors: each flag
 * of `flags` is a demand that the array's layout must meet. Nothing is computed before
 * all are met. */
int asn_ndarray_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    const asn_layout *l = &asn_of(self)->layout;
    bool c = l->flags & ASN_C_CONTIGUOUS, f = l->flags & ASN_F_CONTIGUOUS;
    const char *format = buffer_format((asn_dtype)l->dtype);
    if (!(l->dtype == ASN_F32 && l->ndim == 1) && asn_buffer_is_for_torch(flags))
        return refuse_torch(view, flags);
    if (!format) return refuse(view, "bfloat16 has no buffer format: use to_numpy()");
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE && !(l->flags & ASN_WRITEABLE))
        return refuse(view, "buffer source array is read-only");
    if ((flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS && !c)
        return refuse(view, "ndarray is not C-contiguous");
    if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && !f)
        return refuse(view, "ndarray is not Fortran contiguous");
    if ((flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS && !c && !f)
        return refuse(view, "ndarray is not contiguous");
    if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES && !c)
        return refuse(view, "ndarray is not C-contiguous");
    lent *to = PyMem_Malloc(sizeof *to + 2 * (size_t)l->ndim * sizeof *to->dims);
    if (!to) {
        PyErr_NoMemory();
        return -1;
    }
    if (lend_memory(self, &view->buf, &to->loan) < 0) {
        PyMem_Free(to);
        view->obj = NULL;
        /* After a floating-point exception (a warning made an error, errstate's "raise")
         * the elements are there all the same, and a device whose memory the host does
         * not reach is left to the next protocol: neither is an operation that failed. */
        if (!PyErr_ExceptionMatches(PyExc_TypeError) &&
            !PyErr_ExceptionMatches(PyExc_Warning) &&
            !PyErr_ExceptionMatches(PyExc_FloatingPointError))
            note_dropped(self);
        return -1;
    }
    if (ASN_UNLIKELY(dropped.of)) forget_dropped();
    Py_ssize_t *dims = to->dims;
    /* The array may be reshaped in place while exported: the view keeps its own extents.
     */
    copy_dims((int64_t *)dims, l->shape, l->ndim);
    bool fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
    buffer_strides(l, fortran, (int64_t *)dims + l->ndim);
    view->obj = Py_NewRef(self);
    view->len = (Py_ssize_t)asn_layout_nbytes(l);
    view->itemsize = asn_itemsize((asn_dtype)l->dtype);
    /* What broadcasting made is exported to be read, as NumPy has it, unless asked. */
    view->readonly = !(l->flags & ASN_WRITEABLE) ||
                     (is_stretched(l) && (flags & PyBUF_WRITABLE) != PyBUF_WRITABLE);
    /* Without a shape the consumer sees bytes in one dimension (hashlib insists). */
    view->ndim = (flags & PyBUF_ND) == PyBUF_ND ? l->ndim : 1;
    view->format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT ? (char *)format : NULL;
    view->shape = (flags & PyBUF_ND) == PyBUF_ND ? dims : NULL;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? dims + l->ndim : NULL;
    view->suboffsets = NULL;
    view->internal = to;
    return 0;
}

void asn_ndarray_releasebuffer(PyObject *self, Py_buffer *view) {
    (void)self;
    lent *to = view->internal;
    asn_array_take_back(to->loan);
    PyMem_Free(to);
}

/* ---- dtypes that the device lacks */

/* The text of the error whose value is a dtype: made when it is read, since most of these
 * errors are answered by NumPy and a record's text takes longer than its array. */
static PyObject *host_dtype_text(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *args = ((PyBaseExceptionObject *)self)->args;
    PyObject *of = PyTuple_GET_SIZE(args) == 1 ? PyTuple_GET_ITEM(args, 0) : NULL;
    if (!of || !PyArray_DescrCheck(of))
        return ((PyTypeObject *)PyExc_TypeError)->tp_str(self);
    return PyUnicode_FromFormat(
        "asnumpy has no dtype %R; it has bool, int8 to int64, uint8 to uint64, float16, "
        "bfloat16, float32, float64, complex64 and complex128",
        of);
}

static PyMethodDef text_method = {"__str__", host_dtype_text, METH_NOARGS, NULL};

/* Makes asnumpy.HostDtypeError. It is a TypeError, which is what NumPy users expect of a
 * dtype that an operation cannot take. */
int asn_hosts_init(PyObject *module) {
    PyObject *error = PyErr_NewExceptionWithDoc("asnumpy.HostDtypeError",
                                                asn_docs_find(NULL, "HostDtypeError"),
                                                PyExc_TypeError, NULL);
    if (!error) return -1;
    asn_py.host_dtype = error;
    PyObject *text = PyDescr_NewMethod((PyTypeObject *)error, &text_method);
    int rc = text ? PyObject_SetAttrString(error, "__str__", text) : -1;
    Py_XDECREF(text);
    return rc < 0 ? rc : PyModule_AddObjectRef(module, "HostDtypeError", error);
}

PyObject *asn_tuple_of(PyObject *const *args, Py_ssize_t n) {
    PyObject *tuple = PyTuple_New(n);
    for (Py_ssize_t i = 0; tuple && i < n; i++)
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
    return tuple;
}

PyObject *asn_keywords_of(PyObject *const *values, PyObject *kwnames) {
    PyObject *dict = PyDict_New();
    for (Py_ssize_t i = 0; dict && kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
        if (PyDict_SetItem(dict, PyTuple_GET_ITEM(kwnames, i), values[i]) < 0)
            Py_CLEAR(dict);
    return dict;
}

bool asn_host_may_answer(void) {
    if (PyErr_ExceptionMatches(asn_py.host_dtype)) return true;
    return asn_py.override_hook && !PyErr_ExceptionMatches(asn_py.override_error) &&
           (PyErr_ExceptionMatches(PyExc_TypeError) ||
            PyErr_ExceptionMatches(PyExc_NotImplementedError));
}

/* (Contract in core.h.) Holds the first error while the helper runs: it is raised again
 * where the helper returns NotImplemented, and replaced by the helper's own otherwise. */
PyObject *asn_host_retry(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    PyObject *type, *value, *trace, *result = NULL;
    bool known = PyErr_ExceptionMatches(asn_py.host_dtype);
    PyErr_Fetch(&type, &value, &trace);
    if (!known) { /* the helper looks at it */
        PyErr_NormalizeException(&type, &value, &trace);
        if (trace) PyException_SetTraceback(value, trace);
    }
    PyObject *positional = asn_tuple_of(args, nargs);
    PyObject *keywords = asn_keywords_of(args + nargs, kwnames);
    if (positional && keywords) {
        PyObject *all[4] = {callable, positional, keywords, known ? NULL : value};
        result = asn_support_call("on_host", all, known ? 3 : 4);
    }
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    if (result == Py_NotImplemented) { /* the error stands */
        Py_DECREF(result);
        PyErr_Restore(type, value, trace);
        return NULL;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(trace);
    return result;
}

bool asn_foreign_array(PyObject *obj) {
    /* A memory map is an ordinary array, only backed by a file. */
    return PyArray_Check(obj) && !PyArray_CheckExact(obj) &&
           strcmp(Py_TYPE(obj)->tp_name, "memmap") != 0;
}

/* HostDtypeError is set first because it is what the retry answers; it does not get out.
 */
PyObject *asn_foreign_call(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames) {
    PyErr_SetString(asn_py.host_dtype, "arrays of NumPy's subclasses stay on the host");
    PyObject *r = asn_host_retry(callable, args, nargs, kwnames);
    if (!r && PyErr_ExceptionMatches(asn_py.host_dtype)) PyErr_Clear();
    return r;
}
