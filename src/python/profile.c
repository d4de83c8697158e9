/* L3 python: the recorder for the package's Python side (asnumpy._profile, debug,
 * monitor): sessions, events as bytes for a structured array, totals, descriptions of
 * programs, and what debug.on_sync asks for.
 *
 * The recorder is the core's (graph/profile_events.h). Events go out as they lie in
 * memory, which NumPy reads as records: making an object of each would take longer than
 * what they measure. Lists are filled under the library's lock, and become Python objects
 * without it. */
#include "python/functions/function.h"

#include "graph/lock.h"
#include "graph/profile_events.h"
#include "runtime/streams/sync.h"

/* ---- sessions */

/* (every): a session that samples every so many launches; the place of its first event.
 */
static PyObject *f_start(PyObject *const *v) {
    int64_t every;
    uint64_t since;
    if (asn_int64_from_py(v[0], &every) < 0) return NULL;
    ASN_PY_TRY(asn_record_start((int)every, &since));
    return PyLong_FromUnsignedLongLong(since);
}

static PyObject *f_stop(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_record_stop());
    Py_RETURN_NONE;
}

/* Adds pointer: text to names; -1: an error. An event has only the address of its name,
 * which lasts. */
static int add_name(PyObject *names, const char *name) {
    PyObject *key = PyLong_FromVoidPtr((void *)name);
    if (!key) return -1;
    int have = PyDict_Contains(names, key);
    if (have == 0) {
        PyObject *text = PyUnicode_FromString(name ? name : "");
        have = text ? PyDict_SetItem(names, key, text) : -1;
        Py_XDECREF(text);
    }
    Py_DECREF(key);
    return have < 0 ? -1 : 0;
}

/* (since): (place of the first, events as bytes, {address of a name: name}). */
static PyObject *f_events(PyObject *const *v) {
    int64_t since;
    uint64_t first;
    if (asn_int64_from_py(v[0], &since) < 0) return NULL;
    asn_lock();
    size_t n = asn_profile_read((uint64_t)since, 0, NULL, &first);
    PyObject *bytes =
        PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(n * sizeof(asn_event)));
    PyObject *names = PyDict_New();
    asn_event *events = bytes ? (asn_event *)(void *)PyBytes_AS_STRING(bytes) : NULL;
    if (events) n = asn_profile_read(first, n, events, &first);
    asn_unlock();
    bool ok = bytes && names;
    for (size_t i = 0; ok && i < n; i++) {
        asn_event e;
        memcpy(&e, (const char *)events + i * sizeof e, sizeof e);
        ok = add_name(names, e.name) == 0;
    }
    if (ok) return Py_BuildValue("(KNN)", (unsigned long long)first, bytes, names);
    Py_XDECREF(bytes);
    Py_XDECREF(names);
    return NULL;
}

