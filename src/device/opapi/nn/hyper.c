/* CPU device, operators: manifold-constrained hyper-connections (Xie et al., "mHC:
 * Manifold-Constrained Hyper-Connections", 2025), where n streams x (rows, n, D) take the
 * place of the residual.
 *
 *     MhcPre       r = 1 / sqrt(mean(x^2) + normEps) of a whole row; m = (x gamma) phi^T;
 *         hPre = sigmoid(alpha_0 r m + bias) + hcEps, hPost = 2 sigmoid(alpha_1 ...),
 *         hRes = alpha_2 r m + bias, of the first n columns of m, the next n, the last
 *         n n (which are not there where alpha has two); hIn = sum over i of hPre_i x_i
 *     MhcSinkhorn  y = softmax(x) + eps, its columns divided by their sum + eps, then
 *         numIters - 1 times rows and columns
 *     MhcPost      y_i = sum over j of hRes[j, i] x_j + hPost_i hOut; without hRes x_i
 *
 * In float32. What MhcSinkhorn keeps for its gradient is not told: op-plugin's page has
 * (2 numIters, n, n, rows), its code hands over x's shape.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"

/* Operands (by parameter in `at`) and extents: rows, streams, columns. */
typedef struct {
    asnd_plan_head head;
    int at[ASN_FEW_PARAMS], first_out;
    int64_t rows, n, d, mixes;
    float norm_eps, eps;
} hyper_plan;

static asn_status read_as(aclOpExecutor *e, const hyper_plan *p, int i, asnd_tmp *tmp,
                          const float **v) {
    *v = NULL;
    return p->at[i] < 0 ? ASN_OK
                        : asn_packed_data(asn_exec_nd(e, p->at[i]), ASN_F32, tmp, v);
}

/* Room for output i, as row-major float32; an absent one has some, too. */
static asn_status room_for(aclOpExecutor *e, const hyper_plan *p, int i, int64_t size,
                           asnd_tmp *tmp, asnd_view *v, float **to) {
    const asnd_nd *a = p->at[i] < 0 ? NULL : asn_exec_nd(e, p->at[i]);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, a ? a->ndim : 1, a ? a->shape : &size, v));
    *to = (float *)(void *)v->nd.data;
    return ASN_OK;
}

/* ---- MhcPost and its gradient */

/* hRes is read by columns: what stream i gets from stream j stands in row j. */
static asn_status post_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const hyper_plan *p = plan;
    const float *x, *res, *out, *post;
    int64_t n = p->n, d = p->d;
    asnd_view v;
    float *y;
    ASN_TRY(read_as(e, p, 0, tmp, &x));
    ASN_TRY(read_as(e, p, 1, tmp, &res));
    ASN_TRY(read_as(e, p, 2, tmp, &out));
    ASN_TRY(read_as(e, p, 3, tmp, &post));
    ASN_TRY(room_for(e, p, 4, 0, tmp, &v, &y));
    /* x (rows, n, d), hRes (rows, n, n), hOut (rows, d), hPost (rows, n). n is a handful:
     * the loops over d are what takes the time, and vectorise. */
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t i = 0; i < n; i++) {
            float *to = y + (r * n + i) * d, by = post[r * n + i];
            for (int64_t k = 0; k < d; k++)
                to[k] = by * out[r * d + k];
            for (int64_t j = 0; j < n; j++) {
                float w = res ? res[(r * n + j) * n + i] : i == j;
                for (int64_t k = 0; (res || i == j) && k < d; k++)
                    to[k] += w * x[(r * n + j) * d + k];
            }
        }
    return asn_move(asn_exec_nd(e, p->at[4]), &v.nd);
}

/* (gradY, x, hRes, hOut, hPost; gradX, gradHRes, gradHOut, gradHPost). The gradient of
 * hRes is told where it is absent, too. */
