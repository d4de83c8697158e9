/* AsNumpy in C: recording and waiting, the device, memory. Include asnumpy/asnumpy.h.
 *
 * Operations are recorded and fused, and run when a value is needed. A thread's work is
 * in order on its current stream, which is the default one unless it sets another
 * (stream.h).
 */
#ifndef ASNUMPY_RUNTIME_H_
#define ASNUMPY_RUNTIME_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* "0.1.0". Static. */
ASNUMPY_API const char *asnp_version(void);

/* Runs everything recorded and waits; the first failure of work that ran behind calls. */
ASNUMPY_API asnp_status asnp_synchronize(void);
/* Recording on (1, the default) or off (0: operations run as they are called). before
 * (may be NULL) receives the previous setting. */
ASNUMPY_API asnp_status asnp_set_lazy(int32_t on, int32_t *before);
/* The plan of what is recorded for `a` (NULL: of all), one line a program. The caller
 * frees it with asnp_free_text. */
ASNUMPY_API asnp_status asnp_explain(const asnp_array *a, char **text);
ASNUMPY_API void asnp_free_text(char *text);

/* ---- the device: opened at the first use (ASNUMPY_DEVICE = cpu, ascend or auto) */

/* "cpu" or "ascend". Static. */
ASNUMPY_API asnp_status asnp_device_kind(const char **out);
ASNUMPY_API asnp_status asnp_device_count(int32_t *out);
ASNUMPY_API asnp_status asnp_get_device(int32_t *out);
/* Makes a device current; waits for the one before. No other thread may be in the
 * library. VALUE: there is no such device. */
ASNUMPY_API asnp_status asnp_set_device(int32_t device);
/* Waits and closes the device; the next use opens it again. No other thread may be in the
 * library. RUNTIME: arrays are left. */
ASNUMPY_API asnp_status asnp_finalize(void);

/* The thread's stream, an aclrtStream, with everything recorded so far put on it: for
 * programs that enqueue operators or record and await events of their own through
 * acl/acl.h, in order with the library's work. Asked for anew before each such use, as
 * set_device changes it. Writers of an array's memory take its address from asnp_data. */
ASNUMPY_API asnp_status asnp_stream(void **out);

/* What to do when the device lacks an operation: an UNSUPPORTED error, or compute it on
 * the CPU (the default; asnp_engine_stats counts them). */
typedef enum { ASNP_FALLBACK_ERROR = 0, ASNP_FALLBACK_CPU = 1 } asnp_fallback;
/* before may be NULL. VALUE: neither of the two. */
ASNUMPY_API asnp_status asnp_set_fallback(asnp_fallback policy, asnp_fallback *before);

/* ---- statistics */

typedef struct {
    uint64_t device_allocations; /* since the start */
    uint64_t pool_hits;          /* requests that needed none */
    uint64_t bytes_in_use, bytes_cached, peak_bytes;
    uint64_t peak_reserved;                         /* in use and cached */
    uint64_t magazine_hits, bin_hits, segment_hits; /* the requests that needed none */
    uint64_t bytes_allocated, bytes_reused; /* of all requests; of memory used before */
    uint64_t device_frees, segments;        /* pieces given back, ever; held now */
} asnp_memory;
ASNUMPY_API asnp_status asnp_memory_stats(asnp_memory *out);
/* Returns cached memory to the device. No other thread may be in the library. */
ASNUMPY_API asnp_status asnp_empty_cache(void);

typedef struct {
    uint64_t recorded, eager; /* operations recorded, and run at once */
    uint64_t programs;        /* fused programs run */
    uint64_t single_ops;      /* CANN's own operators run */
    uint64_t plan_hits, plan_misses, fallbacks, synchronizations;
} asnp_engine;
ASNUMPY_API asnp_status asnp_engine_stats(asnp_engine *out);

#ifdef __cplusplus
}
#endif
#endif
