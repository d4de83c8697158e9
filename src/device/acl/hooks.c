/* CPU device, runtime: what surrounds a running operator when a program has asked for it:
 * a span of the profile, the stream's own allocator, a limit of its cores. Operators ask
 * one word whether any of it is wanted.
 */
#include "device/acl/internal.h"

_Atomic uint32_t asnrtHooks;
static _Thread_local rt_stream *worker_of; /* NULL on a program's own threads */

/* A bit per wish; several wishes of one kind are the callers' to count. */
void asnrtHook(uint32_t hook, bool on) {
    if (on) {
        atomic_fetch_or(&asnrtHooks, hook);
    } else {
        atomic_fetch_and(&asnrtHooks, ~hook);
    }
}

void rt_hooks_worker(rt_stream *stream) {
    worker_of = stream;
}

rt_stream *rt_hooks_stream(void) {
    return worker_of;
}

/* Of the task that the calling worker runs; launched 0: it was pushed unprofiled. */
static _Thread_local rt_launch task;

void rt_hooks_task(const rt_launch *launch) {
    task = *launch;
}

void rt_hooks_launch(rt_launch *launch) {
    uint32_t hooks = atomic_load_explicit(&asnrtHooks, memory_order_relaxed);
    launch->correlation = hooks & ASNRT_HOOK_ACTIVITY ? rt_activity_launch() : 0;
    launch->launcher = rt_profile_thread();
    launch->launched = rt_profile_now();
}

/* The operators' threads are theirs: they say how their number is limited. */
static _Atomic(asnrtCoresFn) limit_cores;

void asnrtCoresUse(asnrtCoresFn fn) {
    atomic_store(&limit_cores, fn);
}

static void cores_limit(uint32_t cores) {
    asnrtCoresFn fn = atomic_load(&limit_cores);
    if (fn != NULL) fn(cores);
}

/* What is set up here costs a lock and two looks at the clock, and only while somebody
 * wants it. */
void asnrtScopeBegin(asnrtScope *scope, asnrtStreamState *stream) {
    scope->start = 0;
    rt_stream *s = stream ? (rt_stream *)stream : worker_of;
    scope->before = rt_allocator_enter(s);
    scope->stream = s ? rt_stream_id(s) : -1;
    scope->device = s ? rt_stream_device(s) : -1;
    scope->cores = rt_core_limit(s);
    if (scope->cores != 0) cores_limit(scope->cores);
    if (!rt_profiled()) return;
    bool queued = worker_of != NULL && s == worker_of && task.launched != 0;
    rt_launch launch = task;
    if (!queued) rt_hooks_launch(&launch);
    scope->launched = launch.launched;
    scope->launcher = launch.launcher;
    scope->correlation = launch.correlation;
    scope->start = queued ? rt_profile_now() : launch.launched;
}

void asnrtScopeEnd(const asnrtScope *scope, const char *name) {
    if (scope->start != 0 && rt_profiled()) {
        int64_t end = rt_profile_now();
        uint32_t hooks = atomic_load_explicit(&asnrtHooks, memory_order_relaxed);
        if (hooks & ASNRT_HOOK_PROFILE) rt_profile_operator(name, scope, end);
        if (hooks & ASNRT_HOOK_ACTIVITY) rt_activity_operator(name, scope, end);
    }
    rt_allocator_leave(scope->before);
    if (scope->cores != 0) cores_limit(0);
}
