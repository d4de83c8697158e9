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
    rt_stream *s = stream ? (rt_stream *)stream : worker_of;
    scope->before = rt_allocator_enter(s);
    scope->stream = s ? rt_stream_id(s) : -1;
    scope->cores = rt_core_limit(s);
    if (scope->cores != 0) cores_limit(scope->cores);
    scope->start = rt_now();
}

void asnrtScopeEnd(const asnrtScope *scope, const char *name) {
    if (atomic_load_explicit(&asnrtHooks, memory_order_relaxed) & ASNRT_HOOK_PROFILE)
        rt_profile_operator(name, scope->stream, scope->start);
    rt_allocator_leave(scope->before);
    if (scope->cores != 0) cores_limit(0);
}
