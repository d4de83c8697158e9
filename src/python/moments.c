/* L3 python: mean, var and std.
 *
 * They are compositions of operations of the table, with NumPy's accumulation dtypes:
 * integers in float64, float16 in float32, rounded once at the end. They stay in C
 * because their Python wrapper costs NumPy more than the arithmetic on small arrays.
 */
#include "graph/transient.h"
#include "methods.h"
#include "reduce_state.h"

/* The dtype to accumulate in and the dtype of the result. */
static void mean_dtypes(asn_dtype in, asn_dtype wish, asn_dtype *sum, asn_dtype *result) {
    *sum = *result = wish;
    if (wish != ASN_DTYPE_NONE) return;
    *sum = *result = in;
    if (!asn_is_inexact(in)) *sum = *result = ASN_F64;
    if (asn_is_half(in)) *sum = ASN_F32;
}

/* How many elements go into each result: a number, or with where= an array of them. */
typedef struct {
    int64_t number;
    asn_array counts; /* with where: int64, shaped as the reduction */
    bool varies;
} item_count;

static asn_status count_items(item_count *n, const asn_array *a,
                              const asn_reduce_options *o) {
    n->varies = o->where != NULL;
    n->number = 1;
    for (int d = 0; d < a->layout.ndim; d++)
        if (o->axes >> d & 1) n->number *= a->layout.shape[d];
    if (!n->varies) return ASN_OK;
    asn_layout stretched;
    ASN_TRY(asn_view_broadcast(&stretched, &o->where->layout, a->layout.ndim,
                               a->layout.shape));
    asn_array mask;
    asn_array_view(&mask, o->where, &stretched);
    asn_reduce_options counting = {
        .axes = o->axes, .keepdims = o->keepdims, .dtype = ASN_I64, .now = o->now};
    asn_status status = asn_ufunc_reduce(ASN_OP_ADD, &mask, NULL, &n->counts, &counting);
    asn_array_fini(&mask);
    return status;
}

static void weak_int(asn_operand *o, int64_t value) {
    memset(o, 0, sizeof *o);
    o->weak = 'i';
    o->scalar.dtype = ASN_I64;
    memcpy(o->scalar.bytes, &value, sizeof value);
}

/* target /= count (minus ddof, not below 0), in place. */
static asn_status divide_by(asn_array *target, const item_count *n,
                            const asn_operand *ddof) {
    asn_ufunc_options options = {ASN_CASTING_UNSAFE, ASN_DTYPE_NONE, 'K', NULL};
    asn_operand in[2] = {{target, {0}, 0}, {NULL, {0}, 0}};
    asn_array left, limited;
    if (!n->varies) {
        double count = (double)n->number;
        if (ddof) {
            asn_scalar number;
            ASN_TRY(asn_scalar_cast(&ddof->scalar, ASN_F64, &number));
            double d;
            memcpy(&d, number.bytes, sizeof d);
            count = count - d < 0 ? 0 : count - d;
        }
        in[1].weak = 'f';
        in[1].scalar.dtype = ASN_F64;
        memcpy(in[1].scalar.bytes, &count, sizeof count);
        return asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    }
    if (!ddof) {
        in[1].array = &n->counts;
        return asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    }
    asn_operand less[2] = {{&n->counts, {0}, 0}, *ddof}, floor[2];
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, less, NULL, &left, &options));
    floor[0] = (asn_operand){&left, {0}, 0};
    weak_int(&floor[1], 0);
    asn_status status = asn_ufunc_call(ASN_OP_MAXIMUM, floor, NULL, &limited, &options);
    asn_array_fini(&left);
    ASN_TRY(status);
    in[1].array = &limited;
    status = asn_ufunc_call(ASN_OP_DIVIDE, in, target, NULL, &options);
    asn_array_fini(&limited);
    return status;
}

static int warn_empty(const item_count *n, int64_t ddof, const char *message) {
    if (n->varies || n->number > ddof) return 0;
    return PyErr_WarnEx(PyExc_RuntimeWarning, message, 1);
}

