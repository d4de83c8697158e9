/* CPU device, runtime: initialisation, devices, contexts, fork.
 *
 * A device is the whole CPU; ASNUMPY_CPU_DEVICES=N shows N of them, to test programs that
 * use several. aclrtSetDevice is counted per device against aclrtResetDevice; while the
 * count is positive the device has a primary context with a default stream. A thread that
 * never set a device or context uses the first device that the process set: programs
 * start worker threads without telling the runtime.
 *
 * After fork the child keeps devices, contexts, streams and memory. Worker threads are
 * gone and their queued tasks with them: they belong to the parent.
 */
#include "device/acl/internal.h"

#include <time.h>

static asnd_arena contexts = ASN_ARENA_INIT("context", sizeof(rt_context), 1 << 16, true);
static _Thread_local rt_context *current;

/* Set devices, under the lock; `first` is read without it. */
static struct {
    pthread_mutex_t lock;
    bool initialised, finalised;
    int32_t references[RT_MAX_DEVICES];
    rt_context *primary[RT_MAX_DEVICES];
    _Atomic(rt_context *) first; /* for threads that never chose */
} runtime = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Unaffected by changes of the clock's time. */
int64_t rt_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* When a wait of so many milliseconds ends. */
void rt_deadline(int32_t timeout_ms, struct timespec *deadline) {
    int64_t end = rt_now() + (int64_t)timeout_ms * 1000000;
    deadline->tv_sec = end / 1000000000;
    deadline->tv_nsec = end % 1000000000;
}

void rt_cond_init(pthread_cond_t *cond) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(cond, &attr);
    pthread_condattr_destroy(&attr);
}

/* ---- fork */

/* Takes every lock before the fork and gives them back in both processes, in the order of
 * this list: no thread that is gone holds one in the child. */
static void fork_all(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&runtime.lock);
        asn_arena_lock(&contexts);
    }
    rt_stream_fork(stage);
    rt_event_fork(stage);
    rt_callback_fork(stage);
    rt_memory_fork(stage);
    rt_capture_fork(stage);
    rt_task_group_fork(stage);
    rt_virtual_fork(stage);
    rt_profile_fork(stage);
    rt_host_fork(stage);
    if (stage != RT_FORK_PREPARE) {
        asn_arena_unlock(&contexts);
        pthread_mutex_unlock(&runtime.lock);
    }
}

static void fork_prepare(void) {
    fork_all(RT_FORK_PREPARE);
}
static void fork_parent(void) {
    fork_all(RT_FORK_PARENT);
}
static void fork_child(void) {
    fork_all(RT_FORK_CHILD);
}

__attribute__((constructor)) static void register_fork(void) {
    pthread_atfork(fork_prepare, fork_parent, fork_child);
}

/* ---- initialisation */

/* Initialises the runtime; once per process until aclFinalize. The configuration file is
 * accepted and not read: it configures NPU dumps. A setting with a wrong value is refused
 * (base/settings.h). */
ASN_API aclError aclInit(const char *configPath) {
    (void)configPath;
    asn_status status = asn_settings_check();
    if (status != ASN_OK) return rt_fail_status(status);
    pthread_mutex_lock(&runtime.lock);
    bool again = runtime.initialised;
    runtime.initialised = true;
    runtime.finalised = false;
    pthread_mutex_unlock(&runtime.lock);
    if (again)
        return asnrtFail(ACL_ERROR_REPEAT_INITIALIZE, "aclInit: already initialised");
    return ACL_SUCCESS;
}

/* Undoes aclInit. Devices that are still set stay usable. */
ASN_API aclError aclFinalize(void) {
    pthread_mutex_lock(&runtime.lock);
    bool was = runtime.initialised, again = runtime.finalised;
    runtime.initialised = false;
    runtime.finalised |= was;
    pthread_mutex_unlock(&runtime.lock);
    if (was) return ACL_SUCCESS;
    if (again)
        return asnrtFail(ACL_ERROR_REPEAT_FINALIZE, "aclFinalize: already finalised");
    return asnrtFail(ACL_ERROR_UNINITIALIZE, "aclFinalize: aclInit was not called");
}

