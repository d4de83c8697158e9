/* L1 random: the engines' own steps; bitgen.h's functions choose among them. */
#ifndef ASN_RANDOM_ENGINES_H
#define ASN_RANDOM_ENGINES_H

#include "random/bitgen.h"

uint64_t asn_pcg64_next(asn_bitgen *g);
uint32_t asn_pcg64_next32(asn_bitgen *g);
uint32_t asn_mt19937_next32(asn_bitgen *g);

#endif
