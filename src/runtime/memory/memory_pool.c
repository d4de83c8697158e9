/* L2 runtime: the memory pool (see memory_pool.h): an arena per device, under one lock. A
 * hit is a lock and a pop; a fresh block costs its page faults (1.8 GB/s of first
 * touch, 10.8 GB/s with huge pages).
 */
#include "runtime/memory/memory_pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "base/integers.h"
#include "runtime/acl_api.h"
#include "runtime/memory/pattern.h"
#include "runtime/profile.h"
#include "runtime/memory/slab.h"
#include "runtime/memory/stock.h"
#include "runtime/streams/stream.h"

enum { DEVICES = 64, BIN_LARGEST = 2 << 20, PAGE = 4096, HOLDERS = 3 };
static const int64_t SEGMENT_LEAST = 1 << 20, SEGMENT_MOST = 16 << 20;
/* Blocks of one size begin at different places of a page: operands that are walked side
 * by side would otherwise meet in the same sets of the caches (maximum of two operands of
 * 4 MB: 236 us so, 204 staggered; most operations of 0.4 to 8 MB gain 3 to 10%). */
enum { STAGGERED = 8 << 20, STAGGER = 1024 };
static const uint64_t CACHED_MOST = (uint64_t)4 << 30; /* idle, before it goes back */

#ifdef ASN_SANITIZE
static const bool caching = false;
#else
static const bool caching = true;
#endif

/* One device's memory. in_use counts what lies in the stocks of threads too. */
typedef struct {
    int32_t device;
    asn_slabs slabs;
    asn_segments segments;
    asn_range *aside[ASN_SIZE_CLASSES]; /* the bins: blocks of up to 2 MiB */
    int64_t bytes_aside;
    asn_pattern pattern; /* of requests above that */
    int64_t last_missed; /* the last request that needed a segment */
    uint64_t in_use, most_in_use, peak, peak_reserved, slab_bytes;
    uint64_t released, slack; /* see make_room */
    asn_memory_stats stats;
} arena;

