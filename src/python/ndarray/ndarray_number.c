/* L3 python: the operators of ndarray.
 *
 * An operator on arrays and numbers goes straight to the operation. What it gives way to
 * follows NumPy: an operand whose type sets __array_ufunc__ = None, or that has a higher
 * __array_priority__ and no __array_ufunc__, gets its reflected method called. Any other
 * object is an operand: the ufunc leaves it to NumPy, as an element of an object array.
 *
 * Python calls a binary slot with the operands in their order, of which either may be the
 * array: a slot has to find out. NotImplemented makes Python try the other operand's
 * method. The results must be those of the ufuncs of these names; what is here on top of
 * calling them are the frequent cases, taken without a look at options. */
#include <math.h>

#include "python/ndarray/methods.h"
#include "python/ufunc/ufunc.h"

/* The number __array_priority__ of a type; by default 0 for arrays, and for others the
 * least, that of scalars. */
static double priority_of(PyObject *obj) {
    PyObject *value = PyObject_GetAttr((PyObject *)Py_TYPE(obj), asn_py.s_array_priority);
    double priority = value && PyNumber_Check(value) ? PyFloat_AsDouble(value)
                      : asn_is_ndarray(obj) || PyArray_Check(obj) ? 0.0
                                                                  : NPY_SCALAR_PRIORITY;
    PyErr_Clear();
    Py_XDECREF(value);
    return priority;
}

/* Types that never take an operator away from an array: looked up, they would show
 * nothing. */
static bool is_known(PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    return type == asn_py.ndarray || type == &PyFloat_Type || type == &PyLong_Type ||
           type == &PyBool_Type || type == &PyComplex_Type || type == &PyArray_Type ||
           type == &PyList_Type || type == &PyTuple_Type ||
           PyArray_IsScalar(obj, Generic);
}

/* Whether `self op other` must return NotImplemented, for self an array; NumPy's rule
 * (its binop override), where in-place operators give way to none but what declares it.
 */
static bool gives_way(PyObject *self, PyObject *other, bool inplace) {
    if (ASN_LIKELY(is_known(other))) return false;
    PyObject *hook = PyObject_GetAttr((PyObject *)Py_TYPE(other), asn_py.s_array_ufunc);
    if (hook) {
        bool none = hook == Py_None;
        Py_DECREF(hook);
        return none && !inplace; /* None says: I am no operand of ufuncs */
    }
    PyErr_Clear();
    /* A subclass of self's type has had its turn: Python asks it first. */
    if (inplace || PyType_IsSubtype(Py_TYPE(other), Py_TYPE(self))) return false;
    return priority_of(other) > priority_of(self);
}

/* The operator on the host, where the other operand is of a subclass of NumPy's (masked
 * arrays, quantities): on a view of the array's memory, so the result is that class's
 * own. */
static PyObject *binary_on_host(PyObject *a, PyObject *b, binaryfunc host_operator) {
    bool left = asn_is_ndarray(a);
    PyObject *host = asn_host_view(left ? a : b);
    if (!host) return NULL;
    PyObject *r = left ? host_operator(host, b) : host_operator(a, host);
    Py_DECREF(host);
    return r;
}

/* Whether an operand is a library's object, which in the mode of asnumpy.auto meets
 * NumPy's arrays alone. */
static bool is_librarys(PyObject *obj) {
    if (ASN_LIKELY(!asn_py.override_hook) || is_known(obj) || asn_is_ndarray(obj))
        return false;
    PyObject *r = asn_support_call("is_librarys", &obj, 1);
    bool librarys = r == Py_True;
    if (!r) PyErr_WriteUnraisable(obj);
    Py_XDECREF(r);
    return librarys;
}

/* The operator with a library's object: as NumPy's array has it, a plain array as ours.
 */
