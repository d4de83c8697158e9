/* L3 python: the type asnumpy.ufunc and its call.
 *
 * One object per row of the operation table that is a ufunc of NumPy, plus the pairs
 * (divmod, modf, frexp) and the matmul family. The path of `add(a, b)` on arrays and
 * numbers without keywords does nothing but read operands, make a result object and call
 * the core; everything else (out=, where=, dtype=, array-likes, foreign __array_ufunc__)
 * goes through the long path below it. The two give the same results.
 *
 * The long path, in NumPy's order: operands of NumPy's subclasses (NumPy computes),
 * overrides, keywords, operands, the core, __array_wrap__; at its end HostDtypeError
 * makes the call NumPy's. Each step's errors are those that NumPy gives at that step. */
#include "python/ufunc/ufunc_call.h"

#include "graph/ufunc/trace_fast.h"

enum { MAX_IN = 3 }; /* also the mask of the loops below: nin & 3 */
static const asn_ufunc_options default_options = ASN_UFUNC_DEFAULTS;

/* ---- errors */

/* Sets class(ufunc, casting, from, to, i), one of NumPy's casting errors; i: the
 * operand's number. If it cannot be made, that error is set. */
static void raise_casting(PyObject *cls, asn_op op, asn_casting casting, asn_dtype from,
                          asn_dtype to, int i) {
    PyObject *ufunc = asn_ufunc_of(op), *a = asn_descr_object(from),
             *b = asn_descr_object(to);
    if (ufunc && a && b) {
        PyObject *error = PyObject_CallFunction(cls, "OsOOi", ufunc,
                                                asn_casting_name(casting), a, b, i);
        if (error) PyErr_SetObject(cls, error);
        Py_XDECREF(error);
    }
    Py_XDECREF(a);
    Py_XDECREF(b);
}

/* The dtype that an operand has itself; a Python number's is the widest of its kind. */
static asn_dtype operand_dtype(const asn_operand *in) {
    return in->array ? (asn_dtype)in->array->layout.dtype : (asn_dtype)in->scalar.dtype;
}

/* (Contract in ufunc.h.) NumPy's exception names what failed to cast: the result into
 * out, or an input to the loop's dtype; which it was is found by resolving once more. */
void *asn_ufunc_raise(asn_op op, const asn_operand *in, const asn_array *out,
                      const asn_ufunc_options *options, asn_status status) {
    if (status != ASN_ERR_CASTING || PyErr_Occurred()) return asn_raise(status);
    char message[256]; /* resolving again must not lose the first message */
    strncpy(message, asn_error_message(), sizeof message - 1);
    message[sizeof message - 1] = 0;
    asn_dtype loop, result;
    if (asn_ufunc_result_dtype(op, in, options, &loop, &result) == ASN_OK) {
        if (out) {
            raise_casting(asn_py.out_cast_error, op, options->casting, result,
                          (asn_dtype)out->layout.dtype, 0);
            return NULL;
        }
    } else {
        asn_ufunc_options any = *options;
        any.casting = ASN_CASTING_UNSAFE;
        loop = options->dtype;
        if (loop == ASN_DTYPE_NONE &&
            asn_ufunc_result_dtype(op, in, &any, &loop, &result) != ASN_OK)
            return asn_raise(status);
        for (int i = 0; i < asn_op_table[op].num_in; i++) {
            asn_dtype to = asn_op_operand(op, i, loop);
            if (asn_can_cast(operand_dtype(&in[i]), to, options->casting)) continue;
            raise_casting(asn_py.in_cast_error, op, options->casting,
                          operand_dtype(&in[i]), to, i);
            return NULL;
        }
    }
    PyErr_SetString(PyExc_TypeError, message);
    return NULL;
}

/* ---- keywords */

/* (Contract in ufunc.h.) out=... as a keyword asks to keep a 0-d result an array. */
int asn_ufunc_check_out(PyObject *out, bool positional) {
    if (out == Py_Ellipsis && positional) {
        PyErr_SetString(PyExc_TypeError,
                        "out=... is only allowed as a keyword argument.");
        return -1;
    }
    for (Py_ssize_t i = 0; out && PyTuple_CheckExact(out) && i < PyTuple_GET_SIZE(out);
         i++)
        if (PyTuple_GET_ITEM(out, i) == Py_Ellipsis) {
            PyErr_SetString(PyExc_TypeError,
                            "must use `...` as `out=...` and not per-operand/in a tuple");
            return -1;
        }
    return 0;
}

