/* L3 python: BitEngine's orders: shuffled indices, samples, lists shuffled in place.
 *
 * Orders are int64 arrays drawn as any numbers are (random_draw.c); permutation, shuffle
 * and choice of asnumpy.random gather by them. Only lists are shuffled themselves: their
 * items are Python's. The algorithms, and so the orders, are NumPy's (random/bitgen.h).
 */
#include "python/convert.h"
#include "python/random/random_engine.h"

/* What a draw of orders is: rows of `row` indices, each shuffled down to place `first`.
 */
typedef struct {
    bool masked;
    int64_t row, first;
} shuffle;

/* n elements into out: n / row orders, each a shuffle of its own. */
static asn_status fill_shuffle(void *g, const void *what, int64_t n, void *out) {
    const shuffle *s = what;
    int64_t *order = out;
    for (int64_t from = 0; from < n; from += s->row, order += s->row) {
        for (int64_t i = 0; i < s->row; i++)
            order[i] = i;
        asn_shuffle(g, s->masked, s->row, s->first, order);
    }
    return ASN_OK;
}

/* (shape, first, masked): rows of 0 ... n - 1, each shuffled down to place `first` */
static PyObject *engine_shuffled(PyObject *self, PyObject *args) {
    PyObject *size;
    long long first;
    int masked, ndim;
    int64_t shape[ASN_MAX_DIMS];
    if (!PyArg_ParseTuple(args, "OLp", &size, &first, &masked)) return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    if (ndim == 0 || first < 1)
        return PyErr_Format(PyExc_ValueError, "shuffled takes a shape and first >= 1");
    shuffle s = {.masked = masked != 0, .row = shape[ndim - 1], .first = first};
    return asn_draw_array(self, ASN_I64, ndim, shape,
                          ASN_FILLER_OF(fill_shuffle, s, NULL));
}

/* shuffle_list(list): in place, with positions drawn by rejection under a bit mask. */
static PyObject *engine_shuffle_list(PyObject *self, PyObject *list) {
    if (!PyList_CheckExact(list))
        return PyErr_Format(PyExc_TypeError, "shuffle_list takes a list");
    Py_ssize_t n = PyList_GET_SIZE(list);
    if (n < 2) Py_RETURN_NONE;
    if (asn_draw_refused("a list is shuffled")) return NULL;
    /* Positions, and behind them the items: both n long. */
    int64_t *order = asn_malloc((size_t)n * (sizeof *order + sizeof(PyObject *)));
    if (!order) return asn_raise(ASN_ERR_MEMORY);
    PyObject **items = (PyObject **)(order + n);
    shuffle s = {.masked = true, .row = n, .first = 1};
    /* The order is of the list as it is now: nothing runs in between that could change
     * it. */
    asn_status status = fill_shuffle(asn_engine_of(self), &s, n, order);
    for (Py_ssize_t i = 0; i < n; i++)
        items[i] = PyList_GET_ITEM(list, order[i]);
    for (Py_ssize_t i = 0; i < n; i++)
        PyList_SET_ITEM(list, i, items[i]);
    asn_free(order);
    ASN_PY_TRY(status);
    Py_RETURN_NONE;
}

/* k of n, in random order or as they were found. */
typedef struct {
    int64_t n;
    bool shuffled;
} sample;

/* All k at once: n is the population. */
static asn_status fill_sample(void *g, const void *what, int64_t k, void *out) {
    const sample *s = what;
    return asn_sample(g, s->n, k, s->shuffled, out);
}

/* (n, k, shuffled): k distinct of 0 ... n - 1 */
static PyObject *engine_sample(PyObject *self, PyObject *args) {
    long long n, k;
    int shuffled;
    if (!PyArg_ParseTuple(args, "LLp", &n, &k, &shuffled)) return NULL;
    if (k < 0 || k > n)
        return PyErr_Format(PyExc_ValueError, "cannot take %lld of %lld", k, n);
    sample s = {.n = n, .shuffled = shuffled != 0};
    int64_t extent = k;
    return asn_draw_array(self, ASN_I64, 1, &extent, ASN_FILLER_OF(fill_sample, s, NULL));
}

ASN_LOCKED_CALL(engine_shuffled)
ASN_LOCKED_CALL(engine_shuffle_list)
ASN_LOCKED_CALL(engine_sample)

PyMethodDef asn_order_methods[] = {
    {"shuffled", engine_shuffled_locked, METH_VARARGS,
     "shuffled(shape, first, masked): rows of orders, shuffled down to place first."},
    {"shuffle_list", engine_shuffle_list_locked, METH_O, "shuffle_list(list): in place."},
    {"sample", engine_sample_locked, METH_VARARGS,
     "sample(n, k, shuffled): k distinct of n."},
    {NULL, NULL, 0, NULL},
};
