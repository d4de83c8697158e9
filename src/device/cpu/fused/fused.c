/* CPU device: the fused elementwise engine, a block interpreter.
 *
 * A program runs block by block (fused_elements.c, and for reductions fused_reduce.c):
 * about 1-2 KB of every operand, so that all values between its instructions stay in L1,
 * one compiler-vectorised loop per instruction and block (measured: 60-80 % of a
 * hand-fused loop).
 *
 * Who runs a program again has it prepared (prepared.h). The commonest one that is not,
 * an operator's one instruction on a few contiguous elements, takes a path of its own
 * (run_direct): finding what is known of it would take 22 ns more (aclnnAdd of ten, both
 * phases: 178 ns, 203 without). The general path that it equals is
 * asn_fused_plan_and_run.
 */
#include "device/cpu/fused/fused.h"

#include "base/alloc.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/move/fill.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/fused/fused_tiles.h"
#include "device/cpu/fused/fused_weave.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/jit/jit.h"
#include "device/cpu/threads.h"
#include "device/cpu/fused/prepared_table.h"

enum { DIRECT_ELEMENTS = 4096, DIRECT_IMMEDIATE_BYTES = 2048 };

/* Whether o has no strides, or those of a row-major array without gaps; dimensions of
 * extent 1 do not count. */
static bool is_row_major(const aclnnxProgram *p, const aclnnxOperand *o, int64_t item) {
    if (!o->strides) return true;
    for (int d = p->numDims - 1; d >= 0; d--) {
        if (p->shape[d] != 1 && o->strides[d] != item) return false;
        item *= p->shape[d];
    }
    return true;
}

/* Halves have loops with the conversions in them (kernels.h: half), for one operation by
 * itself: in a program they are converted once for all readers. */
bool asn_cpu_loop_find(asnd_cpu_loop *l, asn_op op, asn_dtype dtype) {
    const asnd_kernels *k = asn_kernels_get();
    l->fn = k->ew[op][dtype];
    if (!l->fn && asn_is_half(dtype)) l->fn = k->half[op][dtype == ASN_BF16];
    if (!l->fn) return false;
    l->num_in = asn_op_table[op].num_in;
    for (int s = 0; s < 3; s++)
        l->item[s] = (uint8_t)asn_itemsize(s < l->num_in ? asn_op_operand(op, s, dtype)
                                                         : ASN_BOOL);
    l->out_item = (uint8_t)asn_itemsize(asn_op_result(op, dtype));
    l->raises = (asn_op_table[op].flags & ASN_OPF_DIVIDES) ||
                (asn_is_inexact(dtype) && !k->quiet[op][dtype]);
    return true;
}

bool asn_cpu_loop_cast(asnd_cpu_loop *l, asn_dtype from, asn_dtype to) {
    *l = (asnd_cpu_loop){
        .fn = asn_kernels_get()->cast[from][to],
        .num_in = 1,
        .item = {(uint8_t)asn_itemsize(from)},
        .out_item = (uint8_t)asn_itemsize(to),
        .raises = asn_cast_raises(from, to),
    };
    return l->fn != NULL;
}

/* With scalars: splatted, and the loop taken in pieces where a splat is shorter than n.
 * l->fn reads whole arrays, so a scalar becomes an array on the stack, the same for every
 * piece; only the other inputs move on. */
static void run_immediates(const asnd_cpu_loop *l, int64_t n, char *dst,
                           const void *const src[3], unsigned immediates) {
    _Alignas(64) char splat[3][DIRECT_IMMEDIATE_BYTES];
    const char *at[3] = {splat[0], splat[0], splat[0]}; /* any address will do */
    int64_t piece = n;
    for (int s = 0; s < l->num_in; s++)
        if ((immediates >> s & 1) && piece * l->item[s] > DIRECT_IMMEDIATE_BYTES)
            piece = DIRECT_IMMEDIATE_BYTES / l->item[s];
    for (int s = 0; s < l->num_in; s++) {
        at[s] = immediates >> s & 1 ? splat[s] : src[s];
        if (immediates >> s & 1) asn_block_splat(splat[s], src[s], l->item[s], piece);
    }
    for (int64_t i = 0; i < n; i += piece) {
        l->fn(n - i < piece ? n - i : piece, dst + i * l->out_item, at[0], at[1], at[2]);
        for (int s = 0; s < l->num_in; s++)
            if (!(immediates >> s & 1)) at[s] += piece * l->item[s];
    }
}

