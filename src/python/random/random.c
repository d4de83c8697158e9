/* L3 python: asnumpy._core.BitEngine, a bit generator's state and the draws from it.
 *
 * The classes of asnumpy.random (Generator, RandomState, bit generators) are Python over
 * this type: they check arguments, this fills memory. Here are seeding and states; the
 * draws are in random_draw.c, random_variates.c and random_orders.c, what is around them
 * in random_trace.c.
 *
 * States go in and out as bytes of words, or as the tuples that numpy.random's `state`
 * dicts are made of. Setting a state in a trace of asnumpy.jit is a step of it; reading
 * one there is an error, since a replay could not answer. What is checked here is what
 * memory depends on: lengths, and positions in buffers. */
#include "python/random/random_engine.h"

/* The state is a block of its own, aligned for its 128-bit numbers, and all zero until it
 * is seeded. */
static PyObject *engine_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args;
    (void)kwargs;
    asn_engine_object *self = (asn_engine_object *)type->tp_alloc(type, 0);
    if (!self) return NULL;
    self->engine = aligned_alloc(16, (sizeof(asn_bitgen) + 15) & ~(size_t)15);
    if (!self->engine) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    memset(self->engine, 0, sizeof *self->engine);
    return (PyObject *)self;
}

/* The state goes with the object; replays that draw from it hold the object. */
static void engine_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((asn_engine_object *)self)->acquire);
    Py_XDECREF(((asn_engine_object *)self)->release);
    free(asn_engine_of(self));
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- seeding and state */

/* What a trace says of a look at the state. */
static const char looked_at[] = "the state of a random generator is read or moved on";

/* Bytes as n words of `size` bytes each, in the machine's order; borrowed. -1: an error.
 */
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

/* Entropy words (bytes of uint32) mixed into a pool of so many words, as bytes; NULL: an
 * error. */
static PyObject *mixed_pool(PyObject *entropy, Py_ssize_t pool_size) {
    const void *words;
    size_t n;
    if (words_from(entropy, &words, &n, 4) < 0) return NULL;
    if (pool_size < 1)
        return PyErr_Format(PyExc_ValueError, "a pool of %zd words", pool_size);
    PyObject *pool = PyBytes_FromStringAndSize(NULL, 4 * pool_size);
    if (pool)
        asn_seed_mix(words, n, (uint32_t *)PyBytes_AS_STRING(pool), (size_t)pool_size);
    return pool;
}

/* (entropy, pool_size) */
static PyObject *engine_seed_pool(PyObject *unused, PyObject *args) {
    (void)unused;
    PyObject *entropy;
    Py_ssize_t pool_size;
    if (!PyArg_ParseTuple(args, "Sn", &entropy, &pool_size)) return NULL;
    return mixed_pool(entropy, pool_size);
}

/* SeedSequence.generate_state: n words drawn from the mixed pool: (entropy, n,
 * pool_size). */
static PyObject *engine_seed_words(PyObject *unused, PyObject *args) {
    (void)unused;
    PyObject *entropy;
    Py_ssize_t count, pool_size;
    if (!PyArg_ParseTuple(args, "Snn", &entropy, &count, &pool_size)) return NULL;
    if (count < 0) {
        PyErr_SetString(PyExc_ValueError, "the number of words is negative");
        return NULL;
    }
    PyObject *pool = mixed_pool(entropy, pool_size);
    PyObject *result = pool ? PyBytes_FromStringAndSize(NULL, 4 * count) : NULL;
    if (result)
        asn_seed_generate((const uint32_t *)PyBytes_AS_STRING(pool), (size_t)pool_size,
                          (uint32_t *)PyBytes_AS_STRING(result), (size_t)count);
    Py_XDECREF(pool);
    return result;
}

/* Copies n words of 64 bits, exactly `want` of them. -1: an error, which names the
 * engine. */
