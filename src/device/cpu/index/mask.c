/* CPU device: masks: count_nonzero, nonzero, masked select, scatter and fill.
 *
 * Everything is walked in row-major order, line by line, in two passes: elements that
 * count are counted per chunk, the counts give each chunk its place in the result, then
 * the chunks are filled, both passes in parallel. Within a block the mask is turned into
 * a list of positions without branches (a random mask mispredicts every other one). Any
 * dtype serves as a mask in nonzero: its blocks are cast to bool first.
 *
 * Short lines, as columns of a table in Fortran order have them, are put together to
 * blocks of several (a[a > 0] of 66666 x 5 float64, NumPy's time over ours: 0.9 by single
 * lines, 8 so).
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/context.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/index/index.h"
#include "device/cpu/elements.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/simd/mask_vector.h"
#include "device/cpu/threads.h"
#include "device/cpu/fused/reduce.h"

enum { BLOCK = 1024, CHUNK = 16384, MASK = 0, SELF = 1, SHORT = 64 };

typedef struct mask_run mask_run;
struct mask_run {
    asnd_lines *lines; /* views: the mask, self */
    asn_dtype mask_dtype;
    int64_t chunks, lines_per_chunk, piece,
        pieces;     /* pieces of a line, or lines of a chunk */
    int64_t *start; /* chunks + 1: where each one's results begin */
    int64_t band;   /* most lines of a block, which then holds them whole; else 1 */
    int64_t step;   /* of self's elements in a block; item: bands are put together */
    /* handles `n` positions (within the line) of a block, results from `at` on */
    void (*emit)(const mask_run *r, const asnd_line *line, int64_t line_number, int64_t x,
                 const uint16_t *pos, int64_t n, int64_t at);
    /* the same straight from the mask of n elements; the chunk's results end before
     * `end`; returns how many; or NULL */
    int64_t (*direct)(const mask_run *r, const asnd_line *line, int64_t line_number,
                      int64_t x, const uint8_t *mask, int64_t n, int64_t at, int64_t end);
    const asnd_mask_loops *loops; /* set by mask_count; may be NULL */
    int item;
    char *out;
    int64_t out_stride;
    const asnd_nd *nonzero;
    int nonzero_dims; /* of the shape given, in lines' order: innermost first */
    int64_t extents[ASN_ND_MAX_DIMS];
};

/* ---- blocks */

/* How many of the lines from `number` on, before `end`, make a block. */
static int64_t band_rows(const mask_run *r, const asnd_line *line, int64_t number,
                         int64_t end) {
    if (r->band == 1) return 1;
    int64_t rows = r->lines->extent[1] - line->index[1];
    if (rows > r->band) rows = r->band;
    return rows < end - number ? rows : end - number;
}

/* To the line behind a block of `rows` that begins with line `number`. */
static void next_block(const mask_run *r, asnd_line *line, int64_t number, int64_t rows) {
    if (rows == 1)
        asn_lines_next(r->lines, line);
    else if (number + rows < r->lines->count)
        asn_lines_seek(r->lines, line, number + rows);
}

/* Elements [x, x + n) of `rows` lines of a view one behind the other: in place, or
 * gathered into `buffer`. */
static const char *block_of(const mask_run *r, int view, int item, const asnd_line *line,
                            int64_t x, int64_t n, int64_t rows, char *buffer) {
    int64_t step = r->lines->stride[0][view],
            across = rows == 1 ? n * step : r->lines->stride[1][view];
    const char *p = line->at[view] + x * step;
    if (step == item && across == n * step) return p;
    asn_block_gather(buffer, p, item, n, step, rows, across);
    return buffer;
}

/* The mask of n elements of `rows` lines as bytes 0 / 1: in place, or cast (and gathered)
 * into `buffer`. */
static const uint8_t *block_mask(const mask_run *r, const asnd_line *line, int64_t x,
                                 int64_t n, int64_t rows, uint8_t *buffer) {
    char gathered[BLOCK * 16];
    int item = asn_itemsize(r->mask_dtype);
    const char *p = block_of(r, MASK, item, line, x, n, rows, gathered);
    if (r->mask_dtype == ASN_BOOL && p != gathered) return (const uint8_t *)p;
    asn_kernels_get()->cast[r->mask_dtype][ASN_BOOL](n * rows, buffer, p, NULL, NULL);
    return buffer;
}

