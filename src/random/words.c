/* L1 random: the buffer of words (see words.h). */
#include "random/words.h"

enum { FIRST = 8 };

void asn_words_begin(asn_words *w, asn_bitgen *g, int64_t expected) {
    w->g = g;
    w->at = w->filled = 0;
    w->expected = expected;
    w->has_half = false;
    if (g->kind == ASN_MT19937) return;
    w->start = g->pcg.state;
    w->has_half = g->pcg.has_uint32;
    w->half = g->pcg.uinteger;
}

/* No more than is likely to be used: what is left over costs a jump at the end. */
void asn_words_refill(asn_words *w) {
    if (w->g->kind == ASN_MT19937) {
        w->filled = asn_mt19937_block(w->g, w->narrow);
        w->at = 0;
        return;
    }
    w->expected -= w->filled;
    int64_t n = w->expected < FIRST ? FIRST : w->expected;
    w->filled = n < ASN_WORDS ? (int)n : ASN_WORDS;
    w->at = 0;
    w->start = w->g->pcg.state;
    asn_pcg64_block(w->g, w->filled, w->wide);
}

void asn_words_end(asn_words *w) {
    asn_bitgen *g = w->g;
    if (g->kind == ASN_MT19937) {
        g->mt.pos -= w->filled - w->at;
        return;
    }
    if (w->at != w->filled) {
        g->pcg.state = w->start;
        asn_pcg64_advance(g, (unsigned)w->at);
    }
    g->pcg.has_uint32 = w->has_half;
    g->pcg.uinteger = w->half;
}
