/* CPU device: fused programs without reductions, block by block.
 *
 * A block is a piece of a row; where rows are short, several rows of the next dimension.
 * Blocks are grouped into chunks of up to CHUNK elements for the pool; what a block
 * computes does not depend on the grouping.
 *
 * Where the values do not depend on it, the way is the cheapest that fits: one call of
 * one loop (run_single), one block (run_block), whole rows without a block's overhead
 * (run_rows), else blocks (run_units), which is the general path.
 */
#include "device/cpu/fused/fused_elements.h"

#include "base/strides.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/threads.h"

enum {
    CHUNK = 16384, /* elements, fewer when they take long: */
    CHUNK_LEAST = 2048,
    CHUNK_NS = 10000,
    /* Rows are packed, at the price of a copy of each operand, when a block holds this
     * many: four operations on a bool row of 1020 take 88 ns in place and 121 ns packed
     * by two. */
    PACK = 4
};

/* The operands' bytes cost 0.01 ns each in the caches, 0.03 from memory, on top of the
 * steps. */
double asn_plan_work(const asnd_plan *plan) {
    double bytes = 0;
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->base[i]) bytes += asn_itemsize(plan->dtype[i]);
    bool cached = bytes * (double)plan->size < 1 << 20;
    return (double)plan->size * (plan->step_ns + bytes * (cached ? 0.01 : 0.03));
}

/* The plan's only step on `rows` rows of n elements: pointer place[m] moves by step[m]
 * bytes from row to row. */
static void run_loop(const asnd_step *s, char **ptr, int64_t n, int64_t rows, int moving,
                     const uint16_t *place, const int64_t *step) {
    while (rows--) {
        s->fn(n, ptr[s->dst], ptr[s->src[0]], ptr[s->src[1]], ptr[s->src[2]]);
        for (int m = 0; m < moving; m++)
            ptr[place[m]] += step[m];
    }
}

/* One loop and no exceptions to hide, or machine code that has no element to leave to it.
 */
static bool is_plain(const asnd_plan *plan) {
    const asnd_step *step = plan->steps;
    return plan->code ? !asn_plan_checks(plan)
                      : plan->num_steps == 1 && !step->loop &&
                            !(plan->track_flags && step->quiet);
}

/* Whole rows that lie where they are used, which is what slices of an array give: between
 * two rows there is nothing to do but to step (128 rows of 128 elements, six operands:
 * 13.1 -> 11.3 us). False: this is another case. */
static bool run_rows(const asnd_elements *e, asnd_run *run, int64_t first, int64_t end) {
    const asnd_plan *plan = e->plan;
    const int64_t n = plan->dims[0].extent;
    uint16_t place[ACLNNX_MAX_OPERANDS];
    int64_t step[ACLNNX_MAX_OPERANDS];
    if (e->split || e->units_per_line != 1 || plan->num_dims < 2 || !is_plain(plan))
        return false;
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m];
        if (plan->access[i] != ASN_AT_DIRECT && plan->access[i] != ASN_AT_ROW)
            return false;
        place[m] = plan->value[i];
        step[m] = plan->dims[1].stride[i];
    }
    while (first < end) {
        asnd_cursor row;
        asn_cursor_seek(&row, run, 1, plan->num_dims, first);
        int64_t rows = plan->dims[1].extent - row.index[1];
        if (rows > end - first) rows = end - first;
        for (int m = 0; m < run->num_moving; m++)
            run->ptr[place[m]] = run->base[run->moving[m]] + row.offset[run->moving[m]];
        first += rows;
        if (plan->code)
            (void)asn_jit_run_rows(plan->code, run->ptr, n, rows, run->num_moving, place,
                                   step);
        else
            run_loop(plan->steps, run->ptr, n, rows, run->num_moving, place, step);
    }
    return true;
}

/* Units [first, end) of e, by one thread. A unit is `step` positions of the split
 * dimension: elements of a row, or rows. */
static void run_units(const asnd_elements *e, int64_t first, int64_t end) {
    const asnd_plan *plan = e->plan;
    const asnd_dim *dim = &plan->dims[e->split];
    asnd_run run;
    asnd_cursor outer;
    asn_run_init(&run, plan, e->base, e->block);
    if (run_rows(e, &run, first, end)) {
        if (plan->streams) asn_block_stream_end();
        return;
    }
    asn_cursor_seek(&outer, &run, e->split + 1, plan->num_dims,
                    first / e->units_per_line);
    int64_t at = first % e->units_per_line * e->step;
    for (int64_t u = first; u < end; u++) {
        int64_t n = dim->extent - at < e->step ? dim->extent - at : e->step;
        for (int m = 0; m < run.num_moving; m++) {
            int i = run.moving[m];
            run.offset[i] = outer.offset[i] + dim->stride[i] * at;
        }
        if (e->split == 0)
            asn_run_block(&run, n, 1);
        else
            asn_run_block(&run, plan->dims[0].extent, n);
        at += n;
        if (at == dim->extent) {
            at = 0;
            asn_cursor_advance(&outer, &run, 1);
        }
    }
    if (plan->streams) asn_block_stream_end();
}

/* A pool chunk; the exceptions of its thread are or-ed into e->flags. */
static void run_chunk(void *ctx, int64_t chunk) {
    asnd_elements *e = ctx;
    int64_t first = chunk * e->units_per_chunk, end = first + e->units_per_chunk;
    if (e->plan->track_flags) asn_fp_clear();
    run_units(e, first, end < e->units ? end : e->units);
    if (e->plan->track_flags)
        __atomic_fetch_or(&e->flags, asn_fp_exceptions(), __ATOMIC_RELAXED);
}