/* [(kind, name, line, detail, calls, ns, bytes, work), ...] */
static PyObject *f_totals(PyObject *const *v) {
    (void)v;
    asn_lock();
    size_t room = asn_profile_totals(0, NULL) + 1024;
    asn_event_total *rows = PyMem_Malloc(room * sizeof *rows);
    size_t n = rows ? asn_profile_totals(room, rows) : 0;
    asn_unlock();
    if (!rows) return PyErr_NoMemory();
    PyObject *list = PyList_New(0);
    for (size_t i = 0; list && i < n; i++) {
        const asn_event_total *t = &rows[i];
        PyObject *item = Py_BuildValue("(IsIIKKLL)", t->kind, t->name ? t->name : "",
                                       t->line, t->detail, (unsigned long long)t->calls,
                                       (unsigned long long)t->length, (long long)t->bytes,
                                       (long long)t->work);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    PyMem_Free(rows);
    return list;
}

/* [(file, line, function), ...] of the sites, 1 first. */
static PyObject *f_lines(PyObject *const *v) {
    (void)v;
    PyObject *list = PyList_New(0);
    for (asn_site site = 1; list && asn_site_get(site); site++) {
        PyObject *item = asn_site_to_py(site);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* (file, line, function) of the line that calls, or None. */
static PyObject *f_line(PyObject *const *v) {
    (void)v;
    return asn_site_to_py(asn_site_here());
}

/* ---- descriptions */

/* One operation of a program as a dict; a new reference, or NULL. */
static PyObject *step(const asn_step *s) {
    bool reduces = s->reduce_op != ASN_OP_NONE;
    PyObject *from = PyList_New(s->num_in);
    for (int k = 0; from && k < s->num_in; k++) {
        PyObject *number = PyLong_FromLong(s->from[k]);
        if (!number) Py_CLEAR(from);
        if (from) PyList_SET_ITEM(from, k, number);
    }
    if (!from) return NULL;
    return Py_BuildValue("{s:s,s:O,s:s,s:I,s:N,s:O}", "name",
                         asn_op_table[reduces ? s->reduce_op : s->op].name, "reduces",
                         reduces ? Py_True : Py_False, "dtype",
                         asn_dtype_name((asn_dtype)s->loop), "line", s->line, "from",
                         from, "stored", s->stored ? Py_True : Py_False);
}

/* A fused program's operations by the number that its events carry; None: unknown. */
static PyObject *f_program(PyObject *const *v) {
    int64_t number;
    if (asn_int64_from_py(v[0], &number) < 0) return NULL;
    const asn_description *d =
        number > 0 ? asn_record_description((uint32_t)number) : NULL;
    if (!d) Py_RETURN_NONE;
    int ndim = d->ndim < 4 ? d->ndim : 4;
    PyObject *steps = PyList_New(0), *shape = PyTuple_New(ndim);
    for (int i = 0; shape && i < ndim; i++) {
        PyObject *extent = PyLong_FromLongLong(d->shape[i]);
        if (!extent) Py_CLEAR(shape);
        if (shape) PyTuple_SET_ITEM(shape, i, extent);
    }
    for (int i = 0; steps && i < d->num_steps; i++) {
        PyObject *item = step(&d->steps[i]);
        if (!item || PyList_Append(steps, item) < 0) Py_CLEAR(steps);
        Py_XDECREF(item);
    }
    if (steps && shape)
        return Py_BuildValue("{s:N,s:N,s:i,s:i}", "steps", steps, "shape", shape, "loads",
                             d->num_in, "stores", d->num_out);
    Py_XDECREF(steps);
    Py_XDECREF(shape);
    return NULL;
}

/* ---- synchronisations */

static _Thread_local bool telling; /* what the callback does itself is not told */

/* The core's hook: before a wait. What the callback raises becomes the call's error. */
static asn_status tell(const char *why) {
    if (telling || !PyGILState_Check() || PyErr_Occurred()) return ASN_OK;
    asn_look_begin(); /* another thread may set another one */
    PyObject *callback = Py_XNewRef(asn_py.sync_callback);
    asn_look_end();
    if (!callback) return ASN_OK;
    PyObject *place = asn_site_to_py(asn_site_here());
    telling = true;
    PyObject *done = place ? PyObject_CallFunction(callback, "sO", why, place) : NULL;
    telling = false;
    Py_XDECREF(place);
    Py_DECREF(callback);
    if (done) {
        Py_DECREF(done);
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_RUNTIME, "synchronisation: %s", why);
}

/* (callback); None: nobody is told. */
static PyObject *f_on_sync(PyObject *const *v) {
    bool on = v[0] != Py_None;
    asn_lock();
    PyObject *before = asn_py.sync_callback;
    asn_py.sync_callback = on ? Py_NewRef(v[0]) : NULL;
    asn_sync_set_hook(on ? tell : NULL);
    asn_unlock();
    Py_XDECREF(before);
    Py_RETURN_NONE;
}

/* ---- rows */

/* {name: {dtype: bound in ULP}} of the operation table; what has none is exact. */
static PyObject *f_bounds(PyObject *const *v) {
    (void)v;
    PyObject *all = PyDict_New();
    for (int op = 0; all && op < ASN_OP_COUNT; op++) {
        PyObject *row = PyDict_New();
        for (int d = 0; row && d < ASN_DTYPE_COUNT; d++) {
            if (!asn_op_has_loop((asn_op)op, (asn_dtype)d)) continue;
            PyObject *bound = PyFloat_FromDouble((double)asn_op_table[op].ulp[d]);
            if (!bound || PyDict_SetItemString(row, asn_dtype_name((asn_dtype)d), bound))
                Py_CLEAR(row);
            Py_XDECREF(bound);
        }
        if (!row || PyDict_SetItemString(all, asn_op_table[op].name, row)) Py_CLEAR(all);
        Py_XDECREF(row);
    }
    return all;
}

asn_function_def asn_profile_functions[] = {
    ASN_FUNCTION("_profile_start", "every, /", f_start,
                 "Begins a session; returns the place of its first event."),
    ASN_FUNCTION("_profile_stop", "", f_stop, "Ends a session."),
    ASN_FUNCTION("_profile_events", "since, /", f_events, "Events from a place on."),
    ASN_FUNCTION("_profile_totals", "", f_totals, "Totals by kind, name and line."),
    ASN_FUNCTION("_profile_lines", "", f_lines, "File, line, function by number."),
    ASN_FUNCTION("_profile_line", "", f_line, "File, line, function of the caller."),
    ASN_FUNCTION("_profile_program", "number, /", f_program, "A program's operations."),
    ASN_FUNCTION("_on_sync", "callback, /", f_on_sync,
                 "Who is told of synchronisations."),
    ASN_FUNCTION("_row_bounds", "", f_bounds, "Error bounds of the table's rows."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
