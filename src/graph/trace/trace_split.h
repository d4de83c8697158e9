/* L2 graph, private to the trace: where to end a full one. */
#ifndef ASN_GRAPH_TRACE_TRACE_SPLIT_H
#define ASN_GRAPH_TRACE_TRACE_SPLIT_H

#include "graph/trace/trace.h"

/* How many of the oldest nodes to run when there is no room for another. Lock held. */
int asn_trace_split(const asn_trace *t);
/* How many to run first when all shall run: all, unless they are more than a program
 * holds and less than half as much crosses that end of a part as is alive at most. Lock
 * held. */
int asn_trace_part(const asn_trace *t);

/* After finding the nodes that write buffers nobody but the trace holds: a buffer that a
 * node from `count` on touches is none. Lock held. */
void asn_trace_spare_rest(const asn_trace *t, int count, bool *dead);

#endif
