/* L2 graph: casts whose result nobody reads. */
#ifndef ASN_GRAPH_TRACE_UNREAD_H
#define ASN_GRAPH_TRACE_UNREAD_H

#include "graph/trace/trace.h"

/* Takes `dead` from those of the first `count` nodes that have to run because of the
 * floating-point exceptions that NumPy would report. */
void asn_unread_casts(const asn_node *nodes, int count, bool *dead);

#endif
