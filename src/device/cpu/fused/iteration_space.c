/* CPU device: the iteration space of a fused program, and where its values live.
 *
 * Dimensions of extent 1 go; the others are ordered by stride, innermost first (outputs
 * decide before inputs, 0 strides do not vote), so that Fortran order and transposes run
 * along memory; dimensions that all operands walk backwards are turned round; neighbours
 * that are one stretch of memory for every operand are merged. Nothing of this may change
 * the order of a reduction that is not reorderable: such a program keeps its reduced
 * dimension's direction, and has only one (the engine above refuses more).
 *
 * A strided row that all others share, as position[:, 0] along an axis, is copied
 * together first: otherwise every block would gather it again.
 */
#include "device/cpu/fused/program.h"

#include <string.h>

#include "base/alloc.h"
#include "device/cpu/context.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/jit/jit.h"

enum { SMALL = 1024 /* elements; below, looking for machine code costs too much */ };

/* Whether operand i is an output that a reduction makes. */
static bool is_reducing(const asnd_plan *plan, int i) {
    return i >= plan->num_in && plan->operands[i].reduceOp != ACLNNX_NO_REDUCE;
}

/* plan->size and plan->kept_size. ASN_ERR_VALUE: a negative extent, or more elements than
 * an int64 counts (as if 0 extents were 1, so that strides of empty spaces do not
 * overflow either). */
static asn_status count_elements(asnd_plan *plan, const aclnnxProgram *p) {
    plan->size = plan->kept_size = 1;
    bool empty = false;
    for (int d = 0; d < p->numDims; d++) {
        int64_t extent = p->shape[d];
        if (extent < 0)
            return asn_error_set(ASN_ERR_VALUE, "fused: negative extent %lld",
                                 (long long)extent);
        empty |= extent == 0;
        if (!asn_mul_size(plan->size, extent ? extent : 1, &plan->size))
            return asn_error_set(ASN_ERR_VALUE,
                                 "fused: the iteration space is too large");
        bool reduced = plan->num_reductions && p->reduceMask >> d & 1;
        if (!reduced) plan->kept_size *= extent;
    }
    if (empty) plan->size = 0;
    return ASN_OK;
}

/* All operands contiguous and all dimensions kept, or all reduced: one dimension. The
 * commonest program, an operation on contiguous arrays, is done with this. False: strides
 * are given, or dimensions of both kinds. */
static bool try_flat(asnd_plan *plan, const aclnnxProgram *p) {
    bool any_kept = false, any_reduced = false;
    for (int i = 0; i < plan->num_operands; i++)
        if (p->operands[i].data && p->operands[i].strides) return false;
    for (int d = 0; d < p->numDims && plan->num_reductions; d++) {
        if (p->shape[d] == 1) continue;
        if (p->reduceMask >> d & 1)
            any_reduced = true;
        else
            any_kept = true;
    }
    if (any_reduced && any_kept) return false;
    asnd_dim *dim = &plan->dims[0];
    dim->extent = plan->size;
    dim->reduced = any_reduced;
    for (int i = 0; i < plan->num_operands; i++)
        dim->stride[i] = !plan->base[i] || (any_reduced && is_reducing(plan, i))
                             ? 0
                             : asn_itemsize(plan->dtype[i]);
    plan->num_dims = 1;
    return true;
}

/* The dimensions of extent above 1, innermost first, with every operand's stride: the one
 * given, or that of a row-major array of the dimensions that an output keeps. Constants
 * have stride 0 everywhere. ASN_ERR_VALUE: an output moves along a dimension that it
 * reduces. */
