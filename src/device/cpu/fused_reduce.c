/* CPU device: reductions at the end of a fused program.
 *
 * Two ways, by what lies innermost in memory:
 *   folding  the inner dimension is reduced: each block is folded into one accumulator
 * per output; stacking the inner dimension is kept: an accumulator per element of a
 * stripe of it (16 KB), to which block after block is added along the reduced dimensions.
 * A stripe of a few elements is widened: several reduced rows make one block, with as
 * many accumulators, which are added up at the end.
 *
 * Order. A long reduction is cut into parts, whose results are combined in order; where
 * it is cut depends on the shape alone, so the result is the same on any number of
 * threads. Operations that are not associative are never cut and go strictly from left to
 * right. Float sums: a block is added in fixed lanes (sum.inc) and block sums in float64
 * with the rounding errors carried along (two-sum), so the error is that of one block,
 * below NumPy's pairwise summation; when stacking, rows are added in order within a part,
 * as NumPy does without parts.
 */
#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/block.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/gather.h"
#include "device/cpu/pool.h"

enum {
    PART = 16384,        /* elements of a part, at least */
    MAX_PARTS = 256,     /* of one folded result */
    MAX_STACKS = 16,     /* parts when stacking */
    FOLD_BLOCK = 4096,   /* elements, when no slots limit the block */
    SUM_BYTES = 8192,    /* of one call of a sum kernel: 32 additions per lane */
    STRIPE_BYTES = 16384 /* of accumulators when stacking */
};

/* s: the sum's parts (re, im) and their lost low bits; else the accumulator's element */
typedef union {
    double s[4];
    char element[32];
} accumulator;

typedef struct {
    asn_plan *plan;
    const aclnnxProgram *program;
    int num_reduced; /* dimensions */
    int64_t block, parts, part_rows, part_inner, units, units_per_task;
    int64_t rows; /* positions of the reduced dimensions but the innermost one */
    int64_t pack; /* stacking: reduced rows per block */
    int64_t stripe, stripes;
    char *partial; /* results of units, when parts > 1 */
    int64_t partial_bytes;
    uint32_t flags;
} reduction_run;

/* ---- accumulators */

static inline void add_exactly(double *sum, double *lost, double x) {
    double s = *sum, t = s + x;
    *sum = t;
    if (__builtin_isfinite(t)) {
        double back = t - s;
        *lost += (s - (t - back)) + (x - back);
    }
}

static void acc_add_sum(accumulator *acc, int parts, const double sum[2],
                        const double *lost) {
    for (int i = 0; i < parts; i++) {
        add_exactly(&acc->s[i], &acc->s[2 + i], sum[i]);
        if (lost) acc->s[2 + i] += lost[i];
    }
}

static void acc_fold(const asn_reduction *r, accumulator *acc, bool first, int64_t n,
                     const char *src) {
    int item = asn_itemsize(r->dtype);
    if (r->sum) {
        int parts = asn_is_complex(r->dtype) ? 2 : 1;
        if (first) acc->s[0] = acc->s[1] = acc->s[2] = acc->s[3] = 0;
        for (int64_t step = SUM_BYTES / item; n > 0; n -= step, src += step * item) {
            double sum[2];
            r->sum(n < step ? n : step, sum, src);
            acc_add_sum(acc, parts, sum, NULL);
        }
        return;
    }
    if (first && r->from_identity) {
        memcpy(acc->element, r->identity, (size_t)item);
    } else if (first) {
        memcpy(acc->element, src, (size_t)item);
        src += item;
        n--;
    }
    uint32_t before = r->quiet ? asn_fp_read() : 0;
    r->fold(n, acc->element, src);
    if (r->quiet && asn_fp_read() != before) asn_fp_write(before);
}

static void acc_combine(const asn_reduction *r, accumulator *acc,
                        const accumulator *other) {
    uint32_t before = r->quiet ? asn_fp_read() : 0;
    if (r->sum)
        acc_add_sum(acc, asn_is_complex(r->dtype) ? 2 : 1, other->s, other->s + 2);
    else
        r->combine(1, acc->element, acc->element, other->element, NULL);
    if (r->quiet && asn_fp_read() != before) asn_fp_write(before);
}

