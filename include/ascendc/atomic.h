/* Ascend C on the CPU: copies to global memory that add to what lies there.
 *
 * After SetAtomicAdd<T>() every DataCopy and DataCopyPad from the unified buffer to
 * global memory, and every tile of a Matmul, adds its elements, or keeps the greater or
 * lesser of the two (SetAtomicMax, SetAtomicMin), until SetAtomicNone(). Each element is
 * one atomic step, so blocks may write the same memory in any order; a sum of floats then
 * depends on that order, as on an NPU. */
#ifndef ASCENDC_ATOMIC_H_
#define ASCENDC_ATOMIC_H_

#include "ascendc/half.h"

namespace AscendC {
namespace detail {
/* The name of an element's type, and whether copies accumulate such elements. */
template <typename T> constexpr const char *AtomicName() {
    if constexpr (isAny<T, half>) return "half";
    if constexpr (isAny<T, bfloat16_t>) return "bfloat16_t";
    if constexpr (isAny<T, float>) return "float";
    if constexpr (isAny<T, int8_t>) return "int8_t";
    if constexpr (isAny<T, int16_t>) return "int16_t";
    if constexpr (isAny<T, int32_t>) return "int32_t";
    return nullptr;
}

/* How the block's copies of T are made now. */
template <typename T> Atomic AtomicNow(const char *operation) {
    const Block &b = Current(operation);
    if (b.atomic == Atomic::NONE) return Atomic::NONE;
    const char *name = AtomicName<T>();
    if (name == nullptr || std::strcmp(name, b.atomicType) != 0)
        Fail(operation, "elements of %s while copies add elements of %s (SetAtomicNone)",
             name ? name : "another type", b.atomicType);
    return b.atomic;
}

/* What the two of them give: halves are added in float and rounded, integers wrap around.
 */
template <typename T> T Accumulated(Atomic how, T there, T value) {
    using Wide = std::conditional_t<std::is_integral_v<T>, uint32_t, float>;
    if (how == Atomic::ADD)
        return static_cast<T>(static_cast<Wide>(there) + static_cast<Wide>(value));
    return (how == Atomic::MAX ? value > there : value < there) ? value : there;
}

/* *at becomes the two of them, in one step that others see as one. */
template <typename T>
void Accumulate(const char *operation, Atomic how, char *at, T value) {
    using Bits =
        std::conditional_t<sizeof(T) == 1, uint8_t,
                           std::conditional_t<sizeof(T) == 2, uint16_t, uint32_t>>;
    typedef Bits __attribute__((may_alias)) Word;
    if (reinterpret_cast<uintptr_t>(at) % sizeof(T) != 0)
        Fail(operation, "adds at an address of no multiple of the element's %u bytes",
             static_cast<unsigned>(sizeof(T)));
    Word *word = reinterpret_cast<Word *>(at);
    Bits before = __atomic_load_n(word, __ATOMIC_RELAXED), after;
    do {
        T there, both;
        std::memcpy(&there, &before, sizeof there);
        both = Accumulated(how, there, value);
        std::memcpy(&after, &both, sizeof after);
    } while (!__atomic_compare_exchange_n(word, &before, after, true, __ATOMIC_RELAXED,
                                          __ATOMIC_RELAXED));
}

/* `bytes` bytes of T to global memory, as the block's copies are made. */
template <typename T>
void Store(const char *operation, char *to, const char *from, uint64_t bytes) {
    const Atomic how = AtomicNow<T>(operation);
    if (how == Atomic::NONE) {
        std::memmove(to, from, bytes);
        return;
    }
    if constexpr (AtomicName<T>() != nullptr) {
        if (bytes % sizeof(T) != 0)
            Fail(operation, "%llu bytes are no whole elements, which it would add",
                 static_cast<unsigned long long>(bytes));
        for (uint64_t at = 0; at < bytes; at += sizeof(T)) {
            T value;
            std::memcpy(&value, from + at, sizeof value);
            Accumulate<T>(operation, how, to + at, value);
        }
    }
}

template <typename T> void SetAtomic(const char *operation, Atomic how) {
    static_assert(
        AtomicName<T>() != nullptr,
        "copies accumulate int8_t, int16_t, int32_t, half, bfloat16_t and float");
    Block &b = Current(operation);
    b.atomic = how;
    b.atomicType = AtomicName<T>();
}
} // namespace detail

/* Copies of T to global memory add from now on, ... */
template <typename T> __aicore__ inline void SetAtomicAdd() {
    detail::SetAtomic<T>("SetAtomicAdd", detail::Atomic::ADD);
}
/* keep the greater element, ... */
template <typename T> __aicore__ inline void SetAtomicMax() {
    detail::SetAtomic<T>("SetAtomicMax", detail::Atomic::MAX);
}
/* the lesser, ... */
template <typename T> __aicore__ inline void SetAtomicMin() {
    detail::SetAtomic<T>("SetAtomicMin", detail::Atomic::MIN);
}
/* do the same with elements of another type, ... */
template <typename T> __aicore__ inline void SetAtomicType() {
    detail::SetAtomic<T>("SetAtomicType", detail::Current("SetAtomicType").atomic);
}
/* or write over what lies there, as at first. */
__aicore__ inline void SetAtomicNone() {
    detail::Current("SetAtomicNone").atomic = detail::Atomic::NONE;
}
} // namespace AscendC
#endif
