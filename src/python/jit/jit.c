/* L3 python: the type behind asnumpy.jit: a callable with a table of replays (see jit.h).
 *
 * A call makes its key, finds the entry of that key, and replays it; the first of a kind
 * is traced. The table is a list, searched by hash: it holds `most` entries, of which the
 * one not called for longest goes. Table, counts and references are changed inside the
 * object's critical section; replays run outside it. While a trace is open on this
 * thread, and while jit is switched off, the function is simply called: nested jits are
 * inlined.
 *
 * Comparing keys and making objects may run any Python code, which may call this very
 * object again: entries are counted, so that one in use outlives its place in the table.
 */
#include "python/jit/jit.h"

#include <string.h>

#include "python/functions/function.h"
#include "graph/lock.h"

static asn_jit *self_of(PyObject *o) {
    return (asn_jit *)o;
}

/* ---- the table; in the object's critical section */

/* Whether the entry is of that call. Bytes decide but for static arguments, which are one
 * object, or of one type and equal. *failed: comparing raised. */
static bool same_key(const asn_jit_entry *e, const asn_jit_key *k, int *failed) {
    if (e->hash != k->hash || e->length != k->length ||
        e->num_statics != k->num_statics || memcmp(e->key, k->bytes, k->length) != 0)
        return false;
    for (int i = 0; i < k->num_statics; i++) {
        if (e->statics[i] == k->statics[i]) continue;
        if (Py_TYPE(e->statics[i]) != Py_TYPE(k->statics[i])) return false;
        int same = PyObject_RichCompareBool(e->statics[i], k->statics[i], Py_EQ);
        if (same < 0) *failed = 1;
        if (same <= 0) return false;
    }
    return true;
}

/* The order of the list means nothing: the last one takes the place. */
static void remove_at(asn_jit *jit, Py_ssize_t i) {
    asn_jit_entry *e = jit->entries[i];
    jit->entries[i] = jit->entries[--jit->count];
    asn_jit_entry_release(e);
}

/* The entry of a key, as a new reference, or NULL (with an error: comparing static
 * arguments failed). An entry whose device is closed, or not the current one any more, is
 * of no use, and goes. */
static asn_jit_entry *find(asn_jit *jit, const asn_jit_key *key) {
    int failed = 0;
    for (Py_ssize_t i = 0; i < jit->count && !failed; i++) {
        asn_jit_entry *e = jit->entries[i];
        if (e->hash != key->hash) continue;
        e->refs++; /* comparing runs the program's code */
        bool same = same_key(e, key, &failed);
        if (same && asn_replay_valid(e->replay)) {
            e->used = ++jit->tick;
            return e;
        }
        asn_jit_entry_release(e);
        if (same && i < jit->count && jit->entries[i] == e) remove_at(jit, i--);
    }
    return NULL;
}

/* Adds an entry, of which the table takes a reference of its own; -1: MemoryError. */
static int add(asn_jit *jit, asn_jit_entry *e) {
    while (jit->count >= jit->most) {
        Py_ssize_t oldest = 0;
        for (Py_ssize_t i = 1; i < jit->count; i++)
            if (jit->entries[i]->used < jit->entries[oldest]->used) oldest = i;
        remove_at(jit, oldest);
    }
    asn_jit_entry **grown =
        PyMem_Realloc(jit->entries, (size_t)(jit->count + 1) * sizeof *grown);
    if (!grown) return PyErr_NoMemory(), -1;
    jit->entries = grown;
    jit->entries[jit->count++] = e;
    e->used = ++jit->tick;
    e->refs++;
    return 0;
}

/* Entries in use live on until their calls end. */
static void clear(asn_jit *jit) {
    while (jit->count)
        remove_at(jit, jit->count - 1);
}

/* ---- calls */

/* Launches an entry's steps with the call's arrays. A new result, or NULL: a step failed,
 * a condition of the trace does not hold, or a floating-point exception is an error. */
