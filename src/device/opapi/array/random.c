/* CPU device, operators: random numbers.
 *
 * Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011),
 * keyed by the seed, counted from `offset`: element i takes numbers that depend on (seed,
 * offset, i) alone, so that chunks run in parallel and a program repeats itself. An NPU's
 * numbers are others.
 *
 * What an operator wants is made of standard numbers in float64 (uniform in [0, 1) or
 * normal), in place, and converted last. Two words are set aside for each step of
 * `offset`, so that calls with neighbouring offsets share numbers if they make more than
 * two.
 */
#include <math.h>

#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"
#include "device/cpu/sort/sort.h"
#include "device/opapi/core/plan.h"
#include "device/opapi/core/seed.h"
#include "random/bitgen.h"
#include "random/polar.h"

typedef enum {
    UNIFORM,
    NORMAL,
    INTEGERS,
    BERNOULLI,
    PERMUTATION,
    EXPONENTIAL
} random_kind;

/* Elements that a thread makes at a time: even, so that pairs are not cut. */
enum { CHUNK = 1 << 14 };

/* One plan for all kinds. */
typedef struct {
    asnd_plan_head head;
    random_kind kind;
    int out, first, second; /* operands of tensor parameters, or -1 */
    double a, b;            /* bounds, mean and deviation, probability */
    double real; /* of complex normal numbers: added to real parts; a and b are of both */
    asnd_seed seed;
} random_plan;

/* A parallel region's: n values in float64. */
typedef struct {
    const random_plan *plan;
    uint64_t seed, offset;
    double *values;
    int64_t n;
} random_work;

/* Turns n uniform numbers into as many normal ones, n even (Box and Muller, 1958), a
 * block at a time. Logarithm, cosine and sine are the array library's vector loops. */
static void box_muller(double *x, int64_t n) {
    const asnd_kernels *k = asn_kernels_get();
    asn_polar b;
    for (int64_t i = 0; i < n; i += 2 * ASN_POLAR_PAIRS) {
        int64_t pairs = (n - i) / 2 < ASN_POLAR_PAIRS ? (n - i) / 2 : ASN_POLAR_PAIRS;
        asn_polar_split(&b, x + i, pairs);
        k->ew[ASN_OP_LOG][ASN_F64](pairs, b.r, b.r, NULL, NULL);
        k->ew[ASN_OP_COS][ASN_F64](pairs, b.cosine, b.angle, NULL, NULL);
        k->ew[ASN_OP_SIN][ASN_F64](pairs, b.sine, b.angle, NULL, NULL);
        asn_polar_join(&b, x + i, pairs);
    }
}

/* Makes a chunk of standard numbers. Element i is made from word 2 * offset + i; an even
 * number of words, so that the last pair is whole. */
static void random_chunk(void *ctx, int64_t chunk) {
    const random_work *w = ctx;
    const random_plan *p = w->plan;
    int64_t first = chunk * CHUNK, n = w->n - first < CHUNK ? w->n - first : CHUNK;
    double *x = w->values + first, last[2];
    uint64_t word = 2 * w->offset + (uint64_t)first;
    if (p->kind != NORMAL) {
        asn_philox_doubles(w->seed, word, n, x);
        return;
    }
    int64_t whole = n & ~(int64_t)1;
    asn_philox_doubles(w->seed, word, whole, x);
    box_muller(x, whole);
    /* The last element of an odd number is the first of a pair of its own. */
    if (whole == n) return;
    asn_philox_doubles(w->seed, word + (uint64_t)whole, 2, last);
    box_muller(last, 2);
    x[whole] = last[0];
}

/* The parameter of element i: the tensor's value, or the number. */
static double parameter(const asnd_view *v, const double *values, double number,
                        int64_t i) {
    return v == NULL ? number : values[i];
}

/* From the standard distributions to the wanted ones, in place, an element at a time
 * where a parameter is a tensor. first, second: contiguous float64, or NULL for a
 * number. */
static void shape_values(const random_plan *p, double *x, int64_t n,
                         const asnd_view *first, const asnd_view *second) {
    const double *a = first ? (const double *)first->nd.data : NULL;
    const double *b = second ? (const double *)second->nd.data : NULL;
    for (int64_t i = 0; i < n; i++) {
        double low = parameter(first, a, p->a, i), high = parameter(second, b, p->b, i);
        switch (p->kind) {
        case NORMAL: x[i] = low + high * x[i]; break;
        case BERNOULLI: x[i] = x[i] < low; break;
        case EXPONENTIAL: x[i] = -log1p(-x[i]) / low; break;
        case INTEGERS: x[i] = floor(low + (high - low) * x[i]); break;
        default: x[i] = low + (high - low) * x[i]; break;
        }
    }
}

/* A tensor parameter in float64, broadcast and contiguous. */
static asn_status spread(aclOpExecutor *e, int operand, const asnd_nd *out, asnd_tmp *tmp,
                         asnd_view *v) {
    asnd_view from;
    asn_view_set(&from, asn_exec_nd(e, operand));
    asn_view_broadcast(&from, out->ndim, out->shape);
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, out->ndim, out->shape, v));
    return asn_move(&v->nd, &from.nd);
}

