/* CPU device, operators: dropout by bit masks, and RReluWithNoise.
 *
 * Element i of a mask, in row-major order, is bit i % 8 of byte i / 8; the mask is padded
 * with zeros to 128 bits. Its number is word 2 * offset + i of the seed's Philox stream,
 * as in random.c; the element is dropped when the number is below the probability.
 *
 * A mask is made in chunks, each by one thread, and is the same however many there are.
 * Applying one goes through a bool for each element, which a fused program reads as it
 * reads any operand.
 */
#include "device/cpu/threads.h"
#include "device/opapi/core/seed.h"
#include "device/opapi/nn/norm.h"
#include "random/bitgen.h"

/* Elements that a thread takes at a time, a multiple of 8, so that no two share a byte;
 * numbers that are drawn at once. */
enum { CHUNK = 1 << 14, PIECE = 256 };

/* Of a parallel region over n elements; each uses some of the fields. */
typedef struct {
    uint64_t seed, offset;
    double probability;
    uint8_t *bits, *bytes; /* packed, and one per element */
    double *numbers;
    int64_t n;
} mask_work;

/* Bytes of a mask of n elements. */
static int64_t mask_bytes(int64_t n) {
    return (n + 127) / 128 * 16;
}

/* bits: 1 where an element stays. */
static void draw_chunk(void *ctx, int64_t chunk) {
    const mask_work *w = ctx;
    double u[PIECE];
    int64_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (int64_t first = chunk * CHUNK; first < end; first += PIECE) {
        int64_t n = end - first < PIECE ? end - first : PIECE;
        asn_philox_doubles(w->seed, 2 * w->offset + (uint64_t)first, n, u);
        for (int64_t i = 0; i < n; i += 8) {
            unsigned byte = 0;
            for (int64_t k = i; k < n && k < i + 8; k++)
                byte |= (unsigned)(u[k] >= w->probability) << (k - i);
            w->bits[(first + i) / 8] = (uint8_t)byte;
        }
    }
}

/* bytes[i] = bit i. */
static void unpack_chunk(void *ctx, int64_t chunk) {
    const mask_work *w = ctx;
    int64_t end = (chunk + 1) * CHUNK < w->n ? (chunk + 1) * CHUNK : w->n;
    for (int64_t i = chunk * CHUNK; i < end; i++)
        w->bytes[i] = w->bits[i / 8] >> (i % 8) & 1;
}

/* numbers = uniform ones in [0, 1). */
static void number_chunk(void *ctx, int64_t chunk) {
    const mask_work *w = ctx;
    int64_t first = chunk * CHUNK, n = w->n - first < CHUNK ? w->n - first : CHUNK;
    asn_philox_doubles(w->seed, 2 * w->offset + (uint64_t)first, n, w->numbers + first);
}

/* ns: nanoseconds an element. */
static void run_chunks(asnd_pool_fn fn, mask_work *w, double ns) {
    asn_pool_run(fn, w, (w->n + CHUNK - 1) / CHUNK, ns * (double)w->n);
}

/* in, mask, out: operands, -1: absent. */
typedef struct {
    asnd_plan_head head;
    int in, mask, out;
    bool draws, trains; /* the mask is made here, at random */
    bool bools;         /* the mask has a bool for each element */
    asnd_seed seed;
    double probability, scale; /* scale 1: everything passes; 0: nothing does */
    int64_t n;
} drop_plan;

/* Fills w->bits with a new mask; without training nothing is dropped, since no number is
 * below 0. */
static asn_status make_mask(const drop_plan *d, const aclOpExecutor *e, mask_work *w,
                            asnd_tmp *tmp) {
    int64_t size = mask_bytes(w->n);
    asn_exec_seed(e, &d->seed, &w->seed, &w->offset);
    w->probability = d->trains ? d->probability : 0;
    w->bits = asn_tmp_alloc(tmp, (size_t)size);
    if (w->bits == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = w->n / 8; i < size; i++)
        w->bits[i] = 0;
    run_chunks(draw_chunk, w, 2);
    return ASN_OK;
}

