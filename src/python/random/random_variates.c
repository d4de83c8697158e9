/* L3 python: BitEngine's distributions: parameters broadcast, checked, and drawn.
 *
 * Parameters are read by the host (they say which numbers to draw): as float64 by NumPy's
 * safe casting, as int64 by truncation. Those that are arrays are spread over the
 * result's shape.
 *
 * The distributions with up to three parameters are rows of a table (random/variates.h)
 * and have one method, variate(); the rest of the file is what does not fit a row:
 * float32, and results that are rows of k numbers. Each of these has a struct that
 * describes a draw, a fill_... that does it, and, where the struct points to arrays, a
 * keep_... that a trace copies them with. */
#include "random/variates.h"
#include "python/convert.h"
#include "python/random/random_engine.h"

/* A parameter that is no array, by the row's kind of it. */
typedef union {
    double real;
    int64_t integer;
} number;

/* One call's parameters. Each is one of `arrays` (owned), or where that is NULL, of
 * `numbers`; values and step are what the row's fill takes: element i at i * step. */
typedef struct {
    const asn_variate *row;
    PyArrayObject *arrays[ASN_VARIATE_PARAMS];
    number numbers[ASN_VARIATE_PARAMS];
    const void *values[ASN_VARIATE_PARAMS];
    int64_t step[ASN_VARIATE_PARAMS];
} parameters;

/* Releases the arrays. */
static void drop(parameters *p) {
    for (int k = 0; k < ASN_VARIATE_PARAMS; k++)
        Py_CLEAR(p->arrays[k]);
}

/* As asn_filler's fill, the others below likewise: n variates into out. */
static asn_status fill_variate(void *g, const void *what, int64_t n, void *out) {
    const parameters *p = what;
    p->row->fill(g, n, p->values, p->step, out);
    return ASN_OK;
}

/* As asn_filler's keep, the others below likewise: what the description points to is
 * copied. Parameters that are arrays have an element each, or one for all. */
static bool keep_variate(void *copy, int64_t n) {
    parameters *p = copy;
    for (int k = 0; k < p->row->nparams; k++) {
        const void *from = p->arrays[k] ? p->values[k] : &p->numbers[k];
        size_t count = p->arrays[k] && p->step[k] ? (size_t)n : 1;
        p->values[k] = asn_capture_copy(from, count * sizeof *p->numbers);
        if (!p->values[k]) return false;
    }
    return true;
}

/* Parameter k by the row's checks: -1: ValueError, NumPy's complaint with the parameter's
 * name in each of up to three places. */
static int check(const parameters *p, int k) {
    const char *name = p->row->params[k];
    PyArrayObject *a = p->arrays[k];
    const char *format = asn_variate_check(p->row, k, a ? PyArray_SIZE(a) : 1,
                                           a ? PyArray_DATA(a) : &p->numbers[k]);
    if (!format) return 0;
    PyErr_Format(PyExc_ValueError, format, name, name, name);
    return -1;
}

/* The shape as a tuple, for the message. */
static PyObject *shape_tuple(int ndim, const npy_intp *shape) {
    PyObject *tuple = PyTuple_New(ndim);
    for (int d = 0; tuple && d < ndim; d++) {
        PyObject *extent = PyLong_FromSsize_t(shape[d]);
        if (!extent) Py_CLEAR(tuple);
        if (tuple) PyTuple_SET_ITEM(tuple, d, extent);
    }
    return tuple;
}

