/* CPU device: blocking of products of float32 and float64.
 *
 * After Goto and van de Geijn, Anatomy of high-performance matrix multiplication, ACM
 * TOMS 34 (2008): a block of k is finished for all of C before the next; within it a
 * panel of B's columns lies in L1 while the rows of a block of A, which lies in L2, pass
 * by. Operands whose rows lie near each other are read where they are. Others are packed:
 * B once for everybody, in as many columns as fit the last cache's share, A by whoever
 * computes its rows.
 */
#include "device/cpu/gemm/gemm_panels.h"

#include "base/integers.h"
#include "device/cpu/threads.h"
#include "device/cpu/scratch.h"

enum {
    MOST_TERMS = 384,     /* of a block of k: a panel of B is 72 KB */
    BLOCK_ROWS = 256,     /* of A: 768 KB of L2 at most, */
    SYMMETRIC_ROWS = 96,  /* or few beside the diagonal's group of columns */
    NEAR_ROW = 1000,      /* bytes: B's longer rows share few sets of L1: its packing */
    MANY_ROWS = 160,      /* is repaid by so many rows of C, */
    ALIASED_ROWS = 64,    /* where all rows share one set, as in a whole page, by these */
    PAGE = 4096,          /* bytes */
    FEW_VECTORS = 6,      /* columns that do not repay packing A */
    NEAR_ROW_OF_A = 2048, /* bytes */
    PACKED_BYTES = 4 << 20, /* of B */
    LEAST_ROWS = 32,        /* of a chunk */
    SMALL_WORK = 32768,     /* products that no thread shares */
    CHUNKS = 4,             /* when there are several threads: for each of them */
};

typedef struct {
    const asnd_panels_kernels *by;
    const asnd_panels *x;
    int64_t term, terms, first, end; /* of k; vectors of columns */
    char *packed;
    bool packs_a;
    int64_t rows, vectors, across; /* of a chunk; chunks side by side */
} region;

/* Rounded up to whole groups. */
static int64_t groups(int64_t vectors) {
    return (vectors + ASN_PANELS_GROUP - 1) / ASN_PANELS_GROUP * ASN_PANELS_GROUP;
}

/* A group of vectors of B for the region's terms. */
static void pack_chunk(void *ctx, int64_t chunk) {
    const region *r = ctx;
    int64_t at = chunk * ASN_PANELS_GROUP, first = r->first + at;
    r->by->pack(r->x, r->term, r->terms, first,
                asn_least(first + ASN_PANELS_GROUP, r->end),
                r->packed + at * r->terms * r->by->lanes * r->by->item);
}

/* r->rows rows and r->vectors vectors of C. Without memory for A's rows they are read
 * where they lie: slower, the same bits. */
static void rows_chunk(void *ctx, int64_t chunk) {
    const region *r = ctx;
    int64_t row = chunk / r->across * r->rows, at = chunk % r->across * r->vectors,
            rows = asn_least(r->x->m - row, r->rows), first = r->first + at,
            end = asn_least(first + r->vectors, r->end);
    if (r->x->symmetric) { /* from the group that the diagonal enters */
        int64_t diagonal = row / r->by->lanes / ASN_PANELS_GROUP * ASN_PANELS_GROUP;
        if (diagonal >= end) return;
        if (diagonal > first) {
            at += diagonal - first;
            first = diagonal;
        }
    }
    char *room = NULL;
    if (r->packs_a) room = asn_scratch_take((size_t)(rows * r->terms * r->by->item));
    r->by->rows(r->x, r->term, r->terms, row, rows, first, end,
                r->packed ? r->packed + at * r->terms * r->by->lanes * r->by->item : NULL,
                room);
    if (room) asn_scratch_give(room);
}

/* Estimated, on one thread. */
static double nanoseconds(const region *r) {
    double products = (double)r->x->m * (double)(r->end - r->first) * (double)r->terms;
    return products / (r->x->symmetric ? 11 : 6);
}

/* One block of k for vectors [first, end) of columns. Chunks become smaller until there
 * are some for every thread; rows first, as these share B's panel. */
static void run_region(region *r) {
    int64_t vectors = r->end - r->first;
    double ns = nanoseconds(r);
    int threads = asn_pool_width(ns);
    r->rows = r->x->symmetric ? SYMMETRIC_ROWS : BLOCK_ROWS;
    r->vectors = vectors;
    r->across = 1;
    int64_t down = (r->x->m + r->rows - 1) / r->rows;
    while (threads > 1 && down * r->across < (int64_t)CHUNKS * threads) {
        if (r->rows > LEAST_ROWS && r->x->m > LEAST_ROWS)
            r->rows /= 2;
        else if (r->vectors > ASN_PANELS_GROUP)
            r->vectors = groups(r->vectors / 2);
        else
            break;
        down = (r->x->m + r->rows - 1) / r->rows;
        r->across = (vectors + r->vectors - 1) / r->vectors;
    }
    if (r->packed)
        asn_pool_run(pack_chunk, r, (vectors + ASN_PANELS_GROUP - 1) / ASN_PANELS_GROUP,
                     (double)(vectors * r->terms) * 4);
    asn_pool_run(rows_chunk, r, down * r->across, ns);
}

/* Whether so many rows of C repay packing B for its rows' distance alone. */
static bool repays_packing(const asnd_panels *x) {
    return x->b_row > NEAR_ROW &&
           x->m > (x->b_row % PAGE == 0 ? ALIASED_ROWS : MANY_ROWS);
}

/* Blocks of k are as even as can be, at most MOST_TERMS; without memory to pack B it is
 * read where it lies, if its rows are contiguous. */
asn_status asn_gemm_panels(const asnd_panels_kernels *by, const asnd_panels *x) {
    int64_t all = (x->n + by->lanes - 1) / by->lanes, wide = all,
            parts = (x->k + MOST_TERMS - 1) / MOST_TERMS,
            longest = (x->k + parts - 1) / parts;
    bool must = x->b_col != by->item && x->n > 1, packs = must || repays_packing(x);
    if (!packs && parts == 1 && x->m * x->n * x->k <= SMALL_WORK) {
        by->rows(x, 0, x->k, 0, x->m, 0, all, NULL, NULL);
        return ASN_OK;
    }
    region r = {.by = by, .x = x};
    r.packs_a = all > FEW_VECTORS && (x->a_col != by->item || x->a_row > NEAR_ROW_OF_A);
    if (packs) {
        int64_t vector = longest * by->lanes * by->item,
                most = groups(PACKED_BYTES / vector);
        wide = asn_least(all, most);
        r.packed = asn_scratch_take((size_t)(wide * vector));
        if (r.packed == NULL && must) return ASN_ERR_MEMORY;
    }
    for (int64_t j = 0; j < all; j += wide) {
        r.first = j;
        r.end = asn_least(j + wide, all);
        r.term = 0;
        for (int64_t part = 0; part < parts; part++, r.term += r.terms) {
            r.terms = x->k / parts + (part < x->k % parts);
            run_region(&r);
        }
    }
    if (r.packed) asn_scratch_give(r.packed);
    return ASN_OK;
}
