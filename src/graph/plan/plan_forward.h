/* L2 graph, private to planning and launching: inputs that are read where their pieces
 * lie. */
#ifndef ASN_GRAPH_PLAN_PLAN_FORWARD_H
#define ASN_GRAPH_PLAN_PLAN_FORWARD_H

#include "graph/plan/plan.h"

/* Finds the copies that need not run, after grouping: sets plan->forwarded; false: there
 * are none. `regroups`: also those whose readers share a program with a reduction, which
 * another grouping has to keep apart. */
bool asn_plan_forward(asn_plan *plan, const asn_node *nodes, int count, const bool *dead,
                      bool regroups);

/* Whether they need not run in another grouping either. */
bool asn_plan_forwards_hold(const asn_plan *plan, const asn_node *nodes, int count,
                            const bool *dead);

/* The nodes that write `ref`, which node `reader` reads, slab after slab of one axis;
 * false: it is not put together like that. */
bool asn_plan_pieces(asn_pieces *pieces, const asn_node *nodes, int count, int reader,
                     const asn_ref *ref);

#endif
