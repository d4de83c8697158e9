/* L1 random: the distributions of numpy.random, one row each (variates.def).
 *
 * Generator's algorithms are numpy.random's own library (npyrandom, which NumPy ships for
 * this use) over our engines; RandomState's frozen ones are variates_legacy.c. Words come
 * from a block buffer (words.h), so that a fill draws at the engine's block speed; what
 * most variates of some rows need stands in variates_runs.h.
 */
#ifndef ASN_RANDOM_VARIATES_H
#define ASN_RANDOM_VARIATES_H

#include "random/bitgen.h"

enum { ASN_VARIATE_PARAMS = 3 };

typedef struct {
    const char *name;
    int legacy; /* 0 Generator, 1 RandomState, 2 both */
    int nparams;
    bool integer;               /* int64 results, else float64 */
    const char *kinds, *checks; /* a letter per parameter, see variates.def */
    const char *params[ASN_VARIATE_PARAMS];
    /* n variates into out; parameter k's value for element i is p[k][i * step[k]]. */
    void (*fill)(asn_bitgen *g, int64_t n, const void *const *p, const int64_t *step,
                 void *out);
} asn_variate;

/* NULL: no such distribution. */
const asn_variate *asn_variate_find(const char *name, bool legacy);

/* What parameter k's n values violate, as a format with one %s for its name, once per
 * mention; NULL: nothing. */
const char *asn_variate_check(const asn_variate *v, int k, int64_t n, const void *values);

/* float32: the ziggurat and, inverse, -log(1 - u); gamma of one shape. */
void asn_fill_exponential(asn_bitgen *g, bool inverse, int64_t n, double *out);
void asn_fill_exponential_float(asn_bitgen *g, bool inverse, int64_t n, float *out);
void asn_fill_gamma_float(asn_bitgen *g, int64_t n, const float *shape, int64_t step,
                          float *out);

/* n rows of k: normalised gammas; Generator's breaks sticks where every alpha is small.
 */
ASN_CHECK_RESULT asn_status asn_fill_dirichlet(asn_bitgen *g, bool legacy, int64_t n,
                                               int64_t k, const double *alpha,
                                               double *out);
/* n rows of k counts; row i spends trials[i] on the probabilities at p + i * p_step.
 * legacy: its binomials are those of RandomState, which draw where none is needed. */
void asn_fill_multinomial(asn_bitgen *g, bool legacy, int64_t n, int64_t k,
                          const int64_t *trials, const double *p, int64_t p_step,
                          int64_t *out);
/* n rows of k counts of `nsample` drawn from `colors` without replacement. */
ASN_CHECK_RESULT asn_status
asn_fill_multivariate_hypergeometric(asn_bitgen *g, bool by_count, int64_t n, int64_t k,
                                     int64_t *colors, int64_t nsample, int64_t *out);

#endif
