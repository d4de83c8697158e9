/* CPU device: running a plan's steps on one block (see block.h).
 *
 * Two ways, with the same bits. The interpreter calls the loop of each step over the
 * whole block, values in slots between them. Machine code (plan->code) computes the block
 * in one function; what it left undone, because an element was outside of a function's
 * range or floating-point exceptions are in doubt, is computed again by the interpreter,
 * from inputs that nothing has overwritten: that is what asn_plan_place sees to
 * (may_run_again in iteration_space.c).
 *
 * Around either, operands that do not lie as a block wants them are gathered to slots
 * before and scattered from slots after it. The size of a block follows from the slots
 * and the operands in place, so that all of it stays in L1; for folds from constants
 * alone, since the order of a float sum must not depend on the machine's caches.
 */
#include "device/cpu/fused/block.h"

#include <assert.h>

#include "base/cpu.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/jit/jit.h"

enum {
    L1_SIXTEENTHS = 7,        /* of L1, that slots and operands may take together */
    OPERAND_SHARE = 2048,     /* and each of them */
    FOLD_L1_SHARE = 24576,    /* a constant: the order of a sum depends on its blocks */
    FOLD_OPERAND_SHARE = 8192 /* a sum kernel's call */
};

/* Every operand is used where it lies: machine code then needs no slot. */
static bool is_all_direct(const asnd_plan *plan) {
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->access[i] != ASN_AT_DIRECT && plan->access[i] != ASN_AT_CONST &&
            plan->access[i] != ASN_AT_ROW && plan->access[i] != ASN_AT_UNUSED)
            return false;
    return true;
}

/* Elements of a block of the interpreter: the operand's share of L1, as many as fit the
 * slot buffer, whole groups of 64 or 16 where it is that long. `largest` where there are
 * no slots. */
static int64_t step_block(const asnd_plan *plan, int64_t largest) {
    if (plan->block_slots == 0) return largest;
    int64_t share =
        plan->folds ? FOLD_L1_SHARE : asn_cpu_caches().first / 16 * L1_SIXTEENTHS;
    int64_t bytes = share / plan->block_streams;
    int64_t most = plan->folds ? FOLD_OPERAND_SHARE : OPERAND_SHARE;
    if (bytes > most) bytes = most;
    int64_t n = bytes / plan->block_item;
    int64_t fits = ASN_BUFFER_BYTES / plan->block_slots / plan->block_item;
    if (n < 32) n = 32;
    if (n > fits) n = fits;
    return n >= 64 ? n & ~(int64_t)63 : n >= 16 ? n & ~(int64_t)15 : n;
}

/* May give the plan's code back: then slots of its placement do not fit, and the plan is
 * placed again for the steps. */
int64_t asn_plan_block(asnd_plan *plan, int64_t largest) {
    plan->step_block = step_block(plan, largest);
    plan->long_block = largest;
    if (plan->code &&
        plan->step_block * plan->max_item * plan->num_slots > ASN_BUFFER_BYTES) {
        asn_plan_detach(plan);
        asn_plan_place(plan, plan->rows); /* the slots would not fit */
        plan->step_block = step_block(plan, largest);
    }
    if (!plan->code || !is_all_direct(plan)) return plan->step_block;
    plan->prefetch = false; /* long blocks, which the processor sees itself */
    return largest;
}

/* A fold reads the value's whole block. A constant that is folded is therefore splatted,
 * where machine code would read one element. */
static bool is_folded(const asnd_plan *plan, int value) {
    for (int r = 0; r < plan->num_reductions; r++)
        if (plan->reductions[r].value == value) return true;
    return false;
}

void asn_run_init(asnd_run *run, const asnd_plan *plan, char *const *base,
                  int64_t block) {
    if (block > plan->step_block) block = plan->step_block;
    int64_t slot_bytes = (block * plan->max_item + 63) & ~(int64_t)63;
    if (slot_bytes * plan->num_slots > ASN_BUFFER_BYTES)
        slot_bytes = block * plan->max_item;
    run->plan = plan;
    run->base = base;
    run->summed = false;
    run->gathered_n0 = run->gathered_n1 = -1;
    run->slot_bytes = slot_bytes;
    run->num_moving = 0;
    for (int v = 0; v < plan->num_values; v++)
        if (plan->slot[v] >= 0) run->ptr[v] = run->buffer + plan->slot[v] * slot_bytes;
    for (int i = 0; i < plan->num_operands; i++) {
        int v = plan->value[i];
        if (plan->access[i] == ASN_AT_UNUSED) continue;
        if (plan->access[i] == ASN_AT_CONST) {
            if (plan->code && !plan->base[i] && !is_folded(plan, v))
                run->ptr[v] = base[i]; /* which is only read */
            else
                asn_block_splat(run->ptr[v], base[i], plan->item[v], block);
        } else {
            run->offset[i] = 0;
            run->moving[run->num_moving++] = (uint8_t)i;
        }
    }
}

