/* L3 python: DLPack, both ways: __dlpack__, __dlpack_device__ and from_dlpack.
 *
 * The structures below are DLPack's binary interface (version 1.0 and the unversioned one
 * before it), written out here because the interface is a memory layout, not a library:
 * no header of it is needed. A capsule owns its tensor until a consumer renames it
 * ("used_..."); the tensor keeps the array alive, and its memory is lent until the
 * deleter is called. Memory that the host reaches is exchanged as device type CPU; an
 * NPU's as the type "extension device", which is what PyTorch calls devices of extensions
 * (npu), with libraries that compute on the same NPU in this process.
 *
 * Import trusts nothing: the numbers in a foreign tensor are checked before memory is
 * addressed by them. What NumPy raises (BufferError for what is not exchanged, ValueError
 * or TypeError for misuse) is raised here, with the same texts where NumPy has one. */
#include "python/args.h"
#include "python/convert.h"

/* DLPack's numbers: kDLCPU, kDLExtDev; DLDataTypeCode; the bits of a versioned tensor's
 * flags. */
enum { DL_CPU = 1, DL_EXTENSION = 12 };
enum { DL_INT, DL_UINT, DL_FLOAT, DL_BFLOAT = 4, DL_COMPLEX = 5, DL_BOOL = 6 };
enum { DL_READ_ONLY = 1, DL_COPIED = 2 };

/* DLDevice. */
typedef struct {
    int32_t type, id;
} dl_device;

/* DLTensor: one array in memory. The address of an element is data + byte_offset + the
 * sum of index times stride times the item's size. */
typedef struct {
    void *data;
    dl_device device;
    int32_t ndim;
    struct {
        uint8_t code, bits;
        uint16_t lanes; /* bits of an element; 1 lane: no vectors */
    } dtype;
    int64_t *shape, *strides; /* strides in elements; NULL: row-major */
    uint64_t byte_offset;
} dl_tensor;

/* DLManagedTensor: the tensor before version 1.0, and how its owner is told of the end.
 */
typedef struct dl_managed {
    dl_tensor tensor;
    void *context;
    void (*deleter)(struct dl_managed *);
} dl_managed;

/* DLManagedTensorVersioned: the same since 1.0, with flags (DL_READ_ONLY, DL_COPIED). */
typedef struct dl_versioned {
    struct {
        uint32_t major, minor;
    } version; /* a higher minor stays readable, a higher major does not */
    void *context;
    void (*deleter)(struct dl_versioned *);
    uint64_t flags;
    dl_tensor tensor;
} dl_versioned;

/* What an exported tensor points to: one allocation, which the tensor's deleter ends. */
typedef struct {
    PyObject *array;  /* a reference */
    asn_buffer *loan; /* the memory that is lent; NULL of an array without elements */
    /* the tensor's shape, from ASN_MAX_DIMS on its strides */
    int64_t dims[2 * ASN_MAX_DIMS];
    union {
        dl_managed managed;
        dl_versioned versioned;
    } as;
} exported;

/* Ends the loan and the reference. A consumer may call its deleter on any thread, with or
 * without the interpreter's lock, so the lock is taken. */
static void drop_exported(exported *e) {
    PyGILState_STATE gil = PyGILState_Ensure();
    asn_array_take_back(e->loan);
    Py_DECREF(e->array);
    PyMem_Free(e);
    PyGILState_Release(gil);
}

static void delete_managed(dl_managed *m) {
    drop_exported(m->context);
}
static void delete_versioned(dl_versioned *m) {
    drop_exported(m->context);
}

/* A capsule that nobody consumed still owns its tensor. */
static void capsule_destructor(PyObject *capsule) {
    if (PyCapsule_IsValid(capsule, "dltensor")) {
        dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
        m->deleter(m);
    } else if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        m->deleter(m);
    }
}

/* Where the array's memory is: (kDLCPU, 0), or the NPU's type and number. */
static asn_status device_of(PyObject *array, dl_device *out) {
    const asn_array *a = asn_of(array);
    int device = 0;
    *out = (dl_device){DL_CPU, 0};
    ASN_TRY(asn_device_open());
    if (asn_device_host_access()) return ASN_OK;
    ASN_TRY(asn_device_get(&device));
    *out = (dl_device){DL_EXTENSION, a->buffer ? a->buffer->device : device};
    return ASN_OK;
}

/* The tensor of e->array at address `data`; strides in elements, which make_capsule has
 * found to be whole. */