/* (Contract in ufunc.h.) A single array stands for a tuple of one. */
int asn_ufunc_check_out_count(const asn_ufunc *u, PyObject *out) {
    if (!PyTuple_CheckExact(out)) {
        if (u->nout == 1) return 0;
        PyErr_SetString(PyExc_TypeError, "'out' must be a tuple of arrays");
        return -1;
    }
    if (PyTuple_GET_SIZE(out) == u->nout) return 0;
    PyErr_Format(PyExc_ValueError,
                 "The 'out' tuple must have exactly %d entr%s: one per ufunc output",
                 u->nout, u->nout == 1 ? "y" : "ies");
    return -1;
}

/* out= into kw: `...`, one array, or a tuple of one for each output. -1: an error. */
static int take_outputs(asn_ufunc *u, PyObject *value, asn_ufunc_kwargs *kw) {
    if (value == Py_Ellipsis) {
        kw->keep_array = true;
        return 0;
    }
    if (asn_ufunc_check_out(value, false) < 0) return -1;
    if (asn_ufunc_check_out_count(u, value) < 0) return -1;
    if (PyTuple_CheckExact(value)) {
        for (int i = 0; i < u->nout; i++)
            kw->out[i] = PyTuple_GET_ITEM(value, i);
    } else {
        kw->out[0] = value;
    }
    return 0;
}

/* One keyword; those that a generalised ufunc lacks, or a plain one, are unexpected.
 * Borrows. -1: an error. */
static int take_keyword(asn_ufunc *u, PyObject *name, PyObject *value,
                        asn_ufunc_kwargs *kw) {
    bool core = u->kind == ASN_UFUNC_CORE;
    const struct {
        const char *name;
        PyObject **slot;
        bool allowed;
    } known[] = {{"where", &kw->where, !core},    {"dtype", &kw->dtype, true},
                 {"casting", &kw->casting, true}, {"order", &kw->order, true},
                 {"subok", &kw->subok, true},     {"signature", &kw->signature, true},
                 {"sig", &kw->signature, true},   {"axes", &kw->axes, core},
                 {"axis", &kw->axis, core},       {"keepdims", &kw->keepdims, core}};
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0) {
        if (kw->out[0] || kw->out[1]) {
            PyErr_SetString(
                PyExc_TypeError,
                "cannot specify 'out' as both a positional and keyword argument");
            return -1;
        }
        kw->out_given = true;
        return take_outputs(u, value, kw);
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].allowed &&
            PyUnicode_CompareWithASCIIString(name, known[i].name) == 0) {
            if (*known[i].slot) {
                PyErr_SetString(PyExc_TypeError,
                                "cannot specify both 'sig' and 'signature'");
                return -1;
            }
            *known[i].slot = value;
            return 0;
        }
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", u->name,
                 name);
    return -1;
}

/* Positional arguments: the inputs, and outputs after them. */
static int check_count(const asn_ufunc *u, Py_ssize_t nargs) {
    if (nargs >= u->nin && nargs <= u->nin + u->nout) return 0;
    PyErr_Format(PyExc_TypeError,
                 "%s() takes from %d to %d positional arguments but %zd %s given",
                 u->name, u->nin, u->nin + u->nout, nargs, nargs == 1 ? "was" : "were");
    return -1;
}

/* (Contract in ufunc.h.) For overrides: NumPy checks the keywords before it asks anybody,
 * but of out= only the number, since what it holds may be foreign. */
int asn_ufunc_check_call(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames) {
    asn_ufunc_kwargs kw = {0};
    if (check_count(u, nargs) < 0) return -1;
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k), *value = args[nargs + k];
        if (PyUnicode_CompareWithASCIIString(name, "out") != 0) {
            if (take_keyword(u, name, value, &kw) < 0) return -1;
        } else if (nargs > u->nin) {
            PyErr_SetString(
                PyExc_TypeError,
                "cannot specify 'out' as both a positional and keyword argument");
            return -1;
        } else if (asn_ufunc_check_out_count(u, value) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Outputs by position and keywords into *kw; None is no output. -1: an error. */
static int parse_call(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                      PyObject *kwnames, asn_ufunc_kwargs *kw) {
    memset(kw, 0, sizeof *kw);
    if (check_count(u, nargs) < 0) return -1;
    for (Py_ssize_t i = u->nin; i < nargs; i++) {
        kw->out[i - u->nin] = args[i];
        kw->out_given = true;
        if (asn_ufunc_check_out(args[i], true) < 0) return -1;
    }
    for (Py_ssize_t k = 0; kwnames && k < PyTuple_GET_SIZE(kwnames); k++)
        if (take_keyword(u, PyTuple_GET_ITEM(kwnames, k), args[nargs + k], kw) < 0)
            return -1;
    for (int i = 0; i < 2; i++)
        if (kw->out[i] == Py_None) kw->out[i] = NULL;
    if (kw->dtype && kw->signature) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'signature' and 'dtype'");
        return -1;
    }
    return 0;
}

