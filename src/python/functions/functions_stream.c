/* L3 python: what asnumpy.Stream, asnumpy.Event and asnumpy.stream are written with.
 * Streams and events are capsules, each of which holds a reference.
 *
 * The classes are Python (asnumpy._streams); here their calls become the core's
 * (graph/streams.h). References are counted under the interpreter's global lock, or the
 * library's where there is none (asn_look_begin). A capsule of the wrong name is a
 * ValueError of Python's, upon which all of these return NULL. Functions that wait let go
 * of the interpreter's lock in the core, and can be interrupted (see the end of the
 * file). */
#include "python/core.h"
#include "python/convert.h"
#include "python/functions/function.h"

#include "base/alloc.h"
#include "graph/lock.h"
#include "graph/streams.h"
#include "runtime/streams/waits.h"

static const char STREAM[] = "asnumpy.stream", EVENT[] = "asnumpy.event";

/* ---- capsules */

/* What a capsule holds, borrowed; NULL: another object, with Python's error. */
static asn_queue *queue_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, STREAM);
}

static asn_stream_event *event_of(PyObject *capsule) {
    return PyCapsule_GetPointer(capsule, EVENT);
}

/* The stream's work goes on; what is recorded on it keeps it. */
static void end_queue(PyObject *capsule) {
    asn_look_begin();
    asn_queue_release(queue_of(capsule));
    asn_look_end();
}

/* An event that was never recorded lets go of those who wait for it. */
static void end_event(PyObject *capsule) {
    asn_stream_event *e = event_of(capsule);
    asn_look_begin();
    asn_stream_event_abandon(e); /* nobody is left who could record it */
    asn_stream_event_release(e);
    asn_look_end();
}

/* A capsule of a stream; takes the reference. */
static PyObject *wrap_queue(asn_queue *q) {
    PyObject *capsule = PyCapsule_New(q, STREAM, end_queue);
    if (capsule) return capsule;
    asn_look_begin();
    asn_queue_release(q);
    asn_look_end();
    return NULL;
}

/* A capsule of a stream that others hold, with a reference of its own. */
static PyObject *share_queue(asn_queue *q) {
    asn_look_begin();
    asn_queue_retain(q);
    asn_look_end();
    return wrap_queue(q);
}

/* None, or the call's error; what has run meanwhile may have raised floating-point
 * exceptions, which are reported. */
static PyObject *done(asn_status status) {
    ASN_PY_TRY(status);
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* A name: *text NULL for None, else borrowed of value. -1: an error. */
static int text_from(PyObject *value, const char **text) {
    *text = NULL;
    if (value == Py_None) return 0;
    if (!PyUnicode_Check(value)) {
        PyErr_Format(PyExc_TypeError, "name is a %s; it may be a str or None",
                     Py_TYPE(value)->tp_name);
        return -1;
    }
    *text = PyUnicode_AsUTF8(value);
    return *text ? 0 : -1;
}

/* ---- streams */

/* (priority, name): a smaller priority goes first where the device can tell; one that no
 * int holds becomes -1, for the core to refuse. name: a str or None. */
static PyObject *f_stream_new(PyObject *const *v) {
    int64_t priority;
    const char *name;
    asn_queue *q;
    if (asn_int64_from_py(v[0], &priority) < 0 || text_from(v[1], &name) < 0) return NULL;
    if (priority < 0 || priority > INT32_MAX) priority = -1;
    ASN_PY_TRY(asn_streams_new(&q, (int)priority, name));
    return wrap_queue(q);
}

/* Opens the device, if nothing has yet: without it there is no stream. */
static PyObject *f_stream_default(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    return share_queue(asn_queue_own());
}

/* The calling thread's; the library's own unless it set another. */
static PyObject *f_stream_current(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    return share_queue(asn_queue_current());
}

/* (stream): the calling thread's current one from now on. */
static PyObject *f_stream_set(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    return q ? done(asn_streams_set_current(q)) : NULL;
}

/* (number, name, priority, device), which stay as they were made. */
static PyObject *f_stream_info(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    if (!q) return NULL;
    return Py_BuildValue("(isii)", q->number, q->name, q->priority, q->device);
}

/* (stream): the address of the device's stream. What is recorded on it is launched first,
 * so that foreign work on it comes after. */
static PyObject *f_stream_handle(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    if (!q) return NULL;
    void *handle = NULL;
    ASN_PY_TRY(asn_streams_handle(q, &handle));
    return PyLong_FromVoidPtr(handle);
}

/* The host waits for what is on the stream, and for what is recorded for it. */
static PyObject *f_stream_synchronize(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    return q ? done(asn_streams_synchronize(q, "Stream.synchronize()")) : NULL;
}

/* The same without waiting: what is recorded is launched. */
static PyObject *f_stream_query(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    bool idle = false;
    if (!q) return NULL;
    ASN_PY_TRY(asn_streams_query(q, &idle));
    return PyBool_FromLong(idle);
}

/* (stream, other): no thread waits; what is launched on the stream does. */
static PyObject *f_stream_follow(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]), *of = queue_of(v[1]);
    return q && of ? done(asn_streams_follow(q, of)) : NULL;
}