/* NumPy's ValueError of a size= that the parameters do not broadcast to; -1. */
static int refuse_size(int ndim, const npy_intp *shape, int got, const npy_intp *inputs) {
    PyObject *a = shape_tuple(ndim, shape), *b = shape_tuple(got, inputs);
    if (a && b)
        PyErr_Format(PyExc_ValueError,
                     "Output size %R is not compatible with broadcast dimensions of "
                     "inputs %R.",
                     a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return -1;
}

/* The result's shape: size, or what the parameters broadcast to; none of either: no
 * dimensions. -1: an error. */
static int result_shape(const parameters *p, PyObject *size, int *ndim, npy_intp *shape) {
    PyObject *arrays[ASN_VARIATE_PARAMS];
    int n = 0, given = -1;
    int64_t wanted[ASN_MAX_DIMS];
    for (int k = 0; k < p->row->nparams; k++)
        if (p->arrays[k]) arrays[n++] = (PyObject *)p->arrays[k];
    *ndim = 0;
    if (size != Py_None) {
        if (asn_shape_from_py(size, wanted, &given) < 0) return -1;
        for (int d = 0; d < given; d++)
            shape[d] = (npy_intp)wanted[d];
        *ndim = given;
    }
    if (n == 0) return 0;
    PyArrayMultiIterObject *all =
        (PyArrayMultiIterObject *)PyArray_MultiIterFromObjects(arrays, n, 0);
    if (!all) return -1;
    int inputs = all->nd, failed = 0;
    if (given < 0) {
        memcpy(shape, all->dimensions, (size_t)inputs * sizeof *shape);
        *ndim = inputs;
    } else {
        bool fits = inputs <= given;
        for (int d = 0; fits && d < inputs; d++)
            /* size= may have more axes, but no smaller ones. */
            fits = all->dimensions[d] == 1 ||
                   all->dimensions[d] == shape[given - inputs + d];
        if (!fits) failed = refuse_size(given, shape, inputs, all->dimensions);
    }
    Py_DECREF(all);
    return failed;
}

/* Arrays become as large as the result, so that element i is at i; those of no dimensions
 * stay, with step 0. -1: an error. */
static int spread(parameters *p, int ndim, npy_intp *shape) {
    for (int k = 0; k < p->row->nparams; k++) {
        if (!p->arrays[k]) {
            p->values[k] = &p->numbers[k];
            continue;
        }
        /* NumPy's broadcasting, to the array that the fill walks. */
        if (PyArray_NDIM(p->arrays[k]) > 0) {
            PyArrayObject *whole = (PyArrayObject *)PyArray_SimpleNew(
                ndim, shape, PyArray_TYPE(p->arrays[k]));
            if (!whole || PyArray_CopyInto(whole, p->arrays[k]) < 0) {
                Py_XDECREF(whole);
                return -1;
            }
            Py_SETREF(p->arrays[k], whole);
            p->step[k] = 1;
        }
        p->values[k] = PyArray_DATA(p->arrays[k]);
    }
    return 0;
}

/* A parameter that is a plain number, into numbers[k]. */
static bool is_plain(parameters *p, int k, PyObject *o) {
    int over;
    if (p->row->kinds[k] != 'l') return asn_plain_number(o, &p->numbers[k].real);
    if (!PyLong_CheckExact(o)) return false;
    p->numbers[k].integer = PyLong_AsLongLongAndOverflow(o, &over);
    return !over;
}

/* All of them; -1: an error, of reading first, then of the checks in their order. */
static int read_parameters(parameters *p, PyObject *const *args, Py_ssize_t count) {
    if (count != p->row->nparams) {
        PyErr_Format(PyExc_TypeError, "%s takes %d parameters, got %zd", p->row->name,
                     p->row->nparams, count);
        return -1;
    }
    for (int k = 0; k < p->row->nparams; k++) {
        bool whole = p->row->kinds[k] == 'l';
        if (args[k] == Py_None || PyUnicode_Check(args[k])) {
            /* NumPy first reads text as a number, then refuses it. */
            PyObject *read =
                args[k] == Py_None ? Py_NewRef(Py_None) : PyFloat_FromString(args[k]);
            if (!read) return -1;
            Py_DECREF(read);
            PyErr_Format(PyExc_TypeError, "%s: %s must be a real number, not %s",
                         p->row->name, p->row->params[k], Py_TYPE(args[k])->tp_name);
            return -1;
        }
        if (!is_plain(p, k, args[k])) {
            p->arrays[k] = (PyArrayObject *)PyArray_FROM_OTF(
                args[k], whole ? NPY_INT64 : NPY_DOUBLE,
                NPY_ARRAY_CARRAY_RO | (whole ? NPY_ARRAY_FORCECAST : 0));
            if (!p->arrays[k]) return -1;
            if (!whole && PyArray_NDIM(p->arrays[k]) == 0) { /* one number: as float() */
                p->numbers[k].real = PyFloat_AsDouble(args[k]);
                if (p->numbers[k].real == -1 && PyErr_Occurred()) return -1;
                Py_CLEAR(p->arrays[k]);
            }
        }
    }
    for (int k = 0; k < p->row->nparams; k++)
        if (check(p, k) < 0) return -1;
    return 0;
}

/* size=None with plain parameters: one Python number. */
static PyObject *one(PyObject *self, const parameters *p) {
    number value;
    if (asn_draw_refused_number()) return NULL;
    ASN_PY_TRY(fill_variate(asn_engine_of(self), p, 1, &value));
    return p->row->integer ? PyLong_FromLongLong(value.integer)
                           : PyFloat_FromDouble(value.real);
}

/* The row of a name, looked up once per name object: the callers' constants. NULL: an
 * error. A table of few places, by the object's address; it holds references, so an
 * address stays the name's. */
static const asn_variate *find_row(PyObject *name, bool legacy) {
    enum { PLACES = 128 };
    static struct {
        PyObject *name;
        const asn_variate *row;
    } known[PLACES];
    static asn_mutex mutex;
    /* Two names on one place displace each other: slower, not wrong. */
    size_t at = ((uintptr_t)name >> 4 ^ (uintptr_t)legacy) % PLACES;
    asn_mutex_lock(&mutex);
    const asn_variate *found =
        known[at].name == name && known[at].row->legacy != !legacy ? known[at].row : NULL;
    asn_mutex_unlock(&mutex);
    if (found) return found;
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) return NULL;
    const asn_variate *row = asn_variate_find(text, legacy);
    if (!row) return PyErr_Format(PyExc_ValueError, "no distribution '%s'", text), NULL;
    Py_INCREF(name);
    asn_mutex_lock(&mutex);
    PyObject *old = known[at].name;
    known[at].name = name;
    known[at].row = row;
    asn_mutex_unlock(&mutex);
    Py_XDECREF(old);
    return row;
}

