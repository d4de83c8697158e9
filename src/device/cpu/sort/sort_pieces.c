/* CPU device: plain keys sorted by all threads, nothing of it by one alone.
 *
 * A sample's quantiles are pivots between twice as many pieces as there are threads. The
 * array is cut into as many parts; each is parted at the pivots where it lies, by halves.
 * A piece, which is a stretch of every part, is then put together in the other array and
 * sorted there, in the second-level cache. Parting all of the array first took one thread
 * as long as sorting two (1e7 float32: 26-29 ms for 30 on one thread, 19 so).
 */
#include "device/cpu/sort/sort_pieces.h"

#include <string.h>

#include "device/cpu/threads.h"

enum { SAMPLE = 1024, MOST_PIECES = 64, PIECE_BYTES = 1 << 20, LEAST_PARTED = 512 };

typedef struct {
    const asnd_sort_loops *loops;
    int bytes, pieces; /* parts are as many */
    char *keys, *spare;
    int64_t n;
    uint64_t pivot[MOST_PIECES];              /* of piece i: its keys are not below */
    int64_t at[MOST_PIECES][MOST_PIECES + 1]; /* where pieces begin in a part, */
    int64_t to[MOST_PIECES + 1];              /* and in the result */
} pieces_sort;

/* Key i of 4 or 8 bytes. */
static uint64_t key_of(int bytes, const char *keys, int64_t i) {
    return bytes == 4 ? ((const uint32_t *)keys)[i] : ((const uint64_t *)keys)[i];
}

static void swap_keys(int bytes, char *keys, int64_t i, int64_t j) {
    uint64_t one = 0, other = 0;
    memcpy(&one, keys + i * bytes, (size_t)bytes);
    memcpy(&other, keys + j * bytes, (size_t)bytes);
    memcpy(keys + i * bytes, &other, (size_t)bytes);
    memcpy(keys + j * bytes, &one, (size_t)bytes);
}

/* Keys below the pivot to the front; how many they are. */
static int64_t part_at(const pieces_sort *s, char *keys, int64_t n, uint64_t pivot) {
    int64_t below = 0;
    if (n >= LEAST_PARTED) return s->loops->part(s->bytes, keys, n, pivot);
    for (int64_t i = 0; i < n; i++)
        if (key_of(s->bytes, keys, i) < pivot) swap_keys(s->bytes, keys, i, below++);
    return below;
}

/* One part at all pivots: at the middle one first, then its halves. Pieces are a power of
 * two. */
static void part_one(void *ctx, int64_t part) {
    pieces_sort *s = ctx;
    int64_t *at = s->at[part], size = (s->n + s->pieces - 1) / s->pieces;
    at[0] = part * size < s->n ? part * size : s->n;
    at[s->pieces] = at[0] + size < s->n ? at[0] + size : s->n;
    for (int span = s->pieces; span > 1; span /= 2) {
        for (int first = 0; first < s->pieces; first += span) {
            int middle = first + span / 2;
            at[middle] =
                at[first] + part_at(s, s->keys + at[first] * s->bytes,
                                    at[first + span] - at[first], s->pivot[middle]);
        }
    }
}

/* A piece's stretches of all parts, one after the other, to the other array. */
static void gather_piece(void *ctx, int64_t piece) {
    const pieces_sort *s = ctx;
    char *to = s->spare + s->to[piece] * s->bytes;
    for (int part = 0; part < s->pieces; part++) {
        const int64_t *at = &s->at[part][piece];
        size_t size = (size_t)((at[1] - at[0]) * s->bytes);
        memcpy(to, s->keys + at[0] * s->bytes, size);
        to += size;
    }
}

/* `keys`, which nobody needs any more, is the spare. */
static void sort_piece(void *ctx, int64_t piece) {
    const pieces_sort *s = ctx;
    int64_t from = s->to[piece] * s->bytes;
    s->loops->sort(s->bytes, s->spare + from, s->keys + from,
                   s->to[piece + 1] - s->to[piece]);
}

/* Of keys at even distances. Equal pivots leave pieces empty, which costs balance and
 * nothing else. */
static void choose_pivots(pieces_sort *s) {
    uint64_t sample[SAMPLE], scratch[SAMPLE];
    for (int64_t i = 0; i < SAMPLE; i++)
        sample[i] =
            key_of(s->bytes, s->keys, (int64_t)((double)i * (double)s->n / SAMPLE));
    s->loops->sort(8, sample, scratch, SAMPLE);
    for (int i = 1; i < s->pieces; i++)
        s->pivot[i] = sample[i * SAMPLE / s->pieces];
}

/* Three regions of the pool; between the first two the pieces' places are added up. */
void *asn_sort_pieces(const asnd_sort_loops *loops, int bytes, void *keys, void *spare,
                      int64_t n, int parts, double ns) {
    int pieces = 2 * parts;
    while (pieces < MOST_PIECES && n * bytes / pieces > PIECE_BYTES)
        pieces *= 2;
    pieces_sort s = {.loops = loops,
                     .bytes = bytes,
                     .pieces = pieces,
                     .keys = keys,
                     .spare = spare,
                     .n = n};
    choose_pivots(&s);
    asn_pool_run(part_one, &s, s.pieces, ns / 4);
    for (int piece = 0; piece < s.pieces; piece++) {
        s.to[piece + 1] = s.to[piece];
        for (int part = 0; part < s.pieces; part++)
            s.to[piece + 1] += s.at[part][piece + 1] - s.at[part][piece];
    }
    asn_pool_run(gather_piece, &s, s.pieces, ns / 8);
    asn_pool_run(sort_piece, &s, s.pieces, ns);
    return spare;
}
