/* What this machine can do, and whether it is doing it now: the native loops behind the
 * bench.
 *
 * Three kinds of loop, each run on `threads` pinned threads at once (or on the caller,
 * unpinned, for one): fma     independent multiply-add chains in registers: the
 * arithmetic peak, and, run for about 30 us, the gate that tells a disturbed moment from
 * a quiet one; triad   a = b + s * c over a working set: the bandwidth of the cache or
 * memory that holds it. Past the caches the store is non-temporal, as in the kernels it
 * is a limit for; read    a sum over a block: the gate of rows that live in memory. The
 * loops are C with the compiler's vectors, compiled for the machine they run on
 * (-march=native), contracted to FMA on purpose. Each reports the time of its slowest
 * thread. Loaded through ctypes by gate.py, which releases the GIL; not thread-safe
 * itself: one caller.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

#define EXPORT __attribute__((visibility("default")))

#ifdef __AVX512F__
#define VECTOR_BYTES 64
#elif defined(__AVX__)
#define VECTOR_BYTES 32
#else
#define VECTOR_BYTES 16
#endif
typedef double vf64 __attribute__((vector_size(VECTOR_BYTES)));
typedef float vf32 __attribute__((vector_size(VECTOR_BYTES)));
enum {
    MAX_THREADS = 64,
    CHAINS =
        10, /* covers the latency of a multiply-add on two pipes, and fits 16 registers */
    DOUBLES = VECTOR_BYTES / sizeof(double),
    FLOATS = VECTOR_BYTES / sizeof(float),
};

typedef struct {
    bool stream;       /* store past the caches */
    long repeats;      /* rounds of the loop */
    size_t count;      /* doubles per operand */
    double *memory[3]; /* operands of the triad; the first one is read by the read loop */
} job;

typedef void kernel(const job *j);

static volatile double sink;

static void fma_f64(const job *j) {
    vf64 acc[CHAINS], scale, add;
    for (int k = 0; k < CHAINS; k++)
        acc[k] = (vf64){(double)k};
    scale = acc[0] + 0.999999;
    add = acc[0] + 1e-6;
    for (long i = 0; i < j->repeats; i++)
#pragma GCC unroll 10
        for (int k = 0; k < CHAINS; k++)
            acc[k] = acc[k] * scale + add;
    for (int k = 1; k < CHAINS; k++)
        acc[0] += acc[k];
    sink = acc[0][0];
}

static void fma_f32(const job *j) {
    vf32 acc[CHAINS], scale, add;
    for (int k = 0; k < CHAINS; k++)
        acc[k] = (vf32){(float)k};
    scale = acc[0] + 0.9999f;
    add = acc[0] + 1e-4f;
    for (long i = 0; i < j->repeats; i++)
#pragma GCC unroll 10
        for (int k = 0; k < CHAINS; k++)
            acc[k] = acc[k] * scale + add;
    for (int k = 1; k < CHAINS; k++)
        acc[0] += acc[k];
    sink = acc[0][0];
}

/* Half arithmetic, half short integer operations: a neighbour on the same core's other
 * thread takes issue slots, which the first part alone would hardly notice and
 * interpreters notice most. */
static void gate(const job *j) {
    enum { LANES = 8, PER_ROUND = 3 };
    uint64_t x[LANES];
    fma_f64(j);
    for (int k = 0; k < LANES; k++)
        x[k] = (uint64_t)k + 1;
    for (long i = 0; i < PER_ROUND * j->repeats; i++)
#pragma GCC unroll 8
        for (int k = 0; k < LANES; k++) {
            x[k] = (x[k] ^ (x[k] >> 7)) + 0x9e37;
            __asm__ volatile("" : "+r"(x[k])); /* scalar, one by one */
        }
    sink = (double)(x[0] ^ x[1] ^ x[2] ^ x[3] ^ x[4] ^ x[5] ^ x[6] ^ x[7]);
}

static void store_stream(vf64 *to, vf64 value) {
#if defined(__AVX512F__)
    _mm512_stream_pd((double *)to, (__m512d)value);
#elif defined(__AVX__)
    _mm256_stream_pd((double *)to, (__m256d)value);
#else
    *to = value;
#endif
}

static void triad(const job *j) {
    vf64 *a = (vf64 *)j->memory[0];
    const vf64 *b = (const vf64 *)j->memory[1], *c = (const vf64 *)j->memory[2];
    size_t n = j->count / DOUBLES;
    for (long r = 0; r < j->repeats; r++) {
        double s = 1.0 + (double)r;
        if (j->stream)
            for (size_t i = 0; i < n; i++)
                store_stream(a + i, b[i] + s * c[i]);
        else
#pragma GCC unroll 4
            for (size_t i = 0; i < n; i++)
                a[i] = b[i] + s * c[i];
        __asm__ volatile("" ::: "memory"); /* every round stores */
    }
}

