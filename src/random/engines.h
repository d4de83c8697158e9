/* L1 random: the engines' own steps; bitgen.h's functions choose among them.
 *
 * The twister draws 32-bit words, all others ("wide") words of 64 bits.
 */
#ifndef ASN_RANDOM_ENGINES_H
#define ASN_RANDOM_ENGINES_H

#include "random/bitgen.h"

/* Any wide engine: its next n words, and n numbers in [0, 1). */
void asn_wide_block(asn_bitgen *g, int64_t n, uint64_t *out);
void asn_wide_doubles(asn_bitgen *g, int64_t n, double *out);

uint64_t asn_pcg64_next(asn_bitgen *g);
uint64_t asn_philox4x64_next(asn_bitgen *g);
uint64_t asn_sfc64_next(asn_bitgen *g);
uint32_t asn_mt19937_next32(asn_bitgen *g);

/* The next n words. */
void asn_pcg64_block(asn_bitgen *g, int64_t n, uint64_t *out);
void asn_philox4x64_block(asn_bitgen *g, int64_t n, uint64_t *out);
void asn_sfc64_block(asn_bitgen *g, int64_t n, uint64_t *out);
/* As many of the next n numbers in [0, 1) of ASN_PCG64 as vector instructions make;
 * returns how many. */
int64_t asn_pcg64_many_doubles(asn_bitgen *g, int64_t n, double *out);
/* Up to `most` of the rest of the twister's 624 words (of the next 624, where none is
 * left); returns how many. */
int asn_mt19937_block(asn_bitgen *g, int most, uint32_t *out);

#endif
