/* L3 python: Python objects -> small arguments of the core: dtypes, shapes, axes, orders,
 * castings.
 *
 * dtype objects are NumPy's; a table from NumPy's type numbers gives ours. `long long` is
 * int64 here, as the two are equal dtypes on every platform we build for. long double,
 * strings, objects and dates have no counterpart and are a TypeError that names them.
 * bfloat16 is ml_dtypes' and is imported when it is first used.
 */
#include "python/convert.h"

/* By NumPy's number of a type; -1: no such dtype here. */
static const int8_t dtype_of_num[] = {
    [NPY_BOOL] = ASN_BOOL,    [NPY_BYTE] = ASN_I8,       [NPY_UBYTE] = ASN_U8,
    [NPY_SHORT] = ASN_I16,    [NPY_USHORT] = ASN_U16,    [NPY_INT] = ASN_I32,
    [NPY_UINT] = ASN_U32,     [NPY_LONG] = ASN_I64,      [NPY_ULONG] = ASN_U64,
    [NPY_LONGLONG] = ASN_I64, [NPY_ULONGLONG] = ASN_U64, [NPY_FLOAT] = ASN_F32,
    [NPY_DOUBLE] = ASN_F64,   [NPY_LONGDOUBLE] = -1,     [NPY_CFLOAT] = ASN_C64,
    [NPY_CDOUBLE] = ASN_C128,
};