static PyObject *replay(const asn_jit_entry *e, const asn_jit_key *key) {
    const asn_array *args[ASN_JIT_ARRAYS];
    asn_array few[8], *results = few; /* few results need no memory */
    for (int i = 0; i < key->num_arrays; i++)
        args[i] = asn_of(key->arrays[i]);
    if (e->num_results > 8 &&
        !(results = PyMem_Malloc((size_t)e->num_results * sizeof *results)))
        return PyErr_NoMemory();
    asn_status status = asn_replay_run(e->replay, args, results);
    PyObject *made = NULL;
    if (status) {
        asn_raise(status);
    } else {
        made = asn_jit_results(e, key, results);
        if (ASN_UNLIKELY(asn_fp_check() < 0)) Py_CLEAR(made);
    }
    if (results != few) PyMem_Free(results);
    return made;
}

/* The programs of a trace that is called often, compiled by _compile_text(text) -> the
 * address of the library's table, or None where that cannot be (it has told). Once for
 * each entry. -1: an error. */
static int compile_entry(asn_jit *jit, asn_jit_entry *e) {
    char *text = NULL;
    e->compiled = true;
    ASN_PY_TRY_INT(asn_replay_source(e->replay, &text));
    if (!text) return 0; /* no program has a text */
    PyObject *table = PyObject_CallMethod((PyObject *)jit, "_compile_text", "s", text);
    asn_free(text);
    if (!table) return -1;
    void *address = table == Py_None ? NULL : PyLong_AsVoidPtr(table);
    Py_DECREF(table);
    if (PyErr_Occurred()) return -1;
    if (address) ASN_PY_TRY_INT(asn_replay_attach(e->replay, address));
    return 0;
}

/* Whether an argument lies over memory that the steps know by another name, as an array
 * from outside: such a call runs as it is written. */
static bool collides(const asn_jit_entry *e, const asn_jit_key *key) {
    const asn_array *args[ASN_JIT_ARRAYS];
    if (!e->constants) return false;
    for (int i = 0; i < key->num_arrays; i++)
        args[i] = asn_of(key->arrays[i]);
    return asn_replay_collides(e->replay, args);
}

/* The first call of a kind: its result, while the table gets the entry that it made, if
 * any. NULL: the function's error, or one of the trace. */
static PyObject *trace(asn_jit *jit, const asn_jit_key *key, PyObject *const *args,
                       Py_ssize_t nargs, PyObject *kwnames) {
    asn_jit_entry *e;
    PyObject *made = asn_jit_trace(jit, key, args, nargs, kwnames, &e);
    Py_BEGIN_CRITICAL_SECTION(jit);
    jit->misses++;
    if (e && made && add(jit, e) < 0) Py_CLEAR(made);
    asn_jit_entry_release(e);
    Py_END_CRITICAL_SECTION();
    return made;
}

/* The entry's replay; compiled, when it was called often enough (`hot` replays). */
static PyObject *replay_counted(asn_jit *jit, asn_jit_entry *e, const asn_jit_key *key) {
    PyObject *made = replay(e, key);
    bool due = false;
    Py_BEGIN_CRITICAL_SECTION(jit);
    jit->hits++;
    /* Decided inside the section, done outside: compiling takes long, and runs Python. */
    if (ASN_UNLIKELY(jit->hot && !e->compiled && ++e->replays >= jit->hot) && made)
        e->compiled = due = true;
    Py_END_CRITICAL_SECTION();
    if (ASN_UNLIKELY(due) && compile_entry(jit, e) < 0) Py_CLEAR(made);
    return made;
}

/* The vectorcall. The key owns arrays, so it is ended on every way out. */
static PyObject *jit_call(PyObject *self, PyObject *const *args, size_t nargsf,
                          PyObject *kwnames) {
    asn_jit *jit = self_of(self);
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    /* In a trace the inner function's launches are the outer one's. */
    if (!ASN_READ(asn_py.jit) || asn_capture_open())
        return PyObject_Vectorcall(jit->function, args, (size_t)nargs, kwnames);
    asn_jit_key key;
    PyObject *made = NULL;
    if (!asn_jit_key_make(&key, jit, args, nargs, kwnames)) return NULL;
    asn_jit_entry *e;
    Py_BEGIN_CRITICAL_SECTION(self);
    e = find(jit, &key);
    Py_END_CRITICAL_SECTION();
    /* A static argument's == raised: nothing is known of the call. */
    if (!e && PyErr_Occurred()) {
        asn_jit_key_fini(&key);
        return NULL;
    }
    if (!e) {
        made = trace(jit, &key, args, nargs, kwnames);
    } else if (ASN_UNLIKELY(collides(e, &key))) {
        made = PyObject_Vectorcall(jit->function, args, (size_t)nargs, kwnames);
    } else {
        made = replay_counted(jit, e, &key);
    }
    if (e) {
        Py_BEGIN_CRITICAL_SECTION(self);
        asn_jit_entry_release(e);
        Py_END_CRITICAL_SECTION();
    }
    asn_jit_key_fini(&key);
    return made;
}

