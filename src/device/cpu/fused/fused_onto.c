/* CPU device: several reduced rows at a time (see fused_onto.h).
 *
 * A row of a few hundred elements is a block of its own when it is added to accumulators
 * alone: what that costs besides the arithmetic (finding the operands, the condition
 * flags before and after, two calls) is more than the arithmetic. So rows go by fours:
 * machine code computes them one after the other, into the first cache, and one kernel
 * takes all four onto the accumulators, each in its turn (rows_onto.inc), with the same
 * bits. Rows that lie in memory as they are skip the first half.
 *
 * The general path, which takes over row by row where asn_onto_block says false, is
 * stack_row in fused_stack.c.
 */
#include "device/cpu/fused/fused_onto.h"

#include "device/cpu/fpflags.h"
#include "device/cpu/jit/jit.h"

/* The operand that names a value, -1: none. */
static int operand_of(const asnd_plan *plan, uint16_t value) {
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->value[i] == value && plan->access[i] != ASN_AT_REDUCED &&
            plan->access[i] != ASN_AT_UNUSED)
            return i;
    return -1;
}

/* The code's pointer of `value` moves by `step` bytes from row to row. */
static void add_moving(asnd_onto *o, uint16_t value, int64_t step) {
    o->place[o->moving] = value;
    o->step[o->moving++] = step;
}

/* Rows of values for which there is no operand, one set for a value that several
 * reductions fold; o->width is then a multiple of 64 elements. False: they are too
 * many. */
static bool place_rows(asnd_onto *o) {
    const asnd_plan *plan = o->rr->plan;
    int items = 0;
    for (int r = 0; r < plan->num_reductions; r++)
        if (o->operand[r] < 0) items += plan->item[plan->reductions[r].value];
    o->width = items ? ASN_ONTO_BYTES / ASN_ONTO / items & -64 : o->rr->stripe;
    int64_t at = 0;
    for (int r = 0; r < plan->num_reductions; r++) {
        const uint16_t value = plan->reductions[r].value;
        if (o->operand[r] >= 0) continue;
        o->at[r] = at;
        for (int s = 0; s < r; s++) /* another reduction of the same value */
            if (plan->reductions[s].value == value) o->at[r] = o->at[s];
        if (o->at[r] != at) continue;
        add_moving(o, value, o->width * plan->item[value]);
        at += ASN_ONTO * o->width * plan->item[value];
    }
    return o->width > 0;
}

/* Refused: steps without machine code, packed rows that are to be computed, operands that
 * would have to be gathered, operations without a kernel for several rows. */
bool asn_onto_prepare(asnd_onto *o, const asnd_reduction_run *rr, asnd_run *run,
                      const asnd_cursor *kept, char *rows) {
    const asnd_plan *plan = rr->plan;
    *o = (asnd_onto){.rr = rr, .run = run, .kept = kept, .rows = rows};
    if (!rr->num_reduced || (plan->num_steps && !plan->code) ||
        (plan->code && (rr->pack > 1 || plan->code->sums)))
        return false;
    /* What is computed over its own input cannot be computed again. */
    if (plan->code && asn_plan_checks(plan) && asn_plan_in_place(plan)) return false;
    for (int m = 0; m < run->num_moving; m++) {
        const int i = run->moving[m];
        if (plan->access[i] == ASN_AT_REDUCED) continue;
        if (plan->access[i] != ASN_AT_DIRECT && plan->access[i] != ASN_AT_ROW)
            return false;
        add_moving(o, plan->value[i], plan->dims[1].stride[i]);
    }
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        o->operand[r] = operand_of(plan, red->value);
        bool lies = o->operand[r] >= 0;
        if (!plan->kernels->onto[red->op][red->dtype] ||
            (lies && plan->access[o->operand[r]] != ASN_AT_DIRECT) ||
            (!lies && !plan->code))
            return false;
    }
    return place_rows(o);
}

/* Computes rows of n elements from `from` on; false: some element is to be computed by
 * other means, and nothing counts. The run's pointers of the slots are put back; missed
 * exceptions or elements leave the flags as they were. */
static bool compute(asnd_onto *o, const asnd_cursor *reduced, int64_t from, int64_t n) {
    const asnd_plan *plan = o->rr->plan;
    asnd_run *run = o->run;
    for (int m = 0; m < run->num_moving; m++) {
        const int i = run->moving[m];
        if (plan->access[i] != ASN_AT_REDUCED)
            run->ptr[plan->value[i]] = run->base[i] + o->kept->offset[i] +
                                       reduced->offset[i] +
                                       plan->dims[0].stride[i] * from;
    }
    char *slot[ACLNNX_MAX_OPERANDS];
    for (int r = 0; r < plan->num_reductions; r++) {
        slot[r] = run->ptr[plan->reductions[r].value];
        if (o->operand[r] < 0) run->ptr[plan->reductions[r].value] = o->rows + o->at[r];
    }
    const bool checks = asn_plan_checks(plan);
    const uint32_t before = checks ? asn_fp_read() : 0;
    uint32_t missed =
        asn_jit_run_rows(plan->code, run->ptr, n, ASN_ONTO, o->moving, o->place, o->step);
    if (checks) missed |= asn_fp_read() & ~before & ASN_FP_CONDITIONS;
    if (missed) asn_fp_write(before);
    for (int r = plan->num_reductions - 1; r >= 0; r--)
        if (o->operand[r] < 0) run->ptr[plan->reductions[r].value] = slot[r];
    return !missed;
}

/* Values that lie in memory are read there, `pack` rows to a row of the block. */
bool asn_onto_block(asnd_onto *o, const asnd_cursor *reduced, char *accs, int64_t size,
                    int64_t from, int64_t x, int64_t n) {
    const asnd_plan *plan = o->rr->plan;
    if (plan->code && !compute(o, reduced, from + x, n)) return false;
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
        const int64_t item = plan->item[red->value];
        const int i = o->operand[r];
        const char *src = o->rows + o->at[r];
        int64_t pitch = o->width * item;
        if (i >= 0) {
            src = o->run->base[i] + o->kept->offset[i] + reduced->offset[i] +
                  plan->dims[0].stride[i] * (from + x);
            pitch = o->rr->pack * plan->dims[1].stride[i];
        }
        const uint32_t before = red->quiet ? asn_fp_read() : 0;
        plan->kernels->onto[red->op][red->dtype](n * o->rr->pack,
                                                 accs + r * size + x * item, src, pitch);
        if (red->quiet) asn_fp_restore(before);
    }
    return true;
}
