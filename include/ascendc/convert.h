/* Ascend C on the CPU: Cast, and what fills, spreads or moves elements in the unified
 * buffer: Duplicate, Brcb, Broadcast, Transpose.
 *
 * Cast knows the pairs of types below. What does not fit an integer type becomes its
 * nearest number, NaN 0. Between two floating-point types the rounding is exact for every
 * mode: the two neighbours of the number are found and one of them is taken. */
#ifndef ASCENDC_CONVERT_H_
#define ASCENDC_CONVERT_H_

#include <cmath>
#include <limits>

#include "ascendc/vector.h"

namespace AscendC {
/* NONE: as RINT. RINT: to nearest, ties to even. ROUND: ties away from 0. ODD: to the
 * neighbour whose last bit is 1, from float to half. */
enum class RoundMode : uint8_t {
    CAST_NONE,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD
};

/* How the blocks that Brcb fills lie. */
struct BrcbRepeatParams {
    uint16_t dstBlkStride = 1, dstRepStride = 8; /* in blocks of 32 bytes */
    BrcbRepeatParams() = default;
    BrcbRepeatParams(uint16_t dstBlk, uint16_t dstRep)
        : dstBlkStride(dstBlk), dstRepStride(dstRep) {}
};

namespace detail {
/* Which pairs Cast knows: those whose rounding a float decides in one step. An integer of
 * 32 bits fits a double, which becomes a float; 16-bit types come from a float. */
template <typename D, typename S>
constexpr bool castable =
    (isAny<S, float> && isAny<D, half, bfloat16_t, int32_t, int16_t, float>) ||
    (isAny<S, half> && isAny<D, float, int32_t, int16_t, int8_t, uint8_t>) ||
    (isAny<S, bfloat16_t> && isAny<D, float, int32_t>) ||
    (isAny<S, int32_t> && isAny<D, float>) ||
    (isAny<S, int16_t> && isAny<D, half, float>) ||
    (isAny<S, int8_t, uint8_t> && isAny<D, half>);

/* ODD does not come here; NONE is RINT. */
inline double RoundToInteger(double x, RoundMode mode) {
    switch (mode) {
    case RoundMode::CAST_FLOOR: return std::floor(x);
    case RoundMode::CAST_CEIL: return std::ceil(x);
    case RoundMode::CAST_ROUND: return std::round(x);
    case RoundMode::CAST_TRUNC: return std::trunc(x);
    default: return std::nearbyint(x);
    }
}

/* The neighbour of a 16-bit or 32-bit floating-point number, up or down. */
template <typename D> D Neighbour(D x, bool up) {
    std::conditional_t<sizeof(D) == 2, uint16_t, uint32_t> bits;
    std::memcpy(&bits, &x, sizeof bits);
    const unsigned top = 8 * sizeof bits - 1;
    bool negative = bits >> top & 1;
    if (!(bits << 1 & ((uint64_t(2) << top) - 1))) /* a zero: the smallest number */
        bits = static_cast<decltype(bits)>(1 | (up ? 0 : uint32_t(1) << top));
    else
        bits = static_cast<decltype(bits)>(up != negative ? bits + 1 : bits - 1);
    std::memcpy(&x, &bits, sizeof bits);
    return x;
}

/* The last bit of its fraction. */
template <typename D> bool IsOdd(D x) {
    std::conditional_t<sizeof(D) == 2, uint16_t, uint32_t> bits;
    std::memcpy(&bits, &x, sizeof bits);
    return bits & 1;
}

/* x, which a double holds exactly, as a narrower floating-point number. */
template <typename D> D RoundToFloat(double x, RoundMode mode) {
    D near = static_cast<D>(static_cast<float>(x)); /* one rounding: see castable */
    double got = static_cast<float>(near);
    if (mode == RoundMode::CAST_NONE || mode == RoundMode::CAST_RINT || got == x ||
        std::isnan(x) || std::isinf(x))
        return near;
    /* The two neighbours of x. */
    D low = got < x ? near : Neighbour(near, false),
      high = got < x ? Neighbour(near, true) : near;
    switch (mode) {
    case RoundMode::CAST_FLOOR: return low;
    case RoundMode::CAST_CEIL: return high;
    case RoundMode::CAST_TRUNC: return x < 0 ? high : low;
    case RoundMode::CAST_ODD: return IsOdd(low) ? low : high;
    default: break; /* CAST_ROUND: only a tie differs from RINT */
    }
    double below = x - static_cast<float>(low), above = static_cast<float>(high) - x;
    if (below != above) return near;
    return x < 0 ? low : high;
}

/* One element. */
template <typename D, typename S> D Converted(S x, RoundMode mode) {
    double value = static_cast<double>(x);
    if constexpr (std::is_same_v<D, S>) {
        return static_cast<D>(RoundToInteger(value, mode)); /* float to whole float */
    } else if constexpr (std::is_integral_v<D>) {
        value = RoundToInteger(value, mode);
        if (std::isnan(value)) return 0;
        double least = std::numeric_limits<D>::min(),
               most = std::numeric_limits<D>::max();
        return static_cast<D>(value < least ? least : value > most ? most : value);
    } else {
        return RoundToFloat<D>(value, mode);
    }
}

/* how: a count, or a mask, iterations and strides. */
template <typename D, typename S, typename... How>
void CastOf(const LocalTensor<D> &dst, const LocalTensor<S> &src, RoundMode mode,
            const How &...how) {
    static_assert(castable<D, S>, "Cast does not know this pair of types");
    if (mode == RoundMode::CAST_ODD && !(isAny<S, float> && isAny<D, half>))
        Fail("Cast", "CAST_ODD is a mode from float to half alone");
    Map1("Cast", dst, src, how..., [mode](S x, D) { return Converted<D, S>(x, mode); });
}

/* What Duplicate and Brcb take. */
template <typename T>
constexpr bool filling =
    isAny<T, half, bfloat16_t, float, int16_t, uint16_t, int32_t, uint32_t>;

template <typename T, typename M>
void DuplicateOf(const LocalTensor<T> &dst, T value, M mask, int32_t repeats,
                 uint32_t blkStride, uint32_t repStride) {
    static_assert(filling<T>, "Duplicate takes elements of 16 and 32 bits");
    Mask lanes("Duplicate", mask, PerRepeat(sizeof(T)));
    auto d = Repeated("Duplicate", "dst", dst, lanes, repeats, blkStride, repStride);
    ForEach(lanes, repeats, [&](uint64_t r, uint32_t e) { d.at(r, e) = value; });
}
} // namespace detail

/* dst = src in another type: the first elements, or iterations. */
template <typename T, typename U>
__aicore__ inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                            const RoundMode &roundMode, const uint32_t count) {
    detail::CastOf(dst, src, roundMode, static_cast<int64_t>(count));
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                            const RoundMode &roundMode, const uint64_t mask,
                            int32_t repeatTime, const UnaryRepeatParams &repeatParams) {
    detail::CastOf(dst, src, roundMode, detail::MaskOf<isSetMask>(mask), repeatTime,
                   repeatParams);
}
template <typename T, typename U, bool isSetMask = true>
__aicore__ inline void Cast(const LocalTensor<T> &dst, const LocalTensor<U> &src,
                            const RoundMode &roundMode, uint64_t mask[],
                            int32_t repeatTime, const UnaryRepeatParams &repeatParams) {
    detail::CastOf(dst, src, roundMode, detail::MaskOf<isSetMask>(mask), repeatTime,
                   repeatParams);
}

