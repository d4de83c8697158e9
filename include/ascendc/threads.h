/* Kernel bodies of one thread, as CUDA's are written: blockIdx, blockDim, threadIdx,
 * gridDim. The threads of a block run one after the other on one thread of the pool, so
 * none may wait for another: __syncthreads() does not compile, and neither does
 * __shared__. Not part of kernel_operator.h, whose programs use these names for
 * themselves. */
#ifndef ASCENDC_THREADS_H_
#define ASCENDC_THREADS_H_

#include "ascendc/core.h"

namespace AscendC {
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
    gridDim = {b.count, 1, 1};
    blockDim = {call.threads, 1, 1};
    blockIdx = {b.index, 0, 0};
    for (uint32_t t = 0; t < call.threads; t++) {
        threadIdx = {t, 0, 0};
        call.Once();
    }
}
} // namespace detail
} // namespace AscendC
#endif
