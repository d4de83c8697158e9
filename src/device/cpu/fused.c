/* CPU device: the fused elementwise engine, a block interpreter.
 *
 * A program runs block by block: about 1-2 KB of every operand, so that all values
 * between its instructions stay in L1, one compiler-vectorised loop per instruction and
 * block (measured: 60-80 % of a hand-fused loop). A block is a piece of a row; where rows
 * are short, several rows of the next dimension. Blocks are grouped into chunks of up to
 * CHUNK elements for the pool; what a block computes does not depend on the grouping.
 *
 * The commonest call, one instruction on a few contiguous elements, takes a path of its
 * own (run_direct): the plan costs more than the loop.
 */
#include "device/cpu/fused.h"

#include "base/alloc.h"
#include "device/cpu/block.h"
#include "device/cpu/copy.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/fused_tiles.h"
#include "device/cpu/fused_weave.h"
#include "device/cpu/gather.h"
#include "device/cpu/jit.h"
#include "device/cpu/pool.h"

enum {
    CHUNK = 16384, /* elements, fewer when they take long: */
    CHUNK_LEAST = 2048,
    CHUNK_NS = 10000,
    DIRECT_ELEMENTS = 4096,
    DIRECT_ALONE = 1 << 17, /* with one thread, and no immediate to splat; */
    DIRECT_HEAVY = 20,      /* any number, where arithmetic (0.1 ns) hides the memory */
    DIRECT_WORK_NS = 6000,  /* with several: from here on a second one may help */
    DIRECT_IMMEDIATE_BYTES = 2048,
    /* Rows are packed, at the price of a copy of each operand, when a block holds this
     * many: four operations on a
     * bool row of 1020 take 88 ns in place and 121 ns packed by two. */
    PACK = 4
};

double asn_plan_work(const asn_plan *plan) {
    double bytes = 0;
    for (int i = 0; i < plan->num_operands; i++)
        if (plan->base[i]) bytes += asn_itemsize(plan->dtype[i]);
    bool cached = bytes * (double)plan->size < 1 << 20;
    return (double)plan->size * (plan->step_ns + bytes * (cached ? 0.01 : 0.03));
}

/* The split dimension (0: pieces of rows, 1: groups of whole rows) in units of `step`. */
typedef struct {
    const asn_plan *plan;
    int split;
    int64_t block, step, units_per_line, units, units_per_chunk;
    uint32_t flags;
} elementwise;

/* Machine code over whole rows that lie where they are used, which is what slices of an
 * array give: between two rows there is nothing to do but to step (128 rows of 128
 * elements, six operands: 13.1 -> 11.3 us). False: this is another case. */
static bool run_rows(const elementwise *e, asn_run *run, int64_t first, int64_t end) {
    const asn_plan *plan = e->plan;
    char **at[ACLNNX_MAX_OPERANDS];
    if (!plan->code || plan->code->checks || e->split || e->units_per_line != 1 ||
        plan->num_dims < 2)
        return false;
    for (int m = 0; m < run->num_moving; m++) {
        int i = run->moving[m];
        if (plan->access[i] != ASN_AT_DIRECT && plan->access[i] != ASN_AT_ROW)
            return false;
        at[m] = &run->ptr[plan->value[i]];
    }
    int64_t step[ACLNNX_MAX_OPERANDS] = {0};
    while (first < end) {
        asn_cursor row;
        asn_cursor_seek(&row, run, 1, plan->num_dims, first);
        int64_t rows = plan->dims[1].extent - row.index[1];
        if (rows > end - first) rows = end - first;
        for (int m = 0; m < run->num_moving; m++) {
            int i = run->moving[m];
            *at[m] = plan->base[i] + row.offset[i];
            step[m] = plan->dims[1].stride[i];
        }
        first += rows;
        while (rows--) {
            asn_jit_run(plan->code, run->ptr, plan->dims[0].extent);
            for (int m = 0; m < run->num_moving; m++)
                *at[m] += step[m];
        }
    }
    return true;
}

static void run_units(const elementwise *e, int64_t first, int64_t end) {
    const asn_plan *plan = e->plan;
    const asn_dim *dim = &plan->dims[e->split];
    asn_run run;
    asn_cursor outer;
    asn_run_init(&run, plan, e->block);
    if (run_rows(e, &run, first, end)) {
        if (plan->streams) asn_block_stream_end();
        return;
    }
    asn_cursor_seek(&outer, &run, e->split + 1, plan->num_dims,
                    first / e->units_per_line);
    int64_t at = first % e->units_per_line * e->step;
    for (int64_t u = first; u < end; u++) {
        int64_t n = dim->extent - at < e->step ? dim->extent - at : e->step;
        for (int m = 0; m < run.num_moving; m++) {
            int i = run.moving[m];
            run.offset[i] = outer.offset[i] + dim->stride[i] * at;
        }
        if (e->split == 0)
            asn_run_block(&run, n, 1);
        else
            asn_run_block(&run, plan->dims[0].extent, n);
        at += n;
        if (at == dim->extent) {
            at = 0;
            asn_cursor_advance(&outer, &run, 1);
        }
    }
    if (plan->streams) asn_block_stream_end();
}

