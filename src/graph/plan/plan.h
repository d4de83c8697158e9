/* L2 graph: planning: which recorded nodes become one program, and what each program
 * loads, keeps in registers and stores. */
#ifndef ASN_GRAPH_PLAN_PLAN_H
#define ASN_GRAPH_PLAN_PLAN_H

#include "graph/trace/trace.h"
#include "graph/plan/handles.h"

/* Why a program could not take in the next node: for asn_explain. */
typedef enum {
    ASN_CUT_END,
    ASN_CUT_SHAPE,
    ASN_CUT_OVERLAP,
    ASN_CUT_REDUCTION,
    ASN_CUT_ORDER,
    ASN_CUT_LIMIT
} asn_cut;

/* Where an operand of a program comes from: reference `slot` (0 = out, 1.. = in) of node
 * `node`. */
typedef struct {
    uint8_t node, slot;
} asn_source;

/* Copies that write the slabs of an array along an axis, in order. */
enum { ASN_MAX_PIECES = 3 };
typedef struct {
    uint8_t operand, axis, num, node[ASN_MAX_PIECES];
} asn_pieces;

/* One program of a plan; what it needs of nodes is by their number. */
typedef struct {
    uint32_t serial; /* of no other program in the life of the process */
    int num_in, num_out, num_instrs, num_regs, num_nodes;
    uint64_t reduce_mask;
    asn_handles handles; /* owns */
    aclnnxInstr instrs[ACLNNX_MAX_INSTRS];
    asn_source operands[ACLNNX_MAX_OPERANDS]; /* inputs, then outputs */
    uint8_t nodes[ASN_TRACE_MAX_NODES];       /* the nodes computed here, in order */
    asn_cut cut;
    uint32_t read_soon; /* operands: outputs that later programs of the plan read */
    int num_forwards;   /* inputs that are read where their pieces lie */
    asn_pieces forwards[ACLNNX_MAX_OPERANDS];
} asn_program;

/* A node, or a box of its iteration space (plan_cut.c). */
enum { ASN_SLICE_DIMS = 4 };
typedef struct {
    uint8_t node;
    bool cut; /* false: all of the node; what follows is not set */
    int64_t start[ASN_SLICE_DIMS], shape[ASN_SLICE_DIMS];
} asn_slice;

/* With slices, nodes are numbered as they are, everywhere but in `last`. */
typedef struct {
    int num_programs, num_slices;
    asn_slice *slices; /* owns; NULL: the trace's own nodes */
    /* per node of the trace: the program after which nothing needs it; or NEVER */
    uint8_t last[ASN_TRACE_MAX_NODES];
    uint8_t group_of[ASN_TRACE_MAX_NODES];
    bool forwarded[ASN_TRACE_MAX_NODES]; /* copies that do not run (plan_forward.c) */
    asn_program *programs;               /* owns */
} asn_plan;

enum { ASN_PLAN_NEVER = 255 };

/* The place of an operand. */
static inline const asn_ref *asn_program_ref(const asn_program *p, const asn_node *nodes,
                                             int operand) {
    const asn_node *node = &nodes[p->operands[operand].node];
    int slot = operand < p->num_in ? p->operands[operand].slot : 0;
    return slot ? &node->in[slot - 1] : &node->out;
}

/* Plans nodes[0..count). `dead` [i]: nobody but the trace can read the buffer that node i
 * writes. fuse false: one node a program. Depends on nothing but its arguments, so that
 * plans can be cached by structure. */
ASN_CHECK_RESULT asn_status asn_plan_make(asn_plan *plan, const asn_node *nodes,
                                          int count, const bool *dead, bool fuse);
void asn_plan_fini(asn_plan *plan);

/* A cached plan of equal structure (borrowed until the next call), or a new one. */
ASN_CHECK_RESULT asn_status asn_plan_get(asn_plan **plan, const asn_node *nodes,
                                         int count, const bool *dead, bool *hit);
/* Forgets all cached plans, and lets go of their handles on the device. */
void asn_plan_forget(void);

#endif
