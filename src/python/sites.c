/* L3 python: which line of the program is at work: the nearest Python frame outside the
 * package. About 0.3 us a question: asked only while something records. */
#include "core.h"

#include <string.h>

#include "runtime/site.h"

/* The package's folder with its last separator, or what stands for it. */
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

static asn_site number_of(PyFrameObject *frame, PyCodeObject *code) {
    const char *file = PyUnicode_AsUTF8(code->co_filename);
    const char *function = PyUnicode_AsUTF8(code->co_name);
    if (!file || !function) {
        PyErr_Clear();
        return 0;
    }
    Py_ssize_t length;
    const char *folder = package_folder(&length);
    if (length && !strncmp(file, folder, (size_t)length)) return 0;
    return asn_site_number(file, PyFrame_GetLineNumber(frame), function);
}

/* 0: no frame but the package's own, or a thread without the interpreter. */
static asn_site site_here(void) {
    if (!PyGILState_Check()) return 0;
    PyObject *type, *value, *trace; /* a failing call may be what is recorded */
    PyErr_Fetch(&type, &value, &trace);
    PyFrameObject *frame = PyEval_GetFrame();
    asn_site site = 0;
    Py_XINCREF(frame);
    while (frame && !site) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        site = number_of(frame, code);
        Py_DECREF(code);
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    PyErr_Restore(type, value, trace);
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