/* (stream, event): the same for what comes behind the event. */
static PyObject *f_stream_wait_event(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    asn_stream_event *e = event_of(v[1]);
    return q && e ? done(asn_streams_wait_event(q, e)) : NULL;
}

/* (streams there are besides the default one, those somebody holds, bytes of memory that
 * waits for a stream) */
static PyObject *f_stream_stats(PyObject *const *v) {
    (void)v;
    int held, all = asn_queue_count(&held);
    return Py_BuildValue("(iiL)", all, held, (long long)asn_streams_bytes_held());
}

/* (stream): the message of the failure that it keeps until somebody waits, or None. */
static PyObject *f_stream_error(PyObject *const *v) {
    asn_queue *q = queue_of(v[0]);
    char text[sizeof q->message];
    if (!q) return NULL;
    asn_lock(); /* not a look: polling takes in what a finished task has left */
    bool kept = !asn_queue_poll(q) && q->kept != ASN_OK; /* without waiting */
    memcpy(text, q->message, sizeof text);
    asn_unlock();
    if (!kept) Py_RETURN_NONE;
    return PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace");
}

/* () -> [(number, name, message)] of the streams that keep a failure, in the order of
 * their numbers: what is known by now, without looking at the device. */
static PyObject *f_stream_errors(PyObject *const *v) {
    (void)v;
    PyObject *list = PyList_New(0);
    asn_look_begin();
    for (int i = 0; list && asn_queue_get(i); i++) {
        asn_queue *q = asn_queue_get(i);
        if (!q->kept) continue;
        PyObject *row = Py_BuildValue("(iss)", q->number, q->name, q->message);
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    asn_look_end();
    return list;
}

/* One wait, for asnumpy._deadlocks: (number of the waiting stream, its name, number of
 * the wait; address and name of the event, and whether it was recorded, or None; number
 * of the stream waited for or -1, its name, whether somebody holds that, how far it is
 * waited for; site) */
static PyObject *wait_to_py(const asn_wait *w) {
    PyObject *site = asn_site_to_py(w->line);
    PyObject *event =
        w->event ? Py_BuildValue("(Ksi)", (unsigned long long)(uintptr_t)w->event,
                                 w->event->name, w->event->first != NULL)
                 : Py_NewRef(Py_None);
    PyObject *r =
        site && event
            ? Py_BuildValue("(isKOisiKO)", w->from->number, w->from->name,
                            (unsigned long long)w->number, event,
                            w->to ? w->to->number : -1, w->to ? w->to->name : "nobody",
                            w->to && w->to->refs, (unsigned long long)w->as_far, site)
            : NULL;
    Py_XDECREF(site);
    Py_XDECREF(event);
    return r;
}

/* The waits that last now, as rows of wait_to_py. The rows are made under the lock: names
 * and events belong to queues that others may end. */
static PyObject *f_stream_waits(PyObject *const *v) {
    (void)v;
    asn_wait *waits = NULL;
    int num = 0, room;
    asn_look_begin();
    do { /* the second time they fit: the lock is held */
        room = num;
        asn_free(waits);
        waits = room ? asn_calloc((size_t)room, sizeof *waits) : NULL;
        if (room && !waits) break;
        num = asn_waits_list(waits, room);
    } while (num > room);
    PyObject *list = room && !waits ? asn_raise(ASN_ERR_MEMORY) : PyList_New(num);
    for (int i = 0; list && i < num; i++) {
        PyObject *row = wait_to_py(&waits[i]);
        if (!row)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, row);
    }
    asn_look_end();
    asn_free(waits);
    return list;
}