/* ---- devices */

/* Read once: a program sees the same number for its life. */
int32_t rt_device_count(void) {
    static _Atomic int32_t count;
    int32_t n = atomic_load_explicit(&count, memory_order_relaxed);
    if (n == 0) {
        n = (int32_t)asn_setting_number(ASN_SETTING_CPU_DEVICES, 1);
        atomic_store_explicit(&count, n, memory_order_relaxed);
    }
    return n;
}

aclError rt_device_check(int32_t device) {
    if (device >= 0 && device < rt_device_count()) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_INVALID_DEVICEID,
                     "device %d does not exist: there are %d, numbered from 0", device,
                     rt_device_count());
}

/* A context with its default stream; NULL, with the error set, when there is no room for
 * either. */
static rt_context *context_new(int32_t device, bool primary) {
    rt_context *c = asn_arena_take(&contexts);
    if (c == NULL) return NULL;
    c->device = device;
    c->primary = primary;
    c->stream = rt_stream_new(device);
    if (c->stream == NULL) {
        asn_arena_give(&contexts, c);
        return NULL;
    }
    asn_slot_publish(c);
    return c;
}

/* Its magic is cleared already; waits for its stream. */
static void context_free(rt_context *c) {
    rt_stream_free(c->stream, false);
    asn_arena_give(&contexts, c);
}

/* Makes `deviceId` the calling thread's device, with its default context; counted against
 * aclrtResetDevice. */
ASN_API aclError aclrtSetDevice(int32_t deviceId) {
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&runtime.lock);
    if (runtime.primary[deviceId] == NULL) {
        runtime.primary[deviceId] = context_new(deviceId, true);
        if (runtime.primary[deviceId] == NULL) code = rt_fail_status(ASN_ERR_MEMORY);
    }
    rt_context *c = runtime.primary[deviceId];
    if (c != NULL) {
        runtime.references[deviceId]++;
        current = c;
        rt_context *none = NULL;
        atomic_compare_exchange_strong(&runtime.first, &none, c);
    }
    pthread_mutex_unlock(&runtime.lock);
    return code;
}

/* Drops the primary context when the last reference goes; its tasks are finished first.
 */
static aclError device_reset(int32_t device, bool force) {
    aclError code = rt_device_check(device);
    if (code != ACL_SUCCESS) return code;
    rt_context *gone = NULL;
    pthread_mutex_lock(&runtime.lock);
    if (runtime.references[device] == 0) {
        pthread_mutex_unlock(&runtime.lock);
        return asnrtFail(ACL_ERROR_RT_INVALID_DEVICEID,
                         "device %d is not set: aclrtSetDevice comes first", device);
    }
    /* Only the last reference, or force, ends the context. */
    runtime.references[device] = force ? 0 : runtime.references[device] - 1;
    if (runtime.references[device] == 0) {
        gone = runtime.primary[device];
        runtime.primary[device] = NULL;
        (void)asn_slot_retire(gone);
        rt_context *next = NULL;
        for (int i = 0; i < RT_MAX_DEVICES && next == NULL; i++)
            next = runtime.primary[i];
        if (atomic_load(&runtime.first) == gone) atomic_store(&runtime.first, next);
    }
    pthread_mutex_unlock(&runtime.lock);
    /* Without the lock: waiting for tasks must not stop other threads' calls. */
    if (gone != NULL) {
        if (current == gone) current = NULL;
        context_free(gone);
    }
    return ACL_SUCCESS;
}

/* Undoes one aclrtSetDevice; the last one destroys the default context after its tasks
 * ended. */
ASN_API aclError aclrtResetDevice(int32_t deviceId) {
    return device_reset(deviceId, false);
}

/* Undoes all aclrtSetDevice calls of the process at once. */
ASN_API aclError aclrtResetDeviceForce(int32_t deviceId) {
    return device_reset(deviceId, true);
}

