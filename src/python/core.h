/* L3 python: what the files of the extension share: the array object, the module's state,
 * errors.
 *
 * The extension turns Python arguments into calls of the core (src/array, src/graph,
 * src/runtime) and results into objects. NumPy's C API is used for dtype objects, NumPy
 * scalars, and to read host data (nested sequences, NumPy arrays); arithmetic never goes
 * through it.
 *
 * Conventions: a function that returns PyObject * returns a new reference, or NULL with a
 * Python exception set; one that returns int returns 0, or -1 with an exception set.
 *
 * The module's state (asn_state) is the module object's, made and ended with it. NumPy
 * can be loaded once a process, and so can this: `asn_py` is the state of the one module
 * that is, which lets the hot paths read it without a lookup. Without a global lock
 * threads share it (threads.h).
 */
#ifndef ASN_PYTHON_CORE_H
#define ASN_PYTHON_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#define NPY_NO_DEPRECATED_API  NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION     NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL asn_numpy_api
#ifndef ASN_IMPORT_NUMPY
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

#include "graph/capture/capture.h"
#include "graph/small/direct.h"
#include "graph/engine.h"
#include "graph/operators/families.h"
#include "graph/index/index.h"
#include "graph/ufunc/truth.h"
#include "graph/ufunc/ufunc.h"
#include "array/broadcast.h"
#include "array/views.h"
#include "python/threads.h"
#include "runtime/device.h"

#define ASN_LIKELY(x)   __builtin_expect(!!(x), 1)
#define ASN_UNLIKELY(x) __builtin_expect(!!(x), 0)

/* The Python array. A view holds `base`, the array (or foreign object) whose memory it
 * shows. */
typedef struct {
    PyObject_HEAD asn_array array;
    PyObject *base; /* NULL: the array owns its memory */
    PyObject *weakrefs;
    /* 0-d, where NumPy has a scalar (set_scalars("array"), traced functions): an operator
     * in place makes another one, as `v = x.sum(); w = v; v *= 2` expects. */
    bool is_number;
} asn_ndarray;

/* The objects of the module's state: X(type, name). Unless said otherwise they are there
 * from the import on. */
#define ASN_STATE_OBJECTS(X)                                                             \
    X(PyTypeObject, ndarray)                                                             \
    X(PyTypeObject, flags)                                                               \
    X(PyTypeObject, flatiter)                                                            \
    X(PyTypeObject, ufunc)                                                               \
    X(PyTypeObject, numpy_ufunc)                                                         \
    X(PyTypeObject, function)                                                            \
    X(PyTypeObject, bit_engine)                                                          \
    X(PyObject, no_value) /* numpy._NoValue */                                           \
    X(PyObject, axis_error)                                                              \
    X(PyObject, ufunc_type_error)                                                        \
    X(PyObject, no_loop_error)                                                           \
    X(PyObject, in_cast_error)                                                           \
    X(PyObject, out_cast_error)                                                          \
    X(PyObject, complex_warning)                                                         \
    X(PyObject, host_dtype)     /* a TypeError: the device has no such dtype */          \
    X(PyObject, override_error) /* a TypeError: like= is another library's to answer */  \
    X(PyObject, package)        /* asnumpy._support: helpers written in Python */        \
    X(PyObject, ufuncs)         /* dict: NumPy's ufunc name -> ufunc object */           \
    X(PyObject, known_ufuncs)   /* dict: NumPy's ufunc -> ours, filled as they come */   \
    X(PyObject, override_hook)  /* asnumpy.auto's, which calls __array_ufunc__ of     */ \
                                /* others; NULL: the mode is not on */                   \
    X(PyObject, sync_callback)  /* who is told of synchronisations, or NULL */           \
    X(PyObject, s_array_ufunc)                                                           \
    X(PyObject, s_array_priority)                                                        \
    X(PyObject, s_array)                                                                 \
    X(PyObject, s_array_function)                                                        \
    X(PyObject, abc_instance) /* __instancecheck__ of abc.ABCMeta */                     \
    X(PyObject, abc_subclass) /* and its __subclasscheck__ */                            \
    X(PyObject, s_class)                                                                 \
    X(PyObject, s_name)                                                                  \
    X(PyObject, s_call)                                                                  \
    X(PyObject, s_out)                                                                   \
    X(PyObject, s_array_wrap)                                                            \
    X(PyObject, s_array_finalize)                                                        \
    X(PyObject, s_torch)                                                                 \
    X(PyObject, errstate_variable) /* NumPy's: the context's modes, what makes an */     \
    X(PyObject, errstate_make)     /* object of them, and what reads the present one */  \
    X(PyObject, errstate_read)

