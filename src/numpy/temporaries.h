/* L2 numpy: the arrays that a composed function makes on its way to its result, released
 * together when it returns, however it does.
 *
 *     ASN_TEMPORARIES;
 *     ASN_MAKE(order, asn_argsort(order, key, 0));
 *     return asn_index_get(result, key, ...);
 */
#ifndef ASN_NUMPY_TEMPORARIES_H
#define ASN_NUMPY_TEMPORARIES_H

#include "graph/array.h"

enum { ASN_NP_TEMPORARIES = ASN_MAX_DIMS + 8 };
/* The arrays made so far; as many as an index of a's dimensions needs, and a few more. */
typedef struct {
    int count;
    asn_array made[ASN_NP_TEMPORARIES];
} asn_np_temporaries;

/* Ends them, the last one first. */
static inline void asn_np_release(asn_np_temporaries *t) {
    while (t->count)
        asn_array_fini(&t->made[--t->count]);
}

/* Declares them, to be ended when the function is left. */
#define ASN_TEMPORARIES                                                                  \
    __attribute__((cleanup(asn_np_release))) asn_np_temporaries temporaries_;            \
    temporaries_.count = 0

/* The array `name`, made by `call`; returns early where it fails. */
#define ASN_MAKE(name, call)                                                             \
    asn_array *const name = &temporaries_.made[temporaries_.count];                      \
    ASN_TRY(call);                                                                       \
    temporaries_.count++

#endif
