/* CPU device: sorting keys of 16, 32, 64 and 128 bits, on one thread or several.
 *
 * In parallel plain keys go to sort_pieces.c where the vector sort can be had. Else a
 * long array is cut into as many parts as there are
 * threads, each part is sorted, and neighbours are merged, every merge cut into pieces at
 * positions found by bisection. A stable sort has one result, as plain keys have, so it
 * does not matter how many parts there are.
 */
#include <string.h>

#include "device/cpu/context.h"
#include "device/cpu/sort/keys.h"
#include "device/cpu/threads.h"
#include "device/cpu/sort/sort_pieces.h"
#include "device/cpu/sort/sort_vector.h"

typedef unsigned __int128 u128;

#define K    uint16_t
#define F(n) n##_2
#include "device/cpu/sort/sort_keys.inc"
#define K    uint32_t
#define F(n) n##_4
#define VECTOR
#include "device/cpu/sort/sort_keys.inc"
#define K    uint64_t
#define F(n) n##_8
#define VECTOR
#include "device/cpu/sort/sort_keys.inc"
#define K    u128
#define F(n) n##_16
#include "device/cpu/sort/sort_keys.inc"

void asn_keys_sort(int bytes, void *keys, uint32_t *index, void *spare,
                   uint32_t *spare_index, int64_t n) {
    switch (bytes) {
    case 2: sort_2(keys, index, spare, spare_index, n); break;
    case 4: sort_4(keys, index, spare, spare_index, n); break;
    case 8: sort_8(keys, index, spare, spare_index, n); break;
    default: sort_16(keys, index, spare, spare_index, n); break;
    }
}

enum { MERGE_PIECE = 32768 };

/* from, to change places after each round of merges. */
typedef struct {
    int bytes;
    char *from, *to;
    uint32_t *from_index, *to_index;
    int64_t n, part, pieces; /* part: length of what is sorted already */
} parallel_sort;

static char *key_at(char *keys, int bytes, int64_t i) {
    return keys + i * bytes;
}
/* NULL stays NULL. */
static uint32_t *index_at(uint32_t *index, int64_t i) {
    return index ? index + i : NULL;
}

/* One part, where it lies; the same stretch of `to` is its spare. */
static void sort_part(void *ctx, int64_t chunk) {
    const parallel_sort *s = ctx;
    int64_t first = chunk * s->part, n = s->n - first;
    asn_keys_sort(s->bytes, key_at(s->from, s->bytes, first),
                  index_at(s->from_index, first), key_at(s->to, s->bytes, first),
                  index_at(s->to_index, first), n < s->part ? n : s->part);
}

/* Elements [from, to) of the merge of two neighbouring parts; a last part without a
 * neighbour is copied by it. */
static void merge_piece(void *ctx, int64_t chunk) {
    const parallel_sort *s = ctx;
    int64_t first = chunk / s->pieces * 2 * s->part, left = s->n - first;
    int64_t na = left < s->part ? left : s->part, nb = left - na;
    if (nb > s->part) nb = s->part;
    int64_t from = chunk % s->pieces * MERGE_PIECE, to = from + MERGE_PIECE;
    if (from >= na + nb) return;
    if (to > na + nb) to = na + nb;
    char *a = key_at(s->from, s->bytes, first),
         *b = key_at(s->from, s->bytes, first + na);
    char *out = key_at(s->to, s->bytes, first);
    uint32_t *ai = index_at(s->from_index, first),
             *bi = index_at(s->from_index, first + na);
    uint32_t *oi = index_at(s->to_index, first);
    switch (s->bytes) {
    case 2: merge_part_2(a, ai, na, b, bi, nb, out, oi, from, to); break;
    case 4: merge_part_4(a, ai, na, b, bi, nb, out, oi, from, to); break;
    case 8: merge_part_8(a, ai, na, b, bi, nb, out, oi, from, to); break;
    default: merge_part_16(a, ai, na, b, bi, nb, out, oi, from, to); break;
    }
}

/* ---- in parallel */