static asn_status collect_dims(asnd_plan *plan, const aclnnxProgram *p) {
    int64_t run[ACLNNX_MAX_OPERANDS];
    for (int i = 0; i < plan->num_operands; i++)
        run[i] = asn_itemsize(plan->dtype[i]);
    plan->num_dims = 0;
    for (int d = p->numDims - 1; d >= 0; d--) {
        if (p->shape[d] == 1) continue;
        asnd_dim *dim = &plan->dims[plan->num_dims++];
        dim->extent = p->shape[d];
        dim->reduced = plan->num_reductions && p->reduceMask >> d & 1;
        for (int i = 0; i < plan->num_operands; i++) {
            const aclnnxOperand *o = &p->operands[i];
            bool folds = dim->reduced && is_reducing(plan, i);
            int64_t stride = 0;
            if (plan->base[i] && o->strides)
                stride = o->strides[d];
            else if (plan->base[i] && !folds)
                stride = run[i];
            if (stride && folds)
                return asn_error_set(
                    ASN_ERR_VALUE,
                    "fused: output %d has stride %lld along dimension %d, "
                    "which is reduced away",
                    i - plan->num_in, (long long)stride, d);
            dim->stride[i] = stride;
            if (!folds) run[i] *= dim->extent;
        }
    }
    return ASN_OK;
}

/* Whether dimension x belongs inside y. From the last output back to the first input, the
 * first operand whose strides differ decides; those without a stride along one of the two
 * have no say. */
static bool belongs_inside(const asnd_plan *plan, const asnd_dim *x, const asnd_dim *y) {
    for (int k = 0; k < plan->num_operands; k++) {
        int i = plan->num_operands - 1 - k; /* outputs come last */
        int64_t sx = x->stride[i] < 0 ? -x->stride[i] : x->stride[i];
        int64_t sy = y->stride[i] < 0 ? -y->stride[i] : y->stride[i];
        if (sx && sy && sx != sy) return sx < sy;
    }
    return false;
}

/* Insertion sort: stable, and the relation is no strict order, since operands may
 * disagree. */
static void sort_dims(asnd_plan *plan) {
    for (int d = 1; d < plan->num_dims; d++) {
        int at = d;
        while (at > 0 && belongs_inside(plan, &plan->dims[d], &plan->dims[at - 1]))
            at--;
        if (at == d) continue;
        asnd_dim moved = plan->dims[d];
        memmove(&plan->dims[at + 1], &plan->dims[at], (size_t)(d - at) * sizeof moved);
        plan->dims[at] = moved;
    }
}

/* x[::-1] + y[::-1] becomes x + y. A reduced dimension only where the order of its
 * elements is free. */
static void turn_round(asnd_plan *plan) {
    bool ordered = false;
    for (int i = 0; i < plan->num_reductions; i++)
        ordered |= !plan->reductions[i].splits;
    for (int d = 0; d < plan->num_dims; d++) {
        asnd_dim *dim = &plan->dims[d];
        bool backwards = false, forwards = false;
        for (int i = 0; i < plan->num_operands; i++) {
            backwards |= dim->stride[i] < 0;
            forwards |= dim->stride[i] > 0;
        }
        if (!backwards || forwards || (dim->reduced && ordered)) continue;
        for (int i = 0; i < plan->num_operands; i++) {
            plan->base[i] += dim->stride[i] * (dim->extent - 1);
            dim->stride[i] = -dim->stride[i];
        }
    }
}

/* Whether `outer` goes on where `inner` ends, for every operand (0 strides too). */
static bool merges(const asnd_plan *plan, const asnd_dim *inner, const asnd_dim *outer) {
    if (inner->reduced != outer->reduced) return false;
    for (int i = 0; i < plan->num_operands; i++)
        if (outer->stride[i] != inner->stride[i] * inner->extent) return false;
    return true;
}

static void merge_dims(asnd_plan *plan) {
    int last = 0;
    for (int d = 1; d < plan->num_dims; d++) {
        asnd_dim *inner = &plan->dims[last];
        if (merges(plan, inner, &plan->dims[d]))
            inner->extent *= plan->dims[d].extent;
        else if (++last != d)
            plan->dims[last] = plan->dims[d];
    }
    plan->num_dims = last + 1;
}

/* ---- rows that everybody reads */

