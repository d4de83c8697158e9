/* L3 python: the extension module asnumpy._core.
 *
 * Importing opens no device and starts no thread: it makes the types, the ufuncs, the
 * functions, and looks up what is NumPy's. The folder of the extension is where the
 * loader finds the CPU device's libraries.
 *
 * The state is the module object's own memory, so that the collector sees what it holds;
 * types keep the module, and arrays their type. A second module at the same time is
 * refused, of this interpreter or of another, as NumPy refuses it.
 */
#define ASN_IMPORT_NUMPY
#include "graph/operators/solvers.h"
#include "python/functions/function.h"
#include "python/jit/jit.h"
#include "runtime/site.h"
#include "runtime/streams/sync.h"

#include <dlfcn.h>
#include <stdlib.h>

/* The one state; NULL before the import and after the module's end. */
asn_state *asn_module_state;

/* Around long work of the core: other Python threads run. NULL: this thread has no
 * interpreter's lock to let go of. */
static void *blocking_enter(void) {
    return PyGILState_Check() ? PyEval_SaveThread() : NULL;
}

static void blocking_leave(void *thread) {
    if (thread) PyEval_RestoreThread(thread);
}

/* An interned text into a slot of the state; -1: an error. */
static int intern(PyObject **slot, const char *text) {
    *slot = PyUnicode_InternFromString(text);
    return *slot ? 0 : -1;
}

static int init_names(void) {
    return intern(&asn_py.s_array_ufunc, "__array_ufunc__") < 0 ||
                   intern(&asn_py.s_array_priority, "__array_priority__") < 0 ||
                   intern(&asn_py.s_array, "__array__") < 0 ||
                   intern(&asn_py.s_array_function, "__array_function__") < 0 ||
                   intern(&asn_py.s_class, "__class__") < 0 ||
                   intern(&asn_py.s_name, "__name__") < 0 ||
                   intern(&asn_py.s_call, "__call__") < 0 ||
                   intern(&asn_py.s_out, "out") < 0 ||
                   intern(&asn_py.s_array_wrap, "__array_wrap__") < 0 ||
                   intern(&asn_py.s_array_finalize, "__array_finalize__") < 0 ||
                   intern(&asn_py.s_torch, "torch") < 0
               ? -1
               : 0;
}

/* The attribute of another module, likewise. */
static int import_attribute(PyObject **slot, const char *module_name, const char *name) {
    PyObject *module = PyImport_ImportModule(module_name);
    *slot = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    return *slot ? 0 : -1;
}

/* What the extension needs of NumPy, looked up once: dtype objects, exceptions. */
static int init_numpy(void) {
    static const int numbers[ASN_DTYPE_COUNT] = {
        [ASN_BOOL] = NPY_BOOL,  [ASN_I8] = NPY_BYTE,    [ASN_U8] = NPY_UBYTE,
        [ASN_I16] = NPY_SHORT,  [ASN_U16] = NPY_USHORT, [ASN_I32] = NPY_INT,
        [ASN_U32] = NPY_UINT,   [ASN_I64] = NPY_LONG,   [ASN_U64] = NPY_ULONG,
        [ASN_F16] = NPY_HALF,   [ASN_BF16] = -1,        [ASN_F32] = NPY_FLOAT,
        [ASN_F64] = NPY_DOUBLE, [ASN_C64] = NPY_CFLOAT, [ASN_C128] = NPY_CDOUBLE};
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        if (numbers[d] >= 0 && !(asn_py.descr[d] = PyArray_DescrFromType(numbers[d])))
            return -1;
    asn_py.bfloat16_num = -1;
    const char *errors = "numpy._core._exceptions";
    return import_attribute(&asn_py.no_value, "numpy", "_NoValue") < 0 ||
                   import_attribute((PyObject **)&asn_py.numpy_ufunc, "numpy", "ufunc") <
                       0 ||
                   import_attribute(&asn_py.axis_error, "numpy.exceptions", "AxisError") <
                       0 ||
                   import_attribute(&asn_py.complex_warning, "numpy.exceptions",
                                    "ComplexWarning") < 0 ||
                   import_attribute(&asn_py.ufunc_type_error, errors, "UFuncTypeError") <
                       0 ||
                   import_attribute(&asn_py.no_loop_error, errors, "_UFuncNoLoopError") <
                       0 ||
                   import_attribute(&asn_py.in_cast_error, errors,
                                    "_UFuncInputCastingError") < 0 ||
                   import_attribute(&asn_py.out_cast_error, errors,
                                    "_UFuncOutputCastingError") < 0
               ? -1
               : 0;
}

/* The CPU device's libraries lie beside the extension; links are followed, for a build
 * tree. */
