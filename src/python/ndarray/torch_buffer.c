/* L3 python: is it PyTorch that asks for a buffer?
 *
 * torch.asarray(a) takes the buffer of anything but a numpy.ndarray for float32 in one
 * dimension and never asks for the format: float64 came back as twice as many wrong
 * numbers, without an error (torch 2.13; any memoryview does the same there). It asks
 * with the flags of file.readinto (PyBUF_WRITABLE) and, refused, of file.write
 * (PyBUF_SIMPLE), so only the caller tells it from them: a frame of libtorch_python right
 * below CPython's. torch.frombuffer asks the same way and is refused with it, although
 * its dtype is the caller's word; through memoryview(a) it works.
 *
 * Looked at only where PyTorch is imported and the flags are these two: 1 us there.
 */
#include <dlfcn.h>
#include <string.h>
#include <unwind.h>

#include "python/convert.h"

enum { DEPTH = 4 }; /* this file, getbuffer, PyObject_GetBuffer, who called it */

typedef struct {
    int depth;  /* frames seen */
    bool found; /* one of them was PyTorch's */
} walk;

/* One frame of the stack, from the inside out: which library its code is in. */
static _Unwind_Reason_Code look_at(struct _Unwind_Context *frame, void *arg) {
    walk *w = arg;
    Dl_info where;
    if (dladdr((void *)_Unwind_GetIP(frame), &where) && where.dli_fname)
        w->found = strstr(where.dli_fname, "libtorch_python") != NULL;
    return w->found || ++w->depth >= DEPTH ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* The dictionary of modules is asked first: where PyTorch was never imported there is no
 * stack to walk. s_torch is the interned name "torch". */
bool asn_buffer_is_for_torch(int flags) {
    if (flags != PyBUF_WRITABLE && flags != PyBUF_SIMPLE) return false;
    PyObject *modules = PyImport_GetModuleDict(); /* borrowed */
    if (!modules || !PyDict_Check(modules) ||
        !PyDict_GetItemWithError(modules, asn_py.s_torch)) {
        PyErr_Clear();
        return false;
    }
    walk w = {0};
    _Unwind_Backtrace(look_at, &w);
    return w.found;
}
