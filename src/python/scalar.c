/* L3 python: one element <-> Python and NumPy scalars.
 *
 * Reading an element must cost no more than NumPy's own: the NumPy scalar objects are
 * made here by their allocators, without a dtype lookup. Packing follows NumPy's
 * assignment of one object: Python integers are range-checked, Python floats truncate
 * towards zero into integers, NumPy scalars are cast like array elements.
 */
#include "python/scalar.h"

#include "base/half.h"
#include "python/convert.h"

/* One dtype's case: NumPy's scalar object with these bytes. (The type numbers' objects
 * have no dtype to be looked up.) */
#define SCALAR_CASE(DT, Cls, ctype)                                                      \
    case DT: {                                                                           \
        PyObject *o = PyArrayScalar_New(Cls);                                            \
        if (o) memcpy(&PyArrayScalar_VAL(o, Cls), bytes, sizeof(ctype));                 \
        return o;                                                                        \
    }

PyObject *asn_scalar_to_numpy(const asn_scalar *s) {
    return asn_scalar_at((asn_dtype)s->dtype, s->bytes);
}

PyObject *asn_scalar_at(asn_dtype dtype, const void *bytes) {
    switch (dtype) {
    case ASN_BOOL:
        PyArrayScalar_RETURN_BOOL_FROM_LONG(*(const char *)bytes != 0);
        SCALAR_CASE(ASN_I8, Byte, int8_t)
        SCALAR_CASE(ASN_U8, UByte, uint8_t)
        SCALAR_CASE(ASN_I16, Short, int16_t)
        SCALAR_CASE(ASN_U16, UShort, uint16_t)
        SCALAR_CASE(ASN_I32, Int, int32_t)
        SCALAR_CASE(ASN_U32, UInt, uint32_t)
        SCALAR_CASE(ASN_I64, Long, int64_t)
        SCALAR_CASE(ASN_U64, ULong, uint64_t)
        SCALAR_CASE(ASN_F16, Half, uint16_t)
        SCALAR_CASE(ASN_F32, Float, float)
        SCALAR_CASE(ASN_F64, Double, double)
        SCALAR_CASE(ASN_C64, CFloat, asn_c64)
        SCALAR_CASE(ASN_C128, CDouble, asn_c128)
    default: break;
    }
    PyArray_Descr *descr = asn_descr(dtype);
    return descr ? PyArray_Scalar((void *)bytes, descr, NULL) : NULL;
}

/* The element of an integer dtype but uint64, as int64. */
static int64_t read_int(const asn_scalar *s) {
    switch ((asn_dtype)s->dtype) {
    case ASN_I8: return *(const int8_t *)s->bytes;
    case ASN_U8: return *(const uint8_t *)s->bytes;
    case ASN_I16: return *(const int16_t *)s->bytes;
    case ASN_U16: return *(const uint16_t *)s->bytes;
    case ASN_I32: return *(const int32_t *)s->bytes;
    case ASN_U32: return *(const uint32_t *)s->bytes;
    default: return *(const int64_t *)s->bytes;
    }
}

PyObject *asn_scalar_to_python(const asn_scalar *s) {
    switch ((asn_dtype)s->dtype) {
    case ASN_BOOL: return PyBool_FromLong(s->bytes[0] != 0);
    case ASN_U64: return PyLong_FromUnsignedLongLong(*(const uint64_t *)s->bytes);
    case ASN_F16: return PyFloat_FromDouble(asn_f16_to_f32(*(const uint16_t *)s->bytes));
    case ASN_BF16:
        return PyFloat_FromDouble(asn_bf16_to_f32(*(const uint16_t *)s->bytes));
    case ASN_F32: return PyFloat_FromDouble(*(const float *)s->bytes);
    case ASN_F64: return PyFloat_FromDouble(*(const double *)s->bytes);
    case ASN_C64: {
        const float *p = (const float *)s->bytes;
        return PyComplex_FromDoubles(p[0], p[1]);
    }
    case ASN_C128: {
        const double *p = (const double *)s->bytes;
        return PyComplex_FromDoubles(p[0], p[1]);
    }
    default: return PyLong_FromLongLong(read_int(s));
    }
}