/* The output may be of any shape with that many bytes. */
static asn_status write_mask(const mask_work *w, const asnd_nd *out) {
    asnd_view from;
    asn_view_plain(&from, ASN_U8, out->ndim, out->shape, w->bits);
    return asn_move(out, &from.nd);
}

/* The mask as one bool per element of x. */
static asn_status unpack(mask_work *w, const asnd_nd *x, asnd_tmp *tmp, asnd_view *keep) {
    ASN_TRY(asn_tmp_view(tmp, ASN_BOOL, x->ndim, x->shape, keep));
    w->bytes = (uint8_t *)keep->nd.data;
    run_chunks(unpack_chunk, w, 0.5);
    return ASN_OK;
}

/* out = keep ? x * scale : 0; no mask where all pass or none does. */
static asn_status apply(const asnd_nd *x, const asnd_view *keep, double scale,
                        const asnd_nd *out) {
    asn_dtype t = x->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    asnd_prog p;
    if (scale == 1) return asn_move(out, x);
    asn_prog_begin(&p, x->ndim, x->shape, 0);
    int zero = asn_prog_const(&p, t, 0);
    int v = asn_prog_as(&p, asn_prog_in(&p, x), t);
    v = asn_prog_op2(&p, ASN_OP_MULTIPLY, v, asn_prog_const(&p, t, scale));
    if (scale == 0)
        v = zero;
    else
        v = asn_prog_op3(&p, ASN_OP_WHERE, asn_prog_in(&p, &keep->nd), v, zero);
    asn_prog_out(&p, v, out);
    return asn_prog_run(&p);
}

/* All operators on masks: the mask is drawn and written, or read; then it is applied, if
 * there is an output. */
static asn_status drop_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const drop_plan *d = plan;
    mask_work w = {.n = d->n};
    asnd_view keep, packed;
    if (d->draws) {
        ASN_TRY(make_mask(d, e, &w, tmp));
        ASN_TRY(write_mask(&w, asn_exec_nd(e, d->mask)));
        if (d->out < 0) return ASN_OK;
    } else if (d->bools) {
        asn_view_set(&keep, asn_exec_nd(e, d->mask));
        return apply(asn_exec_nd(e, d->in), &keep, d->scale, asn_exec_nd(e, d->out));
    } else {
        const asnd_nd *mask = asn_exec_nd(e, d->mask);
        ASN_TRY(asn_tmp_view(tmp, ASN_U8, mask->ndim, mask->shape, &packed));
        ASN_TRY(asn_move(&packed.nd, mask));
        w.bits = (uint8_t *)packed.nd.data;
    }
    const asnd_nd *x = asn_exec_nd(e, d->in);
    ASN_TRY(unpack(&w, x, tmp, &keep));
    return apply(x, &keep, d->scale, asn_exec_nd(e, d->out));
}

/* ---- planning */

/* The double that parameter i is lies in [0, 1]; NaN does not. */
static asn_status check_probability(const asnd_call *c, int i) {
    double p = asn_call_double(c, i);
    if (p >= 0 && p <= 1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s is %g; it must be in [0, 1]", c->op->name,
                         c->op->params[i].name, p);
}

/* Parameter i is a mask of n elements. */
static asn_status check_mask(const asnd_call *c, int i, int64_t n) {
    const asnd_nd *mask = asn_call_nd(c, i);
    if (mask->dtype == ASN_U8 && asn_nd_size(mask) == mask_bytes(n)) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has %lld elements of dtype %s; it must have %lld of "
                         "uint8: %lld bits in multiples of 128",
                         c->op->name, c->op->params[i].name, (long long)asn_nd_size(mask),
                         asn_dtype_name(mask->dtype), (long long)mask_bytes(n),
                         (long long)n);
}