/* (Contract in ufunc.h.) True means everywhere, as no mask does; None is false, as any
 * object's truth. */
int asn_where_from_py(PyObject *obj, const asn_array **mask, PyObject **owner) {
    *mask = NULL;
    *owner = NULL;
    if (asn_is_no_value(obj) || obj == Py_True) return 0;
    if (obj == Py_None) obj = Py_False;
    /* A list is read as truth values; an array must hold them already. */
    bool given = asn_is_ndarray(obj) || PyArray_Check(obj);
    PyObject *array = given ? asn_asarray(obj) : asn_asarray_dtype(obj, ASN_BOOL);
    if (array && asn_dtype_of(array) != ASN_BOOL) {
        PyErr_Format(
            PyExc_TypeError,
            "Cannot cast array data from dtype('%s') to dtype('bool') according to "
            "the rule 'safe'",
            asn_dtype_name(asn_dtype_of(array)));
        Py_CLEAR(array);
    }
    array = asn_truth_values(array);
    if (!array) return -1;
    *owner = array;
    *mask = asn_of(array);
    return 0;
}

/* The loop dtype that one entry of a signature asks for: `place` 0 .. nin-1 inputs, then
 * outputs; NONE: an operand of a fixed dtype, which says nothing. */
static asn_dtype loop_from_place(asn_ufunc *u, int place, asn_dtype dtype) {
    const asn_op_info *info = &asn_op_table[u->op];
    if (place < u->nin)
        return info->in_dtype[place] == ASN_DTYPE_NONE ? dtype : ASN_DTYPE_NONE;
    if (info->out_dtype == ASN_OUT_SAME || info->out_dtype == ASN_OUT_REAL) return dtype;
    return ASN_DTYPE_NONE; /* a fixed result dtype says nothing about the loop */
}

/* "dd->d": as many type characters as operands; the first that says something is the
 * loop. -1: an error. */
static int signature_text(asn_ufunc *u, PyObject *signature, asn_dtype *out) {
    const char *text = PyUnicode_AsUTF8(signature);
    if (!text) return -1;
    int place = 0, length = (int)strlen(text);
    if (length == 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s: a signature names the dtype of every operand; dtype= takes one",
                     u->name);
        return -1;
    }
    const char *arrow = strstr(text, "->");
    if (!arrow || arrow - text != u->nin) place = -length; /* never complete */
    for (const char *p = text; *p; p++) {
        if (*p == '-' || *p == '>') continue;
        asn_dtype dtype = asn_dtype_from_char(*p);
        if (place >= 0 && place < u->nin + u->nout && *out == ASN_DTYPE_NONE &&
            dtype != ASN_DTYPE_NONE)
            *out = loop_from_place(u, place, dtype);
        place++;
    }
    if (place == u->nin + u->nout && *out != ASN_DTYPE_NONE) return 0;
    PyErr_Format(PyExc_ValueError,
                 "a type-string for %s must name %d input and %d output dtypes, got %R",
                 u->name, u->nin, u->nout, signature);
    return -1;
}

/* NumPy's TypeError; -1. */
static int no_matching_loop(const asn_ufunc *u) {
    PyErr_Format(PyExc_TypeError,
                 "No loop matching the specified signature and casting was found for "
                 "ufunc %s",
                 u->name);
    return -1;
}