/* ---- the type */

/* static_argnums as bits of `numbers`, static_argnames as a set. -1: an error. */
static int read_statics(asn_jit *jit, PyObject *numbers, PyObject *names) {
    PyObject *all = asn_items_of(numbers, "static_argnums is a tuple of ints");
    for (Py_ssize_t i = 0; all && i < PySequence_Fast_GET_SIZE(all); i++) {
        Py_ssize_t at = PyNumber_AsSsize_t(PySequence_Fast_GET_ITEM(all, i), NULL);
        if (at == -1 && PyErr_Occurred()) {
            Py_CLEAR(all);
        } else if (at < 0 || at >= 64) {
            PyErr_Format(PyExc_ValueError,
                         "jit: static_argnums has %zd; positions are 0 to 63", at);
            Py_CLEAR(all);
        } else {
            jit->numbers |= (uint64_t)1 << at;
        }
    }
    if (!all) return -1;
    Py_DECREF(all);
    Py_XSETREF(jit->names, PyFrozenSet_New(names));
    return jit->names ? 0 : -1;
}

/* _Jit(function, static_argnums, static_argnames, maxsize, hot); asnumpy.jit has read its
 * options. */
static int jit_init(PyObject *self, PyObject *args, PyObject *kwargs) {
    asn_jit *jit = self_of(self);
    PyObject *function, *numbers, *names;
    Py_ssize_t most;
    unsigned hot;
    if (kwargs && PyDict_GET_SIZE(kwargs)) {
        PyErr_SetString(PyExc_TypeError, "_Jit takes no keywords");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "OOOnI", &function, &numbers, &names, &most, &hot))
        return -1;
    if (most < 1) {
        PyErr_Format(PyExc_ValueError, "jit: maxsize is %zd; it is at least 1", most);
        return -1;
    }
    jit->vectorcall = jit_call;
    jit->most = most;
    jit->hot = hot;
    Py_XSETREF(jit->function, Py_NewRef(function));
    return read_statics(jit, numbers, names);
}

/* What a subclass that forgets __init__ calls. */
static PyObject *not_ready(PyObject *self, PyObject *const *args, size_t nargsf,
                           PyObject *kwnames) {
    (void)args, (void)nargsf, (void)kwnames;
    return PyErr_Format(PyExc_TypeError, "%s was not initialised",
                        Py_TYPE(self)->tp_name);
}

/* Calls of an object whose __init__ has not run are an error (not_ready). */
static PyObject *jit_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
    (void)args, (void)kwargs;
    asn_jit *jit = (asn_jit *)type->tp_alloc(type, 0);
    /* Python before 3.12 gives a class written in Python its base's tp_call, but not the
     * flag that spares calls the tuple of arguments. */
    if (type->tp_call == PyVectorcall_Call) type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
    if (jit) jit->vectorcall = not_ready;
    return (PyObject *)jit;
}

/* The collector's look: function, names, __dict__, and the statics of all entries. */
static int jit_traverse(PyObject *self, visitproc visit, void *arg) {
    asn_jit *jit = self_of(self);
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(jit->function);
    Py_VISIT(jit->names);
    Py_VISIT(jit->dict);
    for (Py_ssize_t i = 0; i < jit->count; i++)
        for (int k = 0; k < jit->entries[i]->num_statics; k++)
            Py_VISIT(jit->entries[i]->statics[k]);
    return 0;
}

/* Breaks what cycles the object is part of; the collector's, and the destructor's. */
static int jit_clear(PyObject *self) {
    asn_jit *jit = self_of(self);
    clear(jit);
    Py_CLEAR(jit->function);
    Py_CLEAR(jit->names);
    Py_CLEAR(jit->dict);
    return 0;
}

static void jit_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self_of(self)->weakrefs) PyObject_ClearWeakRefs(self);
    jit_clear(self);
    PyMem_Free(self_of(self)->entries);
    type->tp_free(self);
    Py_DECREF(type);
}