/* Finds ml_dtypes' dtype; -1 with ImportError when it is not installed. */
static int load_bfloat16(void) {
    if (__atomic_load_n(&asn_py.descr[ASN_BF16], __ATOMIC_ACQUIRE)) return 0;
    PyObject *module = PyImport_ImportModule("ml_dtypes");
    if (!module) return -1;
    PyObject *type = PyObject_GetAttrString(module, "bfloat16");
    PyArray_Descr *descr = NULL;
    int ok = type && PyArray_DescrConverter(type, &descr);
    Py_XDECREF(type);
    Py_DECREF(module);
    if (!ok) return -1;
    PyArray_Descr *none = NULL; /* another thread may have been first */
    ASN_WRITE(asn_py.bfloat16_num, descr->type_num);
    if (!__atomic_compare_exchange_n(&asn_py.descr[ASN_BF16], &none, descr, false,
                                     __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        Py_DECREF(descr);
    return 0;
}

PyArray_Descr *asn_descr(asn_dtype dtype) {
    PyArray_Descr *descr = __atomic_load_n(&asn_py.descr[dtype], __ATOMIC_ACQUIRE);
    if (ASN_LIKELY(descr != NULL)) return descr;
    return load_bfloat16() < 0 ? NULL : asn_py.descr[dtype];
}

PyObject *asn_descr_object(asn_dtype dtype) {
    return Py_XNewRef((PyObject *)asn_descr(dtype));
}

asn_dtype asn_dtype_from_descr(PyArray_Descr *descr) {
    int num = descr->type_num;
    if (num >= 0 && num <= NPY_CDOUBLE) {
        if (PyArray_ISNBO(descr->byteorder) == 0 || dtype_of_num[num] < 0)
            return ASN_DTYPE_NONE;
        return (asn_dtype)dtype_of_num[num];
    }
    if (num == NPY_HALF)
        return PyArray_ISNBO(descr->byteorder) ? ASN_F16 : ASN_DTYPE_NONE;
    if (num < NPY_USERDEF) return ASN_DTYPE_NONE;
    if (ASN_READ(asn_py.bfloat16_num) < 0 && load_bfloat16() < 0) PyErr_Clear();
    return num == ASN_READ(asn_py.bfloat16_num) ? ASN_BF16 : ASN_DTYPE_NONE;
}

/* The types programs pass most, without building a dtype object; NONE: another one. */
static asn_dtype dtype_of_type(PyObject *obj) {
    if (obj == (PyObject *)&PyFloat_Type) return ASN_F64;
    if (obj == (PyObject *)&PyLong_Type) return ASN_I64;
    if (obj == (PyObject *)&PyBool_Type) return ASN_BOOL;
    if (obj == (PyObject *)&PyDoubleArrType_Type) return ASN_F64;
    if (obj == (PyObject *)&PyFloatArrType_Type) return ASN_F32;
    if (obj == (PyObject *)&PyLongArrType_Type) return ASN_I64;
    if (obj == (PyObject *)&PyIntArrType_Type) return ASN_I32;
    if (obj == (PyObject *)&PyUByteArrType_Type) return ASN_U8;
    return ASN_DTYPE_NONE;
}

/* "f4" and its like, a kind and the bytes of an element, without one either; NONE:
 * another. */
static asn_dtype dtype_of_code(PyObject *obj) {
    enum { LENGTH = 2 };
    static const struct {
        char text[LENGTH];
        uint8_t dtype;
    } codes[] = {
        {{'f', '4'}, ASN_F32}, {{'f', '8'}, ASN_F64}, {{'i', '4'}, ASN_I32},
        {{'i', '8'}, ASN_I64}, {{'u', '1'}, ASN_U8},  {{'i', '1'}, ASN_I8},
        {{'i', '2'}, ASN_I16}, {{'u', '2'}, ASN_U16}, {{'u', '4'}, ASN_U32},
        {{'u', '8'}, ASN_U64}, {{'f', '2'}, ASN_F16}, {{'c', '8'}, ASN_C64},
    };
    if (!PyUnicode_CheckExact(obj) || PyUnicode_GET_LENGTH(obj) != LENGTH ||
        !PyUnicode_IS_ASCII(obj))
        return ASN_DTYPE_NONE;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        if (memcmp(PyUnicode_1BYTE_DATA(obj), codes[i].text, LENGTH) == 0)
            return (asn_dtype)codes[i].dtype;
    return ASN_DTYPE_NONE;
}

/* (Contract in convert.h.) The quick looks first, then NumPy's own reading. */
int asn_dtype_from_py(PyObject *obj, asn_dtype *out) {
    *out = ASN_DTYPE_NONE;
    if (!obj || obj == Py_None) return 0;
    *out = dtype_of_type(obj);
    if (*out == ASN_DTYPE_NONE) *out = dtype_of_code(obj);
    if (*out != ASN_DTYPE_NONE) return 0;
    if (PyUnicode_Check(obj) && PyUnicode_CompareWithASCIIString(obj, "bfloat16") == 0) {
        *out = ASN_BF16;
        return load_bfloat16();
    }
    if (asn_is_ndarray(obj) || PyArray_Check(obj)) {
        PyErr_SetString(PyExc_TypeError, "Cannot construct a dtype from an array");
        return -1;
    }
    PyArray_Descr *descr = NULL;
    if (!PyArray_DescrConverter(obj, &descr)) return -1;
    asn_dtype dtype = asn_dtype_from_descr(descr);
    if (dtype == ASN_DTYPE_NONE) {
        if (!PyErr_Occurred()) PyErr_SetObject(asn_py.host_dtype, (PyObject *)descr);
        Py_DECREF(descr);
        return -1;
    }
    Py_DECREF(descr);
    *out = dtype;
    return 0;
}

/* The rest of the file: contracts in convert.h. Texts of errors are NumPy's. */
int asn_order_from_py(PyObject *obj, char *out) {
    if (!obj || obj == Py_None) return 0;
    if (PyUnicode_Check(obj)) {
        if (PyUnicode_GET_LENGTH(obj) == 1) {
            Py_UCS4 c = PyUnicode_READ_CHAR(obj, 0) & ~0x20u;
            if (c == 'C' || c == 'F' || c == 'A' || c == 'K') {
                *out = (char)c;
                return 0;
            }
        }
        PyErr_Format(PyExc_ValueError,
                     "order must be one of 'C', 'F', 'A', or 'K' (got %R)", obj);
        return -1;
    }
    PyErr_Format(PyExc_TypeError, "order must be str, not %s", Py_TYPE(obj)->tp_name);
    return -1;
}

int asn_casting_from_py(PyObject *obj, asn_casting *out) {
    if (!obj) return 0;
    for (int c = ASN_CASTING_NO; c <= ASN_CASTING_UNSAFE; c++)
        if (PyUnicode_Check(obj) && PyUnicode_CompareWithASCIIString(
                                        obj, asn_casting_name((asn_casting)c)) == 0) {
            *out = (asn_casting)c;
            return 0;
        }
    PyErr_Format(PyUnicode_Check(obj) ? PyExc_ValueError : PyExc_TypeError,
                 "casting must be one of 'no', 'equiv', 'safe', 'same_kind', or 'unsafe' "
                 "(got %R)",
                 obj);
    return -1;
}

int asn_copy_mode_from_py(PyObject *copy, int absent, int *out) {
    *out = absent;
    if (!copy) return 0;
    if (copy == Py_None) {
        *out = -1;
        return 0;
    }
    if (!PyBool_Check(copy) && PyObject_HasAttrString(copy, "value")) {
        /* NumPy's enum, by its numbers; a plain object with a `value` counts as one, too.
         */
        PyObject *value = PyObject_GetAttrString(copy, "value");
        long number = value ? PyLong_AsLong(value) : -1;
        Py_XDECREF(value);
        if (number == -1 && PyErr_Occurred()) return -1;
        *out = number == 2 ? -1 : number != 0;
        return 0;
    }
    if (PyUnicode_Check(copy)) {
        PyErr_SetString(PyExc_ValueError, "strings are not allowed for 'copy' keyword. "
                                          "Use True/False/None instead.");
        return -1;
    }
    int truth = PyObject_IsTrue(copy);
    *out = truth;
    return truth < 0 ? -1 : 0;
}

int asn_mode_from_py(PyObject *obj, int *out) {
    static const char *const names[] = {"raise", "wrap", "clip"};
    if (!obj || obj == Py_None) return 0;
    if (PyLong_Check(obj)) {
        long v = PyLong_AsLong(obj); /* NumPy's numbers: CLIP 0, WRAP 1, RAISE 2 */
        if (v >= 0 && v <= 2) {
            *out = 2 - (int)v;
            return 0;
        }
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError,
                     "clipmode must be 0 (clip), 1 (wrap) or 2 (raise) (got %R)", obj);
        return -1;
    }
    for (int m = 0; m < 3; m++)
        if (PyUnicode_Check(obj) &&
            PyUnicode_CompareWithASCIIString(obj, names[m]) == 0) {
            *out = m;
            return 0;
        }
    PyErr_Format(PyUnicode_Check(obj) ? PyExc_ValueError : PyExc_TypeError,
                 "clipmode must be one of 'clip', 'raise', or 'wrap' (got %R)", obj);
    return -1;
}

int asn_bool_from_py(PyObject *obj, bool *out) {
    if (!obj) return 0;
    int truth = PyObject_IsTrue(obj);
    if (truth < 0) return -1;
    *out = truth;
    return 0;
}

int asn_int64_from_py(PyObject *obj, int64_t *out) {
    if (!obj) return 0;
    if (PyLong_CheckExact(obj)) {
        *out = PyLong_AsLongLong(obj);
        return *out == -1 && PyErr_Occurred() ? -1 : 0;
    }
    PyObject *index = PyNumber_Index(obj);
    if (!index) return -1;
    *out = PyLong_AsLongLong(index);
    Py_DECREF(index);
    return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

int asn_index_from_py(PyObject *obj, int64_t *out) {
    if (obj && PyBool_Check(obj)) {
        PyErr_SetString(PyExc_TypeError, "an integer is required");
        return -1;
    }
    return asn_int64_from_py(obj, out);
}

/* -1: a bool, which NumPy does not take for an axis. */
static int refuse_bool(PyObject *obj) {
    if (!PyBool_Check(obj)) return 0;
    PyErr_Format(PyExc_TypeError, "an integer is required for the axis, got %R", obj);
    return -1;
}

int asn_axis_value_from_py(PyObject *obj, int64_t *out) {
    return refuse_bool(obj) < 0 ? -1 : asn_int64_from_py(obj, out);
}

int asn_loose_axis_from_py(PyObject *obj, int ndim, int *out) {
    int64_t axis = 0;
    if (asn_int64_from_py(obj, &axis) < 0) return -1;
    ASN_PY_TRY_INT(asn_axis_normalize(axis, ndim, out));
    return 0;
}

int asn_axis_from_py(PyObject *obj, int ndim, int *out) {
    return refuse_bool(obj) < 0 ? -1 : asn_loose_axis_from_py(obj, ndim, out);
}

int asn_axes_from_py(PyObject *obj, int ndim, uint64_t *axes, bool *all) {
    *all = false;
    *axes = 0;
    if (!obj || obj == Py_None) {
        *all = true;
        *axes = ndim >= 64 ? ~0ULL : (1ULL << ndim) - 1;
        return 0;
    }
    int axis;
    if (!PyTuple_Check(obj)) {
        /* NumPy lets a 0-d array be reduced along axis 0 and -1 (scalars are 1-d there):
         * no axis, and all. */
        int64_t value = 0;
        if (asn_axis_value_from_py(obj, &value) < 0) return -1;
        if (ndim == 0 && (value == 0 || value == -1)) {
            *all = true;
            return 0;
        }
        ASN_PY_TRY_INT(asn_axis_normalize(value, ndim, &axis));
        *axes = 1ULL << axis;
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(obj); i++) {
        if (asn_axis_from_py(PyTuple_GET_ITEM(obj, i), ndim, &axis) < 0) return -1;
        if (*axes >> axis & 1) {
            PyErr_SetString(PyExc_ValueError, "duplicate value in 'axis'");
            return -1;
        }
        *axes |= 1ULL << axis;
    }
    return 0;
}

int asn_only_axis_from_py(PyObject *obj, int ndim, const char *method, int *out) {
    uint64_t axes = 1;
    bool all;
    if (obj && asn_axes_from_py(obj, ndim, &axes, &all) < 0) return -1;
    if (ndim == 0) {
        PyErr_Format(PyExc_TypeError, "cannot %s on a scalar", method);
        return -1;
    }
    if (axes == 0 || axes & (axes - 1)) {
        PyErr_Format(PyExc_ValueError, "%s does not allow multiple axes, got axis=%R",
                     method, obj);
        return -1;
    }
    *out = __builtin_ctzll(axes);
    return 0;
}

/* One extent; beyond int64 it is NumPy's "Maximum allowed dimension exceeded". */
static int shape_extent(PyObject *obj, int64_t *out) {
    if (asn_index_from_py(obj, out) == 0) return 0;
    if (PyErr_ExceptionMatches(PyExc_OverflowError)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "Maximum allowed dimension exceeded");
    }
    return -1;
}

int asn_shape_from_py(PyObject *obj, int64_t *shape, int *ndim) {
    if (PyLong_CheckExact(obj)) {
        *ndim = 1;
        return shape_extent(obj, shape);
    }
    if (!PySequence_Check(obj) || PyUnicode_Check(obj) || PyBytes_Check(obj) ||
        (asn_is_ndarray(obj) && asn_of(obj)->layout.ndim == 0) ||
        (PyArray_Check(obj) && PyArray_NDIM((PyArrayObject *)obj) == 0)) {
        if (!PyIndex_Check(obj)) {
            PyErr_Format(PyExc_TypeError,
                         "expected a sequence of integers or a single integer, got %R",
                         obj);
            return -1;
        }
        *ndim = 1;
        return shape_extent(obj, shape);
    }
    /* A tuple, the usual shape, is read in place; what else is a sequence is copied
     * first. */
    if (PyTuple_CheckExact(obj) && PyTuple_GET_SIZE(obj) <= ASN_MAX_DIMS) {
        int n = (int)PyTuple_GET_SIZE(obj);
        for (int i = 0; i < n; i++)
            if (shape_extent(PyTuple_GET_ITEM(obj, i), &shape[i]) < 0) return -1;
        *ndim = n;
        return 0;
    }
    PyObject *items = asn_items_of(obj, "expected a sequence of integers");
    if (!items) return -1;
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int rc = 0;
    if (n > ASN_MAX_DIMS) {
        PyErr_Format(
            PyExc_ValueError,
            "maximum supported dimension for an ndarray is currently %d, found %zd",
            ASN_MAX_DIMS, n);
        rc = -1;
    }
    for (Py_ssize_t i = 0; rc == 0 && i < n; i++)
        rc = shape_extent(PySequence_Fast_GET_ITEM(items, i), &shape[i]);
    *ndim = (int)n;
    Py_DECREF(items);
    return rc;
}

PyObject *asn_items_of(PyObject *obj, const char *message) {
    PyObject *items = PySequence_Fast(obj, message);
    if (items && !PyTuple_Check(items)) Py_SETREF(items, PyList_AsTuple(items));
    return items;
}

PyObject *asn_shape_to_py(int ndim, const int64_t *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int i = 0; tuple && i < ndim; i++) {
        PyObject *extent = PyLong_FromLongLong(shape[i]);
        if (!extent) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, i, extent);
    }
    return tuple;
}