/* The calling thread's device. */
ASN_API aclError aclrtGetDevice(int32_t *deviceId) {
    RT_CHECK_NOT_NULL("aclrtGetDevice", deviceId);
    aclError code;
    rt_context *c = rt_context_current(&code);
    if (c == NULL) return code;
    *deviceId = c->device;
    return ACL_SUCCESS;
}

/* How many devices there are: 1, or ASNUMPY_CPU_DEVICES. */
ASN_API aclError aclrtGetDeviceCount(uint32_t *count) {
    RT_CHECK_NOT_NULL("aclrtGetDeviceCount", count);
    *count = (uint32_t)rt_device_count();
    return ACL_SUCCESS;
}

/* The number of a device for the runtime: devices are not renumbered here. */
ASN_API aclError aclrtGetLogicDevIdByUserDevId(const int32_t userDevid,
                                               int32_t *const logicDevId) {
    RT_CHECK_NOT_NULL("aclrtGetLogicDevIdByUserDevId", logicDevId);
    aclError code = rt_device_check(userDevid);
    if (code == ACL_SUCCESS) *logicDevId = userDevid;
    return code;
}

/* Whether the device has its default context (1: it is set by this process); flags are
 * reserved: 0. */
ASN_API aclError aclrtGetPrimaryCtxState(int32_t deviceId, uint32_t *flags,
                                         int32_t *active) {
    RT_CHECK_NOT_NULL("aclrtGetPrimaryCtxState", active);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&runtime.lock);
    *active = runtime.primary[deviceId] != NULL;
    pthread_mutex_unlock(&runtime.lock);
    if (flags != NULL) *flags = 0;
    return ACL_SUCCESS;
}

/* ---- contexts */

/* A thread's own context may have been destroyed by another thread: that is an error,
 * unless it never chose one. */
rt_context *rt_context_current(aclError *code) {
    rt_context *c = current;
    if (__builtin_expect(c != NULL && asn_arena_alive(&contexts, c), 1)) return c;
    if (c == NULL) c = atomic_load_explicit(&runtime.first, memory_order_acquire);
    if (c != NULL && asn_arena_alive(&contexts, c)) return c;
    aclError failure =
        asnrtFail(ACL_ERROR_RT_CONTEXT_NULL, "no device is set on this thread: "
                                             "aclrtSetDevice comes first");
    if (code != NULL) *code = failure;
    return NULL;
}

/* Creates a context with its own default stream and makes it the calling thread's. */
ASN_API aclError aclrtCreateContext(aclrtContext *context, int32_t deviceId) {
    RT_CHECK_NOT_NULL("aclrtCreateContext", context);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    rt_context *c = context_new(deviceId, false);
    if (c == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    *context = current = c;
    return ACL_SUCCESS;
}

/* 0 when the handle is a live context. */
static aclError context_check(const char *function, aclrtContext context) {
    if (context == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: context is NULL", function);
    if (asn_arena_alive(&contexts, context)) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                     "%s: %p is not a context, or was destroyed", function, context);
}

/* Destroys a context of aclrtCreateContext after its default stream's tasks ended. */
ASN_API aclError aclrtDestroyContext(aclrtContext context) {
    aclError code = context_check("aclrtDestroyContext", context);
    if (code != ACL_SUCCESS) return code;
    rt_context *c = context;
    if (c->primary)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtDestroyContext: a default context is destroyed by "
                         "aclrtResetDevice");
    if (!asn_slot_retire(c)) return context_check("aclrtDestroyContext", context);
    if (current == c) current = NULL;
    context_free(c);
    return ACL_SUCCESS;
}

/* Makes `context` the calling thread's. */
ASN_API aclError aclrtSetCurrentContext(aclrtContext context) {
    aclError code = context_check("aclrtSetCurrentContext", context);
    if (code == ACL_SUCCESS) current = context;
    return code;
}

/* The calling thread's context. */
ASN_API aclError aclrtGetCurrentContext(aclrtContext *context) {
    RT_CHECK_NOT_NULL("aclrtGetCurrentContext", context);
    aclError code;
    rt_context *c = rt_context_current(&code);
    if (c == NULL) return code;
    *context = c;
    return ACL_SUCCESS;
}
