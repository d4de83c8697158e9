/* CPU device: reductions by folding: the inner dimension is reduced, and every block is
 * folded into one accumulator per output. See fused_reduce.c for the whole and for the
 * order of accumulation.
 *
 * Short rows that one result takes several of are put together to a block (two cores, us,
 * NumPy's, by single rows, so: (a * a[0]).sum() of 66666 x 5 float64 650, 1210, 110, the
 * same with a[:, :1] 540, 1650, 86).
 *
 * Float sums: accumulators are float64 (pairs of it for complex numbers), each with the
 * sum of what its additions rounded away (two-sum, Knuth, The Art of Computer
 * Programming, volume 2), which is added once, when the result is stored. Other
 * operations fold in the dtype itself, from left to right where the operation is not
 * associative.
 */
#include <string.h>

#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused_reduce.h"
#include "device/cpu/move/gather.h"

enum {
    MAX_PARTS = 256,   /* of one result */
    FOLD_BLOCK = 4096, /* elements, when no slots limit the block */
    ANY_BLOCK = 32768, /* of any(), all(), extremes, whose order says nothing */
    SUM_BYTES = 8192,  /* of one call of a sum kernel: 32 additions per lane */
    PACK = 4           /* rows that a block takes at least, or it takes one */
};

/* s: the sum's parts (re, im) and their lost low bits; else the accumulator's element */
typedef union {
    double s[4];
    char element[32];
} accumulator;

/* ---- accumulators */

/* *sum += x, and the rounding error exactly to *lost. Not where the sum is infinite or
 * NaN: the error would be NaN, and there is nothing to correct. */
static inline void add_exactly(double *sum, double *lost, double x) {
    double s = *sum, t = s + x;
    *sum = t;
    if (__builtin_isfinite(t)) {
        double back = t - s;
        *lost += (s - (t - back)) + (x - back);
    }
}

/* Adds a block's sum (parts: 1, or 2 for re and im); lost: the low bits of another
 * accumulator, or NULL. */
static void acc_add_sum(accumulator *acc, int parts, const double sum[2],
                        const double *lost) {
    for (int i = 0; i < parts; i++) {
        add_exactly(&acc->s[i], &acc->s[2 + i], sum[i]);
        if (lost) acc->s[2 + i] += lost[i];
    }
}

/* The lanes that machine code left of a block, added up as in sum.inc. first: the
 * accumulator holds nothing yet and is cleared. Halving the lanes is the kernel's own
 * last step, so the bits are those of a call of it. */
static void acc_add_lanes(const asnd_reduction *r, accumulator *acc, bool first,
                          const char *src) {
    double sum[2] = {0, 0};
    if (r->dtype == ASN_F64) {
        double lanes[8];
        memcpy(lanes, src, sizeof lanes);
        for (int width = 4; width; width /= 2)
            for (int j = 0; j < width; j++)
                lanes[j] += lanes[j + width];
        sum[0] = lanes[0];
    } else {
        float lanes[16];
        memcpy(lanes, src, sizeof lanes);
        for (int width = 8; width; width /= 2)
            for (int j = 0; j < width; j++)
                lanes[j] += lanes[j + width];
        sum[0] = (double)lanes[0];
    }
    if (first) *acc = (accumulator){0};
    acc_add_sum(acc, 1, sum, NULL);
}

/* n elements at src onto the accumulator. first: it holds nothing yet and starts from the
 * identity, or from the first element where the operation has none that keeps bits. */