/* variate and legacy_variate: (name, size, *parameters). */
static PyObject *run_variate(PyObject *self, PyObject *const *args, Py_ssize_t n,
                             bool legacy) {
    if (n < 2) return PyErr_Format(PyExc_TypeError, "variate(name, size, ...)");
    PyObject *size = args[1], *result = NULL;
    parameters p = {.row = find_row(args[0], legacy)};
    if (!p.row) return NULL;
    npy_intp shape[ASN_MAX_DIMS];
    int64_t extents[ASN_MAX_DIMS];
    int ndim = 0;
    if (read_parameters(&p, args + 2, n - 2) == 0 &&
        result_shape(&p, size, &ndim, shape) == 0 && spread(&p, ndim, shape) == 0) {
        for (int d = 0; d < ndim; d++)
            extents[d] = shape[d];
        result =
            size == Py_None && ndim == 0
                ? one(self, &p)
                : asn_draw_array(self, p.row->integer ? ASN_I64 : ASN_F64, ndim, extents,
                                 ASN_FILLER_OF(fill_variate, p, keep_variate));
    }
    drop(&p);
    return result;
}

/* Generator's algorithms, and RandomState's, which are frozen: the same name may be two
 * rows. */
static PyObject *engine_variate(PyObject *self, PyObject *const *args, Py_ssize_t n) {
    return run_variate(self, args, n, false);
}

static PyObject *engine_legacy_variate(PyObject *self, PyObject *const *args,
                                       Py_ssize_t n) {
    return run_variate(self, args, n, true);
}

/* ---- float32, and rows of numbers
 *
 * These come from Python with arguments checked; what is looked at here is that arrays
 * are as long as the draw reads. */

/* The standard exponential; inverse: by -log(1 - u), else the ziggurat. */
typedef struct {
    bool single, inverse;
} exponential;

static asn_status fill_exponential(void *g, const void *what, int64_t n, void *out) {
    const exponential *e = what;
    if (e->single)
        asn_fill_exponential_float(g, e->inverse, n, out);
    else
        asn_fill_exponential(g, e->inverse, n, out);
    return ASN_OK;
}

