/* Ascend C on the CPU: arithmetic, elementary functions, bits and shifts.
 *
 * Element types are those that the documentation names for Ascend 910B. Elementary
 * functions are the C library's in float; integers wrap around; Max, Min and Relu pass a
 * NaN on. A shift by the type's width or more leaves 0, or -1 of a negative number. */
#ifndef ASCENDC_ARITHMETIC_H_
#define ASCENDC_ARITHMETIC_H_

#include <cmath>

#include "ascendc/vector.h"

namespace AscendC {
namespace detail {
/* Which types an operation takes. */
template <typename T> constexpr bool floating = isAny<T, half, float>;
template <typename T> constexpr bool number = isAny<T, half, float, int16_t, int32_t>;
template <typename T> constexpr bool bits16 = isAny<T, int16_t, uint16_t>;
template <typename T> constexpr bool reluable = isAny<T, half, float, int32_t>;
template <typename T>
constexpr bool shiftable = isAny<T, int16_t, uint16_t, int32_t, uint32_t>;

/* What T is computed in: float, or unsigned, which wraps around. */
template <typename T>
using Wide = std::conditional_t<std::is_integral_v<T>, uint32_t, float>;
template <typename T> Wide<T> Widen(T x) {
    return static_cast<Wide<T>>(x);
}

/* Whether a shift is by the width or more, or by less than 0. */
template <typename T> bool Outside(T shift) {
    return shift < 0 || static_cast<uint32_t>(shift) >= 8 * sizeof(T);
}

/* A description: its name, its types, its function of a and b, or of x. */
#define ASCENDC_OP2(NAME, TYPES, VALUE)                                                  \
    struct NAME##Of {                                                                    \
        static constexpr const char *name = #NAME;                                       \
        template <typename T> static constexpr bool takes = TYPES<T>;                    \
        template <typename T> static T of(T a, T b) { return static_cast<T>(VALUE); }    \
    }
#define ASCENDC_OP1(NAME, TYPES, VALUE)                                                  \
    struct NAME##Of {                                                                    \
        static constexpr const char *name = #NAME;                                       \
        template <typename T> static constexpr bool takes = TYPES<T>;                    \
        template <typename T> static T of(T x) { return static_cast<T>(VALUE); }         \
    }
/* Of two tensors. */
ASCENDC_OP2(Add, number, Widen(a) + Widen(b));
ASCENDC_OP2(Sub, number, Widen(a) - Widen(b));
ASCENDC_OP2(Mul, number, Widen(a) * Widen(b));
/* Division by 0 gives infinity or NaN. */
ASCENDC_OP2(Div, floating, Widen(a) / Widen(b));
ASCENDC_OP2(Max, number, a >= b || a != a ? a : b);
ASCENDC_OP2(Min, number, a <= b || a != a ? a : b);
/* Bits. */
ASCENDC_OP2(And, bits16, a &b);
ASCENDC_OP2(Or, bits16, a | b);
/* Of a tensor and a scalar b. */
ASCENDC_OP2(Adds, number, Widen(a) + Widen(b));
ASCENDC_OP2(Muls, number, Widen(a) * Widen(b));
ASCENDC_OP2(Maxs, number, a >= b || a != a ? a : b);
ASCENDC_OP2(Mins, number, a <= b || a != a ? a : b);
/* b is the slope below 0. */
ASCENDC_OP2(LeakyRelu, floating, a < 0 ? Widen(a) * Widen(b) : Widen(a));
/* Shifts by b; to the right a negative number is filled with ones. */
ASCENDC_OP2(ShiftLeft, shiftable, Outside<T>(b) ? 0 : Widen(a) << b);
ASCENDC_OP2(ShiftRight, shiftable,
            a >> (Outside<T>(b) ? int(8 * sizeof(T) - 1) : int(b)));
/* Of one tensor. */
ASCENDC_OP1(Not, bits16, ~x);
ASCENDC_OP1(Abs, floating, std::fabs(Widen(x)));
ASCENDC_OP1(Exp, floating, std::exp(Widen(x)));
ASCENDC_OP1(Ln, floating, std::log(Widen(x)));
ASCENDC_OP1(Sqrt, floating, std::sqrt(Widen(x)));
ASCENDC_OP1(Rsqrt, floating, 1 / std::sqrt(Widen(x)));
ASCENDC_OP1(Reciprocal, floating, 1 / Widen(x));
ASCENDC_OP1(Relu, reluable, x < 0 ? 0 : Widen(x));
#undef ASCENDC_OP1
#undef ASCENDC_OP2
} // namespace detail

/* The functions themselves. Each has three forms (binary.inc): dst, the sources, a scalar
 * where it has one; then a count, or a mask, the number of iterations and their strides.
 */