/* Unused inputs of a step repeat the first one (add_step in program.c), so every pointer
 * is valid. */
static void run_steps(const asnd_run *run, int64_t n) {
    const asnd_plan *plan = run->plan;
    char *const *ptr = run->ptr;
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *k = &plan->steps[s];
        k->fn(n, ptr[k->dst], ptr[k->src[0]], ptr[k->src[1]], ptr[k->src[2]]);
    }
}

/* As above, keeping the floating-point flags of quiet steps out. */
static void run_steps_tracked(const asnd_run *run, int64_t n) {
    const asnd_plan *plan = run->plan;
    char *const *ptr = run->ptr;
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *k = &plan->steps[s];
        uint32_t before = k->quiet ? asn_fp_read() : 0;
        k->fn(n, ptr[k->dst], ptr[k->src[0]], ptr[k->src[1]], ptr[k->src[2]]);
        if (k->quiet) asn_fp_restore(before);
    }
}

/* A loop in NumPy's form (args, count, steps, data), as a ufunc made by the user has it:
 * contiguous slots, so each step is the item size. */
static void call_loop(const asnd_run *run, const asnd_step *k, int64_t n) {
    const asn_added_loop *loop = k->loop;
    char *args[ASN_ADDED_ARGS];
    int64_t steps[ASN_ADDED_ARGS], count = n;
    for (int i = 0; i < loop->num_in + loop->num_out; i++) {
        int v = i < loop->num_in ? k->src[i] : k->results[i - loop->num_in];
        args[i] = run->ptr[v];
        steps[i] = run->plan->item[v];
    }
    loop->fn(args, &count, steps, loop->data);
}

/* The same again for programs in which a loop of the program's own is called. */
static void run_steps_and_calls(const asnd_run *run, int64_t n) {
    const asnd_plan *plan = run->plan;
    char *const *ptr = run->ptr;
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *k = &plan->steps[s];
        bool hides = k->quiet && plan->track_flags;
        uint32_t before = hides ? asn_fp_read() : 0;
        if (k->loop)
            call_loop(run, k, n);
        else
            k->fn(n, ptr[k->dst], ptr[k->src[0]], ptr[k->src[1]], ptr[k->src[2]]);
        if (hides) asn_fp_restore(before);
    }
}

/* The program's whole step list on n elements, the variant that pays for no more than it
 * needs. */
static void run_interpreted(const asnd_run *run, int64_t n) {
    if (run->plan->calls)
        run_steps_and_calls(run, n);
    else if (run->plan->track_flags)
        run_steps_tracked(run, n);
    else
        run_steps(run, n);
}

/* Moves the pointers of operands that are used in place; negative: back. */
static void move_operands(asnd_run *run, int64_t elements) {
    const asnd_plan *plan = run->plan;
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m], v = plan->value[i];
        if (plan->access[i] == ASN_AT_DIRECT) run->ptr[v] += elements * plan->item[v];
    }
}

/* What machine code left undone: an element outside the range of a function, or
 * exceptions that a function may have raised for itself. Reductions then read what they
 * fold: operands where they were, slots that hold all n elements. n may exceed a block of
 * the steps, as machine code takes long ones; the slots of rows and immediates are
 * splatted for the steps, which want whole blocks of them. */
static void __attribute__((noinline)) run_again(asnd_run *run, int64_t n) {
    const asnd_plan *plan = run->plan;
    assert(n <= plan->step_block || !plan->num_reductions);
    for (int i = 0; i < plan->num_in; i++) {
        bool one = plan->access[i] == ASN_AT_CONST && !plan->base[i];
        if (plan->access[i] != ASN_AT_ROW && !one) continue;
        int v = plan->value[i];
        const char *element = run->ptr[v];
        run->ptr[v] = run->buffer + plan->slot[v] * run->slot_bytes;
        asn_block_splat(run->ptr[v], element, plan->item[v],
                        n < plan->step_block ? n : plan->step_block);
    }
    for (int64_t at = 0; at < n; at += plan->step_block) {
        int64_t m = n - at < plan->step_block ? n - at : plan->step_block;
        run_interpreted(run, m);
        move_operands(run, m);
    }
    move_operands(run, -n);
}

