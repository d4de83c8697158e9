/* Ascend C on the CPU: how vector operations go over their operands.
 *
 * There are two ways. With a count the first elements are taken, one after the other.
 * With a mask, an iteration takes 256 bytes: eight blocks of 32, which lie blkStride
 * blocks apart, and the next iteration starts repStride blocks further on; the mask says
 * which of an iteration's elements take part: the first so many, or one bit for each.
 * Where operands have elements of two sizes the larger one says how many an iteration
 * has.
 *
 * An operand starts at a multiple of 32 bytes and reaches no further than its tensor. An
 * operation is a struct with `takes<T>`, the element types that its documentation names,
 * and the function of an element. */
#ifndef ASCENDC_VECTOR_H_
#define ASCENDC_VECTOR_H_

#include <algorithm>

#include "ascendc/half.h"
#include "ascendc/tensor.h"

namespace AscendC {
/* In blocks of 32 bytes. */
struct UnaryRepeatParams { /* blocks of an iteration; iterations */
    uint32_t dstBlkStride = 1, srcBlkStride = 1;
    uint32_t dstRepStride = 8, srcRepStride = 8;
    UnaryRepeatParams() = default;
    UnaryRepeatParams(uint16_t dstBlk, uint16_t srcBlk, uint8_t dstRep, uint8_t srcRep)
        : dstBlkStride(dstBlk), srcBlkStride(srcBlk), dstRepStride(dstRep),
          srcRepStride(srcRep) {}
};

struct BinaryRepeatParams {
    uint32_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    uint32_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    BinaryRepeatParams() = default;
    BinaryRepeatParams(uint8_t dstBlk, uint8_t src0Blk, uint8_t src1Blk, uint8_t dstRep,
                       uint8_t src0Rep, uint8_t src1Rep)
        : dstBlkStride(dstBlk), src0BlkStride(src0Blk), src1BlkStride(src1Blk),
          dstRepStride(dstRep), src0RepStride(src0Rep), src1RepStride(src1Rep) {}
};

namespace detail {
/* repeatTime is a byte on an NPU, where a larger number would lose its upper bits. */
constexpr int32_t MOST_REPEATS = 255;

/* Elements of an iteration whose largest element has this size. */
constexpr uint32_t PerRepeat(size_t size) {
    return static_cast<uint32_t>(ONE_REPEAT_BYTE_SIZE / size);
}

/* In place of a mask: the one that SetVectorMask made (isSetMask = false). */
struct SetBefore {};
template <bool isSetMask, typename M> auto MaskOf(M mask) {
    if constexpr (isSetMask)
        return mask;
    else
        return SetBefore{};
}

/* Which elements of an iteration take part: those before `end` whose bit is set; of all
 * iterations together `total`, where that is not 0 (the counter mode). */
struct Mask {
    /* Bit e & 63 of word e >> 6. */
    uint64_t words[2] = {~uint64_t(0), ~uint64_t(0)};
    uint64_t total = 0;
    uint32_t end, per; /* per: elements of an iteration */

    /* The first `count`. */
    Mask(const char *operation, uint64_t count, uint32_t most)
        : end(static_cast<uint32_t>(count)), per(most) {
        if (count < 1 || count > most)
            Fail(operation, "a mask of %llu elements; an iteration has 1 to %u",
                 static_cast<unsigned long long>(count), most);
    }
    /* One bit for each; the second word where an iteration has more than 64. */
    Mask(const char *operation, const uint64_t *bits, uint32_t most) : end(0), per(most) {
        if (bits == nullptr) Fail(operation, "the mask is NULL");
        Take(operation, bits);
    }
    /* The one that was set; it must be of the mode that is in force. */
    Mask(const char *operation, SetBefore, uint32_t most) : end(0), per(most) {
        const VectorMask &set = Current(operation).mask;
        if (set.counts != set.set_counts)
            Fail(operation, "the mask was set for the %s mode; the mode is %s",
                 set.set_counts ? "counter" : "normal",
                 set.counts ? "counter (SetMaskCount)" : "normal (SetMaskNorm)");
        if (!set.counts) {
            Take(operation, set.words);
            return;
        }
        total = set.words[0];
        if (total == 0) Fail(operation, "the mask counts 0 elements");
        end = static_cast<uint32_t>(std::min<uint64_t>(total, most));
    }
    bool Has(uint32_t e) const { return words[e >> 6] >> (e & 63) & 1; }
    /* How many iterations there are where the call says `repeats`; the elements of the
     * one that is number r end before EndOf(r). */
    uint64_t Repeats(int32_t repeats) const {
        return total ? (total + per - 1) / per : static_cast<uint64_t>(repeats);
    }
    uint32_t EndOf(uint64_t r) const {
        uint64_t left = total - r * per;
        return total && left < end ? static_cast<uint32_t>(left) : end;
    }

