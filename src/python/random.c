/* L3 python: asnumpy._core.BitEngine, a bit generator's state and the draws from it, as
 * arrays.
 *
 * The classes of asnumpy.random (Generator, RandomState, bit generators) are Python over
 * this type: they check arguments, this fills memory. Numbers are drawn on the host,
 * which is what makes them NumPy's, straight into the new array's memory where the host
 * can reach it, else into a temporary that is copied once.
 *
 * Draws hold the GIL's lock order only: the state belongs to one generator, and
 * asnumpy.random takes its lock.
 */
#include "args.h"
#include "convert.h"
#include "graph/families.h"
#include "random/bitgen.h"

typedef struct {
    PyObject_HEAD asn_bitgen *engine; /* 16-byte aligned: it holds 128-bit numbers */
} engine_object;

static PyTypeObject *engine_type;

static asn_bitgen *engine_of(PyObject *self) {
    return ((engine_object *)self)->engine;
}

static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    engine_object *self = (engine_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->engine = aligned_alloc(16, (sizeof(asn_bitgen) + 15) & ~(size_t)15);
    if (!self->engine) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    memset(self->engine, 0, sizeof *self->engine);
    return (PyObject *)self;
}

static void engine_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    free(engine_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- seeding and state */

static int words_from(PyObject *bytes, const void **words, size_t *n, size_t size) {
    char *data;
    Py_ssize_t length;
    if (PyBytes_AsStringAndSize(bytes, &data, &length) < 0) return -1;
    if (length % (Py_ssize_t)size) {
        PyErr_Format(PyExc_ValueError, "%zd bytes are no whole number of words", length);
        return -1;
    }
    *words = data;
    *n = (size_t)length / size;
    return 0;
}

/* SeedSequence: entropy words (bytes of uint32) -> n words drawn from the mixed pool. */
static PyObject *engine_seed_words(PyObject *unused, PyObject *args) {
    (void)unused;
    PyObject *entropy;
    Py_ssize_t count;
    const void *words;
    size_t n;
    uint32_t pool[4];
    if (!PyArg_ParseTuple(args, "Sn", &entropy, &count)) return NULL;
    if (words_from(entropy, &words, &n, 4) < 0) return NULL;
    if (count < 0) {
        PyErr_SetString(PyExc_ValueError, "the number of words is negative");
        return NULL;
    }
    asn_seed_mix(words, n, pool);
    PyObject *result = PyBytes_FromStringAndSize(NULL, 4 * count);
    if (result)
        asn_seed_generate(pool, (uint32_t *)PyBytes_AS_STRING(result), (size_t)count);
    return result;
}

static PyObject *engine_seed_pcg64(PyObject *self, PyObject *bytes) {
    const void *words;
    uint64_t four[4];
    size_t n;
    if (words_from(bytes, &words, &n, 8) < 0) return NULL;
    if (n != 4) return PyErr_Format(PyExc_ValueError, "PCG64 takes 4 words, got %zu", n);
    memcpy(four, words, sizeof four);
    asn_pcg64_seed(engine_of(self), four);
    Py_RETURN_NONE;
}

static PyObject *engine_seed_philox(PyObject *self, PyObject *key) {
    unsigned long long k = PyLong_AsUnsignedLongLong(key);
    if (PyErr_Occurred()) return NULL;
    asn_philox_seed(engine_of(self), k);
    Py_RETURN_NONE;
}

static PyObject *engine_seed_mt19937(PyObject *self, PyObject *arg) {
    const void *words;
    size_t n;
    if (PyLong_Check(arg)) {
        unsigned long seed = PyLong_AsUnsignedLong(arg);
        if (PyErr_Occurred()) return NULL;
        asn_mt19937_seed(engine_of(self), (uint32_t)seed);
        Py_RETURN_NONE;
    }
    if (words_from(arg, &words, &n, 4) < 0) return NULL;
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "Seed must be non-empty");
        return NULL;
    }
    asn_mt19937_seed_array(engine_of(self), words, n);
    Py_RETURN_NONE;
}