static struct {
    pthread_mutex_t lock;
    arena *arenas[DEVICES];
    asn_memory_settings settings;
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(pool, &pool.lock, ASN_FORK_LEAF)

int32_t asn_pool_device;

/* What is held of the device, in use and idle. */
static uint64_t reserved(const arena *a) {
    return a->slab_bytes + (uint64_t)a->segments.reserved;
}

/* ---- giving back to the device */

/* Queued operations may still use the memory, if there is one stream (uses.h). */
static void give_back(const arena *a, void *memory) {
    if (!asn_stream_are_many()) asn_stream_drain();
    if (a->device != asn_pool_device) asn_acl.aclrtSetDevice(a->device);
    asn_acl.aclrtFree(memory);
    if (a->device != asn_pool_device) asn_acl.aclrtSetDevice(asn_pool_device);
}

static void release_slab(void *context, void *memory) {
    arena *a = context;
    give_back(a, memory);
    a->stats.device_frees++;
    a->slab_bytes -= ASN_SLAB_BYTES;
}

/* The blocks set aside in bins become ranges again. */
static void empty_bins(arena *a) {
    for (int c = 0; a->bytes_aside && c < ASN_SIZE_CLASSES; c++)
        while (a->aside[c]) {
            asn_range *r = a->aside[c];
            a->aside[c] = r->older;
            a->bytes_aside -= r->bytes;
            asn_segments_give(r);
        }
}

/* Gives back the segment that has been idle for longest; false: there is none. */
static bool drop_one(arena *a) {
    asn_segment *segment = asn_segments_idle_segment(&a->segments);
    if (!segment && a->bytes_aside) {
        empty_bins(a);
        segment = asn_segments_idle_segment(&a->segments);
    }
    if (!segment) return false;
    a->released += (uint64_t)segment->bytes;
    a->stats.device_frees++;
    give_back(a, asn_segments_drop(&a->segments, segment));
    return true;
}

/* Everything idle goes back: segments, the bins' blocks, slabs. */
static void trim(arena *a) {
    while (drop_one(a))
        ;
    asn_slabs_release(&a->slabs, release_slab, a);
}

/* ---- fresh memory */

/* Before a segment of `bytes`: what is idle now serves no such request, and as much of it
 * goes as keeps everything held below the most that was ever in use at once, and idle
 * memory below that in use. A loop in phases would then ask for the same memory again at
 * every turn: as much as was given up and is asked for again may stay in future, up to
 * that most. */
static void make_room(arena *a, uint64_t bytes) {
    uint64_t needed = a->in_use + bytes, peak = a->most_in_use;
    uint64_t again = a->released < bytes ? a->released : bytes;
    a->released -= again;
    a->slack = a->slack + again < peak ? a->slack + again : peak;
    uint64_t most = needed > peak ? needed : peak;
    most = (most < 2 * needed ? most : 2 * needed) + a->slack;
    while (reserved(a) + bytes > most && (asn_stream_are_many() || asn_stream_poll()) &&
           drop_one(a))
        ;
}

/* The bytes above which idle segments go first; 0: never. */
static double collection_start(void) {
    double share = pool.settings.gc_threshold;
    size_t idle, total;
    if (share <= 0) return 0;
    if (pool.settings.limit) return share * (double)pool.settings.limit;
    if (asn_acl.aclrtGetMemInfo(ACL_HBM_MEM, &idle, &total)) return 0;
    return share * (double)total;
}

/* Whether that many bytes more stay within the limit that the user set. */
static bool within_limit(const arena *a, uint64_t bytes) {
    return !pool.settings.limit ||
           (bytes <= pool.settings.limit && reserved(a) <= pool.settings.limit - bytes);
}

/* What the largest live ranges are, for an error message: "3.2 MB (step.py:12), ...". */
static void name_holders(const arena *a, char *text, size_t room) {
    const asn_range *top[HOLDERS] = {NULL};
    for (const asn_segment *s = a->segments.list; s; s = s->next)
        for (const asn_range *r = s->first; r; r = r->after) {
            if (r->state != ASN_RANGE_LIVE) continue;
            int at = HOLDERS;
            while (at > 0 && (!top[at - 1] || top[at - 1]->bytes < r->bytes))
                at--;
            for (int i = HOLDERS - 1; i > at; i--)
                top[i] = top[i - 1];
            if (at < HOLDERS) top[at] = r;
        }
    size_t used = 0;
    for (int i = 0; i < HOLDERS && top[i] && used < room; i++) {
        const asn_site_info *site = asn_site_get(top[i]->site);
        used += (size_t)snprintf(
            text + used, room - used, "%s%lld",
            i ? ", " : "; the largest blocks: ", (long long)top[i]->bytes);
        if (site && used < room)
            used += (size_t)snprintf(text + used, room - used, " (%s:%d)", site->file,
                                     site->line);
    }
}

/* The message of a failure, with what is in use and who has the most of it. */
static asn_status no_memory(const arena *a, uint64_t bytes) {
    char holders[512] = "", limit[64] = "";
    name_holders(a, holders, sizeof holders);
    if (pool.settings.limit)
        snprintf(limit, sizeof limit, ", the limit is %llu",
                 (unsigned long long)pool.settings.limit);
    return asn_error_set(ASN_ERR_MEMORY,
                         "Unable to allocate %llu bytes on the device; %llu bytes are in "
                         "use by arrays%s%s",
                         (unsigned long long)bytes, (unsigned long long)a->in_use, limit,
                         holders);
}

/* Huge pages for large arrays: of a segment of small ones, idle parts would be resident
 * two MiB at a time. */
static bool device_gives(arena *a, uint64_t bytes, bool huge, void **out) {
    if (!within_limit(a, bytes) || asn_alloc_fault()) return false;
    a->stats.device_allocations++;
    int policy = huge ? ACL_MEM_MALLOC_HUGE_FIRST : ACL_MEM_MALLOC_NORMAL_ONLY;
    return asn_acl.aclrtMalloc(out, bytes, (aclrtMemMallocPolicy)policy) == 0;
}

/* Device memory: `wished` bytes, with one more try for the `needed` ones after the caches
 * are released. */
static asn_status device_alloc(arena *a, uint64_t wished, uint64_t needed, bool huge,
                               void **out, uint64_t *got) {
    double start = collection_start();
    while (start > 0 && (double)(reserved(a) + wished) > start && drop_one(a))
        ;
    *got = wished;
    if (device_gives(a, wished, huge, out)) return ASN_OK;
    trim(a);
    *got = needed;
    return device_gives(a, needed, huge, out) ? ASN_OK : no_memory(a, needed);
}

/* Whether the program asks for a little more than the last time there was no room: an
 * array that grows, of which the next one will not fit where this one was. */
static bool grows(const arena *a, int64_t bytes) {
    return bytes > a->last_missed && bytes <= a->last_missed + a->last_missed / 4;
}

/* A segment for small requests: a sixteenth of what is held, 1 to 16 MiB. */
static int64_t usual_segment(const arena *a) {
    int64_t bytes = asn_round_up((int64_t)(reserved(a) / 16), SEGMENT_LEAST);
    if (bytes < SEGMENT_LEAST) return SEGMENT_LEAST;
    return bytes < SEGMENT_MOST ? bytes : SEGMENT_MOST;
}

/* How large a segment to get for a request: with a quarter to spare for what grows, of
 * four blocks for bins. */
static int64_t segment_bytes(const arena *a, int64_t bytes) {
    if (!caching) return bytes;
    int64_t least = usual_segment(a);
    int64_t wished = grows(a, bytes) ? bytes + bytes / 4 : bytes;
    if (bytes <= BIN_LARGEST) wished = 4 * bytes;
    if (least < wished) least = asn_round_up(wished, PAGE);
    int64_t missing = asn_pattern_need(&a->pattern) - a->segments.reserved;
    if (missing > least) least = asn_round_up(missing, SEGMENT_LEAST);
    int64_t most = a->segments.max_split; /* a longer one would not be cut for it */
    if (most && bytes <= most && least > most) least = most;
    return least;
}

/* A range of a fresh segment. */
static asn_status add_segment(arena *a, int64_t bytes, asn_range **out) {
    int64_t wished = segment_bytes(a, bytes);
    void *memory;
    uint64_t got;
    bool ahead = asn_pattern_need(&a->pattern) - a->segments.reserved > bytes;
    a->last_missed = bytes;
    make_room(a, (uint64_t)wished);
    ASN_TRY(device_alloc(a, (uint64_t)wished, (uint64_t)bytes, bytes > BIN_LARGEST,
                         &memory, &got));
    asn_status status = asn_segments_add(&a->segments, memory, (int64_t)got);
    if (status) {
        give_back(a, memory);
        return status;
    }
    a->stats.prepared += ahead && got == (uint64_t)wished;
    *out = asn_segments_take(&a->segments, bytes, (int64_t)got);
    return ASN_OK;
}

/* ---- blocks */

/* A block of a slab, of which a new one is got when neither a freed block nor a rest is
 * left. */
static asn_status take_small(arena *a, int c, asn_block *out, bool *reused) {
    out->range = NULL;
    out->capacity = asn_class_bytes(c);
    out->data = asn_slabs_take(&a->slabs, c, reused);
    a->stats.bin_hits += out->data != NULL;
    if (out->data) return ASN_OK;
    void *memory;
    uint64_t got;
    /* The first slab, all that most programs need, costs the pages that it uses. */
    bool huge = a->slab_bytes > 0;
    ASN_TRY(device_alloc(a, ASN_SLAB_BYTES, ASN_SLAB_BYTES, huge, &memory, &got));
    asn_status status = asn_slabs_add(&a->slabs, memory);
    if (status) {
        give_back(a, memory);
        return status;
    }
    a->slab_bytes += ASN_SLAB_BYTES;
    out->data = asn_slabs_take(&a->slabs, c, reused);
    return ASN_OK;
}

/* A block of the class that was set aside. */
static asn_range *take_aside(arena *a, int c) {
    asn_range *r = a->aside[c];
    if (!r) return NULL;
    a->aside[c] = r->older;
    a->bytes_aside -= r->bytes;
    a->stats.bin_hits++;
    r->state = ASN_RANGE_LIVE;
    r->site = 0;
    return r;
}

/* An idle range. Blocks of bins do not go into ranges above 16 MiB: one that stays would
 * keep all of it. */
static asn_range *take_idle(arena *a, int64_t bytes) {
    int64_t longest = bytes <= BIN_LARGEST ? SEGMENT_MOST : INT64_MAX;
    asn_range *r = asn_segments_take(&a->segments, bytes, longest);
    if (!r && a->bytes_aside) {
        empty_bins(a);
        r = asn_segments_take(&a->segments, bytes, longest);
    }
    a->stats.segment_hits += r != NULL;
    return r;
}

/* A range: one set aside, an idle one, or one of a fresh segment, in this order. Larger
 * requests tell the pattern of steps what is in use with them. */
static asn_status take_range(arena *a, int c, int64_t nbytes, asn_block *out,
                             bool *reused) {
    bool binned = nbytes <= BIN_LARGEST;
    int64_t bytes = binned ? asn_class_bytes(c) : asn_round_up(nbytes, PAGE);
    if (bytes <= STAGGERED) bytes += STAGGER;
    asn_range *r = binned ? take_aside(a, c) : NULL;
    if (!binned) {
        int64_t in_use = a->segments.reserved - a->segments.idle - a->bytes_aside;
        asn_pattern_note(&a->pattern, bytes, in_use + bytes);
    }
    if (!r) r = take_idle(a, bytes);
    *reused = r != NULL;
    if (!r) ASN_TRY(add_segment(a, bytes, &r));
    *out = (asn_block){r->address, r->bytes, r, a->device};
    return ASN_OK;
}

/* The device's arena, made at the first request. */
static asn_status arena_of(int device, arena **out) {
    if (!pool.arenas[device]) {
        pool.arenas[device] = asn_calloc(1, sizeof(arena));
        if (!pool.arenas[device]) return ASN_ERR_MEMORY;
        pool.arenas[device]->device = device;
    }
    *out = pool.arenas[device];
    return ASN_OK;
}

asn_status asn_pool_alloc(int64_t nbytes, asn_block *out) {
    int c = asn_size_class(nbytes);
    bool reused = false;
    arena *a;
    pthread_mutex_lock(&pool.lock);
    asn_status status = arena_of(asn_pool_device, &a);
    if (!status &&
        nbytes > INT64_MAX / 4) /* sizes below may be rounded up, and doubled */
        status = no_memory(a, (uint64_t)nbytes);
    if (!status) {
        a->segments.max_split = (int64_t)pool.settings.max_split;
        out->device = a->device;
        status = caching && nbytes <= ASN_SLAB_LARGEST
                     ? take_small(a, c, out, &reused)
                     : take_range(a, c, nbytes, out, &reused);
    }
    if (!status) {
        a->in_use += (uint64_t)out->capacity;
        a->stats.bytes_allocated += (uint64_t)out->capacity;
        a->stats.bytes_reused += reused ? (uint64_t)out->capacity : 0;
        if (a->in_use > a->most_in_use) a->most_in_use = a->in_use;
        if (a->in_use > a->peak) a->peak = a->in_use;
        if (reserved(a) > a->peak_reserved) a->peak_reserved = reserved(a);
    }
    uint64_t in_use = status ? 0 : a->in_use;
    pthread_mutex_unlock(&pool.lock);
    if (!status) asn_profile_memory(out->capacity, in_use);
    return status;
}

/* Blocks of bins are set aside under the largest class that fits into them; others become
 * idle and join. */
static void give_range(arena *a, asn_range *r) {
    if (caching && r->bytes <= BIN_LARGEST) {
        int c = asn_class_within(r->bytes);
        r->state = ASN_RANGE_ASIDE;
        r->older = a->aside[c];
        a->aside[c] = r;
        a->bytes_aside += r->bytes;
        return;
    }
    asn_segments_give(r);
    while (!caching && drop_one(a))
        ;
}

void asn_pool_free(const asn_block *block) {
    pthread_mutex_lock(&pool.lock);
    arena *a = pool.arenas[block->device];
    a->in_use -= (uint64_t)block->capacity;
    if (block->range)
        give_range(a, block->range);
    else
        asn_slabs_give(&a->slabs, asn_size_class(block->capacity), block->data);
    uint64_t in_use = a->in_use;
    while (reserved(a) - a->in_use > CACHED_MOST && drop_one(a))
        ;
    pthread_mutex_unlock(&pool.lock);
    asn_profile_memory(-block->capacity, in_use);
}

asn_status asn_pool_select(int device) {
    if (device < 0 || device >= DEVICES)
        return asn_error_set(ASN_ERR_VALUE, "device %d: devices 0 to %d are supported",
                             device, DEVICES - 1);
    if (device != asn_pool_device) asn_stock_clear();
    asn_pool_device = device;
    return ASN_OK;
}

void asn_pool_trim(void) {
    asn_stock_clear();
    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < DEVICES; i++) {
        arena *a = pool.arenas[i];
        if (!a || !asn_acl.aclrtFree) continue;
        trim(a);
        a->released = a->slack = 0;
        a->most_in_use = a->in_use;
    }
    pthread_mutex_unlock(&pool.lock);
}

