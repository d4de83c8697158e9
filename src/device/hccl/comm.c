/* CPU device, collective communication: communicators.
 *
 * A handle names a slot of an arena, so that one that was destroyed is recognised; the
 * communicator behind it lives as long as a task uses it. Of two ranks the lower one
 * accepts the link and makes the shared memory: a rank first connects to all below it,
 * which waits for nobody, then accepts those above, then takes the memory of those below.
 *
 * The child of a fork has no streams that could use its parent's communicators: it closes
 * its copies of the sockets, since the other ranks recognise by them that a rank has
 * ended.
 */
#include "device/hccl/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/forks.h"
#include "base/settings.h"

typedef struct {
    asnd_slot slot;
    hccl_comm *comm;
} handle;

static asnd_arena handles = ASN_ARENA_INIT("communicator", sizeof(handle), 1 << 14, true);
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* handle -> comm */
ASN_FORK_TAKES(communicators, &lock, ASN_FORK_OUTER)
ASN_FORK_TAKES(communicator_handles, &handles.lock, ASN_FORK_LEAF)

/* In the child of a fork: every communicator is unusable. Its sockets are closed, its
 * memory stays, since a task of the parent may have been using it. */
static void forget(void) {
    uint32_t used = atomic_load(&handles.used);
    for (uint32_t i = 0; i < used; i++) {
        handle *h = asn_arena_at(&handles, i);
        if (h == NULL || h->comm == NULL) continue;
        hccl_comm *c = h->comm;
        atomic_store(&c->error, HCCL_E_UNAVAIL);
        pthread_mutex_init(&c->lock, NULL);
        hccl_endpoint_forget(c->endpoint);
        for (uint32_t k = 0; k < c->size; k++)
            if (c->links[k] != NULL) hccl_link_forget(c->links[k]);
    }
}

__attribute__((constructor)) static void forget_at_fork(void) {
    pthread_atfork(NULL, NULL, forget);
}

/* The lock makes looking the handle up and taking a reference one action, so that
 * HcclCommDestroy in another thread cannot come between. */
