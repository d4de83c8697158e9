/* CPU device, operators: FusedFloydAttention and its gradient: attention over triples,
 * where the query of the pair (i, k) looks at all paths i, j, k between.
 *
 *     s[i, k, j] = scale * (q[i, k] . k1[i, j] + q[i, k] . k2[j, k])
 *     out[i, k]  = sum over j of softmax(s)[i, k, j] * (v1[i, j] + v2[j, k])
 *
 * in every batch and head, with q (N, M, D), k1 and v1 (N, K, D), k2 and v2 (K, M, D). A
 * mask (batch, 1, N, 1, K) hides what is true in it; a query that sees nothing gets 0, as
 * in attention (flash_plan.c). The greatest s and the sum of exp(s - greatest), from
 * which the gradient makes the weights again, stand eight times side by side.
 *
 * Each half of a formula is a product in batches: over i for the first key, over k for
 * the second, which sees the same memory with its dimensions exchanged. The weights of a
 * head, N * M * K, are held in float32; heads come one after the other.
 */
#include <float.h>
#include <math.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"

enum { LANES = 8 }; /* copies of the greatest and the sum */

/* Parameters of the forward row, and of the gradient's. */
/* clang-format off */
enum { F_Q, F_K1, F_V1, F_K2, F_V2, F_MASK, F_SCALE, F_MAX, F_SUM, F_OUT };
enum { G_Q, G_K1, G_V1, G_K2, G_V2, G_DOUT, G_MASK, G_MAX, G_SUM, G_OUT, G_SCALE, G_DQ,
       G_DK1, G_DV1, G_DK2, G_DV2 };
enum { HEADS, N, M, K }; /* extents of a plan: B * H, N, M, K; its axis is D */
/* clang-format on */

/* A head's array of three dimensions at `data`. */
static void cube(asnd_view *v, int64_t a, int64_t b, int64_t c, const float *data) {
    asn_view_plain(v, ASN_F32, 3, (int64_t[]){a, b, c}, (void *)(uintptr_t)data);
}

/* c (+)= a @ b, in batches. */
static asn_status product(const asnd_view *a, const asnd_view *b, bool add,
                          const asnd_view *c) {
    const float one = 1, beta = add ? 1 : 0;
    return asn_cpu_gemm(&one, &a->nd, &b->nd, &beta, &c->nd);
}

/* The first two dimensions exchanged: batches of the second half. */
static const int EXCHANGED[] = {1, 0, 2};

/* w (N, M, K) = a . x1 + a . x2, with a (N, M, D). */
static asn_status scores(const asnd_packed *p, const float *a, const float *x1,
                         const float *x2, float *w) {
    const int64_t n = p->n[N], m = p->n[M], k = p->n[K];
    asnd_view left, right, to;
    cube(&left, n, m, p->axis, a);
    cube(&right, n, k, p->axis, x1);
    cube(&to, n, m, k, w);
    asn_view_swap_last(&right);
    ASN_TRY(product(&left, &right, false, &to));
    cube(&right, k, m, p->axis, x2);
    asn_view_permute(&right, (const int[]){1, 2, 0});
    asn_view_permute(&left, EXCHANGED);
    asn_view_permute(&to, EXCHANGED);
    return product(&left, &right, true, &to);
}

/* to (N, M, D) = w x1 + w x2. */
static asn_status gather(const asnd_packed *p, const float *w, const float *x1,
                         const float *x2, float *to) {
    const int64_t n = p->n[N], m = p->n[M], k = p->n[K];
    asnd_view left, right, out;
    cube(&left, n, m, k, w);
    cube(&right, n, k, p->axis, x1);
    cube(&out, n, m, p->axis, to);
    ASN_TRY(product(&left, &right, false, &out));
    cube(&right, k, m, p->axis, x2);
    asn_view_permute(&right, EXCHANGED);
    asn_view_permute(&left, EXCHANGED);
    asn_view_permute(&out, EXCHANGED);
    return product(&left, &right, true, &out);
}

/* The other way: to1 (N, K, D) and to2 (K, M, D) from w and a (N, M, D). */
static asn_status spread(const asnd_packed *p, const float *w, const float *a, float *to1,
                         float *to2) {
    const int64_t n = p->n[N], m = p->n[M], k = p->n[K];
    asnd_view left, right, out;
    cube(&left, n, m, k, w);
    cube(&right, n, m, p->axis, a);
    cube(&out, n, k, p->axis, to1);
    asn_view_swap_last(&left);
    ASN_TRY(product(&left, &right, false, &out));
    cube(&left, n, m, k, w);
    asn_view_permute(&left, (const int[]){1, 2, 0});
    asn_view_permute(&right, EXCHANGED);
    cube(&out, k, m, p->axis, to2);
    asn_view_permute(&out, EXCHANGED);
    return product(&left, &right, false, &out);
}

/* Row `i` of the mask that head `head` has, or NULL. heads: of a batch. */
static const bool *mask_row(const asnd_packed *p, const bool *mask, int64_t head,
                            int64_t i) {
    return mask ? mask + (head / p->kind * p->n[N] + i) * p->n[K] : NULL;
}

