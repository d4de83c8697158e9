/* L2 runtime: the copy queue (see dma.h). The queue's lock guards the list of transfers
 * and their states; the thread copies without it.
 *
 * A transfer is in the list while it has pieces to issue. With staging it goes on in the
 * two halves after that: to the device, a half is filled by the host, then emptied by the
 * stream; from the device, the stream fills it and the thread empties it when it comes to
 * that half again. The struct of a queue goes when the caller and all transfers have let
 * go of it.
 */
#include "runtime/memory/dma.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"

enum { LEAST_STAGING = 128 << 10 };
/* A piece of a copy that needs no staging: small enough for priorities to matter. */
enum { DIRECT_PIECE = 4 << 20 };

struct asn_transfer {
    asn_dma *queue;
    asn_transfer *next; /* in the queue, by priority, then age */
    bool to_device;
    char *host, *device;
    int64_t bytes, issued, ended; /* given to the device; known to be there */
    int priority;
    aclrtEvent after, landed; /* of the library's stream at submission, or NULL; of the
                                 last piece, once all is issued */
    bool done;
    asn_status status;
    char message[256];
};

/* A half of the staging memory and the piece that is under way in it. */
typedef struct {
    char *memory;
    aclrtEvent free;        /* recorded behind the piece's copy */
    asn_transfer *transfer; /* NULL: nothing is */
    int64_t at, bytes;
} half;

struct asn_dma {
    pthread_t thread;
    pid_t process; /* whose thread it is */
    pthread_mutex_t lock;
    pthread_cond_t work, progress;
    asn_transfer *first; /* with pieces to issue */
    uint64_t held;       /* by the caller and by transfers */
    bool direct, closing;
    int device;
    aclrtStream stream;
    half halves[2];
    int64_t half_bytes;
    asn_dma_stats stats;
};

/* ---- the thread */

/* Only the thread sets the status. */
static void fail(asn_transfer *t, const char *what, int code) {
    if (t->status) return;
    const char *detail = asn_acl.aclGetRecentErrMsg();
    pthread_mutex_lock(&t->queue->lock);
    t->status = ASN_ERR_RUNTIME;
    pthread_mutex_unlock(&t->queue->lock);
    snprintf(t->message, sizeof t->message, "transfer: %s failed with code %d%s%s", what,
             code, detail ? ": " : "", detail ? detail : "");
}

/* Counts a piece that is there (or failed); the last one ends the transfer. */
static void piece_ended(asn_dma *q, asn_transfer *t, int64_t bytes) {
    pthread_mutex_lock(&q->lock);
    t->ended += bytes;
    q->stats.pieces++;
    q->stats.bytes += (uint64_t)bytes;
    t->done = t->ended == t->bytes;
    if (t->done) {
        q->stats.transfers++;
        q->stats.waiting--;
    }
    pthread_cond_broadcast(&q->progress);
    pthread_mutex_unlock(&q->lock);
}

/* Waits for the piece in a half and brings it home. */
static void empty_half(asn_dma *q, half *h) {
    asn_transfer *t = h->transfer;
    if (!t) return;
    h->transfer = NULL;
    int code = t->status ? 0 : asn_acl.aclrtSynchronizeEvent(h->free);
    if (code) fail(t, "copying", code);
    if (!t->to_device && !t->status) memcpy(t->host + h->at, h->memory, (size_t)h->bytes);
    piece_ended(q, t, h->bytes);
}

/* Queues the copy of the half's piece, its event behind it, and behind the last piece the
 * event that others wait for. The device's code. */
static int copy_half(asn_dma *q, half *h, asn_transfer *t) {
    size_t bytes = (size_t)h->bytes;
    int code;
    if (t->to_device) {
        memcpy(h->memory, t->host + h->at, bytes);
        code = asn_acl.aclrtMemcpyAsync(t->device + h->at, bytes, h->memory, bytes,
                                        ACL_MEMCPY_HOST_TO_DEVICE, q->stream);
    } else {
        code = asn_acl.aclrtMemcpyAsync(h->memory, bytes, t->device + h->at, bytes,
                                        ACL_MEMCPY_DEVICE_TO_HOST, q->stream);
    }
    if (!code) code = asn_acl.aclrtRecordEvent(h->free, q->stream);
    bool last = h->at + h->bytes == t->bytes;
    if (!code && last) code = asn_acl.aclrtRecordEvent(t->landed, q->stream);
    return code;
}

/* How far a transfer is with the device, told to asn_transfer_order. */
static void set_issued(asn_transfer *t, int64_t issued) {
    pthread_mutex_lock(&t->queue->lock);
    t->issued = issued;
    pthread_cond_broadcast(&t->queue->progress);
    pthread_mutex_unlock(&t->queue->lock);
}

/* Puts the next piece of t under way. A piece that ends here may be the last, after which
 * t may be gone; one in a half keeps it. */
