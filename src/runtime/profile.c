/* L2 runtime: the recorder (see profile.h).
 *
 * The ring is one block, which the system backs as it is written: in large pages, since
 * a page of 4 KB costs 3 us, a third of what 64 events cost otherwise. A lock of one
 * exchange is around every change: events come a hundred nanoseconds apart at best, and
 * hardly ever from two threads at once. Before a segment of the ring is used again, and
 * when somebody asks for totals, the events up to there are folded into a table; folding
 * in batches keeps it out of the program's caches.
 */
#include "runtime/profile.h"

#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <x86intrin.h>
#endif

#include "base/alloc.h"
#include "runtime/streams/queue.h"

enum { SEGMENT = 4096, PLACES = 64 * SEGMENT, FIRST_ROWS = 256, FIRST_EVERY = 32 };
enum { STREAMS = 64 }; /* by number */

bool asn_profile_on, asn_profile_line_held;
int32_t asn_small_left;
uint32_t asn_small_passed;

static struct {
    char lock;   /* held while not 0 */
    bool steady; /* ticks are the processor's counter */
    int sessions;
    asn_event *ring;              /* owns PLACES; from the first session on */
    uint64_t count;               /* events ever recorded */
    uint64_t oldest;              /* the first place that is still held */
    uint64_t folded;              /* places before are in the totals */
    asn_event_total *rows;        /* owns; open addressing, .calls 0: free */
    size_t num_rows, cap_rows;    /* cap a power of two */
    uint64_t ticks_then, ns_then; /* both clocks at the first start */
    int every;                    /* of small operations */
    uint64_t ended[STREAMS];      /* where the device was last with a stream's work */
    uint64_t random;
} r __attribute__((aligned(64))) = {.every = FIRST_EVERY, .random = 0x9e3779b97f4a7c15u};

typedef struct {
    uint32_t number;
    asn_site line;
    bool holds; /* `line` was found by asn_profile_line_hold; 0: there is none */
} own;          /* a thread's */

static uint32_t threads;
static inline own *this_thread(void) {
    static _Thread_local own this;
    if (__builtin_expect(!this.number, 0))
        this.number = __atomic_add_fetch(&threads, 1, __ATOMIC_RELAXED);
    return &this;
}

static void lock(void) {
    while (__atomic_exchange_n(&r.lock, 1, __ATOMIC_ACQUIRE))
        ;
}

static void unlock(void) {
    __atomic_store_n(&r.lock, 0, __ATOMIC_RELEASE);
}

void asn_profile_hold(void) {
    lock();
}

void asn_profile_let_go(void) {
    unlock();
}

/* ---- clocks */

uint64_t asn_profile_clock(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

#if defined(__x86_64__)
/* A counter of constant rate that sleeps do not stop: 7 ns where the clock takes 20
 * to 40. */
static void find_counter(void) {
    unsigned a, b, c, d;
    r.steady = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d >> 8 & 1);
}
static inline uint64_t ticks(void) {
    return __builtin_expect(r.steady, 1) ? __rdtsc() : asn_profile_clock();
}
#elif defined(__aarch64__)
static inline uint64_t ticks(void) {
    uint64_t t;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
}
static void find_counter(void) {}
#else
static void find_counter(void) {}
static inline uint64_t ticks(void) {
    return asn_profile_clock();
}
#endif

/* Nanoseconds of a tick, by both clocks now and at the first start. */
static double ns_per_tick(void) {
    uint64_t t = ticks() - r.ticks_then, ns = asn_profile_clock() - r.ns_then;
    return t ? (double)ns / (double)t : 1;
}

/* ---- totals */

static uint64_t hash_of(const asn_event_total *e) {
    uint64_t h = (uint64_t)(uintptr_t)e->name ^ (uint64_t)e->line << 32 ^
                 (uint64_t)e->detail << 8 ^ e->kind;
    h *= 0x9e3779b97f4a7c15u;
    return h ^ h >> 29;
}

static asn_event_total *find_row(asn_event_total *rows, size_t capacity,
                                 const asn_event_total *key) {
    size_t at = hash_of(key) & (capacity - 1);
    while (rows[at].calls &&
           (rows[at].name != key->name || rows[at].line != key->line ||
            rows[at].detail != key->detail || rows[at].kind != key->kind))
        at = (at + 1) & (capacity - 1);
    return &rows[at];
}

