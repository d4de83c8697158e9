/* CPU device: the thread pool, a parallel-for with work sharing.
 *
 * A region is `chunks` calls of fn(ctx, chunk), in any order, on the caller and the
 * workers; chunks are claimed one at a time, each thread's own part first, so that a core
 * that is taken away for a while delays one chunk and not half the work. What a chunk
 * computes must not depend on who runs it.
 *
 * Workers (one pinned per CPU the process may use, less one for the caller) start at the
 * first region that is large enough, spin for a while after a region, then sleep. A
 * nested region, and a region that meets another thread's region, run inline on their
 * caller. Floating-point exceptions of the workers are raised on the caller, too. After
 * fork() the child starts anew with no workers.
 */
#ifndef ASN_DEVICE_CPU_THREADS_H
#define ASN_DEVICE_CPU_THREADS_H

#include <stdbool.h>
#include <stdint.h>

typedef void (*asnd_pool_fn)(void *ctx, int64_t chunk);

/* Runs the region and returns when every chunk is done. `work_ns` estimates the time of
 * the whole region on one thread: small regions stay on the caller. Thread-safe. */
void asn_pool_run(asnd_pool_fn fn, void *ctx, int64_t chunks, double work_ns);

/* How many threads a region of this size would use now; 1: it would run inline. */
int asn_pool_width(double work_ns);

/* Sets the number of threads, the caller included (n <= 0: the default, from
 * ASNUMPY_NUM_THREADS or the CPUs the process may use); returns the previous number.
 * Thread-safe. */
int asn_pool_set_threads(int n);
int asn_pool_threads(void);

/* How evenly regions that several threads share are shared, counted while anybody
 * watches; sums that only grow. A region's `room` is its span times the threads that it
 * called upon, the caller with them; `mean` is of their busy times, of those that found
 * nothing to do 0, and `lost` the largest |busy - mean|: lost / mean is its imbalance. */
typedef struct {
    int64_t regions, chunks;
    int64_t span_ns, room_ns, mean_ns, lost_ns;
} asnd_pool_times;

/* Watchers are counted. Thread-safe, as what follows. */
void asn_pool_watch(bool on);
/* The sums, and how long each thread computed: first the callers, then the workers,
 * `room` of them at most. Returns how many there are. */
int asn_pool_watched(asnd_pool_times *out, int64_t *busy_ns, int room);

/* Regions of the calling thread use at most `cores` threads from here on; 0: as many as
 * there are. */
void asn_pool_limit(uint32_t cores);

#endif