static PyObject *binary_with_library(PyObject *a, PyObject *b, binaryfunc operator) {
    PyObject *host = binary_on_host(a, b, operator);
    PyObject *r = host ? asn_support_call("_device", &host, 1) : NULL;
    Py_XDECREF(host);
    return r;
}

/* a op b, where at least one is an array. The pairs that programs have most come first:
 * two plain arrays, an array and a float. */
static PyObject *binary(PyObject *a, PyObject *b, asn_op op, binaryfunc host_operator) {
    if (asn_is_quick(a) && asn_is_quick(b)) return asn_ufunc_apply_pair(op, a, b);
    PyObject *pair[2] = {a, b};
    if (asn_is_ndarray_exact(a) && PyFloat_CheckExact(b))
        return asn_ufunc_apply(op, pair);
    bool left = asn_is_ndarray(a);
    if (ASN_UNLIKELY(is_librarys(left ? b : a)))
        return binary_with_library(a, b, host_operator);
    /* The second operand was asked after the first one refused: it is the last to ask. */
    if (left && ASN_UNLIKELY(gives_way(a, b, false))) Py_RETURN_NOTIMPLEMENTED;
    if (ASN_UNLIKELY(asn_is_foreign(left ? b : a)))
        return binary_on_host(a, b, host_operator);
    return asn_ufunc_apply(op, pair);
}

/* a op= b. The result is a itself, or NotImplemented of a number: Python then asks the
 * operator that makes a new one, so that `v *= 2` leaves what else holds v alone. */
static PyObject *inplace(PyObject *a, PyObject *b, asn_op op) {
    PyObject *pair[2] = {a, b};
    if (ASN_UNLIKELY(((asn_ndarray *)a)->is_number || gives_way(a, b, true)))
        Py_RETURN_NOTIMPLEMENTED;
    return asn_ufunc_apply_inplace(op, pair);
}

/* The slot of an operator and that of its in-place form. */
#define BINARY(name, OP, host_operator)                                                  \
    static PyObject *number_##name(PyObject *a, PyObject *b) {                           \
        return binary(a, b, OP, host_operator);                                          \
    }                                                                                    \
    static PyObject *number_i##name(PyObject *a, PyObject *b) {                          \
        return inplace(a, b, OP);                                                        \
    }
BINARY(add, ASN_OP_ADD, PyNumber_Add)
BINARY(subtract, ASN_OP_SUBTRACT, PyNumber_Subtract)
BINARY(multiply, ASN_OP_MULTIPLY, PyNumber_Multiply)
BINARY(remainder, ASN_OP_REMAINDER, PyNumber_Remainder)
BINARY(lshift, ASN_OP_LEFT_SHIFT, PyNumber_Lshift)
BINARY(rshift, ASN_OP_RIGHT_SHIFT, PyNumber_Rshift)
BINARY(and, ASN_OP_BITWISE_AND, PyNumber_And)
BINARY(or, ASN_OP_BITWISE_OR, PyNumber_Or)
BINARY(xor, ASN_OP_BITWISE_XOR, PyNumber_Xor)
BINARY(floor_divide, ASN_OP_FLOOR_DIVIDE, PyNumber_FloorDivide)
BINARY(true_divide, ASN_OP_DIVIDE, PyNumber_TrueDivide)

/* A slot with one operand. */
#define UNARY(name, OP)                                                                  \
    static PyObject *number_##name(PyObject *a) {                                        \
        return asn_ufunc_apply(OP, &a);                                                  \
    }
UNARY(negative, ASN_OP_NEGATIVE)
UNARY(positive, ASN_OP_POSITIVE)
UNARY(absolute, ASN_OP_ABSOLUTE)
UNARY(invert, ASN_OP_INVERT)

/* A ufunc of two operands by its NumPy name, those that are no row of the table: divmod
 * is a pair of operations, matmul a gufunc. */
static PyObject *call_named(const char *name, PyObject *a, PyObject *b) {
    PyObject *u = PyDict_GetItemString(asn_py.ufuncs, name), *pair[2] = {a, b};
    return u ? asn_ufunc_vectorcall(u, pair, 2, NULL) : NULL;
}

