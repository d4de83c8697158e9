/* L1 random: PCG64 (PCG XSL RR 128/64, M. E. O'Neill): a 128-bit linear congruential
 * generator whose state is folded and rotated into 64 bits after each step.
 */
#include "random/engines.h"

#define MULTIPLIER                                                                       \
    ((unsigned __int128)0x2360ed051fc65da4 << 64 | (unsigned __int128)0x4385df649fccf645)

uint64_t asn_pcg64_next(asn_bitgen *g) {
    g->pcg.state = g->pcg.state * MULTIPLIER + g->pcg.inc;
    uint64_t high = (uint64_t)(g->pcg.state >> 64), low = (uint64_t)g->pcg.state;
    unsigned turn = (unsigned)(high >> 58);
    uint64_t x = high ^ low;
    return x >> turn | x << (-turn & 63);
}

uint32_t asn_pcg64_next32(asn_bitgen *g) {
    if (g->pcg.has_uint32) {
        g->pcg.has_uint32 = false;
        return g->pcg.uinteger;
    }
    uint64_t next = asn_pcg64_next(g);
    g->pcg.has_uint32 = true;
    g->pcg.uinteger = (uint32_t)(next >> 32);
    return (uint32_t)next;
}

void asn_pcg64_seed(asn_bitgen *g, const uint64_t words[4]) {
    g->kind = ASN_PCG64;
    unsigned __int128 start = (unsigned __int128)words[0] << 64 | words[1];
    unsigned __int128 sequence = (unsigned __int128)words[2] << 64 | words[3];
    g->pcg.inc = sequence << 1 | 1;
    /* one step from 0, add the seed, one more step */
    g->pcg.state = (g->pcg.inc + start) * MULTIPLIER + g->pcg.inc;
    g->pcg.has_uint32 = false;
    g->pcg.uinteger = 0;
    g->has_gauss = false;
    g->gauss = 0;
}

/* Brown's method: the delta-fold step is a step with multiplier m^delta, by repeated
 * squaring. */
void asn_pcg64_advance(asn_bitgen *g, unsigned __int128 delta) {
    unsigned __int128 mult = MULTIPLIER, plus = g->pcg.inc, all_mult = 1, all_plus = 0;
    for (; delta; delta >>= 1) {
        if (delta & 1) {
            all_mult *= mult;
            all_plus = all_plus * mult + plus;
        }
        plus *= mult + 1;
        mult *= mult;
    }
    g->pcg.state = g->pcg.state * all_mult + all_plus;
    g->pcg.has_uint32 = false;
    g->pcg.uinteger = 0;
}