static void fill_tensor(dl_tensor *t, exported *e, void *data, dl_device device) {
    const asn_layout *l = &asn_of(e->array)->layout;
    asn_dtype dtype = (asn_dtype)l->dtype;
    int item = asn_itemsize(dtype);
    t->data = data;
    t->device = device;
    t->ndim = l->ndim;
    t->dtype.code = dtype == ASN_BOOL          ? DL_BOOL
                    : dtype == ASN_BF16        ? DL_BFLOAT
                    : asn_is_complex(dtype)    ? DL_COMPLEX
                    : asn_is_floating(dtype)   ? DL_FLOAT
                    : asn_is_signed_int(dtype) ? DL_INT
                                               : DL_UINT;
    t->dtype.bits = (uint8_t)(8 * item);
    t->dtype.lanes = 1;
    t->shape = e->dims;
    t->strides = e->dims + ASN_MAX_DIMS;
    t->byte_offset = 0;
    for (int i = 0; i < l->ndim; i++) {
        t->shape[i] = l->shape[i];
        t->strides[i] = l->strides[i] / item;
    }
}

/* A new capsule of the array's memory, which is materialised first (lending waits for
 * it). BufferError: strides that are no multiple of the element, as of a field of a
 * record. An array of no elements has the address NULL, which DLPack allows. */
static PyObject *make_capsule(PyObject *array, bool versioned, bool copied) {
    void *data = NULL;
    const asn_layout *l = &asn_of(array)->layout;
    for (int i = 0; i < l->ndim; i++)
        if (l->shape[i] > 1 && l->strides[i] % asn_itemsize((asn_dtype)l->dtype)) {
            PyErr_SetString(
                PyExc_BufferError,
                "DLPack only supports strides which are a multiple of itemsize.");
            return NULL;
        }
    exported *e = PyMem_Calloc(1, sizeof *e);
    if (!e) return PyErr_NoMemory();
    e->array = Py_NewRef(array);
    dl_device device;
    asn_status lent = device_of(array, &device);
    if (lent == ASN_OK && l->size)
        lent = device.type == DL_CPU
                   ? asn_array_lend(asn_of(array), &data, &e->loan)
                   : asn_array_lend_device(asn_of(array), &data, &e->loan);
    if (lent != ASN_OK || asn_fp_check() < 0) {
        drop_exported(e);
        return lent != ASN_OK ? asn_raise(lent) : NULL;
    }
    PyObject *capsule;
    if (versioned) {
        dl_versioned *m = &e->as.versioned;
        m->version.major = 1;
        m->version.minor = 0;
        m->context = e;
        m->deleter = delete_versioned;
        m->flags =
            (l->flags & ASN_WRITEABLE ? 0 : DL_READ_ONLY) | (copied ? DL_COPIED : 0);
        fill_tensor(&m->tensor, e, data, device);
        capsule = PyCapsule_New(m, "dltensor_versioned", capsule_destructor);
    } else {
        dl_managed *m = &e->as.managed;
        m->context = e;
        m->deleter = delete_managed;
        fill_tensor(&m->tensor, e, data, device);
        capsule = PyCapsule_New(m, "dltensor", capsule_destructor);
    }
    if (!capsule) drop_exported(e);
    return capsule;
}

/* dl_device= of an exporter: None or the one that the array is on. */
static int check_device(PyObject *array, PyObject *device) {
    long type = DL_CPU, id = 0;
    dl_device own;
    if (!device || device == Py_None) return 0;
    ASN_PY_TRY_INT(device_of(array, &own));
    if (!PyTuple_Check(device)) {
        PyErr_Format(PyExc_TypeError, "dl_device must be a tuple, got %R", device);
        return -1;
    }
    if (!PyArg_ParseTuple(device, "ll", &type, &id)) return -1;
    if (type == own.type && id == own.id) return 0;
    PyErr_SetString(PyExc_BufferError, "unsupported device requested");
    return -1;
}

/* copy=: a truth value or None, false; no text, which would be true. */
static int copy_from_py(PyObject *obj, bool *out) {
    if (!obj || obj == Py_None) return 0;
    if (!PyUnicode_Check(obj)) return asn_bool_from_py(obj, out);
    PyErr_Format(PyExc_ValueError,
                 "strings are not allowed for 'copy' keyword. Use True/False/None "
                 "instead, not %R",
                 obj);
    return -1;
}

/* ndarray.__dlpack__(stream, max_version, dl_device, copy): the capsule is versioned if
 * the consumer knows major version 1. stream= is for devices with streams: None alone, as
 * NumPy has it. */
