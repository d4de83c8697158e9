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
#include "device/cpu/fused/fused_reduce.h"

#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fused/reduce.h"

/* The identity of each operation, or an error where it has none. NumPy: the sum of
 * nothing is 0, a maximum of nothing an error. With ACLNNX_ACCUMULATE the output stays as
 * it is. */
static asn_status reduce_nothing(const asnd_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++) {
        const asnd_reduction *red = &plan->reductions[r];
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
        asnd_nd out = {plan->base[red->operand], ndim, red->out_dtype, shape, strides};
        ASN_TRY(asn_cpu_fill(&out, element));
    }
    return ASN_OK;
}

/* NumPy's rule: several axes at once only for operations whose order does not matter (not
 * subtract, divide, ...). Axes of length 1 are no axes here. */
static asn_status check_order(const asnd_plan *plan, const aclnnxProgram *p) {
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
static int choose_inner(const asnd_plan *plan) {
    enum { SHORT = 8 };
    if (!plan->dims[0].reduced || plan->dims[0].extent >= SHORT) return 0;
    for (int d = 1; d < plan->num_dims; d++)
        if (!plan->dims[d].reduced && plan->dims[d].extent > plan->dims[0].extent)
            return d;
    return 0;
}

/* Whether a kept dimension of some extent lies between a short reduced one, innermost,
 * and another reduced one: sum over axes (0, 2) of (100, 100, 100). Each result would
 * then be folded from rows far apart, one block per row (1.2 ms; 0.4 in two passes). */
static bool is_sandwich(const asnd_plan *plan) {
    enum { LONG = 1024, FEW = 8 };
    const asnd_reduction *red = &plan->reductions[0];
    const asnd_dim *dims = plan->dims;
    bool reduced = false;
    for (int d = 2; d < plan->num_dims; d++)
        reduced |= dims[d].reduced;
    return plan->num_reductions == 1 && plan->num_operands == plan->num_in + 1 &&
           reduced && dims[0].reduced && !dims[1].reduced && dims[0].extent <= LONG &&
           dims[0].extent >= FEW && dims[1].extent >= FEW && red->splits &&
           red->dtype == red->out_dtype &&
           !(plan->operands[red->operand].flags & ACLNNX_ACCUMULATE);
}

/* The innermost dimension is reduced into a temporary, then the temporary. Both passes
 * are ordinary programs; the first keeps the program's instructions, the second only
 * reduces. */
static asn_status reduce_in_two(const asnd_plan *plan, const aclnnxProgram *p) {
    int n = plan->num_dims, out = plan->num_in;
    const asnd_reduction *red = &plan->reductions[0];
    int64_t shape[ACLNNX_MAX_DIMS], strides[ACLNNX_MAX_OPERANDS][ACLNNX_MAX_DIMS];
    int64_t last[ACLNNX_MAX_DIMS], stride = asn_itemsize(red->out_dtype);
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    uint64_t mask = 0;
    memcpy(operands, p->operands, (size_t)plan->num_operands * sizeof *operands);
    for (int d = 0; d < n; d++) {
        int to = n - 1 - d; /* programs name the outermost first */
        shape[to] = plan->dims[d].extent;
        last[to] = plan->dims[d].stride[out];
        for (int i = 0; i < out; i++)
            strides[i][to] = plan->dims[d].stride[i];
        strides[out][to] = d ? stride : 0;
        if (d) stride *= plan->dims[d].extent;
        if (d && plan->dims[d].reduced) mask |= (uint64_t)1 << to;
    }
    char *partial = asn_malloc((size_t)stride);
    if (!partial) return ASN_ERR_MEMORY;
    for (int i = 0; i < plan->num_operands; i++) {
        if (operands[i].data) operands[i].data = plan->base[i];
        operands[i].strides = strides[i];
    }
    operands[out].data = partial;
    aclnnxProgram first = *p;
    first.numDims = n;
    first.shape = shape;
    first.operands = operands;
    first.reduceMask = (uint64_t)1 << (n - 1);
    asn_status status = asn_cpu_fused(&first);
    asnd_nd from = {partial, n - 1, red->out_dtype, shape, strides[out]},
            to = {plan->base[out], n - 1, red->out_dtype, shape, last};
    if (!status) status = asn_cpu_reduce(red->op, mask, &from, &to, p->fpFlags);
    asn_free(partial);
    return status;
}

/* Sums of bools are counted only where they fold: a stack adds element by element. */
asn_status asn_reductions_prepare(asnd_reduction_run *rr, asnd_plan *plan,
                                  const aclnnxProgram *p, bool *ready) {
    ASN_TRY(check_order(plan, p));
    if (plan->size == 0) return reduce_nothing(plan);
    if (is_sandwich(plan)) return reduce_in_two(plan, p);
    *rr = (asnd_reduction_run){.plan = plan};
    int inner = choose_inner(plan);
    if (plan->dims[inner].reduced) asn_reductions_count(plan);
    if (plan->dims[inner].reduced)
        asn_reduce_fold(rr, inner);
    else
        asn_reduce_stack(rr, inner);
    rr->work_ns = asn_plan_work(plan);
    *ready = true;
    return ASN_OK;
}

/* The parts' memory is taken per run, so that a kept plan holds none. */
asn_status asn_reductions_run(asnd_reduction_run *rr, uint32_t *fp_flags) {
    if (rr->finish) {
        rr->partial = asn_malloc((size_t)(rr->units * rr->partial_bytes));
        if (!rr->partial) return ASN_ERR_MEMORY;
    }
    asn_pool_run(rr->task, rr, rr->tasks, rr->work_ns);
    if (rr->finish) {
        rr->finish(rr);
        asn_free(rr->partial);
    }
    if (fp_flags && rr->flags) __atomic_fetch_or(fp_flags, rr->flags, __ATOMIC_RELAXED);
    return ASN_OK;
}
