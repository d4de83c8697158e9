/* CPU device, collective communication: messages between two ranks, barriers, groups.
 *
 * Between HcclGroupStart and HcclGroupEnd a thread's calls are kept. The end makes one
 * task per communicator and stream of them: its messages go side by side, so that a send
 * and a receive of two ranks do not wait for each other's order, then its collectives.
 * When a call of the group was wrong, none is started.
 */
#include "device/hccl/internal.h"

typedef struct {
    hccl_comm *comm; /* owns a reference */
    aclrtStream stream;
    hccl_call call;
} kept;

static _Thread_local struct {
    uint32_t depth, count, room;
    kept *calls;
    HcclResult code; /* of the first call that was wrong */
} group;

/* Only the first failure in a group counts; outside of groups nothing is noted. */
HcclResult hccl_group_failed(HcclResult code) {
    if (group.depth > 0 && group.code == HCCL_SUCCESS) group.code = code;
    return code;
}

/* Gives back what a call that is not started holds. */
static void kept_fini(kept *k) {
    hccl_call_fini(&k->call);
    hccl_comm_release(k->comm);
}

/* In a group the calls wait in the thread's list, each with a reference to its
 * communicator. */
HcclResult hccl_group_launch(hccl_comm *comm, aclrtStream stream, const hccl_call *calls,
                             uint32_t count) {
    if (group.depth == 0) return hccl_task_launch(comm, stream, calls, count);
    if (group.count + count > group.room) {
        uint32_t room = (group.count + count) * 2;
        kept *more = asn_realloc(group.calls, room * sizeof *more);
        if (more == NULL) {
            for (uint32_t i = 0; i < count; i++) {
                hccl_call copy = calls[i];
                hccl_call_fini(&copy);
            }
            hccl_comm_release(comm);
            return hccl_group_failed(
                hccl_fail(HCCL_E_MEMORY, "no memory for a group of calls"));
        }
        group.calls = more;
        group.room = room;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0) atomic_fetch_add(&comm->references, 1);
        group.calls[group.count++] = (kept){comm, stream, calls[i]};
    }
    return HCCL_SUCCESS;
}

/* Begins a group of the calling thread's calls; groups may be nested. */
ASN_API HcclResult HcclGroupStart(void) {
    group.depth++;
    return HCCL_SUCCESS;
}

/* The calls from `first` on that belong with it, messages first, become one task. */
static HcclResult launch_together(uint32_t first, hccl_call *calls) {
    hccl_comm *comm = group.calls[first].comm;
    aclrtStream stream = group.calls[first].stream;
    uint32_t n = 0;
    for (int collectives = 0; collectives < 2; collectives++) {
        for (uint32_t i = first; i < group.count; i++) {
            kept *k = &group.calls[i];
            if (k->comm != comm || k->stream != stream ||
                (k->call.kind != HCCL_KIND_P2P) != collectives)
                continue;
            calls[n++] = k->call;
        }
    }
    for (uint32_t i = first + 1; i < group.count; i++) {
        kept *k = &group.calls[i];
        if (k->comm != comm || k->stream != stream) continue;
        hccl_comm_release(comm);
        k->comm = NULL;
    }
    group.calls[first].comm = NULL;
    return hccl_task_launch(comm, stream, calls, n);
}

/* Ends it: the outermost end starts the calls of the group together. */
ASN_API HcclResult HcclGroupEnd(void) {
    if (group.depth == 0)
        return hccl_fail(HCCL_E_PARA, "HcclGroupEnd: no group was begun");
    if (--group.depth > 0) return HCCL_SUCCESS;
    HcclResult code = group.code;
    bool wrong = code != HCCL_SUCCESS;
    hccl_call *calls = wrong ? NULL : asn_malloc(group.count * sizeof *calls);
    if (wrong)
        (void)hccl_fail(code,
                        "HcclGroupEnd: a call of the group was refused (%s); none "
                        "is started",
                        HcclGetErrorString(code));
    else if (calls == NULL)
        code =
            hccl_fail(HCCL_E_MEMORY, "HcclGroupEnd: no memory for %u calls", group.count);
    for (uint32_t i = 0; i < group.count; i++) {
        if (group.calls[i].comm == NULL) continue;
        if (calls == NULL) {
            kept_fini(&group.calls[i]);
            continue;
        }
        HcclResult one = launch_together(i, calls);
        if (code == HCCL_SUCCESS) code = one;
    }
    asn_free(calls);
    asn_free(group.calls);
    group.calls = NULL;
    group.count = group.room = 0;
    group.code = HCCL_SUCCESS;
    return code;
}

/* ---- messages */

