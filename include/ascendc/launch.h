/* Launching a kernel: what aclrtlaunch_NAME.h and asnumpy.RawKernel are made of.
 *
 *     AscendC::Launch("add_custom", add_custom, 8, stream, x, y, z);
 *
 * The arguments are copied, converted to the kernel's parameters; the blocks run when the
 * stream comes to them (aclnnxLaunch, in libopapi). A block's C++ exception ends here and
 * becomes the stream's error, which the next synchronisation returns. */
#ifndef ASCENDC_LAUNCH_H_
#define ASCENDC_LAUNCH_H_

#include <exception>
#include <memory>
#include <new>
#include <tuple>
#include <utility>

#include "aclnn/aclnnx.h"
#include "ascendc/half.h"
#include "ascendc/queue.h"

namespace AscendC {
namespace detail {
/* A call of a kernel, kept until its blocks have run; `each` runs one block's body. */
template <typename... P> struct Call {
    void (*kernel)(P...);
    std::tuple<std::decay_t<P>...> values;
    const Range *ranges; /* the arrays of the call, or NULL */
    uint32_t numRanges, threads;
    void (*each)(const Call &call);

    /* The kernel's function with the values. */
    void Once() const { std::apply(kernel, values); }
};

/* A block of an Ascend C kernel: its function once. */
template <typename... P> void RunOnce(const Call<P...> &call) {
    call.Once();
}

/* Memory that is aligned as a tensor must be. */
struct Aligned32 {
    void operator()(unsigned char *p) const {
        ::operator delete(p, std::align_val_t(32));
    }
};

/* The body in a block of its own: with a unified buffer that starts empty, and, when it
 * has returned, a look at what it left in queues and flags. */
template <typename Body>
void InBlock(const aclnnxBlock *told, const Range *ranges, uint32_t num, Body body) {
    std::unique_ptr<unsigned char, Aligned32> memory(static_cast<unsigned char *>(
        ::operator new(UNIFIED_BUFFER, std::align_val_t(32))));
    Block b = {};
    b.index = told->index;
    b.count = told->count;
    b.unified = memory.get();
    b.ranges = ranges;
    b.numRanges = num;
    b.find = told->find;
    /* For as long as the body runs, and whatever ends it. */
    struct Current {
        explicit Current(Block *b) { block = b; }
        ~Current() { block = nullptr; }
    } current(&b);
    body();
    CheckReturned(b, 0);
    CheckFlags(b);
}

/* aclnnx's function of a block: 0, or a failure with its message. */
template <typename... P> int32_t RunBlock(void *args, const aclnnxBlock *told) {
    const auto *call = static_cast<const Call<P...> *>(args);
    try {
        InBlock(told, call->ranges, call->numRanges, [call] { call->each(*call); });
        return 0;
    } catch (const Fault &fault) {
        std::snprintf(told->message, told->room, "%s", fault.text);
    } catch (const std::exception &e) {
        std::snprintf(told->message, told->room, "the kernel threw %s", e.what());
    } catch (...) {
        std::snprintf(told->message, told->room, "the kernel threw an exception");
    }
    return 1;
}

/* The stream needs the call no more. */
template <typename... P> void DropCall(void *args) {
    delete static_cast<Call<P...> *>(args);
}

/* Hands a call to the stream; each: what a block runs. */
template <typename... P, typename... A>
uint32_t Submit(const char *name, void (*kernel)(P...), void (*each)(const Call<P...> &),
                uint32_t blocks, uint32_t threads, void *stream, A &&...args) {
    static_assert(sizeof...(P) == sizeof...(A),
                  "the kernel has another number of parameters");
    auto *call = new (std::nothrow) Call<P...>{
        kernel,  std::tuple<std::decay_t<P>...>(static_cast<std::decay_t<P>>(args)...),
        nullptr, 0,
        threads, each};
    return static_cast<uint32_t>(
        aclnnxLaunch(name, RunBlock<P...>, call, DropCall<P...>, blocks, stream));
}
} // namespace detail

/* Queues `blocks` blocks of the kernel on the stream (NULL: the default one); `name`
 * stays where it is. 0, or an error code whose message aclGetRecentErrMsg has. */
template <typename... P, typename... A>
uint32_t Launch(const char *name, void (*kernel)(P...), uint32_t blocks, void *stream,
                A &&...args) {
    return detail::Submit(name, kernel, detail::RunOnce<P...>, blocks, 1, stream,
                          std::forward<A>(args)...);
}

namespace detail {
/* ---- what RawKernel asks of a kernel that it compiled: its parameters, a packed call */

/* p8: an address; i4, u8, f4, b1: a number of so many bytes; f2: half; x0:
 * anything else. */
template <typename T> constexpr const char *LetterOf() {
    if constexpr (std::is_pointer_v<T>)
        return "p8";
    else if constexpr (std::is_same_v<T, bool>)
        return "b1";
    else if constexpr (std::is_same_v<T, half>)
        return "f2";
    else if constexpr (std::is_floating_point_v<T>)
        return sizeof(T) == 4 ? "f4" : "f8";
    else if constexpr (std::is_integral_v<T>) {
        constexpr const char *is[] = {"i1", "i2", "i4", "i8"},
                             *us[] = {"u1", "u2", "u4", "u8"};
        constexpr int k = sizeof(T) == 1   ? 0
                          : sizeof(T) == 2 ? 1
                          : sizeof(T) == 4 ? 2
                                           : 3;
        return std::is_signed_v<T> ? is[k] : us[k];
    } else
        return "x0";
}

/* A letter and a digit for each parameter. */
template <typename... P> const char *Signature(void (*)(P...)) {
    static char text[2 * sizeof...(P) + 1];
    char *at = text;
    ((std::memcpy(at, LetterOf<std::decay_t<P>>(), 2), at += 2), ...);
    return text;
}

/* The call's values from their bytes. */
template <typename... P, size_t... I>
void Fill(Call<P...> &call, const void *const *values, std::index_sequence<I...>) {
    (std::memcpy(&std::get<I>(call.values), values[I], sizeof(std::decay_t<P>)), ...);
    (void)values;
}

/* A call to be launched; values: an address for each parameter; ranges stay until it is
 * dropped. NULL: there is no memory. */
template <typename... P>
void *Pack(void (*kernel)(P...), void (*each)(const Call<P...> &),
           const void *const *values, const Range *ranges, uint32_t numRanges,
           uint32_t threads) {
    static_assert((std::is_trivially_copyable_v<std::decay_t<P>> && ...),
                  "a kernel's parameters are numbers, addresses and plain structs");
    auto *call =
        new (std::nothrow) Call<P...>{kernel, {}, ranges, numRanges, threads, each};
    if (call != nullptr) Fill(*call, values, std::index_sequence_for<P...>{});
    return call;
}

/* The functions of a kernel's block and of dropping its call. */
template <typename... P> aclnnxKernel RunnerOf(void (*)(P...)) {
    return RunBlock<P...>;
}
template <typename... P> void (*DropperOf(void (*)(P...)))(void *) {
    return DropCall<P...>;
}
} // namespace detail
} // namespace AscendC
#endif