/* A loop of fewer inputs gets the first one in the places of the others: addresses that
 * are valid and not read. */
void asn_cpu_loop_run(const asnd_cpu_loop *l, int64_t n, void *dst,
                      const void *const src[3], unsigned immediates, uint32_t *fp_flags) {
    bool tracks = fp_flags && l->raises;
    if (tracks) asn_fp_clear();
    if (immediates)
        run_immediates(l, n, dst, src, immediates);
    else
        l->fn(n, dst, src[0], src[l->num_in > 1], l->num_in > 2 ? src[2] : src[0]);
    if (tracks) {
        uint32_t met = asn_fp_exceptions();
        if (met) __atomic_fetch_or(fp_flags, met, __ATOMIC_RELAXED);
    }
}

/* One instruction on a few contiguous elements; false: not such a program (or an invalid
 * one), nothing was done. */
static bool run_direct(const aclnnxProgram *p) {
    if (p->numInstrs != 1 || p->numOut != 1 || p->numIn < 1 || p->numIn > 3 ||
        p->numDims > 8)
        return false;
    const aclnnxInstr *in = p->instrs;
    const aclnnxOperand *out = &p->operands[p->numIn];
    asn_dtype dt = asn_plan_dtype(in->dtype);
    asn_dtype result = asn_plan_dtype(out->dtype);
    asnd_cpu_loop loop;
    bool casts = in->op == ASN_OP_CAST;
    if (in->op > ASN_OP_CAST || dt == ASN_DTYPE_NONE || result == ASN_DTYPE_NONE ||
        in->dst != p->numIn || out->reduceOp != ACLNNX_NO_REDUCE || !out->data)
        return false;
    if (!(casts ? in->outDtype == out->dtype && asn_cpu_loop_cast(&loop, dt, result)
                : asn_cpu_loop_find(&loop, in->op, dt) &&
                      asn_op_result(in->op, dt) == result))
        return false;
    int64_t n = 1;
    for (int d = 0; d < p->numDims; d++) {
        const int64_t most = INT32_MAX; /* no overflow below */
        if (p->shape[d] < 0 || p->shape[d] > most) return false;
        n *= p->shape[d];
        if (n > most) return false;
    }
    const int cost = casts ? 1 : asn_kernels_get()->cost[in->op];
    if (n > DIRECT_ELEMENTS || n * cost > 10 * DIRECT_ELEMENTS) return false;
    if (!is_row_major(p, out, loop.out_item)) return false;
    const void *src[3] = {NULL};
    unsigned immediates = 0;
    for (int s = 0; s < loop.num_in; s++) {
        if (in->src[s] >= p->numIn) return false;
        const aclnnxOperand *o = &p->operands[in->src[s]];
        asn_dtype want = casts ? dt : asn_op_operand(in->op, s, dt);
        if (asn_plan_dtype(o->dtype) != want) return false;
        src[s] = o->data ? o->data : o->immediate;
        if (!o->data) immediates |= 1u << s;
        if (!o->data) continue;
        /* A loop may write over an input only where the elements are equally long; other
         * overlaps are the caller's promise (aclnnx.h), here as on the general path. */
        if (o->data == out->data && want != result) return false;
        if (!is_row_major(p, o, loop.item[s])) return false;
    }
    if (in->op == ASN_OP_COPY && !immediates)
        asn_block_copy(out->data, src[0], n * loop.out_item);
    else
        asn_cpu_loop_run(&loop, n, out->data, src, immediates, p->fpFlags);
    return true;
}

/* An operand as a view of the program's shape; `strides` has room for the dense ones
 * where it names none. */
