/* The random streams' first values for known seeds (those of NumPy 2), and the sanity of
 * bounded draws. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "random/bitgen.h"

static void seeded_pcg64(asn_bitgen *g, uint32_t seed) {
    uint32_t pool[4], words[8];
    uint64_t wide[4];
    asn_seed_mix(&seed, 1, pool, 4);
    asn_seed_generate(pool, 4, words, 8);
    for (int i = 0; i < 4; i++)
        wide[i] = (uint64_t)words[2 * i + 1] << 32 | words[2 * i];
    asn_pcg64_seed(g, ASN_PCG64, wide);
}

int main(void) {
    asn_bitgen g;
    double d[4];
    seeded_pcg64(&g, 0);
    asn_fill_double(&g, 2, d); /* default_rng(0).random(2) */
    CHECK(d[0] == 0.6369616873214543 && d[1] == 0.2697867137638703);
    seeded_pcg64(&g, 0);
    asn_fill_normal(&g, 2, d); /* default_rng(0).standard_normal(2) */
    CHECK(d[0] == 0.1257302210933933 && d[1] == -0.1321048632913019);
    asn_mt19937_seed(&g, 0);
    asn_fill_double(&g, 2, d); /* RandomState(0).rand(2) */
    CHECK(d[0] == 0.5488135039273248 && d[1] == 0.7151893663724195);
    asn_mt19937_seed(&g, 0);
    asn_fill_gauss(&g, 2, d); /* RandomState(0).randn(2) */
    CHECK(d[0] == 1.764052345967664 && d[1] == 0.4001572083672233);
    asn_bitgen ahead;
    seeded_pcg64(&g, 7);
    ahead = g;
    for (int i = 0; i < 1000; i++)
        asn_next64(&g);
    asn_pcg64_advance(&ahead, 1000);
    CHECK(asn_next64(&g) == asn_next64(&ahead));
    for (int bytes = 1; bytes <= 8; bytes *= 2)
        for (int masked = 0; masked < 2; masked++) {
            uint64_t range = bytes == 8 ? 0x1ffffffff : 100;
            uint64_t seen = 0;
            for (int i = 0; i < 2000; i++) {
                uint64_t value = 0;
                asn_fill_bounded(&g, 1, bytes, masked, 5, range, &value);
                CHECK(value >= 5 && value <= 5 + range);
                seen = value > seen ? value : seen;
            }
            CHECK(seen > 5 + range - range / 10);
        }
    return finish();
}
