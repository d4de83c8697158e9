/* CPU device, operators: Multinomial(self, numsamples, replacement, seed, offset, out),
 * and MultinomialTensor with seedTensor, offsetTensor, offset.
 *
 * Philox as in random.c: sample j of a row takes a number that depends on (seed, offset,
 * row, j) alone. With replacement a number falls into the row's running sums; without,
 * every category i gets a time to wait, p[i] events a unit, and the first numsamples to
 * ring are drawn (Efraimidis and Spirakis, 2006), so categories without probability come
 * last, as in torch.multinomial, whose conditions these are.
 *
 * A row costs a binary search for each sample with replacement; without, one pass and a
 * selection of the k smallest times. numsamples is at most the number of categories then.
 * There are at most 2^24 categories.
 */
#include <math.h>

#include "device/cpu/sort/sort.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/seed.h"
#include "random/bitgen.h"

enum { MOST_CATEGORIES = 1 << 24 };

/* Replaces a row of n weights by its running sums. ASN_ERR_VALUE for a weight that is
 * negative, infinite or NaN, and for a sum of 0. (The input is data: the error is the
 * task's.) */
static asn_status sum_row(double *p, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        if (!(p[i] >= 0 && p[i] < INFINITY))
            return asn_error_set(ASN_ERR_VALUE,
                                 "Multinomial: a probability is %g; each must be finite "
                                 "and at least 0",
                                 p[i]);
        p[i] = sum += p[i];
    }
    if (sum > 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "Multinomial: a row's probabilities sum to 0");
}

/* The first place whose running sum is above x, in [0, sums[n - 1]); with rounding the
 * last that has any. A category of weight 0 has the sum of the one before and is never
 * first. */
static int64_t find(const double *sums, int64_t n, double x) {
    int64_t low = 0, high = n - 1;
    if (x >= sums[high]) x = nextafter(sums[high], 0);
    while (low < high) {
        int64_t middle = (low + high) / 2;
        if (sums[middle] > x) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* Samples of all rows, of shape (rows, k). p->axis: the output's parameter. weight: the
 * row as given; sums: its running sums, or the times to wait. A uniform u makes a time
 * -log(1 - u) / weight: log1p keeps it exact for small u. */
static asn_status multinomial_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    int to = p->axis, tensors = to == 6;
    int64_t rows = p->n[0], n = p->n[1], k = p->arg[1].i;
    bool replace = p->arg[2].i != 0;
    uint64_t seed, offset;
    asnd_seed given = {(uint64_t)p->arg[3].i, (uint64_t)p->arg[tensors ? 5 : 4].i,
                       p->at[3], p->at[4]};
    asn_exec_seed(e, &given, &seed, &offset);
    uint64_t word = 2 * offset;
    int64_t draws = replace ? k : n, shape[2] = {rows, n}, drawn[2] = {rows, k};
    asnd_view in, own, out, found, times;
    ASN_TRY(asn_packed_in(e, p, 0, ASN_F64, tmp, &in));
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, 2, shape, &own)); /* the input stays as it is */
    asn_view_plain(&times, ASN_F64, 2, shape, in.nd.data);
    ASN_TRY(asn_move(&own.nd, &times.nd));
    ASN_TRY(asn_packed_out(e, p, to, ASN_I64, tmp, &out));
    double *u = asn_tmp_alloc(tmp, (size_t)draws * sizeof *u);
    if (u == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < rows; i++) {
        double *sums = (double *)(void *)own.nd.data + i * n;
        const double *weight = (const double *)(const void *)in.nd.data + i * n;
        int64_t *to = (int64_t *)(void *)out.nd.data + i * k;
        ASN_TRY(sum_row(sums, n));
        /* Numbers of row i: `draws` of them, one for each sample, or for each
         * category. */
        asn_philox_doubles(seed, word + (uint64_t)(i * draws), draws, u);
        for (int64_t j = 0; replace && j < k; j++)
            to[j] = find(sums, n, u[j] * sums[n - 1]);
        for (int64_t j = 0; !replace && j < n; j++)
            sums[j] = weight[j] > 0 ? -log1p(-u[j]) / weight[j] : INFINITY;
    }
    /* The k smallest times of each row, in their order: the order of drawing. */
    if (!replace) {
        asn_view_plain(&found, ASN_I64, 2, drawn, out.nd.data);
        ASN_TRY(asn_cpu_topk(&own.nd, 1, k, 0, NULL, &found.nd));
    }
    return asn_packed_done(e, p, to, &out);
}

/* self is (rows, categories) or (categories,); out int64 of (rows, numsamples) or
 * (numsamples,). */
asn_status asn_planner_multinomial(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int to = c->op->num_params - 1;
    asnd_seed seed;
    ASN_TRY(asn_call_seed(c, 3, &seed));
    int64_t k = asn_call_int(c, 1);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 1, 2));
    ASN_TRY(asn_call_one_of(c, to, ASN_BIT(ASN_I64)));
    int64_t rows = self->ndim == 2 ? self->shape[0] : 1, n = self->shape[self->ndim - 1];
    int64_t shape[2] = {rows, k};
    if (n < 1 || n > MOST_CATEGORIES || k < 1 || (!asn_call_int(c, 2) && k > n))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %lld samples of %lld categories; there must be 1 to %d "
                             "categories and at least one sample, without replacement no "
                             "more than categories",
                             c->op->name, (long long)k, (long long)n, MOST_CATEGORIES);
    ASN_TRY(asn_call_same_shape(c, to, self->ndim, shape + (self->ndim == 1)));
    if (asn_call_operand(c, to)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, multinomial_body, 500 + 30 * (double)rows * (double)(n + k));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->axis = to;
    p->n[0] = rows;
    p->n[1] = n;
    return ASN_OK;
}