static PyObject *number_divmod(PyObject *a, PyObject *b) {
    bool left = asn_is_ndarray(a);
    if (gives_way(left ? a : b, left ? b : a, false)) Py_RETURN_NOTIMPLEMENTED;
    return call_named("divmod", a, b);
}

/* Two plain arrays, without a gufunc's options to look at (a 4 x 4 product: 209 -> 101
 * ns). NULL without an exception: what is wrong is for the gufunc to say, whose errors
 * name it. */
static PyObject *plain_matmul(PyObject *a, PyObject *b) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    if (asn_matmul(asn_of(a), asn_of(b), NULL, &r->array) == ASN_OK)
        return asn_ndarray_finish(r, ASN_OK);
    asn_ndarray_drop(r);
    asn_error_clear();
    return NULL;
}

/* a @ b; the order is that of binary(). */
static PyObject *number_matmul(PyObject *a, PyObject *b) {
    if (asn_is_ndarray_exact(a) && asn_is_ndarray_exact(b)) {
        PyObject *r = plain_matmul(a, b);
        if (r || PyErr_Occurred()) return r;
    }
    bool left = asn_is_ndarray(a);
    if (is_librarys(left ? b : a))
        return binary_with_library(a, b, PyNumber_MatrixMultiply);
    if (gives_way(left ? a : b, left ? b : a, false)) Py_RETURN_NOTIMPLEMENTED;
    if (asn_is_foreign(left ? b : a))
        return binary_on_host(a, b, PyNumber_MatrixMultiply);
    return call_named("matmul", a, b);
}

/* matmul(a, b, out=(a,)) where an operand's __array_ufunc__ takes it; NULL without an
 * exception: none does. The protocol sees in-place operators as calls with out= (NEP 13).
 */
static PyObject *imatmul_by_override(PyObject *a, PyObject *b) {
    asn_ufunc *u = (asn_ufunc *)PyDict_GetItemString(asn_py.ufuncs, "matmul");
    PyObject *args[3] = {a, b, NULL}, *result = NULL;
    if (!u || asn_ufunc_overridden(u, args, 2, NULL) <= 0) return NULL;
    args[2] = PyTuple_Pack(1, a);
    PyObject *names = Py_BuildValue("(s)", "out");
    if (args[2] && names) result = asn_ufunc_vectorcall((PyObject *)u, args, 2, names);
    Py_XDECREF(args[2]);
    Py_XDECREF(names);
    return result;
}

/* a @= b: NumPy computes matmul(a, b, out=a); the shapes must allow it. */
static PyObject *number_imatmul(PyObject *a, PyObject *b) {
    if (gives_way(a, b, true)) Py_RETURN_NOTIMPLEMENTED;
    if (!asn_is_ndarray_exact(a) || !asn_is_ndarray_exact(b)) {
        PyObject *r = imatmul_by_override(a, b);
        if (r || PyErr_Occurred()) return r;
    }
    /* Into a new array first: the operands may overlap a. */
    PyObject *product = call_named("matmul", a, b);
    if (!product) return NULL;
    const asn_layout *l = &asn_of(a)->layout;
    PyObject *value = asn_asarray(product);
    Py_DECREF(product);
    if (!value) return NULL;
    if (!asn_layout_same_shape(l, &asn_of(value)->layout)) {
        PyErr_SetString(
            PyExc_ValueError,
            "inplace matrix multiplication requires the first operand to have at "
            "least one and the second at least two dimensions.");
        Py_DECREF(value);
        return NULL;
    }
    /* NumPy's casting rule for operations in place. */
    asn_operand source = {asn_of(value), {0}, 0};
    asn_status status = asn_assign(asn_of(a), &source, ASN_CASTING_SAME_KIND, NULL);
    Py_DECREF(value);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(a);
}