/* Parameters by index, -1: the operator has none. NULL with the error set. */
static drop_plan *plan_drop(asnd_call *c, int64_t n, int mask, int in, int out) {
    drop_plan *p = asn_call_plan(c, drop_body, sizeof *p, 500 + 3 * (double)n);
    if (p == NULL) return NULL;
    p->n = n;
    p->mask = c->first[mask];
    p->in = in < 0 ? -1 : c->first[in];
    p->out = out < 0 ? -1 : c->first[out];
    p->draws = p->trains = p->bools = false;
    return p;
}

/* DropoutGenMask(shape, prob, seed, offset, out); V2 has probDataType, the dtype of what
 * the mask is for, before out, and V2Tensor seedTensor, offsetTensor, offset. */
asn_status asn_planner_dropout_gen_mask(asnd_call *c) {
    const asnd_array *shape = asn_call_array(c, 0);
    int out = c->op->num_params - 1, dtype = asn_call_param_named(c, "probDataType");
    int64_t n = 1;
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, 2, &seed));
    for (uint64_t k = 0; k < shape->size; k++) {
        int64_t extent = ((const int64_t *)shape->data)[k];
        if (extent < 0 || __builtin_mul_overflow(n, extent, &n) || n > INT64_MAX - 128)
            return asn_error_set(ASN_ERR_VALUE, "%s: shape[%llu] is %lld", c->op->name,
                                 (unsigned long long)k, (long long)extent);
    }
    ASN_TRY(check_probability(c, 1));
    if (dtype >= 0) {
        int64_t type = asn_call_int(c, dtype);
        if (type != ACL_FLOAT && type != ACL_FLOAT16 && type != ACL_BF16 &&
            type != ACL_DOUBLE)
            return asn_error_set(ASN_ERR_TYPE,
                                 "%s: probDataType is %lld; it must be float32, float16, "
                                 "bfloat16 or float64",
                                 c->op->name, (long long)type);
    }
    ASN_TRY(check_mask(c, out, n));
    if (n == 0) return ASN_OK;
    drop_plan *p = plan_drop(c, n, out, -1, -1);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->draws = p->trains = true;
    p->probability = asn_call_double(c, 1);
    p->seed = seed;
    return ASN_OK;
}

/* Dropout(input, p, train, seed, offset, out, maskOut): without training, out is input
 * and the mask's bits are 1. DropoutV3(input, optionalNoiseShape, p, seed, offset, out,
 * maskOut) trains; a shape in which elements share their number is not there. */
asn_status asn_planner_dropout(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t n = asn_nd_size(x);
    int shared = asn_call_param_named(c, "optionalNoiseShape"), at = shared < 0 ? 1 : 2;
    if (shared >= 0 && asn_call_nd(c, shared) != NULL &&
        asn_nd_size(asn_call_nd(c, shared)) > 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: optionalNoiseShape must be NULL",
                             c->op->name);
    ASN_TRY(asn_norm_check(c, 0, x->ndim, x->shape));
    ASN_TRY(check_probability(c, at));
    ASN_TRY(asn_norm_check(c, 5, x->ndim, x->shape));
    ASN_TRY(check_mask(c, 6, n));
    if (n == 0) return ASN_OK;
    drop_plan *p = plan_drop(c, n, 6, 0, 5);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->draws = true;
    p->trains = shared >= 0 || asn_call_int(c, 2) != 0;
    p->probability = asn_call_double(c, at);
    p->scale = !p->trains ? 1 : p->probability < 1 ? 1 / (1 - p->probability) : 0;
    return asn_call_seed(c, 3, &p->seed);
}

/* DropoutDoMask(self, mask, prob, out), and DropoutBackward (arg 1) with the factor
 * itself. As CANN documents, probability 0 or scale 1 changes nothing, whatever the mask.
 * A mask of bool has one element for each of self: PyTorch's native_dropout_backward is
 * called with one. */