/* (Contract in ufunc.h.) NumPy's dtype= is a signature of the outputs alone. */
int asn_ufunc_loop_dtype(asn_ufunc *u, PyObject *dtype, PyObject *signature,
                         asn_dtype *out) {
    *out = ASN_DTYPE_NONE;
    asn_dtype wish;
    if (dtype && dtype != Py_None) {
        if (asn_dtype_from_py(dtype, &wish) < 0) return -1;
        *out = loop_from_place(u, u->nin, wish);
        if (*out == ASN_DTYPE_NONE && wish != (asn_dtype)asn_op_table[u->op].out_dtype)
            return no_matching_loop(u);
        return 0;
    }
    if (!signature || signature == Py_None) return 0;
    if (PyUnicode_Check(signature)) return signature_text(u, signature, out);
    if (PyBytes_Check(signature)) {
        PyObject *text = PyUnicode_FromEncodedObject(signature, "ascii", NULL);
        int rc = text ? signature_text(u, text, out) : -1;
        Py_XDECREF(text);
        return rc;
    }
    if (!PyTuple_Check(signature) || PyTuple_GET_SIZE(signature) != u->nin + u->nout) {
        bool wrong_length = PyTuple_Check(signature) && PyTuple_GET_SIZE(signature) != 1;
        PyErr_Format(
            wrong_length ? PyExc_ValueError : PyExc_TypeError,
            "the signature object to ufunc must be a string or a tuple of %d dtypes",
            u->nin + u->nout);
        return -1;
    }
    /* A tuple: None leaves an operand to promotion. */
    for (int i = 0; i < u->nin + u->nout; i++) {
        if (asn_dtype_from_py(PyTuple_GET_ITEM(signature, i), &wish) < 0) return -1;
        asn_dtype loop =
            wish != ASN_DTYPE_NONE ? loop_from_place(u, i, wish) : ASN_DTYPE_NONE;
        if (loop == ASN_DTYPE_NONE) continue;
        if (*out != ASN_DTYPE_NONE && i < u->nin && loop != *out)
            return no_matching_loop(u);
        if (*out == ASN_DTYPE_NONE) *out = loop;
    }
    return 0;
}

/* ---- calls */

/* After a call_state_init that failed, too. */
static void call_state_fini(asn_ufunc_state *c) {
    for (int i = 0; i < 3; i++)
        Py_XDECREF(c->owner[i]);
    for (int i = 0; i < 2; i++)
        Py_XDECREF(c->out_owner[i]);
    Py_XDECREF(c->where_owner);
}

/* Reads operands, outputs and options, in NumPy's order of errors; -1: an error, and *c
 * is still to be ended. */
static int call_state_init(asn_ufunc_state *c, asn_ufunc *u, PyObject *const *args,
                           const asn_ufunc_kwargs *kw) {
    memset(c, 0, sizeof *c);
    c->options = default_options;
    c->keep_array = kw->keep_array;
    if (asn_scalars_read(u, args, c->in, c->owner) < 0) return -1;
    for (int i = 0; i < u->nout; i++)
        if (kw->out[i] && asn_out_from_py(kw->out[i], &c->out[i], &c->out_owner[i]) < 0)
            return -1;
    if (asn_casting_from_py(kw->casting, &c->options.casting) < 0 ||
        asn_order_from_py(kw->order, &c->options.order) < 0 ||
        asn_where_from_py(kw->where, &c->options.where, &c->where_owner) < 0)
        return -1;
    if (asn_ufunc_loop_dtype(u, kw->dtype, kw->signature, &c->options.dtype) < 0)
        return -1;
    asn_dtype loop = c->options.dtype;
    /* A cast of complex operands to a real loop warns, as astype does. */
    bool cast = loop != ASN_DTYPE_NONE && c->options.casting == ASN_CASTING_UNSAFE &&
                asn_op_table[u->op].out_dtype == ASN_OUT_SAME;
    for (int i = 0; cast && i < u->nin; i++) {
        const asn_operand *o = &c->in[i];
        asn_dtype from =
            o->array ? (asn_dtype)o->array->layout.dtype : (asn_dtype)o->scalar.dtype;
        if (asn_complex_check(from, loop) < 0) return -1;
    }
    return 0;
}

/* One operation into output i, or a new array: a new reference, or NULL. */
static PyObject *run_one(asn_op op, asn_ufunc_state *c, int i, PyObject *out_object) {
    if (c->out[i]) {
        asn_status status = asn_ufunc_call(op, c->in, c->out[i], NULL, &c->options);
        if (status != ASN_OK)
            return asn_ufunc_raise(op, c->in, c->out[i], &c->options, status);
        if (asn_ufunc_show_output(c, i, out_object) < 0 || asn_fp_check() < 0)
            return NULL;
        return Py_NewRef(out_object);
    }
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_ufunc_call(op, c->in, NULL, &r->array, &c->options);
    if (status == ASN_OK && c->keep_array) return asn_ndarray_finish_array(r);
    if (status == ASN_OK) return asn_ndarray_finish(r, status);
    asn_ndarray_drop(r);
    return asn_ufunc_raise(op, c->in, NULL, &c->options, status);
}

/* divmod, modf, frexp as two operations: a pair of results. Both are computed before
 * either output is written: an output may be an input. */
