/* L1 random: SeedSequence's mixing (M. E. O'Neill, "Developing a seed_seq alternative",
 * 2015, as NumPy documents it): every word of entropy affects every word of the pool, and
 * words drawn from the pool are hashed once more.
 */
#include "random/bitgen.h"

/* The published constants. */
static const uint32_t INIT_A = 0x43b0d7e5, MULT_A = 0x931e8875, INIT_B = 0x8b51f9dd,
                      MULT_B = 0x58f38ded, MIX_L = 0xca01f9dd, MIX_R = 0x4973f715;

/* Each call has a constant of its own, which *constant becomes. */
static uint32_t hash(uint32_t value, uint32_t *constant) {
    value ^= *constant;
    *constant *= MULT_A;
    value *= *constant;
    return value ^ value >> 16;
}

/* Two hashed words to one. */
static uint32_t mix(uint32_t x, uint32_t y) {
    uint32_t result = MIX_L * x - MIX_R * y;
    return result ^ result >> 16;
}

/* Entropy beyond the pool's size is mixed into every word of it. */
void asn_seed_mix(const uint32_t *entropy, size_t n, uint32_t *pool, size_t pool_size) {
    uint32_t constant = INIT_A;
    for (size_t i = 0; i < pool_size; i++)
        pool[i] = hash(i < n ? entropy[i] : 0, &constant);
    for (size_t from = 0; from < pool_size; from++)
        for (size_t to = 0; to < pool_size; to++)
            if (from != to) pool[to] = mix(pool[to], hash(pool[from], &constant));
    for (size_t from = pool_size; from < n; from++)
        for (size_t to = 0; to < pool_size; to++)
            pool[to] = mix(pool[to], hash(entropy[from], &constant));
}

void asn_seed_generate(const uint32_t *pool, size_t pool_size, uint32_t *words,
                       size_t n) {
    uint32_t constant = INIT_B;
    for (size_t i = 0; i < n; i++) {
        uint32_t value = pool[i % pool_size] ^ constant;
        constant *= MULT_B;
        value *= constant;
        words[i] = value ^ value >> 16;
    }
}
