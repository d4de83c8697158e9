/* L3 python: reductions: the shared argument handling of sum, prod, max, any, ..., and
 * mean and var.
 *
 * mean and var are compositions of operations of the table, with NumPy's accumulation
 * dtypes: integers in float64, float16 in float32, rounded once at the end. They stay in
 * C because their Python wrapper costs NumPy more than the arithmetic on small arrays.
 */
#include "reduce.h"

#include "graph/transient.h"

/* Options read from Python; `holds` are references to release. */
typedef struct {
    asn_reduce_options options;
    asn_operand initial;
    PyObject *initial_owner, *where_owner, *out_owner;
    asn_array *out;
    bool all_axes;
} reduce_state;

static void reduce_fini(reduce_state *s) {
    Py_XDECREF(s->initial_owner);
    Py_XDECREF(s->where_owner);
    Py_XDECREF(s->out_owner);
}

/* out=: None, an array, or a tuple of one. Returns the object itself, borrowed; NULL for
 * none. */
static PyObject *out_object(PyObject *out) {
    if (out && PyTuple_CheckExact(out) && PyTuple_GET_SIZE(out) == 1)
        out = PyTuple_GET_ITEM(out, 0);
    return out == Py_None ? NULL : out;
}

/* dtype= may drop imaginary parts. */
static int check_dtype(PyObject *array, asn_dtype dtype) {
    if (dtype == ASN_DTYPE_NONE) return 0;
    return asn_complex_check(asn_dtype_of(array), dtype);
}

static int reduce_init(reduce_state *s, asn_op op, PyObject *array,
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
    PyObject *out = out_object(a->out);
    s->options.now = s->all_axes && !s->options.keepdims && !out && asn_py.numpy_scalars;
    return out ? asn_out_from_py(out, &s->out, &s->out_owner) : 0;
}

static PyObject *out_result(const reduce_state *s, asn_op op, const asn_reduce_args *a,
                            asn_status status) {
    if (status == ASN_OK && s->out_owner) status = asn_array_sync(s->out);
    if (status != ASN_OK) return asn_raise(status);
    return asn_fp_check_as("reduce", op) < 0 ? NULL : Py_NewRef(out_object(a->out));
}

static inline bool is_default(PyObject *o) {
    return !o || o == Py_None || o == asn_py.no_value;
}

/* All axes and nothing else asked for: the result is a scalar. */
static inline bool is_plain(const asn_reduce_args *a) {
    return asn_py.numpy_scalars && (!a->axis || a->axis == Py_None) &&
           is_default(a->dtype) && is_default(a->out) &&
           (is_default(a->keepdims) || a->keepdims == Py_False) &&
           asn_is_no_value(a->initial) && (is_default(a->where) || a->where == Py_True);
}

static PyObject *scalar_result(const asn_scalar *s, asn_op op) {
    return ASN_UNLIKELY(asn_fp_check_as("reduce", op) < 0) ? NULL
                                                           : asn_scalar_to_numpy(s);
}

/* asn_ndarray_finish for a result of a ufunc's method. */
static PyObject *method_result(asn_ndarray *r, const char *method, asn_op op,
                               asn_status status) {
    if (ASN_LIKELY(status == ASN_OK) && ASN_UNLIKELY(asn_fp_check_as(method, op) < 0)) {
        Py_DECREF(r);
        return NULL;
    }
    return asn_ndarray_finish(r, status);
}

/* A run of `call` on a subclass's elements, as NumPy's ufuncs wrap it. */
#define OF_SUBCLASS(call, out)                                                           \
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array))) {                                    \
        PyObject *plain = asn_subclass_plain(array), *made = plain ? call : NULL;        \
        Py_XDECREF(plain);                                                               \
        return asn_subclass_wrap(made, array, out);                                      \
    }

/* op.method of an array whose class brings an __array_ufunc__: NumPy's methods call the
 * ufunc's, which asks it. 1 and *result when it did. */
