/* CPU device, collective communication: where the links of a rank come in.
 *
 * An endpoint listens on a local socket and on TCP for as long as communicators use it:
 * those that split it need no rendezvous of their own. Several threads may wait for
 * links at once; whoever accepts one that is not his own leaves it in the list of those
 * that have come.
 */
#include "device/hccl/internal.h"

#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* What a connecting rank says first. */
typedef struct {
    uint32_t magic, rank;
    uint64_t key;
} hello;

enum { HELLO_MAGIC = 0x48434c10, SLICE_MS = 20 };

typedef struct arrival {
    struct arrival *next;
    int fd;
    bool local;
    hello from;
} arrival;

struct hccl_endpoint {
    _Atomic int32_t references;
    int local, tcp;
    pthread_mutex_t lock; /* arrivals */
    arrival *arrivals;
};

/* Listens at once: its address can be told to others as soon as this returns. */
hccl_endpoint *hccl_endpoint_new(hccl_address *address) {
    hccl_endpoint *e = asn_calloc(1, sizeof *e);
    if (e == NULL) {
        (void)hccl_fail(HCCL_E_MEMORY, "no memory for a communicator's endpoint");
        return NULL;
    }
    memset(address, 0, sizeof *address);
    hccl_own_machine(address->machine);
    snprintf(address->name, sizeof address->name, "asnumpy-hccl-%016llx",
             (unsigned long long)hccl_random());
    pthread_mutex_init(&e->lock, NULL);
    atomic_init(&e->references, 1);
    e->local = e->tcp = -1;
    if (hccl_own_ip(&address->ip) == HCCL_SUCCESS &&
        (e->local = hccl_listen_local(address->name)) >= 0 &&
        (e->tcp = hccl_listen_tcp(address->ip, &address->port)) >= 0)
        return e;
    hccl_endpoint_free(e);
    return NULL;
}

/* A reference for a communicator that is made of another one. */
hccl_endpoint *hccl_endpoint_share(hccl_endpoint *e) {
    atomic_fetch_add(&e->references, 1);
    return e;
}

/* Connections that nobody asked for are closed, which their makers notice. */
void hccl_endpoint_free(hccl_endpoint *e) {
    if (e == NULL || atomic_fetch_sub(&e->references, 1) != 1) return;
    if (e->local >= 0) close(e->local);
    if (e->tcp >= 0) close(e->tcp);
    while (e->arrivals != NULL) {
        arrival *a = e->arrivals;
        e->arrivals = a->next;
        close(a->fd);
        asn_free(a);
    }
    pthread_mutex_destroy(&e->lock);
    asn_free(e);
}

/* Only the child's copies; the parent goes on listening. */
void hccl_endpoint_forget(hccl_endpoint *e) {
    if (e->local >= 0) close(e->local);
    if (e->tcp >= 0) close(e->tcp);
    e->local = e->tcp = -1;
}

/* Into the list; who says nothing sensible within a second is dropped. */
static void take_in(hccl_endpoint *e, int listener) {
    int on = 1;
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) return; /* another thread took it */
    arrival *a = asn_malloc(sizeof *a);
    if (a == NULL || hccl_read(fd, &a->from, sizeof a->from, hccl_now() + 1000000000) ||
        a->from.magic != HELLO_MAGIC) {
        asn_free(a);
        close(fd);
        return;
    }
    if (listener == e->tcp)
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    a->fd = fd;
    a->local = listener == e->local;
    pthread_mutex_lock(&e->lock);
    a->next = e->arrivals;
    e->arrivals = a;
    pthread_mutex_unlock(&e->lock);
}

/* Takes the connection of that rank out of the list; -1: it has not come. */
static int find(hccl_endpoint *e, uint64_t key, uint32_t rank, bool *local) {
    int fd = -1;
    pthread_mutex_lock(&e->lock);
    for (arrival **at = &e->arrivals; *at != NULL; at = &(*at)->next) {
        arrival *a = *at;
        if (a->from.key != key || a->from.rank != rank) continue;
        *at = a->next;
        fd = a->fd;
        *local = a->local;
        asn_free(a);
        break;
    }
    pthread_mutex_unlock(&e->lock);
    return fd;
}

/* Looks into the list again every SLICE_MS, since another thread may have accepted
 * what this one waits for. */
int hccl_endpoint_accept(hccl_endpoint *e, uint64_t key, uint32_t rank, int64_t deadline,
                         bool *local) {
    for (;;) {
        int fd = find(e, key, rank, local);
        if (fd >= 0) return fd;
        struct pollfd ways[] = {{e->local, POLLIN, 0}, {e->tcp, POLLIN, 0}};
        if (poll(ways, 2, SLICE_MS) > 0) {
            if (ways[0].revents) take_in(e, e->local);
            if (ways[1].revents) take_in(e, e->tcp);
        } else if (hccl_now() > deadline) {
            (void)hccl_fail(HCCL_E_TIMEOUT,
                            "rank %u did not connect within HCCL_CONNECT_TIMEOUT", rank);
            return -1;
        }
    }
}

/* Says who it is, as take_in expects. */
int hccl_endpoint_connect(const hccl_address *to, bool local, uint64_t key, uint32_t rank,
                          int64_t deadline) {
    hello me = {HELLO_MAGIC, rank, key};
    int fd = local ? hccl_connect_local(to->name, deadline)
                   : hccl_connect_tcp(to->ip, to->port, deadline);
    if (fd < 0 || hccl_write(fd, &me, sizeof me, deadline) == HCCL_SUCCESS) return fd;
    close(fd);
    return -1;
}
