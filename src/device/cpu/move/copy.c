/* CPU device: n-dimensional copy of one dtype.
 *
 * Dimensions are ordered by the destination's strides and merged where both sides are one
 * stretch. Then the two innermost decide: contiguous rows are memcpy'd; where the
 * source's contiguous dimension is another one than the destination's, the two make a
 * transposition in tiles; anything else is a strided loop per element size. A copy that
 * does not fit the caches writes past them (a store that first reads its line costs half
 * the bandwidth again).
 */
#include "device/cpu/move/copy.h"

#include <string.h>

#include "device/cpu/move/gather.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/threads.h"
#include "device/cpu/move/string_move.h"

enum {
    CHUNK_BYTES = 131072,
    TILE_BYTES = 1024, /* of a source row, in a transposition */
    FAR = 64,          /* bytes between elements of different cache lines */
    STRIP = 64,        /* elements of a row across lines that are walked together */
    TILE_STREAM_BYTES = 4 << 20,
    STREAM_ROW_BYTES = 2048, /* shorter rows are stored through the caches, */
    SHORT_ROW_BYTES = 64,    /* but for such without gaps, */
    PIECE_BYTES = 4096       /* so much at a time */
};

typedef struct {
    int64_t extent, dst, src; /* strides in bytes */
} copy_dim;

typedef struct {
    char *dst;
    const char *src;
    int item, num_dims;
    bool stream;                              /* rows go past the caches */
    bool stream_lines;                        /* ... or the lines of a transposition */
    bool stream_pieces;                       /* ... or several short rows at once */
    int64_t rows_per_chunk, chunks_per_plane; /* along dimension 1 */
    copy_dim dims[ASN_ND_MAX_DIMS + 1];
} copy_plan;

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* n1 contiguous rows of n0 elements. */
static void copy_rows(const copy_plan *c, char *dst, const char *src, int64_t n0,
                      int64_t n1) {
    const copy_dim *d = c->dims;
    int64_t bytes = n0 * c->item;
    for (int64_t j = 0; j < n1; j++, dst += d[1].dst, src += d[1].src) {
        if (c->stream)
            asn_block_stream(dst, src, bytes);
        else
            asn_block_copy(dst, src, bytes);
    }
    if (c->stream) asn_block_stream_end();
}

/* Short rows that follow one another, put together in L1 (np.repeat). */
static void stream_pieces(const asnd_move_loops *loops, char *dst, int64_t row,
                          const char *src, int64_t s0, int64_t s1, int64_t n0,
                          int64_t n1) {
    _Alignas(64) char piece[PIECE_BYTES];
    const int64_t most = PIECE_BYTES / row;
    for (int64_t j = 0; j < n1; j += most) {
        int64_t m = n1 - j < most ? n1 - j : most;
        loops->move(piece, row / n0, row, src + j * s1, s0, s1, n0, m);
        asn_block_stream(dst + j * row, piece, m * row);
    }
    asn_block_stream_end();
}

/* n1 rows of n0 elements of dimensions 1 and 0, by the way that fits their strides. */
static void copy_plane(const copy_plan *c, char *dst, const char *src, int64_t n0,
                       int64_t n1) {
    const copy_dim *d = c->dims;
    int64_t d0 = d[0].dst, d1 = d[1].dst, s0 = d[0].src, s1 = d[1].src;
    bool lines = d0 == c->item && s0 == c->item && n0 * c->item >= 32;
    bool transposes = d0 == c->item && s1 == c->item && s0 != 0 && n0 >= 4 && n1 >= 4;
    if (lines) {
        copy_rows(c, dst, src, n0, n1);
        return;
    }
    const asnd_move_loops *loops = asn_move_loops_get(c->item);
    if (transposes)
        loops->transpose(dst, d1, src, s0, n0, n1, c->stream_lines);
    else if (c->stream_pieces)
        stream_pieces(loops, dst, d1, src, s0, s1, n0, n1);
    else if (magnitude(s0) >= FAR && magnitude(s1) < FAR)
        for (int64_t i = 0; i < n0; i += STRIP) /* whose source lines stay in L1 */
            loops->move(dst + i * d0, d0, d1, src + i * s0, s0, s1,
                        n0 - i < STRIP ? n0 - i : STRIP, n1);
    else
        loops->move(dst, d0, d1, src, s0, s1, n0, n1);
}

