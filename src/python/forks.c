/* L3 python: forks of an interpreter without a global lock.
 *
 * os.fork stops all threads of such an interpreter before the process forks, some of them
 * between taking the library's lock and going on: the core's own handler (graph/lock.c),
 * which runs after that, would wait for the lock for ever. So the thread that forks takes
 * it before the others are stopped. With a global lock, whoever forks has that, and
 * nothing is to be done.
 */
#include "python/core.h"

#include "graph/lock.h"

/* Handlers, as functions of Python's: the lock is held across the fork, in both
 * processes. */
static PyObject *before_fork(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    asn_lock();
    Py_RETURN_NONE;
}

static PyObject *after_fork(PyObject *module, PyObject *unused) {
    (void)module, (void)unused;
    asn_unlock();
    Py_RETURN_NONE;
}

static PyMethodDef handlers[] = {{"_before_fork", before_fork, METH_NOARGS, NULL},
                                 {"_after_fork", after_fork, METH_NOARGS, NULL}};

/* Once, on import. -1: an error. */
int asn_forks_init(void) {
    if (!ASN_FREE_THREADED) return 0;
    PyObject *os = PyImport_ImportModule("os"), *done = NULL;
    PyObject *before = PyCFunction_New(&handlers[0], NULL);
    PyObject *after = PyCFunction_New(&handlers[1], NULL);
    PyObject *handle = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *none = PyTuple_New(0);
    PyObject *named =
        before && after ? Py_BuildValue("{s:O,s:O,s:O}", "before", before,
                                        "after_in_child", after, "after_in_parent", after)
                        : NULL;
    if (handle && none && named) done = PyObject_Call(handle, none, named);
    Py_XDECREF(os);
    Py_XDECREF(before);
    Py_XDECREF(after);
    Py_XDECREF(handle);
    Py_XDECREF(none);
    Py_XDECREF(named);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
