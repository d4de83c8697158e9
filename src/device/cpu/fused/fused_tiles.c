/* CPU device: elementwise programs over an operand that lies across the others: g.T + g.
 *
 * A row of the result would take one element from each of a thousand cache lines, which
 * are gone before the next row wants their neighbours. So as many rows as a line has
 * elements, a band, are computed together, some hundred columns of them at a time: the
 * part of every operand that lies across is transposed in registers into rows in the
 * caches, and for the program it lies there (AVX-512: four times as many). All others are
 * used where they are, row by row, or, where the rows are short and follow each other,
 * all rows at once.
 *
 * One thread of a Zen 3, us, squares with everything copied to them before, so, NumPy:
 * g.T + g of 200 x 200 float64 70, 26, 31; of 1000 x 1000 float32 1040, 470, 860; float64
 * 1230, 740, 1170.
 *
 * The elements' values and order within a row are those of the general path
 * (fused_elements.c), which computes the same without transposing: it gathers, element by
 * element.
 */
#include "device/cpu/context.h"
#include "device/cpu/fused/block.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused_tiles.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/threads.h"

enum { LEAST = 32, LINE = 64, SCRATCH_BYTES = 32768 /* of a line */ };
enum { PAD = 16 /* elements: rows no power of two apart */ };

typedef struct {
    const asnd_plan *plan;
    char *const *base;
    uint32_t across;                     /* operands, as bits */
    int64_t stride[ACLNNX_MAX_OPERANDS]; /* theirs along a row, of which the plan knows
                                            that in the scratch */
    int64_t rows, width;                 /* of a band; of a part of it */
    int64_t pitch;                       /* of rows in the scratch, in elements */
    int64_t at_once;                     /* rows of a block */
    int64_t bands;                       /* of one pair of inner dimensions */
    uint32_t flags;
} band_run;

/* Whether input i steps by a line or more along the inner dimension and by one element
 * along the next. */
static bool lies_across(const asnd_plan *plan, int i) {
    int64_t step = plan->dims[0].stride[i];
    return plan->base[i] && (step >= LINE || step <= -LINE) &&
           plan->dims[1].stride[i] == asn_itemsize(plan->dtype[i]);
}

/* The inputs that lie across, as bits; 0: none, or dimensions too short for a
 * transpose. */
static uint32_t find_across(const asnd_plan *plan) {
    uint32_t across = 0;
    if (plan->num_dims < 2 || plan->dims[0].extent < LEAST ||
        plan->dims[1].extent < LEAST)
        return 0;
    for (int i = 0; i < plan->num_in; i++)
        if (lies_across(plan, i)) across |= 1u << i;
    return across;
}

/* Brings n0 columns of n1 rows, at the run's offsets, to the scratch, where those offsets
 * then point. */
static void turn(const band_run *t, asnd_run *run, char *scratch, int64_t n0,
                 int64_t n1) {
    const asnd_plan *plan = t->plan;
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m], item = asn_itemsize(plan->dtype[i]);
        if (!(t->across >> i & 1)) continue;
        asn_move_loops_get(item)->transpose(scratch, t->pitch * item,
                                            run->base[i] + run->offset[i], t->stride[i],
                                            n0, n1, false);
        run->offset[i] = (int64_t)((uintptr_t)scratch - (uintptr_t)run->base[i]);
        run->gathered[i] = NULL; /* other elements at the same address */
        scratch += t->rows * t->pitch * item;
    }
}

/* The n1 rows of a band, n0 columns of them. */
static void run_rows(const band_run *t, asnd_run *run, int64_t n0, int64_t n1) {
    const asnd_plan *plan = t->plan;
    for (int64_t r = 0; r < n1; r += t->at_once) {
        asn_run_block(run, n0, n1 - r < t->at_once ? n1 - r : t->at_once);
        for (int m = 0; m < run->num_moving; m++) {
            int i = run->moving[m];
            run->offset[i] += t->at_once * plan->dims[1].stride[i];
        }
    }
}

/* One band: `rows` rows, part after part of them, `width` columns each. */
static void band_chunk(void *ctx, int64_t chunk) {
    band_run *t = ctx;
    const asnd_plan *plan = t->plan;
    const asnd_dim *d0 = &plan->dims[0], *d1 = &plan->dims[1];
    int64_t y = chunk % t->bands * t->rows, n1 = d1->extent - y;
    if (n1 > t->rows) n1 = t->rows;
    _Alignas(LINE) char scratch[ASN_BAND_LINES * SCRATCH_BYTES];
    asnd_run run;
    asnd_cursor outer;
    if (plan->track_flags) asn_fp_clear();
    asn_run_init(&run, plan, t->base, t->width * t->at_once);
    asn_cursor_seek(&outer, &run, 2, plan->num_dims, chunk / t->bands);
    for (int64_t x = 0; x < d0->extent; x += t->width) {
        int64_t n0 = d0->extent - x < t->width ? d0->extent - x : t->width;
        for (int m = 0; m < run.num_moving; m++) {
            int i = run.moving[m];
            bool across = t->across >> i & 1;
            run.offset[i] = outer.offset[i] +
                            (across ? t->stride[i] : d0->stride[i]) * x +
                            (across ? asn_itemsize(plan->dtype[i]) : d1->stride[i]) * y;
        }
        turn(t, &run, scratch, n0, n1);
        run_rows(t, &run, n0, n1);
    }
    if (plan->streams) asn_block_stream_end();
    if (plan->track_flags)
        __atomic_fetch_or(&t->flags, asn_fp_exceptions(), __ATOMIC_RELAXED);
}

