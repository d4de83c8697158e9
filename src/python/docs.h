/* L3 python: what help() shows of functions, ufuncs, methods and attributes, from the
 * texts of src/python/docs (tools/gen_docs.py). */
#ifndef ASN_PYTHON_DOCS_H
#define ASN_PYTHON_DOCS_H

/* The text of a name: "sin", "linalg.norm" as owner and name, "ndarray.sum" likewise;
 * owner NULL: of the package itself. NULL: it has none. */
const char *asn_docs_find(const char *owner, const char *name);

#endif