static int exact_words(PyObject *bytes, const char *engine, uint64_t *out, size_t want) {
    const void *words;
    size_t n;
    if (words_from(bytes, &words, &n, 8) < 0) return -1;
    if (n != want) {
        PyErr_Format(PyExc_ValueError, "%s takes %zu words, got %zu", engine, want, n);
        return -1;
    }
    memcpy(out, words, 8 * n);
    return 0;
}

/* (words, dxsm): which of the two output functions. */
static PyObject *engine_seed_pcg64(PyObject *self, PyObject *args) {
    PyObject *bytes;
    int dxsm;
    uint64_t four[4];
    if (!PyArg_ParseTuple(args, "Sp", &bytes, &dxsm)) return NULL;
    if (exact_words(bytes, "PCG64", four, 4) < 0) return NULL;
    asn_pcg64_seed(asn_engine_of(self), dxsm ? ASN_PCG64DXSM : ASN_PCG64, four);
    return asn_draw_state_set(self);
}

/* (words): three of 64 bits, which the algorithm mixes before the first draw. */
static PyObject *engine_seed_sfc64(PyObject *self, PyObject *bytes) {
    uint64_t three[3];
    if (exact_words(bytes, "SFC64", three, 3) < 0) return NULL;
    asn_sfc64_seed(asn_engine_of(self), three);
    return asn_draw_state_set(self);
}

/* (counter, key): NumPy's 4x64 cipher. */
static PyObject *engine_seed_philox4x64(PyObject *self, PyObject *args) {
    PyObject *counter, *key;
    uint64_t c[4], k[2];
    if (!PyArg_ParseTuple(args, "SS", &counter, &key)) return NULL;
    if (exact_words(counter, "Philox's counter", c, 4) < 0) return NULL;
    if (exact_words(key, "Philox's key", k, 2) < 0) return NULL;
    asn_philox4x64_seed(asn_engine_of(self), c, k);
    return asn_draw_state_set(self);
}

/* (key): the device's 4x32 cipher, AsNumpy's own stream. */
static PyObject *engine_seed_philox(PyObject *self, PyObject *key) {
    unsigned long long k = PyLong_AsUnsignedLongLong(key);
    if (PyErr_Occurred()) return NULL;
    asn_philox_seed(asn_engine_of(self), k);
    return asn_draw_state_set(self);
}

/* (seed or words): RandomState's two ways to seed, by a number below 2**32, or by an
 * array. */
static PyObject *engine_seed_mt19937(PyObject *self, PyObject *arg) {
    const void *words;
    size_t n;
    if (PyLong_Check(arg)) {
        unsigned long seed = PyLong_AsUnsignedLong(arg);
        if (PyErr_Occurred()) return NULL;
        asn_mt19937_seed(asn_engine_of(self), (uint32_t)seed);
        return asn_draw_state_set(self);
    }
    if (words_from(arg, &words, &n, 4) < 0) return NULL;
    if (n == 0) {
        PyErr_SetString(PyExc_ValueError, "Seed must be non-empty");
        return NULL;
    }
    asn_mt19937_seed_array(asn_engine_of(self), words, n);
    return asn_draw_state_set(self);
}

/* The whole state as bytes, for pickling and the state properties. Its layout is this
 * library's and this machine's. */
static PyObject *engine_get_bytes(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    return PyBytes_FromStringAndSize((const char *)asn_engine_of(self),
                                     sizeof(asn_bitgen));
}

/* (bytes): of exactly the state's size; what they say is believed. */
static PyObject *engine_set_bytes(PyObject *self, PyObject *bytes) {
    const void *data;
    size_t n;
    if (words_from(bytes, &data, &n, 1) < 0) return NULL;
    if (n != sizeof(asn_bitgen))
        return PyErr_Format(PyExc_ValueError, "a state has %zu bytes, got %zu",
                            sizeof(asn_bitgen), n);
    memcpy(asn_engine_of(self), data, n);
    return asn_draw_state_set(self);
}

/* A Python int of 128 bits. CPython's own way to 128 bits is private, and changes. */
static PyObject *int128(unsigned __int128 value) {
    return PyObject_CallMethod((PyObject *)&PyLong_Type, "from_bytes", "y#s",
                               (const char *)&value, (Py_ssize_t)sizeof value, "little");
}

