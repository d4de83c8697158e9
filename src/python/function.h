/* L3 python: the type of functions implemented in C, with NumPy's exact signatures. */
#ifndef ASN_PYTHON_FUNCTION_H
#define ASN_PYTHON_FUNCTION_H

#include "methods.h"

typedef struct {
    asn_signature signature; /* name and text */
    PyObject *(*call)(PyObject *const *values);
    const char *doc;
    const char *shown; /* the text that inspect shows, where it differs */
} asn_function_def;

#define ASN_FUNCTION(name_, text_, call_, doc_)                                          \
    {{.name = name_, .text = text_}, call_, doc_, NULL}
/* NumPy shows one signature and takes keywords of another. */
#define ASN_FUNCTION_SHOWN(name_, shown_, text_, call_, doc_)                            \
    {{.name = name_, .text = text_}, call_, doc_, shown_}

int asn_function_init_type(PyObject *module);
/* Adds functions to the module; `defs` ends with a NULL name and outlives the module. */
int asn_functions_add(PyObject *module, asn_function_def *defs);

extern asn_function_def asn_create_functions[], asn_reduce_functions[],
    asn_shape_functions[], asn_select_functions[], asn_engine_functions[],
    asn_fft_functions[], asn_linalg_functions[];

#endif