static asnd_nd view_of(const aclnnxProgram *p, const aclnnxOperand *o, asn_dtype dt,
                       int64_t *strides) {
    int64_t stride = asn_itemsize(dt);
    for (int d = p->numDims - 1; d >= 0; stride *= p->shape[d--])
        strides[d] = stride;
    return (asnd_nd){o->data, p->numDims, dt, p->shape,
                     o->strides ? o->strides : strides};
}

/* A program that only copies, to where transpositions are known; false: it does more.
 * *status is that of the copy. Bits are moved as they are: the operand's dtype says no
 * more than the element size. */
static bool run_copy(const aclnnxProgram *p, asn_status *status) {
    const aclnnxInstr *in = p->instrs;
    const aclnnxOperand *o = p->operands;
    if (p->numInstrs != 1 || p->numIn != 1 || p->numOut != 1 || in->op != ASN_OP_COPY ||
        in->dst != 1 || in->src[0] != 0 || o[0].dtype != o[1].dtype ||
        in->dtype != o[0].dtype || !o[0].data || !o[1].data ||
        o[1].reduceOp != ACLNNX_NO_REDUCE || p->numDims > ASN_ND_MAX_DIMS)
        return false;
    asn_dtype dt = asn_plan_dtype(in->dtype);
    if (dt == ASN_DTYPE_NONE) return false;
    int64_t strides[2][ASN_ND_MAX_DIMS];
    for (int d = 0; d < p->numDims; d++)
        if (p->shape[d] < 0) return false;
    asnd_nd from = view_of(p, &o[0], dt, strides[0]),
            to = view_of(p, &o[1], dt, strides[1]);
    *status = asn_cpu_copy(&to, &from);
    return true;
}

/* A program that fills a stretch of memory with one element; false: another one, or it is
 * short. */
static bool run_fill(const aclnnxProgram *p) {
    const aclnnxInstr *in = p->instrs;
    const aclnnxOperand *o = p->operands;
    if (p->numInstrs != 1 || p->numIn != 1 || p->numOut != 1 || in->op != ASN_OP_COPY ||
        in->dst != 1 || in->src[0] != 0 || o[0].dtype != o[1].dtype ||
        in->dtype != o[0].dtype || !o[1].data || o[1].reduceOp != ACLNNX_NO_REDUCE)
        return false;
    asn_dtype dt = asn_plan_dtype(in->dtype);
    int64_t size = 1;
    for (int d = 0; d < p->numDims; d++)
        if (p->shape[d] < 0 || !asn_mul_size(size, p->shape[d], &size)) return false;
    for (int d = 0; d < p->numDims && o[0].data; d++)
        if (!o[0].strides || (o[0].strides[d] != 0 && p->shape[d] != 1)) return false;
    if (dt == ASN_DTYPE_NONE || size > INT64_MAX / 16 ||
        !is_row_major(p, &o[1], asn_itemsize(dt)))
        return false;
    return asn_fill_stretch(o[1].data, o[0].data ? o[0].data : o[0].immediate,
                            asn_itemsize(dt), size * asn_itemsize(dt));
}

/* The general path: fills and copies by their own code, else lower, lay out the space,
 * and run it by the first that takes it: reductions, weave, tiles, elements. Only the
 * reductions' and elements' plans are kept in `known`. */
asn_status asn_fused_plan_and_run(const aclnnxProgram *p, asnd_prepared *known,
                                  const asnd_prepared_case *of) {
    asnd_plan_room room;
    asnd_prepared_run run;
    asnd_plan *plan = &run.plan;
    char *base[ACLNNX_MAX_OPERANDS];
    bool ready = false;
    asn_status status = ASN_OK;
    if (asn_jit_now() != ASN_JIT_ALWAYS) {
        if (run_fill(p)) return ASN_OK;
        if (run_copy(p, &status)) return status;
    }
    ASN_TRY(asn_plan_lower(plan, &room, p));
    ASN_TRY(asn_plan_space(plan, p));
    for (int i = 0; i < plan->num_operands; i++)
        base[i] =
            plan->base[i] ? plan->base[i] : (char *)(uintptr_t)p->operands[i].immediate;
    if (plan->num_reductions) {
        status = asn_reductions_prepare(&run.reduction, plan, p, &ready);
    } else if (plan->size && !asn_weave_run(plan) &&
               !asn_tiles_run(plan, base, p->fpFlags)) {
        asn_elements_prepare(&run.elements, plan);
        ready = true;
    }
    if (ready && !status) {
        if (known) asn_prepared_keep(known, of, &run, p);
        status = asn_prepared_run_at(&run, base, p->fpFlags);
    }
    asn_plan_detach(plan);
    asn_free(plan->packed);
    return status;
}