static PyObject *run_pair(asn_ufunc *u, asn_ufunc_state *c, const asn_ufunc_kwargs *kw) {
    asn_dtype loop, result;
    asn_status status =
        asn_ufunc_result_dtype((asn_op)u->op, c->in, &c->options, &loop, &result);
    if (status == ASN_ERR_NO_LOOP) return asn_raise(asn_error_no_loop(u->name));
    if (status != ASN_OK)
        return asn_ufunc_raise((asn_op)u->op, c->in, NULL, &c->options, status);
    /* modf's integer part must not take trunc's integer loop. */
    if (asn_op_table[u->op2].out_dtype == ASN_OUT_SAME) c->options.dtype = loop;
    /* Set aside, so that the first operation makes an array of its own. */
    asn_array *first_out = c->out[0];
    c->out[0] = NULL;
    asn_array first;
    status = asn_ufunc_call((asn_op)u->op, c->in, NULL, &first, &c->options);
    if (status != ASN_OK)
        return asn_ufunc_raise((asn_op)u->op, c->in, NULL, &c->options, status);
    /* Exceptions of the parts are the ufunc's: "divmod", not "floor_divide". */
    asn_fp_rename(asn_op_table[u->op].name, u->name);
    PyObject *second = run_one((asn_op)u->op2, c, 1, kw->out[1]);
    PyObject *one = NULL;
    if (second && first_out) {
        asn_operand src = {.array = &first};
        /* where= holds for the assignment: the first result was computed with it too. */
        status = asn_assign(first_out, &src, c->options.casting, c->options.where);
        asn_array_fini(&first);
        c->out[0] = first_out;
        if (status != ASN_OK)
            asn_raise(status);
        else if (asn_ufunc_show_output(c, 0, kw->out[0]) == 0)
            one = Py_NewRef(kw->out[0]);
    } else if (second) {
        one = asn_ndarray_wrap(&first);
        if (one && !c->keep_array) one = asn_ndarray_return(one);
    } else {
        asn_array_fini(&first);
    }
    PyObject *pair = one && second ? PyTuple_Pack(2, one, second) : NULL;
    Py_XDECREF(one);
    Py_XDECREF(second);
    return pair;
}

/* An array without a class of its own for results: ours, NumPy's, a memory map. */
static bool is_plain_array(PyObject *obj) {
    return asn_is_ndarray_exact(obj) || (PyArray_Check(obj) && !asn_foreign_array(obj));
}

/* The operand whose __array_wrap__ makes the result, borrowed; NULL for none. Plain
 * arrays have priority 0 and scalars none; among equals the first that brings one. */
static PyObject *find_wrapper(PyObject *const *args, int nin) {
    static const double none = -1000000.0; /* NumPy's priority of a scalar */
    PyObject *wrapper = NULL;
    double best = none;
    for (int i = 0; i < nin; i++) {
        PyObject *obj = args[i];
        if (is_plain_array(obj)) {
            /* A plain array beats what has a lower priority than its own 0. */
            if (best < 0) wrapper = NULL, best = 0;
            continue;
        }
        if (PyFloat_CheckExact(obj) || PyLong_CheckExact(obj) || PyList_CheckExact(obj) ||
            PyTuple_CheckExact(obj) || PyArray_IsAnyScalar(obj) ||
            !PyObject_HasAttr((PyObject *)Py_TYPE(obj), asn_py.s_array_wrap))
            continue;
        PyObject *value = PyObject_GetAttrString(obj, "__array_priority__");
        double priority = value ? PyFloat_AsDouble(value) : 0;
        Py_XDECREF(value);
        if (PyErr_Occurred()) PyErr_Clear();
        if (priority > best || (!wrapper && priority == best))
            wrapper = obj, best = priority;
    }
    return wrapper;
}

/* (ufunc, the call's operands and outputs, which output). */
static PyObject *wrap_context(asn_ufunc *u, PyObject *const *args,
                              const asn_ufunc_kwargs *kw, int output) {
    bool given = kw->out[0] || kw->out[1];
    PyObject *all = PyTuple_New(u->nin + (given ? u->nout : 0));
    for (int i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        PyObject *out = i < u->nin ? args[i] : kw->out[i - u->nin];
        PyTuple_SET_ITEM(all, i, Py_NewRef(out ? out : Py_None));
    }
    PyObject *r = all ? Py_BuildValue("(OOi)", u, all, output) : NULL;
    Py_XDECREF(all);
    return r;
}

/* The result as the class of an operand (or of out=) has it, by its __array_wrap__.
 * subok=False: as it is. Takes result, NULL passes. */
