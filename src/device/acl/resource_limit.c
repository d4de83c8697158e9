/* CPU device, runtime: how many cores operators may use.
 *
 * An NPU has cube cores (products) and vector cores; a limit for either is set for a
 * device, for a stream, or, by a stream's limits, for what a thread launches. A CPU's
 * cores are both: an operator uses at most as many threads as the smaller of the two
 * limits that hold for it, a thread's before its stream's before its device's. Limits are
 * between 1 and the number of CPUs.
 */
#include "device/acl/internal.h"

#include <unistd.h>

enum { KINDS = ACL_RT_DEV_RES_VECTOR_CORE + 1 };

/* 0: not set. Indexed by device, by kind. */
static _Atomic uint32_t of_device[RT_MAX_DEVICES][KINDS];
/* Those of the stream that the thread uses, copied when it began to. */
static _Thread_local uint32_t of_thread[KINDS];

/* Limits that are set: with none, operators need not ask. */
static _Atomic int32_t set_count;

static uint32_t all_cores(void) {
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    return n > 0 ? (uint32_t)n : 1;
}

static aclError type_check(const char *function, aclrtDevResLimitType type) {
    if ((unsigned)type < KINDS) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: type is %d; it must be 0 (cube cores) or 1 (vector cores)",
                     function, (int)type);
}

static aclError value_check(const char *function, aclrtDevResLimitType type,
                            uint32_t value) {
    aclError code = type_check(function, type);
    if (code != ACL_SUCCESS || (value >= 1 && value <= all_cores())) return code;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "%s: value is %u; it must be between 1 and %u, the CPUs here",
                     function, value, all_cores());
}

/* Operators ask from the first limit on. */
static void limit_set(_Atomic uint32_t *limit, uint32_t value) {
    uint32_t before = atomic_exchange(limit, value);
    int32_t change = (value != 0) - (before != 0);
    int32_t now = atomic_fetch_add(&set_count, change) + change;
    asnrtHook(ASNRT_HOOK_CORES, now > 0);
}

/* A stream that goes away takes its limits along. */
void rt_limits_forget(rt_stream *stream) {
    _Atomic uint32_t *limits = rt_stream_limits(stream);
    for (int k = 0; k < KINDS; k++)
        limit_set(&limits[k], 0);
}

static uint32_t smaller(uint32_t a, uint32_t b) {
    return a == 0 || (b != 0 && b < a) ? b : a;
}

uint32_t rt_core_limit(rt_stream *stream) {
    uint32_t limit = smaller(of_thread[0], of_thread[1]);
    if (limit == 0 && stream != NULL) {
        _Atomic uint32_t *own = rt_stream_limits(stream);
        limit = smaller(atomic_load(&own[0]), atomic_load(&own[1]));
    }
    if (limit != 0 || stream == NULL) return limit;
    _Atomic uint32_t *device = of_device[rt_stream_device(stream)];
    return smaller(atomic_load(&device[0]), atomic_load(&device[1]));
}

/* At most `value` cores of the kind for operators on the device. */
ASN_API aclError aclrtSetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                        uint32_t value) {
    aclError code = rt_device_check(deviceId);
    if (code == ACL_SUCCESS) code = value_check("aclrtSetDeviceResLimit", type, value);
    if (code == ACL_SUCCESS) limit_set(&of_device[deviceId][type], value);
    return code;
}

/* The device's limit; without one, the number of CPUs. */
ASN_API aclError aclrtGetDeviceResLimit(int32_t deviceId, aclrtDevResLimitType type,
                                        uint32_t *value) {
    RT_CHECK_NOT_NULL("aclrtGetDeviceResLimit", value);
    aclError code = rt_device_check(deviceId);
    if (code == ACL_SUCCESS) code = type_check("aclrtGetDeviceResLimit", type);
    if (code != ACL_SUCCESS) return code;
    uint32_t limit = atomic_load(&of_device[deviceId][type]);
    *value = limit ? limit : all_cores();
    return ACL_SUCCESS;
}

/* Takes both limits of the device back. */
ASN_API aclError aclrtResetDeviceResLimit(int32_t deviceId) {
    aclError code = rt_device_check(deviceId);
    for (int k = 0; code == ACL_SUCCESS && k < KINDS; k++)
        limit_set(&of_device[deviceId][k], 0);
    return code;
}

/* At most `value` cores of the kind for operators on the stream. */
ASN_API aclError aclrtSetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                        uint32_t value) {
    aclError code = value_check("aclrtSetStreamResLimit", type, value);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    limit_set(&rt_stream_limits(s)[type], value);
    return ACL_SUCCESS;
}

/* The stream's limit; without one, its device's. */
ASN_API aclError aclrtGetStreamResLimit(aclrtStream stream, aclrtDevResLimitType type,
                                        uint32_t *value) {
    RT_CHECK_NOT_NULL("aclrtGetStreamResLimit", value);
    aclError code = type_check("aclrtGetStreamResLimit", type);
    if (code != ACL_SUCCESS) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    *value = atomic_load(&rt_stream_limits(s)[type]);
    return *value ? ACL_SUCCESS
                  : aclrtGetDeviceResLimit(rt_stream_device(s), type, value);
}

/* Takes both limits of the stream back. */
ASN_API aclError aclrtResetStreamResLimit(aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    rt_limits_forget(s);
    return ACL_SUCCESS;
}

/* What the calling thread launches uses the stream's limits as they are now, on whatever
 * stream. */
ASN_API aclError aclrtUseStreamResInCurrentThread(aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    for (int k = 0; k < KINDS; k++)
        of_thread[k] = atomic_load(&rt_stream_limits(s)[k]);
    return ACL_SUCCESS;
}

/* Undoes aclrtUseStreamResInCurrentThread. */
ASN_API aclError aclrtUnuseStreamResInCurrentThread(aclrtStream stream) {
    aclError code;
    if (rt_stream_get(stream, &code) == NULL) return code;
    of_thread[0] = of_thread[1] = 0;
    return ACL_SUCCESS;
}

/* The limit that holds for what the calling thread launches on its default stream. */
ASN_API aclError aclrtGetResInCurrentThread(aclrtDevResLimitType type, uint32_t *value) {
    RT_CHECK_NOT_NULL("aclrtGetResInCurrentThread", value);
    aclError code = type_check("aclrtGetResInCurrentThread", type);
    if (code != ACL_SUCCESS) return code;
    *value = of_thread[type == ACL_RT_DEV_RES_VECTOR_CORE];
    return *value ? ACL_SUCCESS : aclrtGetStreamResLimit(NULL, type, value);
}
