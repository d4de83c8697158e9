/* L3 python: what help() shows of functions, ufuncs, methods and attributes, from the
 * texts of src/python/docs (tools/gen_docs.py). */
#ifndef ASN_PYTHON_DOCS_H
#define ASN_PYTHON_DOCS_H

#include "python/core.h"

/* The text of a name: "sin", "linalg.norm" as owner and name, "ndarray.sum" likewise;
 * owner NULL: of the package itself. NULL: it has none. */
const char *asn_docs_find(const char *owner, const char *name);

/* `doc`, as a method or a class has it, with the text of a name in the place of what
 * follows the signature; `doc` itself where there is no text or no signature. What is
 * made lives as long as the process, as types do. NULL: no memory, with Python's
 * exception set. */
const char *asn_docs_joined(const char *doc, const char *owner, const char *name);

/* Puts the texts of owner's methods behind their signatures, and those of its attributes
 * in their place, before a type is made of the two tables. -1: an error. */
int asn_docs_put(const char *owner, PyGetSetDef *attributes, PyMethodDef *methods);

#endif
