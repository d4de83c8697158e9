/* L1 random: draws of many numbers at once: Dirichlet, multinomial and hypergeometric
 * rows, in numpy.random's order of draws.
 *
 * A row is a variate of several numbers. n rows of k go to `out` one after the other; the
 * buffer of words spans all of them. */
#include <numpy/random/distributions.h>

#include "base/alloc.h"
#include "random/variates.h"
#include "random/variates_bits.h"
#include "random/variates_legacy.h"

/* Generator breaks sticks by betas below this largest alpha: gammas would all be 0. */
static const double SMALL_ALPHA = 0.1;

/* Gamma variates divided by their sum. (RandomState's or Generator's gammas.) */
static void normalised_gammas(bitgen_t *b, bool legacy, int64_t n, int64_t k,
                              const double *alpha, double *out) {
    for (int64_t i = 0; i < n; i++, out += k) {
        double sum = 0;
        for (int64_t j = 0; j < k; j++) {
            out[j] = legacy ? legacy_standard_gamma(b, alpha[j])
                            : random_standard_gamma(b, alpha[j]);
            sum += out[j];
        }
        double scale = 1 / sum;
        for (int64_t j = 0; j < k; j++)
            out[j] *= scale;
    }
}

/* tail[j]: the sum of alpha[j] and those after it. Piece j is a beta share of what is
 * left of the stick; where nothing follows, the rest is 0. */
static void broken_sticks(bitgen_t *b, int64_t n, int64_t k, const double *alpha,
                          const double *tail, double *out) {
    for (int64_t i = 0; i < n * k; i++)
        out[i] = 0;
    if (tail[0] == 0) return;
    for (int64_t i = 0; i < n; i++, out += k) {
        double left = 1;
        for (int64_t j = 0; j < k - 1; j++) {
            double v = random_beta(b, alpha[j], tail[j + 1]);
            out[j] = left * v;
            left *= 1 - v;
            if (tail[j + 1] == 0) break;
        }
        out[k - 1] = left;
    }
}

/* The method depends on alpha alone, as in NumPy. */
asn_status asn_fill_dirichlet(asn_bitgen *g, bool legacy, int64_t n, int64_t k,
                              const double *alpha, double *out) {
    asn_bits bits;
    double largest = 0;
    for (int64_t j = 0; j < k; j++)
        if (alpha[j] > largest) largest = alpha[j];
    if (legacy || k == 0 || largest >= SMALL_ALPHA) {
        bitgen_t *b = asn_bits_begin(&bits, g, n * k);
        normalised_gammas(b, legacy, n, k, alpha, out);
        asn_bits_end(&bits);
        return ASN_OK;
    }
    double *tail = asn_malloc((size_t)k * sizeof *tail), sum = 0;
    if (!tail) return ASN_ERR_MEMORY;
    for (int64_t j = k - 1; j >= 0; j--)
        tail[j] = sum += alpha[j];
    bitgen_t *b = asn_bits_begin(&bits, g, n * k);
    broken_sticks(b, n, k, alpha, tail, out);
    asn_bits_end(&bits);
    asn_free(tail);
    return ASN_OK;
}

/* A row of RandomState's from NumPy 2.5 on: what is left of the trials goes to the last.
 */
static void legacy_multinomial(bitgen_t *b, int64_t trials, int64_t k, const double *p,
                               int64_t *out, binomial_t *setup) {
    double left = 1;
    for (int64_t j = 0; j < k - 1; j++) {
        out[j] = legacy_binomial(b, trials, p[j] / left, setup);
        trials -= out[j];
        if (trials <= 0) return;
        left -= p[j];
    }
    if (k > 0) out[k - 1] = trials;
}

/* p_step 0: one row of probabilities for all. */
void asn_fill_multinomial(asn_bitgen *g, bool legacy, int64_t n, int64_t k,
                          const int64_t *trials, const double *p, int64_t p_step,
                          int64_t *out) {
    asn_bits bits;
    binomial_t binomial = {0};
    bitgen_t *b = asn_bits_begin(&bits, g, n * k);
    for (int64_t i = 0; i < n * k; i++)
        out[i] = 0;
    for (int64_t i = 0; i < n; i++) {
        const double *row = p + i * p_step;
        if (legacy)
            legacy_multinomial(b, trials[i], k, row, out + i * k, &binomial);
        else
            random_multinomial(b, trials[i], out + i * k, (double *)row, k, &binomial);
    }
    asn_bits_end(&bits);
}

asn_status asn_fill_multivariate_hypergeometric(asn_bitgen *g, bool by_count, int64_t n,
                                                int64_t k, int64_t *colors,
                                                int64_t nsample, int64_t *out) {
    asn_bits bits;
    int64_t total = 0;
    int failed = 0;
    for (int64_t j = 0; j < k; j++)
        total += colors[j];
    for (int64_t i = 0; i < n * k; i++)
        out[i] = 0;
    bitgen_t *b = asn_bits_begin(&bits, g, n * k);
    if (by_count)
        failed = random_multivariate_hypergeometric_count(b, total, (size_t)k, colors,
                                                          nsample, (size_t)n, out);
    else
        random_multivariate_hypergeometric_marginals(b, total, (size_t)k, colors, nsample,
                                                     (size_t)n, out);
    asn_bits_end(&bits);
    return failed
               ? asn_error_set(ASN_ERR_MEMORY,
                               "multivariate_hypergeometric: no memory for %lld colors",
                               (long long)total)
               : ASN_OK;
}
