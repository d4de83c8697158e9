/* L1 random: RandomState's distributions, frozen in 2011 so that a seed keeps its
 * numbers.
 *
 * The algorithms are L. Devroye's ("Non-Uniform Random Variate Generation", 1986) unless
 * named otherwise; the order of draws and of roundings is RandomState's, since its
 * streams are promised bit for bit.
 */
#include "random/variates_legacy.h"

#include <math.h>

#include "random/words.h"

/* In [0, 1), with 53 bits. */
static double uniform(bitgen_t *b) {
    return b->next_double(b->state);
}

/* By the polar method, whatever the engine. */
double legacy_normal(bitgen_t *b) {
    asn_words *w = b->state;
    return asn_words_gauss(w);
}

double legacy_standard_exponential(bitgen_t *b) {
    return -log(1.0 - uniform(b));
}

/* The quotient of two normal variates, the first drawn above. */
double legacy_standard_cauchy(bitgen_t *b) {
    double over = legacy_normal(b);
    return over / legacy_normal(b);
}

/* Shapes below 1: Ahrens and Dieter's GS; above: Marsaglia and Tsang's. */
double legacy_standard_gamma(bitgen_t *b, double shape) {
    if (shape == 1.0) return legacy_standard_exponential(b);
    if (shape == 0.0) return 0.0;
    if (shape < 1.0)
        for (;;) {
            double u = uniform(b), v = legacy_standard_exponential(b), x;
            if (u <= 1.0 - shape) {
                x = pow(u, 1. / shape);
                if (x <= v) return x;
            } else {
                double y = -log((1 - u) / shape);
                x = pow(1.0 - shape + shape * y, 1. / shape);
                if (x <= v + y) return x;
            }
        }
    double d = shape - 1. / 3., c = 1. / sqrt(9 * d);
    for (;;) {
        double x, v;
        do {
            x = legacy_normal(b);
            v = 1.0 + c * x;
        } while (v <= 0.0);
        v = v * v * v;
        double u = uniform(b);
        if (u < 1.0 - 0.0331 * (x * x) * (x * x)) return d * v;
        if (log(u) < 0.5 * x * x + d * (1. - v + log(v))) return d * v;
    }
}

/* Both below 1: Jöhnk's; else of two gammas. */
double legacy_beta(bitgen_t *b, double p, double q) {
    if (p <= 1.0 && q <= 1.0)
        for (;;) {
            double u = uniform(b), v = uniform(b);
            double x = pow(u, 1.0 / p), y = pow(v, 1.0 / q), sum = x + y;
            if (sum > 1.0 || u + v <= 0.0) continue;
            if (sum > 0) return x / sum;
            double log_x = log(u) / p, log_y = log(v) / q;
            double top = log_x > log_y ? log_x : log_y;
            log_x -= top;
            log_y -= top;
            return exp(log_x - log(exp(log_x) + exp(log_y)));
        }
    double x = legacy_standard_gamma(b, p), y = legacy_standard_gamma(b, q);
    return x / (x + y);
}

/* Twice a gamma variate of half the degrees of freedom. */
double legacy_chisquare(bitgen_t *b, double df) {
    return 2.0 * legacy_standard_gamma(b, df / 2.0);
}

double legacy_noncentral_chisquare(bitgen_t *b, double df, double nonc) {
    /* Without a noncentrality no normal variate is drawn. */
    if (nonc == 0) return legacy_chisquare(b, df);
    if (1 < df) {
        double rest = legacy_chisquare(b, df - 1.0);
        double n = legacy_normal(b) + sqrt(nonc);
        return rest + n * n;
    }
    int64_t i = random_poisson(b, nonc / 2.0);
    double value = legacy_chisquare(b, df + 2 * (double)i);
    return isnan(nonc) ? nonc : value;
}

/* The numerator's degrees are drawn first. */
double legacy_f(bitgen_t *b, double dfnum, double dfden) {
    double over = legacy_chisquare(b, dfnum) * dfden;
    return over / (legacy_chisquare(b, dfden) * dfnum);
}

double legacy_noncentral_f(bitgen_t *b, double dfnum, double dfden, double nonc) {
    double over = legacy_noncentral_chisquare(b, dfnum, nonc) * dfden;
    return over / (legacy_chisquare(b, dfden) * dfnum);
}

double legacy_standard_t(bitgen_t *b, double df) {
    double normal = legacy_normal(b), gamma = legacy_standard_gamma(b, df / 2);
    return sqrt(df / 2) * normal / sqrt(gamma);
}

/* Best and Fisher, "Efficient simulation of the von Mises distribution", 1979. */
double legacy_vonmises(bitgen_t *b, double mu, double kappa) {
    if (isnan(kappa)) return NAN;
    if (kappa < 1e-8) return M_PI * (2 * uniform(b) - 1);
    double s, w;
    if (kappa < 1e-5) { /* a series where the closed form cancels */
        s = 1. / kappa + kappa;
    } else {
        double r = 1 + sqrt(1 + 4 * kappa * kappa);
        double rho = (r - sqrt(2 * r)) / (2 * kappa);
        s = (1 + rho * rho) / (2 * rho);
    }
    for (;;) {
        double z = cos(M_PI * uniform(b));
        w = (1 + s * z) / (s + z);
        double y = kappa * (s - w), v = uniform(b);
        if (y * (2 - y) - v >= 0 || log(y / v) + 1 - y >= 0) break;
    }
    double u = uniform(b), angle = acos(w);
    if (u < 0.5) angle = -angle;
    angle += mu;
    double turned = fmod(fabs(angle) + M_PI, 2 * M_PI) - M_PI;
    return angle < 0 ? -turned : turned;
}

