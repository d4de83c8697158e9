/* L1 random: RandomState's frozen distributions, one variate each (variates_legacy.c).
 * Parameters are in range (asn_variate_check).
 *
 * Each draws from b, in RandomState's order, and gives one variate; setup: the binomial
 * methods' cache of constants, zeroed before the first. */
#ifndef ASN_RANDOM_VARIATES_LEGACY_H
#define ASN_RANDOM_VARIATES_LEGACY_H

#include <numpy/random/distributions.h>

double legacy_normal(bitgen_t *b);
double legacy_standard_exponential(bitgen_t *b);
double legacy_standard_cauchy(bitgen_t *b);
double legacy_standard_gamma(bitgen_t *b, double shape);
double legacy_beta(bitgen_t *b, double x, double y);
double legacy_chisquare(bitgen_t *b, double df);
double legacy_noncentral_chisquare(bitgen_t *b, double df, double nonc);
double legacy_f(bitgen_t *b, double dfnum, double dfden);
double legacy_noncentral_f(bitgen_t *b, double dfnum, double dfden, double nonc);
double legacy_standard_t(bitgen_t *b, double df);
double legacy_vonmises(bitgen_t *b, double mu, double kappa);
double legacy_weibull(bitgen_t *b, double a);
double legacy_wald(bitgen_t *b, double mean, double scale);
int64_t legacy_binomial(bitgen_t *b, int64_t n, double p, binomial_t *setup);
int64_t legacy_negative_binomial(bitgen_t *b, double n, double p);
int64_t legacy_zipf(bitgen_t *b, double a);
int64_t legacy_geometric(bitgen_t *b, double p);
int64_t legacy_hypergeometric(bitgen_t *b, int64_t good, int64_t bad, int64_t sample);
int64_t legacy_logseries(bitgen_t *b, double p);

#endif
