/* CPU device, collective communication: what operators call (groups in asnrt.h).
 *
 * An operator that joins a product with communication is one task of its stream. Its
 * place in the order of the communicator's calls is a turn as HCCL's own calls have it,
 * so that both kinds may be mixed on any streams. It communicates as often as it wants
 * while it has the turn; what fails breaks the communicator, as it does for a call.
 */
#include "device/hccl/internal.h"

/* One launch of an operator. */
typedef struct {
    hccl_turn turn;
    hccl_comm *comm;
} place;

/* asnrtGroups.find: a communicator by its name, or NULL. */
static void *group_find(const char *name, uint32_t *size, uint32_t *rank) {
    hccl_comm *c = hccl_comm_named(name);
    if (c == NULL) return NULL;
    *size = c->size;
    *rank = c->rank;
    return c;
}

/* asnrtGroups.release: the name's reference goes. */
static void group_release(void *group) {
    hccl_comm_release(group);
}

/* asnrtGroups.place: takes a turn of the communicator, which lives as long. */
static void *group_place(void *group) {
    place *p = asn_malloc(sizeof *p);
    if (p == NULL) {
        (void)hccl_fail(HCCL_E_MEMORY, "no memory for a call of a communicator");
        return NULL;
    }
    *p = (place){{NULL, false}, group};
    atomic_fetch_add(&p->comm->references, 1);
    hccl_turn_take(p->comm, &p->turn);
    return p;
}

/* asnrtGroups.wait: until calls that came before have ended. */
static void group_wait(void *at) {
    place *p = at;
    hccl_turn_wait(p->comm, &p->turn);
}

/* The dtypes that both interfaces have; HCCL_DATA_TYPE_RESERVED: the others. */
static HcclDataType hccl_dtype_of(int32_t acl) {
    switch (acl) {
    case ACL_FLOAT: return HCCL_DATA_TYPE_FP32;
    case ACL_FLOAT16: return HCCL_DATA_TYPE_FP16;
    case ACL_BF16: return HCCL_DATA_TYPE_BFP16;
    case ACL_DOUBLE: return HCCL_DATA_TYPE_FP64;
    case ACL_INT8: return HCCL_DATA_TYPE_INT8;
    case ACL_INT16: return HCCL_DATA_TYPE_INT16;
    case ACL_INT32: return HCCL_DATA_TYPE_INT32;
    case ACL_INT64: return HCCL_DATA_TYPE_INT64;
    case ACL_UINT8: return HCCL_DATA_TYPE_UINT8;
    default: return HCCL_DATA_TYPE_RESERVED;
    }
}

static HcclResult do_call(place *p, const char *function, const asnrtGroupCall *call) {
    static const hccl_kind kinds[] = {
        [ASNRT_ALL_REDUCE] = HCCL_KIND_ALL_REDUCE,
        [ASNRT_ALL_GATHER] = HCCL_KIND_ALL_GATHER,
        [ASNRT_REDUCE_SCATTER] = HCCL_KIND_REDUCE_SCATTER,
        [ASNRT_ALL_TO_ALL] = HCCL_KIND_ALL_TO_ALL,
    };
    HcclDataType dtype = hccl_dtype_of(call->dtype);
    HcclResult code = (HcclResult)atomic_load(&p->comm->error);
    if (code != HCCL_SUCCESS)
        return hccl_fail(code, "communicator %s failed before", p->comm->name);
    if (dtype == HCCL_DATA_TYPE_RESERVED)
        return hccl_fail(HCCL_E_PARA, "dtype %d is not communicated", call->dtype);
    size_t unit = hccl_dtype_size(dtype);
    hccl_call c = {.function = function,
                   .kind = kinds[call->kind],
                   .from = call->from,
                   .to = call->to,
                   .count = call->count,
                   .unit = unit,
                   .recv_unit = unit,
                   .dtype = dtype,
                   .op = HCCL_REDUCE_SUM,
                   /* Of all-to-all; borrowed. */
                   .send_counts = call->sends,
                   .send_at = call->sends_at,
                   .recv_counts = call->receives,
                   .recv_at = call->receives_at};
    p->comm->patience = 0; /* it is the stream's thread, which may sleep */
    return hccl_do_call(p->comm, &c);
}

/* A rank that is alone leaves nobody waiting, and has no streams of bytes to lose. */
static void break_for_others(place *p, HcclResult code) {
    if (p->comm->size > 1) hccl_comm_break(p->comm, code);
}

/* asnrtGroups.call: a failure here ends the call for the other ranks, too. */
static int32_t group_call(void *at, const char *function, const asnrtGroupCall *call) {
    place *p = at;
    HcclResult code = do_call(p, function, call);
    if (code == HCCL_SUCCESS) return 0;
    const char *text = aclGetRecentErrMsg();
    int32_t result = asnrtFail(ACL_ERROR_RT_FAILURE, "%s (%s)", text ? text : "failed",
                               HcclGetErrorString(code));
    break_for_others(p, code);
    return result;
}

/* An operator that failed before it communicated leaves the others waiting for it. */
static void group_leave(void *at, bool failed) {
    place *p = at;
    if (failed) break_for_others(p, HCCL_E_UNAVAIL);
    hccl_turn_end(p->comm, &p->turn);
    hccl_comm_release(p->comm);
    asn_free(p);
}

/* The operators' library finds communicators through the runtime, not through this one.
 */
__attribute__((constructor)) static void offer_groups(void) {
    static const asnrtGroups groups = {group_find, group_release, group_place,
                                       group_wait, group_call,    group_leave};
    asnrtGroupsUse(&groups);
}