void asn_pool_fini(void) {
    asn_stock_clear();
    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < DEVICES; i++) {
        arena *a = pool.arenas[i];
        if (!a) continue;
        trim(a);
        asn_slabs_fini(&a->slabs, release_slab, a);
        asn_free(a);
        pool.arenas[i] = NULL;
    }
    pthread_mutex_unlock(&pool.lock);
}

/* ---- what the manager tells (memory.h) */

void asn_memory_get_stats(asn_memory_stats *out) {
    static const asn_memory_stats nothing;
    uint64_t hits, bytes, idle = (uint64_t)asn_stock_bytes(&hits, &bytes);
    pthread_mutex_lock(&pool.lock);
    const arena *a = pool.arenas[asn_pool_device];
    *out = a ? a->stats : nothing;
    if (a) {
        out->bytes_in_use = a->in_use - idle;
        out->bytes_cached = reserved(a) - out->bytes_in_use;
        out->peak_bytes = a->peak;
        out->peak_reserved = a->peak_reserved;
        out->segments = (uint64_t)(a->slabs.num + a->segments.num);
    }
    pthread_mutex_unlock(&pool.lock);
    out->magazine_hits = hits;
    out->bytes_allocated += bytes;
    out->bytes_reused += bytes;
    out->pool_hits = hits + out->bin_hits + out->segment_hits;
}

