/* L2 graph, private to planning and launching: inputs that are read where their pieces
 * lie. */
#ifndef ASN_GRAPH_PLAN_FORWARD_H
#define ASN_GRAPH_PLAN_FORWARD_H

#include "graph/plan.h"

/* Finds the copies that need not run, after grouping: sets plan->forwarded. */
void asn_plan_forward(asn_plan *plan, const asn_node *nodes, int count, const bool *dead);

/* The nodes that write `ref`, which node `reader` reads, slab after slab of one axis;
 * false: it is not put together like that. */
bool asn_plan_pieces(asn_pieces *pieces, const asn_node *nodes, int count, int reader,
                     const asn_ref *ref);

#endif
