/* L3 C binding: what is built in of the registry: the table's ufuncs, and what answers
 * ATen's names (aten.c). The library's lock is held. */
#ifndef ASN_CAPI_ATEN_H
#define ASN_CAPI_ATEN_H

#include <stdbool.h>

#include "asnumpy/registry.h"

typedef struct {
    const char *ufunc;      /* the table's, or NULL: the function is it. Static */
    asnp_operator function; /* NULL: the ufunc is it */
    void *context;
} asn_built_in;

/* What is built in of a name; false: nothing. */
bool asn_capi_built_in(const char *name, asn_built_in *out);

enum { ASN_ATEN_NAME = 64 };
/* "aten::add" of "aten::add.Tensor", into `plain`; NULL: the name has no such end, or is
 * longer than `plain`. */
const char *asn_capi_aten_plain(const char *name, char plain[ASN_ATEN_NAME]);

#endif