PyObject *asn_ndarray_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames) {
    static asn_signature sig = {
        .name = "__dlpack__",
        .text = "*, stream=None, max_version=None, dl_device=None, copy=None"};
    PyObject *v[ASN_MAX_ARGS];
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    if (v[0] && v[0] != Py_None) {
        PyErr_SetString(asn_numpy_2_5() ? PyExc_ValueError : PyExc_RuntimeError,
                        "asnumpy only supports stream=None.");
        return NULL;
    }
    long major = 0, minor = 0;
    bool versioned = v[1] && v[1] != Py_None, copy = false;
    if (versioned && !(PyTuple_Check(v[1]) && PyTuple_GET_SIZE(v[1]) == 2)) {
        PyErr_Format(PyExc_TypeError,
                     "max_version must be None or a tuple with two elements, got %R",
                     v[1]);
        return NULL;
    }
    if (versioned && !PyArg_ParseTuple(v[1], "ll", &major, &minor)) return NULL;
    if (check_device(self, v[2]) < 0 || copy_from_py(v[3], &copy) < 0) return NULL;
    /* The unversioned tensor has no read-only flag: NumPy refuses instead of losing it.
     */
    if (!copy && major < 1 && !(asn_of(self)->layout.flags & ASN_WRITEABLE)) {
        PyErr_SetString(
            PyExc_BufferError,
            "Cannot export readonly array since signalling readonly is unsupported "
            "by DLPack (supported by newer DLPack version).");
        return NULL;
    }
    PyObject *array = copy ? asn_array_from_any(self, ASN_DTYPE_NONE, 1, 'K', 0, false)
                           : Py_NewRef(self);
    PyObject *capsule = array ? make_capsule(array, major >= 1, copy) : NULL;
    Py_XDECREF(array);
    return capsule;
}

/* (kDLCPU, 0), or (kDLExtDev, number) of an array on an NPU. */
PyObject *asn_ndarray_dlpack_device(PyObject *self, PyObject *unused) {
    dl_device device;
    (void)unused;
    ASN_PY_TRY(device_of(self, &device));
    return Py_BuildValue("ii", (int)device.type, (int)device.id);
}

/* ---- importing */

/* The dtype of a tensor's elements; NONE: this library has no such (vectors, 4-bit
 * numbers). The table of dtypes is searched by kind and size; bfloat16 has a code of its
 * own. */
static asn_dtype tensor_dtype(const dl_tensor *t) {
    char kind;
    switch (t->dtype.code) {
    case DL_BOOL: kind = 'b'; break;
    case DL_INT: kind = 'i'; break;
    case DL_UINT: kind = 'u'; break;
    case DL_COMPLEX: kind = 'c'; break;
    case DL_FLOAT:
    case DL_BFLOAT: kind = 'f'; break;
    default: return ASN_DTYPE_NONE;
    }
    for (int d = 0; d < ASN_DTYPE_COUNT; d++) {
        bool bfloat = d == ASN_BF16;
        if (asn_dtype_table[d].kind == kind && t->dtype.lanes == 1 &&
            8 * asn_itemsize((asn_dtype)d) == t->dtype.bits &&
            bfloat == (t->dtype.code == DL_BFLOAT))
            return (asn_dtype)d;
    }
    return ASN_DTYPE_NONE;
}

/* How the core gives a tensor back (asn_array_adopt's release), of either structure. A
 * tensor may have no deleter: its memory is never given back. */
static void release_managed(void *p) {
    dl_managed *m = p;
    if (m->deleter) m->deleter(m);
}
static void release_versioned(void *p) {
    dl_versioned *m = p;
    if (m->deleter) m->deleter(m);
}

/* Whether a tensor of that device can be used where it lies: the host's memory always, an
 * NPU's while it is the device in use. BufferError. */
static int check_tensor_device(const dl_device *d) {
    int device = 0;
    if (d->type == DL_CPU) return 0;
    ASN_PY_TRY_INT(asn_device_open());
    if (d->type == DL_EXTENSION && !asn_device_host_access()) {
        ASN_PY_TRY_INT(asn_device_get(&device));
        if (d->id == device) return 0;
    }
    PyErr_Format(
        PyExc_BufferError,
        "from_dlpack: the tensor is on device %d of type %d; %s reads memory of type "
        "1, the CPU%s",
        (int)d->id, (int)d->type, asn_device_kind(),
        asn_device_host_access() ? "" : ", and of type 12 on the NPU in use");
    return -1;
}

/* What another library wrote is looked at before it is believed; each check is one that
 * the later ones rely on. BufferError: it is of what this library does not exchange;
 * ValueError: it is no tensor. */
