/* L3 python: a ufunc's call after its arguments were read, for the two that compute one:
 * the core (ufunc.c) and an implementation that a program put in its place (replaced.c).
 */
#ifndef ASN_PYTHON_UFUNC_UFUNC_CALL_H
#define ASN_PYTHON_UFUNC_UFUNC_CALL_H

#include "python/ufunc/ufunc.h"

/* What one call holds until it ends; zeroed before it is filled. */
typedef struct {
    asn_operand in[3];  /* borrow from owners and arguments */
    PyObject *owner[3]; /* of converted inputs */
    asn_array *out[2];  /* NULL: a new array */
    PyObject *out_owner[2], *where_owner;
    asn_ufunc_options options;
    bool keep_array; /* out=...: a 0-d result stays an array */
} asn_ufunc_state;

/* Materialises what a foreign output's memory must show now: out= is a NumPy array, which
 * the caller may look at without asking us. -1: an error. */
static inline int asn_ufunc_show_output(const asn_ufunc_state *c, int i, PyObject *out) {
    ASN_PY_TRY_INT(asn_out_written(out, c->out[i], c->out_owner[i]));
    return 0;
}

/* replaced.c: the call by what stands in the ufunc's place. True: *result is a new
 * reference (of a pair for a ufunc of two results), or NULL with that implementation's
 * exception. False: the built-in is to be called, for its errors too. */
bool asn_ufunc_call_replaced(asn_ufunc *u, PyObject *const *args, asn_ufunc_state *c,
                             const asn_ufunc_kwargs *kw, PyObject **result);

#endif
