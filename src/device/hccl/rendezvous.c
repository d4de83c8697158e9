/* CPU device, collective communication: how the ranks find each other.
 *
 * Rank 0 has a server, a thread that ends when it has served one communicator. Each rank
 * tells it its number and where it listens; once all have come, each is sent the table of
 * all, or why there is none. The server stops listening before it answers, so that the
 * ranks of a next communicator at the same address meet the next server.
 */
#include "device/hccl/internal.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { JOIN_MAGIC = 0x48434c30, MOST_RANKS = 1 << 15 };

typedef struct {
    uint32_t magic, size, rank, pad;
    uint64_t key;
    hccl_address address;
} join;

typedef struct {
    uint32_t status; /* an HcclResult */
    uint32_t size, rank, came;
} answer;

typedef struct {
    hccl_root root;
    int listener;
    uint32_t size, came;
    answer result;
    int *fds; /* by rank, -1: has not come */
    hccl_address *addresses;
} server;

/* HCCL_CONNECT_TIMEOUT, of 120 s. */
static int64_t connect_ns(void) {
    return hccl_seconds("HCCL_CONNECT_TIMEOUT", 120) * 1000000000;
}

/* The first rank to come says how many there are. */
static HcclResult server_start(server *s, uint32_t size) {
    if (size == 0 || size > MOST_RANKS) return HCCL_E_PARA;
    s->fds = asn_malloc(size * sizeof *s->fds);
    s->addresses = asn_calloc(size, sizeof *s->addresses);
    if (s->fds == NULL || s->addresses == NULL) return HCCL_E_MEMORY;
    for (uint32_t k = 0; k < size; k++)
        s->fds[k] = -1;
    s->size = size;
    return HCCL_SUCCESS;
}

/* Who is no rank of this communicator is dropped; a rank that does not fit the others
 * makes all fail. */
static void server_accept(server *s) {
    join j;
    int fd = accept4(s->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return;
    if (hccl_read(fd, &j, sizeof j, hccl_now() + 2000000000) != HCCL_SUCCESS ||
        j.magic != JOIN_MAGIC || j.key != s->root.key) {
        close(fd);
        return;
    }
    HcclResult code = s->size == 0 ? server_start(s, j.size) : HCCL_SUCCESS;
    if (code == HCCL_SUCCESS &&
        (j.size != s->size || j.rank >= s->size || s->fds[j.rank] >= 0))
        code = HCCL_E_PARA;
    if (code != HCCL_SUCCESS) {
        s->result = (answer){(uint32_t)code, j.size, j.rank, s->came};
        (void)hccl_write(fd, &s->result, sizeof s->result, hccl_now() + 1000000000);
        close(fd);
        return;
    }
    s->fds[j.rank] = fd;
    s->addresses[j.rank] = j.address;
    s->came++;
}

/* To every rank that came: the table, or the failure, so that none waits for the
 * timeout. */
static void server_answer(server *s) {
    s->result.size = s->result.status == HCCL_SUCCESS ? s->size : s->result.size;
    for (uint32_t k = 0; k < s->size; k++) {
        if (s->fds[k] < 0) continue;
        int64_t deadline = hccl_now() + connect_ns();
        if (hccl_write(s->fds[k], &s->result, sizeof s->result, deadline) ==
                HCCL_SUCCESS &&
            s->result.status == HCCL_SUCCESS)
            (void)hccl_write(s->fds[k], s->addresses, s->size * sizeof *s->addresses,
                             deadline);
        close(s->fds[k]);
    }
}

/* Waits without limit for the first rank: a program may make root information long before
 * it is used. */
static void *server_main(void *arg) {
    server *s = arg;
    int64_t deadline = 0;
    while (s->result.status == HCCL_SUCCESS && (s->size == 0 || s->came < s->size)) {
        struct pollfd p = {s->listener, POLLIN, 0};
        int n = poll(&p, 1, s->size == 0 ? -1 : 100);
        if (n > 0) server_accept(s);
        if (deadline == 0 && s->size != 0) deadline = hccl_now() + connect_ns();
        if (deadline != 0 && hccl_now() > deadline && s->came < s->size)
            s->result = (answer){HCCL_E_TIMEOUT, s->size, 0, s->came};
    }
    close(s->listener);
    server_answer(s);
    asn_free(s->fds);
    asn_free(s->addresses);
    asn_free(s);
    return NULL;
}

/* Takes the listener. Signals stay with the program's own threads. */
static HcclResult serve(const hccl_root *root, int listener) {
    sigset_t all, old;
    pthread_t thread;
    server *s = listener >= 0 ? asn_calloc(1, sizeof *s) : NULL;
    if (listener < 0) return HCCL_E_TCP_CONNECT;
    if (s != NULL) {
        s->root = *root;
        s->listener = listener;
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &old);
        bool started = pthread_create(&thread, NULL, server_main, s) == 0;
        pthread_sigmask(SIG_SETMASK, &old, NULL);
        if (started) {
            pthread_detach(thread);
            return HCCL_SUCCESS;
        }
    }
    asn_free(s);
    close(listener);
    return hccl_fail(HCCL_E_MEMORY, "no thread for the ranks' rendezvous");
}

