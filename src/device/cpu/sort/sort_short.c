/* CPU device: sorting many short lines side by side.
 *
 * Eight or sixteen lines become the columns of a tile, one line per lane, and a sorting
 * network runs over whole rows (sort_vector.h): no comparison decides a branch and no
 * lane moves. Indices go along in the low bits of 64-bit numbers (sort_index.h); a tile
 * whose keys do not fit so keeps its prefixes' order and is put right line by line.
 */
#include "device/cpu/context.h"
#include "device/cpu/sort/sort_short.h"

#include <string.h>

#include "device/cpu/sort/keys_codecs.h"
#include "device/cpu/sort/sort_index.h"

enum { IN = 0, LANES_4 = 16, LANES_8 = 8 };

typedef struct {
    _Alignas(64) char keys[ASN_SHORT_LINE * 64];  /* rows of 64 bytes: [element][line] */
    _Alignas(64) char lined[ASN_SHORT_LINE * 64]; /* the same, [line][element] */
} tile;

typedef struct {
    int64_t n;        /* elements of a line */
    int64_t step;     /* between a line's elements */
    int64_t spacing;  /* between lines */
    int lines, lanes; /* lines <= lanes */
    const asnd_key_codec *codec;
} geometry;

bool asn_sort_short_fits(const asnd_lines *lines, asn_dtype dtype) {
    int bytes = asn_key_bytes(dtype);
    return asn_context_get()->sorts && (bytes == 4 || bytes == 8) &&
           lines->length <= ASN_SHORT_LINE && lines->length > 1 && lines->num_dims > 1 &&
           lines->extent[1] >= 4;
}

/* A transposition of small matrices: to[j][i] = from[i][j]. */
static void turn_4(uint32_t *to, const uint32_t *from, int64_t rows, int64_t cols,
                   int64_t to_row) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * to_row + i] = from[i * cols + j];
}

static void turn_8(uint64_t *to, const uint64_t *from, int64_t rows, int64_t cols,
                   int64_t to_row) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < cols; j++)
            to[j * to_row + i] = from[i * cols + j];
}

/* The keys of lined elements, [line][element], and back. */
static void encode_lined(const asnd_short_sort *s, const geometry *g, int bytes,
                         const char *from, tile *t) {
    if (g->spacing == g->step * g->n)
        g->codec->encode(t->lined, from, g->step, g->n * g->lines, s->flags);
    else
        for (int l = 0; l < g->lines; l++)
            g->codec->encode(t->lined + l * g->n * bytes, from + l * g->spacing, g->step,
                             g->n, s->flags);
}

static void decode_lined(const asnd_short_sort *s, const geometry *g, int bytes, tile *t,
                         char *to) {
    if (g->spacing == g->step * g->n)
        g->codec->decode(to, g->step, t->lined, g->n * g->lines, s->flags);
    else
        for (int l = 0; l < g->lines; l++)
            g->codec->decode(to + l * g->spacing, g->step, t->lined + l * g->n * bytes,
                             g->n, s->flags);
}

/* The tile's keys as [element][line]: element by element over the lines, or line by line
 * and turned, where a line is contiguous. */
static void encode(const asnd_short_sort *s, const geometry *g, int bytes,
                   const char *from, tile *t) {
    if (g->step != asn_itemsize(s->dtype) || g->n < 4) {
        for (int64_t i = 0; i < g->n; i++)
            g->codec->encode(t->keys + i * g->lanes * bytes, from + i * g->step,
                             g->spacing, g->lines, s->flags);
        return;
    }
    encode_lined(s, g, bytes, from, t);
    if (bytes == 4)
        turn_4((uint32_t *)t->keys, (uint32_t *)t->lined, g->lines, g->n, g->lanes);
    else
        turn_8((uint64_t *)t->keys, (uint64_t *)t->lined, g->lines, g->n, g->lanes);
}

/* The way back, of all elements. */
static void decode(const asnd_short_sort *s, const geometry *g, int bytes, tile *t,
                   char *to) {
    if (g->step != asn_itemsize(s->dtype) || g->n < 4) {
        for (int64_t i = 0; i < g->n; i++)
            g->codec->decode(to + i * g->step, g->spacing, t->keys + i * g->lanes * bytes,
                             g->lines, s->flags);
        return;
    }
    if (bytes == 4)
        turn_4((uint32_t *)t->lined, (uint32_t *)t->keys, g->n, g->lanes, g->n);
    else
        turn_8((uint64_t *)t->lined, (uint64_t *)t->keys, g->n, g->lanes, g->n);
    decode_lined(s, g, bytes, t, to);
}

