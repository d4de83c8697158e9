/* CPU device, operators: a barrier of a group on the stream (see joined.h).
 *
 * xRef is there for the order of operations in the program; nobody reads or writes it. */
#include "device/opapi/joined/joined.h"

typedef struct {
    asnd_plan_head head;
    uint32_t ranks, rank;
} barrier_plan;

/* Nobody has the bytes of all ranks before all have come. */
static asn_status barrier_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    barrier_plan *p = plan;
    uint8_t *all = asn_tmp_alloc(tmp, (size_t)p->ranks + 1);
    if (all == NULL) return ASN_ERR_MEMORY;
    all[p->ranks] = 1;
    return asn_join_call(e, ASNRT_ALL_GATHER, ASN_U8, all + p->ranks, all, 1);
}

asn_status asn_planner_barrier(asnd_call *c) {
    barrier_plan p = {.ranks = 0};
    int64_t size = asn_call_int(c, asn_call_param_named(c, "worldSize"));
    ASN_TRY(asn_join_reserved(c));
    ASN_TRY(asn_join_group(c, "group", &p.ranks, &p.rank));
    if (size != p.ranks)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: worldSize is %lld; the group has %u ranks", c->op->name,
                             (long long)size, p.ranks);
    return asn_call_keep(c, barrier_body, &p, sizeof p, 1000);
}
