/* CPU device, runtime: what its files share. Nothing here leaves libascendcl. */
#ifndef ASN_DEVICE_ACL_INTERNAL_H
#define ASN_DEVICE_ACL_INTERNAL_H

#include "base/alloc.h"
#include "base/forks.h"
#include "base/settings.h"
#include "base/status.h"
#include "device/acl/asnrt.h"

typedef struct rt_stream rt_stream;

typedef struct rt_context {
    asnd_slot slot;
    int32_t device;
    bool primary; /* made by aclrtSetDevice; lives while the device is set */
    rt_stream *stream;
} rt_context;

enum { RT_MAX_DEVICES = ASN_MAX_DEVICES };

/* Contexts (device.c). The calling thread's context, or the one of the first set device;
 * NULL, with the error set and *code holding the aclError, when no device is set. */
rt_context *rt_context_current(aclError *code);
int32_t rt_device_count(void);
aclError rt_device_check(int32_t device);

/* When, by which thread and under which number something was launched; launched 0:
 * nobody asked. */
typedef struct {
    int64_t launched;
    uint64_t correlation;
    uint32_t launcher;
} rt_launch;

/* A queued task. */
typedef struct rt_task {
    struct rt_task *next;
    asnrtTask run;
    void (*drop)(void *);
    void *arg;
    uint32_t id;
    rt_launch launch;
} rt_task;

/* Captured tasks (capture.c): a graph owns those it was given. A stream is a member of
 * the capture, by number; 0 is the one that began it. */
typedef struct rt_graph rt_graph;
void rt_graph_add(rt_graph *graph, uint32_t member, rt_task *task);
void rt_graph_abandon(rt_graph *graph, uint32_t member); /* the stream goes away */
/* What an event stands for that is recorded on a captured stream; *mark is NULL on
 * another. A stream that waits for it is captured from there on, too. */
typedef struct rt_mark rt_mark;
aclError rt_mark_take(rt_stream *stream, rt_mark **mark);
rt_mark *rt_mark_share(rt_mark *mark); /* NULL: nothing to share, or to release */
void rt_mark_release(rt_mark *mark);
bool rt_mark_is_open(const rt_mark *mark); /* that capture has not ended */
aclError rt_mark_wait(rt_stream *stream, const rt_mark *mark);
/* 0: what is launched on the stream goes to no group of tasks, which takes no events
 * (task_group.c). */
aclError rt_group_check(const char *function, rt_stream *stream);

/* Around operators (hooks.c, allocator.c, profile/). */
void asnrtHook(uint32_t hook, bool on);
void rt_hooks_worker(rt_stream *stream); /* the calling thread works for it */
rt_stream *rt_hooks_stream(void);        /* that stream; NULL: a program's own thread */
const void *rt_allocator_enter(const rt_stream *stream);
void rt_allocator_leave(const void *before);
void rt_allocator_forget(const rt_stream *stream); /* whose tasks have ended */
void rt_hooks_launch(rt_launch *launch);           /* by the calling thread, now */
void rt_hooks_task(const rt_launch *launch);       /* the calling worker starts it */
void rt_profile_operator(const char *name, const asnrtScope *scope, int64_t end);
int64_t rt_profile_now(void);      /* nanoseconds of CLOCK_MONOTONIC_RAW */
uint32_t rt_profile_thread(void);  /* the calling one's number in the system */
uint64_t rt_activity_launch(void); /* a tool's number for a launch (profile/mspti.c) */
void rt_activity_operator(const char *name, const asnrtScope *scope, int64_t end);
static inline bool rt_profiled(void) {
    return (atomic_load_explicit(&asnrtHooks, memory_order_relaxed) &
            (ASNRT_HOOK_PROFILE | ASNRT_HOOK_ACTIVITY)) != 0;
}
uint32_t rt_core_limit(rt_stream *stream); /* 0: none (resource_limit.c) */
void rt_limits_forget(rt_stream *stream);

/* Failed tasks (exception.c). Task numbers count from 1 per process; 0 is a task that ran
 * on the thread that launched it. */
uint32_t rt_task_number(void);
void rt_exception_report(int32_t device, int32_t stream, uint32_t task, int32_t code);

/* Streams (stream.c). */
rt_stream *rt_stream_new(int32_t device);
void rt_stream_free(rt_stream *stream, bool drop_tasks); /* waits for its tasks */
rt_stream *rt_stream_get(aclrtStream handle, aclError *code);
aclError rt_stream_wait(rt_stream *stream, int32_t timeout_ms); /* -1: no limit */
aclError rt_streams_wait(int32_t device, int32_t timeout_ms);
aclError rt_stream_abort(rt_stream *stream); /* drops what is queued */
aclError rt_streams_abort(int32_t device);
int32_t rt_stream_device(const rt_stream *stream);
int32_t rt_stream_id(const rt_stream *stream);
uint32_t rt_stream_aborts(const rt_stream *stream);
uint32_t *rt_stream_tag(rt_stream *stream);
_Atomic uint32_t *rt_stream_limits(rt_stream *stream);    /* by kind of core; 0: none */
void rt_stream_stops(rt_stream *stream, bool at_failure); /* stream_attribute.c */
bool rt_stream_does_stop(rt_stream *stream);
/* By who has a reference, or knows that somebody has. */
void rt_graph_hold(rt_graph *graph);
void rt_graph_release(rt_graph *graph);
bool rt_stream_is_captured(const rt_stream *stream);
/* What the stream is captured into, with a reference for the caller, who gives it back
 * (rt_graph_release): another thread may end the capture. NULL: it is not captured. */
