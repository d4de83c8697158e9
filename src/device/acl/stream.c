/* CPU device, runtime: streams.
 *
 * A stream is a queue of tasks, done in order by a worker thread of its own, which starts
 * with the first queued task. asnrt.h describes the inline path around it.
 *
 * Invariants, all under `lock` except that `state` may also be taken by asnrtStreamEnter:
 *   - ASNRT_QUEUED is set from the first push until the worker has finished the last
 * task, so that no inline task starts while an older queued one runs;
 *   - the worker starts a task only while ASNRT_BUSY is clear;
 *   - ASNRT_WAITED is set while waiters > 0: an inline task then ends in the slow path,
 * which wakes them, and new tasks queue up, so that a waiter cannot starve;
 *   - ASNRT_CAPTURED is set while `graph` is: tasks go there, none is run (capture.c);
 *   - ASNRT_STOPPED is set while `stopped` holds the code of a failure that the stream
 *     stops at (stream_attribute.c): tasks are refused with it.
 * A queue of QUEUE_MAX tasks takes no more until half of them are done: the caller waits,
 * as launches do when an NPU's queue is full, and a program that launches faster than the
 * device computes does not run out of memory. The worker itself never waits for room.
 * Mutex and conditions are set up once per slot and survive the stream (see handle.h).
 *
 * A worker spins for SPIN_NS before it sleeps, a waiting caller for WAIT_SPIN_NS: a
 * hand-off to a spinning thread costs 0.13-0.55 us, to a sleeping one 6-15 us.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cpu.h"

enum { SPIN_NS = 30000, WAIT_SPIN_NS = 5000, ERROR_TEXT_MAX = 256, QUEUE_MAX = 1 << 16 };

typedef rt_task task;

/* The head is what asnrt.h's inline path touches; everything else is under `lock`. */
struct rt_stream {
    asnrtStreamState head;
    int32_t device, id;
    bool ready; /* lock and conditions are set up */
    bool worker_alive, sleeping, stop;
    pthread_t worker;
    pthread_mutex_t lock;
    pthread_cond_t work, done, room;
    task *first, *last;
    _Atomic uint64_t pushed, finished;
    uint32_t waiters, crowd; /* callers that wait for the end; for room */
    rt_graph *graph;         /* takes the tasks while the stream is captured */
    uint32_t member;         /* its number there */
    _Atomic int32_t error;   /* first failure since the last synchronisation */
    bool stops;              /* at a failure */
    int32_t stopped;         /* the code of that failure; 0: none */
    _Atomic uint32_t aborts; /* how often it was aborted */
    uint32_t tag;            /* the program's own (stream_attribute.c) */
    _Atomic uint32_t limits[ACL_RT_DEV_RES_VECTOR_CORE + 1]; /* resource_limit.c */
    char error_text[ERROR_TEXT_MAX];
};

static asnd_arena streams = ASN_ARENA_INIT("stream", sizeof(rt_stream), 1 << 16, true);

/* ASNUMPY_CPU_LAUNCH_DELAY_US=n makes a test device: every task is queued, and starts n
 * microseconds after the worker takes it up, as an NPU's launches do. */
static int64_t launch_delay_ns(void) {
#ifdef ASN_ONE_LIBRARY /* which computes beside the device under test */
    static _Atomic int64_t known = 0;
#else
    static _Atomic int64_t known = -1;
#endif
    int64_t ns = atomic_load_explicit(&known, memory_order_relaxed);
    if (ns < 0) {
        ns = 1000 * asn_setting_number(ASN_SETTING_CPU_LAUNCH_DELAY_US, 0);
        atomic_store_explicit(&known, ns, memory_order_relaxed);
    }
    return ns;
}

/* A delayed device never counts as idle for inline tasks. */
static uint32_t idle_state(void) {
    return launch_delay_ns() > 0 ? ASNRT_DELAYED : 0;
}

int32_t rt_stream_device(const rt_stream *stream) {
    return stream->device;
}

int32_t rt_stream_id(const rt_stream *stream) {
    return stream->id;
}

uint32_t rt_stream_aborts(const rt_stream *stream) {
    return atomic_load(&stream->aborts);
}

uint32_t *rt_stream_tag(rt_stream *stream) {
    return &stream->tag;
}