enum { PACK_LEAST = 16, PACK_BYTES = 1 << 15, PACK_READS = 8 };

/* Whether input i moves along the innermost dimension only, in steps of more than an
 * element, and is read again and again. */
static bool is_shared_row(const asnd_plan *plan, int i) {
    int64_t item = asn_itemsize(plan->dtype[i]), extent = plan->dims[0].extent;
    if (!plan->base[i] || !plan->dims[0].stride[i] || plan->dims[0].stride[i] == item ||
        extent < PACK_LEAST || extent * item > PACK_BYTES ||
        plan->size / extent < PACK_READS)
        return false;
    for (int d = 1; d < plan->num_dims; d++)
        if (plan->dims[d].stride[i]) return false;
    return true;
}

/* Copies such rows to plan->packed, each at a line's beginning, and lets the operands
 * read it there. ASN_ERR_MEMORY. */
static asn_status pack_shared_rows(asnd_plan *plan) {
    const int64_t extent = plan->dims[0].extent;
    int64_t bytes = 0;
    for (int i = 0; i < plan->num_in; i++)
        if (is_shared_row(plan, i))
            bytes += (extent * asn_itemsize(plan->dtype[i]) + 63) & ~(int64_t)63;
    if (!bytes) return ASN_OK;
    char *at = plan->packed = asn_malloc((size_t)bytes);
    if (!at) return ASN_ERR_MEMORY;
    for (int i = 0; i < plan->num_in; i++) {
        if (!is_shared_row(plan, i)) continue;
        int64_t item = asn_itemsize(plan->dtype[i]);
        asn_block_gather(at, plan->base[i], (int)item, extent, plan->dims[0].stride[i], 1,
                         0);
        plan->base[i] = at;
        plan->dims[0].stride[i] = item;
        at += (extent * item + 63) & ~(int64_t)63;
    }
    return ASN_OK;
}

/* A space without dimensions of extent above 1 is one element; there is always one
 * dimension. */
asn_status asn_plan_space(asnd_plan *plan, const aclnnxProgram *p) {
    plan->packed = NULL;
    ASN_TRY(count_elements(plan, p));
    for (int i = 0; i < plan->num_operands; i++) {
        plan->base[i] = p->operands[i].data;
        if (!plan->base[i] && i >= plan->num_in && plan->size)
            return asn_error_set(ASN_ERR_NULL_POINTER, "fused: output %d has no address",
                                 i - plan->num_in);
    }
    if (try_flat(plan, p)) return ASN_OK;
    ASN_TRY(collect_dims(plan, p));
    if (plan->num_dims == 0) {
        plan->num_dims = 1;
        plan->dims[0].extent = 1;
        plan->dims[0].reduced = false;
        for (int i = 0; i < plan->num_operands; i++)
            plan->dims[0].stride[i] = plan->base[i] ? asn_itemsize(plan->dtype[i]) : 0;
        return ASN_OK;
    }
    ASN_TRY(pack_shared_rows(plan));
    sort_dims(plan);
    turn_round(plan);
    merge_dims(plan);
    return ASN_OK;
}

int asn_plan_group(asnd_plan *plan, int inner) {
    asnd_dim old[ACLNNX_MAX_DIMS];
    int n = plan->num_dims, at = 0, reduced = 0;
    memcpy(old, plan->dims, (size_t)n * sizeof *old);
    plan->dims[at++] = old[inner];
    for (int kept = 0; kept < 2; kept++)
        for (int d = 0; d < n; d++)
            if (d != inner && old[d].reduced == !kept) plan->dims[at++] = old[d];
    for (int d = 0; d < n; d++)
        reduced += old[d].reduced;
    return reduced;
}

/* ---- where values live */

/* One element for the whole program. */
static bool is_constant(const asnd_plan *plan, int i) {
    for (int d = 0; d < plan->num_dims; d++)
        if (plan->dims[d].stride[i]) return false;
    return true;
}