/* Chunk = a group of rows of one plane, or a piece of the only row. */
static void copy_chunk(void *ctx, int64_t chunk) {
    const copy_plan *c = ctx;
    int64_t plane = chunk / c->chunks_per_plane, dst = 0, src = 0;
    int64_t first = chunk % c->chunks_per_plane * c->rows_per_chunk;
    for (int d = 2; d < c->num_dims; d++) {
        int64_t i = plane % c->dims[d].extent;
        plane /= c->dims[d].extent;
        dst += i * c->dims[d].dst;
        src += i * c->dims[d].src;
    }
    const copy_dim *split = &c->dims[c->num_dims > 1];
    int64_t n = split->extent - first;
    if (n > c->rows_per_chunk) n = c->rows_per_chunk;
    char *to = c->dst + dst + first * split->dst;
    const char *from = c->src + src + first * split->src;
    if (c->num_dims > 1)
        copy_plane(c, to, from, c->dims[0].extent, n);
    else
        copy_plane(c, to, from, n, 1);
    if (c->stream_lines) asn_block_stream_end();
}

/* Dimensions of extent above 1, innermost of the destination first (insertion sort), then
 * merged. There are always two; a single one has a second of extent 1. */
static void collect(copy_plan *c, const asnd_nd *dst, const asnd_nd *src) {
    int n = 0;
    for (int d = dst->ndim - 1; d >= 0; d--) {
        if (dst->shape[d] == 1) continue;
        copy_dim dim = {dst->shape[d], dst->strides[d], src->strides[d]};
        if (dim.dst < 0) { /* forwards in the destination */
            c->dst += dim.dst * (dim.extent - 1);
            c->src += dim.src * (dim.extent - 1);
            dim.dst = -dim.dst;
            dim.src = -dim.src;
        }
        int at = n++;
        for (; at > 0 && dim.dst < c->dims[at - 1].dst; at--)
            c->dims[at] = c->dims[at - 1];
        c->dims[at] = dim;
    }
    int last = 0;
    for (int d = 1; d < n; d++) {
        copy_dim *inner = &c->dims[last], *outer = &c->dims[d];
        if (outer->dst == inner->dst * inner->extent &&
            outer->src == inner->src * inner->extent)
            inner->extent *= outer->extent;
        else
            c->dims[++last] = *outer;
    }
    c->num_dims = n ? last + 1 : 0;
    if (c->num_dims == 1) c->dims[1] = (copy_dim){1, 0, 0};
}

/* Brings the dimension along which the source is densest next to the innermost, for a
 * transposition; not one of a few elements, which reuse no cache line. */
static void pair_dims(copy_plan *c) {
    enum { FEW = 4 };
    if (c->num_dims < 3 || magnitude(c->dims[0].src) <= c->item) return;
    int best = 0;
    for (int d = 1; d < c->num_dims; d++)
        if (c->dims[d].src && c->dims[d].extent >= FEW &&
            magnitude(c->dims[d].src) < magnitude(c->dims[best].src))
            best = d;
    if (best < 2) return;
    copy_dim found = c->dims[best];
    memmove(&c->dims[2], &c->dims[1], (size_t)(best - 1) * sizeof found);
    c->dims[1] = found;
}

/* Short rows want many of them in one call: the longest dimension comes second. */
static void lengthen(copy_plan *c) {
    enum { SHORT = 16, FEW = 256 };
    if (c->num_dims < 3 || c->dims[0].extent > SHORT || c->dims[1].extent >= FEW) return;
    int longest = 1;
    for (int d = 2; d < c->num_dims; d++)
        if (c->dims[d].extent > c->dims[longest].extent) longest = d;
    copy_dim found = c->dims[longest];
    c->dims[longest] = c->dims[1];
    c->dims[1] = found;
}

