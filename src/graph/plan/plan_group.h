/* L2 graph, private to planning: the grouping of a trace's nodes into programs. */
#ifndef ASN_GRAPH_PLAN_PLAN_GROUP_H
#define ASN_GRAPH_PLAN_PLAN_GROUP_H

#include "graph/plan/plan.h"

/* A program while nodes are being distributed. */
typedef struct {
    int first;            /* a node of it, for the shape */
    int operands, instrs; /* upper bounds */
    uint64_t reduce_mask;
    asn_cut cut;
} asn_group;

/* Fills plan->group_of and as many entries of `groups` as it returns; room for
 * ASN_TRACE_MAX_NODES. Without `fuse` every node is a program of its own. Copies that
 * plan->forwarded says do not run keep nobody apart. */
int asn_plan_group_nodes(asn_plan *plan, asn_group *groups, const asn_node *nodes,
                         int count, const bool *dead, bool fuse);

/* Whether node `at`'s result must reach memory. */
bool asn_plan_must_store(const asn_plan *plan, const asn_node *nodes, int count,
                         const bool *dead, int at);

/* Whether two references of nodes of one shape (that of `node`) read the same value: the
 * same place, or equal immediates. */
bool asn_refs_same_value(const asn_node *node, const asn_ref *x, const asn_ref *y);

/* Whether reference x of node a and y of node b share bytes. */
bool asn_refs_overlap(const asn_node *a, const asn_ref *x, const asn_node *b,
                      const asn_ref *y);

#endif