static void set_library_path(void) {
    Dl_info info;
    char *path = dladdr(&asn_module_state, &info) && info.dli_fname
                     ? realpath(info.dli_fname, NULL)
                     : NULL;
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash) {
        *slash = 0;
        asn_device_set_library_path(path);
    }
    free(path);
}

/* -1: ImportError of a second module, or an error. */
static int state_init(PyObject *module) {
    if (asn_module_state) {
        PyErr_SetString(PyExc_ImportError,
                        "asnumpy._core is loaded already: it can be once a process, in "
                        "one interpreter, as NumPy can");
        return -1;
    }
    asn_module_state = PyModule_GetState(module);
    asn_py.scalars_switch = asn_py.jit = true;
    asn_py.known_ufuncs = PyDict_New();
    return asn_py.known_ufuncs ? 0 : -1;
}

/* The collector's look at the state; ufunc_of_row is borrowed. */
static int state_traverse(PyObject *module, visitproc visit, void *arg) {
    asn_state *s = PyModule_GetState(module);
#define ASN_VISIT(type, name) Py_VISIT(s->name);
    ASN_STATE_OBJECTS(ASN_VISIT)
#undef ASN_VISIT
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        Py_VISIT(s->descr[d]);
    for (int k = 0; k < 2; k++) {
        Py_VISIT((k ? &s->active : &s->before)->callback);
        Py_VISIT((k ? &s->active : &s->before)->object);
    }
    return 0;
}

/* Nothing of the module is in use any more: arrays hold their type, which holds it. */
static int state_clear(PyObject *module) {
    asn_state *s = PyModule_GetState(module);
    if (s == asn_module_state) {
        asn_set_arrival_hook(NULL);
        asn_site_finder = NULL;
        asn_sync_set_hook(NULL);
    }
#define ASN_CLEAR(type, name) Py_CLEAR(s->name);
    ASN_STATE_OBJECTS(ASN_CLEAR)
#undef ASN_CLEAR
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        Py_CLEAR(s->descr[d]);
    for (int k = 0; k < 2; k++) {
        Py_CLEAR((k ? &s->active : &s->before)->callback);
        Py_CLEAR((k ? &s->active : &s->before)->object);
    }
    return 0;
}

static void state_free(void *module) {
    (void)state_clear(module);
    if (PyModule_GetState(module) == asn_module_state) asn_module_state = NULL;
}

/* The module's body: types before what makes objects of them, the core's hooks last. */
static int module_exec(PyObject *module) {
    if (state_init(module) < 0 || init_names() < 0 || init_numpy() < 0 ||
        asn_ndarray_init_type(module) < 0 || asn_flags_init_type(module) < 0 ||
        asn_flatiter_init_type(module) < 0 || asn_ufunc_init_type(module) < 0 ||
        asn_function_init_type(module) < 0 || asn_composed_init_type(module) < 0 ||
        asn_hosts_init(module) < 0 || asn_errstate_init(module) < 0 ||
        asn_jit_init_type(module) < 0 || asn_random_init_type(module) < 0 ||
        asn_forks_init() < 0)
        return -1;
    asn_function_def *const groups[] = {
        asn_axes_functions,      asn_create_functions,     asn_join_functions,
        asn_reduce_functions,    asn_shape_functions,      asn_select_functions,
        asn_engine_functions,    asn_memory_functions,     asn_stream_functions,
        asn_tensor_functions,    asn_fft_functions,        asn_linalg_functions,
        asn_norm_functions,      asn_coordinate_functions, asn_numeric_functions,
        asn_set_functions,       asn_picking_functions,    asn_product_functions,
        asn_balance_functions,   asn_profile_functions,    asn_custom_functions,
        asn_acl_functions,       asn_jit_functions,        asn_nn_functions,
        asn_precision_functions, asn_sparse_functions};
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (asn_functions_add(module, groups[i]) < 0) return -1;
    if (PyModule_AddObjectRef(module, "_NUMPY_2_5",
                              asn_numpy_2_5() ? Py_True : Py_False) < 0)
        return -1;
    asn_solver_svd_of_finite(asn_numpy_2_5());
    set_library_path();
    asn_sites_init();
    asn_streams_py_init();
#ifdef Py_GIL_DISABLED
    asn_set_blocking_hooks(blocking_enter, blocking_leave, NULL);
#else
    asn_set_blocking_hooks(blocking_enter, blocking_leave, PyGILState_Check);
#endif
    return 0;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, module_exec},
/* NumPy is one interpreter's, and so is what is built on it. */
#if defined(Py_mod_multiple_interpreters)
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#endif
#if defined(Py_mod_gil)
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "asnumpy._core",    .m_size = sizeof(asn_state),
    .m_slots = slots,      .m_traverse = state_traverse, .m_clear = state_clear,
    .m_free = state_free,
};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) {
    if (PyArray_ImportNumPyAPI() < 0) return NULL;
    return PyModuleDef_Init(&definition);
}
