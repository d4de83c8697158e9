/* L3 python: floating-point conditions -> warnings, errors, callbacks (errstate, seterr,
 * geterr, seterrcall).
 *
 * The core collects the conditions of what it runs; after an operation that ran at once,
 * and after every synchronisation, they are taken and reported under the present modes.
 * While one is "raise", "call", "print" or "log", operations run as they are called, so
 * that the error comes from the call that met the condition.
 * While every mode is "ignore" the core does not collect at all.
 *
 * Modes belong to the context (contextvars): a thread and an asyncio task have their own.
 * The core has those of one context, `active`. While any context has modes other than the
 * default ones, the core asks at each call whose context it is (adopt_present), and what
 * was recorded under other modes is settled first, so that `with errstate(...)` covers
 * exactly the operations inside it. In a program that never sets modes nothing is asked.
 */
#include "args.h"
#include "graph/fallback.h"

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
static const uint8_t default_modes[4] = {MODE_WARN, MODE_WARN, MODE_IGNORE, MODE_WARN};

/* What a context variable holds when it is not the default; never changed once made. */
typedef struct {
    PyObject_HEAD uint8_t mode[4];
    PyObject *callback; /* or NULL */
} modes_object;

static PyTypeObject *modes_type;
static PyObject *variable;   /* of the context: a modes_object, or None for the default */
static modes_object *active; /* that the core works under; owns; NULL: the default */
static int alive;            /* modes_objects, in whatever context */

static uint8_t mode_of(int kind) {
    return active ? active->mode[kind] : default_modes[kind];
}

static PyObject *callback_of(void) {
    return active ? active->callback : NULL;
}

static int report_call(const char *text, uint32_t flags) {
    PyObject *callback = Py_XNewRef(callback_of());
    if (!callback) {
        PyErr_Format(PyExc_NameError,
                     "python callback specified for %s but no function found.", text);
        return -1;
    }
    PyObject *r = PyObject_CallFunction(callback, "sI", text, flags);
    Py_XDECREF(r);
    Py_DECREF(callback);
    return r ? 0 : -1;
}

static int report_log(const char *message) {
    PyObject *callback = Py_XNewRef(callback_of());
    if (!callback) {
        PyErr_Format(PyExc_NameError,
                     "log specified for %s but no object with write method found.",
                     message);
        return -1;
    }
    PyObject *r = PyObject_CallMethod(callback, "write", "s", message);
    Py_XDECREF(r);
    Py_DECREF(callback);
    return r ? 0 : -1;
}

static int report_one(int kind, uint32_t flags, const char *name) {
    char message[160];
    PyOS_snprintf(message, sizeof message, "%s encountered in %s", kinds[kind].text,
                  name);
    switch (mode_of(kind)) {
    case MODE_WARN: return PyErr_WarnEx(PyExc_RuntimeWarning, message, 1);
    case MODE_RAISE: PyErr_SetString(PyExc_FloatingPointError, message); return -1;
    case MODE_CALL: return report_call(kinds[kind].text, flags);
    case MODE_PRINT: PySys_WriteStderr("Warning: %s\n", message); return 0;
    case MODE_LOG:
        PyOS_snprintf(message, sizeof message, "Warning: %s encountered in %s\n",
                      kinds[kind].text, name);
        return report_log(message);
    default: return 0;
    }
}

static int report_fallback(void) {
    const char *what = asn_fallback_take();
    return what ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                   "%s ran on the CPU: the device has no operator for it "
                                   "(set_fallback('silent') says nothing, 'error' "
                                   "refuses)",
                                   what)
                : 0;
}

int asn_fp_report(uint32_t flags, const char *name) {
    if (flags & ASN_FALLBACK_MET && report_fallback() < 0) return -1;
    /* A conversion runs as the copy of a cast; NumPy calls it by its purpose. */
    if (name && strcmp(name, "copy") == 0) name = "cast";
    for (int kind = 0; kind < 4; kind++)
        if (flags >> kind & 1 && report_one(kind, flags, name ? name : "operation") < 0)
            return -1;
    return 0;
}

int asn_fp_report_as(uint32_t flags, const char *name, const char *method, asn_op op) {
    return asn_fp_report(flags, strcmp(name, asn_op_table[op].name) ? name : method);
}

/* ---- the modes of the context */

static int settle(void) {
    ASN_PY_TRY_INT(asn_synchronize());
    return asn_fp_check();
}

/* The core works under `modes` (takes) from here on; nothing is recorded. */
static int switch_to(modes_object *modes) {
    modes_object *old = active;
    active = modes;
    Py_XDECREF(old);
    bool any = false, at_once = false;
    for (int k = 0; k < 4; k++) {
        any |= mode_of(k) != MODE_IGNORE;
        at_once |= mode_of(k) > MODE_WARN;
    }
    asn_set_fp_checks(any);
    ASN_PY_TRY_INT(asn_set_at_once(at_once));
    return 0;
}

/* Before a call of the core takes the lock: its context's modes become the active ones.
 * What was recorded in another context is reported here; its errors cannot be raised in a
 * call of this one, and go to sys.unraisablehook. */