void *asn_keys_sort_parallel(int bytes, void *keys, uint32_t *index, void *spare,
                             uint32_t *spare_index, int64_t n) {
    /* As many parts as threads, a power of two, so that every merge has equal halves. */
    double ns = (double)n * (2 + bytes) * (index ? 2 : 1);
    int parts = 1, width = asn_pool_width(ns);
    while (parts * 2 <= width && parts < ASN_MOST_PARTS)
        parts *= 2;
    if (parts == 1) {
        asn_keys_sort(bytes, keys, index, spare, spare_index, n);
        return keys;
    }
    const asnd_sort_loops *loops = asn_context_get()->sorts;
    if (!index && (bytes == 4 || bytes == 8) && loops) {
        bool sorted = bytes == 4 ? is_sorted_4(keys, n) : is_sorted_8(keys, n);
        return sorted ? keys : asn_sort_pieces(loops, bytes, keys, spare, n, parts, ns);
    }
    parallel_sort s = {bytes, keys, spare, index, spare_index, n, (n + parts - 1) / parts,
                       1};
    asn_pool_run(sort_part, &s, (n + s.part - 1) / s.part, ns);
    for (; s.part < n; s.part *= 2) {
        s.pieces = (2 * s.part + MERGE_PIECE - 1) / MERGE_PIECE;
        int64_t pairs = (n + 2 * s.part - 1) / (2 * s.part);
        asn_pool_run(merge_piece, &s, pairs * s.pieces, (double)n * 2);
        char *t = s.from;
        s.from = s.to;
        s.to = t;
        uint32_t *u = s.from_index;
        s.from_index = s.to_index;
        s.to_index = u;
    }
    if (s.from == keys) return keys;
    if (!index) return s.from;
    memcpy(keys, s.from, (size_t)(n * bytes));
    memcpy(index, s.from_index, (size_t)n * sizeof *index);
    return keys;
}

/* Keys of 4 or 8 bytes, in place. */
void asn_keys_radix(int bytes, void *keys, void *spare, int64_t n) {
    if (bytes == 4)
        sort_radix_4(keys, NULL, spare, NULL, n);
    else
        sort_radix_8(keys, NULL, spare, NULL, n);
}

/* After a selection all behind its keys is above, so the next kth is sought there. */
void asn_keys_select(int bytes, void *keys, uint32_t *index, void *spare,
                     uint32_t *spare_index, int64_t n, const int64_t *kth, int count) {
    int64_t from = 0;
    if (n <= ASN_SORTED_SELECTION) {
        asn_keys_sort(bytes, keys, index, spare, spare_index, n);
        return;
    }
    for (int i = 0; i < count; i++) {
        if (kth[i] < from) continue; /* equal to the one before */
        char *at = key_at(keys, bytes, from);
        uint32_t *index_from = index_at(index, from);
        int64_t left = n - from, k = kth[i] - from;
        switch (bytes) {
        case 2: from += select_2(at, index_from, spare, spare_index, left, k); break;
        case 4: from += select_4(at, index_from, spare, spare_index, left, k); break;
        case 8: from += select_8(at, index_from, spare, spare_index, left, k); break;
        default: from += select_16(at, index_from, spare, spare_index, left, k); break;
        }
    }
}

uint64_t asn_keys_kth(int bytes, const void *keys, void *scratch, int64_t n,
                      int64_t kth) {
    return bytes == 4 ? kth_smallest_4(keys, scratch, n, kth)
                      : kth_smallest_8(keys, scratch, n, kth);
}

bool asn_keys_argselect(int bytes, const void *keys, void *scratch, int64_t *to,
                        int64_t n, int64_t kth) {
    const asnd_sort_loops *loops = asn_context_get()->sorts;
    if (!loops || !loops->order_4 || n <= ASN_SORTED_SELECTION) return false;
    if (bytes == 4)
        loops->order_4(keys, to, n, kth_smallest_4(keys, scratch, n, kth));
    else if (bytes == 8)
        loops->order_8(keys, to, n, kth_smallest_8(keys, scratch, n, kth));
    return bytes == 4 || bytes == 8;
}