hccl_comm *hccl_comm_get(const char *function, HcclComm which, HcclResult *code) {
    hccl_comm *c = NULL;
    if (which == NULL) {
        *code = hccl_fail(HCCL_E_PTR, "%s: comm is NULL", function);
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (asn_arena_alive(&handles, which)) {
        c = ((handle *)which)->comm;
        atomic_fetch_add(&c->references, 1);
    }
    pthread_mutex_unlock(&lock);
    if (c == NULL)
        *code = hccl_fail(HCCL_E_PARA, "%s: comm %p is no communicator, or was destroyed",
                          function, which);
    return c;
}

/* Communicators of one process may share a name: each of its devices has one, and a
 * program may have made another one after a failure. */
hccl_comm *hccl_comm_named(const char *name) {
    int32_t device = -1;
    if (aclrtGetDevice(&device) != ACL_SUCCESS) device = -1;
    hccl_comm *found = NULL;
    uint32_t same = 0;
    int best = -1;
    pthread_mutex_lock(&lock);
    uint32_t used = atomic_load(&handles.used);
    for (uint32_t i = 0; i < used; i++) {
        handle *h = asn_arena_at(&handles, i);
        if (h == NULL || !asn_arena_alive(&handles, h) || h->comm == NULL) continue;
        hccl_comm *c = h->comm;
        if (strncmp(c->name, name, sizeof c->name) != 0) continue;
        int fits = 2 * (c->device == device) + (atomic_load(&c->error) == HCCL_SUCCESS);
        same++;
        if (fits > best) found = c;
        best = fits > best ? fits : best;
    }
    if (same > 1 && best < 2) found = NULL;
    if (found != NULL) atomic_fetch_add(&found->references, 1);
    pthread_mutex_unlock(&lock);
    if (found == NULL)
        (void)hccl_fail(HCCL_E_PARA,
                        "%u communicators are named \"%.127s\", none of them device %d's",
                        same, name, device);
    return found;
}

/* The last one that lets go frees: the program's handle and each queued task hold a
 * reference. */
void hccl_comm_release(hccl_comm *c) {
    if (c == NULL || atomic_fetch_sub(&c->references, 1) != 1) return;
    for (uint32_t k = 0; k < c->size && c->links != NULL; k++)
        hccl_link_free(c->links[k]);
    hccl_endpoint_free(c->endpoint);
    asn_free(c->links);
    asn_free(c->addresses);
    asn_free(c->steps);
    asn_free(c->scratch);
    asn_free(c->plan);
    pthread_cond_destroy(&c->turned);
    pthread_mutex_destroy(&c->lock);
    asn_free(c);
}

/* Takes the addresses and the endpoint; NULL: message set. */
static hccl_comm *comm_new(uint64_t key, uint32_t size, uint32_t rank,
                           hccl_address *addresses, hccl_endpoint *endpoint,
                           const hccl_options *options) {
    hccl_comm *c = asn_calloc(1, sizeof *c);
    if (c == NULL) {
        asn_free(addresses);
        hccl_endpoint_free(endpoint);
        (void)hccl_fail(HCCL_E_MEMORY, "no memory for a communicator");
        return NULL;
    }
    atomic_init(&c->references, 1);
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->turned, NULL);
    c->size = size;
    c->rank = rank;
    if (aclrtGetDevice(&c->device) != ACL_SUCCESS) c->device = -1;
    c->key = key;
    c->addresses = addresses;
    c->endpoint = endpoint;
    int64_t seconds = options->exec_seconds >= 0
                          ? options->exec_seconds
                          : hccl_seconds("HCCL_EXEC_TIMEOUT", 1836);
    c->exec_ns = seconds * 1000000000;
    if (options->name[0] != 0) {
        memcpy(c->name, options->name, sizeof c->name);
    } else {
        snprintf(c->name, sizeof c->name, "hccl_%016llx", (unsigned long long)key);
    }
    c->links = asn_calloc(size, sizeof *c->links);
    c->steps = asn_calloc((size_t)size * 4 + 4, sizeof *c->steps);
    c->scratch = asn_malloc(2 * HCCL_PIECE);
    c->plan = asn_calloc(1, hccl_plan_size());
    if (c->links != NULL && c->steps != NULL && c->scratch != NULL && c->plan != NULL)
        return c;
    hccl_comm_release(c);
    (void)hccl_fail(HCCL_E_MEMORY, "no memory for a communicator of %u ranks", size);
    return NULL;
}

/* The sockets to the ranks below, in fds. */
static bool connect_down(hccl_comm *c, int *fds, bool *local, int64_t deadline) {
    bool tcp = asn_setting_choice(ASN_SETTING_HCCL_TRANSPORT) == 0; /* "tcp" */
    const char *here = c->addresses[c->rank].machine;
    for (uint32_t k = 0; k < c->rank; k++) {
        const hccl_address *to = &c->addresses[k];
        local[k] = !tcp && memcmp(to->machine, here, sizeof to->machine) == 0;
        fds[k] = hccl_endpoint_connect(to, local[k], c->key, c->rank, deadline);
        if (fds[k] < 0) return false;
    }
    return true;
}

/* A link to every other rank, in the order that cannot deadlock (see the file's
 * head). */
static bool links_make(hccl_comm *c, int *fds, bool *local, int64_t deadline) {
    if (!connect_down(c, fds, local, deadline)) return false;
    for (uint32_t k = c->rank + 1; k < c->size; k++) {
        int fd = hccl_endpoint_accept(c->endpoint, c->key, k, deadline, &local[k]);
        if (fd < 0) return false;
        c->links[k] = hccl_link_new(fd, local[k], true, deadline);
        if (c->links[k] == NULL) return false;
    }
    for (uint32_t k = 0; k < c->rank; k++) {
        c->links[k] = hccl_link_new(fds[k], local[k], false, deadline);
        fds[k] = -1;
        if (c->links[k] == NULL) return false;
    }
    return true;
}

/* Nothing is published before every link stands: a handle that is returned can be
 * used. */
