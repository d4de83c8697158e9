/* CPU device: argmax and argmin.
 *
 * Where the axis is contiguous, short lines are taken by one call for many (rows 8 to 100
 * long: 6 to 12 ns each). Where the dtype has a vectorised maximum, a long line is taken
 * block by block: the fold kernel finds each block's extreme, and only the first block
 * that holds the line's extreme is searched for its position. Where the axis lies across
 * memory, several columns advance together, row by row. The first extreme element wins; a
 * NaN is more extreme than any number, the first one wins.
 *
 * The order of the elements decides, never the threads or the blocks: whatever way is
 * taken, the answer equals that of loop.line over the whole line, the general path (any
 * stride, any dtype). Integers and bools have no NaN, for them the loops compare alone.
 * Floating-point exceptions of comparisons with NaN are dropped at the end, as NumPy
 * raises none.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/threads.h"
#include "device/cpu/fused/reduce.h"

/* COLUMNS: a row of them is long enough for memory to be read ahead (1000 x 1000 float64
 * from memory: 287 us, 1190 with 256 columns). CHUNK: elements of a pool chunk, and of a
 * part of a long line. SHORT: the longest line that loop.rows takes. */
enum { BLOCK_BYTES = 8192, COLUMNS = 1024, CHUNK = 32768, SHORT = 1024 };

typedef struct {
    asnd_arg_loops loop;
    asnd_fold_fn fold; /* or NULL: no block search */
    asnd_lines *lines; /* views: in without the axis, out */
    int item;
    int extreme;            /* bool: the value that ends the search; else -1 */
    int64_t extent, stride; /* of the axis */
    int64_t lines_per_chunk, pieces, piece; /* of the lines of positions */
    int64_t parts, part;                    /* of one long line of elements */
    int64_t columns;                        /* that advance together */
    char (*part_best)[16];
    int64_t *part_at;
} arg_run;

/* Positions [first, first + n) of one line. *best receives the extreme element's bytes,
 * *at its position in the line; n >= 1. */
static void find_line(const arg_run *r, const char *p, int64_t first, int64_t n,
                      void *best, int64_t *at) {
    p += first * r->stride;
    *at = first;
    r->loop.first(p, best);
    if (r->extreme >= 0 && r->stride == 1) { /* bool: the first that cannot be beaten */
        const char *top = memchr(p, r->extreme, (size_t)n);
        *at = first + (top ? top - p : 0);
        memcpy(best, top ? top : p, 1);
        return;
    }
    if (!r->fold || n < 16 || r->stride != r->item) {
        r->loop.line(p, r->stride, first, n, best, at);
        return;
    }
    int64_t found = 0, block = BLOCK_BYTES / r->item;
    for (int64_t x = 0; x < n; x += block) {
        int64_t m = n - x < block ? n - x : block;
        _Alignas(16) char top[16];
        memcpy(top, p + x * r->item, (size_t)r->item);
        r->fold(m, top, p + x * r->item);
        if (!r->loop.beats(top, best)) continue;
        memcpy(best, top, 16);
        found = x;
    }
    int64_t m = n - found < block ? n - found : block;
    *at = first + found + r->loop.find(p + found * r->item, m, best);
}

/* Part number `chunk` of the one long line that find_parts cuts. */
static void part_chunk(void *ctx, int64_t chunk) {
    arg_run *r = ctx;
    int64_t first = chunk * r->part, n = r->extent - first;
    find_line(r, r->lines->data[0], first, n < r->part ? n : r->part, r->part_best[chunk],
              &r->part_at[chunk]);
}

/* A chunk is whole lines of positions, or a piece of one where a line is long. */
static void line_chunk(void *ctx, int64_t chunk) {
    const arg_run *r = ctx;
    int64_t first = chunk / r->pieces * r->lines_per_chunk,
            end = first + r->lines_per_chunk;
    int64_t from = chunk % r->pieces * r->piece, n = r->lines->length - from;
    if (n > r->piece) n = r->piece;
    const int64_t *step = r->lines->stride[0];
    asnd_line line;
    asn_lines_seek(r->lines, &line, first);
    bool is_short = r->loop.rows && r->stride == r->item && r->extent <= SHORT;
    for (int64_t l = first; l < end && l < r->lines->count; l++) {
        const char *p = line.at[0] + from * step[0];
        char *to = line.at[1] + from * step[1];
        if (is_short) r->loop.rows(p, step[0], n, r->extent, to, step[1]);
        for (int64_t i = 0; i < n && !is_short; i++) {
            _Alignas(16) char best[16];
            find_line(r, p + i * step[0], 0, r->extent, best,
                      (int64_t *)(to + i * step[1]));
        }
        asn_lines_next(r->lines, &line);
    }
}

/* r->columns lines side by side, of which each step along the axis reads one row: memory
 * is read in order though the axis lies across it. */
static void stack_chunk(void *ctx, int64_t chunk) {
    const arg_run *r = ctx;
    const int64_t *step = r->lines->stride[0];
    int64_t pieces = (r->lines->length + r->columns - 1) / r->columns;
    int64_t x = chunk % pieces * r->columns, n = r->lines->length - x;
    if (n > r->columns) n = r->columns;
    _Alignas(64) char best[COLUMNS * 16];
    int64_t at[COLUMNS];
    asnd_line line;
    asn_lines_seek(r->lines, &line, chunk / pieces);
    r->loop.stack(line.at[0] + x * step[0], step[0], r->stride, r->extent, n, best, at);
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)(line.at[1] + (x + i) * step[1]) = at[i];
}

