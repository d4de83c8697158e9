/* CPU device, private to sorting: many short lines at once. */
#ifndef ASN_DEVICE_CPU_SORT_SORT_SHORT_H
#define ASN_DEVICE_CPU_SORT_SORT_SHORT_H

#include "device/cpu/move/lines.h"
#include "device/cpu/sort/sort_vector.h"

enum { ASN_SHORT_LINE = 128 };

/* Keys of one dtype along lines (views: IN, and the result at view `out`). */
typedef struct {
    const asnd_sort_loops *loops;
    const asnd_lines *lines;
    asn_dtype dtype;
    int flags;    /* of keys.h */
    int out;      /* the view that receives values, or indices */
    bool indices; /* int64 positions instead of values */
    /* the only elements of the sorted line that are wanted; NULL: all are */
    const int64_t *kth;
    int num_kth;
} asnd_short_sort;

/* Whether lines like these are worth sorting side by side. Keys of 4 or 8 bytes, up to
 * ASN_SHORT_LINE elements, four neighbouring lines at least, and vector sorts. */
bool asn_sort_short_fits(const asnd_lines *lines, asn_dtype dtype);

/* Sorts `count` lines from number `first` on; ASN_SHORT_LINE elements each at most. */
void asn_sort_short(const asnd_short_sort *s, int64_t first, int64_t count);

#endif
