/* CPU device: a sparse matrix in CSR times a dense one (see sparse.h).
 *
 * Panels. The result is computed in panels of columns that a row's sums fit in registers
 * for. Where stored elements repay it, b is packed first, panel after panel, so that a
 * panel's rows follow each other: rows of b are often a power of two apart, and a strip
 * of them would share few sets of a cache. Where indices ascend, a panel is cut into
 * blocks of b's rows that lie in the first cache (L1_BYTES), or more where a row of A
 * would have fewer than BLOCK_TERMS elements in a block: each costs a load and a store of
 * the sums. Stored elements are first brought into the order in which the blocks meet
 * them (order_part), once for all panels. The order of a row's terms is that in which
 * they are stored either way.
 *
 * Shares. Stored elements, not rows, are shared out: part c begins at element c * size,
 * or at the next row if the row there is short. A row longer than a part is cut: its
 * first piece goes to the result, the others to sums of their own (`carries`) that are
 * added in order at the end. The parts depend on the product's shape and number of
 * elements alone, so that bits do not depend on threads.
 */
#include "device/cpu/sparse/sparse.h"

#include <string.h>

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    L1_BYTES = 28 << 10, /* of b in a block: most of 32 KB */
    BLOCK_TERMS = 8,
    MAX_BLOCK = UINT16_MAX + 1, /* rows of b: places have 16 bits */
    ROWS = 128, /* of the result that pass through all blocks before the next ones do */
    PACK_REUSE = 4, /* stored elements for each row of b, from which on it is packed */
    PLAIN_BYTES = 4096, /* of a row of b that the plain loops take at once */
    MAX_LOOKS = 64,     /* pieces of rows whose indices are looked at */
    MIN_PARTS = 16,     /* as many as there is work for; more cost reuse of b's blocks */
    MAX_PARTS = 64,
    TASKS = 128,    /* parts times panels that are enough for any number of threads */
    PART_NS = 20000 /* of a part, at least */
};

/* Integers wrap: as unsigned 64 bits, since two uint16 make an int that may overflow. */
#define WRAPPED_PRODUCT(s, x, y) ((s) += (__typeof__(s))((uint64_t)(x) * (uint64_t)(y)))
#define PLAIN_TERM(s, x)         ((s) += (x))

#define T           uint8_t
#define NAME(f)     f##_u8
#define ADD_PRODUCT WRAPPED_PRODUCT
#define ADD_TERM    PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"
#define T           uint16_t
#define NAME(f)     f##_u16
#define ADD_PRODUCT WRAPPED_PRODUCT
#define ADD_TERM    PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"
#define T           uint32_t
#define NAME(f)     f##_u32
#define ADD_PRODUCT WRAPPED_PRODUCT
#define ADD_TERM    PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"
#define T           uint64_t
#define NAME(f)     f##_u64
#define ADD_PRODUCT WRAPPED_PRODUCT
#define ADD_TERM    PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"

/* Booleans: an or of ands, as NumPy's product of them. */
#define T                    uint8_t
#define NAME(f)              f##_bool
#define ADD_PRODUCT(s, x, y) ((s) |= (uint8_t)((x) & (y)))
#define ADD_TERM(s, x)       ((s) |= (x))
#include "device/cpu/sparse/sparse_plain.inc"

#define REAL_PRODUCT(s, x, y) ((s) += (x) * (y))
#define T                     float
#define NAME(f)               f##_f32
#define ADD_PRODUCT           REAL_PRODUCT
#define ADD_TERM              PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"
#define T           double
#define NAME(f)     f##_f64
#define ADD_PRODUCT REAL_PRODUCT
#define ADD_TERM    PLAIN_TERM
#include "device/cpu/sparse/sparse_plain.inc"

/* Complex numbers by the four products of their parts, without C99's care for infinities,
 * as NumPy's loops. */
#define PAIR_PRODUCT(s, x, y)                                                            \
    ((s).re += (x).re * (y).re - (x).im * (y).im,                                        \
     (s).im += (x).re * (y).im + (x).im * (y).re)