asn_status asn_planner_dropout_do_mask(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int64_t n = asn_nd_size(x);
    ASN_TRY(asn_norm_check(c, 0, x->ndim, x->shape));
    if (c->op->arg == 0) ASN_TRY(check_probability(c, 2));
    ASN_TRY(asn_norm_check(c, 3, x->ndim, x->shape));
    bool bools = asn_call_nd(c, 1)->dtype == ASN_BOOL;
    ASN_TRY(bools ? asn_call_same_shape(c, 1, x->ndim, x->shape) : check_mask(c, 1, n));
    if (n == 0) return ASN_OK;
    drop_plan *p = plan_drop(c, n, 1, 0, 3);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->bools = bools;
    double value = asn_call_double(c, 2);
    p->scale = c->op->arg == 1 ? value : value < 1 ? 1 / (1 - value) : 0;
    return ASN_OK;
}

/* ---- RReluWithNoise(self, noise, lower, upper, training, seed, offset, out), in place
 * or not: x where x > 0, else x times a number in [lower, upper), which noise receives (1
 * where x > 0); without training the middle of the bounds, and noise stays */

typedef struct {
    asnd_plan_head head;
    int self, noise, out;
    bool training;
    uint64_t seed, offset;
    double lower, upper;
} rrelu_plan;

/* One fused pass with up to two outputs. The slopes are drawn in float64 for every
 * element, also where x > 0, so that a number depends on the element's place alone. */
static asn_status rrelu_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const rrelu_plan *r = plan;
    const asnd_nd *x = asn_exec_nd(e, r->self);
    asn_dtype t = x->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    asnd_view numbers;
    mask_work w = {.seed = r->seed, .offset = r->offset, .n = asn_nd_size(x)};
    if (r->training) {
        ASN_TRY(asn_tmp_view(tmp, ASN_F64, x->ndim, x->shape, &numbers));
        w.numbers = (double *)(void *)numbers.nd.data;
        run_chunks(number_chunk, &w, 2);
    }
    asnd_prog p;
    asn_prog_begin(&p, x->ndim, x->shape, 0);
    int slope = asn_prog_const(&p, t, (r->lower + r->upper) / 2);
    if (r->training) {
        slope = asn_prog_in(&p, &numbers.nd);
        slope = asn_prog_op2(&p, ASN_OP_MULTIPLY, slope,
                             asn_prog_const(&p, ASN_F64, r->upper - r->lower));
        slope =
            asn_prog_op2(&p, ASN_OP_ADD, slope, asn_prog_const(&p, ASN_F64, r->lower));
        slope = asn_prog_as(&p, slope, t);
    }
    int v = asn_prog_as(&p, asn_prog_in(&p, x), t);
    int positive = asn_prog_op2(&p, ASN_OP_GREATER, v, asn_prog_const(&p, t, 0));
    slope = asn_prog_op3(&p, ASN_OP_WHERE, positive, asn_prog_const(&p, t, 1), slope);
    int result = asn_prog_op2(&p, ASN_OP_MULTIPLY, v, slope);
    if (r->training) asn_prog_out(&p, slope, asn_exec_nd(e, r->noise));
    asn_prog_out(&p, result, asn_exec_nd(e, r->out));
    return asn_prog_run(&p);
}

/* Eight parameters: not in place. */
asn_status asn_planner_rrelu(asnd_call *c) {
    int out = c->op->num_params == 8 ? 7 : 0;
    const asnd_nd *x = asn_call_nd(c, 0);
    double lower = 0, upper = 0;
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_norm_check(c, i, x->ndim, x->shape));
    ASN_TRY(asn_norm_check(c, out, x->ndim, x->shape));
    ASN_TRY(asn_call_number(c, 2, &lower));
    ASN_TRY(asn_call_number(c, 3, &upper));
    if (!(lower <= upper))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: lower is %g, upper is %g; lower must not be above",
                             c->op->name, lower, upper);
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    rrelu_plan *p =
        asn_call_plan(c, rrelu_body, sizeof *p, 500 + 4 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->noise = c->first[1];
    p->out = c->first[out];
    p->training = asn_call_int(c, 4) != 0;
    p->seed = (uint64_t)asn_call_int(c, 5);
    p->offset = (uint64_t)asn_call_int(c, 6);
    p->lower = lower;
    p->upper = upper;
    return ASN_OK;
}
