/* L3 python: the memory manager's functions. Those with a leading underscore are what
 * asnumpy.memory is written with; sizes and addresses are ints, sites (file, line,
 * function) or None.
 *
 * What is counted and kept is the core's (runtime/memory/memory.h, watch.h); here it
 * becomes lists and tuples. Python objects are never made inside a call of the core that
 * holds the pool's lock: a list that grows may collect garbage, which ends arrays, which
 * gives memory back. So the core fills C arrays first, which are translated afterwards.
 */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/device/workspaces.h"
#include "graph/lock.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/watch.h"

/* Adds to a dict; takes the value, of which NULL is an error already set. */
static int put(PyObject *dict, const char *name, PyObject *value) {
    int failed = !value || PyDict_SetItemString(dict, name, value) < 0;
    Py_XDECREF(value);
    return failed ? -1 : 0;
}

/* Of the current device; all in bytes or as counts. The names are those that
 * asnumpy.memory documents; the values are read without stopping other threads, so two of
 * them may be of different moments. */
static PyObject *f_memory_stats(PyObject *const *v) {
    (void)v;
    asn_memory_stats s;
    asn_memory_get_stats(&s);
    const struct {
        const char *name;
        uint64_t value;
    } all[] = {
        {"bytes_in_use", s.bytes_in_use},
        {"bytes_cached", s.bytes_cached},
        {"peak_bytes", s.peak_bytes},
        {"peak_reserved", s.peak_reserved},
        {"device_allocations", s.device_allocations},
        {"device_frees", s.device_frees},
        {"pool_hits", s.pool_hits},
        {"magazine_hits", s.magazine_hits},
        {"bin_hits", s.bin_hits},
        {"segment_hits", s.segment_hits},
        {"bytes_allocated", s.bytes_allocated},
        {"bytes_reused", s.bytes_reused},
        {"segments", s.segments},
        {"prepared", s.prepared},
    };
    PyObject *dict = PyDict_New();
    for (size_t i = 0; dict && i < sizeof all / sizeof *all; i++)
        if (put(dict, all[i].name, PyLong_FromUnsignedLongLong(all[i].value)) < 0)
            Py_CLEAR(dict);
    return dict;
}

/* What the pool keeps without anybody's use goes back to the device. */
static PyObject *f_empty_cache(PyObject *const *v) {
    (void)v;
    asn_memory_empty_cache();
    Py_RETURN_NONE;
}

/* The peaks of memory_stats begin again at what is in use. */
static PyObject *f_reset_peaks(PyObject *const *v) {
    (void)v;
    asn_memory_reset_peaks();
    Py_RETURN_NONE;
}

/* (limit, max_split, threshold): bytes, bytes, a fraction. */
static PyObject *f_settings(PyObject *const *v) {
    (void)v;
    asn_memory_settings s;
    asn_memory_get_settings(&s);
    return Py_BuildValue("KKd", (unsigned long long)s.limit,
                         (unsigned long long)s.max_split, s.gc_threshold);
}

/* Sets them; the core checks their ranges. */
static PyObject *f_configure(PyObject *const *v) {
    int64_t limit, split;
    double threshold = PyFloat_AsDouble(v[2]);
    if ((threshold == -1 && PyErr_Occurred()) || asn_int64_from_py(v[0], &limit) < 0 ||
        asn_int64_from_py(v[1], &split) < 0)
        return NULL;
    ASN_PY_TRY(asn_memory_set_settings(
        &(asn_memory_settings){(uint64_t)limit, (uint64_t)split, threshold}));
    Py_RETURN_NONE;
}

/* ---- what is held */

/* Pieces, as many as there was room for; num counts all that came. */
typedef struct {
    asn_memory_piece *pieces;
    size_t num, room;
} piece_list;

/* Called with the pool locked: it copies, and nothing else. */
static void collect(void *context, const asn_memory_piece *piece) {
    piece_list *list = context;
    if (list->num < list->room) list->pieces[list->num] = *piece;
    list->num++;
}

/* Everything the pool holds, as (place, state, device, address, bytes, site) of each
 * piece. The first walk only counts; the list is made larger until it holds all. Python
 * objects are made with the pool unlocked. */
