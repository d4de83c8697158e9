/* L2 graph: running planned programs and single nodes on the device. */
#ifndef ASN_GRAPH_PLAN_LAUNCH_H
#define ASN_GRAPH_PLAN_LAUNCH_H

#include "graph/plan/plan.h"

/* True when the device has the fused operator and ASNUMPY_FUSE is not 0. The device is
 * open. */
bool asn_fuse_enabled(void);

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

/* Opcodes of this device for the table's operations, looked up once; ACLNNX_NO_REDUCE: it
 * has no such operation. The device, or the host's in its place, is open. */
uint16_t asn_device_opcode(uint16_t op);

/* Floating-point exceptions: where programs report to, NULL when nobody asks; names the
 * operation that raised them, if any are new. */
uint32_t *asn_fp_sink(void);
void asn_fp_note(const char *name);
/* Adds exceptions that an operation raised. */
void asn_fp_meet(uint32_t met, const char *name);

/* Since the process began: nodes recorded, operations run at once, launches of programs
 * and of single operators, plans found and made, operations that fell back. */
extern struct asn_counters {
    uint64_t recorded, eager, programs, single_ops, plan_hits, plan_misses, fallbacks;
} asn_counters;

#endif
