/* L3 python: reductions: the shared argument handling (reduce_state.h), ufunc.reduce and
 * accumulate, argmax and argmin.
 *
 * Three ways, the first that fits: small arrays at once, to a number and without any
 * object in between (graph/small/direct.h); any and all of large ones piece by piece
 * until the answer is known; everything else by the core, recorded or not. All three give
 * the same result. A class of its own goes through __array_ufunc__ first, then the
 * elements are reduced as a plain array and the result is wrapped, in NumPy's order. */
#include "python/ufunc/reduce_state.h"

#include "graph/trace/transient.h"

/* (Contract in reduce_state.h.) What was not read is NULL. */
void asn_reduce_fini(asn_reduce_state *s) {
    Py_XDECREF(s->initial_owner);
    Py_XDECREF(s->where_owner);
    Py_XDECREF(s->out_owner);
}

/* (Contract in reduce_state.h.) NumPy takes a tuple of one in every method. */
PyObject *asn_out_object(PyObject *out) {
    if (out && PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    return out == Py_None ? NULL : out;
}

/* dtype= may drop imaginary parts, with a warning; -1: it is an error. */
static int check_dtype(PyObject *array, asn_dtype dtype) {
    if (dtype == ASN_DTYPE_NONE) return 0;
    return asn_complex_check(asn_dtype_of(array), dtype);
}

/* initial= as an element of an integer result, which it must fit as NumPy's element does:
 * 300 is no int8, a NaN no integer. */
static int pack_initial(asn_reduce_state *s, asn_op op, PyObject *array, PyObject *out,
                        PyObject *initial) {
    asn_dtype loop, to = ASN_DTYPE_NONE;
    if (out && asn_is_ndarray(out)) to = asn_layout_dtype(&asn_of(out)->layout);
    if (asn_reduce_dtype(op, asn_dtype_of(array), s->options.dtype, to, &loop)) {
        asn_error_clear(); /* the reduction says so */
        return 0;
    }
    if (s->initial.array || !asn_is_integer(loop)) return 0;
    s->initial.weak = 0;
    return asn_scalar_pack(initial, loop, &s->initial.scalar);
}

/* Options in NumPy's order of checks; `now` is set where the caller will look at the
 * number next, so that the core need not record the reduction. */
int asn_reduce_init(asn_reduce_state *s, asn_op op, PyObject *array,
                    const asn_reduce_args *a) {
    memset(s, 0, sizeof *s);
    s->options.dtype = ASN_DTYPE_NONE;
    int ndim = asn_of(array)->layout.ndim;
    if (asn_axes_from_py(a->axis, ndim, &s->options.axes, &s->all_axes) < 0 ||
        asn_dtype_from_py(a->dtype, &s->options.dtype) < 0 ||
        check_dtype(array, s->options.dtype) < 0 ||
        asn_where_from_py(a->where, &s->options.where, &s->where_owner) < 0)
        return -1;
    if (!asn_is_no_value(a->keepdims) &&
        asn_bool_from_py(a->keepdims, &s->options.keepdims) < 0)
        return -1;
    if (!asn_is_no_value(a->initial) && a->initial != Py_None) {
        if (asn_operand_from_py(a->initial, &s->initial, &s->initial_owner) < 0)
            return -1;
        s->options.initial = &s->initial;
    } else if (s->options.where && !asn_op_table[op].has_identity) {
        PyErr_Format(
            PyExc_ValueError,
            "reduction operation '%s' does not have an identity, so to use a where mask "
            "one has to specify 'initial'",
            asn_op_table[op].name);
        return -1;
    }
    /* initial=None takes the identity away: nothing must be reduced then. */
    if (a->initial == Py_None && asn_op_table[op].has_identity) {
        const asn_layout *l = &asn_of(array)->layout;
        int64_t count = 1;
        for (int d = 0; d < ndim; d++)
            if (s->options.axes >> d & 1) count *= l->shape[d];
        if (count == 0) {
            PyErr_Format(
                PyExc_ValueError,
                "zero-size array to reduction operation %s which has no identity",
                asn_op_table[op].name);
            return -1;
        }
    }
    PyObject *out = asn_out_object(a->out);
    if (s->options.initial && pack_initial(s, op, array, out, a->initial) < 0) return -1;
    s->options.now = s->all_axes && !s->options.keepdims && !out && asn_gives_scalars();
    return out ? asn_out_from_py(out, &s->out, &s->out_owner) : 0;
}

PyObject *asn_reduce_out(const asn_reduce_state *s, asn_op op, const asn_reduce_args *a,
                         asn_status status) {
    if (status == ASN_OK)
        status = asn_out_written(asn_out_object(a->out), s->out, s->out_owner);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check_as("reduce", op) < 0 ? NULL : Py_NewRef(asn_out_object(a->out));
}

/* (Contract in reduce_state.h.) The number of a small reduction, of which no array was
 * made; exceptions are reported first. */
PyObject *asn_reduce_scalar(const asn_scalar *s, asn_op op) {
    return ASN_UNLIKELY(asn_fp_check_as("reduce", op) < 0) ? NULL
                                                           : asn_scalar_to_numpy(s);
}

/* asn_ndarray_finish for a result of a ufunc's method, whose name the exceptions carry.
 */
static PyObject *method_result(asn_ndarray *r, const char *method, asn_op op,
                               asn_status status) {
    if (ASN_LIKELY(status == ASN_OK) && ASN_UNLIKELY(asn_fp_check_as(method, op) < 0)) {
        Py_DECREF(r);
        return NULL;
    }
    return asn_ndarray_finish(r, status);
}

/* op.method of an array whose class brings an __array_ufunc__: NumPy's methods call the
 * ufunc's, which asks it, with the arguments that were given, by name. 1 and *result when
 * it did, 0 when there is none, -1 with an exception. */
static int by_override(asn_op op, const char *method, PyObject *array,
                       const asn_reduce_args *a, PyObject **result) {
    static const char *const names[] = {"axis",     "dtype",   "out",
                                        "keepdims", "initial", "where"};
    PyObject *const given[] = {
        a->axis ? a->axis : Py_None, a->dtype, a->out, a->keepdims, a->initial, a->where};
    /* The tuple of names grows one by one; there are six at most. */
    PyObject *args[7] = {array}, *kwnames = PyTuple_New(0);
    PyObject *ufunc = asn_ufunc_of(op);
    int n = 1;
    for (int i = 0; i < 6 && kwnames; i++) {
        if (!given[i] || given[i] == asn_py.no_value || (i && given[i] == Py_None))
            continue;
        PyObject *name = PyUnicode_InternFromString(names[i]);
        PyObject *one = name ? PyTuple_Pack(1, name) : NULL;
        PyObject *all = one ? PySequence_Concat(kwnames, one) : NULL;
        Py_XDECREF(name);
        Py_XDECREF(one);
        Py_SETREF(kwnames, all);
        args[n++] = given[i];
    }
    int taken = kwnames && ufunc ? asn_ufunc_override((asn_ufunc *)ufunc, method, args, 1,
                                                      kwnames, result)
                                 : -1;
    Py_XDECREF(kwnames);
    return taken;
}

/* Returns what an override made of the call; goes on where there is none. */
#define BY_OVERRIDE(op, method, a)                                                       \
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array))) {                                    \
        PyObject *made;                                                                  \
        int taken = by_override(op, method, array, a, &made);                            \
        if (taken) return taken < 0 ? NULL : made;                                       \
    }