/* Fewer where threads would find no chunk otherwise. A row of fewer than LEAST columns
 * would waste what memory reads ahead. */
static int64_t columns_of(const arg_run *r, double ns) {
    enum { LEAST = 128 };
    int64_t columns = COLUMNS, width = asn_pool_width(ns);
    while (columns > LEAST &&
           r->lines->count * ((r->lines->length + columns - 1) / columns) < width)
        columns /= 2;
    return columns;
}

/* One long line: parts, combined in order. A later part wins only where it beats the ones
 * before, so the first of equals stays the answer. */
static asn_status find_parts(arg_run *r) {
    r->part = CHUNK;
    r->parts = (r->extent + CHUNK - 1) / CHUNK;
    r->part_best = asn_malloc((size_t)r->parts * (16 + sizeof(int64_t)));
    if (!r->part_best) return ASN_ERR_MEMORY;
    r->part_at = (int64_t *)(r->part_best + r->parts);
    asn_pool_run(part_chunk, r, r->parts, (double)r->extent * r->item * 0.03);
    int64_t winner = 0;
    for (int64_t p = 1; p < r->parts; p++)
        if (r->loop.beats(r->part_best[p], r->part_best[winner])) winner = p;
    *(int64_t *)r->lines->data[1] = r->part_at[winner];
    asn_free(r->part_best);
    return ASN_OK;
}

/* Checks the views and fills r in: the lines are the positions of the result, each the
 * beginning of a line of elements of `extent` and `stride`. ASN_ERR_VALUE: axis or shapes
 * do not fit, or the axis is empty while there are results (NumPy's message). */
static asn_status arg_setup(arg_run *r, const asnd_nd *in, int axis, const asnd_nd *out,
                            bool smallest) {
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
    const char *name = smallest ? "argmin" : "argmax";
    if (axis < 0 || axis >= in->ndim || out->ndim != in->ndim - 1 ||
        out->dtype != ASN_I64)
        return asn_error_set(ASN_ERR_VALUE, "%s: axis %d of a %d-d array into a %d-d %s",
                             name, axis, in->ndim, out->ndim, asn_dtype_name(out->dtype));
    for (int d = 0; d < out->ndim; d++) {
        shape[d] = in->shape[d < axis ? d : d + 1];
        strides[d] = in->strides[d < axis ? d : d + 1];
    }
    asn_lines_init(r->lines, out->ndim, shape, ASN_NO_AXIS, 2,
                   (char *[]){in->data, out->data},
                   (const int64_t *[]){strides, out->strides});
    r->extent = in->shape[axis];
    if (r->extent == 0 && r->lines->count)
        return asn_error_set(ASN_ERR_VALUE, "attempt to get %s of an empty sequence",
                             name);
    r->stride = in->strides[axis];
    r->item = asn_itemsize(in->dtype);
    r->extreme = in->dtype == ASN_BOOL ? !smallest : -1;
    r->loop = asn_kernels_get()->arg[smallest][in->dtype];
    bool exact = !asn_is_half(in->dtype) && !asn_is_complex(in->dtype);
    if (exact)
        r->fold = asn_kernels_get()
                      ->fold[smallest ? ASN_OP_MINIMUM : ASN_OP_MAXIMUM][in->dtype];
    return ASN_OK;
}

/* Lines of contiguous elements: each has its last steps. The estimate for the pool, ns on
 * one thread. */
static double arg_ns(const arg_run *r) {
    return (double)(r->lines->count * r->lines->length) *
           ((double)r->extent * r->item * 0.03 + 6);
}

/* Both directions. `stacks`: neighbouring results are nearer in memory than neighbouring
 * elements of one line, and there are enough of them. */
static asn_status arg_reduce(const asnd_nd *in, int axis, const asnd_nd *out,
                             bool smallest) {
    asnd_lines lines;
    arg_run r = {.lines = &lines, .fold = NULL};
    ASN_TRY(arg_setup(&r, in, axis, out, smallest));
    if (r.lines->count == 0) return ASN_OK;
    uint32_t flags = asn_fp_read();
    asn_status status = ASN_OK;
    int64_t total = r.lines->count * r.lines->length;
    int64_t across = r.lines->stride[0][0];
    bool stacks = r.lines->length >= 8 &&
                  (across < 0 ? -across : across) < (r.stride < 0 ? -r.stride : r.stride);
    double ns = (double)total * (double)r.extent;
    if (total == 1 && r.extent >= 2 * CHUNK && r.extreme < 0) {
        status = find_parts(&r);
    } else if (stacks) {
        r.columns = columns_of(&r, ns * 0.5);
        int64_t pieces = (r.lines->length + r.columns - 1) / r.columns;
        asn_pool_run(stack_chunk, &r, r.lines->count * pieces, ns * 0.5);
    } else {
        r.piece = CHUNK / (r.extent + 1) + 1;
        r.pieces = (r.lines->length + r.piece - 1) / r.piece;
        r.lines_per_chunk = asn_lines_per_chunk(r.lines, r.piece);
        int64_t chunks = (r.lines->count + r.lines_per_chunk - 1) / r.lines_per_chunk;
        asn_pool_run(line_chunk, &r, chunks * r.pieces, arg_ns(&r));
    }
    asn_fp_write(flags); /* comparisons of NaN raise nothing */
    return status;
}

asn_status asn_cpu_argmax(const asnd_nd *in, int axis, const asnd_nd *out) {
    return arg_reduce(in, axis, out, false);
}

asn_status asn_cpu_argmin(const asnd_nd *in, int axis, const asnd_nd *out) {
    return arg_reduce(in, axis, out, true);
}