/* The scores of one query become its weights, before the division: exp(s - greatest). */
static void weigh(float *w, int64_t k, double scale, const bool *mask, float *greatest,
                  float *sum) {
    float top = -FLT_MAX, total = 0;
    for (int64_t j = 0; j < k; j++) {
        w[j] *= (float)scale;
        if ((mask == NULL || !mask[j]) && w[j] > top) top = w[j];
    }
    for (int64_t j = 0; j < k; j++) {
        w[j] = mask && mask[j] ? 0 : expf(w[j] - top);
        total += w[j];
    }
    *greatest = top;
    *sum = total;
}

/* data[i]: the parameter as packed float32 numbers, an input's or those to be made. */
typedef struct {
    float *data[ASN_FEW_PARAMS];
    asnd_view views[ASN_FEW_PARAMS];
    const bool *mask;
} arrays;

/* Parameters that are read, from `first` to `last`, and, behind `out`, written. */
static asn_status open_arrays(aclOpExecutor *e, const asnd_packed *p, int first, int last,
                              int mask, asnd_tmp *tmp, arrays *a) {
    for (int i = first; i <= last; i++) {
        if (i == mask || p->at[i] < 0) continue;
        bool written = e->operands[p->at[i]].is_out;
        ASN_TRY(written ? asn_packed_out(e, p, i, ASN_F32, tmp, &a->views[i])
                        : asn_packed_in(e, p, i, ASN_F32, tmp, &a->views[i]));
        a->data[i] = (float *)(void *)a->views[i].nd.data;
    }
    a->mask = NULL;
    if (p->at[mask] < 0) return ASN_OK;
    return asn_packed_data(asn_exec_nd(e, p->at[mask]), ASN_BOOL, tmp, &a->mask);
}

/* Memory for the weights of a head. */
static asn_status weights_alloc(const asnd_packed *p, asnd_tmp *tmp, float **w) {
    *w = asn_tmp_alloc(tmp, (size_t)(p->n[N] * p->n[M] * p->n[K]) * sizeof **w);
    return *w == NULL ? ASN_ERR_MEMORY : ASN_OK;
}

static asn_status forward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const int64_t rows = p->n[N] * p->n[M], k = p->n[K], d = p->axis;
    arrays a;
    float *w;
    ASN_TRY(open_arrays(e, p, F_Q, F_OUT, F_MASK, tmp, &a));
    ASN_TRY(weights_alloc(p, tmp, &w));
    for (int64_t h = 0; h < p->n[HEADS]; h++) {
        const int64_t one = h * p->n[N] * k * d, two = h * k * p->n[M] * d;
        ASN_TRY(scores(p, a.data[F_Q] + h * rows * d, a.data[F_K1] + one,
                       a.data[F_K2] + two, w));
        for (int64_t r = 0; r < rows; r++) {
            float top, sum, *row = w + r * k,
                            *at = a.data[F_MAX] + (h * rows + r) * LANES;
            weigh(row, k, p->arg[F_SCALE].f, mask_row(p, a.mask, h, r / p->n[M]), &top,
                  &sum);
            for (int64_t j = 0; j < k && sum > 0; j++)
                row[j] /= sum;
            for (int j = 0; j < LANES; j++) {
                at[j] = top;
                a.data[F_SUM][(h * rows + r) * LANES + j] = sum;
            }
        }
        ASN_TRY(gather(p, w, a.data[F_V1] + one, a.data[F_V2] + two,
                       a.data[F_OUT] + h * rows * d));
    }
    for (int i = F_MAX; i <= F_OUT; i++)
        ASN_TRY(asn_packed_done(e, p, i, &a.views[i]));
    return ASN_OK;
}

/* One query: s becomes its weights, dw (that of the weights) the gradient of its scores.
 * dot: of the output and its gradient. */
static void unweigh(float *s, float *dw, int64_t k, double scale, const bool *mask,
                    float greatest, float sum, float dot) {
    for (int64_t j = 0; j < k; j++) {
        bool seen = sum > 0 && (mask == NULL || !mask[j]);
        s[j] = seen ? expf(s[j] * (float)scale - greatest) / sum : 0;
        dw[j] = s[j] * (dw[j] - dot) * (float)scale;
    }
}

