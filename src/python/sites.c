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
#include "core.h"

#include <frameobject.h>
#include <string.h>

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030E0000 &&                       \
    defined(__has_include) && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)
#if __has_include(<internal/pycore_frame.h>)
#define READS_FRAMES  1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#endif
#endif

#include "base/alloc.h"
#include "runtime/site.h"

/* ---- the package's folder */

/* With its last separator, or what stands for it. */
static const char *package_folder(Py_ssize_t *length) {
    static char folder[4096];
    static Py_ssize_t bytes;
    if (!bytes) {
        PyObject *package = PyImport_ImportModule("asnumpy");
        PyObject *file = package ? PyObject_GetAttrString(package, "__file__") : NULL;
        const char *text = file ? PyUnicode_AsUTF8(file) : NULL;
        const char *end = text ? strrchr(text, '/') : NULL;
        if (end && (size_t)(end - text) + 2 < sizeof folder) {
            bytes = end + 1 - text;
            memcpy(folder, text, (size_t)bytes);
        }
        Py_XDECREF(file);
        Py_XDECREF(package);
        if (!end) PyErr_Clear();
    }
    *length = bytes;
    return folder;
}

/* ---- places that were met */

typedef struct {
    PyCodeObject *code; /* owns; NULL: free */
    int at;             /* the instruction (before 3.11 the line) */
    asn_site site;      /* 0: of the package */
} place;

static place *places; /* owns; open addressing */
static size_t num_places, cap_places;

static place *find(place *table, size_t capacity, const PyCodeObject *code, int at) {
    uint64_t h = ((uint64_t)(uintptr_t)code >> 4 ^ (uint64_t)(uint32_t)at << 32) *
                 0x9e3779b97f4a7c15u;
    size_t i = (size_t)(h ^ h >> 29) & (capacity - 1);
    while (table[i].code && (table[i].code != code || table[i].at != at))
        i = (i + 1) & (capacity - 1);
    return &table[i];
}

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
    if (2 * num_places < cap_places || grow()) {
        *find(places, cap_places, code, at) = (place){code, at, site};
        num_places++;
    }
    return site;
}

static inline const place *known_place(const PyCodeObject *code, int at) {
    const place *p = cap_places ? find(places, cap_places, code, at) : NULL;
    return p && p->code ? p : NULL;
}

/* ---- asking */

#if READS_FRAMES
typedef struct _PyInterpreterFrame running;

/* The frame itself or the next one behind it that runs Python's code. */
static inline running *complete(running *f) {
    while (f && _PyFrame_IsIncomplete(f))
        f = f->previous;
    return f;
}

static inline asn_site site_of(running *frame) {
#if PY_VERSION_HEX >= 0x030D0000
    PyCodeObject *code = _PyFrame_GetCode(frame);
#else
    PyCodeObject *code = frame->f_code;
#endif
    int at = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
    const place *p = known_place(code, at);
    return p ? p->site : add_place(code, at, PyCode_Addr2Line(code, at));
}

/* A loop asks for the same lines again and again. An instruction of the program's own is
 * one of a code object that is held, so its address says which line it is. */
static asn_site walk(const PyThreadState *thread) {
    enum { INSTRUCTIONS = 256 };
    static struct {
        const void *at;
        asn_site site;
    } met[INSTRUCTIONS];
#if PY_VERSION_HEX >= 0x030D0000
    running *frame = thread->current_frame;
    const void *at = frame ? (const void *)frame->instr_ptr : NULL;
#else
    running *frame = thread->cframe->current_frame;
    const void *at = frame ? (const void *)frame->prev_instr : NULL;
#endif
    size_t i = ((uintptr_t)at >> 1 ^ (uintptr_t)at >> 9) % INSTRUCTIONS;
    if (at && met[i].at == at) return met[i].site;
    running *innermost = frame;
    if (!(frame = complete(frame))) return 0;
    asn_site site = site_of(frame);
    if (site && frame == innermost) {
        met[i].at = at;
        met[i].site = site;
    }
    while (!site && (frame = complete(frame->previous)))
        site = site_of(frame);
    return site;
}

#else
static asn_site site_of(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030B0000
    int at = PyFrame_GetLasti(frame);
#else
    int at = PyFrame_GetLineNumber(frame);
#endif
    PyCodeObject *code = PyFrame_GetCode(frame);
    const place *p = known_place(code, at);
    asn_site site = p ? p->site : add_place(code, at, PyFrame_GetLineNumber(frame));
    Py_DECREF(code);
    return site;
}

static asn_site walk(const PyThreadState *thread) {
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

/* 0: no frame but the package's own, or a thread without the interpreter. The thread's
 * own state lives as long as Python code called us, so that no other thread's is at its
 * address. */
static asn_site site_here(void) {
    static _Thread_local const PyThreadState *own;
    const PyThreadState *thread = _PyThreadState_UncheckedGet();
    if (!thread || thread != own) {
        if (!PyGILState_Check()) return 0;
        own = thread;
    }
    return walk(thread);
}

void asn_sites_init(void) {
    asn_site_finder = site_here;
}

PyObject *asn_site_to_py(asn_site site) {
    const asn_site_info *e = asn_site_get(site);
    if (!e) Py_RETURN_NONE;
    return Py_BuildValue("(sis)", e->file, e->line, e->function);
}
