/* CPU device, collective communication: HCCL's collectives and messages.
 *
 * Each checks its arguments and queues the call on its stream, or keeps it for the end of
 * the thread's group. Counts are of elements; arrays of counts are copied before the
 * function returns. A call of no elements is nothing to do, alike on every rank.
 */
#include "device/hccl/internal.h"

/* The communicator of a call that is being checked, with its name. */
typedef struct {
    hccl_comm *comm;
    HcclResult code;
    hccl_call call;
} checked;

/* The end of a call that is refused: its references go back, and an open group
 * learns of it. */
static HcclResult wrong(checked *k, HcclResult code) {
    hccl_comm_release(k->comm);
    hccl_call_fini(&k->call);
    return hccl_group_failed(code);
}

/* false: k->code says what is wrong. */
static bool begin(checked *k, const char *function, hccl_kind kind, HcclComm comm,
                  uint64_t count, HcclDataType dtype) {
    memset(k, 0, sizeof *k);
    k->comm = hccl_comm_get(function, comm, &k->code);
    if (k->comm == NULL) return false;
    k->call.function = function;
    k->call.kind = kind;
    k->call.count = count;
    k->call.dtype = dtype;
    k->call.unit = k->call.recv_unit = hccl_dtype_size(dtype);
    if (k->call.unit == 0)
        k->code = hccl_fail(HCCL_E_PARA, "%s: dataType is %d, which is no data type",
                            function, (int)dtype);
    else if (count > INT64_MAX / 16 / k->comm->size)
        k->code = hccl_fail(HCCL_E_PARA, "%s: count is %llu; so much memory there is not",
                            function, (unsigned long long)count);
    return k->code == HCCL_SUCCESS;
}

/* A buffer that is needed and NULL is refused; one of no elements may be NULL. */
static bool buffer(checked *k, const char *name, const void *p, bool needed) {
    if (p == NULL && needed)
        k->code = hccl_fail(HCCL_E_PTR, "%s: %s is NULL", k->call.function, name);
    return k->code == HCCL_SUCCESS;
}

/* Whether the call's dtype can be reduced by this operation (float8 and the like
 * cannot). */
static bool reduces(checked *k, HcclReduceOp op) {
    k->call.op = op;
    if ((unsigned)op >= HCCL_REDUCE_RESERVED)
        k->code = hccl_fail(HCCL_E_PARA,
                            "%s: op is %d; 0 (sum), 1 (prod), 2 (max) and 3 (min) are "
                            "allowed",
                            k->call.function, (int)op);
    else if (!hccl_dtype_reduces(k->call.dtype))
        k->code = hccl_fail(HCCL_E_NOT_SUPPORT, "%s: dataType %d can be moved alone",
                            k->call.function, (int)k->call.dtype);
    return k->code == HCCL_SUCCESS;
}

/* Whether the communicator has this rank, called `name` by the caller. */
static bool peer(checked *k, const char *name, uint32_t rank) {
    k->call.peer = rank;
    if (rank >= k->comm->size)
        k->code = hccl_fail(HCCL_E_PARA, "%s: %s is %u; the communicator has %u ranks",
                            k->call.function, name, rank, k->comm->size);
    return k->code == HCCL_SUCCESS;
}

/* A copy of one number per rank; from NULL: each is i * step + first. */
static bool numbers(checked *k, const char *name, const void *from, uint64_t first,
                    uint64_t step, uint64_t **to) {
    uint32_t size = k->comm->size;
    *to = asn_malloc(size * sizeof **to);
    if (*to == NULL) {
        k->code =
            hccl_fail(HCCL_E_MEMORY, "%s: no memory for %s", k->call.function, name);
        return false;
    }
    if (from != NULL) memcpy(*to, from, size * sizeof **to);
    for (uint32_t i = 0; i < size; i++) {
        if (from == NULL) (*to)[i] = first + i * step;
        if ((*to)[i] > INT64_MAX / 32)
            k->code = hccl_fail(HCCL_E_PARA, "%s: %s[%u] is %llu", k->call.function, name,
                                i, (unsigned long long)(*to)[i]);
    }
    return k->code == HCCL_SUCCESS;
}

/* Hands the checked call on. With nothing to do the other ranks do not wait for it
 * either, since counts are equal everywhere, so none is made. */
