/* CPU device, runtime: streams that write a number to memory, and that wait for one.
 *
 * A number has 64 bits. A wait ends when the condition holds of the number in memory:
 * at least as large (cyclically), equal, a common bit, or a bit that neither has. It
 * keeps its stream's thread, looking more and more seldom, up to every 50 us; aborting
 * the stream ends it.
 */
#include "device/acl/internal.h"

#include <time.h>

typedef struct {
    _Atomic uint64_t *at;
    uint64_t value;
    uint32_t flag;
    rt_stream *stream;
    uint32_t aborts; /* of the stream when the wait was launched */
} value_task;

static int32_t task_write(void *arg) {
    const value_task *t = arg;
    atomic_store_explicit(t->at, t->value, memory_order_release);
    return 0;
}

static bool holds(const value_task *t) {
    uint64_t now = atomic_load_explicit(t->at, memory_order_acquire);
    switch (t->flag) {
    case ACL_VALUE_WAIT_GEQ: return (int64_t)(now - t->value) >= 0;
    case ACL_VALUE_WAIT_EQ: return now == t->value;
    case ACL_VALUE_WAIT_AND: return (now & t->value) != 0;
    default: return ~(now | t->value) != 0;
    }
}

static int32_t task_wait(void *arg) {
    const value_task *t = arg;
    enum { SHORTEST = 200, LONGEST = 50000 }; /* ns */
    for (long pause = SHORTEST; !holds(t);
         pause = pause * 2 < LONGEST ? pause * 2 : LONGEST) {
        if (rt_stream_aborts(t->stream) != t->aborts)
            return asnrtFail(ACL_ERROR_FAILURE, "aclrtValueWait: the stream was aborted");
        nanosleep(&(struct timespec){0, pause}, NULL);
    }
    return 0;
}

static aclError value_check(const char *function, const void *address) {
    RT_CHECK_NOT_NULL(function, address);
    if ((uintptr_t)address % sizeof(uint64_t) == 0 &&
        rt_readable(address, sizeof(uint64_t)))
        return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: devAddr %p is no memory, or not aligned to 8 bytes", function,
                     address);
}

/* Writes 64 bits to `devAddr` when the stream gets there; flag must be 0. */
ASN_API aclError aclrtValueWrite(void *devAddr, uint64_t value, uint32_t flag,
                                 aclrtStream stream) {
    aclError code = value_check("aclrtValueWrite", devAddr);
    if (code != ACL_SUCCESS) return code;
    if (flag != 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtValueWrite: flag is %u; it must be 0", flag);
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    value_task t = {devAddr, value, flag, s, 0};
    return rt_stream_do(s, task_write, &t, sizeof t, 1);
}

/* The stream waits until the condition `flag` (ACL_VALUE_WAIT_...) holds of the 64 bits
 * at `devAddr` and `value`. */
ASN_API aclError aclrtValueWait(void *devAddr, uint64_t value, uint32_t flag,
                                aclrtStream stream) {
    aclError code = value_check("aclrtValueWait", devAddr);
    if (code != ACL_SUCCESS) return code;
    if (flag > ACL_VALUE_WAIT_NOR)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtValueWait: flag is %u; it must be between 0 and 3", flag);
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    value_task t = {devAddr, value, flag, s, rt_stream_aborts(s)};
    return rt_stream_queue(s, task_wait, &t, sizeof t);
}