/* The whole state as bytes, for pickling and the state properties. */
static PyObject *engine_get_bytes(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBytes_FromStringAndSize((const char *)engine_of(self), sizeof(asn_bitgen));
}

static PyObject *engine_set_bytes(PyObject *self, PyObject *bytes) {
    const void *data;
    size_t n;
    if (words_from(bytes, &data, &n, 1) < 0) return NULL;
    if (n != sizeof(asn_bitgen))
        return PyErr_Format(PyExc_ValueError, "a state has %zu bytes, got %zu",
                            sizeof(asn_bitgen), n);
    memcpy(engine_of(self), data, n);
    Py_RETURN_NONE;
}

static PyObject *int128(unsigned __int128 value) {
    return _PyLong_FromByteArray((const unsigned char *)&value, 16, 1, 0);
}

static int as_int128(PyObject *number, unsigned __int128 *out) {
    PyObject *n = PyNumber_Index(number);
    if (!n) return -1;
    int failed = _PyLong_AsByteArray((PyLongObject *)n, (unsigned char *)out, 16, 1, 0);
    Py_DECREF(n);
    return failed;
}

/* PCG64: (state, inc, has_uint32, uinteger). */
static PyObject *engine_get_pcg64(PyObject *self, PyObject *unused) {
    (void)unused;
    const asn_bitgen *g = engine_of(self);
    return Py_BuildValue("(NNiI)", int128(g->pcg.state), int128(g->pcg.inc),
                         (int)g->pcg.has_uint32, (unsigned)g->pcg.uinteger);
}

static PyObject *engine_set_pcg64(PyObject *self, PyObject *args) {
    PyObject *state, *inc;
    int has_uint32;
    unsigned uinteger;
    unsigned __int128 s, i;
    if (!PyArg_ParseTuple(args, "OOiI", &state, &inc, &has_uint32, &uinteger))
        return NULL;
    if (as_int128(state, &s) < 0 || as_int128(inc, &i) < 0) return NULL;
    asn_bitgen *g = engine_of(self);
    if (g->kind == ASN_MT19937) g->kind = ASN_PCG64; /* Philox stays Philox */
    g->pcg.state = s;
    g->pcg.inc = i;
    g->pcg.has_uint32 = has_uint32 != 0;
    g->pcg.uinteger = uinteger;
    Py_RETURN_NONE;
}

/* MT19937: (key bytes, pos, has_gauss, gauss). */
static PyObject *engine_get_mt19937(PyObject *self, PyObject *unused) {
    (void)unused;
    const asn_bitgen *g = engine_of(self);
    return Py_BuildValue("(y#iid)", (const char *)g->mt.key, (Py_ssize_t)sizeof g->mt.key,
                         g->mt.pos, (int)g->has_gauss, g->gauss);
}

static PyObject *engine_set_mt19937(PyObject *self, PyObject *args) {
    const char *key;
    Py_ssize_t length;
    int pos, has_gauss;
    double gauss;
    if (!PyArg_ParseTuple(args, "y#iid", &key, &length, &pos, &has_gauss, &gauss))
        return NULL;
    asn_bitgen *g = engine_of(self);
    if (length != (Py_ssize_t)sizeof g->mt.key || pos < 0 || pos > 624)
        return PyErr_Format(PyExc_ValueError,
                            "state must have 624 words and 0 <= pos <= 624");
    g->kind = ASN_MT19937;
    memcpy(g->mt.key, key, sizeof g->mt.key);
    g->mt.pos = pos;
    g->has_gauss = has_gauss != 0;
    g->gauss = gauss;
    Py_RETURN_NONE;
}

static PyObject *engine_advance(PyObject *self, PyObject *delta) {
    unsigned __int128 d;
    PyObject *mask = PyLong_FromLong(1), *bits = PyLong_FromLong(128), *width = NULL,
             *wrapped = NULL;
    if (mask && bits) width = PyNumber_Lshift(mask, bits);
    if (width) wrapped = PyNumber_Remainder(delta, width); /* negative: back */
    int failed = !wrapped || as_int128(wrapped, &d) < 0;
    Py_XDECREF(mask);
    Py_XDECREF(bits);
    Py_XDECREF(width);
    Py_XDECREF(wrapped);
    if (failed) return NULL;
    asn_pcg64_advance(engine_of(self), d);
    Py_RETURN_NONE;
}

