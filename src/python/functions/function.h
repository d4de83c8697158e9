/* L3 python: the type of functions implemented in C, with NumPy's exact signatures.
 *
 * A file of this folder has static functions f_NAME and ends with a table of definitions.
 * An f_NAME gets one value for each parameter of its text, in that order: borrowed
 * references, NULL where absent; *args is a tuple, **kwargs a dict or NULL, which are not
 * its to release. It returns a new reference, or NULL with an exception. HostDtypeError
 * makes the call NumPy's (function.c). */
#ifndef ASN_PYTHON_FUNCTIONS_FUNCTION_H
#define ASN_PYTHON_FUNCTIONS_FUNCTION_H

#include "python/ndarray/methods.h"

/* A function's definition; `signature` keeps what parsing the text found. */
typedef struct {
    asn_signature signature; /* name and text */
    PyObject *(*call)(PyObject *const *values);
    const char *doc;              /* what help() shows under the signature */
    const char *shown;            /* the text that inspect shows, where it differs */
    const char *shown_before_2_5; /* likewise, with NumPy before 2.5 */
    const char *module; /* "linalg": of the package's; NULL: the package itself */
    bool asks_none;     /* __array_function__ of its arguments does not count: like= alone
                           does where it makes an array */
} asn_function_def;

/* What is behind doc_: fields that are not of every function (.asks_none = true). */
#define ASN_FUNCTION(name_, text_, call_, doc_, ...)                                     \
    {.signature = {.name = name_, .text = text_}, .call = call_, .doc = doc_, __VA_ARGS__}
/* NumPy shows one signature and takes keywords of another. */
#define ASN_FUNCTION_SHOWN(name_, shown_, text_, call_, doc_)                            \
    ASN_FUNCTION(name_, text_, call_, doc_, .shown = shown_)
/* Of a module of the package: it finds it as _core._module_name. */
#define ASN_FUNCTION_OF(module_, name_, text_, call_, doc_)                              \
    ASN_FUNCTION(name_, text_, call_, doc_, .module = module_)
/* Both: of a module, and with another signature shown. */
#define ASN_FUNCTION_OF_SHOWN(module_, name_, shown_, text_, call_, doc_, ...)           \
    ASN_FUNCTION(name_, text_, call_, doc_, .shown = shown_, .module = module_,          \
                 __VA_ARGS__)

/* Makes asnumpy.function; before the first asn_functions_add. */
int asn_function_init_type(PyObject *module);
/* Adds functions to the module; `defs` ends with a NULL name and outlives the module. */
int asn_functions_add(PyObject *module, asn_function_def *defs);

int asn_composed_init_type(PyObject *module); /* composed.c */
/* Whether NumPy's function of that name is built in: a class binds no such function. */
bool asn_is_built_in(const char *name);

/* function_override.c */
/* Whether an argument, or an item of a list or tuple among them, does. */
bool asn_arguments_override(PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames);
/* The method of a subclass that replaces ours and makes the function of this name; NULL
 * (with or without an error): none. */
PyObject *asn_function_method(const char *function, PyObject *object);
/* like=: 0 for None, NULL and arrays; -1 with OverrideError when it overrides functions,
 * TypeError when it is no array. */
int asn_like_check(PyObject *like);
/* The call by the __array_function__ of its arguments, or of like=. Clears the error that
 * is set. New reference, or NULL with an error, TypeError if all of them decline. */
PyObject *asn_function_override(PyObject *function, PyObject *const *args,
                                Py_ssize_t nargs, PyObject *kwnames);

/* functions_create.c: the dtype a fill value brings when none is asked:
 * np.array(value).dtype. */
int asn_value_dtype(PyObject *value, asn_dtype *out); /* 0, or -1 with an error */
PyObject *asn_arange_run(PyObject *const *v);         /* arange.c */

extern asn_function_def asn_axes_functions[], asn_create_functions[],
    asn_join_functions[], asn_coordinate_functions[], asn_numeric_functions[],
    asn_set_functions[], asn_picking_functions[], asn_product_functions[],
    asn_reduce_functions[], asn_shape_functions[], asn_select_functions[],
    asn_engine_functions[], asn_memory_functions[], asn_tensor_functions[],
    asn_fft_functions[], asn_linalg_functions[], asn_norm_functions[],
    asn_balance_functions[], asn_profile_functions[], asn_custom_functions[],
    asn_acl_functions[], asn_jit_functions[], asn_stream_functions[], asn_nn_functions[],
    asn_sparse_functions[], asn_precision_functions[];

#endif
