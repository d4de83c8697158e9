/* CPU device, collective communication: making communicators.
 *
 * By root information, which rank 0 makes and a program hands to the others; by a rank
 * table, which says where rank 0 is; or all ranks in one process.
 */
#include "device/hccl/internal.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <unistd.h>

enum { DEFAULT_PORT = 60000 };

/* A rank is below the number of ranks. */
static HcclResult check_rank(const char *function, uint32_t size, uint32_t rank) {
    if (size > 0 && rank < size) return HCCL_SUCCESS;
    return hccl_fail(HCCL_E_PARA, "%s: rank %u of %u ranks", function, rank, size);
}

/* Where and how the ranks of one communicator meet. The calling process serves until all
 * have come. */
ASN_API HcclResult HcclGetRootInfo(HcclRootInfo *rootInfo) {
    hccl_root root;
    HCCL_CHECK_NOT_NULL("HcclGetRootInfo", rootInfo);
    HCCL_TRY(hccl_root_new(&root));
    memset(rootInfo, 0, sizeof *rootInfo);
    memcpy(rootInfo->internal, &root, sizeof root);
    return HCCL_SUCCESS;
}

/* What both functions with root information do. */
static HcclResult init_root(const char *function, uint32_t size, const HcclRootInfo *info,
                            uint32_t rank, const hccl_options *options, HcclComm *comm) {
    hccl_root root;
    HCCL_CHECK_NOT_NULL(function, info);
    HCCL_CHECK_NOT_NULL(function, comm);
    HCCL_TRY(check_rank(function, size, rank));
    memcpy(&root, info->internal, sizeof root);
    if (root.magic != HCCL_ROOT_MAGIC)
        return hccl_fail(HCCL_E_PARA, "%s: HcclGetRootInfo has not made rootInfo",
                         function);
    return hccl_root_join(&root, size, rank, options, comm);
}

/* One rank of a communicator; returns when all ranks have called it. */
ASN_API HcclResult HcclCommInitRootInfo(uint32_t nRanks, const HcclRootInfo *rootInfo,
                                        uint32_t rank, HcclComm *comm) {
    return init_root("HcclCommInitRootInfo", nRanks, rootInfo, rank, &hccl_no_options,
                     comm);
}

/* The same, with a configuration that HcclCommConfigInit began. */
ASN_API HcclResult HcclCommInitRootInfoConfig(uint32_t nRanks,
                                              const HcclRootInfo *rootInfo, uint32_t rank,
                                              const HcclCommConfig *config,
                                              HcclComm *comm) {
    hccl_options options;
    HCCL_CHECK_NOT_NULL("HcclCommInitRootInfoConfig", config);
    HCCL_TRY(hccl_options_get("HcclCommInitRootInfoConfig", config, &options));
    return init_root("HcclCommInitRootInfoConfig", nRanks, rootInfo, rank, &options,
                     comm);
}

/* As HcclGetRootInfo, by several ranks for one communicator. */
ASN_API HcclResult HcclGetRootInfoScalable(HcclRootInfo *rootInfo) {
    return HcclGetRootInfo(rootInfo);
}

/* As HcclCommInitRootInfoConfig, with a list of what nRoot ranks made: all ranks meet at
 * the first, the others serve for nothing until HCCL_CONNECT_TIMEOUT. nExtRoot must be
 * 0. */
ASN_API HcclResult HcclCommInitRootInfoScalable(uint32_t nRanks, uint32_t nRoot,
                                                const HcclRootInfo *rootInfoList,
                                                uint32_t rank, uint32_t nExtRoot,
                                                const HcclCommConfig *config,
                                                HcclComm *comm) {
    const char *function = "HcclCommInitRootInfoScalable";
    hccl_options options;
    HCCL_CHECK_NOT_NULL(function, config);
    if (nRoot < 1 || nRoot > nRanks || nExtRoot != 0)
        return hccl_fail(
            HCCL_E_PARA,
            "%s: nRoot %u of %u ranks, nExtRoot %u: 1 to the number of ranks "
            "and 0 are allowed",
            function, nRoot, nRanks, nExtRoot);
    HCCL_TRY(hccl_options_get(function, config, &options));
    return init_root(function, nRanks, rootInfoList, rank, &options, comm);
}

/* ---- rank tables */

/* What both functions with a rank table do. On one server ranks meet at a local
 * name that the table's contents give; on several at an address and port that it
 * says. */
static HcclResult init_table(const char *function, const char *path, uint32_t rank,
                             const hccl_options *options, HcclComm *comm) {
    hccl_rank_table table;
    HCCL_CHECK_NOT_NULL(function, path);
    HCCL_CHECK_NOT_NULL(function, comm);
    HCCL_TRY(hccl_rank_table_read(function, path, &table));
    HCCL_TRY(check_rank(function, table.ranks, rank));
    hccl_root root;
    memset(&root, 0, sizeof root);
    root.magic = HCCL_ROOT_MAGIC;
    root.key = table.hash;
    if (table.servers > 1) {
        int64_t port = hccl_seconds("HCCL_IF_BASE_PORT", DEFAULT_PORT);
        if (table.ip == 0 || port < 1 || port > 65535)
            return hccl_fail(HCCL_E_PARA,
                             "%s: %.256s says no address of the server of rank 0, or "
                             "HCCL_IF_BASE_PORT is no port",
                             function, path);
        root.ip = table.ip;
        root.port = htons((uint16_t)port);
    } else {
        snprintf(root.name, sizeof root.name, "asnumpy-hccl-table-%016llx-%u",
                 (unsigned long long)table.hash, (unsigned)getuid());
    }
    if (rank == 0) HCCL_TRY(hccl_root_open(&root));
    return hccl_root_join(&root, table.ranks, rank, options, comm);
}

