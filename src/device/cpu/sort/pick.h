/* CPU device, private to sorting: order statistics of a line as it lies in memory.
 *
 * Selecting through keys (keys.h) writes and reads the line three times: encoded, parted,
 * decoded. Here two keys of a sorted sample bound the one that is looked for, one pass
 * collects what lies between them (Floyd and Rivest, "Expected time bounds for
 * selection", CACM 18, 1975), and only that is encoded. A partition takes one pass more,
 * from the line to the result. Both give the bits that the keys would give.
 *
 * For 32 and 64-bit numbers on processors with AVX2. The functions return false, and the
 * caller selects through keys, where there are no loops, where a NaN is met, where zeros
 * of both signs equal the pivot, and where the sample misled. */
#ifndef ASN_DEVICE_CPU_SORT_PICK_H
#define ASN_DEVICE_CPU_SORT_PICK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/dtype.h"

/* Elements on end, of one dtype. */
typedef struct asnd_pick_loops {
    /* Those from *low to *high to the front of `to`, as long, in their order; returns how
     * many, counts those below, and tells of a NaN. */
    int64_t (*within)(const void *from, void *to, int64_t n, const void *low,
                      const void *high, int64_t *below, bool *nan);
    /* Those below the pivot to to[0..below), equal ones to to[below..upto), those above
     * to the rest, each in their order; `to` lies apart. */
    void (*part)(const void *from, void *to, int64_t n, const void *pivot, int64_t below,
                 int64_t upto);
} asnd_pick_loops;
extern const asnd_pick_loops asn_pick_avx2[ASN_DTYPE_COUNT],
    asn_pick_avx512[ASN_DTYPE_COUNT], asn_pick_neon[ASN_DTYPE_COUNT];

enum {
    ASN_PICK_LEAST = 1025, /* fewer elements are sorted (keys.h) */
    ASN_MOST_PICKED = 64   /* what callers have room for */
};

/* to[j] = the kth[j]-th smallest of `line`, kth ascending. `scratch` holds two lines. */
bool asn_pick_values(asn_dtype dt, const void *line, int64_t n, void *scratch,
                     const int64_t *kth, int count, void *to);

/* asn_keys_select of one position, from `line` to `to`, which lies apart. `scratch` holds
 * two lines. */
bool asn_pick_part(asn_dtype dt, const void *line, int64_t n, void *scratch, int64_t kth,
                   void *to);

#endif
