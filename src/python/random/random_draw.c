/* L3 python: BitEngine's uniform and normal numbers and bounded integers, as arrays.
 *
 * Numbers are drawn on the host, which is what makes them NumPy's, straight into the new
 * array's memory where the host can reach it, else into a temporary that is copied once.
 * Only the floats of AsNumpy's own Philox stream are drawn by the device.
 *
 * Draws hold the GIL and the generator's lock (ASN_LOCKED_DRAW). In a trace of
 * asnumpy.jit they are steps of the host's, so what describes one is a struct that can be
 * copied.
 *
 * Methods whose name begins with "scaled" or that take plain numbers alone are quick
 * ways: they return NotImplemented where arguments need a closer look, and Python then
 * goes the general way. Both draw the same numbers. */
#include <math.h>

#include "python/convert.h"
#include "graph/operators/families.h"
#include "random/draw.h"
#include "python/random/random_engine.h"

/* (Contract in random_engine.h.) `source` has fill, what, size and keep; engine and
 * keeper are set here. */
PyObject *asn_draw_array(PyObject *self, asn_dtype dtype, int ndim, const int64_t *shape,
                         asn_filler source) {
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status = asn_array_new(&r->array, dtype, ndim, shape, 'C');
    if (status) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    source.engine = asn_engine_of(self);
    source.keeper = asn_draw_keeper(self);
    status = asn_array_fill(&r->array, &source);
    if (status) {
        Py_DECREF(r);
        return asn_raise(status);
    }
    return (PyObject *)r;
}

/* Philox's floats are drawn by the device, in parallel: from whole pairs of words on, so
 * an odd place in the stream is rounded up. The generator's place moves behind what is
 * drawn. */
static PyObject *draw_on_device(asn_bitgen *g, const asn_draw *d, int ndim,
                                const int64_t *shape) {
    /* The device draws words in pairs; a word that the host left over is skipped. */
    uint64_t pair = ((uint64_t)g->pcg.state + 1) / 2;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_status status =
        asn_random_new(&r->array, d->dtype, ndim, shape, d->kind == ASN_DRAW_NORMAL,
                       (uint64_t)g->pcg.inc, pair);
    if (status) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    g->pcg.state = 2 * pair + (uint64_t)(r->array.layout.size + 1) / 2 * 2;
    return (PyObject *)r;
}

/* One draw of `size`. size None: one Python float, or a NumPy integer. */
static PyObject *run(PyObject *self, const asn_draw *d, PyObject *size) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0;
    asn_bitgen *g = asn_engine_of(self);
    /* A number, not an array of no dimensions: as numpy.random gives it. */
    if (size == Py_None) {
        asn_scalar one = {.dtype = (uint8_t)d->dtype};
        if (asn_draw_refused_number()) return NULL;
        ASN_PY_TRY(asn_draw_fill(g, d, 1, one.bytes));
        if (d->kind == ASN_DRAW_BOUNDED)
            return PyArray_Scalar(one.bytes, asn_descr(d->dtype), NULL);
        double wide;
        float single;
        /* Bytes past a float32 are zero, and not looked at. */
        memcpy(&wide, one.bytes, sizeof wide);
        memcpy(&single, one.bytes, sizeof single);
        return PyFloat_FromDouble(d->dtype == ASN_F32 ? single : wide);
    }
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    if (g->kind == ASN_PHILOX &&
        (d->kind == ASN_DRAW_UNIFORM || d->kind == ASN_DRAW_NORMAL)) {
        static const char device[] =
            "the device draws numbers of Philox4x32, whose place "
            "in the stream is planned (the other generators "
            "are traced)";
        if (asn_draw_refused(device)) return NULL;
        return draw_on_device(g, d, ndim, shape);
    }
    return asn_draw_array(self, d->dtype, ndim, shape,
                          ASN_FILLER_OF(asn_draw_fill, *d, NULL));
}

/* uniform, normal, gauss: (size, dtype=float64). float32 has words of its own (half as
 * many), but for gauss, which has none. */
static PyObject *run_float(PyObject *self, PyObject *const *args, Py_ssize_t n,
                           asn_draw_kind kind) {
    asn_draw d = {.kind = kind, .dtype = ASN_F64};
    if (n < 1 || n > 2)
        return PyErr_Format(PyExc_TypeError, "expected 1 or 2 arguments, got %zd", n);
    if (n == 2 && asn_dtype_from_py(args[1], &d.dtype) < 0) return NULL;
    if (d.dtype != ASN_F64 && (d.dtype != ASN_F32 || kind == ASN_DRAW_GAUSS))
        return PyErr_Format(PyExc_TypeError, "Unsupported dtype %R for random", args[1]);
    return run(self, &d, args[0]);
}