static PyObject *f_walk(PyObject *const *v) {
    (void)v;
    static const char *const places[] = {"slab", "segment", "range"};
    static const char *const states[] = {"live", "idle", "aside"};
    piece_list list = {0};
    do { /* another thread may allocate between two walks */
        asn_free(list.pieces);
        list.room = list.num + 64;
        list.num = 0;
        list.pieces = asn_malloc(list.room * sizeof *list.pieces);
        if (!list.pieces) return PyErr_NoMemory();
        asn_memory_walk(collect, &list);
    } while (list.num > list.room);
    PyObject *out = PyList_New((Py_ssize_t)list.num);
    for (size_t i = 0; out && i < list.num; i++) {
        const asn_memory_piece *p = &list.pieces[i];
        PyObject *row =
            Py_BuildValue("ssiKLN", places[p->place], states[p->state], (int)p->device,
                          (unsigned long long)(uintptr_t)p->address, (long long)p->bytes,
                          asn_site_to_py(p->site));
        if (!row)
            Py_CLEAR(out);
        else
            PyList_SET_ITEM(out, (Py_ssize_t)i, row);
    }
    asn_free(list.pieces);
    return out;
}

/* ---- watching */

/* Buffers get numbers from now on; the number of the next one. */
static PyObject *f_watch_start(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_watch_start());
    return PyLong_FromUnsignedLongLong(asn_watch_next());
}

/* Starts and stops are counted: the last stop ends it. */
static PyObject *f_watch_stop(PyObject *const *v) {
    (void)v;
    asn_watch_stop();
    Py_RETURN_NONE;
}

/* (start): (number, bytes, site) of the live buffers from a number on: those made since a
 * _watch_start that gave it. */
static PyObject *f_watch_live(PyObject *const *v) {
    int64_t from;
    if (asn_int64_from_py(v[0], &from) < 0) return NULL;
    int64_t num = asn_watch_live((uint64_t)from, NULL, 0);
    asn_watch_record *records = asn_malloc((size_t)(num + 1) * sizeof *records);
    if (!records) return PyErr_NoMemory();
    /* Buffers may end, or begin, between the two calls: as many as fit, and are there. */
    int64_t now = asn_watch_live((uint64_t)from, records, num);
    if (now < num) num = now;
    PyObject *out = PyList_New(num);
    for (int64_t i = 0; out && i < num; i++) {
        PyObject *row =
            Py_BuildValue("KLN", (unsigned long long)records[i].number,
                          (long long)records[i].bytes, asn_site_to_py(records[i].site));
        if (!row)
            Py_CLEAR(out);
        else
            PyList_SET_ITEM(out, i, row);
    }
    asn_free(records);
    return out;
}

/* An event as the tuple that f_events describes. */
static PyObject *event_to_py(const asn_watch_event *e) {
    static const char *const kinds[] = {"alloc", "free", "failed"};
    return Py_BuildValue("KsKLKKN", (unsigned long long)e->ns, kinds[e->kind],
                         (unsigned long long)(uintptr_t)e->address, (long long)e->bytes,
                         (unsigned long long)e->in_use, (unsigned long long)e->held,
                         asn_site_to_py(e->site));
}

/* (entries): keeps the last so many events, 0 none; returns the number before. */
static PyObject *f_history(PyObject *const *v) {
    int64_t entries, before;
    if (asn_int64_from_py(v[0], &entries) < 0) return NULL;
    ASN_PY_TRY(asn_watch_history(entries, &before));
    return PyLong_FromLongLong(before);
}

/* (room): the kept events, oldest first: (ns, kind, address, bytes, in use, held, site).
 * room: as many as there can be. */
static PyObject *f_events(PyObject *const *v) {
    int64_t room;
    if (asn_int64_from_py(v[0], &room) < 0) return NULL;
    /* One more, since malloc of 0 may give NULL. */
    asn_watch_event *events = asn_malloc((size_t)(room + 1) * sizeof *events);
    if (!events) return PyErr_NoMemory();
    int64_t num = asn_watch_events(events, room);
    PyObject *out = PyList_New(num);
    for (int64_t i = 0; out && i < num; i++) {
        PyObject *row = event_to_py(&events[i]);
        if (!row)
            Py_CLEAR(out);
        else
            PyList_SET_ITEM(out, i, row);
    }
    asn_free(events);
    return out;
}

/* What a hook raises is written to stderr, as for __del__: the work that allocates goes
 * on. An exception that is set meanwhile is none of the hook's, and put aside. Any
 * thread. */