/* The other way; -1: an error, OverflowError where it does not fit. */
static int as_int128(PyObject *number, unsigned __int128 *out) {
    PyObject *n = PyNumber_Index(number);
    PyObject *bytes =
        n ? PyObject_CallMethod(n, "to_bytes", "is", (int)sizeof *out, "little") : NULL;
    if (bytes) memcpy(out, PyBytes_AS_STRING(bytes), sizeof *out);
    Py_XDECREF(n);
    Py_XDECREF(bytes);
    return bytes ? 0 : -1;
}

/* PCG64: (state, inc, has_uint32, uinteger). has_uint32: the upper half of the last 64
 * bits is still to be given out; it is uinteger. */
static PyObject *engine_get_pcg64(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    const asn_bitgen *g = asn_engine_of(self);
    return Py_BuildValue("(NNiI)", int128(g->pcg.state), int128(g->pcg.inc),
                         (int)g->has_uint32, (unsigned)g->uinteger);
}

/* (state, inc, has_uint32, uinteger); the kind stays as it was seeded. */
static PyObject *engine_set_pcg64(PyObject *self, PyObject *args) {
    PyObject *state, *inc;
    int has_uint32;
    unsigned uinteger;
    unsigned __int128 s, i;
    if (!PyArg_ParseTuple(args, "OOiI", &state, &inc, &has_uint32, &uinteger))
        return NULL;
    if (as_int128(state, &s) < 0 || as_int128(inc, &i) < 0) return NULL;
    asn_bitgen *g = asn_engine_of(self);
    g->pcg.state = s;
    g->pcg.inc = i;
    g->has_uint32 = has_uint32 != 0;
    g->uinteger = uinteger;
    return asn_draw_state_set(self);
}

/* MT19937: (key bytes, pos): 624 words and how many of them are used. */
static PyObject *engine_get_mt19937(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    const asn_bitgen *g = asn_engine_of(self);
    return Py_BuildValue("(y#i)", (const char *)g->mt.key, (Py_ssize_t)sizeof g->mt.key,
                         g->mt.pos);
}

/* (key bytes, pos). RandomState may be set without having been seeded, so the kind is set
 * too. */
static PyObject *engine_set_mt19937(PyObject *self, PyObject *args) {
    const char *key;
    Py_ssize_t length;
    int pos;
    if (!PyArg_ParseTuple(args, "y#i", &key, &length, &pos)) return NULL;
    asn_bitgen *g = asn_engine_of(self);
    if (length != (Py_ssize_t)sizeof g->mt.key || pos < 0 || pos > 624)
        return PyErr_Format(PyExc_ValueError,
                            "state must have 624 words and 0 <= pos <= 624");
    g->kind = ASN_MT19937;
    memcpy(g->mt.key, key, sizeof g->mt.key);
    g->mt.pos = pos;
    return asn_draw_state_set(self);
}

/* RandomState's second normal of a pair: (has_gauss, gauss). */
static PyObject *engine_get_gauss(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    const asn_bitgen *g = asn_engine_of(self);
    return Py_BuildValue("(id)", (int)g->has_gauss, g->gauss);
}

/* (has_gauss, gauss) */
static PyObject *engine_set_gauss(PyObject *self, PyObject *args) {
    int has_gauss;
    double gauss;
    if (!PyArg_ParseTuple(args, "id", &has_gauss, &gauss)) return NULL;
    asn_engine_of(self)->has_gauss = has_gauss != 0;
    asn_engine_of(self)->gauss = gauss;
    return asn_draw_state_set(self);
}

/* SFC64: (words, has_uint32, uinteger). */
static PyObject *engine_get_sfc64(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    const asn_bitgen *g = asn_engine_of(self);
    return Py_BuildValue("(y#iI)", (const char *)g->sfc.s, (Py_ssize_t)sizeof g->sfc.s,
                         (int)g->has_uint32, (unsigned)g->uinteger);
}