static void run_chunk(void *ctx, int64_t chunk) {
    elementwise *e = ctx;
    int64_t first = chunk * e->units_per_chunk, end = first + e->units_per_chunk;
    if (e->plan->track_flags) asn_fp_clear();
    run_units(e, first, end < e->units ? end : e->units);
    if (e->plan->track_flags)
        __atomic_fetch_or(&e->flags, asn_fp_conditions(), __ATOMIC_RELAXED);
}

/* A power of two: large outputs are stored line by line. */
static int64_t chunk_of(const asn_plan *plan) {
    double ns = asn_plan_work(plan) / (double)plan->size;
    int64_t n = CHUNK;
    while (n > CHUNK_LEAST && (double)n * ns > CHUNK_NS)
        n /= 2;
    return n;
}

/* Whether an output has more elements than the bytes it spans have room for. */
static bool writes_twice(const asn_plan *plan) {
    for (int i = plan->num_in; i < plan->num_operands; i++) {
        int64_t item = asn_itemsize(plan->dtype[i]), span = item;
        for (int d = 0; d < plan->num_dims; d++) {
            int64_t stride = plan->dims[d].stride[i];
            span += (plan->dims[d].extent - 1) * (stride < 0 ? -stride : stride);
        }
        if (span < plan->size * item) return true;
    }
    return false;
}

static void run_elementwise(asn_plan *plan, uint32_t *fp_flags) {
    elementwise e = {.plan = plan};
    const int64_t chunk = chunk_of(plan);
    int64_t inner = plan->dims[0].extent;
    asn_plan_place(plan, false);
    e.block = asn_plan_block(plan, chunk);
    if (plan->num_dims > 1 && inner * PACK <= e.block) {
        asn_plan_place(plan, true);
        e.block = asn_plan_block(plan, chunk);
        e.split = inner * PACK <= e.block;
        if (!e.split) {
            asn_plan_place(plan, false);
            e.block = asn_plan_block(plan, chunk);
        }
    }
    asn_plan_attach(plan);
    if (plan->code) e.block = asn_plan_block(plan, chunk);
    e.step = e.split ? e.block / inner : e.block;
    int64_t extent = plan->dims[e.split].extent;
    int64_t line = e.split ? extent * inner : extent;
    if (e.step > extent) e.step = extent;
    if (!e.split && e.block > extent) e.block = extent;
    e.units_per_line = (extent + e.step - 1) / e.step;
    e.units = plan->size / line * e.units_per_line;
    int64_t unit = e.split ? e.step * inner : e.step;
    e.units_per_chunk = unit < chunk ? chunk / unit : 1;
    int64_t chunks = (e.units + e.units_per_chunk - 1) / e.units_per_chunk;
    /* The last of several writes to a place is the last in order, on one thread. */
    double work = chunks > 1 && writes_twice(plan) ? 0 : asn_plan_work(plan);
    asn_pool_run(run_chunk, &e, chunks, work);
    asn_plan_detach(plan);
    if (fp_flags) __atomic_fetch_or(fp_flags, e.flags, __ATOMIC_RELAXED);
}

static bool is_row_major(const aclnnxProgram *p, const aclnnxOperand *o, int64_t item) {
    if (!o->strides) return true;
    for (int d = p->numDims - 1; d >= 0; d--) {
        if (p->shape[d] != 1 && o->strides[d] != item) return false;
        item *= p->shape[d];
    }
    return true;
}