rt_graph *rt_stream_graph(rt_stream *stream, uint32_t *member);
/* Sets the graph and the stream's number there, if the present one is as expected. */
bool rt_stream_capture(rt_stream *stream, rt_graph *expected, rt_graph *graph,
                       uint32_t member);

/* Runs `run` inline when it is small and the stream idle, else queues a copy of its
 * argument. */
aclError rt_stream_do(rt_stream *stream, asnrtTask run, const void *arg, size_t size,
                      double work_ns);
/* Queues it always: a task that waits must not keep its caller. */
aclError rt_stream_queue(rt_stream *stream, asnrtTask run, const void *arg, size_t size);

/* Callback subscriptions (callback.c): forgets those of a stream that goes away. */
void rt_callbacks_forget(rt_stream *stream);

/* Plain objects (object.c): slots of an arena, checked at every use. A new one is zeroed;
 * NULL, with the error set, when there is no room. */
void *rt_object_new(asnd_arena *arena) __attribute__((warn_unused_result));
aclError rt_object_check(asnd_arena *arena, const char *function, const char *parameter,
                         const void *handle);
aclError rt_object_free(asnd_arena *arena, const char *function, const char *parameter,
                        const void *handle);
bool rt_readable(const void *p, size_t size); /* without touching it */

/* Device memory that is no block (virtual.c) counts against the same limit; false: there
 * is not that much. */
bool rt_memory_take(int32_t device, size_t size);
void rt_memory_give(int32_t device, size_t size);
size_t rt_memory_limit(void);
/* Allocations by address (blocks.c), under the lock of memory.c. */
bool rt_blocks_add(uintptr_t begin, size_t size); /* false: out of memory */
void rt_blocks_remove(uintptr_t begin);           /* one that was added */
/* The block that the address lies in, or, with false, what lies between two. */
bool rt_blocks_find(uintptr_t address, uintptr_t *begin, uintptr_t *end);
void rt_ipc_forget(uintptr_t begin); /* a block that goes away (ipc_memory.c) */

/* A process's file in memory, open here: its descriptor there is `number`, its name in
 * memfd_create begins with `name`. -1: there is none that this process may open. */
int rt_ipc_file(int owner, int number, const char *name);

/* Events of several processes (ipc_event.c): new and open return NULL with the error set
 * or no memory; a record has a number, which is reached and waited for. */
typedef struct rt_ipc_event rt_ipc_event;
rt_ipc_event *rt_ipc_event_new(void);
rt_ipc_event *rt_ipc_event_open(const aclrtIpcEventHandle *handle);
void rt_ipc_event_free(rt_ipc_event *event);
aclError rt_ipc_event_handle(const rt_ipc_event *event, aclrtIpcEventHandle *handle);
uint32_t rt_ipc_event_record(rt_ipc_event *event);
void rt_ipc_event_reach(rt_ipc_event *event, uint32_t number);
uint32_t rt_ipc_event_newest(const rt_ipc_event *event);
bool rt_ipc_event_reached(const rt_ipc_event *event, uint32_t number);
aclError rt_ipc_event_wait(rt_ipc_event *event, uint32_t number, int32_t timeout_ms);

/* Time since an arbitrary start, in nanoseconds. */
int64_t rt_now(void);
void rt_deadline(int32_t timeout_ms, struct timespec *deadline); /* CLOCK_MONOTONIC */
void rt_cond_init(pthread_cond_t *cond);                         /* on CLOCK_MONOTONIC */

/* The aclError of a status whose message is asn_error_message(). */
static inline aclError rt_fail_status(asn_status status) {
    return asnrtFail(asn_status_acl(status), "%s", asn_error_message());
}

/* Fork: called with every lock of the runtime free of waiters (device.c registers them).
 */
void rt_stream_fork(int stage);
void rt_event_fork(int stage);
void rt_memory_fork(int stage);
void rt_callback_fork(int stage);
void rt_capture_fork(int stage);
void rt_task_group_fork(int stage);
void rt_virtual_fork(int stage);
void rt_profile_fork(int stage);
void rt_host_fork(int stage);
enum { RT_FORK_PREPARE, RT_FORK_PARENT, RT_FORK_CHILD };

#define RT_CHECK_NOT_NULL(function, parameter)                                           \
    do {                                                                                 \
        if ((parameter) == NULL)                                                         \
            return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function,        \
                             #parameter);                                                \
    } while (0)

/* Returns from the function unless `parameter` is a live object of the arena. */
#define RT_CHECK_ALIVE(function, arena, parameter)                                       \
    do {                                                                                 \
        aclError alive_ = rt_object_check(arena, function, #parameter, parameter);       \
        if (alive_ != ACL_SUCCESS) return alive_;                                        \
    } while (0)

#endif