/* Whether the output is contiguous float64: it takes the numbers directly. */
static bool is_packed_f64(const asnd_nd *x) {
    int64_t step = 8;
    for (int d = x->ndim - 1; d >= 0; step *= x->shape[d--])
        if (x->shape[d] != 1 && x->strides[d] != step) return false;
    return x->dtype == ASN_F64;
}

/* Cuts uniform numbers to as many bits as the result's dtype holds: rounding would reach
 * 1. */
static void truncate_units(double *x, int64_t n, asn_dtype dt) {
    double grid = dt == ASN_F32 ? 0x1p24 : dt == ASN_F16 ? 0x1p11 : 0x1p8;
    if (dt == ASN_F64) return;
    for (int64_t i = 0; i < n; i++)
        x[i] = floor(x[i] * grid) / grid;
}

/* v: complex numbers as twice as many real ones. */
static void parts_of(const asnd_nd *a, asnd_view *v) {
    asn_view_set(v, a);
    asn_view_insert(v, a->ndim, 2, asn_itemsize(a->dtype) / 2);
    v->nd.dtype = a->dtype == ASN_C64 ? ASN_F32 : ASN_F64;
}

/* The body of all. Numbers are drawn in float64, whatever the output's dtype, and then
 * converted: one stream of numbers for all dtypes. */
static asn_status random_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const random_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view values, first, second, order, parts;
    bool complex = asn_is_complex(out->dtype);
    if (complex) {
        parts_of(out, &parts);
        out = &parts.nd;
    }
    bool direct = p->kind != PERMUTATION && is_packed_f64(out);
    if (!direct) ASN_TRY(asn_tmp_view(tmp, ASN_F64, out->ndim, out->shape, &values));
    const asnd_nd *to = direct ? out : &values.nd;
    random_work w = {p, 0, 0, (double *)(void *)to->data, asn_nd_size(out)};
    asn_exec_seed(e, &p->seed, &w.seed, &w.offset);
    asn_pool_run(random_chunk, &w, (w.n + CHUNK - 1) / CHUNK, 2 * (double)w.n);
    if (p->kind == PERMUTATION) { /* the order of random keys */
        ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, out->shape, &order));
        ASN_TRY(asn_cpu_sort(&values.nd, 0, 0, NULL, &order.nd));
        return asn_move(out, &order.nd);
    }
    if (p->first >= 0) ASN_TRY(spread(e, p->first, out, tmp, &first));
    if (p->second >= 0) ASN_TRY(spread(e, p->second, out, tmp, &second));
    /* Nothing is left to do but the conversion. */
    bool standard = p->first < 0 && p->second < 0 && p->a == 0 && p->b == 1;
    if (!standard || (p->kind != UNIFORM && p->kind != NORMAL))
        shape_values(p, w.values, w.n, p->first >= 0 ? &first : NULL,
                     p->second >= 0 ? &second : NULL);
    if (standard && p->kind == UNIFORM) truncate_units(w.values, w.n, out->dtype);
    for (int64_t i = 0; complex && p->real != 0 && i < w.n; i += 2)
        w.values[i] += p->real;
    return direct ? ASN_OK : asn_move(out, &values.nd);
}

/* A plan for the standard distribution into parameter `out`. NULL with the error set. */
static random_plan *plan_random(asnd_call *c, random_kind kind, int out,
                                const asnd_seed *seed) {
    double n = (double)asn_nd_size(asn_call_nd(c, out));
    random_plan *p = asn_call_plan(c, random_body, sizeof *p, 300 + 15 * n);
    if (p == NULL) return NULL;
    p->kind = kind;
    p->out = c->first[out];
    p->first = p->second = -1;
    p->a = p->real = 0;
    p->b = 1;
    p->seed = *seed;
    return p;
}

/* Reads parameter i: *operand for a tensor, *number for a scalar, a double or an
 * integer. */
static asn_status take_parameter(const asnd_call *c, int i, double *number,
                                 int *operand) {
    switch (c->op->params[i].kind) {
    case ASN_IN: *operand = c->first[i]; return ASN_OK;
    case ASN_SCALAR: return asn_call_number(c, i, number);
    case ASN_DOUBLE: *number = asn_call_double(c, i); return ASN_OK;
    default: *number = (double)asn_call_int(c, i); return ASN_OK;
    }
}

/* InplaceUniform, InplaceNormal, InplaceRandom (selfRef, a, b, seed, offset), ...Tensor
 * with seedTensor, offsetTensor, offset; Normal...Float/Tensor (mean, std, seed, offset,
 * out): arg is the kind. */
