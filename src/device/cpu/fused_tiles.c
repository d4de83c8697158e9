/* CPU device: elementwise programs over an operand that lies across the others: g.T + g.
 *
 * A row of the result would take one element from each of a thousand cache lines, which
 * are gone before the next row wants their neighbours. So a block is a square of the two
 * innermost dimensions: every operand's part of it is brought into L1, the operand that
 * lies across by a transposition in registers, and the result's rows are stored from
 * there. While a square is computed the next one of the band is fetched: its pieces of
 * rows are too short for the processor to foresee. float64, one thread, NumPy's time over
 * ours, and before: g.T + g of 512 x 512 2.8 (1.1), of 1000 x 1000 1.0 (0.8), where
 * memory limits both; g[...] = h.T from float32, 1000 x 1000, 1.4 (0.7).
 */
#include "device/cpu/block.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/fused_tiles.h"
#include "device/cpu/gather.h"
#include "device/cpu/pool.h"

enum { MOST = 32, LEAST = 16, LINE = 64 };

typedef struct {
    const asn_plan *plan;
    int64_t edge, bands; /* of a square; of one pair of inner dimensions */
    uint32_t flags;
} tile_run;

static bool lies_across(const asn_plan *plan, int i) {
    int64_t step = plan->dims[0].stride[i];
    return plan->base[i] && (step >= LINE || step <= -LINE) &&
           plan->dims[1].stride[i] == asn_itemsize(plan->dtype[i]);
}

static bool wants_tiles(const asn_plan *plan) {
    if (plan->num_dims < 2 || plan->dims[0].extent < MOST || plan->dims[1].extent < MOST)
        return false;
    for (int i = 0; i < plan->num_in; i++)
        if (lies_across(plan, i)) return true;
    return false;
}

/* Touches the lines of inputs at the run's offsets moved on by one square. */
static void fetch_next(const asn_run *run, int64_t n0, int64_t n1) {
    const asn_plan *plan = run->plan;
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m];
        if (i >= plan->num_in) break;
        int64_t s0 = plan->dims[0].stride[i], s1 = plan->dims[1].stride[i];
        bool across = lies_across(plan, i);
        const char *p = plan->base[i] + run->offset[i] + n0 * s0;
        int64_t rows = across ? n0 : n1, step = across ? s0 : s1;
        int64_t bytes = (across ? n1 : n0) * asn_itemsize(plan->dtype[i]);
        for (int64_t r = 0; r < rows; r++, p += step)
            for (int64_t b = 0; b < bytes; b += LINE)
                __builtin_prefetch(p + b);
    }
}

/* A band: `edge` rows. */
static void tile_chunk(void *ctx, int64_t chunk) {
    tile_run *t = ctx;
    const asn_plan *plan = t->plan;
    const asn_dim *d0 = &plan->dims[0], *d1 = &plan->dims[1];
    int64_t y = chunk % t->bands * t->edge, n1 = d1->extent - y;
    if (n1 > t->edge) n1 = t->edge;
    asn_run run;
    asn_cursor outer;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, t->edge * t->edge);
    asn_cursor_seek(&outer, &run, 2, plan->num_dims, chunk / t->bands);
    for (int64_t x = 0; x < d0->extent; x += t->edge) {
        int64_t n0 = d0->extent - x < t->edge ? d0->extent - x : t->edge;
        for (int m = 0; m < run.num_moving; m++) {
            int i = run.moving[m];
            run.offset[i] = outer.offset[i] + d0->stride[i] * x + d1->stride[i] * y;
        }
        if (x + 2 * t->edge <= d0->extent) fetch_next(&run, n0, n1);
        asn_run_block(&run, n0, n1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&t->flags, asn_fp_conditions(), __ATOMIC_RELAXED);
}

/* The edge of a square whose slots fit the buffer; 0: none does. */
static int64_t edge_of(const asn_plan *plan) {
    int64_t fits = ASN_BUFFER_BYTES / plan->max_item / (plan->num_slots + 1);
    int64_t edge = MOST;
    while (edge >= LEAST && edge * edge > fits)
        edge -= 8;
    return edge >= LEAST ? edge : 0;
}

bool asn_tiles_run(asn_plan *plan, uint32_t *fp_flags) {
    if (!wants_tiles(plan)) return false;
    tile_run t = {.plan = plan};
    plan->tiles = true;
    asn_plan_place(plan, true);
    if (edge_of(plan)) asn_plan_attach(plan);
    if (plan->code && !edge_of(plan)) {
        asn_plan_detach(plan);
        asn_plan_place(plan, true);
    }
    t.edge = edge_of(plan);
    if (!t.edge) {
        plan->tiles = false;
        return false;
    }
    plan->step_block = t.edge * t.edge;
    plan->streams =
        asn_worth_streaming(asn_plan_traffic(plan)) && !asn_plan_in_place(plan);
    t.bands = (plan->dims[1].extent + t.edge - 1) / t.edge;
    int64_t planes = plan->size / plan->dims[0].extent / plan->dims[1].extent;
    asn_pool_run(tile_chunk, &t, planes * t.bands, asn_plan_work(plan));
    asn_plan_detach(plan);
    if (fp_flags) __atomic_fetch_or(fp_flags, t.flags, __ATOMIC_RELAXED);
    return true;
}
