/* CPU device: reductions by stacking: the inner dimension is kept, and block after block
 * is added to an accumulator per element. See fused_reduce.c for the whole and for the
 * order of accumulation.
 *
 * A unit is a stripe of accumulators, or a part of its reduced rows; parts leave theirs
 * in rr->partial and stack_finish adds them in order. Each reduction has room for 16
 * bytes an accumulator, so where the next one's begin does not depend on dtypes. `filled`
 * says how many accumulators of a stripe hold something: the first row is copied, later
 * ones are combined.
 */
#include <string.h>

#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused_onto.h"
#include "device/cpu/fused/fused_reduce.h"
#include "device/cpu/move/gather.h"

enum {
    MAX_STACKS = 16,     /* parts of one result */
    STRIPE_BYTES = 16384 /* of accumulators */
};

/* Adds a block of n elements to accumulators of which `filled` hold something. Returns
 * how many hold something afterwards. An operation that starts from its identity (0.0 for
 * sums of -0.0) is splatted first. */
static int64_t stack_block(const asnd_reduction *red, char *acc, int64_t filled,
                           int64_t n, const char *src) {
    int64_t item = asn_itemsize(red->dtype);
    if (n > filled && red->from_identity) {
        asn_block_splat(acc + filled * item, red->identity, (int)item, n - filled);
        filled = n;
    }
    int64_t both = filled < n ? filled : n;
    uint32_t before = red->quiet ? asn_fp_read() : 0;
    if (both) red->combine(both, acc, acc, src, NULL);
    if (red->quiet) asn_fp_restore(before);
    if (n <= filled) return filled;
    memcpy(acc + filled * item, src + filled * item, (size_t)((n - filled) * item));
    return n;
}

/* Between an output's row and accumulators: casts in blocks. load: from the output, for
 * ACLNNX_ACCUMULATE; else to it, rounded to its dtype. */
static void stack_move(const asnd_plan *plan, const asnd_reduction *red, char *acc,
                       char *out, int64_t n, bool load) {
    enum { BLOCK = 128 };
    char block[BLOCK * 16];
    int64_t stride = plan->dims[0].stride[red->operand];
    int item = asn_itemsize(red->out_dtype), acc_item = asn_itemsize(red->dtype);
    if (red->out_dtype == red->dtype) {
        if (load)
            asn_block_gather(acc, out, item, n, stride, 1, 0);
        else
            asn_block_scatter(out, acc, item, n, stride, 1, 0);
        return;
    }
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        if (load) {
            asn_block_gather(block, out + i * stride, item, m, stride, 1, 0);
            plan->kernels->cast[red->out_dtype][red->dtype](m, acc + i * acc_item, block,
                                                            NULL, NULL);
        } else {
            plan->kernels->cast[red->dtype][red->out_dtype](m, block, acc + i * acc_item,
                                                            NULL, NULL);
            asn_block_scatter(out + i * stride, block, item, m, stride, 1, 0);
        }
    }
}

/* Adds elements [x, end) of n1 reduced rows of the stripe from `from` on. The rows are
 * one block of n1 rows; without packing n1 is 1. */
static void stack_row(const asnd_reduction_run *rr, asnd_run *run,
                      const asnd_cursor *kept, const asnd_cursor *reduced, int64_t from,
                      int64_t x, int64_t end, int64_t n1, char *accs, int64_t *filled) {
    const asnd_plan *plan = rr->plan;
    for (; x < end; x += rr->block) {
        int64_t n = end - x < rr->block ? end - x : rr->block;
        for (int m = 0; m < run->num_moving; m++) {
            int i = run->moving[m];
            run->offset[i] = kept->offset[i] + reduced->offset[i] +
                             plan->dims[0].stride[i] * (from + x);
        }
        asn_run_block(run, n, n1);
        for (int r = 0; r < plan->num_reductions; r++) {
            const asnd_reduction *red = &plan->reductions[r];
            char *acc = accs + r * rr->stripe * 16 + x * asn_itemsize(red->dtype);
            int64_t have = filled[r] > x ? filled[r] - x : 0;
            have = stack_block(red, acc, have, n * n1, run->ptr[red->value]);
            if (x + have > filled[r]) filled[r] = x + have;
        }
    }
}

/* Adds the next ASN_ONTO * pack reduced rows at once. Where asn_onto_block refuses, the
 * same rows go one by one, in the same order. */
static void stack_together(const asnd_reduction_run *rr, asnd_run *run, asnd_onto *onto,
                           const asnd_cursor *reduced, int64_t from, int64_t width,
                           char *accs, int64_t *filled) {
    for (int64_t x = 0; x < width; x += onto->width) {
        int64_t n = width - x < onto->width ? width - x : onto->width;
        if (asn_onto_block(onto, reduced, accs, rr->stripe * 16, from, x, n)) continue;
        asnd_cursor row = *reduced;
        for (int k = 0; k < ASN_ONTO; k++) {
            stack_row(rr, run, onto->kept, &row, from, x, x + n, 1, accs, filled);
            if (k + 1 < ASN_ONTO) asn_cursor_advance(&row, run, 1);
        }
    }
}