/* ---- draws */

typedef enum { UNIFORM, NORMAL, GAUSS, BOUNDED } draw_kind;

typedef struct {
    draw_kind kind;
    asn_dtype dtype;
    bool masked;
    uint64_t offset, range;
} draw;

static void fill(asn_bitgen *g, const draw *d, int64_t n, void *out) {
    bool single = d->dtype == ASN_F32;
    switch (d->kind) {
    case UNIFORM:
        if (single)
            asn_fill_float(g, n, out);
        else
            asn_fill_double(g, n, out);
        break;
    case NORMAL:
        if (single)
            asn_fill_normal_float(g, n, out);
        else
            asn_fill_normal(g, n, out);
        break;
    case GAUSS: asn_fill_gauss(g, n, out); break;
    case BOUNDED:
        asn_fill_bounded(g, n, d->dtype == ASN_BOOL ? 0 : asn_itemsize(d->dtype),
                         d->masked, d->offset, d->range, out);
    }
}

static asn_status fill_array(asn_bitgen *g, const draw *d, const asn_array *a) {
    void *data;
    if (a->layout.size == 0) return ASN_OK;
    ASN_TRY(asn_device_open());
    if (asn_device_host_access()) {
        ASN_TRY(asn_array_host(a, &data));
        fill(g, d, a->layout.size, data);
        return ASN_OK;
    }
    data = asn_malloc((size_t)asn_layout_nbytes(&a->layout));
    if (!data) return ASN_ERR_MEMORY;
    fill(g, d, a->layout.size, data);
    asn_array host;
    asn_status status = asn_array_from_host(&host, d->dtype, a->layout.ndim,
                                            a->layout.shape, a->layout.strides, data);
    asn_free(data);
    ASN_TRY(status);
    asn_operand value = {.array = &host};
    status = asn_assign(a, &value, ASN_CASTING_NO, NULL);
    asn_array_fini(&host);
    return status;
}

/* Philox's floats are drawn by the device, in parallel: from whole pairs of words on. */
static asn_status draw_on_device(asn_bitgen *g, const draw *d, asn_array *a, int ndim,
                                 const int64_t *shape) {
    uint64_t pair = ((uint64_t)g->pcg.state + 1) / 2;
    ASN_TRY(asn_random_new(a, d->dtype, ndim, shape, d->kind == NORMAL,
                           (uint64_t)g->pcg.inc, pair));
    g->pcg.state = 2 * pair + (uint64_t)(a->layout.size + 1) / 2 * 2;
    return ASN_OK;
}

/* size None: one Python float, or a NumPy integer. */
static PyObject *run(PyObject *self, const draw *d, PyObject *size) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim = 0;
    if (size == Py_None) {
        asn_scalar one = {.dtype = (uint8_t)d->dtype};
        fill(engine_of(self), d, 1, one.bytes);
        if (d->kind == BOUNDED)
            return PyArray_Scalar(one.bytes, asn_descr(d->dtype), NULL);
        asn_scalar wide;
        double value;
        ASN_PY_TRY(asn_scalar_cast(&one, ASN_F64, &wide));
        memcpy(&value, wide.bytes, sizeof value);
        return PyFloat_FromDouble(value);
    }
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    asn_bitgen *g = engine_of(self);
    bool by_device = g->kind == ASN_PHILOX && (d->kind == UNIFORM || d->kind == NORMAL);
    asn_status status = by_device ? draw_on_device(g, d, &r->array, ndim, shape)
                                  : asn_array_new(&r->array, d->dtype, ndim, shape, 'C');
    if (status) {
        asn_ndarray_drop(r);
        return asn_raise(status);
    }
    if (by_device) return (PyObject *)r;
    status = fill_array(engine_of(self), d, &r->array);
    if (status) {
        Py_DECREF(r);
        return asn_raise(status);
    }
    return (PyObject *)r;
}

