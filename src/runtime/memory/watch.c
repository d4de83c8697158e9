/* L2 runtime: watching memory (see watch.h). Records lie in an open-addressed hash of
 * buffer addresses; one lock for everything. Hooks are called without it, from a copy of
 * their list, so that they may add and remove hooks. Buffers made before watching began
 * have no record, and their events no site.
 */
#include "runtime/memory/watch.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "runtime/memory/memory.h"
#include "runtime/memory/segment.h"

enum { HOOKS = 8 };

typedef struct {
    const asn_buffer *buffer; /* NULL: free */
    asn_watch_record record;
} entry;

bool asn_memory_watched;

static struct {
    pthread_mutex_t lock;
    int wanted; /* starts without their stop */
    entry *table;
    uint64_t capacity, live, next; /* capacity: a power of two */
    asn_watch_event *events;
    int64_t room, written; /* of the ring; ever */
    struct {
        asn_watch_hook call;
        void *context;
    } hooks[HOOKS];
    int num_hooks;
} watch = {.lock = PTHREAD_MUTEX_INITIALIZER, .next = 1};
ASN_FORK_TAKES(watch, &watch.lock, ASN_FORK_LEAF)

static const asn_watch_tap *tap;

/* Whether anyone but a capture wants events. */
static bool is_watched(void) {
    return watch.wanted > 0 || watch.room > 0 || watch.num_hooks > 0;
}

static void update_flag(void) {
    asn_memory_watched = tap || is_watched();
}

void asn_watch_set_tap(const asn_watch_tap *now) {
    pthread_mutex_lock(&watch.lock);
    tap = now;
    update_flag();
    pthread_mutex_unlock(&watch.lock);
}

void asn_watch_touched(asn_buffer *b) {
    const asn_watch_tap *t = tap;
    if (t) t->touched(b);
}

/* ---- records; lock held */

/* Where the search for a buffer begins. */
static uint64_t slot_of(const asn_buffer *b) {
    return ((uint64_t)(uintptr_t)b >> 4) * 0x9e3779b97f4a7c15u >> 17 &
           (watch.capacity - 1);
}

static entry *find(const asn_buffer *b) {
    if (!watch.capacity) return NULL;
    for (uint64_t i = slot_of(b);; i = (i + 1) & (watch.capacity - 1)) {
        if (watch.table[i].buffer == b) return &watch.table[i];
        if (!watch.table[i].buffer) return NULL;
    }
}

/* Writes an entry that is not in the table, which has room. */
static void put(const entry *e) {
    uint64_t i = slot_of(e->buffer);
    while (watch.table[i].buffer)
        i = (i + 1) & (watch.capacity - 1);
    watch.table[i] = *e;
}

/* Doubles the table, or makes it. False: no memory, the table is as before. */
static bool grow(void) {
    uint64_t before = watch.capacity, capacity = before ? 2 * before : 1024;
    entry *old = watch.table, *table = asn_calloc(capacity, sizeof *table);
    if (!table) return false;
    watch.table = table;
    watch.capacity = capacity;
    for (uint64_t i = 0; i < before; i++)
        if (old[i].buffer) put(&old[i]);
    asn_free(old);
    return true;
}

/* Removes an entry; those behind it move up, so that no search ends early. */
static void forget(entry *e) {
    uint64_t mask = watch.capacity - 1, hole = (uint64_t)(e - watch.table);
    for (uint64_t i = (hole + 1) & mask; watch.table[i].buffer; i = (i + 1) & mask) {
        uint64_t home = slot_of(watch.table[i].buffer);
        if (((i - home) & mask) < ((i - hole) & mask)) continue;
        watch.table[hole] = watch.table[i];
        hole = i;
    }
    watch.table[hole].buffer = NULL;
    watch.live--;
}

static void forget_all(void) {
    asn_free(watch.table);
    watch.table = NULL;
    watch.capacity = watch.live = 0;
}

/* ---- events */

static _Thread_local bool telling; /* a hook is at work on this thread */

/* Fills in an event, and gives it to the history and the hooks. On a thread where a hook
 * is at work, hooks are not told. */
static void tell(asn_watch_event *e) {
    struct timespec now;
    asn_memory_stats stats;
    asn_memory_get_stats(&stats);
    clock_gettime(CLOCK_MONOTONIC, &now);
    e->ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    e->in_use = stats.bytes_in_use;
    e->held = stats.bytes_in_use + stats.bytes_cached;
    pthread_mutex_lock(&watch.lock);
    if (watch.room) watch.events[watch.written++ % watch.room] = *e;
    int num = telling ? 0 : watch.num_hooks;
    asn_watch_hook calls[HOOKS];
    void *contexts[HOOKS];
    for (int i = 0; i < num; i++) {
        calls[i] = watch.hooks[i].call;
        contexts[i] = watch.hooks[i].context;
    }
    pthread_mutex_unlock(&watch.lock);
    telling = telling || num > 0;
    for (int i = 0; i < num; i++)
        calls[i](contexts[i], e);
    if (num > 0) telling = false;
}

void asn_watch_made(const asn_buffer *b) {
    const asn_watch_tap *t = tap;
    if (t) t->taken(b);
    if (!is_watched()) return;
    asn_site site = asn_site_here();
    pthread_mutex_lock(&watch.lock);
    entry e = {b, {watch.next++, b->nbytes, site}};
    entry *old = find(b); /* it ended unseen */
    if (old) forget(old);
    if ((watch.live + 1) * 4 < watch.capacity * 3 || grow()) {
        put(&e);
        watch.live++;
    } else {
        asn_error_clear(); /* an array without a record is no leak that is told */
    }
    pthread_mutex_unlock(&watch.lock);
    if (b->data)
        tell(&(asn_watch_event){.kind = ASN_WATCH_TAKEN,
                                .address = b->data,
                                .bytes = b->nbytes,
                                .site = site});
}