static PyObject *wrap_result(asn_ufunc *u, PyObject *result, PyObject *const *args,
                             const asn_ufunc_kwargs *kw, int output) {
    if (!result) return NULL;
    PyObject *out = kw->out[output], *wrapper;
    if (out)
        wrapper = is_plain_array(out) ? NULL : out;
    else
        wrapper = kw->subok == Py_False ? NULL : find_wrapper(args, u->nin);
    if (ASN_LIKELY(!wrapper)) return result;
    PyObject *array = asn_asarray(result), *wrapped = NULL;
    PyObject *context = array ? wrap_context(u, args, kw, output) : NULL;
    if (context) {
        /* __array_wrap__ is told whether the result would be a scalar. */
        bool scalar = !out && !kw->keep_array && asn_of(array)->layout.ndim == 0;
        wrapped = asn_array_wrap(wrapper, array, context, scalar);
    }
    Py_XDECREF(array);
    Py_XDECREF(context);
    Py_DECREF(result);
    return wrapped;
}

/* Both results wrapped. Takes pair. */
static PyObject *wrap_pair(asn_ufunc *u, PyObject *pair, PyObject *const *args,
                           const asn_ufunc_kwargs *kw) {
    if (!pair) return NULL;
    PyObject *one = wrap_result(u, Py_NewRef(PyTuple_GET_ITEM(pair, 0)), args, kw, 0);
    PyObject *two =
        one ? wrap_result(u, Py_NewRef(PyTuple_GET_ITEM(pair, 1)), args, kw, 1) : NULL;
    Py_DECREF(pair);
    PyObject *r = two ? PyTuple_Pack(2, one, two) : NULL;
    Py_XDECREF(one);
    Py_XDECREF(two);
    return r;
}

/* The long path for data that the device has; NULL with HostDtypeError: it has not.
 * *replaced: the call was a program's implementation's, whose errors are the call's. */
static PyObject *call_on_device(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                                PyObject *kwnames, bool *replaced) {
    PyObject *result;
    int taken = asn_ufunc_override(u, "__call__", args, nargs, kwnames, &result);
    if (taken) return taken < 0 ? NULL : result;
    asn_ufunc_kwargs kw;
    if (parse_call(u, args, nargs, kwnames, &kw) < 0) return NULL;
    if (u->kind == ASN_UFUNC_CORE) {
        result = asn_gufunc_call(u, args, &kw);
        return wrap_result(u, result, args, &kw, 0);
    }
    /* NumPy warns: what where= leaves out is never set. */
    if (kw.where && kw.where != Py_True && !kw.out_given &&
        PyErr_WarnEx(
            PyExc_UserWarning,
            "'where' used without 'out', expect unitialized memory in output. If this "
            "is intended, use out=None.",
            1) < 0)
        return NULL;
    asn_ufunc_state state;
    result = NULL;
    if (call_state_init(&state, u, args, &kw) == 0) {
        *replaced = !asn_ufunc_is_plain(u) &&
                    asn_ufunc_call_replaced(u, args, &state, &kw, &result);
        if (!*replaced)
            result = u->kind == ASN_UFUNC_PAIR
                         ? run_pair(u, &state, &kw)
                         : run_one((asn_op)u->op, &state, 0, kw.out[0]);
    }
    call_state_fini(&state);
    return u->kind == ASN_UFUNC_PAIR ? wrap_pair(u, result, args, &kw)
                                     : wrap_result(u, result, args, &kw, 0);
}

/* The long path: NumPy's subclasses before, data of other dtypes after. NULL from the
 * first with no error means that NumPy has no such function: the call goes on. */
static PyObject *call_general(asn_ufunc *u, PyObject *const *args, Py_ssize_t nargs,
                              PyObject *kwnames) {
    PyObject *r;
    for (Py_ssize_t i = 0; i < nargs && i < u->nin; i++)
        if (ASN_UNLIKELY(asn_is_foreign(args[i]))) {
            r = asn_foreign_call((PyObject *)u, args, nargs, kwnames);
            if (r || PyErr_Occurred()) return r;
        }
    bool replaced = false;
    r = call_on_device(u, args, nargs, kwnames, &replaced);
    if (!r && !replaced && asn_host_may_answer())
        return asn_host_retry((PyObject *)u, args, nargs, kwnames);
    return r;
}

