/* L1 random: runs of variates (see variates_runs.h), bit for bit npyrandom's. */
#include <math.h>

#include "random/variates_runs.h"
#include "random/ziggurat.h"

static inline double unit(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

int64_t asn_run_exponential(asn_words *w, int64_t n, double scale, double *out) {
    const asn_layer *layers = asn_exponential_layers();
    int64_t count, k = 0;
    const uint64_t *words = asn_words_waiting(w, n, &count);
    for (double x; k < count && asn_layer_exponential(layers, words[k], &x); k++)
        out[k] = scale * x;
    w->at += (int)k;
    return k;
}

/* G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables (ACM
 * Trans. Math. Softw. 26(3), 2000): a normal variate's cube, and a uniform one to accept
 * it, mostly by the squeeze that needs no logarithm. */
int64_t asn_run_gamma(asn_words *w, int64_t n, double shape, double factor, double *out) {
    if (!(shape > 1)) return 0;
    const asn_layer *layers = asn_normal_layers();
    const double b = shape - 1. / 3., c = 1 / sqrt(9 * b);
    int64_t count, k = 0;
    const uint64_t *words = asn_words_waiting(w, 2 * n, &count);
    for (double x; 2 * k + 1 < count; k++) {
        if (!asn_layer_normal(layers, words[2 * k], &x)) break;
        double v = 1 + c * x, u = unit(words[2 * k + 1]);
        if (v <= 0) break;
        v = v * v * v;
        if (!(u < 1 - 0.0331 * (x * x) * (x * x)) &&
            !(log(u) < 0.5 * x * x + b * (1 - v + log(v))))
            break;
        out[k] = factor * (b * v);
    }
    w->at += (int)(2 * k);
    return k;
}

/* Uniform variates are multiplied until the product falls to exp(-rate); how many it took
 * no branch predicts, so that there is none: each word stores the count so far, and the
 * last of a variate moves on. */
int64_t asn_run_poisson(asn_words *w, int64_t n, double rate, int64_t *out) {
    enum { MULTIPLIED = 10 };
    if (!(rate > 0 && rate < MULTIPLIED)) return 0;
    const double least = exp(-rate);
    double product = 1;
    int64_t count, i = 0, factors = 0;
    const uint64_t *words = asn_words_waiting(w, INT64_MAX, &count);
    while (count > 0 && i < n) {
        int64_t some = n - i < count ? n - i : count; /* each ends one variate at most */
        for (int64_t k = 0; k < some; k++) {
            double next = product * unit(words[k]);
            int64_t ends = !(next > least);
            out[i] = factors;
            i += ends;
            factors = (factors + 1) & (ends - 1);
            product = next > least ? next : 1;
        }
        words += some;
        count -= some;
    }
    w->at = (int)(words - w->wide - factors);
    return i;
}
