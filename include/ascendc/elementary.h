/* Ascend C on the CPU: elementary functions and activations of the high-level interface.
 *
 * Of half and float, the C library's functions in float, rounded once; an NPU computes
 * polynomials whose last bits differ. A count of 0 changes nothing. */
#ifndef ASCENDC_ELEMENTARY_H_
#define ASCENDC_ELEMENTARY_H_

#include "ascendc/arithmetic.h"

namespace AscendC {
namespace detail {
/* 1 / (1 + exp(-x)), without a large exponential. */
inline float Logistic(float x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

/* dst = Op of the first `count` elements; temporary: NULL, or memory that may be used. */
template <typename Op, typename T, typename F>
void OfCount(const LocalTensor<T> &dst, const LocalTensor<T> &src,
             const LocalTensor<uint8_t> *temporary, uint32_t count, F f) {
    static_assert(floating<T>, "the function takes half and float");
    if (temporary != nullptr) Aligned(Op::name, "sharedTmpBuffer", *temporary);
    if (count == 0) return;
    Map1(Op::name, dst, src, static_cast<int64_t>(count),
         [f](T x, T) { return static_cast<T>(f(static_cast<float>(x))); });
}
template <typename Op, typename T>
void Elementary(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                const LocalTensor<uint8_t> *temporary, uint32_t count) {
    OfCount<Op>(dst, src, temporary, count, Op::of);
}

/* A description: its name, its function of x. */
#define ASCENDC_FUNCTION(NAME, VALUE)                                                    \
    struct NAME##Of {                                                                    \
        static constexpr const char *name = #NAME;                                       \
        static float of(float x) { return VALUE; }                                       \
    }
/* Trigonometric and hyperbolic functions, and their inverses. */
ASCENDC_FUNCTION(Sin, std::sin(x));
ASCENDC_FUNCTION(Cos, std::cos(x));
ASCENDC_FUNCTION(Tan, std::tan(x));
ASCENDC_FUNCTION(Asin, std::asin(x));
ASCENDC_FUNCTION(Acos, std::acos(x));
ASCENDC_FUNCTION(Atan, std::atan(x));
ASCENDC_FUNCTION(Sinh, std::sinh(x));
ASCENDC_FUNCTION(Cosh, std::cosh(x));
ASCENDC_FUNCTION(Tanh, std::tanh(x));
ASCENDC_FUNCTION(Asinh, std::asinh(x));
ASCENDC_FUNCTION(Acosh, std::acosh(x));
ASCENDC_FUNCTION(Atanh, std::atanh(x));
/* Logarithms, the error function and its complement. */
ASCENDC_FUNCTION(Log, std::log(x));
ASCENDC_FUNCTION(Log2, std::log2(x));
ASCENDC_FUNCTION(Log10, std::log10(x));
ASCENDC_FUNCTION(Erf, std::erf(x));
ASCENDC_FUNCTION(Erfc, std::erfc(x));
/* Whole numbers beside x, what is left of it, its sign. */
ASCENDC_FUNCTION(Floor, std::floor(x));
ASCENDC_FUNCTION(Ceil, std::ceil(x));
ASCENDC_FUNCTION(Trunc, std::trunc(x));
ASCENDC_FUNCTION(Frac, x - std::trunc(x));
ASCENDC_FUNCTION(Sign, x != x ? x : static_cast<float>((x > 0) - (x < 0)));
/* Activations. */
ASCENDC_FUNCTION(Sigmoid, Logistic(x));
ASCENDC_FUNCTION(Silu, x *Logistic(x));
#undef ASCENDC_FUNCTION

/* What the two-argument functions are called in messages. */
struct PowerOf {
    static constexpr const char *name = "Power";
};
struct SwishOf {
    static constexpr const char *name = "Swish";
};
} // namespace detail

#define NAME Sin
#include "ascendc/elementary.inc"
#define NAME Cos
#include "ascendc/elementary.inc"
#define NAME Tan
#include "ascendc/elementary.inc"
#define NAME Asin
#include "ascendc/elementary.inc"
#define NAME Acos
#include "ascendc/elementary.inc"
#define NAME Atan
#include "ascendc/elementary.inc"
#define NAME Sinh
#include "ascendc/elementary.inc"
#define NAME Cosh
#include "ascendc/elementary.inc"
#define NAME Tanh
#include "ascendc/elementary.inc"
#define NAME Asinh
#include "ascendc/elementary.inc"
#define NAME Acosh
#include "ascendc/elementary.inc"
#define NAME Atanh
#include "ascendc/elementary.inc"
/* Logarithms and errors. */
#define NAME Log
#include "ascendc/elementary.inc"
#define NAME Log2
#include "ascendc/elementary.inc"
#define NAME Log10
#include "ascendc/elementary.inc"
#define NAME Erf
#include "ascendc/elementary.inc"
#define NAME Erfc
#include "ascendc/elementary.inc"
/* Whole numbers and signs. */
#define NAME Floor
#include "ascendc/elementary.inc"
#define NAME Ceil
#include "ascendc/elementary.inc"
#define NAME Trunc
#include "ascendc/elementary.inc"
#define NAME Frac
#include "ascendc/elementary.inc"
#define NAME Sign
#include "ascendc/elementary.inc"
/* The one activation with these four ways. */
#define NAME Sigmoid
#include "ascendc/elementary.inc"

/* dst = src * sigmoid(src) of the first dataSize elements. */
template <typename T, bool isReuseSource = false>
__aicore__ inline void Silu(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                            uint32_t dataSize) {
    detail::Elementary<detail::SiluOf>(dst, src, nullptr, dataSize);
}
/* dst = src * sigmoid(scalarValue * src). */
template <typename T, bool isReuseSource = false>
__aicore__ inline void Swish(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                             uint32_t dataSize, const T scalarValue) {
    const float b = static_cast<float>(scalarValue);
    detail::OfCount<detail::SwishOf>(dst, src, nullptr, dataSize, [b](float x) {
        return x * detail::Logistic(b * x);
    });
}

/* dst = src0 ^ src1: of two tensors, ... */
template <typename T, bool isReuseSource = false>
__aicore__ inline void Power(const LocalTensor<T> &dst, const LocalTensor<T> &src0,
                             const LocalTensor<T> &src1, const uint32_t calCount) {
    static_assert(detail::floating<T>, "Power takes half and float");
    if (calCount == 0) return;
    detail::Map2("Power", dst, src0, src1, static_cast<int64_t>(calCount), [](T a, T b) {
        return static_cast<T>(std::pow(static_cast<float>(a), static_cast<float>(b)));
    });
}
/* a tensor and a number, ... */
template <typename T, bool isReuseSource = false>
__aicore__ inline void Power(const LocalTensor<T> &dst, const LocalTensor<T> &src0,
                             const T &src1, const uint32_t calCount) {
    const float b = static_cast<float>(src1);
    detail::OfCount<detail::PowerOf>(dst, src0, nullptr, calCount,
                                     [b](float x) { return std::pow(x, b); });
}
/* a number and a tensor. */
template <typename T, bool isReuseSource = false>
__aicore__ inline void Power(const LocalTensor<T> &dst, const T &src0,
                             const LocalTensor<T> &src1, const uint32_t calCount) {
    const float a = static_cast<float>(src0);
    detail::OfCount<detail::PowerOf>(dst, src1, nullptr, calCount,
                                     [a](float x) { return std::pow(a, x); });
}
} // namespace AscendC
#endif
