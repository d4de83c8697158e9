/* L3 python: what BitEngine's draws have around them: the generator's lock, and traces of
 * asnumpy.jit (graph/capture/replay.h), whose replays draw again.
 *
 * A trace holds the library's lock, which whoever draws may wait for with the generator's
 * in hand: so it gives up where others wait. A replay takes the generator's first.
 *
 * A traced draw is a step of the host's with a copy of its description, and the capture
 * keeps the engine (asn_keeper): its reference as long as there are replays, its lock as
 * long as one runs. */
#include "python/random/random_engine.h"

/* ---- the lock */

/* (Contract in random_engine.h.) *release is a new reference, of the lock that was taken,
 * even if guard() is called meanwhile. */
bool asn_draw_enter(PyObject *self, PyObject **release) {
    enum { PATIENCE = 1 }; /* seconds */
    asn_engine_object *e = (asn_engine_object *)self;
    *release = NULL;
    if (!e->acquire) return true;
    PyObject *let_go = Py_NewRef(e->release), *done;
    int have = -1;
    if (!asn_capture_open()) {
        done = PyObject_CallNoArgs(e->acquire);
        have = done ? 1 : -1;
    } else {
        done = PyObject_CallFunction(e->acquire, "Oi", Py_True, PATIENCE);
        if (done) have = PyObject_IsTrue(done);
        if (have == 0)
            asn_raise(asn_capture_refuse("another thread holds the generator's lock"));
    }
    Py_XDECREF(done);
    if (have > 0)
        *release = let_go;
    else
        Py_DECREF(let_go);
    return have > 0;
}

/* (Contract in random_engine.h.) An error of the lock drops the result. */
PyObject *asn_draw_leave(PyObject *release, PyObject *drawn) {
    PyObject *type, *value, *trace;
    if (!release) return drawn;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *done = PyObject_CallNoArgs(release);
    Py_DECREF(release);
    if (!done) Py_CLEAR(drawn);
    Py_XDECREF(done);
    if (type) PyErr_Restore(type, value, trace);
    return drawn;
}

/* ---- in a trace */

/* (Contracts in random_engine.h.) The refusal says where in the program it was, too. */
bool asn_draw_refused(const char *what) {
    if (!asn_capture_open()) return false;
    asn_raise(asn_capture_refuse(what));
    return true;
}

/* A number is drawn for the host, which a replay would not see. */
bool asn_draw_refused_number(void) {
    return asn_draw_refused("a random number that is no array is drawn (size=() draws an "
                            "array of no dimensions)");
}

/* asn_keeper's four: of the engine object, by the interpreter's rules, whose lock is
 * held. */
static void hold(void *engine) {
    Py_INCREF((PyObject *)engine);
}

static void let_go(void *engine) {
    Py_DECREF((PyObject *)engine);
}

/* The lock stays taken when its bound method is dropped: leave() asks the object anew. */
static asn_status enter(void *engine) {
    PyObject *release;
    if (asn_draw_enter(engine, &release)) {
        Py_XDECREF(release); /* the engine's, when it is left */
        return ASN_OK;
    }
    PyErr_Clear();
    return asn_error_set(ASN_ERR_RUNTIME, "the lock of a random generator that a traced "
                                          "function draws from could not be taken");
}

/* By the object's present `release`. */
static void leave(void *engine) {
    PyObject *release = ((asn_engine_object *)engine)->release;
    const bool failed = PyErr_Occurred() != NULL;
    (void)asn_draw_leave(Py_XNewRef(release), NULL);
    /* The replay has its results: there is no call that this would be the error of. */
    if (!failed && PyErr_Occurred()) PyErr_WriteUnraisable(release);
}

asn_keeper asn_draw_keeper(PyObject *self) {
    return (asn_keeper){self, hold, let_go, enter, leave};
}

/* A state to go back to, and where it is set. */
typedef struct {
    asn_bitgen *engine, state;
} stated;

/* The step "seed" of a replay; it has no memory. */
static asn_status restore(const void *context, void *const *memory) {
    (void)memory;
    const stated *s = context;
    *s->engine = s->state;
    return ASN_OK;
}

/* The state that is set is copied, so that each replay sets it again. */
PyObject *asn_draw_state_set(PyObject *self) {
    if (!asn_capture_open()) Py_RETURN_NONE;
    asn_keeper keeper = asn_draw_keeper(self);
    stated s = {.engine = asn_engine_of(self), .state = *asn_engine_of(self)};
    stated *kept = asn_capture_copy(&s, sizeof s);
    asn_status status = kept ? asn_capture_hold(&keeper) : ASN_ERR_MEMORY;
    if (!status) status = asn_capture_host("seed", restore, kept, 0, 0, NULL);
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}
