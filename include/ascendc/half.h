/* Ascend C on the CPU: the 16-bit floating-point types.
 *
 * half is IEEE 754's binary16, bfloat16_t the upper half of a float. Arithmetic is
 * float's: an expression of them is a float, and becomes a half, rounded to nearest even,
 * where it is stored. One operation in float and one rounding give the correctly rounded
 * result of + - * / and sqrt. NaN stays NaN and overflow gives infinity (the processor's
 * INF_NAN mode). */
#ifndef ASCENDC_HALF_H_
#define ASCENDC_HALF_H_

#include <cstdint>
#include <cstring>
#include <type_traits>

namespace AscendC {
namespace detail {
/* A float's bits, and the float of bits. */
inline uint32_t BitsOf(float x) {
    uint32_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits;
}

inline float FloatOf(uint32_t bits) {
    float x;
    std::memcpy(&x, &bits, sizeof x);
    return x;
}

/* binary16 -> float, exactly. A subnormal is its fraction times 2^-24. */
inline float HalfToFloat(uint16_t h) {
    uint32_t sign = (h & 0x8000u) << 16, exponent = h >> 10 & 31, fraction = h & 1023u;
    if (exponent == 31) return FloatOf(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return FloatOf(sign | (exponent + 112) << 23 | fraction << 13);
    float x = static_cast<float>(fraction) * 0x1p-24f;
    return sign ? -x : x;
}

/* To nearest even. Below 2^-14 the last place is 2^-24: adding 0.5 puts it at the end of
 * a float's fraction, where the addition itself rounds. */
inline uint16_t HalfFromFloat(float x) {
    uint32_t bits = BitsOf(x), sign = bits >> 16 & 0x8000u, size = bits & 0x7fffffffu;
    if (size > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
    if (size >= 0x47800000u) return static_cast<uint16_t>(sign | 0x7c00u);
    if (size < 0x38800000u)
        return static_cast<uint16_t>(sign | (BitsOf(FloatOf(size) + 0.5f) - 0x3f000000u));
    uint32_t odd = size >> 13 & 1;
    return static_cast<uint16_t>(sign | ((size - 0x38000000u + 0xfffu + odd) >> 13));
}

/* To nearest even; a NaN stays one. */
inline uint16_t BfloatFromFloat(float x) {
    uint32_t bits = BitsOf(x);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 64);
    return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* What both types are; Format converts. */
template <typename Format> struct Short {
    uint16_t bits;

    /* Not set, as a float would be. Numbers convert both ways by themselves. */
    Short() = default;
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>>
    Short(T x) : bits(Format::from(static_cast<float>(x))) {}
    operator float() const { return Format::to(bits); }
    /* Each rounds once. */
    Short &operator+=(float x) { return *this = static_cast<float>(*this) + x; }
    Short &operator-=(float x) { return *this = static_cast<float>(*this) - x; }
    Short &operator*=(float x) { return *this = static_cast<float>(*this) * x; }
    Short &operator/=(float x) { return *this = static_cast<float>(*this) / x; }
};

struct Binary16 {
    static uint16_t from(float x) { return HalfFromFloat(x); }
    static float to(uint16_t bits) { return HalfToFloat(bits); }
};
struct Bfloat16 {
    static uint16_t from(float x) { return BfloatFromFloat(x); }
    static float to(uint16_t bits) { return FloatOf(static_cast<uint32_t>(bits) << 16); }
};
} // namespace detail
} // namespace AscendC

using half = AscendC::detail::Short<AscendC::detail::Binary16>;
using bfloat16_t = AscendC::detail::Short<AscendC::detail::Bfloat16>;
#endif