/* Bytes that are not 0, whatever they are: a non-canonical bool counts once. */
static int64_t count_block(const uint8_t *mask, int64_t n) {
    int64_t total = 0;
    const asnd_mask_loops *loops = asn_context_get()->masks;
    if (loops) return loops->count(mask, n);
    for (int64_t i = 0; i < n; i += 128) { /* sums of 128 fit a byte */
        int64_t m = n - i < 128 ? n - i : 128;
        uint8_t sum = 0;
        for (int64_t j = 0; j < m; j++)
            sum = (uint8_t)(sum + (mask[i + j] != 0));
        total += sum;
    }
    return total;
}

/* The positions of bytes that are not 0, to pos, which has room for n and 16 more;
 * returns how many. Each is written, and kept where it counts: no branch. */
static int64_t list_positions(const uint8_t *mask, int64_t n, uint16_t *pos) {
    int64_t count = 0, i = 0;
    const asnd_mask_loops *loops = asn_context_get()->masks;
    if (loops) return loops->positions(mask, n, pos);
    for (; i + 8 <= n; i += 8) {
        uint64_t eight;
        memcpy(&eight, mask + i, 8);
        if (eight == 0) continue;
        for (int k = 0; k < 8; k++) {
            pos[count] = (uint16_t)(i + k);
            count += mask[i + k] != 0;
        }
    }
    for (; i < n; i++) {
        pos[count] = (uint16_t)i;
        count += mask[i] != 0;
    }
    return count;
}

/* ---- passes */

/* A chunk's lines [first, end), and of each the elements [from, to). */
static void chunk_bounds(const mask_run *r, int64_t chunk, int64_t *first, int64_t *end,
                         int64_t *from, int64_t *to) {
    *from = 0;
    *to = r->lines->length;
    if (r->pieces > 1) {
        *first = 0;
        *end = 1;
        *from = chunk * r->piece;
        if (*to > *from + r->piece) *to = *from + r->piece;
    } else {
        *first = chunk * r->lines_per_chunk;
        *end = *first + r->lines_per_chunk;
        if (*end > r->lines->count) *end = r->lines->count;
    }
}

/* Words of 4 and 8 bytes where they lie: all bits count but the sign of a float, whose
 * zeros have two. */
static bool counts_words(const mask_run *r, uint64_t *bits) {
    int item = asn_itemsize(r->mask_dtype);
    bool is_float = r->mask_dtype == ASN_F32 || r->mask_dtype == ASN_F64;
    *bits = is_float ? item == 4 ? 0x7fffffffu : INT64_MAX : UINT64_MAX;
    return r->loops && r->lines->stride[0][MASK] == item &&
           (is_float || (asn_is_integer(r->mask_dtype) && item >= 4));
}

/* The first pass: r->start[chunk + 1] receives the chunk's count. */
static void count_chunk(void *ctx, int64_t chunk) {
    mask_run *r = ctx;
    int64_t first, end, from, to, total = 0;
    uint8_t buffer[BLOCK];
    asnd_line line;
    chunk_bounds(r, chunk, &first, &end, &from, &to);
    asn_lines_seek(r->lines, &line, first);
    uint64_t bits;
    bool words = r->band == 1 && counts_words(r, &bits);
    int item = asn_itemsize(r->mask_dtype);
    bool bytes =
        r->band == 1 && r->mask_dtype == ASN_BOOL && r->lines->stride[0][MASK] == 1;
    for (int64_t l = first, rows; l < end; l += rows) {
        rows = band_rows(r, &line, l, end);
        if (bytes) total += count_block((const uint8_t *)line.at[MASK] + from, to - from);
        if (words)
            total +=
                r->loops->count_words(item, bits, line.at[MASK] + from * item, to - from);
        for (int64_t x = from; x < to && !words && !bytes; x += BLOCK) {
            int64_t n = to - x < BLOCK ? to - x : BLOCK;
            total += count_block(block_mask(r, &line, x, n, rows, buffer), n * rows);
        }
        next_block(r, &line, l, rows);
    }
    r->start[chunk + 1] = total;
}