bool asn_plan_is_splat(const asnd_plan *plan, int i) {
    for (int r = 0; r < plan->num_reductions; r++)
        if (plan->reductions[r].value == plan->value[i]) /* a fold reads a whole block */
            return is_constant(plan, i);
    return plan->rows ? is_constant(plan, i) : plan->dims[0].stride[i] == 0;
}

/* Whether a block of operand i is a stretch of memory: elements follow each other, and so
 * do the rows where blocks have several. */
static bool is_linear(const asnd_plan *plan, int i, bool rows) {
    const asnd_dim *d = plan->dims;
    int64_t item = asn_itemsize(plan->dtype[i]);
    if (d[0].stride[i] != item) return false;
    return !rows || plan->num_dims == 1 || d[1].stride[i] == item * d[0].extent;
}

/* Whether the step makes `value`; a loop of the program's own makes several. */
static bool writes(const asnd_step *step, int value) {
    bool found = step->dst == value;
    for (int k = 0; step->loop && k < step->loop->num_out; k++)
        found |= step->results[k] == value;
    return found;
}

/* An output in place over an input that somebody reads after the output is written.
 * last_use: of every value, the index of the step that reads it last. Such an output is
 * computed in a slot and scattered. */
static bool is_read_later(const asnd_plan *plan, int out, const int *last_use) {
    int written = 0;
    for (int s = 0; s < plan->num_steps; s++)
        if (writes(&plan->steps[s], plan->value[out])) written = s;
    for (int i = 0; i < plan->num_in; i++)
        if (plan->access[i] == ASN_AT_DIRECT && plan->base[i] == plan->base[out] &&
            (last_use[plan->value[i]] > written || plan->dtype[i] != plan->dtype[out]))
            return true;
    return false;
}

/* Machine code stores past the caches itself where every block begins at a line: every
 * row does, and the blocks within one, whichever length asn_plan_block gives them. */
static bool begins_at_lines(const asnd_plan *plan, int out) {
    uintptr_t bits = (uintptr_t)plan->base[out];
    for (int d = 1; d < plan->num_dims; d++)
        bits |= (uintptr_t)plan->dims[d].stride[out];
    const int64_t item = asn_itemsize(plan->dtype[out]);
    bits |= (uintptr_t)(plan->step_block * item) | (uintptr_t)(plan->long_block * item);
    return (bits & 63) == 0;
}

/* A block that machine code has stored over an input could not be computed again. */
static bool may_run_again(const asnd_plan *plan, int out) {
    return plan->code && asn_plan_checks(plan) && asn_plan_shares(plan, out);
}

/* The access of every operand. Inputs: constants are splatted once, what lies linear is
 * used in place, the rest is gathered. Outputs: in place unless that would change what is
 * still to be read; large ones past the caches. */
static void choose_access(asnd_plan *plan, bool rows, const int *last_use) {
    for (int i = 0; i < plan->num_in; i++) {
        if (last_use[plan->value[i]] < 0)
            plan->access[i] = ASN_AT_UNUSED;
        else if (is_constant(plan, i))
            plan->access[i] = ASN_AT_CONST;
        else if (plan->code && asn_plan_is_splat(plan, i))
            plan->access[i] = ASN_AT_ROW;
        else
            plan->access[i] = is_linear(plan, i, rows) ? ASN_AT_DIRECT : ASN_AT_GATHER;
    }
    asnd_traffic traffic = asn_plan_traffic(plan);
    for (int i = plan->num_in; i < plan->num_operands; i++) {
        if (is_reducing(plan, i)) {
            plan->access[i] = ASN_AT_REDUCED;
        } else if (plan->code && plan->past_caches >> i & 1 && !rows) {
            plan->access[i] = ASN_AT_DIRECT;
            plan->streams = true;
        } else if (is_linear(plan, i, rows) && !is_read_later(plan, i, last_use) &&
                   !may_run_again(plan, i)) {
            bool streams = !rows && asn_plan_streams_to(plan, i, traffic);
            plan->access[i] = streams ? ASN_AT_STREAM : ASN_AT_DIRECT;
            plan->streams |= streams;
        } else
            plan->access[i] = ASN_AT_SCATTER;
    }
}