static void issue(asn_dma *q, asn_transfer *t, int64_t at, int64_t bytes, half *h) {
    if (t->status || q->direct) {
        void *to = t->to_device ? t->device : t->host;
        const void *from = t->to_device ? t->host : t->device;
        if (!t->status) memcpy((char *)to + at, (const char *)from + at, (size_t)bytes);
        set_issued(t, at + bytes);
        piece_ended(q, t, bytes);
        return;
    }
    h->transfer = t;
    h->at = at;
    h->bytes = bytes;
    int code = copy_half(q, h, t);
    if (code) fail(t, "queueing a copy", code);
    set_issued(t, at + bytes);
}

/* Before the first piece: what the library's stream was doing ends first. */
static void begin(asn_dma *q, asn_transfer *t) {
    if (!t->after) return;
    int code = q->direct ? asn_acl.aclrtSynchronizeEvent(t->after)
                         : asn_acl.aclrtStreamWaitEvent(q->stream, t->after);
    if (code) fail(t, "waiting for the stream", code);
}

/* Takes t out of the list; the lock is held. */
static void unlist(asn_dma *q, const asn_transfer *t) {
    asn_transfer **at = &q->first;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

/* One piece of the transfer whose turn it is, with the lock held at both ends. Only this
 * thread takes transfers out of the list; others may come before t meanwhile. */
static void next_piece(asn_dma *q, half *h) {
    asn_transfer *t = q->first;
    int64_t at = t->issued, most = q->direct ? DIRECT_PIECE : q->half_bytes;
    int64_t bytes = t->bytes - at < most ? t->bytes - at : most;
    if (at + bytes == t->bytes) unlist(q, t);
    pthread_mutex_unlock(&q->lock);
    if (at == 0) begin(q, t);
    issue(q, t, at, bytes, h);
    pthread_mutex_lock(&q->lock);
}

/* The thread: uses the two halves alternately. Each time it first waits for the piece
 * that was put into this half two pieces ago, while the other half's is still being
 * copied; then it issues the next piece of whichever transfer is first now. It ends when
 * it is told to and all has been copied. */
static void *run(void *arg) {
    asn_dma *q = arg;
    asn_acl.aclrtSetDevice(q->device);
    pthread_mutex_lock(&q->lock);
    for (int turn = 0;; turn ^= 1) {
        bool under_way = q->halves[0].transfer || q->halves[1].transfer;
        if (!q->first && !under_way) {
            if (q->closing) break;
            pthread_cond_wait(&q->work, &q->lock);
            continue;
        }
        pthread_mutex_unlock(&q->lock);
        empty_half(q, &q->halves[turn]);
        pthread_mutex_lock(&q->lock);
        if (q->first) next_piece(q, &q->halves[turn]);
    }
    pthread_mutex_unlock(&q->lock);
    return NULL;
}

/* False in the child of a fork, where the thread is not, and the lock may be held for
 * ever: nothing is copied there, and the queue's memory stays. */
static bool has_thread(const asn_dma *q) {
    return q->process == getpid();
}

static asn_status lacks_thread(void) {
    return asn_error_set(
        ASN_ERR_RUNTIME,
        "copy queue: it was made before this process was forked, and its "
        "thread is the parent's; make another");
}

/* ---- making and ending */

/* One holder less; the last one frees the queue. In a forked child the lock cannot be
 * trusted, and the queue stays. */
static void let_go(asn_dma *q) {
    if (!has_thread(q)) return;
    pthread_mutex_lock(&q->lock);
    bool last = --q->held == 0;
    pthread_mutex_unlock(&q->lock);
    if (!last) return;
    pthread_cond_destroy(&q->work);
    pthread_cond_destroy(&q->progress);
    pthread_mutex_destroy(&q->lock);
    asn_free(q);
}

/* What make_resources made, of which any part may be missing. */
static void free_resources(asn_dma *q) {
    for (int i = 0; i < 2; i++) {
        if (q->halves[i].memory) asn_acl.aclrtFreeHost(q->halves[i].memory);
        if (q->halves[i].free) asn_acl.aclrtDestroyEvent(q->halves[i].free);
    }
    if (q->stream) asn_acl.aclrtDestroyStream(q->stream);
}

/* The stream, the staging memory and its events; direct copies need none. */
static asn_status make_resources(asn_dma *q) {
    if (q->direct) return ASN_OK;
    ASN_ACL_TRY(asn_acl.aclrtCreateStreamWithConfig(&q->stream, 0, 0), "copy queue");
    for (int i = 0; i < 2; i++) {
        void *memory;
        ASN_ACL_TRY(asn_acl.aclrtMallocHost(&memory, (size_t)q->half_bytes),
                    "staging memory of the copy queue");
        q->halves[i].memory = memory;
        ASN_ACL_TRY(asn_acl.aclrtCreateEvent(&q->halves[i].free), "copy queue");
    }
    return ASN_OK;
}

asn_status asn_dma_new(asn_dma **out, int64_t staging_bytes) {
    if (staging_bytes < LEAST_STAGING)
        return asn_error_set(ASN_ERR_VALUE,
                             "copy queue: %lld bytes of staging memory; at least %d are "
                             "needed",
                             (long long)staging_bytes, LEAST_STAGING);
    ASN_TRY(asn_device_open());
    asn_dma *q = asn_calloc(1, sizeof *q);
    if (!q) return ASN_ERR_MEMORY;
    q->held = 1;
    q->process = getpid();
    q->half_bytes = staging_bytes / 2;
    q->direct = asn_device_host_access();
    pthread_mutex_init(&q->lock, NULL);
    pthread_cond_init(&q->work, NULL);
    pthread_cond_init(&q->progress, NULL);
    asn_status status = asn_device_get(&q->device);
    if (!status) status = make_resources(q);
    if (!status && pthread_create(&q->thread, NULL, run, q) != 0)
        status = asn_error_set(ASN_ERR_RUNTIME, "copy queue: no thread could be started");
    if (status) {
        free_resources(q);
        let_go(q);
        return status;
    }
    *out = q;
    return ASN_OK;
}

void asn_dma_free(asn_dma *q) {
    if (!q || !has_thread(q)) return;
    pthread_mutex_lock(&q->lock);
    q->closing = true;
    pthread_cond_signal(&q->work);
    pthread_mutex_unlock(&q->lock);
    pthread_join(q->thread, NULL);
    free_resources(q);
    let_go(q);
}

void asn_dma_get_stats(asn_dma *q, asn_dma_stats *out) {
    bool shared = has_thread(q);
    if (shared) pthread_mutex_lock(&q->lock);
    *out = q->stats;
    if (shared) pthread_mutex_unlock(&q->lock);
}

/* ---- transfers */

static void free_transfer(asn_transfer *t) {
    if (t->after) asn_acl.aclrtDestroyEvent(t->after);
    if (t->landed) asn_acl.aclrtDestroyEvent(t->landed);
    asn_free(t);
}

/* The event behind the last piece, for staged copies, and the one that says when the
 * library's stream has done what it was given so far: none if it is idle. */
static asn_status make_events(asn_dma *q, asn_transfer *t) {
    if (!q->direct) ASN_ACL_TRY(asn_acl.aclrtCreateEvent(&t->landed), "transfer");
    if (!asn_stream_busy) return ASN_OK;
    ASN_ACL_TRY(asn_acl.aclrtCreateEvent(&t->after), "transfer");
    ASN_ACL_TRY(asn_acl.aclrtRecordEvent(t->after, asn_stream()), "transfer");
    return ASN_OK;
}

asn_status asn_dma_submit(asn_dma *q, bool to_device, void *host, void *device,
                          int64_t bytes, int priority, asn_transfer **out) {
    if (!has_thread(q)) return lacks_thread();
    asn_transfer *t = asn_calloc(1, sizeof *t);
    if (!t) return ASN_ERR_MEMORY;
    t->queue = q;
    t->to_device = to_device;
    t->host = host;
    t->device = device;
    t->bytes = bytes;
    t->priority = priority;
    t->done = bytes == 0;
    asn_status status = make_events(q, t);
    if (status) {
        free_transfer(t);
        return status;
    }
    pthread_mutex_lock(&q->lock);
    q->held++;
    if (!t->done) {
        asn_transfer **at = &q->first;
        while (*at && (*at)->priority >= priority)
            at = &(*at)->next;
        t->next = *at;
        *at = t;
        q->stats.waiting++;
        pthread_cond_signal(&q->work);
    }
    pthread_mutex_unlock(&q->lock);
    *out = t;
    return ASN_OK;
}

bool asn_transfer_done(asn_transfer *t) {
    if (!has_thread(t->queue)) return t->done;
    pthread_mutex_lock(&t->queue->lock);
    bool done = t->done;
    pthread_mutex_unlock(&t->queue->lock);
    return done;
}

/* Waits until the transfer has ended; in a forked child it does not wait, as nothing
 * would end it. */
static void end_transfer(asn_transfer *t) {
    if (!has_thread(t->queue)) return;
    pthread_mutex_lock(&t->queue->lock);
    while (!t->done)
        pthread_cond_wait(&t->queue->progress, &t->queue->lock);
    pthread_mutex_unlock(&t->queue->lock);
}

asn_status asn_transfer_wait(asn_transfer *t) {
    end_transfer(t);
    if (!t->done) return lacks_thread();
    return t->status ? asn_error_set(t->status, "%s", t->message) : ASN_OK;
}

asn_status asn_transfer_order(asn_transfer *t) {
    if (!t->landed || !has_thread(t->queue)) return asn_transfer_wait(t);
    /* Its event is recorded when the last piece is issued: until then there is nothing
     * for a stream to wait for. */
    pthread_mutex_lock(&t->queue->lock);
    while (t->issued < t->bytes)
        pthread_cond_wait(&t->queue->progress, &t->queue->lock);
    bool ended = t->done || t->status;
    pthread_mutex_unlock(&t->queue->lock);
    if (ended) return asn_transfer_wait(t);
    ASN_ACL_TRY(asn_acl.aclrtStreamWaitEvent(asn_stream(), t->landed), "transfer");
    asn_stream_launch(true);
    return ASN_OK;
}

void asn_transfer_release(asn_transfer *t) {
    if (!t) return;
    end_transfer(t);
    asn_dma *q = t->queue;
    free_transfer(t);
    let_go(q);
}