static int by_override(asn_op op, const char *method, PyObject *array,
                       const asn_reduce_args *a, PyObject **result) {
    static const char *const names[] = {"axis",     "dtype",   "out",
                                        "keepdims", "initial", "where"};
    PyObject *const given[] = {
        a->axis ? a->axis : Py_None, a->dtype, a->out, a->keepdims, a->initial, a->where};
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

#define BY_OVERRIDE(op, method, a)                                                       \
    if (ASN_UNLIKELY(!asn_is_ndarray_exact(array))) {                                    \
        PyObject *made;                                                                  \
        int taken = by_override(op, method, array, a, &made);                            \
        if (taken) return taken < 0 ? NULL : made;                                       \
    }

PyObject *asn_reduce_run(asn_op op, PyObject *array, const asn_reduce_args *a) {
    BY_OVERRIDE(op, "reduce", a)
    OF_SUBCLASS(asn_reduce_run(op, plain, a), a->out)
    reduce_state s;
    asn_scalar value;
    PyObject *result = NULL;
    if (is_plain(a) && asn_direct_reduce(op, asn_of(array), &value))
        return scalar_result(&value, op);
    if (is_plain(a) && (op == ASN_OP_LOGICAL_OR || op == ASN_OP_LOGICAL_AND)) {
        bool truth, done;
        ASN_PY_TRY(asn_truth_reduce(op, asn_of(array), &truth, &done));
        value = asn_scalar_bool(truth);
        if (done) return scalar_result(&value, op);
    }
    if (reduce_init(&s, op, array, a) < 0) goto done;
    if (s.out) {
        result = out_result(&s, op, a,
                            asn_ufunc_reduce(op, asn_of(array), s.out, NULL, &s.options));
    } else {
        asn_ndarray *r = asn_ndarray_alloc();
        if (a->temporary) asn_transient_name(asn_of(array));
        if (r)
            result = method_result(
                r, "reduce", op,
                asn_ufunc_reduce(op, asn_of(array), NULL, &r->array, &s.options));
        if (a->temporary) asn_transient_name(NULL);
    }
done:
    reduce_fini(&s);
    return result;
}

PyObject *asn_accumulate_run(asn_op op, PyObject *array, PyObject *axis, PyObject *dtype,
                             PyObject *out, bool flatten_default) {
    BY_OVERRIDE(op, "accumulate",
                (&(asn_reduce_args){.axis = axis, .dtype = dtype, .out = out}))
    OF_SUBCLASS(asn_accumulate_run(op, plain, axis, dtype, out, flatten_default), out)
    asn_dtype loop;
    PyObject *self = Py_NewRef(array), *owner = NULL, *result = NULL;
    asn_array *target = NULL;
    int which = 0;
    out = out_object(out);
    if (asn_dtype_from_py(dtype, &loop) < 0 || check_dtype(array, loop) < 0) goto done;
    if (flatten_default && (!axis || axis == Py_None)) {
        Py_SETREF(self, asn_flatten(self, 'C', false));
        if (!self) goto done;
    } else if (flatten_default && asn_of(self)->layout.ndim == 0) {
        if (asn_axis_from_py(axis, 1, &which) < 0) goto done;
        Py_SETREF(self, asn_flatten(self, 'C', false));
        if (!self) goto done;
    } else if (asn_of(self)->layout.ndim == 0) {
        PyErr_SetString(PyExc_TypeError, "cannot accumulate on a scalar");
        goto done;
    } else if (axis && asn_axis_from_py(axis, asn_of(self)->layout.ndim, &which) < 0) {
        goto done;
    }
    if (out && asn_out_from_py(out, &target, &owner) < 0) goto done;
    if (target) {
        asn_status status =
            asn_ufunc_accumulate(op, asn_of(self), which, loop, target, NULL);
        if (status == ASN_OK && owner) status = asn_array_sync(target);
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

/* ---- mean, var, std */

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
static PyObject *deliver(asn_array *r, asn_dtype result, const reduce_state *s,
                         const asn_reduce_args *a) {
    if (s->out) {
        asn_operand source = {r, {0}, 0};
        asn_status status = asn_assign(s->out, &source, ASN_CASTING_UNSAFE, NULL);
        asn_array_fini(r);
        return out_result(s, ASN_OP_ADD, a, status);
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

PyObject *asn_mean_run(PyObject *array, const asn_reduce_args *a) {
    OF_SUBCLASS(asn_mean_run(plain, a), a->out)
    reduce_state s;
    asn_scalar value;
    PyObject *object = NULL;
    if (is_plain(a) && asn_direct_mean(asn_of(array), &value))
        return scalar_result(&value, ASN_OP_ADD);
    if (check_zero_d(array, a->axis) < 0) return NULL;
    if (reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
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
    reduce_fini(&s);
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
    OF_SUBCLASS(asn_var_run(plain, a, ddof_object, mean_object, root), a->out)
    reduce_state s;
    PyObject *object = NULL, *mean = NULL;
    asn_operand ddof;
    asn_scalar value;
    PyObject *ddof_owner = NULL;
    if (is_plain(a) && is_default(mean_object) && plain_ddof(ddof_object) >= 0 &&
        asn_direct_variance(asn_of(array), plain_ddof(ddof_object), root, &value))
        return scalar_result(&value, ASN_OP_ADD);
    if (is_plain(a) && is_default(mean_object) && plain_ddof(ddof_object) >= 0) {
        bool done;
        asn_status status = asn_variance_whole(
            asn_of(array), (int64_t)plain_ddof(ddof_object), root, &value, &done);
        if (status != ASN_OK) return asn_raise(status);
        if (done) return scalar_result(&value, ASN_OP_ADD);
    }
    if (check_zero_d(array, a->axis) < 0) return NULL;
    weak_int(&ddof, 0);
    if (reduce_init(&s, ASN_OP_ADD, array, a) < 0) goto done;
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
    reduce_fini(&s);
    return object;
}

/* ---- argmax, argmin */

static PyObject *position(int64_t at) {
    asn_scalar s = asn_scalar_int(at);
    return asn_scalar_to_numpy(&s);
}

PyObject *asn_argreduce_run(PyObject *array, PyObject *axis, PyObject *out,
                            PyObject *keepdims, bool maximum) {
    int which = -1, ndim = asn_of(array)->layout.ndim;
    bool keep = false;
    int64_t at;
    if (is_default(axis) && is_default(out) && is_default(keepdims) &&
        asn_py.numpy_scalars && asn_direct_arg(asn_of(array), !maximum, &at))
        return position(at);
    if (axis && axis != Py_None) {
        int64_t value;
        if (asn_int64_from_py(axis, &value) < 0) return NULL;
        if (!(ndim == 0 && (value == 0 || value == -1)))
            ASN_PY_TRY(asn_axis_normalize(value, ndim, &which));
    }
    if (!asn_is_no_value(keepdims) && asn_bool_from_py(keepdims, &keep) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_argreduce(&r->array, asn_of(array), which, keep, maximum);
    out = out_object(out);
    if (status != ASN_OK || !out)
        return asn_subclass_keep(asn_ndarray_finish(r, status), array);
    asn_array *target;
    PyObject *owner;
    PyObject *result = NULL;
    if (asn_out_from_py(out, &target, &owner) == 0) {
        if (!asn_layout_same_shape(&target->layout, &r->array.layout)) {
            PyErr_SetString(PyExc_ValueError, "output array does not match result of "
                                              "ndarray.argmax.");
        } else {
            asn_operand source = {&r->array, {0}, 0};
            status = asn_assign(target, &source, ASN_CASTING_SAME_KIND, NULL);
            if (status == ASN_OK && owner) status = asn_array_sync(target);
            result = status == ASN_OK ? Py_NewRef(out) : asn_raise(status);
        }
        Py_XDECREF(owner);
    }
    Py_DECREF(r);
    return result;
}