#define NAME Add
#include "ascendc/binary.inc"
#define NAME Sub
#include "ascendc/binary.inc"
#define NAME Mul
#include "ascendc/binary.inc"
#define NAME Div
#include "ascendc/binary.inc"
#define NAME Max
#include "ascendc/binary.inc"
#define NAME Min
#include "ascendc/binary.inc"
#define NAME And
#include "ascendc/binary.inc"
#define NAME Or
#include "ascendc/binary.inc"
/* dst = src and a scalar. */
#define NAME Adds
#include "ascendc/scalar.inc"
#define NAME Muls
#include "ascendc/scalar.inc"
#define NAME Maxs
#include "ascendc/scalar.inc"
#define NAME Mins
#include "ascendc/scalar.inc"
#define NAME LeakyRelu
#include "ascendc/scalar.inc"
#define NAME ShiftLeft
#include "ascendc/scalar.inc"
#define NAME ShiftRight
#include "ascendc/scalar.inc"
/* dst of src. */
#define NAME Not
#include "ascendc/unary.inc"
#define NAME Abs
#include "ascendc/unary.inc"
#define NAME Exp
#include "ascendc/unary.inc"
#define NAME Ln
#include "ascendc/unary.inc"
#define NAME Sqrt
#include "ascendc/unary.inc"
#define NAME Rsqrt
#include "ascendc/unary.inc"
#define NAME Reciprocal
#include "ascendc/unary.inc"
#define NAME Relu
#include "ascendc/unary.inc"

namespace detail {
/* dst + scalar * src, in float, rounded once; dst may be float where src is half. */
template <typename D, typename S, typename... How>
void AxpyOf(const LocalTensor<D> &dst, const LocalTensor<S> &src, S scalar,
            const How &...how) {
    static_assert(floating<S> && isAny<D, S, float>,
                  "Axpy takes half or float, and a dst of the same type or float");
    Map1("Axpy", dst, src, how..., [scalar](S x, D y) {
        return static_cast<D>(Widen(x) * Widen(scalar) + Widen(y));
    });
}

/* a + b as a value, for dst = a + b: over the whole of dst. */
template <typename Op, typename T> struct TensorsOf {
    using OfTensors = void; /* what LocalTensor's operator= looks for */
    LocalTensor<T> a, b;
    void into(const LocalTensor<T> &dst) const {
        Binary<Op>(dst, a, b, int64_t(dst.GetSize()));
    }
};
} // namespace detail

/* dst += scalar * src: of the first elements, or in iterations. */
template <typename D, typename S>
__aicore__ inline void Axpy(const LocalTensor<D> &dst, const LocalTensor<S> &src,
                            const S &scalarValue, const int32_t &count) {
    detail::AxpyOf(dst, src, scalarValue, count);
}
template <typename D, typename S, bool isSetMask = true>
__aicore__ inline void Axpy(const LocalTensor<D> &dst, const LocalTensor<S> &src,
                            const S &scalarValue, uint64_t mask, int32_t repeatTime,
                            const UnaryRepeatParams &repeatParams) {
    detail::AxpyOf(dst, src, scalarValue, detail::MaskOf<isSetMask>(mask), repeatTime,
                   repeatParams);
}
template <typename D, typename S, bool isSetMask = true>
__aicore__ inline void Axpy(const LocalTensor<D> &dst, const LocalTensor<S> &src,
                            const S &scalarValue, uint64_t mask[], int32_t repeatTime,
                            const UnaryRepeatParams &repeatParams) {
    detail::AxpyOf(dst, src, scalarValue, detail::MaskOf<isSetMask>(mask), repeatTime,
                   repeatParams);
}

/* dst = a + b: over as many elements as dst has. */
template <typename T>
detail::TensorsOf<detail::AddOf, T> operator+(const LocalTensor<T> &a,
                                              const LocalTensor<T> &b) {
    return {a, b};
}
/* Likewise the difference, ... */
template <typename T>
detail::TensorsOf<detail::SubOf, T> operator-(const LocalTensor<T> &a,
                                              const LocalTensor<T> &b) {
    return {a, b};
}
/* the product, ... */
template <typename T>
detail::TensorsOf<detail::MulOf, T> operator*(const LocalTensor<T> &a,
                                              const LocalTensor<T> &b) {
    return {a, b};
}
/* the quotient, ... */
template <typename T>
detail::TensorsOf<detail::DivOf, T> operator/(const LocalTensor<T> &a,
                                              const LocalTensor<T> &b) {
    return {a, b};
}
/* the common bits, ... */
template <typename T>
detail::TensorsOf<detail::AndOf, T> operator&(const LocalTensor<T> &a,
                                              const LocalTensor<T> &b) {
    return {a, b};
}
/* the bits of either. */
template <typename T>
detail::TensorsOf<detail::OrOf, T> operator|(const LocalTensor<T> &a,
                                             const LocalTensor<T> &b) {
    return {a, b};
}
} // namespace AscendC
#endif