/* Reductions read after the outputs are stored: an input that an output overwrites is
 * kept. */
static void keep_folded_inputs(asnd_plan *plan) {
    for (int r = 0; r < plan->num_reductions; r++)
        for (int i = 0; i < plan->num_in; i++)
            for (int o = plan->num_in; o < plan->num_operands; o++)
                if (plan->reductions[r].value == plan->value[i] &&
                    !is_reducing(plan, o) && plan->access[i] == ASN_AT_DIRECT &&
                    plan->base[i] == plan->base[o])
                    plan->access[i] = ASN_AT_GATHER;
}

typedef struct {
    int num_free;
    int16_t free[ASN_MAX_VALUES];
} slot_list;

/* A free slot, or a new one at the end. */
static void take_slot(asnd_plan *plan, slot_list *list, int value) {
    plan->slot[value] =
        list->num_free ? list->free[--list->num_free] : (int16_t)plan->num_slots++;
    if (plan->item[value] > plan->max_item) plan->max_item = plan->item[value];
}

/* The result may overwrite an operand that dies here, if the elements are equally long.
 */
static void place_result(asnd_plan *plan, slot_list *list, const asnd_step *step, int at,
                         const int *last_use) {
    int heir = -1;
    for (int k = 0; k < step->num_src && heir < 0; k++) {
        int v = step->src[k];
        if (last_use[v] == at && plan->slot[v] >= 0 &&
            plan->item[v] == plan->item[step->dst])
            heir = v;
    }
    if (heir >= 0)
        plan->slot[step->dst] = plan->slot[heir];
    else
        take_slot(plan, list, step->dst);
    for (int k = 0; k < step->num_src; k++) {
        int v = step->src[k];
        bool again = false; /* x * x frees x once */
        for (int j = 0; j < k; j++)
            again |= step->src[j] == v;
        if (last_use[v] == at && plan->slot[v] >= 0 && v != heir && !again)
            list->free[list->num_free++] = plan->slot[v];
    }
}

/* last_use[v]: the last step that reads value v, num_steps for what is folded, -1 for
 * what nobody reads. Takes all slots back. */
static void find_last_uses(asnd_plan *plan, int *last_use) {
    for (int v = 0; v < plan->num_values; v++) {
        last_use[v] = -1;
        plan->slot[v] = ASN_NO_SLOT;
    }
    for (int s = 0; s < plan->num_steps; s++)
        for (int k = 0; k < plan->steps[s].num_src; k++)
            last_use[plan->steps[s].src[k]] = s;
    for (int i = 0; i < plan->num_reductions; i++)
        last_use[plan->reductions[i].value] = plan->num_steps;
}

/* Linear scan over the steps (as in register allocation): a value's slot is free again
 * after its last reader. Values of operands keep theirs to the end where they are
 * constants, outputs, or machine code's. */
