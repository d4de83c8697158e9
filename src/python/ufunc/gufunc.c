/* L3 python: matmul, vecdot, matvec, vecmat.
 *
 * All are the core's matrix product: vectors become one-row or one-column matrices
 * through views, and the product's extra axis is taken out again. `axes`, `axis` move the
 * core axes to the end first; results go into out= by assignment when they do not fit the
 * product's own form.
 *
 * NumPy calls them generalised ufuncs: their signature, as "(m,n),(n)->(m)", says which
 * axes of an operand (its core dimensions, the last ones) take part; all axes before are
 * broadcast. The dtypes are multiply's. matmul's vectors are its own rule: the
 * signature's "?" dimensions may be missing. */
#include "python/ufunc/ufunc.h"

typedef enum { MATMUL, VECDOT, MATVEC, VECMAT } family;

/* By the name: matmul, vecdot, matvec, vecmat. */
static family family_of(const asn_ufunc *u) {
    switch (u->name[3]) {
    case 'm': return u->name[0] == 'm' && u->name[1] == 'a' ? MATMUL : VECMAT;
    case 'd': return VECDOT;
    default: return MATVEC;
    }
}

/* Core dimensions of operand i (2 is the result). */
static int core_ndim(family f, int i) {
    /* In the order of `family`. */
    static const int table[4][3] = {{2, 2, 2}, {1, 1, 0}, {2, 1, 1}, {1, 2, 1}};
    return table[f][i];
}

/* -1: NumPy's ValueError of an operand with fewer axes than its core needs. */
static int check_ndim(const asn_ufunc *u, family f, PyObject *a, int i) {
    int need = f == MATMUL ? 1 : core_ndim(f, i), have = asn_of(a)->layout.ndim;
    if (have >= need) return 0;
    PyErr_Format(
        PyExc_ValueError,
        "%s: Input operand %d does not have enough dimensions (has %d, gufunc core with "
        "signature %s requires %d)",
        u->name, i, have, u->core_signature, need);
    return -1;
}

/* -1: NumPy's ValueError of lengths that differ along the axis that is summed over, last
 * of the first operand and first of the second's core. (matmul's own is the core's.) */
static int check_lengths(const asn_ufunc *u, family f, PyObject *const *in) {
    const asn_layout *a = &asn_of(in[0])->layout, *b = &asn_of(in[1])->layout;
    if (f == MATMUL) return 0;
    int64_t first = a->shape[a->ndim - 1], second = b->shape[b->ndim - core_ndim(f, 1)];
    if (first == second) return 0;
    PyErr_Format(
        PyExc_ValueError,
        "%s: Input operand 1 has a mismatch in its core dimension 0, with gufunc "
        "signature %s (size %lld is different from %lld)",
        u->name, u->core_signature, (long long)second, (long long)first);
    return -1;
}

/* A view with `axes` (normalised, n of them) moved to the end, in order. Takes a; NULL:
 * an error. */
static PyObject *axes_to_end(PyObject *a, int n, const int *axes) {
    int ndim = asn_of(a)->layout.ndim, perm[ASN_MAX_DIMS], k = 0;
    uint64_t moved = 0;
    for (int i = 0; i < n; i++)
        moved |= 1ULL << axes[i];
    for (int d = 0; d < ndim; d++)
        if (!(moved >> d & 1)) perm[k++] = d;
    for (int i = 0; i < n; i++)
        perm[k++] = axes[i];
    asn_layout view;
    asn_status status = asn_view_transpose(&view, &asn_of(a)->layout, perm);
    PyObject *r =
        status == ASN_OK ? asn_ndarray_view(a, &view, false) : asn_raise(status);
    Py_DECREF(a);
    return r;
}

/* Reads one entry of axes=: an int or a tuple of n ints, normalised. -1: an error. */
static int read_axes(PyObject *entry, int n, int ndim, int *axes) {
    if (!PyTuple_Check(entry)) {
        if (n != 1) {
            PyErr_Format(PyExc_TypeError, "axes item should be a tuple of %d ints", n);
            return -1;
        }
        return asn_axis_from_py(entry, ndim, axes);
    }
    if (PyTuple_GET_SIZE(entry) != n) {
        PyErr_Format(asn_py.axis_error,
                     "axes item should be a tuple with %d elements, got %R", n, entry);
        return -1;
    }
    for (int i = 0; i < n; i++)
        if (asn_axis_from_py(PyTuple_GET_ITEM(entry, i), ndim, &axes[i]) < 0) return -1;
    return 0;
}

