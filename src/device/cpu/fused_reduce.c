/* CPU device: reductions at the end of a fused program.
 *
 * Two ways, by what lies innermost in memory:
 *   folding  the inner dimension is reduced: each block is folded into one accumulator
 * per output, or, when it holds several rows, each row of it (fused_rows.c); stacking the
 * inner dimension is kept: an accumulator per element of a stripe of it (16 KB), to which
 * block after block is added along the reduced dimensions. A stripe of a few elements is
 * widened: several reduced rows make one block, with as many accumulators, which are
 * added up at the end.
 *
 * Order. A long reduction is cut into parts, whose results are combined in order; where
 * it is cut depends on the shape alone, so the result is the same on any number of
 * threads. Operations that are not associative are never cut and go strictly from left to
 * right. Float sums: a block is added in fixed lanes (sum.inc) and block sums in float64
 * with the rounding errors carried along (two-sum), so the error is that of one block,
 * below NumPy's pairwise summation; when stacking, rows are added in order within a part,
 * as NumPy does without parts.
 */
#include "device/cpu/fused_reduce.h"

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
    enum { SHORT = 8 };
    if (!plan->dims[0].reduced || plan->dims[0].extent >= SHORT) return 0;
    for (int d = 1; d < plan->num_dims; d++)
        if (!plan->dims[d].reduced && plan->dims[d].extent > plan->dims[0].extent)
            return d;
    return 0;
}

asn_status asn_plan_run_reductions(asn_plan *plan, const aclnnxProgram *p) {
    ASN_TRY(check_order(plan, p));
    if (plan->size == 0) return reduce_nothing(plan);
    asn_reduction_run rr = {.plan = plan, .program = p};
    int inner = choose_inner(plan);
    if (plan->dims[inner].reduced) asn_reductions_count(plan);
    asn_status status = plan->dims[inner].reduced ? asn_reduce_fold(&rr, inner)
                                                  : asn_reduce_stack(&rr, inner);
    asn_plan_detach(plan);
    if (p->fpFlags) __atomic_fetch_or(p->fpFlags, rr.flags, __ATOMIC_RELAXED);
    return status;
}
