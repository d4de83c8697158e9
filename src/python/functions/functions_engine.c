/* L3 python: functions beyond NumPy: laziness, synchronisation, plans, devices, memory,
 * the scalar policy.
 *
 * Each is a call of the core with its arguments read; what it does is in the core's
 * header (graph/engine.h, runtime/device.h, graph/plan/fallback.h). The names with an
 * underscore serve asnumpy's Python modules and the tests. */
#include "python/docs.h"
#include "python/functions/function.h"

#include "base/alloc.h"
#include "base/settings.h"
#include "graph/device/cann.h"
#include "graph/device/fallback.h"
#include "graph/lock.h"
#include "graph/ufunc/ufunc.h"
#include "ops/aten.h"

/* _as_strided(x, shape, strides). A view with any shape and strides (bytes) inside the
 * buffer of the array: lib.stride_tricks checks nothing else. NumPy does not check at
 * all; here a view cannot leave its buffer. */
static PyObject *f_as_strided(PyObject *const *v) {
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS], low, high;
    int ndim, n;
    if (!asn_is_ndarray(v[0])) {
        PyErr_SetString(PyExc_TypeError, "_as_strided takes an asnumpy array");
        return NULL;
    }
    if (asn_shape_from_py(v[1], shape, &ndim) < 0 ||
        asn_shape_from_py(v[2], strides, &n) < 0)
        return NULL;
    if (n != ndim) {
        PyErr_SetString(PyExc_ValueError, "'strides' must be the same length as 'shape'");
        return NULL;
    }
    const asn_layout *l = &asn_of(v[0])->layout;
    asn_layout view;
    ASN_PY_TRY(asn_layout_init_strided(&view, (asn_dtype)l->dtype, ndim, shape, strides,
                                       l->offset, l->flags & ASN_WRITEABLE));
    asn_layout_inherit_truth(&view, l);
    /* From low to before high: the bytes of the buffer that the elements would cover. */
    asn_layout_bounds(&view, &low, &high);
    if (view.size && (low < 0 || high > asn_of(v[0])->buffer->nbytes)) {
        asn_layout_fini(&view);
        PyErr_Format(PyExc_ValueError,
                     "shape and strides reach bytes %lld to %lld of a buffer of %lld",
                     (long long)low, (long long)high,
                     (long long)asn_of(v[0])->buffer->nbytes);
        return NULL;
    }
    return asn_ndarray_view(v[0], &view, true);
}

/* _doc(name): for functions that Python makes out of NumPy's. None: there is none. */
static PyObject *f_doc(PyObject *const *v) {
    const char *name = PyUnicode_AsUTF8(v[0]);
    const char *text = name ? asn_docs_find(NULL, name) : NULL;
    if (!name) return NULL;
    return text ? PyUnicode_FromString(text) : Py_NewRef(Py_None);
}

/* lazy(on=True): sets it, and returns the previous setting. Turning it off runs what is
 * recorded, and operations run as they are called from then on. */
static PyObject *f_lazy(PyObject *const *v) {
    bool on = true, before = false;
    if (asn_bool_from_py(v[0], &on) < 0) return NULL;
    /* Switched off, what is recorded runs first: its exceptions belong to this line. */
    ASN_PY_TRY(asn_set_lazy(on, &before));
    return asn_fp_check() < 0 ? NULL : PyBool_FromLong(before);
}

/* What is recorded runs, on all streams, and its floating-point exceptions are reported.
 */
static PyObject *f_synchronize(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_synchronize());
    if (asn_fp_check() < 0) return NULL;
    Py_RETURN_NONE;
}

