/* L1 random: a generator's words drawn a block at a time.
 *
 * A fill of many numbers takes its 64- or 32-bit words from a buffer that the engine
 * fills in bulk; asn_words_end puts the engine where it stands after the words that were
 * used, as if they had been drawn one by one. Between begin and end the engine must not
 * be touched.
 */
#ifndef ASN_RANDOM_WORDS_H
#define ASN_RANDOM_WORDS_H

#include "random/engines.h"

enum { ASN_WORDS = 312 }; /* the Mersenne Twister's 624 halves at a time */

typedef struct {
    asn_bitgen *g;
    int at, filled; /* wide engines: 64-bit words; the twister: 32-bit words */
    bool has_half;  /* wide: the upper half of a word waits */
    uint32_t half;
    int64_t expected, drawn; /* about how many words will be needed; in blocks so far */
    /* wide: the state before the block (the largest but the twister's) */
    unsigned char start[sizeof((asn_bitgen *)0)->philox];
    union {
        uint64_t wide[ASN_WORDS];
        uint32_t narrow[2 * ASN_WORDS];
    };
} asn_words;

/* expected: about how many words will be drawn, which decides how large blocks are. */
void asn_words_begin(asn_words *w, asn_bitgen *g, int64_t expected);
void asn_words_end(asn_words *w);
void asn_words_refill(asn_words *w);
/* RandomState's normal variate (polar method; the second of a pair waits in the engine).
 */
double asn_words_gauss(asn_words *w);

/* One integer in [0, last], drawn by the width that `last` needs; masked as in
 * asn_fill_bounded. */
uint64_t asn_words_below(asn_words *w, bool masked, uint64_t last);

/* The twister's next word. */
static inline uint32_t asn_words_narrow(asn_words *w) {
    if (w->at == w->filled) asn_words_refill(w);
    return w->narrow[w->at++];
}

static inline uint64_t asn_words_next64(asn_words *w) {
    if (w->g->kind == ASN_MT19937) {
        uint64_t high = asn_words_narrow(w);
        return high << 32 | asn_words_narrow(w);
    }
    if (w->at == w->filled) asn_words_refill(w);
    return w->wide[w->at++];
}

static inline uint32_t asn_words_next32(asn_words *w) {
    if (w->g->kind == ASN_MT19937) return asn_words_narrow(w);
    if (w->has_half) {
        w->has_half = false;
        return w->half;
    }
    uint64_t next = asn_words_next64(w);
    w->has_half = true;
    w->half = (uint32_t)(next >> 32);
    return (uint32_t)next;
}

/* The next 32-bit words as they lie in the buffer: 1 to `want` of them, all used. */
static inline const uint32_t *asn_words_run(asn_words *w, int64_t want, int64_t *got) {
    bool halves = w->g->kind != ASN_MT19937;
    *got = 1;
    if (halves && w->has_half) {
        w->has_half = false;
        return &w->half;
    }
    if (w->at == w->filled) asn_words_refill(w);
    const uint32_t *run = w->narrow + (halves ? 2 * w->at : w->at);
    int64_t left = w->filled - w->at;
    if (halves) left *= 2;
    *got = want < left ? want : left;
    w->at += (int)(halves ? (*got + 1) / 2 : *got);
    if (halves && *got % 2) {
        w->has_half = true;
        w->half = run[*got];
    }
    return run;
}

/* [0, 1) with 53 bits. */
static inline double asn_words_double(asn_words *w) {
    if (w->g->kind != ASN_MT19937)
        return (double)(int64_t)(asn_words_next64(w) >> 11) * 0x1p-53;
    uint32_t a = asn_words_narrow(w) >> 5, b = asn_words_narrow(w) >> 6;
    return (a * 67108864.0 + b) / 9007199254740992.0;
}

/* [0, 1) with 24 bits. */
static inline float asn_words_float(asn_words *w) {
    return (float)(int32_t)(asn_words_next32(w) >> 8) * 0x1p-24f;
}

#endif