static HcclResult launch(checked *k, aclrtStream stream, bool nothing) {
    if (nothing) {
        hccl_comm_release(k->comm);
        hccl_call_fini(&k->call);
        return HCCL_SUCCESS;
    }
    return hccl_group_launch(k->comm, stream, &k->call, 1);
}

/* recvBuf[i] = the reduction of sendBuf[i] over all ranks, on every rank. The buffers may
 * be the same. */
ASN_API HcclResult HcclAllReduce(void *sendBuf, void *recvBuf, uint64_t count,
                                 HcclDataType dataType, HcclReduceOp op, HcclComm comm,
                                 aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAllReduce", HCCL_KIND_ALL_REDUCE, comm, count, dataType) ||
        !reduces(&k, op) || !buffer(&k, "sendBuf", sendBuf, count > 0) ||
        !buffer(&k, "recvBuf", recvBuf, count > 0))
        return wrong(&k, k.code);
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, count == 0);
}

/* The root's buf, into every rank's. */
ASN_API HcclResult HcclBroadcast(void *buf, uint64_t count, HcclDataType dataType,
                                 uint32_t root, HcclComm comm, aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclBroadcast", HCCL_KIND_BROADCAST, comm, count, dataType) ||
        !peer(&k, "root", root) || !buffer(&k, "buf", buf, count > 0))
        return wrong(&k, k.code);
    k.call.to = buf;
    return launch(&k, stream, count == 0);
}

/* Rank r's recvBuf = the reduction of the r-th recvCount elements of all sendBufs. */
ASN_API HcclResult HcclReduceScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                                     HcclDataType dataType, HcclReduceOp op,
                                     HcclComm comm, aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclReduceScatter", HCCL_KIND_REDUCE_SCATTER, comm, recvCount,
               dataType) ||
        !reduces(&k, op) || !buffer(&k, "sendBuf", sendBuf, recvCount > 0) ||
        !buffer(&k, "recvBuf", recvBuf, recvCount > 0))
        return wrong(&k, k.code);
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, recvCount == 0);
}

/* The same, of sendCounts[r] elements from sendDispls[r] on (uint64_t, one per rank). */
ASN_API HcclResult HcclReduceScatterV(void *sendBuf, const void *sendCounts,
                                      const void *sendDispls, void *recvBuf,
                                      uint64_t recvCount, HcclDataType dataType,
                                      HcclReduceOp op, HcclComm comm,
                                      aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclReduceScatterV", HCCL_KIND_REDUCE_SCATTER, comm, recvCount,
               dataType) ||
        !reduces(&k, op) || !buffer(&k, "sendBuf", sendBuf, recvCount > 0) ||
        !buffer(&k, "recvBuf", recvBuf, recvCount > 0) ||
        !buffer(&k, "sendCounts", sendCounts, true) ||
        !buffer(&k, "sendDispls", sendDispls, true) ||
        !numbers(&k, "sendCounts", sendCounts, 0, 0, &k.call.send_counts) ||
        !numbers(&k, "sendDispls", sendDispls, 0, 0, &k.call.send_at))
        return wrong(&k, k.code);
    uint32_t own = k.comm->rank;
    if (k.call.send_counts[own] != recvCount)
        return wrong(&k,
                     hccl_fail(HCCL_E_PARA,
                               "HcclReduceScatterV: recvCount is %llu, sendCounts[%u] "
                               "is %llu; they must be equal",
                               (unsigned long long)recvCount, own,
                               (unsigned long long)k.call.send_counts[own]));
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, false);
}

/* The sendBufs of all ranks, one after the other, into every rank's recvBuf. */
ASN_API HcclResult HcclAllGather(void *sendBuf, void *recvBuf, uint64_t sendCount,
                                 HcclDataType dataType, HcclComm comm,
                                 aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAllGather", HCCL_KIND_ALL_GATHER, comm, sendCount, dataType) ||
        !buffer(&k, "sendBuf", sendBuf, sendCount > 0) ||
        !buffer(&k, "recvBuf", recvBuf, sendCount > 0))
        return wrong(&k, k.code);
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, sendCount == 0);
}

