/* L3 python: arguments by signature text. See args.c. */
#ifndef ASN_PYTHON_ARGS_H
#define ASN_PYTHON_ARGS_H

#include "python/core.h"

enum { ASN_MAX_ARGS = 16 }; /* parameters of one function, "*args" and "**kw" included */

typedef struct {
    const char *name; /* of the function, for messages */
    const char *text; /* "a, axis=None, *, where=True" */
    /* filled at first use; `ready` last */
    bool ready;
    /* of all parameters; of positions; before "/"; the last without a default */
    uint8_t count, positional, positional_only, required;
    bool var_positional, keyword_required, /* a keyword-only one without a default */
        var_keyword;        /* "*args": the last positional slot; "**kw": the last slot */
    uint32_t required_mask; /* bit i: parameter i has no default */
    PyObject *names[ASN_MAX_ARGS]; /* interned */
} asn_signature;

/* Fills values[0 .. count) with borrowed references, NULL where absent. For "*args" the
 * slot receives a new tuple that the caller releases (values[i]); "**kw" a new dict or
 * NULL. args and kwnames as of a vectorcall: keywords' values follow the positions. -1:
 * TypeError as Python's; nothing is to be released then. */
int asn_args_parse_slow(asn_signature *sig, PyObject *const *args, Py_ssize_t nargs,
                        PyObject *kwnames, PyObject **values);
static inline int asn_args_parse(asn_signature *sig, PyObject *const *args,
                                 Py_ssize_t nargs, PyObject *kwnames, PyObject **values) {
    if (!__atomic_load_n(&sig->ready, __ATOMIC_ACQUIRE) || kwnames ||
        nargs > sig->positional || nargs < sig->required || sig->var_positional ||
        sig->keyword_required)
        return asn_args_parse_slow(sig, args, nargs, kwnames, values);
    int i = 0;
    for (; i < nargs; i++)
        values[i] = args[i];
    for (; i < sig->count; i++)
        values[i] = NULL;
    return 0;
}
/* The same for tp_new's and tp_call's tuple and dict. */
int asn_args_parse_tuple(asn_signature *sig, PyObject *args, PyObject *kwargs,
                         PyObject **values);

#endif