/* The second pass: the chunk's results, from r->start[chunk] on. A chunk without any is
 * not read again. */
static void emit_chunk(void *ctx, int64_t chunk) {
    mask_run *r = ctx;
    int64_t first, end, from, to, at = r->start[chunk];
    uint8_t buffer[BLOCK];
    uint16_t pos[BLOCK + 16];
    char packed[BLOCK * 16];
    asnd_line line, block = {0}; /* block: of packed elements */
    chunk_bounds(r, chunk, &first, &end, &from, &to);
    if (at == r->start[chunk + 1]) return;
    asn_lines_seek(r->lines, &line, first);
    const bool in_place = r->mask_dtype == ASN_BOOL && r->lines->stride[0][MASK] == 1;
    const bool packs = r->band > 1 && r->lines->num_views > 1;
    const asnd_line *from_line = packs ? &block : &line;
    const int64_t most = r->direct && in_place && r->band == 1 ? to - from : BLOCK;
    for (int64_t l = first, rows; l < end; l += rows) {
        rows = band_rows(r, &line, l, end);
        for (int64_t x = from; x < to; x += most) {
            int64_t n = to - x < most ? to - x : most;
            const uint8_t *mask = block_mask(r, &line, x, n, rows, buffer);
            if (packs)
                block.at[SELF] =
                    (char *)block_of(r, SELF, r->item, &line, x, n, rows, packed);
            n *= rows;
            if (r->direct) {
                at += r->direct(r, from_line, l, x, mask, n, at, r->start[chunk + 1]);
                continue;
            }
            n = list_positions(mask, n, pos);
            if (n) r->emit(r, from_line, l, x, pos, n, at);
            at += n;
        }
        next_block(r, &line, l, rows);
    }
}

/* Lays out the walk and counts. r->start, which the caller frees, receives the chunks'
 * places, *count the total; without elements it stays NULL. ASN_ERR_MEMORY. */
static asn_status mask_count(mask_run *r, int ndim, const int64_t *shape,
                             const asnd_nd *mask, const asnd_nd *self, int64_t *count) {
    r->loops = asn_context_get()->masks;
    asn_lines_init(r->lines, ndim, shape, ASN_NO_AXIS, self ? 2 : 1,
                   (char *[]){mask->data, self ? self->data : NULL},
                   (const int64_t *[]){mask->strides, self ? self->strides : NULL});
    r->mask_dtype = mask->dtype;
    r->pieces = 1;
    r->band = r->lines->num_dims > 1 && r->lines->length && r->lines->length < SHORT
                  ? BLOCK / r->lines->length
                  : 1;
    r->step = self && r->band == 1 ? r->lines->stride[0][SELF] : r->item;
    *count = 0;
    if (r->lines->count == 0) return ASN_OK;
    if (r->lines->count == 1) {
        r->piece = CHUNK;
        r->chunks = r->pieces = (r->lines->length + CHUNK - 1) / CHUNK;
        r->lines_per_chunk = 1;
    } else {
        r->lines_per_chunk = asn_lines_per_chunk(r->lines, CHUNK);
        r->chunks = (r->lines->count + r->lines_per_chunk - 1) / r->lines_per_chunk;
    }
    r->start = asn_malloc((size_t)(r->chunks + 1) * sizeof *r->start);
    if (!r->start) return ASN_ERR_MEMORY;
    r->start[0] = 0;
    double n = (double)r->lines->count * (double)r->lines->length;
    asn_pool_run(count_chunk, r, r->chunks, n * 0.1 * asn_itemsize(mask->dtype));
    for (int64_t c = 0; c < r->chunks; c++)
        r->start[c + 1] += r->start[c];
    *count = r->start[r->chunks];
    return ASN_OK;
}

/* The second pass, where anything counts. */
static void mask_emit(mask_run *r) {
    double n = (double)r->lines->count * (double)r->lines->length;
    if (r->start && r->start[r->chunks]) asn_pool_run(emit_chunk, r, r->chunks, n * 0.8);
}

/* The first pass alone. */
asn_status asn_cpu_count_nonzero(const asnd_nd *in, int64_t *count) {
    asnd_lines lines;
    mask_run r = {.lines = &lines, .start = NULL};
    asn_status status = mask_count(&r, in->ndim, in->shape, in, NULL, count);
    asn_free(r.start);
    return status;
}