/* The same, of recvCounts[r] elements to recvDispls[r] (uint64_t, one per rank). */
ASN_API HcclResult HcclAllGatherV(void *sendBuf, uint64_t sendCount, void *recvBuf,
                                  const void *recvCounts, const void *recvDispls,
                                  HcclDataType dataType, HcclComm comm,
                                  aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAllGatherV", HCCL_KIND_ALL_GATHER, comm, sendCount, dataType) ||
        !buffer(&k, "sendBuf", sendBuf, sendCount > 0) ||
        !buffer(&k, "recvBuf", recvBuf, sendCount > 0) ||
        !buffer(&k, "recvCounts", recvCounts, true) ||
        !buffer(&k, "recvDispls", recvDispls, true) ||
        !numbers(&k, "recvCounts", recvCounts, 0, 0, &k.call.recv_counts) ||
        !numbers(&k, "recvDispls", recvDispls, 0, 0, &k.call.recv_at))
        return wrong(&k, k.code);
    uint32_t own = k.comm->rank;
    if (k.call.recv_counts[own] != sendCount)
        return wrong(&k, hccl_fail(HCCL_E_PARA,
                                   "HcclAllGatherV: sendCount is %llu, recvCounts[%u] is "
                                   "%llu; they must be equal",
                                   (unsigned long long)sendCount, own,
                                   (unsigned long long)k.call.recv_counts[own]));
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, false);
}

/* The reduction of all sendBufs, into the root's recvBuf. */
ASN_API HcclResult HcclReduce(void *sendBuf, void *recvBuf, uint64_t count,
                              HcclDataType dataType, HcclReduceOp op, uint32_t root,
                              HcclComm comm, aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclReduce", HCCL_KIND_REDUCE, comm, count, dataType) ||
        !reduces(&k, op) || !peer(&k, "root", root) ||
        !buffer(&k, "sendBuf", sendBuf, count > 0) ||
        !buffer(&k, "recvBuf", recvBuf, count > 0 && root == k.comm->rank))
        return wrong(&k, k.code);
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, count == 0);
}

/* The r-th recvCount elements of the root's sendBuf, into rank r's recvBuf. */
ASN_API HcclResult HcclScatter(void *sendBuf, void *recvBuf, uint64_t recvCount,
                               HcclDataType dataType, uint32_t root, HcclComm comm,
                               aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclScatter", HCCL_KIND_SCATTER, comm, recvCount, dataType) ||
        !peer(&k, "root", root) ||
        !buffer(&k, "sendBuf", sendBuf, recvCount > 0 && root == k.comm->rank) ||
        !buffer(&k, "recvBuf", recvBuf, recvCount > 0))
        return wrong(&k, k.code);
    k.call.from = sendBuf;
    k.call.to = recvBuf;
    return launch(&k, stream, recvCount == 0);
}

/* ---- all to all */

/* Whether any rank sends or gets something. */
static bool has_any(const uint64_t *counts, uint32_t size) {
    for (uint32_t i = 0; i < size; i++)
        if (counts[i] != 0) return true;
    return false;
}

static HcclResult all_to_all(checked *k, const void *from, const void *to,
                             HcclDataType recv_type, aclrtStream stream) {
    uint32_t size = k->comm->size, own = k->comm->rank;
    const hccl_call *c = &k->call;
    k->call.recv_unit = hccl_dtype_size(recv_type);
    if (c->recv_unit == 0) {
        k->code = hccl_fail(HCCL_E_PARA, "%s: recvType is %d, which is no data type",
                            c->function, (int)recv_type);
    } else if (c->send_counts[own] * c->unit != c->recv_counts[own] * c->recv_unit) {
        k->code = hccl_fail(
            HCCL_E_PARA, "%s: rank %u sends itself %llu bytes and receives %llu",
            c->function, own, (unsigned long long)c->send_counts[own] * c->unit,
            (unsigned long long)c->recv_counts[own] * c->recv_unit);
    } else if (from != NULL && from == to && size > 1) {
        k->code =
            hccl_fail(HCCL_E_PARA, "%s: sendBuf and recvBuf are the same", c->function);
    }
    if (k->code != HCCL_SUCCESS ||
        !buffer(k, "sendBuf", from, has_any(c->send_counts, size)) ||
        !buffer(k, "recvBuf", to, has_any(c->recv_counts, size)))
        return wrong(k, k->code);
    k->call.from = from;
    k->call.to = (void *)to;
    return launch(k, stream, false);
}