/* The plan with its operands across as they are in the scratch. */
static void lay_rows(band_run *t, asnd_plan *plan, int64_t pitch) {
    t->pitch = pitch;
    for (int i = 0; i < plan->num_in; i++) {
        if (!(t->across >> i & 1)) continue;
        plan->dims[0].stride[i] = asn_itemsize(plan->dtype[i]);
        plan->dims[1].stride[i] = pitch * asn_itemsize(plan->dtype[i]);
    }
}

/* Elements of a block: a block of code takes what the steps take at most. */
static int64_t place(asnd_plan *plan, bool rows, int64_t largest) {
    asn_plan_place(plan, rows);
    return asn_plan_block(plan, largest);
}

/* How many lines of each of its rows an operand across gives a band of AVX-512: memory
 * then sees a few of them in turn, and not one here and one there (Zen 5, from memory,
 * 1000 x 1000, us, a line and four: float64 from a transposed float32 1330, 810; g.T + g
 * 1150, 1080). One where there would be few bands. */
static int64_t lines_of(const asnd_plan *plan, int64_t rows) {
    enum { BANDS = 4 /* of a thread */ };
    int64_t planes = plan->size / plan->dims[0].extent / plan->dims[1].extent;
    int64_t lines = asn_context_get()->band_lines;
    bool many = planes * (plan->dims[1].extent / (lines * rows)) >=
                BANDS * (int64_t)asn_pool_threads();
    return many ? lines : 1;
}

/* Elements of an output that make whole lines, where stores past the caches begin. */
static int64_t line_of(const asnd_plan *plan) {
    int64_t least = 16;
    for (int i = plan->num_in; i < plan->num_operands; i++) {
        int64_t item = asn_itemsize(plan->dtype[i]);
        least = item < least ? item : least;
    }
    return LINE / least;
}

/* False: so many operands lie across that no part of a band is worth it. */
static bool choose_parts(band_run *t, asnd_plan *plan) {
    int64_t least = 16, items = 0, extent = plan->dims[0].extent;
    for (int i = 0; i < plan->num_in; i++) {
        if (!(t->across >> i & 1)) continue;
        int64_t item = asn_itemsize(plan->dtype[i]);
        least = item < least ? item : least;
        items += item;
        t->stride[i] = plan->dims[0].stride[i];
    }
    const int64_t lines = lines_of(plan, LINE / least), room = lines * SCRATCH_BYTES;
    t->rows = lines * LINE / least;
    while (t->rows > 4 && room / (t->rows * items) < 4 * PAD)
        t->rows /= 2;
    const int64_t fits = room / (t->rows * items);
    if (fits < 2 * PAD) return false;
    const int64_t pitch = fits < 8 * PAD ? fits : (fits & ~(int64_t)63) - 3 * PAD;
    const int64_t line = line_of(plan), part = (pitch - PAD) / line * line;
    if (extent > fits && part == 0) return false;
    if (extent <= fits) {
        lay_rows(t, plan, extent);
        t->width = extent;
        t->at_once = place(plan, true, room / 16) / extent;
        if (t->at_once > t->rows) t->at_once = t->rows;
        if (t->at_once > 1) return true;
    }
    t->at_once = 1;
    t->width = part && part < extent ? part : extent;
    lay_rows(t, plan, part ? pitch : extent);
    int64_t block = place(plan, false, t->width);
    if (block < t->width) t->width = block;
    if (t->width < extent && t->width % line) /* parts begin within lines: no streams */
        (void)place(plan, true, t->width);
    return true;
}

bool asn_tiles_run(asnd_plan *plan, char *const *base, uint32_t *fp_flags) {
    band_run t = {.plan = plan, .base = base, .across = find_across(plan)};
    if (!t.across || !choose_parts(&t, plan)) return false;
    int64_t block = t.width * t.at_once;
    asn_plan_attach(plan);
    if (plan->code) (void)asn_plan_block(plan, block); /* which may refuse the code */
    t.bands = (plan->dims[1].extent + t.rows - 1) / t.rows;
    int64_t planes = plan->size / plan->dims[0].extent / plan->dims[1].extent;
    asn_pool_run(band_chunk, &t, planes * t.bands, asn_plan_work(plan));
    asn_plan_detach(plan);
    if (fp_flags) __atomic_fetch_or(fp_flags, t.flags, __ATOMIC_RELAXED);
    return true;
}