/* *r of dtype `sum` into out, or into a new object of dtype `result`. Takes *r. */
static PyObject *deliver(asn_array *r, asn_dtype result, const asn_reduce_state *s,
                         const asn_reduce_args *a) {
    if (s->out) {
        asn_operand source = {r, {0}, 0};
        asn_status status = asn_assign(s->out, &source, ASN_CASTING_UNSAFE, NULL);
        asn_array_fini(r);
        return asn_reduce_out(s, ASN_OP_ADD, a, status);
    }
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

/* mean and var count along their axes: unlike sum they refuse an axis of a 0-d array. */
static int check_zero_d(PyObject *array, PyObject *axis) {
    int which;
    if (asn_of(array)->layout.ndim || !axis || axis == Py_None || PyTuple_Check(axis))
        return 0;
    return asn_axis_from_py(axis, 0, &which);
}

/* By the steps that the class of `array` is asked about (_asked.py); `more` are what the
 * function has beside asn_reduce_args, in its order. */
static PyObject *by_steps(const char *function, PyObject *array, const asn_reduce_args *a,
                          PyObject *const *more, int count) {
    PyObject *no = Py_False, *yes = Py_True, *none = Py_None;
    PyObject *args[9] = {array,
                         asn_is_default(a->axis) ? none : a->axis,
                         asn_is_default(a->dtype) ? none : a->dtype,
                         asn_is_default(a->out) ? none : asn_out_object(a->out),
                         asn_is_default(a->keepdims) ? no : a->keepdims,
                         asn_is_default(a->where) ? yes : a->where};
    for (int i = 0; i < count; i++)
        args[6 + i] = more[i];
    return asn_support_call(function, args, 6 + (size_t)count);
}

PyObject *asn_mean_run(PyObject *array, const asn_reduce_args *a) {
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array)) && asn_ufunc_is_overridden(array))
        return by_steps("asked_mean", array, a, NULL, 0);
    ASN_OF_SUBCLASS(asn_mean_run(plain, a), a->out)
    asn_reduce_state s;
    asn_scalar value;
    PyObject *object = NULL;
    if (asn_reduce_is_plain(a) && asn_direct_mean(asn_of(array), &value))
        return asn_reduce_scalar(&value, ASN_OP_ADD);
    if (check_zero_d(array, a->axis) < 0) return NULL;
    if (asn_reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
    asn_dtype sum, result, wish = s.options.dtype;
    mean_dtypes(asn_dtype_of(array), wish, &sum, &result);
    s.options.dtype = sum;
    item_count n;
    asn_status status = count_items(&n, asn_of(array), &s.options);
    if (status != ASN_OK) {
        asn_raise(status);
        goto done;
    }
    asn_array total;
    if (a->temporary) asn_transient_name(asn_of(array));
    if (warn_empty(&n, 0, "Mean of empty slice.") == 0) {
        status = asn_ufunc_reduce(ASN_OP_ADD, asn_of(array), NULL, &total, &s.options);
        if (status == ASN_OK) {
            status = divide_by(&total, &n, NULL);
            if (status == ASN_OK)
                object = deliver(&total, result, &s, a);
            else
                asn_array_fini(&total);
        }
        if (status != ASN_OK) asn_raise(status);
    }
    if (a->temporary) asn_transient_name(NULL);
    if (n.varies) asn_array_fini(&n.counts);
done:
    asn_reduce_fini(&s);
    return object;
}

/* *out = |a - mean|**2, real. */
static asn_status squared_deviation(const asn_array *a, const asn_array *mean,
                                    asn_array *out) {
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_operand in[2] = {{a, {0}, 0}, {mean, {0}, 0}};
    asn_array x;
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, in, NULL, &x, &options));
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    asn_operand self = {&x, {0}, 0};
    asn_status status;
    if (!asn_is_complex((asn_dtype)x.layout.dtype)) {
        status = asn_ufunc_call(ASN_OP_SQUARE, &self, NULL, out, &plain);
    } else {
        asn_array conjugate, product;
        status = asn_ufunc_call(ASN_OP_CONJUGATE, &self, NULL, &conjugate, &plain);
        if (status == ASN_OK) {
            asn_operand pair[2] = {{&x, {0}, 0}, {&conjugate, {0}, 0}};
            status = asn_ufunc_call(ASN_OP_MULTIPLY, pair, NULL, &product, &plain);
            asn_array_fini(&conjugate);
        }
        if (status == ASN_OK) {
            asn_operand whole = {&product, {0}, 0};
            status = asn_ufunc_call(ASN_OP_REAL, &whole, NULL, out, &plain);
            asn_array_fini(&product);
        }
    }
    asn_array_fini(&x);
    return status;
}

/* The mean over the reduced axes, kept as extent 1. */
static asn_status kept_mean(const asn_array *a, const asn_reduce_options *o,
                            asn_dtype dtype, asn_array *out) {
    asn_reduce_options keep = *o;
    keep.keepdims = true;
    keep.dtype = dtype;
    item_count n;
    ASN_TRY(count_items(&n, a, &keep));
    asn_status status = asn_ufunc_reduce(ASN_OP_ADD, a, NULL, out, &keep);
    if (status == ASN_OK) {
        status = divide_by(out, &n, NULL);
        if (status != ASN_OK) asn_array_fini(out);
    }
    if (n.varies) asn_array_fini(&n.counts);
    return status;
}