/* The address must be reachable from other machines: it travels in the root
 * information. */
HcclResult hccl_root_new(hccl_root *root) {
    memset(root, 0, sizeof *root);
    root->magic = HCCL_ROOT_MAGIC;
    root->key = hccl_random();
    HCCL_TRY(hccl_own_ip(&root->ip));
    return serve(root, hccl_listen_tcp(root->ip, &root->port));
}

/* At an address that all ranks know already; in use by another program it fails. */
HcclResult hccl_root_open(const hccl_root *root) {
    uint16_t port = root->port;
    return serve(root, root->ip != 0 ? hccl_listen_tcp(INADDR_ANY, &port)
                                     : hccl_listen_local(root->name));
}

/* ---- a rank */

/* An answer that is no welcome, as this rank's error. */
static HcclResult refused(const answer *a) {
    if (a->status == HCCL_E_TIMEOUT)
        return hccl_fail(HCCL_E_TIMEOUT,
                         "%u of %u ranks came within HCCL_CONNECT_TIMEOUT", a->came,
                         a->size);
    return hccl_fail((HcclResult)a->status,
                     "rank %u of %u does not fit the other ranks: it is there twice, too "
                     "large, or their number differs",
                     a->rank, a->size);
}

/* The table of all ranks; owned by the caller. */
static HcclResult exchange(int fd, const join *j, int64_t deadline,
                           hccl_address **addresses) {
    answer a;
    HCCL_TRY(hccl_write(fd, j, sizeof *j, deadline));
    HCCL_TRY(hccl_read(fd, &a, sizeof a, deadline));
    if (a.status != HCCL_SUCCESS) return refused(&a);
    *addresses = asn_malloc(j->size * sizeof **addresses);
    if (*addresses == NULL)
        return hccl_fail(HCCL_E_MEMORY, "no memory for the addresses of %u ranks",
                         j->size);
    return hccl_read(fd, *addresses, j->size * sizeof **addresses, deadline);
}

/* Tells rank 0's server where this rank listens, and connects to all others when
 * the table comes. */
HcclResult hccl_root_join(const hccl_root *root, uint32_t size, uint32_t rank,
                          const hccl_options *options, HcclComm *out) {
    const int64_t grace = 2000000000; /* for the server to tell who is missing */
    int64_t deadline = hccl_now() + connect_ns();
    join j;
    memset(&j, 0, sizeof j);
    j.magic = JOIN_MAGIC;
    j.size = size;
    j.rank = rank;
    j.key = root->key;
    hccl_endpoint *endpoint = hccl_endpoint_new(&j.address);
    if (endpoint == NULL) return HCCL_E_TCP_CONNECT;
    int fd = root->ip != 0 ? hccl_connect_tcp(root->ip, root->port, deadline)
                           : hccl_connect_local(root->name, deadline);
    hccl_address *addresses = NULL;
    HcclResult code =
        fd < 0 ? HCCL_E_TIMEOUT : exchange(fd, &j, deadline + grace, &addresses);
    if (fd >= 0) close(fd);
    if (code == HCCL_SUCCESS)
        return hccl_comm_connect(root->key, size, rank, addresses, endpoint, options,
                                 hccl_now() + connect_ns(), out);
    asn_free(addresses);
    hccl_endpoint_free(endpoint);
    return code;
}