int asn_is_no_value(PyObject *obj) {
    return !obj || obj == asn_py.no_value;
}

/* ---- devices */

/* Splits "kind" or "kind:number" into whether the kind is an NPU's and the number, -1
 * without one. False: no such text. */
static bool parse_device(const char *text, bool *npu, int *number) {
    static const char *const kinds[] = {"cpu", "ascend", "npu"};
    for (int k = 0; k < 3; k++) {
        size_t length = strlen(kinds[k]);
        if (strncmp(text, kinds[k], length) != 0) continue;
        *npu = k > 0, *number = -1;
        if (!text[length]) return true;
        const char *digits = text + length + 1;
        size_t count = strspn(digits, "0123456789");
        if (text[length] != ':' || count < 1 || count > 6 || digits[count]) return false;
        *number = atoi(digits);
        return true;
    }
    return false;
}

/* The ValueError of a name that means no device in use. NumPy's words come first, to
 * which programs compare. */
static int no_such_device(PyObject *device, const char *kind, int count) {
    if (count == 1)
        PyErr_Format(PyExc_ValueError,
                     "Device not understood. Only \"%s\" is allowed, but received: %S",
                     kind, device);
    else
        PyErr_Format(PyExc_ValueError,
                     "Device not understood. Only \"%s:0\" to \"%s:%d\" are allowed, but "
                     "received: %S",
                     kind, kind, count - 1, device);
    return -1;
}