static int check_tensor(const dl_tensor *t, asn_dtype *dtype) {
    *dtype = tensor_dtype(t);
    if (check_tensor_device(&t->device) < 0) return -1;
    if (*dtype == ASN_DTYPE_NONE)
        PyErr_Format(PyExc_BufferError,
                     "from_dlpack: the tensor's type has code %d, %d bits and %d lanes, "
                     "which is none of this library's dtypes",
                     t->dtype.code, t->dtype.bits, t->dtype.lanes);
    else if (t->ndim > ASN_MAX_DIMS)
        PyErr_Format(PyExc_BufferError,
                     "from_dlpack: the tensor has %d dimensions; at most %d are allowed",
                     (int)t->ndim, ASN_MAX_DIMS);
    else if (t->ndim < 0)
        PyErr_Format(PyExc_ValueError, "from_dlpack: the tensor has %d dimensions",
                     (int)t->ndim);
    else if (t->ndim && !t->shape)
        PyErr_Format(PyExc_ValueError, "from_dlpack: the tensor has no shape");
    else if (t->byte_offset > INT64_MAX)
        PyErr_Format(PyExc_ValueError,
                     "from_dlpack: the tensor's byte_offset is %llu; at most 2**63 - 1 "
                     "is allowed",
                     (unsigned long long)t->byte_offset);
    else
        return 0;
    return -1;
}

/* The layout over the tensor, offset 0; strides NULL means row-major, otherwise they are
 * elements, and are multiplied to bytes with a check for overflow. */
static asn_status tensor_layout(const dl_tensor *t, asn_dtype dtype, bool writeable,
                                asn_layout *out) {
    int64_t strides[ASN_MAX_DIMS], item = asn_itemsize(dtype);
    if (!t->strides) {
        ASN_TRY(asn_layout_init(out, dtype, t->ndim, t->shape, 'C'));
        if (!writeable) out->flags &= (uint8_t)~ASN_WRITEABLE;
        return ASN_OK;
    }
    for (int i = 0; i < t->ndim; i++)
        if (!asn_mul_size(t->strides[i], item, &strides[i]))
            return asn_error_set(ASN_ERR_VALUE,
                                 "from_dlpack: a stride of %lld elements is too large",
                                 (long long)t->strides[i]);
    return asn_layout_init_strided(out, dtype, t->ndim, t->shape, strides, 0, writeable);
}

/* The array over a tensor's memory, which `release` gives back once it is no longer used;
 * a tensor of no elements is given back at once. The buffer spans from the lowest byte to
 * past the highest that an element has. ASN_ERR_...: nothing was taken. */
static asn_status array_over(const dl_tensor *t, asn_dtype dtype, bool writeable,
                             void (*release)(void *), void *context, asn_array *out) {
    asn_layout layout;
    int64_t low, high;
    ASN_TRY(tensor_layout(t, dtype, writeable, &layout));
    asn_layout_bounds(&layout, &low, &high);
    char *data = (char *)((uintptr_t)t->data + t->byte_offset);
    bool aligned = (uintptr_t)data % asn_dtype_table[dtype].alignment == 0;
    if (layout.size && (!t->data || !aligned || high == INT64_MAX)) {
        asn_layout_fini(&layout);
        return asn_error_set(ASN_ERR_VALUE, "from_dlpack: the tensor's data at %p %s",
                             (void *)data,
                             !t->data   ? "are none"
                             : !aligned ? "are not aligned to its elements"
                                        : "end past all addresses");
    }
    if (!layout.size) { /* there is nothing to adopt */
        asn_layout_fini(&layout);
        ASN_TRY(asn_array_new(out, dtype, t->ndim, t->shape, 'C'));
        if (!writeable) out->layout.flags &= (uint8_t)~ASN_WRITEABLE;
        release(context);
        return ASN_OK;
    }
    layout.offset = -low;
    if (t->device.type != DL_CPU)
        return asn_array_adopt_device(out, &layout, data + low, high - low, release,
                                      context);
    /* A bool tensor of bytes other than 0 and 1 is looked at before the memory may be
     * copied by adopting it, and given back. */
    asn_array seen = {.buffer = NULL};
    asn_layout_move(&seen.layout, &layout);
    asn_truth_mark(&seen, data, seen.layout.strides);
    const uint8_t raw = seen.layout.flags & ASN_NONCANONICAL;
    asn_layout_move(&layout, &seen.layout);
    ASN_TRY(asn_array_adopt(out, &layout, data + low, high - low, release, context));
    out->layout.flags |= raw;
    return ASN_OK;
}

/* The tensor as an array, or NULL with the error. `release` is called on failure too: the
 * capsule is renamed by then, so nobody else would. It runs while no exception is set,
 * since a deleter may run Python. */