/* (size, single, inverse); size None is 0-d */
static PyObject *engine_exponential(PyObject *self, PyObject *args) {
    PyObject *size;
    int single, inverse, ndim = 0;
    int64_t shape[ASN_MAX_DIMS];
    if (!PyArg_ParseTuple(args, "Opp", &size, &single, &inverse)) return NULL;
    if (size != Py_None && asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    exponential e = {.single = single != 0, .inverse = inverse != 0};
    return asn_draw_array(self, single ? ASN_F32 : ASN_F64, ndim, shape,
                          ASN_FILLER_OF(fill_exponential, e, NULL));
}

/* The standard gamma of float32; step 0: one shape for all. */
typedef struct {
    const float *shape;
    int64_t step;
} gamma_float;

static asn_status fill_gamma_float(void *g, const void *what, int64_t n, void *out) {
    const gamma_float *p = what;
    asn_fill_gamma_float(g, n, p->shape, p->step, out);
    return ASN_OK;
}

/* step 0: one shape for all elements. */
static bool keep_gamma_float(void *copy, int64_t n) {
    gamma_float *p = copy;
    p->shape = asn_capture_copy(p->shape, (size_t)(p->step ? n : 1) * sizeof *p->shape);
    return p->shape != NULL;
}

/* A contiguous NumPy array of the type, with at least `least` elements; -1: ValueError.
 */
static int contiguous(PyArrayObject *a, int type, int64_t least) {
    if (PyArray_TYPE(a) == type && PyArray_ISCARRAY_RO(a) && PyArray_SIZE(a) >= least)
        return 0;
    PyErr_Format(PyExc_ValueError, "needs a contiguous array of at least %lld elements",
                 (long long)least);
    return -1;
}

/* (size, shapes): float32; shapes has one element or as many as the result. */
static PyObject *engine_gamma_float(PyObject *self, PyObject *args) {
    PyObject *size;
    PyArrayObject *shapes;
    int ndim = 0;
    int64_t shape[ASN_MAX_DIMS], count = 1;
    if (!PyArg_ParseTuple(args, "OO!", &size, &PyArray_Type, &shapes)) return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    for (int d = 0; d < ndim; d++)
        count *= shape[d];
    /* One element, or as many as the result has. */
    bool spread = PyArray_SIZE(shapes) == count && PyArray_NDIM(shapes) > 0;
    if (contiguous(shapes, NPY_FLOAT, spread ? count : 1) < 0) return NULL;
    gamma_float p = {.shape = PyArray_DATA(shapes), .step = spread};
    return asn_draw_array(self, ASN_F32, ndim, shape,
                          ASN_FILLER_OF(fill_gamma_float, p, keep_gamma_float));
}

/* Rows that add up to 1. */
typedef struct {
    bool legacy;
    int64_t k;
    const double *alpha;
} dirichlet;

/* n counts numbers, of which k make a row; so below. */
static asn_status fill_dirichlet(void *g, const void *what, int64_t n, void *out) {
    const dirichlet *d = what;
    /* Rows: the result's shape is size's, then one axis of k. */
    return asn_fill_dirichlet(g, d->legacy, n / d->k, d->k, d->alpha, out);
}

static bool keep_dirichlet(void *copy, int64_t n) {
    dirichlet *d = copy;
    (void)n;
    d->alpha = asn_capture_copy(d->alpha, (size_t)d->k * sizeof *d->alpha);
    return d->alpha != NULL;
}

/* (shape, alpha, legacy): the shape's last extent is alpha's size */
static PyObject *engine_dirichlet(PyObject *self, PyObject *args) {
    PyObject *size;
    PyArrayObject *alpha;
    int legacy, ndim;
    int64_t shape[ASN_MAX_DIMS];
    if (!PyArg_ParseTuple(args, "OO!p", &size, &PyArray_Type, &alpha, &legacy))
        return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    dirichlet d = {.legacy = legacy != 0, .k = PyArray_SIZE(alpha)};
    /* A result without axes has no rows to fill. */
    if (contiguous(alpha, NPY_DOUBLE, ndim ? shape[ndim - 1] : INT64_MAX) < 0)
        return NULL;
    d.alpha = PyArray_DATA(alpha);
    return asn_draw_array(self, ASN_F64, ndim, shape,
                          ASN_FILLER_OF(fill_dirichlet, d, keep_dirichlet));
}

/* How often each of k outcomes came up in a row's trials. */
typedef struct {
    bool legacy;
    int64_t k, p_step; /* p_step: k, or 0: one row of p for all */
    const int64_t *trials;
    const double *p;
} multinomial;

static asn_status fill_multinomial(void *g, const void *what, int64_t n, void *out) {
    const multinomial *m = what;
    asn_fill_multinomial(g, m->legacy, n / m->k, m->k, m->trials, m->p, m->p_step, out);
    return ASN_OK;
}

/* trials has one element for each row, p one row or as many. */
static bool keep_multinomial(void *copy, int64_t n) {
    multinomial *m = copy;
    size_t rows = (size_t)(n / m->k), p = m->p_step ? (size_t)n : (size_t)m->k;
    m->trials = asn_capture_copy(m->trials, rows * sizeof *m->trials);
    m->p = asn_capture_copy(m->p, p * sizeof *m->p);
    return m->trials && m->p;
}

/* (shape, trials, pvals, legacy): trials one per row; pvals one row for all, or one each
 */
static PyObject *engine_multinomial(PyObject *self, PyObject *args) {
    PyObject *size;
    PyArrayObject *trials, *p;
    int ndim, legacy;
    int64_t shape[ASN_MAX_DIMS], rows = 1;
    if (!PyArg_ParseTuple(args, "OO!O!p", &size, &PyArray_Type, &trials, &PyArray_Type,
                          &p, &legacy))
        return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    for (int d = 0; d < ndim - 1; d++)
        rows *= shape[d];
    multinomial m = {.legacy = legacy != 0, .k = ndim ? shape[ndim - 1] : 0};
    m.p_step = PyArray_NDIM(p) > 1 ? m.k : 0;
    if (contiguous(trials, NPY_INT64, rows) < 0 ||
        contiguous(p, NPY_DOUBLE, m.p_step ? rows * m.k : m.k) < 0)
        return NULL;
    m.trials = PyArray_DATA(trials);
    m.p = PyArray_DATA(p);
    return asn_draw_array(self, ASN_I64, ndim, shape,
                          ASN_FILLER_OF(fill_multinomial, m, keep_multinomial));
}

/* How many of each of k colors are among nsample drawn without putting back. */
typedef struct {
    bool by_count;
    int64_t k, nsample, *colors;
} hypergeometric;

static asn_status fill_hypergeometric(void *g, const void *what, int64_t n, void *out) {
    const hypergeometric *h = what;
    return asn_fill_multivariate_hypergeometric(g, h->by_count, n / h->k, h->k, h->colors,
                                                h->nsample, out);
}

static bool keep_hypergeometric(void *copy, int64_t n) {
    hypergeometric *h = copy;
    (void)n;
    h->colors = asn_capture_copy(h->colors, (size_t)h->k * sizeof *h->colors);
    return h->colors != NULL;
}

/* (shape, colors, nsample, by_count) */
static PyObject *engine_multivariate_hypergeometric(PyObject *self, PyObject *args) {
    PyObject *size;
    PyArrayObject *colors;
    long long nsample;
    int by_count, ndim;
    int64_t shape[ASN_MAX_DIMS];
    if (!PyArg_ParseTuple(args, "OO!Lp", &size, &PyArray_Type, &colors, &nsample,
                          &by_count))
        return NULL;
    if (asn_shape_from_py(size, shape, &ndim) < 0) return NULL;
    hypergeometric h = {.by_count = by_count != 0,
                        .k = PyArray_SIZE(colors),
                        .nsample = nsample,
                        .colors = PyArray_DATA(colors)};
    if (contiguous(colors, NPY_INT64, ndim ? shape[ndim - 1] : INT64_MAX) < 0)
        return NULL;
    return asn_draw_array(self, ASN_I64, ndim, shape,
                          ASN_FILLER_OF(fill_hypergeometric, h, keep_hypergeometric));
}

ASN_LOCKED_DRAW(engine_variate)
ASN_LOCKED_DRAW(engine_legacy_variate)
ASN_LOCKED_CALL(engine_exponential)
ASN_LOCKED_CALL(engine_gamma_float)
ASN_LOCKED_CALL(engine_dirichlet)
ASN_LOCKED_CALL(engine_multinomial)
ASN_LOCKED_CALL(engine_multivariate_hypergeometric)

PyMethodDef asn_variate_methods[] = {
    {"variate", (PyCFunction)(void (*)(void))engine_variate_locked, METH_FASTCALL,
     "variate(name, size, *parameters): Generator's."},
    {"legacy_variate", (PyCFunction)(void (*)(void))engine_legacy_variate_locked,
     METH_FASTCALL, "legacy_variate(name, size, *parameters): RandomState's."},
    {"exponential", engine_exponential_locked, METH_VARARGS,
     "exponential(size, single, inverse): standard."},
    {"gamma_float", engine_gamma_float_locked, METH_VARARGS,
     "gamma_float(size, shapes): standard, float32."},
    {"dirichlet", engine_dirichlet_locked, METH_VARARGS,
     "dirichlet(shape, alpha, legacy)."},
    {"multinomial", engine_multinomial_locked, METH_VARARGS,
     "multinomial(shape, trials, pvals, legacy)."},
    {"multivariate_hypergeometric", engine_multivariate_hypergeometric_locked,
     METH_VARARGS, "multivariate_hypergeometric(shape, colors, nsample, by_count)."},
    {NULL, NULL, 0, NULL},
};
