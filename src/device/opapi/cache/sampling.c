/* CPU device, operators: ApplyTopKTopP(logits, p, k, out), which keeps the logits that a
 * token may be sampled from; the others become -infinity.
 *
 * In a row sorted ascending, what is below the k-th largest is dropped; of what is left,
 * the least ones whose probabilities sum to 1 - p at most, but never the largest. p or k
 * may be absent. A row costs a stable sort; probabilities are summed in float64.
 *
 * Rows are independent: they are sorted, cut and put back in parallel, each by one
 * thread, so that a result does not depend on how many there are.
 */
#include <math.h>

#include "device/cpu/sort/sort.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/nn/softmax.h"

/* Rows of n sorted values, and where each was. */
typedef struct {
    float *sorted, *out;
    const float *probs, *p;
    const int64_t *index, *k;
    int64_t n;
} sample_job;

/* The row ascends: what is less than the k-th largest stands in front. Those that
 * equal it stay, so more than k may. */
static void keep_k(void *ctx, int64_t row) {
    const sample_job *j = ctx;
    float *x = j->sorted + row * j->n, least = x[j->n - j->k[row]];
    for (int64_t i = 0; i < j->n && x[i] < least; i++)
        x[i] = -INFINITY;
}

/* Probabilities of what keep_k left; -infinity has none. The last one, the largest,
 * is never reached, so a row always keeps one logit. */
static void keep_p(void *ctx, int64_t row) {
    const sample_job *j = ctx;
    float *x = j->sorted + row * j->n;
    const float *q = j->probs + row * j->n;
    double sum = 0, most = 1 - (double)j->p[row];
    for (int64_t i = 0; i + 1 < j->n && (sum += q[i]) <= most; i++)
        x[i] = -INFINITY;
}

/* From the sorted order to where each logit stood. */
static void restore(void *ctx, int64_t row) {
    const sample_job *j = ctx;
    const float *x = j->sorted + row * j->n;
    for (int64_t i = 0; i < j->n; i++)
        j->out[row * j->n + j->index[row * j->n + i]] = x[i];
}

/* Logits are computed with in float32, of which halves are a part, so that the ones
 * that stay are exactly those that were given. */
static asn_status sample_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *logits = asn_exec_nd(e, p->at[0]);
    int64_t rows = logits->shape[0], n = logits->shape[1];
    double work = 2 * (double)rows * (double)n;
    asnd_view x, sorted, index, probs;
    sample_job j = {.n = n};
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F32, tmp, &x));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, logits->shape, &sorted));
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 2, logits->shape, &index));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, logits->shape, &probs));
    ASN_TRY(asn_cpu_sort(&x.nd, 1, 0, &sorted.nd, &index.nd));
    j.sorted = (float *)(void *)sorted.nd.data;
    j.index = (const int64_t *)(void *)index.nd.data;
    if (p->at[2] >= 0) {
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[2]), ASN_I64, tmp, &j.k));
        for (int64_t i = 0; i < rows; i++)
            if (j.k[i] < 1 || j.k[i] > n)
                return asn_error_set(
                    ASN_ERR_VALUE,
                    "ApplyTopKTopP: k[%lld] is %lld; a row has %lld logits", (long long)i,
                    (long long)j.k[i], (long long)n);
        asn_pool_run(keep_k, &j, rows, work);
    }
    if (p->at[1] >= 0) {
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->at[1]), ASN_F32, tmp, &j.p));
        ASN_TRY(asn_softmax(&sorted.nd, 1, &probs.nd, tmp));
        j.probs = (const float *)(void *)probs.nd.data;
        asn_pool_run(keep_p, &j, rows, work);
    }
    /* The probabilities have done their part: their memory takes the result. */
    j.out = (float *)(void *)probs.nd.data;
    asn_pool_run(restore, &j, rows, work);
    return asn_packed_done(e, p, 3, &probs);
}

/* p is of a floating dtype, k of int32 or int64, with a number for each row. */
asn_status asn_planner_top_k_top_p(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0);
    const uint32_t dtypes = ASN_BIT(ASN_F32) | ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16);
    ASN_TRY(asn_call_one_of(c, 0, dtypes));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_same_dtype(c, 3, 0));
    ASN_TRY(asn_call_same_shape(c, 3, 2, x->shape));
    if (c->first[1] >= 0) {
        ASN_TRY(asn_call_one_of(c, 1, dtypes));
        ASN_TRY(asn_call_same_shape(c, 1, 1, x->shape));
    }
    if (c->first[2] >= 0) {
        ASN_TRY(asn_call_position_dtype(c, 2));
        ASN_TRY(asn_call_same_shape(c, 2, 1, x->shape));
    }
    if (asn_nd_size(x) == 0) return ASN_OK;
    return asn_packed_plan(c, sample_body, 500 + 20 * (double)asn_nd_size(x))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}