static void acc_fold(const asnd_reduction *r, accumulator *acc, bool first, int64_t n,
                     const char *src) {
    int item = asn_itemsize(r->dtype);
    if (r->sum) {
        int parts = asn_is_complex(r->dtype) ? 2 : 1;
        if (first) *acc = (accumulator){0};
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
    if (r->quiet) asn_fp_restore(before);
}

/* acc = acc op other, both of the same reduction; acc is that of the earlier elements. */
static void acc_combine(const asnd_reduction *r, accumulator *acc,
                        const accumulator *other) {
    uint32_t before = r->quiet ? asn_fp_read() : 0;
    if (r->sum)
        acc_add_sum(acc, asn_is_complex(r->dtype) ? 2 : 1, other->s, other->s + 2);
    else
        r->combine(1, acc->element, acc->element, other->element, NULL);
    if (r->quiet) asn_fp_restore(before);
}

/* The dtype of what `element` holds: float64 parts while summing floats. */
static asn_dtype acc_dtype(const asnd_reduction *r) {
    if (!r->sum) return r->dtype;
    return asn_is_complex(r->dtype) ? ASN_C128 : ASN_F64;
}

/* ACLNNX_ACCUMULATE: the output's present element comes first. The lost bits begin as
 * -0.0, which changes no sum. */
static void acc_load(const asnd_kernels *k, const asnd_reduction *r, accumulator *acc,
                     const char *out) {
    if (r->sum) *acc = (accumulator){{-0.0, -0.0, -0.0, -0.0}};
    k->cast[r->out_dtype][acc_dtype(r)](1, acc->element, out, NULL, NULL);
}

/* The lost bits join the sum and the result is rounded once, to the output's dtype. */
static void acc_store(const asnd_kernels *k, const asnd_reduction *r, accumulator *acc,
                      char *out) {
    if (r->sum)
        for (int i = 0; i < 2; i++)
            if (acc->s[2 + i] != 0 && __builtin_isfinite(acc->s[i]))
                acc->s[i] += acc->s[2 + i];
    k->cast[acc_dtype(r)][r->out_dtype](1, out, acc->element, NULL, NULL);
}

/* ---- folding */

/* Rows of a block that begins at `row`, before `end`: such that follow each other along
 * dimension 1. */
static int64_t block_rows(const asnd_reduction_run *rr, const asnd_cursor *reduced,
                          int64_t row, int64_t end) {
    if (rr->pack == 1) return 1;
    int64_t rows = rr->plan->dims[1].extent - reduced->index[1];
    if (rows > rr->pack) rows = rr->pack;
    return rows < end - row ? rows : end - row;
}

/* Adds rows [row, end) of the reduced dimensions, elements [from, to) of each, to the
 * accumulators; bit r of `started`: accumulator r holds something already. bounds: row,
 * end, from, to. */
static void fold_rows(asnd_reduction_run *rr, asnd_run *run, const asnd_cursor *kept,
                      const int64_t bounds[4], accumulator *accs, uint32_t started) {
    const asnd_plan *plan = rr->plan;
    asnd_cursor reduced;
    asn_cursor_seek(&reduced, run, 1, rr->num_reduced, bounds[0]);
    for (int64_t row = bounds[0], rows; row < bounds[1]; row += rows) {
        rows = block_rows(rr, &reduced, row, bounds[1]);
        for (int64_t x = bounds[2]; x < bounds[3]; x += rr->block) {
            int64_t n = bounds[3] - x < rr->block ? bounds[3] - x : rr->block;
            for (int m = 0; m < run->num_moving; m++) {
                int i = run->moving[m];
                run->offset[i] =
                    kept->offset[i] + reduced.offset[i] + plan->dims[0].stride[i] * x;
            }
            asn_run_block(run, n, rows);
            for (int r = 0; r < plan->num_reductions; r++) {
                const asnd_reduction *red = &plan->reductions[r];
                bool first = !(started >> r & 1);
                if (run->summed)
                    acc_add_lanes(red, &accs[r], first, run->ptr[red->value]);
                else
                    acc_fold(red, &accs[r], first, n * rows, run->ptr[red->value]);
            }
            started = ~0u;
            if (rr->ends_early && accs[0].element[0] == rr->last_word) {
                __atomic_store_n(&rr->settled, 1, __ATOMIC_RELAXED);
                return;
            }
        }
        asn_cursor_advance(&reduced, run, rows);
    }
}

/* One unit: a whole result, or a part of one, by rows (part_rows) or within the only row
 * (part_inner). A part's accumulators go to rr->partial for fold_finish. */
static void fold_unit(asnd_reduction_run *rr, asnd_run *run, const asnd_cursor *kept,
                      int64_t unit) {
    const asnd_plan *plan = rr->plan;
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
        const asnd_reduction *red = &plan->reductions[r];
        if (part > 0 || !(plan->operands[red->operand].flags & ACLNNX_ACCUMULATE))
            continue;
        acc_load(plan->kernels, red, &accs[r],
                 rr->base[red->operand] + kept->offset[red->operand]);
        started |= 1u << r;
    }
    if (rr->ends_early && rr->units == rr->parts && rr->parts > 1 &&
        __atomic_load_n(&rr->settled, __ATOMIC_RELAXED))
        accs[0].element[0] = rr->last_word; /* known without a look */
    else
        fold_rows(rr, run, kept, bounds, accs, started);
    if (rr->parts > 1) {
        memcpy(rr->partial + unit * rr->partial_bytes, accs, (size_t)rr->partial_bytes);
        return;
    }
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        acc_store(plan->kernels, red, &accs[r],
                  rr->base[red->operand] + kept->offset[red->operand]);
    }
}

/* Consecutive units, by one thread. */
static void fold_task(void *ctx, int64_t task) {
    asnd_reduction_run *rr = ctx;
    const asnd_plan *plan = rr->plan;
    int64_t first = task * rr->units_per_task, end = first + rr->units_per_task;
    if (end > rr->units) end = rr->units;
    asnd_run run;
    asnd_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->base, rr->block);
    asn_cursor_seek(&kept, &run, rr->num_reduced, plan->num_dims, first / rr->parts);
    for (int64_t u = first; u < end; u++) {
        fold_unit(rr, &run, &kept, u);
        if ((u + 1) % rr->parts == 0) asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&rr->flags, asn_fp_exceptions(), __ATOMIC_RELAXED);
}

