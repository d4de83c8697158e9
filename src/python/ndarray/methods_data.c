/* L3 python: methods that move elements: astype, copy, fill, take, put, repeat,
 * searchsorted, clip, round, dot, ...
 *
 * The asn_..._run functions are shared with the functions of the same names; `self` is an
 * ndarray, an argument that is NULL was not given. out= and mode= follow NumPy's rules,
 * which differ from method to method.
 *
 * What is frequent is C down to the core; what is rare (put, compress, most of choose,
 * rounding to decimals) is Python, in asnumpy._support, reached by asn_support_call: it
 * is slower by a few calls, and half as long. Both are to give what NumPy gives, errors
 * included. */
#include "numpy/ordering.h"
#include "python/ndarray/methods.h"

/* (Contract in methods.h.) Two kinds of failure: the call failed, and *r was never made;
 * or it succeeded and a floating-point exception is an error, then *r is a whole array.
 */
PyObject *asn_ndarray_made(asn_ndarray *r, asn_status status) {
    if (status == ASN_OK) {
        if (asn_fp_check() == 0) return (PyObject *)r;
        Py_DECREF(r);
        return NULL;
    }
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* Of exactly ndarray, with a cast's warnings. */
PyObject *asn_copy_cast(PyObject *self, asn_dtype dtype, char order) {
    asn_ndarray *r = asn_ndarray_alloc();
    return r ? asn_ndarray_made(r, asn_copy(&r->array, asn_of(self), dtype, order))
             : NULL;
}

/* A copy as self's own type. */
static PyObject *copy_keeping_type(PyObject *self, asn_dtype dtype, char order,
                                   bool subok) {
    PyObject *r = asn_copy_cast(self, dtype, order);
    return subok ? asn_subclass_keep(r, self) : r;
}

/* (Contract in convert.h.) bool is no loss: it is "not zero" of both parts. */
int asn_complex_check(asn_dtype from, asn_dtype to) {
    if (!asn_is_complex(from) || asn_is_complex(to) || to == ASN_BOOL) return 0;
    return PyErr_WarnEx(asn_py.complex_warning,
                        "Casting complex values to real discards the imaginary part", 1);
}

PyObject *asn_method_on_host(const char *name, PyObject *self, PyObject *const *args,
                             Py_ssize_t nargs, PyObject *kwnames) {
    if (!asn_host_may_answer()) return NULL;
    Py_ssize_t n = nargs + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    PyObject *type, *value, *trace, *r = NULL;
    /* The exception is put aside: the two allocations must not run with it set. */
    PyErr_Fetch(&type, &value, &trace);
    PyObject *callable = PyUnicode_FromString(name);
    PyObject **all = PyMem_New(PyObject *, (size_t)n + 1);
    PyErr_Restore(type, value, trace);
    if (callable && all) {
        all[0] = self;
        for (Py_ssize_t i = 0; i < n; i++)
            all[i + 1] = args[i];
        r = asn_host_retry(callable, all, nargs + 1, kwnames);
    }
    PyMem_Free(all);
    Py_XDECREF(callable);
    return r;
}

/* NumPy's astype. self itself comes back only with copy=False where dtype, order and
 * class already are what was asked for. */
ASN_METHOD(astype) {
    ASN_ARGS("astype", "dtype, order='K', casting='unsafe', subok=True, copy=True");
    asn_dtype dtype, from = asn_dtype_of(self);
    char order = 'K';
    asn_casting casting = ASN_CASTING_UNSAFE;
    bool subok = true, copy = true;
    /* A dtype that the device lacks: the result is NumPy's, on the host. */
    if (asn_dtype_from_py(v[0], &dtype) < 0)
        return asn_method_on_host("astype", self, args, nargs, kwnames);
    /* casting="same_value" compares the elements after the cast: rarely used, in Python.
     */
    if (v[2] && PyUnicode_Check(v[2]) &&
        PyUnicode_CompareWithASCIIString(v[2], "same_value") == 0) {
        PyObject *all[4] = {self, v[0], v[1] ? v[1] : Py_None, v[3] ? v[3] : Py_None};
        return asn_support_call("astype_same_value", all, 4);
    }
    if (asn_order_from_py(v[1], &order) < 0 || asn_casting_from_py(v[2], &casting) < 0 ||
        asn_bool_from_py(v[3], &subok) < 0 || asn_bool_from_py(v[4], &copy) < 0)
        return NULL;
    if (dtype == ASN_DTYPE_NONE) dtype = ASN_F64; /* NumPy: dtype None is float64 */
    int flags = asn_of(self)->layout.flags;
    bool order_ok = order == 'K' || order == 'A' ||
                    flags & (order == 'C' ? ASN_C_CONTIGUOUS : ASN_F_CONTIGUOUS);
    if (!copy && dtype == from && order_ok && (subok || asn_is_ndarray_exact(self)))
        return Py_NewRef(self);
    if (!asn_can_cast(from, dtype, casting)) {
        PyErr_Format(
            PyExc_TypeError,
            "Cannot cast array data from dtype('%s') to dtype('%s') according to the "
            "rule '%s'",
            asn_dtype_name(from), asn_dtype_name(dtype), asn_casting_name(casting));
        return NULL;
    }
    if (asn_complex_check(from, dtype) < 0) return NULL;
    return copy_keeping_type(self, dtype, order, subok);
}

ASN_METHOD(copy) {
    ASN_ARGS("copy", "order='C'");
    char order = 'C';
    if (asn_order_from_py(v[0], &order) < 0) return NULL;
    return copy_keeping_type(self, asn_dtype_of(self), order, true);
}

ASN_METHOD(__copy__) {
    ASN_ARGS("__copy__", "");
    return copy_keeping_type(self, asn_dtype_of(self), 'K', true);
}

ASN_METHOD(__deepcopy__) {
    ASN_ARGS("__deepcopy__", "memo, /");
    return copy_keeping_type(self, asn_dtype_of(self), 'K', true);
}

/* fill(value): one element, cast into self's dtype with the bounds checks of an
 * assignment. What is no number is read as an array, which must be 0-d. */
ASN_METHOD(fill) {
    ASN_ARGS("fill", "value");
    if (PyArray_IsScalar(v[0], Generic) || PyNumber_Check(v[0])) {
        if (asn_ndarray_ass_subscript(self, Py_Ellipsis, v[0]) < 0) return NULL;
        Py_RETURN_NONE;
    }
    PyObject *value = asn_asarray_dtype(v[0], asn_dtype_of(self));
    int rc = value ? 0 : -1;
    if (value && asn_of(value)->layout.ndim) {
        PyErr_SetString(PyExc_ValueError, "setting an array element with a sequence.");
        rc = -1;
    }
    if (rc == 0) rc = asn_ndarray_ass_subscript(self, Py_Ellipsis, value);
    Py_XDECREF(value);
    if (rc < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- take, put, repeat, choose, compress, nonzero, searchsorted */

/* An array of integers as it is (bools as int64); what is no array is read as int64. An
 * array of floats is refused: NumPy's rule, that indices cast "safely" to int64. uint64
 * passes, as in NumPy. New reference. */
static PyObject *index_array(PyObject *obj) {
    if (!asn_is_ndarray(obj) && !PyArray_Check(obj))
        return asn_asarray_dtype(obj, ASN_I64);
    PyObject *array = asn_asarray(obj);
    if (!array) return NULL;
    asn_dtype dtype = asn_dtype_of(array);
    if (asn_can_cast(dtype, ASN_I64, ASN_CASTING_SAFE) || dtype == ASN_U64) {
        if (dtype == ASN_BOOL) Py_SETREF(array, asn_copy_cast(array, ASN_I64, 'K'));
        return array;
    }
    PyErr_Format(
        PyExc_TypeError,
        "Cannot cast array data from dtype('%s') to dtype('int64') according to the "
        "rule 'safe'",
        asn_dtype_name(dtype));
    Py_DECREF(array);
    return NULL;
}

/* NumPy 2.5's warnings of out= of another kind than the result. -1: one is an error. */
static int warn_of_kind(asn_dtype out, asn_dtype result) {
    if (asn_can_cast(result, out, ASN_CASTING_SAME_KIND)) return 0;
    return PyErr_WarnEx(
        PyExc_DeprecationWarning,
        "Implicit casting of output to a different kind is deprecated. In a future "
        "version, this will result in an error. (Deprecated NumPy 2.5)",
        1);
}

/* out= of take and compress. NumPy before 2.5 wants out, as a buffer to write, to cast
 * safely to the result's dtype; 2.5 lets every dtype pass. Both read out into a buffer of
 * the result's dtype and write it back, and warn where either takes imaginary parts. -1:
 * refused. */
static int check_picked(asn_dtype out, asn_dtype result) {
    if (!asn_numpy_2_5() && !asn_can_cast(out, result, ASN_CASTING_SAFE)) {
        PyErr_Format(
            PyExc_TypeError,
            "Cannot cast array data from dtype('%s') to dtype('%s') according to "
            "the rule 'safe'",
            asn_dtype_name(out), asn_dtype_name(result));
        return -1;
    }
    if (asn_numpy_2_5() && warn_of_kind(out, result) < 0) return -1;
    if (asn_is_complex(out) == asn_is_complex(result) || out == ASN_BOOL ||
        result == ASN_BOOL)
        return 0;
    return PyErr_WarnEx(asn_py.complex_warning,
                        "Casting complex values to real discards the imaginary part", 1);
}

/* result copied into out, which is returned; takes result. The shapes are to be equal,
 * nothing broadcasts. Without out a 0-d result becomes a scalar. */
static PyObject *into_out(PyObject *result, PyObject *out) {
    if (!result || !out || out == Py_None)
        return result ? asn_ndarray_return(result) : NULL;
    asn_array *target;
    PyObject *owner = NULL, *r = NULL;
    if (asn_out_from_py(out, &target, &owner) == 0) {
        if (!asn_layout_same_shape(&target->layout, &asn_of(result)->layout)) {
            PyErr_SetString(PyExc_ValueError,
                            "output array does not match result of the operation");
        } else if (check_picked((asn_dtype)target->layout.dtype, asn_dtype_of(result)) ==
                   0) {
            asn_operand source = {asn_of(result), {0}, 0};
            asn_status status = asn_assign(target, &source, ASN_CASTING_UNSAFE, NULL);
            /* `owner` is the wrapper of a NumPy array: its memory must be written before
             * the caller looks at it. */
            if (status == ASN_OK) status = asn_out_written(out, target, owner);
            r = status == ASN_OK ? Py_NewRef(out) : asn_raise(status);
        }
    }
    Py_XDECREF(owner);
    Py_DECREF(result);
    return r;
}

/* NumPy's take: axis None takes from the flattened array, as does a 0-d array, which may
 * be given the axis 0 or -1. */
PyObject *asn_take_run(PyObject *self, PyObject *indices, PyObject *axis, PyObject *out,
                       PyObject *mode_object) {
    int which = 0, mode = 0;
    if (asn_mode_from_py(mode_object, &mode) < 0) return NULL;
    PyObject *idx = index_array(indices);
    PyObject *a = NULL, *result = NULL;
    if (!idx) return NULL;
    if (!axis || axis == Py_None || asn_of(self)->layout.ndim == 0) {
        if (axis && axis != Py_None && asn_axis_from_py(axis, 1, &which) < 0) goto done;
        a = asn_flatten(self, 'C', false);
        which = 0;
    } else {
        if (asn_axis_from_py(axis, asn_of(self)->layout.ndim, &which) < 0) goto done;
        a = Py_NewRef(self);
    }
    asn_ndarray *r = a ? asn_ndarray_alloc() : NULL;
    if (r) {
        result =
            asn_ndarray_made(r, asn_take(&r->array, asn_of(a), asn_of(idx), which, mode));
        result = into_out(result, out);
        if (result != out) result = asn_subclass_keep(result, self);
    }
done:
    Py_DECREF(idx);
    Py_XDECREF(a);
    return result;
}

ASN_METHOD(take) {
    ASN_ARGS("take", "indices, axis=None, out=None, mode='raise'");
    return asn_take_run(self, v[0], v[1], v[2], v[3]);
}

/* NumPy's repeat; the counts are flattened, and broadcast if there is one alone. */
PyObject *asn_repeat_run(PyObject *self, PyObject *repeats, PyObject *axis) {
    int which = 0;
    PyObject *a = NULL, *counts = index_array(repeats), *result = NULL;
    if (!counts) return NULL;
    if (!asn_can_cast(asn_dtype_of(counts), ASN_I64, ASN_CASTING_SAFE)) {
        PyErr_Format(
            PyExc_TypeError,
            "Cannot cast array data from dtype('%s') to dtype('int64') according to the "
            "rule 'safe'",
            asn_dtype_name(asn_dtype_of(counts)));
        goto done;
    }
    if (asn_dtype_of(counts) != ASN_I64)
        Py_SETREF(counts, asn_copy_cast(counts, ASN_I64, 'K'));
    if (counts) Py_SETREF(counts, asn_flatten(counts, 'C', false));
    if (!counts) goto done;
    bool lone =
        asn_of(self)->layout.ndim == 0; /* has the axis of a vector, as in NumPy */
    int ndim = lone ? 1 : asn_of(self)->layout.ndim;
    if (axis && axis != Py_None && asn_axis_from_py(axis, ndim, &which) < 0) goto done;
    if (lone || !axis || axis == Py_None)
        a = asn_flatten(self, 'C', false);
    else
        a = Py_NewRef(self);
    asn_ndarray *r = a ? asn_ndarray_alloc() : NULL;
    if (r)
        result =
            asn_ndarray_made(r, asn_repeat(&r->array, asn_of(a), asn_of(counts), which));
done:
    Py_XDECREF(counts);
    Py_XDECREF(a);
    return asn_subclass_keep(result, self);
}

ASN_METHOD(repeat) {
    ASN_ARGS("repeat", "repeats, axis=None");
    return asn_repeat_run(self, v[0], v[1]);
}

/* (Contract in methods.h.) How many there are is known only once self is: it
 * synchronises. */
PyObject *asn_nonzero_run(PyObject *self) {
    int n = asn_of(self)->layout.ndim;
    if (n == 0) {
        PyErr_SetString(
            PyExc_ValueError,
            "Calling nonzero on 0d arrays is not allowed. Use "
            "np.atleast_1d(scalar).nonzero() instead. If the context of this error "
            "is of the form `arr[nonzero(cond)]`, just use `arr[cond]`.");
        return NULL;
    }
    asn_array out[ASN_MAX_DIMS];
    ASN_PY_TRY(asn_nonzero(out, asn_of(self)));
    PyObject *tuple = PyTuple_New(n);
    /* After a failure the arrays that no object has taken are still to be ended. */
    for (int i = 0; i < n; i++) {
        PyObject *axis = tuple ? asn_ndarray_wrap(&out[i]) : NULL;
        if (tuple && !axis)
            Py_CLEAR(tuple);
        else if (tuple)
            PyTuple_SET_ITEM(tuple, i, axis);
        else
            asn_array_fini(&out[i]);
    }
    if (tuple && asn_fp_check() < 0) Py_CLEAR(tuple);
    return tuple;
}

ASN_METHOD(nonzero) {
    ASN_ARGS("nonzero", "");
    return asn_nonzero_run(self);
}

/* Whether any of these integers is negative; -1: an error. */
static int any_negative(PyObject *order) {
    if (asn_of(order)->layout.size == 0) return 0;
    PyObject *least = PyObject_CallMethod(order, "min", NULL);
    PyObject *number = least ? PyNumber_Index(least) : NULL;
    int overflow = 0;
    /* A number beyond int64 is positive here: only uint64 has them. */
    long long value = number ? PyLong_AsLongLongAndOverflow(number, &overflow) : -1;
    Py_XDECREF(least);
    Py_XDECREF(number);
    return number ? overflow == 0 && value < 0 : -1;
}

/* self[sorter], for a sorter of integers that count from the front alone: negative ones
 * are out of range. The errors are those of NumPy's searchsorted, whatever take raised.
 */
static PyObject *apply_sorter(PyObject *self, PyObject *sorter) {
    PyObject *order = asn_asarray(sorter), *r = NULL;
    if (!order) {
        if (PyErr_ExceptionMatches(asn_py.host_dtype)) return NULL;
        PyErr_SetString(PyExc_TypeError, "could not parse sorter argument");
        return NULL;
    }
    if (asn_of(order)->layout.ndim != 1)
        PyErr_SetString(PyExc_TypeError, "could not parse sorter argument");
    else if (!asn_is_integer(asn_dtype_of(order)))
        PyErr_SetString(PyExc_TypeError, "sorter must only contain integers");
    else if (asn_of(order)->layout.size != asn_of(self)->layout.size)
        PyErr_SetString(PyExc_ValueError, "sorter.size must equal a.size");
    else {
        int negative = any_negative(order);
        if (negative > 0)
            PyErr_SetString(PyExc_IndexError, "negative");
        else if (negative == 0)
            r = asn_take_run(self, order, NULL, NULL, NULL);
    }
    if (!r && PyErr_ExceptionMatches(PyExc_IndexError)) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "Sorter index out of range.");
    }
    Py_DECREF(order);
    return r;
}

/* The sorter is applied first, so that a large array is searched as it then lies; NumPy
 * looks through it at each step, which finds the same positions. */
PyObject *asn_searchsorted_run(PyObject *self, PyObject *values_object, PyObject *side,
                               PyObject *sorter) {
    bool right = false;
    if (side) {
        /* Any object but a str is an unknown side, with the text of the error that NumPy
         * gives. */
        const char *text = PyUnicode_Check(side) ? PyUnicode_AsUTF8(side) : "";
        if (!text) return NULL;
        right = strcmp(text, "right") == 0;
        if (!right && strcmp(text, "left") != 0) {
            PyErr_Format(PyExc_ValueError,
                         "search side must be 'left' or 'right' (got %R)", side);
            return NULL;
        }
    }
    PyObject *values = asn_asarray(values_object);
    PyObject *sorted = sorter && sorter != Py_None && asn_of(self)->layout.ndim == 1
                           ? apply_sorter(self, sorter)
                           : Py_NewRef(self);
    PyObject *result = NULL;
    asn_ndarray *r = values && sorted ? asn_ndarray_alloc() : NULL;
    if (r)
        result = asn_ndarray_finish(
            r, asn_np_searchsorted(&r->array, asn_of(sorted), asn_of(values), right));
    Py_XDECREF(values);
    Py_XDECREF(sorted);
    return result;
}

ASN_METHOD(searchsorted) {
    ASN_ARGS("searchsorted", "v, side='left', sorter=None");
    ASN_HOSTED("searchsorted", asn_searchsorted_run(self, v[0], v[1], v[2]));
}

/* ---- arithmetic methods */

/* A ufunc by its NumPy name: name(args..., out=out, **kwargs). Borrows all of them; out
 * NULL or None: none. */
static PyObject *ufunc_call(const char *name, PyObject **args, Py_ssize_t n,
                            PyObject *out, PyObject *kwargs) {
    PyObject *u = PyDict_GetItemString(asn_py.ufuncs, name);
    PyObject *positional = PyTuple_New(n),
             *keywords = kwargs ? PyDict_Copy(kwargs) : PyDict_New();
    for (Py_ssize_t i = 0; positional && i < n; i++)
        PyTuple_SET_ITEM(positional, i, Py_NewRef(args[i]));
    PyObject *r = NULL;
    if (u && positional && keywords &&
        (!out || out == Py_None || PyDict_SetItemString(keywords, "out", out) == 0))
        r = PyObject_Call(u, positional, keywords);
    Py_XDECREF(positional);
    Py_XDECREF(keywords);
    return r;
}

/* A Python int at or beyond the end of an integer dtype's range bounds nothing, and would
 * not fit the dtype; `low`: as a lower bound. */
static bool beyond_range(PyObject *limit, asn_dtype dtype, bool low) {
    if (!PyLong_CheckExact(limit) || !asn_is_integer(dtype)) return false;
    int bits = 8 * asn_itemsize(dtype), overflow = 0;
    long long v = PyLong_AsLongLongAndOverflow(limit, &overflow);
    if (low) {
        long long end =
            asn_is_unsigned_int(dtype) ? 0 : -1LL - (long long)((1ULL << (bits - 1)) - 1);
        return overflow < 0 || (overflow == 0 && v <= end);
    }
    if (overflow) return overflow > 0 && dtype != ASN_U64;
    if (asn_is_signed_int(dtype)) return v >= (long long)((1ULL << (bits - 1)) - 1);
    return bits < 64 && v >= (1LL << bits) - 1;
}

/* NumPy's clip is minimum and maximum where only one bound is given, a copy (positive)
 * where none is: so the dtype and the warnings are those of these ufuncs. */
PyObject *asn_clip_run(PyObject *self, PyObject *low, PyObject *high, PyObject *out,
                       PyObject *kwargs) {
    PyObject *args[3] = {self, low, high};
    asn_dtype dtype = asn_dtype_of(self);
    bool no_low = !low || low == Py_None || beyond_range(low, dtype, true);
    bool no_high = !high || high == Py_None || beyond_range(high, dtype, false);
    if (no_low && no_high) return ufunc_call("positive", args, 1, out, kwargs);
    if (no_low) {
        args[1] = high;
        return ufunc_call("minimum", args, 2, out, kwargs);
    }
    return ufunc_call(no_high ? "maximum" : "clip", args, no_high ? 2 : 3, out, kwargs);
}

ASN_METHOD(clip) {
    ASN_ARGS("clip", "min=None, max=None, out=None, **kwargs");
    PyObject *r = asn_clip_run(self, v[0], v[1], v[2], v[3]);
    Py_XDECREF(v[3]);
    return r;
}

/* NumPy's recipe: rint for 0 decimals; else scale by 10**|d|, rint, scale back. */
static PyObject *round_array(PyObject *self, PyObject *decimals_object, PyObject *out) {
    int64_t decimals = 0;
    asn_dtype dtype = asn_dtype_of(self);
    if (asn_int64_from_py(decimals_object, &decimals) < 0) return NULL;
    PyObject *args[2] = {self, NULL};
    /* Integers have no decimals to lose: NumPy copies. */
    if (asn_is_integer(dtype) && decimals >= 0) {
        if (!out || out == Py_None) return copy_keeping_type(self, dtype, 'K', true);
        return ufunc_call("positive", args, 1, out, NULL);
    }
    if (decimals == 0) return ufunc_call("rint", args, 1, out, NULL);
    /* Scaling gives an array of no subclass, as NumPy's. */
    PyObject *rest[3] = {asn_subclass_plain(self), PyLong_FromLongLong(decimals),
                         out ? out : Py_None};
    PyObject *r = rest[0] && rest[1] ? asn_support_call("round_scaled", rest, 3) : NULL;
    Py_XDECREF(rest[0]);
    Py_XDECREF(rest[1]);
    return r;
}

/* A 0-d result is a scalar, as from a ufunc, unless it is out. */
PyObject *asn_round_run(PyObject *self, PyObject *decimals, PyObject *out) {
    PyObject *r = round_array(self, decimals, out);
    return !r || !asn_is_ndarray(r) || r == out ? r : asn_subclass_element(r);
}

ASN_METHOD(round) {
    ASN_ARGS("round", "decimals=0, out=None");
    return asn_round_run(self, v[0], v[1]);
}

/* conj() of real numbers is the array itself, not a copy: NumPy's. */
ASN_METHOD(conjugate) {
    ASN_ARGS("conjugate", "out=None");
    if (v[0] && v[0] != Py_None) {
        PyObject *ufunc = asn_ufunc_of(ASN_OP_CONJUGATE), *pair[2] = {self, v[0]};
        return ufunc ? asn_ufunc_vectorcall(ufunc, pair, 2, NULL) : NULL;
    }
    if (!asn_is_complex(asn_dtype_of(self))) return Py_NewRef(self);
    return asn_ufunc_apply(ASN_OP_CONJUGATE, &self);
}

ASN_METHOD(conj) {
    return asn_method_conjugate(self, args, nargs, kwnames);
}

/* NumPy's dot: out must be what a new result would be, dtype and order; the core checks
 * the shape. The class of a new result is that of the operand of highest priority. */
PyObject *asn_dot_run(PyObject *a, PyObject *b, PyObject *out) {
    asn_array *target = NULL;
    PyObject *owner = NULL;
    if (out && out != Py_None && asn_out_from_py(out, &target, &owner) < 0) return NULL;
    asn_dtype dtype = asn_promote(asn_dtype_of(a), asn_dtype_of(b));
    if (target && (!(target->layout.flags & ASN_C_CONTIGUOUS) ||
                   asn_layout_dtype(&target->layout) != dtype)) {
        Py_XDECREF(owner);
        PyErr_SetString(
            PyExc_ValueError,
            "output array is not acceptable (must have the right datatype, number "
            "of dimensions, and be a C-Array)");
        return NULL;
    }
    if (!target) {
        asn_ndarray *r = asn_ndarray_alloc();
        PyObject *leader = asn_subclass_leader(a, b);
        return r ? asn_subclass_keep(asn_ndarray_finish(r, asn_dot(asn_of(a), asn_of(b),
                                                                   NULL, &r->array)),
                                     leader)
                 : NULL;
    }
    asn_status status = asn_dot(asn_of(a), asn_of(b), target, NULL);
    if (status == ASN_OK) status = asn_out_written(out, target, owner);
    Py_XDECREF(owner);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check() < 0 ? NULL : Py_NewRef(out);
}

ASN_METHOD(dot) {
    ASN_ARGS("dot", "b, out=None");
    PyObject *b = asn_asarray(v[0]);
    PyObject *r = b ? asn_dot_run(self, b, v[1]) : NULL;
    Py_XDECREF(b);
    ASN_HOSTED("dot", r);
}

/* ---- in Python: rarely used, clearer there */

PyObject *asn_support_call(const char *name, PyObject *const *args, size_t nargs) {
    /* The package is looked up once; the pointer is published with release and acquire,
     * as several threads may import it at a time. */
    PyObject *package = __atomic_load_n(&asn_py.package, __ATOMIC_ACQUIRE), *none = NULL;
    if (ASN_UNLIKELY(!package)) {
        if (!(package = PyImport_ImportModule("asnumpy._support"))) return NULL;
        if (!__atomic_compare_exchange_n(&asn_py.package, &none, package, false,
                                         __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            Py_DECREF(package); /* the module is one, whoever imports it */
    }
    PyObject *function = PyObject_GetAttrString(package, name);
    PyObject *r = function ? PyObject_Vectorcall(function, args, nargs, NULL) : NULL;
    Py_XDECREF(function);
    return r;
}

/* support.name(self, v...), absent arguments from `defaults`. */
static PyObject *by_support(const char *name, PyObject *self, PyObject **v, int n,
                            PyObject *const *defaults) {
    PyObject *all[ASN_MAX_ARGS] = {self};
    for (int i = 0; i < n; i++)
        all[i + 1] = v[i] ? v[i] : defaults[i];
    return asn_support_call(name, all, (size_t)n + 1);
}

/* An array of exactly ndarray, or one of a list or a Python number, in that dtype; NULL
 * without an error: something else, or what says an error that the general way says, too.
 */
static PyObject *plain_array(PyObject *o, asn_dtype dtype) {
    if (asn_is_ndarray_exact(o)) return Py_NewRef(o);
    if (!PyList_CheckExact(o) && !PyFloat_CheckExact(o) && !PyLong_CheckExact(o))
        return NULL;
    PyObject *a = asn_asarray_dtype(o, dtype);
    if (!a) PyErr_Clear();
    return a;
}

/* self.flat[indices] = values at once, where both are plain and real; false, and nothing
 * is done: the general way's. */
static bool put_directly(PyObject *self, PyObject *indices, PyObject *values) {
    const asn_dtype dtype = asn_dtype_of(self);
    PyObject *at = plain_array(indices, ASN_DTYPE_NONE);
    PyObject *from = at ? plain_array(values, dtype) : NULL;
    bool done = false;
    asn_array cast;
    if (from && asn_dtype_of(from) == dtype) {
        done = asn_direct_put(asn_of(self), asn_of(at), asn_of(from));
    } else if (from && !asn_is_complex(asn_dtype_of(from))) {
        if (asn_copy(&cast, asn_of(from), dtype, 'C')) {
            asn_error_clear();
        } else {
            done = asn_direct_put(asn_of(self), asn_of(at), &cast);
            asn_array_fini(&cast);
        }
    }
    Py_XDECREF(at);
    Py_XDECREF(from);
    return done;
}

ASN_METHOD(put) {
    ASN_ARGS("put", "indices, values, mode='raise'");
    PyObject *defaults[3] = {NULL, NULL, Py_None};
    int mode = 0; /* raise */
    if (asn_mode_from_py(v[2], &mode) < 0) return NULL;
    if (mode != 0 || !put_directly(self, v[0], v[1]))
        return by_support("put", self, v, 3, defaults);
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* Choices that are all arrays of exactly ndarray, as they are; NULL (without an error):
 * not that simple, or the direct way declines it. */
static PyObject *choose_among(PyObject *self, PyObject *choices) {
    const asn_array *from[ASN_DIRECT_CHOICES];
    Py_ssize_t n = PySequence_Fast_GET_SIZE(choices);
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PySequence_Fast_GET_ITEM(choices, i);
        if (i == ASN_DIRECT_CHOICES || !asn_is_ndarray_exact(one)) return NULL;
        from[i] = asn_of(one);
    }
    asn_array result;
    return asn_direct_choose(&result, asn_of(self), (int)n, from)
               ? asn_ndarray_wrap(&result)
               : NULL;
}

/* choose_among of a list or tuple, which another thread may change meanwhile. */
static PyObject *choose_plain(PyObject *self, PyObject *choices) {
    if (!PyTuple_CheckExact(choices) && !PyList_CheckExact(choices)) return NULL;
    PyObject *items = asn_steady_items(choices);
    PyObject *r = items ? choose_among(self, items) : NULL;
    Py_XDECREF(items);
    return r;
}

/* NumPy's choose. Small calls, without out and mode, are computed at once (direct.h); all
 * others are composed of other operations in Python. */
ASN_METHOD(choose) {
    ASN_ARGS("choose", "*choices, out=None, mode='raise'");
    PyObject *defaults[3] = {NULL, Py_None, Py_None}, *tuple = v[0];
    int mode;
    if (asn_mode_from_py(v[2], &mode) < 0) {
        Py_DECREF(tuple);
        return NULL;
    }
    if (PyTuple_GET_SIZE(tuple) == 1) v[0] = PyTuple_GET_ITEM(tuple, 0);
    bool bare = (!v[1] || v[1] == Py_None) && !v[2];
    PyObject *r = bare ? choose_plain(self, v[0]) : NULL;
    if (!r && !PyErr_Occurred()) r = by_support("choose", self, v, 3, defaults);
    Py_DECREF(tuple);
    return v[1] && v[1] != Py_None ? r : asn_subclass_keep(r, self);
}

ASN_METHOD(compress) {
    ASN_ARGS("compress", "condition, axis=None, out=None");
    PyObject *defaults[3] = {NULL, Py_None, Py_None};
    PyObject *r = by_support("compress", self, v, 3, defaults);
    return v[2] && v[2] != Py_None ? r : asn_subclass_keep(r, self);
}

ASN_METHOD(byteswap) {
    ASN_ARGS("byteswap", "inplace=False");
    PyObject *defaults[1] = {Py_False};
    return by_support("byteswap", self, v, 1, defaults);
}
