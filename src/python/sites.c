/* L3 python: which line of the program is at work: the nearest Python frame outside the
 * package, as a site (runtime/site.h). Asked only while something records.
 *
 * What a code object and an instruction in it are as a site is looked up in a table of
 * our own: some 10 ns, where names and lines take 0.3 us. Code objects that were met are
 * held, so that an address stands for one code for ever; the table is as large as the
 * program's text.
 *
 * Public calls find frames as objects, which each call of a Python function makes anew
 * (0.15 us with what their end costs), and making one may run the garbage collector, and
 * that any program's finalisers: the library asks from within its own work, so the
 * collector waits meanwhile. Of the interpreters whose frames we know as they are, these
 * are read instead.
 */
#include "python/core.h"

#include <frameobject.h>
#include <pthread.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 &&                       \
    defined(__has_include) && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)
#if __has_include(<internal/pycore_frame.h>)
#define READS_FRAMES  1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#if PY_VERSION_HEX < 0x030C0000
#include <internal/pycore_pystate.h> /* before 3.12 the state is in reach, too */
#define RUNNING_THREAD() _PyThreadState_GET()
#endif
#undef Py_BUILD_CORE
#endif
#endif

#ifndef RUNNING_THREAD
#if PY_VERSION_HEX >= 0x030D0000
#define RUNNING_THREAD() PyThreadState_GetUnchecked()
#else
#define RUNNING_THREAD() _PyThreadState_UncheckedGet()
#endif
#endif

#include "base/alloc.h"
#include "python/threads.h"
#include "runtime/site.h"

static asn_mutex mutex; /* of the tables */

/* ---- the package's folder */

/* With its last separator, or what stands for it. */
static const char *package_folder(Py_ssize_t *length) {
    static char folder[4096];
    static Py_ssize_t bytes;
    if (!__atomic_load_n(&bytes, __ATOMIC_ACQUIRE)) {
        PyObject *package = PyImport_ImportModule("asnumpy");
        PyObject *file = package ? PyObject_GetAttrString(package, "__file__") : NULL;
        const char *text = file ? PyUnicode_AsUTF8(file) : NULL;
        const char *end = text ? strrchr(text, '/') : NULL;
        if (end && (size_t)(end - text) + 2 < sizeof folder) {
            asn_mutex_lock(&mutex);
            memcpy(folder, text, (size_t)(end + 1 - text)); /* whoever writes it */
            __atomic_store_n(&bytes, end + 1 - text, __ATOMIC_RELEASE);
            asn_mutex_unlock(&mutex);
        }
        Py_XDECREF(file);
        Py_XDECREF(package);
        if (!end) PyErr_Clear();
    }
    *length = bytes;
    return folder;
}

/* ---- places that were met */

/* What was looked up once; it stays. */
typedef struct {
    PyCodeObject *code; /* owns; NULL: free */
    int at;             /* the instruction (before 3.11 the line) */
    asn_site site;      /* 0: of the package */
} place;

static place *places; /* owns; open addressing */
static size_t num_places, cap_places;

/* The place of (code, at), or the free one where it belongs. There always is a free one.
 */
static place *find(place *table, size_t capacity, const PyCodeObject *code, int at) {
    uint64_t h = ((uint64_t)(uintptr_t)code >> 4 ^ (uint64_t)(uint32_t)at << 32) *
                 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h ^ h >> 29) & (capacity - 1);
    while (table[i].code && (table[i].code != code || table[i].at != at))
        i = (i + 1) & (capacity - 1);
    return &table[i];
}

/* Twice as many places; false: memory ran out, and nothing is added. */
static bool grow(void) {
    size_t capacity = cap_places ? 2 * cap_places : 1024;
    place *grown = asn_calloc(capacity, sizeof *grown);
    if (!grown) {
        asn_error_clear();
        return false;
    }
    for (size_t i = 0; i < cap_places; i++)
        if (places[i].code)
            *find(grown, capacity, places[i].code, places[i].at) = places[i];
    asn_free(places);
    places = grown;
    cap_places = capacity;
    return true;
}

/* A site's number for a code object's line; 0: a file of the package, or without names.
 */
static asn_site name_place(PyCodeObject *code, int line) {
#if PY_VERSION_HEX >= 0x030B0000
    PyObject *name = code->co_qualname;
#else
    PyObject *name = code->co_name;
#endif
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    const char *function = PyUnicode_AsUTF8(name);
    if (!file || !function) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t length;
    const char *folder = package_folder(&length);
    if (length && !strncmp(file, folder, (size_t)length)) return 0;
    return asn_site_number(file, line, function);
}

