/* L3 python: which line of the program is at work: the nearest Python frame outside the
 * package, as a site (runtime/site.h). Asked only while something records.
 *
 * What a code object and an instruction in it are as a site is looked up in a table of
 * our own: some 10 ns, where names and lines take 0.3 us. Code objects that were met are
 * held, so that an address stands for one code for ever; the table is as large as the
 * program's text. Making a frame object may run the garbage collector, and that any
 * program's finalisers: the library asks from within its own work, so the collector waits
 * meanwhile.
 */
#include "core.h"

#include <string.h>

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

static asn_site name_place(PyFrameObject *frame, PyCodeObject *code) {
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
    return asn_site_number(file, PyFrame_GetLineNumber(frame), function);
}

static asn_site number_of(PyFrameObject *frame, PyCodeObject *code) {
    PyObject *type, *value, *trace; /* a failing call may be what is recorded */
    PyErr_Fetch(&type, &value, &trace);
    asn_site site = name_place(frame, code);
    PyErr_Restore(type, value, trace);
    return site;
}

static asn_site site_of(PyFrameObject *frame) {
#if PY_VERSION_HEX >= 0x030B0000
    int at = PyFrame_GetLasti(frame);
#else
    int at = PyFrame_GetLineNumber(frame);
#endif
    PyCodeObject *code = PyFrame_GetCode(frame);
    place *p = cap_places ? find(places, cap_places, code, at) : NULL;
    asn_site site = p && p->code ? p->site : number_of(frame, code);
    if ((!p || !p->code) && (2 * num_places < cap_places || grow())) {
        *find(places, cap_places, code, at) = (place){code, at, site};
        num_places++;
        return site; /* the table keeps the reference */
    }
    Py_DECREF(code);
    return site;
}

/* ---- asking */

static asn_site walk(void) {
    PyFrameObject *frame = PyEval_GetFrame();
    asn_site site = 0;
    Py_XINCREF(frame);
    while (frame && !(site = site_of(frame))) {
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return site;
}

/* 0: no frame but the package's own, or a thread without the interpreter. */
static asn_site site_here(void) {
    if (!PyGILState_Check()) return 0;
    int collects = PyGC_Disable();
    asn_site site = walk();
    if (collects) PyGC_Enable();
    return site;
}

void asn_sites_init(void) {
    asn_site_finder = site_here;
}

PyObject *asn_site_to_py(asn_site site) {
    const asn_site_info *e = asn_site_get(site);
    if (!e) Py_RETURN_NONE;
    return Py_BuildValue("(sis)", e->file, e->line, e->function);
}
