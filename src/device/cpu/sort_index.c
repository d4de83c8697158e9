/* CPU device: sorting indices along by packing them into their keys.
 *
 * A key without the bits that all keys share, shifted up, leaves room for the position in
 * its low bits: one 64-bit number sorts both, stably, at the speed of plain keys. Where
 * the bits do not suffice, those of the key's distance from the least are taken. Where
 * they do not suffice either (64-bit keys that differ all over), the lowest key bits are
 * left out and the few runs of equal prefixes are put right afterwards from the keys
 * themselves; with many of them the caller's radix sort is better.
 */
#include "device/cpu/sort_index.h"

#include "device/cpu/keys.h"

enum { LONGEST_RUN = 64 };

static int width_of(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

asn_packing asn_packing_for(uint64_t differing, int64_t n) {
    int used = width_of(differing), index_bits = width_of((uint64_t)(n - 1));
    asn_packing p = {.mask = ((uint64_t)1 << index_bits) - 1,
                     .exact = used + index_bits <= 64};
    p.shift = p.exact ? index_bits : 64 - used;
    return p;
}

static uint64_t differing_8(const uint64_t *keys, int64_t n) {
    uint64_t all = 0;
    for (int64_t i = 0; i < n; i++)
        all |= keys[i] ^ keys[0];
    return all;
}

static uint64_t differing_4(const uint32_t *keys, int64_t n) {
    uint32_t all = 0;
    for (int64_t i = 0; i < n; i++)
        all |= keys[i] ^ keys[0];
    return all;
}

static uint64_t least_8(const uint64_t *keys, int64_t n, uint64_t *most) {
    uint64_t low = keys[0], high = keys[0];
    for (int64_t i = 1; i < n; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    *most = high;
    return low;
}

/* Keys less `base`. */
static void pack(int bytes, const void *keys, uint64_t base, uint64_t *packed, int64_t n,
                 asn_packing p) {
    if (bytes == 4) {
        for (int64_t i = 0; i < n; i++)
            packed[i] = (uint64_t)((const uint32_t *)keys)[i] << p.shift | (uint64_t)i;
        return;
    }
    for (int64_t i = 0; i < n; i++)
        packed[i] =
            ((((const uint64_t *)keys)[i] - base) << p.shift & ~p.mask) | (uint64_t)i;
}

/* Sorts a run of equal prefixes by the whole key; equal keys are in order already. */
static void sort_run(uint64_t *run, int64_t n, const uint64_t *keys, uint64_t mask) {
    for (int64_t i = 1; i < n; i++) {
        uint64_t item = run[i], key = keys[item & mask];
        int64_t j = i;
        for (; j > 0 && keys[run[j - 1] & mask] > key; j--)
            run[j] = run[j - 1];
        run[j] = item;
    }
}

static bool sort_runs(uint64_t *packed, int64_t n, const uint64_t *keys, uint64_t mask) {
    for (int64_t i = 1; i < n; i++) {
        if ((packed[i] ^ packed[i - 1]) & ~mask) continue;
        int64_t start = i - 1;
        while (i < n && !((packed[i] ^ packed[start]) & ~mask))
            i++;
        if (i - start > LONGEST_RUN) return false;
        sort_run(packed + start, i - start, keys, mask);
    }
    return true;
}

bool asn_keys_argsort(const asn_sort_loops *loops, int bytes, const void *keys,
                      uint64_t *packed, uint64_t *spare, int64_t n, bool parallel) {
    if (n < 2) {
        packed[0] = 0;
        return true;
    }
    uint64_t differing = bytes == 4 ? differing_4(keys, n) : differing_8(keys, n);
    asn_packing p = asn_packing_for(differing, n);
    uint64_t base = 0, most;
    if (bytes == 8 && !p.exact) { /* small numbers of both signs differ in every bit */
        base = least_8(keys, n, &most);
        p = asn_packing_for(most - base, n);
    }
    pack(bytes, keys, base, packed, n, p);
    if (parallel)
        asn_keys_sort_parallel(8, packed, NULL, spare, NULL, n);
    else
        loops->sort(8, packed, spare, n);
    if (!p.exact && !sort_runs(packed, n, keys, p.mask)) return false;
    for (int64_t i = 0; i < n; i++)
        packed[i] &= p.mask;
    return true;
}