/* One block by machine code. Its exceptions count unless the plan has to check: then
 * any of them sends the block to the interpreter, which starts from the flags as they
 * were. */
static void run_code(asnd_run *run, int64_t n) {
    const asnd_jit_code *code = run->plan->code;
    const bool checks = asn_plan_checks(run->plan);
    uint32_t before = checks ? asn_fp_read() : 0;
    uint32_t outside = asn_jit_run(code, run->ptr, n);
    run->summed = code->sums;
    if (!checks) return;
    uint32_t raised = asn_fp_read() & ~before & ASN_FP_CONDITIONS;
    if (!outside && !raised) return;
    run->summed = false;
    asn_fp_write(before);
    run_again(run, n);
}

/* The block after this one, while this one is computed. */
static inline void prefetch_next(const char *at, int64_t bytes) {
    for (const char *p = at + bytes, *end = p + bytes; p < end; p += 64)
        __builtin_prefetch(p);
}

/* The same rows for every block, as a bias added to short rows has them, are gathered
 * once. */
static void gather(asnd_run *run, int i, const char *at, int64_t n0, int64_t n1) {
    const asnd_plan *plan = run->plan;
    int v = plan->value[i];
    if (plan->code && run->gathered[i] == at) return;
    run->gathered[i] = at;
    asn_block_gather(run->ptr[v], at, plan->item[v], n0, plan->dims[0].stride[i], n1,
                     plan->dims[plan->num_dims > 1].stride[i]);
}

/* Another shape of blocks: what the slots hold was gathered for the old one. */
static void forget_gathered(asnd_run *run, int64_t n0, int64_t n1) {
    run->gathered_n0 = n0;
    run->gathered_n1 = n1;
    for (int m = 0; m < run->num_moving; m++)
        run->gathered[run->moving[m]] = NULL;
}

/* Three parts: addresses and gathers, the computation, and the outputs that go to their
 * place from slots. These are the moving operands' last entries, so the search goes
 * backwards and ends with the count. */
void asn_run_block(asnd_run *run, int64_t n0, int64_t n1) {
    const asnd_plan *plan = run->plan;
    const asnd_dim *d0 = &plan->dims[0], *d1 = &plan->dims[plan->num_dims > 1];
    int scattered = 0;
    if (plan->code && (n0 != run->gathered_n0 || n1 != run->gathered_n1))
        forget_gathered(run, n0, n1);
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m], v = plan->value[i];
        char *at = run->base[i] + run->offset[i];
        if (plan->access[i] == ASN_AT_DIRECT) {
            assert(!plan->code || !(plan->past_caches >> i & 1) ||
                   (uintptr_t)at % 64 == 0);
            run->ptr[v] = at;
            if (plan->prefetch && i < plan->num_in)
                prefetch_next(at, n0 * n1 * plan->item[v]);
        } else if (plan->access[i] == ASN_AT_ROW)
            run->ptr[v] = at;
        else if (plan->access[i] == ASN_AT_GATHER)
            gather(run, i, at, n0, n1);
        else
            scattered +=
                plan->access[i] == ASN_AT_SCATTER || plan->access[i] == ASN_AT_STREAM;
    }
    if (plan->code)
        run_code(run, n0 * n1);
    else
        run_interpreted(run, n0 * n1);
    for (int m = run->num_moving - 1; scattered; m--) {
        int i = run->moving[m], v = plan->value[i];
        if (plan->access[i] == ASN_AT_STREAM) {
            asn_block_stream(run->base[i] + run->offset[i], run->ptr[v],
                             n0 * plan->item[v]);
            scattered--;
            continue;
        }
        if (plan->access[i] != ASN_AT_SCATTER) continue;
        asn_block_scatter(run->base[i] + run->offset[i], run->ptr[v], plan->item[v], n0,
                          d0->stride[i], n1, d1->stride[i]);
        scattered--;
    }
}

/* Mixed radix: dimension lo is the last digit of `position`. */
void asn_cursor_seek(asnd_cursor *c, const asnd_run *run, int lo, int hi,
                     int64_t position) {
    c->lo = lo;
    c->hi = hi;
    for (int m = 0; m < run->num_moving; m++)
        c->offset[run->moving[m]] = 0;
    for (int d = lo; d < hi; d++) {
        const asnd_dim *dim = &run->plan->dims[d];
        c->index[d] = position % dim->extent;
        position /= dim->extent;
        for (int m = 0; m < run->num_moving; m++)
            c->offset[run->moving[m]] += dim->stride[run->moving[m]] * c->index[d];
    }
}
