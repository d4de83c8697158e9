/* L2 graph, private to launching: results in the memory of operands that die. */
#ifndef ASN_GRAPH_PLAN_REUSE_H
#define ASN_GRAPH_PLAN_REUSE_H

#include "graph/plan/plan.h"

/* Gives outputs without memory that of inputs which this program is the last to need.
 * The inputs' addresses are no longer in their buffers then. The nodes hold their
 * references, and none of them will run again. forwarded: of the plan. Lock held. */
void asn_reuse_operands(const asn_program *p, const asn_node *nodes,
                        const bool *forwarded);

#endif
