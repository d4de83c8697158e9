/* L1 random: runs of variates: those that the words which wait in the buffer give,
 * without a call for each word.
 *
 * Each draws up to n variates and stops before the first that needs more: a word that is
 * outside its ziggurat's layers, a rejection, a refill; that one is drawn by npyrandom's
 * function, from its first word on. Returns how many were drawn; 0 where the parameters
 * ask for another algorithm, or the engine is the twister. */
#ifndef ASN_RANDOM_VARIATES_RUNS_H
#define ASN_RANDOM_VARIATES_RUNS_H

#include "random/words.h"

int64_t asn_run_exponential(asn_words *w, int64_t n, double scale, double *out);
int64_t asn_run_exponential_float(asn_words *w, int64_t n, float *out);
/* factor * a standard gamma variate; of shape 1, 0 of them. */
int64_t asn_run_gamma(asn_words *w, int64_t n, double shape, double factor, double *out);
/* For rates below 10. */
int64_t asn_run_poisson(asn_words *w, int64_t n, double rate, int64_t *out);

#endif
