/* L3 python: CANN's two-phase operators by name, for operators that the core does not
 * know (asnumpy._custom._cann): handles around arrays and numbers, the first phase with
 * whatever parameters it has, the second.
 *
 * A C function of unknown parameters is called by one type for all (first_fn). Where the
 * Linux ABIs of x86-64 (System V psABI 3.2.3) and AArch64 (AAPCS64 6.8.2) pass arguments,
 * integers and pointers have registers and doubles have others, of which there are eight;
 * what finds no register lies on the stack in 8 bytes each, in order, and a callee does
 * not look at more than it has. So a call with eight doubles, and all integers in their
 * order, is right for every mixture of them. ctypes, which does the same with libffi,
 * takes 9 us more, as long as both phases of a small operator. */
#include <stdlib.h>

#include "python/convert.h"
#include "python/functions/function.h"

#include "graph/device/operator.h"
#include "graph/lock.h"

enum {
    REALS = 8,  /* doubles that a first phase has, at most: registers for them */
    WORDS = 64, /* its other parameters, at most, workspaceSize and executor among them */
};

#define EIGHT(x) x, x, x, x, x, x, x, x
#define OF(p, i)                                                                         \
    p[i], p[i + 1], p[i + 2], p[i + 3], p[i + 4], p[i + 5], p[i + 6], p[i + 7]
#define BEHIND(p)                                                                        \
    OF(p, 8), OF(p, 16), OF(p, 24), OF(p, 32), OF(p, 40), OF(p, 48), OF(p, 56)
#define SEVEN(...)                                                                       \
    __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__, __VA_ARGS__,        \
        __VA_ARGS__

typedef aclnnStatus (*first_fn)(EIGHT(uint64_t), EIGHT(double), SEVEN(EIGHT(uint64_t)));

typedef enum { TENSOR, LIST, SCALAR, INTS } kind;

/* A handle, which is dropped after the call, and what must live until then. */
typedef struct {
    kind kind;
    void *handle;
    PyObject *owner; /* or NULL */
} made;

/* What the first phase is given, as far as it is known. outputs: a tuple, of which
 * `placed` have their place among the parameters by now. */
typedef struct {
    const char *name; /* "aclnnAdd" */
    PyObject *outputs;
    Py_ssize_t placed;
    int words, reals, num_made;
    uint64_t word[WORDS];
    double real[REALS];
    made made[WORDS];
} arguments;

/* A str as text that lasts: interned names stay as long as the process, as the core's
 * notes want them. NULL: an error. */
static const char *lasting(PyObject *text) {
    if (!PyUnicode_Check(text)) {
        PyErr_Format(PyExc_TypeError, "a name is a str, got %s", Py_TYPE(text)->tp_name);
        return NULL;
    }
    PyObject *name = Py_NewRef(text);
    PyUnicode_InternInPlace(&name);
    return PyUnicode_AsUTF8(name);
}

/* One more integer or address. -1: too many; two more are needed at the end. */
static int add_word(arguments *a, uint64_t word) {
    if (a->words == WORDS - 2) {
        PyErr_Format(PyExc_ValueError, "%s: more than %d parameters beside floats",
                     a->name, WORDS - 2);
        return -1;
    }
    a->word[a->words++] = word;
    return 0;
}

/* One more double. -1: they have no registers left. */
static int add_real(arguments *a, double real) {
    if (a->reals == REALS) {
        PyErr_Format(PyExc_ValueError, "%s: %d floats; at most %d are passed", a->name,
                     REALS + 1, REALS);
        return -1;
    }
    a->real[a->reals++] = real;
    return 0;
}

/* Under the library's lock, as the making: each is noted (operator.h). */
static void drop(made m) {
    asn_lock();
    if (m.kind == TENSOR)
        asn_operator_drop(1, &(aclTensor *){m.handle});
    else if (m.kind == LIST)
        asn_operator_drop_list(m.handle);
    else if (m.kind == SCALAR)
        asn_operator_drop_scalar(m.handle);
    else
        asn_operator_drop_ints(m.handle);
    asn_unlock();
    Py_XDECREF(m.owner);
}

/* A handle, which the arguments take in any case; NULL: memory ran out. */
static int add_made(arguments *a, made m) {
    if (!m.handle) {
        Py_XDECREF(m.owner);
        asn_raise(ASN_ERR_MEMORY);
        return -1;
    }
    if (add_word(a, (uint64_t)(uintptr_t)m.handle) < 0) {
        drop(m);
        return -1;
    }
    a->made[a->num_made++] = m;
    return 0;
}

