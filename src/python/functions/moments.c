/* L3 python: mean, var and std (graph/operators/moments.h) with NumPy's arguments. They
 * stay in C because their Python wrapper costs NumPy more than the arithmetic on small
 * arrays.
 *
 * Each has up to three ways, of which the general one is last: a number at once of a
 * small array (graph/small/direct.h), var of all elements in one pass, and the
 * composition of NumPy's own steps (sum over count; sum of squared differences), which
 * gives its dtypes, warnings and roundings. A subclass that overrides ufuncs is asked
 * about each of those steps, in Python. */
#include "graph/operators/moments.h"
#include "graph/ufunc/operands.h"

#include "graph/trace/transient.h"
#include "python/ndarray/methods.h"
#include "python/ufunc/reduce_state.h"

/* NumPy's RuntimeWarning where no more elements than ddof are counted (0 for a mean): the
 * result is then NaN or infinite. Counts that vary (where=) do not warn here. -1: it is
 * an error. */
static int warn_empty(const asn_item_count *n, int64_t ddof, const char *message) {
    if (n->varies || n->number > ddof) return 0;
    return PyErr_WarnEx(PyExc_RuntimeWarning, message, 1);
}

/* The division of a number by no elements is not called `divide`, as one of arrays, but
 * as NumPy calls it, which divides two of its scalars. -1: its exception is an error. */
static int report_no_elements(const asn_array *r, const asn_item_count *n, int64_t ddof) {
    if (r->layout.ndim || n->varies || n->number > ddof) return 0;
    ASN_PY_TRY_INT(asn_synchronize_free());
    const char *name = NULL;
    uint32_t flags = asn_fp_take(&name);
    return flags ? asn_fp_report(flags, "scalar divide") : 0;
}

/* *r as a new object of dtype `result` (mean of float16 sums in float32). Takes *r. */
static PyObject *deliver(asn_array *r, asn_dtype result) {
    asn_ndarray *object = asn_ndarray_alloc();
    if (!object || (asn_dtype)r->layout.dtype == result) {
        if (!object)
            asn_array_fini(r);
        else
            asn_array_move(&object->array, r);
        return object ? asn_ndarray_finish(object, ASN_OK) : NULL;
    }
    asn_status status = asn_copy(&object->array, r, result, 'K');
    asn_array_fini(r);
    return asn_ndarray_finish(object, status);
}

/* mean and var count along their axes: unlike sum they refuse an axis of a 0-d array, and
 * a mask that is None, which cannot be counted. -1: AxisError, TypeError. */
static int check_counted(PyObject *array, const asn_reduce_args *a) {
    int which;
    if (a->where == Py_None) {
        PyErr_SetString(PyExc_TypeError, "where= takes truth values, got None");
        return -1;
    }
    if (asn_of(array)->layout.ndim || !a->axis || a->axis == Py_None ||
        PyTuple_Check(a->axis))
        return 0;
    return asn_axis_from_py(a->axis, 0, &which);
}

/* By the steps that the class of `array` is asked about (asnumpy/_asked.py); `more` are
 * what the function has beside asn_reduce_args, in its order. */
static PyObject *by_steps(const char *function, PyObject *array, const asn_reduce_args *a,
                          PyObject *const *more, int count) {
    PyObject *no = Py_False, *yes = Py_True, *none = Py_None;
    PyObject *args[9] = {array,
                         asn_is_default(a->axis) ? none : a->axis,
                         asn_is_default(a->dtype) ? none : a->dtype,
                         asn_is_default(a->out) ? none : asn_out_object(a->out),
                         asn_is_default(a->keepdims) ? no : a->keepdims,
                         asn_is_no_value(a->where) ? yes : a->where};
    for (int i = 0; i < count; i++)
        args[6 + i] = more[i];
    return asn_support_call(function, args, 6 + (size_t)count);
}

/* (Contract in ufunc/reduce.h.) The steps: a subclass's own, one of a subclass that does
 * not interfere, a small array's at once, then sum over count. */
PyObject *asn_mean_run(PyObject *array, const asn_reduce_args *a) {
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array)) && asn_ufunc_is_overridden(array))
        return by_steps("asked_mean", array, a, NULL, 0);
    ASN_OF_SUBCLASS(asn_mean_run(plain, a), a->out)
    asn_reduce_state s;
    asn_scalar value;
    PyObject *object = NULL;
    if (asn_reduce_is_plain(a, asn_of(array)) && asn_direct_mean(asn_of(array), &value))
        return asn_reduce_scalar(&value, ASN_OP_ADD);
    if (check_counted(array, a) < 0) return NULL;
    if (asn_reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
    asn_dtype sum, result, wish = s.options.dtype;
    asn_mean_dtypes(asn_dtype_of(array), wish, &sum, &result);
    s.options.dtype = sum;
    asn_item_count n;
    asn_status status = asn_item_count_init(&n, asn_of(array), &s.options);
    if (status != ASN_OK) {
        asn_raise(status);
        goto done;
    }
    asn_array total;
    /* The core may then fuse what makes the array with the sum, and not store it. */
    if (a->temporary) asn_transient_name(asn_of(array));
    if (warn_empty(&n, 0, "Mean of empty slice") == 0) {
        status = asn_mean(asn_of(array), &s.options, &n, s.out, &total);
        /* The sum's dtype is wider than the result's where NumPy's is. */
        if (s.out)
            object = asn_reduce_out(&s, ASN_OP_ADD, a, status);
        else if (status != ASN_OK)
            asn_raise(status);
        else if (report_no_elements(&total, &n, 0) == 0)
            object = deliver(&total, result);
        else
            asn_array_fini(&total);
    }
    if (a->temporary) asn_transient_name(NULL);
    asn_item_count_fini(&n);
done:
    asn_reduce_fini(&s);
    return object;
}