/* (words, has_uint32, uinteger) */
static PyObject *engine_set_sfc64(PyObject *self, PyObject *args) {
    PyObject *words;
    int has_uint32;
    unsigned uinteger;
    asn_bitgen *g = asn_engine_of(self);
    if (!PyArg_ParseTuple(args, "SiI", &words, &has_uint32, &uinteger)) return NULL;
    if (exact_words(words, "SFC64's state", g->sfc.s, 4) < 0) return NULL;
    g->has_uint32 = has_uint32 != 0;
    g->uinteger = uinteger;
    return asn_draw_state_set(self);
}

/* Philox: (counter, key, buffer, pos, has_uint32, uinteger). */
static PyObject *engine_get_philox4x64(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    const asn_bitgen *g = asn_engine_of(self);
    return Py_BuildValue("(y#y#y#iiI)", (const char *)g->philox.counter,
                         (Py_ssize_t)sizeof g->philox.counter,
                         (const char *)g->philox.key, (Py_ssize_t)sizeof g->philox.key,
                         (const char *)g->philox.buffer,
                         (Py_ssize_t)sizeof g->philox.buffer, g->philox.pos,
                         (int)g->has_uint32, (unsigned)g->uinteger);
}

/* (counter, key, buffer, pos, has_uint32, uinteger): everything is read before anything
 * is set. */
static PyObject *engine_set_philox4x64(PyObject *self, PyObject *args) {
    PyObject *counter, *key, *buffer;
    int pos, has_uint32;
    unsigned uinteger;
    uint64_t c[4], k[2], b[4];
    if (!PyArg_ParseTuple(args, "SSSiiI", &counter, &key, &buffer, &pos, &has_uint32,
                          &uinteger))
        return NULL;
    if (exact_words(counter, "Philox's counter", c, 4) < 0 ||
        exact_words(key, "Philox's key", k, 2) < 0 ||
        exact_words(buffer, "Philox's buffer", b, 4) < 0)
        return NULL;
    if (pos < 0 || pos > 4)
        return PyErr_Format(PyExc_ValueError, "buffer_pos is %d, not 0 to 4", pos);
    asn_bitgen *g = asn_engine_of(self);
    memcpy(g->philox.counter, c, sizeof c);
    memcpy(g->philox.key, k, sizeof k);
    memcpy(g->philox.buffer, b, sizeof b);
    g->philox.pos = pos;
    g->has_uint32 = has_uint32 != 0;
    g->uinteger = uinteger;
    return asn_draw_state_set(self);
}

/* (blocks): 32 bytes, a number of 256 bits. */
static PyObject *engine_advance_philox4x64(PyObject *self, PyObject *blocks) {
    if (asn_draw_refused(looked_at)) return NULL;
    uint64_t words[4];
    if (exact_words(blocks, "Philox's advance", words, 4) < 0) return NULL;
    asn_philox4x64_advance(asn_engine_of(self), words);
    Py_RETURN_NONE;
}

/* As numpy.random's jumped(). */
static PyObject *engine_jump_mt19937(PyObject *self, PyObject *unused) {
    if (asn_draw_refused(looked_at)) return NULL;
    (void)unused;
    ASN_PY_TRY(asn_mt19937_jump(asn_engine_of(self)));
    Py_RETURN_NONE;
}

/* (delta): modulo 2**128, so that negative numbers move back. */
static PyObject *engine_advance(PyObject *self, PyObject *delta) {
    if (asn_draw_refused(looked_at)) return NULL;
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
    asn_pcg64_advance(asn_engine_of(self), d);
    Py_RETURN_NONE;
}

