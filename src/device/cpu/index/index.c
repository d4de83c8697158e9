/* CPU device: advanced indexing (get, put, take).
 *
 * The result is walked over the indices' shape J in blocks; a block's indices become byte
 * offsets into self (and into the other view), then elements move. The rest of self's
 * dimensions: a contiguous tail is moved as one run per index; every other dimension is a
 * loop outside the block, so that the offsets are worked out once.
 *
 * Indices are checked before the first write, but for those of a simple get (and one by
 * pairs), which are checked piece by piece as they are used. A put with duplicates must
 * keep their order
 * ("the last one wins", and ufunc.at accumulates in order): it is split over threads
 * along the rest only, never along J.
 */
#include "device/cpu/index/index.h"

#include <string.h>

#include "device/cpu/index/bounds.h"
#include "device/cpu/elements.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/index/index_add.h"
#include "device/cpu/index/index_lines.h"
#include "device/cpu/index/index_run.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

/* BLOCK: offsets worked out at a time; CHUNK: elements of a pool chunk; STREAM_ROW: bytes
 * of a row that may go past the caches; RESOLVED, EARLY: indices resolved together, and
 * how far ahead their elements are announced where self is larger than NEAR bytes; PARTS:
 * chunks of an ordered put. */
enum {
    BLOCK = 1024,
    CHUNK = 8192,
    STREAM_ROW = 2048,
    ASN_ACROSS = 8,
    RESOLVED = 4,
    LINE = 64,
    EARLY = 128,
    PARTS = 16,
    NEAR = 512 << 10
};

/* Two indices for each element. */
typedef struct {
    const char *self;
    const int64_t *stride, *bound, *at[2];
} asnd_index_pairs;

#define EACH_SIZE "device/cpu/index/index.inc"
#include "device/cpu/each_size.inc"

/* Offsets into self and `other` of n positions of line `j` (dimensions 1 and up of J)
 * from x on. Indices are resolved here: negative ones from the end, others by the
 * mode. */
static void block_offsets(const asnd_index_run *r, int64_t line, int64_t x, int64_t n,
                          int64_t *self, int64_t *other) {
    int64_t base = x * r->other_stride[0], start[ASN_ND_MAX_DIMS];
    for (int k = 0; k < r->num_idx; k++)
        start[k] = x * r->idx_stride[0][k];
    for (int d = 1; d < r->num_j; d++) {
        int64_t i = line % r->extent[d];
        line /= r->extent[d];
        base += i * r->other_stride[d];
        for (int k = 0; k < r->num_idx; k++)
            start[k] += i * r->idx_stride[d][k];
    }
    for (int64_t i = 0; i < n; i++) {
        other[i] = base + i * r->other_stride[0];
        self[i] = 0;
    }
    for (int k = 0; k < r->num_idx; k++) {
        const char *p = r->idx[k] + start[k];
        int64_t step = r->idx_stride[0][k], bound = r->bound[k],
                stride = r->self_stride[k];
        if (r->mode == ASN_INDEX_RAISE) {
            for (int64_t i = 0; i < n; i++) {
                int64_t v = *(const int64_t *)(p + i * step);
                self[i] += (v + (v >> 63 & bound)) * stride;
            }
        } else {
            for (int64_t i = 0; i < n; i++) {
                int64_t v = *(const int64_t *)(p + i * step);
                self[i] += asn_index_resolve(v, bound, r->mode) * stride;
            }
        }
    }
}

/* ufunc.at: self = op(self, other), index by index in order: rows by the elementwise
 * kernel (5000 rows of 1024 float32 added to 1024 others, ms, two threads: element by
 * element 31, so 4.3), single elements by the scan's where there is one. */
static void accumulate(const asnd_index_run *r, char *self, const char *other, int64_t n,
                       const int64_t *self_off, const int64_t *other_off) {
    asnd_scan_fn step = asn_kernels_get()->scan[r->op][r->dtype];
    asnd_ew_fn whole = asn_kernels_get()->ew[r->op][r->dtype];
    const int64_t count = r->run / r->item;
    for (int64_t i = 0; i < n; i++) {
        char *p = self + self_off[i];
        if (step && count == 1)
            step(1, p, other + other_off[i], 0, p, 0);
        else
            whole(count, p, p, other + other_off[i], NULL);
    }
}