/* dst = a scalar: the first elements, or in iterations with strides in blocks. */
template <typename T>
__aicore__ inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue,
                                 const int32_t &count) {
    static_assert(detail::filling<T>, "Duplicate takes elements of 16 and 32 bits");
    T value = scalarValue;
    std::fill_n(detail::First("Duplicate", "dst", dst, count), count, value);
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue,
                                 uint64_t mask, int32_t repeatTime,
                                 uint16_t dstBlockStride, uint8_t dstRepeatStride) {
    detail::DuplicateOf(dst, scalarValue, detail::MaskOf<isSetMask>(mask), repeatTime,
                        dstBlockStride, dstRepeatStride);
}
template <typename T, bool isSetMask = true>
__aicore__ inline void Duplicate(const LocalTensor<T> &dst, const T &scalarValue,
                                 uint64_t mask[], int32_t repeatTime,
                                 uint16_t dstBlockStride, uint8_t dstRepeatStride) {
    detail::DuplicateOf(dst, scalarValue, detail::MaskOf<isSetMask>(mask), repeatTime,
                        dstBlockStride, dstRepeatStride);
}

/* Each iteration takes eight elements and fills a block with each. */
template <typename T>
__aicore__ inline void Brcb(const LocalTensor<T> &dst, const LocalTensor<T> &src0,
                            int32_t repeatTime, const BrcbRepeatParams &repeatParams) {
    static_assert(detail::filling<T>, "Brcb takes elements of 16 and 32 bits");
    /* An iteration writes eight blocks, whole. */
    constexpr uint32_t PER = ONE_BLK_SIZE / sizeof(T);
    detail::Mask all("Brcb", uint64_t(8 * PER), 8 * PER);
    auto d = detail::Repeated("Brcb", "dst", dst, all, repeatTime,
                              repeatParams.dstBlkStride, repeatParams.dstRepStride);
    if (repeatTime == 0) return;
    const T *s = detail::First("Brcb", "src0", src0, 8 * int64_t(repeatTime));
    detail::ForEach(all, repeatTime,
                    [&](uint64_t r, uint32_t e) { d.at(r, e) = s[8 * r + e / PER]; });
}