static asn_dtype acc_dtype(const asn_reduction *r) {
    if (!r->sum) return r->dtype;
    return asn_is_complex(r->dtype) ? ASN_C128 : ASN_F64;
}

static void acc_load(const asn_kernels *k, const asn_reduction *r, accumulator *acc,
                     const char *out) {
    if (r->sum) acc->s[0] = acc->s[1] = acc->s[2] = acc->s[3] = -0.0;
    k->cast[r->out_dtype][acc_dtype(r)](1, acc->element, out, NULL, NULL);
}

static void acc_store(const asn_kernels *k, const asn_reduction *r, accumulator *acc,
                      char *out) {
    if (r->sum)
        for (int i = 0; i < 2; i++)
            if (acc->s[2 + i] != 0 && __builtin_isfinite(acc->s[i]))
                acc->s[i] += acc->s[2 + i];
    k->cast[acc_dtype(r)][r->out_dtype](1, out, acc->element, NULL, NULL);
}

/* ---- folding */

/* Adds rows [row, end) of the reduced dimensions, elements [from, to) of each, to the
 * accumulators; bit r of `started`: accumulator r holds something already. */
static void fold_rows(const reduction_run *rr, asn_run *run, const asn_cursor *kept,
                      const int64_t bounds[4], accumulator *accs, uint32_t started) {
    const asn_plan *plan = rr->plan;
    asn_cursor reduced;
    asn_cursor_seek(&reduced, run, 1, rr->num_reduced, bounds[0]);
    for (int64_t row = bounds[0]; row < bounds[1]; row++) {
        for (int64_t x = bounds[2]; x < bounds[3]; x += rr->block) {
            int64_t n = bounds[3] - x < rr->block ? bounds[3] - x : rr->block;
            for (int m = 0; m < run->num_moving; m++) {
                int i = run->moving[m];
                run->offset[i] =
                    kept->offset[i] + reduced.offset[i] + plan->dims[0].stride[i] * x;
            }
            asn_run_block(run, n, 1);
            for (int r = 0; r < plan->num_reductions; r++) {
                const asn_reduction *red = &plan->reductions[r];
                acc_fold(red, &accs[r], !(started >> r & 1), n, run->ptr[red->value]);
            }
            started = ~0u;
        }
        asn_cursor_advance(&reduced, run, 1);
    }
}

static void fold_unit(const reduction_run *rr, asn_run *run, const asn_cursor *kept,
                      int64_t unit) {
    const asn_plan *plan = rr->plan;
    accumulator accs[ACLNNX_MAX_OPERANDS];
    int64_t part = unit % rr->parts;
    int64_t bounds[4] = {0, rr->rows, 0, plan->dims[0].extent};
    int cut = rr->part_rows ? 0 : 2;
    int64_t length = rr->part_rows ? rr->part_rows : rr->part_inner;
    if (rr->parts > 1) {
        bounds[cut] = part * length;
        if (bounds[cut + 1] > bounds[cut] + length)
            bounds[cut + 1] = bounds[cut] + length;
    }
    uint32_t started = 0;
    for (int r = 0; r < plan->num_reductions; r++) {
        const asn_reduction *red = &plan->reductions[r];
        if (part > 0 || !(plan->operands[red->operand].flags & ACLNNX_ACCUMULATE))
            continue;
        acc_load(plan->kernels, red, &accs[r],
                 plan->base[red->operand] + kept->offset[red->operand]);
        started |= 1u << r;
    }
    fold_rows(rr, run, kept, bounds, accs, started);
    if (rr->parts > 1) {
        memcpy(rr->partial + unit * rr->partial_bytes, accs, (size_t)rr->partial_bytes);
        return;
    }
    for (int r = 0; r < plan->num_reductions; r++) {
        const asn_reduction *red = &plan->reductions[r];
        acc_store(plan->kernels, red, &accs[r],
                  plan->base[red->operand] + kept->offset[red->operand]);
    }
}

