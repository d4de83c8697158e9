/* CPU device, private to sorting: positions packed into the low bits of their keys. */
#ifndef ASN_DEVICE_CPU_SORT_SORT_INDEX_H
#define ASN_DEVICE_CPU_SORT_SORT_INDEX_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cpu/sort/sort_vector.h"

/* (key << shift & ~mask) | position; exact: no key bit that differs is lost. */
typedef struct {
    int shift;
    uint64_t mask;
    bool exact;
} asnd_packing;

/* For n >= 2 keys that differ in the bits of `differing`. */
asnd_packing asn_packing_for(uint64_t differing, int64_t n);

/* index[0..n) = the positions that sort the keys of 4 or 8 bytes, stably; `parallel`:
 * with all threads; false: too many keys differ only in bits that do not fit (index then
 * holds nothing of use). packed and spare: n numbers each. */
bool asn_keys_argsort(const asnd_sort_loops *loops, int bytes, const void *keys,
                      uint64_t *packed, uint64_t *spare, uint32_t *index, int64_t n,
                      bool parallel);

#endif