/* src, of extent 1 along `axis`, to the shape of dst: 1 or 2 axes. */
template <typename T, int32_t dim, int32_t axis, bool isReuseSource = false>
__aicore__ inline void Broadcast(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                 const uint32_t dstShape[dim],
                                 const uint32_t srcShape[dim]) {
    static_assert((dim == 1 || dim == 2) && axis >= 0 && axis < dim,
                  "Broadcast has one or two axes, and goes along one of them");
    const uint64_t rows = dim == 2 ? dstShape[0] : 1, columns = dstShape[dim - 1];
    for (int32_t d = 0; d < dim; d++)
        if (srcShape[d] != (d == axis ? 1 : dstShape[d]))
            detail::Fail("Broadcast",
                         "extent %u of axis %d of src; dst has %u and axis %d is 1",
                         srcShape[d], d, dstShape[d], axis);
    /* Along the rows each has one element; along the columns there is one row. */
    const bool along = axis == dim - 1; /* a row from one element */
    T *d = detail::First("Broadcast", "dst", dst, static_cast<int64_t>(rows * columns));
    const T *s = detail::First("Broadcast", "src", src,
                               static_cast<int64_t>(along ? rows : columns));
    for (uint64_t i = 0; i < rows; i++)
        for (uint64_t j = 0; j < columns; j++)
            d[i * columns + j] = s[along ? i : j];
}

/* 16 x 16 elements of 16 bits; dst is not src. */
template <typename T>
__aicore__ inline void Transpose(const LocalTensor<T> &dst, const LocalTensor<T> &src) {
    static_assert(detail::isAny<T, half, int16_t, uint16_t>,
                  "Transpose takes 16-bit elements");
    T *d = detail::First("Transpose", "dst", dst, 256);
    const T *s = detail::First("Transpose", "src", src, 256);
    if (d < s + 256 && s < d + 256) detail::Fail("Transpose", "dst and src overlap");
    for (int i = 0; i < 16; i++)
        for (int j = 0; j < 16; j++)
            d[16 * j + i] = s[16 * i + j];
}
} // namespace AscendC
#endif
