/* CPU device, collective communication: communicators made of others.
 *
 * The ranks know each other's addresses, and their endpoints still listen: only links are
 * made. What tells one sub-communicator's links from another's is the key, which every
 * member computes alike.
 */
#include "device/hccl/internal.h"

#include <stdio.h>

/* A key that all members compute alike, and members of other splits do not. */
static uint64_t mix(uint64_t key, uint64_t value) {
    key = (key ^ value) * 0x9e3779b97f4a7c15;
    return key ^ key >> 29;
}

/* Each listed rank exists and is listed once, and the caller is among them. */
static HcclResult check_ranks(const hccl_comm *c, uint32_t count, const uint32_t *ids,
                              uint32_t own) {
    if (count == 0 || count > c->size || own >= count)
        return hccl_fail(HCCL_E_PARA,
                         "HcclCreateSubCommConfig: rank %u of %u ranks; the communicator "
                         "has %u",
                         own, count, c->size);
    if (ids[own] != c->rank)
        return hccl_fail(HCCL_E_PARA,
                         "HcclCreateSubCommConfig: rankIds[%u] is %u; the own rank is %u",
                         own, ids[own], c->rank);
    for (uint32_t i = 0; i < count; i++) {
        bool again = false;
        for (uint32_t j = 0; j < i; j++)
            again |= ids[j] == ids[i];
        if (ids[i] >= c->size || again)
            return hccl_fail(HCCL_E_PARA,
                             "HcclCreateSubCommConfig: rankIds[%u] is %u, which %s", i,
                             ids[i], again ? "is there twice" : "is no rank");
    }
    return HCCL_SUCCESS;
}

/* No rendezvous: members know each other's addresses from the communicator that is
 * split. */
static HcclResult sub_make(hccl_comm *c, uint32_t count, const uint32_t *ids, uint64_t id,
                           uint32_t own, hccl_options *options, HcclComm *out) {
    hccl_address *addresses = asn_malloc(count * sizeof *addresses);
    if (addresses == NULL)
        return hccl_fail(HCCL_E_MEMORY, "HcclCreateSubCommConfig: no memory for %u ranks",
                         count);
    uint64_t key = mix(c->key, id);
    for (uint32_t i = 0; i < count; i++) {
        addresses[i] = c->addresses[ids[i]];
        key = mix(key, ids[i]);
    }
    if (options->name[0] == 0)
        snprintf(options->name, sizeof options->name, "%.96s_sub_%llu", c->name,
                 (unsigned long long)id);
    int64_t seconds = hccl_seconds("HCCL_CONNECT_TIMEOUT", 120);
    return hccl_comm_connect(key, count, own, addresses, hccl_endpoint_share(c->endpoint),
                             options, hccl_now() + seconds * 1000000000, out);
}

/* A communicator of some ranks of `comm`, which each of them asks for with the same
 * rankIds (the members in their new order) and subCommId (one of its own for each). */
ASN_API HcclResult HcclCreateSubCommConfig(HcclComm *comm, uint32_t rankNum,
                                           uint32_t *rankIds, uint64_t subCommId,
                                           uint32_t subCommRankId, HcclCommConfig *config,
                                           HcclComm *subComm) {
    HcclResult code = HCCL_SUCCESS;
    hccl_options options;
    HCCL_CHECK_NOT_NULL("HcclCreateSubCommConfig", comm);
    HCCL_CHECK_NOT_NULL("HcclCreateSubCommConfig", rankIds);
    HCCL_CHECK_NOT_NULL("HcclCreateSubCommConfig", config);
    HCCL_CHECK_NOT_NULL("HcclCreateSubCommConfig", subComm);
    HCCL_TRY(hccl_options_get("HcclCreateSubCommConfig", config, &options));
    hccl_comm *c = hccl_comm_get("HcclCreateSubCommConfig", *comm, &code);
    if (c == NULL) return code;
    code = check_ranks(c, rankNum, rankIds, subCommRankId);
    if (code == HCCL_SUCCESS)
        code = sub_make(c, rankNum, rankIds, subCommId, subCommRankId, &options, subComm);
    hccl_comm_release(c);
    return code;
}