#define PAIR_TERM(s, x) ((s).re += (x).re, (s).im += (x).im)
#define T               asn_c64
#define NAME(f)         f##_c64
#define ADD_PRODUCT     PAIR_PRODUCT
#define ADD_TERM        PAIR_TERM
#include "device/cpu/sparse/sparse_plain.inc"
#define T           asn_c128
#define NAME(f)     f##_c128
#define ADD_PRODUCT PAIR_PRODUCT
#define ADD_TERM    PAIR_TERM
#include "device/cpu/sparse/sparse_plain.inc"

typedef void (*rows_fn)(const asnd_sparse_part *part);
typedef void (*join_fn)(char *to, const char *from, int64_t cols);

/* The plain loops of a dtype; signed integers wrap as unsigned ones. */
static const struct {
    rows_fn rows;
    join_fn join;
} plain[ASN_DTYPE_COUNT] = {
    [ASN_BOOL] = {rows_bool, join_bool}, [ASN_I8] = {rows_u8, join_u8},
    [ASN_U8] = {rows_u8, join_u8},       [ASN_I16] = {rows_u16, join_u16},
    [ASN_U16] = {rows_u16, join_u16},    [ASN_I32] = {rows_u32, join_u32},
    [ASN_U32] = {rows_u32, join_u32},    [ASN_I64] = {rows_u64, join_u64},
    [ASN_U64] = {rows_u64, join_u64},    [ASN_F32] = {rows_f32, join_f32},
    [ASN_F64] = {rows_f64, join_f64},    [ASN_C64] = {rows_c64, join_c64},
    [ASN_C128] = {rows_c128, join_c128},
};

/* Where a part begins: at stored element `at`, which is of row `row`; inside: of a row
 * that an earlier part began. */
typedef struct {
    int64_t row, at;
    bool inside;
} share;

typedef struct {
    const char *data, *b;
    char *out, *packed; /* b in panels, or NULL */
    int64_t *indptr;    /* copies, or the operands themselves */
    const int32_t *indices;
    int64_t m, k, n, nnz, item;
    rows_fn rows;
    void (*fill)(const asnd_sparse_cells *);
    int64_t panel, panels; /* columns of a panel; how many there are */
    int64_t block, blocks; /* rows of b that a panel is cut into; how many there are */
    int64_t parts;
    share shares[MAX_PARTS + 1];
    char *carries;    /* of each part: n elements */
    int64_t *starts;  /* of cells, part after part (see order_part) */
    uint16_t *places; /* stored elements, cell after cell; NULL: one block */
    char *ordered;
} sparse_job;

/* ---- what is given: looked at once */

/* indptr as int64. VALUE: it does not ascend from 0 to nnz. */
static asn_status read_indptr(sparse_job *j, const asnd_nd *indptr) {
    const bool wide = indptr->dtype == ASN_I64;
    const int32_t *narrow = (const int32_t *)indptr->data;
    int64_t before = 0;
    bool ascends = true;
    for (int64_t i = 0; i <= j->m; i++) {
        const int64_t p = wide ? ((const int64_t *)indptr->data)[i] : narrow[i];
        ascends = ascends && p >= before && (i > 0 || p == 0);
        j->indptr[i] = before = p;
    }
    if (ascends && before == j->nnz) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "sparse matmul: indptr ends with %lld of %lld elements, or does "
                         "not ascend from 0",
                         (long long)before, (long long)j->nnz);
}

/* Whether indices ascend within rows from `row` to before `stop`. */
static bool ascend(const sparse_job *j, int64_t row, int64_t stop) {
    for (; row < stop; row++) {
        int before = 0;
        for (int64_t i = j->indptr[row] + 1; i < j->indptr[row + 1]; i++)
            before |= j->indices[i] < j->indices[i - 1];
        if (before) return false;
    }
    return true;
}

/* The greatest index in those rows, a negative one being greater than any: those that
 * ascend are between a row's first and last. */
