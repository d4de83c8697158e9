/* L3 python: implementations that programs put in a ufunc's place.
 *
 * While a ufunc has some (asnumpy.ops.register, replace=True), its object holds what
 * finds one for a dtype and a device, and a call asks that first. What is replaced is the
 * computing alone: operands are read, promoted and cast as the built-in does it, and the
 * result is delivered as its own would be, so that out=, where=, dtype=, casting= and the
 * operators in place mean what they mean. An implementation is called with arrays of the
 * dtypes of the loop, each of its own shape, and makes new arrays of the shape to which
 * those broadcast and of the loop's result dtype. A call that the built-in refuses is
 * left to it: it has the messages.
 *
 * Nothing is paid while nothing is replaced. The short ways of calls ask whether an
 * operand's type is exactly `asn_py.quick`; that is ndarray, and no type while any ufunc
 * is replaced, so that all calls come to the general way, which looks. What is not
 * replaced goes back from there.
 *
 * In its thread an implementation reaches the built-in under the ufunc's own name, and
 * replaced ufuncs under others: `running` has the ufuncs whose implementations run. */
#include "python/ufunc/ufunc_call.h"

#include "array/broadcast.h"

/* The innermost first; each is in the stack of the call that it stands for. */
typedef struct frame {
    const asn_ufunc *u;
    struct frame *below;
} frame;
static _Thread_local frame *running;

static bool is_running(const asn_ufunc *u) {
    for (const frame *f = running; f; f = f->below)
        if (f->u == u) return true;
    return false;
}

/* (Contract in ufunc.h.) The types and counts are the process's; the caller (registry)
 * holds a lock of its own, so that two changes never meet. */
int asn_ufunc_replace(PyObject *ufunc, PyObject *find) {
    asn_ufunc *u = (asn_ufunc *)ufunc;
    if (u->kind == ASN_UFUNC_CORE) {
        PyErr_Format(PyExc_ValueError,
                     "%s is a generalised ufunc, which has no replacement; ufuncs of "
                     "elements have",
                     u->name);
        return -1;
    }
    PyObject *before;
    Py_BEGIN_CRITICAL_SECTION(ufunc);
    before = u->replacement;
    ASN_WRITE(u->replacement, Py_XNewRef(find));
    Py_END_CRITICAL_SECTION();
    asn_py.replaced += (find != NULL) - (before != NULL);
    ASN_WRITE(asn_py.replaced_version, asn_py.replaced_version + 1);
    ASN_WRITE(asn_py.quick, asn_py.replaced ? NULL : asn_py.ndarray);
    Py_XDECREF(before);
    return 0;
}

/* (Contract in ufunc.h.) */
PyObject *asn_ufunc_call_beside(PyObject *ufunc, PyObject *function, PyObject *args,
                                PyObject *kwargs) {
    frame here = {(const asn_ufunc *)ufunc, running};
    running = &here;
    PyObject *result = PyObject_Call(function, args, kwargs);
    running = here.below;
    return result;
}

/* Of a call of numbers alone there is no array that something is registered for. */
static bool has_array(PyObject *const *args, int nin) {
    for (int i = 0; i < nin; i++)
        if (!PyArray_IsAnyScalar(args[i])) return true;
    return false;
}

/* What a valid call computes. */
typedef struct {
    asn_dtype loop;
    int ndim; /* of the operands, broadcast */
    int64_t shape[ASN_MAX_DIMS];
    int full_ndim; /* with where= */
    int64_t full_shape[ASN_MAX_DIMS];
} plan;

static asn_op row_of(const asn_ufunc *u, int k) {
    return (asn_op)(k ? u->op2 : u->op);
}

/* The dtypes and shapes of a call; false: one that the built-in refuses. */
static bool plan_call(const asn_ufunc *u, const asn_ufunc_state *c, plan *p) {
    const asn_layout *layouts[4];
    asn_dtype result;
    int n = 0;
    if (asn_ufunc_result_dtype((asn_op)u->op, c->in, &c->options, &p->loop, &result) !=
        ASN_OK)
        return false;
    for (int i = 0; i < u->nin; i++)
        if (c->in[i].array) layouts[n++] = &c->in[i].array->layout;
    if (!n || asn_broadcast_shape(n, layouts, &p->ndim, p->shape) != ASN_OK) return false;
    if (c->options.where) layouts[n++] = &c->options.where->layout;
    if (asn_broadcast_shape(n, layouts, &p->full_ndim, p->full_shape) != ASN_OK)
        return false;
    for (int k = 0; k < u->nout; k++) {
        if (!c->out[k]) continue;
        const asn_layout *l = &c->out[k]->layout;
        int64_t strides[ASN_MAX_DIMS];
        for (int i = 0; i < n; i++)
            if (!asn_broadcast_strides(layouts[i], l->ndim, l->shape, strides))
                return false;
        if (!asn_can_cast(asn_op_result(row_of(u, k), p->loop), (asn_dtype)l->dtype,
                          c->options.casting))
            return false;
    }
    return true;
}

