/* L2 graph: running planned programs and single nodes on the device. */
#ifndef ASN_GRAPH_PLAN_LAUNCH_H
#define ASN_GRAPH_PLAN_LAUNCH_H

#include "graph/plan/plan.h"

/* Storage for the outputs, then one fused call. forwarded: of the plan, and results may
 * take the memory of operands that die (reuse.h); NULL: they may not. */
ASN_CHECK_RESULT asn_status asn_launch_program(asn_program *p, const asn_node *nodes,
                                               const bool *forwarded);
/* The same over some rows of the first axis. Operands whose bit is set in `fixed` do not
 * move with them, or only round a ring of so many rows, which the band does not leave. */
typedef struct {
    int64_t start, rows, ring;
    uint32_t fixed;
} asn_band;
ASN_CHECK_RESULT asn_status asn_launch_band(asn_program *p, const asn_node *nodes,
                                            const asn_band *band);
/* One node: as a fused program of its own, or (fusion off) through CANN's single
 * operators. */
ASN_CHECK_RESULT asn_status asn_launch_node(const asn_node *node);
/* Through single aclnn operators only (lower.c); what none computes by the fused operator
 * or the host. */
ASN_CHECK_RESULT asn_status asn_lower_node(const asn_node *node);
/* A node as a one-operation fused program. */
ASN_CHECK_RESULT asn_status asn_fuse_node(const asn_node *node);

#endif