/* sendCount elements to each rank, the r-th ones to rank r; as many from each. */
ASN_API HcclResult HcclAlltoAll(const void *sendBuf, uint64_t sendCount,
                                HcclDataType sendType, const void *recvBuf,
                                uint64_t recvCount, HcclDataType recvType, HcclComm comm,
                                aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAlltoAll", HCCL_KIND_ALL_TO_ALL, comm, sendCount, sendType) ||
        !numbers(&k, "sendCount", NULL, sendCount, 0, &k.call.send_counts) ||
        !numbers(&k, "sendCount", NULL, 0, sendCount, &k.call.send_at) ||
        !numbers(&k, "recvCount", NULL, recvCount, 0, &k.call.recv_counts) ||
        !numbers(&k, "recvCount", NULL, 0, recvCount, &k.call.recv_at))
        return wrong(&k, k.code);
    return all_to_all(&k, sendBuf, recvBuf, recvType, stream);
}

/* sendCounts[r] elements from sdispls[r] on to rank r, recvCounts[r] to rdispls[r] from
 * rank r (uint64_t, one per rank). */
ASN_API HcclResult HcclAlltoAllV(const void *sendBuf, const void *sendCounts,
                                 const void *sdispls, HcclDataType sendType,
                                 const void *recvBuf, const void *recvCounts,
                                 const void *rdispls, HcclDataType recvType,
                                 HcclComm comm, aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAlltoAllV", HCCL_KIND_ALL_TO_ALL, comm, 0, sendType) ||
        !buffer(&k, "sendCounts", sendCounts, true) ||
        !buffer(&k, "sdispls", sdispls, true) ||
        !buffer(&k, "recvCounts", recvCounts, true) ||
        !buffer(&k, "rdispls", rdispls, true) ||
        !numbers(&k, "sendCounts", sendCounts, 0, 0, &k.call.send_counts) ||
        !numbers(&k, "sdispls", sdispls, 0, 0, &k.call.send_at) ||
        !numbers(&k, "recvCounts", recvCounts, 0, 0, &k.call.recv_counts) ||
        !numbers(&k, "rdispls", rdispls, 0, 0, &k.call.recv_at))
        return wrong(&k, k.code);
    return all_to_all(&k, sendBuf, recvBuf, recvType, stream);
}

/* The same, densely: sendCountMatrix[i * ranks + j] elements (uint64_t) from rank i to
 * rank j. */
ASN_API HcclResult HcclAlltoAllVC(const void *sendBuf, const void *sendCountMatrix,
                                  HcclDataType sendType, const void *recvBuf,
                                  HcclDataType recvType, HcclComm comm,
                                  aclrtStream stream) {
    checked k;
    if (!begin(&k, "HcclAlltoAllVC", HCCL_KIND_ALL_TO_ALL, comm, 0, sendType) ||
        !buffer(&k, "sendCountMatrix", sendCountMatrix, true))
        return wrong(&k, k.code);
    uint32_t size = k.comm->size, own = k.comm->rank;
    const uint64_t *matrix = sendCountMatrix;
    if (!numbers(&k, "sendCountMatrix", matrix + (size_t)own * size, 0, 0,
                 &k.call.send_counts) ||
        !numbers(&k, "sendCountMatrix", NULL, 0, 0, &k.call.send_at) ||
        !numbers(&k, "sendCountMatrix", NULL, 0, 0, &k.call.recv_counts) ||
        !numbers(&k, "sendCountMatrix", NULL, 0, 0, &k.call.recv_at))
        return wrong(&k, k.code);
    for (uint32_t i = 0; i < size; i++) {
        uint64_t n = matrix[(size_t)i * size + own];
        if (n > INT64_MAX / 32)
            return wrong(&k, hccl_fail(HCCL_E_PARA,
                                       "HcclAlltoAllVC: sendCountMatrix[%u][%u] is %llu",
                                       i, own, (unsigned long long)n));
        k.call.recv_counts[i] = n;
        if (i + 1 == size) break;
        k.call.send_at[i + 1] = k.call.send_at[i] + k.call.send_counts[i];
        k.call.recv_at[i + 1] = k.call.recv_at[i] + n;
    }
    return all_to_all(&k, sendBuf, recvBuf, recvType, stream);
}
