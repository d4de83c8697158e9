/* CPU device: the thread pool.
 *
 * One region runs at a time (`busy`). Its chunks are dealt out in as many ranges as
 * threads take part; a thread claims chunks from the range of its CPU first, then from
 * the others': successive regions over the same arrays so find their part of them in the
 * same core's L2, and still no core waits for another that is taken away. A worker joins
 * by raising `inside` and then looking whether the region is still open; the caller
 * closes it and then waits until nobody is inside. With sequentially consistent order one
 * of the two always sees the other, so the region's fields may be reused right after, and
 * no count of finished chunks is needed: the counter is exhausted and nobody is inside.
 *
 * There is one worker per CPU, pinned, the caller's CPU included: a region calls upon
 * those that are not where the caller runs (an unpinned thread that is woken lands on the
 * waker's CPU and gives no parallelism at all below 1 ms). A worker spins for SPIN_NS
 * after its last region, or for LONG_SPIN_NS in a program whose regions come that often,
 * so that they hand over in 0.1-0.6 us; waking a sleeping one costs 6-15 us, and up to 50
 * on a virtual machine.
 */
#include "device/cpu/threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/cpu.h"
#include "base/forks.h"
#include "base/settings.h"
#include "device/cpu/fpflags.h"

enum {
    MAX_THREADS = ASN_MAX_THREADS,
    SPIN_NS = 40000,       /* how long an idle worker stays hot */
    LONG_SPIN_NS = 500000, /* ... while its calls follow one another within this time */
    TAKEN_NS = 100000,     /* between two looks at the clock: another thread ran, */
    SHARED_NS = 100000000, /* and for so long no worker spins longer than SPIN_NS */
    HOT_WORK_NS = 6000,    /* a region this long gains from a spinning worker */
    COLD_WORK_NS = 100000, /* ... and this long from one that sleeps */
    ROW_GAP_NS = 50000,    /* regions follow one another when no more lies between */
    MAX_RANGES = 64
};

typedef struct {
    _Alignas(64) atomic_uint ticket; /* raised to call the worker; its futex */
    atomic_bool sleeping;
    atomic_bool rests; /* the caller runs on its CPU: spinning would be in the way */
    int cpu;
} worker;

/* What the threads did in watched regions. Slot 0 is the callers', 1 + i worker i's; a
 * slot's `busy` is written by its thread in a region, its `total` and the others by the
 * region's caller behind it, so that one thread writes at a time. */
typedef struct {
    _Alignas(64) atomic_llong busy;
    atomic_llong total;
} busy_time;

static struct {
    atomic_int watchers;
    atomic_llong regions, chunks, span, room, mean, lost;
    busy_time of[MAX_THREADS + 1];
} watch;

typedef struct {
    _Alignas(64) atomic_llong next; /* chunks [next, end) are unclaimed */
    int64_t end;
} range;

static struct {
    _Alignas(64) atomic_bool busy;
    asnd_pool_fn fn;
    void *ctx;
    int num_ranges;
    bool watched; /* how long each thread is busy is written to watch.of */
    range ranges[MAX_RANGES];
    _Alignas(64) atomic_bool open;
    atomic_int inside; /* also the futex the caller waits on */
    atomic_uint met;   /* floating-point exceptions of the workers */
    atomic_bool caller_waits;
} region;

static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(start, &start_lock, ASN_FORK_LEAF)
static worker workers[MAX_THREADS];
static atomic_int num_workers; /* started */
static atomic_int num_threads; /* wanted, caller included; 0: not read yet */
/* Threads that run a region of their own (streams have threads): each of them has a core
 * already, and the others share what is left. */
static atomic_int callers;

static void futex_wait(void *address, unsigned expected) {
    syscall(SYS_futex, address, FUTEX_WAIT_PRIVATE, expected, NULL, NULL, 0);
}