/* (Contract in ufunc.h.) The order is NumPy's: overrides, the class, the arguments. A
 * plain call of a small array reads no argument at all. */
PyObject *asn_reduce_run(asn_op op, PyObject *array, const asn_reduce_args *a) {
    BY_OVERRIDE(op, "reduce", a)
    ASN_OF_SUBCLASS(asn_reduce_run(op, plain, a), a->out)
    asn_reduce_state s;
    asn_scalar value;
    PyObject *result = NULL;
    if (asn_reduce_is_plain(a, asn_of(array)) &&
        asn_direct_reduce(op, asn_of(array), &value))
        return asn_reduce_scalar(&value, op);
    if (asn_reduce_is_plain(a, asn_of(array)) &&
        (op == ASN_OP_LOGICAL_OR || op == ASN_OP_LOGICAL_AND)) {
        bool truth, done;
        ASN_PY_TRY(asn_truth_reduce(op, asn_of(array), &truth, &done));
        value = asn_scalar_bool(truth);
        if (done) return asn_reduce_scalar(&value, op);
    }
    if (asn_reduce_init(&s, op, array, a) < 0) goto done;
    if (s.out) {
        result = asn_reduce_out(
            &s, op, a, asn_ufunc_reduce(op, asn_of(array), s.out, NULL, &s.options));
    } else {
        asn_ndarray *r = asn_ndarray_alloc();
        /* What the core would compute only for this reduction need not be stored. */
        if (a->temporary) asn_transient_name(asn_of(array));
        if (r)
            result = method_result(
                r, "reduce", op,
                asn_ufunc_reduce(op, asn_of(array), NULL, &r->array, &s.options));
        if (a->temporary) asn_transient_name(NULL);
    }
done:
    asn_reduce_fini(&s);
    return result;
}

/* (Contract in ufunc.h.) flatten_default: the method's axis=None flattens; the ufunc's
 * accumulate takes axis 0, and refuses None of several axes. */
