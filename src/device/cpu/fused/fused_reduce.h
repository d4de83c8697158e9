/* CPU device, private to the fused engine's reductions (fused_reduce.c): what both ways
 * share. */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_REDUCE_H
#define ASN_DEVICE_CPU_FUSED_FUSED_REDUCE_H

#include "device/cpu/fused/block.h"
#include "device/cpu/threads.h"

enum { ASN_PART = 16384 /* elements of a part of a long reduction, at least */ };

typedef struct asnd_reduction_run asnd_reduction_run;
struct asnd_reduction_run {
    asnd_plan *plan;
    char *const *base;                    /* of a run (asn_prepared_run_at) */
    asnd_pool_fn task;                    /* one of `tasks` */
    void (*finish)(asnd_reduction_run *); /* combines parts; NULL: there are none */
    int64_t tasks;   /* calls of `task`, each of units_per_task units */
    double work_ns;  /* of all */
    int num_reduced; /* dimensions */
    /* block: elements at a time. A unit is one of `parts` parts of a result (or of a
     * stripe of results); folding cuts a result after part_rows reduced rows or, where
     * there is but one row, after part_inner elements of it. */
    int64_t block, parts, part_rows, part_inner, units, units_per_task;
    int64_t rows; /* positions of the reduced dimensions but the innermost one */
    int64_t pack; /* rows per block: reduced ones, or kept ones (fused_rows.c) */
    /* Stacking: elements of the kept inner dimension at a time, and how many such there
     * are. */
    int64_t stripe, stripes;
    char *partial; /* results of units, when there is a finish */
    int64_t partial_bytes;
    uint32_t flags; /* floating-point exceptions raised (ACLNNX_FP_*), atomic */
    /* any() and all(): no element changes an accumulator of last_word; settled: one part,
     * of the only result, has it (atomic) */
    bool ends_early;
    char last_word;
    int settled;
};

/* How many units of so many elements make a task: at least a part, and of large inputs
 * more, since every task drains the processor's pipeline when it clears the
 * floating-point flags (a sum of 1e7 from memory: 10 % slower with tasks of one part). */
static inline int64_t asn_units_per_task(const asnd_plan *plan, int64_t unit) {
    enum { TASKS = 64 };
    int64_t task = plan->size / TASKS < ASN_PART ? ASN_PART : plan->size / TASKS;
    return unit < task ? task / unit : 1;
}

/* Whether every reduction may be cut into parts. */
static inline bool asn_reductions_split(const asnd_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++)
        if (!plan->reductions[r].splits) return false;
    return true;
}

/* Whether elements may be folded interleaved, by several accumulators: of complex
 * extremes the first NaN stays, whose other part tells which it was. */
static inline bool asn_reductions_commute(const asnd_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++)
        if (asn_is_complex(plan->reductions[r].dtype) &&
            plan->reductions[r].op != ASN_OP_ADD &&
            plan->reductions[r].op != ASN_OP_MULTIPLY)
            return false;
    return true;
}

/* After asn_plan_space: chooses the way, places the plan's values and looks for its code,
 * which the caller detaches after the last run. *ready stays false where an error is
 * returned, or the whole is done: nothing was to be reduced, or it took two programs. */
ASN_CHECK_RESULT asn_status asn_reductions_prepare(asnd_reduction_run *rr,
                                                   asnd_plan *plan,
                                                   const aclnnxProgram *p, bool *ready);
/* Runs what was prepared, at rr->base. fp_flags: NULL, or has the ACLNNX_FP_* raised
 * or-ed in. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_reductions_run(asnd_reduction_run *rr,
                                               uint32_t *fp_flags);

/* Prepare folding (the inner dimension is reduced) and stacking (it is kept); `inner` is
 * put innermost. */
void asn_reduce_fold(asnd_reduction_run *rr, int inner);
void asn_reduce_stack(asnd_reduction_run *rr, int inner);

/* Folding, where rows are so short that several make a block; false: they are not, and
 * nothing was done. After asn_plan_group. */
bool asn_reduce_rows(asnd_reduction_run *rr);

/* Before folding: sums of bools are counted, without their cast to int64 (fused_count.c).
 */
void asn_reductions_count(asnd_plan *plan);

#endif
