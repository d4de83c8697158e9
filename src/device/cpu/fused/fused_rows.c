/* CPU device: reductions of many short rows. The inner dimension is reduced, as in
 * fused_fold.c, but a block is several whole rows, and each gives one result.
 *
 * A row is folded exactly as a block of its own would be (its order depends on its length
 * alone), so nothing but the time depends on the packing: one row of 16 float64 took 55
 * ns on its own and takes 4 here. The rows of a block follow each other along dimension
 * 1, for which the longest kept dimension is taken when the innermost does not fill a
 * block.
 */
#include <string.h>

#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused_reduce.h"
#include "device/cpu/move/gather.h"

enum {
    PACKED_BLOCK = 4096, /* elements, when no slots limit the block */
    MAX_ROWS = 512,      /* of a block */
    ROW_BYTES = 8192     /* one call of a sum kernel */
};

/* results[r] = the fold of row r of `rows` rows of n elements, n >= 1. A row kernel where
 * there is one; complex sums and other operations row by row. Adding 0 turns -0.0, the
 * sum of nothing but -0.0, to NumPy's 0.0. */
static void fold_block(const asnd_plan *plan, const asnd_reduction *red, int64_t rows,
                       int64_t n, char *results, const char *src) {
    int64_t item = plan->item[red->value], to = asn_itemsize(red->dtype);
    uint32_t before = red->quiet ? asn_fp_read() : 0;
    if (red->rows) {
        red->rows(rows, n, results, src);
    } else if (red->sum) { /* complex */
        for (int64_t r = 0; r < rows; r++, src += n * item) {
            double sum[2];
            red->sum(n, sum, src);
            sum[0] += 0;
            sum[1] += 0;
            plan->kernels->cast[ASN_C128][red->dtype](1, results + r * to, sum, NULL,
                                                      NULL);
        }
    } else {
        int64_t skip = red->from_identity ? 0 : 1;
        for (int64_t r = 0; r < rows; r++, src += n * item) {
            memcpy(results + r * to, skip ? src : red->identity, (size_t)to);
            red->fold(n - skip, results + r * to, src + skip * item);
        }
    }
    if (red->quiet) asn_fp_restore(before);
}

/* `rows` results, of the accumulator's dtype, to the output's elements along dimension
 * 1. */
static void store_results(const asnd_plan *plan, const asnd_reduction *red, char *out,
                          int64_t rows, const char *results) {
    _Alignas(64) char cast[MAX_ROWS * 16];
    int64_t stride = plan->dims[1].stride[red->operand];
    if (red->out_dtype != red->dtype) {
        plan->kernels->cast[red->dtype][red->out_dtype](rows, cast, results, NULL, NULL);
        results = cast;
    }
    asn_block_scatter(out, results, asn_itemsize(red->out_dtype), rows, stride, 1, 0);
}

/* Consecutive units; a unit is up to `pack` rows of one line of dimension 1. */
static void rows_task(void *ctx, int64_t task) {
    asnd_reduction_run *rr = ctx;
    const asnd_plan *plan = rr->plan;
    int64_t first = task * rr->units_per_task, end = first + rr->units_per_task;
    if (end > rr->units) end = rr->units;
    int64_t n = plan->dims[0].extent, extent = plan->dims[1].extent;
    int64_t at = first % rr->parts * rr->pack;
    _Alignas(64) char results[MAX_ROWS * 16];
    asnd_run run;
    asnd_cursor outer;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->base, n * rr->pack);
    asn_cursor_seek(&outer, &run, 2, plan->num_dims, first / rr->parts);
    for (int64_t u = first; u < end; u++) {
        int64_t rows = extent - at < rr->pack ? extent - at : rr->pack;
        for (int m = 0; m < run.num_moving; m++) {
            int i = run.moving[m];
            run.offset[i] = outer.offset[i] + plan->dims[1].stride[i] * at;
        }
        asn_run_block(&run, n, rows);
        for (int r = 0; r < plan->num_reductions; r++) {
            const asnd_reduction *red = &plan->reductions[r];
            int i = red->operand;
            fold_block(plan, red, rows, n, results, run.ptr[red->value]);
            store_results(plan, red, run.base[i] + run.offset[i], rows, results);
        }
        at += rows;
        if (at < extent) continue;
        at = 0;
        asn_cursor_advance(&outer, &run, 1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&rr->flags, asn_fp_exceptions(), __ATOMIC_RELAXED);
}

/* One dimension is reduced, two rows at least fit a block, one call of a sum kernel takes
 * a row, and no output's present value takes part. */
static bool are_short(const asnd_reduction_run *rr) {
    const asnd_plan *plan = rr->plan;
    int64_t n = plan->dims[0].extent;
    if (rr->num_reduced != 1 || plan->num_dims < 2 || n * 2 > PACKED_BLOCK) return false;
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        if ((plan->operands[red->operand].flags & ACLNNX_ACCUMULATE) ||
            n * plan->item[red->value] > ROW_BYTES)
            return false;
    }
    return true;
}

/* The kept dimension that rows are taken along. */
static int choose_across(const asnd_plan *plan) {
    int best = 1;
    if (plan->dims[0].extent * plan->dims[1].extent >= PACKED_BLOCK / 4) return best;
    for (int d = 2; d < plan->num_dims; d++)
        if (plan->dims[d].extent > plan->dims[best].extent) best = d;
    return best;
}

static void swap_dims(asnd_plan *plan, int a, int b) {
    asnd_dim kept = plan->dims[a];
    plan->dims[a] = plan->dims[b];
    plan->dims[b] = kept;
}

/* When a block that is placed for rows turns out too short for two of them, the
 * dimensions go back to where they were. */
bool asn_reduce_rows(asnd_reduction_run *rr) {
    asnd_plan *plan = rr->plan;
    if (!are_short(rr)) return false;
    int across = choose_across(plan);
    int64_t n = plan->dims[0].extent;
    if (across != 1) swap_dims(plan, 1, across);
    asn_plan_place(plan, true);
    int64_t block = asn_plan_block(plan, PACKED_BLOCK);
    if (n * 2 > block) {
        if (across != 1) swap_dims(plan, 1, across);
        return false;
    }
    asn_plan_attach(plan);
    if (plan->code) (void)asn_plan_block(plan, PACKED_BLOCK); /* it may refuse the code */
    int64_t extent = plan->dims[1].extent;
    rr->pack = block / n < MAX_ROWS ? block / n : MAX_ROWS;
    if (rr->pack > extent) rr->pack = extent;
    rr->parts = (extent + rr->pack - 1) / rr->pack;
    rr->units = plan->kept_size / extent * rr->parts;
    int64_t per_unit = n * rr->pack;
    rr->units_per_task = asn_units_per_task(plan, per_unit);
    rr->tasks = (rr->units + rr->units_per_task - 1) / rr->units_per_task;
    rr->task = rows_task;
    return true;
}