/* The elements wanted of a sorted tile, [element][line], or of sorted lines. */
static void decode_picked(const asnd_short_sort *s, const geometry *g, int bytes,
                          const tile *t, char *to, bool lined) {
    for (int j = 0; j < s->num_kth; j++, to += g->step) {
        if (!lined)
            g->codec->decode(to, g->spacing, t->keys + s->kth[j] * g->lanes * bytes,
                             g->lines, s->flags);
        for (int l = 0; l < g->lines && lined; l++)
            g->codec->decode(to + l * g->spacing, g->step,
                             t->lined + (l * g->n + s->kth[j]) * bytes, 1, s->flags);
    }
}

/* The packed numbers of a tile of keys, [element][line]. */
static asnd_packing pack_tile(const geometry *g, int bytes, const tile *t,
                              uint64_t (*packed)[LANES_8]) {
    uint64_t differing = 0;
    for (int64_t i = 0; i < g->n; i++)
        for (int l = 0; l < LANES_8; l++) {
            uint64_t key = bytes == 4 ? ((const uint32_t *)t->keys)[i * LANES_8 + l]
                                      : ((const uint64_t *)t->keys)[i * LANES_8 + l];
            packed[i][l] = key;
            differing |= key ^ packed[0][l];
        }
    asnd_packing p = asn_packing_for(differing, g->n);
    for (int64_t i = 0; i < g->n; i++)
        for (int l = 0; l < LANES_8; l++)
            packed[i][l] = (packed[i][l] << p.shift & ~p.mask) | (uint64_t)i;
    return p;
}

/* Column l again by whole keys: insertion, which finds nearly everything in place. */
static void mend_column(const geometry *g, const tile *t, uint64_t (*packed)[LANES_8],
                        int l, uint64_t mask) {
    const uint64_t *keys = (const uint64_t *)t->keys + l;
    for (int64_t i = 1; i < g->n; i++) {
        uint64_t item = packed[i][l], at = item & mask;
        int64_t j = i;
        for (; j > 0; j--) {
            uint64_t before = packed[j - 1][l] & mask;
            uint64_t a = keys[before * LANES_8], b = keys[at * LANES_8];
            if (a < b || (a == b && before < at)) break;
            packed[j][l] = packed[j - 1][l];
        }
        packed[j][l] = item;
    }
}

/* A tile of keys to the positions that sort its lines. */
static void sort_indices(const asnd_sort_loops *loops, const geometry *g, int bytes,
                         const tile *t, char *to, const geometry *out) {
    _Alignas(64) uint64_t packed[ASN_SHORT_LINE][LANES_8];
    asnd_packing p = pack_tile(g, bytes, t, packed);
    loops->columns(8, packed, g->n);
    for (int l = 0; l < g->lines && !p.exact; l++)
        mend_column(g, t, packed, l, p.mask);
    if (out->step == 8) {
        for (int l = 0; l < g->lines; l++)
            for (int64_t i = 0; i < g->n; i++)
                *(uint64_t *)(to + l * out->spacing + i * 8) = packed[i][l] & p.mask;
        return;
    }
    for (int64_t i = 0; i < g->n; i++)
        for (int l = 0; l < g->lines; l++)
            *(uint64_t *)(to + l * out->spacing + i * out->step) = packed[i][l] & p.mask;
}

/* Tiles side by side whose rows are encoded in one call: of 64 bytes each, a call costs
 * more than its keys (a median of nine planes of 512 x 512 float64 spent two thirds of
 * its time there). */
enum { STRIPE_BYTES = 16384, STRIPE_TILES = 8 };

/* How many tiles go at once; 1: lines are encoded one by one, or indices are wanted. */
static int stripe_tiles(const asnd_short_sort *s, int64_t n, int64_t step, int64_t item) {
    const int64_t most = STRIPE_BYTES / (64 * n);
    if (s->indices || (step == item && n >= 4)) return 1;
    return most > STRIPE_TILES ? STRIPE_TILES : most < 1 ? 1 : (int)most;
}