/* Moves the inputs' core axes to the end as axis= (one number) or axes= say. in[] is
 * replaced; -1: an error, and an entry may be NULL. */
static int apply_axes(family f, PyObject **in, const asn_ufunc_kwargs *kw) {
    int axes[2];
    if (kw->axis && f != VECDOT) {
        PyErr_SetString(PyExc_TypeError,
                        "axis can only be used with a single shared core "
                        "dimension, not with the signature of this ufunc");
        return -1;
    }
    if (kw->axis && kw->axes) {
        PyErr_SetString(PyExc_TypeError, "cannot specify both 'axis' and 'axes'");
        return -1;
    }
    for (int i = 0; i < 2; i++) {
        PyObject *entry = kw->axis;
        if (kw->axes && !entry) {
            if (!PyList_Check(kw->axes) || PyList_GET_SIZE(kw->axes) < 2) {
                PyErr_SetString(PyList_Check(kw->axes) ? PyExc_ValueError
                                                       : PyExc_TypeError,
                                "axes should be a list with an entry for all operands");
                return -1;
            }
            entry = PyList_GET_ITEM(kw->axes, i);
        }
        if (!entry) continue;
        int have = asn_of(in[i])->layout.ndim, n = core_ndim(f, i);
        if (n > have) n = have; /* matmul's vectors */
        if ((kw->axis ? asn_axis_from_py(entry, have, axes)
                      : read_axes(entry, n, have, axes)) < 0)
            return -1;
        in[i] = axes_to_end(in[i], n, axes);
        if (!in[i]) return -1;
    }
    return 0;
}

/* A view with an extent-1 axis before (vector as row) or after (as column) the last one.
 */
static PyObject *vector_as_matrix(PyObject *a, bool column) {
    int ndim = asn_of(a)->layout.ndim;
    asn_layout view;
    ASN_PY_TRY(asn_view_expand(&view, &asn_of(a)->layout, ndim + 1,
                               1ULL << (column ? ndim : ndim - 1)));
    return asn_ndarray_view(a, &view, false);
}

/* vecdot and vecmat conjugate their first operand (NumPy): the operation itself, not what
 * a program put into the ufunc's place, as with all that a product computes. A new
 * reference. */
static PyObject *conjugated(PyObject *a) {
    if (!asn_is_complex(asn_dtype_of(a))) return Py_NewRef(a);
    asn_operand in = {.array = asn_of(a)};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_ufunc_call(ASN_OP_CONJUGATE, &in, NULL, &r->array, NULL);
    if (status == ASN_OK) return asn_ndarray_finish_array(r);
    asn_ndarray_drop(r);
    return asn_raise(status);
}

/* The extra axes that vectors brought into the product of ndim axes, to be squeezed out,
 * as bits. */
static uint64_t extra_axes(family f, int ndim) {
    uint64_t last = 1ULL << (ndim - 1), before = ndim > 1 ? 1ULL << (ndim - 2) : 0;
    return f == VECDOT ? last | before : f == MATVEC ? last : f == VECMAT ? before : 0;
}

/* Where a product may be computed at once: out=, of a matrix product as it is. */
static const asn_array *place_of(family f, const asn_ufunc_kwargs *kw) {
    PyObject *out = kw->out[0];
    return f == MATMUL && !kw->axes && out && asn_is_ndarray(out) ? asn_of(out) : NULL;
}

/* The product of operands whose core axes are last; keepdims: of vecdot, one axis of
 * extent 1. A new reference, of an array in `place` where that takes it. */
