/* L2 graph: bool arrays over bytes that are no truth values. */
#ifndef ASN_GRAPH_UFUNC_TRUTH_H
#define ASN_GRAPH_UFUNC_TRUTH_H

#include "graph/array.h"

/* Whether `a` is one. */
static inline bool asn_is_noncanonical(const asn_array *a) {
    return (a->layout.flags & ASN_NONCANONICAL) != 0;
}

/* Its truth values as a new array: 1 for every byte but 0. */
ASN_CHECK_RESULT asn_status asn_truth_clean(asn_array *clean, const asn_array *a);

/* At the start of a function: where `a` is non-canonical, the function's own `call` on
 * its truth values, `clean`. */
#define ASN_TRUTH_OF(a, call)                                                            \
    if (__builtin_expect(asn_is_noncanonical(a), 0)) {                                   \
        asn_array clean;                                                                 \
        ASN_TRY(asn_truth_clean(&clean, a));                                             \
        asn_status done_ = call;                                                         \
        asn_array_fini(&clean);                                                          \
        return done_;                                                                    \
    }
/* `result` has a's bytes: it is non-canonical where a is. */
static inline void asn_truth_follow(asn_array *result, const asn_array *a) {
    result->layout.flags |= a->layout.flags & ASN_NONCANONICAL;
}

/* Marks an array just made of host bytes when they are not all 0 or 1; `first` is the
 * host address of element (0, ..., 0), strides are the host's. Nothing for another dtype
 * than bool. */
void asn_truth_mark(asn_array *a, const char *first, const int64_t *strides);

#endif