/* The function for the loop's dtype and the first array's device, a new reference; NULL
 * without an exception: the built-in is. */
static PyObject *choose(asn_ufunc *u, PyObject *const *args, const asn_ufunc_state *c,
                        asn_dtype loop) {
    PyObject *find, *first = NULL;
    Py_BEGIN_CRITICAL_SECTION((PyObject *)u);
    find = Py_XNewRef(u->replacement);
    Py_END_CRITICAL_SECTION();
    for (int i = 0; i < u->nin && !first; i++)
        first = asn_is_ndarray(args[i]) ? args[i] : c->owner[i];
    PyObject *dtype = find ? asn_descr_object(loop) : NULL;
    PyObject *function =
        dtype ? PyObject_CallFunctionObjArgs(find, dtype, first ? first : Py_None, NULL)
              : NULL;
    Py_XDECREF(dtype);
    Py_XDECREF(find);
    if (function == Py_None) Py_CLEAR(function);
    return function;
}

/* A new array of one value. */
static PyObject *filled(asn_dtype dtype, int ndim, const int64_t *shape,
                        const asn_operand *value) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_full(&r->array, dtype, ndim, shape, 'C', value);
    if (status == ASN_OK) return asn_ndarray_finish_array(r);
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* Operand i as an array of the loop's dtype; a number has no dimensions. */
static PyObject *operand_array(const asn_ufunc *u, PyObject *const *args,
                               const asn_ufunc_state *c, asn_dtype loop, int i) {
    asn_dtype to = asn_op_operand((asn_op)u->op, i, loop);
    if (c->in[i].array) {
        PyObject *from = c->owner[i] ? c->owner[i] : args[i];
        return asn_truth_values(asn_array_from_any(from, to, -1, 'K', 0, false));
    }
    int64_t none = 0;
    return filled(to, 0, &none, &c->in[i]);
}

/* TypeError of a result that is no array of that dtype and shape; NULL. */
static PyObject *refuse(const asn_ufunc *u, PyObject *function, PyObject *got,
                        asn_dtype dtype, const plan *p) {
    char want[256], have[256];
    asn_shape_format(want, sizeof want, p->ndim, p->shape);
    if (asn_is_ndarray(got)) {
        const asn_layout *l = &asn_of(got)->layout;
        PyErr_Format(PyExc_TypeError,
                     "%s: %R, which replaces it, gave an array of %s with shape %s; it "
                     "must give %s with shape %s",
                     u->name, function, asn_dtype_name((asn_dtype)l->dtype),
                     asn_shape_format(have, sizeof have, l->ndim, l->shape),
                     asn_dtype_name(dtype), want);
    } else {
        PyErr_Format(PyExc_TypeError,
                     "%s: %R, which replaces it, gave a %s; it must give an array of %s "
                     "with shape %s",
                     u->name, function, Py_TYPE(got)->tp_name, asn_dtype_name(dtype),
                     want);
    }
    return NULL;
}

/* Result k as an array that nobody else has: what shares memory with an operand, or is
 * NumPy's, is copied. A new reference. */
static PyObject *own_result(const asn_ufunc *u, PyObject *function, PyObject *got,
                            PyObject *const *in, const plan *p, int k) {
    asn_dtype dtype = asn_op_result(row_of(u, k), p->loop);
    bool ours = asn_is_ndarray(got);
    if (!ours && !PyArray_Check(got) && !PyArray_IsScalar(got, Generic))
        return refuse(u, function, got, dtype, p);
    PyObject *array =
        asn_array_from_any(got, ASN_DTYPE_NONE, ours ? -1 : 1, 'K', 0, false);
    if (!array) return NULL;
    const asn_layout *l = &asn_of(array)->layout;
    if (l->dtype != dtype || l->ndim != p->ndim ||
        memcmp(l->shape, p->shape, (size_t)p->ndim * sizeof *p->shape) != 0) {
        refuse(u, function, array, dtype, p);
        Py_DECREF(array);
        return NULL;
    }
    bool shared = false;
    for (int i = 0; i < u->nin; i++)
        shared |= asn_array_may_share(asn_of(array), asn_of(in[i]));
    if (shared)
        Py_SETREF(array, asn_array_from_any(array, ASN_DTYPE_NONE, 1, 'K', 0, false));
    return array;
}

