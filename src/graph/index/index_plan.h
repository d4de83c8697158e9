/* L2 graph: turning index items into a plan: a basic view, and what is left to gather or
 * scatter. */
#ifndef ASN_GRAPH_INDEX_INDEX_PLAN_H
#define ASN_GRAPH_INDEX_INDEX_PLAN_H

#include "graph/index/index.h"
#include "graph/device/operator.h"

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

/* *p for a[items]; whoever makes it ends it. IndexError, as NumPy's. Waits for masks'
 * values, for those of other arrays not. The lock is held where there are arrays. */
ASN_CHECK_RESULT asn_status asn_index_plan_make(asn_index_plan *p, const asn_array *a,
                                                int n, const asn_index_item *items);
void asn_index_plan_fini(asn_index_plan *p);

/* After a failed gather or scatter: IndexError naming the first index out of bounds, or
 * ASN_OK if all are within. */
ASN_CHECK_RESULT asn_status asn_index_plan_check(const asn_index_plan *p);

/* ---- what reading (index.c) and writing (index_set.c) share */

/* The arrays as a list for an operator. */
ASN_CHECK_RESULT asn_status asn_index_plan_tensors(const asn_index_plan *p,
                                                   aclTensorList **out);
/* The arrays' shape, then the base's axes that no array addresses. */
int asn_index_plan_shape(const asn_index_plan *p, int64_t *shape);
/* perm such that axis i of the result is axis perm[i] of (arrays' shape, rest). */
void asn_index_plan_placement(const asn_index_plan *p, int ndim, int *perm);
/* The device's complaint about an index becomes NumPy's IndexError. Without memory the
 * indices themselves may not have been computed. */
ASN_CHECK_RESULT asn_status asn_index_plan_failure(const asn_index_plan *p,
                                                   asn_status status);
/* The true elements of a mask; waits for them. */
ASN_CHECK_RESULT asn_status asn_index_count_true(const asn_array *mask, int64_t *n);

static inline bool asn_index_holds_array(const asn_index_item *item) {
    return item->kind == ASN_INDEX_ARRAY || item->kind == ASN_INDEX_MASK;
}
/* One mask over all axes. */
static inline bool asn_index_is_full_mask(const asn_array *a, int n,
                                          const asn_index_item *items) {
    return n == 1 && items[0].kind == ASN_INDEX_MASK && a->layout.ndim > 0 &&
           asn_layout_same_shape(&a->layout, &items[0].array->layout);
}

#endif