/* (array): the plan as text, without running it; None: of all that is recorded. */
static PyObject *f_explain(PyObject *const *v) {
    if (v[0] && v[0] != Py_None && !asn_is_ndarray(v[0])) {
        PyErr_Format(PyExc_TypeError, "explain takes an asnumpy array or None, got %s",
                     Py_TYPE(v[0])->tp_name);
        return NULL;
    }
    char *text = NULL;
    ASN_PY_TRY(asn_explain(v[0] && v[0] != Py_None ? asn_of(v[0]) : NULL, &text));
    /* The text is the core's allocation, to be freed by its allocator. */
    PyObject *r = PyUnicode_FromString(text);
    asn_free(text);
    return r;
}

/* _is_recorded(array) -> bool, of which nothing runs. */
static PyObject *f_is_recorded(PyObject *const *v) {
    if (!asn_is_ndarray(v[0])) {
        PyErr_SetString(PyExc_TypeError, "_is_recorded takes an asnumpy array");
        return NULL;
    }
    return PyBool_FromLong(asn_is_recorded(asn_of(v[0])));
}

/* Who calls the __array_ufunc__ of other types, with (method, arguments, keywords). */
static PyObject *f_on_override(PyObject *const *v) {
    Py_XSETREF(asn_py.override_hook, v[0] == Py_None ? NULL : Py_NewRef(v[0]));
    Py_RETURN_NONE;
}

/* (kind): what full reductions and indices of single elements give from now on; the
 * previous kind. A function under trace has arrays of no dimensions either way
 * (asn_gives_scalars). */
static PyObject *f_set_scalars(PyObject *const *v) {
    /* "numpy": NumPy's scalars, as NumPy has them; "array": arrays of no dimensions,
     * which do not wait for the device. */
    bool before = ASN_READ(asn_py.scalars_switch);
    bool numpy =
        PyUnicode_Check(v[0]) && PyUnicode_CompareWithASCIIString(v[0], "numpy") == 0;
    bool array =
        PyUnicode_Check(v[0]) && PyUnicode_CompareWithASCIIString(v[0], "array") == 0;
    if (!numpy && !array) {
        PyErr_Format(PyExc_ValueError, "set_scalars takes \"numpy\" or \"array\", got %R",
                     v[0]);
        return NULL;
    }
    ASN_WRITE(asn_py.scalars_switch, numpy);
    return PyUnicode_FromString(before ? "numpy" : "array");
}

/* (array): the static method ndarray.from_numpy as a function: always a copy. */
static PyObject *f_from_numpy(PyObject *const *v) {
    /* Subclasses of NumPy's arrays, too; their elements alone are taken. */
    if (PyArray_Check(v[0])) return asn_from_numpy(v[0], true, false);
    PyErr_Format(PyExc_TypeError, "from_numpy takes a NumPy array, got %s",
                 Py_TYPE(v[0])->tp_name);
    return NULL;
}

/* Without it the first operation opens the device. It may be called again. */
static PyObject *f_init(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_device_open());
    Py_RETURN_NONE;
}

/* Waits and closes the device; an error while there are arrays on it. */
static PyObject *f_finalize(PyObject *const *v) {
    (void)v;
    ASN_PY_TRY(asn_finalize());
    Py_RETURN_NONE;
}

/* A device by its number, which may be none's, or by its name. */
static int read_device(PyObject *obj, int *out) {
    int64_t number;
    if (PyUnicode_Check(obj)) return asn_device_from_py(obj, out);
    if (asn_int64_from_py(obj, &number) < 0) return -1;
    *out = number > INT_MAX ? INT_MAX : number < INT_MIN ? INT_MIN : (int)number;
    return 0;
}

/* (device): returns the previous one. Arrays belong to the device they were made on. */
static PyObject *f_set_device(PyObject *const *v) {
    int device, before;
    if (read_device(v[0], &device) < 0) return NULL;
    /* A number without a device is refused by the core, which knows how many there are.
     */
    ASN_PY_TRY(asn_device_get(&before));
    ASN_PY_TRY(asn_device_set(device));
    return PyLong_FromLong(before);
}

