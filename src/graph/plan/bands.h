/* L2 graph: programs over one space that run together, band by band (bands.c). */
#ifndef ASN_GRAPH_PLAN_BANDS_H
#define ASN_GRAPH_PLAN_BANDS_H

#include "graph/plan/plan.h"

enum { ASN_BANDS_TOGETHER = 8 }; /* so many programs in one group */

typedef struct {
    int num;      /* of programs; 1: it runs whole, and nothing else is set */
    int64_t rows; /* of a band */
    int64_t lag[ASN_BANDS_TOGETHER],
        most; /* rows behind the first program; the largest */
} asn_bands;

/* Which programs of the plan, from `first` on, run together; fills *b. keep[i]: node i's
 * result stays recorded. Planned nodes must be whole, without slices. */
void asn_bands_find(asn_bands *b, const asn_plan *plan, const asn_node *nodes,
                    const bool *keep, int first);
/* Launches them. After a failure some bands may have run. */
ASN_CHECK_RESULT asn_status asn_bands_run(const asn_bands *b, asn_plan *plan, int first,
                                          const asn_node *nodes);

#endif