static void futex_wake(void *address) {
    syscall(SYS_futex, address, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* `home`: the CPU's number among the workers, which picks the range to begin with. */
static void claim_chunks(int home) {
    int n = region.num_ranges;
    for (int k = 0; k < n; k++) {
        range *r = &region.ranges[(home + k) % n];
        for (;;) {
            int64_t chunk = atomic_fetch_add_explicit(&r->next, 1, memory_order_relaxed);
            if (chunk >= r->end) break;
            region.fn(region.ctx, chunk);
        }
    }
}

/* The same, and how long it took where that is asked for. A thread leaves when nothing is
 * left to claim, so that this is the time of its chunks. */
static void claim_watched(int home, int slot) {
    if (!region.watched) {
        claim_chunks(home);
        return;
    }
    int64_t begun = now_ns();
    claim_chunks(home);
    atomic_store_explicit(&watch.of[slot].busy, now_ns() - begun, memory_order_relaxed);
}

static void deal_chunks(int64_t chunks, int ranges) {
    region.num_ranges = ranges < MAX_RANGES ? ranges : MAX_RANGES;
    for (int i = 0; i < region.num_ranges; i++) {
        region.ranges[i].end = chunks * (i + 1) / region.num_ranges;
        atomic_store_explicit(&region.ranges[i].next, chunks * i / region.num_ranges,
                              memory_order_relaxed);
    }
}

static void join_region(int home) {
    atomic_fetch_add(&region.inside, 1);
    if (atomic_load(&region.open)) {
        asn_fp_clear();
        claim_watched(home, 1 + home);
        uint32_t met = asn_fp_read() & ASN_FP_CONDITIONS;
        if (met) atomic_fetch_or_explicit(&region.met, met, memory_order_relaxed);
    }
    if (atomic_fetch_sub(&region.inside, 1) == 1 && atomic_load(&region.caller_waits))
        futex_wake(&region.inside);
}

/* Until then no worker spins long: another program wants its CPU. */
static atomic_llong shared_until;

/* Whether a call came while spinning. `soon` counts, 0 to 3, the calls that came within
 * LONG_SPIN_NS less those that did not: of a program's regions most do, or hardly any.
 * After SPIN_NS others may have the CPU; one that takes it ends the spinning. */
static bool spin(worker *w, unsigned seen, int soon, int64_t begun) {
    int64_t now = begun, deadline = begun + SPIN_NS;
    if (soon > 1 && begun > atomic_load_explicit(&shared_until, memory_order_relaxed))
        deadline = begun + LONG_SPIN_NS;
    do {
        for (int i = 0; i < 64; i++) {
            if (atomic_load_explicit(&w->ticket, memory_order_acquire) != seen)
                return true;
            asn_cpu_relax();
        }
        int64_t last = now;
        if (now - begun > SPIN_NS) sched_yield();
        now = now_ns();
        if (now - last > TAKEN_NS) {
            atomic_store_explicit(&shared_until, now + SHARED_NS, memory_order_relaxed);
            return false;
        }
    } while (now < deadline && !atomic_exchange(&w->rests, false));
    return false;
}

/* Returns the new ticket: spins first, then sleeps. */
static unsigned await_call(worker *w, unsigned seen, int *soon) {
    int64_t begun = now_ns();
    unsigned t;
    if (!spin(w, seen, *soon, begun)) {
        atomic_store(&w->sleeping, true);
        while ((t = atomic_load(&w->ticket)) == seen)
            futex_wait(&w->ticket, seen);
        atomic_store(&w->sleeping, false);
    }
    bool came_soon = now_ns() - begun < LONG_SPIN_NS;
    if (came_soon ? *soon < 3 : *soon > 0) *soon += came_soon ? 1 : -1;
    return atomic_load(&w->ticket);
}

static void *worker_main(void *arg) {
    worker *w = arg;
    unsigned seen = 0;
    int soon = 2;
    for (;;) {
        seen = await_call(w, seen, &soon);
        join_region((int)(w - workers));
    }
    return NULL;
}

static int usable_cpus(cpu_set_t *set) {
    if (sched_getaffinity(0, sizeof *set, set) != 0) {
        CPU_ZERO(set);
        return 1;
    }
    return CPU_COUNT(set);
}

static int default_threads(void) {
    int wish = (int)asn_setting_number(ASN_SETTING_NUM_THREADS, 0);
    if (wish > 0) return wish;
    cpu_set_t set;
    int n = usable_cpus(&set);
    return n < MAX_THREADS ? n : MAX_THREADS;
}

int asn_pool_threads(void) {
    int n = atomic_load_explicit(&num_threads, memory_order_relaxed);
    if (n > 0) return n;
    int expected = 0;
    atomic_compare_exchange_strong(&num_threads, &expected, default_threads());
    return atomic_load(&num_threads);
}

int asn_pool_set_threads(int n) {
    int previous = asn_pool_threads();
    if (n <= 0) n = default_threads();
    atomic_store(&num_threads, n < MAX_THREADS ? n : MAX_THREADS);
    return previous;
}

/* The child has no workers, whatever the parent's were doing. */
static void after_fork_child(void) {
    atomic_store(&num_workers, 0);
    for (int i = 0; i < MAX_THREADS; i++) {
        atomic_store(&workers[i].ticket, 0);
        atomic_store(&workers[i].sleeping, false);
    }
    atomic_store(&region.open, false);
    atomic_store(&region.inside, 0);
    atomic_store(&region.caller_waits, false);
    atomic_store(&region.busy, false);
    atomic_store(&callers, 0);
}

/* As the library loads: handlers of those that call it are installed later, and run after
 * this one in the child. */
__attribute__((constructor)) static void handle_forks(void) {
    pthread_atfork(NULL, NULL, after_fork_child);
}

static bool start_worker(int index, const cpu_set_t *usable) {
    int count = CPU_COUNT(usable), nth = count ? index % count : 0, cpu = -1;
    for (int c = 0; c < CPU_SETSIZE && cpu < 0; c++)
        if (CPU_ISSET(c, usable) && nth-- == 0) cpu = c;
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    if (cpu >= 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        pthread_attr_setaffinity_np(&attr, sizeof one, &one);
    }
    workers[index].cpu = cpu;
    atomic_store(&workers[index].sleeping, false);
    pthread_t thread;
    int failed = pthread_create(&thread, &attr, worker_main, &workers[index]);
    pthread_attr_destroy(&attr);
    return !failed;
}

/* As many workers as threads are wanted: with one on the caller's own CPU left aside,
 * there is one for every other thread. Fewer when the system refuses. */
static void start_workers(void) {
    int wanted = asn_pool_threads();
    if (atomic_load(&num_workers) >= wanted) return;
    pthread_mutex_lock(&start_lock);
    cpu_set_t usable;
    usable_cpus(&usable);
    int n = atomic_load(&num_workers);
    while (n < wanted && start_worker(n, &usable))
        atomic_store(&num_workers, ++n);
    pthread_mutex_unlock(&start_lock);
}

/* Calls up to `helpers` workers that do not share the caller's CPU; returns the caller's
 * home. */
static int call_workers(int helpers, bool hot_only) {
    int here = sched_getcpu(), n = atomic_load(&num_workers), home = 0;
    for (int i = 0; i < n; i++) {
        worker *w = &workers[i];
        if (w->cpu == here) {
            home = i;
            if (!atomic_load(&w->sleeping)) atomic_store(&w->rests, true);
        }
        if (w->cpu == here || helpers == 0) continue;
        if (hot_only && atomic_load(&w->sleeping)) continue;
        atomic_fetch_add(&w->ticket, 1);
        if (atomic_load(&w->sleeping)) futex_wake(&w->ticket);
        helpers--;
    }
    return home;
}

static void await_workers(void) {
    for (int i = 0; i < 20000; i++) {
        if (atomic_load_explicit(&region.inside, memory_order_acquire) == 0) return;
        asn_cpu_relax();
    }
    atomic_store(&region.caller_waits, true);
    int inside;
    while ((inside = atomic_load(&region.inside)) != 0)
        futex_wait(&region.inside, (unsigned)inside);
    atomic_store(&region.caller_waits, false);
}

static int hot_workers(void) {
    int hot = 0, n = atomic_load_explicit(&num_workers, memory_order_relaxed);
    for (int i = 0; i < n; i++)
        hot += !atomic_load_explicit(&workers[i].sleeping, memory_order_relaxed);
    return hot;
}

static _Thread_local uint32_t limit; /* 0: none */

void asn_pool_limit(uint32_t cores) {
    limit = cores;
}

static int threads_allowed(void) {
    int threads = asn_pool_threads();
    return limit != 0 && threads > (int)limit ? (int)limit : threads;
}

static int width_beside(double work_ns, int others) {
    if (work_ns < HOT_WORK_NS) return 1;
    int threads = threads_allowed() - others;
    if (threads < 1) return 1;
    if (threads == 1 || atomic_load_explicit(&region.busy, memory_order_relaxed))
        return 1;
    if (work_ns >= COLD_WORK_NS) return threads;
    int width = 1 + hot_workers();
    return width < threads ? width : threads;
}

int asn_pool_width(double work_ns) {
    return width_beside(work_ns, atomic_load_explicit(&callers, memory_order_relaxed));
}

/* Regions that would gain from a hot worker, but not from one that sleeps, in a row:
 * their sum pays for waking it, and the next ones find it hot. */
static bool recurs(double work_ns) {
    static atomic_llong last, owed; /* no harm when two callers mix */
    int64_t now = now_ns(), work = (int64_t)work_ns;
    int64_t sum = now - atomic_load_explicit(&last, memory_order_relaxed) < ROW_GAP_NS
                      ? atomic_load_explicit(&owed, memory_order_relaxed) + work
                      : work;
    bool enough = sum >= COLD_WORK_NS;
    atomic_store_explicit(&owed, enough ? 0 : sum, memory_order_relaxed);
    atomic_store_explicit(&last, now + work, memory_order_relaxed);
    return enough;
}

static void add_to(atomic_llong *sum, int64_t n) {
    atomic_fetch_add_explicit(sum, n, memory_order_relaxed);
}

/* Before the region opens: whether it is watched; the time. */
static int64_t begin_watch(void) {
    region.watched = atomic_load_explicit(&watch.watchers, memory_order_relaxed) > 0;
    if (!region.watched) return 0;
    int n = atomic_load(&num_workers);
    for (int i = 0; i <= n; i++)
        atomic_store_explicit(&watch.of[i].busy, 0, memory_order_relaxed);
    return now_ns();
}

/* Behind it, when nobody is inside. A thread that came too late for a chunk was idle: the
 * region had `width`. What it lost by imbalance is the largest |busy - mean|. */
static void end_watch(int64_t begun, int64_t chunks, int width) {
    int64_t span = now_ns() - begun, sum = 0, most = 0, least = INT64_MAX;
    int n = atomic_load(&num_workers), joined = 0;
    for (int i = 0; i <= n; i++) {
        int64_t busy = atomic_load_explicit(&watch.of[i].busy, memory_order_relaxed);
        if (busy == 0) continue;
        add_to(&watch.of[i].total, busy);
        sum += busy;
        joined++;
        if (busy > most) most = busy;
        if (busy < least) least = busy;
    }
    if (joined < width) least = 0;
    int64_t mean = sum / width;
    add_to(&watch.lost, most - mean > mean - least ? most - mean : mean - least);
    add_to(&watch.mean, mean);
    add_to(&watch.room, width * span);
    add_to(&watch.span, span);
    add_to(&watch.chunks, chunks);
    add_to(&watch.regions, 1);
}

/* One end too many changes nothing. */
void asn_pool_watch(bool on) {
    int now = atomic_load(&watch.watchers), next;
    do
        next = on ? now + 1 : now > 0 ? now - 1 : 0;
    while (!atomic_compare_exchange_weak(&watch.watchers, &now, next));
}

/* Regions may be running: each number is right, and they are of about the same moment. */
int asn_pool_watched(asnd_pool_times *out, int64_t *busy_ns, int room) {
    out->regions = atomic_load_explicit(&watch.regions, memory_order_relaxed);
    out->chunks = atomic_load_explicit(&watch.chunks, memory_order_relaxed);
    out->span_ns = atomic_load_explicit(&watch.span, memory_order_relaxed);
    out->room_ns = atomic_load_explicit(&watch.room, memory_order_relaxed);
    out->mean_ns = atomic_load_explicit(&watch.mean, memory_order_relaxed);
    out->lost_ns = atomic_load_explicit(&watch.lost, memory_order_relaxed);
    int n = 1 + atomic_load(&num_workers);
    for (int i = 0; i < n && i < room; i++)
        busy_ns[i] = atomic_load_explicit(&watch.of[i].total, memory_order_relaxed);
    return n;
}

/* `others`: threads that run a region now. */
static void run_region(asnd_pool_fn fn, void *ctx, int64_t chunks, double work_ns,
                       int others) {
    int width = chunks > 1 ? width_beside(work_ns, others) : 1;
    bool wake = work_ns >= COLD_WORK_NS;
    if (width == 1 && chunks > 1 && work_ns >= HOT_WORK_NS && threads_allowed() > 1 &&
        !atomic_load_explicit(&region.busy, memory_order_relaxed) && !others &&
        recurs(work_ns)) {
        width = threads_allowed();
        wake = true;
    }
    if (width > 1 && !atomic_exchange(&region.busy, true)) {
        start_workers();
        region.fn = fn;
        region.ctx = ctx;
        int helpers = chunks < width ? (int)chunks - 1 : width - 1;
        deal_chunks(chunks, helpers + 1);
        int64_t begun = begin_watch();
        atomic_store(&region.open, true);
        claim_watched(call_workers(helpers, !wake), 0);
        atomic_store(&region.open, false);
        await_workers();
        if (region.watched) end_watch(begun, chunks, helpers + 1);
        uint32_t met = atomic_load_explicit(&region.met, memory_order_relaxed);
        if (met) {
            atomic_store_explicit(&region.met, 0, memory_order_relaxed);
            asn_fp_raise((int)met);
        }
        atomic_store(&region.busy, false);
        return;
    }
    for (int64_t i = 0; i < chunks; i++)
        fn(ctx, i);
}

void asn_pool_run(asnd_pool_fn fn, void *ctx, int64_t chunks, double work_ns) {
    if (work_ns < HOT_WORK_NS) {
        for (int64_t i = 0; i < chunks; i++)
            fn(ctx, i);
        return;
    }
    int others = atomic_fetch_add_explicit(&callers, 1, memory_order_relaxed);
    run_region(fn, ctx, chunks, work_ns, others);
    atomic_fetch_sub_explicit(&callers, 1, memory_order_relaxed);
}
