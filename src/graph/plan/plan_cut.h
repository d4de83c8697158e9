/* L2 graph, private to planning and launching: nodes in slices. */
#ifndef ASN_GRAPH_PLAN_PLAN_CUT_H
#define ASN_GRAPH_PLAN_PLAN_CUT_H

#include "graph/plan/plan.h"

/* Cuts the nodes that write an array in parts, and those that share its elements, along
 * the edges of the parts: fills `slices`, in program order, with room for
 * ASN_TRACE_MAX_NODES, and returns their number; 0: there is nothing to cut. */
int asn_plan_cut(asn_slice *slices, const asn_node *nodes, int count, const bool *dead);

/* The nodes that the plan's programs number: `nodes`, or their slices, which are made in
 * `room` (of ASN_TRACE_MAX_NODES) and borrow what they point to. */
const asn_node *asn_plan_nodes(const asn_plan *plan, const asn_node *nodes,
                               asn_node *room);

#endif