_Atomic uint32_t *rt_stream_limits(rt_stream *stream) {
    return stream->limits;
}

void rt_stream_stops(rt_stream *s, bool stops) {
    pthread_mutex_lock(&s->lock);
    s->stops = stops;
    pthread_mutex_unlock(&s->lock);
}

bool rt_stream_does_stop(rt_stream *s) {
    pthread_mutex_lock(&s->lock);
    bool stops = s->stops;
    pthread_mutex_unlock(&s->lock);
    return stops;
}

rt_stream *rt_stream_new(int32_t device) {
    static _Atomic int32_t next_id;
    rt_stream *s = asn_arena_take(&streams);
    if (s == NULL) return NULL;
    if (!s->ready) {
        pthread_mutex_init(&s->lock, NULL);
        rt_cond_init(&s->work);
        rt_cond_init(&s->done);
        rt_cond_init(&s->room);
        s->ready = true;
    }
    s->device = device;
    s->id = atomic_fetch_add(&next_id, 1);
    s->worker_alive = s->sleeping = s->stop = false;
    s->first = s->last = NULL;
    s->waiters = s->crowd = 0;
    s->graph = NULL;
    atomic_store(&s->pushed, 0);
    atomic_store(&s->finished, 0);
    atomic_store(&s->error, 0);
    s->stops = false;
    s->stopped = 0;
    s->tag = 0;
    atomic_store(&s->head.state, idle_state());
    s->head.inline_ns = ASNRT_INLINE_NS;
    asn_slot_publish(s);
    return s;
}

rt_stream *rt_stream_get(aclrtStream handle, aclError *code) {
    if (handle == NULL) {
        rt_context *c = rt_context_current(code);
        return c ? c->stream : NULL;
    }
    if (__builtin_expect(asn_arena_alive(&streams, handle), 1)) return handle;
    aclError failure = asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                                 "%p is not a stream, or was destroyed", handle);
    if (code != NULL) *code = failure;
    return NULL;
}

asnrtStreamState *asnrtStreamGet(aclrtStream stream, aclError *code) {
    rt_stream *s = rt_stream_get(stream, code);
    return s ? &s->head : NULL;
}

/* ---- tasks */

/* Forgets queued tasks; the one that runs is finished. Lock held. */
static void stream_drop_tasks(rt_stream *s) {
    while (s->first != NULL) {
        task *t = s->first;
        s->first = t->next;
        if (t->drop != NULL) t->drop(t->arg);
        asn_free(t);
        atomic_fetch_add(&s->finished, 1);
    }
    s->last = NULL;
}

/* Keeps the thread's message with the stream; lock held. */
static void stream_fail(rt_stream *s, int32_t code) {
    if (atomic_load(&s->error) == 0) {
        const char *text = aclGetRecentErrMsg();
        snprintf(s->error_text, sizeof s->error_text, "%.*s", ERROR_TEXT_MAX - 1,
                 text ? text : "an asynchronous task failed");
        atomic_store(&s->error, code);
    }
    if (!s->stops || s->stopped != 0) return;
    s->stopped = code;
    atomic_fetch_or(&s->head.state, ASNRT_STOPPED);
    stream_drop_tasks(s);
}

/* Tasks pushed and not finished, the running one included. */
static uint64_t queue_length(const rt_stream *s) {
    return atomic_load(&s->pushed) - atomic_load(&s->finished);
}

/* Lock held, as in the function below. */
static void tell_of_room(rt_stream *s) {
    if (s->crowd != 0 && queue_length(s) <= QUEUE_MAX / 2)
        pthread_cond_broadcast(&s->room);
}

/* May let go of the lock meanwhile; a capture that begins ends the wait. */
static void wait_for_room(rt_stream *s) {
    if (queue_length(s) < QUEUE_MAX || pthread_equal(s->worker, pthread_self())) return;
    s->crowd++;
    while (queue_length(s) > QUEUE_MAX / 2 && s->graph == NULL)
        pthread_cond_wait(&s->room, &s->lock);
    s->crowd--;
}