/* (lock): its acquire and release are kept; draws of all methods take it from then on. */
static PyObject *engine_guard(PyObject *self, PyObject *lock) {
    asn_engine_object *e = (asn_engine_object *)self;
    PyObject *acquire = PyObject_GetAttrString(lock, "acquire");
    PyObject *release = acquire ? PyObject_GetAttrString(lock, "release") : NULL;
    if (!release) {
        Py_XDECREF(acquire);
        return NULL;
    }
    Py_XSETREF(e->acquire, acquire);
    Py_XSETREF(e->release, release);
    Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"seed_words", engine_seed_words, METH_VARARGS | METH_STATIC,
     "seed_words(entropy, n, pool_size): n uint32 words drawn from a SeedSequence."},
    {"seed_pool", engine_seed_pool, METH_VARARGS | METH_STATIC,
     "seed_pool(entropy, pool_size): the SeedSequence's mixed words."},
    {"seed_pcg64", engine_seed_pcg64, METH_VARARGS,
     "seed_pcg64(words, dxsm): from 32 bytes."},
    {"seed_sfc64", engine_seed_sfc64, METH_O, "Seeds SFC64 from 24 bytes."},
    {"seed_philox4x64", engine_seed_philox4x64, METH_VARARGS,
     "seed_philox4x64(counter, key): from 32 and 16 bytes."},
    {"seed_philox", engine_seed_philox, METH_O,
     "Seeds Philox 4x32-10 with a 64-bit key."},
    {"seed_mt19937", engine_seed_mt19937, METH_O,
     "Seeds MT19937 from an int or from words."},
    {"guard", engine_guard, METH_O, "guard(lock): what the draws of numbers take."},
    {"get_bytes", engine_get_bytes, METH_NOARGS, "The state as bytes."},
    {"set_bytes", engine_set_bytes, METH_O, "Sets the state from get_bytes()."},
    {"get_pcg64", engine_get_pcg64, METH_NOARGS,
     "(state, inc, has_uint32, uinteger); Philox: (word, key, ...)."},
    {"set_pcg64", engine_set_pcg64, METH_VARARGS, "Sets what get_pcg64() gives."},
    {"get_mt19937", engine_get_mt19937, METH_NOARGS, "(key, pos)."},
    {"set_mt19937", engine_set_mt19937, METH_VARARGS, "Sets what get_mt19937() gives."},
    {"get_gauss", engine_get_gauss, METH_NOARGS,
     "(has_gauss, gauss): RandomState's second normal of a pair."},
    {"set_gauss", engine_set_gauss, METH_VARARGS, "Sets what get_gauss() gives."},
    {"get_sfc64", engine_get_sfc64, METH_NOARGS, "(words, has_uint32, uinteger)."},
    {"set_sfc64", engine_set_sfc64, METH_VARARGS, "Sets what get_sfc64() gives."},
    {"get_philox4x64", engine_get_philox4x64, METH_NOARGS,
     "(counter, key, buffer, pos, has_uint32, uinteger)."},
    {"set_philox4x64", engine_set_philox4x64, METH_VARARGS,
     "Sets what get_philox4x64() gives."},
    {"advance_philox4x64", engine_advance_philox4x64, METH_O,
     "Advances by a 256-bit number of blocks, 32 bytes."},
    {"jump_mt19937", engine_jump_mt19937, METH_NOARGS, "2^128 words on."},
    {"advance", engine_advance, METH_O, "Advances PCG64 or Philox by delta words."},
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
    .basicsize = sizeof(asn_engine_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = slots,
};

/* The draws' methods, which live in files of their own, as descriptors of the type. -1:
 * an error. */
static int add_methods(PyMethodDef *method) {
    for (; method->ml_name; method++) {
        PyObject *descriptor = PyDescr_NewMethod(asn_py.bit_engine, method);
        int failed = !descriptor || PyObject_SetAttrString((PyObject *)asn_py.bit_engine,
                                                           method->ml_name, descriptor);
        Py_XDECREF(descriptor);
        if (failed) return -1;
    }
    return 0;
}

/* Makes the type and gives it the methods of the other files. */
int asn_random_init_type(PyObject *module) {
    asn_py.bit_engine = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    if (!asn_py.bit_engine || add_methods(asn_draw_methods) < 0 ||
        add_methods(asn_variate_methods) < 0 || add_methods(asn_order_methods) < 0 ||
        add_methods(asn_capsule_methods) < 0)
        return -1;
    return PyModule_AddObjectRef(module, "BitEngine", (PyObject *)asn_py.bit_engine);
}
