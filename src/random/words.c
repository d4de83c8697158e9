/* L1 random: the buffer of words (see words.h).
 *
 * The engine is ahead of what was used by the rest of the buffer. At the end it is put
 * back to the state before the block and moved on by the words used: by a jump where the
 * engine has one, else by drawing them again. */
#include <string.h>

#include "random/words.h"

/* Words of a first block where nothing is known of the need. */
enum { FIRST = 8 };

/* Half a word that waits in the engine waits in the buffer then. */
void asn_words_begin(asn_words *w, asn_bitgen *g, int64_t expected) {
    w->g = g;
    w->at = w->filled = 0;
    w->expected = expected;
    w->drawn = 0;
    w->has_half = false;
    if (g->kind == ASN_MT19937) return;
    w->has_half = g->has_uint32;
    w->half = g->uinteger;
}

/* No more than is likely to be used: what is left over costs a jump at the end. Past the
 * expectation a quarter of what was drawn so far. */
void asn_words_refill(asn_words *w) {
    w->drawn += w->filled;
    int64_t n = w->expected - w->drawn;
    if (n < w->drawn / 4) n = w->drawn / 4;
    if (n < FIRST) n = FIRST;
    if (w->g->kind == ASN_MT19937) {
        int most = n < 2 * ASN_WORDS ? (int)n : 2 * ASN_WORDS;
        w->filled = asn_mt19937_block(w->g, most, w->narrow);
        w->at = 0;
        return;
    }
    w->filled = n < ASN_WORDS ? (int)n : ASN_WORDS;
    w->at = 0;
    memcpy(w->start, &w->g->philox, sizeof w->start);
    asn_wide_block(w->g, w->filled, w->wide);
}

/* The twister only steps back: its state is whole blocks. */
void asn_words_end(asn_words *w) {
    asn_bitgen *g = w->g;
    if (g->kind == ASN_MT19937) {
        g->mt.pos -= w->filled - w->at;
        return;
    }
    if (w->at != w->filled) {
        memcpy(&g->philox, w->start, sizeof w->start);
        if (g->kind == ASN_SFC64 || g->kind == ASN_PHILOX4X64)
            asn_wide_block(g, w->at, w->wide);
        else
            asn_pcg64_advance(g, (unsigned)w->at);
    }
    g->has_uint32 = w->has_half;
    g->uinteger = w->half;
}