/* ---- nonzero */

/* Positions as coordinates: divided by the extents from the innermost dimension out,
 * without a last division for the outermost. */
static void emit_positions(const mask_run *r, const asnd_line *line, int64_t number,
                           int64_t x, const uint16_t *pos, int64_t n, int64_t at) {
    const asnd_nd *out = r->nonzero;
    int64_t base = number * r->lines->length + x;
    (void)line;
    if (r->nonzero_dims == 1) {
        char *p = out->data + at * out->strides[1];
        for (int64_t i = 0; i < n; i++, p += out->strides[1])
            *(int64_t *)p = base + pos[i];
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        int64_t left = base + pos[i];
        char *p = out->data + (at + i) * out->strides[1];
        for (int d = 0; d < r->nonzero_dims; d++) {
            bool outermost = d == r->nonzero_dims - 1;
            int64_t quotient = outermost ? 0 : left / r->extents[d];
            *(int64_t *)(p + (r->nonzero_dims - 1 - d) * out->strides[0]) =
                left - quotient * r->extents[d];
            left = quotient;
        }
    }
}

/* 1-d positions into contiguous int64, straight from the mask. */
static int64_t store_positions(const mask_run *r, const asnd_line *line, int64_t number,
                               int64_t x, const uint8_t *mask, int64_t n, int64_t at,
                               int64_t end) {
    (void)line;
    (void)end;
    return r->loops->positions_64(mask, n, number * r->lines->length + x,
                                  (int64_t *)r->nonzero->data + at);
}

/* Counted first, so that nothing is written where out has no room (ASN_ERR_VALUE). */
asn_status asn_cpu_nonzero(const asnd_nd *in, const asnd_nd *out, int64_t *count) {
    asnd_lines lines;
    mask_run r = {.lines = &lines, .start = NULL, .emit = emit_positions, .nonzero = out};
    if (out->ndim != 2 || out->dtype != ASN_I64 || out->shape[0] != in->ndim)
        return asn_error_set(
            ASN_ERR_VALUE,
            "nonzero: the result of a %d-d array is an int64 (%d, N), got a "
            "%d-d %s",
            in->ndim, in->ndim, out->ndim, asn_dtype_name(out->dtype));
    r.nonzero_dims = in->ndim;
    if (in->ndim == 1 && out->strides[1] == 8 && asn_context_get()->masks != NULL)
        r.direct = store_positions;
    for (int d = 0; d < in->ndim; d++)
        r.extents[d] = in->shape[in->ndim - 1 - d];
    asn_status status = mask_count(&r, in->ndim, in->shape, in, NULL, count);
    if (status == ASN_OK && *count > out->shape[1])
        status = asn_error_set(ASN_ERR_VALUE, "nonzero: %lld positions, room for %lld",
                               (long long)*count, (long long)out->shape[1]);
    if (status == ASN_OK) mask_emit(&r);
    asn_free(r.start);
    return status;
}

/* ---- masked moves */

#define EACH_SIZE "device/cpu/index/mask.inc"
#include "device/cpu/each_size.inc"

/* From listed positions of self to the list, in order; emit_scatter the other way. */
static void emit_select(const mask_run *r, const asnd_line *line, int64_t number,
                        int64_t x, const uint16_t *pos, int64_t n, int64_t at) {
    const char *src = line->at[SELF] + x * r->step;
    char *dst = r->out + at * r->out_stride;
    (void)number;
    ASN_BY_SIZE(select, r->item)(dst, r->out_stride, src, r->step, pos, n);
}

static void emit_scatter(const mask_run *r, const asnd_line *line, int64_t number,
                         int64_t x, const uint16_t *pos, int64_t n, int64_t at) {
    char *dst = line->at[SELF] + x * r->step;
    const char *src = r->out + at * r->out_stride;
    (void)number;
    ASN_BY_SIZE(place, r->item)(dst, r->step, src, r->out_stride, pos, n);
}

/* Without a list of positions; room: elements up to the chunk's last result, past which
 * nothing may be written. */