/* Modes of floating-point exceptions, in the order of the ASN_FP bits (errstate.c). */
typedef struct {
    uint8_t mode[4];
    PyObject *callback; /* or NULL */
    PyObject *object;   /* NumPy's, that they were read from */
} asn_modes;

/* The module's state. Its objects are owned by it. */
typedef struct {
#define ASN_FIELD(type, name) type *name;
    ASN_STATE_OBJECTS(ASN_FIELD)
#undef ASN_FIELD
    PyArray_Descr *descr[ASN_DTYPE_COUNT]; /* bfloat16's is NULL until first used */
    int bfloat16_num;                      /* NumPy's type number of it, or -1 */
    PyObject *ufunc_of_row[ASN_OP_COUNT];  /* borrowed of `ufuncs` */
    asn_modes active;                      /* that the core works under */
    asn_modes before;    /* the last others, or what is made next; all zero: none */
    uint64_t host_reads; /* arrays whose elements host code got */
    bool scalars_switch; /* set_scalars(); asn_gives_scalars() reads it */
    PyTypeObject *quick; /* ndarray; NULL while a ufunc is replaced (ufunc/replaced.c) */
    uint64_t replaced, replaced_version; /* how many are; another after each change */
    bool jit; /* asnumpy.jit traces; else functions are simply called */
} asn_state;

extern asn_state *asn_module_state; /* NULL: not loaded */
#define asn_py (*asn_module_state)

/* Whether the NumPy that is loaded is 2.5 or newer. What its versions do in different
 * ways asks this; Python code, `_core._NUMPY_2_5`. */
static inline bool asn_numpy_2_5(void) {
    return PyArray_GetNDArrayCFeatureVersion() >= 0x16;
}

/* Whether full reductions and indices give NumPy scalars; a function that is traced has
 * arrays of no dimensions. */
static inline bool asn_gives_scalars(void) {
    return ASN_READ(asn_py.scalars_switch) && !(ASN_CAPTURING && asn_capture_open());
}

/* Exactly ndarray; also subclasses. */
static inline bool asn_is_ndarray_exact(PyObject *o) {
    return Py_TYPE(o) == asn_py.ndarray;
}
static inline bool asn_is_ndarray(PyObject *o) {
    return Py_TYPE(o) == asn_py.ndarray || PyType_IsSubtype(Py_TYPE(o), asn_py.ndarray);
}
/* Exactly ndarray, and its operations are built in: the short ways are for these. */
static inline bool asn_is_quick(PyObject *o) {
    return Py_TYPE(o) == ASN_READ(asn_py.quick);
}
/* The array in an ndarray object; its dtype. No check is made. */
static inline asn_array *asn_of(PyObject *o) {
    return &((asn_ndarray *)o)->array;
}
static inline asn_dtype asn_dtype_of(PyObject *o) {
    return (asn_dtype)((asn_ndarray *)o)->array.layout.dtype;
}

/* errors.c: the Python exception of a core failure, from its status and message; returns
 * NULL. */
void *asn_raise(asn_status status);
#define ASN_PY_TRY(expr)                                                                 \
    do {                                                                                 \
        asn_status try_status_ = (expr);                                                 \
        if (ASN_UNLIKELY(try_status_ != ASN_OK)) return asn_raise(try_status_);          \
    } while (0)
