/* L2 runtime: stocks of small buffers, one per thread (see stock.h).
 *
 * A mutex costs 7 ns and the pool is locked to take a block and to give it back: a
 * ten-element operation would spend a fifth of its time there. A stock belongs to one
 * thread; a buffer may end in another thread's stock than it came from. What a stock
 * holds counts as cached in the statistics, so every stock is on one list, which is
 * locked only to walk it and when threads begin and end.
 *
 * Compiled out under sanitizers, so that they see every life of a buffer.
 */
#include "runtime/memory/stock.h"

#include <pthread.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "runtime/memory/memory_pool.h"

#ifdef ASN_SANITIZE

asn_buffer *asn_stock_take(int64_t nbytes) {
    (void)nbytes;
    return NULL;
}
bool asn_stock_put(asn_buffer *b) {
    (void)b;
    return false;
}
asn_buffer *asn_stock_take_struct(void) {
    return NULL;
}
bool asn_stock_put_struct(asn_buffer *b) {
    (void)b;
    return false;
}
int64_t asn_stock_bytes(uint64_t *hits, uint64_t *served) {
    *hits = *served = 0;
    return 0;
}
void asn_stock_clear(void) {}

#else

enum { CLASSES = 33, KEEP = 16, STRUCTS = 256 };

typedef struct stock {
    struct stock *next;
    int structs;
    /* Blocks kept, and ever served, of a class: written by its thread, read by any. */
    uint32_t count[CLASSES];
    uint64_t served[CLASSES];
    asn_buffer *spare[STRUCTS];
    asn_buffer *full[CLASSES][KEEP];
} stock;

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER; /* then the pool's */
ASN_FORK_TAKES(list, &list_lock, ASN_FORK_OUTER)
static stock *list;
static uint64_t ended[CLASSES]; /* served by threads that are gone */
static pthread_key_t at_exit;
static bool has_key;
static _Thread_local stock *mine;
static stock *everyones; /* where the binding's lock is held by whoever calls */

/* The thread's stock, NULL before its first put. Finding a thread-local costs a library a
 * call: where one lock is held anyway, all threads share one stock. */
static inline stock *own(void) {
    return asn_buffer_serial ? everyones : mine;
}

/* Gives the stock's blocks to the pool, and their structs to the host. The lock is
 * held. */
static void empty(stock *s) {
    for (int c = 0; c < CLASSES; c++)
        while (s->count[c]) {
            asn_buffer *b = s->full[c][--s->count[c]];
            asn_pool_free(&(asn_block){b->data, b->capacity, b->range, b->device});
            asn_free(b);
        }
}

/* A thread's stock ends with it: what it has served stays in the totals. */
static void thread_ends(void *arg) {
    stock *s = arg;
    mine = NULL;
    pthread_mutex_lock(&list_lock);
    for (stock **at = &list; *at; at = &(*at)->next)
        if (*at == s) {
            *at = s->next;
            break;
        }
    empty(s);
    for (int c = 0; c < CLASSES; c++)
        ended[c] += s->served[c];
    pthread_mutex_unlock(&list_lock);
    while (s->structs)
        asn_free(s->spare[--s->structs]);
    asn_free(s);
}

/* Whether the stock will be emptied when its thread ends. */
static bool ends_with_thread(stock *s) {
    if (!has_key) has_key = pthread_key_create(&at_exit, thread_ends) == 0;
    return has_key && pthread_setspecific(at_exit, s) == 0;
}

/* This thread's stock, made at the first put; NULL without memory for it. */
static __attribute__((noinline, cold)) stock *begin(void) {
    stock *s = asn_calloc(1, sizeof *s);
    if (!s) {
        asn_error_clear();
        return NULL;
    }
    bool shared = asn_buffer_serial;
    pthread_mutex_lock(&list_lock);
    bool kept = shared || ends_with_thread(s);
    if (kept) {
        s->next = list;
        list = s;
    }
    pthread_mutex_unlock(&list_lock);
    if (!kept) {
        asn_free(s);
        return NULL;
    }
    *(shared ? &everyones : &mine) = s;
    return s;
}

asn_buffer *asn_stock_take(int64_t nbytes) {
    stock *s = own();
    if (!s) return NULL;
    int c = asn_size_class(nbytes);
    if (!s->count[c]) return NULL;
    __atomic_store_n(&s->served[c], s->served[c] + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&s->count[c], s->count[c] - 1, __ATOMIC_RELAXED);
    return s->full[c][s->count[c]];
}

bool asn_stock_put(asn_buffer *b) {
    stock *s = own();
    if (b->capacity > ASN_STOCK_BYTES || b->device != asn_pool_device ||
        (!s && !(s = begin())))
        return false;
    int c = asn_size_class(b->capacity);
    if (s->count[c] == KEEP) return false;
    s->full[c][s->count[c]] = b;
    __atomic_store_n(&s->count[c], s->count[c] + 1, __ATOMIC_RELAXED);
    return true;
}

asn_buffer *asn_stock_take_struct(void) {
    stock *s = own();
    return s && s->structs ? s->spare[--s->structs] : NULL;
}

bool asn_stock_put_struct(asn_buffer *b) {
    stock *s = own();
    if ((!s && !(s = begin())) || s->structs == STRUCTS) return false;
    s->spare[s->structs++] = b;
    return true;
}

int64_t asn_stock_bytes(uint64_t *hits, uint64_t *served) {
    int64_t bytes = 0;
    *hits = *served = 0;
    pthread_mutex_lock(&list_lock);
    for (int c = 0; c < CLASSES; c++) {
        uint64_t times = ended[c], kept = 0;
        for (stock *s = list; s; s = s->next) {
            times += __atomic_load_n(&s->served[c], __ATOMIC_RELAXED);
            kept += __atomic_load_n(&s->count[c], __ATOMIC_RELAXED);
        }
        bytes += (int64_t)kept * asn_class_bytes(c);
        *hits += times;
        *served += times * (uint64_t)asn_class_bytes(c);
    }
    pthread_mutex_unlock(&list_lock);
    return bytes;
}

void asn_stock_clear(void) {
    pthread_mutex_lock(&list_lock);
    for (stock *s = list; s; s = s->next)
        empty(s);
    pthread_mutex_unlock(&list_lock);
}

#endif