static bool grow_rows(void) {
    size_t capacity = r.cap_rows ? 2 * r.cap_rows : FIRST_ROWS;
    asn_event_total *grown = asn_malloc(capacity * sizeof *grown);
    if (!grown) return false;
    memset(grown, 0, capacity * sizeof *grown);
    for (size_t i = 0; i < r.cap_rows; i++)
        if (r.rows[i].calls) *find_row(grown, capacity, &r.rows[i]) = r.rows[i];
    asn_free(r.rows);
    r.rows = grown;
    r.cap_rows = capacity;
    return true;
}

static asn_event *event_at(uint64_t place) {
    return &r.ring[place % PLACES];
}

/* Without memory for a new row, the event is lost to the totals. */
static void fold_one(const asn_event *e) {
    asn_event_total key = {
        .name = e->name, .line = e->line, .detail = e->detail, .kind = e->kind};
    if (2 * r.num_rows >= r.cap_rows && !grow_rows() && r.num_rows + 1 >= r.cap_rows)
        return;
    asn_event_total *row = find_row(r.rows, r.cap_rows, &key);
    if (!row->calls) {
        *row = key;
        r.num_rows++;
    }
    row->calls += e->calls;
    row->length += e->length * (e->kind == ASN_EVENT_SMALL ? e->calls : 1);
    row->bytes += e->bytes;
    row->work += e->work;
}

static void fold_until(uint64_t place) {
    for (; r.folded < place; r.folded++)
        fold_one(event_at(r.folded));
}

/* ---- recording */

/* The next segment of the ring holds events: they are folded, and forgotten. */
static __attribute__((noinline)) void make_room(void) {
    uint64_t oldest = r.count - (uint64_t)(PLACES - SEGMENT);
    fold_until(oldest);
    r.oldest = oldest;
}

/* Takes the lock. The next place, which counts from keep() on: an event is filled where
 * it lies. */
static inline asn_event *take(asn_event_kind kind, const char *name, asn_site line,
                              uint64_t begin, uint64_t length) {
    uint32_t thread = this_thread()->number;
    lock();
    if (__builtin_expect(r.count % SEGMENT == 0 && r.count >= PLACES, 0)) make_room();
    asn_event *e = event_at(r.count);
    __builtin_prefetch(e + 4, 1); /* the ring is larger than the caches */
    e->begin = begin;
    e->length = length;
    e->bytes = e->work = 0;
    e->name = name;
    e->line = line;
    e->thread = thread;
    e->calls = 1;
    e->detail = 0;
    e->kind = (uint16_t)kind;
    e->dtype = 0;
    e->stream = 0;
    return e;
}

static inline void keep(void) {
    r.count++;
    unlock();
}

asn_site asn_profile_line_own(void) {
    const own *this = this_thread();
    return this->line || this->holds ? this->line : asn_site_here();
}

void asn_profile_line_set(asn_site line) {
    this_thread()->line = line;
    asn_profile_line_held = line != 0;
}

void asn_profile_line_hold(void) {
    own *this = this_thread();
    if (this->line || this->holds) return;
    this->line = asn_site_here();
    this->holds = asn_profile_line_held = true;
}

void asn_profile_line_release(void) {
    own *this = this_thread();
    if (!this->holds) return;
    this->line = 0;
    this->holds = asn_profile_line_held = false;
}

asn_mark asn_profile_open(bool on_device) {
    asn_mark m = {.pair = -1};
    if (on_device && asn_profile_lags()) m.pair = asn_profile_pair_open();
    m.ticks = ticks();
    return m;
}

asn_event *asn_profile_close(asn_mark m, asn_event_kind kind, const char *name,
                             asn_site line) {
    uint64_t length = ticks() - m.ticks;
    if (!line) line = asn_profile_line();
    asn_event *e = take(kind, name, line, m.ticks, length);
    if (kind == ASN_EVENT_PROGRAM || kind == ASN_EVENT_OPERATOR)
        e->stream = (uint32_t)asn_queue_active->number;
    return e;
}

void asn_profile_keep(asn_mark m) {
    uint64_t place = r.count;
    keep();
    if (m.pair >= 0) asn_profile_pair_close(m.pair, place);
}

