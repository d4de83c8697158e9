/* L2 graph: operations that are other operations on a device without an operator of their
 * own (ops/parts.h). */
#ifndef ASN_GRAPH_PLAN_COMPOSE_H
#define ASN_GRAPH_PLAN_COMPOSE_H

#include "graph/trace/trace.h"

/* Runs the node step by step, each as asn_lower_node does; *done false: the row is not
 * composed, or CANN documents no dtype for one of its steps. */
ASN_CHECK_RESULT asn_status asn_compose_node(const asn_node *node, bool *done);

#endif
