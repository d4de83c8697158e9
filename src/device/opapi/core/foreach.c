/* CPU device, operators: Foreach..., an elementwise expression for each place of some
 * lists.
 *
 * Each place is planned like a call of its own: a list parameter then stands for its
 * member there. The plans are kept side by side and run one after the other, each with
 * the threads it wants. A place without elements has no body and is passed over.
 */
#include "device/opapi/core/plan.h"

/* One body and plan for each place of the lists. */
typedef struct {
    asnd_plan_head head;
    int count;
    struct {
        asn_status (*body)(aclOpExecutor *e);
        void *plan;
    } calls[];
} foreach_plan;

/* The bodies find their plan in the executor, so it is put there for each, and this one
 * back for the next run. */
static asn_status foreach_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    foreach_plan *p = plan;
    asn_status status = ASN_OK;
    for (int k = 0; k < p->count && status == ASN_OK; k++) {
        if (p->calls[k].body == NULL) continue; /* nothing to compute here */
        e->plan = p->calls[k].plan;
        status = p->calls[k].body(e);
    }
    e->plan = p;
    return status;
}

/* The parameter is a list of tensors. */
static bool is_list(const asnd_param *p) {
    return p->kind == ASN_LIST_IN || p->kind == ASN_LIST_OUT;
}

/* Plans every place as this expression: lists are of one length. c->first[] of lists
 * moves to the next member after each place; nothing reads it afterwards. */
static asn_status plan_each(asnd_call *c, const asnd_ew *ew) {
    uint64_t count = asn_call_array(c, 0)->size;
    for (int i = 1; i < c->op->num_params; i++)
        if (is_list(&c->op->params[i]) && asn_call_array(c, i)->size != count)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s has %llu tensors, %s %llu",
                                 c->op->name, c->op->params[0].name,
                                 (unsigned long long)count, c->op->params[i].name,
                                 (unsigned long long)asn_call_array(c, i)->size);
    for (uint32_t i = 0; i < c->e->num_operands; i++)
        if (c->e->operands[i].is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: a list has a NULL member",
                                 c->op->name);
    foreach_plan *p = asnop_executor_alloc(c->e, sizeof *p + count * sizeof *p->calls);
    if (p == NULL) return asn_call_no_memory();
    /* The executor's fields are each place's for the time of its planning. */
    double work = 0;
    p->count = (int)count;
    for (uint64_t k = 0; k < count; k++) {
        c->e->body = NULL;
        c->e->work_ns = 0;
        ASN_TRY(asn_ew_plan(c, ew));
        p->calls[k].body = c->e->body;
        p->calls[k].plan = c->e->plan;
        work += c->e->work_ns;
        for (int i = 0; i < c->op->num_params; i++)
            if (is_list(&c->op->params[i])) c->first[i]++;
    }
    return asn_call_adopt(c, foreach_body, &p->head, work);
}

asn_status asn_planner_foreach(asnd_call *c) {
    return plan_each(c, c->op->detail);
}

/* ForeachRoundOffNumberV2(x, roundMode, out): the expressions are those of the modes
 * below; integers are whole. */
asn_status asn_planner_foreach_round(asnd_call *c) {
    static const int8_t of_mode[] = {-1, 0, 1, 2, 3, 4, -1, 5};
    enum { COPY = 6, NOTHING, FRACTION = 7 };
    const asnd_ew *ews = c->op->detail;
    double mode;
    ASN_TRY(asn_call_number(c, 1, &mode));
    int at = mode >= 0 && mode <= FRACTION ? of_mode[(int)mode] : -1;
    if (at < 0 || mode != (double)(int)mode)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: roundMode is %g; it must be 1 (halves to even), 2 "
            "(floor), 3 (ceil), 4 (halves away from 0), 5 (towards 0) or "
            "7 (the fraction)",
            c->op->name, mode);
    if (asn_call_array(c, 0)->size > 0 && c->e->num_operands > 0 &&
        asn_is_integer(c->e->operands[c->first[0]].nd.dtype))
        at = mode == FRACTION ? NOTHING : COPY;
    return plan_each(c, &ews[at]);
}
