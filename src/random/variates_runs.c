/* L1 random: runs of variates (see variates_runs.h), bit for bit npyrandom's.
 *
 * Words are read where they wait in the buffer, and counted as used at the end: a variate
 * that needs more than its words leaves them for npyrandom's function, which draws it
 * whole. */
#include <math.h>

#include "random/variates_runs.h"
#include "random/ziggurat.h"

/* A word's number in [0, 1). */
static inline double unit(uint64_t word) {
    return (double)(int64_t)(word >> 11) * 0x1p-53;
}

/* A word outside its layer ends the run: the rest of its variate needs more words. */
int64_t asn_run_exponential(asn_words *w, int64_t n, double scale, double *out) {
    const asn_layer *layers = asn_exponential_layers();
    int64_t count, k = 0;
    const uint64_t *words = asn_words_waiting(w, n, &count);
    for (double x; k < count && asn_layer_exponential(layers, words[k], &x); k++)
        out[k] = scale * x;
    w->at += (int)k;
    return k;
}

int64_t asn_run_exponential_float(asn_words *w, int64_t n, float *out) {
    const asn_layer_float *layers = asn_exponential_layers_float();
    int64_t count, k = 0;
    const uint32_t *words = asn_halves_waiting(w, n, &count);
    for (; k < count; k++) {
        const asn_layer_float *layer = layers + (words[k] >> 1 & 0xff);
        uint32_t position = words[k] >> 9;
        if (position >= layer->inside) break;
        out[k] = (float)(int32_t)position * layer->scale;
    }
    asn_halves_used(w, k);
    return k;
}

/* Shapes below 1: J. H. Ahrens and U. Dieter, Computer methods for sampling from gamma,
 * beta, Poisson and binomial distributions (Computing 12, 1974). What is rejected leaves
 * nothing behind: the next words begin anew. */
static int64_t run_small_gamma(asn_words *w, int64_t n, double shape, double factor,
                               double *out) {
    const asn_layer *layers = asn_exponential_layers();
    const double power = 1 / shape;
    int64_t count, i = 0, k = 0;
    const uint64_t *words = asn_words_waiting(w, INT64_MAX, &count);
    for (double v; i < n && k + 1 < count; k += 2) {
        double u = unit(words[k]), x, above = 0;
        if (!asn_layer_exponential(layers, words[k + 1], &v)) break;
        if (u <= 1 - shape) {
            x = pow(u, power);
        } else {
            above = -log((1 - u) / shape);
            x = pow(1 - shape + shape * above, power);
        }
        if (x <= v + above) out[i++] = factor * x;
    }
    w->at += (int)k;
    return i;
}

/* G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables (ACM
 * Trans. Math. Softw. 26(3), 2000): a normal variate's cube, and a uniform one to accept
 * it, mostly by the squeeze that needs no logarithm. */
static int64_t run_large_gamma(asn_words *w, int64_t n, double shape, double factor,
                               double *out) {
    const asn_layer *layers = asn_normal_layers();
    const double b = shape - 1. / 3., c = 1 / sqrt(9 * b);
    int64_t count, i = 0, k = 0;
    const uint64_t *words = asn_words_waiting(w, INT64_MAX, &count);
    for (double x; i < n && k + 1 < count; k += 2) {
        if (!asn_layer_normal(layers, words[k], &x)) break;
        double v = 1 + c * x, u = unit(words[k + 1]);
        if (v <= 0) break;
        v = v * v * v;
        if (u < 1 - 0.0331 * (x * x) * (x * x) ||
            log(u) < 0.5 * x * x + b * (1 - v + log(v)))
            out[i++] = factor * (b * v);
    }
    w->at += (int)k;
    return i;
}

int64_t asn_run_gamma(asn_words *w, int64_t n, double shape, double factor, double *out) {
    if (shape > 1) return run_large_gamma(w, n, shape, factor, out);
    if (shape > 0 && shape < 1) return run_small_gamma(w, n, shape, factor, out);
    return 0;
}

/* Uniform variates are multiplied until the product falls to exp(-rate); how many it took
 * no branch predicts, so that there is none: each word stores the count so far, and the
 * last of a variate moves on. */
int64_t asn_run_poisson(asn_words *w, int64_t n, double rate, int64_t *out) {
    /* From this rate on NumPy uses another method. */
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