/* NumPy's warning; -1: it is an error. */
static int warn_third_argument(void) {
    return PyErr_WarnEx(
        PyExc_DeprecationWarning,
        "Passing more than 2 positional arguments to np.maximum and np.minimum is "
        "deprecated. If you meant to use the third argument as an output, use the `out` "
        "keyword argument instead. If you hoped to work with more than 2 inputs, combine "
        "them into a single array and get the extrema for the relevant axis.",
        1);
}

/* After a quick reader's error: whether the general path may do what the quick one
 * refused: integers out of range, dtypes that the device lacks. */
static bool needs_long_way(void) {
    return PyErr_ExceptionMatches(PyExc_OverflowError) ||
           PyErr_ExceptionMatches(asn_py.host_dtype);
}

/* Operands whose types leave no question; 1 yes, 0 something else, -1 an error. While
 * some ufunc is replaced arrays are none (replaced.c), and here are taken as such for
 * the others. */
static int read_beside(asn_op op, PyObject *const *args, int nin, asn_operand *in) {
    const asn_ufunc *u = (const asn_ufunc *)asn_py.ufunc_of_row[op];
    if (ASN_READ(asn_py.quick) || (u && !asn_ufunc_is_plain(u))) return 0;
    int quick = 1;
    for (int i = 0; i < nin && quick > 0; i++) {
        if (asn_is_ndarray_exact(args[i]))
            in[i] = (asn_operand){.array = asn_of(args[i])};
        else
            quick = asn_operand_quick(args[i], &in[i]);
    }
    return quick;
}

/* op(quick operands..., out) of an out that is exactly ndarray and writeable; NULL
 * without an error when an operand is not quick. */
static PyObject *call_into(asn_ufunc *u, PyObject *const *args, PyObject *out) {
    asn_operand in[MAX_IN];
    int nin = u->nin & MAX_IN, quick = asn_operand_quick(args[0], in);
    for (int i = 1; i < nin && quick > 0; i++)
        quick = asn_operand_quick(args[i], &in[i]);
    if (ASN_UNLIKELY(!quick)) quick = read_beside((asn_op)u->op, args, nin, in);
    if (quick < 0 && needs_long_way()) PyErr_Clear();
    if (quick <= 0 || asn_scalars_need_arrays((asn_op)u->op, in)) return NULL;
    asn_status status = asn_ufunc_call((asn_op)u->op, in, asn_of(out), NULL, NULL);
    if (ASN_UNLIKELY(status != ASN_OK))
        return asn_ufunc_raise((asn_op)u->op, in, asn_of(out), &default_options, status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(out);
}

/* The power ufunc itself replaces only squares, as NumPy's does. */
static bool is_square(const asn_ufunc *u, PyObject *const *args) {
    return u->op == ASN_OP_POWER && asn_is_ndarray_exact(args[0]) &&
           asn_ufunc_is_plain(u) && asn_dtype_of(args[0]) != ASN_BOOL &&
           asn_power_shortcut(args[0], args[1]) == ASN_OP_SQUARE;
}

/* The vectorcall of every ufunc. Quick ways first: arrays alone; powers that are squares;
 * arrays and numbers, among them numbers alone, which need no array; then one array as
 * out=. Each falls through to the general call where it does not fit. */
PyObject *asn_ufunc_vectorcall(PyObject *self, PyObject *const *args, size_t nargsf,
                               PyObject *kwnames) {
    asn_ufunc *u = (asn_ufunc *)self;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (ASN_LIKELY(!kwnames && nargs == u->nin && nargs <= 2 &&
                   u->kind == ASN_UFUNC_PLAIN && asn_is_quick(args[0]) &&
                   asn_is_quick(args[nargs - 1])))
        return asn_ufunc_apply((asn_op)u->op, args);
    if (nargs == 2 && !kwnames && is_square(u, args))
        return asn_ufunc_apply(ASN_OP_SQUARE, args);
    if (ASN_LIKELY(!kwnames && nargs == u->nin && u->kind == ASN_UFUNC_PLAIN)) {
        asn_operand in[MAX_IN];
        int nin = u->nin & MAX_IN; /* the mask tells the compiler the bound */
        int quick = asn_operand_quick(args[0], in);
        for (int i = 1; i < nin && quick > 0; i++)
            quick = asn_operand_quick(args[i], &in[i]);
        if (ASN_UNLIKELY(!quick)) quick = read_beside((asn_op)u->op, args, nin, in);
        if (quick > 0 && !asn_scalars_need_arrays((asn_op)u->op, in)) {
            asn_scalar value;
            /* Only numbers, and numbers wanted: no array on the way. */
            bool numbers = asn_gives_scalars();
            for (int i = 0; i < nin; i++)
                numbers = numbers && !in[i].array;
            if (numbers && asn_direct_scalar((asn_op)u->op, in, &value))
                return asn_fp_check() < 0 ? NULL : asn_scalar_to_numpy(&value);
            asn_ndarray *r = asn_ndarray_alloc();
            if (!r) return NULL;
            asn_status status = asn_rows_call((asn_op)u->op, in, &r->array);
            if (ASN_LIKELY(status == ASN_OK)) return asn_ndarray_done(r);
            asn_ndarray_drop(r);
            return asn_ufunc_raise((asn_op)u->op, in, NULL, &default_options, status);
        }
        if (quick < 0) {
            if (!needs_long_way()) return NULL;
            PyErr_Clear();
        }
    }
    if (nargs > 2 && (u->op == ASN_OP_MAXIMUM || u->op == ASN_OP_MINIMUM) &&
        u->kind == ASN_UFUNC_PLAIN && warn_third_argument() < 0)
        return NULL;
    if (u->kind == ASN_UFUNC_PLAIN &&
        nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0) == u->nin + 1 &&
        (!kwnames || PyTuple_GET_ITEM(kwnames, 0) == asn_py.s_out)) {
        PyObject *out = args[u->nin];
        if (nargs >= u->nin && asn_is_ndarray_exact(out) &&
            (asn_of(out)->layout.flags & ASN_WRITEABLE)) {
            PyObject *r = call_into(u, args, out);
            if (r || PyErr_Occurred()) return r;
        }
    }
    return call_general(u, args, nargs, kwnames);
}

