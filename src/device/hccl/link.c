/* CPU device, collective communication: the link between two ranks.
 *
 * Two streams of bytes, one per direction. On one machine each is a ring in memory that
 * both map: the sender moves `head`, the receiver `tail`, both count bytes for ever.
 * Every message begins at a multiple of ALIGNED bytes with its header, so that no
 * element of 1, 2, 4, 8 or 16 bytes lies across the end of the ring, and a reduction
 * reads its operand where it lies. Between machines the stream is TCP, and the receiver
 * has a buffer.
 *
 * The socket stays open with shared memory, too: whoever sleeps says so in `sleeps`, and
 * the other side then sends a byte through it. One poll thus waits for links of both
 * kinds, and the end of a peer's process wakes it, as no futex would.
 */
#include "device/hccl/internal.h"

#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

/* RING: two of them and what they are copied from stay in a level-2 cache of 2 MB. CHUNK:
 * what the receiver may begin with while the rest is written. */
enum { RING = 512 << 10, CHUNK = 64 << 10, ALIGNED = 64, BUFFER = 256 << 10 };
/* From so many bytes on a message is read by the receiver (direct.c). READ: how much at
 * once, where it is an operand. */
enum { DIRECT = 64 << 10, READ = 32 << 10 };

/* Bytes from one side to the other; head and tail only grow, each on a line of its own.
 */
typedef struct {
    _Alignas(64) _Atomic uint64_t head;
    _Alignas(64) _Atomic uint64_t tail;
    _Alignas(64) char data[RING];
} ring;

/* The memory that two processes share: a ring each way, and whether a side sleeps. */
typedef struct {
    ring rings[2];
    struct {
        _Alignas(64) _Atomic uint32_t sleeps;
        _Alignas(64) hccl_direct direct;
    } sides[2];
} shared;

struct hccl_link {
    int fd;
    bool dead, full; /* the other end is gone; TCP took less than it was given */
    unsigned side;   /* 0 or 1: rings[side] is the one this side writes */
    shared *memory;  /* NULL: TCP */
    char *buffer;    /* of TCP: bytes begin..end have arrived; else READ bytes */
    size_t begin, end;
    uint64_t word;    /* which the other side reads to find out whether it can */
    uint64_t offered; /* messages for the other side to read */
    uint64_t remote;  /* where the message that arrives lies; 0: in the stream */
    struct hccl_step *sends, *receives;
};

/* The side that was asked first makes the memory and passes it. */
static HcclResult memory_share(hccl_link *l, bool first, int64_t deadline) {
    int fd = -1;
    if (first) {
        fd = memfd_create("asnumpy-hccl", MFD_CLOEXEC);
        if (fd < 0 || ftruncate(fd, sizeof(shared)) != 0) {
            if (fd >= 0) close(fd);
            return hccl_fail(HCCL_E_MEMORY, "no shared memory for two ranks: %s",
                             strerror(errno));
        }
        HcclResult code = hccl_write_fd(l->fd, fd);
        if (code != HCCL_SUCCESS) {
            close(fd);
            return code;
        }
    } else {
        HCCL_TRY(hccl_read_fd(l->fd, &fd, deadline));
    }
    void *p = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED)
        return hccl_fail(HCCL_E_MEMORY, "two ranks' memory cannot be mapped: %s",
                         strerror(errno));
    l->memory = p;
    l->word = hccl_random();
    hccl_direct_offer(&l->memory->sides[l->side].direct, &l->word);
    return HCCL_SUCCESS;
}

/* The side that is `first` makes the memory; both then have the same, with a ring
 * for each direction. */
hccl_link *hccl_link_new(int socket, bool local, bool first, int64_t deadline) {
    hccl_link *l = asn_calloc(1, sizeof *l);
    if (l == NULL) {
        close(socket);
        (void)hccl_fail(HCCL_E_MEMORY, "no memory for a link between two ranks");
        return NULL;
    }
    l->fd = socket;
    l->side = !first;
    HcclResult code = HCCL_SUCCESS;
    if ((l->buffer = asn_malloc(local ? READ : BUFFER)) == NULL)
        code = hccl_fail(HCCL_E_MEMORY, "no memory for a link between two ranks");
    else if (local)
        code = memory_share(l, first, deadline);
    if (code == HCCL_SUCCESS) return l;
    hccl_link_free(l);
    return NULL;
}

/* The memory goes with the last of the two that has it mapped. */
void hccl_link_free(hccl_link *l) {
    if (l == NULL) return;
    if (l->memory != NULL) munmap(l->memory, sizeof(shared));
    asn_free(l->buffer);
    if (l->fd >= 0) close(l->fd);
    asn_free(l);
}

/* The child's copy of the socket would keep the other rank from seeing that the
 * parent ended. */
void hccl_link_forget(hccl_link *l) {
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->dead = true;
}