PyObject *asn_accumulate_run(asn_op op, PyObject *array, PyObject *axis, PyObject *dtype,
                             PyObject *out, bool flatten_default) {
    BY_OVERRIDE(op, "accumulate",
                (&(asn_reduce_args){.axis = axis, .dtype = dtype, .out = out}))
    ASN_OF_SUBCLASS(asn_accumulate_run(op, plain, axis, dtype, out, flatten_default), out)
    asn_dtype loop;
    PyObject *self = Py_NewRef(array), *owner = NULL, *result = NULL;
    asn_array *target = NULL;
    int which = 0;
    out = asn_out_object(out);
    if (asn_dtype_from_py(dtype, &loop) < 0 || check_dtype(array, loop) < 0) goto done;
    if (flatten_default && (!axis || axis == Py_None)) {
        Py_SETREF(self, asn_flatten(self, 'C', false));
        if (!self) goto done;
        /* The methods treat an array of no dimensions as one of one. */
    } else if (flatten_default && asn_of(self)->layout.ndim == 0) {
        if (asn_axis_from_py(axis, 1, &which) < 0) goto done;
        Py_SETREF(self, asn_flatten(self, 'C', false));
        if (!self) goto done;
    } else if (flatten_default) {
        if (asn_axis_from_py(axis, asn_of(self)->layout.ndim, &which) < 0) goto done;
    } else if (asn_only_axis_from_py(axis, asn_of(self)->layout.ndim, "accumulate",
                                     &which) < 0) {
        goto done;
    }
    if (out && asn_out_from_py(out, &target, &owner) < 0) goto done;
    if (target) {
        asn_status status =
            asn_ufunc_accumulate(op, asn_of(self), which, loop, target, NULL);
        if (status == ASN_OK) status = asn_out_written(out, target, owner);
        if (status != ASN_OK)
            asn_raise(status);
        else if (asn_fp_check_as("accumulate", op) == 0)
            result = Py_NewRef(out);
    } else {
        asn_ndarray *r = asn_ndarray_alloc();
        if (r)
            result = method_result(
                r, "accumulate", op,
                asn_ufunc_accumulate(op, asn_of(self), which, loop, NULL, &r->array));
    }
done:
    Py_XDECREF(self);
    Py_XDECREF(owner);
    return result;
}

/* ---- argmax, argmin */

/* A NumPy scalar of int64. */
static PyObject *position(int64_t at) {
    asn_scalar s = asn_scalar_int(at);
    return asn_scalar_to_numpy(&s);
}

/* (Contract in reduce.h.) The core reduces; out= is written afterwards. */
PyObject *asn_argreduce_run(PyObject *array, PyObject *axis, PyObject *out,
                            PyObject *keepdims, bool maximum) {
    /* -1: of all elements. */
    int which = -1, ndim = asn_of(array)->layout.ndim;
    bool keep = false;
    int64_t at;
    if (asn_is_default(axis) && asn_is_default(out) && asn_is_default(keepdims) &&
        asn_gives_scalars() && asn_direct_arg(asn_of(array), !maximum, &at))
        return position(at);
    if (axis && axis != Py_None) {
        int64_t value;
        if (asn_axis_value_from_py(axis, &value) < 0) return NULL;
        /* NumPy lets a 0-d array have the axes 0 and -1 here. */
        if (!(ndim == 0 && (value == 0 || value == -1)))
            ASN_PY_TRY(asn_axis_normalize(value, ndim, &which));
    }
    if (!asn_is_no_value(keepdims) && asn_bool_from_py(keepdims, &keep) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_argreduce(&r->array, asn_of(array), which, keep, maximum);
    out = asn_out_object(out);
    if (status != ASN_OK || !out)
        return asn_subclass_keep(asn_ndarray_finish(r, status), array);
    asn_array *target;
    PyObject *owner;
    PyObject *result = NULL;
    if (asn_out_from_py(out, &target, &owner) == 0) {
        /* NumPy checks out= against the result, without broadcasting, and wants a dtype
         * that casts to the result's. */
        if (!asn_layout_same_shape(&target->layout, &r->array.layout)) {
            PyErr_Format(PyExc_ValueError, "output array does not match result of np.%s.",
                         maximum ? "argmax" : "argmin");
        } else if (!asn_can_cast((asn_dtype)target->layout.dtype, ASN_I64,
                                 ASN_CASTING_SAFE)) {
            PyErr_Format(PyExc_TypeError,
                         "Cannot cast %s from dtype('%s') to dtype('int64') according to "
                         "the rule 'safe'",
                         target->layout.ndim ? "array data" : "scalar",
                         asn_dtype_name((asn_dtype)target->layout.dtype));
        } else {
            asn_operand source = {.array = &r->array};
            status = asn_assign(target, &source, ASN_CASTING_UNSAFE, NULL);
            if (status == ASN_OK) status = asn_out_written(out, target, owner);
            result = status == ASN_OK ? Py_NewRef(out) : asn_raise(status);
        }
        Py_XDECREF(owner);
    }
    Py_DECREF(r);
    return result;
}
