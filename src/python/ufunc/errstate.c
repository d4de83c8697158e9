/* L3 python: floating-point exceptions -> warnings, errors, callbacks (errstate, seterr,
 * geterr, seterrcall).
 *
 * The core collects the exceptions that what it runs raises; after an operation that ran
 * at once, and after every synchronisation, they are taken and reported under the present
 * modes. While one is "raise", "call", "print" or "log", operations run as they are
 * called, so that the error comes from the call that raised the exception. While every
 * mode is "ignore" the core does not collect at all.
 *
 * The modes are NumPy's own: its context variable holds an object of them, so a thread
 * and an asyncio task have theirs, and numpy.errstate is asnumpy.errstate. The core works
 * under those of one context, `active`; at each call it asks whose context it is
 * (adopt_present), and what was recorded under other modes runs first, so that `with
 * errstate(...)` covers exactly the operations inside it. While no modes are set every
 * context has the same object, and asking is one look at the variable.
 *
 * `active` and `before` are read and written with the library's lock held: threads come
 * with their contexts at the same time, also under a global lock, which every wait lets
 * go of. Nothing is waited for, and no Python code runs, between a look at them and the
 * change that follows from it (adopt). Reports may run any Python code, so they are made
 * of a copy of the modes, without the lock. */
#include "python/args.h"
#include "graph/lock.h"
#include "graph/device/fallback.h"

/* NumPy's modes. Those above MODE_WARN need operations to run at once. */
enum { MODE_IGNORE, MODE_WARN, MODE_RAISE, MODE_CALL, MODE_PRINT, MODE_LOG, MODE_COUNT };
static const char *const mode_names[MODE_COUNT] = {"ignore", "warn",  "raise",
                                                   "call",   "print", "log"};
/* In the order of the ASN_FP bits; NumPy's keyword names and message words. */
static const struct {
    const char *key, *text;
} kinds[4] = {{"divide", "divide by zero"},
              {"over", "overflow"},
              {"under", "underflow"},
              {"invalid", "invalid value"}};

/* Mode "call": callback(text, flags), with NumPy's bits, which are the core's. -1: it
 * raised, or there is none (NumPy's NameError). */