static void adopt_present(void) {
    static _Thread_local bool adopting;
    if (adopting) return;
    PyObject *present = NULL, *type, *value, *trace;
    if (PyContextVar_Get(variable, Py_None, &present) < 0)
        PyErr_WriteUnraisable(variable);
    if (present == Py_None) Py_CLEAR(present);
    if ((modes_object *)present == active) {
        Py_XDECREF(present);
        return;
    }
    PyErr_Fetch(&type, &value, &trace);
    adopting = true;
    if (settle() < 0) PyErr_WriteUnraisable(variable);
    if (switch_to((modes_object *)present) < 0) PyErr_WriteUnraisable(variable);
    adopting = false;
    PyErr_Restore(type, value, trace);
}

static void modes_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((modes_object *)self)->callback);
    type->tp_free(self);
    Py_DECREF(type);
    if (--alive == 0) asn_set_arrival_hook(NULL);
}

/* A new object for the context variable: None for the default modes. */
static PyObject *modes_new(const uint8_t *mode, PyObject *callback) {
    if (!callback && memcmp(mode, default_modes, sizeof default_modes) == 0)
        return Py_NewRef(Py_None);
    modes_object *m = PyObject_New(modes_object, modes_type);
    if (!m) return NULL;
    memcpy(m->mode, mode, sizeof m->mode);
    m->callback = Py_XNewRef(callback);
    if (alive++ == 0) asn_set_arrival_hook(adopt_present);
    return (PyObject *)m;
}

static int set_modes(const uint8_t *mode, PyObject *callback) {
    PyObject *made = modes_new(mode, callback);
    PyObject *token = made ? PyContextVar_Set(variable, made) : NULL;
    if (!token) {
        Py_XDECREF(made);
        return -1;
    }
    Py_DECREF(token);
    if (made == Py_None) Py_CLEAR(made);
    return switch_to((modes_object *)made);
}

/* The context gets other modes, after what ran under the present ones is settled. When
 * that raises, the modes stay; `always`: they change all the same. */
static int change(const uint8_t *mode, PyObject *callback, bool always) {
    PyObject *type, *value, *trace;
    if (callback == callback_of() && mode_of(0) == mode[0] && mode_of(1) == mode[1] &&
        mode_of(2) == mode[2] && mode_of(3) == mode[3])
        return 0;
    if (settle() == 0) return set_modes(mode, callback);
    if (!always) return -1;
    PyErr_Fetch(&type, &value, &trace);
    if (set_modes(mode, callback) < 0) PyErr_WriteUnraisable(variable);
    PyErr_Restore(type, value, trace);
    return -1;
}

static PyObject *current_modes(void) {
    adopt_present();
    return Py_BuildValue("{s:s,s:s,s:s,s:s}", kinds[0].key, mode_names[mode_of(0)],
                         kinds[1].key, mode_names[mode_of(1)], kinds[2].key,
                         mode_names[mode_of(2)], kinds[3].key, mode_names[mode_of(3)]);
}

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

/* _seterr(all, divide, over, under, invalid, always): None leaves a mode; returns the
 * previous modes. What was recorded before may raise, and leaves the modes as they were
 * unless `always`. */
static PyObject *seterr(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    PyObject *old = nargs == 6
                        ? current_modes()
                        : PyErr_Format(PyExc_TypeError, "_seterr takes six arguments");
    uint8_t wish[4];
    bool ok = old != NULL;
    for (int k = 0; k < 4 && ok; k++) {
        wish[k] = mode_of(k);
        if (args[0] != Py_None) ok = read_mode(args[0], &wish[k]) == 0;
        if (ok && args[k + 1] != Py_None) ok = read_mode(args[k + 1], &wish[k]) == 0;
    }
    if (ok && change(wish, callback_of(), args[5] == Py_True) == 0) return old;
    Py_XDECREF(old);
    return NULL;
}

static PyObject *geterr(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return current_modes();
}

static PyObject *geterrcall(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    adopt_present();
    return Py_NewRef(callback_of() ? callback_of() : Py_None);
}

static PyObject *seterrcall(PyObject *module, PyObject *function) {
    PyObject *old = geterrcall(module, NULL);
    const uint8_t mode[4] = {mode_of(0), mode_of(1), mode_of(2), mode_of(3)};
    if (change(mode, function == Py_None ? NULL : function, false) < 0) Py_CLEAR(old);
    return old;
}

static PyMethodDef functions[] = {
    {"_seterr", (PyCFunction)(void (*)(void))seterr, METH_FASTCALL, NULL},
    {"_geterr", geterr, METH_NOARGS, NULL},
    {"_seterrcall", seterrcall, METH_O, NULL},
    {"_geterrcall", geterrcall, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int asn_errstate_init(PyObject *module) {
    PyType_Slot slots[] = {{Py_tp_dealloc, modes_dealloc}, {0, NULL}};
    PyType_Spec spec = {"asnumpy._core._modes", sizeof(modes_object), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};
    modes_type = (PyTypeObject *)PyType_FromModuleAndSpec(module, &spec, NULL);
    variable = PyContextVar_New("asnumpy.errstate", NULL);
    if (!modes_type || !variable) return -1;
    asn_set_fp_checks(true);
    return PyModule_AddFunctions(module, functions);
}