/* The call's result k: into out=, masked by where=, in the order that was asked for.
 * Takes array; NULL passes. */
static PyObject *deliver(asn_ufunc_state *c, const asn_ufunc_kwargs *kw, const plan *p,
                         PyObject *array, int k) {
    if (!array) return NULL;
    asn_operand source = {asn_of(array), {0}, 0};
    char order = c->options.order;
    PyObject *made = NULL;
    if (c->out[k]) {
        asn_status status =
            asn_assign(c->out[k], &source, c->options.casting, c->options.where);
        if (status != ASN_OK)
            asn_raise(status);
        else if (asn_ufunc_show_output(c, k, kw->out[k]) == 0)
            made = Py_NewRef(kw->out[k]);
        Py_DECREF(array);
        return made;
    }
    if (c->options.where) {
        asn_operand zero = {NULL, {ASN_BOOL, {0}}, 'b'};
        made = filled((asn_dtype)source.array->layout.dtype, p->full_ndim, p->full_shape,
                      &zero);
        asn_status status =
            made ? asn_assign(asn_of(made), &source, ASN_CASTING_NO, c->options.where)
                 : ASN_OK;
        if (status != ASN_OK) Py_SETREF(made, asn_raise(status));
        Py_SETREF(array, made);
    }
    if (array && (order == 'C' || order == 'F'))
        Py_SETREF(array, asn_array_from_any(array, ASN_DTYPE_NONE, -1, order, 0, false));
    return array && !c->keep_array ? asn_ndarray_return(array) : array;
}

/* The results of the function, of which a pair is a tuple; the operands are arrays. */
static PyObject *run(asn_ufunc *u, PyObject *function, PyObject *const *in,
                     asn_ufunc_state *c, const asn_ufunc_kwargs *kw, const plan *p) {
    frame here = {u, running};
    running = &here;
    PyObject *got = PyObject_Vectorcall(function, in, u->nin, NULL);
    running = here.below;
    if (!got) return NULL;
    PyObject *one = NULL, *two = NULL, *all = NULL;
    if (u->nout == 1) {
        all = deliver(c, kw, p, own_result(u, function, got, in, p, 0), 0);
    } else if (!PyTuple_Check(got) || PyTuple_GET_SIZE(got) != 2) {
        PyErr_Format(PyExc_TypeError,
                     "%s: %R, which replaces it, gave a %s; it must give a tuple of two "
                     "arrays",
                     u->name, function, Py_TYPE(got)->tp_name);
    } else {
        /* Both are there before one is written: an output may be an operand. */
        one = own_result(u, function, PyTuple_GET_ITEM(got, 0), in, p, 0);
        two = one ? own_result(u, function, PyTuple_GET_ITEM(got, 1), in, p, 1) : NULL;
        one = two ? deliver(c, kw, p, one, 0) : (Py_XDECREF(one), NULL);
        two = one ? deliver(c, kw, p, two, 1) : (Py_XDECREF(two), NULL);
        all = one && two ? PyTuple_Pack(2, one, two) : NULL;
        Py_XDECREF(one);
        Py_XDECREF(two);
    }
    Py_DECREF(got);
    if (all && asn_fp_check() < 0) Py_CLEAR(all);
    return all;
}

/* (Contract in ufunc_call.h.) */
bool asn_ufunc_call_replaced(asn_ufunc *u, PyObject *const *args, asn_ufunc_state *c,
                             const asn_ufunc_kwargs *kw, PyObject **result) {
    plan p;
    *result = NULL;
    if (is_running(u) || !has_array(args, u->nin)) return false;
    if (!plan_call(u, c, &p)) {
        asn_error_clear();
        return false;
    }
    PyObject *function = choose(u, args, c, p.loop), *in[3] = {NULL, NULL, NULL};
    if (!function) return PyErr_Occurred() != NULL;
    bool ready = true;
    for (int i = 0; i < u->nin && ready; i++)
        ready = (in[i] = operand_array(u, args, c, p.loop, i)) != NULL;
    if (ready) *result = run(u, function, in, c, kw, &p);
    for (int i = 0; i < u->nin; i++)
        Py_XDECREF(in[i]);
    Py_DECREF(function);
    return true;
}
