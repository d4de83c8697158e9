/* CPU device: programs that run again and again (see prepared.h).
 *
 * A program is one block of memory with a list of the plans that its runs made, each a
 * block too: the run, the plan's lists as long as they are. A plan is never written once
 * it is in the list, and stays there as long as the program, so any number of threads run
 * it at once; it holds its machine code.
 */
#include "device/cpu/fused/prepared.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fused/fused_weave.h"
#include "device/cpu/jit/jit.h"

enum {
    MOST_PLANS = 8,         /* of a program */
    MOST_BYTES = 16 * 1024, /* of a plan */
    ALIGNMENT = 16
};

typedef struct known_plan known_plan;
struct known_plan {
    known_plan *next;
    int64_t bytes; /* of the block */
    asnd_prepared_case of;
    asnd_prepared_run run;
    /* Of every operand: from its address to the element at position 0. */
    ptrdiff_t begin[ACLNNX_MAX_OPERANDS];
};

struct aclnnxPrepared {
    _Atomic int32_t users, num_plans;
    known_plan *_Atomic plans;
    int64_t bytes; /* of the block */
    aclnnxProgram program;
};

static struct {
    _Atomic int64_t kept, bytes;
    _Atomic int64_t reused; /* about: a locked addition takes 5 ns */
} counts;

/* For tests and statistics; the three are read one by one. */
asnd_prepared_counts asn_prepared_count(void) {
    return (asnd_prepared_counts){
        .kept = counts.kept, .reused = counts.reused, .bytes = counts.bytes};
}