/* A Python int as int64, or uint64 above that; OverflowError past both. */
static int long_operand(PyObject *obj, asn_scalar *out) {
    int overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(obj, &overflow);
    if (!overflow) {
        if (v == -1 && PyErr_Occurred()) return -1;
        out->dtype = ASN_I64;
        memcpy(out->bytes, &v, sizeof v);
        return 0;
    }
    if (overflow > 0) {
        unsigned long long u = PyLong_AsUnsignedLongLong(obj);
        if (!PyErr_Occurred()) {
            out->dtype = ASN_U64;
            memcpy(out->bytes, &u, sizeof u);
            return 0;
        }
        PyErr_Clear();
    }
    PyErr_Format(PyExc_OverflowError, "Python integer %R does not fit in int64 or uint64",
                 obj);
    return -1;
}

/* The most frequent NumPy scalars, without a dtype object; false: another. */
static bool common_scalar(PyObject *obj, asn_scalar *out) {
    PyTypeObject *type = Py_TYPE(obj);
    if (type == &PyDoubleArrType_Type) {
        out->dtype = ASN_F64;
        memcpy(out->bytes, &PyArrayScalar_VAL(obj, Double), sizeof(double));
    } else if (type == &PyFloatArrType_Type) {
        out->dtype = ASN_F32;
        memcpy(out->bytes, &PyArrayScalar_VAL(obj, Float), sizeof(float));
    } else if (type == &PyLongArrType_Type) {
        out->dtype = ASN_I64;
        memcpy(out->bytes, &PyArrayScalar_VAL(obj, Long), sizeof(int64_t));
    } else if (type == &PyBoolArrType_Type) {
        out->dtype = ASN_BOOL;
        out->bytes[0] = PyArrayScalar_VAL(obj, Bool) != 0;
    } else {
        return false;
    }
    return true;
}

/* A NumPy scalar's bytes, in its own dtype: 1; 0: the device has no such dtype; -1: an
 * error. */
static int numpy_operand(PyObject *obj, asn_scalar *out) {
    if (common_scalar(obj, out)) return 1;
    PyArray_Descr *descr = PyArray_DescrFromScalar(obj);
    if (!descr) return -1;
    asn_dtype dtype = asn_dtype_from_descr(descr);
    if (dtype == ASN_DTYPE_NONE) {
        Py_DECREF(descr);
        return 0;
    }
    out->dtype = (uint8_t)dtype;
    PyArray_ScalarAsCtype(obj, out->bytes);
    Py_DECREF(descr);
    return 1;
}

int asn_scalar_operand(PyObject *obj, asn_operand *out) {
    PyTypeObject *type = Py_TYPE(obj);
    out->array = NULL;
    if (type == &PyFloat_Type) {
        double v = PyFloat_AS_DOUBLE(obj);
        out->weak = 'f', out->scalar.dtype = ASN_F64;
        memcpy(out->scalar.bytes, &v, sizeof v);
        return 1;
    }
    if (type == &PyLong_Type) {
        out->weak = 'i';
        return long_operand(obj, &out->scalar) < 0 ? -1 : 1;
    }
    if (type == &PyBool_Type) {
        out->weak = 'b', out->scalar.dtype = ASN_BOOL;
        out->scalar.bytes[0] = obj == Py_True;
        return 1;
    }
    if (type == &PyComplex_Type) {
        Py_complex c = PyComplex_AsCComplex(obj);
        out->weak = 'c', out->scalar.dtype = ASN_C128;
        memcpy(out->scalar.bytes, &c, sizeof c);
        return 1;
    }
    if (PyArray_IsScalar(obj, Generic)) {
        out->weak = 0;
        return numpy_operand(obj, &out->scalar);
    }
    return 0;
}

/* ---- packing
 *
 * obj as an element of dtype; 0, or -1 with NumPy's error. *out is of that dtype. */

/* NumPy's OverflowError; -1. */
static int out_of_bounds(PyObject *obj, asn_dtype dtype) {
    PyErr_Format(PyExc_OverflowError, "Python integer %S out of bounds for %s", obj,
                 asn_dtype_name(dtype));
    return -1;
}

