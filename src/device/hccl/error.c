/* CPU device, collective communication: results, messages, time. */
#include "device/hccl/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The message is the runtime's, one for each thread, cut at 511 characters. */
HcclResult hccl_fail(HcclResult code, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    (void)asnrtFail((int32_t)code, "%s", text);
    return code;
}

/* Monotonic: deadlines do not move when the clock is set. */
int64_t hccl_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A value that is no number is ignored, as an unset variable is. */
int64_t hccl_seconds(const char *variable, int64_t otherwise) {
    const char *text = getenv(variable);
    char *end = NULL;
    if (text == NULL || *text == 0) return otherwise;
    long long value = strtoll(text, &end, 10);
    return *end == 0 && value >= 0 && value < 1 << 30 ? value : otherwise;
}

/* What a result means, in words; never NULL. */
ASN_API const char *HcclGetErrorString(HcclResult code) {
    static const char *const texts[] = {
        [HCCL_SUCCESS] = "success",
        [HCCL_E_PARA] = "wrong parameter",
        [HCCL_E_PTR] = "NULL pointer",
        [HCCL_E_MEMORY] = "out of memory",
        [HCCL_E_INTERNAL] = "internal error",
        [HCCL_E_NOT_SUPPORT] = "not supported",
        [HCCL_E_NOT_FOUND] = "not found",
        [HCCL_E_UNAVAIL] = "not available",
        [HCCL_E_SYSCALL] = "a system call failed",
        [HCCL_E_TIMEOUT] = "timeout",
        [HCCL_E_OPEN_FILE_FAILURE] = "a file cannot be read",
        [HCCL_E_TCP_CONNECT] = "a TCP connection failed",
        [HCCL_E_ROCE_CONNECT] = "a RoCE connection failed",
        [HCCL_E_TCP_TRANSFER] = "a transfer over TCP failed",
        [HCCL_E_ROCE_TRANSFER] = "a transfer over RoCE failed",
        [HCCL_E_RUNTIME] = "the runtime failed",
        [HCCL_E_DRV] = "the driver failed",
        [HCCL_E_PROFILING] = "profiling failed",
        [HCCL_E_CCE] = "CCE failed",
        [HCCL_E_NETWORK] = "the network failed",
        [HCCL_E_AGAIN] = "try again",
        [HCCL_E_REMOTE] = "another rank failed",
        [HCCL_E_SUSPENDING] = "the communicator is suspended",
    };
    size_t index = (size_t)code;
    return index < sizeof texts / sizeof *texts ? texts[index] : "unknown result";
}