/* (size, dtype): [0, 1). */
static PyObject *engine_uniform(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_float(self, args, n, ASN_DRAW_UNIFORM);
}

/* (size, dtype): Generator's normals, by the ziggurat. */
static PyObject *engine_normal(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_float(self, args, n, ASN_DRAW_NORMAL);
}

/* (size): RandomState's normals, by the polar method, which makes two at a time. */
static PyObject *engine_gauss(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_float(self, args, n, ASN_DRAW_GAUSS);
}

/* (size, start, stretch): start + stretch * drawn, float64; for uniform numbers `stretch`
 * comes as the upper end. downwards: stretch may be negative. NotImplemented: the numbers
 * need a closer look (NumPy refuses them, or they overflow), or the device draws. */
static PyObject *run_scaled(PyObject *self, PyObject *const *args, Py_ssize_t n,
                            asn_draw_kind kind, bool downwards) {
    asn_draw d = {.kind = kind, .dtype = ASN_F64};
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0;
    asn_bitgen *g = asn_engine_of(self);
    if (n != 3) return PyErr_Format(PyExc_TypeError, "expected 3 arguments, got %zd", n);
    if ((g->kind == ASN_PHILOX && args[0] != Py_None) ||
        !asn_plain_number(args[1], &d.start) || !asn_plain_number(args[2], &d.stretch))
        Py_RETURN_NOTIMPLEMENTED;
    /* The width; it may overflow, which is looked at next. */
    if (kind == ASN_DRAW_UNIFORM) d.stretch -= d.start;
    if (!isfinite(d.start) || !isfinite(d.stretch) || (signbit(d.stretch) && !downwards))
        Py_RETURN_NOTIMPLEMENTED;
    if (args[0] == Py_None) {
        double one;
        if (asn_draw_refused_number()) return NULL;
        ASN_PY_TRY(asn_draw_fill_scaled(g, &d, 1, &one));
        return PyFloat_FromDouble(one);
    }
    if (asn_shape_from_py(args[0], shape, &ndim) < 0) return NULL;
    return asn_draw_array(self, ASN_F64, ndim, shape,
                          ASN_FILLER_OF(asn_draw_fill_scaled, d, NULL));
}

/* Generator.uniform refuses an upper end below the lower one, RandomState.uniform does
 * not. */
static PyObject *engine_scaled_uniform(PyObject *self, PyObject *const *args,
                                       Py_ssize_t n) {
    return run_scaled(self, args, n, ASN_DRAW_UNIFORM, false);
}

static PyObject *engine_legacy_uniform(PyObject *self, PyObject *const *args,
                                       Py_ssize_t n) {
    return run_scaled(self, args, n, ASN_DRAW_UNIFORM, true);
}

/* (size, loc, scale), of either kind of normals. */
static PyObject *engine_scaled_normal(PyObject *self, PyObject *const *args,
                                      Py_ssize_t n) {
    return run_scaled(self, args, n, ASN_DRAW_NORMAL, false);
}

static PyObject *engine_scaled_gauss(PyObject *self, PyObject *const *args,
                                     Py_ssize_t n) {
    return run_scaled(self, args, n, ASN_DRAW_GAUSS, false);
}

/* The bounds [*first, *last] of a draw of int64, from Python's integers; high None: from
 * 0 to below low. false: they are not plain, or leave nothing to draw. */
static bool plain_bounds(PyObject *low, PyObject *high, bool endpoint, int64_t *first,
                         int64_t *last) {
    int over_low = 0, over_high = 0;
    if (!PyLong_CheckExact(low) || (high != Py_None && !PyLong_CheckExact(high)))
        return false;
    *first = PyLong_AsLongLongAndOverflow(low, &over_low);
    *last = *first;
    if (high == Py_None)
        *first = 0;
    else
        *last = PyLong_AsLongLongAndOverflow(high, &over_high);
    if (over_low || over_high || (!endpoint && *last == INT64_MIN)) return false;
    *last -= !endpoint;
    return *first <= *last;
}