static void fold_task(void *ctx, int64_t task) {
    reduction_run *rr = ctx;
    const asn_plan *plan = rr->plan;
    int64_t first = task * rr->units_per_task, end = first + rr->units_per_task;
    if (end > rr->units) end = rr->units;
    asn_run run;
    asn_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->block);
    asn_cursor_seek(&kept, &run, rr->num_reduced, plan->num_dims, first / rr->parts);
    for (int64_t u = first; u < end; u++) {
        fold_unit(rr, &run, &kept, u);
        if ((u + 1) % rr->parts == 0) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&rr->flags, asn_fp_conditions(), __ATOMIC_RELAXED);
}

/* Combines the parts of each result, in order. */
static void fold_finish(reduction_run *rr) {
    const asn_plan *plan = rr->plan;
    asn_run run;
    asn_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->block);
    asn_cursor_seek(&kept, &run, rr->num_reduced, plan->num_dims, 0);
    for (int64_t u = 0; u < rr->units; u += rr->parts) {
        accumulator *accs = (accumulator *)(rr->partial + u * rr->partial_bytes);
        for (int r = 0; r < plan->num_reductions; r++) {
            const asn_reduction *red = &plan->reductions[r];
            for (int64_t part = 1; part < rr->parts; part++)
                acc_combine(red, &accs[r], &accs[part * plan->num_reductions + r]);
            acc_store(plan->kernels, red, &accs[r],
                      plan->base[red->operand] + kept.offset[red->operand]);
        }
        asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->track_flags) rr->flags |= asn_fp_conditions();
}

static bool all_split(const asn_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++)
        if (!plan->reductions[r].splits) return false;
    return true;
}

static asn_status run_folding(reduction_run *rr, int inner) {
    asn_plan *plan = rr->plan;
    rr->num_reduced = asn_plan_group(plan, inner);
    asn_plan_place(plan, false);
    rr->block = asn_plan_block(plan, FOLD_BLOCK);
    int64_t extent = plan->dims[0].extent;
    if (rr->block > extent) rr->block = extent;
    int64_t kept = plan->kept_size, reduced = plan->size / kept;
    rr->rows = reduced / extent;
    rr->parts = 1;
    if (kept < 64 && reduced >= 2 * PART && all_split(plan)) {
        int64_t length = reduced / MAX_PARTS > PART ? reduced / MAX_PARTS : PART;
        if (rr->rows == 1) {
            rr->part_inner = (length + rr->block - 1) / rr->block * rr->block;
            rr->parts = (extent + rr->part_inner - 1) / rr->part_inner;
        } else {
            rr->part_rows = (length + extent - 1) / extent;
            rr->parts = (rr->rows + rr->part_rows - 1) / rr->part_rows;
        }
    }
    rr->units = kept * rr->parts;
    rr->partial_bytes = plan->num_reductions * (int64_t)sizeof(accumulator);
    if (rr->parts > 1) {
        rr->partial = asn_malloc((size_t)(rr->units * rr->partial_bytes));
        if (!rr->partial) return ASN_ERR_MEMORY;
    }
    int64_t per_unit = reduced / rr->parts;
    rr->units_per_task = per_unit < PART ? PART / per_unit : 1;
    int64_t tasks = (rr->units + rr->units_per_task - 1) / rr->units_per_task;
    asn_pool_run(fold_task, rr, tasks, asn_plan_work(plan));
    if (rr->parts > 1) fold_finish(rr);
    asn_free(rr->partial);
    return ASN_OK;
}

/* ---- stacking */

/* Adds a block of n elements to accumulators of which `filled` hold something. */
static int64_t stack_block(const asn_reduction *red, char *acc, int64_t filled, int64_t n,
                           const char *src) {
    int64_t item = asn_itemsize(red->dtype);
    if (n > filled && red->from_identity) {
        asn_block_splat(acc + filled * item, red->identity, (int)item, n - filled);
        filled = n;
    }
    int64_t both = filled < n ? filled : n;
    uint32_t before = red->quiet ? asn_fp_read() : 0;
    if (both) red->combine(both, acc, acc, src, NULL);
    if (red->quiet && asn_fp_read() != before) asn_fp_write(before);
    if (n <= filled) return filled;
    memcpy(acc + filled * item, src + filled * item, (size_t)((n - filled) * item));
    return n;
}