void asn_profile_note(asn_mark m, asn_event_kind kind, const char *name, int64_t bytes) {
    asn_profile_close(m, kind, name, 0)->bytes = bytes;
    asn_profile_keep(m);
}

/* The distance to the next one has the mean `every`, and no period that a loop could have
 * too. */
uint64_t asn_profile_small_open(void) {
    r.random = r.random * 6364136223846793005u + 1442695040888963407u;
    asn_small_left =
        r.every > 1 ? 1 + (int)((r.random >> 33) % (uint64_t)(2 * r.every - 1)) : 1;
    return ticks();
}

void asn_profile_small(uint64_t begin, const char *name, int64_t bytes, int64_t work) {
    uint64_t length = ticks() - begin;
    uint32_t calls = asn_small_passed + 1;
    asn_small_passed = 0;
    asn_event *e = take(ASN_EVENT_SMALL, name, asn_profile_line(), begin, length);
    e->bytes = bytes * calls;
    e->work = work * calls;
    e->calls = calls;
    keep();
}

void asn_profile_memory_changed(int64_t bytes, uint64_t in_use) {
    bool less = bytes < 0;
    asn_site line = less ? 0 : asn_profile_line();
    asn_event *e = take(less ? ASN_EVENT_RELEASE : ASN_EVENT_ALLOCATE,
                        less ? "release" : "allocate", line, ticks(), 0);
    e->bytes = less ? -bytes : bytes;
    e->work = (int64_t)in_use;
    keep();
}

void asn_profile_set_length(uint64_t place, double ns) {
    double per_tick = ns_per_tick();
    lock();
    if (place >= r.folded && place >= r.oldest && place < r.count) {
        asn_event *e = event_at(place);
        uint64_t *ended = &r.ended[e->stream % STREAMS];
        e->length = (uint64_t)(ns / per_tick);
        if (e->begin < *ended) e->begin = *ended; /* it was launched behind that one */
        *ended = e->begin + e->length;
    }
    unlock();
}

/* ---- sessions */

asn_status asn_profile_start(int every, uint64_t *since) {
    lock();
    asn_status status = ASN_OK;
    if (!r.ring) r.ring = asn_malloc(PLACES * sizeof *r.ring);
    if (!r.ring || (!r.cap_rows && !grow_rows()))
        status = asn_error_set(ASN_ERR_MEMORY, "no memory for a profile");
    if (!status) {
        if (!r.ns_then) {
            find_counter();
            r.ticks_then = ticks();
            r.ns_then = asn_profile_clock();
        }
        if (every > 0) r.every = every;
        asn_small_left = 1;
        asn_small_passed = 0;
        r.sessions++;
        *since = r.count;
        __atomic_store_n(&asn_profile_on, true, __ATOMIC_RELAXED);
    }
    unlock();
    return status;
}

void asn_profile_stop(void) {
    lock();
    if (r.sessions > 0 && --r.sessions == 0) {
        __atomic_store_n(&asn_profile_on, false, __ATOMIC_RELAXED);
        r.every = FIRST_EVERY;
    }
    unlock();
}

size_t asn_profile_read(uint64_t since, size_t room, asn_event *out, uint64_t *first) {
    asn_profile_pairs_finish();
    double scale = ns_per_tick();
    lock();
    if (since < r.oldest) since = r.oldest;
    size_t n = since < r.count ? (size_t)(r.count - since) : 0;
    if (out && n > room) n = room;
    for (size_t i = 0; out && i < n; i++) {
        out[i] = *event_at(since + i);
        out[i].begin =
            r.ns_then + (uint64_t)((double)(out[i].begin - r.ticks_then) * scale);
        out[i].length = (uint64_t)((double)out[i].length * scale);
    }
    *first = since;
    unlock();
    return n;
}

size_t asn_profile_totals(size_t room, asn_event_total *out) {
    size_t n = 0;
    asn_profile_pairs_finish();
    double scale = ns_per_tick();
    lock();
    if (r.cap_rows) fold_until(r.count);
    for (size_t i = 0; i < r.cap_rows && n < room; i++) {
        if (!r.rows[i].calls) continue;
        out[n] = r.rows[i];
        out[n].length = (uint64_t)((double)out[n].length * scale);
        n++;
    }
    if (!room) n = r.num_rows;
    unlock();
    return n;
}