/* A power of two: large outputs are stored line by line. The longer an element takes, the
 * fewer make a chunk. */
static int64_t chunk_of(const asnd_plan *plan) {
    double ns = asn_plan_work(plan) / (double)plan->size;
    int64_t n = CHUNK;
    while (n > CHUNK_LEAST && (double)n * ns > CHUNK_NS)
        n /= 2;
    return n;
}

/* Whether elements of an output share memory. Such a program runs on one thread, in
 * order. */
static bool writes_twice(const asnd_plan *plan) {
    int64_t shape[ACLNNX_MAX_DIMS], strides[ACLNNX_MAX_DIMS];
    for (int i = plan->num_in; i < plan->num_operands; i++) {
        for (int d = 0; d < plan->num_dims; d++) {
            shape[d] = plan->dims[d].extent;
            strides[d] = plan->dims[d].stride[i];
        }
        if (asn_strides_collide(plan->num_dims, shape, strides,
                                asn_itemsize(plan->dtype[i])))
            return true;
    }
    return false;
}

/* The operand whose value it is, if the only step reads and writes operands where they
 * lie; -1. */
static int direct_operand(const asnd_plan *plan, int value) {
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->value[i] == value && plan->access[i] == ASN_AT_DIRECT) return i;
    return -1;
}

/* One loop over operands as they lie, called once where one thread runs it: ten elements
 * take 20 ns less so than with a run of a block, 1e5 25.8 us and not 26.8. */
static bool find_single(asnd_elements *e) {
    const asnd_plan *plan = e->plan;
    const asnd_step *step = plan->steps;
    if (plan->code || !is_plain(plan) || (e->units > 1 && plan->num_dims > 1))
        return false;
    int from[4] = {step->dst, step->src[0], step->src[1], step->src[2]};
    for (int k = 0; k < 4; k++) {
        int i = direct_operand(plan, from[k]);
        if (i < 0) return false;
        e->argument[k] = (uint8_t)i;
    }
    return true;
}

/* First placed for parts of rows; where PACK rows would fit a block they are packed,
 * which gives slots to operands that are not linear across rows and so shortens the
 * block: if the rows do not fit any more, back to the first. */
void asn_elements_prepare(asnd_elements *e, asnd_plan *plan) {
    *e = (asnd_elements){.plan = plan};
    const int64_t chunk = chunk_of(plan);
    int64_t inner = plan->dims[0].extent;
    asn_plan_place(plan, false);
    e->block = asn_plan_block(plan, chunk);
    if (plan->num_dims > 1 && inner * PACK <= e->block) {
        asn_plan_place(plan, true);
        e->block = asn_plan_block(plan, chunk);
        e->split = inner * PACK <= e->block;
        if (!e->split) {
            asn_plan_place(plan, false);
            e->block = asn_plan_block(plan, chunk);
        }
    }
    asn_plan_attach(plan);
    if (plan->code) e->block = asn_plan_block(plan, chunk);
    e->step = e->split ? e->block / inner : e->block;
    int64_t extent = plan->dims[e->split].extent;
    int64_t line = e->split ? extent * inner : extent;
    if (e->step > extent) e->step = extent;
    if (!e->split && e->block > extent) e->block = extent;
    e->units_per_line = (extent + e->step - 1) / e->step;
    e->units = plan->size / line * e->units_per_line;
    int64_t unit = e->split ? e->step * inner : e->step;
    e->units_per_chunk = unit < chunk ? chunk / unit : 1;
    e->chunks = (e->units + e->units_per_chunk - 1) / e->units_per_chunk;
    /* The last of several writes to a place is the last in order, on one thread. */
    e->work_ns = e->chunks > 1 && writes_twice(plan) ? 0 : asn_plan_work(plan);
    e->single = find_single(e);
}

/* One call for everything, on the calling thread. */
static void run_single(const asnd_elements *e, char *const *base) {
    const uint8_t *at = e->argument;
    e->plan->steps->fn(e->plan->size, base[at[0]], base[at[1]], base[at[2]], base[at[3]]);
}

/* All in one block: what surrounds it would take longer than ten elements do. */
static void run_block(const asnd_elements *e, char *const *base) {
    const asnd_plan *plan = e->plan;
    asnd_run run;
    asn_run_init(&run, plan, base, e->block);
    asn_run_block(&run, plan->dims[0].extent, e->split ? plan->dims[1].extent : 1);
    if (plan->streams) asn_block_stream_end();
}

/* On the caller, without the pool; NULL fp_flags: nobody asks for the exceptions. */
static void run_at_once(const asnd_elements *e, char *const *base, uint32_t *fp_flags) {
    const bool tracks = e->plan->track_flags && fp_flags;
    if (tracks) asn_fp_clear();
    if (e->single)
        run_single(e, base);
    else
        run_block(e, base);
    if (tracks) asn_fp_collect(fp_flags);
}

void asn_elements_run(const asnd_elements *prepared, char *const *base,
                      uint32_t *fp_flags) {
    const bool whole = prepared->units == 1 ||
                       (prepared->single && asn_pool_width(prepared->work_ns) == 1);
    if (whole) {
        run_at_once(prepared, base, fp_flags);
        return;
    }
    asnd_elements e = *prepared;
    e.base = base;
    if (asn_pool_width(e.work_ns) == 1) { /* nobody to share them with */
        e.units_per_chunk = e.units;
        e.chunks = 1;
    }
    asn_pool_run(run_chunk, &e, e.chunks, e.work_ns);
    if (fp_flags && e.flags) __atomic_fetch_or(fp_flags, e.flags, __ATOMIC_RELAXED);
}