/* The tensor of an asnumpy array, which is materialised and noted as read or written by
 * what comes next on its stream: under the library's lock. NULL: an error. */
static aclTensor *tensor_of(PyObject *array, asn_access access) {
    aclTensor *tensor;
    asn_lock();
    asn_status status = asn_operator_tensor(asn_of(array), access, &tensor);
    asn_unlock();
    return status ? (asn_raise(status), NULL) : tensor;
}

/* A tensor of an array, which lives until the call is over: what the operator reads may
 * be a copy that asn_asarray made of NumPy's. Takes the reference; NULL: an error. */
static int add_tensor(arguments *a, PyObject *array, asn_access access) {
    if (!array) return -1;
    if (!asn_is_ndarray(array)) {
        PyErr_Format(PyExc_TypeError, "%s: a tensor is made of an asnumpy array, got %s",
                     a->name, Py_TYPE(array)->tp_name);
        Py_DECREF(array);
        return -1;
    }
    aclTensor *tensor = tensor_of(array, access);
    if (tensor) return add_made(a, (made){TENSOR, tensor, array});
    Py_DECREF(array);
    return -1;
}

/* How the operator uses an array among the parameters. Who names no output leaves it to
 * us that one of them is written: each may be. */
static asn_access access_of(const arguments *a, PyObject *x) {
    const bool told = PyTuple_GET_SIZE(a->outputs) > 0;
    return !told && asn_of(x)->layout.flags & ASN_WRITEABLE ? ASN_WRITE : ASN_READ;
}

/* A member of a list, which is a parameter as another array. */
static aclTensor *member_of(const arguments *a, PyObject *array) {
    return tensor_of(array, access_of(a, array));
}

/* An aclTensorList of a tuple of arrays, which it takes. The list takes the tensors;
 * those that were made before one failed are dropped here. */
static int add_list(arguments *a, PyObject *arrays) {
    aclTensor *members[ASN_MAX_DIMS];
    const Py_ssize_t n = PyTuple_GET_SIZE(arrays);
    Py_ssize_t i = 0;
    if (n > ASN_MAX_DIMS)
        PyErr_Format(PyExc_ValueError, "%s: a list is of up to %d tensors, got %zd",
                     a->name, ASN_MAX_DIMS, n);
    else
        while (i < n && (members[i] = member_of(a, PyTuple_GET_ITEM(arrays, i))))
            i++;
    if (i == n) {
        asn_lock();
        aclTensorList *list = asn_operator_list((int)n, members);
        asn_unlock();
        if (list) return add_made(a, (made){LIST, list, arrays});
        asn_raise(ASN_ERR_MEMORY);
    }
    asn_lock();
    asn_operator_drop((int)i, members);
    asn_unlock();
    Py_DECREF(arrays);
    return -1;
}

/* An aclIntArray of a tuple of ints, which are copied. Takes the tuple. */
static int add_ints(arguments *a, PyObject *values) {
    int64_t ints[ASN_MAX_DIMS];
    int n;
    const int status = asn_shape_from_py(values, ints, &n);
    Py_DECREF(values);
    if (status < 0) return -1;
    asn_lock();
    aclIntArray *made_of = asn_operator_ints(n, ints);
    asn_unlock();
    return add_made(a, (made){INTS, made_of, NULL});
}

/* An aclScalar of a NumPy scalar's element. */
static int add_scalar(arguments *a, const asn_scalar *s) {
    asn_lock();
    aclScalar *scalar =
        asn_operator_scalar(s->bytes, (aclDataType)asn_dtype_table[s->dtype].acl);
    asn_unlock();
    return add_made(a, (made){SCALAR, scalar, NULL});
}

/* Whether all items of a tuple (of none, too) are what `is` says. */
static bool all_are(PyObject *tuple, bool (*is)(PyObject *)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
        if (!is(PyTuple_GET_ITEM(tuple, i))) return false;
    return true;
}
static bool is_int(PyObject *o) {
    return PyLong_CheckExact(o);
}

/* An int64_t of an int. */
static int add_int(arguments *a, Py_ssize_t k, PyObject *x) {
    int overflow;
    const int64_t v = PyLong_AsLongLongAndOverflow(x, &overflow);
    if (!overflow) return add_word(a, (uint64_t)v);
    PyErr_Format(PyExc_OverflowError, "%s: argument %zd is %R; it is passed as int64_t",
                 a->name, k, x);
    return -1;
}

/* A char * of a str; a capture's own copy lives as long as what calls the second phase.
 */
