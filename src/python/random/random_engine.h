/* L3 python: the object behind asnumpy._core.BitEngine, and its drawing methods.
 *
 * random.c has its states, random_draw.c the uniform and normal numbers and integers,
 * random_variates.c the other distributions, random_orders.c shuffles and samples,
 * random_capsule.c hands it to other compiled code, random_trace.c has what is around
 * draws.
 */
#ifndef ASN_PYTHON_RANDOM_RANDOM_ENGINE_H
#define ASN_PYTHON_RANDOM_RANDOM_ENGINE_H

#include "python/args.h"
#include "graph/capture/replay.h"
#include "random/bitgen.h"

/* The Python object: one generator. */
typedef struct {
    PyObject_HEAD asn_bitgen *engine; /* 16-byte aligned: it holds 128-bit numbers */
    PyObject *acquire, *release;      /* of the lock that draws take; or NULL */
} asn_engine_object;

static inline asn_bitgen *asn_engine_of(PyObject *self) {
    return ((asn_engine_object *)self)->engine;
}

/* A draw under the lock that guard() was given: a third of what `with lock:` costs, which
 * is several times what a number does. A trace (which holds the library's lock, that
 * whoever draws may wait for) gives up after a while. False: an exception is set. */
bool asn_draw_enter(PyObject *self, PyObject **release);
/* Calls `release` (NULL: there is no lock) and drops it; the exception that is set stays.
 * The result, or NULL. */
PyObject *asn_draw_leave(PyObject *release, PyObject *drawn);
/* `name_locked`, what a method table has of `name`: of METH_FASTCALL, and of METH_VARARGS
 * or METH_O. */
#define ASN_LOCKED_DRAW(name)                                                            \
    static PyObject *name##_locked(PyObject *self, PyObject *const *args,                \
                                   Py_ssize_t n) {                                       \
        PyObject *release;                                                               \
        if (!asn_draw_enter(self, &release)) return NULL;                                \
        return asn_draw_leave(release, name(self, args, n));                             \
    }
#define ASN_LOCKED_CALL(name)                                                            \
    static PyObject *name##_locked(PyObject *self, PyObject *args) {                     \
        PyObject *release;                                                               \
        if (!asn_draw_enter(self, &release)) return NULL;                                \
        return asn_draw_leave(release, name(self, args));                                \
    }

/* In a trace: fails, where a number that is no array is drawn, or the state is read:
 * true, with the exception set. Else false. */
bool asn_draw_refused(const char *what);
/* ... where it is a number. */
bool asn_draw_refused_number(void);
/* The state was set: None (a new reference); in a trace, a replay sets it to the same.
 * NULL: an error. */
PyObject *asn_draw_state_set(PyObject *self);
/* What holds the engine for a capture: its references, and its lock while a replay draws.
 */
asn_keeper asn_draw_keeper(PyObject *self);

/* A new array of that shape, filled where the host reaches its memory, else through a
 * copy. NULL: an exception is set. */
PyObject *asn_draw_array(PyObject *self, asn_dtype dtype, int ndim, const int64_t *shape,
                         asn_filler source);
/* The source of a description: any struct, by its name; `keep` as in asn_filler. */
#define ASN_FILLER_OF(filler, description, keeps)                                        \
    (asn_filler) {                                                                       \
        .fill = filler, .what = &(description), .size = sizeof(description),             \
        .keep = keeps                                                                    \
    }

/* Whether `o` is a number that needs no array: Python's own, or NumPy's float64. */
static inline bool asn_plain_number(PyObject *o, double *x) {
    if (PyFloat_Check(o)) {
        *x = PyFloat_AS_DOUBLE(o);
        return true;
    }
    if (!PyLong_CheckExact(o)) return false;
    *x = PyLong_AsDouble(o);
    if (*x == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return true;
}

/* Ends with {NULL}. */
extern PyMethodDef asn_draw_methods[], asn_variate_methods[], asn_order_methods[],
    asn_capsule_methods[];

#endif