/* Runs and frees a task, then counts it; without the lock until then. */
static void task_run(rt_stream *s, task *t) {
    int64_t delay = launch_delay_ns();
    if (delay > 0)
        nanosleep(&(struct timespec){delay / 1000000000, delay % 1000000000}, NULL);
    rt_hooks_task(&t->launch);
    int32_t code = t->run(t->arg);
    uint32_t id = t->id;
    if (t->drop != NULL) t->drop(t->arg);
    asn_free(t);
    if (code != 0) rt_exception_report(s->device, s->id, id, code);
    pthread_mutex_lock(&s->lock);
    if (code != 0) stream_fail(s, code);
    atomic_fetch_add(&s->finished, 1);
    if (s->first == NULL) atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_QUEUED);
    if (s->waiters != 0) pthread_cond_broadcast(&s->done);
    tell_of_room(s);
    pthread_mutex_unlock(&s->lock);
}

/* Waits for a task or for the end; lock held. */
static void worker_wait(rt_stream *s) {
    uint64_t seen = atomic_load(&s->pushed);
    pthread_mutex_unlock(&s->lock);
    int64_t end = rt_now() + SPIN_NS;
    while (atomic_load_explicit(&s->pushed, memory_order_relaxed) == seen &&
           rt_now() < end) {
        for (int i = 0; i < 16; i++)
            asn_cpu_relax();
    }
    pthread_mutex_lock(&s->lock);
    while (!s->stop && (s->first == NULL || (atomic_load(&s->head.state) & ASNRT_BUSY))) {
        s->sleeping = true;
        pthread_cond_wait(&s->work, &s->lock);
        s->sleeping = false;
    }
}

/* Ends when the stream stops and its queue is empty. */
static void *worker_main(void *arg) {
    rt_stream *s = arg;
    rt_hooks_worker(s);
    pthread_mutex_lock(&s->lock);
    for (;;) {
        if (s->first == NULL && s->stop) break;
        if (s->first == NULL || (atomic_load(&s->head.state) & ASNRT_BUSY)) {
            worker_wait(s);
            continue;
        }
        task *t = s->first;
        s->first = t->next;
        if (s->first == NULL) s->last = NULL;
        pthread_mutex_unlock(&s->lock);
        task_run(s, t);
        pthread_mutex_lock(&s->lock);
    }
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* Signals stay with the program's own threads; lock held. */
static bool worker_start(rt_stream *s) {
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    s->worker_alive = pthread_create(&s->worker, NULL, worker_main, s) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return s->worker_alive;
}

aclError asnrtStreamPush(asnrtStreamState *stream, asnrtTask run, void (*drop)(void *),
                         void *arg) {
    rt_stream *s = (rt_stream *)stream;
    task *t = asn_malloc(sizeof *t);
    bool started = t != NULL;
    int32_t stopped = 0;
    if (t != NULL) {
        *t = (task){NULL, run, drop, arg, rt_task_number(), {0, 0, 0}};
        if (rt_profiled()) rt_hooks_launch(&t->launch);
        pthread_mutex_lock(&s->lock);
        stopped = s->stopped;
        started =
            stopped == 0 && (s->graph != NULL || s->worker_alive || worker_start(s));
        if (started && s->graph == NULL) wait_for_room(s);
        if (started && s->graph != NULL) {
            rt_graph_add(s->graph, s->member, t);
        } else if (started) {
            if (s->last != NULL) {
                s->last->next = t;
            } else {
                s->first = t;
            }
            s->last = t;
            atomic_fetch_or(&s->head.state, ASNRT_QUEUED);
            atomic_fetch_add(&s->pushed, 1);
            if (s->sleeping) pthread_cond_signal(&s->work);
        }
        pthread_mutex_unlock(&s->lock);
    }
    if (started) return ACL_SUCCESS;
    if (drop != NULL) drop(arg);
    asn_free(t);
    if (stopped != 0)
        return asnrtFail(stopped,
                         "the stream stopped at a failure (%.200s); "
                         "aclrtStreamAbort lets it go on",
                         s->error_text);
    return asnrtFail(ACL_ERROR_BAD_ALLOC, "no memory for another task on the stream");
}

void asnrtStreamLeaveSlow(asnrtStreamState *stream, int32_t code) {
    rt_stream *s = (rt_stream *)stream;
    if (code != 0) rt_exception_report(s->device, s->id, 0, code);
    pthread_mutex_lock(&s->lock);
    if (code != 0) stream_fail(s, code);
    atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_BUSY);
    if (s->first != NULL && s->sleeping) pthread_cond_signal(&s->work);
    if (s->waiters != 0) pthread_cond_broadcast(&s->done);
    pthread_mutex_unlock(&s->lock);
}