/* The same in another dtype than self's, whose elements are converted there and back. */
static void accumulate_converted(const asnd_index_run *r, char *self, const char *other,
                                 int64_t n, const int64_t *self_off,
                                 const int64_t *other_off) {
    const asnd_kernels *k = asn_kernels_get();
    const asnd_ew_fn to_loop = k->cast[r->dtype][r->loop], whole = k->ew[r->op][r->loop],
                     back = k->cast[r->loop][r->dtype];
    _Alignas(16) char x[16];
    for (int64_t i = 0; i < n; i++) {
        char *p = self + self_off[i];
        to_loop(1, x, p, NULL, NULL);
        whole(1, x, x, other + other_off[i], NULL);
        back(1, p, x, NULL, NULL);
    }
}

typedef uint64_t quarter __attribute__((vector_size(16), aligned(1), may_alias));

/* Rows of whole half lines, a quarter at a time. Their addresses are known ahead of their
 * bytes: fetched early, rows of 64 bytes take 2 ns instead of 5. */
static void move_half_lines(char *to, const char *from, int64_t n, const int64_t *t,
                            const int64_t *f, int64_t run) {
    enum { AHEAD = 16 };
    for (int64_t i = 0; i < n; i++) {
        if (i + AHEAD < n)
            for (int64_t k = 0; k < run; k += 64)
                __builtin_prefetch(from + f[i + AHEAD] + k);
        for (int64_t k = 0; k < run; k += 32) {
            const quarter *p = (const quarter *)(from + f[i] + k);
            quarter a = p[0], b = p[1];
            ((quarter *)(to + t[i] + k))[0] = a;
            ((quarter *)(to + t[i] + k))[1] = b;
        }
    }
}

/* Long rows past the caches, a piece at a time, with the same piece of the next row
 * announced before it: the processor foresees reads within a row only (1000 rows of 8 KB
 * from memory, Zen 5: 0.54 ms, 0.46 so). */
static void stream_rows(char *to, const char *from, int64_t n, const int64_t *t,
                        const int64_t *f, int64_t run) {
    enum { PIECE = 1024 };
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0, bytes; k < run; k += bytes) {
            bytes = PIECE + (int64_t)(-(uintptr_t)(to + t[i] + k) % LINE);
            if (run - k < bytes + PIECE) bytes = run - k;
            for (int64_t b = 0; b < bytes && i + 1 < n; b += LINE)
                __builtin_prefetch(from + f[i + 1] + k + b, 0, 2);
            asn_block_stream(to + t[i] + k, from + f[i] + k, bytes);
        }
}

/* n elements or runs at these offsets, by kind: get, put or accumulate. */
static void move_block(const asnd_index_run *r, char *self, char *other, int64_t n,
                       const int64_t *self_off, const int64_t *other_off) {
    if (r->kind == ASN_MOVE_ACCUMULATE) {
        const asnd_index_adds *adds =
            r->op == ASN_OP_ADD ? asn_index_adds_get(r->dtype) : NULL;
        if (r->loop != r->dtype)
            accumulate_converted(r, self, other, n, self_off, other_off);
        else if (adds && r->run == r->item)
            adds->by_offsets(self, other, n, self_off, other_off);
        else
            accumulate(r, self, other, n, self_off, other_off);
        return;
    }
    bool get = r->kind == ASN_MOVE_GET;
    char *to = get ? other : self;
    const char *from = get ? self : other;
    const int64_t *t = get ? other_off : self_off, *f = get ? self_off : other_off;
    if (r->run <= 16 && (r->run & (r->run - 1)) == 0)
        ASN_BY_SIZE(move, r->run)(to, from, n, t, f);
    else if (r->stream)
        stream_rows(to, from, n, t, f, r->run);
    else if (r->run % 32 == 0 && r->run <= 256)
        move_half_lines(to, from, n, t, f, r->run);
    else
        for (int64_t i = 0; i < n; i++)
            memcpy(to + t[i], from + f[i], (size_t)r->run);
}

