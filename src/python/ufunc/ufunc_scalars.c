/* L3 python: operands of ufuncs that are unusual numbers.
 *
 * The core promotes and compares arrays with Python's integers exactly. Three cases need
 * help: NumPy integers compared with each other or with a Python int out of their range,
 * without an array in sight, become 0-d arrays; a Python int past int64 is a uint64 when
 * no array gives it a dtype; one past 64 bits is a float beside floats and where integers
 * are computed as floats, and beside integers it is above or below every element, which
 * only comparisons can answer. */
#include "python/ufunc/ufunc.h"

/* (Contract in ufunc.h.) `wide`: an int past int64; `strong`: a NumPy integer. */
bool asn_numbers_need_arrays(asn_op op, const asn_operand *in) {
    int nin = asn_op_table[op].num_in;
    bool wide = false, strong = false;
    for (int i = 0; i < nin; i++) {
        if (in[i].array) return false;
        wide |= in[i].weak == 'i' && in[i].scalar.dtype == ASN_U64;
        strong |= !in[i].weak && asn_is_integer((asn_dtype)in[i].scalar.dtype);
    }
    /* Beside a NumPy integer only comparisons need help; alone, a wide int needs a dtype.
     */
    return strong ? asn_op_compares(op) : wide;
}

/* A scalar operand as a 0-d array, which *owner keeps. -1: an error. */
static int box(PyObject *number, asn_operand *in, PyObject **owner) {
    PyObject *array = asn_asarray(number);
    if (!array) return -1;
    *owner = array;
    in->array = asn_of(array);
    in->weak = 0;
    return 0;
}

/* Whether the operand is of floats or complex numbers, by its dtype or weak kind. */
static bool is_inexact(const asn_operand *in) {
    if (in->array) return asn_is_inexact((asn_dtype)in->array->layout.dtype);
    return in->weak ? in->weak == 'f' || in->weak == 'c'
                    : asn_is_inexact((asn_dtype)in->scalar.dtype);
}

/* Likewise, of bools. */
static bool is_bool(const asn_operand *in) {
    if (in->array) return in->array->layout.dtype == ASN_BOOL;
    return in->weak == 'b' || (!in->weak && in->scalar.dtype == ASN_BOOL);
}

/* A Python int past 64 bits: a float, or for a comparison with integers an infinity of
 * its sign, which compares as it does. beside_...: of what the other operands are. -1:
 * OverflowError, as NumPy raises it. */
static int read_huge(asn_ufunc *u, PyObject *number, bool beside_floats,
                     bool beside_bools, asn_operand *in) {
    bool plain = u->kind == ASN_UFUNC_PLAIN;
    bool as_float = beside_floats || (plain && !asn_op_has_loop((asn_op)u->op, ASN_I64));
    double value = as_float ? PyLong_AsDouble(number) : 0;
    if (as_float && value == -1.0 && PyErr_Occurred()) {
        if (!plain || asn_op_has_loop((asn_op)u->op, ASN_F64)) return -1;
        PyErr_Clear(); /* that there is no such loop comes first */
    }
    if (!as_float) {
        if (!plain || beside_bools || !asn_op_compares((asn_op)u->op)) {
            PyErr_Format(PyExc_OverflowError,
                         "Python integer %R does not fit in int64 or uint64", number);
            return -1;
        }
        int overflow = 0;
        (void)PyLong_AsLongLongAndOverflow(number, &overflow);
        value = overflow > 0 ? Py_HUGE_VAL : -Py_HUGE_VAL;
    }
    in->array = NULL;
    in->weak = 'f';
    in->scalar.dtype = ASN_F64;
    memcpy(in->scalar.bytes, &value, sizeof value);
    return 0;
}

/* Python ints alone, one of them past 64 bits: NumPy computes with the objects. true:
 * HostDtypeError is set. */
static bool left_to_host(const asn_ufunc *u, PyObject *const *args) {
    for (int i = 0; i < u->nin; i++)
        if (!PyLong_CheckExact(args[i])) return false;
    PyErr_SetString(asn_py.host_dtype, "Python integers past 64 bits are objects");
    return true;
}

/* (Contract in ufunc.h.) One operand at most may be huge; the others say what it becomes.
 */
int asn_scalars_read(asn_ufunc *u, PyObject *const *args, asn_operand *in,
                     PyObject **owner) {
    int huge = -1;
    bool floats = false, bools = false;
    for (int i = 0; i < u->nin; i++) {
        if (asn_operand_from_py(args[i], &in[i], &owner[i]) == 0) {
            floats |= is_inexact(&in[i]);
            bools |= is_bool(&in[i]);
            continue;
        }
        if (huge >= 0 || !PyLong_CheckExact(args[i]) ||
            !PyErr_ExceptionMatches(PyExc_OverflowError))
            return -1;
        PyErr_Clear();
        if (left_to_host(u, args)) return -1;
        huge = i;
    }
    if (huge >= 0 && read_huge(u, args[huge], floats, bools, &in[huge]) < 0) return -1;
    if (u->kind == ASN_UFUNC_CORE || !asn_scalars_need_arrays((asn_op)u->op, in))
        return 0;
    bool strong = false;
    for (int i = 0; i < u->nin; i++)
        strong |= !in[i].weak;
    for (int i = 0; i < u->nin; i++) {
        bool wide = in[i].weak == 'i' && in[i].scalar.dtype == ASN_U64;
        if ((!in[i].weak || (wide && !strong)) && box(args[i], &in[i], &owner[i]) < 0)
            return -1;
    }
    return 0;
}
