/* L2 runtime: the memory pool (see pool.h). A hit is a lock and a pop; a fresh
 * block costs its page faults (1.8 GB/s of first touch).
 */
#include "runtime/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "runtime/acl_api.h"
#include "runtime/stock.h"
#include "runtime/stream.h"

enum {
    CLASSES = 4 * 44,
    SLAB_BYTES = 2 << 20,
    SMALL_MAX = 64 << 10,
    WIDER = 8, /* classes */
    NONE = -1
};

/* A stack of free blocks of one class. */
typedef struct {
    void **blocks;
    int count, capacity;
} bin;

static struct {
    pthread_mutex_t lock;
    bin bins[CLASSES];
    void **slabs;
    int num_slabs, cap_slabs;
    char *slab_at, *slab_end;
    asn_memory_stats stats;
    uint64_t cached_limit, slack;
    uint32_t given[CLASSES]; /* blocks that went back to the device for others */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .cached_limit = (uint64_t)4 << 30};

static int64_t class_bytes(int c) {
    return (int64_t)(4 + c % 4) << (c / 4 + ASN_POOL_MIN_SHIFT - 2);
}

static bool push(bin *b, void *block) {
    if (b->count == b->capacity) {
        int capacity = b->capacity ? 2 * b->capacity : 16;
        void **grown = asn_realloc(b->blocks, (size_t)capacity * sizeof *grown);
        if (!grown) return false;
        b->blocks = grown;
        b->capacity = capacity;
    }
    b->blocks[b->count++] = block;
    return true;
}

/* Queued operations may still use the block. */
static void give_back(void *block) {
    asn_stream_settle();
    asn_acl.aclrtFree(block);
}

static void trim_locked(void) {
    for (int c = 0; c < CLASSES; c++) {
        if (class_bytes(c) <= SMALL_MAX) continue;
        for (int i = 0; i < pool.bins[c].count; i++) {
            give_back(pool.bins[c].blocks[i]);
            pool.stats.bytes_cached -= (uint64_t)class_bytes(c);
        }
        pool.bins[c].count = 0;
    }
}

/* Fresh memory for a request of class c: what is idle now serves no such request, and as
 * much of it goes as keeps all blocks together below the most that was ever in use at
 * once, and idle ones below those in use. A loop in phases would then ask for the same
 * memory again at every turn: what was given up and is asked for again may stay in
 * future, up to that most. */
static void make_room_locked(int c) {
    uint64_t bytes = (uint64_t)class_bytes(c), peak = pool.stats.peak_bytes;
    uint64_t needed = pool.stats.bytes_in_use + bytes;
    if (pool.given[c]) {
        pool.given[c]--;
        pool.slack = pool.slack + bytes < peak ? pool.slack + bytes : peak;
    }
    uint64_t most = needed > peak ? needed : peak;
    most = (most < 2 * needed ? most : 2 * needed) + pool.slack;
    if (needed + pool.stats.bytes_cached <= most || !asn_stream_poll()) return;
    for (int k = CLASSES - 1; k >= 0 && class_bytes(k) > SMALL_MAX; k--)
        for (bin *b = &pool.bins[k]; b->count;) {
            if (needed + pool.stats.bytes_cached <= most) return;
            give_back(b->blocks[--b->count]);
            pool.stats.bytes_cached -= (uint64_t)class_bytes(k);
            pool.given[k]++;
        }
}