static PyObject *adopt_tensor(const dl_tensor *t, bool writeable, void (*release)(void *),
                              void *context) {
    PyObject *type, *value, *trace;
    asn_dtype dtype;
    asn_ndarray *r = NULL;
    if (check_tensor(t, &dtype) == 0 && (r = asn_ndarray_alloc()) != NULL) {
        asn_status status = array_over(t, dtype, writeable, release, context, &r->array);
        if (status == ASN_OK) return (PyObject *)r;
        asn_ndarray_drop(r);
        asn_raise(status);
    }
    PyErr_Fetch(&type, &value, &trace);
    release(context);
    PyErr_Restore(type, value, trace);
    return NULL;
}

/* Takes the tensor out of a capsule, by the protocol's rename, which marks it as used:
 * the capsule's destructor leaves it alone from then on. *read_only: the exporter's wish,
 * which the array keeps. */
static PyObject *consume(PyObject *capsule, bool *read_only) {
    if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
        dl_versioned *m = PyCapsule_GetPointer(capsule, "dltensor_versioned");
        if (m->version.major > 1) {
            PyErr_SetString(PyExc_BufferError,
                            "from_dlpack(): the exported DLPack major version "
                            "is too high to be imported by this version");
            return NULL;
        }
        *read_only = m->flags & DL_READ_ONLY;
        PyCapsule_SetName(capsule, "used_dltensor_versioned");
        return adopt_tensor(&m->tensor, !*read_only, release_versioned, m);
    }
    if (!PyCapsule_IsValid(capsule, "dltensor")) {
        PyErr_SetString(PyExc_TypeError,
                        "__dlpack__() must return a fresh DLPack capsule");
        return NULL;
    }
    dl_managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    *read_only = true; /* the old protocol cannot say: NumPy takes it as read-only */
    PyCapsule_SetName(capsule, "used_dltensor");
    return adopt_tensor(&m->tensor, false, release_managed, m);
}

/* PyTorch launches on an NPU from a queue of its own, which DLPack does not know of: its
 * synchronize() has the tensor's elements written. */
static int wait_for_torch(PyObject *x) {
    PyObject *name = PyUnicode_FromString("torch_npu"), *module = NULL, *npu = NULL,
             *r = NULL;
    int flag = 0;
    if (name) module = PyImport_GetModule(name);
    Py_XDECREF(name);
    if (!module) return PyErr_Occurred() ? -1 : 0;
    PyObject *on_npu = PyObject_GetAttrString(x, "is_npu");
    if (on_npu)
        flag = PyObject_IsTrue(on_npu);
    else
        PyErr_Clear(); /* no tensor of PyTorch's */
    if (flag > 0 && (npu = PyObject_GetAttrString(module, "npu")) != NULL)
        r = PyObject_CallMethod(npu, "synchronize", NULL);
    Py_XDECREF(on_npu);
    Py_XDECREF(npu);
    Py_XDECREF(module);
    if (flag == 0) return 0;
    Py_XDECREF(r);
    return r ? 0 : -1;
}

/* np.from_dlpack(x, device, copy): v as its arguments, NULL where absent. copy= is passed
 * to the exporter, which makes the copy; an exporter that knows no keywords is called
 * again without. */
PyObject *asn_from_dlpack(PyObject *const *v) {
    bool copy = false;
    if (asn_device_check(v[1]) < 0 || copy_from_py(v[2], &copy) < 0) return NULL;
    PyObject *kwargs = Py_BuildValue("{s:(ii)}", "max_version", 1, 0);
    if (kwargs && v[2] && v[2] != Py_None &&
        PyDict_SetItemString(kwargs, "copy", v[2]) < 0)
        Py_CLEAR(kwargs);
    PyObject *method = kwargs ? PyObject_GetAttrString(v[0], "__dlpack__") : NULL;
    PyObject *empty = PyTuple_New(0), *capsule = NULL, *r = NULL;
    if (method && empty) {
        capsule = PyObject_Call(method, empty, kwargs);
        if (!capsule && PyErr_ExceptionMatches(PyExc_TypeError)) {
            PyErr_Clear(); /* an exporter of the unversioned protocol */
            capsule = PyObject_CallNoArgs(method);
        }
    }
    bool read_only;
    if (capsule && wait_for_torch(v[0]) < 0) Py_CLEAR(capsule);
    if (capsule) r = consume(capsule, &read_only);
    Py_XDECREF(capsule);
    Py_XDECREF(empty);
    Py_XDECREF(method);
    Py_XDECREF(kwargs);
    return r;
}