/* As a function: a class that has one binds it. */
static PyObject *jit_get(PyObject *self, PyObject *object, PyObject *type) {
    (void)type;
    return object && object != Py_None ? PyMethod_New(self, object) : Py_NewRef(self);
}

/* (hits, misses, maxsize, currsize) */
static PyObject *jit_counts(PyObject *self, PyObject *unused) {
    (void)unused;
    asn_jit *jit = self_of(self);
    PyObject *counts;
    Py_BEGIN_CRITICAL_SECTION(self);
    counts = Py_BuildValue("KKnn", (unsigned long long)jit->hits,
                           (unsigned long long)jit->misses, jit->most, jit->count);
    Py_END_CRITICAL_SECTION();
    return counts;
}

/* Compiles the programs of the trace called last, if they are to be. */
static PyObject *jit_compile_last(PyObject *self, PyObject *unused) {
    (void)unused;
    asn_jit *jit = self_of(self);
    asn_jit_entry *last = NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    for (Py_ssize_t i = 0; i < jit->count; i++)
        if (!last || jit->entries[i]->used > last->used) last = jit->entries[i];
    if (last && (!jit->hot || last->compiled)) last = NULL;
    if (last) last->refs++;
    Py_END_CRITICAL_SECTION();
    if (!last) Py_RETURN_NONE;
    int rc = compile_entry(jit, last);
    Py_BEGIN_CRITICAL_SECTION(self);
    asn_jit_entry_release(last);
    Py_END_CRITICAL_SECTION();
    return rc < 0 ? NULL : Py_NewRef(Py_None);
}

/* Later calls are traced anew. */
static PyObject *jit_cache_clear(PyObject *self, PyObject *unused) {
    (void)unused;
    asn_jit *jit = self_of(self);
    Py_BEGIN_CRITICAL_SECTION(self);
    clear(jit);
    jit->hits = jit->misses = 0;
    Py_END_CRITICAL_SECTION();
    Py_RETURN_NONE;
}

/* What asnumpy.jit's explain shows of an entry: a dict; NULL: an error. */
static PyObject *describe(const asn_jit_entry *e) {
    asn_replay_info info;
    char *text = NULL;
    asn_replay_get_info(e->replay, &info);
    ASN_PY_TRY(asn_replay_explain(e->replay, &text));
    PyObject *statics = PyTuple_New(e->num_statics);
    for (int i = 0; statics && i < e->num_statics; i++)
        PyTuple_SET_ITEM(statics, i, Py_NewRef(e->statics[i]));
    PyObject *made =
        statics
            ? Py_BuildValue("{s:O,s:O,s:s,s:i,s:i,s:i,s:i,s:i,s:i,s:L,s:i,s:L,s:L}",
                            "arrays", e->signature, "statics", statics, "text", text,
                            "steps", info.steps, "programs", info.programs, "compiled",
                            info.natives, "operators", info.operators, "copies",
                            info.copies, "temporaries", info.temporaries, "arena_bytes",
                            (long long)info.arena_bytes, "constants", info.constants,
                            "temporary_bytes", (long long)info.temporary_bytes,
                            "result_bytes", (long long)info.result_bytes)
            : NULL;
    Py_XDECREF(statics);
    asn_free(text);
    return made;
}

/* A dict for each entry, the least recently called first. Ticks are all different, so the
 * next one is the smallest above the last. */
static PyObject *describe_all(const asn_jit *jit) {
    PyObject *list = PyList_New(0);
    uint64_t last = 0;
    for (Py_ssize_t n = 0; list && n < jit->count; n++) {
        asn_jit_entry *next = NULL;
        for (Py_ssize_t i = 0; i < jit->count; i++) {
            asn_jit_entry *e = jit->entries[i];
            if (e->used > last && (!next || e->used < next->used)) next = e;
        }
        if (!next) break;
        last = next->used;
        next->refs++; /* describing makes objects, and so may run any code */
        PyObject *one = describe(next);
        asn_jit_entry_release(next);
        if (!one || PyList_Append(list, one) < 0) Py_CLEAR(list);
        Py_XDECREF(one);
    }
    return list;
}