static uint32_t greatest(const sparse_job *j, int64_t row, int64_t stop, bool sorted) {
    uint32_t most = 0;
    for (; row < stop; row++) {
        const int64_t end = j->indptr[row + 1];
        int64_t i = j->indptr[row];
        while (i < end) {
            most = (uint32_t)j->indices[i] > most ? (uint32_t)j->indices[i] : most;
            i = sorted && i < end - 1 ? end - 1 : i + 1;
        }
    }
    return most;
}

/* What is found of indices, in pieces of equally many rows that threads share. */
typedef struct {
    const sparse_job *job;
    const uint64_t *wide; /* indices as they were given where those are int64 */
    int32_t *room;        /* for these, narrowed */
    int64_t looks;
    uint64_t most[MAX_LOOKS]; /* of each piece: the greatest index (greatest) */
    bool ascends[MAX_LOOKS];
} sparse_look;

/* (asnd_pool_fn) One piece. */
static void look_at(void *ctx, int64_t look) {
    sparse_look *l = ctx;
    const sparse_job *j = l->job;
    const int64_t row = look * j->m / l->looks, stop = (look + 1) * j->m / l->looks;
    uint64_t most = 0;
    for (int64_t i = j->indptr[row]; l->wide && i < j->indptr[stop]; i++) {
        most = l->wide[i] > most ? l->wide[i] : most;
        l->room[i] = (int32_t)l->wide[i];
    }
    l->ascends[look] = ascend(j, row, stop);
    l->most[look] = l->wide ? most : greatest(j, row, stop, l->ascends[look]);
}

/* indices as int32, narrowed into `room` where they are int64; *sorted: whether they
 * ascend within rows. VALUE: one is not in [0, k). */
static asn_status read_indices(sparse_job *j, const asnd_nd *indices, int32_t *room,
                               bool *sorted) {
    const bool wide = indices->dtype == ASN_I64;
    sparse_look l = {.job = j,
                     .wide = wide ? (const uint64_t *)indices->data : NULL,
                     .room = room,
                     .looks = asn_least(j->m, MAX_LOOKS)};
    j->indices = wide ? room : (const int32_t *)indices->data;
    asn_pool_run(look_at, &l, l.looks, (double)j->nnz * 0.4);
    uint64_t most = 0;
    *sorted = true;
    for (int64_t i = 0; i < l.looks; i++) {
        most = l.most[i] > most ? l.most[i] : most;
        *sorted = *sorted && l.ascends[i];
    }
    if (j->nnz && most >= (uint64_t)j->k)
        return asn_error_set(ASN_ERR_VALUE, "sparse matmul: an index is not in [0, %lld)",
                             (long long)j->k);
    return ASN_OK;
}

/* ---- shares */