#define ASN_PY_TRY_INT(expr)                                                             \
    do {                                                                                 \
        asn_status try_status_ = (expr);                                                 \
        if (ASN_UNLIKELY(try_status_ != ASN_OK)) return asn_raise(try_status_), -1;      \
    } while (0)

/* errstate.c: reports floating-point exceptions (bits of ASN_FP_*) as warnings or errors.
 */
int asn_fp_report(uint32_t flags, const char *name);
static inline int asn_fp_check(void) {
    const char *name = NULL;
    uint32_t flags = asn_fp_take(&name);
    return ASN_LIKELY(!flags) ? 0 : asn_fp_report(flags, name);
}
/* Names the ufunc's method ("reduce") where the floating-point exceptions are the ufunc's
 * own. */
int asn_fp_report_as(uint32_t flags, const char *name, const char *method, asn_op op);
static inline int asn_fp_check_as(const char *method, asn_op op) {
    const char *name = NULL;
    uint32_t flags = asn_fp_take(&name);
    return ASN_LIKELY(!flags) ? 0 : asn_fp_report_as(flags, name, method, op);
}
int asn_errstate_init(PyObject *module);
int asn_forks_init(void); /* forks.c */

/* ndarray.c */
/* A blank array object (of exactly ndarray); its `array` is safe to finalise and to be
 * made. */
asn_ndarray *asn_ndarray_alloc(void);
/* Likewise an instance of `type`, which is ndarray or a subclass. */
asn_ndarray *asn_ndarray_alloc_type(PyTypeObject *type);
/* Takes *a into a new object (NULL: memory ran out, and *a is ended). */
PyObject *asn_ndarray_wrap(asn_array *a);
/* An object over a view of `self` made by array/views.h: takes *layout; same type when
 * `self` is a subclass and keep_type. */
PyObject *asn_ndarray_view(PyObject *self, asn_layout *layout, bool keep_type);
/* The same of a view that a call made, or failed to; takes *view. */
PyObject *asn_ndarray_view_made(PyObject *self, asn_status status, asn_array *view);
/* `owner`, or the array that it shows, becomes view's base. */
void asn_ndarray_set_base(asn_ndarray *view, PyObject *owner);
int asn_ndarray_init_type(PyObject *module);
/* instances.c: lets NumPy's arrays count as instances of `type`, which is ndarray, new.
 */
int asn_instances_init(PyObject *module, PyTypeObject *type);
/* The same of another type, which is ufunc, new; after that. */
void asn_instances_share(PyTypeObject *type);
/* Releases an object whose `array` was never made. */
void asn_ndarray_drop(asn_ndarray *r);
/* The result of a call that made *r, or failed: object, scalar (0-d and numpy_scalars),
 * or NULL. */
PyObject *asn_ndarray_finish(asn_ndarray *r, asn_status status);
/* The same after a success. */
static inline PyObject *asn_ndarray_done(asn_ndarray *r) {
    if (ASN_LIKELY(!asn_fp_any() && r->array.layout.ndim)) return (PyObject *)r;
    return asn_ndarray_finish(r, ASN_OK);
}
/* The same after a success, a 0-d result staying an array. */
PyObject *asn_ndarray_finish_array(asn_ndarray *r);
/* A 0-d array becomes a NumPy scalar under the scalar policy; takes r. */
PyObject *asn_ndarray_return(PyObject *r);

/* Parts of the type, one file each; their slots' contracts are CPython's. */
extern PyGetSetDef asn_ndarray_getset[];
extern PyMethodDef asn_ndarray_methods[];
PyObject *asn_ndarray_subscript(PyObject *self, PyObject *key);
int asn_ndarray_ass_subscript(PyObject *self, PyObject *key, PyObject *value);
/* What is assigned to elements of a dtype; *owner: to be released after, or NULL. */
int asn_assigned_operand(asn_dtype dtype, PyObject *value, asn_operand *out,
                         PyObject **owner);