static asn_status post_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const hyper_plan *p = plan;
    const float *in[5];
    int64_t n = p->n, d = p->d;
    asnd_view v[4];
    float *to[4];
    for (int i = 0; i < 5; i++)
        ASN_TRY(read_as(e, p, i, tmp, &in[i]));
    for (int i = 0; i < 4; i++) {
        ASN_TRY(room_for(e, p, 5 + i, 0, tmp, &v[i], &to[i]));
        memset(to[i], 0, (size_t)asn_nd_size(&v[i].nd) * sizeof(float));
    }
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t i = 0; i < n; i++) {
            const float *g = in[0] + (r * n + i) * d, *out = in[3] + r * d;
            /* gradHOut = sum over i of hPost_i g_i; gradHPost_i = hOut . g_i; gradX_j =
             * sum over i of hRes[j, i] g_i; gradHRes[j, i] = x_j . g_i. */
            float *gout = to[2] + r * d, by = in[4][r * n + i], dot = 0;
            for (int64_t k = 0; k < d; k++) {
                gout[k] += by * g[k];
                dot += out[k] * g[k];
            }
            to[3][r * n + i] = dot;
            for (int64_t j = 0; j < n; j++) {
                const float *x = in[1] + (r * n + j) * d;
                float *gx = to[0] + (r * n + j) * d, sum = 0;
                float w = in[2] ? in[2][(r * n + j) * n + i] : i == j;
                for (int64_t k = 0; k < d; k++) {
                    gx[k] += w * g[k];
                    sum += x[k] * g[k];
                }
                to[1][(r * n + j) * n + i] = sum;
            }
        }
    for (int i = 0; i < 4; i++)
        ASN_TRY(asn_move(asn_exec_nd(e, p->at[5 + i]), &v[i].nd));
    return ASN_OK;
}

/* ---- MhcSinkhorn */

/* Rows, or columns, of an n x n matrix divided by their sum + eps. */
static void divide(float *m, int64_t n, int64_t step, int64_t next, float eps) {
    for (int64_t i = 0; i < n; i++) {
        float sum = eps;
        for (int64_t j = 0; j < n; j++)
            sum += m[i * next + j * step];
        for (int64_t j = 0; j < n; j++)
            m[i * next + j * step] /= sum;
    }
}

/* The first division by rows is the softmax's own, which is why one round has columns
 * alone; eps is added to its numbers and to every divisor. mixes: the rounds. */
static asn_status sinkhorn_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const hyper_plan *p = plan;
    const float *x;
    int64_t n = p->n;
    asnd_view v;
    float *m;
    ASN_TRY(read_as(e, p, 0, tmp, &x));
    ASN_TRY(room_for(e, p, 3, 0, tmp, &v, &m));
    for (int64_t r = 0; r < p->rows; r++, x += n * n, m += n * n) {
        for (int64_t i = 0; i < n; i++) {
            float most = x[i * n], sum = 0;
            for (int64_t j = 1; j < n; j++)
                most = fmaxf(most, x[i * n + j]);
            for (int64_t j = 0; j < n; j++)
                sum += m[i * n + j] = expf(x[i * n + j] - most);
            for (int64_t j = 0; j < n; j++)
                m[i * n + j] = m[i * n + j] / sum + p->eps;
        }
        divide(m, n, n, 1, p->eps);
        for (int64_t k = 1; k < p->mixes; k++) {
            divide(m, n, 1, n, p->eps);
            divide(m, n, n, 1, p->eps);
        }
    }
    return asn_move(asn_exec_nd(e, p->at[3]), &v.nd);
}

/* ---- MhcPre */

/* m = (x gamma) phi^T. */
static asn_status mix(aclOpExecutor *e, const hyper_plan *p, const float *x,
                      const float *gamma, asnd_tmp *tmp, float *to) {
    /* x gamma is stored, (rows, n d): gamma could be put into phi instead, but phi is the
     * larger one where there are few rows. */
    int64_t wide = p->n * p->d;
    asnd_view rows, phi, out;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, (int64_t[]){p->rows, wide}, &rows));
    float *v = (float *)(void *)rows.nd.data;
    for (int64_t i = 0; i < p->rows * wide; i++)
        v[i] = gamma ? x[i] * gamma[i % wide] : x[i];
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->at[1]), ASN_F32, tmp, &phi));
    asn_view_swap_last(&phi);
    asn_view_plain(&out, ASN_F32, 2, (int64_t[]){p->rows, p->mixes}, to);
    return asn_cpu_matmul(&rows.nd, &phi.nd, &out.nd);
}

/* float32; large magnitudes give 0 and 1. */
static float sigmoid(float x) {
    return 1 / (1 + expf(-x));
}