asn_status asn_planner_random(asnd_call *c) {
    int out = asn_call_out(c), at = out == 0 ? 1 : 0;
    const asnd_nd *to = asn_call_nd(c, out);
    random_kind kind = (random_kind)c->op->arg;
    /* PyTorch's complex numbers: two real ones each, in place and from numbers alone. */
    bool complex = asn_is_complex(to->dtype) && out == 0 && kind != INTEGERS &&
                   to->ndim < ASN_ND_MAX_DIMS;
    if (to->dtype == ASN_BOOL ||
        (kind != INTEGERS && !asn_is_floating(to->dtype) && !complex))
        return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s", c->op->name,
                             c->op->params[out].name, asn_dtype_name(to->dtype));
    /* Tensors of parameters broadcast to the output. */
    for (int i = at; i < at + 2; i++)
        if (c->op->params[i].kind == ASN_IN &&
            !asn_nd_broadcasts(asn_call_nd(c, i), to->ndim, to->shape))
            return asn_call_same_shape(c, i, to->ndim, to->shape);
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, at + 2, &seed));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    random_plan *p = plan_random(c, kind, out, &seed);
    if (p == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(take_parameter(c, at, &p->a, &p->first));
    ASN_TRY(take_parameter(c, at + 1, &p->b, &p->second));
    /* The values of tensors are not checked. */
    bool numbers = p->first < 0 && p->second < 0;
    if (numbers && (kind == NORMAL ? !(p->b >= 0) : !(p->a <= p->b)))
        return asn_error_set(ASN_ERR_VALUE, "%s: %s is %g, %s is %g", c->op->name,
                             c->op->params[at].name, p->a, c->op->params[at + 1].name,
                             p->b);
    if (!complex || kind != NORMAL) return ASN_OK;
    /* The variance is that of both parts together, the mean real. */
    p->real = p->a;
    p->a = 0;
    p->b /= sqrt(2);
    return ASN_OK;
}

/* Bernoulli, BernoulliTensor (self, prob, seed, offset, out), in place or not: 1 with
 * probability prob, a number or a tensor that broadcasts to out, else 0. self gives the
 * shape alone. */
asn_status asn_planner_bernoulli(asnd_call *c) {
    int out = asn_call_out(c);
    const asnd_nd *to = asn_call_nd(c, out), *prob = asn_call_nd(c, 1);
    ASN_TRY(asn_call_same_shape(c, 0, to->ndim, to->shape));
    if (prob != NULL && !asn_nd_broadcasts(prob, to->ndim, to->shape))
        return asn_call_same_shape(c, 1, to->ndim, to->shape);
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, 2, &seed));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    random_plan *p = plan_random(c, BERNOULLI, out, &seed);
    if (p == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(take_parameter(c, 1, &p->a, &p->first));
    if (p->first >= 0 || (p->a >= 0 && p->a <= 1)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: prob is %g; it must be in [0, 1]",
                         c->op->name, p->a);
}

/* The largest number up to which a dtype holds every integer: of floats 2 to the power of
 * their digits. */
static double largest_integer(asn_dtype t) {
    switch (t) {
    case ASN_BOOL: return 1;
    case ASN_F16: return 0x1p11;
    case ASN_BF16: return 0x1p8;
    case ASN_F32: return 0x1p24;
    case ASN_F64: return 0x1p53;
    case ASN_U8:
    case ASN_U16:
    case ASN_U32:
    case ASN_U64: return ldexp(1, 8 * asn_itemsize(t)) - 1;
    default: return ldexp(1, 8 * asn_itemsize(t) - 1) - 1;
    }
}

/* InplaceRandomWithoutFromTo(selfRef, seed, offset), ...Tensor: integers from 0 to the
 * largest, which is among them, as torch.Tensor.random_() draws them. */
asn_status asn_planner_random_all(asnd_call *c) {
    asnd_seed seed;
    ASN_TRY(asn_call_real(c, 0));
    ASN_TRY(asn_call_seed(c, 1, &seed));
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    random_plan *p = plan_random(c, INTEGERS, 0, &seed);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->b = largest_integer(asn_call_nd(c, 0)->dtype) + 1;
    return ASN_OK;
}

/* SimThreadExponential(selfRef, count, lambda, seed, offset): count is selfRef's number
 * of elements. */
asn_status asn_planner_exponential(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    double lambda = asn_call_double(c, 2);
    ASN_TRY(asn_call_floating(c, 0));
    if (!(lambda > 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: lambda is %g; it must be positive",
                             c->op->name, lambda);
    if (asn_call_int(c, 1) != asn_nd_size(self))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: count is %lld; selfRef has %lld elements", c->op->name,
                             (long long)asn_call_int(c, 1), (long long)asn_nd_size(self));
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, 3, &seed));
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    random_plan *p = plan_random(c, EXPONENTIAL, 0, &seed);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->a = lambda;
    return ASN_OK;
}

/* Randperm(n, seed, offset, out): a permutation of 0 ... n - 1, by sorting random keys.
 * Two equal keys would keep their order, which hardly happens with 53 bits. */
asn_status asn_planner_randperm(asnd_call *c) {
    int64_t n = asn_call_int(c, 0);
    if (n < 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: n is %lld", c->op->name, (long long)n);
    ASN_TRY(asn_call_same_shape(c, 3, 1, &n));
    ASN_TRY(asn_call_convertible(c, ASN_I64, 3));
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, 1, &seed));
    if (n == 0) return ASN_OK;
    return plan_random(c, PERMUTATION, 3, &seed) ? ASN_OK : ASN_ERR_MEMORY;
}
