/* L2 runtime: device memory in segments, contiguous pieces got from the device in one
 * call each, cut into ranges.
 *
 * A request takes the idle range that fits best and splits it; a range that is given back
 * joins its idle neighbours, so that a segment whose ranges are all idle is one range
 * again and can go back to the device. Idle ranges are found by size class (two-level
 * segregated fit, Masmano et al. 2004: constant time, at worst a quarter larger than
 * needed), and within a class the last given back first, which is the warmest. The
 * bookkeeping lies in host memory: the device's may be out of reach.
 *
 * No locks, no device calls: memory_pool.c has both.
 */
#ifndef ASN_RUNTIME_MEMORY_SEGMENT_H
#define ASN_RUNTIME_MEMORY_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

/* Size classes, four to each power of two, from 64 bytes on: class c holds
 * (4 + c % 4) << (c / 4 + 4) bytes. */
enum { ASN_SIZE_SHIFT = 6, ASN_SIZE_CLASSES = 4 * 44 };

/* The smallest class that holds nbytes. */
static inline int asn_size_class(int64_t nbytes) {
    /* multiples of 64 keep every block aligned to a cache line */
    uint64_t n = nbytes <= 64 ? 64 : ((uint64_t)nbytes + 63) & ~(uint64_t)63;
    if (n == 64) return 0;
    int shift = 63 - __builtin_clzll(n - 1);
    /* 2^shift <= n - 1 < 2^(shift + 1): quarter steps above 2^shift */
    int quarter = (int)(((n - 1) >> (shift - 2)) & 3);
    return (shift - ASN_SIZE_SHIFT) * 4 + quarter + 1;
}

static inline int64_t asn_class_bytes(int c) {
    return (int64_t)(4 + c % 4) << (c / 4 + ASN_SIZE_SHIFT - 2);
}

/* The largest class that fits into bytes, which hold a block at least. */
static inline int asn_class_within(int64_t bytes) {
    int c = asn_size_class(bytes);
    return asn_class_bytes(c) > bytes ? c - 1 : c;
}

/* Whether the range is out with a user, in the index of idle ranges, or set aside as it
 * is by the owner of the segments (a bin). */
typedef enum { ASN_RANGE_LIVE, ASN_RANGE_IDLE, ASN_RANGE_ASIDE } asn_range_state;

typedef struct asn_range {
    char *address;
    int64_t bytes;
    struct asn_segment *segment;
    struct asn_range *before, *after; /* neighbours in the segment */
    struct asn_range *newer,
        *older;    /* of the class while idle; the owner's while aside */
    uint32_t site; /* who asked for it (site.h), 0: nobody looked */
    asn_range_state state;
} asn_range;

struct asn_segments;

typedef struct asn_segment {
    struct asn_segments *owner;
    asn_range *first; /* owns; all ranges hang on it */
    int64_t bytes;
    struct asn_segment *next, *previous;
    uint64_t idle_since; /* tick of the last giving back */
} asn_segment;

typedef struct asn_segments {
    asn_segment *list;
    int num;
    int64_t reserved, idle; /* bytes of all segments; of their idle ranges */
    int64_t max_split;      /* a longer range is not cut for a shorter request */
    uint64_t tick;
    uint64_t filled[(ASN_SIZE_CLASSES + 63) / 64]; /* classes that have idle ranges */
    asn_range *classes[ASN_SIZE_CLASSES];
} asn_segments;

/* An idle range of at least `bytes` (a multiple of 64) and at most `longest`, made live
 * and cut to size; NULL: there is none. When the memory for cutting is missing it comes
 * uncut. */
asn_range *asn_segments_take(asn_segments *s, int64_t bytes, int64_t longest);
/* Adds fresh memory as one idle range. MemoryError: nothing was taken. */
ASN_CHECK_RESULT asn_status asn_segments_add(asn_segments *s, void *memory,
                                             int64_t bytes);
/* A live range, or one aside, becomes idle and joins its neighbours; the pointer is dead
 * after it. */
void asn_segments_give(asn_range *range);
/* The wholly idle segment that has been so for longest; NULL. */
asn_segment *asn_segments_idle_segment(const asn_segments *s);
/* Forgets a wholly idle segment and returns its memory, for the caller to free. */
void *asn_segments_drop(asn_segments *s, asn_segment *segment);
#endif