/* The outputs hIn, hPost, hRes, invRms, hMix, hPre, in this order. */
static asn_status pre_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const hyper_plan *p = plan;
    const float *x, *alpha, *bias, *gamma;
    int64_t n = p->n, d = p->d, wide = n * d;
    const int64_t sizes[] = {d, n, n * n, 1, p->mixes, n};
    asnd_view v[6];
    float *to[6];
    ASN_TRY(read_as(e, p, 0, tmp, &x));
    ASN_TRY(read_as(e, p, 2, tmp, &alpha));
    ASN_TRY(read_as(e, p, 3, tmp, &bias));
    ASN_TRY(read_as(e, p, 4, tmp, &gamma));
    for (int i = 0; i < 6; i++)
        ASN_TRY(room_for(e, p, p->first_out + i, p->rows * sizes[i], tmp, &v[i], &to[i]));
    ASN_TRY(mix(e, p, x, gamma, tmp, to[4]));
    for (int64_t r = 0; r < p->rows; r++, x += wide) {
        float *m = to[4] + r * p->mixes, *in = to[0] + r * d;
        /* In float64, as n d may be some ten thousand numbers. */
        double squares = 0;
        for (int64_t k = 0; k < wide; k++)
            squares += (double)x[k] * x[k];
        float rms = 1 / sqrtf((float)(squares / (double)wide) + p->norm_eps);
        to[3][r] = rms;
        memset(in, 0, (size_t)d * sizeof *in);
        for (int64_t i = 0; i < n; i++) {
            float pre = sigmoid(m[i] * rms * alpha[0] + bias[i]) + p->eps;
            to[5][r * n + i] = pre;
            to[1][r * n + i] = 2 * sigmoid(m[n + i] * rms * alpha[1] + bias[n + i]);
            for (int64_t k = 0; k < d; k++)
                in[k] += pre * x[i * d + k];
        }
        for (int64_t k = 2 * n; k < p->mixes; k++)
            to[2][r * n * n + k - 2 * n] = m[k] * rms * alpha[2] + bias[k];
    }
    for (int i = 0; i < 6; i++)
        if (p->at[p->first_out + i] >= 0)
            ASN_TRY(asn_move(asn_exec_nd(e, p->at[p->first_out + i]), &v[i].nd));
    return ASN_OK;
}

/* ---- planners */

/* The plan of a call whose streams are parameter i: (..., n, d). */
static asn_status begin(const asnd_call *c, int i, hyper_plan *p) {
    memset(p, 0, sizeof *p);
    const asnd_nd *x = asn_call_nd(c, i);
    ASN_TRY(asn_call_rank(c, i, 3, 4));
    for (int k = 0; k < c->op->num_params; k++)
        p->at[k] = c->first[k];
    p->n = x->shape[x->ndim - 2];
    p->d = x->shape[x->ndim - 1];
    p->rows = x->shape[0] * (x->ndim == 4 ? x->shape[1] : 1);
    return ASN_OK;
}

/* Parameter i, if it is there, is of floats: x's leading extents, then a and b (below 0:
 * none). */
static asn_status check_rows(const asnd_call *c, int x_at, int i, int64_t a, int64_t b) {
    const asnd_nd *x = asn_call_nd(c, x_at);
    int64_t shape[4] = {x->shape[0], x->shape[1]};
    int ndim = x->ndim - 2;
    if (a >= 0) shape[ndim++] = a;
    if (b >= 0) shape[ndim++] = b;
    if (c->first[i] < 0) return ASN_OK;
    ASN_TRY(asn_call_single(c, i));
    return asn_call_same_shape(c, i, ndim, shape);
}

/* MhcPost(x, hRes, hOut, hPost, y); arg 1: MhcPostBackward, with gradY before x and four
 * gradients behind. */
asn_status asn_planner_mhc_post(asnd_call *c) {
    bool back = c->op->arg == 1;
    int x = back ? 1 : 0;
    hyper_plan p;
    ASN_TRY(begin(c, x, &p));
    for (int k = 0; k < (back ? 2 : 1); k++) { /* what goes in, then its gradients */
        int at = k == 0 ? x : 5;
        ASN_TRY(check_rows(c, x, at, p.n, p.d));
        ASN_TRY(check_rows(c, x, at + 1, p.n, p.n));
        ASN_TRY(check_rows(c, x, at + 2, p.d, -1));
        ASN_TRY(check_rows(c, x, at + 3, p.n, -1));
    }
    ASN_TRY(check_rows(c, x, back ? 0 : 4, p.n, p.d));
    /* Without streams the gradient of hOut is still set, to 0. */
    if (p.rows == 0 || (!back && p.n * p.d == 0)) return ASN_OK;
    return asn_call_keep(c, back ? post_grad_body : post_body, &p, sizeof p,
                         300 + 2 * (double)(p.rows * p.n) * (double)(p.n * p.d));
}