void asn_watch_taken(asn_buffer *b) {
    const asn_watch_tap *t = tap;
    if (t) t->taken(b);
    if (!is_watched()) return;
    asn_site site = 0;
    pthread_mutex_lock(&watch.lock);
    entry *e = find(b);
    if (e) site = e->record.site;
    pthread_mutex_unlock(&watch.lock);
    if (b->range) b->range->site = site;
    tell(&(asn_watch_event){
        .kind = ASN_WATCH_TAKEN, .address = b->data, .bytes = b->nbytes, .site = site});
}

void asn_watch_ended(const asn_buffer *b) {
    const asn_watch_tap *t = tap;
    if (t) t->ended(b);
    if (!is_watched()) return;
    asn_site site = 0;
    pthread_mutex_lock(&watch.lock);
    entry *e = find(b);
    if (e) {
        site = e->record.site;
        forget(e);
    }
    pthread_mutex_unlock(&watch.lock);
    if (b->data)
        tell(&(asn_watch_event){.kind = ASN_WATCH_GIVEN,
                                .address = b->data,
                                .bytes = b->nbytes,
                                .site = site});
}

void asn_watch_failed(int64_t nbytes) {
    if (!is_watched()) return;
    char message[1024]; /* of the failure, which a hook's own errors must not replace */
    snprintf(message, sizeof message, "%s", asn_error_message());
    tell(&(asn_watch_event){
        .kind = ASN_WATCH_FAILED, .bytes = nbytes, .site = asn_site_here()});
    (void)asn_error_set(ASN_ERR_MEMORY, "%s", message);
}

int64_t asn_watch_events(asn_watch_event *out, int64_t room) {
    pthread_mutex_lock(&watch.lock);
    int64_t kept = watch.written < watch.room ? watch.written : watch.room;
    int64_t num = kept < room ? kept : room;
    for (int64_t i = 0; i < num; i++)
        out[i] = watch.events[(watch.written - kept + i) % watch.room];
    pthread_mutex_unlock(&watch.lock);
    return num;
}

asn_status asn_watch_history(int64_t entries, int64_t *before) {
    asn_watch_event *events = NULL;
    if (entries < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "a history of %lld events: it may have none or more",
                             (long long)entries);
    if (entries) events = asn_calloc((size_t)entries, sizeof *events);
    if (entries && !events) return ASN_ERR_MEMORY;
    pthread_mutex_lock(&watch.lock);
    *before = watch.room;
    asn_free(watch.events);
    watch.events = events;
    watch.room = entries;
    watch.written = 0;
    update_flag();
    pthread_mutex_unlock(&watch.lock);
    return ASN_OK;
}

/* ---- who wants it */

asn_status asn_watch_start(void) {
    pthread_mutex_lock(&watch.lock);
    bool ready = watch.capacity || grow();
    if (ready) watch.wanted++;
    update_flag();
    pthread_mutex_unlock(&watch.lock);
    return ready ? ASN_OK : ASN_ERR_MEMORY;
}

void asn_watch_stop(void) {
    pthread_mutex_lock(&watch.lock);
    watch.wanted--;
    update_flag();
    if (!asn_memory_watched) forget_all();
    pthread_mutex_unlock(&watch.lock);
}

uint64_t asn_watch_next(void) {
    pthread_mutex_lock(&watch.lock);
    uint64_t next = watch.next;
    pthread_mutex_unlock(&watch.lock);
    return next;
}

int64_t asn_watch_live(uint64_t from, asn_watch_record *out, int64_t room) {
    int64_t num = 0;
    pthread_mutex_lock(&watch.lock);
    for (uint64_t i = 0; i < watch.capacity; i++) {
        const entry *e = &watch.table[i];
        if (!e->buffer || e->record.number < from) continue;
        if (num < room) out[num] = e->record;
        num++;
    }
    pthread_mutex_unlock(&watch.lock);
    return num;
}

asn_status asn_watch_add_hook(asn_watch_hook hook, void *context) {
    asn_status status = ASN_OK;
    pthread_mutex_lock(&watch.lock);
    if (watch.num_hooks == HOOKS) {
        status = asn_error_set(ASN_ERR_UNSUPPORTED, "there are %d memory hooks already",
                               HOOKS);
    } else {
        watch.hooks[watch.num_hooks].call = hook;
        watch.hooks[watch.num_hooks++].context = context;
    }
    update_flag();
    pthread_mutex_unlock(&watch.lock);
    return status;
}

bool asn_watch_remove_hook(asn_watch_hook hook, void *context) {
    bool found = false;
    pthread_mutex_lock(&watch.lock);
    for (int i = 0; i < watch.num_hooks && !found; i++) {
        found = watch.hooks[i].call == hook && watch.hooks[i].context == context;
        if (!found) continue;
        memmove(&watch.hooks[i], &watch.hooks[i + 1],
                (size_t)(watch.num_hooks - i - 1) * sizeof watch.hooks[0]);
        watch.num_hooks--;
    }
    update_flag();
    pthread_mutex_unlock(&watch.lock);
    return found;
}
