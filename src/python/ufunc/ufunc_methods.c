/* L3 python: reduce, accumulate, reduceat, outer, at and resolve_dtypes of every ufunc.
 *
 * Argument rules are NumPy's: reduce's axis defaults to 0 (not None), accumulate's and
 * reduceat's too; they exist for two-input, one-output ufuncs only. Each method is a pair
 * of functions: NAME_on_device does the work, NAME makes NumPy's call of it where the
 * data is of a dtype that the device lacks. The order in each: what the ufunc is,
 * overrides, the arguments, the core. */
#include "python/ufunc/reduce.h"
#include "graph/ufunc/operands.h"

/* The ufunc, where reductions make sense for it; else NULL with NumPy's error. */
static asn_ufunc *binary_only(PyObject *self, const char *method) {
    asn_ufunc *u = (asn_ufunc *)self;
    if (u->kind == ASN_UFUNC_CORE)
        PyErr_Format(PyExc_RuntimeError, "Reduction not defined on ufunc with signature");
    else if (u->nin != 2)
        PyErr_Format(PyExc_ValueError, "%s only supported for binary functions", method);
    else if (u->nout != 1)
        PyErr_Format(PyExc_ValueError,
                     "%s only supported for functions returning a single value", method);
    else
        return u;
    return NULL;
}

/* Foreign overrides see the method's own arguments. As asn_ufunc_override; one plain
 * array without keywords brings none. */
static int overridden(asn_ufunc *u, const char *method, PyObject *const *args,
                      Py_ssize_t nargs, PyObject *kwnames, PyObject **result) {
    if (nargs && asn_is_ndarray_exact(args[0]) && !kwnames) return 0;
    return asn_ufunc_override(u, method, args, nargs, kwnames, result);
}

/* reduce(array, axis, dtype, out, keepdims, initial, where); out=... asks for an array
 * even where the result has no dimensions. What asn_reduce_run makes of a subclass is
 * wrapped already. */
static PyObject *reduce_on_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                  PyObject *kwnames) {
    static asn_signature sig = {.name = "reduce",
                                .text = "array, /, axis=0, dtype=None, out=None, "
                                        "keepdims=False, initial=None, where=True"};
    PyObject *v[ASN_MAX_ARGS], *result;
    asn_ufunc *u = binary_only(self, "reduce");
    if (!u) return NULL;
    int taken = overridden(u, "reduce", args, nargs, kwnames, &result);
    if (taken) return taken < 0 ? NULL : result;
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    if (asn_ufunc_check_out(v[3], nargs > 3) < 0) return NULL;
    PyObject *array = asn_asarray(v[0]);
    if (!array) return NULL;
    PyObject *zero = PyLong_FromLong(0);
    /* The ufunc's default axis is 0, where the methods have None. */
    bool keep_array = v[3] == Py_Ellipsis;
    asn_reduce_args a = {
        v[1] ? v[1] : zero, v[2], keep_array ? NULL : v[3], v[4], v[5], v[6], false};
    result = asn_reduce_run((asn_op)u->op, array, &a);
    if (result && keep_array && !asn_is_ndarray(result))
        Py_SETREF(result, asn_asarray(result));
    Py_XDECREF(zero);
    Py_DECREF(array);
    return result;
}

/* accumulate(array, axis, dtype, out) */
static PyObject *accumulate_on_device(PyObject *self, PyObject *const *args,
                                      Py_ssize_t nargs, PyObject *kwnames) {
    static asn_signature sig = {.name = "accumulate",
                                .text = "array, /, axis=0, dtype=None, out=None"};
    PyObject *v[ASN_MAX_ARGS], *result;
    asn_ufunc *u = binary_only(self, "accumulate");
    if (!u) return NULL;
    int taken = overridden(u, "accumulate", args, nargs, kwnames, &result);
    if (taken) return taken < 0 ? NULL : result;
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    PyObject *array = asn_asarray(v[0]);
    if (!array) return NULL;
    result = asn_accumulate_run((asn_op)u->op, array, v[1], v[2], v[3], false);
    Py_DECREF(array);
    return result;
}