/* (device): the number that a device's name means; ValueError of no device in use. */
static PyObject *f_device_number(PyObject *const *v) {
    int number;
    return asn_device_from_py(v[0], &number) < 0 ? NULL : PyLong_FromLong(number);
}

/* The number of the current device, which is opened for it. */
static PyObject *f_get_device(PyObject *const *v) {
    (void)v;
    int device;
    ASN_PY_TRY(asn_device_get(&device));
    return PyLong_FromLong(device);
}

/* How many devices of the kind in use there are. */
static PyObject *f_get_device_count(PyObject *const *v) {
    (void)v;
    int count;
    ASN_PY_TRY(asn_device_count(&count));
    return PyLong_FromLong(count);
}

/* (device): waits for it and gives cached memory back to it. */
static PyObject *f_reset_device(PyObject *const *v) {
    int device = 0;
    if (v[0] && read_device(v[0], &device) < 0) return NULL;
    ASN_PY_TRY(asn_device_reset(device));
    Py_RETURN_NONE;
}

/* Counters since the process began, as a dict of ints. host_reads is counted by this
 * binding, the others by the core. */
static PyObject *f_engine_stats(PyObject *const *v) {
    (void)v;
    asn_engine_stats s;
    asn_engine_get_stats(&s);
    return Py_BuildValue(
        "{s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "recorded",
        (unsigned long long)s.recorded, "eager", (unsigned long long)s.eager, "programs",
        (unsigned long long)s.programs, "single_ops", (unsigned long long)s.single_ops,
        "plan_hits", (unsigned long long)s.plan_hits, "plan_misses",
        (unsigned long long)s.plan_misses, "fallbacks", (unsigned long long)s.fallbacks,
        "synchronizations", (unsigned long long)s.synchronizations, "host_reads",
        (unsigned long long)ASN_READ(asn_py.host_reads));
}

/* (name, dtype, operators): "device", "wider" or "cpu": where an NPU would compute a
 * ufunc of the table (or, with `operators`, an operator of CANN's) by what CANN
 * documents; None: no such thing. */
static PyObject *f_cann_place(PyObject *const *v) {
    static const char *const places[] = {"device", "wider", "cpu"};
    const char *name = PyUnicode_AsUTF8(v[0]);
    asn_dtype dtype;
    int operators = PyObject_IsTrue(v[2]);
    if (!name || operators < 0 || asn_dtype_from_py(v[1], &dtype) < 0) return NULL;
    if (operators) return PyUnicode_FromString(places[asn_cann_place_of(name, dtype)]);
    for (int op = 0; op < ASN_OP_COUNT; op++) {
        if (strcmp(asn_op_table[op].name, name) != 0) continue;
        /* The dtype that the loop is of, as for operands all of `dtype`. */
        asn_type types[3] = {
            {(uint8_t)dtype, 0}, {(uint8_t)dtype, 0}, {(uint8_t)dtype, 0}};
        asn_dtype loop;
        ASN_PY_TRY(asn_op_resolve((asn_op)op, types, ASN_DTYPE_NONE,
                                  ASN_CASTING_SAME_KIND, &loop));
        return PyUnicode_FromString(places[asn_cann_place((asn_op)op, loop)]);
    }
    Py_RETURN_NONE;
}

/* The names of the table's ufuncs, or the operators of CANN's that they call. Rows of the
 * CPU device's own kernels have neither. */
static PyObject *cann_names(bool operators) {
    PyObject *list = PyList_New(0);
    for (int op = 0; list && op < ASN_OP_COUNT; op++) {
        const asn_op_info *row = &asn_op_table[op];
        const char *name = operators ? row->cann : row->name;
        /* Kernels of the CPU device only: no operator of CANN's stands for them. */
        if (!name || row->flags & ASN_OPF_KERNEL) continue;
        PyObject *text = PyUnicode_FromString(name);
        if (!text || PyList_Append(list, text) < 0) Py_CLEAR(list);
        Py_XDECREF(text);
    }
    return list;
}