/* A place that is met for the first time. */
static __attribute__((noinline)) asn_site add_place(PyCodeObject *code, int at,
                                                    int line) {
    PyObject *type, *value, *trace; /* a failing call may be what is recorded */
    PyErr_Fetch(&type, &value, &trace);
    asn_site site = name_place(code, line);
    PyErr_Restore(type, value, trace);
    Py_INCREF(code); /* for good, in the table or without memory for it */
    asn_mutex_lock(&mutex);
    if (2 * num_places < cap_places || grow()) {
        place *p = find(places, cap_places, code, at);
        num_places += !p->code; /* else another thread has met it meanwhile */
        *p = (place){code, at, site};
    }
    asn_mutex_unlock(&mutex);
    return site;
}

/* Whether the place is in the table; *site then says what it is. */
static inline bool is_known(const PyCodeObject *code, int at, asn_site *site) {
    asn_mutex_lock(&mutex);
    const place *p = cap_places ? find(places, cap_places, code, at) : NULL;
    bool known = p && p->code;
    *site = known ? p->site : 0;
    asn_mutex_unlock(&mutex);
    return known;
}

/* ---- asking */

#if READS_FRAMES
typedef struct _PyInterpreterFrame running;

/* The frame's site by the tables; 0: the package's. */
static asn_site site_of(running *frame) {
#if PY_VERSION_HEX >= 0x030D0000
    PyCodeObject *code = _PyFrame_GetCode(frame);
#else
    PyCodeObject *code = frame->f_code;
#endif
    int at = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
    asn_site site;
    return is_known(code, at, &site) ? site
                                     : add_place(code, at, PyCode_Addr2Line(code, at));
}

/* Where the frame is: the instruction's address. */
static inline const void *instruction_of(const running *frame) {
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr;
#else
    return frame->prev_instr;
#endif
}

/* A loop asks for the same lines again and again. An instruction that was met is one of a
 * code object that is held, so its address says which line it is; those of a function lie
 * side by side in the table as well. */
typedef struct {
    const void *at;
    asn_site site;
} instruction;

/* The one entry for an address: a table without chains, where a later one displaces
 * another. */
static instruction *met_at(const void *at) {
    enum { INSTRUCTIONS = 512 };
    static instruction met[INSTRUCTIONS];
    return &met[((uintptr_t)at >> 2 ^ (uintptr_t)at >> 11) % INSTRUCTIONS];
}

/* From the innermost frame out to the first that is not the package's. */
static __attribute__((noinline)) asn_site walk(running *frame) {
    asn_site site = 0;
    for (; frame && !site; frame = frame->previous) {
        instruction *met = met_at(instruction_of(frame));
        if (met->at != instruction_of(frame)) {
            if (_PyFrame_IsIncomplete(frame)) continue;
            met->site = site_of(frame);
            met->at = instruction_of(frame);
        }
        site = met->site;
    }
    return site;
}

/* Most often the program's own line calls us. Every instruction here is one more that the
 * program's have to make room for, which costs more than running it. */
static inline asn_site find_site(const PyThreadState *thread) {
#if PY_VERSION_HEX >= 0x030D0000
    running *frame = thread->current_frame;
#else
    running *frame = thread->cframe->current_frame;
#endif
    if (!frame) return 0;
    const instruction *met = met_at(instruction_of(frame));
    bool known = met->at == instruction_of(frame) && met->site;
    return __builtin_expect(known, 1) ? met->site : walk(frame);
}

#else
static asn_site site_of(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030B0000
    int at = PyFrame_GetLasti(frame);
#else
    int at = PyFrame_GetLineNumber(frame);
#endif
    PyCodeObject *code = PyFrame_GetCode(frame);
    asn_site site;
    if (!is_known(code, at, &site))
        site = add_place(code, at, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return site;
}

static asn_site find_site(const PyThreadState *thread) {
    (void)thread;
    int collects = PyGC_Disable();
    PyFrameObject *frame = PyEval_GetFrame();
    asn_site site = 0;
    Py_XINCREF(frame);
    while (frame && !(site = site_of(frame))) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    if (collects) PyGC_Enable();
    return site;
}
#endif

/* pthread_self, where GCC knows it without a call. */
static inline unsigned long this_thread(void) {
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__) && __GNUC__ >= 11
    return (unsigned long)__builtin_thread_pointer();
#else
    return (unsigned long)pthread_self();
#endif
}

/* 0: no frame but the package's own, or a thread without the interpreter: the state that
 * runs is another's, or none. */
static asn_site site_here(void) {
    const PyThreadState *thread = RUNNING_THREAD();
    if (!thread || thread->thread_id != this_thread()) return 0;
    return find_site(thread);
}

void asn_sites_init(void) {
    asn_site_finder = site_here;
}

PyObject *asn_site_to_py(asn_site site) {
    const asn_site_info *e = asn_site_get(site);
    if (!e) Py_RETURN_NONE;
    return Py_BuildValue("(sis)", e->file, e->line, e->function);
}