/* Device memory, with one more try after the caches are released. */
static asn_status device_alloc(size_t bytes, void **out) {
    pool.stats.device_allocations++;
    if (asn_alloc_fault() ||
        asn_acl.aclrtMalloc(out, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0) {
        trim_locked();
        if (asn_acl.aclrtMalloc(out, bytes, ACL_MEM_MALLOC_HUGE_FIRST) != 0)
            return asn_error_set(
                ASN_ERR_MEMORY,
                "Unable to allocate %zu bytes on the device; %llu bytes are "
                "in use by arrays",
                bytes, (unsigned long long)pool.stats.bytes_in_use);
    }
    return ASN_OK;
}

static asn_status cut_from_slab(int64_t bytes, void **out) {
    if (pool.slab_end - pool.slab_at < bytes) {
        if (pool.num_slabs == pool.cap_slabs) {
            int capacity = pool.cap_slabs ? 2 * pool.cap_slabs : 16;
            void **grown = asn_realloc(pool.slabs, (size_t)capacity * sizeof *grown);
            if (!grown) return ASN_ERR_MEMORY;
            pool.slabs = grown;
            pool.cap_slabs = capacity;
        }
        void *slab;
        ASN_TRY(device_alloc(SLAB_BYTES, &slab));
        pool.slabs[pool.num_slabs++] = slab;
        pool.slab_at = slab;
        pool.slab_end = pool.slab_at + SLAB_BYTES;
    }
    *out = pool.slab_at;
    pool.slab_at += bytes;
    return ASN_OK;
}

/* The class of an idle block that serves class c: the same, or for a large block one of
 * up to four times the size, which is better than fresh memory; NONE. */
static int find_idle(int c) {
    int last = class_bytes(c) > SMALL_MAX ? c + WIDER : c;
    for (int k = c; k <= last && k < CLASSES; k++)
        if (pool.bins[k].count) return k;
    return NONE;
}

asn_status asn_pool_alloc(int64_t nbytes, void **out, int64_t *capacity) {
    int c = asn_pool_class(nbytes);
    asn_status status = ASN_OK;
    pthread_mutex_lock(&pool.lock);
    int idle = find_idle(c);
    int64_t bytes = class_bytes(idle == NONE ? c : idle);
    if (idle != NONE) {
        bin *b = &pool.bins[idle];
        *out = b->blocks[--b->count];
        pool.stats.pool_hits++;
        pool.stats.bytes_cached -= (uint64_t)bytes;
    } else if (bytes <= SMALL_MAX) {
        status = cut_from_slab(bytes, out);
    } else {
        make_room_locked(c);
        status = device_alloc((size_t)bytes, out);
    }
    if (!status) {
        *capacity = bytes;
        pool.stats.bytes_in_use += (uint64_t)bytes;
        if (pool.stats.bytes_in_use > pool.stats.peak_bytes)
            pool.stats.peak_bytes = pool.stats.bytes_in_use;
    }
    pthread_mutex_unlock(&pool.lock);
    return status;
}

void asn_pool_free(void *block, int64_t capacity) {
    int c = asn_pool_class(capacity);
    pthread_mutex_lock(&pool.lock);
    pool.stats.bytes_in_use -= (uint64_t)capacity;
    bool keep = capacity <= SMALL_MAX ||
                pool.stats.bytes_cached + (uint64_t)capacity <= pool.cached_limit;
    if (keep && push(&pool.bins[c], block))
        pool.stats.bytes_cached += (uint64_t)capacity;
    else if (capacity > SMALL_MAX)
        give_back(block);
    pthread_mutex_unlock(&pool.lock);
}

void asn_pool_trim(void) {
    pthread_mutex_lock(&pool.lock);
    memset(pool.given, 0, sizeof pool.given);
    pool.slack = 0;
    if (asn_acl.aclrtFree) trim_locked();
    pthread_mutex_unlock(&pool.lock);
}

void asn_pool_fini(void) {
    asn_stock_clear();
    pthread_mutex_lock(&pool.lock);
    trim_locked();
    for (int i = 0; i < pool.num_slabs; i++)
        give_back(pool.slabs[i]);
    for (int c = 0; c < CLASSES; c++)
        asn_free(pool.bins[c].blocks);
    asn_free(pool.slabs);
    memset(pool.bins, 0, sizeof pool.bins);
    memset(&pool.stats, 0, sizeof pool.stats);
    memset(pool.given, 0, sizeof pool.given);
    pool.slack = 0;
    pool.slabs = NULL;
    pool.num_slabs = pool.cap_slabs = 0;
    pool.slab_at = pool.slab_end = NULL;
    pthread_mutex_unlock(&pool.lock);
}

void asn_memory_get_stats(asn_memory_stats *out) {
    pthread_mutex_lock(&pool.lock);
    *out = pool.stats;
    pthread_mutex_unlock(&pool.lock);
    uint64_t idle = (uint64_t)asn_stock_bytes();
    out->bytes_in_use -= idle;
    out->bytes_cached += idle;
}

void asn_memory_empty_cache(void) {
    asn_pool_trim();
}
