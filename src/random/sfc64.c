/* L1 random: SFC64 (Small Fast Chaotic, C. Doty-Humphrey, PractRand): three words stirred
 * with a counter that guarantees a long period.
 *
 * The fourth word of the state is the counter, which begins at 1. */
#include "random/engines.h"

enum { STIR = 12 }; /* words thrown away after seeding */

/* Rotations and shifts by 24, 11 and 3. */
uint64_t asn_sfc64_next(asn_bitgen *g) {
    uint64_t *s = g->sfc.s, word = s[0] + s[1] + s[3]++;
    s[0] = s[1] ^ s[1] >> 11;
    s[1] = s[2] + (s[2] << 3);
    s[2] = (s[2] << 24 | s[2] >> 40) + word;
    return word;
}

void asn_sfc64_block(asn_bitgen *g, int64_t n, uint64_t *out) {
    asn_bitgen local = {.sfc = g->sfc}; /* in registers */
    for (int64_t i = 0; i < n; i++)
        out[i] = asn_sfc64_next(&local);
    g->sfc = local.sfc;
}

void asn_sfc64_seed(asn_bitgen *g, const uint64_t words[3]) {
    g->kind = ASN_SFC64;
    for (int i = 0; i < 3; i++)
        g->sfc.s[i] = words[i];
    g->sfc.s[3] = 1;
    for (int i = 0; i < STIR; i++)
        (void)asn_sfc64_next(g);
    g->has_uint32 = g->has_gauss = false;
    g->uinteger = 0;
    g->gauss = 0;
}