/* (): a list of dicts, for asnumpy.jit's explain. */
static PyObject *jit_entries(PyObject *self, PyObject *unused) {
    (void)unused;
    PyObject *list;
    Py_BEGIN_CRITICAL_SECTION(self);
    list = describe_all(self_of(self));
    Py_END_CRITICAL_SECTION();
    return list;
}

static PyMethodDef methods[] = {
    {"_counts", jit_counts, METH_NOARGS, NULL},
    {"_entries", jit_entries, METH_NOARGS, NULL},
    {"_compile_last", jit_compile_last, METH_NOARGS, NULL},
    {"cache_clear", jit_cache_clear, METH_NOARGS,
     "Forgets every trace, and the counts of cache_info()."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(asn_jit, vectorcall), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(asn_jit, dict), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(asn_jit, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* Makes the type, from which asnumpy's Python class derives. */
int asn_jit_init_type(PyObject *module) {
    PyType_Slot slots[] = {
        {Py_tp_new, jit_new},
        {Py_tp_init, jit_init},
        {Py_tp_dealloc, jit_dealloc},
        {Py_tp_traverse, jit_traverse},
        {Py_tp_clear, jit_clear},
        {Py_tp_methods, methods},
        {Py_tp_members, members},
        {Py_tp_descr_get, jit_get},
        {Py_tp_call, PyVectorcall_Call},
        {Py_tp_getset, getset},
        {0, NULL},
    };
    PyType_Spec spec = {"asnumpy._core._Jit", sizeof(asn_jit), 0,
                        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC |
                            Py_TPFLAGS_HAVE_VECTORCALL,
                        slots};
    PyObject *type = PyType_FromModuleAndSpec(module, &spec, NULL);
    int rc = type ? PyModule_AddObjectRef(module, "_Jit", type) : -1;
    Py_XDECREF(type);
    return rc;
}

/* ---- the switch, and what a trace asks */

/* (on): the switch asnumpy.jit's tests and users turn; returns the previous setting. */
static PyObject *f_set_jit(PyObject *const *v) {
    bool before = ASN_READ(asn_py.jit);
    int on = PyObject_IsTrue(v[0]);
    if (on < 0) return NULL;
    ASN_WRITE(asn_py.jit, on);
    return PyBool_FromLong(before);
}

static PyObject *f_is_tracing(PyObject *const *v) {
    (void)v;
    return PyBool_FromLong(asn_capture_open());
}

/* (what): for functions that a trace cannot contain; `what` they are stands in the error.
 */
static PyObject *f_refuse_tracing(PyObject *const *v) {
    const char *what = PyUnicode_AsUTF8(v[0]);
    if (!what) return NULL;
    ASN_PY_TRY(asn_capture_forbid(what));
    Py_RETURN_NONE;
}

/* (condition, message): ValueError where it does not hold. In a trace a condition that
 * varies is one of every replay's: the value is not looked at now. */
static PyObject *f_require(PyObject *const *v) {
    const char *message = PyUnicode_AsUTF8(v[1]);
    if (!message) return NULL;
    if (asn_is_ndarray(v[0]) && asn_capture_open()) {
        const asn_array *condition = asn_of(v[0]);
        bool known;
        if (asn_layout_dtype(&condition->layout) != ASN_BOOL || condition->layout.ndim)
            return PyErr_Format(PyExc_TypeError, "a condition is one bool");
        ASN_PY_TRY(asn_capture_known(condition, &known));
        if (!known) {
            ASN_PY_TRY(asn_capture_require(condition, ASN_ERR_VALUE, message));
            Py_RETURN_NONE;
        }
    }
    int holds = PyObject_IsTrue(v[0]);
    if (holds < 0) return NULL;
    if (!holds) return PyErr_Format(PyExc_ValueError, "%s", message);
    Py_RETURN_NONE;
}

asn_function_def asn_jit_functions[] = {
    ASN_FUNCTION("_set_jit", "on, /", f_set_jit,
                 "Whether jitted functions are traced; returns the previous setting."),
    ASN_FUNCTION("_is_tracing", "", f_is_tracing,
                 "Whether this thread is tracing a jitted function."),
    ASN_FUNCTION("_refuse_tracing", "what, /", f_refuse_tracing,
                 "RuntimeError where this thread is tracing."),
    ASN_FUNCTION("_require", "condition, message, /", f_require,
                 "ValueError where the condition does not hold, in each replay too."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