/* One rank of the communicator that a rank table (a JSON file) describes; returns when
 * all ranks have called it. Between servers rank 0 listens on port HCCL_IF_BASE_PORT
 * (60000). */
ASN_API HcclResult HcclCommInitClusterInfo(const char *clusterInfo, uint32_t rank,
                                           HcclComm *comm) {
    return init_table("HcclCommInitClusterInfo", clusterInfo, rank, &hccl_no_options,
                      comm);
}

/* The same, with a configuration that HcclCommConfigInit began. */
ASN_API HcclResult HcclCommInitClusterInfoConfig(const char *clusterInfo, uint32_t rank,
                                                 HcclCommConfig *config, HcclComm *comm) {
    hccl_options options;
    HCCL_CHECK_NOT_NULL("HcclCommInitClusterInfoConfig", config);
    HCCL_TRY(hccl_options_get("HcclCommInitClusterInfoConfig", config, &options));
    return init_table("HcclCommInitClusterInfoConfig", clusterInfo, rank, &options, comm);
}

/* ---- one process */

/* One rank of HcclCommInitAll, which joins on a thread of its own. */
typedef struct {
    const hccl_root *root;
    uint32_t size, rank;
    HcclComm comm;
    int32_t device;
    HcclResult code;
    char message[256];
    pthread_t thread;
    bool started;
} member;

/* A thread's message is lost with the thread, so it is copied. */
static void *member_main(void *arg) {
    member *m = arg;
    m->code = hccl_root_join(m->root, m->size, m->rank, &hccl_no_options, &m->comm);
    const char *text = m->code != HCCL_SUCCESS ? aclGetRecentErrMsg() : NULL;
    if (text != NULL) snprintf(m->message, sizeof m->message, "%s", text);
    return NULL;
}

/* A rank's joining waits for all others: each needs a thread until all are there.
 * If one fails, those that were made are destroyed again. */
static HcclResult members_join(const hccl_root *root, uint32_t size,
                               const int32_t *devices, HcclComm *comms) {
    member *all = asn_calloc(size, sizeof *all);
    HcclResult code = HCCL_SUCCESS;
    if (all == NULL)
        return hccl_fail(HCCL_E_MEMORY, "HcclCommInitAll: no memory for %u ranks", size);
    for (uint32_t k = 0; k < size; k++) {
        all[k].root = root;
        all[k].size = size;
        all[k].rank = k;
        all[k].started = pthread_create(&all[k].thread, NULL, member_main, &all[k]) == 0;
        if (!all[k].started) all[k].code = HCCL_E_MEMORY;
    }
    for (uint32_t k = 0; k < size; k++) {
        if (all[k].started) pthread_join(all[k].thread, NULL);
        if (all[k].code != HCCL_SUCCESS && code == HCCL_SUCCESS)
            code = hccl_fail(all[k].code, "HcclCommInitAll: rank %u: %s", k,
                             all[k].started ? all[k].message : "no thread for it");
    }
    for (uint32_t k = 0; k < size; k++) {
        if (code == HCCL_SUCCESS) {
            HcclResult same = HCCL_SUCCESS;
            hccl_comm *c = hccl_comm_get("HcclCommInitAll", all[k].comm, &same);
            if (c != NULL) c->device = devices[k];
            hccl_comm_release(c);
            comms[k] = all[k].comm;
        } else if (all[k].comm != NULL) {
            (void)HcclCommDestroy(all[k].comm);
        }
    }
    asn_free(all);
    return code;
}

/* Communicators of all ranks in this process: comms[i] is rank i's, for device
 * devices[i]; no device may be there twice. */
ASN_API HcclResult HcclCommInitAll(uint32_t ndev, int32_t *devices, HcclComm *comms) {
    uint32_t count = 0;
    HCCL_CHECK_NOT_NULL("HcclCommInitAll", devices);
    HCCL_CHECK_NOT_NULL("HcclCommInitAll", comms);
    if (aclrtGetDeviceCount(&count) != ACL_SUCCESS) return HCCL_E_RUNTIME;
    bool good = ndev > 0 && ndev <= count;
    for (uint32_t i = 0; good && i < ndev; i++) {
        good = devices[i] >= 0 && (uint32_t)devices[i] < count;
        for (uint32_t j = 0; good && j < i; j++)
            good = devices[i] != devices[j];
    }
    if (!good)
        return hccl_fail(HCCL_E_PARA,
                         "HcclCommInitAll: %u devices, which must be different ones of "
                         "the %u that there are",
                         ndev, count);
    hccl_root root;
    memset(&root, 0, sizeof root);
    root.magic = HCCL_ROOT_MAGIC;
    root.key = hccl_random();
    snprintf(root.name, sizeof root.name, "asnumpy-hccl-all-%016llx",
             (unsigned long long)root.key);
    HCCL_TRY(hccl_root_open(&root));
    return members_join(&root, ndev, devices, comms);
}