static void read_block(const job *j) {
    const vf64 *a = (const vf64 *)j->memory[0];
    vf64 acc[4] = {a[0], a[0], a[0], a[0]};
    for (long r = 0; r < j->repeats; r++)
        for (size_t i = 0; i + 4 <= j->count / DOUBLES; i += 4)
            for (int k = 0; k < 4; k++)
                acc[k] += a[i + k];
    sink = acc[0][0] + acc[1][0] + acc[2][0] + acc[3][0];
}

/* ---- the threads */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t start, done;
    int threads, running;
    unsigned long round;
    kernel *run;
    job jobs[MAX_THREADS];
    double seconds[MAX_THREADS];
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .start = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double timed(kernel *run, const job *j) {
    double begin = now();
    run(j);
    return now() - begin;
}

static void pin(int index) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed))
        return; /* unpinned is only less steady */
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && index-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
}

static void *serve(void *argument) {
    int index = (int)(intptr_t)argument;
    unsigned long seen = 0;
    pin(index);
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        while (pool.round == seen)
            pthread_cond_wait(&pool.start, &pool.lock);
        seen = pool.round;
        kernel *run = pool.run;
        pthread_mutex_unlock(&pool.lock);
        double seconds = timed(run, &pool.jobs[index]);
        pthread_mutex_lock(&pool.lock);
        pool.seconds[index] = seconds;
        if (--pool.running == 0) pthread_cond_signal(&pool.done);
    }
    return NULL;
}

/* Every thread runs its job; the slowest one's seconds. */
static double run_all(kernel *run) {
    if (pool.threads == 1) return timed(run, &pool.jobs[0]);
    double slowest = 0;
    pthread_mutex_lock(&pool.lock);
    pool.run = run;
    pool.running = pool.threads;
    pool.round++;
    pthread_cond_broadcast(&pool.start);
    while (pool.running)
        pthread_cond_wait(&pool.done, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
    for (int t = 0; t < pool.threads; t++)
        slowest = pool.seconds[t] > slowest ? pool.seconds[t] : slowest;
    return slowest;
}

/* Operands of `bytes` each for every thread, from pages of their own; they are kept for
 * the process. */
static bool take_memory(size_t bytes) {
    enum { PAGE = 2 << 20 };
    static size_t held;
    if (bytes <= held) return true;
    size_t size = (bytes + PAGE - 1) / PAGE * PAGE;
    for (int t = 0; t < pool.threads; t++)
        for (int k = 0; k < 3; k++) {
            free(pool.jobs[t].memory[k]);
            double *block = aligned_alloc(PAGE, size);
            pool.jobs[t].memory[k] = block;
            if (!block) return false;
            madvise(block, size, MADV_HUGEPAGE);
            for (size_t i = 0; i < size / sizeof(double); i++)
                block[i] = 1.0 + (double)(i % 7);
        }
    held = bytes;
    return true;
}

/* ---- what gate.py calls; failures return a negative number */

EXPORT int limits_start(int threads) {
    if (threads < 1 || threads > MAX_THREADS || pool.threads) return -1;
    pool.threads = threads;
    for (int t = 0; threads > 1 && t < threads; t++) {
        pthread_t id;
        if (pthread_create(&id, NULL, serve, (void *)(intptr_t)t)) return -1;
        pthread_detach(id);
    }
    return 0;
}

static double seconds_of(kernel *run, long repeats) {
    for (int t = 0; t < pool.threads; t++)
        pool.jobs[t].repeats = repeats;
    return run_all(run);
}

/* Seconds of `repeats` rounds of the gate loop on every thread. */
EXPORT double limits_gate(long repeats) {
    return seconds_of(gate, repeats);
}

/* Floating-point operations a second of all threads. */
EXPORT double limits_fma(int single, long repeats) {
    double flops =
        2.0 * CHAINS * (single ? FLOATS : DOUBLES) * (double)repeats * pool.threads;
    return flops / seconds_of(single ? fma_f32 : fma_f64, repeats);
}

/* Seconds to read `bytes` on every thread. */
EXPORT double limits_read(size_t bytes) {
    if (!take_memory(bytes)) return -1;
    for (int t = 0; t < pool.threads; t++) {
        pool.jobs[t].repeats = 1;
        pool.jobs[t].count = bytes / sizeof(double);
    }
    return run_all(read_block);
}

/* Bytes a second of a = b + s * c over a working set of `bytes` (all three operands, all
 * threads). */
EXPORT double limits_triad(size_t bytes, long repeats, int stream) {
    size_t operand = bytes / 3 / (size_t)pool.threads / VECTOR_BYTES * VECTOR_BYTES;
    if (operand == 0 || !take_memory(operand)) return -1;
    for (int t = 0; t < pool.threads; t++) {
        pool.jobs[t].repeats = repeats;
        pool.jobs[t].count = operand / sizeof(double);
        pool.jobs[t].stream = stream;
    }
    return 3.0 * (double)operand * pool.threads * (double)repeats / run_all(triad);
}