int hccl_link_socket(const hccl_link *l) {
    return l->fd;
}

bool hccl_link_dead(const hccl_link *l) {
    return l->dead;
}

bool hccl_link_local(const hccl_link *l) {
    return l->memory != NULL;
}

bool hccl_link_blocked(const hccl_link *l) {
    return l->full;
}

struct hccl_step **hccl_link_owner(hccl_link *l, bool sends) {
    return sends ? &l->sends : &l->receives;
}

/* ---- shared memory */

/* After `head` or `tail` moved. The fence pairs with that of hccl_link_doze: one of the
 * two sees what the other wrote. */
static void tell(hccl_link *l) {
    _Atomic uint32_t *sleeps = &l->memory->sides[!l->side].sleeps;
    atomic_thread_fence(memory_order_seq_cst);
    if (atomic_load_explicit(sleeps, memory_order_relaxed) == 0) return;
    if (atomic_exchange(sleeps, 0) != 0)
        (void)send(l->fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* At most CHUNK, and not across the ring's end; 0: the ring is full. */
static size_t ring_push(hccl_link *l, const void *data, size_t size) {
    ring *r = &l->memory->rings[l->side];
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_acquire);
    if (head - tail >= RING) return 0;
    size_t n = hccl_least(hccl_least(size, CHUNK), RING - (size_t)(head - tail));
    n = hccl_least(n, RING - (size_t)(head % RING));
    if (n == 0) return 0;
    memcpy(r->data + head % RING, data, n);
    atomic_store_explicit(&r->head, head + n, memory_order_release);
    tell(l);
    return n;
}

/* What lies there in one piece; it stays until it is taken. */
static const void *ring_peek(hccl_link *l, size_t size, size_t *there) {
    ring *r = &l->memory->rings[!l->side];
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    uint64_t head = atomic_load_explicit(&r->head, memory_order_acquire);
    size_t has =
        tail < head ? (size_t)(head - tail) : 0; /* the tail may round up first */
    *there = hccl_least(hccl_least(size, has), RING - (size_t)(tail % RING));
    return r->data + tail % RING;
}

/* Makes room for the sender. */
static void ring_take(hccl_link *l, size_t size) {
    ring *r = &l->memory->rings[!l->side];
    uint64_t tail = atomic_load_explicit(&r->tail, memory_order_relaxed);
    atomic_store_explicit(&r->tail, tail + size, memory_order_release);
    tell(l);
}

/* ---- memory of the other rank */

bool hccl_link_is_direct(hccl_link *l, size_t size) {
    return l->memory != NULL && size >= DIRECT &&
           hccl_direct_reads(&l->memory->sides[!l->side].direct);
}

/* Counts what the other side shall read, in the order of the messages. */
void hccl_link_offered(hccl_link *l) {
    l->offered++;
}

/* Until then the sender's memory must not change. */
bool hccl_link_was_read(hccl_link *l) {
    return atomic_load_explicit(&l->memory->sides[!l->side].direct.got,
                                memory_order_acquire) == l->offered;
}

/* Also looks, at the first long messages, whether such could be read. */
void hccl_link_begins(hccl_link *l, const hccl_header *header) {
    l->remote = header->direct ? header->address : 0;
    if (l->memory != NULL && header->size >= DIRECT && !header->direct)
        hccl_direct_try(&l->memory->sides[l->side].direct,
                        &l->memory->sides[!l->side].direct);
}

/* From the other process's memory itself; nothing read: it is gone. */
static size_t remote_pull(hccl_link *l, void *data, size_t size) {
    int32_t pid = l->memory->sides[!l->side].direct.pid;
    size_t n = hccl_direct_read(pid, l->remote, data, size);
    if (n == 0) l->dead = true;
    l->remote += n;
    return n;
}

/* What was read into the buffer is taken at once; in one process nothing is read. */
static const void *remote_peek(hccl_link *l, size_t size, size_t *there) {
    int32_t pid = l->memory->sides[!l->side].direct.pid;
    if (pid == l->memory->sides[l->side].direct.pid) {
        *there = hccl_least(size, READ);
        return (const void *)(uintptr_t)l->remote;
    }
    *there = hccl_direct_read(pid, l->remote, l->buffer, hccl_least(size, READ));
    if (*there == 0) l->dead = true;
    return l->buffer;
}

/* Lets the sender go on. */
static void remote_received(hccl_link *l) {
    _Atomic uint64_t *got = &l->memory->sides[l->side].direct.got;
    atomic_store_explicit(got, atomic_load_explicit(got, memory_order_relaxed) + 1,
                          memory_order_release);
    l->remote = 0;
    tell(l);
}

/* The next message begins at a multiple of ALIGNED: both sides leave out the same. In a
 * full ring the head runs ahead by what is left out, which nobody writes. */
void hccl_link_sent(hccl_link *l) {
    if (l->memory == NULL) return;
    ring *r = &l->memory->rings[l->side];
    uint64_t head = atomic_load_explicit(&r->head, memory_order_relaxed);
    uint64_t next = (head + ALIGNED - 1) / ALIGNED * ALIGNED;
    if (next != head) atomic_store_explicit(&r->head, next, memory_order_release);
}

/* The ring goes on at an aligned place after each message. */
void hccl_link_received(hccl_link *l) {
    if (l->memory == NULL) return;
    if (l->remote != 0) remote_received(l);
    uint64_t tail =
        atomic_load_explicit(&l->memory->rings[!l->side].tail, memory_order_relaxed);
    size_t skipped = (size_t)((tail + ALIGNED - 1) / ALIGNED * ALIGNED - tail);
    if (skipped != 0) ring_take(l, skipped);
}

/* ---- TCP */

/* As much as the kernel takes now; `full` has the caller sleep until it takes more. */
static size_t tcp_push(hccl_link *l, const void *data, size_t size) {
    ssize_t n = send(l->fd, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    l->full = n < (ssize_t)size;
    if (n < 0 && errno != EAGAIN && errno != EINTR) l->dead = true;
    return n < 0 ? 0 : (size_t)n;
}

/* 0 also where nothing has come yet; `dead` tells the end of the connection. */
static size_t tcp_receive(hccl_link *l, void *data, size_t size) {
    ssize_t n = recv(l->fd, data, size, MSG_DONTWAIT);
    if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) l->dead = true;
    return n < 0 ? 0 : (size_t)n;
}

/* Bytes to the front when they are too few or lie askew, then more of them. */
static const void *tcp_peek(hccl_link *l, size_t unit, size_t size, size_t *there) {
    size_t has = l->end - l->begin;
    if (has < unit || ((uintptr_t)(l->buffer + l->begin)) % unit != 0) {
        memmove(l->buffer, l->buffer + l->begin, has);
        l->begin = 0;
        l->end = has;
    }
    if (has < hccl_least(size, BUFFER / 2) && l->end < BUFFER)
        l->end += tcp_receive(l, l->buffer + l->end, BUFFER - l->end);
    *there = hccl_least(l->end - l->begin, size) / unit * unit;
    return l->buffer + l->begin;
}

/* Long messages go to their place without the buffer. */
static size_t tcp_pull(hccl_link *l, void *data, size_t size) {
    size_t there;
    if (l->begin == l->end && size >= BUFFER / 4) return tcp_receive(l, data, size);
    const void *at = tcp_peek(l, 1, size, &there);
    memcpy(data, at, there);
    l->begin += there;
    return there;
}

/* ---- either */

size_t hccl_link_push(hccl_link *l, const void *data, size_t size) {
    return l->memory != NULL ? ring_push(l, data, size) : tcp_push(l, data, size);
}

/* Whole units alone, of what has come. */
const void *hccl_link_peek(hccl_link *l, size_t unit, size_t size, size_t *there) {
    if (l->memory == NULL) return tcp_peek(l, unit, size, there);
    const void *at =
        l->remote != 0 ? remote_peek(l, size, there) : ring_peek(l, size, there);
    *there = *there / unit * unit;
    return at;
}

/* What was peeked at: the place it came by moves on. */
void hccl_link_take(hccl_link *l, size_t size) {
    if (l->memory == NULL) {
        l->begin += size;
    } else if (l->remote != 0) {
        l->remote += size;
    } else {
        ring_take(l, size);
    }
}

/* Copies what has come, at most a chunk, so that the other side can go on. */
size_t hccl_link_pull(hccl_link *l, void *data, size_t size) {
    size_t there;
    if (l->memory == NULL) return tcp_pull(l, data, size);
    if (l->remote != 0) return remote_pull(l, data, hccl_least(size, 4 * READ));
    const void *at = ring_peek(l, hccl_least(size, CHUNK), &there);
    if (there == 0) return 0;
    memcpy(data, at, there);
    ring_take(l, there);
    return there;
}

/* ---- sleeping */

/* Says that this side will sleep; the fence comes before its last look at the ring. */
void hccl_link_doze(hccl_link *l) {
    if (l->memory == NULL) return;
    atomic_store(&l->memory->sides[l->side].sleeps, 1);
    atomic_thread_fence(memory_order_seq_cst);
}

/* Of a local socket the bytes mean nothing, their end everything. */
void hccl_link_wake(hccl_link *l, short events) {
    char bytes[64];
    ssize_t n;
    if (l->memory == NULL) {
        if (events & (POLLERR | POLLNVAL)) l->dead = true;
        return;
    }
    atomic_store(&l->memory->sides[l->side].sleeps, 0);
    if (events == 0) return;
    while ((n = recv(l->fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0) {
    }
    if (n == 0 || (errno != EAGAIN && errno != EINTR)) l->dead = true;
}