static void place(asnd_plan *plan, bool rows) {
    int last_use[ASN_MAX_VALUES];
    uint8_t placed[ASN_MAX_VALUES];
    slot_list list;
    list.num_free = 0;
    plan->num_slots = 0;
    plan->max_item = 1;
    find_last_uses(plan, last_use);
    plan->streams = false;
    choose_access(plan, rows, last_use);
    keep_folded_inputs(plan);
    memset(placed, 0, (size_t)plan->num_values);
    for (int i = 0; i < plan->num_operands; i++) {
        int access = plan->access[i];
        if (access == ASN_AT_UNUSED || access == ASN_AT_REDUCED) continue;
        int v = plan->value[i];
        /* Machine code reads and writes everything element by element. */
        if (access == ASN_AT_CONST || i >= plan->num_in || plan->code)
            last_use[v] = plan->num_steps;
        if (access != ASN_AT_DIRECT) take_slot(plan, &list, v);
        placed[v] = 1;
    }
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *step = &plan->steps[s];
        for (int k = 0; step->loop && k < step->loop->num_out; k++) {
            int v = step->results[k];
            if (v == step->dst || placed[v]) continue;
            take_slot(plan, &list, v);
            placed[v] = 1;
        }
        if (placed[step->dst]) {
            for (int k = 0; k < step->num_src; k++) {
                int v = step->src[k];
                bool again = v == step->dst;
                for (int j = 0; j < k; j++)
                    again |= step->src[j] == v;
                if (last_use[v] == s && plan->slot[v] >= 0 && !again)
                    list.free[list.num_free++] = plan->slot[v];
            }
            continue;
        }
        placed[step->dst] = 1;
        place_result(plan, &list, step, s, last_use);
    }
    /* A block without slots is long, and the processor sees the streams itself. So it
     * does in short blocks without AVX-512, which lose by our asking, and where machine
     * code keeps a sum ((a - b) ** 2 summed, float64: Zen 3, 1e6, 800 us with, 545
     * without; Zen 5, 570 and 475, 1e7 5.1 and 4.4 ms). */
    int64_t bytes = 0;
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->access[i] == ASN_AT_DIRECT) bytes += asn_itemsize(plan->dtype[i]);
    plan->prefetch = plan->num_slots > 0 && bytes * plan->size > 8 << 20 &&
                     asn_context_get()->prefetches && !(plan->folds && plan->code);
}

/* Placed for the steps, without code: the size of blocks follows from this placement,
 * also where code is attached later. */
void asn_plan_place(asnd_plan *plan, bool rows) {
    plan->code = NULL;
    plan->rows = rows;
    place(plan, rows);
    plan->block_slots = plan->block_streams = plan->num_slots;
    for (int i = 0; i < plan->num_operands; i++)
        plan->block_streams += plan->access[i] == ASN_AT_DIRECT;
    plan->block_item = plan->max_item;
}

/* A step's loop wants whole blocks of an operand that is one value; machine code keeps it
 * in a register, and its blocks are long, and it stores past the caches without a detour
 * (against NumPy, 1e5 float64: a + 1.0 from 0.8 to 1.0; a[:, None] + b[None, :], 1000 x
 * 1000: from 1.6 to 2.9). Short rows that repeat are gathered once for machine code, and
 * for every block for the steps. */
static bool broadcasts(const asnd_plan *plan) {
    for (int i = 0; i < plan->num_in && !plan->num_reductions; i++) {
        if (plan->access[i] == ASN_AT_UNUSED) continue;
        bool repeats = plan->rows && plan->access[i] == ASN_AT_GATHER &&
                       plan->dims[1].stride[i] == 0;
        if (repeats || asn_plan_is_splat(plan, i)) return true;
    }
    return false;
}

/* Not where the interpreter is no slower: a single step without a broadcast, or a few
 * elements, for which looking the code up costs more than it saves. */
void asn_plan_attach(asnd_plan *plan) {
    if (plan->calls) return; /* no piece of machine code calls a function */
    /* Rows that are stacked are computed by fours, which steps are not (fused_onto.c). */
    bool stacks = plan->num_reductions && !plan->folds && plan->num_steps;
    bool one = plan->num_steps < 2 && !stacks && !broadcasts(plan) && !plan->streams;
    bool small = one || plan->size < SMALL;
    if (small && asn_jit_now() != ASN_JIT_ALWAYS) return;
    plan->past_caches = 0;
    for (int i = plan->num_in; i < plan->num_operands && !plan->num_reductions; i++)
        if (plan->access[i] == ASN_AT_STREAM && begins_at_lines(plan, i))
            plan->past_caches |= 1u << i;
    plan->code = asn_jit_find(plan, asn_plan_work(plan), &plan->settled);
    if (plan->code) place(plan, plan->rows);
}

void asn_plan_detach(asnd_plan *plan) {
    asn_jit_release(plan->code);
    plan->code = NULL;
}
