/* CPU device: rows of float32 times a matrix that becomes float32 as it is read (see
 * gemm_few.h).
 *
 * Threads share the matrix's lines (inner products) or strips of their columns (sums). A
 * task's are widened into memory that stays in the cache, and multiplied there: a copy of
 * the whole matrix goes to memory and comes back, and its pages are new at each call
 * (bfloat16, 25 weights of 84 million elements, 32 rows, two threads: 105 -> 69 ms).
 */
#include <stdatomic.h>

#include "base/integers.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_few.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    TILE = 1 << 18, /* elements that are widened at once, */
    LEAST = 128,    /* but so many lines or columns: fewer are packed in vain */
    ITEM = sizeof(float)
};

typedef struct {
    const asnd_wide_lines *l;
    int64_t across, tile; /* lines (dots) or columns (sums), of all and of a task */
    _Atomic int status;
} job;

/* The task's lines, or its columns of all lines, one after the other. */
static void widen_tile(const asnd_wide_lines *l, int64_t first, int64_t count,
                       float *wide) {
    if (l->dots)
        for (int64_t i = 0; i < count; i++)
            l->widen(l->matrix, first + i, 0, l->length, wide + i * l->length);
    else
        for (int64_t i = 0; i < l->lines; i++)
            l->widen(l->matrix, i, first, count, wide + i * count);
}

static asn_status multiply_tile(const asnd_wide_lines *l, int64_t first, int64_t count,
                                float *wide) {
    const int64_t terms = l->dots ? l->length : l->lines;
    const int64_t a_shape[] = {l->count, terms}, b_shape[] = {terms, count},
                  c_shape[] = {l->count, count};
    const int64_t a_strides[] = {terms * ITEM, ITEM},
                  b_strides[] = {l->dots ? ITEM : count * ITEM,
                                 l->dots ? terms * ITEM : ITEM},
                  c_strides[] = {l->out_row, l->out_step};
    /* A view's data may be written; a's is not. */
    const asnd_nd a = {(char *)(uintptr_t)l->v, 2, ASN_F32, a_shape, a_strides},
                  b = {(char *)wide, 2, ASN_F32, b_shape, b_strides},
                  c = {l->out + first * l->out_step, 2, ASN_F32, c_shape, c_strides};
    widen_tile(l, first, count, wide);
    return asn_cpu_matmul(&a, &b, &c);
}

static void tile_task(void *ctx, int64_t task) {
    job *j = ctx;
    const asnd_wide_lines *l = j->l;
    const int64_t first = task * j->tile, count = asn_least(j->across - first, j->tile);
    const int64_t terms = l->dots ? l->length : l->lines;
    float *wide = asn_scratch_take((size_t)(count * terms) * ITEM);
    asn_status status = wide ? multiply_tile(l, first, count, wide) : ASN_ERR_MEMORY;
    if (wide) asn_scratch_give(wide);
    if (status) atomic_store(&j->status, status);
}

asn_status asn_gemm_lines(const asnd_wide_lines *l, double ns) {
    if (l->count <= ASN_WIDE_FEW && (!l->dots || l->length <= ASN_WIDE_LONGEST))
        return asn_wide_lines_run(l, ns);
    job j = {.l = l, .across = l->dots ? l->lines : l->length};
    const int64_t terms = l->dots ? l->length : l->lines, lines = TILE / terms;
    const int64_t tiles = asn_pieces(j.across, lines > LEAST ? lines : LEAST);
    j.tile = asn_round_up(asn_pieces(j.across, tiles), 16); /* as even as can be */
    asn_pool_run(tile_task, &j, asn_pieces(j.across, j.tile), ns);
    const asn_status status = (asn_status)atomic_load(&j.status);
    if (!status) return ASN_OK;
    return asn_error_set(status, status == ASN_ERR_MEMORY ? "no memory for a product"
                                                          : "a product needs BLAS");
}
