/* L1 random: our engines as numpy.random's bitgen_t, drawing from a block buffer. */
#ifndef ASN_RANDOM_VARIATES_BITS_H
#define ASN_RANDOM_VARIATES_BITS_H

#include <numpy/random/bitgen.h>

#include "random/words.h"

/* The buffer, and the bitgen_t over it: the latter points to the former. */
typedef struct {
    asn_words words;
    bitgen_t bits;
} asn_bits;

/* expected: about how many words will be drawn. Between begin and end the engine must not
 * be touched. */
bitgen_t *asn_bits_begin(asn_bits *s, asn_bitgen *g, int64_t expected);
static inline void asn_bits_end(asn_bits *s) {
    asn_words_end(&s->words);
}

#endif