static int report_call(PyObject *callback, const char *text, uint32_t flags) {
    if (!callback) {
        PyErr_Format(PyExc_NameError,
                     "python callback specified for %s but no function found.", text);
        return -1;
    }
    PyObject *r = PyObject_CallFunction(callback, "sI", text, flags);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

/* Mode "log": callback.write(message), likewise. */
static int report_log(PyObject *callback, const char *message) {
    if (!callback) {
        PyErr_Format(PyExc_NameError,
                     "log specified for %s but no object with write method found.",
                     message);
        return -1;
    }
    PyObject *r = PyObject_CallMethod(callback, "write", "s", message);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

/* One exception (kind: of `kinds`) by its mode; name: the operation's. 0: reported, or
 * nothing to do; -1: a Python exception is set. */
static int report_one(const asn_modes *m, int kind, uint32_t flags, const char *name) {
    char message[160];
    PyOS_snprintf(message, sizeof message, "%s encountered in %s", kinds[kind].text,
                  name);
    switch (m->mode[kind]) {
    case MODE_WARN: return PyErr_WarnEx(PyExc_RuntimeWarning, message, 1);
    case MODE_RAISE: PyErr_SetString(PyExc_FloatingPointError, message); return -1;
    case MODE_CALL: return report_call(m->callback, kinds[kind].text, flags);
    case MODE_PRINT: PySys_WriteStderr("Warning: %s\n", message); return 0;
    case MODE_LOG:
        PyOS_snprintf(message, sizeof message, "Warning: %s encountered in %s\n",
                      kinds[kind].text, name);
        return report_log(m->callback, message);
    default: return 0;
    }
}

/* The warning of set_fallback("warn") comes the same way, as a flag of its own. */
static int report_fallback(void) {
    const char *what = asn_fallback_take();
    return what ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                   "%s ran on the CPU: the device has no operator for it "
                                   "(set_fallback('silent') says nothing, 'error' "
                                   "refuses)",
                                   what)
                : 0;
}

/* All exceptions of flags, in NumPy's order, until one is an error. Any Python code may
 * run. */
static int report(const asn_modes *m, uint32_t flags, const char *name) {
    if (flags & ASN_FALLBACK_RAISED && report_fallback() < 0) return -1;
    /* A conversion runs as the copy of a cast; NumPy calls it by its purpose. */
    if (name && strcmp(name, "copy") == 0) name = "cast";
    for (int kind = 0; kind < 4; kind++)
        if (flags >> kind & 1 &&
            report_one(m, kind, flags, name ? name : "operation") < 0)
            return -1;
    return 0;
}

/* The active modes, with references of its own (release): others may change them
 * meanwhile. The lock is held, or a global one. */
static asn_modes hold_active(void) {
    asn_modes m = asn_py.active;
    Py_XINCREF(m.callback);
    Py_XINCREF(m.object);
    return m;
}

/* The references of modes that nobody uses any more. */
static void release(asn_modes *m) {
    Py_XDECREF(m->callback);
    Py_XDECREF(m->object);
}

/* (Contract in core.h.) By the modes as they are now, whatever they were when the
 * operation was called. */
int asn_fp_report(uint32_t flags, const char *name) {
    asn_lock();
    asn_modes m = hold_active();
    asn_unlock();
    /* Without the lock: a callback may call this library. */
    int failed = report(&m, flags, name);
    release(&m);
    return failed;
}

/* (Contract in core.h.) own: the exceptions of the ufunc itself, not of a cast on the
 * way. */
int asn_fp_report_as(uint32_t flags, const char *name, const char *method, asn_op op) {
    bool own = strcmp(name, asn_op_table[op].name) == 0 || strcmp(name, "reduce") == 0;
    return asn_fp_report(flags, own ? method : name);
}

/* ---- the modes of the context */

/* Everything recorded runs, and is waited for; -1: its error, or that of an exception. */
static int run_what_is_recorded(void) {
    ASN_PY_TRY_INT(asn_synchronize_free());
    return asn_fp_check();
}

/* A mode by NumPy's name; -1: ValueError. */
static int read_mode(PyObject *value, uint8_t *out) {
    for (uint8_t m = 0; m < MODE_COUNT; m++)
        if (PyUnicode_Check(value) &&
            PyUnicode_CompareWithASCIIString(value, mode_names[m]) == 0) {
            *out = m;
            return 0;
        }
    PyErr_Format(PyExc_ValueError,
                 "invalid error mode %R: it is one of ignore, warn, raise, call, "
                 "print, log",
                 value);
    return -1;
}

/* The modes of the present context, by NumPy's own reader; owns the callback. -1: an
 * error. */
static int read_present(asn_modes *m) {
    PyObject *named = PyObject_CallNoArgs(asn_py.errstate_read);
    bool ok = named && PyDict_Check(named);
    m->callback = NULL;
    for (int k = 0; k < 4 && ok; k++) {
        PyObject *mode = PyDict_GetItemString(named, kinds[k].key);
        ok = mode && read_mode(mode, &m->mode[k]) == 0;
    }
    PyObject *callback = ok ? PyDict_GetItemString(named, "call") : NULL;
    if (callback && callback != Py_None) m->callback = Py_NewRef(callback);
    Py_XDECREF(named);
    if (!ok && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "NumPy's errstate is not one that is known");
    return ok ? 0 : -1;
}

/* Whether both say the same, whatever objects they are from. */
static bool are_same(const asn_modes *m, const asn_modes *n) {
    return m->callback == n->callback && memcmp(m->mode, n->mode, sizeof m->mode) == 0;
}

/* The core works under the active modes from here on. The lock is held. -1: what was
 * still to run failed. */
static int apply(void) {
    bool any = false, at_once = false;
    for (int k = 0; k < 4; k++) {
        any |= asn_py.active.mode[k] != MODE_IGNORE;
        at_once |= asn_py.active.mode[k] > MODE_WARN;
    }
    /* Modes beyond "warn" need the call that raised: nothing is recorded under them. */
    asn_set_fp_checks(any);
    ASN_PY_TRY_INT(asn_set_at_once(at_once));
    return 0;
}

/* Modes of `object`, the present one (takes), which says the same as the active ones
 * where it cannot be read. `before` is tried first: it knows the object that was made
 * last, or the modes that another context had, so that two contexts in turn read nothing.
 */
static asn_modes modes_of(PyObject *object) {
    asn_modes m = {0};
    asn_lock();
    if (object == asn_py.before.object) {
        m = asn_py.before;
        asn_py.before = (asn_modes){0};
    }
    asn_unlock();
    if (m.object) {
        Py_DECREF(object);
        return m;
    }
    if (read_present(&m) < 0) {
        PyErr_WriteUnraisable(asn_py.errstate_variable);
        m = hold_active();
        Py_XDECREF(m.object);
    }
    m.object = object;
    return m;
}

/* What was recorded under `m` has run and raised these exceptions. Nobody waits for the
 * lock meanwhile: reports run any Python code. */
static void report_late(const asn_modes *m, uint32_t flags, const char *name) {
    bool held = asn_lock_is_mine() && !asn_capture_open();
    int depth = held ? asn_lock_suspend() : 0;
    if (report(m, flags, name) < 0) PyErr_WriteUnraisable(asn_py.errstate_variable);
    if (held) asn_lock_resume(depth);
}

/* What ran under modes that are left: theirs, and what it raised. */
typedef struct {
    asn_modes modes; /* owned */
    uint32_t flags;
    const char *name;
} late;

/* Runs what is recorded under the active modes and waits for it, which lets other threads
 * go on: they may have others active afterwards. */
static late run_under_active(void) {
    late l = {hold_active(), 0, NULL};
    asn_status status = asn_synchronize_free();
    l.flags = asn_fp_take_new(&l.name);
    if (status) {
        asn_raise(status);
        PyErr_WriteUnraisable(asn_py.errstate_variable);
    }
    return l;
}

/* The active modes become m's (takes) if they are those of `last` still, and the core
 * works under them. false: others came. *failed: of apply. */
static bool exchange(const asn_modes *m, const asn_modes *last, bool same, int *failed) {
    asn_modes old = {0};
    asn_lock();
    const bool still = asn_py.active.object == last->object;
    if (still) {
        /* Old modes stay known, for the way back. */
        old = asn_py.before;
        asn_py.before = asn_py.active;
        asn_py.active = *m;
        *failed = same ? 0 : apply();
    }
    asn_unlock();
    release(&old);
    return still;
}

/* The modes of the present context, which `object` (takes) holds, become the active ones.
 * Objects that say the same are not told apart: two threads would else run what is
 * recorded at every turn. -1: apply failed. */
static int adopt(PyObject *object) {
    const asn_modes m = modes_of(object);
    int failed = 0;
    for (bool done = false; !done;) {
        const bool same = are_same(&m, &asn_py.active);
        late l = same ? (late){hold_active(), 0, NULL} : run_under_active();
        done = exchange(&m, &l.modes, same, &failed);
        if (l.flags) report_late(&l.modes, l.flags, l.name);
        release(&l.modes);
    }
    return failed;
}

/* Of the thread that is changing modes: a report on the way may come here again. */
static _Thread_local bool adopting;

/* Until the active modes are those of the present context, which reports may change. The
 * Python exception that is set stays. Takes present. */
static void adopt_until_present(PyObject *present) {
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    adopting = true;
    while (present && present != asn_py.active.object) {
        if (adopt(present) < 0) PyErr_WriteUnraisable(asn_py.errstate_variable);
        if (PyContextVar_Get(asn_py.errstate_variable, NULL, &present) < 0) {
            PyErr_WriteUnraisable(asn_py.errstate_variable);
            present = NULL;
        }
    }
    Py_XDECREF(present);
    adopting = false;
    PyErr_Restore(type, value, trace);
}

/* As the core's hook, asn_set_arrival_hook: its context's modes become the active ones.
 * What was recorded in another context is reported here; its errors cannot be raised in a
 * call of this one, and go to sys.unraisablehook. Others may have come with their modes
 * while a report ran. */
static void adopt_present(void) {
    PyObject *present = NULL;
    if (ASN_FREE_THREADED && !PyGILState_Check()) return; /* no thread of Python's */
    int failed = PyContextVar_Get(asn_py.errstate_variable, NULL, &present);
    if (!failed && (present == asn_py.active.object || adopting)) {
        Py_DECREF(present);
        return;
    }
    if (failed) {
        PyErr_WriteUnraisable(asn_py.errstate_variable);
        return;
    }
    adopt_until_present(present);
}

/* Takes the lock, with the modes of the context active; a trace (asnumpy.jit), which has
 * the lock already, changes them, too. */
static void lock_present(void) {
    asn_lock();
    adopt_present();
}

/* Whether the context's object is that one, after the core has looked. */
static bool is_active(const PyObject *object) {
    lock_present();
    bool same = object == asn_py.active.object;
    asn_unlock();
    return same;
}

/* The context has `object` from here on; its core, too. What is recorded under the
 * present modes runs before: when that raises, the modes stay; `always`: they change all
 * the same, and -1 all the same. */
static int change(PyObject *object, bool always) {
    PyObject *type, *value, *trace;
    if (is_active(object)) return 0;
    int failed = run_what_is_recorded();
    if (failed && !always) return -1;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *token = PyContextVar_Set(asn_py.errstate_variable, object);
    if (token) {
        Py_DECREF(token);
        (void)is_active(object);
    }
    if (!failed) return token ? 0 : -1;
    if (!token) PyErr_WriteUnraisable(asn_py.errstate_variable);
    PyErr_Restore(type, value, trace);
    return -1;
}

/* Adds the mode that kind k gets of `wish`, which has those of all and of each, to
 * `named` and to m. -1: no mode. */
static int name_mode(PyObject *const *wish, int k, PyObject *named, asn_modes *m) {
    PyObject *value = wish[k + 1] != Py_None ? wish[k + 1] : wish[0];
    if (wish[0] != Py_None && read_mode(wish[0], &m->mode[k]) < 0) return -1;
    if (value == Py_None) return 0;
    if (read_mode(value, &m->mode[k]) < 0) return -1;
    return PyDict_SetItemString(named, kinds[k].key, value);
}

/* With the lock held: NumPy's object for the active modes with those of `wish` in place
 * of them: all, divide, over, under, invalid; None leaves a mode. callback NULL: stays.
 * The active object where nothing changes; else `before` knows it. A new reference; NULL:
 * an error. */
static PyObject *object_with(PyObject *const *wish, PyObject *callback) {
    PyObject *named = PyDict_New(), *none = PyTuple_New(0);
    bool ok = named && none;
    asn_modes held = hold_active(), m = held, old;
    if (callback) m.callback = callback == Py_None ? NULL : callback;
    for (int k = 0; k < 4 && ok; k++)
        ok = name_mode(wish, k, named, &m) == 0;
    if (ok && callback) ok = PyDict_SetItemString(named, "call", callback) == 0;
    if (!are_same(&m, &held))
        m.object = ok ? PyObject_Call(asn_py.errstate_make, none, named) : NULL;
    Py_XDECREF(named);
    Py_XDECREF(none);
    if (ok && m.object && m.object != held.object) {
        Py_XINCREF(m.callback);
        Py_INCREF(m.object);
        old = asn_py.before;
        asn_py.before = m;
        release(&old);
    } else if (ok) {
        Py_XINCREF(m.object);
    }
    release(&held);
    return ok ? m.object : NULL;
}

/* object_with under the lock, with the context's own modes active. */
static PyObject *object_locked(PyObject *const *wish, PyObject *callback) {
    lock_present();
    PyObject *made = object_with(wish, callback);
    asn_unlock();
    return made;
}

/* The active modes by name, as NumPy's geterr. */
static PyObject *geterr(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    uint8_t mode[4];
    lock_present();
    memcpy(mode, asn_py.active.mode, sizeof mode);
    asn_unlock();
    return Py_BuildValue("{s:s,s:s,s:s,s:s}", kinds[0].key, mode_names[mode[0]],
                         kinds[1].key, mode_names[mode[1]], kinds[2].key,
                         mode_names[mode[2]], kinds[3].key, mode_names[mode[3]]);
}

/* _seterr(all, divide, over, under, invalid): None leaves a mode; returns the previous
 * modes. What was recorded before may raise, and leaves the modes as they were. */
static PyObject *seterr(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    if (nargs != 5) return PyErr_Format(PyExc_TypeError, "_seterr takes five arguments");
    PyObject *old = geterr(module, NULL), *made = old ? object_locked(args, NULL) : NULL;
    if (!made || change(made, false) < 0) Py_CLEAR(old);
    Py_XDECREF(made);
    return old;
}

/* The callback, or None. */
static PyObject *geterrcall(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    lock_present();
    PyObject *callback = Py_XNewRef(asn_py.active.callback);
    asn_unlock();
    return callback ? callback : Py_NewRef(Py_None);
}

/* Sets it (None: none) and returns the previous one. */
static PyObject *seterrcall(PyObject *module, PyObject *function) {
    PyObject *const none[5] = {Py_None, Py_None, Py_None, Py_None, Py_None};
    PyObject *old = geterrcall(module, NULL), *made = object_locked(none, function);
    if (!made || change(made, false) < 0) Py_CLEAR(old);
    Py_XDECREF(made);
    return old;
}

/* _enter_errstate(all, divide, over, under, invalid[, call]): returns the object that
 * _leave_errstate puts back, and with it the previous modes, even where what ran since
 * raises. */
static PyObject *enter(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    if (nargs != 5 && nargs != 6)
        return PyErr_Format(PyExc_TypeError,
                            "_enter_errstate takes five or six arguments");
    lock_present();
    PyObject *old = Py_NewRef(asn_py.active.object);
    PyObject *made = object_with(args, nargs == 6 ? args[5] : NULL);
    asn_unlock();
    if (!made || change(made, false) < 0) Py_CLEAR(old);
    Py_XDECREF(made);
    return old;
}

/* NumPy's object is a capsule. */
static PyObject *leave(PyObject *module, PyObject *object) {
    (void)module;
    if (!PyCapsule_CheckExact(object))
        return PyErr_Format(PyExc_TypeError,
                            "_leave_errstate takes what _enter_errstate returned, not %s",
                            Py_TYPE(object)->tp_name);
    return change(object, true) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"_seterr", (PyCFunction)(void (*)(void))seterr, METH_FASTCALL, NULL},
    {"_geterr", geterr, METH_NOARGS, NULL},
    {"_seterrcall", seterrcall, METH_O, NULL},
    {"_geterrcall", geterrcall, METH_NOARGS, NULL},
    {"_enter_errstate", (PyCFunction)(void (*)(void))enter, METH_FASTCALL, NULL},
    {"_leave_errstate", leave, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

/* NumPy's context variable and what makes and reads its objects are private to it
 * (numpy._core.umath): an import that fails here tells that NumPy has changed. */
int asn_errstate_init(PyObject *module) {
    PyObject *numpy = PyImport_ImportModule("numpy._core.umath");
    if (!numpy) return -1;
    PyObject *variable = PyObject_GetAttrString(numpy, "_extobj_contextvar");
    asn_py.errstate_variable = variable;
    if (variable) asn_py.errstate_make = PyObject_GetAttrString(numpy, "_make_extobj");
    if (asn_py.errstate_make)
        asn_py.errstate_read = PyObject_GetAttrString(numpy, "_get_extobj_dict");
    Py_DECREF(numpy);
    if (!asn_py.errstate_read ||
        PyContextVar_Get(variable, NULL, &asn_py.active.object) < 0)
        return -1;
    if (read_present(&asn_py.active) < 0 || apply() < 0) return -1;
    asn_set_arrival_hook(adopt_present);
    return PyModule_AddFunctions(module, functions);
}