/* The call of one message; false: *code says what is wrong. */
static bool message(const char *function, const hccl_comm *c, bool sends, void *data,
                    uint64_t count, HcclDataType dtype, uint32_t rank, hccl_call *call,
                    HcclResult *code) {
    memset(call, 0, sizeof *call);
    call->function = function;
    call->kind = HCCL_KIND_P2P;
    call->sends = sends;
    call->from = data;
    call->to = data;
    call->count = count;
    call->unit = hccl_dtype_size(dtype);
    call->peer = rank;
    *code = HCCL_SUCCESS;
    if (call->unit == 0 || count > INT64_MAX / 32)
        *code = hccl_fail(HCCL_E_PARA, "%s: %llu elements of data type %d", function,
                          (unsigned long long)count, (int)dtype);
    else if (rank >= c->size)
        *code = hccl_fail(HCCL_E_PARA, "%s: rank %u; the communicator has %u ranks",
                          function, rank, c->size);
    else if (data == NULL && count > 0)
        *code = hccl_fail(HCCL_E_PTR, "%s: the buffer is NULL", function);
    return *code == HCCL_SUCCESS;
}

/* What HcclSend and HcclRecv share. */
static HcclResult one_message(const char *function, bool sends, void *data,
                              uint64_t count, HcclDataType dtype, uint32_t rank,
                              HcclComm comm, aclrtStream stream) {
    HcclResult code = HCCL_SUCCESS;
    hccl_call call;
    hccl_comm *c = hccl_comm_get(function, comm, &code);
    if (c == NULL) return hccl_group_failed(code);
    if (message(function, c, sends, data, count, dtype, rank, &call, &code))
        return hccl_group_launch(c, stream, &call, 1);
    hccl_comm_release(c);
    return hccl_group_failed(code);
}

/* Sends to a rank that receives as much. To the own rank in a group with its receive. */
ASN_API HcclResult HcclSend(void *sendBuf, uint64_t count, HcclDataType dataType,
                            uint32_t destRank, HcclComm comm, aclrtStream stream) {
    return one_message("HcclSend", true, sendBuf, count, dataType, destRank, comm,
                       stream);
}

/* Receives what a rank sends. */
ASN_API HcclResult HcclRecv(void *recvBuf, uint64_t count, HcclDataType dataType,
                            uint32_t srcRank, HcclComm comm, aclrtStream stream) {
    return one_message("HcclRecv", false, recvBuf, count, dataType, srcRank, comm,
                       stream);
}

/* Several messages, which do not wait for each other. */
ASN_API HcclResult HcclBatchSendRecv(HcclSendRecvItem *sendRecvInfo, uint32_t itemNum,
                                     HcclComm comm, aclrtStream stream) {
    static const char function[] = "HcclBatchSendRecv";
    HcclResult code = HCCL_SUCCESS;
    if (sendRecvInfo == NULL || itemNum == 0)
        return hccl_group_failed(hccl_fail(itemNum == 0 ? HCCL_E_PARA : HCCL_E_PTR,
                                           "%s: sendRecvInfo is %p, itemNum is %u",
                                           function, (void *)sendRecvInfo, itemNum));
    hccl_comm *c = hccl_comm_get(function, comm, &code);
    if (c == NULL) return hccl_group_failed(code);
    hccl_call *calls = asn_malloc(itemNum * sizeof *calls);
    if (calls == NULL)
        code = hccl_fail(HCCL_E_MEMORY, "%s: no memory for %u items", function, itemNum);
    for (uint32_t i = 0; i < itemNum && code == HCCL_SUCCESS; i++) {
        const HcclSendRecvItem *item = &sendRecvInfo[i];
        if ((unsigned)item->sendRecvType > HCCL_RECV)
            code =
                hccl_fail(HCCL_E_PARA,
                          "%s: sendRecvType of item %u is %d; 0 (send) and 1 (receive) "
                          "are allowed",
                          function, i, (int)item->sendRecvType);
        else
            (void)message(function, c, item->sendRecvType == HCCL_SEND, item->buf,
                          item->count, item->dataType, item->remoteRank, &calls[i],
                          &code);
    }
    if (code == HCCL_SUCCESS) {
        code = hccl_group_launch(c, stream, calls, itemNum);
    } else {
        hccl_comm_release(c);
        (void)hccl_group_failed(code);
    }
    asn_free(calls);
    return code;
}

/* The stream goes on when the streams of all ranks have got here. */
ASN_API HcclResult HcclBarrier(HcclComm comm, aclrtStream stream) {
    HcclResult code = HCCL_SUCCESS;
    hccl_call call;
    hccl_comm *c = hccl_comm_get("HcclBarrier", comm, &code);
    if (c == NULL) return hccl_group_failed(code);
    memset(&call, 0, sizeof call);
    call.function = "HcclBarrier";
    call.kind = HCCL_KIND_BARRIER;
    return hccl_group_launch(c, stream, &call, 1);
}