int asn_device_from_py(PyObject *device, int *number) {
    bool npu = false;
    int count = 0, given = -1;
    ASN_PY_TRY_INT(asn_device_count(&count));
    ASN_PY_TRY_INT(asn_device_get(number));
    const char *kind = asn_device_kind();
    const char *text = PyUnicode_Check(device) ? PyUnicode_AsUTF8(device) : "";
    if (!text) return -1;
    if (!parse_device(text, &npu, &given) || given >= count)
        return no_such_device(device, kind, count);
    if (npu != (strcmp(kind, "cpu") != 0)) {
        PyErr_Format(PyExc_ValueError,
                     "Device not understood. This process computes on \"%s\", which "
                     "ASNUMPY_DEVICE chooses when it starts, but received: %U",
                     kind, device);
        return -1;
    }
    if (given >= 0) *number = given;
    return 0;
}

int asn_device_check(PyObject *device) {
    int current = 0, number;
    if (!device || device == Py_None) return 0;
    if (asn_device_from_py(device, &number) < 0) return -1;
    ASN_PY_TRY_INT(asn_device_get(&current));
    if (number == current) return 0;
    PyErr_Format(PyExc_ValueError,
                 "Device not understood. The current device is \"%s:%d\", but received: "
                 "%U; set_device(%R) makes that the current one",
                 asn_device_kind(), current, device, device);
    return -1;
}