/* integers(size, low, high, dtype, endpoint, masked) for plain bounds; NotImplemented:
 * they are not, or something is wrong with them. Of dtype int, one is Python's own. */
static PyObject *engine_integers(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    int64_t first, last;
    asn_draw d = {.kind = ASN_DRAW_BOUNDED, .dtype = ASN_I64};
    if (n != 6) return PyErr_Format(PyExc_TypeError, "expected 6 arguments, got %zd", n);
    /* Two kinds of int64: of dtype int a single number is Python's own int. */
    bool pythons = args[3] == (PyObject *)&PyLong_Type;
    if (!pythons && (args[3] == (PyObject *)&PyBool_Type ||
                     asn_dtype_from_py(args[3], &d.dtype) < 0)) {
        PyErr_Clear(); /* whoever looks closer says what is wrong */
        Py_RETURN_NOTIMPLEMENTED;
    }
    if (!PyBool_Check(args[4]) ||
        !plain_bounds(args[1], args[2], args[4] == Py_True, &first, &last) ||
        !asn_dtype_holds(d.dtype, first, last))
        Py_RETURN_NOTIMPLEMENTED;
    d.masked = args[5] == Py_True;
    /* Modulo 2**64: the sum with what is drawn wraps back. */
    d.offset = (uint64_t)first;
    d.range = (uint64_t)last - (uint64_t)first;
    if (!pythons || args[0] != Py_None) return run(self, &d, args[0]);
    int64_t one;
    if (asn_draw_refused_number()) return NULL;
    ASN_PY_TRY(asn_draw_fill(asn_engine_of(self), &d, 1, &one));
    return PyLong_FromLongLong(one);
}

/* (size, dtype, low, range, masked): integers in [low, low + range]; low modulo 2^64.
 * masked: by rejection under a bit mask, as RandomState draws; else Lemire's method. */
static PyObject *engine_bounded(PyObject *self, PyObject *args) {
    PyObject *size, *dtype;
    unsigned long long low, range;
    int masked;
    asn_draw d = {.kind = ASN_DRAW_BOUNDED};
    if (!PyArg_ParseTuple(args, "OOKKp", &size, &dtype, &low, &range, &masked))
        return NULL;
    if (asn_dtype_from_py(dtype, &d.dtype) < 0) return NULL;
    if (!asn_is_integer(d.dtype) && d.dtype != ASN_BOOL)
        return PyErr_Format(PyExc_TypeError, "Unsupported dtype %R for integers", dtype);
    d.offset = low;
    d.range = range;
    d.masked = masked != 0;
    return run(self, &d, size);
}

/* (dtype, shape, lows, ranges, masked): an integer in [low, low + range] per element;
 * both are uint64 NumPy arrays of the shape's size. What a draw needs: */
typedef struct {
    int bytes; /* of an element; 0: bool */
    bool masked;
    const uint64_t *offset, *range; /* borrowed; in a trace copies */
} each;

/* As asn_filler's fill: n elements into out, from generator g. */
static asn_status fill_each(void *g, const void *what, int64_t n, void *out) {
    const each *e = what;
    asn_fill_bounded_each(g, n, e->bytes, e->masked, e->offset, e->range, out);
    return ASN_OK;
}

/* As asn_filler's keep: a trace keeps copies of both arrays. false: memory ran out. */
static bool keep_each(void *copy, int64_t n) {
    each *e = copy;
    e->offset = asn_capture_copy(e->offset, (size_t)n * sizeof *e->offset);
    e->range = asn_capture_copy(e->range, (size_t)n * sizeof *e->range);
    return e->offset && e->range;
}

/* What Python has checked and broadcast is only measured here. */
static PyObject *engine_bounded_each(PyObject *self, PyObject *args) {
    PyObject *dtype, *size;
    PyArrayObject *lows, *ranges;
    int masked, ndim;
    int64_t shape[ASN_MAX_DIMS], count = 1;
    asn_dtype kind;
    if (!PyArg_ParseTuple(args, "OOO!O!p", &dtype, &size, &PyArray_Type, &lows,
                          &PyArray_Type, &ranges, &masked))
        return NULL;
    if (asn_dtype_from_py(dtype, &kind) < 0) return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    for (int d = 0; d < ndim; d++)
        count *= shape[d];
    if (PyArray_TYPE(lows) != NPY_UINT64 || PyArray_TYPE(ranges) != NPY_UINT64 ||
        PyArray_SIZE(lows) != count || PyArray_SIZE(ranges) != count ||
        !PyArray_ISCARRAY_RO(lows) || !PyArray_ISCARRAY_RO(ranges))
        return PyErr_Format(
            PyExc_ValueError,
            "bounded_each takes contiguous uint64 bounds of %lld elements",
            (long long)count);
    each e = {.bytes = kind == ASN_BOOL ? 0 : asn_itemsize(kind),
              .masked = masked != 0,
              .offset = PyArray_DATA(lows),
              .range = PyArray_DATA(ranges)};
    return asn_draw_array(self, kind, ndim, shape,
                          ASN_FILLER_OF(fill_each, e, keep_each));
}

