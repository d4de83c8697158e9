/* L3 python: what custom operators need of the core: loops of the host's over arrays, the
 * address of an array's elements, and the policy for what the device does not compute.
 *
 * Addresses are for the time of a call: the arrays are not marked as shared with the
 * host, so what is done with them later is recorded and fused as ever.
 */
#include "convert.h"
#include "function.h"

#include "graph/fallback.h"
#include "runtime/loops.h"

/* Where an operand's elements lie: an array on a device whose memory the host reaches, or
 * a NumPy array. */
typedef struct {
    int ndim;
    const int64_t *shape, *strides;
    char *data;
} place;

static int place_of(PyObject *o, place *out) {
    static char nothing[16] __attribute__((aligned(16)));
    if (asn_is_ndarray(o)) {
        const asn_layout *l = &asn_of(o)->layout;
        void *data = nothing;
        if (l->size) ASN_PY_TRY_INT(asn_array_host(asn_of(o), &data));
        *out = (place){l->ndim, l->shape, l->strides, data};
        return 0;
    }
    if (PyArray_Check(o)) {
        PyArrayObject *a = (PyArrayObject *)o;
        *out = (place){PyArray_NDIM(a), (const int64_t *)PyArray_DIMS(a),
                       (const int64_t *)PyArray_STRIDES(a), PyArray_DATA(a)};
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "an operand of a loop is an array, got %s",
                 Py_TYPE(o)->tp_name);
    return -1;
}

/* Strides of an operand stretched to the call's shape. */
static int stretch(asn_loop_call *c, int k, const place *p) {
    int lead = c->num_dims - p->ndim;
    for (int d = 0; d < c->num_dims; d++) {
        int64_t n = d < lead ? 1 : p->shape[d - lead];
        if (lead < 0 || (n != c->shape[d] && n != 1)) {
            PyErr_Format(PyExc_ValueError,
                         "operand %d of a loop does not broadcast to its shape", k);
            return -1;
        }
        c->strides[k][d] = n == 1 ? 0 : p->strides[d - lead];
    }
    return 0;
}

/* A further operand, without memory: its "address" is a number of the element. index:
 * None, or (the first element's, strides). */
static int add_index(asn_loop_call *c, PyObject *index) {
    long long first;
    PyObject *strides;
    int n;
    if (index == Py_None) return 0;
    if (!PyArg_ParseTuple(index, "LO!", &first, &PyTuple_Type, &strides) ||
        asn_shape_from_py(strides, c->strides[0], &n) < 0)
        return -1;
    c->args[0] = (char *)(intptr_t)first;
    c->num_args = 1;
    c->num_inputs++;
    return 0;
}

static int read_address(PyObject *o, uintptr_t *out) {
    *out = (uintptr_t)PyLong_AsUnsignedLongLong(o);
    return *out == (uintptr_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* loop, data: addresses; operands: inputs, then outputs; index: an input before the
 * others. */
static PyObject *f_run_loop(PyObject *const *v) {
    uintptr_t loop, data;
    int64_t num_inputs, threads, min_elements, shape[ASN_MAX_DIMS];
    int ndim;
    if (!PyTuple_Check(v[2]) || PyTuple_GET_SIZE(v[2]) >= ASN_LOOP_ARGS) {
        PyErr_Format(PyExc_ValueError, "a loop takes a tuple of up to %d operands",
                     ASN_LOOP_ARGS - 1);
        return NULL;
    }
    if (read_address(v[0], &loop) < 0 || read_address(v[1], &data) < 0 ||
        asn_int64_from_py(v[3], &num_inputs) < 0 ||
        asn_shape_from_py(v[4], shape, &ndim) < 0 ||
        asn_int64_from_py(v[6], &threads) < 0 ||
        asn_int64_from_py(v[7], &min_elements) < 0)
        return NULL;
    asn_loop_call *c = PyMem_Malloc(sizeof *c);
    if (!c) return PyErr_NoMemory();
    c->loop = (asn_loop)loop;
    c->data = (void *)data;
    c->num_dims = ndim;
    c->num_args = 0;
    c->num_inputs = (int32_t)num_inputs;
    for (int d = 0; d < ndim; d++)
        c->shape[d] = shape[d];
    int failed = add_index(c, v[5]) < 0;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(v[2]); i++) {
        place p;
        failed = place_of(PyTuple_GET_ITEM(v[2], i), &p) < 0;
        if (failed) break;
        c->args[c->num_args] = p.data;
        failed = stretch(c, c->num_args, &p) < 0;
        c->num_args++;
    }
    asn_status status = ASN_OK;
    if (!failed) {
        Py_BEGIN_ALLOW_THREADS;
        status = asn_loops_run(c, (int)threads, min_elements);
        Py_END_ALLOW_THREADS;
    }
    PyMem_Free(c);
    if (failed) return NULL;
    if (status) return asn_raise(status);
    Py_RETURN_NONE;
}

static PyObject *f_host_address(PyObject *const *v) {
    place p;
    return place_of(v[0], &p) < 0 ? NULL : PyLong_FromVoidPtr(p.data);
}

static PyObject *f_host_access(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    return PyBool_FromLong(asn_device_host_access());
}

/* An interned name stays as long as the process, which asn_fallback_begin asks for. */
static PyObject *f_begin_fallback(PyObject *const *v) {
    if (!PyUnicode_Check(v[0])) {
        PyErr_Format(PyExc_TypeError, "a name is a str, got %s", Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    PyObject *name = Py_NewRef(v[0]);
    PyUnicode_InternInPlace(&name);
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) {
        Py_DECREF(name);
        return NULL;
    }
    ASN_PY_TRY(asn_fallback_begin(text));
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

asn_function_def asn_custom_functions[] = {
    ASN_FUNCTION("_run_loop",
                 "loop, data, operands, num_inputs, shape, index, threads, min_elements",
                 f_run_loop, "A loop of the host's over arrays, on several threads."),
    ASN_FUNCTION("_host_address", "array", f_host_address,
                 "Where the elements lie, once they are there."),
    ASN_FUNCTION("_host_access", "", f_host_access,
                 "Whether the host reaches the device's memory."),
    ASN_FUNCTION("_begin_fallback", "name", f_begin_fallback,
                 "Counts an operation that the CPU does for the device, by the policy."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