/* Combines the parts of each result, in order. */
static void fold_finish(asnd_reduction_run *rr) {
    const asnd_plan *plan = rr->plan;
    asnd_run run;
    asnd_cursor kept;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, rr->base, rr->block);
    asn_cursor_seek(&kept, &run, rr->num_reduced, plan->num_dims, 0);
    for (int64_t u = 0; u < rr->units; u += rr->parts) {
        accumulator *accs = (accumulator *)(rr->partial + u * rr->partial_bytes);
        for (int r = 0; r < plan->num_reductions; r++) {
            const asnd_reduction *red = &plan->reductions[r];
            for (int64_t part = 1; part < rr->parts; part++)
                acc_combine(red, &accs[r], &accs[part * plan->num_reductions + r]);
            acc_store(plan->kernels, red, &accs[r],
                      rr->base[red->operand] + kept.offset[red->operand]);
        }
        asn_cursor_advance(&kept, &run, 1);
    }
    if (plan->track_flags) rr->flags |= asn_fp_exceptions();
}

/* any() and all(): the first true (false) decides, where nothing else comes of the
 * others: an output stored by the same program needs every element, and so does the
 * warning of an operation that may overflow on a later one. Which value decides, if one
 * does, the operation's own four results tell. */
static void end_early(asnd_reduction_run *rr) {
    static const bool a[4] = {false, false, true, true},
                      b[4] = {false, true, false, true};
    const asnd_reduction *red = &rr->plan->reductions[0];
    bool r[4];
    rr->ends_early = red->dtype == ASN_BOOL && !rr->plan->track_flags &&
                     rr->plan->num_reductions == 1 &&
                     rr->plan->num_operands == rr->plan->num_in + 1;
    if (!rr->ends_early) return;
    red->combine(4, r, a, b, NULL);
    rr->ends_early = r[1] == r[2] && r[1] == r[r[1] ? 3 : 0];
    rr->last_word = r[1];
}

/* A single maximum or minimum: its order says nothing, so its blocks may be long. */
static bool is_extreme(const asnd_plan *plan) {
    return plan->num_reductions == 1 &&
           asn_op_table[plan->reductions[0].op].flags & ASN_OPF_EXTREME;
}

/* Places the values for blocks of several whole rows; false: too few fit. How many do
 * follows from the steps' block, so that machine code adds in the same order. */
static bool place_rows(asnd_reduction_run *rr, int64_t most) {
    asnd_plan *plan = rr->plan;
    int64_t extent = plan->dims[0].extent;
    if (rr->num_reduced < 2 || extent * PACK > most) return false;
    for (int r = 0; r < plan->num_reductions; r++) {
        int64_t step = SUM_BYTES / plan->item[plan->reductions[r].value];
        if (plan->reductions[r].sum && most > step) most = step;
    }
    asn_plan_place(plan, true);
    rr->pack = asn_plan_block(plan, most) / extent;
    if (rr->pack < PACK) return false;
    asn_plan_attach(plan);
    if (plan->code) (void)asn_plan_block(plan, most); /* it may refuse the code */
    rr->block = rr->pack * extent;
    return true;
}

/* ... or of one, or of a part of one. */
static void place_row(asnd_reduction_run *rr, int64_t most) {
    asnd_plan *plan = rr->plan;
    rr->pack = 1;
    asn_plan_place(plan, false);
    rr->block = asn_plan_block(plan, most);
    asn_plan_attach(plan);
    if (plan->code) rr->block = asn_plan_block(plan, most);
    if (rr->block > plan->dims[0].extent) rr->block = plan->dims[0].extent;
}

/* Parts are cut where results are few and long; their length depends on the shape alone,
 * never on the threads. */
void asn_reduce_fold(asnd_reduction_run *rr, int inner) {
    asnd_plan *plan = rr->plan;
    end_early(rr);
    rr->num_reduced = asn_plan_group(plan, inner);
    plan->folds = true;
    if (asn_reduce_rows(rr)) return;
    int64_t most = rr->ends_early || is_extreme(plan) ? ANY_BLOCK : FOLD_BLOCK;
    if (!place_rows(rr, most)) place_row(rr, most);
    int64_t extent = plan->dims[0].extent;
    int64_t kept = plan->kept_size, reduced = plan->size / kept;
    rr->rows = reduced / extent;
    rr->parts = 1;
    if (kept < 64 && reduced >= 2 * ASN_PART && asn_reductions_split(plan)) {
        int64_t length = reduced / MAX_PARTS > ASN_PART ? reduced / MAX_PARTS : ASN_PART;
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
    int64_t per_unit = reduced / rr->parts;
    rr->units_per_task = asn_units_per_task(plan, per_unit);
    rr->tasks = (rr->units + rr->units_per_task - 1) / rr->units_per_task;
    rr->task = fold_task;
    rr->finish = rr->parts > 1 ? fold_finish : NULL;
}
