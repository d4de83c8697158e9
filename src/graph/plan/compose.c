/* L2 graph: a node as the steps of its row's composition (see compose.h).
 *
 * A step is a node over the same iteration space. What lies between steps is fresh,
 * row-major memory of the pool; the last step writes the node's own output. Halves are
 * computed in float32, and rounded by the last step.
 *
 * It is the slowest way: a launch for each step. The fused operator has these operations
 * itself, so only a device without it comes here. */
#include "graph/plan/compose.h"

#include <string.h>

#include "graph/device/cann.h"
#include "graph/plan/launch.h"
#include "ops/parts.h"

/* A node under way. */
typedef struct {
    const asn_node *node;
    const asn_op_parts *parts;
    asn_dtype loops[ASN_PARTS_MOST], results[ASN_PARTS_MOST];
    asn_array made[ASN_PARTS_MOST]; /* the results of the steps so far */
} composition;

/* A number of the composition as an immediate of a step's dtype. */
static asn_status number_ref(const composition *c, int which, asn_dtype dtype,
                             asn_ref *ref) {
    asn_scalar value = {.dtype = ASN_F64}, number;
    memcpy(value.bytes, &c->parts->numbers[which], sizeof(double));
    ASN_TRY(asn_scalar_cast(&value, dtype, &number));
    *ref = (asn_ref){.dtype = (uint8_t)dtype};
    memcpy(ref->immediate, number.bytes, sizeof ref->immediate);
    return ASN_OK;
}

/* Borrows the array's strides and buffer. */
static asn_ref array_ref(const asn_array *a) {
    return (asn_ref){.buffer = a->buffer,
                     .offset = a->layout.offset,
                     .strides = a->layout.strides,
                     .dtype = a->layout.dtype};
}

/* Operands are numbers, results of steps before, or the node's own. */
static asn_status run_step(composition *c, int s) {
    const asn_op_step *step = &c->parts->steps[s];
    const asn_op_info *row = &asn_op_table[step->op];
    bool last = s == c->parts->num_steps - 1;
    asn_node sub = *c->node;
    sub.op = step->op;
    sub.loop = (uint8_t)c->loops[s];
    sub.num_in = row->num_in;
    for (int k = 0; k < row->num_in; k++) {
        const asn_part *from = &step->from[k];
        if (from->kind == ASN_PART_NUMBER)
            ASN_TRY(number_ref(c, from->at, c->loops[s], &sub.in[k]));
        else
            sub.in[k] = from->kind == ASN_PART_STEP ? array_ref(&c->made[from->at])
                                                    : c->node->in[from->at];
    }
    if (last) return asn_lower_node(&sub);
    ASN_TRY(
        asn_array_new(&c->made[s], c->results[s], c->node->ndim, c->node->shape, 'C'));
    sub.out = array_ref(&c->made[s]);
    asn_status status = asn_lower_node(&sub);
    if (status) asn_array_fini(&c->made[s]);
    return status;
}

/* A node of halves whose output is of another dtype: the result is one of halves first.
 */
static asn_status compose_rounded(const asn_node *node) {
    bool done;
    asn_array half;
    ASN_TRY(asn_array_new(&half, (asn_dtype)node->loop, node->ndim, node->shape, 'C'));
    asn_node computes = *node, moves = *node;
    computes.out = array_ref(&half);
    moves.op = ASN_OP_COPY;
    moves.num_in = 1;
    moves.in[0] = array_ref(&half);
    asn_status status = asn_compose_node(&computes, &done);
    if (!status) status = asn_lower_node(&moves);
    asn_array_fini(&half);
    return status;
}

asn_status asn_compose_node(const asn_node *node, bool *done) {
    asn_dtype loop = (asn_dtype)node->loop;
    composition c = {.node = node, .parts = asn_op_parts_find((asn_op)node->op, loop)};
    *done = c.parts && asn_cann_place((asn_op)node->op, loop) != ASN_PLACE_CPU;
    if (!*done) return ASN_OK;
    if (asn_is_half(loop) && node->out.dtype != loop &&
        asn_op_result((asn_op)node->op, loop) == loop)
        return compose_rounded(node);
    asn_op_parts_types(c.parts, asn_is_half(loop) ? ASN_F32 : loop, c.loops, c.results);
    asn_status status = ASN_OK;
    int made = 0;
    for (; made < c.parts->num_steps && !status; made++)
        status = run_step(&c, made);
    /* The last step has made nothing; after a failure the failed one has not either. */
    for (int s = 0; s < made - 1; s++)
        asn_array_fini(&c.made[s]);
    return status;
}