/* ddof= as a number of its own, so that the quick ways may be tried; -1: something else
 * (or a negative one), for the general way. */
static double plain_ddof(PyObject *ddof) {
    if (asn_is_no_value(ddof)) return 0;
    if (!PyLong_CheckExact(ddof)) return -1;
    double value = PyLong_AsDouble(ddof);
    if (value == -1 && PyErr_Occurred()) PyErr_Clear();
    return value;
}

/* (Contract in ufunc/reduce.h.) root: the standard deviation. mean= is NumPy's: a mean
 * that the caller has already, of the shape that keepdims=True gives. */
PyObject *asn_var_run(PyObject *array, const asn_reduce_args *a, PyObject *ddof_object,
                      PyObject *mean_object, bool root) {
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array)) && asn_ufunc_is_overridden(array)) {
        PyObject *more[] = {asn_is_no_value(ddof_object) ? Py_None : ddof_object,
                            asn_is_no_value(mean_object) ? Py_None : mean_object,
                            root ? Py_True : Py_False};
        return by_steps("asked_var", array, a, more, 3);
    }
    ASN_OF_SUBCLASS(asn_var_run(plain, a, ddof_object, mean_object, root), a->out)
    asn_reduce_state s;
    PyObject *object = NULL;
    asn_operand ddof, mean;
    asn_scalar value;
    PyObject *ddof_owner = NULL, *mean_owner = NULL;
    if (asn_reduce_is_plain(a, asn_of(array)) && asn_is_default(mean_object) &&
        plain_ddof(ddof_object) >= 0 &&
        asn_direct_variance(asn_of(array), plain_ddof(ddof_object), root, &value))
        return asn_reduce_scalar(&value, ASN_OP_ADD);
    /* All elements of a larger array: one pass where the core has it, to a number. */
    if (asn_reduce_is_plain(a, asn_of(array)) && asn_is_default(mean_object) &&
        plain_ddof(ddof_object) >= 0) {
        bool done;
        asn_status status = asn_variance_whole(
            asn_of(array), (int64_t)plain_ddof(ddof_object), root, &value, &done);
        if (status != ASN_OK) return asn_raise(status);
        if (done) return asn_reduce_scalar(&value, ASN_OP_ADD);
    }
    if (check_counted(array, a) < 0) return NULL;
    ddof = asn_operand_int(0);
    if (asn_reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
    if (!asn_is_no_value(ddof_object)) {
        if (asn_operand_from_py(ddof_object, &ddof, &ddof_owner) < 0) goto done;
        if (ddof.array) {
            PyErr_SetString(PyExc_TypeError, "ddof must be a number");
            goto done;
        }
    }
    /* ddof= is a number, and stays one: a fraction is allowed (NumPy). */
    const bool given = !asn_is_default(mean_object);
    if (given && asn_operand_from_py(mean_object, &mean, &mean_owner) < 0) goto done;
    asn_dtype sum = asn_variance_dtype(asn_dtype_of(array), s.options.dtype);
    asn_item_count n;
    asn_scalar floor;
    /* NumPy compares the count with ddof, which may be a fraction: its whole part
     * decides. */
    asn_status status = asn_scalar_cast(&ddof.scalar, ASN_I64, &floor);
    if (status == ASN_OK) status = asn_item_count_init(&n, asn_of(array), &s.options);
    if (status != ASN_OK) {
        asn_raise(status);
        goto done;
    }
    if (warn_empty(&n, *(const int64_t *)floor.bytes,
                   "Degrees of freedom <= 0 for slice") == 0) {
        asn_array out;
        status = asn_variance(asn_of(array), given ? &mean : NULL, &s.options, sum, &n,
                              &ddof, root, s.out, &out);
        if (s.out)
            object = asn_reduce_out(&s, ASN_OP_ADD, a, status);
        else if (status != ASN_OK)
            asn_raise(status);
        else if (report_no_elements(&out, &n, *(const int64_t *)floor.bytes) == 0)
            object = deliver(&out, asn_layout_dtype(&out.layout));
        else
            asn_array_fini(&out);
    }
    asn_item_count_fini(&n);
done:
    Py_XDECREF(mean_owner);
    Py_XDECREF(ddof_owner);
    asn_reduce_fini(&s);
    return object;
}
