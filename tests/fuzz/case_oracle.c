/* The oracle: a program taken element by element and instruction by instruction.
 *
 * No plan, no block, no register, no thread: every instruction is a call of its row's
 * loop for one element. Of the engine it shares the rows' loops alone. Reductions go from
 * left to right in row-major order, one element onto the accumulator at a time; where the
 * engine may take another order with another rounding (sums and products of floats), the
 * bound says by how much the results may differ. Sums of finite floats are kept in long
 * double: left to right in float32, equal elements round the same way every time, and
 * 50,000 of them are off by more than the engine may be.
 */
#include <float.h>
#include <math.h>

#include "case.h"

typedef struct {
    _Alignas(16) char bytes[16];
} element;

typedef struct {
    const fuzz_case *c;
    char *const *at;
    element reg[ACLNNX_MAX_REGS];
    /* Of each reducing output, an entry per element of its buffer. */
    element *acc[ACLNNX_MAX_OPERANDS];
    uint8_t *started[ACLNNX_MAX_OPERANDS];
    long double (*wide[ACLNNX_MAX_OPERANDS])[2]; /* of sums: real, imaginary */
    double *sum[ACLNNX_MAX_OPERANDS]; /* of magnitudes, or of their logarithms */
    double *count[ACLNNX_MAX_OPERANDS];
} oracle;

static asn_dtype acc_dtype(const fuzz_operand *o) {
    return asn_is_half((asn_dtype)o->dtype) ? ASN_F32 : (asn_dtype)o->dtype;
}

static bool is_sum(const fuzz_operand *out) {
    return out->reduce == ASN_OP_ADD && asn_is_inexact(acc_dtype(out));
}

static asn_c128 complex_of(asn_dtype dt, const void *x) {
    asn_c128 z;
    asn_kernels_get()->cast[dt][ASN_C128](1, &z, x, NULL, NULL);
    return z;
}

static void add_wide(oracle *o, int i, int64_t k, const void *x) {
    asn_c128 z = complex_of(acc_dtype(&o->c->operands[i]), x);
    o->wide[i][k][0] += z.re;
    o->wide[i][k][1] += z.im;
}

/* Of the finite parts: what is infinite or NaN decides its part in any order. */
static double magnitude(asn_dtype dt, const void *x) {
    asn_c128 z = complex_of(dt, x);
    return (isfinite(z.re) ? fabs(z.re) : 0) + (isfinite(z.im) ? fabs(z.im) : 0);
}

static void run_instr(oracle *o, const aclnnxInstr *in) {
    asnd_cpu_loop loop;
    const void *src[3] = {NULL, NULL, NULL};
    element result = {{0}};
    asn_dtype dt = fuzz_dtype_of(in);
    bool known = in->op == ASN_OP_CAST ? asn_cpu_loop_cast(&loop, dt, fuzz_result_of(in))
                                       : asn_cpu_loop_find(&loop, (asn_op)in->op, dt);
    CHECK(known, "no loop");
    for (int s = 0; s < fuzz_arity(in); s++)
        src[s] = o->reg[in->src[s]].bytes;
    asn_cpu_loop_run(&loop, 1, result.bytes, src, 0, NULL);
    o->reg[in->dst] = result;
}

static void start(oracle *o, int i, int64_t k, const char *place) {
    const fuzz_operand *out = &o->c->operands[i];
    const asn_op_info *info = &asn_op_table[out->reduce];
    const asnd_kernels *kernels = asn_kernels_get();
    asn_dtype dt = acc_dtype(out);
    if (out->flags & ACLNNX_ACCUMULATE) {
        kernels->cast[out->dtype][dt](1, o->acc[i][k].bytes, place, NULL, NULL);
        o->started[i][k] = 1;
    } else if (info->has_identity && (info->flags & ASN_OPF_REORDERABLE)) {
        kernels->cast[ASN_F64][dt](1, o->acc[i][k].bytes, &info->identity, NULL, NULL);
        o->started[i][k] = 1;
    }
    if (out->reduce == ASN_OP_ADD && o->started[i][k])
        o->sum[i][k] = magnitude(dt, o->acc[i][k].bytes);
    if (is_sum(out) && o->started[i][k]) add_wide(o, i, k, o->acc[i][k].bytes);
}