static PyObject *product(family f, PyObject *a, PyObject *b, const asn_array *place,
                         bool keepdims) {
    PyObject *left = f == VECDOT || f == VECMAT ? conjugated(a) : Py_NewRef(a);
    PyObject *x = NULL, *y = NULL, *r = NULL;
    if (!left) return NULL;
    x = f == VECDOT || f == VECMAT ? vector_as_matrix(left, false) : Py_NewRef(left);
    y = f == VECDOT || f == MATVEC ? vector_as_matrix(b, true) : Py_NewRef(b);
    asn_ndarray *full = x && y ? asn_ndarray_alloc() : NULL;
    if (full) {
        asn_status status = asn_matmul_at(asn_of(x), asn_of(y), place, &full->array);
        if (status != ASN_OK) {
            asn_ndarray_drop(full);
            asn_raise(status);
        } else {
            int ndim = full->array.layout.ndim;
            uint64_t mask = f == MATMUL ? 0 : extra_axes(f, ndim);
            /* One of the two extra axes stays, with extent 1. */
            if (keepdims && f == VECDOT) mask = 1ULL << (ndim - 1);
            asn_layout view;
            if (!mask) {
                r = (PyObject *)full;
            } else if ((status = asn_view_squeeze(&view, &full->array.layout, mask)) ==
                       ASN_OK) {
                r = asn_ndarray_view((PyObject *)full, &view, false);
                Py_DECREF(full);
                if (r)
                    Py_CLEAR(((asn_ndarray *)r)->base); /* nobody else sees the product */
            } else {
                asn_raise(status);
                Py_DECREF(full);
            }
        }
    }
    Py_DECREF(left);
    Py_XDECREF(x);
    Py_XDECREF(y);
    return r;
}

/* The result's core axes moved from the end to where axes= (its third entry) or axis=
 * want them. vectors: how many operands of matmul had one axis. Takes r. */
static PyObject *place_result(family f, PyObject *r, const asn_ufunc_kwargs *kw,
                              bool keepdims, int vectors) {
    PyObject *entry = NULL;
    int n = core_ndim(f, 2) + (keepdims && f == VECDOT), axes[2], inverse[ASN_MAX_DIMS];
    if (f == MATMUL) n -= vectors;
    if (kw->axes && PyList_GET_SIZE(kw->axes) > 2)
        entry = PyList_GET_ITEM(kw->axes, 2);
    else if (kw->axis && n == 1)
        entry = kw->axis;
    int ndim = asn_of(r)->layout.ndim;
    if (!entry) return r;
    /* A result without core axes can only be given (). */
    if (n == 0 && !(PyTuple_Check(entry) && PyTuple_GET_SIZE(entry) == 0)) {
        PyErr_Format(asn_py.axis_error,
                     "vecdot: operand 2 has 0 core dimensions, but axes item 2 is %R",
                     entry);
        Py_DECREF(r);
        return NULL;
    }
    if (n == 0) return r;
    if (read_axes(entry, n, ndim, axes) < 0) {
        Py_DECREF(r);
        return NULL;
    }
    /* The inverse of axes_to_end's order. */
    uint64_t taken = 0;
    for (int i = 0; i < n; i++) {
        inverse[axes[i]] = ndim - n + i;
        taken |= 1ULL << axes[i];
    }
    for (int d = 0, k = 0; d < ndim; d++)
        if (!(taken >> d & 1)) inverse[d] = k++;
    asn_layout view;
    asn_status status = asn_view_transpose(&view, &asn_of(r)->layout, inverse);
    PyObject *moved =
        status == ASN_OK ? asn_ndarray_view(r, &view, false) : asn_raise(status);
    Py_DECREF(r);
    return moved;
}

/* r into out=, by broadcasting and casting as ufuncs do, where it is not there already. A
 * new reference of out, or NULL. */
static PyObject *into_out(const asn_ufunc *u, PyObject *r, const asn_ufunc_kwargs *kw,
                          asn_casting casting) {
    asn_array *out;
    PyObject *owner;
    if (asn_out_from_py(kw->out[0], &out, &owner) < 0) return NULL;
    asn_operand source = {asn_of(r), {0}, 0};
    asn_status status = ASN_OK;
    int64_t strides[ASN_MAX_DIMS];
    /* out may have more axes than the result, as of any ufunc. */
    if (!asn_broadcast_strides(&source.array->layout, out->layout.ndim, out->layout.shape,
                               strides)) {
        char have[256], want[256];
        PyErr_Format(
            PyExc_ValueError,
            "non-broadcastable output operand with shape %s doesn't match the "
            "broadcast shape %s",
            asn_shape_format(have, sizeof have, out->layout.ndim, out->layout.shape),
            asn_shape_format(want, sizeof want, source.array->layout.ndim,
                             source.array->layout.shape));
    } else if (!asn_can_cast(asn_dtype_of(r), (asn_dtype)out->layout.dtype, casting)) {
        PyErr_Format(
            PyExc_TypeError,
            "Cannot cast ufunc '%s' output from dtype('%s') to dtype('%s') with casting "
            "rule '%s'",
            u->name, asn_dtype_name(asn_dtype_of(r)),
            asn_dtype_name((asn_dtype)out->layout.dtype), asn_casting_name(casting));
    } else {
        if (!asn_array_is(asn_of(r), out))
            status = asn_assign(out, &source, casting, NULL);
        if (status == ASN_OK) status = asn_out_written(kw->out[0], out, owner);
        if (status != ASN_OK) asn_raise(status);
    }
    Py_XDECREF(owner);
    return PyErr_Occurred() ? NULL : Py_NewRef(kw->out[0]);
}

