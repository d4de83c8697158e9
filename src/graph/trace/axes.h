/* L2 graph: the order in which a recorded operation names its axes (axes.c). */
#ifndef ASN_GRAPH_TRACE_AXES_H
#define ASN_GRAPH_TRACE_AXES_H

#include "graph/trace/trace.h"

/* Puts a draft's axes into the order of the recorded operation that writes what it reads,
 * so that the two may share a program. Lock held. */
void asn_draft_follow(asn_draft *d);

#endif