/* Adds reduced rows [row, end) of the stripe of `width` elements from `from` on. bounds:
 * row, end, from, the stripe's end. loaded[r]: accumulators that hold something already.
 * At the end the accumulators of packed rows are added to those of the first. */
static void stack_rows(const asnd_reduction_run *rr, asnd_run *run,
                       const asnd_cursor *kept, const int64_t bounds[4], char *accs,
                       char *computed, const int64_t *loaded) {
    const asnd_plan *plan = rr->plan;
    int64_t from = bounds[2], width = bounds[3] - from, size = rr->stripe * 16;
    int64_t filled[ACLNNX_MAX_OPERANDS];
    asnd_onto onto;
    const bool together = asn_onto_prepare(&onto, rr, run, kept, computed);
    asnd_cursor reduced;
    asn_cursor_seek(&reduced, run, 1, 1 + rr->num_reduced, bounds[0]);
    for (int r = 0; r < plan->num_reductions; r++)
        filled[r] = loaded[r];
    for (int64_t row = bounds[0]; row < bounds[1];) {
        int64_t left = bounds[1] - row, n1 = 1;
        if (rr->num_reduced && left > plan->dims[1].extent - reduced.index[1])
            left = plan->dims[1].extent - reduced.index[1];
        bool full = together && left >= ASN_ONTO * rr->pack;
        for (int r = 0; r < plan->num_reductions && full; r++)
            full = filled[r] >= width * rr->pack;
        if (full) {
            n1 = ASN_ONTO * rr->pack;
            stack_together(rr, run, &onto, &reduced, from, width, accs, filled);
        } else {
            n1 = rr->pack < left ? rr->pack : left;
            stack_row(rr, run, kept, &reduced, from, 0, width, n1, accs, filled);
        }
        row += n1;
        asn_cursor_advance(&reduced, run, n1);
    }
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        char *acc = accs + r * size;
        int item = asn_itemsize(red->dtype);
        for (int64_t at = width; at < filled[r]; at += width)
            stack_block(red, acc, width, width, acc + at * item);
    }
}

/* Unit = (kept position, stripe, part), the part fastest; `kept` stands at its
 * position. */
static void stack_unit(const asnd_reduction_run *rr, asnd_run *run,
                       const asnd_cursor *kept, int64_t unit, char *accs,
                       char *computed) {
    const asnd_plan *plan = rr->plan;
    int64_t part = unit % rr->parts, stripe = unit / rr->parts % rr->stripes;
    int64_t bounds[4] = {part * rr->part_rows, (part + 1) * rr->part_rows,
                         stripe * rr->stripe, (stripe + 1) * rr->stripe};
    if (bounds[1] > rr->rows) bounds[1] = rr->rows;
    if (bounds[3] > plan->dims[0].extent) bounds[3] = plan->dims[0].extent;
    int64_t width = bounds[3] - bounds[2], loaded[ACLNNX_MAX_OPERANDS];
    char *out[ACLNNX_MAX_OPERANDS];
    if (rr->parts > 1) accs = rr->partial + unit * rr->partial_bytes;
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        int i = red->operand;
        out[r] = run->base[i] + kept->offset[i] + plan->dims[0].stride[i] * bounds[2];
        loaded[r] = 0;
        if (part || !(plan->operands[i].flags & ACLNNX_ACCUMULATE)) continue;
        stack_move(plan, red, accs + r * rr->stripe * 16, out[r], width, true);
        loaded[r] = width;
    }
    stack_rows(rr, run, kept, bounds, accs, computed, loaded);
    if (rr->parts > 1) return;
    for (int r = 0; r < plan->num_reductions; r++)
        stack_move(plan, &plan->reductions[r], accs + r * rr->stripe * 16, out[r], width,
                   false);
}

/* Consecutive units, by one thread; accs and computed are its memory. */
static void stack_task(void *ctx, int64_t task) {
    asnd_reduction_run *rr = ctx;
    const asnd_plan *plan = rr->plan;
    int64_t first = task * rr->units_per_task, end = first + rr->units_per_task;
    if (end > rr->units) end = rr->units;
    _Alignas(64) char accs[STRIPE_BYTES], computed[ASN_ONTO_BYTES];
    asnd_run run;
    asnd_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->base, rr->block * rr->pack);
    int64_t per_kept = rr->stripes * rr->parts;
    asn_cursor_seek(&kept, &run, 1 + rr->num_reduced, plan->num_dims, first / per_kept);
    for (int64_t u = first; u < end; u++) {
        stack_unit(rr, &run, &kept, u, accs, computed);
        if ((u + 1) % per_kept == 0) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&rr->flags, asn_fp_exceptions(), __ATOMIC_RELAXED);
}