/* ---- power: NumPy replaces some scalar exponents by cheaper operations
 *
 * This is NumPy's fast path for scalar exponents; the results differ in bits from pow's,
 * so the same exponents must be replaced as there. The exponent's type counts: a NumPy
 * scalar is not looked at. */

/* A Python int; NaN past the floats, which the ufunc refuses. */
static double int_as_double(PyObject *number) {
    double value = PyLong_AsDouble(number);
    if (value != -1.0 || !PyErr_Occurred()) return value;
    PyErr_Clear();
    return Py_NAN;
}

/* (Contract in ufunc.h.) Of integers only the exponent 2 is replaced, and that given as
 * an int: a float makes the result one of floats. */
asn_op asn_power_shortcut(PyObject *base, PyObject *exponent) {
    asn_dtype dtype = asn_dtype_of(base);
    double e;
    if (PyFloat_CheckExact(exponent)) {
        e = PyFloat_AS_DOUBLE(exponent);
    } else if (PyLong_CheckExact(exponent)) {
        e = int_as_double(exponent);
        if (!asn_is_inexact(dtype)) return e == 2.0 ? ASN_OP_SQUARE : ASN_OP_POWER;
    } else {
        return ASN_OP_POWER;
    }
    if (!asn_is_inexact(dtype)) return ASN_OP_POWER;
    return e == 2.0    ? ASN_OP_SQUARE
           : e == 1.0  ? ASN_OP_POSITIVE
           : e == 0.5  ? ASN_OP_SQRT
           : e == -1.0 ? ASN_OP_RECIPROCAL
                       : ASN_OP_POWER;
}

/* a**3, a**-1.5 and their like, as products and roots (graph/trace/power.c); NULL without
 * an exception: not one of them. */
static PyObject *simple_power(PyObject *a, double e) {
    bool done;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_power_simple(&r->array, asn_of(a), e, &done);
    if (status == ASN_OK && done) return asn_ndarray_finish(r, ASN_OK);
    asn_ndarray_drop(r);
    return status ? asn_raise(status) : NULL;
}

/* Python's power as a binary function, for binary(). */
static PyObject *host_power(PyObject *a, PyObject *b) {
    return PyNumber_Power(a, b, Py_None);
}

/* Whether powers of it may be other operations: not of what is no array of ours, nor
 * where power has an implementation of a program's. */
static bool takes_shortcuts(PyObject *a) {
    if (ASN_LIKELY(asn_is_quick(a))) return true;
    PyObject *u = asn_is_ndarray(a) ? asn_py.ufunc_of_row[ASN_OP_POWER] : NULL;
    return u && asn_ufunc_is_plain((asn_ufunc *)u);
}

/* a ** b; three arguments are pow(a, b, modulo), which no array knows. */
static PyObject *number_power(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    if (takes_shortcuts(a)) {
        asn_op op = asn_power_shortcut(a, b);
        if (op != ASN_OP_POWER) return asn_ufunc_apply(op, &a);
        double e = PyFloat_CheckExact(b)  ? PyFloat_AS_DOUBLE(b)
                   : PyLong_CheckExact(b) ? int_as_double(b)
                                          : Py_NAN;
        PyObject *r = asn_is_ndarray_exact(a) && !isnan(e) ? simple_power(a, e) : NULL;
        if (r || PyErr_Occurred()) return r;
    }
    return binary(a, b, ASN_OP_POWER, host_power);
}

/* a **= b: the shortcuts write into a; numbers and read-only arrays go the general way,
 * which has their errors. */
