/* CPU device, operators: TopKTopPSample and V2, which sample a token of each row of
 * logits, as vLLM and SGLang do.
 *
 * Of a row sorted descending, equal logits in their order, what is left is a prefix:
 *
 *     top k    the first k, if 1 <= k <= n and ksMax (else all)
 *     top p    those before which the probabilities sum to p at most, if p < 1; the
 *              first alone if p <= 0
 *     min p    those whose probability is at least minPs times the first's, if minPs > 0
 *
 * Probabilities are the softmax of what top k left, or the logits themselves where they
 * are probabilities already (not inputIsLogits). The token is the one of the largest
 * probability / (|q| + eps), q counting along the prefix (along the row if nothing was
 * dropped), or without q of the largest probability.
 *
 * logitsTopKpSelect has the logits that are left, the others -infinity (0 without
 * inputIsLogits). For a sample that the caller takes himself, logitsSortMasked has the
 * prefix' probabilities, then 0, and logitsIdx where each was.
 *
 * Probabilities are summed in float64. Rows are independent: each has one thread, so that
 * a result does not depend on how many there are.
 */
#include <math.h>

#include "device/cpu/sort/sort.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"

/* Parameters; -1: V1 has none. */
typedef struct {
    int min, eps, logits_wanted, most, logits, mine, select, left, index, masked;
} places;

static const places v1 = {
    .min = -1,
    .eps = 4,
    .logits_wanted = 5,
    .most = -1,
    .logits = -1,
    .mine = -1,
    .select = 7,
    .left = 8,
    .index = -1,
    .masked = -1,
};
static const places v2 = {
    .min = 4,
    .eps = 5,
    .logits_wanted = 6,
    .most = 8,
    .logits = 9,
    .mine = 10,
    .select = 11,
    .left = 12,
    .index = 13,
    .masked = 14,
};

/* Rows of n sorted logits, and where each was; probs and left are written. NULL: absent,
 * or not wanted. */
typedef struct {
    const float *sorted, *p, *min, *q;
    const int64_t *index, *k;
    float *probs, *left;
    int64_t n, most, *select;
    double eps;
    bool logits;
} draw_job;

/* How many are left by top k, with their probabilities. */
static int64_t by_k(const draw_job *j, int64_t row, const float *x, float *probs) {
    int64_t k = j->k[row], m = k >= 1 && k <= j->n && k <= j->most ? k : j->n;
    double sum = 0;
    for (int64_t i = 0; i < m; i++)
        sum += exp((double)x[i] - x[0]);
    for (int64_t i = 0; i < j->n; i++)
        probs[i] = i >= m      ? 0
                   : j->logits ? (float)(exp((double)x[i] - x[0]) / sum)
                               : x[i];
    return m;
}

/* By top p. The first is always left. */
static int64_t by_p(double p, const float *probs, int64_t m) {
    int64_t i = 1;
    if (p >= 1 || isnan(p)) return m;
    if (p <= 0) return 1;
    for (double sum = probs[0]; i < m && sum <= p; i++)
        sum += probs[i];
    return i;
}

/* By min p. */
static int64_t by_min(float least, const float *probs, int64_t m) {
    if (!(least > 0)) return m;
    if (least >= 1) return 1;
    while (m > 1 && probs[m - 1] < probs[0] * least)
        m--;
    return m;
}

static void draw(void *ctx, int64_t row) {
    const draw_job *j = ctx;
    int64_t n = j->n, at = row * n, best = 0;
    const int64_t *index = j->index + at;
    float *probs = j->probs + at;
    int64_t m = by_k(j, row, j->sorted + at, probs);
    m = by_p(j->p[row], probs, m);
    if (j->min != NULL) m = by_min(j->min[row], probs, m);
    if (j->q != NULL) {
        double most = -1;
        for (int64_t i = 0; i < m; i++) {
            double weight = fabs((double)j->q[at + (m < n ? i : index[i])]) + j->eps;
            double share = probs[i] / weight;
            if (share > most || (share == most && m == n && index[i] < index[best])) {
                most = share;
                best = i;
            }
        }
    }
    j->select[row] = index[best];
    for (int64_t i = m; i < n; i++)
        probs[i] = 0;
    if (j->left == NULL) return;
    for (int64_t i = 0; i < n; i++)
        j->left[at + index[i]] = i < m ? j->sorted[at + i] : j->logits ? -INFINITY : 0;
}