/* reduceat of arrays: v as reduceat's arguments. Errors in NumPy's order: indices, axis,
 * dtype, out. A new reference, of exactly ndarray, or out. */
static PyObject *reduceat_run(asn_ufunc *u, PyObject *array, PyObject *indices,
                              PyObject **v) {
    int axis = 0;
    asn_dtype dtype;
    if (asn_of(indices)->layout.ndim != 1) {
        PyErr_Format(PyExc_ValueError, "reduceat takes indices of one axis, got %d",
                     asn_of(indices)->layout.ndim);
        return NULL;
    }
    if (asn_only_axis_from_py(v[2], asn_of(array)->layout.ndim, "reduceat", &axis) < 0)
        return NULL;
    if (asn_dtype_from_py(v[3], &dtype) < 0) return NULL;
    /* A tuple of one stands for its item. */
    PyObject *out = v[4] && PyTuple_CheckExact(v[4]) && PyTuple_GET_SIZE(v[4]) == 1
                        ? PyTuple_GET_ITEM(v[4], 0)
                        : v[4];
    if (!out || out == Py_None) {
        asn_ndarray *r = asn_ndarray_alloc();
        if (!r) return NULL;
        asn_status status = asn_ufunc_reduceat(
            (asn_op)u->op, asn_of(array), asn_of(indices), axis, dtype, NULL, &r->array);
        if (status == ASN_OK && asn_fp_check_as("reduceat", (asn_op)u->op) < 0) {
            Py_DECREF(r);
            return NULL;
        }
        return asn_ndarray_finish(r, status);
    }
    asn_array *target;
    PyObject *owner;
    if (asn_out_from_py(out, &target, &owner) < 0) return NULL;
    asn_status status = asn_ufunc_reduceat((asn_op)u->op, asn_of(array), asn_of(indices),
                                           axis, dtype, target, NULL);
    if (status == ASN_OK) status = asn_out_written(out, target, owner);
    Py_XDECREF(owner);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check_as("reduceat", (asn_op)u->op) < 0 ? NULL : Py_NewRef(out);
}

/* reduceat(array, indices, axis, dtype, out): indices of any integer dtype are cast. */
static PyObject *reduceat_on_device(PyObject *self, PyObject *const *args,
                                    Py_ssize_t nargs, PyObject *kwnames) {
    static asn_signature sig = {
        .name = "reduceat", .text = "array, /, indices, axis=0, dtype=None, out=None"};
    PyObject *v[ASN_MAX_ARGS], *result;
    asn_ufunc *u = binary_only(self, "reduceat");
    if (!u) return NULL;
    int taken = overridden(u, "reduceat", args, nargs, kwnames, &result);
    if (taken) return taken < 0 ? NULL : result;
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    PyObject *array = asn_asarray(v[0]);
    PyObject *indices = array ? asn_asarray_dtype(v[1], ASN_I64) : NULL;
    result = indices ? reduceat_run(u, array, indices, v) : NULL;
    if (result) result = asn_subclass_wrap(result, array, v[4]);
    Py_XDECREF(array);
    Py_XDECREF(indices);
    return result;
}

/* A[..., None * B.ndim] as a view, so that broadcasting makes the outer product; a new
 * reference. */
static PyObject *outer_left(PyObject *a, int extra) {
    int ndim = asn_of(a)->layout.ndim;
    uint64_t mask = 0;
    for (int i = 0; i < extra; i++)
        mask |= 1ULL << (ndim + i);
    asn_layout view;
    ASN_PY_TRY(asn_view_expand(&view, &asn_of(a)->layout, ndim + extra, mask));
    return asn_ndarray_view(a, &view, true);
}

/* outer(A, B, **kwargs): the ufunc's call, keywords passed on, of A with B's axes added.
 */
