/* Ascend C on the CPU: reductions.
 *
 * Sums add neighbours, then neighbouring sums, as the vector unit's binary tree does, and
 * each sum is rounded to the element type; ReduceSum makes one number of each 256 bytes
 * and goes on with those. An index is stored in the element's own bits: read it through
 * ReinterpretCast<uint32_t> (float) or <uint16_t> (half). Of equal extremes the first
 * counts; a NaN is the result, the first of them. */
#ifndef ASCENDC_REDUCE_H_
#define ASCENDC_REDUCE_H_

#include "ascendc/vector.h"

namespace AscendC {
/* What WholeReduceMax and WholeReduceMin write of each iteration. */
enum class ReduceOrder : uint8_t {
    ORDER_VALUE_INDEX,
    ORDER_INDEX_VALUE,
    ORDER_ONLY_VALUE,
    ORDER_ONLY_INDEX
};

namespace detail {
/* The sum of n numbers, which are overwritten. */
template <typename T> T TreeSum(T *x, uint32_t n) {
    if (n == 0) return T(0);
    for (; n > 1; n = (n + 1) / 2) {
        for (uint32_t i = 0; i < n / 2; i++)
            x[i] = static_cast<T>(static_cast<float>(x[2 * i]) +
                                  static_cast<float>(x[2 * i + 1]));
        if (n % 2) x[n / 2] = x[n - 1];
    }
    return x[0];
}

/* The kinds of reductions; better(a, b): a takes b's place. */
struct Sum {
    static constexpr bool extreme = false;
};
struct Largest {
    static constexpr bool extreme = true;
    static bool better(float a, float b) { return a > b || (a != a && b == b); }
};
struct Smallest {
    static constexpr bool extreme = true;
    static bool better(float a, float b) { return a < b || (a != a && b == b); }
};

/* An index as it is stored. */
template <typename T> T IndexBits(uint32_t index) {
    T stored;
    if constexpr (sizeof(T) == 2) {
        uint16_t bits = static_cast<uint16_t>(index);
        std::memcpy(&stored, &bits, sizeof stored);
    } else {
        std::memcpy(&stored, &index, sizeof stored);
    }
    return stored;
}

/* Makes one number of a block, an iteration or a tensor, element by element. A sum keeps
 * its elements until value() adds them up, so that the order of the tree is the
 * documented one; an extreme keeps the best so far, and where it was. */
template <typename T, typename Kind> struct Reducer {
    T values[ONE_REPEAT_BYTE_SIZE / sizeof(T)]; /* of a sum */
    uint32_t count = 0, best = 0;
    T extreme = T(0);

    /* At most 256 bytes of a sum. */
    void add(T x, uint32_t index) {
        if constexpr (Kind::extreme) {
            if (count == 0 || Kind::better(x, extreme)) {
                extreme = x;
                best = index;
            }
        } else {
            values[count] = x;
        }
        count++;
    }
    T value() {
        if constexpr (Kind::extreme)
            return extreme;
        else
            return TreeSum(values, count);
    }
};

/* A result for each iteration: see reduce.inc. */
template <typename Kind, typename T, typename M>
void WholeReduce(const char *operation, const LocalTensor<T> &dst,
                 const LocalTensor<T> &src, M mask, int32_t repeats, int32_t dstRep,
                 int32_t srcBlk, int32_t srcRep, ReduceOrder order) {
    static_assert(isAny<T, half, float>, "reductions take half or float");
    Mask lanes(operation, mask, PerRepeat(sizeof(T)));
    if (dstRep < 0 || srcBlk < 0 || srcRep < 0) Fail(operation, "a stride is below 0");
    auto s = Repeated(operation, "src", src, lanes, repeats,
                      static_cast<uint32_t>(srcBlk), static_cast<uint32_t>(srcRep));
    /* Results of a value and an index are apart by pairs. */
    const bool pair = Kind::extreme && order <= ReduceOrder::ORDER_INDEX_VALUE;
    const size_t unit = pair ? 2 : 1;
    T *d = Aligned(operation, "dst", dst, unit * sizeof(T));
    const size_t all = lanes.Repeats(repeats);
    if (all > 0 && ((all - 1) * size_t(dstRep) + 1) * unit > dst.GetSize())
        Fail(operation, "%zu results, %d apart, do not fit dst, which has %u elements",
             all, dstRep, dst.GetSize());
    for (size_t r = 0; r < all; r++) {
        Reducer<T, Kind> one;
        for (uint32_t e = 0; e < lanes.EndOf(r); e++)
            if (lanes.Has(e)) one.add(s.at(r, e), e);
        T value = one.value(), index = IndexBits<T>(one.best);
        T *out = d + r * size_t(dstRep) * unit;
        const bool first = order == ReduceOrder::ORDER_VALUE_INDEX ||
                           order == ReduceOrder::ORDER_ONLY_VALUE;
        out[0] = !Kind::extreme || first ? value : index;
        if (pair) out[1] = first ? index : value;
    }
}

/* A result for each block that the mask has an element of; others stay. */
template <typename Kind, typename T, typename M>
void BlockReduce(const char *operation, const LocalTensor<T> &dst,
                 const LocalTensor<T> &src, int32_t repeats, M mask, int32_t dstRep,
                 int32_t srcBlk, int32_t srcRep) {
    static_assert(isAny<T, half, float>, "reductions take half or float");
    Mask lanes(operation, mask, PerRepeat(sizeof(T)));
    if (dstRep < 0 || srcBlk < 0 || srcRep < 0) Fail(operation, "a stride is below 0");
    auto s = Repeated(operation, "src", src, lanes, repeats,
                      static_cast<uint32_t>(srcBlk), static_cast<uint32_t>(srcRep));
    T *d = Aligned(operation, "dst", dst, 8 * sizeof(T));
    const size_t all = lanes.Repeats(repeats);
    if (all > 0 && ((all - 1) * size_t(dstRep) + 1) * 8 > dst.GetSize())
        Fail(operation,
             "%zu times 8 results, %d apart, do not fit dst, which has %u elements", all,
             dstRep, dst.GetSize());
    constexpr uint32_t PER = ONE_BLK_SIZE / sizeof(T);
    for (size_t r = 0; r < all; r++)
        for (uint32_t b = 0; b < 8; b++) {
            Reducer<T, Kind> one;
            for (uint32_t e = b * PER; e < std::min((b + 1) * PER, lanes.EndOf(r)); e++)
                if (lanes.Has(e)) one.add(s.at(r, e), e);
            if (one.count > 0) d[r * size_t(dstRep) * 8 + b] = one.value();
        }
}

/* The work tensor holds a number, or a number and an index, for each 256 bytes. */
template <typename Kind, typename T>
void CheckWork(const char *operation, const LocalTensor<T> &work, int64_t count) {
    constexpr int64_t PER = ONE_BLK_SIZE / sizeof(T), REPEAT = PerRepeat(sizeof(T));
    int64_t need = (count + REPEAT - 1) / REPEAT * (Kind::extreme ? 2 : 1);
    need = (need + PER - 1) / PER * PER;
    (void)Aligned(operation, "the work tensor", work);
    if (work.GetSize() < need)
        Fail(operation, "a work tensor of %u elements; %lld are needed", work.GetSize(),
             static_cast<long long>(need));
}

/* at(i): element i of `count`. An extreme is found in one pass, which needs no work
 * tensor; it is asked for all the same, since an NPU does. */
template <typename Kind, typename T, typename At>
void Reduce(const char *operation, const LocalTensor<T> &dst, const LocalTensor<T> &work,
            int64_t count, bool withIndex, At at) {
    static_assert(isAny<T, half, float>, "reductions take half or float");
    CheckWork<Kind>(operation, work, count);
    T *d = First(operation, "dst", dst, withIndex ? 2 : 1);
    Reducer<T, Kind> one;
    if constexpr (Kind::extreme) {
        for (int64_t i = 0; i < count; i++)
            one.add(at(i), static_cast<uint32_t>(i));
    } else {
        /* Sums of 256 bytes go to the work tensor, then sums of those, in the same place:
         * a sum is stored behind the last one that was read. */
        constexpr int64_t REPEAT = PerRepeat(sizeof(T));
        T *w = work.Data(operation);
        for (int64_t i = 0; i < count; i += REPEAT) {
            for (int64_t k = i; k < std::min(count, i + REPEAT); k++)
                one.add(at(k), 0);
            w[i / REPEAT] = one.value();
            one.count = 0;
        }
        int64_t left = (count + REPEAT - 1) / REPEAT;
        for (; left > 1; left = (left + REPEAT - 1) / REPEAT)
            for (int64_t i = 0; i < left; i += REPEAT) {
                uint32_t n = static_cast<uint32_t>(std::min(left - i, REPEAT));
                std::memcpy(one.values, w + i, n * sizeof(T));
                w[i / REPEAT] = TreeSum(one.values, n);
            }
        d[0] = w[0];
        return;
    }
    T value = one.value(), index = IndexBits<T>(one.best);
    d[0] = value;
    if (withIndex) d[1] = index;
}

/* Of the first elements. */
template <typename Kind, typename T>
void ReduceCount(const char *operation, const LocalTensor<T> &dst,
                 const LocalTensor<T> &src, const LocalTensor<T> &work, int32_t count,
                 bool withIndex) {
    const T *s = First(operation, "src", src, count);
    Reduce<Kind>(operation, dst, work, count, withIndex, [s](int64_t i) { return s[i]; });
}

/* Iterations with the first elements of each; an index counts the elements of all. */
template <typename Kind, typename T>
void ReduceRepeated(const char *operation, const LocalTensor<T> &dst,
                    const LocalTensor<T> &src, const LocalTensor<T> &work, int32_t mask,
                    int32_t repeats, int32_t srcRep, bool withIndex) {
    Mask lanes(operation, static_cast<uint64_t>(mask < 0 ? 0 : mask),
               PerRepeat(sizeof(T)));
    if (srcRep < 0 || repeats < 1)
        Fail(operation, "%d iterations, %d blocks apart", repeats, srcRep);
    auto s =
        Repeated(operation, "src", src, lanes, repeats, 1, static_cast<uint32_t>(srcRep));
    const int64_t per = mask;
    Reduce<Kind>(operation, dst, work, per * repeats, withIndex, [&](int64_t i) {
        return s.at(static_cast<uint64_t>(i / per), static_cast<uint32_t>(i % per));
    });
}
} // namespace detail

/* dst[0] = the sum, of the first elements or of iterations; the work tensor holds a
 * number for each 256 bytes. */
template <typename T>
__aicore__ inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                 const LocalTensor<T> &sharedTmpBuffer,
                                 const int32_t count) {
    detail::ReduceCount<detail::Sum>("ReduceSum", dst, src, sharedTmpBuffer, count,
                                     false);
}
template <typename T>
__aicore__ inline void ReduceSum(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                 const LocalTensor<T> &sharedTmpBuffer,
                                 const int32_t mask, const int32_t repeatTime,
                                 const int32_t srcRepStride) {
    detail::ReduceRepeated<detail::Sum>("ReduceSum", dst, src, sharedTmpBuffer, mask,
                                        repeatTime, srcRepStride, false);
}

/* dst[0] is the extreme of the first elements, dst[1] its index where calIndex asks for
 * it; the work tensor holds two numbers for each 256 bytes. */
template <typename T>
__aicore__ inline void ReduceMax(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                 const LocalTensor<T> &sharedTmpBuffer,
                                 const int32_t count, bool calIndex = false) {
    detail::ReduceCount<detail::Largest>("ReduceMax", dst, src, sharedTmpBuffer, count,
                                         calIndex);
}
template <typename T>
__aicore__ inline void ReduceMin(const LocalTensor<T> &dst, const LocalTensor<T> &src,
                                 const LocalTensor<T> &sharedTmpBuffer,
                                 const int32_t count, bool calIndex = false) {
    detail::ReduceCount<detail::Smallest>("ReduceMin", dst, src, sharedTmpBuffer, count,
                                          calIndex);
}

#define ASCENDC_MASK int32_t
#include "ascendc/reduce.inc"
#define ASCENDC_MASK uint64_t *
#include "ascendc/reduce.inc"
} // namespace AscendC
#endif