/* For tests and `asnumpy.doctor`: what the table says of CANN. */
static PyObject *f_cann_rows(PyObject *const *v) {
    (void)v;
    return cann_names(false);
}

/* For the same: the operators of CANN's that the table calls. */
static PyObject *f_cann_operators(PyObject *const *v) {
    (void)v;
    return cann_names(true);
}

/* For the registry: the name of the row that an operator of ATen's is, or None. */
static PyObject *f_aten_row(PyObject *const *v) {
    Py_ssize_t n;
    const char *name = PyUnicode_AsUTF8AndSize(v[0], &n);
    if (!name) return NULL;
    asn_lock(); /* the table of names is filled at the first look */
    int op = asn_op_of_aten(name, (size_t)n);
    asn_unlock();
    if (op < 0) Py_RETURN_NONE;
    return PyUnicode_FromString(asn_op_table[op].name);
}

/* For the registry: an array by a row of one operand that has no ufunc (erf), recorded
 * and promoted as ufuncs are. The registry looks a row up once for a kind of arguments,
 * and calls this each time: a walk over the table's names, of some hundred short words,
 * is little beside the array that is made. It takes arrays alone, because promotion of
 * Python's numbers is the business of ufunc objects, which these rows lack; the registry
 * makes arrays of what it was given. */
static PyObject *f_unary_row(PyObject *const *v) {
    const char *name = PyUnicode_AsUTF8(v[0]);
    if (!name) return NULL;
    int op = 0;
    while (op < ASN_OP_CAST && strcmp(asn_op_table[op].name, name) != 0)
        op++;
    if (op == ASN_OP_CAST || asn_op_table[op].num_in != 1)
        return PyErr_Format(PyExc_LookupError, "'%s' is no row of one operand", name);
    if (!asn_is_ndarray(v[1]))
        return PyErr_Format(PyExc_TypeError, "_unary_row takes an asnumpy array, got %s",
                            Py_TYPE(v[1])->tp_name);
    asn_operand in = {.array = asn_of(v[1])};
    asn_ndarray *r = asn_ndarray_alloc();
    if (!r) return NULL;
    /* No options: a new array of the dtype that the table gives, checked as usual. */
    asn_status status = asn_ufunc_call((asn_op)op, &in, NULL, &r->array, NULL);
    return asn_ndarray_finish(r, status);
}

/* For `asnumpy.doctor`: the CPU device's lines, of the host's beside an NPU. */
static PyObject *f_describe(PyObject *const *v) {
    (void)v;
    char text[2048];
    size_t length = 0;
    ASN_PY_TRY(asn_device_open());
    const asn_acl_api *api = asn_acl.aclnnxDescribe ? &asn_acl : &asn_host;
    if (api == &asn_host) ASN_PY_TRY(asn_fallback_ready());
    int code = api->aclnnxDescribe(text, sizeof text, &length);
    if (code)
        return asn_raise(asn_acl_status(code, api->aclGetRecentErrMsg(), "describe"));
    return PyUnicode_DecodeUTF8(
        text, (Py_ssize_t)(length < sizeof text ? length : sizeof text), "replace");
}

/* For tests and `asnumpy.doctor`: (name, what it may be) of each setting. */
static PyObject *f_settings(PyObject *const *v) {
    (void)v;
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < ASN_SETTING_COUNT; i++) {
        char text[128];
        PyObject *row =
            Py_BuildValue("(ss)", asn_setting_name((asn_setting)i),
                          asn_setting_allowed((asn_setting)i, text, sizeof text));
        if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
        Py_XDECREF(row);
    }
    return list;
}

