/* L3 python: what custom operators need of the core: loops of the host's over arrays, the
 * address of an array's elements, and the policy for what the device does not compute.
 *
 * Addresses are for the time of a call: the arrays are not marked as shared with the
 * host, so what is done with them later is recorded and fused as ever.
 *
 * There are two ways of a loop. _run_loop calls it on the elements now, on several
 * threads, as a generalised ufunc's loop over arrays (runtime/loops.h). _own_loop makes
 * it an operation of fused programs, with an opcode, and _call_own_loop records it
 * (graph/trace/own_loops.h). Kernels in blocks (Ascend C's) go to the device that
 * launches them. All are private to asnumpy._custom, which checks what users give. */
#include "python/convert.h"
#include "python/functions/function.h"
#include "python/ufunc/ufunc.h"

#include "graph/device/fallback.h"
#include "graph/ufunc/own_loops.h"
#include "runtime/acl_api.h"
#include "runtime/loops.h"

/* Where an operand's elements lie: an array on a device whose memory the host reaches, or
 * a NumPy array. Strides in bytes; borrowed from the array. */
typedef struct {
    int ndim;
    const int64_t *shape, *strides;
    char *data;
} place;

/* Materialises the operand. -1: no array, or memory that the host does not reach. */
static int place_of(PyObject *o, place *out) {
    /* stands for the address of no elements */
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

/* Operand k's strides, stretched to the call's shape by NumPy's rule: missing leading
 * axes and those of extent 1 have stride 0. -1: it does not broadcast. */
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

/* A further operand, the first one, without memory: its "address" is a number of the
 * element. index: None, or (the first element's, strides). -1: an error. */
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

/* An address as a Python int; -1: it is none. */
static int read_address(PyObject *o, uintptr_t *out) {
    *out = (uintptr_t)PyLong_AsUnsignedLongLong(o);
    return *out == (uintptr_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* (loop, data, operands, num_inputs, shape, index, threads, min_elements, ordered). loop,
 * data: addresses; operands: inputs, then outputs; index: an input before the others;
 * ordered: so many first axes go in order. Other Python threads run meanwhile, which must
 * leave the operands alone. */
static PyObject *f_run_loop(PyObject *const *v) {
    uintptr_t loop, data;
    int64_t num_inputs, threads, min_elements, ordered, shape[ASN_MAX_DIMS];
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
        asn_int64_from_py(v[7], &min_elements) < 0 ||
        asn_int64_from_py(v[8], &ordered) < 0)
        return NULL;
    asn_loop_call *c = PyMem_Malloc(sizeof *c); /* too large for the stack */
    if (!c) return PyErr_NoMemory();
    c->loop = (asn_loop)loop;
    c->data = (void *)data;
    c->num_dims = ndim;
    c->num_args = 0;
    c->num_inputs = (int32_t)num_inputs;
    c->num_ordered = (int32_t)(ordered < 0 ? 0 : ordered > ndim ? ndim : ordered);
    for (int d = 0; d < ndim; d++)
        c->shape[d] = shape[d];
    /* From here on c must be freed whatever fails. */
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

/* (loop, data, target, offsets, values). offsets: int64, contiguous, in bytes from the
 * target's first element; values: of one axis, or None. One after the other, in that
 * order, since offsets may repeat. */
static PyObject *f_update_loop(PyObject *const *v) {
    uintptr_t loop, data;
    place target, offsets, values = {.data = NULL};
    int64_t step = 0;
    if (read_address(v[0], &loop) < 0 || read_address(v[1], &data) < 0 ||
        place_of(v[2], &target) < 0 || place_of(v[3], &offsets) < 0 ||
        (v[4] != Py_None && place_of(v[4], &values) < 0))
        return NULL;
    if (offsets.ndim != 1 || (values.data && values.ndim != 1)) {
        PyErr_SetString(PyExc_ValueError, "offsets and values have one axis");
        return NULL;
    }
    if (values.data) step = values.strides[0];
    Py_BEGIN_ALLOW_THREADS;
    asn_loops_update((asn_loop)loop, (void *)data, offsets.shape[0], target.data,
                     (const int64_t *)offsets.data, values.data, step);
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

/* (array): the address of the first element, a Python int. */
static PyObject *f_host_address(PyObject *const *v) {
    place p;
    return place_of(v[0], &p) < 0 ? NULL : PyLong_FromVoidPtr(p.data);
}

/* Opens the device, if nothing has yet. */
static PyObject *f_host_access(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    return PyBool_FromLong(asn_device_host_access());
}

/* The text of a name, interned, which stays as long as the process; NULL: it is none. */
static const char *lasting_name(PyObject *o) {
    if (!PyUnicode_Check(o)) {
        PyErr_Format(PyExc_TypeError, "a name is a str, got %s", Py_TYPE(o)->tp_name);
        return NULL;
    }
    PyObject *name = Py_NewRef(o);
    PyUnicode_InternInPlace(&name);
    const char *text = PyUnicode_AsUTF8(name);
    if (!text) Py_DECREF(name);
    return text;
}

/* (name): what the policy says to an operation that the CPU computes for the device: an
 * error, a warning, or nothing. asn_fallback_begin asks for a name that stays. */
static PyObject *f_begin_fallback(PyObject *const *v) {
    const char *text = lasting_name(v[0]);
    if (!text) return NULL;
    ASN_PY_TRY(asn_fallback_begin(text));
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* ---- kernels in blocks */

/* Opens the device; whether it runs kernels that the host's compiler made. */
static PyObject *f_launches_kernels(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    return PyBool_FromLong(asn_acl.aclnnxLaunch != NULL);
}

/* (name, kernel, args, drop, blocks): launches on the default stream and waits; the
 * arguments are aclnnxLaunch's, addresses as ints. Its first failing block is a
 * RuntimeError. Only where _launches_kernels() is true. */
static PyObject *f_launch_kernel(PyObject *const *v) {
    uintptr_t kernel, args, drop;
    int64_t blocks;
    const char *name = lasting_name(v[0]);
    if (!name || read_address(v[1], &kernel) < 0 || read_address(v[2], &args) < 0 ||
        read_address(v[3], &drop) < 0 || asn_int64_from_py(v[4], &blocks) < 0)
        return NULL;
    int code;
    asn_status status = ASN_OK;
    Py_BEGIN_ALLOW_THREADS;
    uint32_t count = blocks < 0 || blocks > UINT32_MAX ? 0 : (uint32_t)blocks;
    code = asn_acl.aclnnxLaunch(name, (aclnnxKernel)kernel, (void *)args,
                                (void (*)(void *))drop, count, NULL);
    if (code == 0) code = asn_acl.aclrtSynchronizeStream(NULL);
    if (code != 0) status = asn_acl_failed(code, "RawKernel");
    Py_END_ALLOW_THREADS;
    if (status) return asn_raise(status);
    Py_RETURN_NONE;
}

/* ---- loops in fused programs */

/* (name, function, data, dtypes, num_inputs). function, data: addresses; dtypes: a tuple,
 * inputs first. An opcode, or None: the loop takes no part in programs (it has too many
 * operands, or there is no opcode left). Function and data must stay for good; the name
 * is copied. */
static PyObject *f_own_loop(PyObject *const *v) {
    uintptr_t function, data;
    int64_t num_in;
    const char *name = PyUnicode_AsUTF8(v[0]);
    if (!name || read_address(v[1], &function) < 0 || read_address(v[2], &data) < 0 ||
        asn_int64_from_py(v[4], &num_in) < 0)
        return NULL;
    Py_ssize_t num = PyTuple_Check(v[3]) ? PyTuple_GET_SIZE(v[3]) : 0;
    /* More operands than an instruction has: such a loop runs by _run_loop. */
    if (num > ASN_ADDED_ARGS || num_in < 0 || num_in > num) Py_RETURN_NONE;
    asn_added_loop loop = {.name = name,
                           .fn = (asn_added_fn)function,
                           .data = (void *)data,
                           .num_in = (int)num_in,
                           .num_out = (int)(num - num_in)};
    for (Py_ssize_t k = 0; k < num; k++) {
        asn_dtype dtype;
        if (asn_dtype_from_py(PyTuple_GET_ITEM(v[3], k), &dtype) < 0) return NULL;
        loop.dtypes[k] = (uint8_t)dtype;
    }
    int opcode;
    ASN_PY_TRY(asn_own_loop_add(&loop, &opcode));
    if (opcode < 0) Py_RETURN_NONE;
    return PyLong_FromLong(opcode);
}

/* The operands of a call and what keeps them. */
typedef struct {
    asn_operand in[ASN_ADDED_INPUTS];
    PyObject *owners[ASN_ADDED_INPUTS];   /* of inputs; an entry may be NULL */
    const asn_array *out[ASN_ADDED_ARGS]; /* NULL: results has a new array */
    asn_ndarray *results[ASN_ADDED_ARGS];
    int num_in, num_out;
} own_call;

/* Fills *c as far as it goes; -1: the error, and the counts say what there is to release.
 */
static int fill_call(own_call *c, const asn_added_loop *loop, PyObject *inputs,
                     PyObject *outputs) {
    if (!PyTuple_Check(inputs) || PyTuple_GET_SIZE(inputs) != loop->num_in ||
        !PyTuple_Check(outputs) || PyTuple_GET_SIZE(outputs) != loop->num_out) {
        PyErr_Format(PyExc_TypeError, "%s: takes %d inputs and %d outputs", loop->name,
                     loop->num_in, loop->num_out);
        return -1;
    }
    for (; c->num_in < loop->num_in; c->num_in++)
        if (asn_operand_from_py(PyTuple_GET_ITEM(inputs, c->num_in), &c->in[c->num_in],
                                &c->owners[c->num_in]) < 0)
            return -1;
    for (; c->num_out < loop->num_out; c->num_out++) {
        PyObject *out = PyTuple_GET_ITEM(outputs, c->num_out);
        c->out[c->num_out] = NULL;
        c->results[c->num_out] = NULL;
        if (out != Py_None && !asn_is_ndarray(out)) {
            PyErr_Format(PyExc_TypeError, "%s: an output is an array, got %s", loop->name,
                         Py_TYPE(out)->tp_name);
            return -1;
        }
        if (out != Py_None)
            c->out[c->num_out] = asn_of(out);
        else if (!(c->results[c->num_out] = asn_ndarray_alloc()))
            return -1;
    }
    return 0;
}

/* The tuple of results; takes those that are new. */
static PyObject *finish_call(own_call *c, PyObject *outputs) {
    PyObject *all = PyTuple_New(c->num_out);
    for (int k = 0; k < c->num_out; k++) {
        PyObject *one = c->results[k] ? asn_ndarray_finish_array(c->results[k])
                                      : Py_NewRef(PyTuple_GET_ITEM(outputs, k));
        if (all && one)
            PyTuple_SET_ITEM(all, k, one);
        else {
            Py_XDECREF(one);
            Py_CLEAR(all);
        }
    }
    return all;
}

/* (opcode, inputs, outputs, where, casting): records a call of a loop. The results as a
 * tuple; outputs: a tuple of arrays and None, for a new one. */
static PyObject *f_call_own_loop(PyObject *const *v) {
    int64_t opcode;
    int output; /* which of the loop's the opcode is of: not asked here */
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    if (asn_int64_from_py(v[0], &opcode) < 0 ||
        asn_casting_from_py(v[4], &options.casting) < 0)
        return NULL;
    const asn_added_loop *loop = asn_op_added((int)opcode, &output);
    if (!loop) {
        PyErr_Format(PyExc_ValueError, "%lld is no opcode of a loop", (long long)opcode);
        return NULL;
    }
    if (v[3] != Py_None) {
        if (!asn_is_ndarray(v[3]) || asn_dtype_of(v[3]) != ASN_BOOL) {
            PyErr_Format(PyExc_TypeError, "%s: where is an array of bool", loop->name);
            return NULL;
        }
        options.where = asn_of(v[3]);
    }
    own_call c = {.num_in = 0};
    asn_array results[ASN_ADDED_ARGS];
    bool ready = fill_call(&c, loop, v[1], v[2]) == 0;
    asn_status status = ASN_OK;
    if (ready) status = asn_own_loop_call((int)opcode, c.in, c.out, results, &options);
    for (int k = 0; k < c.num_in; k++)
        Py_XDECREF(c.owners[k]);
    /* Nothing was recorded: new results were never made. */
    if (!ready || status) {
        for (int k = 0; k < c.num_out; k++)
            if (c.results[k]) asn_ndarray_drop(c.results[k]);
        return ready ? asn_raise(status) : NULL;
    }
    for (int k = 0; k < c.num_out; k++)
        if (c.results[k]) asn_array_move(&c.results[k]->array, &results[k]);
    PyObject *all = finish_call(&c, v[2]);
    if (all && asn_fp_check() < 0) Py_CLEAR(all);
    return all;
}

/* (ufunc, find): see ufunc/replaced.c; None ends it. */
static PyObject *f_replace_ufunc(PyObject *const *v) {
    if (!asn_is_ufunc(v[0])) {
        PyErr_Format(PyExc_TypeError, "a %s is no ufunc", Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    if (asn_ufunc_replace(v[0], v[1] == Py_None ? NULL : v[1]) < 0) return NULL;
    Py_RETURN_NONE;
}

/* (ufunc, function, args, kwargs): a call in which the ufunc is the built-in. */
static PyObject *f_call_beside(PyObject *const *v) {
    if (!asn_is_ufunc(v[0]) || !PyTuple_Check(v[2]) || !PyDict_Check(v[3])) {
        PyErr_SetString(PyExc_TypeError, "takes a ufunc, a function, a tuple, a dict");
        return NULL;
    }
    return asn_ufunc_call_beside(v[0], v[1], v[2], v[3]);
}

asn_function_def asn_custom_functions[] = {
    ASN_FUNCTION("_own_loop", "name, function, data, dtypes, num_inputs", f_own_loop,
                 "Makes a loop an operation of fused programs: its opcode, or None."),
    ASN_FUNCTION("_call_own_loop", "opcode, inputs, outputs, where, casting",
                 f_call_own_loop, "Records a call of such a loop."),
    ASN_FUNCTION("_run_loop",
                 "loop, data, operands, num_inputs, shape, index, threads, min_elements, "
                 "ordered",
                 f_run_loop, "A loop of the host's over arrays, on several threads."),
    ASN_FUNCTION("_update_loop", "loop, data, target, offsets, values", f_update_loop,
                 "Updates elements of an array by a loop, one after the other."),
    ASN_FUNCTION("_host_address", "array", f_host_address,
                 "Where the elements lie, once they are there."),
    ASN_FUNCTION("_host_access", "", f_host_access,
                 "Whether the host reaches the device's memory."),
    ASN_FUNCTION("_launches_kernels", "", f_launches_kernels,
                 "Whether the device runs kernels that the host's compiler made."),
    ASN_FUNCTION("_launch_kernel", "name, kernel, args, drop, blocks", f_launch_kernel,
                 "Launches a kernel in blocks, and waits for it."),
    ASN_FUNCTION("_replace_ufunc", "ufunc, find", f_replace_ufunc,
                 "What finds implementations in a ufunc's place; None: nothing."),
    ASN_FUNCTION("_call_beside", "ufunc, function, args, kwargs", f_call_beside,
                 "A call in which the ufunc is the built-in."),
    ASN_FUNCTION("_begin_fallback", "name", f_begin_fallback,
                 "Counts an operation that the CPU does for the device, by the policy."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