/* Combines the parts of each stripe in order and stores the results; on the caller. */
static void stack_finish(asnd_reduction_run *rr) {
    const asnd_plan *plan = rr->plan;
    asnd_run run;
    asnd_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->base, rr->block * rr->pack);
    asn_cursor_seek(&kept, &run, 1 + rr->num_reduced, plan->num_dims, 0);
    for (int64_t u = 0; u < rr->units; u += rr->parts) {
        int64_t stripe = u / rr->parts % rr->stripes, from = stripe * rr->stripe;
        int64_t width = plan->dims[0].extent - from;
        if (width > rr->stripe) width = rr->stripe;
        for (int r = 0; r < plan->num_reductions; r++) {
            const asnd_reduction *red = &plan->reductions[r];
            char *acc = rr->partial + u * rr->partial_bytes + r * rr->stripe * 16;
            for (int64_t part = 1; part < rr->parts; part++)
                stack_block(red, acc, width, width, acc + part * rr->partial_bytes);
            int i = red->operand;
            stack_move(plan, red, acc,
                       rr->base[i] + kept.offset[i] + plan->dims[0].stride[i] * from,
                       width, false);
        }
        if (stripe == rr->stripes - 1) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->track_flags) rr->flags |= asn_fp_exceptions();
}

/* How wide stripes are, and how many reduced rows make a block. Packing needs a short
 * inner dimension and operations whose order of rows is free: sums over (n, 3) take many
 * rows as one. */
static void choose_stripe(asnd_reduction_run *rr) {
    asnd_plan *plan = rr->plan;
    int64_t extent = plan->dims[0].extent;
    int64_t widest = STRIPE_BYTES / 16 / plan->num_reductions;
    asn_plan_place(plan, false);
    rr->block = asn_plan_block(plan, widest);
    rr->pack = 1;
    if (rr->num_reduced && extent * 4 <= (rr->block < widest ? rr->block : widest) &&
        asn_reductions_split(plan) && asn_reductions_commute(plan)) {
        asn_plan_place(plan, true);
        rr->block = asn_plan_block(plan, widest);
        if (rr->block > widest) rr->block = widest;
        rr->pack = rr->block / extent;
        if (rr->pack > 1) {
            rr->block = rr->stripe = extent;
            rr->stripe = extent * rr->pack; /* room for all accumulators */
            rr->stripes = 1;
            return;
        }
        rr->pack = 1;
        asn_plan_place(plan, false); /* as it was */
        rr->block = asn_plan_block(plan, widest);
    }
    if (rr->block > widest) rr->block = widest;
    if (rr->block > extent) rr->block = extent;
    rr->stripe = widest / rr->block * rr->block;
    if (rr->stripe > extent) rr->stripe = extent;
    rr->stripes = (extent + rr->stripe - 1) / rr->stripe;
}

/* Parts where there are fewer than 16 units of work and the input is long; as everywhere,
 * by the shape alone. */
void asn_reduce_stack(asnd_reduction_run *rr, int inner) {
    asnd_plan *plan = rr->plan;
    rr->num_reduced = asn_plan_group(plan, inner);
    choose_stripe(rr);
    asn_plan_attach(plan);
    if (plan->code) /* which may refuse the code */
        (void)asn_plan_block(plan, rr->block * rr->pack);
    rr->rows = plan->size / plan->kept_size;
    int64_t outer = plan->kept_size / plan->dims[0].extent;
    int64_t results = outer * rr->stripes;
    rr->parts = 1;
    if (results < 16 && plan->size >= 4 * ASN_PART && asn_reductions_split(plan)) {
        int64_t parts = plan->size / results / ASN_PART;
        rr->parts = parts < 1 ? 1 : parts > MAX_STACKS ? MAX_STACKS : parts;
        if (rr->parts > rr->rows) rr->parts = rr->rows;
    }
    rr->part_rows = (rr->rows + rr->parts - 1) / rr->parts;
    rr->parts = (rr->rows + rr->part_rows - 1) / rr->part_rows;
    rr->units = results * rr->parts;
    rr->partial_bytes = plan->num_reductions * rr->stripe * 16;
    int64_t per_unit = plan->size / rr->units + 1;
    rr->units_per_task = asn_units_per_task(plan, per_unit);
    rr->tasks = (rr->units + rr->units_per_task - 1) / rr->units_per_task;
    rr->task = stack_task;
    rr->finish = rr->parts > 1 ? stack_finish : NULL;
}