/* ---- events */

/* (stream, timing, name): stream, or None: who is known to record it. */
static PyObject *f_event_new(PyObject *const *v) {
    asn_queue *by = NULL;
    bool timing;
    const char *name;
    asn_stream_event *e;
    if (v[0] != Py_None && !(by = queue_of(v[0]))) return NULL;
    if (asn_bool_from_py(v[1], &timing) < 0 || text_from(v[2], &name) < 0) return NULL;
    asn_look_begin();
    asn_status status = asn_stream_event_new(&e, by, timing, name);
    asn_look_end();
    ASN_PY_TRY(status);
    PyObject *capsule = PyCapsule_New(e, EVENT, end_event);
    if (capsule) return capsule;
    asn_look_begin();
    asn_stream_event_release(e);
    asn_look_end();
    return NULL;
}

/* (event): for messages, "event N" where the program gave it none. */
static PyObject *f_event_name(PyObject *const *v) {
    asn_stream_event *e = event_of(v[0]);
    return e ? PyUnicode_FromString(e->name) : NULL;
}

/* (address, as _stream_waits has it; name; number of the stream that recorded it last, or
 * None, and how many of its waits came before; the number and name of the stream that is
 * to record it, or None) */
static PyObject *f_event_info(PyObject *const *v) {
    asn_stream_event *e = event_of(v[0]);
    if (!e) return NULL;
    asn_look_begin();
    PyObject *by =
        e->by ? Py_BuildValue("(is)", e->by->number, e->by->name) : Py_NewRef(Py_None);
    PyObject *last =
        e->recorded ? PyLong_FromLong(e->recorded->number) : Py_NewRef(Py_None);
    unsigned long long before = e->num_holds;
    asn_look_end();
    PyObject *r = by && last ? Py_BuildValue("(KsOKO)", (unsigned long long)(uintptr_t)e,
                                             e->name, last, before, by)
                             : NULL;
    Py_XDECREF(by);
    Py_XDECREF(last);
    return r;
}

/* (event, stream): marks the work that the stream has by now; an event may be recorded
 * again. */
static PyObject *f_event_record(PyObject *const *v) {
    asn_stream_event *e = event_of(v[0]);
    asn_queue *q = queue_of(v[1]);
    return q && e ? done(asn_streams_record(e, q)) : NULL;
}

/* Whether the work before its last record is done. */
static PyObject *f_event_query(PyObject *const *v) {
    asn_stream_event *e = event_of(v[0]);
    bool reached = false;
    if (!e) return NULL;
    ASN_PY_TRY(asn_stream_event_query(e, &reached));
    return PyBool_FromLong(reached);
}

/* The host waits; at once for an event that nobody will record. */
static PyObject *f_event_synchronize(PyObject *const *v) {
    asn_stream_event *e = event_of(v[0]);
    return e ? done(asn_streams_synchronize_event(e)) : NULL;
}

/* (start, end): between two records, both reached, in milliseconds. */
static PyObject *f_event_elapsed(PyObject *const *v) {
    asn_stream_event *from = event_of(v[0]), *to = event_of(v[1]);
    double ms;
    if (!from || !to) return NULL;
    ASN_PY_TRY(asn_stream_event_elapsed(from, to, &ms));
    return PyFloat_FromDouble(ms);
}

