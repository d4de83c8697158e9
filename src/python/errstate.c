/* L3 python: floating-point conditions -> warnings, errors, callbacks (errstate, seterr,
 * geterr, seterrcall).
 *
 * The core collects the conditions of what it runs; after an operation that ran at once,
 * and after every synchronisation, they are taken and reported under the present modes.
 * Changing the modes therefore first waits for what was recorded under the old ones, so
 * `with errstate(...)` covers exactly the operations inside it. Modes are per thread.
 * While one is "raise", "call", "print" or "log", operations run as they are called, so
 * that the error comes from the call that met the condition.
 * While every mode is "ignore" the core does not collect at all.
 */
#include "args.h"

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

static _Thread_local struct {
    uint8_t mode[4];
    bool set;
    PyObject *callback;
} state;

static uint8_t mode_of(int kind) {
    if (state.set) return state.mode[kind];
    return kind == 2 ? MODE_IGNORE : MODE_WARN;
}

static int report_call(const char *text, uint32_t flags) {
    if (!state.callback) {
        PyErr_Format(PyExc_NameError,
                     "python callback specified for %s but no function found.", text);
        return -1;
    }
    PyObject *r = PyObject_CallFunction(state.callback, "sI", text, flags);
    Py_XDECREF(r);
    return r ? 0 : -1;
}

static int report_log(const char *message) {
    if (!state.callback) {
        PyErr_Format(PyExc_NameError,
                     "log specified for %s but no object with write method found.",
                     message);
        return -1;
    }
    PyObject *r = PyObject_CallMethod(state.callback, "write", "s", message);
    Py_XDECREF(r);
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

int asn_fp_report(uint32_t flags, const char *name) {
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

static PyObject *current_modes(void) {
    return Py_BuildValue("{s:s,s:s,s:s,s:s}", kinds[0].key, mode_names[mode_of(0)],
                         kinds[1].key, mode_names[mode_of(1)], kinds[2].key,
                         mode_names[mode_of(2)], kinds[3].key, mode_names[mode_of(3)]);
}

static int read_mode(PyObject *value, int *out) {
    for (int m = 0; m < MODE_COUNT; m++)
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

/* Settles what ran under the present modes. */
static int settle(void) {
    ASN_PY_TRY_INT(asn_synchronize());
    return asn_fp_check();
}

/* _seterr(all, divide, over, under, invalid): None leaves a mode; returns the previous
 * modes. */
static PyObject *seterr(PyObject *module, PyObject *const *args, Py_ssize_t nargs) {
    (void)module;
    PyObject *old = current_modes();
    int wish[4], all = -1;
    if (!old || settle() < 0 || nargs != 5) goto fail;
    if (args[0] != Py_None && read_mode(args[0], &all) < 0) goto fail;
    for (int k = 0; k < 4; k++) {
        wish[k] = all >= 0 ? all : mode_of(k);
        if (args[k + 1] != Py_None && read_mode(args[k + 1], &wish[k]) < 0) goto fail;
    }
    bool any = false, at_once = false;
    for (int k = 0; k < 4; k++) {
        state.mode[k] = (uint8_t)wish[k];
        any |= wish[k] != MODE_IGNORE;
        at_once |= wish[k] > MODE_WARN;
    }
    state.set = true;
    asn_set_fp_checks(any);
    asn_status status = asn_set_at_once(at_once);
    if (status != ASN_OK) {
        asn_raise(status);
        goto fail;
    }
    return old;
fail:
    Py_XDECREF(old);
    return NULL;
}

static PyObject *geterr(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return current_modes();
}

static PyObject *seterrcall(PyObject *module, PyObject *function) {
    (void)module;
    if (settle() < 0) return NULL;
    PyObject *old = state.callback ? state.callback : Py_NewRef(Py_None);
    state.callback = function == Py_None ? NULL : Py_NewRef(function);
    return old;
}

static PyObject *geterrcall(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    return Py_NewRef(state.callback ? state.callback : Py_None);
}

static PyMethodDef functions[] = {
    {"_seterr", (PyCFunction)(void (*)(void))seterr, METH_FASTCALL, NULL},
    {"_geterr", geterr, METH_NOARGS, NULL},
    {"_seterrcall", seterrcall, METH_O, NULL},
    {"_geterrcall", geterrcall, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

int asn_errstate_init(PyObject *module) {
    asn_set_fp_checks(true);
    return PyModule_AddFunctions(module, functions);
}