bool asn_cpu_loop_find(asn_cpu_loop *l, asn_op op, asn_dtype dtype) {
    const asn_kernels *k = asn_kernels_get();
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

bool asn_cpu_loop_cast(asn_cpu_loop *l, asn_dtype from, asn_dtype to) {
    *l = (asn_cpu_loop){
        .fn = asn_kernels_get()->cast[from][to],
        .num_in = 1,
        .item = {(uint8_t)asn_itemsize(from)},
        .out_item = (uint8_t)asn_itemsize(to),
        .raises = from != to && (asn_is_inexact(from) || asn_is_half(to)),
    };
    return l->fn != NULL;
}

/* With scalars: splatted, and the loop taken in pieces where a splat is shorter than n.
 */
static void run_immediates(const asn_cpu_loop *l, int64_t n, char *dst,
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

void asn_cpu_loop_run(const asn_cpu_loop *l, int64_t n, void *dst,
                      const void *const src[3], unsigned immediates, uint32_t *fp_flags) {
    bool tracks = fp_flags && l->raises;
    /* Inexact is always set: only what will be read is worth a write (10 ns). */
    if (tracks && asn_fp_conditions()) asn_fp_clear();
    if (immediates)
        run_immediates(l, n, dst, src, immediates);
    else
        l->fn(n, dst, src[0], src[l->num_in > 1], l->num_in > 2 ? src[2] : src[0]);
    if (tracks) {
        uint32_t met = asn_fp_conditions();
        if (met) __atomic_fetch_or(fp_flags, met, __ATOMIC_RELAXED);
    }
}

/* Whether a loop on so many elements is to be called here and now. Up to 0.3 us of 3 were
 * the plan's for 1e5 bytes; it is needed where threads share the work, results go past
 * the caches, or machine code spares the splats. */
static bool is_short(const aclnnxProgram *p, int64_t n, int cost) {
    if (n <= DIRECT_ELEMENTS) return n * cost <= 10 * DIRECT_ELEMENTS;
    for (int i = 0; i < p->numIn; i++)
        if (!p->operands[i].data) return false;
    if (asn_pool_threads() == 1) return n <= DIRECT_ALONE || cost >= DIRECT_HEAVY;
    return n <= DIRECT_ALONE && n * cost <= 10 * DIRECT_WORK_NS;
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
    asn_cpu_loop loop;
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
    if (!is_short(p, n, casts ? 1 : asn_kernels_get()->cost[in->op])) return false;
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
        if (o->data == out->data && want != result) return false;
        if (!is_row_major(p, o, loop.item[s])) return false;
    }
    asn_cpu_loop_run(&loop, n, out->data, src, immediates, p->fpFlags);
    return true;
}

static asn_nd view_of(const aclnnxProgram *p, const aclnnxOperand *o, asn_dtype dt,
                      int64_t *strides) {
    int64_t stride = asn_itemsize(dt);
    for (int d = p->numDims - 1; d >= 0; stride *= p->shape[d--])
        strides[d] = stride;
    return (asn_nd){o->data, p->numDims, dt, p->shape, o->strides ? o->strides : strides};
}

/* A program that only copies, to where transpositions are known; false: it does more. */
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
    asn_nd from = view_of(p, &o[0], dt, strides[0]),
           to = view_of(p, &o[1], dt, strides[1]);
    *status = asn_cpu_copy(&to, &from);
    return true;
}

asn_status asn_cpu_fused(const aclnnxProgram *p) {
    asn_status status;
    if (asn_jit_now() != ASN_JIT_ALWAYS) {
        if (run_direct(p)) return ASN_OK;
        if (run_copy(p, &status)) return status;
    }
    asn_plan plan;
    status = ASN_OK;
    ASN_TRY(asn_plan_lower(&plan, p));
    ASN_TRY(asn_plan_space(&plan, p));
    if (plan.num_reductions)
        status = asn_plan_run_reductions(&plan, p);
    else if (plan.size && !asn_weave_run(&plan) && !asn_tiles_run(&plan, p->fpFlags))
        run_elementwise(&plan, p->fpFlags);
    asn_free(plan.packed);
    return status;
}

double asn_cpu_fused_work(const aclnnxProgram *p) {
    const asn_kernels *k = asn_kernels_get();
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

static void operand_of(aclnnxOperand *o, const asn_nd *a) {
    o->data = a->data;
    o->strides = a->strides;
    o->dtype = (uint8_t)asn_dtype_table[a->dtype].acl;
    o->flags = 0;
    o->reduceOp = ACLNNX_NO_REDUCE;
}

asn_status asn_cpu_elementwise(asn_op op, asn_dtype dtype, const asn_nd *const in[],
                               const asn_nd *out, uint32_t *fp_flags) {
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

asn_status asn_cpu_cast(const asn_nd *in, const asn_nd *out, uint32_t *fp_flags) {
    return asn_cpu_elementwise(ASN_OP_CAST, in->dtype, &in, out, fp_flags);
}

asn_status asn_cpu_fill(const asn_nd *out, const void *element) {
    static const int64_t none[ASN_ND_MAX_DIMS];
    asn_nd in = {(char *)(uintptr_t)element, out->ndim, out->dtype, out->shape, none};
    const asn_nd *ins = &in;
    return asn_cpu_elementwise(ASN_OP_COPY, out->dtype, &ins, out, NULL);
}
