/* CPU device, runtime: failed tasks, told to the program's callback at once.
 *
 * The failure also stays on its stream and is returned by the next synchronisation.
 *
 * The program's callback is called on the thread where the task failed, without a lock
 * held.
 */
#include "device/acl/internal.h"

#include <sys/syscall.h>
#include <unistd.h>

/* What a callback may ask for; lives on the stack of its call. */
struct rtExceptionInfo {
    uint32_t task, stream, thread, device, code;
};

static _Atomic(aclrtExceptionInfoCallback) callback;
static _Atomic uint32_t tasks;
static _Thread_local uint32_t last_task;

uint32_t rt_task_number(void) {
    return last_task = atomic_fetch_add_explicit(&tasks, 1, memory_order_relaxed) + 1;
}

void rt_exception_report(int32_t device, int32_t stream, uint32_t task, int32_t code) {
    aclrtExceptionInfoCallback fn = atomic_load(&callback);
    if (fn == NULL) return;
    struct rtExceptionInfo info = {task, (uint32_t)stream, (uint32_t)syscall(SYS_gettid),
                                   (uint32_t)device, (uint32_t)code};
    fn(&info);
}

/* Calls `callback` (NULL: none) on the thread where a task fails, when it does. The
 * information is valid during the call. */
ASN_API aclError aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback fn) {
    atomic_store(&callback, fn);
    return ACL_SUCCESS;
}

/* The failed task's number (aclrtGetThreadLastTaskId); UINT32_MAX for NULL. */
ASN_API uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return info ? info->task : UINT32_MAX;
}

/* The stream's number (aclrtStreamGetId); UINT32_MAX for NULL. */
ASN_API uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return info ? info->stream : UINT32_MAX;
}

/* The operating system's number of the thread that ran the task; UINT32_MAX for NULL. */
ASN_API uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return info ? info->thread : UINT32_MAX;
}

/* The device; UINT32_MAX for NULL. */
ASN_API uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo *info) {
    return info ? info->device : UINT32_MAX;
}

/* The code that the stream's synchronisation will return; UINT32_MAX for NULL. */
ASN_API uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo *info) {
    return info ? info->code : UINT32_MAX;
}

/* The number of the last task that the calling thread queued. A task that is done on the
 * thread that launches it has none (0 in an exception). */
ASN_API aclError aclrtGetThreadLastTaskId(uint32_t *taskId) {
    RT_CHECK_NOT_NULL("aclrtGetThreadLastTaskId", taskId);
    *taskId = last_task;
    return ACL_SUCCESS;
}