/* ---- who could still record an event
 *
 * A wait for an event that nobody has recorded would last for ever if no other thread is
 * left to record it: the core asks has_others before it waits, and raises instead. */

/* Whether there are more Python threads than the `waiting` ones. Without a global lock
 * threads end while their list is read: the interpreter stops them and counts. What it
 * cannot count there may be. */
static bool has_others(int waiting) {
    int threads = 0;
#ifdef Py_GIL_DISABLED
    PyObject *count = PySys_GetObject("_current_frames"); /* borrowed */
    PyObject *frames = count ? PyObject_CallNoArgs(count) : NULL;
    if (!frames) {
        PyErr_Clear();
        return true;
    }
    threads = (int)PyDict_Size(frames);
    Py_DECREF(frames);
#else
    PyThreadState *t = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
    for (; t; t = PyThreadState_Next(t))
        threads++;
#endif
    return threads > waiting;
}

/* Ctrl-C, a notebook's interrupt: the exception of its handler, caused by what was waited
 * for. true: it is set, and the wait ends. */
static bool interrupted(const char *waits_for) {
    PyObject *type, *value, *trace;
    if (!PyErr_CheckSignals()) return false;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    PyObject *cause = PyObject_CallFunction(PyExc_RuntimeError, "s", waits_for);
    if (cause)
        PyException_SetCause(value, cause); /* takes it */
    else
        PyErr_Clear();
    PyErr_Restore(type, value, trace);
    return true;
}

/* The core's two hooks; once, on import. */
void asn_streams_py_init(void) {
    asn_streams_set_others(has_others);
    asn_streams_set_interrupted(interrupted);
}

asn_function_def asn_stream_functions[] = {
    ASN_FUNCTION("_stream_new", "priority, name, /", f_stream_new, "A stream."),
    ASN_FUNCTION("_stream_default", "", f_stream_default, "The library's own stream."),
    ASN_FUNCTION("_stream_current", "", f_stream_current, "The thread's stream."),
    ASN_FUNCTION("_stream_set", "stream, /", f_stream_set, "Makes it the thread's."),
    ASN_FUNCTION("_stream_info", "stream, /", f_stream_info,
                 "(number, name, priority, device)"),
    ASN_FUNCTION("_stream_handle", "stream, /", f_stream_handle,
                 "Its aclrtStream, with everything recorded on it."),
    ASN_FUNCTION("_stream_synchronize", "stream, /", f_stream_synchronize,
                 "Waits for it."),
    ASN_FUNCTION("_stream_query", "stream, /", f_stream_query, "Whether it is idle."),
    ASN_FUNCTION("_stream_follow", "stream, other, /", f_stream_follow,
                 "What comes on the stream comes after the other's."),
    ASN_FUNCTION("_stream_wait_event", "stream, event, /", f_stream_wait_event,
                 "What comes on the stream comes after the event."),
    ASN_FUNCTION("_stream_stats", "", f_stream_stats, "(streams, held, bytes)"),
    ASN_FUNCTION("_stream_error", "stream, /", f_stream_error,
                 "The failure that it keeps, or None."),
    ASN_FUNCTION("_stream_errors", "", f_stream_errors, "[(number, name, message)]"),
    ASN_FUNCTION("_stream_waits", "", f_stream_waits, "The waits that last."),
    ASN_FUNCTION("_event_info", "event, /", f_event_info,
                 "(address, name, recorded by, waits before that, to be recorded by)"),
    ASN_FUNCTION("_event_new", "stream, timing, name, /", f_event_new, "An event."),
    ASN_FUNCTION("_event_name", "event, /", f_event_name, "Its name."),
    ASN_FUNCTION("_event_record", "event, stream, /", f_event_record, "Records it."),
    ASN_FUNCTION("_event_query", "event, /", f_event_query, "Whether it is reached."),
    ASN_FUNCTION("_event_synchronize", "event, /", f_event_synchronize, "Waits for it."),
    ASN_FUNCTION("_event_elapsed", "start, end, /", f_event_elapsed, "Milliseconds."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
