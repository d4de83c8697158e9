/* CPU device: a few vectors times a matrix that becomes float32 as it is read (see
 * gemv_lines.h).
 *
 * Threads share lines (inner products), or strips of columns that each of them sums over
 * all lines. The loops are float32's (gemv.inc).
 */
#include "device/cpu/gemv/gemv_lines.h"

#include <stdatomic.h>
#include <string.h>

#include "base/integers.h"
#include "device/cpu/gemv/gemv.h"
#include "device/cpu/kernels.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    TILE = 1 << 14, /* elements that are widened at once */
    STRIP = 1 << 9, /* columns that are summed together */
    ITEM = sizeof(float)
};

typedef struct {
    const asnd_wide_lines *l;
    int64_t tile; /* lines of a task (dots) */
    _Atomic int status;
} job;

/* The inner products of the task's lines. */
static void dots_task(void *ctx, int64_t task) {
    job *j = ctx;
    const asnd_wide_lines *l = j->l;
    const int64_t first = task * j->tile, n = asn_least(l->lines - first, j->tile);
    float *wide = asn_scratch_take((size_t)(n * l->length) * ITEM);
    asn_status status = wide ? ASN_OK : ASN_ERR_MEMORY;
    for (int64_t i = 0; i < n && wide; i++)
        l->widen(l->matrix, first + i, 0, l->length, wide + i * l->length);
    for (int64_t k = 0; k < l->count && !status; k++) {
        const asnd_gemv g = {.dtype = ASN_F32,
                             .dots = true,
                             .rows = n,
                             .cols = l->length,
                             .x = (const char *)wide,
                             .x_row = l->length * ITEM,
                             .v = (const char *)(l->v + k * l->length),
                             .v_step = ITEM,
                             .count = 1,
                             .out = l->out + k * l->out_row + first * l->out_step,
                             .out_step = l->out_step};
        status = asn_gemv_run(&g, true);
    }
    if (wide) asn_scratch_give(wide);
    if (status) atomic_store(&j->status, status);
}

/* The sum of all lines in a strip of columns, for each vector. */
static void sums_task(void *ctx, int64_t task) {
    job *j = ctx;
    const asnd_wide_lines *l = j->l;
    const int64_t first = task * STRIP, n = asn_least(l->length - first, STRIP);
    _Alignas(64) float sums[ASN_WIDE_FEW][STRIP];
    float *wide = asn_scratch_take((size_t)TILE * ITEM);
    if (!wide) {
        atomic_store(&j->status, ASN_ERR_MEMORY);
        return;
    }
    memset(sums, 0, (size_t)l->count * sizeof *sums);
    for (int64_t line = 0, some; line < l->lines; line += some) {
        some = asn_least(l->lines - line, TILE / STRIP);
        for (int64_t i = 0; i < some; i++)
            l->widen(l->matrix, line + i, first, n, wide + i * n);
        for (int64_t k = 0; k < l->count; k++)
            asn_kernels_get()->gemv_sums[ASN_F32](
                some, n, (const char *)wide, n * ITEM,
                (const char *)(l->v + k * l->lines + line), ITEM, (char *)sums[k]);
    }
    asn_scratch_give(wide);
    for (int64_t k = 0; k < l->count; k++)
        for (int64_t i = 0; i < n; i++)
            memcpy(l->out + k * l->out_row + (first + i) * l->out_step, &sums[k][i],
                   ITEM);
}

asn_status asn_wide_lines_run(const asnd_wide_lines *l, double ns) {
    job j = {.l = l, .tile = asn_round_up(asn_least(l->lines, TILE / l->length + 1), 4)};
    asn_pool_run(l->dots ? dots_task : sums_task, &j,
                 l->dots ? asn_pieces(l->lines, j.tile) : asn_pieces(l->length, STRIP),
                 ns);
    const asn_status status = (asn_status)atomic_load(&j.status);
    return status ? asn_error_set(status, "no memory for a product") : ASN_OK;
}
