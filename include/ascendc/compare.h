/* Ascend C on the CPU: Compare, CompareScalar, Select.
 *
 * A comparison makes a bit for each element, the lowest bit of a byte first; Select takes
 * src0 where the bit is 1. Compare works on whole iterations: its elements fill a
 * multiple of 256 bytes, as the documentation asks for. */
#ifndef ASCENDC_COMPARE_H_
#define ASCENDC_COMPARE_H_

#include "ascendc/vector.h"

namespace AscendC {
/* Less, greater, equal, less or equal, greater or equal, not equal. */
enum class CMPMODE : uint8_t { LT, GT, EQ, LE, GE, NE };

/* Mode 0: each iteration takes the mask's first bits again; 1: a tensor and a scalar; 2:
 * two tensors, a bit for each element. */
enum class SELMODE : uint8_t {
    VSEL_CMPMASK_SPR = 0,
    VSEL_TENSOR_SCALAR_MODE = 1,
    VSEL_TENSOR_TENSOR_MODE = 2
};

namespace detail {
/* NaN is unequal to everything. */
template <typename T> bool Compared(CMPMODE mode, T a, T b) {
    switch (mode) {
    case CMPMODE::LT: return a < b;
    case CMPMODE::GT: return a > b;
    case CMPMODE::EQ: return a == b;
    case CMPMODE::LE: return a <= b;
    case CMPMODE::GE: return a >= b;
    default: return a != b;
    }
}

/* b(i): the second operand's element. */
template <typename T, typename U, typename B>
void CompareWith(const char *operation, const LocalTensor<U> &dst,
                 const LocalTensor<T> &src0, CMPMODE mode, uint32_t count, B b) {
    static_assert(isAny<T, half, float, int32_t>,
                  "comparisons take half, float or int32_t");
    static_assert(isAny<U, uint8_t, int8_t>,
                  "a comparison's dst holds bits: uint8_t or int8_t");
    if (std::is_same_v<T, int32_t> && mode != CMPMODE::EQ)
        Fail(operation, "elements of int32_t are compared with CMPMODE::EQ only");
    if (count * sizeof(T) % ONE_REPEAT_BYTE_SIZE != 0)
        Fail(operation, "%u elements of %u bytes; they must fill a multiple of %u bytes",
             count, static_cast<unsigned>(sizeof(T)), ONE_REPEAT_BYTE_SIZE);
    /* Eight elements make a byte; count is a multiple of 64. */
    const T *a = First(operation, "src0", src0, count);
    U *d = First(operation, "dst", dst, (count + 7) / 8);
    for (uint32_t i = 0; i < count; i += 8) {
        unsigned bits = 0;
        for (uint32_t k = 0; k < 8; k++)
            bits |= static_cast<unsigned>(Compared<T>(mode, a[i + k], b(i + k))) << k;
        d[i / 8] = static_cast<U>(bits);
    }
}

/* The bits that a Select of `count` elements of T reads, which must be there. */
template <typename T, typename U>
const unsigned char *SelectBits(const LocalTensor<U> &mask, SELMODE mode, int64_t count) {
    static_assert(isAny<T, half, float>, "Select takes half or float");
    static_assert(std::is_unsigned_v<U>, "Select's mask is of uint8_t, ... uint64_t");
    int64_t bits = mode == SELMODE::VSEL_CMPMASK_SPR
                       ? std::min<int64_t>(count, PerRepeat(sizeof(T)))
                       : count;
    const int64_t each = 8 * sizeof(U);
    return reinterpret_cast<const unsigned char *>(
        First("Select", "selMask", mask, (bits + each - 1) / each));
}

/* Bit i. */
inline bool Selected(const unsigned char *bits, int64_t i) {
    return bits[i >> 3] >> (i & 7) & 1;
}

/* Modes of two tensors, or of a tensor and a scalar. */
inline void CheckSelect(SELMODE mode, bool scalar) {
    if ((mode == SELMODE::VSEL_TENSOR_SCALAR_MODE) != scalar)
        Fail("Select", "mode %d with %s", static_cast<int>(mode),
             scalar
                 ? "a scalar; that takes VSEL_TENSOR_SCALAR_MODE"
                 : "two tensors; they take VSEL_CMPMASK_SPR or VSEL_TENSOR_TENSOR_MODE");
}
} // namespace detail

/* A bit of dst for each of `count` elements: src0 against src1. */
template <typename T, typename U>
__aicore__ inline void Compare(const LocalTensor<U> &dst, const LocalTensor<T> &src0,
                               const LocalTensor<T> &src1, CMPMODE cmpMode,
                               uint32_t count) {
    const T *b = detail::First("Compare", "src1", src1, count);
    detail::CompareWith("Compare", dst, src0, cmpMode, count,
                        [b](uint32_t i) { return b[i]; });
}

/* Likewise against a scalar. */
template <typename T, typename U>
__aicore__ inline void CompareScalar(const LocalTensor<U> &dst,
                                     const LocalTensor<T> &src0, const T src1Scalar,
                                     CMPMODE cmpMode, uint32_t count) {
    detail::CompareWith("CompareScalar", dst, src0, cmpMode, count,
                        [src1Scalar](uint32_t) { return src1Scalar; });
}

/* dst = src0 where the mask's bit is 1, else src1. */
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask,
                              const LocalTensor<T> &src0, const LocalTensor<T> &src1,
                              SELMODE selMode, uint32_t count) {
    detail::CheckSelect(selMode, false);
    const unsigned char *bits = detail::SelectBits<T>(selMask, selMode, count);
    uint32_t period =
        selMode == SELMODE::VSEL_CMPMASK_SPR ? detail::PerRepeat(sizeof(T)) : count;
    T *d = detail::First("Select", "dst", dst, count);
    const T *a = detail::First("Select", "src0", src0, count);
    const T *b = detail::First("Select", "src1", src1, count);
    for (uint32_t i = 0; i < count; i++)
        d[i] = detail::Selected(bits, i % period) ? a[i] : b[i];
}

/* Likewise with a scalar for src1. */
template <typename T, typename U>
__aicore__ inline void Select(const LocalTensor<T> &dst, const LocalTensor<U> &selMask,
                              const LocalTensor<T> &src0, T src1, SELMODE selMode,
                              uint32_t count) {
    detail::CheckSelect(selMode, true);
    const unsigned char *bits = detail::SelectBits<T>(selMask, selMode, count);
    T *d = detail::First("Select", "dst", dst, count);
    const T *a = detail::First("Select", "src0", src0, count);
    for (uint32_t i = 0; i < count; i++)
        d[i] = detail::Selected(bits, i) ? a[i] : src1;
}
} // namespace AscendC
#endif