/* By int(obj), so a float is cut towards zero; range-checked. */
static int pack_int(PyObject *obj, asn_dtype dtype, asn_scalar *out) {
    PyObject *integer = PyNumber_Long(obj);
    if (!integer) return -1;
    int overflow = 0, size = asn_itemsize(dtype), rc = 0;
    long long v = PyLong_AsLongLongAndOverflow(integer, &overflow);
    out->dtype = (uint8_t)dtype;
    if (dtype == ASN_U64 && overflow > 0) {
        unsigned long long u = PyLong_AsUnsignedLongLong(integer);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            rc = out_of_bounds(integer, dtype);
        }
        memcpy(out->bytes, &u, sizeof u);
    } else if (overflow) {
        rc = out_of_bounds(integer, dtype);
    } else {
        int bits = 8 * size;
        bool fits =
            asn_is_unsigned_int(dtype)
                ? v >= 0 && (bits == 64 || v >> bits == 0)
                : bits == 64 || (v >= -(1LL << (bits - 1)) && v < 1LL << (bits - 1));
        if (!fits) rc = out_of_bounds(integer, dtype);
        memcpy(out->bytes, &v, (size_t)size); /* little-endian: the low bytes */
    }
    Py_DECREF(integer);
    return rc;
}

static int pack_float(PyObject *obj, asn_dtype dtype, asn_scalar *out) {
    double v = PyFloat_AsDouble(obj);
    if (v == -1.0 && PyErr_Occurred()) {
        if (PyList_Check(obj) || PyTuple_Check(obj))
            PyErr_SetString(PyExc_ValueError,
                            "setting an array element with a sequence.");
        return -1;
    }
    asn_scalar wide = asn_scalar_float(v);
    ASN_PY_TRY_INT(asn_scalar_convert(&wide, dtype, out));
    return 0;
}

static int pack_complex(PyObject *obj, asn_dtype dtype, asn_scalar *out) {
    Py_complex c = PyComplex_AsCComplex(obj);
    if (c.real == -1.0 && PyErr_Occurred()) return -1;
    asn_scalar wide = {.dtype = ASN_C128};
    memcpy(wide.bytes, &c, sizeof c);
    ASN_PY_TRY_INT(asn_scalar_convert(&wide, dtype, out));
    return 0;
}

/* A long double or text, which no array of ours holds: NumPy casts it; -1: an error. */
static int pack_host_number(PyObject *obj, asn_dtype dtype, asn_scalar *out) {
    PyObject *descr = asn_descr_object(dtype);
    PyObject *cast = descr ? PyObject_CallMethod(obj, "astype", "O", descr) : NULL;
    Py_XDECREF(descr);
    int known = cast ? numpy_operand(cast, out) : -1;
    Py_XDECREF(cast);
    return known < 0 ? -1 : 0;
}

int asn_scalar_pack(PyObject *obj, asn_dtype dtype, asn_scalar *out) {
    if (PyFloat_CheckExact(obj) && dtype == ASN_F64) {
        double v = PyFloat_AS_DOUBLE(obj);
        out->dtype = ASN_F64;
        memcpy(out->bytes, &v, 8);
        return 0;
    }
    if (PyArray_IsScalar(obj, Generic)) {
        asn_operand from;
        int known = asn_scalar_operand(obj, &from);
        if (known < 0) return -1;
        /* NumPy range-checks into signed integers and casts into everything else. */
        if (known && !(asn_is_signed_int(dtype) &&
                       !asn_is_complex((asn_dtype)from.scalar.dtype))) {
            if (asn_is_complex((asn_dtype)from.scalar.dtype) && !asn_is_complex(dtype) &&
                dtype != ASN_BOOL &&
                PyErr_WarnEx(asn_py.complex_warning,
                             "Casting complex values to real discards the imaginary part",
                             1))
                return -1;
            ASN_PY_TRY_INT(asn_scalar_convert(&from.scalar, dtype, out));
            return 0;
        }
        bool text = !known && PyArray_IsScalar(obj, Character);
        if (text ? dtype != ASN_BOOL && !asn_is_integer(dtype)
                 : !known && PyArray_IsScalar(obj, Number) && !asn_is_signed_int(dtype))
            return pack_host_number(obj, dtype, out);
    }
    if (dtype == ASN_BOOL) {
        int truth = PyObject_IsTrue(obj);
        if (truth < 0) return -1;
        out->dtype = ASN_BOOL;
        out->bytes[0] = (uint8_t)truth;
        return 0;
    }
    if (asn_is_integer(dtype)) return pack_int(obj, dtype, out);
    return asn_is_complex(dtype) ? pack_complex(obj, dtype, out)
                                 : pack_float(obj, dtype, out);
}