static asn_status variance(const asn_array *a, const asn_array *given_mean,
                           const asn_reduce_options *o, asn_dtype dtype,
                           const item_count *n, const asn_operand *ddof, bool root,
                           asn_array *out) {
    asn_array mean, deviation;
    if (given_mean)
        ASN_TRY(asn_array_share(&mean, given_mean));
    else
        ASN_TRY(kept_mean(a, o, dtype, &mean));
    asn_status status = squared_deviation(a, &mean, &deviation);
    asn_array_fini(&mean);
    ASN_TRY(status);
    asn_reduce_options sum = *o;
    /* The deviations of a complex array are real: its own dtype says nothing about their
     * sum. */
    if (o->dtype == ASN_DTYPE_NONE) sum.dtype = ASN_DTYPE_NONE;
    status = asn_ufunc_reduce(ASN_OP_ADD, &deviation, NULL, out, &sum);
    asn_array_fini(&deviation);
    ASN_TRY(status);
    status = divide_by(out, n, ddof);
    if (status == ASN_OK && root) {
        asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
        asn_operand self = {out, {0}, 0};
        status = asn_ufunc_call(ASN_OP_SQRT, &self, out, NULL, &options);
    }
    if (status != ASN_OK) asn_array_fini(out);
    return status;
}

/* ddof= as a small number; -1: something else. */
static double plain_ddof(PyObject *ddof) {
    if (asn_is_no_value(ddof)) return 0;
    if (!PyLong_CheckExact(ddof)) return -1;
    double value = PyLong_AsDouble(ddof);
    if (value == -1 && PyErr_Occurred()) PyErr_Clear();
    return value;
}

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
    PyObject *object = NULL, *mean = NULL;
    asn_operand ddof;
    asn_scalar value;
    PyObject *ddof_owner = NULL;
    if (asn_reduce_is_plain(a) && asn_is_default(mean_object) &&
        plain_ddof(ddof_object) >= 0 &&
        asn_direct_variance(asn_of(array), plain_ddof(ddof_object), root, &value))
        return asn_reduce_scalar(&value, ASN_OP_ADD);
    if (asn_reduce_is_plain(a) && asn_is_default(mean_object) &&
        plain_ddof(ddof_object) >= 0) {
        bool done;
        asn_status status = asn_variance_whole(
            asn_of(array), (int64_t)plain_ddof(ddof_object), root, &value, &done);
        if (status != ASN_OK) return asn_raise(status);
        if (done) return asn_reduce_scalar(&value, ASN_OP_ADD);
    }
    if (check_zero_d(array, a->axis) < 0) return NULL;
    weak_int(&ddof, 0);
    if (asn_reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
    if (!asn_is_no_value(ddof_object)) {
        if (asn_operand_from_py(ddof_object, &ddof, &ddof_owner) < 0) goto done;
        if (ddof.array) {
            PyErr_SetString(PyExc_TypeError, "ddof must be a number");
            goto done;
        }
    }
    if (!asn_is_no_value(mean_object) && !(mean = asn_asarray(mean_object))) goto done;
    asn_dtype sum, result;
    /* Unlike mean, var has no wider accumulator for float16; a dtype asked for stays as
     * it is. */
    sum = result = s.options.dtype;
    if (sum == ASN_DTYPE_NONE) {
        sum = asn_is_inexact(asn_dtype_of(array)) ? asn_dtype_of(array) : ASN_F64;
        result = asn_real_dtype(sum);
    }
    item_count n;
    asn_scalar floor;
    asn_status status = asn_scalar_cast(&ddof.scalar, ASN_I64, &floor);
    if (status == ASN_OK) status = count_items(&n, asn_of(array), &s.options);
    if (status != ASN_OK) {
        asn_raise(status);
        goto done;
    }
    if (warn_empty(&n, *(const int64_t *)floor.bytes,
                   "Degrees of freedom <= 0 for slice") == 0) {
        asn_array out;
        status = variance(asn_of(array), mean ? asn_of(mean) : NULL, &s.options, sum, &n,
                          &ddof, root, &out);
        object = status == ASN_OK ? deliver(&out, result, &s, a) : asn_raise(status);
    }
    if (n.varies) asn_array_fini(&n.counts);
done:
    Py_XDECREF(mean);
    Py_XDECREF(ddof_owner);
    asn_reduce_fini(&s);
    return object;
}
