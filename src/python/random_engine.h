/* L3 python: the object behind asnumpy._core.BitEngine, and its drawing methods.
 *
 * random.c has its states, random_draw.c the uniform and normal numbers and integers,
 * random_variates.c the other distributions.
 */
#ifndef ASN_PYTHON_RANDOM_ENGINE_H
#define ASN_PYTHON_RANDOM_ENGINE_H

#include "args.h"
#include "random/bitgen.h"

typedef struct {
    PyObject_HEAD asn_bitgen *engine; /* 16-byte aligned: it holds 128-bit numbers */
} asn_engine_object;

static inline asn_bitgen *asn_engine_of(PyObject *self) {
    return ((asn_engine_object *)self)->engine;
}

/* Writes n elements to out; what: the draw's parameters. */
typedef asn_status (*asn_draw_fill)(asn_bitgen *g, const void *what, int64_t n,
                                    void *out);

/* A new array of that shape, filled where the host reaches its memory, else through a
 * copy. NULL: an exception is set. */
PyObject *asn_draw_array(PyObject *self, asn_dtype dtype, int ndim, const int64_t *shape,
                         asn_draw_fill fill, const void *what);

/* Ends with {NULL}. */
extern PyMethodDef asn_draw_methods[], asn_variate_methods[];

#endif