PyObject *asn_ndarray_item(PyObject *self, Py_ssize_t i);
/* ufunc.at with a Python index. */
int asn_index_apply_at(asn_op op, const asn_array *a, PyObject *key,
                       const asn_operand *value);
PyObject *asn_ndarray_richcompare(PyObject *self, PyObject *other, int op);
PyObject *asn_ndarray_repr(PyObject *self);
PyObject *asn_ndarray_str(PyObject *self);
int asn_ndarray_contains(PyObject *self, PyObject *value);
int asn_ndarray_getbuffer(PyObject *self, Py_buffer *view, int flags);
void asn_ndarray_releasebuffer(PyObject *self, Py_buffer *view);
extern const PyType_Slot asn_ndarray_number_slots[];
extern const int asn_ndarray_number_slot_count;

/* random.c */
int asn_random_init_type(PyObject *module);

/* host_export.c, dlpack.c */
/* A NumPy array over self's memory (no copy), keeping `self` alive. */
PyObject *asn_host_view(PyObject *self);
/* Raises what the buffer protocol raised of self, if that was the last thing asked of it:
 * -1; else 0. */
int asn_host_check_dropped(PyObject *self);
/* A NumPy array with a copy of the elements. */
PyObject *asn_host_copy(PyObject *self);
int asn_hosts_init(PyObject *module);
/* Arguments of a vectorcall as a tuple and a dict. */
PyObject *asn_tuple_of(PyObject *const *args, Py_ssize_t n);
PyObject *asn_keywords_of(PyObject *const *values, PyObject *kwnames);
/* Whether the error that is set is one upon which NumPy may make the call: data that the
 * device lacks; in the mode of asnumpy.auto also what we lack (NotImplementedError), or
 * do not take (TypeError). */
bool asn_host_may_answer(void);
/* After a call failed with such an error: the call again, by NumPy on the host; the error
 * stands where NumPy has no such function, where a device array would have to be written,
 * and where it came from the user's code. */
PyObject *asn_host_retry(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                         PyObject *kwnames);
/* Whether it is a NumPy array of a subclass (memory maps excepted). */
bool asn_foreign_array(PyObject *obj);
/* Whether obj is of a subclass of NumPy's arrays that brings rules of its own. */
static inline bool asn_is_foreign(PyObject *obj) {
    return Py_TYPE(obj) != asn_py.ndarray &&
           (Py_TYPE(obj)->tp_flags & Py_TPFLAGS_HEAPTYPE) && asn_foreign_array(obj);
}
/* A call with such an array among its operands, by NumPy; NULL without an error where
 * NumPy has no such function. */
PyObject *asn_foreign_call(PyObject *callable, PyObject *const *args, Py_ssize_t nargs,
                           PyObject *kwnames);
PyObject *asn_ndarray_dlpack(PyObject *self, PyObject *const *args, Py_ssize_t nargs,
                             PyObject *kwnames);
PyObject *asn_ndarray_dlpack_device(PyObject *self, PyObject *unused);
PyObject *asn_from_dlpack(PyObject *const *values);

/* flags.c, flatiter.c */
PyObject *asn_flags_new(PyObject *array);
PyObject *asn_flatiter_new(PyObject *array);
int asn_flags_init_type(PyObject *module);
int asn_flatiter_init_type(PyObject *module);
int asn_ndarray_set_writeable(PyObject *array, bool on);
int asn_ndarray_set_aligned(PyObject *array, bool on);
int asn_ndarray_set_writeback(PyObject *array, bool on);

/* sites.c: the lines of Python that recorded events came from */
void asn_sites_init(void);
/* functions_stream.c */
void asn_streams_py_init(void);
/* (file, line, function) of a site's number (runtime/site.h); None: unknown. */
PyObject *asn_site_to_py(uint32_t site);

#endif