static int add_text(arguments *a, PyObject *x) {
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(x, &length);
    if (!text) return -1;
    if (asn_capture_open()) text = asn_capture_copy(text, (size_t)length + 1);
    if (text) return add_word(a, (uint64_t)(uintptr_t)text);
    asn_raise(ASN_ERR_MEMORY);
    return -1;
}

/* The next output: a tensor that the operator writes. NumPy's arrays are refused here,
 * since only a copy of them would be written; an input may be one. */
static int add_output(arguments *a) {
    const Py_ssize_t k = a->placed++;
    if (k >= PyTuple_GET_SIZE(a->outputs)) {
        PyErr_Format(PyExc_ValueError,
                     "%s: ... stands for output %zd, but there are %zd outputs", a->name,
                     k, PyTuple_GET_SIZE(a->outputs));
        return -1;
    }
    PyObject *x = PyTuple_GET_ITEM(a->outputs, k);
    const bool ours = asn_is_ndarray(x);
    if (ours && asn_of(x)->layout.flags & ASN_WRITEABLE)
        return add_tensor(a, Py_NewRef(x), ASN_WRITE);
    PyErr_Format(PyExc_TypeError,
                 "%s: output %zd is a %s%s; it must be an asnumpy array to write",
                 a->name, k, ours ? "read-only " : "", Py_TYPE(x)->tp_name);
    return -1;
}

/* Parameter k, whose Python type says which of C's it is: nobody asks the operator.
 * NumPy's float64 is a float by inheritance, and its str_ a str: the one is an aclScalar,
 * since it has a dtype that the operator may look at, the other text, since no aclScalar
 * is. */
static int add(arguments *a, Py_ssize_t k, PyObject *x) {
    if (asn_is_ndarray(x)) return add_tensor(a, Py_NewRef(x), access_of(a, x));
    if (x == Py_None) return add_word(a, 0);
    if (x == Py_Ellipsis) return add_output(a);
    if (PyArray_Check(x)) return add_tensor(a, asn_asarray(x), ASN_READ);
    if (PyBool_Check(x)) return add_word(a, x == Py_True);
    if (PyFloat_CheckExact(x)) return add_real(a, PyFloat_AS_DOUBLE(x));
    if (PyLong_CheckExact(x)) return add_int(a, k, x);
    if (PyUnicode_Check(x)) return add_text(a, x);
    if (PyArray_IsScalar(x, Generic)) {
        asn_operand number;
        const int known = asn_scalar_operand(x, &number);
        if (known < 0) return -1;
        if (known) return add_scalar(a, &number.scalar);
    }
    if (PyTuple_Check(x) || PyList_Check(x)) {
        PyObject *items = PySequence_Tuple(x);
        if (!items) return -1;
        if (all_are(items, is_int)) return add_ints(a, items);
        if (all_are(items, asn_is_ndarray)) return add_list(a, items);
        Py_DECREF(items);
    }
    PyErr_Format(
        PyExc_TypeError,
        "%s: argument %zd is a %s; it may be an array (aclTensor), a NumPy scalar "
        "(aclScalar), int (int64_t), float (double), bool, str, None, ... (the next "
        "output), or a tuple of ints (aclIntArray) or of arrays (aclTensorList)",
        a->name, k, Py_TYPE(x)->tp_name);
    return -1;
}

/* The tensors in the order of the parameters, as a capture wants them: a replay exchanges
 * their addresses and runs the second phase. Numbers and integers are the trace's; an
 * absent tensor is no tensor. */
static void seen(const arguments *a) {
    for (int i = 0; i < a->num_made; i++) {
        if (a->made[i].kind == TENSOR) asn_capture_tensor(a->made[i].handle);
        if (a->made[i].kind == LIST) asn_capture_tensors(a->made[i].handle);
    }
}

/* Both phases, of arguments that are complete but for the last two. The call is recorded
 * by its name and queued on the current stream. */
static int both_phases(arguments *a, first_fn first, void *second) {
    uint64_t workspace = 0, *w = a->word;
    aclOpExecutor *executor = NULL;
    const double *r = a->real;
    w[a->words++] = (uint64_t)(uintptr_t)&workspace;
    w[a->words++] = (uint64_t)(uintptr_t)&executor;
    const aclnnStatus code = first(OF(w, 0), OF(r, 0), BEHIND(w));
    if (code) {
        asn_raise(asn_acl_failed(code, a->name));
        return -1;
    }
    const asn_acl_operator op = {.name = a->name,
                                 .run =
                                     (aclnnStatus (*)(void *, uint64_t, aclOpExecutor *,
                                                      aclrtStream))(uintptr_t)second};
    asn_lock();
    if (ASN_CAPTURING) seen(a);
    asn_status status = asn_operator_run(&op, workspace, executor, a->name);
    asn_unlock();
    ASN_PY_TRY_INT(status);
    return asn_fp_check();
}