double legacy_weibull(bitgen_t *b, double a) {
    return a == 0.0 ? 0.0 : pow(legacy_standard_exponential(b), 1. / a);
}

/* Michael, Schucany and Haas, 1976. */
double legacy_wald(bitgen_t *b, double mean, double scale) {
    double half = mean / (2 * scale), y = legacy_normal(b);
    y = mean * y * y;
    double x = mean + half * (y - sqrt(4 * scale * y + y * y));
    return uniform(b) <= mean / (mean + x) ? x : mean * mean / x;
}

/* Unlike Generator's, draws for n = 0 and p = 0 too. */
int64_t legacy_binomial(bitgen_t *b, int64_t n, double p, binomial_t *setup) {
    bool often = p > 0.5;
    double q = often ? 1.0 - p : p;
    int64_t seldom = q * (double)n <= 30.0 ? random_binomial_inversion(b, n, q, setup)
                                           : random_binomial_btpe(b, n, q, setup);
    return often ? n - seldom : seldom;
}

/* A Poisson variate whose rate is a gamma variate. */
int64_t legacy_negative_binomial(bitgen_t *b, double n, double p) {
    return random_poisson(b, (1 - p) / p * legacy_standard_gamma(b, n));
}

/* By rejection; a candidate beyond int64 is rejected. */
int64_t legacy_zipf(bitgen_t *b, double a) {
    double below = a - 1.0, two = pow(2.0, below);
    for (;;) {
        double u = 1.0 - uniform(b), v = uniform(b), x = floor(pow(u, -1.0 / below));
        if (x > 0x1p63 || x < 1.0)
            continue; /* compares as numpy.random's LONG_MAX does */
        double t = pow(1.0 + 1.0 / x, below);
        if (v * x * (t - 1.0) / (two - 1.0) <= t / two) return (int64_t)x;
    }
}

/* Large p: by searching; small p: by inversion. */
int64_t legacy_geometric(bitgen_t *b, double p) {
    if (p >= 0.333333333333333333333333) return random_geometric_search(b, p);
    return (int64_t)ceil(log1p(-uniform(b)) / log(1 - p));
}

/* Few draws: one at a time. */
static int64_t hypergeometric_few(bitgen_t *b, int64_t good, int64_t bad,
                                  int64_t sample) {
    int64_t left = sample;
    double d1 = (double)(bad + good - sample), d2 = (double)(bad < good ? bad : good);
    double y = d2;
    while (y > 0.0) {
        double u = uniform(b);
        y -= (double)(int64_t)floor(u + y / (d1 + (double)left));
        if (--left == 0) break;
    }
    int64_t z = (int64_t)(d2 - y);
    return good > bad ? sample - z : z;
}

/* Many: the ratio of uniforms, HRUA* of Stadlober, 1989. */
static int64_t hypergeometric_many(bitgen_t *b, int64_t good, int64_t bad,
                                   int64_t sample) {
    const double width = 1.7155277699214135, offset = 0.8989161620588988;
    /* The smaller colour is counted, of the smaller of the sample and what is left. */
    int64_t least = good < bad ? good : bad, most = good < bad ? bad : good;
    int64_t all = good + bad, m = sample < all - sample ? sample : all - sample;
    double d4 = (double)least / (double)all, d5 = 1.0 - d4;
    double d6 = (double)m * d4 + 0.5;
    double d7 =
        sqrt((double)(all - m) * (double)sample * d4 * d5 / (double)(all - 1) + 0.5);
    double d8 = width * d7 + offset;
    int64_t d9 =
        (int64_t)floor((double)(m + 1) * (double)(least + 1) / (double)(all + 2));
    double d10 =
        random_loggam((double)(d9 + 1)) + random_loggam((double)(least - d9 + 1)) +
        random_loggam((double)(m - d9 + 1)) + random_loggam((double)(most - m + d9 + 1));
    double d11 = (double)(m < least ? m : least) + 1.0, far = floor(d6 + 16 * d7);
    if (far < d11) d11 = far;
    int64_t z;
    for (;;) {
        double x = uniform(b), y = uniform(b), w = d6 + d8 * (y - 0.5) / x;
        if (w < 0.0 || w >= d11) continue;
        z = (int64_t)floor(w);
        double t = d10 - (random_loggam((double)(z + 1)) +
                          random_loggam((double)(least - z + 1)) +
                          random_loggam((double)(m - z + 1)) +
                          random_loggam((double)(most - m + z + 1)));
        if (x * (4.0 - x) - 3.0 <= t) break;
        if (x * (x - t) >= 1) continue;
        if (2.0 * log(x) <= t) break;
    }
    if (good > bad) z = m - z;
    return m < sample ? good - z : z;
}

/* NumPy changes the method at a sample of 10. */
int64_t legacy_hypergeometric(bitgen_t *b, int64_t good, int64_t bad, int64_t sample) {
    if (sample > 10) return hypergeometric_many(b, good, bad, sample);
    return sample > 0 ? hypergeometric_few(b, good, bad, sample) : 0;
}

/* Kemp, "Efficient generation of logarithmically distributed pseudo-random variables",
 * 1981: LK. */
int64_t legacy_logseries(bitgen_t *b, double p) {
    double r = log(1.0 - p);
    for (;;) {
        double v = uniform(b);
        if (v >= p) return 1;
        double u = uniform(b), q = 1.0 - exp(r * u);
        if (v <= q * q) {
            int64_t k = (int64_t)floor(1 + log(v) / log(q));
            if (k < 1 || v == 0.0) continue;
            return k;
        }
        return v >= q ? 1 : 2;
    }
}