HcclResult hccl_comm_connect(uint64_t key, uint32_t size, uint32_t rank,
                             hccl_address *addresses, hccl_endpoint *endpoint,
                             const hccl_options *options, int64_t deadline,
                             HcclComm *out) {
    hccl_comm *c = comm_new(key, size, rank, addresses, endpoint, options);
    if (c == NULL) return HCCL_E_MEMORY;
    int *fds = asn_malloc(size * sizeof *fds);
    bool *local = asn_calloc(size, sizeof *local);
    for (uint32_t k = 0; k < size && fds != NULL; k++)
        fds[k] = -1;
    bool made = fds != NULL && local != NULL && links_make(c, fds, local, deadline);
    for (uint32_t k = 0; k < size && fds != NULL; k++)
        if (fds[k] >= 0) close(fds[k]);
    asn_free(fds);
    asn_free(local);
    handle *h = made ? asn_arena_take(&handles) : NULL;
    if (h == NULL) {
        hccl_comm_release(c);
        return hccl_now() > deadline ? HCCL_E_TIMEOUT : HCCL_E_TCP_CONNECT;
    }
    pthread_mutex_lock(&lock);
    h->comm = c;
    asn_slot_publish(h);
    pthread_mutex_unlock(&lock);
    *out = h;
    return HCCL_SUCCESS;
}

/* ---- HCCL's functions */

/* Waits for the communicator's queued calls, then takes it away. A call that waits for a
 * rank that does not come fails after a second. */
ASN_API HcclResult HcclCommDestroy(HcclComm comm) {
    HcclResult code = HCCL_SUCCESS;
    hccl_comm *c = hccl_comm_get("HcclCommDestroy", comm, &code);
    if (c == NULL) return code;
    pthread_mutex_lock(&lock);
    bool mine = asn_slot_retire(comm);
    if (mine) ((handle *)comm)->comm = NULL;
    pthread_mutex_unlock(&lock);
    if (mine) {
        atomic_store(&c->ending, true);
        hccl_turns_wait(c);
        hccl_comm_release(c);
        asn_arena_give(&handles, comm);
    }
    hccl_comm_release(c);
    return HCCL_SUCCESS;
}

/* The number of ranks. */
ASN_API HcclResult HcclGetRankSize(HcclComm comm, uint32_t *rankSize) {
    HcclResult code = HCCL_SUCCESS;
    HCCL_CHECK_NOT_NULL("HcclGetRankSize", rankSize);
    hccl_comm *c = hccl_comm_get("HcclGetRankSize", comm, &code);
    if (c != NULL) *rankSize = c->size;
    hccl_comm_release(c);
    return code;
}

/* The number of the own rank. */
ASN_API HcclResult HcclGetRankId(HcclComm comm, uint32_t *rank) {
    HcclResult code = HCCL_SUCCESS;
    HCCL_CHECK_NOT_NULL("HcclGetRankId", rank);
    hccl_comm *c = hccl_comm_get("HcclGetRankId", comm, &code);
    if (c != NULL) *rank = c->rank;
    hccl_comm_release(c);
    return code;
}

/* The name, into COMM_NAME_MAX_LENGTH bytes: the one of the configuration, else one made
 * by the library, which all ranks share. */
ASN_API HcclResult HcclGetCommName(HcclComm comm, char *commName) {
    HcclResult code = HCCL_SUCCESS;
    HCCL_CHECK_NOT_NULL("HcclGetCommName", commName);
    hccl_comm *c = hccl_comm_get("HcclGetCommName", comm, &code);
    if (c != NULL) memcpy(commName, c->name, sizeof c->name);
    hccl_comm_release(c);
    return code;
}

/* The result of the first call that failed when it ran; HCCL_SUCCESS: none has. */
ASN_API HcclResult HcclGetCommAsyncError(HcclComm comm, HcclResult *asyncError) {
    HcclResult code = HCCL_SUCCESS;
    HCCL_CHECK_NOT_NULL("HcclGetCommAsyncError", asyncError);
    hccl_comm *c = hccl_comm_get("HcclGetCommAsyncError", comm, &code);
    if (c != NULL) *asyncError = (HcclResult)atomic_load(&c->error);
    hccl_comm_release(c);
    return code;
}