/* Between an output's row and accumulators: casts in blocks. */
static void stack_move(const asn_plan *plan, const asn_reduction *red, char *acc,
                       char *out, int64_t n, bool load) {
    enum { BLOCK = 128 };
    char block[BLOCK * 16];
    int64_t stride = plan->dims[0].stride[red->operand];
    int item = asn_itemsize(red->out_dtype), acc_item = asn_itemsize(red->dtype);
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

/* Adds reduced rows [row, end) of the stripe of `width` elements from `from` on. */
static void stack_rows(const reduction_run *rr, asn_run *run, const asn_cursor *kept,
                       const int64_t bounds[4], char *accs, const int64_t *loaded) {
    const asn_plan *plan = rr->plan;
    int64_t from = bounds[2], width = bounds[3] - from, size = rr->stripe * 16;
    int64_t filled[ACLNNX_MAX_OPERANDS];
    asn_cursor reduced;
    asn_cursor_seek(&reduced, run, 1, 1 + rr->num_reduced, bounds[0]);
    for (int r = 0; r < plan->num_reductions; r++)
        filled[r] = loaded[r];
    for (int64_t row = bounds[0]; row < bounds[1];) {
        int64_t n1 = 1;
        if (rr->pack > 1) {
            int64_t left = plan->dims[1].extent - reduced.index[1];
            n1 = rr->pack < left ? rr->pack : left;
        }
        if (n1 > bounds[1] - row) n1 = bounds[1] - row;
        for (int64_t x = 0; x < width; x += rr->block) {
            int64_t n = width - x < rr->block ? width - x : rr->block;
            for (int m = 0; m < run->num_moving; m++) {
                int i = run->moving[m];
                run->offset[i] = kept->offset[i] + reduced.offset[i] +
                                 plan->dims[0].stride[i] * (from + x);
            }
            asn_run_block(run, n, n1);
            for (int r = 0; r < plan->num_reductions; r++) {
                const asn_reduction *red = &plan->reductions[r];
                char *acc = accs + r * size + x * asn_itemsize(red->dtype);
                int64_t have = filled[r] > x ? filled[r] - x : 0;
                have = stack_block(red, acc, have, n * n1, run->ptr[red->value]);
                if (x + have > filled[r]) filled[r] = x + have;
            }
        }
        row += n1;
        asn_cursor_advance(&reduced, run, n1);
    }
    for (int r = 0; r < plan->num_reductions; r++) {
        const asn_reduction *red = &plan->reductions[r];
        char *acc = accs + r * size;
        int item = asn_itemsize(red->dtype);
        for (int64_t at = width; at < filled[r]; at += width)
            stack_block(red, acc, width, width, acc + at * item);
    }
}

static void stack_unit(const reduction_run *rr, asn_run *run, const asn_cursor *kept,
                       int64_t unit, char *accs) {
    const asn_plan *plan = rr->plan;
    int64_t part = unit % rr->parts, stripe = unit / rr->parts % rr->stripes;
    int64_t bounds[4] = {part * rr->part_rows, (part + 1) * rr->part_rows,
                         stripe * rr->stripe, (stripe + 1) * rr->stripe};
    if (bounds[1] > rr->rows) bounds[1] = rr->rows;
    if (bounds[3] > plan->dims[0].extent) bounds[3] = plan->dims[0].extent;
    int64_t width = bounds[3] - bounds[2], loaded[ACLNNX_MAX_OPERANDS];
    char *out[ACLNNX_MAX_OPERANDS];
    if (rr->parts > 1) accs = rr->partial + unit * rr->partial_bytes;
    for (int r = 0; r < plan->num_reductions; r++) {
        const asn_reduction *red = &plan->reductions[r];
        int i = red->operand;
        out[r] = plan->base[i] + kept->offset[i] + plan->dims[0].stride[i] * bounds[2];
        loaded[r] = 0;
        if (part || !(plan->operands[i].flags & ACLNNX_ACCUMULATE)) continue;
        stack_move(plan, red, accs + r * rr->stripe * 16, out[r], width, true);
        loaded[r] = width;
    }
    stack_rows(rr, run, kept, bounds, accs, loaded);
    if (rr->parts > 1) return;
    for (int r = 0; r < plan->num_reductions; r++)
        stack_move(plan, &plan->reductions[r], accs + r * rr->stripe * 16, out[r], width,
                   false);
}

static void stack_task(void *ctx, int64_t task) {
    reduction_run *rr = ctx;
    const asn_plan *plan = rr->plan;
    int64_t first = task * rr->units_per_task, end = first + rr->units_per_task;
    if (end > rr->units) end = rr->units;
    _Alignas(64) char accs[STRIPE_BYTES];
    asn_run run;
    asn_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->block * rr->pack);
    int64_t per_kept = rr->stripes * rr->parts;
    asn_cursor_seek(&kept, &run, 1 + rr->num_reduced, plan->num_dims, first / per_kept);
    for (int64_t u = first; u < end; u++) {
        stack_unit(rr, &run, &kept, u, accs);
        if ((u + 1) % per_kept == 0) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&rr->flags, asn_fp_conditions(), __ATOMIC_RELAXED);
}