static asn_status draw_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const places *of = p->kind == 2 ? &v2 : &v1;
    const asnd_nd *logits = asn_exec_nd(e, p->at[0]);
    int64_t rows = logits->shape[0], n = logits->shape[1];
    bool mine = of->mine >= 0 && p->arg[of->mine].i != 0;
    draw_job j = {.n = n, .most = p->n[0], .eps = p->arg[of->eps].f};
    asnd_view x, sorted, index, probs, left, select;
    j.logits = of->logits < 0 || p->arg[of->logits].i != 0;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_I64, tmp, &j.k));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[2]), ASN_F32, tmp, &j.p));
    if (p->at[3] >= 0 && !mine)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[3]), ASN_F32, tmp, &j.q));
    if (of->min >= 0 && p->at[of->min] >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[of->min]), ASN_F32, tmp, &j.min));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, logits->shape, &sorted));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, logits->shape, &index));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, logits->shape, &probs));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &rows, &select));
    ASN_TRY(asn_cpu_sort(&x.nd, 1, ASN_SORT_DESCENDING, &sorted.nd, &index.nd));
    j.sorted = (const float *)(const void *)sorted.nd.data;
    j.index = (const int64_t *)(const void *)index.nd.data;
    j.probs = (float *)(void *)probs.nd.data;
    j.select = (int64_t *)(void *)select.nd.data;
    if (p->arg[of->logits_wanted].i != 0) {
        ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, logits->shape, &left));
        j.left = (float *)(void *)left.nd.data;
    }
    asn_pool_run(draw, &j, rows, 20 * (double)rows * (double)n);
    asn_view_plain(&select, ASN_I64, 2, (int64_t[]){rows, 1}, j.select);
    select.nd.ndim = asn_exec_nd(e, p->at[of->select])->ndim;
    ASN_TRY(asn_packed_done(e, p, of->select, &select));
    if (j.left != NULL) ASN_TRY(asn_packed_done(e, p, of->left, &left));
    if (!mine) return ASN_OK;
    ASN_TRY(asn_packed_done(e, p, of->index, &index));
    return asn_packed_done(e, p, of->masked, &probs);
}

/* What is written of rows by n: of float32, or positions. */
static asn_status check_written(const asnd_call *c, int i, bool positions) {
    ASN_TRY(positions ? asn_call_position_dtype(c, i)
                      : asn_call_one_of(c, i, ASN_BIT(ASN_F32)));
    return asn_call_same_shape(c, i, 2, asn_call_nd(c, 0)->shape);
}

/* TopKTopPSample(logits, topK, topP, q, eps, isNeedLogits, topKGuess, logitsSelectIdx,
 * logitsTopKPSelect); arg 2: V2(logits, topK, topP, q, minPs, eps, isNeedLogits,
 * topKGuess, ksMax, inputIsLogits, isNeedSampleResult, logitsSelectIdx,
 * logitsTopKpSelect, logitsIdx, logitsSortMasked). topKGuess is for speed. Where the
 * caller samples, q has seeds, which are not read, and PyTorch passes a logitsSelectIdx
 * with a dimension of 1 behind. */
asn_status asn_planner_top_sample(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    const places *of = c->op->arg == 2 ? &v2 : &v1;
    const uint32_t dtypes = ASN_BIT(ASN_F32) | ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    bool mine = of->mine >= 0 && asn_call_int(c, of->mine) != 0;
    int64_t most = of->most >= 0 ? asn_call_int(c, of->most) : 1024;
    ASN_TRY(asn_call_one_of(c, 0, dtypes));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_position_dtype(c, 1));
    ASN_TRY(asn_call_same_shape(c, 1, 1, x->shape));
    ASN_TRY(asn_call_one_of(c, 2, dtypes));
    ASN_TRY(asn_call_same_shape(c, 2, 1, x->shape));
    if (c->first[3] >= 0 && !mine) {
        ASN_TRY(asn_call_one_of(c, 3, ASN_BIT(ASN_F32)));
        ASN_TRY(asn_call_same_shape(c, 3, 2, x->shape));
    }
    if (of->min >= 0 && c->first[of->min] >= 0) {
        ASN_TRY(asn_call_one_of(c, of->min, dtypes));
        ASN_TRY(asn_call_same_shape(c, of->min, 1, x->shape));
    }
    if (most < 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: ksMax is %lld; it must be positive",
                             c->op->name, (long long)most);
    ASN_TRY(asn_call_position_dtype(c, of->select));
    ASN_TRY(asn_call_rank(c, of->select, 1, 2));
    ASN_TRY(asn_call_same_shape(c, of->select, asn_call_nd(c, of->select)->ndim,
                                (int64_t[]){x->shape[0], 1}));
    if (asn_call_int(c, of->logits_wanted) != 0)
        ASN_TRY(check_written(c, of->left, false));
    if (mine) {
        ASN_TRY(check_written(c, of->index, true));
        ASN_TRY(check_written(c, of->masked, false));
    }
    if (x->shape[0] > 0 && x->shape[1] == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: rows have no logits to sample",
                             c->op->name);
    if (x->shape[0] == 0) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, draw_body, 500 + 40 * (double)asn_nd_size(x));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = (int)c->op->arg;
    p->n[0] = most < 1024 ? (most + 7) / 8 * 8 : 1024;
    return ASN_OK;
}