/* MhcSinkhorn(x, eps, numIters, y, normOut, sumOut) */
asn_status asn_planner_mhc_sinkhorn(asnd_call *c) {
    hyper_plan p;
    ASN_TRY(begin(c, 0, &p));
    ASN_TRY(check_rows(c, 0, 0, p.n, p.n));
    ASN_TRY(check_rows(c, 0, 3, p.n, p.n));
    p.eps = (float)asn_call_double(c, 1);
    p.mixes = asn_call_int(c, 2);
    if (p.mixes < 1 || p.mixes > 100)
        return asn_error_set(ASN_ERR_VALUE, "%s: numIters is %lld; it must be 1 to 100",
                             c->op->name, (long long)p.mixes);
    for (int i = 4; i < 6; i++)
        if (c->first[i] >= 0 && !asn_call_operand(c, i)->is_empty)
            return asn_error_set(ASN_ERR_VALUE, "%s: %s is given; it must be NULL",
                                 c->op->name, c->op->params[i].name);
    if (p.rows * p.n == 0) return ASN_OK;
    return asn_call_keep(c, sinkhorn_body, &p, sizeof p,
                         300 + 4 * (double)(p.rows * p.n * p.n) * (double)p.mixes);
}

/* MhcPre(x, phi, alpha, bias, gamma, normEps, hcEps, hIn, hPost, hRes, invRms, hMix,
 * hPre), V2 with innerPrecise behind hcEps (0, or 1 for products of fewer digits). */
asn_status asn_planner_mhc_pre(asnd_call *c) {
    hyper_plan p;
    ASN_TRY(begin(c, 0, &p));
    ASN_TRY(asn_call_rank(c, 2, 1, 1));
    int64_t alphas = asn_call_nd(c, 2)->shape[0], wide = p.n * p.d;
    int out = c->op->num_params - 6;
    p.first_out = out;
    p.mixes = 2 * p.n + (alphas == 3 ? p.n * p.n : 0);
    p.norm_eps = (float)asn_call_double(c, 5);
    p.eps = (float)asn_call_double(c, 6);
    if (alphas != 2 && alphas != 3)
        return asn_error_set(ASN_ERR_VALUE, "%s: alpha has %lld numbers; it has 2 or 3",
                             c->op->name, (long long)alphas);
    if (out == 8 && asn_call_int(c, 7) != 0 && asn_call_int(c, 7) != 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: innerPrecise is %lld; it must be 0 or 1",
                             c->op->name, (long long)asn_call_int(c, 7));
    for (int i = 0; i < 5; i++)
        ASN_TRY(asn_call_single(c, i));
    /* phi (mixes, n d), bias (mixes), gamma (n, d), mixes = 2 n + n n or 2 n. */
    ASN_TRY(asn_call_same_shape(c, 1, 2, (int64_t[]){p.mixes, wide}));
    ASN_TRY(asn_call_same_shape(c, 3, 1, &p.mixes));
    if (c->first[4] >= 0) ASN_TRY(asn_call_same_shape(c, 4, 2, (int64_t[]){p.n, p.d}));
    ASN_TRY(check_rows(c, 0, out, p.d, -1));
    ASN_TRY(check_rows(c, 0, out + 1, p.n, -1));
    if (alphas == 3)
        ASN_TRY(check_rows(c, 0, out + 2, p.n, p.n));
    else
        p.at[out + 2] = -1;
    ASN_TRY(check_rows(c, 0, out + 3, -1, -1));
    ASN_TRY(check_rows(c, 0, out + 4, p.mixes, -1));
    ASN_TRY(check_rows(c, 0, out + 5, p.n, -1));
    if (p.rows == 0) return ASN_OK;
    if (wide == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: x has %lld streams of %lld numbers",
                             c->op->name, (long long)p.n, (long long)p.d);
    return asn_call_keep(c, pre_body, &p, sizeof p,
                         300 + (double)(p.rows * wide) * (double)(p.mixes + 8) / 10);
}
