/* Ascend C on the CPU: the mask that vector operations take when the call has none
 * (isSetMask = false): Add<half, false>(dst, src0, src1, MASK_PLACEHOLDER, 2, {...}).
 *
 * In the normal mode it says which elements of every iteration take part. In the counter
 * mode (SetMaskCount) it is the number of elements in all; how many iterations that makes
 * follows, and the call's own number means nothing. A block starts in the normal mode
 * with every bit set. A mask of one mode that meets an operation in the other ends the
 * block: on an NPU the same bits would mean something else. */
#ifndef ASCENDC_MASK_H_
#define ASCENDC_MASK_H_

#include "ascendc/vector.h"

namespace AscendC {
enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };

/* What stands where the mask would be. */
constexpr uint64_t MASK_PLACEHOLDER = 0;
inline uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

/* Which way masks are taken from now on. */
__aicore__ inline void SetMaskNorm() {
    detail::Current("SetMaskNorm").mask.counts = false;
}
__aicore__ inline void SetMaskCount() {
    detail::Current("SetMaskCount").mask.counts = true;
}

/* One bit for each of an iteration's elements of type T, the lower 64 in maskLow; in the
 * counter mode maskLow is the number of elements. */
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ static inline void SetVectorMask(const uint64_t maskHigh,
                                            const uint64_t maskLow) {
    detail::VectorMask &mask = detail::Current("SetVectorMask").mask;
    mask.set_counts = mode == MaskMode::COUNTER;
    if (sizeof(T) > 2 && maskHigh != 0)
        detail::Fail("SetVectorMask",
                     "maskHigh is %#llx; an iteration has %u elements of this type, "
                     "whose bits are maskLow's",
                     static_cast<unsigned long long>(maskHigh),
                     detail::PerRepeat(sizeof(T)));
    if (mask.set_counts && maskHigh != 0)
        detail::Fail("SetVectorMask", "maskHigh is %#llx; in the counter mode it is 0",
                     static_cast<unsigned long long>(maskHigh));
    mask.words[0] = maskLow;
    mask.words[1] = maskHigh;
}

/* The first `len` elements: of every iteration, or in all. */
template <typename T, MaskMode mode = MaskMode::NORMAL>
__aicore__ static inline void SetVectorMask(int32_t len) {
    const uint32_t most = detail::PerRepeat(sizeof(T));
    if (len < 1 || (mode == MaskMode::NORMAL && static_cast<uint32_t>(len) > most))
        detail::Fail("SetVectorMask", "%d elements; it may be 1 to %u%s", len, most,
                     mode == MaskMode::NORMAL ? "" : " and more");
    const uint64_t n = static_cast<uint64_t>(len), ones = ~uint64_t(0);
    if (mode == MaskMode::COUNTER)
        SetVectorMask<T, mode>(0, n);
    else
        SetVectorMask<T, mode>(n > 64 ? ones >> (128 - n) : 0,
                               n >= 64 ? ones : ones >> (64 - n));
}

/* Every element of every iteration again. */
__aicore__ inline void ResetMask() {
    detail::VectorMask &mask = detail::Current("ResetMask").mask;
    mask = {mask.counts, false, {~uint64_t(0), ~uint64_t(0)}};
}
} // namespace AscendC
#endif