static void stack_finish(reduction_run *rr) {
    const asn_plan *plan = rr->plan;
    asn_run run;
    asn_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->block * rr->pack);
    asn_cursor_seek(&kept, &run, 1 + rr->num_reduced, plan->num_dims, 0);
    for (int64_t u = 0; u < rr->units; u += rr->parts) {
        int64_t stripe = u / rr->parts % rr->stripes, from = stripe * rr->stripe;
        int64_t width = plan->dims[0].extent - from;
        if (width > rr->stripe) width = rr->stripe;
        for (int r = 0; r < plan->num_reductions; r++) {
            const asn_reduction *red = &plan->reductions[r];
            char *acc = rr->partial + u * rr->partial_bytes + r * rr->stripe * 16;
            for (int64_t part = 1; part < rr->parts; part++)
                stack_block(red, acc, width, width, acc + part * rr->partial_bytes);
            int i = red->operand;
            stack_move(plan, red, acc,
                       plan->base[i] + kept.offset[i] + plan->dims[0].stride[i] * from,
                       width, false);
        }
        if (stripe == rr->stripes - 1) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->track_flags) rr->flags |= asn_fp_conditions();
}

/* How wide stripes are, and how many reduced rows make a block. */
static void choose_stripe(reduction_run *rr) {
    asn_plan *plan = rr->plan;
    int64_t extent = plan->dims[0].extent;
    int64_t widest = STRIPE_BYTES / 16 / plan->num_reductions;
    asn_plan_place(plan, false);
    rr->block = asn_plan_block(plan, widest);
    rr->pack = 1;
    if (rr->num_reduced && extent * 4 <= (rr->block < widest ? rr->block : widest) &&
        all_split(plan)) {
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
        asn_plan_place(plan, false);
        rr->block = asn_plan_block(plan, widest);
    }
    if (rr->block > widest) rr->block = widest;
    if (rr->block > extent) rr->block = extent;
    rr->stripe = widest / rr->block * rr->block;
    if (rr->stripe > extent) rr->stripe = extent;
    rr->stripes = (extent + rr->stripe - 1) / rr->stripe;
}