static PyObject *run_float(PyObject *self, PyObject *args, draw_kind kind) {
    PyObject *size, *dtype = NULL;
    draw d = {.kind = kind, .dtype = ASN_F64};
    if (!PyArg_ParseTuple(args, "O|O", &size, &dtype)) return NULL;
    if (dtype && asn_dtype_from_py(dtype, &d.dtype) < 0) return NULL;
    if (d.dtype != ASN_F64 && (d.dtype != ASN_F32 || kind == GAUSS))
        return PyErr_Format(PyExc_TypeError, "Unsupported dtype %R for random", dtype);
    return run(self, &d, size);
}

static PyObject *engine_uniform(PyObject *self, PyObject *args) {
    return run_float(self, args, UNIFORM);
}

static PyObject *engine_normal(PyObject *self, PyObject *args) {
    return run_float(self, args, NORMAL);
}

static PyObject *engine_gauss(PyObject *self, PyObject *args) {
    return run_float(self, args, GAUSS);
}

/* (size, dtype, low, range, masked): low modulo 2^64. */
static PyObject *engine_bounded(PyObject *self, PyObject *args) {
    PyObject *size, *dtype;
    unsigned long long low, range;
    int masked;
    draw d = {.kind = BOUNDED};
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

static PyObject *engine_interval(PyObject *self, PyObject *max) {
    unsigned long long m = PyLong_AsUnsignedLongLong(max);
    if (PyErr_Occurred()) return NULL;
    return PyLong_FromUnsignedLongLong(asn_random_interval(engine_of(self), m));
}

static PyObject *engine_raw(PyObject *self, PyObject *unused) {
    (void)unused;
    asn_bitgen *g = engine_of(self);
    if (g->kind == ASN_MT19937) return PyLong_FromUnsignedLong(asn_next32(g));
    return PyLong_FromUnsignedLongLong(asn_next64(g));
}

static PyMethodDef methods[] = {
    {"seed_words", engine_seed_words, METH_VARARGS | METH_STATIC,
     "seed_words(entropy, n): n uint32 words drawn from a SeedSequence's entropy words."},
    {"seed_pcg64", engine_seed_pcg64, METH_O, "Seeds PCG64 from 32 bytes."},
    {"seed_philox", engine_seed_philox, METH_O,
     "Seeds Philox 4x32-10 with a 64-bit key."},
    {"seed_mt19937", engine_seed_mt19937, METH_O,
     "Seeds MT19937 from an int or from words."},
    {"get_bytes", engine_get_bytes, METH_NOARGS, "The state as bytes."},
    {"set_bytes", engine_set_bytes, METH_O, "Sets the state from get_bytes()."},
    {"get_pcg64", engine_get_pcg64, METH_NOARGS,
     "(state, inc, has_uint32, uinteger); Philox: (word, key, ...)."},
    {"set_pcg64", engine_set_pcg64, METH_VARARGS, "Sets what get_pcg64() gives."},
    {"get_mt19937", engine_get_mt19937, METH_NOARGS, "(key, pos, has_gauss, gauss)."},
    {"set_mt19937", engine_set_mt19937, METH_VARARGS, "Sets what get_mt19937() gives."},
    {"advance", engine_advance, METH_O, "Advances PCG64 or Philox by delta words."},
    {"uniform", engine_uniform, METH_VARARGS, "uniform(size, dtype): [0, 1)."},
    {"normal", engine_normal, METH_VARARGS, "normal(size, dtype): ziggurat."},
    {"gauss", engine_gauss, METH_VARARGS, "gauss(size): polar method, float64."},
    {"bounded", engine_bounded, METH_VARARGS,
     "bounded(size, dtype, low, range, masked): integers in [low, low + range]."},
    {"interval", engine_interval, METH_O, "An integer in [0, max], by masked rejection."},
    {"raw", engine_raw, METH_NOARGS, "The generator's next word."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, engine_new},
    {Py_tp_dealloc, engine_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "A bit generator's state and the draws from it."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "asnumpy._core.BitEngine",
    .basicsize = sizeof(engine_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

int asn_random_init_type(PyObject *module) {
    engine_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    return engine_type
               ? PyModule_AddObjectRef(module, "BitEngine", (PyObject *)engine_type)
               : -1;
}
