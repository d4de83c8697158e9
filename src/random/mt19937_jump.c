/* L1 random: the Mersenne Twister 2^128 words ahead (Haramoto, Matsumoto, Nishimura,
 * Panneton and L'Ecuyer, "Efficient jump ahead for F2-linear random number generators",
 * INFORMS J. Computing 20, 2008).
 *
 * One step of the twister is a linear map B over GF(2) whose minimal polynomial P has
 * degree 19937. B^(2^128) = g(B) with g = x^(2^128) mod P, and g(B) applied to a state is
 * Horner's rule with steps and additions of states. P is found once per process from
 * 2 * 19937 bits of output by the algorithm of Berlekamp and Massey, g by 128 squarings.
 *
 * Polynomials are arrays of bits, coefficient i in bit i % 64 of word i / 64. The state
 * is read as a ring that begins at `pos`, as numpy.random reads it.
 */
#include <pthread.h>
#include <string.h>

#include "base/alloc.h"
#include "random/engines.h"

enum {
    DEGREE = 19937,
    WORDS = DEGREE / 64 + 1,
    N = 624,
    M = 397,
    SQUARINGS = 128,
};

static uint64_t jump_polynomial[WORDS];
static asn_status jump_status;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static inline bool bit(const uint64_t *p, int i) {
    return p[i / 64] >> (i % 64) & 1;
}

/* p ^= q << shift, both of `words` words; what falls off the end is lost. */
static void add_shifted(uint64_t *p, const uint64_t *q, int shift, int words) {
    int skip = shift / 64, left = shift % 64;
    for (int i = words - 1; i >= skip; i--) {
        uint64_t low = left && i > skip ? q[i - skip - 1] >> (64 - left) : 0;
        p[i] ^= q[i - skip] << left | low;
    }
}

/* Whether p and q have an odd number of bits in common: their product over GF(2). */
static bool odd(const uint64_t *p, const uint64_t *q) {
    uint64_t all = 0;
    for (int i = 0; i < WORDS; i++)
        all ^= p[i] & q[i];
    return __builtin_parityll(all);
}

/* One step of the ring, without tempering. */
static void step(asn_bitgen *g) {
    uint32_t *key = g->mt.key;
    int k = g->mt.pos;
    uint32_t y = (key[k] & 0x80000000u) | (key[(k + 1) % N] & 0x7fffffffu);
    key[k] = key[(k + M) % N] ^ y >> 1 ^ (-(y & 1) & 0x9908b0dfu);
    g->mt.pos = (k + 1) % N;
}

/* Berlekamp and Massey: `c`, the shortest recurrence sum c[j] s[n - j] = 0 of the
 * sequence of the words' low bits. scratch: 3 * WORDS words. */
static int shortest_recurrence(asn_bitgen *g, uint64_t *c, uint64_t *scratch) {
    uint64_t *b = scratch, *kept = b + WORDS, *recent = kept + WORDS;
    /* b: the recurrence before the last change of length; gap: steps since then. */
    int length = 0, gap = 1;
    memset(c, 0, WORDS * sizeof *c);
    memset(scratch, 0, 3 * WORDS * sizeof *scratch);
    c[0] = b[0] = 1;
    for (int n = 0; n < 2 * DEGREE; n++, gap++) {
        int at = g->mt.pos;
        step(g);
        for (int i = WORDS - 1; i > 0; i--)
            recent[i] = recent[i] << 1 | recent[i - 1] >> 63;
        recent[0] = recent[0] << 1 | (g->mt.key[at] & 1);
        if (!odd(c, recent)) continue;
        if (2 * length > n) {
            add_shifted(c, b, gap, WORDS);
            continue;
        }
        memcpy(kept, c, WORDS * sizeof *c);
        add_shifted(c, b, gap, WORDS);
        memcpy(b, kept, WORDS * sizeof *b);
        length = n + 1 - length;
        gap = 0;
    }
    return length;
}

/* g = g^2 mod P. shifts: P << 0 ... P << 63, of WORDS + 1 words each; square: scratch of
 * 2 * WORDS words. */
static void square(uint64_t *g, const uint64_t *shifts, uint64_t *square) {
    memset(square, 0, 2 * WORDS * sizeof *square);
    for (int i = 0; i < DEGREE; i++)
        if (bit(g, i)) square[2 * i / 64] |= 1ull << (2 * i % 64);
    for (int i = 2 * (DEGREE - 1); i >= DEGREE; i--) {
        if (!bit(square, i)) continue;
        int by = i - DEGREE, words = by / 64;
        const uint64_t *p = shifts + (size_t)(by % 64) * (WORDS + 1);
        for (int k = 0; k <= WORDS && words + k < 2 * WORDS; k++)
            square[words + k] ^= p[k];
    }
    memcpy(g, square, WORDS * sizeof *g);
}

/* P of any seed's output: the minimal polynomial does not depend on it. */
static void make_polynomial(void) {
    const size_t table = 64 * (WORDS + 1);
    uint64_t *space = asn_calloc(table + 4 * WORDS, sizeof *space);
    if (!space) {
        jump_status = ASN_ERR_MEMORY;
        return;
    }
    uint64_t *shifts = space, *c = space + table, *scratch = c + WORDS;
    asn_bitgen g;
    asn_mt19937_seed(&g, 1);
    g.mt.pos = 0;
    int length = shortest_recurrence(&g, c, scratch);
    for (int j = 0; j <= length; j++) /* P(x) = x^length c(1 / x) */
        if (bit(c, j)) shifts[(length - j) / 64] |= 1ull << ((length - j) % 64);
    for (int s = 1; s < 64; s++)
        add_shifted(shifts + (size_t)s * (WORDS + 1), shifts, s, WORDS + 1);
    jump_polynomial[0] = 2; /* x */
    for (int i = 0; i < SQUARINGS; i++)
        square(jump_polynomial, shifts, scratch);
    asn_free(space);
}

asn_status asn_mt19937_jump(asn_bitgen *g) {
    pthread_once(&once, make_polynomial);
    ASN_TRY(jump_status);
    if (g->mt.pos >= N) g->mt.pos = 0;
    const asn_bitgen from = *g;
    int top = DEGREE - 1;
    while (top > 0 && !bit(jump_polynomial, top))
        top--;
    for (int i = top - 1; i >= 0; i--) {
        step(g);
        if (!bit(jump_polynomial, i)) continue;
        int a = g->mt.pos, b = from.mt.pos, run;
        for (int done = 0; done < N;
             done += run) { /* up to the next end of either ring */
            run = N - (a > b ? a : b);
            if (run > N - done) run = N - done;
            for (int k = 0; k < run; k++)
                g->mt.key[a + k] ^= from.mt.key[b + k];
            a = (a + run) % N;
            b = (b + run) % N;
        }
    }
    return ASN_OK;
}