static void call_hook(void *context, const asn_watch_event *e) {
    PyGILState_STATE state = PyGILState_Ensure();
    PyObject *type, *value, *trace;
    PyErr_Fetch(&type, &value, &trace);
    PyObject *event = event_to_py(e);
    PyObject *got = event ? PyObject_CallOneArg(context, event) : NULL;
    if (!got) PyErr_WriteUnraisable(context);
    Py_XDECREF(got);
    Py_XDECREF(event);
    PyErr_Restore(type, value, trace);
    PyGILState_Release(state);
}

/* (hook): called with each event; the list of hooks holds a reference. */
static PyObject *f_add_hook(PyObject *const *v) {
    if (!PyCallable_Check(v[0])) {
        PyErr_Format(PyExc_TypeError, "a memory hook is a callable, got %s",
                     Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    /* Only a hook that is in the list owns its reference. */
    ASN_PY_TRY(asn_watch_add_hook(call_hook, v[0]));
    Py_INCREF(v[0]);
    Py_RETURN_NONE;
}

/* (hook): the same object; ValueError where it is not there. */
static PyObject *f_remove_hook(PyObject *const *v) {
    if (!asn_watch_remove_hook(call_hook, v[0])) {
        PyErr_Format(PyExc_ValueError, "%R is no memory hook", v[0]);
        return NULL;
    }
    Py_DECREF(v[0]);
    Py_RETURN_NONE;
}

/* (on): records workspaces or stops; what it was. */
static PyObject *f_record_workspaces(PyObject *const *v) {
    int on = PyObject_IsTrue(v[0]);
    if (on < 0) return NULL;
    asn_lock();
    bool before = asn_workspaces_on;
    asn_workspaces_on = on;
    asn_unlock();
    return PyBool_FromLong(before);
}

/* The table's entries: (name, operands, bytes, calls). */
static PyObject *f_workspaces(PyObject *const *v) {
    (void)v;
    PyObject *out = PyList_New(0);
    for (int64_t i = 0; out; i++) {
        asn_workspace w;
        asn_lock();
        bool more = asn_workspaces_get(i, &w);
        asn_unlock();
        if (!more) break;
        PyObject *row =
            Py_BuildValue("ssKK", w.name, w.operands, (unsigned long long)w.bytes,
                          (unsigned long long)w.calls);
        if (!row || PyList_Append(out, row) < 0) Py_CLEAR(out);
        Py_XDECREF(row);
    }
    return out;
}

asn_function_def asn_memory_functions[] = {
    ASN_FUNCTION("memory_stats", "", f_memory_stats,
                 "What the memory of the current device holds and has done, as a dict: "
                 "see asnumpy.memory."),
    ASN_FUNCTION("empty_cache", "", f_empty_cache,
                 "Returns cached memory to the device."),
    ASN_FUNCTION("_memory_reset_peaks", "", f_reset_peaks, "The peaks begin again."),
    ASN_FUNCTION("_memory_settings", "", f_settings,
                 "Limit, longest range that is split, collection threshold."),
    ASN_FUNCTION("_memory_configure", "limit, max_split, threshold, /", f_configure,
                 "Sets them."),
    ASN_FUNCTION("_memory_walk", "", f_walk, "Everything that is held."),
    ASN_FUNCTION("_watch_start", "", f_watch_start,
                 "Records buffers; the number of the next one."),
    ASN_FUNCTION("_watch_stop", "", f_watch_stop, "Ends what _watch_start began."),
    ASN_FUNCTION("_watch_live", "start, /", f_watch_live,
                 "The live buffers from a number on."),
    ASN_FUNCTION("_watch_history", "entries, /", f_history,
                 "Keeps that many events; the previous number."),
    ASN_FUNCTION("_watch_events", "room, /", f_events, "The kept events."),
    ASN_FUNCTION("_watch_add_hook", "hook, /", f_add_hook, "Calls it at each event."),
    ASN_FUNCTION("_record_workspaces", "on, /", f_record_workspaces,
                 "Records what operators ask for; what it was."),
    ASN_FUNCTION("_workspaces", "", f_workspaces, "What they asked for."),
    ASN_FUNCTION("_watch_remove_hook", "hook, /", f_remove_hook,
                 "Does not call it any more."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
