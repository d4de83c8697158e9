/* CPU device, operators: Foreach..., an operator for each place of some lists.
 *
 * Each place is planned like a call of its own: a list parameter then stands for its
 * member there, a list of scalars for its scalar, and a tensor of as many elements as
 * there are places ("scalars") for its element. The plans are kept side by side and run
 * one after the other, each with the threads it wants. A place without elements has no
 * body and is passed over.
 */
#include "device/opapi/core/plan.h"

/* One body and plan for each place of the lists. */
typedef struct {
    asnd_plan_head head;
    int count;
    int spread; /* operand whose element k is place k's; -1: there is none */
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
    asnd_nd *spread = p->spread < 0 ? NULL : &e->operands[p->spread].nd;
    char *first = spread ? spread->data : NULL;
    int64_t step = spread ? spread->strides[0] : 0;
    for (int k = 0; k < p->count && status == ASN_OK; k++) {
        if (p->calls[k].body == NULL) continue; /* nothing to compute here */
        if (spread != NULL) spread->data = first + k * step;
        e->plan = p->calls[k].plan;
        status = p->calls[k].body(e);
    }
    if (spread != NULL) spread->data = first;
    e->plan = p;
    return status;
}

/* The parameter is a list of tensors. */
static bool is_list(const asnd_param *p) {
    return p->kind == ASN_LIST_IN || p->kind == ASN_LIST_OUT || p->kind == ASN_LIST_INOUT;
}

/* The parameter that is the lists' length: lists are of one. */
static int first_list(const asnd_call *c) {
    int i = 0;
    while (!is_list(&c->op->params[i]))
        i++;
    return i;
}

static asn_status lengths_check(const asnd_call *c, int first, uint64_t count) {
    for (int i = 0; i < c->op->num_params; i++) {
        bool list = is_list(&c->op->params[i]) || c->op->params[i].kind == ASN_SCALARS;
        if (list && asn_call_array(c, i)->size != count)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s has %llu members, %s %llu",
                                 c->op->name, c->op->params[first].name,
                                 (unsigned long long)count, c->op->params[i].name,
                                 (unsigned long long)asn_call_array(c, i)->size);
    }
    for (uint32_t i = 0; i < c->e->num_operands; i++)
        if (c->e->operands[i].is_absent)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: a list has a NULL member",
                                 c->op->name);
    return ASN_OK;
}

/* Places see tensors that are no lists without dimensions: those of one element, and one
 * called "scalars", which has an element for each place. */
static asn_status spread_scalars(asnd_call *c, uint64_t count, int *operand) {
    int i = asn_call_param_named(c, "scalars");
    *operand = -1;
    for (int k = 0; k < c->op->num_params; k++)
        if (c->op->params[k].kind == ASN_IN && k != i) asn_call_one_value(c, k);
    if (i < 0 || c->op->params[i].kind != ASN_IN) return ASN_OK;
    asnd_nd *nd = &asn_call_operand(c, i)->nd;
    if (nd->ndim != 1 || nd->shape[0] != (int64_t)count)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: scalars must be a 1-d tensor of %llu elements, as the "
                             "lists have members",
                             c->op->name, (unsigned long long)count);
    nd->ndim = 0;
    *operand = c->first[i];
    return ASN_OK;
}

/* Plans every place. c->first[] of lists moves to the next member after each; nothing
 * reads it afterwards. */
static asn_status plan_each(asnd_call *c,
                            asn_status (*place)(asnd_call *c, const asnd_ew *ew),
                            const asnd_ew *ew) {
    int first = first_list(c);
    uint64_t count = asn_call_array(c, first)->size;
    ASN_TRY(lengths_check(c, first, count));
    foreach_plan *p = asnop_executor_alloc(c->e, sizeof *p + count * sizeof *p->calls);
    if (p == NULL) return asn_call_no_memory();
    ASN_TRY(spread_scalars(c, count, &p->spread));
    /* The executor's fields are each place's for the time of its planning. */
    double work = 0;
    p->count = (int)count;
    for (c->place = 0; c->place < count; c->place++) {
        c->e->body = NULL;
        c->e->work_ns = 0;
        ASN_TRY(place(c, ew));
        p->calls[c->place].body = c->e->body;
        p->calls[c->place].plan = c->e->plan;
        work += c->e->work_ns;
        for (int i = 0; i < c->op->num_params; i++)
            if (is_list(&c->op->params[i])) c->first[i]++;
    }
    return asn_call_adopt(c, foreach_body, &p->head, work);
}

asn_status asn_planner_foreach(asnd_call *c) {
    return plan_each(c, asn_ew_plan, c->op->detail);
}

static asn_status reduce_place(asnd_call *c, const asnd_ew *ew) {
    (void)ew;
    return asn_planner_reduce(c);
}

/* ForeachNorm: a norm of each tensor. arg is reduce.c's. */
asn_status asn_planner_foreach_reduce(asnd_call *c) {
    return plan_each(c, reduce_place, NULL);
}

static asn_status fill_place(asnd_call *c, const asnd_ew *ew) {
    (void)ew;
    return asn_planner_fill(c);
}

/* ForeachZeroInplace: arg is the number. */
asn_status asn_planner_foreach_fill(asnd_call *c) {
    return plan_each(c, fill_place, NULL);
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
    return plan_each(c, asn_ew_plan, &ews[at]);
}