/* Offsets of position `at` of the rest's loops, dimension 0 innermost. */
static void rest_offsets(const asnd_index_run *r, int64_t at, int64_t *self,
                         int64_t *other) {
    *self = *other = 0;
    for (int d = 0; d < r->num_rest; d++) {
        int64_t i = at % r->rest[d].extent;
        at /= r->rest[d].extent;
        *self += i * r->rest[d].self;
        *other += i * r->rest[d].other;
    }
}

/* Positions [first, end) of the rest's loops, some neighbours of its innermost dimension
 * for each index before the next ones: columns of a matrix that a few indices name, or
 * rows that many do and one value fills. */
static void move_inside(const asnd_index_run *r, int64_t n, const int64_t *self_off,
                        const int64_t *other_off, int64_t first, int64_t end) {
    enum { NEIGHBOURS = 256 };
    const bool get = r->kind == ASN_MOVE_GET;
    const asnd_index_rest *line = &r->rest[0];
    for (int64_t at = first, m; at < end; at += m) {
        int64_t self, other, left = line->extent - at % line->extent;
        rest_offsets(r, at, &self, &other);
        m = left < end - at ? left : end - at;
        if (m > NEIGHBOURS) m = NEIGHBOURS;
        for (int64_t i = 0; i < n; i++) {
            char *p = r->self + self + self_off[i], *q = r->other + other + other_off[i];
            ASN_BY_SIZE(strided, r->run)
            (get ? q : p, get ? line->other : line->self, get ? p : q,
             get ? line->self : line->other, m);
        }
    }
}

/* Positions [first, end) of the rest's loops. Where they lie one after the other in the
 * result, as in g[:, r], as many go at once as a line has, or eight: every line of the
 * result is then written in one go. */
static void move_rest(const asnd_index_run *r, int64_t n, const int64_t *self_off,
                      const int64_t *other_off, int64_t first, int64_t end) {
    if (r->inside) {
        move_inside(r, n, self_off, other_off, first, end);
        return;
    }
    /* across: neighbours of the rest lie next to each other in the result; along: those
     * of J do. */
    bool gets = r->kind == ASN_MOVE_GET && r->run <= 16 && (r->run & (r->run - 1)) == 0;
    bool across = gets && r->num_rest && r->rest[0].other == r->run;
    bool along = gets && r->other_stride[0] == r->run;
    const asnd_index_lines lines = across ? asn_index_lines_get(r->run) : NULL;
    const int64_t rows = lines ? LINE / r->run : ASN_ACROSS;
    for (int64_t at = first; at < end; at++) {
        int64_t self, other;
        rest_offsets(r, at, &self, &other);
        const char *from = r->self + self;
        char *to = r->other + other;
        int64_t left = across ? r->rest[0].extent - at % r->rest[0].extent : 0;
        if (across && rows <= left && at + rows <= end) {
            const char *next = from + rows * r->rest[0].self;
            bool more = 2 * rows <= left;
            if (lines) {
                lines(to, other_off, from, self_off, r->rest[0].self, n,
                      r->stream && (uintptr_t)to % LINE == 0,
                      asn_index_rows_ahead(r, next, more ? rows : 0, n));
            } else {
                if (more) asn_index_fetch_rows(r, next, ASN_ACROSS);
                ASN_BY_SIZE(across, r->run)(to, other_off, from, self_off,
                                            r->rest[0].self, n);
            }
            at += rows - 1;
        } else if (along) {
            ASN_BY_SIZE(pick, r->run)(to + other_off[0], from, n, self_off);
        } else {
            move_block(r, r->self + self, to, n, self_off, other_off);
        }
    }
}

