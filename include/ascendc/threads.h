/* Kernel bodies of one thread, as CUDA's are written: blockIdx, blockDim, threadIdx,
 * gridDim. The threads of a block run one after the other on one thread of the pool, so
 * none may wait for another: __syncthreads() does not compile, and neither does
 * __shared__. Such a kernel is launched with
 *
 *     AscendC::LaunchThreads("axpy", axpy, blocks, threads, stream, x, y, a, n);
 *
 * Not part of kernel_operator.h, whose programs use these names for
 * themselves. */
#ifndef ASCENDC_THREADS_H_
#define ASCENDC_THREADS_H_

#include "ascendc/launch.h"

namespace AscendC {
constexpr uint32_t MOST_THREADS = 1024; /* of a block */

namespace detail {
struct Dim3 {
    uint32_t x = 1, y = 1, z = 1;
};
} // namespace detail
} // namespace AscendC

/* Of the body that the calling thread runs. y and z have one member each. */
#define ASCENDC_OF_THREAD __attribute__((visibility("hidden"))) inline thread_local
ASCENDC_OF_THREAD AscendC::detail::Dim3 gridDim, blockDim;
ASCENDC_OF_THREAD AscendC::detail::Dim3 blockIdx{0, 0, 0}, threadIdx{0, 0, 0};
#undef ASCENDC_OF_THREAD

#define __device__
#define __shared__                                                                       \
    _Pragma("GCC error \"__shared__: threads of a block share nothing here\"")
__attribute__((error("__syncthreads: the threads of a block run one after the other, so "
                     "none can wait for the others"))) void __syncthreads();

namespace AscendC {
namespace detail {
/* What a block of such a kernel runs (launch.h): the call's body for each of its threads.
 */
template <typename Call> void RunThreads(const Call &call) {
    const Block &b = Current("threadIdx");
    if (call.threads < 1 || call.threads > MOST_THREADS)
        Fail("threadIdx", "a block of %u threads; it may have 1 to %u", call.threads,
             MOST_THREADS);
    gridDim = {b.count, 1, 1};
    blockDim = {call.threads, 1, 1};
    blockIdx = {b.index, 0, 0};
    for (uint32_t t = 0; t < call.threads; t++) {
        threadIdx = {t, 0, 0};
        call.Once();
    }
}
} // namespace detail

/* Launch for such a kernel: `threads` threads in each block, 1 to MOST_THREADS. */
template <typename... P, typename... A>
uint32_t LaunchThreads(const char *name, void (*kernel)(P...), uint32_t blocks,
                       uint32_t threads, void *stream, A &&...args) {
    return detail::Submit(name, kernel, detail::RunThreads<detail::Call<P...>>, blocks,
                          threads, stream, std::forward<A>(args)...);
}
} // namespace AscendC
#endif
