/* CPU device, operators: an operator inside another one's plan (see inner.h). */
#include "device/opapi/core/inner.h"

#include <string.h>

/* num_operands stays: what lies behind it is seen by bodies alone. */
int asn_inner_room(asnd_call *c, int count) {
    aclOpExecutor *e = c->e;
    size_t had = e->num_operands * sizeof *e->operands;
    asnd_operand *more =
        asnop_executor_alloc(e, had + (size_t)count * sizeof *e->operands);
    if (more == NULL) {
        (void)asn_call_no_memory();
        return -1;
    }
    memcpy(more, e->operands, had);
    memset(more + e->num_operands, 0, (size_t)count * sizeof *more);
    e->operands = more;
    return (int)e->num_operands;
}

asn_status asn_inner_operand(asnd_call *c, int at, asn_dtype dtype, int ndim,
                             const int64_t *shape) {
    asnd_operand *o = &c->e->operands[at];
    int64_t *dims =
        asnop_executor_alloc(c->e, 2 * (size_t)(ndim > 0 ? ndim : 1) * sizeof *dims);
    if (dims == NULL) return asn_call_no_memory();
    int64_t step = asn_itemsize(dtype);
    *o = (asnd_operand){.nd = {NULL, ndim, dtype, dims, dims + ndim}};
    for (int d = ndim - 1; d >= 0; d--) {
        dims[d] = shape[d];
        dims[ndim + d] = step;
        step *= shape[d];
        o->is_empty |= shape[d] == 0;
    }
    return ASN_OK;
}

/* The executor's fields are the inner operator's for the time of its planning. */
asn_status asn_inner_plan(asnd_call *c, const asnd_opdesc *op, const asnd_arg *args,
                          const int *operands, asnd_inner *inner) {
    asnd_call in = {.op = op, .args = args, .e = c->e, .moved = -1};
    for (int i = 0; i < op->num_params; i++)
        in.first[i] = (int16_t)operands[i];
    c->e->body = NULL;
    c->e->plan = NULL;
    c->e->work_ns = 0;
    ASN_TRY(op->plan(&in));
    *inner = (asnd_inner){c->e->body, c->e->plan, c->e->work_ns};
    c->e->body = NULL;
    return ASN_OK;
}

/* A body finds its plan in the executor, so it is put there, and the outer one back. */
asn_status asn_inner_run(aclOpExecutor *e, const asnd_inner *inner) {
    if (inner->body == NULL) return ASN_OK;
    void *outer = e->plan;
    e->plan = inner->plan;
    asn_status status = inner->body(e);
    e->plan = outer;
    return status;
}