/* Idle blocks in the stocks of threads are no use. */
void asn_memory_reset_peaks(void) {
    uint64_t hits, bytes, idle = (uint64_t)asn_stock_bytes(&hits, &bytes);
    pthread_mutex_lock(&pool.lock);
    arena *a = pool.arenas[asn_pool_device];
    if (a) {
        a->peak = a->in_use - idle;
        a->peak_reserved = reserved(a);
    }
    pthread_mutex_unlock(&pool.lock);
}

void asn_memory_empty_cache(void) {
    asn_pool_trim();
}

void asn_memory_get_settings(asn_memory_settings *out) {
    pthread_mutex_lock(&pool.lock);
    *out = pool.settings;
    pthread_mutex_unlock(&pool.lock);
}

asn_status asn_memory_set_settings(const asn_memory_settings *s) {
    if (!(s->gc_threshold >= 0 && s->gc_threshold < 1))
        return asn_error_set(ASN_ERR_VALUE,
                             "garbage_collection_threshold is %g; it may be 0 (never) or "
                             "a share between 0 and 1",
                             s->gc_threshold);
    pthread_mutex_lock(&pool.lock);
    pool.settings = *s;
    pthread_mutex_unlock(&pool.lock);
    return ASN_OK;
}

typedef void (*visitor)(void *context, const asn_memory_piece *piece);