aclError rt_stream_do(rt_stream *s, asnrtTask run, const void *arg, size_t size,
                      double work_ns) {
    if (work_ns < s->head.inline_ns && asnrtStreamEnter(&s->head)) {
        int32_t code = run((void *)arg);
        asnrtStreamLeave(&s->head, code);
        return ACL_SUCCESS;
    }
    return rt_stream_queue(s, run, arg, size);
}

aclError rt_stream_queue(rt_stream *s, asnrtTask run, const void *arg, size_t size) {
    void *copy = asn_malloc(size);
    if (copy == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    memcpy(copy, arg, size);
    return asnrtStreamPush(&s->head, run, asn_free, copy);
}

/* ---- synchronisation */

/* The failure kept on the stream, once; lock held. */
static aclError stream_take_error(rt_stream *s) {
    int32_t code = atomic_exchange(&s->error, 0);
    if (code != 0) (void)asnrtFail(code, "%s", s->error_text);
    return code;
}

/* Everything up to `target` is finished, and no inline task runs. */
static bool stream_done(rt_stream *s, uint64_t target) {
    return atomic_load(&s->finished) >= target &&
           !(atomic_load(&s->head.state) & ASNRT_BUSY);
}

static bool stream_is_idle(rt_stream *s) {
    return (atomic_load_explicit(&s->head.state, memory_order_acquire) &
            ~(uint32_t)(ASNRT_DELAYED | ASNRT_STOPPED)) == 0;
}

/* For WAIT_SPIN_NS; true: it became idle. */
static bool stream_spin(rt_stream *s) {
    if (stream_is_idle(s)) return true;
    int64_t end = rt_now() + WAIT_SPIN_NS;
    do {
        for (int i = 0; i < 16; i++)
            asn_cpu_relax();
        if (stream_is_idle(s)) return true;
    } while (rt_now() < end);
    return false;
}

bool rt_stream_is_captured(const rt_stream *s) {
    return (atomic_load(&s->head.state) & ASNRT_CAPTURED) != 0;
}

rt_graph *rt_stream_graph(rt_stream *s, uint32_t *member) {
    pthread_mutex_lock(&s->lock);
    rt_graph *graph = s->graph;
    if (graph != NULL) rt_graph_hold(graph); /* the stream's own reference is there yet */
    if (member != NULL) *member = s->member;
    pthread_mutex_unlock(&s->lock);
    return graph;
}

bool rt_stream_capture(rt_stream *s, rt_graph *expected, rt_graph *graph,
                       uint32_t member) {
    pthread_mutex_lock(&s->lock);
    bool as_expected = s->graph == expected;
    if (as_expected) {
        s->graph = graph;
        s->member = member;
    }
    if (s->crowd != 0) pthread_cond_broadcast(&s->room);
    if (s->graph != NULL) {
        atomic_fetch_or(&s->head.state, ASNRT_CAPTURED);
    } else {
        atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_CAPTURED);
    }
    pthread_mutex_unlock(&s->lock);
    return as_expected;
}

/* A wait would never end. */
static aclError refuse_captured(void) {
    return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                     "the stream is captured: its tasks run when the captured model "
                     "does, so there is nothing to wait for");
}

aclError rt_stream_wait(rt_stream *s, int32_t timeout_ms) {
    if (stream_spin(s) && atomic_load(&s->error) == 0) return ACL_SUCCESS;
    if (atomic_load(&s->head.state) & ASNRT_CAPTURED) return refuse_captured();
    struct timespec deadline;
    if (timeout_ms >= 0) rt_deadline(timeout_ms, &deadline);
    int late = 0;
    pthread_mutex_lock(&s->lock);
    /* Tasks that are pushed from here on are not waited for. */
    uint64_t target = atomic_load(&s->pushed);
    s->waiters++;
    atomic_fetch_or(&s->head.state, ASNRT_WAITED);
    while (!stream_done(s, target) && late != ETIMEDOUT) {
        late = timeout_ms < 0 ? pthread_cond_wait(&s->done, &s->lock)
                              : pthread_cond_timedwait(&s->done, &s->lock, &deadline);
    }
    bool done = stream_done(s, target);
    if (--s->waiters == 0) atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_WAITED);
    aclError code = done ? stream_take_error(s) : ACL_SUCCESS;
    pthread_mutex_unlock(&s->lock);
    if (done) return code;
    return asnrtFail(ACL_ERROR_RT_STREAM_SYNC_TIMEOUT,
                     "the stream's tasks did not end within %d ms", timeout_ms);
}