/* The row of stored element `at`, by bisection: the last that begins there or before. */
static int64_t row_of(const sparse_job *j, int64_t at) {
    int64_t low = 0, high = j->m;
    while (high - low > 1) {
        const int64_t middle = low + (high - low) / 2;
        if (j->indptr[middle] <= at)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The parts' bounds: equal numbers of stored elements, moved to the end of a short row.
 * Elements that an early part took so leave the next one empty: it begins where it ends.
 */
static void share_out(sparse_job *j) {
    const double ns = (double)j->nnz * (double)j->n * 0.05;
    const double most = ns / PART_NS;
    const int64_t wanted = asn_least(MAX_PARTS, TASKS / j->panels);
    const int64_t enough = wanted < MIN_PARTS ? MIN_PARTS : wanted;
    j->parts = most<1 ? 1 : most>(double) enough ? enough : (int64_t)most;
    const int64_t size = asn_pieces(j->nnz ? j->nnz : 1, j->parts);
    j->shares[0] = (share){0, 0, false};
    for (int64_t c = 1; c < j->parts; c++) {
        const int64_t at = asn_least(c * size, j->nnz);
        const int64_t row = row_of(j, at), end = j->indptr[row + 1];
        if (at == j->nnz)
            j->shares[c] = (share){j->m, j->nnz, false};
        else if (at == j->indptr[row] || end - j->indptr[row] <= size)
            j->shares[c] = at == j->indptr[row] ? (share){row, at, false}
                                                : (share){row + 1, end, false};
        else
            j->shares[c] = (share){row, at, true};
    }
    j->shares[j->parts] = (share){j->m, j->nnz, false};
    for (int64_t c = 1; c <= j->parts; c++) /* a short row's end may be behind the next */
        if (j->shares[c].at < j->shares[c - 1].at) j->shares[c] = j->shares[c - 1];
}

/* ---- panels */

/* Columns of a panel: the last one may have fewer. */
static int64_t panel_cols(const sparse_job *j, int64_t panel) {
    return asn_least(j->n - panel * j->panel, j->panel);
}

/* Where a panel of b begins. */
static char *panel_b(const sparse_job *j, int64_t panel) {
    const int64_t left = panel * j->panel * j->item;
    return j->packed ? j->packed + left * j->k : (char *)j->b + left;
}

/* Copies a panel of b, row after row. */
static void pack_panel(void *ctx, int64_t panel) {
    const sparse_job *j = ctx;
    const size_t bytes = (size_t)(panel_cols(j, panel) * j->item);
    const char *from = j->b + panel * j->panel * j->item;
    char *to = panel_b(j, panel);
    for (int64_t row = 0; row < j->k; row++, to += bytes, from += j->n * j->item)
        memcpy(to, from, bytes);
}

/* Rows of a part: its last row may go on in the next one, which begins with it, too. */
static int64_t last_row(const sparse_job *j, int64_t c) {
    const share from = j->shares[c], to = j->shares[c + 1];
    if (from.at >= to.at && from.inside) return from.row;
    return to.row + (to.inside ? 1 : 0);
}

/* Where a part's cells start. Parts meet in a row at most, for which each has room. */
static int64_t *starts_of(const sparse_job *j, int64_t c) {
    return j->starts + (j->shares[c].row + c) * j->blocks + c;
}

/* Where row `row` begins and ends in part c. */
static int64_t row_start(const sparse_job *j, int64_t c, int64_t row) {
    return row == j->shares[c].row ? j->shares[c].at : j->indptr[row];
}
static int64_t row_stop(const sparse_job *j, int64_t c, int64_t row) {
    return asn_least(j->indptr[row + 1], j->shares[c + 1].at);
}

/* counts[block * rows + i]: stored elements of row top + i in each block. */
static void count_cells(const sparse_job *j, int64_t c, int64_t top, int64_t rows,
                        int64_t *counts) {
    for (int64_t i = 0; i < rows; i++) {
        const int64_t stop = row_stop(j, c, top + i);
        int64_t at = row_start(j, c, top + i), limit = j->block;
        for (int64_t block = 0; block + 1 < j->blocks; block++, limit += j->block) {
            const int64_t first = at;
            while (at + 8 <= stop && j->indices[at + 7] < limit)
                at += 8;
            while (at < stop && j->indices[at] < limit)
                at++;
            counts[block * rows + i] = at - first;
        }
        counts[(j->blocks - 1) * rows + i] = stop - at;
    }
}

/* Copies those rows' stored elements to where their cells start. */
static void fill_cells(const sparse_job *j, int64_t c, int64_t top, int64_t rows,
                       const int64_t *starts) {
    for (int64_t i = 0; i < rows; i++) {
        const int64_t at = row_start(j, c, top + i);
        const asnd_sparse_cells cells = {.indices = j->indices + at,
                                         .data = j->data + at * j->item,
                                         .starts = starts + i,
                                         .step = rows,
                                         .blocks = j->blocks,
                                         .block = (int32_t)j->block,
                                         .places = j->places,
                                         .ordered = j->ordered};
        j->fill(&cells);
    }
}

/* A cell is what a row has in a block. Cells in the order in which they are used: ROWS
 * rows after the others, in these block after block, in a block row after row. Stored
 * elements are copied in this order (one block: they have it), so that every panel reads
 * them from first to last. Where each row had a place of its own to go on at, two thirds
 * of the time were spent waiting for those places' cache lines. */
static void order_part(void *ctx, int64_t c) {
    const sparse_job *j = ctx;
    const int64_t last = last_row(j, c);
    int64_t *starts = starts_of(j, c), at = j->shares[c].at;
    for (int64_t top = j->shares[c].row; top < last; top += ROWS) {
        const int64_t rows = asn_least(ROWS, last - top);
        count_cells(j, c, top, rows, starts);
        for (int64_t cell = 0; cell < rows * j->blocks; cell++) {
            const int64_t count = starts[cell];
            starts[cell] = at;
            at += count;
        }
        starts[rows * j->blocks] = at;
        if (j->blocks > 1) fill_cells(j, c, top, rows, starts);
        starts += rows * j->blocks;
    }
}

/* The rows of one part in one panel, block after block. Tasks of a panel follow each
 * other, so that threads find it in a cache that they share. */
static void run_task(void *ctx, int64_t task) {
    const sparse_job *j = ctx;
    const int64_t panel = task / j->parts, c = task % j->parts;
    const int64_t last = last_row(j, c), left = panel * j->panel;
    const share from = j->shares[c];
    asnd_sparse_part p = {.starts = starts_of(j, c),
                          .indices = j->indices,
                          .places = j->places,
                          .data = j->ordered ? j->ordered : j->data,
                          .b_row = j->packed ? panel_cols(j, panel) : j->n,
                          .out_row = j->n,
                          .cols = panel_cols(j, panel)};
    for (int64_t top = from.row; top < last; top += ROWS)
        for (int64_t block = 0; block < j->blocks; block++) {
            const int64_t carried = from.inside && top == from.row;
            p.b = panel_b(j, panel) + block * j->block * p.b_row * j->item;
            p.adds = block > 0;
            if (carried) { /* the first row goes to the part's own sums */
                p.rows = 1;
                p.out = j->carries + (c * j->n + left) * j->item;
                j->rows(&p);
                p.starts++;
            }
            p.rows = asn_least(ROWS, last - top) - carried;
            p.out = j->out + ((top + carried) * j->n + left) * j->item;
            if (p.rows > 0) j->rows(&p);
            p.starts += p.rows;
        }
}

/* Loops, panels and blocks, from what is known of the product. Blocks need ascending
 * indices; they repay themselves where rows of b are read several times. */
static void choose(sparse_job *j, asn_dtype dtype, bool sorted) {
    const asnd_context *context = asn_context_get();
    const asnd_sparse_loops *loops = dtype == ASN_F32   ? context->sparse_f32
                                     : dtype == ASN_F64 ? context->sparse_f64
                                                        : NULL;
    j->rows = loops ? loops->rows : plain[dtype].rows;
    j->fill = loops ? loops->fill : NULL;
    j->panel = loops ? loops->cols : PLAIN_BYTES / j->item;
    j->panels = asn_pieces(j->n, j->panel);
    j->block = j->k;
    j->blocks = 1;
    if (!loops || !sorted || j->n < 2 || !j->nnz || j->nnz / PACK_REUSE < j->k) return;
    const int64_t near = L1_BYTES / (asn_least(j->panel, j->n) * j->item);
    const double full = BLOCK_TERMS * (double)j->k * (double)j->m / (double)j->nnz;
    const double wanted = full > (double)near ? full : (double)near;
    if (wanted < (double)j->k && wanted <= MAX_BLOCK) j->block = (int64_t)wanted;
    j->blocks = asn_pieces(j->k, j->block);
}

/* The product of checked operands: 0.05 ns for a multiply-add of four bytes, 0.1 ns for a
 * packed byte. Carries are added in the parts' order, on the caller. */
static void run(sparse_job *j, asn_dtype dtype) {
    const double work = (double)j->nnz * (double)j->n * 0.05 * (double)j->item / 4;
    if (j->packed)
        asn_pool_run(pack_panel, j, j->panels, (double)(j->k * j->n * j->item) * 0.1);
    asn_pool_run(order_part, j, j->parts, (double)j->nnz);
    asn_pool_run(run_task, j, j->panels * j->parts,
                 work + (double)(j->m * j->n * j->item) * 0.05);
    for (int64_t c = 1; c < j->parts; c++)
        if (j->shares[c].inside && j->shares[c].at < j->shares[c + 1].at)
            plain[dtype].join(j->out + j->shares[c].row * j->n * j->item,
                              j->carries + c * j->n * j->item, j->n);
}

/* With scratch for everything, in one piece. */
static asn_status with_scratch(sparse_job *j, const asnd_nd *indptr,
                               const asnd_nd *indices, asn_dtype dtype) {
    bool sorted = false;
    const bool wide = indices->dtype == ASN_I64;
    const size_t heads = (size_t)(j->m + 1) * sizeof(int64_t);
    char *place = asn_scratch_take(heads + (wide ? (size_t)j->nnz * 4 : 0) + 64);
    if (!place) return ASN_ERR_MEMORY;
    j->indptr = (int64_t *)place;
    asn_status status = read_indptr(j, indptr);
    if (!status) status = read_indices(j, indices, (int32_t *)(place + heads), &sorted);
    if (!status) {
        choose(j, dtype, sorted);
        share_out(j);
        const bool packs = j->n > j->panel && j->nnz / PACK_REUSE >= j->k;
        const size_t starts =
            (size_t)((j->m + j->parts) * j->blocks + j->parts) * sizeof(int64_t);
        const size_t sums = (size_t)asn_round_up(j->parts * j->n * j->item, 64);
        const size_t pack = packs ? (size_t)asn_round_up(j->k * j->n * j->item, 64) : 0;
        const int64_t copied = j->blocks > 1 ? asn_round_up(j->nnz, 16) : 0;
        char *more =
            asn_scratch_take(pack + sums + (size_t)(copied * (j->item + 2)) + starts);
        if (more) {
            j->packed = packs ? more : NULL;
            j->carries = more + pack;
            j->ordered = copied ? j->carries + sums : NULL;
            j->places = copied ? (uint16_t *)(j->ordered + copied * j->item) : NULL;
            j->starts = (int64_t *)(j->carries + sums + copied * (j->item + 2));
            run(j, dtype);
            asn_scratch_give(more);
        } else
            status = ASN_ERR_MEMORY;
    }
    asn_scratch_give(place);
    return status;
}

asn_status asn_cpu_sparse_matmul(const asnd_nd *indptr, const asnd_nd *indices,
                                 const asnd_nd *data, const asnd_nd *b,
                                 const asnd_nd *out) {
    const asn_dtype dtype = data->dtype, index = indices->dtype;
    if (!plain[dtype].rows || b->dtype != dtype || out->dtype != dtype ||
        indptr->dtype != index || (index != ASN_I32 && index != ASN_I64))
        return asn_error_set(ASN_ERR_NO_LOOP, "sparse matmul: no loop for dtypes %s, %s",
                             asn_dtype_name(index), asn_dtype_name(dtype));
    if (indptr->shape[0] < 1 || b->shape[0] > INT32_MAX)
        return asn_error_set(ASN_ERR_VALUE,
                             "sparse matmul: %lld rows of b, %lld numbers in indptr; "
                             "allowed are less than 2**31 and at least 1",
                             (long long)b->shape[0], (long long)indptr->shape[0]);
    sparse_job j = {.data = data->data,
                    .b = b->data,
                    .out = out->data,
                    .m = indptr->shape[0] - 1,
                    .k = b->shape[0],
                    .n = b->shape[1],
                    .nnz = data->shape[0],
                    .item = asn_itemsize(dtype)};
    if (!j.m || !j.n) return ASN_OK;
    return with_scratch(&j, indptr, indices, dtype);
}