static PyObject *outer_on_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                 PyObject *kwnames) {
    asn_ufunc *u = (asn_ufunc *)self;
    PyObject *result;
    if (u->kind == ASN_UFUNC_CORE) {
        PyErr_SetString(
            PyExc_TypeError,
            "method outer is not allowed in ufunc with non-trivial signature");
        return NULL;
    }
    if (u->nin != 2) {
        PyErr_SetString(PyExc_ValueError,
                        "outer product only supported for binary functions");
        return NULL;
    }
    if (nargs != 2) {
        PyErr_Format(PyExc_TypeError,
                     "outer() takes exactly 2 positional arguments, got %zd", nargs);
        return NULL;
    }
    int taken = overridden(u, "outer", args, nargs, kwnames, &result);
    if (taken) return taken < 0 ? NULL : result;
    PyObject *b = asn_asarray(args[1]), *a = b ? asn_asarray(args[0]) : NULL;
    PyObject *left = a ? outer_left(a, asn_of(b)->layout.ndim) : NULL;
    result = NULL;
    Py_ssize_t keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    /* The two operands, and the keywords' values as they came. */
    PyObject **all = left ? PyMem_New(PyObject *, (size_t)(2 + keywords)) : NULL;
    if (all) {
        all[0] = left;
        all[1] = b;
        for (Py_ssize_t i = 0; i < keywords; i++)
            all[2 + i] = args[2 + i];
        result = asn_ufunc_vectorcall(self, all, 2, kwnames);
        PyMem_Free(all);
    } else if (left) {
        PyErr_NoMemory();
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
    Py_XDECREF(left);
    return result;
}

/* What at() puts: a Python number is what an array made of it is, an int64, a float64 or
 * a complex128, unlike everywhere else. What has imaginary parts loses them with a
 * warning; -1: it is an error. */
static int at_value(const asn_array *target, asn_operand *value) {
    const asn_dtype to = asn_layout_dtype(&target->layout);
    if (!value->array) value->weak = 0;
    return asn_complex_check(value->array ? asn_layout_dtype(&value->array->layout)
                                          : (asn_dtype)value->scalar.dtype,
                             to);
}

/* at(a, indices, b): in place, one index after the other where they repeat, as if without
 * any buffer (a[indices] += b counts each index once). a may be a NumPy array, which is
 * written before the caller looks. */
static PyObject *at_on_device(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
    asn_ufunc *u = (asn_ufunc *)self;
    PyObject *result;
    if (kwnames && PyTuple_GET_SIZE(kwnames)) {
        PyErr_SetString(PyExc_TypeError, "at() takes no keyword arguments");
        return NULL;
    }
    if (u->kind == ASN_UFUNC_CORE) {
        PyErr_Format(PyExc_TypeError,
                     "%s.at does not support ufunc with non-trivial signature", u->name);
        return NULL;
    }
    if (u->kind != ASN_UFUNC_PLAIN) {
        PyErr_SetString(PyExc_ValueError,
                        "Only single output ufuncs supported at this time");
        return NULL;
    }
    if (nargs < 2 || nargs > 3) {
        PyErr_Format(PyExc_TypeError, "at() takes 2 or 3 arguments, got %zd", nargs);
        return NULL;
    }
    if ((nargs == 3) != (u->nin == 2)) {
        PyErr_SetString(PyExc_ValueError, u->nin == 2
                                              ? "second operand needed for ufunc"
                                              : "second operand provided when ufunc is "
                                                "unary");
        return NULL;
    }
    int taken = overridden(u, "at", args, nargs, NULL, &result);
    if (taken) return taken < 0 ? NULL : result;
    asn_array *target;
    PyObject *owner, *value_owner = NULL;
    if (!asn_is_ndarray(args[0]) && !PyArray_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "first operand must be array");
        return NULL;
    }
    if (asn_out_from_py(args[0], &target, &owner) < 0) return NULL;
    asn_operand value;
    int rc = nargs == 3 ? asn_operand_from_py(args[2], &value, &value_owner) : 0;
    if (rc == 0 && nargs == 3) rc = at_value(target, &value);
    if (rc == 0)
        rc = asn_index_apply_at((asn_op)u->op, target, args[1],
                                nargs == 3 ? &value : NULL);
    if (rc == 0) {
        asn_status status = asn_out_written(args[0], target, owner);
        if (status != ASN_OK) asn_raise(status), rc = -1;
    }
    Py_XDECREF(owner);
    Py_XDECREF(value_owner);
    if (rc < 0 || asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- each method, and NumPy's for data of dtypes that the device lacks */

#define METHOD(NAME)                                                                     \
    static PyObject *NAME(PyObject *self, PyObject *const *args, Py_ssize_t nargs,       \
                          PyObject *kwnames) {                                           \
        PyObject *r = NAME##_on_device(self, args, nargs, kwnames);                      \
        return r ? r : retry(self, #NAME, args, nargs, kwnames);                         \
    }

/* After NAME_on_device failed: NumPy's method of that name, on the host, where the error
 * is one for it (asn_host_may_answer); else NULL, with the error as it is. */
static PyObject *retry(PyObject *self, const char *name, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames) {
    if (!asn_host_may_answer()) return NULL;
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *bound = PyObject_GetAttrString(self, name);
    PyErr_Restore(type, value, trace);
    PyObject *r = bound ? asn_host_retry(bound, args, nargs, kwnames) : NULL;
    Py_XDECREF(bound);
    return r;
}

METHOD(reduce)
METHOD(accumulate)
METHOD(reduceat)
METHOD(outer)
METHOD(at)
#undef METHOD

/* An operand that only has a type: a dtype, or Python's int, float, complex for weak
 * scalars, whose kind alone takes part. Its value is zero, and looked at by nobody. -1:
 * neither. */
static int type_operand(PyObject *obj, asn_operand *out) {
    memset(out, 0, sizeof *out);
    out->weak = obj == (PyObject *)&PyLong_Type      ? 'i'
                : obj == (PyObject *)&PyFloat_Type   ? 'f'
                : obj == (PyObject *)&PyComplex_Type ? 'c'
                                                     : 0;
    asn_dtype dtype = out->weak == 'i' ? ASN_I64 : out->weak == 'f' ? ASN_F64 : ASN_C128;
    if (!out->weak && !PyArray_DescrCheck(obj) && !PyType_Check(obj)) {
        PyErr_Format(PyExc_TypeError,
                     "resolve_dtypes: provided dtype must be a valid NumPy dtype, int, "
                     "float, complex, or None, not %R",
                     obj);
        return -1;
    }
    if (!out->weak && asn_dtype_from_py(obj, &dtype) < 0) return -1;
    out->scalar.dtype = (uint8_t)dtype;
    return 0;
}

/* The dtypes of a loop's operands as a tuple, inputs first. */
static PyObject *resolved(asn_ufunc *u, asn_dtype loop, asn_dtype result) {
    PyObject *tuple = PyTuple_New(u->nin + u->nout);
    for (int i = 0; tuple && i < u->nin + u->nout; i++) {
        asn_dtype dtype = i < u->nin ? asn_op_operand((asn_op)u->op, i, loop) : result;
        if (i > u->nin) dtype = asn_op_result((asn_op)u->op2, loop);
        PyObject *descr = asn_descr_object(dtype);
        if (!descr)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, descr);
    }
    return tuple;
}

/* resolve_dtypes(dtypes, *, signature, casting, reduction): what the dtypes would be of a
 * call with operands of those. NumPy's restrictions on which entries may be None. */
static PyObject *resolve_dtypes(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames) {
    static asn_signature sig = {
        .name = "resolve_dtypes",
        .text = "dtypes, *, signature=None, casting=None, reduction=False"};
    PyObject *v[ASN_MAX_ARGS];
    asn_ufunc *u = (asn_ufunc *)self;
    if (asn_args_parse(&sig, args, nargs, kwnames, v) < 0) return NULL;
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    if (v[2] != Py_None && asn_casting_from_py(v[2], &options.casting) < 0) return NULL;
    if (asn_ufunc_loop_dtype(u, NULL, v[1], &options.dtype) < 0) return NULL;
    if (!PyTuple_Check(v[0]) || PyTuple_GET_SIZE(v[0]) != u->nin + u->nout) {
        PyErr_Format(PyExc_TypeError,
                     "resolve_dtypes: The dtypes must be a tuple of length %d",
                     u->nin + u->nout);
        return NULL;
    }
    int reduction = v[3] ? PyObject_IsTrue(v[3]) : 0;
    if (reduction < 0 || (reduction && !binary_only(self, "resolve_dtypes"))) return NULL;
    asn_operand in[3];
    for (int i = 0; i < u->nin; i++) {
        PyObject *entry = PyTuple_GET_ITEM(v[0], i);
        /* Only the partial result of a reduction has no dtype of its own. */
        if ((entry == Py_None) != (reduction && i == 0)) {
            PyErr_SetString(PyExc_TypeError,
                            "resolve_dtypes: inputs are dtypes, the first of a "
                            "reduction is None");
            return NULL;
        }
        /* the first operand is the partial result: as the second */
        if (entry == Py_None) entry = PyTuple_GET_ITEM(v[0], 1);
        if (type_operand(entry, &in[i]) < 0) return NULL;
    }
    /* Reductions of small integers widen the loop (NumPy's rule for add and multiply). */
    if (reduction && options.dtype == ASN_DTYPE_NONE) {
        if (PyTuple_GET_ITEM(v[0], 2) != Py_None) {
            PyErr_SetString(
                PyExc_TypeError,
                "resolve_dtypes: a reduction's output dtype is found, not given");
            return NULL;
        }
        ASN_PY_TRY(asn_reduce_dtype((asn_op)u->op, (asn_dtype)in[1].scalar.dtype,
                                    ASN_DTYPE_NONE, ASN_DTYPE_NONE, &options.dtype));
        in[0].scalar.dtype = in[1].scalar.dtype = (uint8_t)options.dtype;
    }
    asn_dtype loop, result;
    asn_status status =
        asn_ufunc_result_dtype((asn_op)u->op, in, &options, &loop, &result);
    if (status != ASN_OK)
        return asn_ufunc_raise((asn_op)u->op, in, NULL, &options, status);
    return resolved(u, loop, result);
}

/* Pickle finds the object under its name in the module. */
static PyObject *ufunc_reduce_ex(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyUnicode_FromString(((asn_ufunc *)self)->name); /* pickled by reference */
}

#define KEYWORDS METH_FASTCALL | METH_KEYWORDS
PyMethodDef asn_ufunc_methods[] = {
    {"reduce", (PyCFunction)(void (*)(void))reduce, KEYWORDS,
     "reduce($self, array, /, axis=0, dtype=None, out=None, **kwargs)\n--\n\n"
     "Reduces an array along axes by applying the ufunc."},
    {"accumulate", (PyCFunction)(void (*)(void))accumulate, KEYWORDS,
     "accumulate($self, array, /, axis=0, dtype=None, out=None)\n--\n\n"
     "All partial results of the reduction along one axis."},
    {"reduceat", (PyCFunction)(void (*)(void))reduceat, KEYWORDS,
     "reduceat($self, array, /, indices, axis=0, dtype=None, out=None)\n--\n\n"
     "Reductions over slices along one axis that start at `indices`."},
    {"outer", (PyCFunction)(void (*)(void))outer, KEYWORDS,
     "outer($self, A, B, /, **kwargs)\n--\n\nThe ufunc on all pairs of elements of A and "
     "B."},
    {"at", (PyCFunction)(void (*)(void))at, KEYWORDS,
     "at($self, a, indices, b=None, /)\n--\n\nUnbuffered in-place operation on "
     "a[indices]."},
    {"resolve_dtypes", (PyCFunction)(void (*)(void))resolve_dtypes, KEYWORDS,
     "resolve_dtypes($self, dtypes, *, signature=None, casting=None, "
     "reduction=False)\n--\n\n"
     "The dtypes that the ufunc would work in."},
    {"__reduce__", ufunc_reduce_ex, METH_NOARGS, "__reduce__($self, /)\n--\n\n"},
    {NULL, NULL, 0, NULL},
};
