/* L2 graph: turning index items into a plan: a basic view, and what is left to gather or
 * scatter. */
#ifndef ASN_GRAPH_INDEX_PLAN_H
#define ASN_GRAPH_INDEX_PLAN_H

#include "graph/index.h"

typedef struct {
    /* All basic items applied; the axes that index arrays address lead, in the order of
     * their arrays, and the others follow. */
    asn_array base;
    int num_arrays;                  /* 0: the plan is the view itself */
    asn_array arrays[ASN_MAX_DIMS];  /* int64, broadcast to one shape */
    int original_axis[ASN_MAX_DIMS]; /* of each array, in the indexed array: for messages
                                      */
    int ndim;                        /* of the arrays' common shape */
    int64_t shape[ASN_MAX_DIMS];
    int insert_at; /* axis of the result where that shape belongs; 0: in front */
} asn_index_plan;

ASN_CHECK_RESULT asn_status asn_index_plan_make(asn_index_plan *p, const asn_array *a,
                                                int n, const asn_index_item *items);
void asn_index_plan_fini(asn_index_plan *p);

/* After a failed gather or scatter: IndexError naming the first index out of bounds, or
 * ASN_OK if all are within. */
ASN_CHECK_RESULT asn_status asn_index_plan_check(const asn_index_plan *p);

#endif
