/* L3 python: a generator as others' compiled code draws from it.
 *
 * NumPy's interface for that (numpy/random/bitgen.h) is a struct of functions and a state
 * in a capsule named "BitGenerator". NumPy's Generator, Cython and Numba programs copy
 * the struct and call its functions under the bit generator's lock. Here the state is the
 * engine itself, so that draws of theirs and of ours are of one stream. */
#include <numpy/random/bitgen.h>

#include "python/random/random_engine.h"

static const char capsule_name[] = "BitGenerator";

static uint64_t next64(void *state) {
    return asn_next64(state);
}

static uint32_t next32(void *state) {
    return asn_next32(state);
}

static double next_double(void *state) {
    return asn_next_double(state);
}

/* MT19937's own words have 32 bits. */
static uint64_t next_raw32(void *state) {
    return asn_next32(state);
}

static void capsule_free(PyObject *capsule) {
    free(PyCapsule_GetPointer(capsule, capsule_name));
    Py_XDECREF((PyObject *)PyCapsule_GetContext(capsule));
}

/* The capsule holds the engine. In a trace an error: a replay would not draw. */
static PyObject *engine_capsule(PyObject *self, PyObject *unused) {
    (void)unused;
    if (asn_draw_refused("a random generator is handed to compiled code")) return NULL;
    asn_bitgen *engine = asn_engine_of(self);
    bitgen_t *bits = malloc(sizeof *bits);
    if (!bits) return PyErr_NoMemory();
    *bits = (bitgen_t){.state = engine,
                       .next_uint64 = next64,
                       .next_uint32 = next32,
                       .next_double = next_double,
                       .next_raw = engine->kind == ASN_MT19937 ? next_raw32 : next64};
    PyObject *capsule = PyCapsule_New(bits, capsule_name, capsule_free);
    if (!capsule) {
        free(bits);
        return NULL;
    }
    if (PyCapsule_SetContext(capsule, self) < 0) {
        Py_DECREF(capsule);
        return NULL;
    }
    Py_INCREF(self);
    return capsule;
}

PyMethodDef asn_capsule_methods[] = {
    {"capsule", engine_capsule, METH_NOARGS,
     "A capsule of NumPy's bitgen_t, which draws from this state."},
    {NULL, NULL, 0, NULL},
};