static PyObject *number_ipower(PyObject *a, PyObject *b, PyObject *modulo) {
    if (modulo != Py_None) Py_RETURN_NOTIMPLEMENTED;
    asn_op op = takes_shortcuts(a) ? asn_power_shortcut(a, b) : ASN_OP_POWER;
    if (op == ASN_OP_POWER || !(asn_of(a)->layout.flags & ASN_WRITEABLE) ||
        ((asn_ndarray *)a)->is_number)
        return inplace(a, b, ASN_OP_POWER);
    asn_operand in = {asn_of(a), {0}, 0};
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_status status = asn_ufunc_call(op, &in, asn_of(a), NULL, &options);
    if (status != ASN_OK) return asn_ufunc_raise(op, &in, asn_of(a), &options, status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(a);
}

/* ---- conversions to Python numbers
 *
 * Each waits for the value and reports its floating-point exceptions. */

/* The first element, of an array that has one. */
static int first_element(PyObject *self, asn_scalar *out) {
    ASN_PY_TRY_INT(asn_array_get_item(asn_of(self), 0, out));
    return asn_fp_check();
}

/* bool(a): of one element, whatever the dimensions; NaN is true. */
static int number_bool(PyObject *self) {
    const asn_layout *l = &asn_of(self)->layout;
    if (l->size != 1) {
        PyErr_SetString(PyExc_ValueError,
                        l->size == 0
                            ? "The truth value of an empty array is ambiguous. Use "
                              "`array.size > 0` to check that an array is not empty."
                            : "The truth value of an array with more than one element is "
                              "ambiguous. Use a.any() or a.all()");
        return -1;
    }
    asn_scalar element, truth;
    if (first_element(self, &element) < 0) return -1;
    ASN_PY_TRY_INT(asn_scalar_cast(&element, ASN_BOOL, &truth));
    return truth.bytes[0] != 0;
}

/* The Python number of a 0-d array; TypeError for other shapes. */
static PyObject *only_element(PyObject *self) {
    if (asn_of(self)->layout.ndim != 0) {
        PyErr_SetString(PyExc_TypeError,
                        "only 0-dimensional arrays can be converted to Python scalars");
        return NULL;
    }
    asn_scalar element;
    return first_element(self, &element) < 0 ? NULL : asn_scalar_to_python(&element);
}

/* int(a), float(a): Python's own conversion of the element, so that int of a float
 * truncates and of NaN raises ValueError, and a complex element is a TypeError. */
static PyObject *number_int(PyObject *self) {
    PyObject *element = only_element(self);
    PyObject *r = element ? PyNumber_Long(element) : NULL;
    Py_XDECREF(element);
    return r;
}

static PyObject *number_float(PyObject *self) {
    PyObject *element = only_element(self);
    PyObject *r = element ? PyNumber_Float(element) : NULL;
    Py_XDECREF(element);
    return r;
}

/* operator.index(a): for arrays as indices and sizes; only 0-d integers. */
static PyObject *number_index(PyObject *self) {
    asn_dtype dtype = asn_dtype_of(self);
    asn_scalar element;
    if (asn_of(self)->layout.ndim != 0 || !asn_is_integer(dtype)) {
        PyErr_SetString(PyExc_TypeError,
                        "only integer scalar arrays can be converted to a scalar index");
        return NULL;
    }
    return first_element(self, &element) < 0 ? NULL : asn_scalar_to_python(&element);
}

/* ---- comparisons */

/* ==, != with something that no number compares to: all False, all True, of self's shape.
 */
static PyObject *unequal(PyObject *self, bool value) {
    asn_operand fill = {NULL, {ASN_BOOL, {value}}, 'b'};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    const asn_layout *l = &asn_of(self)->layout;
    return asn_ndarray_finish(
        r, asn_full(&r->array, ASN_BOOL, l->ndim, l->shape, 'C', &fill));
}

/* a < b and the others. Only == and != have an answer for everything; text and None are
 * compared with no element. */
PyObject *asn_ndarray_richcompare(PyObject *self, PyObject *other, int op) {
    static const asn_op ops[] = {
        [Py_LT] = ASN_OP_LESS,    [Py_LE] = ASN_OP_LESS_EQUAL,
        [Py_EQ] = ASN_OP_EQUAL,   [Py_NE] = ASN_OP_NOT_EQUAL,
        [Py_GT] = ASN_OP_GREATER, [Py_GE] = ASN_OP_GREATER_EQUAL};
    bool equality = op == Py_EQ || op == Py_NE;
    if (ASN_UNLIKELY(!is_known(other))) {
        if (equality &&
            (other == Py_None || PyUnicode_Check(other) || PyBytes_Check(other)))
            return unequal(self, op == Py_NE);
        bool librarys = is_librarys(other);
        if (!librarys && gives_way(self, other, false)) Py_RETURN_NOTIMPLEMENTED;
        if (librarys || asn_is_foreign(other)) {
            PyObject *host = asn_host_view(self);
            PyObject *r = host ? PyObject_RichCompare(host, other, op) : NULL;
            Py_XDECREF(host);
            if (r && librarys) Py_SETREF(r, asn_support_call("_device", &r, 1));
            return r;
        }
    }
    PyObject *pair[2] = {self, other};
    PyObject *r = asn_ufunc_apply(ops[op], pair);
    /* No loop for these dtypes: NumPy answers == and != all the same. */
    if (ASN_LIKELY(r || !equality) || !PyErr_ExceptionMatches(asn_py.no_loop_error))
        return r;
    PyErr_Clear(); /* numbers and text, say: nowhere equal */
    return asn_support_call(op == Py_EQ ? "equal_on_host" : "not_equal_on_host", pair, 2);
}

/* value in a: (a == value).any(), NumPy's. */
int asn_ndarray_contains(PyObject *self, PyObject *value) {
    PyObject *same = PyObject_RichCompare(self, value, Py_EQ);
    PyObject *any = same ? PyObject_CallMethod(same, "any", NULL) : NULL;
    int rc = any ? PyObject_IsTrue(any) : -1;
    Py_XDECREF(same);
    Py_XDECREF(any);
    return rc;
}

/* Joined with the other slots in ndarray.c; the type takes their addresses from here. */
const PyType_Slot asn_ndarray_number_slots[] = {
    {Py_nb_add, number_add},
    {Py_nb_subtract, number_subtract},
    {Py_nb_multiply, number_multiply},
    {Py_nb_remainder, number_remainder},
    {Py_nb_divmod, number_divmod},
    {Py_nb_power, number_power},
    {Py_nb_negative, number_negative},
    {Py_nb_positive, number_positive},
    {Py_nb_absolute, number_absolute},
    {Py_nb_bool, number_bool},
    {Py_nb_invert, number_invert},
    {Py_nb_lshift, number_lshift},
    {Py_nb_rshift, number_rshift},
    {Py_nb_and, number_and},
    {Py_nb_xor, number_xor},
    {Py_nb_or, number_or},
    {Py_nb_int, number_int},
    {Py_nb_float, number_float},
    {Py_nb_index, number_index},
    {Py_nb_inplace_add, number_iadd},
    {Py_nb_inplace_subtract, number_isubtract},
    {Py_nb_inplace_multiply, number_imultiply},
    {Py_nb_inplace_remainder, number_iremainder},
    {Py_nb_inplace_power, number_ipower},
    {Py_nb_inplace_lshift, number_ilshift},
    {Py_nb_inplace_rshift, number_irshift},
    {Py_nb_inplace_and, number_iand},
    {Py_nb_inplace_xor, number_ixor},
    {Py_nb_inplace_or, number_ior},
    {Py_nb_floor_divide, number_floor_divide},
    {Py_nb_true_divide, number_true_divide},
    {Py_nb_inplace_floor_divide, number_ifloor_divide},
    {Py_nb_inplace_true_divide, number_itrue_divide},
    {Py_nb_matrix_multiply, number_matmul},
    {Py_nb_inplace_matrix_multiply, number_imatmul},
};
const int asn_ndarray_number_slot_count =
    sizeof asn_ndarray_number_slots / sizeof *asn_ndarray_number_slots;