static asn_status gradient_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const int64_t rows = p->n[N] * p->n[M], k = p->n[K], d = p->axis;
    arrays a;
    float *w, *dw;
    ASN_TRY(open_arrays(e, p, G_Q, G_DV2, G_MASK, tmp, &a));
    ASN_TRY(weights_alloc(p, tmp, &w));
    ASN_TRY(weights_alloc(p, tmp, &dw));
    for (int64_t h = 0; h < p->n[HEADS]; h++) {
        const int64_t own = h * rows * d, one = h * p->n[N] * k * d;
        const int64_t two = h * k * p->n[M] * d;
        const float *q = a.data[G_Q] + own, *dout = a.data[G_DOUT] + own;
        ASN_TRY(scores(p, q, a.data[G_K1] + one, a.data[G_K2] + two, w));
        ASN_TRY(scores(p, dout, a.data[G_V1] + one, a.data[G_V2] + two, dw));
        for (int64_t r = 0; r < rows; r++) {
            const int64_t at = (h * rows + r) * LANES;
            float dot = 0;
            for (int64_t j = 0; j < d; j++)
                dot += dout[r * d + j] * a.data[G_OUT][own + r * d + j];
            unweigh(w + r * k, dw + r * k, k, p->arg[G_SCALE].f,
                    mask_row(p, a.mask, h, r / p->n[M]), a.data[G_MAX][at],
                    a.data[G_SUM][at], dot);
        }
        ASN_TRY(
            gather(p, dw, a.data[G_K1] + one, a.data[G_K2] + two, a.data[G_DQ] + own));
        ASN_TRY(spread(p, dw, q, a.data[G_DK1] + one, a.data[G_DK2] + two));
        ASN_TRY(spread(p, w, dout, a.data[G_DV1] + one, a.data[G_DV2] + two));
    }
    for (int i = G_DQ; i <= G_DV2; i++)
        ASN_TRY(asn_packed_done(e, p, i, &a.views[i]));
    return ASN_OK;
}

/* ---- planning */

/* The parameters of each shape, lists that end with -1; the query is the first of `q`. */
typedef struct {
    const int *q, *one, *two, *stats;
    int mask;
} floyd_shapes;

/* All of a list have this shape and are of float32 or halves. */
static asn_status check_list(const asnd_call *c, const int *list, const int64_t *shape) {
    for (; *list >= 0; list++) {
        ASN_TRY(asn_call_single(c, *list));
        ASN_TRY(asn_call_same_shape(c, *list, 5, shape));
    }
    return ASN_OK;
}

/* Shapes as the file's head has them, behind batch and head. */
static asn_status plan_floyd(asnd_call *c, const floyd_shapes *s, asnd_body_fn fn) {
    const int q = s->q[0], k1 = s->one[0];
    ASN_TRY(asn_call_rank(c, q, 5, 5));
    ASN_TRY(asn_call_rank(c, k1, 5, 5));
    const int64_t *qs = asn_call_nd(c, q)->shape, k = asn_call_nd(c, k1)->shape[3];
    const int64_t b = qs[0], h = qs[1], n = qs[2], m = qs[3], d = qs[4];
    ASN_TRY(check_list(c, s->q, qs));
    ASN_TRY(check_list(c, s->one, (int64_t[]){b, h, n, k, d}));
    ASN_TRY(check_list(c, s->two, (int64_t[]){b, h, k, m, d}));
    ASN_TRY(check_list(c, s->stats, (int64_t[]){b, h, n, m, LANES}));
    if (c->first[s->mask] >= 0) {
        ASN_TRY(asn_call_one_of(c, s->mask, ASN_BIT(ASN_BOOL) | ASN_BIT(ASN_U8)));
        ASN_TRY(asn_call_same_shape(c, s->mask, 5, (int64_t[]){b, 1, n, 1, k}));
    }
    if (b * h * n * m * d == 0) return ASN_OK;
    if (k == 0 || d > INT32_MAX || h > INT32_MAX)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld keys, %lld heads of %lld columns: there must be a "
                             "key, and fewer of the others than 2^31",
                             c->op->name, (long long)k, (long long)h, (long long)d);
    asnd_packed *p = asn_packed_plan(
        c, fn, 1000 + (double)(b * h) * (double)(n * m) * (double)(k * d) / 5);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = (int)d;
    p->kind = (int)h;
    p->n[HEADS] = b * h;
    p->n[N] = n;
    p->n[M] = m;
    p->n[K] = k;
    return ASN_OK;
}

/* FusedFloydAttention(query, key0, value0, key1, value1, attenMask, scaleValue,
 * softmaxMax, softmaxSum, attentionOut) */
asn_status asn_planner_floyd_attention(asnd_call *c) {
    static const int q[] = {F_Q, F_OUT, -1}, one[] = {F_K1, F_V1, -1};
    static const int two[] = {F_K2, F_V2, -1}, stats[] = {F_MAX, F_SUM, -1};
    const floyd_shapes s = {q, one, two, stats, F_MASK};
    return plan_floyd(c, &s, forward_body);
}

/* FusedFloydAttentionGrad(query, key0, value0, key1, value1, gradOut, attenMask,
 * softmaxMax, softmaxSum, attentionIn, scaleValue, dq, dk0, dv0, dk1, dv1) */
asn_status asn_planner_floyd_attention_grad(asnd_call *c) {
    static const int q[] = {G_Q, G_DOUT, G_OUT, G_DQ, -1};
    static const int one[] = {G_K1, G_V1, G_DK1, G_DV1, -1};
    static const int two[] = {G_K2, G_V2, G_DK2, G_DV2, -1}, stats[] = {G_MAX, G_SUM, -1};
    const floyd_shapes s = {q, one, two, stats, G_MASK};
    return plan_floyd(c, &s, gradient_body);
}
