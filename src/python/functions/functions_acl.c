/* L3 python: CANN's two-phase operators by name, for operators that the core does not
 * know (asnumpy._custom._cann): handles around arrays and numbers, the second phase. The
 * first phase, whose parameters differ from operator to operator, is called through
 * ctypes.
 *
 * Handles are addresses (Python ints); whoever makes one drops it, and keeps the array
 * until then. Nothing checks an address: these functions are private, and their one
 * caller pairs each make with a drop. */
#include <stdlib.h>

#include "python/convert.h"
#include "python/functions/function.h"

#include "graph/lock.h"
#include "graph/device/operator.h"

/* *out: the address in a Python int; -1: it is none. */
static int pointer_from_py(PyObject *o, void **out) {
    *out = PyLong_AsVoidPtr(o);
    return !*out && PyErr_Occurred() ? -1 : 0;
}

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

/* (array, writes): the tensor's address. The array is materialised, and noted as read or
 * written by what comes next on its stream, so the lock is held. */
static PyObject *f_acl_tensor(PyObject *const *v) {
    aclTensor *tensor;
    int writes = PyObject_IsTrue(v[1]);
    if (writes < 0) return NULL;
    if (!asn_is_ndarray(v[0])) {
        PyErr_Format(PyExc_TypeError, "a tensor is made of an asnumpy array, got %s",
                     Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    ASN_PY_TRY(asn_device_open());
    asn_lock();
    asn_status status =
        asn_operator_tensor(asn_of(v[0]), writes ? ASN_WRITE : ASN_READ, &tensor);
    asn_unlock();
    ASN_PY_TRY(status);
    return PyLong_FromVoidPtr(tensor);
}

/* (array): what ndarray.acl_tensor makes its object of. Unlike _acl_tensor's, this tensor
 * outlives the call: it owns a loan of the memory, and nobody drops it by hand. */
static PyObject *f_acl_tensor_parts(PyObject *const *v) {
    if (asn_is_ndarray(v[0])) return asn_acl_tensor_parts(v[0]);
    PyErr_Format(PyExc_TypeError, "a tensor is made of an asnumpy array, got %s",
                 Py_TYPE(v[0])->tp_name);
    return NULL;
}

/* (tensors): the list takes the tensors, which are not to be dropped then. */
static PyObject *f_acl_tensor_list(PyObject *const *v) {
    aclTensor *members[ASN_MAX_DIMS];
    if (!PyTuple_Check(v[0]) || PyTuple_GET_SIZE(v[0]) > ASN_MAX_DIMS) {
        PyErr_Format(PyExc_ValueError, "a list is of up to %d tensors", ASN_MAX_DIMS);
        return NULL;
    }
    int n = (int)PyTuple_GET_SIZE(v[0]);
    for (int i = 0; i < n; i++)
        if (pointer_from_py(PyTuple_GET_ITEM(v[0], i), (void **)&members[i]) < 0)
            return NULL;
    aclTensorList *list = asn_operator_list(n, members);
    return list ? PyLong_FromVoidPtr(list) : asn_raise(ASN_ERR_MEMORY);
}

/* (data, dtype): the bytes of one element, in the machine's order. */
static PyObject *f_acl_scalar(PyObject *const *v) {
    asn_dtype dtype;
    if (!PyBytes_Check(v[0]) || asn_dtype_from_py(v[1], &dtype) < 0 ||
        PyBytes_GET_SIZE(v[0]) != asn_itemsize(dtype)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "a number is the bytes of one element");
        return NULL;
    }
    ASN_PY_TRY(asn_device_open());
    aclScalar *scalar = asn_operator_scalar(PyBytes_AS_STRING(v[0]),
                                            (aclDataType)asn_dtype_table[dtype].acl);
    return scalar ? PyLong_FromVoidPtr(scalar) : asn_raise(ASN_ERR_MEMORY);
}

/* (values): a sequence of ints, such as axes or extents; they are copied. */
static PyObject *f_acl_ints(PyObject *const *v) {
    int64_t values[ASN_MAX_DIMS];
    int n;
    if (asn_shape_from_py(v[0], values, &n) < 0) return NULL;
    ASN_PY_TRY(asn_device_open());
    aclIntArray *ints = asn_operator_ints(n, values);
    return ints ? PyLong_FromVoidPtr(ints) : asn_raise(ASN_ERR_MEMORY);
}

/* (kind, handle): the kind must be that of its making; any other name means "ints". */
static PyObject *f_acl_drop(PyObject *const *v) {
    void *handle;
    const char *kind = PyUnicode_AsUTF8(v[0]);
    if (!kind || pointer_from_py(v[1], &handle) < 0) return NULL;
    if (strcmp(kind, "tensor") == 0)
        asn_operator_drop(1, &(aclTensor *){handle});
    else if (strcmp(kind, "list") == 0)
        asn_operator_drop_list(handle);
    else if (strcmp(kind, "scalar") == 0)
        asn_operator_drop_scalar(handle);
    else
        asn_operator_drop_ints(handle);
    Py_RETURN_NONE;
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

/* (name, code, run, workspace, executor). The second phase; or, where the first one
 * failed (code is its status), its exception. The call is recorded by its name and queued
 * on the current stream. */
static PyObject *f_acl_run(PyObject *const *v) {
    int64_t code;
    void *run, *executor;
    const char *name = lasting(v[0]);
    if (!name || asn_int64_from_py(v[1], &code) < 0 || pointer_from_py(v[2], &run) < 0 ||
        pointer_from_py(v[4], &executor) < 0)
        return NULL;
    uint64_t workspace = PyLong_AsUnsignedLongLong(v[3]);
    if (workspace == UINT64_MAX && PyErr_Occurred()) return NULL;
    if (code) return asn_raise(asn_acl_failed((int)code, name));
    asn_acl_operator op = {.name = name,
                           .run = (aclnnStatus (*)(void *, uint64_t, aclOpExecutor *,
                                                   aclrtStream))(uintptr_t)run};
    asn_lock();
    asn_status status = asn_operator_run(&op, workspace, executor, name);
    asn_unlock();
    ASN_PY_TRY(status);
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

asn_function_def asn_acl_functions[] = {
    ASN_FUNCTION("_acl_tensor", "array, writes", f_acl_tensor,
                 "An aclTensor over the array's memory."),
    ASN_FUNCTION("_acl_tensor_parts", "array", f_acl_tensor_parts,
                 "(capsule, address, strides, offset, storage, its elements)"),
    ASN_FUNCTION("_acl_tensor_list", "tensors", f_acl_tensor_list,
                 "An aclTensorList, which takes the tensors."),
    ASN_FUNCTION("_acl_scalar", "data, dtype", f_acl_scalar, "An aclScalar."),
    ASN_FUNCTION("_acl_ints", "values", f_acl_ints, "An aclIntArray."),
    ASN_FUNCTION("_acl_drop", "kind, handle", f_acl_drop,
                 "Destroys a handle: \"tensor\", \"list\", \"scalar\", \"ints\"."),
    ASN_FUNCTION("_acl_find", "name", f_acl_find,
                 "The addresses of an operator's two phases, or None."),
    ASN_FUNCTION("_acl_environment", "", f_acl_environment,
                 "The variables that say where operators are."),
    ASN_FUNCTION("_acl_run", "name, code, run, workspace, executor", f_acl_run,
                 "The second phase of an operator, or the failure of its first."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