/* (name, phases, arguments, outputs): the phases' addresses as a pair of ints; two
 * tuples. Nothing checks addresses: the one caller has them from where it found the
 * operator. */
static PyObject *f_acl_call(PyObject *const *v) {
    void *first, *second;
    arguments a = {.name = lasting(v[0]), .outputs = v[3]};
    if (!a.name ||
        !PyArg_ParseTuple(v[1], "nn", (Py_ssize_t *)&first, (Py_ssize_t *)&second))
        return NULL;
    if (!PyTuple_Check(v[2]) || !PyTuple_Check(v[3])) {
        PyErr_Format(PyExc_TypeError, "%s: arguments and outputs are tuples", a.name);
        return NULL;
    }
    ASN_PY_TRY(asn_device_open());
    int failed = 0;
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(v[2]) && !failed; k++)
        failed = add(&a, k, PyTuple_GET_ITEM(v[2], k));
    while (a.placed < PyTuple_GET_SIZE(v[3]) && !failed)
        failed = add_output(&a);
    if (!failed) failed = both_phases(&a, (first_fn)(uintptr_t)first, second);
    while (a.num_made)
        drop(a.made[--a.num_made]);
    if (failed) return NULL;
    Py_RETURN_NONE;
}

/* (array): what ndarray.acl_tensor makes its object of. Unlike those of _acl_call,
 * this tensor outlives the call: it owns a loan of the memory. */
static PyObject *f_acl_tensor_parts(PyObject *const *v) {
    if (asn_is_ndarray(v[0])) return asn_acl_tensor_parts(v[0]);
    PyErr_Format(PyExc_TypeError, "a tensor is made of an asnumpy array, got %s",
                 Py_TYPE(v[0])->tp_name);
    return NULL;
}

/* (name): the addresses of the two phases in the device's own libraries, as a pair of
 * ints, or None: there is no such operator. Opens the device, whose libraries are looked
 * into; an address stays good as long as the process. */
static PyObject *f_acl_find(PyObject *const *v) {
    asn_acl_operator op;
    const char *name = PyUnicode_AsUTF8(v[0]);
    if (!name) return NULL;
    ASN_PY_TRY(asn_device_open());
    if (!asn_acl_find(name, &op)) Py_RETURN_NONE;
    return Py_BuildValue("(NN)", PyLong_FromVoidPtr(op.get_workspace),
                         PyLong_FromVoidPtr((void *)(uintptr_t)op.run));
}

/* (): what the environment says of where operators are, as bytes that differ where any of
 * the variables does: what was found is found anew for other bytes. Python's own look at
 * four of them (os.environ encodes each name at each look) takes 9 us, longer than both
 * phases of a small operator; this one 0.7.
 *
 * A variable that is not set differs from one that is empty. os.environ's changes are
 * seen, since it tells the C library of them. */
static PyObject *f_acl_environment(PyObject *const *v) {
    (void)v;
    static const char *const names[] = {"ASCEND_CUSTOM_OPP_PATH", "ASCEND_OPP_PATH",
                                        "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"};
    enum { COUNT = sizeof names / sizeof *names };
    const char *set[COUNT], *value[COUNT];
    for (int i = 0; i < COUNT; i++) {
        const char *text = getenv(names[i]);
        set[i] = text ? "=" : "-";
        value[i] = text ? text : "";
    }
    return PyBytes_FromFormat("%s%s\n%s%s\n%s%s\n%s%s", set[0], value[0], set[1],
                              value[1], set[2], value[2], set[3], value[3]);
}

asn_function_def asn_acl_functions[] = {
    ASN_FUNCTION("_acl_call", "name, phases, arguments, outputs", f_acl_call,
                 "Calls both phases of an operator."),
    ASN_FUNCTION("_acl_tensor_parts", "array", f_acl_tensor_parts,
                 "(capsule, address, strides, offset, storage, its elements)"),
    ASN_FUNCTION("_acl_find", "name", f_acl_find,
                 "The addresses of an operator's two phases, or None."),
    ASN_FUNCTION("_acl_environment", "", f_acl_environment,
                 "The variables that say where operators are."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
