/* CPU device: sorting indices along by packing them into their keys.
 *
 * A key without the bits that all keys share, shifted up, leaves room for the position in
 * its low bits: one 64-bit number sorts both, stably, at the speed of plain keys. Where
 * the bits do not suffice, those of the key's distance from the least are taken. Where
 * they do not suffice either (64-bit keys that differ all over), the lowest key bits are
 * left out and the few runs of equal prefixes are put right afterwards from the keys
 * themselves; with many of them the caller's radix sort is better.
 */
#include "device/cpu/sort/sort_index.h"

#include "device/cpu/sort/keys.h"
#include "device/cpu/threads.h"

enum { LONGEST_RUN = 64 };

/* Bits of x. */
static int width_of(uint64_t x) {
    return x ? 64 - __builtin_clzll(x) : 0;
}

/* Where key and position have more than 64 bits, the position's are kept and the lowest
 * of the key's given up. */
asnd_packing asn_packing_for(uint64_t differing, int64_t n) {
    int used = width_of(differing), index_bits = width_of((uint64_t)(n - 1));
    asnd_packing p = {.mask = ((uint64_t)1 << index_bits) - 1,
                      .exact = used + index_bits <= 64};
    p.shift = p.exact ? index_bits : 64 - used;
    return p;
}

enum { SLICE = 65536 };

/* One pass over the keys, shared out between threads by slices. */
typedef struct {
    int bytes;
    const void *keys;
    uint64_t *packed;
    uint32_t *index;
    int64_t n;
    asnd_packing packing;
    uint64_t base, differing, low, high; /* what slices found; atomic, the latter three */
} argsort;

/* Behind the slice's last key. */
static int64_t end_of(const argsort *a, int64_t slice) {
    return (slice + 1) * SLICE < a->n ? (slice + 1) * SLICE : a->n;
}

/* The bits in which some key differs from the first, or-ed into a->differing. */
static void find_differing(void *ctx, int64_t slice) {
    argsort *a = ctx;
    const int64_t end = end_of(a, slice);
    uint64_t all = 0;
    if (a->bytes == 4) {
        const uint32_t *keys = a->keys;
        uint32_t bits = 0;
        for (int64_t i = slice * SLICE; i < end; i++)
            bits |= keys[i] ^ keys[0];
        all = bits;
    } else {
        const uint64_t *keys = a->keys;
        for (int64_t i = slice * SLICE; i < end; i++)
            all |= keys[i] ^ keys[0];
    }
    __atomic_fetch_or(&a->differing, all, __ATOMIC_RELAXED);
}

/* The least and the largest key, by compare and exchange, as slices run at once. */
static void find_range_8(void *ctx, int64_t slice) {
    argsort *a = ctx;
    const uint64_t *keys = a->keys;
    const int64_t end = end_of(a, slice);
    uint64_t low = keys[0], high = keys[0], known;
    for (int64_t i = slice * SLICE; i < end; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
    }
    known = __atomic_load_n(&a->low, __ATOMIC_RELAXED);
    while (low < known &&
           !__atomic_compare_exchange_n(&a->low, &known, low, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
    known = __atomic_load_n(&a->high, __ATOMIC_RELAXED);
    while (high > known &&
           !__atomic_compare_exchange_n(&a->high, &known, high, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

/* Keys less the base. 32-bit keys always fit: their upper bits that all share fall off
 * the top. */
static void pack(void *ctx, int64_t slice) {
    const argsort *a = ctx;
    const asnd_packing p = a->packing;
    const int64_t end = end_of(a, slice);
    const uint64_t base = a->base;
    uint64_t *packed = a->packed;
    if (a->bytes == 4) {
        const uint32_t *keys = a->keys;
        for (int64_t i = slice * SLICE; i < end; i++)
            packed[i] = (uint64_t)keys[i] << p.shift | (uint64_t)i;
        return;
    }
    const uint64_t *keys = a->keys;
    for (int64_t i = slice * SLICE; i < end; i++)
        packed[i] = ((keys[i] - base) << p.shift & ~p.mask) | (uint64_t)i;
}

/* Positions of the sorted numbers. */
static void unpack(void *ctx, int64_t slice) {
    const argsort *a = ctx;
    const int64_t end = end_of(a, slice);
    for (int64_t i = slice * SLICE; i < end; i++)
        a->index[i] = (uint32_t)(a->packed[i] & a->packing.mask);
}

/* All slices, by the pool or here. */
static void pass(argsort *a, asnd_pool_fn fn, bool parallel) {
    const int64_t slices = (a->n + SLICE - 1) / SLICE;
    if (parallel) {
        asn_pool_run(fn, a, slices, (double)a->n * 0.5);
        return;
    }
    for (int64_t i = 0; i < slices; i++)
        fn(a, i);
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

/* Runs of equal prefixes; false: one is longer than LONGEST_RUN, which insertion would
 * take too long for. */
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

/* Packed, sorted, put right, unpacked. a.packed is where the sort leaves the numbers. */
bool asn_keys_argsort(const asnd_sort_loops *loops, int bytes, const void *keys,
                      uint64_t *packed, uint64_t *spare, uint32_t *index, int64_t n,
                      bool parallel) {
    argsort a = {.bytes = bytes, .keys = keys, .packed = packed, .index = index, .n = n};
    if (n < 2) {
        index[0] = 0;
        return true;
    }
    pass(&a, find_differing, parallel);
    a.packing = asn_packing_for(a.differing, n);
    if (bytes == 8 && !a.packing.exact) { /* small numbers of both signs differ in all */
        a.low = a.high = *(const uint64_t *)keys;
        pass(&a, find_range_8, parallel);
        a.base = a.low;
        a.packing = asn_packing_for(a.high - a.low, n);
    }
    pass(&a, pack, parallel);
    if (parallel)
        a.packed = asn_keys_sort_parallel(8, packed, NULL, spare, NULL, n);
    else
        loops->sort(8, packed, spare, n);
    if (!a.packing.exact && !sort_runs(a.packed, n, keys, a.packing.mask)) return false;
    pass(&a, unpack, parallel);
    return true;
}