/* The table finds a program from its second run on (prepared_table.h). */
asn_status asn_cpu_fused(const aclnnxProgram *p) {
    if (asn_jit_now() != ASN_JIT_ALWAYS && run_direct(p)) return ASN_OK;
    ASN_TRY(asn_program_check(p));
    asnd_prepared *known = asn_prepared_find(p);
    if (!known) return asn_fused_plan_and_run(p, NULL, NULL);
    void *addresses[ACLNNX_MAX_OPERANDS];
    asn_program_addresses(p, addresses);
    asn_status status = asn_prepared_run_on(known, addresses, p->fpFlags);
    asn_prepared_release(known);
    return status;
}

/* A sum over what the program says, without planning it: costs of the operations, 0.1 ns
 * an operand's element, 30 ns for the rest. */
double asn_cpu_fused_work(const aclnnxProgram *p) {
    const asnd_kernels *k = asn_kernels_get();
    double n = 1, ns = 0;
    for (int d = 0; d < p->numDims; d++)
        n *= (double)p->shape[d];
    for (int i = 0; i < p->numInstrs; i++) {
        unsigned op = p->instrs[i].op;
        ns += op < ASN_OP_COUNT && k->cost[op] > 1 ? k->cost[op] * 0.1 : 0.12;
    }
    return 30 + n * (ns + 0.1 * (p->numIn + p->numOut));
}

/* ---- single operations over views */

/* The view as an operand that reduces nothing; its strides are borrowed. */
static void operand_of(aclnnxOperand *o, const asnd_nd *a) {
    o->data = a->data;
    o->strides = a->strides;
    o->dtype = (uint8_t)asn_dtype_table[a->dtype].acl;
    o->flags = 0;
    o->reduceOp = ACLNNX_NO_REDUCE;
}

asn_status asn_cpu_elementwise(asn_op op, asn_dtype dtype, const asnd_nd *const in[],
                               const asnd_nd *out, uint32_t *fp_flags) {
    aclnnxOperand operands[4];
    int n = asn_op_table[op].num_in;
    for (int i = 0; i < n; i++)
        operand_of(&operands[i], in[i]);
    operand_of(&operands[n], out);
    aclnnxInstr instr = {(uint16_t)op,
                         (uint8_t)asn_dtype_table[dtype].acl,
                         (uint8_t)asn_dtype_table[out->dtype].acl,
                         (uint8_t)n,
                         {0, 1, 2}};
    aclnnxProgram p = {.numDims = out->ndim,
                       .numIn = n,
                       .numOut = 1,
                       .numInstrs = 1,
                       .numRegs = n + 1,
                       .shape = out->shape,
                       .operands = operands,
                       .instrs = &instr,
                       .fpFlags = fp_flags};
    return asn_cpu_fused(&p);
}

asn_status asn_cpu_cast(const asnd_nd *in, const asnd_nd *out, uint32_t *fp_flags) {
    return asn_cpu_elementwise(ASN_OP_CAST, in->dtype, &in, out, fp_flags);
}

asn_status asn_cpu_fill(const asnd_nd *out, const void *element) {
    static const int64_t none[ASN_ND_MAX_DIMS];
    asnd_nd in = {(char *)(uintptr_t)element, out->ndim, out->dtype, out->shape, none};
    const asnd_nd *ins = &in;
    return asn_cpu_elementwise(ASN_OP_COPY, out->dtype, &ins, out, NULL);
}