static int64_t select_directly(const mask_run *r, const asnd_line *line, int64_t number,
                               int64_t x, const uint8_t *mask, int64_t n, int64_t at,
                               int64_t end) {
    (void)number;
    return r->loops->select(r->item, mask, n, line->at[SELF] + x * r->item,
                            r->out + at * r->item, end - at);
}

/* The reverse, from the list's elements to places of self. */
static int64_t place_directly(const mask_run *r, const asnd_line *line, int64_t number,
                              int64_t x, const uint8_t *mask, int64_t n, int64_t at,
                              int64_t end) {
    (void)number;
    return r->loops->place(r->item, mask, n, r->out + at * r->item,
                           line->at[SELF] + x * r->item, end - at);
}

/* Contiguous elements that vectors of lanes hold go without a list of positions. */
static bool moves_directly(const mask_run *r) {
    return r->item >= 4 && r->step == r->item && r->out_stride == r->item && r->loops;
}

/* ASN_ERR_VALUE: the mask is not bool or not of self's shape, or the list is not 1-d of
 * its dtype. */
static asn_status check_mask(const char *name, const asnd_nd *self, const asnd_nd *mask,
                             const asnd_nd *list) {
    bool same = mask->dtype == ASN_BOOL && mask->ndim == self->ndim;
    for (int d = 0; d < self->ndim && same; d++)
        same = mask->shape[d] == self->shape[d];
    if (!same || list->ndim != 1 || list->dtype != self->dtype)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: a %d-d %s needs a bool mask of its shape and a 1-d list of "
            "its dtype, got a %d-d %s and a %d-d %s",
            name, self->ndim, asn_dtype_name(self->dtype), mask->ndim,
            asn_dtype_name(mask->dtype), list->ndim, asn_dtype_name(list->dtype));
    return ASN_OK;
}

asn_status asn_cpu_masked_select(const asnd_nd *self, const asnd_nd *mask,
                                 const asnd_nd *out, int64_t *count) {
    ASN_TRY(check_mask("masked_select", self, mask, out));
    asnd_lines lines;
    mask_run r = {.lines = &lines,
                  .emit = emit_select,
                  .item = asn_itemsize(self->dtype),
                  .out = out->data,
                  .out_stride = out->strides[0]};
    asn_status status = mask_count(&r, self->ndim, self->shape, mask, self, count);
    if (moves_directly(&r)) r.direct = select_directly;
    if (status == ASN_OK && *count > out->shape[0])
        status =
            asn_error_set(ASN_ERR_VALUE, "masked_select: %lld elements, room for %lld",
                          (long long)*count, (long long)out->shape[0]);
    if (status == ASN_OK) mask_emit(&r);
    asn_free(r.start);
    return status;
}

/* one: the list is a single element for all (stride 0), of any count. */
static asn_status scatter_list(const asnd_nd *self, const asnd_nd *mask,
                               const asnd_nd *values, bool one) {
    ASN_TRY(check_mask("masked_scatter", self, mask, values));
    int64_t count;
    asnd_lines lines;
    mask_run r = {.lines = &lines,
                  .emit = emit_scatter,
                  .item = asn_itemsize(self->dtype),
                  .out = values->data,
                  .out_stride = values->strides[0]};
    asn_status status = mask_count(&r, self->ndim, self->shape, mask, self, &count);
    if (status == ASN_OK && !one && count > values->shape[0])
        status =
            asn_error_set(ASN_ERR_VALUE,
                          "masked_scatter: the mask asks for %lld values, %lld are given",
                          (long long)count, (long long)values->shape[0]);
    r.band = 1; /* to places of self, line by line */
    r.step = lines.stride[0][SELF];
    if (moves_directly(&r)) r.direct = place_directly;
    if (status == ASN_OK) mask_emit(&r);
    asn_free(r.start);
    return status;
}

asn_status asn_cpu_masked_scatter(const asnd_nd *self, const asnd_nd *mask,
                                  const asnd_nd *values) {
    return scatter_list(self, mask, values, false);
}

asn_status asn_cpu_masked_fill(const asnd_nd *self, const asnd_nd *mask,
                               const void *element) {
    static const int64_t one = 1, none = 0;
    asnd_nd value = {(char *)(uintptr_t)element, 1, self->dtype, &one, &none};
    return scatter_list(self, mask, &value, true);
}