/* A new array of op by the core's quickest way (trace_fast.h), or NULL. */
static inline PyObject *rows_result(asn_op op, const asn_operand *in) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_rows_call(op, in, &r->array);
    if (ASN_LIKELY(status == ASN_OK)) return asn_ndarray_done(r);
    asn_ndarray_drop(r);
    return asn_ufunc_raise(op, in, NULL, &default_options, status);
}

/* (Contracts in ufunc.h.) The operators' way: no ufunc object is involved unless needed.
 */
PyObject *asn_ufunc_apply_pair(asn_op op, PyObject *a, PyObject *b) {
    asn_operand in[2];
    in[0].array = asn_of(a);
    in[1].array = asn_of(b);
    in[0].weak = in[1].weak = 0;
    return rows_result(op, in);
}

/* Operands that are not quick, or numbers that need arrays, go the whole way of a call.
 */
PyObject *asn_ufunc_apply(asn_op op, PyObject *const *args) {
    asn_operand in[MAX_IN];
    int nin = asn_op_table[op].num_in & MAX_IN, quick = asn_operand_quick(args[0], in);
    for (int i = 1; i < nin && quick > 0; i++)
        quick = asn_operand_quick(args[i], &in[i]);
    if (ASN_UNLIKELY(!quick)) quick = read_beside(op, args, nin, in);
    if (ASN_LIKELY(quick > 0) && !asn_scalars_need_arrays(op, in))
        return rows_result(op, in);
    if (quick < 0 && !needs_long_way()) return NULL;
    PyErr_Clear();
    PyObject *u = asn_ufunc_of(op);
    return u ? call_general((asn_ufunc *)u, args, nin, NULL) : NULL;
}

/* op(args[0], args[1], out=args[0]); args[0] is an ndarray, whose casting rule is the
 * ufunc's. */
PyObject *asn_ufunc_apply_inplace(asn_op op, PyObject *const *args) {
    asn_operand in[2];
    asn_array *self = asn_of(args[0]);
    int quick = asn_is_quick(args[0])           ? asn_operand_quick(args[1], &in[1])
                : asn_is_ndarray_exact(args[0]) ? read_beside(op, args, 2, in)
                                                : 0;
    if (quick < 0) {
        if (!needs_long_way()) return NULL;
        PyErr_Clear();
    }
    /* Not quick, or read-only, which is the general path's to refuse. */
    if (ASN_UNLIKELY(quick <= 0 || !(self->layout.flags & ASN_WRITEABLE))) {
        PyObject *all[3] = {args[0], args[1], args[0]};
        PyObject *u = asn_ufunc_of(op);
        return u ? call_general((asn_ufunc *)u, all, 3, NULL) : NULL;
    }
    in[0].array = self;
    in[0].weak = 0;
    asn_status status = asn_ufunc_call(op, in, self, NULL, NULL);
    if (ASN_UNLIKELY(status != ASN_OK))
        return asn_ufunc_raise(op, in, self, &default_options, status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(args[0]);
}
