/* CPU device: 64-bit integers divided by one number (see divide_by.h).
 *
 * The general path is the processor's division, element by element; results are equal for
 * all operands, and no floating-point exceptions are raised: divisors that would raise
 * some are refused. Each kind has a loop of its own, whose kind is a constant, so that a
 * compiler drops the branches.
 */
#include "device/cpu/integers/divide_by.h"

/* floor(n / d) is (high + (n - high) / 2^first) / 2^second, high the upper half of
 * multiplier n. */
typedef struct {
    uint64_t d, multiplier;
    int first, second; /* shifts */
} reciprocal;

/* Of any d > 0. */
static reciprocal reciprocal_of(uint64_t d) {
    int bits = d > 1 ? 64 - __builtin_clzll(d - 1) : 0; /* ceil(log2(d)) */
    unsigned __int128 top = (unsigned __int128)1 << bits;
    return (reciprocal){d, (uint64_t)(((top - d) << 64) / d + 1), bits > 0,
                        bits > 0 ? bits - 1 : 0};
}

static inline uint64_t quotient(uint64_t n, const reciprocal *r) {
    uint64_t high = (uint64_t)((unsigned __int128)r->multiplier * n >> 64);
    return (high + ((n - high) >> r->first)) >> r->second;
}

/* Whether all n numbers are equal, without a branch per element; false for none. */
static bool is_one(int64_t n, const uint64_t *b) {
    uint64_t others = 0;
    for (int64_t i = 1; i < n; i++)
        others |= b[i] ^ b[0];
    return n > 0 && !others;
}

/* By any divisor but 0 and -1: magnitudes are divided, then signs put back by (x ^ s) -
 * s, which negates where s is all ones. */
__attribute__((always_inline)) static inline void
divide_signed(int kind, int64_t n, int64_t *out, const int64_t *a, int64_t divisor) {
    const uint64_t minus = (uint64_t)(divisor >> 63);
    const reciprocal r = reciprocal_of(((uint64_t)divisor ^ minus) - minus);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t sign = (uint64_t)(a[i] >> 63), unlike = sign ^ minus;
        const uint64_t magnitude = ((uint64_t)a[i] ^ sign) - sign;
        uint64_t q = quotient(magnitude, &r), rest = magnitude - q * r.d;
        if (kind == ASN_DIVIDE_REST) { /* the sign of a */
            out[i] = (int64_t)((rest ^ sign) - sign);
            continue;
        }
        /* floor(-x) is -1 - floor(x) where something is left */
        const uint64_t less = unlike & -(uint64_t)(rest != 0);
        if (kind == ASN_DIVIDE_FLOOR) {
            out[i] = (int64_t)(((q ^ unlike) - unlike) + less);
        } else { /* the sign of b */
            rest = (rest ^ sign) - sign;
            out[i] = (int64_t)(rest + (less & (uint64_t)divisor));
        }
    }
}

/* By d > 1, rounded down: a negative a is ~u of a u >= 0, and floor(~u / d) is ~floor(u /
 * d). u has 63 bits, for which a multiplier of 64 needs no correction. */
__attribute__((always_inline)) static inline void
divide_down(int kind, int64_t n, int64_t *out, const int64_t *a, int64_t d) {
    const int bits = 64 - __builtin_clzll((uint64_t)d - 1), shift = bits - 1;
    const uint64_t multiplier =
        (uint64_t)((((unsigned __int128)1 << (63 + bits)) - 1) / (uint64_t)d + 1);
    for (int64_t i = 0; i < n; i++) {
        const uint64_t sign = (uint64_t)(a[i] >> 63), u = (uint64_t)a[i] ^ sign;
        const uint64_t high = (uint64_t)((unsigned __int128)multiplier * u >> 64);
        const uint64_t q = (high >> shift) ^ sign;
        out[i] = kind == ASN_DIVIDE_FLOOR ? (int64_t)q
                                          : (int64_t)((uint64_t)a[i] - q * (uint64_t)d);
    }
}

bool asn_divide_by_i64(int kind, int64_t n, int64_t *out, const int64_t *a,
                       const int64_t *b) {
    if (!is_one(n, (const uint64_t *)b) || b[0] == 0 || b[0] == -1) return false;
    const int64_t divisor = b[0]; /* out may be b */
    if (divisor > 1 && kind == ASN_DIVIDE_FLOOR)
        divide_down(ASN_DIVIDE_FLOOR, n, out, a, divisor);
    else if (divisor > 1 && kind == ASN_DIVIDE_MODULO)
        divide_down(ASN_DIVIDE_MODULO, n, out, a, divisor);
    else if (kind == ASN_DIVIDE_FLOOR)
        divide_signed(ASN_DIVIDE_FLOOR, n, out, a, divisor);
    else if (kind == ASN_DIVIDE_MODULO)
        divide_signed(ASN_DIVIDE_MODULO, n, out, a, divisor);
    else
        divide_signed(ASN_DIVIDE_REST, n, out, a, divisor);
    return true;
}

bool asn_divide_by_u64(int kind, int64_t n, uint64_t *out, const uint64_t *a,
                       const uint64_t *b) {
    if (!is_one(n, b) || b[0] == 0) return false;
    const reciprocal r = reciprocal_of(b[0]);
    if (kind == ASN_DIVIDE_FLOOR)
        for (int64_t i = 0; i < n; i++)
            out[i] = quotient(a[i], &r);
    else
        for (int64_t i = 0; i < n; i++)
            out[i] = a[i] - quotient(a[i], &r) * r.d;
    return true;
}