/* Tiles side by side: `rows` has a row for each element, 64 bytes a tile. Lanes without a
 * line are 0. */
static void sort_stripe(const asnd_short_sort *s, const geometry *in, const geometry *out,
                        int tiles, int bytes, const char *from, char *to, tile *t) {
    _Alignas(64) char rows[STRIPE_BYTES];
    const int64_t pitch = 64 * (int64_t)tiles;
    const int64_t wanted = s->kth ? s->num_kth : in->n;
    if (in->lines < in->lanes * tiles) memset(rows, 0, (size_t)(in->n * pitch));
    for (int64_t i = 0; i < in->n; i++)
        in->codec->encode(rows + i * pitch, from + i * in->step, in->spacing, in->lines,
                          s->flags);
    if (in->spacing * in->lanes == 64) /* the next stripe, while this one is sorted */
        for (int64_t i = 0; i < in->n; i++)
            for (int k = 0; k < tiles; k++)
                __builtin_prefetch(from + i * in->step + pitch + 64 * k);
    for (int k = 0; k * in->lanes < in->lines; k++) {
        for (int64_t i = 0; i < in->n; i++)
            memcpy(t->keys + 64 * i, rows + i * pitch + 64 * k, 64);
        s->loops->columns(bytes, t->keys, in->n);
        for (int64_t i = 0; i < in->n; i++)
            memcpy(rows + i * pitch + 64 * k, t->keys + 64 * i, 64);
    }
    for (int64_t j = 0; j < wanted; j++)
        out->codec->decode(to + j * out->step, out->spacing,
                           rows + (s->kth ? s->kth[j] : j) * pitch, out->lines, s->flags);
}

/* Up to a tile's or a stripe's worth of neighbouring lines at a time, by the way that
 * fits their layout. */
void asn_sort_short(const asnd_short_sort *s, int64_t first, int64_t count) {
    const asnd_lines *lines = s->lines;
    const asnd_sort_loops *loops = s->loops;
    int bytes = asn_key_bytes(s->dtype), lanes = s->indices ? LANES_8 : 64 / bytes;
    int64_t item = asn_itemsize(s->dtype);
    const asnd_key_codec *codec = asn_key_codec_of(s->dtype);
    const bool lined = lines->length * bytes >= loops->lined;
    const int tiles = stripe_tiles(s, lines->length, lines->stride[0][IN], item);
    tile t;
    asnd_line line;
    memset(t.keys, 0, (size_t)(lines->length * lanes * bytes));
    for (int64_t at = first; at < first + count;) {
        asn_lines_seek(lines, &line, at);
        int64_t here = lines->extent[1] - line.index[1], left = first + count - at;
        /* Not beyond the end of the row of neighbouring lines, nor of what was asked. */
        if (here > left) here = left;
        if (here > lanes * tiles) here = lanes * tiles;
        geometry in = {
            lines->length, lines->stride[0][IN], lines->stride[1][IN], (int)here, lanes,
            codec};
        geometry out = {lines->length,
                        lines->stride[0][s->out],
                        lines->stride[1][s->out],
                        (int)here,
                        lanes,
                        codec};
        if (s->indices) {
            encode(s, &in, bytes, line.at[IN], &t);
            sort_indices(loops, &in, bytes, &t, line.at[s->out], &out);
        } else if (lined && in.step == item && (s->kth || out.step == item)) {
            encode_lined(s, &in, bytes, line.at[IN], &t);
            for (int l = 0; l < here; l++)
                loops->sort(bytes, t.lined + l * lines->length * bytes, t.keys,
                            lines->length);
            if (s->kth)
                decode_picked(s, &out, bytes, &t, line.at[s->out], true);
            else
                decode_lined(s, &out, bytes, &t, line.at[s->out]);
        } else if (tiles > 1) {
            sort_stripe(s, &in, &out, tiles, bytes, line.at[IN], line.at[s->out], &t);
        } else {
            encode(s, &in, bytes, line.at[IN], &t);
            loops->columns(bytes, t.keys, lines->length);
            if (s->kth)
                decode_picked(s, &out, bytes, &t, line.at[s->out], false);
            else
                decode(s, &out, bytes, &t, line.at[s->out]);
        }
        at += here;
    }
}