static void fold(oracle *o, int i, int64_t k, const char *place) {
    const fuzz_operand *out = &o->c->operands[i];
    const asnd_kernels *kernels = asn_kernels_get();
    asn_dtype dt = acc_dtype(out);
    element x, next = {{0}};
    kernels->cast[out->dtype][dt](1, x.bytes, o->reg[i].bytes, NULL, NULL);
    if (o->count[i][k] == 0) start(o, i, k, place);
    o->count[i][k] += 1;
    double size = magnitude(dt, x.bytes);
    o->sum[i][k] += out->reduce == ASN_OP_MULTIPLY ? fabs(log2(size)) : size;
    if (is_sum(out)) add_wide(o, i, k, x.bytes);
    if (!o->started[i][k]) {
        o->acc[i][k] = x;
        o->started[i][k] = 1;
        return;
    }
    kernels->ew[out->reduce][dt](1, next.bytes, o->acc[i][k].bytes, x.bytes, NULL);
    o->acc[i][k] = next;
}

/* One element of the iteration space, its operands `where` bytes from their buffers. */
static void run_element(oracle *o, const int64_t *where) {
    const fuzz_case *c = o->c;
    for (int i = 0; i < c->num_in; i++) {
        const fuzz_operand *in = &c->operands[i];
        const char *from = o->at[in->buffer] + (in->immediate ? 0 : where[i]);
        memcpy(o->reg[i].bytes, from, (size_t)asn_itemsize((asn_dtype)in->dtype));
    }
    for (int k = 0; k < c->num_instrs; k++)
        run_instr(o, &c->instrs[k]);
    for (int i = c->num_in; i < c->num_in + c->num_out; i++) {
        const fuzz_operand *out = &c->operands[i];
        int item = asn_itemsize((asn_dtype)out->dtype);
        char *to = o->at[out->buffer] + where[i];
        if (out->reduce == ACLNNX_NO_REDUCE)
            memcpy(to, o->reg[i].bytes, (size_t)item);
        else
            fold(o, i, where[i] / item, to);
    }
}

/* What element k of output i may be off by; negative: anything. */
static double bound_of(const oracle *o, int i, int64_t k) {
    const fuzz_operand *out = &o->c->operands[i];
    asn_dtype dt = acc_dtype(out), real = asn_real_dtype(dt);
    const double eps = real == ASN_F32 ? FLT_EPSILON : DBL_EPSILON;
    const double most = real == ASN_F32 ? FLT_MAX : DBL_MAX;
    const double rounds = fmin(o->count[i][k], 4096) + 8;
    double size = o->sum[i][k];
    if (!asn_is_inexact(dt)) return 0;
    if (out->reduce == ASN_OP_ADD) {
        /* A half overflows at its own bound; a partial sum may where the whole does not.
         */
        if (size > most / 4 || (asn_is_half((asn_dtype)out->dtype) && size > 3e4))
            return -1;
        double half = out->dtype == ASN_F16 ? 1e-3 : out->dtype == ASN_BF16 ? 1e-2 : 0;
        return (rounds * eps + half) * size;
    }
    if (out->reduce != ASN_OP_MULTIPLY) /* a row may round in more than one way */
        return asn_op_table[out->reduce].ulp[dt] > 0
                   ? rounds * 4 * eps * magnitude(dt, o->acc[i][k].bytes)
                   : 0;
    if (asn_is_complex(dt) || !(size < (real == ASN_F32 ? 100 : 900))) return -1;
    double value = magnitude(dt, o->acc[i][k].bytes);
    if (asn_is_half((asn_dtype)out->dtype))
        return size > 10 ? -1 : (rounds * eps + 1e-2) * value;
    return rounds * eps * value;
}