/* A piece of the commonest case: one index array, single elements. */
static void move_simple(asnd_index_run *r, int64_t line, int64_t x, int64_t n) {
    int64_t other = x * r->other_stride[0], idx = x * r->idx_stride[0][0];
    for (int d = 1; d < r->num_j; d++) {
        int64_t i = line % r->extent[d];
        line /= r->extent[d];
        other += i * r->other_stride[d];
        idx += i * r->idx_stride[d][0];
    }
    char *o = r->other + other, *self = r->self;
    const char *v = r->idx[0] + idx;
    int64_t os = r->other_stride[0], vs = r->idx_stride[0][0], ss = r->self_stride[0],
            bound = r->bound[0];
    bool get = r->kind == ASN_MOVE_GET;
    if (r->checks && asn_bounds_misses(v, vs, n, (uint64_t)bound) >> 63) {
        __atomic_store_n(&r->missed, 1, __ATOMIC_RELAXED);
        return;
    }
    if (r->kind == ASN_MOVE_ACCUMULATE) {
        asn_index_adds_get(r->dtype)->by_indices(o, os, self, ss, v, vs, n, bound);
        return;
    }
    if (get)
        ASN_BY_SIZE(take, r->item)(o, os, self, ss, v, vs, n, bound);
    else
        ASN_BY_SIZE(put, r->item)(o, os, self, ss, v, vs, n, bound);
}

/* A piece of pairs, of single elements. */
static void move_pairs(asnd_index_run *r, int64_t x, int64_t n) {
    asnd_index_pairs p = {r->self, r->self_stride, r->bound, {NULL}};
    for (int k = 0; k < 2; k++) {
        const char *v = r->idx[k] + x * (int64_t)sizeof(int64_t);
        p.at[k] = (const int64_t *)(const void *)v;
        if (asn_bounds_misses(v, sizeof(int64_t), n, (uint64_t)r->bound[k]) >> 63) {
            __atomic_store_n(&r->missed, 1, __ATOMIC_RELAXED);
            return;
        }
    }
    int64_t step = r->other_stride[0];
    ASN_BY_SIZE(pairs, r->item)(r->other + x * step, step, &p, n);
}

/* A piece of J (all of it, or r->piece positions of a line) for positions [first, end) of
 * the rest. */
static void move_piece(asnd_index_run *r, int64_t piece, int64_t first, int64_t end) {
    int64_t self[BLOCK], other[BLOCK];
    int64_t line = piece / r->pieces, x = piece % r->pieces * r->piece;
    int64_t stop = x + r->piece < r->extent[0] ? x + r->piece : r->extent[0];
    if (asn_index_is_simple(r)) {
        move_simple(r, line, x, stop - x);
        return;
    }
    if (asn_index_is_pairs(r)) {
        move_pairs(r, x, stop - x);
        return;
    }
    for (; x < stop; x += BLOCK) {
        int64_t n = stop - x < BLOCK ? stop - x : BLOCK;
        block_offsets(r, line, x, n, self, other);
        move_rest(r, n, self, other, first, end);
    }
}

/* A pool chunk: pieces of J with all of the rest, or (split_rest) all of J with a part of
 * the rest. */
static void chunk_run(asnd_index_run *r, int64_t chunk) {
    int64_t loops = r->size_rest * r->item / r->run;
    int64_t pieces = r->size_j / r->extent[0] * r->pieces;
    if (!r->split_rest) { /* per_chunk pieces of J */
        int64_t first = chunk * r->rest_per_chunk, end = first + r->rest_per_chunk;
        for (int64_t p = first; p < end && p < pieces; p++)
            move_piece(r, p, 0, loops);
        if (r->stream) asn_block_stream_end();
        return;
    }
    int64_t first = chunk * r->rest_per_chunk, end = first + r->rest_per_chunk;
    for (int64_t p = 0; p < pieces; p++)
        move_piece(r, p, first, end < loops ? end : loops);
    if (r->stream) asn_block_stream_end();
}

/* Floating-point exceptions of an accumulation are collected from each thread. */
static void index_chunk(void *ctx, int64_t chunk) {
    asnd_index_run *r = ctx;
    if (r->tracks) asn_fp_clear();
    chunk_run(r, chunk);
    uint32_t met = r->tracks ? asn_fp_exceptions() : 0;
    if (met) __atomic_fetch_or(&r->met, met, __ATOMIC_RELAXED);
}

/* A long contiguous run of an ordered put is cut into whole lines, so that threads can
 * share it: sixteen parts or fewer, of so many bytes at least. */