aclError rt_streams_wait(int32_t device, int32_t timeout_ms) {
    aclError first = ACL_SUCCESS;
    uint32_t used = atomic_load(&streams.used);
    for (uint32_t i = 0; i < used; i++) {
        rt_stream *s = asn_arena_at(&streams, i);
        if (s == NULL || s->device != device) continue;
        aclError code = rt_stream_wait(s, timeout_ms);
        if (first == ACL_SUCCESS) first = code;
    }
    return first;
}

aclError rt_stream_abort(rt_stream *s) {
    pthread_mutex_lock(&s->lock);
    stream_drop_tasks(s);
    atomic_fetch_add(&s->aborts, 1);
    s->stopped = 0;
    atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_STOPPED);
    if (atomic_load(&s->finished) == atomic_load(&s->pushed))
        atomic_fetch_and(&s->head.state, ~(uint32_t)ASNRT_QUEUED);
    if (s->waiters != 0) pthread_cond_broadcast(&s->done);
    tell_of_room(s);
    pthread_mutex_unlock(&s->lock);
    return rt_stream_wait(s, -1);
}

aclError rt_streams_abort(int32_t device) {
    aclError first = ACL_SUCCESS;
    for (uint32_t i = 0; i < atomic_load(&streams.used); i++) {
        rt_stream *s = asn_arena_at(&streams, i);
        if (s == NULL || s->device != device) continue;
        aclError code = rt_stream_abort(s);
        if (first == ACL_SUCCESS) first = code;
    }
    return first;
}

void rt_stream_free(rt_stream *s, bool drop_tasks) {
    if (!asn_slot_retire(s)) return;
    uint32_t member;
    rt_graph *graph = rt_stream_graph(s, &member);
    if (graph != NULL) {
        if (rt_stream_capture(s, graph, NULL, 0)) rt_graph_abandon(graph, member);
        rt_graph_release(graph);
    }
    (void)(drop_tasks ? rt_stream_abort(s) : rt_stream_wait(s, -1));
    rt_callbacks_forget(s);
    rt_allocator_forget(s);
    rt_limits_forget(s);
    pthread_mutex_lock(&s->lock);
    s->stop = true;
    bool join = s->worker_alive;
    s->worker_alive = false;
    if (s->sleeping) pthread_cond_signal(&s->work);
    pthread_mutex_unlock(&s->lock);
    if (join && pthread_equal(s->worker, pthread_self())) {
        pthread_detach(s->worker); /* a host function destroys its own stream */
    } else if (join) {
        pthread_join(s->worker, NULL);
    }
    asn_arena_give(&streams, s);
}

void rt_stream_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        asn_arena_lock(&streams);
        return;
    }
    asn_arena_unlock(&streams);
    if (stage == RT_FORK_PARENT) return;
    for (uint32_t i = 0; i < atomic_load(&streams.used); i++) {
        rt_stream *s = asn_arena_at(&streams, i);
        if (s == NULL) continue;
        s->ready = false;
        pthread_mutex_init(&s->lock, NULL);
        rt_cond_init(&s->work);
        rt_cond_init(&s->done);
        rt_cond_init(&s->room);
        s->ready = true;
        s->worker_alive = s->sleeping = s->stop = false;
        s->first = s->last = NULL;
        s->waiters = s->crowd = 0;
        atomic_store(&s->finished, atomic_load(&s->pushed));
        atomic_store(&s->head.state, idle_state() |
                                         (s->graph != NULL ? ASNRT_CAPTURED : 0) |
                                         (s->stopped != 0 ? ASNRT_STOPPED : 0));
    }
}
