/* L2 runtime: what the memory manager tells and what can be set: statistics, limits, a
 * walk over everything it holds. */
#ifndef ASN_RUNTIME_MEMORY_MEMORY_H
#define ASN_RUNTIME_MEMORY_MEMORY_H

#include <stdint.h>

#include "base/status.h"
#include "runtime/site.h"

/* Of the current device. */
typedef struct {
    uint64_t device_allocations, device_frees; /* calls of the device since the start */
    uint64_t magazine_hits, bin_hits, segment_hits; /* requests served without one, */
    uint64_t pool_hits;                             /* and all three together */
    uint64_t bytes_allocated, bytes_reused; /* of all requests; of memory used before */
    uint64_t bytes_in_use, bytes_cached;    /* now */
    uint64_t peak_bytes, peak_reserved;     /* in use; in use and cached: since a reset */
    uint64_t segments, prepared; /* held now; got ahead for a recurring step, ever */
} asn_memory_stats;

void asn_memory_get_stats(asn_memory_stats *out);
/* The peaks begin again from what is in use now. */
void asn_memory_reset_peaks(void);
/* Returns cached blocks to the device. */
void asn_memory_empty_cache(void);

typedef struct {
    uint64_t limit;      /* bytes held of one device, in use and cached; 0: no limit */
    uint64_t max_split;  /* idle ranges above it serve only requests above it; 0: none */
    double gc_threshold; /* share of the limit (of the device's memory) above which idle
                            segments go before fresh memory is taken; 0: never */
} asn_memory_settings;

void asn_memory_get_settings(asn_memory_settings *out);
/* ValueError: a threshold outside [0, 1). Memory above the limit that is already in use
 * stays. */
ASN_CHECK_RESULT asn_status asn_memory_set_settings(const asn_memory_settings *settings);

typedef enum { ASN_PLACE_SLAB, ASN_PLACE_SEGMENT, ASN_PLACE_RANGE } asn_memory_place;
typedef enum { ASN_MEMORY_LIVE, ASN_MEMORY_IDLE, ASN_MEMORY_ASIDE } asn_memory_state;

typedef struct {
    asn_memory_place place; /* a segment's ranges follow it, in address order */
    asn_memory_state state; /* of a range */
    int32_t device;
    const void *address;
    int64_t bytes;
    asn_site site; /* of a live range, when it was recorded */
} asn_memory_piece;

/* Calls visit for everything held, with the pool locked: visit must not allocate device
 * memory. */
void asn_memory_walk(void (*visit)(void *context, const asn_memory_piece *piece),
                     void *context);

#endif