static void cut_run(asnd_index_run *r) {
    const int64_t most = r->run / (r->kind == ASN_MOVE_ACCUMULATE ? 512 : 4096);
    int64_t parts = most < PARTS ? most : PARTS;
    while (parts > 1 && r->run % (parts * LINE))
        parts--;
    if (parts <= 1) return;
    for (int d = r->num_rest; d > 0; d--)
        r->rest[d] = r->rest[d - 1];
    r->run /= parts;
    r->rest[0] = (asnd_index_rest){parts, r->run, r->run};
    r->num_rest++;
}

/* Whether elements that neighbouring indices name lie nearer than neighbours of the rest.
 */
static bool is_dense(const asnd_index_run *r) {
    int64_t rest = r->rest[0].self, near = r->self_stride[r->num_idx - 1];
    return (near < 0 ? -near : near) < (rest < 0 ? -rest : rest);
}

/* Whether the rest's innermost dimension is better walked inside J: it is long, and J is
 * short, or is walked along what lies farther apart. */
static bool is_inside(const asnd_index_run *r) {
    enum { FEW = 16, LONG = 8 };
    if (r->kind == ASN_MOVE_ACCUMULATE || r->run > 16 || (r->run & (r->run - 1)) ||
        !r->num_rest || r->rest[0].extent < LONG)
        return false;
    return r->size_j <= FEW || (r->kind == ASN_MOVE_PUT && !is_dense(r));
}

/* Decides who splits what and how long pieces are, then runs. A put's J is never split:
 * its order counts. */
static void index_execute(asnd_index_run *r) {
    if (r->size_j == 0 || r->size_rest == 0) return;
    double ns = (double)r->size_j * (1 + (double)r->size_rest * r->item / (double)r->run *
                                             (1 + (double)r->run * 0.03));
    /* A gather along the innermost axes goes row by row of the others, so that a row
     * stays in L1 (g[:, r] of 1000 x 1000 float64: 4.7 ms column by column). */
    bool by_rows = r->kind == ASN_MOVE_GET && r->num_rest > 0 && r->size_j >= 64 &&
                   r->size_j <= 65536 && r->size_rest >= 64 && is_dense(r);
    r->inside = is_inside(r);
    r->split_rest = r->kind != ASN_MOVE_GET || by_rows || r->inside;
    if (r->split_rest) {
        if (r->kind != ASN_MOVE_GET && r->num_rest < ASN_ND_MAX_DIMS) cut_run(r);
        int64_t loops = r->size_rest * r->item / r->run;
        r->pieces = 1;
        r->piece = r->extent[0];
        r->rest_per_chunk = (loops + PARTS - 1) / PARTS;
        if (r->run < LINE) /* chunks share no line */
            r->rest_per_chunk = (r->rest_per_chunk + LINE / 4 - 1) & -(LINE / 4);
        if (r->inside && r->rest_per_chunk < LINE) r->rest_per_chunk = LINE;
        r->stream = by_rows && asn_index_streams_lines(r);
        int64_t chunks = (loops + r->rest_per_chunk - 1) / r->rest_per_chunk;
        asn_pool_run(index_chunk, r, chunks, ns);
        return;
    }
    r->stream = r->run >= STREAM_ROW &&
                asn_worth_streaming(2 * r->size_j * r->size_rest * r->item);
    int64_t per = CHUNK / (r->size_rest < CHUNK ? r->size_rest : CHUNK);
    r->piece = per < 64 ? 64 : per;
    r->pieces = (r->extent[0] + r->piece - 1) / r->piece;
    int64_t total = r->size_j / r->extent[0] * r->pieces;
    r->rest_per_chunk =
        r->extent[0] < r->piece ? (r->piece + r->extent[0] - 1) / r->extent[0] : 1;
    asn_pool_run(index_chunk, r, (total + r->rest_per_chunk - 1) / r->rest_per_chunk, ns);
}

/* What asn_index_setup asks for. The lists of a run are filled, not cleared: they are 37
 * KB. */
