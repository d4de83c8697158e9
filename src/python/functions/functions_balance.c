/* L3 python: what asnumpy.balance is written with: partitions of rows (base/balance.h),
 * and how evenly the CPU device's threads share their work (graph/device/shares.h).
 *
 * Costs come as a buffer of contiguous float64, which the package makes of whatever a
 * program gives, with its messages; a plain int is a number of equal rows. */
#include "python/convert.h"
#include "python/core.h"
#include "python/functions/function.h"

#include "base/balance.h"
#include "graph/device/shares.h"

/* (block_sizes, core_assignments, load_imbalance), of lists: what programs hand on to
 * loops of theirs, a few blocks a core. NULL with an error where there is no memory. */
static PyObject *partition_to_py(const asn_balance *p) {
    PyObject *sizes = PyList_New(p->blocks), *cores = PyList_New(p->blocks);
    for (int64_t b = 0, row = 0; sizes && cores && b < p->blocks; row = p->ends[b++]) {
        PyObject *size = PyLong_FromLongLong(p->ends[b] - row);
        PyObject *core = PyLong_FromLong(p->cores[b]);
        PyList_SET_ITEM(sizes, b, size);
        PyList_SET_ITEM(cores, b, core);
        if (!size || !core) Py_CLEAR(sizes);
    }
    PyObject *all =
        sizes && cores ? Py_BuildValue("(OOd)", sizes, cores, p->imbalance) : NULL;
    Py_XDECREF(sizes);
    Py_XDECREF(cores);
    return all;
}

/* (costs or rows, cores, strategy's number). The buffer is borrowed while the core reads
 * it, which makes a copy of its own (prefix sums) and keeps nothing. */
static PyObject *f_partition(PyObject *const *v) {
    int64_t rows = 0, cores, strategy;
    Py_buffer costs = {0};
    if (asn_int64_from_py(v[1], &cores) < 0 || asn_int64_from_py(v[2], &strategy) < 0)
        return NULL;
    if (PyLong_Check(v[0])) {
        if (asn_int64_from_py(v[0], &rows) < 0) return NULL;
    } else {
        if (PyObject_GetBuffer(v[0], &costs, PyBUF_SIMPLE) < 0) return NULL;
        rows = costs.len / (Py_ssize_t)sizeof(double);
    }
    asn_balance p;
    asn_status status = asn_balance_init(&p, rows, costs.obj ? costs.buf : NULL, cores,
                                         (asn_balance_strategy)strategy);
    if (costs.obj) PyBuffer_Release(&costs);
    ASN_PY_TRY(status);
    PyObject *all = partition_to_py(&p);
    asn_balance_fini(&p);
    return all;
}

/* (on): begins to watch the threads, or ends it; who watches is counted, so that nested
 * with blocks and those of several threads need not know of one another. */
static PyObject *f_watch(PyObject *const *v) {
    int on = PyObject_IsTrue(v[0]);
    if (on < 0) return NULL;
    ASN_PY_TRY(asn_shares_watch(on));
    Py_RETURN_NONE;
}

/* (regions, chunks, span, room, mean, lost, [busy of each thread]), in nanoseconds: the
 * sums since the process began, which never shrink. A with block takes two and gives
 * their difference; a thread that joined between them is new at the end of the list. */
static PyObject *f_times(PyObject *const *v) {
    (void)v;
    asn_shares s;
    ASN_PY_TRY(asn_shares_get(&s));
    PyObject *busy = PyList_New((Py_ssize_t)s.threads);
    for (size_t i = 0; busy && i < s.threads; i++) {
        PyObject *ns = PyLong_FromLongLong(s.busy_ns[i]);
        PyList_SET_ITEM(busy, (Py_ssize_t)i, ns);
        if (!ns) Py_CLEAR(busy);
    }
    if (!busy) return NULL;
    return Py_BuildValue("(LLLLLLN)", (long long)s.times.regions,
                         (long long)s.times.chunks, (long long)s.times.spanNs,
                         (long long)s.times.roomNs, (long long)s.times.meanNs,
                         (long long)s.times.lostNs, busy);
}

asn_function_def asn_balance_functions[] = {
    ASN_FUNCTION("_balance_partition", "work, cores, strategy, /", f_partition,
                 "Rows dealt out to cores: sizes, cores and the imbalance."),
    ASN_FUNCTION("_pool_watch", "on, /", f_watch, "Begins or ends watching the threads."),
    ASN_FUNCTION("_pool_times", "", f_times, "What was counted while watched."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