/* Copies a list to `at` in a block of memory, and moves on; NULL: only that. */
static void *put(char *block, int64_t *at, const void *list, int64_t count, size_t item) {
    const size_t bytes = (size_t)count * item;
    void *copy = block ? block + *at : NULL;
    if (block && bytes) memcpy(copy, list, bytes);
    *at += ((int64_t)bytes + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
    return copy;
}

/* A block, counted; NULL with ASN_ERR_MEMORY set. */
static void *take(int64_t bytes) {
    void *block = asn_malloc((size_t)bytes);
    if (block) counts.bytes += bytes;
    return block;
}

/* ---- the program */

/* The bytes of the program and its lists, which point into the block if there is one. An
 * operand's `data` tells an immediate from others, no more. */
static int64_t put_program(aclnnxProgram *to, const aclnnxProgram *p, char *block) {
    int64_t at = sizeof(asnd_prepared);
    const int num = p->numIn + p->numOut;
    at = (at + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
    *to = *p;
    to->fpFlags = NULL;
    to->shape = put(block, &at, p->shape, p->numDims, sizeof *p->shape);
    to->instrs = put(block, &at, p->instrs, p->numInstrs, sizeof *p->instrs);
    aclnnxOperand *operands = put(block, &at, p->operands, num, sizeof *p->operands);
    to->operands = operands;
    for (int i = 0; i < num; i++) {
        const aclnnxOperand *o = &p->operands[i];
        const bool lies = o->data || i >= p->numIn, strided = o->strides && p->numDims;
        void *strides = lies && strided
                            ? put(block, &at, o->strides, p->numDims, sizeof *o->strides)
                            : NULL;
        if (!operands) continue;
        operands[i].strides = strides;
        operands[i].data = lies ? operands : NULL; /* where they are is a run's */
    }
    return at;
}

/* What lowering finds wrong is wrong at every address. */
static asn_status check(const aclnnxProgram *p) {
    asnd_plan plan;
    asnd_plan_room room;
    ASN_TRY(asn_program_check(p));
    return asn_plan_lower(&plan, &room, p);
}

asn_status asn_prepared_new(asnd_prepared **out, const aclnnxProgram *p) {
    aclnnxProgram copy;
    ASN_TRY(check(p));
    const int64_t bytes = put_program(&copy, p, NULL);
    asnd_prepared *known = take(bytes);
    if (!known) return ASN_ERR_MEMORY;
    *known = (asnd_prepared){.users = 1, .bytes = bytes};
    put_program(&known->program, p, (char *)known);
    *out = known;
    return ASN_OK;
}

void asn_prepared_hold(asnd_prepared *known) {
    atomic_fetch_add_explicit(&known->users, 1, memory_order_relaxed);
}

/* The last user frees the plans as well, and lets go of their machine code. */
void asn_prepared_release(asnd_prepared *known) {
    if (!known || atomic_fetch_sub_explicit(&known->users, 1, memory_order_acq_rel) > 1)
        return;
    for (known_plan *k = known->plans, *next; k; k = next) {
        next = k->next;
        counts.bytes -= k->bytes;
        asn_jit_release(k->run.plan.code);
        asn_free(k);
    }
    counts.bytes -= known->bytes;
    asn_free(known);
}

const aclnnxProgram *asn_prepared_program(const asnd_prepared *known) {
    return &known->program;
}

/* ---- its plans */

/* Whether other addresses could give another plan: rows were copied together, or results
 * may go past the caches, which depends on how operands overlap and where their lines
 * begin. */
static bool depends_on_addresses(const asnd_plan *plan, const aclnnxProgram *p) {
    int64_t bytes = 0, all;
    for (int i = 0; i < plan->num_operands; i++) {
        if (p->operands[i].flags & ACLNNX_PART) return true;
        if (plan->base[i]) bytes += asn_itemsize(plan->dtype[i]);
    }
    return plan->packed || asn_weave_may(plan) ||
           !asn_mul_size(bytes, plan->size, &all) ||
           asn_plan_worth_streaming((asnd_traffic){all, plan->num_in});
}

/* Whether a plan for `a` is right for `b`, of num_out outputs. */
static bool same_case(const asnd_prepared_case *a, const asnd_prepared_case *b,
                      int num_out) {
    if (a->jit != b->jit || a->tracks != b->tracks) return false;
    for (int o = 0; o < num_out; o++)
        if (a->over[o] != b->over[o]) return false;
    return true;
}

/* The plan for a case, or NULL. The list only grows, at its head, so no lock is
 * needed. */
static known_plan *find(const asnd_prepared *known, const asnd_prepared_case *of) {
    known_plan *k = atomic_load_explicit(&known->plans, memory_order_acquire);
    while (k && !same_case(&k->of, of, known->program.numOut))
        k = k->next;
    return k;
}

/* The bytes of a kept plan's block, to which `plan` points if there is one. What only
 * lowering reads is left out. */
static int64_t put_lists(asnd_plan *plan, const asnd_plan *from, char *block) {
    int64_t at = (sizeof(known_plan) + ALIGNMENT - 1) & -(int64_t)ALIGNMENT;
    const int operands = from->num_operands, values = from->num_values;
    plan->steps = put(block, &at, from->steps, from->num_steps, sizeof *from->steps);
    plan->reductions =
        put(block, &at, from->reductions, from->num_reductions, sizeof *from->reductions);
    plan->dims = put(block, &at, from->dims, from->num_dims, sizeof *from->dims);
    plan->dtype = put(block, &at, from->dtype, operands, sizeof *from->dtype);
    plan->value = put(block, &at, from->value, operands, sizeof *from->value);
    plan->item = put(block, &at, from->item, values, sizeof *from->item);
    plan->value_dtype =
        put(block, &at, from->value_dtype, values, sizeof *from->value_dtype);
    plan->slot = put(block, &at, from->slot, values, sizeof *from->slot);
    plan->value32 = NULL;
    plan->reads_own = plan->reads32 = NULL;
    return at;
}

/* A plan's copy in one block, with its machine code held; NULL: it is longer than
 * MOST_BYTES or there is no memory. */
static known_plan *copy_of(const asnd_prepared_run *run, const asnd_prepared_case *of,
                           const asnd_prepared *known, const aclnnxProgram *p) {
    asnd_plan lists = run->plan;
    const int64_t bytes = put_lists(&lists, &run->plan, NULL);
    known_plan *k = bytes <= MOST_BYTES ? take(bytes) : NULL;
    if (!k) return NULL;
    k->next = NULL;
    k->of = *of;
    k->run = *run;
    k->bytes = bytes;
    put_lists(&k->run.plan, &run->plan, (char *)k);
    k->run.plan.operands = known->program.operands;
    for (int i = 0; i < run->plan.num_operands; i++)
        k->begin[i] =
            run->plan.base[i] ? run->plan.base[i] - (char *)p->operands[i].data : 0;
    if (run->plan.num_reductions)
        k->run.reduction.plan = &k->run.plan;
    else
        k->run.elements.plan = &k->run.plan;
    asn_jit_hold(k->run.plan.code);
    return k;
}

/* Two threads may keep the same case, or one plan more than MOST_PLANS: harmless, as the
 * first in the list is found and all are freed with the program. */
void asn_prepared_keep(asnd_prepared *known, const asnd_prepared_case *of,
                       const asnd_prepared_run *run, const aclnnxProgram *p) {
    if (!run->plan.settled || depends_on_addresses(&run->plan, p) || find(known, of) ||
        known->num_plans >= MOST_PLANS)
        return;
    known_plan *k = copy_of(run, of, known, p);
    if (!k) {
        asn_error_clear(); /* it will be planned again */
        return;
    }
    k->next = known->plans;
    while (!atomic_compare_exchange_weak(&known->plans, &k->next, k)) {
    }
    known->num_plans++;
    counts.kept++;
}

/* ---- running it */

/* False: an operand has no address. *of: the mode of the JIT, whether exceptions are
 * asked for, and which inputs begin where an output does, that is all that a plan depends
 * on besides the program. */
static bool find_case(asnd_prepared_case *of, const aclnnxProgram *p,
                      void *const *addresses, bool tracks) {
    of->jit = asn_jit_now();
    of->tracks = tracks;
    for (int o = 0; o < p->numOut; o++) {
        const void *at = addresses[p->numIn + o];
        uint32_t over = 0;
        for (int i = 0; i < p->numIn; i++)
            over |= (uint32_t)(addresses[i] == at) << i;
        of->over[o] = over;
    }
    for (int i = 0; i < p->numIn + p->numOut; i++)
        if (!addresses[i]) return false;
    return true;
}

/* The plan is shared by threads: what a run changes is in a copy of its own. */
asn_status asn_prepared_run_at(const asnd_prepared_run *run, char *const *base,
                               uint32_t *fp_flags) {
    if (run->plan.num_reductions) {
        asnd_reduction_run own = run->reduction;
        own.base = base;
        return asn_reductions_run(&own, fp_flags);
    }
    asn_elements_run(&run->elements, base, fp_flags);
    return ASN_OK;
}

/* From the operands' addresses to those of position 0 (which differ where dimensions were
 * turned round). */
static asn_status run_known(const known_plan *k, void *const *addresses,
                            uint32_t *fp_flags) {
    char *base[ACLNNX_MAX_OPERANDS];
    for (int i = 0; i < k->run.plan.num_operands; i++)
        base[i] = (char *)addresses[i] + k->begin[i];
    return asn_prepared_run_at(&k->run, base, fp_flags);
}

/* The program with these addresses put in, planned and run; the plan is kept for the case
 * if it may be. */
static asn_status __attribute__((noinline)) run_anew(asnd_prepared *known,
                                                     const asnd_prepared_case *of,
                                                     void *const *addresses,
                                                     uint32_t *fp_flags) {
    aclnnxProgram p = known->program;
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    memcpy(operands, p.operands, (size_t)(p.numIn + p.numOut) * sizeof *operands);
    for (int i = 0; i < p.numIn + p.numOut; i++)
        if (operands[i].data)
            operands[i].data = addresses[i];
        else
            memcpy(operands[i].immediate, addresses[i], sizeof operands[i].immediate);
    p.operands = operands;
    p.fpFlags = fp_flags;
    return asn_fused_plan_and_run(&p, known, of);
}

/* Operands without elements need no address; a sum of them is written all the same. */
static asn_status check_addresses(const aclnnxProgram *p, void *const *addresses) {
    bool empty = false;
    for (int d = 0; d < p->numDims; d++)
        empty |= p->shape[d] == 0;
    for (int i = 0; i < p->numIn + p->numOut; i++)
        if (!addresses[i] && !(empty && p->operands[i].data))
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "fused: operand %d of %d has no address", i,
                                 p->numIn + p->numOut);
    return ASN_OK;
}

asn_status asn_prepared_run_on(asnd_prepared *known, void *const *addresses,
                               uint32_t *fp_flags) {
    asnd_prepared_case of;
    const known_plan *k = NULL;
    if (find_case(&of, &known->program, addresses, fp_flags != NULL))
        k = find(known, &of);
    else
        ASN_TRY(check_addresses(&known->program, addresses));
    if (__builtin_expect(!k, 0)) return run_anew(known, &of, addresses, fp_flags);
    atomic_store_explicit(&counts.reused,
                          atomic_load_explicit(&counts.reused, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    return run_known(k, addresses, fp_flags);
}
