/* L2 graph: results that their only owner is about to drop.
 *
 * In sum((a - b)**2) the square still belongs to the caller's stack while the sum is
 * computed, so a flush would store it: as much traffic as the inputs. A reader that knows
 * better names it; the flush then leaves it in registers and keeps the operations that
 * make it in the trace. When the owner drops it they are forgotten; should it be read
 * after all they run again. Naming wrongly costs time, never a value.
 */
#ifndef ASN_GRAPH_TRACE_TRANSIENT_H
#define ASN_GRAPH_TRACE_TRANSIENT_H

#include "graph/trace/trace.h"

/* Names `a`, until the next call; NULL: none. Takes the lock. */
void asn_transient_name(const asn_array *a);

/* The nodes that a flush of the trace must keep: those that make the named result, which
 * is then dead for this flush. None when there is no such result, or when running nodes
 * twice would not give the same. `keep` comes in clear. Lock held. */
bool asn_transient_keep(const asn_trace *t, bool *dead, bool *keep);

/* Forgets what an earlier flush kept for results that have been dropped since. */
void asn_transient_forget(asn_trace *t);

#endif