static asn_status run_stacking(reduction_run *rr, int inner) {
    asn_plan *plan = rr->plan;
    rr->num_reduced = asn_plan_group(plan, inner);
    choose_stripe(rr);
    rr->rows = plan->size / plan->kept_size;
    int64_t outer = plan->kept_size / plan->dims[0].extent;
    int64_t results = outer * rr->stripes;
    rr->parts = 1;
    if (results < 16 && plan->size >= 4 * PART && all_split(plan)) {
        int64_t parts = plan->size / results / PART;
        rr->parts = parts < 1 ? 1 : parts > MAX_STACKS ? MAX_STACKS : parts;
        if (rr->parts > rr->rows) rr->parts = rr->rows;
    }
    rr->part_rows = (rr->rows + rr->parts - 1) / rr->parts;
    rr->parts = (rr->rows + rr->part_rows - 1) / rr->part_rows;
    rr->units = results * rr->parts;
    rr->partial_bytes = plan->num_reductions * rr->stripe * 16;
    if (rr->parts > 1) {
        rr->partial = asn_malloc((size_t)(rr->units * rr->partial_bytes));
        if (!rr->partial) return ASN_ERR_MEMORY;
    }
    int64_t per_unit = plan->size / rr->units + 1;
    rr->units_per_task = per_unit < PART ? PART / per_unit : 1;
    int64_t tasks = (rr->units + rr->units_per_task - 1) / rr->units_per_task;
    asn_pool_run(stack_task, rr, tasks, asn_plan_work(plan));
    if (rr->parts > 1) stack_finish(rr);
    asn_free(rr->partial);
    return ASN_OK;
}

/* ---- the whole */

/* The identity of each operation, or an error where it has none. */
static asn_status reduce_nothing(const asn_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++) {
        const asn_reduction *red = &plan->reductions[r];
        if (plan->kept_size == 0 ||
            (plan->operands[red->operand].flags & ACLNNX_ACCUMULATE))
            continue;
        if (!red->has_identity)
            return asn_error_set(ASN_ERR_VALUE,
                                 "zero-size array to reduction operation %s which has no "
                                 "identity",
                                 asn_op_table[red->op].name);
        _Alignas(16) char element[16];
        plan->kernels->cast[red->dtype][red->out_dtype](1, element, red->identity, NULL,
                                                        NULL);
        int64_t shape[ACLNNX_MAX_DIMS], strides[ACLNNX_MAX_DIMS];
        int ndim = 0;
        for (int d = plan->num_dims - 1; d >= 0; d--) {
            if (plan->dims[d].reduced) continue;
            shape[ndim] = plan->dims[d].extent;
            strides[ndim++] = plan->dims[d].stride[red->operand];
        }
        asn_nd out = {plan->base[red->operand], ndim, red->out_dtype, shape, strides};
        ASN_TRY(asn_cpu_fill(&out, element));
    }
    return ASN_OK;
}

static asn_status check_order(const asn_plan *plan, const aclnnxProgram *p) {
    int reduced = 0;
    for (int d = 0; d < p->numDims; d++)
        reduced += p->shape[d] != 1 && (p->reduceMask >> d & 1);
    for (int r = 0; r < plan->num_reductions && reduced > 1; r++) {
        const asn_op_info *info = &asn_op_table[plan->reductions[r].op];
        if (!(info->flags & ASN_OPF_REORDERABLE))
            return asn_error_set(
                ASN_ERR_VALUE,
                "reduction operation '%s' is not reorderable, so at most one "
                "axis may be specified",
                info->name);
    }
    return ASN_OK;
}

/* The dimension to put innermost: the one that is so in memory, unless it is reduced and
 * so short that folding it costs more than walking across it. */
static int choose_inner(const asn_plan *plan) {
    enum { SHORT = 16 };
    if (!plan->dims[0].reduced || plan->dims[0].extent >= SHORT) return 0;
    for (int d = 1; d < plan->num_dims; d++)
        if (!plan->dims[d].reduced && plan->dims[d].extent > plan->dims[0].extent)
            return d;
    return 0;
}

asn_status asn_plan_run_reductions(asn_plan *plan, const aclnnxProgram *p) {
    ASN_TRY(check_order(plan, p));
    if (plan->size == 0) return reduce_nothing(plan);
    reduction_run rr = {.plan = plan, .program = p};
    int inner = choose_inner(plan);
    asn_status status =
        plan->dims[inner].reduced ? run_folding(&rr, inner) : run_stacking(&rr, inner);
    if (p->fpFlags) __atomic_fetch_or(p->fpFlags, rr.flags, __ATOMIC_RELAXED);
    return status;
}