/* Whether the strides count whole elements, as the device's tensors do. */
static bool whole_strides(const asn_layout *l) {
    for (int d = 0; d < l->ndim; d++)
        if (l->strides[d] % asn_itemsize((asn_dtype)l->dtype)) return false;
    return true;
}

/* Inputs as arrays of the common dtype (or dtype=, which casting= must allow), in[] new
 * references or NULL; what the device's tensors cannot describe is copied, row-major. -1:
 * an error. */
static int prepare(asn_ufunc *u, PyObject *const *args, const asn_ufunc_kwargs *kw,
                   asn_casting casting, PyObject **in) {
    asn_dtype wish;
    if (asn_ufunc_loop_dtype(u, kw->dtype, kw->signature, &wish) < 0) return -1;
    for (int i = 0; i < 2; i++) {
        in[i] = asn_asarray(args[i]);
        if (!in[i]) return -1;
        if (!whole_strides(&asn_of(in[i])->layout))
            Py_SETREF(in[i], asn_array_from_any(in[i], ASN_DTYPE_NONE, 1, 'C', 0, false));
        if (!in[i]) return -1;
        if (wish == ASN_DTYPE_NONE || wish == asn_dtype_of(in[i])) continue;
        if (!asn_can_cast(asn_dtype_of(in[i]), wish, casting)) {
            asn_operand operands[2] = {{asn_of(in[i]), {0}, 0}, {asn_of(in[i]), {0}, 0}};
            asn_ufunc_options options = {casting, wish, 'K', NULL};
            asn_ufunc_raise(ASN_OP_MULTIPLY, operands, NULL, &options, ASN_ERR_CASTING);
            return -1;
        }
        Py_SETREF(in[i], asn_asarray_dtype(in[i], wish));
        if (!in[i]) return -1;
    }
    return 0;
}

/* The product's floating-point exceptions are this gufunc's: the core names them
 * matmul's. */
static int report_exceptions(const asn_ufunc *u) {
    const char *name = NULL;
    uint32_t flags = asn_fp_take(&name);
    if (ASN_LIKELY(!flags)) return 0;
    return asn_fp_report(flags, strcmp(name, "matmul") ? name : u->name);
}

/* (Contract in ufunc.h.) The checks come in NumPy's order. */
PyObject *asn_gufunc_call(asn_ufunc *u, PyObject *const *args,
                          const asn_ufunc_kwargs *kw) {
    family f = family_of(u);
    PyObject *in[2] = {NULL, NULL}, *r = NULL;
    asn_casting casting = ASN_CASTING_SAME_KIND;
    bool keepdims = false;
    if (asn_casting_from_py(kw->casting, &casting) < 0 ||
        asn_bool_from_py(kw->keepdims, &keepdims) < 0 ||
        prepare(u, args, kw, casting, in) < 0)
        goto done;
    if (keepdims && f != VECDOT) {
        PyErr_Format(
            PyExc_TypeError,
            "%s does not support keepdims: its signature %s does not have a scalar "
            "result",
            u->name, u->core_signature);
        goto done;
    }
    if (check_ndim(u, f, in[0], 0) < 0 || check_ndim(u, f, in[1], 1) < 0 ||
        apply_axes(f, in, kw) < 0 || check_lengths(u, f, in) < 0)
        goto done;
    /* matmul's result has one core axis less for each vector. */
    int vectors = (asn_of(in[0])->layout.ndim == 1) + (asn_of(in[1])->layout.ndim == 1);
    r = product(f, in[0], in[1], place_of(f, kw), keepdims);
    if (r) r = place_result(f, r, kw, keepdims, vectors);
    if (r && report_exceptions(u) < 0) Py_CLEAR(r);
    if (r && kw->out[0])
        Py_SETREF(r, into_out(u, r, kw, casting));
    else if (r)
        r = asn_ndarray_return(r);
done:
    Py_XDECREF(in[0]);
    Py_XDECREF(in[1]);
    return r;
}