/* Visits every segment, each followed by its ranges. */
static void walk_segments(const asn_segments *s, int32_t device, visitor visit,
                          void *context) {
    static const asn_memory_state states[] = {
        [ASN_RANGE_LIVE] = ASN_MEMORY_LIVE,
        [ASN_RANGE_IDLE] = ASN_MEMORY_IDLE,
        [ASN_RANGE_ASIDE] = ASN_MEMORY_ASIDE,
    };
    for (const asn_segment *at = s->list; at; at = at->next) {
        visit(context, &(asn_memory_piece){ASN_PLACE_SEGMENT, ASN_MEMORY_LIVE, device,
                                           at->first->address, at->bytes, 0});
        for (const asn_range *r = at->first; r; r = r->after)
            visit(context, &(asn_memory_piece){ASN_PLACE_RANGE, states[r->state], device,
                                               r->address, r->bytes,
                                               r->state == ASN_RANGE_LIVE ? r->site : 0});
    }
}

void asn_memory_walk(visitor visit, void *context) {
    pthread_mutex_lock(&pool.lock);
    for (int i = 0; i < DEVICES; i++) {
        const arena *a = pool.arenas[i];
        if (!a) continue;
        for (int k = 0; k < a->slabs.num; k++)
            visit(context,
                  &(asn_memory_piece){ASN_PLACE_SLAB, ASN_MEMORY_LIVE, i,
                                      a->slabs.slabs[k].memory, ASN_SLAB_BYTES, 0});
        walk_segments(&a->segments, i, visit, context);
    }
    pthread_mutex_unlock(&pool.lock);
}