/* Bytes from the first to the last element of the target. */
static int64_t span_of(const copy_plan *c) {
    int64_t span = c->item;
    for (int d = 0; d < c->num_dims; d++)
        span += (c->dims[d].extent - 1) * magnitude(c->dims[d].dst);
    return span;
}

/* Long pieces that the last cache holds are moved by the processor (Zen 5, 8 MB from
 * memory: 220 us, past the caches 266; to read the result then 94, 193). */
static bool is_string(const copy_plan *c, int64_t bytes) {
    int64_t piece = c->num_dims > 1 ? c->dims[0].extent * c->item : bytes;
    return piece >= ASN_STRING_BYTES && bytes <= asn_cpu_caches().last &&
           asn_string_moves(c->dst, c->src);
}

/* Where the destination overlaps itself one thread writes all of it. */
asn_status asn_cpu_copy(const asnd_nd *dst, const asnd_nd *src) {
    int64_t size = asn_nd_size(dst);
    if (dst->dtype != src->dtype || dst->ndim != src->ndim)
        return asn_error_set(ASN_ERR_VALUE, "copy: %d-d %s into %d-d %s", src->ndim,
                             asn_dtype_name(src->dtype), dst->ndim,
                             asn_dtype_name(dst->dtype));
    if (size == 0) return ASN_OK;
    copy_plan c; /* whose dimensions are filled, not cleared */
    c.dst = dst->data;
    c.src = src->data;
    c.item = asn_itemsize(dst->dtype);
    c.stream_lines = false;
    collect(&c, dst, src);
    if (c.num_dims == 0) {
        memcpy(c.dst, c.src, (size_t)c.item);
        return ASN_OK;
    }
    pair_dims(&c);
    lengthen(&c);
    int64_t bytes = size * c.item;
    const copy_dim *split = &c.dims[c.num_dims > 1];
    int64_t row = c.num_dims > 1 ? c.dims[0].extent * c.item : c.item;
    c.stream = asn_worth_streaming(2 * bytes) &&
               (c.num_dims == 1 || row >= STREAM_ROW_BYTES) && !is_string(&c, bytes);
    c.rows_per_chunk = row < CHUNK_BYTES ? CHUNK_BYTES / row : 1;
    /* A transposition wants several whole lines of every source row it touches. */
    if (c.num_dims > 1 && c.dims[1].src == c.item) {
        int64_t piece = TILE_BYTES / c.item;
        if (c.rows_per_chunk < piece) c.rows_per_chunk = piece;
        c.rows_per_chunk &= ~(piece - 1);
        c.stream_lines = bytes >= TILE_STREAM_BYTES && (uintptr_t)c.dst % 64 == 0;
        for (int d = 1; d < c.num_dims; d++)
            c.stream_lines &= c.dims[d].dst % 64 == 0;
    }
    c.stream_pieces = c.num_dims > 1 && row <= SHORT_ROW_BYTES &&
                      c.dims[0].dst == c.item && c.dims[1].dst == row &&
                      asn_worth_streaming(2 * bytes);
    c.chunks_per_plane = (split->extent + c.rows_per_chunk - 1) / c.rows_per_chunk;
    int64_t planes = size / split->extent / (c.num_dims > 1 ? c.dims[0].extent : 1);
    bool simple = c.dims[0].dst == c.item && c.dims[0].src == c.item;
    double ns = (double)bytes * (simple ? bytes < 1 << 20 ? 0.015 : 0.05 : 0.15);
    if (span_of(&c) < bytes) ns = 0; /* overlapping writes keep their order: one thread */
    asn_pool_run(copy_chunk, &c, planes * c.chunks_per_plane, ns);
    return ASN_OK;
}
