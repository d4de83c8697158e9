/* Ascend C on the CPU: the block that runs, and how it fails.
 *
 * A kernel is an ordinary C++ function here. The CPU device calls it once for each block
 * (launch.h), on the threads of its pool; `detail::block` is what the calling thread
 * runs: its number, its unified buffer, the buffers that InitBuffer took from it, its
 * event flags. Everything an operation can check against that is checked, and what is
 * wrong ends the block with a C++ exception that never leaves launch.h: the message
 * becomes the stream's error.
 *
 * Written from CANN's public documentation of the interface; what is not documented there
 * is not here. docs/guide/ascendc.md says what there is. */
#ifndef ASCENDC_CORE_H_
#define ASCENDC_CORE_H_

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>

/* Qualifiers of functions and addresses mean nothing to a host compiler. */
#define __global__
#define __aicore__
#define __gm__
#define GM_ADDR __gm__ uint8_t *

namespace AscendC {
/* The sizes of Ascend 910B: a block's unified buffer, and its unit of 32 bytes. */
constexpr uint32_t ONE_BLK_SIZE = 32;
constexpr uint32_t ONE_REPEAT_BYTE_SIZE = 256;

namespace detail {
/* What a block may have at most; the ids of an event are 0 to EVENT_IDS - 1. */
constexpr uint32_t UNIFIED_BUFFER = 192 * 1024;
constexpr uint32_t MOST_BUFFERS = 64; /* of all queues and TBufs of a block */
constexpr int EVENTS = 27, EVENT_IDS = 8;

/* What ends a block; caught by launch.h alone. */
struct Fault {
    char text[192];
};

/* Ends the block: "OPERATION: " and the sentence, as printf makes it. */
[[noreturn]] inline void Fail(const char *operation, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
inline void Fail(const char *operation, const char *format, ...) {
    Fault fault;
    int used = std::snprintf(fault.text, sizeof fault.text, "%s: ", operation);
    va_list args;
    va_start(args, format);
    std::vsnprintf(fault.text + used, sizeof fault.text - static_cast<size_t>(used),
                   format, args);
    va_end(args);
    throw fault;
}

/* A part of the unified buffer. Each AllocTensor and FreeTensor changes `generation`, so
 * that a LocalTensor of before is told from one of now. */
enum class State : uint8_t { FREE, HELD, QUEUED };
struct Buffer {
    unsigned char *data;
    const void *owner; /* the queue or TBuf */
    uint32_t bytes, generation;
    State state;
    bool pooled; /* of a queue, whose tensors must come back */
};

/* Memory outside the block, [begin, end). */
struct Range {
    uintptr_t begin, end;
};

/* What SetVectorMask and SetMaskCount left (mask.h): a bit for each element of an
 * iteration, or, in the counter mode, the number of elements in words[0]. */
struct VectorMask {
    bool counts = false;     /* SetMaskCount: how operations take the mask */
    bool set_counts = false; /* how the last SetVectorMask meant it */
    uint64_t words[2] = {~uint64_t(0), ~uint64_t(0)};
};

/* What copies to global memory do to what lies there (atomic.h). */
enum class Atomic : uint8_t { NONE, ADD, MAX, MIN };

struct Block {
    uint32_t index, count;
    unsigned char *unified; /* UNIFIED_BUFFER bytes, aligned to 32 */
    uint32_t used, numBuffers;
    Buffer buffers[MOST_BUFFERS];
    bool flags[EVENTS][EVENT_IDS]; /* SetFlag without WaitFlag so far */
    uint8_t taken[EVENTS];         /* AllocEventID: a bit per id */
    void *pipe;                    /* the TPipe, if there is one */
    VectorMask mask;
    Atomic atomic;
    const char *atomicType; /* the elements that SetAtomicAdd<T> named */
    /* What global memory there is: the arrays of the call, or, if `find` is set, the
     * memory that the runtime gave. */
    const Range *ranges;
    uint32_t numRanges;
    int32_t (*find)(const void *p, uintptr_t *begin, uintptr_t *end);
};

/* Hidden: a library of kernels has its own, whatever else the process has loaded. */
__attribute__((visibility("hidden"))) inline thread_local Block *block = nullptr;

/* What the calling thread runs; a failure outside of a kernel. */
inline Block &Current(const char *operation) {
    if (block == nullptr) Fail(operation, "no kernel runs on this thread");
    return *block;
}

/* Whether T is one of the others. */
template <typename T, typename... Others>
inline constexpr bool isAny = (std::is_same_v<T, Others> || ...);
} // namespace detail

/* The number of this block, from 0, and how many were launched. */
__aicore__ inline int64_t GetBlockIdx() {
    return detail::Current("GetBlockIdx").index;
}
__aicore__ inline int64_t GetBlockNum() {
    return detail::Current("GetBlockNum").count;
}

/* What a kernel tells who debugs it, on standard output; blocks run beside each other, so
 * their lines mix. */
template <typename... A>
__aicore__ inline void printf(__gm__ const char *format, A... values) {
    std::printf(format, values...);
}
} // namespace AscendC

#define PRINTF ::AscendC::printf

/* ASSERT(condition && "what"): ends the block, and with it the kernel, when it is false.
 */
#undef ASSERT
#define ASSERT(condition)                                                                \
    ((condition) ? static_cast<void>(0)                                                  \
                 : ::AscendC::detail::Fail("ASSERT", "%s is false (line %d)",            \
                                           #condition, __LINE__))
#endif