  private:
    void Take(const char *operation, const uint64_t *bits) {
        words[0] = bits[0];
        words[1] = per > 64 ? bits[1] : 0;
        for (uint32_t e = 0; e < per; e++)
            if (Has(e)) end = e + 1;
        if (end == 0) Fail(operation, "no bit of the mask is set");
    }
};

/* An operand in blocks. */
template <typename T> struct Walk {
    static constexpr uint32_t BLOCK = ONE_BLK_SIZE / sizeof(T);
    T *data;
    size_t blk, rep; /* elements from block to block, from iteration to iteration */
    T &at(uint64_t r, uint32_t e) const {
        return data[r * rep + e / BLOCK * blk + e % BLOCK];
    }
    /* One past the last element that iteration r touches. */
    size_t Reach(const Mask &mask, uint64_t r) const {
        size_t furthest = 0;
        for (uint32_t e = 0; e < mask.EndOf(r); e++)
            if (mask.Has(e))
                furthest = std::max<size_t>(furthest, e / BLOCK * blk + e % BLOCK + 1);
        return furthest ? r * rep + furthest : 0;
    }
};

/* The address of an operand that may be used, and starts where it must. */
template <typename T>
T *Aligned(const char *operation, const char *what, const LocalTensor<T> &tensor,
           size_t alignment = ONE_BLK_SIZE) {
    T *data = tensor.Data(operation, what);
    if (reinterpret_cast<uintptr_t>(data) % alignment != 0)
        Fail(operation, "%s starts at no multiple of %u bytes", what,
             static_cast<unsigned>(alignment));
    return data;
}

/* The first elements of an operand. */
template <typename T>
T *First(const char *operation, const char *what, const LocalTensor<T> &tensor,
         int64_t count) {
    T *data = Aligned(operation, what, tensor);
    if (count < 1 || count > tensor.GetSize())
        Fail(operation, "%lld elements of %s, which has %u",
             static_cast<long long>(count), what, tensor.GetSize());
    return data;
}

/* An operand of `repeats` iterations with strides in blocks. */
template <typename T>
Walk<T> Repeated(const char *operation, const char *what, const LocalTensor<T> &tensor,
                 const Mask &mask, int32_t repeats, uint32_t blkStride,
                 uint32_t repStride) {
    Walk<T> walk = {Aligned(operation, what, tensor), blkStride * size_t(Walk<T>::BLOCK),
                    repStride * size_t(Walk<T>::BLOCK)};
    if (!mask.total && (repeats < 0 || repeats > MOST_REPEATS))
        Fail(operation, "%d iterations; there may be 0 to %d", repeats, MOST_REPEATS);
    /* The last iteration reaches furthest, or the whole one before it. */
    const uint64_t all = mask.Repeats(repeats);
    size_t furthest = all ? walk.Reach(mask, all - 1) : 0;
    if (all > 1) furthest = std::max(furthest, walk.Reach(mask, all - 2));
    if (furthest > tensor.GetSize())
        Fail(operation, "%llu iterations reach element %zu of %s, which has %u",
             static_cast<unsigned long long>(all), furthest - 1, what, tensor.GetSize());
    return walk;
}

/* each(r, e) for the elements of every iteration. */
template <typename Each> void ForEach(const Mask &mask, int32_t repeats, Each each) {
    const uint64_t all = mask.Repeats(repeats);
    for (uint64_t r = 0; r < all; r++)
        for (uint32_t e = 0; e < mask.EndOf(r); e++)
            if (mask.Has(e)) each(r, e);
}

/* dst = f(src) of the first elements. */
template <typename D, typename S, typename F>
void Map1(const char *operation, const LocalTensor<D> &dst, const LocalTensor<S> &src,
          int64_t count, F f) {
    D *d = First(operation, "dst", dst, count);
    const S *s = First(operation, "src", src, count);
    for (int64_t i = 0; i < count; i++)
        d[i] = f(s[i], d[i]);
}

/* Likewise in iterations; mask: a count or an array of bits. */
template <typename D, typename S, typename M, typename F>
void Map1(const char *operation, const LocalTensor<D> &dst, const LocalTensor<S> &src,
          M mask, int32_t repeats, const UnaryRepeatParams &p, F f) {
    Mask lanes(operation, mask, PerRepeat(std::max(sizeof(D), sizeof(S))));
    auto d =
        Repeated(operation, "dst", dst, lanes, repeats, p.dstBlkStride, p.dstRepStride);
    auto s =
        Repeated(operation, "src", src, lanes, repeats, p.srcBlkStride, p.srcRepStride);
    ForEach(lanes, repeats,
            [&](uint64_t r, uint32_t e) { d.at(r, e) = f(s.at(r, e), d.at(r, e)); });
}

/* dst = f(src0, src1). */
template <typename T, typename F>
void Map2(const char *operation, const LocalTensor<T> &dst, const LocalTensor<T> &src0,
          const LocalTensor<T> &src1, int64_t count, F f) {
    T *d = First(operation, "dst", dst, count);
    const T *a = First(operation, "src0", src0, count),
            *b = First(operation, "src1", src1, count);
    for (int64_t i = 0; i < count; i++)
        d[i] = f(a[i], b[i]);
}

/* Likewise in iterations. */
template <typename T, typename M, typename F>
void Map2(const char *operation, const LocalTensor<T> &dst, const LocalTensor<T> &src0,
          const LocalTensor<T> &src1, M mask, int32_t repeats,
          const BinaryRepeatParams &p, F f) {
    Mask lanes(operation, mask, PerRepeat(sizeof(T)));
    auto d =
        Repeated(operation, "dst", dst, lanes, repeats, p.dstBlkStride, p.dstRepStride);
    auto a = Repeated(operation, "src0", src0, lanes, repeats, p.src0BlkStride,
                      p.src0RepStride);
    auto b = Repeated(operation, "src1", src1, lanes, repeats, p.src1BlkStride,
                      p.src1RepStride);
    ForEach(lanes, repeats,
            [&](uint64_t r, uint32_t e) { d.at(r, e) = f(a.at(r, e), b.at(r, e)); });
}

/* What the three kinds of operations do (binary.inc, unary.inc, scalar.inc): Op's
 * function of each element. how: a count, or a mask, the number of iterations and
 * strides. */
template <typename Op, typename T, typename... How>
void Binary(const LocalTensor<T> &dst, const LocalTensor<T> &src0,
            const LocalTensor<T> &src1, const How &...how) {
    static_assert(Op::template takes<T>,
                  "the operation does not take elements of this type");
    Map2(Op::name, dst, src0, src1, how...,
         [](T a, T b) { return Op::template of<T>(a, b); });
}

template <typename Op, typename T, typename... How>
void Unary(const LocalTensor<T> &dst, const LocalTensor<T> &src, const How &...how) {
    static_assert(Op::template takes<T>,
                  "the operation does not take elements of this type");
    Map1(Op::name, dst, src, how..., [](T x, T) { return Op::template of<T>(x); });
}

template <typename Op, typename T, typename... How>
void WithScalar(const LocalTensor<T> &dst, const LocalTensor<T> &src, T scalar,
                const How &...how) {
    static_assert(Op::template takes<T>,
                  "the operation does not take elements of this type");
    Map1(Op::name, dst, src, how...,
         [scalar](T x, T) { return Op::template of<T>(x, scalar); });
}
} // namespace detail
} // namespace AscendC
#endif
