/* L2 graph, private to planning: in which order nodes walk memory. */
#ifndef ASN_GRAPH_PLAN_PLAN_ORDER_H
#define ASN_GRAPH_PLAN_PLAN_ORDER_H

#include "graph/trace/trace.h"

/* Whether two nodes of one shape, each alone, order their dimensions alike. */
bool asn_nodes_walk_alike(const asn_node *a, const asn_node *b);

/* Whether the results of two nodes of one shape lie in memory in orders of which no walk
 * follows both. */
bool asn_results_cross(const asn_node *a, const asn_node *b);

#endif