static void index_begin(asnd_index_run *r, asnd_move_kind kind, asnd_index_mode mode) {
    r->kind = kind;
    r->mode = mode;
    r->op = ASN_OP_NONE;
    r->split_rest = r->inside = r->stream = r->tracks = false;
    r->missed = 0;
    r->met = 0;
}

/* A piece that saw an index outside has written nothing of it; the message is found
 * afterwards. */
asn_status asn_cpu_index_get(const asnd_nd *self, int nidx, const asnd_nd *const idx[],
                             const asnd_nd *out) {
    asnd_index_run r;
    index_begin(&r, ASN_MOVE_GET, ASN_INDEX_RAISE);
    ASN_TRY(asn_index_setup(&r, self, nidx, idx, out));
    index_execute(&r);
    for (int k = 0; k < nidx && r.missed; k++)
        ASN_TRY(asn_bounds_check(idx[k], self->shape[k], k));
    return ASN_OK;
}

asn_status asn_cpu_index_put(const asnd_nd *self, int nidx, const asnd_nd *const idx[],
                             const asnd_nd *values, asn_op accumulate_op,
                             uint32_t *fp_flags) {
    asnd_index_run r;
    index_begin(&r, ASN_MOVE_PUT, ASN_INDEX_RAISE);
    r.op = accumulate_op;
    if (accumulate_op != ASN_OP_NONE) {
        const asn_dtype loop = values->dtype;
        r.kind = ASN_MOVE_ACCUMULATE;
        if ((unsigned)accumulate_op >= ASN_OP_COUNT ||
            !((loop == self->dtype && asn_kernels_get()->scan[accumulate_op][loop]) ||
              asn_kernels_steps(accumulate_op, loop)))
            return asn_error_set(ASN_ERR_NO_LOOP,
                                 "index: no accumulation with opcode %d for "
                                 "dtype %s",
                                 (int)accumulate_op, asn_dtype_name(loop));
        r.tracks = fp_flags && ((asn_op_table[accumulate_op].flags & ASN_OPF_DIVIDES) ||
                                asn_is_inexact(loop));
    }
    ASN_TRY(asn_index_setup(&r, self, nidx, idx, values));
    index_execute(&r);
    if (r.met) __atomic_fetch_or(fp_flags, r.met, __ATOMIC_RELAXED);
    return ASN_OK;
}

/* The axis becomes self's first dimension, and the indices' dimensions out's first, by
 * strides: then it is a get with one index array. */
asn_status asn_cpu_take(const asnd_nd *self, int axis, const asnd_nd *idx,
                        asnd_index_mode mode, const asnd_nd *out) {
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
    int64_t out_shape[ASN_ND_MAX_DIMS], out_strides[ASN_ND_MAX_DIMS];
    if (axis < 0 || axis >= self->ndim || out->ndim != self->ndim - 1 + idx->ndim)
        return asn_error_set(ASN_ERR_VALUE,
                             "take: axis %d of %d dimensions, %d-d indices, %d-d result",
                             axis, self->ndim, idx->ndim, out->ndim);
    int n = 0, m = 0;
    shape[n] = self->shape[axis];
    strides[n++] = self->strides[axis];
    for (int d = 0; d < idx->ndim; d++, m++) {
        out_shape[m] = out->shape[axis + d];
        out_strides[m] = out->strides[axis + d];
    }
    for (int d = 0; d < self->ndim; d++) {
        if (d == axis) continue;
        int at = d < axis ? d : d - 1 + idx->ndim;
        shape[n] = self->shape[d];
        strides[n++] = self->strides[d];
        out_shape[m] = out->shape[at];
        out_strides[m++] = out->strides[at];
    }
    asnd_nd from = {self->data, n, self->dtype, shape, strides};
    asnd_nd to = {out->data, m, out->dtype, out_shape, out_strides};
    asnd_index_run r;
    index_begin(&r, ASN_MOVE_GET, mode);
    asn_status status = asn_index_setup(&r, &from, 1, &idx, &to);
    if (status == ASN_OK) index_execute(&r);
    if ((status == ASN_ERR_INDEX || r.missed) &&
        mode == ASN_INDEX_RAISE) /* again, to name the axis */
        return asn_bounds_check(idx, self->shape[axis], axis);
    return status;
}