/* (n): the next n words as bytes of uint64 (of uint32 for MT19937, widened). In a trace
 * an error: what the host got would not change. */
static PyObject *engine_raw(PyObject *self, PyObject *count) {
    asn_bitgen *g = asn_engine_of(self);
    Py_ssize_t n = PyNumber_AsSsize_t(count, PyExc_OverflowError);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0) return PyErr_Format(PyExc_ValueError, "cannot draw %zd words", n);
    if (asn_draw_refused("random words are drawn for the host")) return NULL;
    PyObject *result = PyBytes_FromStringAndSize(NULL, 8 * n);
    if (!result) return NULL;
    char *out = PyBytes_AS_STRING(result);
    for (Py_ssize_t i = 0; i < n; i++) {
        uint64_t word = g->kind == ASN_MT19937 ? asn_next32(g) : asn_next64(g);
        memcpy(out + 8 * i, &word, sizeof word);
    }
    return result;
}

/* The methods as the table has them, under the generator's lock; raw goes without, as its
 * caller locks. */
ASN_LOCKED_DRAW(engine_uniform)
ASN_LOCKED_DRAW(engine_normal)
ASN_LOCKED_DRAW(engine_gauss)
ASN_LOCKED_DRAW(engine_scaled_uniform)
ASN_LOCKED_DRAW(engine_legacy_uniform)
ASN_LOCKED_DRAW(engine_scaled_normal)
ASN_LOCKED_DRAW(engine_scaled_gauss)
ASN_LOCKED_DRAW(engine_integers)
ASN_LOCKED_CALL(engine_bounded)
ASN_LOCKED_CALL(engine_bounded_each)

PyMethodDef asn_draw_methods[] = {
    {"uniform", (PyCFunction)(void (*)(void))engine_uniform_locked, METH_FASTCALL,
     "uniform(size, dtype): [0, 1)."},
    {"normal", (PyCFunction)(void (*)(void))engine_normal_locked, METH_FASTCALL,
     "normal(size, dtype): ziggurat."},
    {"gauss", (PyCFunction)(void (*)(void))engine_gauss_locked, METH_FASTCALL,
     "gauss(size): polar method, float64."},
    {"scaled_uniform", (PyCFunction)(void (*)(void))engine_scaled_uniform_locked,
     METH_FASTCALL, "scaled_uniform(size, low, high): plain numbers, or NotImplemented."},
    {"legacy_uniform", (PyCFunction)(void (*)(void))engine_legacy_uniform_locked,
     METH_FASTCALL,
     "legacy_uniform(size, low, high): the same, and high may be below low."},
    {"scaled_normal", (PyCFunction)(void (*)(void))engine_scaled_normal_locked,
     METH_FASTCALL, "scaled_normal(size, loc, scale): plain numbers, or NotImplemented."},
    {"scaled_gauss", (PyCFunction)(void (*)(void))engine_scaled_gauss_locked,
     METH_FASTCALL, "scaled_gauss(size, loc, scale): plain numbers, or NotImplemented."},
    {"integers", (PyCFunction)(void (*)(void))engine_integers_locked, METH_FASTCALL,
     "integers(size, low, high, dtype, endpoint, masked), or NotImplemented."},
    {"bounded", engine_bounded_locked, METH_VARARGS,
     "bounded(size, dtype, low, range, masked): integers in [low, low + range]."},
    {"bounded_each", engine_bounded_each_locked, METH_VARARGS,
     "bounded_each(dtype, shape, lows, ranges, masked): a range per element."},
    {"raw", engine_raw, METH_O, "raw(n): the generator's next n words, 8 bytes each."},
    {NULL, NULL, 0, NULL},
};