static void store(const oracle *o, int i, int64_t k, char *to) {
    const fuzz_operand *out = &o->c->operands[i];
    const asnd_kernels *kernels = asn_kernels_get();
    const char *acc = o->acc[i][k].bytes;
    asn_c128 z = complex_of(acc_dtype(out), acc);
    if (is_sum(out) && isfinite(z.re) && isfinite(z.im)) {
        z = (asn_c128){(double)o->wide[i][k][0], (double)o->wide[i][k][1]};
        kernels->cast[ASN_C128][out->dtype](1, to, &z, NULL, NULL);
    } else
        kernels->cast[acc_dtype(out)][out->dtype](1, to, acc, NULL, NULL);
}

static void finish(oracle *o, int i, double *bounds) {
    const fuzz_operand *out = &o->c->operands[i];
    int64_t item = asn_itemsize((asn_dtype)out->dtype);
    for (int64_t k = 0; k < o->c->buffers[out->buffer].bytes / item; k++) {
        if (!o->count[i][k]) continue;
        char *to = o->at[out->buffer] + k * item;
        bounds[k] = bound_of(o, i, k);
        store(o, i, k, to);
    }
}

/* Kept positions of an empty reduction get the identity. */
static void reduce_nothing(const fuzz_case *c, char *const *at, int i) {
    const fuzz_operand *out = &c->operands[i];
    const asn_op_info *info = &asn_op_table[out->reduce];
    int64_t n = 1, index[FUZZ_DIMS] = {0};
    for (int d = 0; d < c->ndim; d++)
        if (!(c->mask >> d & 1)) n *= c->shape[d];
    for (int64_t k = 0; k < n && !(out->flags & ACLNNX_ACCUMULATE); k++) {
        char *to = at[out->buffer] + out->offset;
        int64_t rest = k;
        for (int d = c->ndim - 1; d >= 0; d--) {
            if (c->mask >> d & 1) continue;
            index[d] = rest % c->shape[d];
            rest /= c->shape[d];
            to += index[d] * out->strides[d];
        }
        asn_kernels_get()->cast[ASN_F64][out->dtype](1, to, &info->identity, NULL, NULL);
    }
}

static void open_reductions(oracle *o, double **bounds) {
    const fuzz_case *c = o->c;
    for (int i = c->num_in; i < c->num_in + c->num_out; i++) {
        const fuzz_operand *out = &c->operands[i];
        if (out->reduce == ACLNNX_NO_REDUCE) continue;
        size_t n =
            (size_t)(c->buffers[out->buffer].bytes / asn_itemsize((asn_dtype)out->dtype));
        o->acc[i] = calloc(n, sizeof *o->acc[i]);
        o->started[i] = calloc(n, 1);
        o->wide[i] = calloc(n, sizeof *o->wide[i]);
        o->sum[i] = calloc(n, sizeof(double));
        o->count[i] = calloc(n, sizeof(double));
        bounds[i] = calloc(n, sizeof(double));
    }
}

void fuzz_oracle(const fuzz_case *c, char *const *at, double **bounds) {
    oracle o = {.c = c, .at = at};
    int64_t index[FUZZ_DIMS] = {0}, where[ACLNNX_MAX_OPERANDS];
    open_reductions(&o, bounds);
    for (int64_t n = fuzz_size(c); n > 0; n--) {
        for (int i = 0; i < c->num_in + c->num_out; i++) {
            where[i] = c->operands[i].offset;
            for (int d = 0; d < c->ndim; d++)
                where[i] += index[d] * c->operands[i].strides[d];
        }
        run_element(&o, where);
        for (int d = c->ndim - 1; d >= 0 && ++index[d] == c->shape[d]; d--)
            index[d] = 0;
    }
    for (int i = c->num_in; i < c->num_in + c->num_out; i++) {
        if (!bounds[i]) continue;
        if (fuzz_size(c) == 0)
            reduce_nothing(c, at, i);
        else
            finish(&o, i, bounds[i]);
        free(o.acc[i]);
        free(o.started[i]);
        free(o.wide[i]);
        free(o.sum[i]);
        free(o.count[i]);
    }
}