/* (policy): sets it, and returns the previous one. */
static PyObject *f_set_fallback(PyObject *const *v) {
    static const char *const names[] = {"error", "warn", "silent"};
    for (int i = 0; i < 3; i++)
        if (PyUnicode_Check(v[0]) &&
            PyUnicode_CompareWithASCIIString(v[0], names[i]) == 0)
            return PyUnicode_FromString(names[asn_fallback_set((asn_fallback)i)]);
    PyErr_Format(PyExc_ValueError,
                 "set_fallback: policy is %R; it may be 'error', 'warn' or 'silent'",
                 v[0]);
    return NULL;
}

asn_function_def asn_engine_functions[] = {
    ASN_FUNCTION(
        "lazy", "on=True", f_lazy,
        "Turns recording of operations on or off; returns the previous setting."),
    ASN_FUNCTION("synchronize", "", f_synchronize, "Runs everything recorded and waits."),
    ASN_FUNCTION("_is_recorded", "array, /", f_is_recorded,
                 "Whether what computes the array is recorded and has not run."),
    ASN_FUNCTION("_doc", "name, /", f_doc, "The text of src/python/docs of a name."),
    ASN_FUNCTION("explain", "array=None", f_explain,
                 "The plan of what is recorded, as text: programs and their boundaries."),
    ASN_FUNCTION(
        "_on_override", "hook, /", f_on_override,
        "Who calls __array_ufunc__ of other types; None: they are called as they are."),
    ASN_FUNCTION("set_scalars", "kind", f_set_scalars,
                 "\"numpy\": full reductions and indices give NumPy scalars; \"array\": "
                 "0-d arrays. "
                 "Returns the previous setting."),
    ASN_FUNCTION("from_numpy", "array, /", f_from_numpy,
                 "A copy of a NumPy array on the device."),
    ASN_FUNCTION("init", "", f_init,
                 "Opens the device; the first operation does it otherwise."),
    ASN_FUNCTION("finalize", "", f_finalize, "Waits for the device and closes it."),
    ASN_FUNCTION("set_device", "device", f_set_device,
                 "Makes a device current, by its number or its name (\"cpu:0\", "
                 "\"ascend:1\", \"npu:1\"); returns the number of the previous one."),
    ASN_FUNCTION("_device_number", "device", f_device_number,
                 "The number that the name of a device in use means."),
    ASN_FUNCTION("get_device", "", f_get_device, "Number of the current device."),
    ASN_FUNCTION("get_device_count", "", f_get_device_count,
                 "How many devices there are."),
    ASN_FUNCTION("reset_device", "device=0", f_reset_device, "Resets a device."),
    ASN_FUNCTION("engine_stats", "", f_engine_stats,
                 "Operations recorded and run at once, programs, plan cache, fallbacks, "
                 "as a dict."),
    ASN_FUNCTION(
        "set_fallback", "policy", f_set_fallback,
        "What happens when the device lacks an operation: \"error\" raises "
        "NotImplementedError, \"warn\" (the default) computes it on the CPU and warns, "
        "\"silent\" computes it. Returns the previous policy."),
    ASN_FUNCTION("_cann_place", "name, dtype, operators, /", f_cann_place,
                 "Where an NPU would compute it, by what CANN documents."),
    ASN_FUNCTION("_describe", "", f_describe, "What the CPU computes with, by lines."),
    ASN_FUNCTION("_settings", "", f_settings,
                 "(name, what it may be) of each setting of the environment."),
    ASN_FUNCTION("_aten_row", "name", f_aten_row,
                 "The table's row that an operator of ATen's is."),
    ASN_FUNCTION("_unary_row", "name, x", f_unary_row,
                 "An array by a row of the table that has no ufunc."),
    ASN_FUNCTION("_cann_rows", "", f_cann_rows, "The names of the table's ufuncs."),
    ASN_FUNCTION("_cann_operators", "", f_cann_operators,
                 "The operators of CANN's that the table's rows name."),
    ASN_FUNCTION("_as_strided", "x, shape, strides, /", f_as_strided,
                 "A view with any shape and strides inside the buffer."),
    ASN_FUNCTION(NULL, NULL, NULL, NULL),
};
