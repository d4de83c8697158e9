/* CPU device, runtime: host callbacks in stream order.
 *
 * Two ways exist. aclrtLaunchHostFunc runs a function on the stream's own thread.
 * aclrtLaunchCallback posts it to the thread that subscribed the stream, which runs it
 * inside aclrtProcessReport. Subscriptions are few: one table under one lock. A posted
 * callback lives in its reporter's queue; a blocking one makes the stream's worker wait
 * until it ran, or its reporter is unsubscribed.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <time.h>

enum { MAX_SUBSCRIPTIONS = 1024 };

/* A callback on its way to its reporter. */
typedef struct posted {
    struct posted *next;
    aclrtCallback fn;
    void *data;
    rt_stream *stream;
    bool *ran; /* set when done; NULL: nobody waits */
} posted;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ready;
    struct {
        uint64_t thread;
        rt_stream *stream; /* NULL: free */
    } table[MAX_SUBSCRIPTIONS];
    posted *first, *last;
} reports = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The condition is set up at the first use, since it needs its clock set. */
static void reports_lock(void) {
    pthread_mutex_lock(&reports.lock);
    if (!reports.ready) rt_cond_init(&reports.changed);
    reports.ready = true;
}

/* The stream's subscription, or a free entry for NULL; -1: none. Lock held. */
static int subscription_find(const rt_stream *stream) {
    for (int i = 0; i < MAX_SUBSCRIPTIONS; i++)
        if (reports.table[i].stream == stream) return i;
    return -1;
}

/* Lock held. */
static bool thread_subscribed(uint64_t thread) {
    for (int i = 0; i < MAX_SUBSCRIPTIONS; i++)
        if (reports.table[i].stream != NULL && reports.table[i].thread == thread)
            return true;
    return false;
}

/* The oldest callback posted for `thread`, taken out of the queue; lock held. */
static posted *posted_take(uint64_t thread) {
    for (posted **p = &reports.first, *before = NULL; *p != NULL; p = &(*p)->next) {
        int i = subscription_find((*p)->stream);
        if (i < 0 || reports.table[i].thread != thread) {
            before = *p;
            continue;
        }
        posted *found = *p;
        *p = found->next;
        if (reports.last == found) reports.last = before;
        return found;
    }
    return NULL;
}

/* Forgets what was posted for the stream and releases who waits; lock held. */
static void posted_forget(const rt_stream *stream) {
    posted **p = &reports.first;
    reports.last = NULL;
    while (*p != NULL) {
        posted *entry = *p;
        if (entry->stream != stream) {
            reports.last = entry;
            p = &entry->next;
            continue;
        }
        *p = entry->next;
        if (entry->ran != NULL) *entry->ran = true;
        asn_free(entry);
    }
    pthread_cond_broadcast(&reports.changed);
}

/* A stream has one thread; a thread may have many streams. */
static aclError subscribe(uint64_t thread, aclrtStream handle) {
    aclError code;
    rt_stream *s = rt_stream_get(handle, &code);
    if (s == NULL) return code;
    reports_lock();
    int i = -1;
    bool repeated = subscription_find(s) >= 0;
    if (!repeated) i = subscription_find(NULL);
    if (i >= 0) {
        reports.table[i].thread = thread;
        reports.table[i].stream = s;
    }
    pthread_mutex_unlock(&reports.lock);
    if (i >= 0) return ACL_SUCCESS;
    if (repeated)
        return asnrtFail(ACL_ERROR_REPEAT_SUBSCRIBE, "the stream is already subscribed");
    return asnrtFail(ACL_ERROR_STORAGE_OVER_LIMIT,
                     "%d streams are subscribed: no more fit", MAX_SUBSCRIPTIONS);
}

/* Only by the thread that subscribed it. A stream's worker that waits for a callback of
 * it goes on. */
static aclError unsubscribe(uint64_t thread, aclrtStream handle) {
    aclError code;
    rt_stream *s = rt_stream_get(handle, &code);
    if (s == NULL) return code;
    reports_lock();
    int i = subscription_find(s);
    bool same = i >= 0 && reports.table[i].thread == thread;
    if (same) {
        reports.table[i].stream = NULL;
        posted_forget(s);
    }
    pthread_mutex_unlock(&reports.lock);
    if (same) return ACL_SUCCESS;
    if (i < 0)
        return asnrtFail(ACL_ERROR_STREAM_NOT_SUBSCRIBE, "the stream is not subscribed");
    return asnrtFail(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                     "the stream is subscribed by another thread");
}

void rt_callbacks_forget(rt_stream *stream) {
    reports_lock();
    int i = subscription_find(stream);
    if (i >= 0) {
        reports.table[i].stream = NULL;
        posted_forget(stream);
    }
    pthread_mutex_unlock(&reports.lock);
}

/* Runs the oldest callback posted to this thread, after waiting for one. The lock is not
 * held while it runs: a callback may call the runtime. */
static aclError process(int32_t timeout) {
    uint64_t self = (uint64_t)pthread_self();
    struct timespec deadline;
    if (timeout >= 0) rt_deadline(timeout, &deadline);
    int late = 0;
    reports_lock();
    bool known = thread_subscribed(self);
    posted *p = posted_take(self);
    while (known && p == NULL && late != ETIMEDOUT) {
        late = timeout < 0
                   ? pthread_cond_wait(&reports.changed, &reports.lock)
                   : pthread_cond_timedwait(&reports.changed, &reports.lock, &deadline);
        p = posted_take(self);
        known = thread_subscribed(self);
    }
    pthread_mutex_unlock(&reports.lock);
    if (p == NULL && !known)
        return asnrtFail(ACL_ERROR_THREAD_NOT_SUBSCRIBE,
                         "this thread has subscribed no stream");
    if (p == NULL)
        return asnrtFail(ACL_ERROR_WAIT_CALLBACK_TIMEOUT, "no callback came within %d ms",
                         timeout);
    p->fn(p->data);
    reports_lock();
    if (p->ran != NULL) *p->ran = true;
    pthread_cond_broadcast(&reports.changed);
    pthread_mutex_unlock(&reports.lock);
    asn_free(p);
    return ACL_SUCCESS;
}

/* A task that posts. Once the entry is posted, it is the queue's (NULL here). */
typedef struct {
    posted *entry;
    bool block;
} post_task;

/* In the stream's thread: hands the callback over and, if blocking, waits until it ran.
 */
static int32_t task_post(void *arg) {
    post_task *t = arg;
    bool ran = false;
    reports_lock();
    if (subscription_find(t->entry->stream) < 0) {
        pthread_mutex_unlock(&reports.lock);
        return asnrtFail(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                         "a callback's stream was unsubscribed before it ran");
    }
    t->entry->ran = t->block ? &ran : NULL;
    if (reports.last != NULL) {
        reports.last->next = t->entry;
    } else {
        reports.first = t->entry;
    }
    reports.last = t->entry;
    t->entry = NULL;
    pthread_cond_broadcast(&reports.changed);
    while (t->block && !ran)
        pthread_cond_wait(&reports.changed, &reports.lock);
    pthread_mutex_unlock(&reports.lock);
    return 0;
}

/* After the task: frees the entry if it was not posted. */
static void drop_post(void *arg) {
    asn_free(((post_task *)arg)->entry);
    asn_free(arg);
}

/* Posts `fn(userData)`, in stream order, to the thread that subscribed the stream. */
ASN_API aclError aclrtLaunchCallback(aclrtCallback fn, void *userData,
                                     aclrtCallbackBlockType blockType,
                                     aclrtStream stream) {
    RT_CHECK_NOT_NULL("aclrtLaunchCallback", fn);
    if (blockType != ACL_CALLBACK_NO_BLOCK && blockType != ACL_CALLBACK_BLOCK)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtLaunchCallback: blockType is %d; it must be 0 or 1",
                         (int)blockType);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if (rt_stream_is_captured(s))
        return asnrtFail(ACL_ERROR_API_NOT_SUPPORT,
                         "aclrtLaunchCallback: the stream is captured, and a callback is "
                         "posted once; use aclrtLaunchHostFunc");
    reports_lock();
    bool known = subscription_find(s) >= 0;
    pthread_mutex_unlock(&reports.lock);
    if (!known)
        return asnrtFail(ACL_ERROR_STREAM_NOT_SUBSCRIBE,
                         "aclrtLaunchCallback: no thread has subscribed the stream");
    posted *entry = asn_malloc(sizeof *entry);
    post_task *task = asn_malloc(sizeof *task);
    if (entry == NULL || task == NULL) {
        asn_free(entry);
        asn_free(task);
        return rt_fail_status(ASN_ERR_MEMORY);
    }
    *entry = (posted){NULL, fn, userData, s, NULL};
    *task = (post_task){entry, blockType == ACL_CALLBACK_BLOCK};
    return asnrtStreamPush((asnrtStreamState *)s, task_post, drop_post, task);
}

/* Lets the thread `threadId` (a pthread_t) run the stream's callbacks. */
ASN_API aclError aclrtSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return subscribe(threadId, stream);
}

/* Ends a subscription; callbacks that have not run are dropped. */
ASN_API aclError aclrtUnSubscribeReport(uint64_t threadId, aclrtStream stream) {
    return unsubscribe(threadId, stream);
}

/* Runs one callback posted to the calling thread; waits up to `timeout` ms for it (-1: no
 * limit). */
ASN_API aclError aclrtProcessReport(int32_t timeout) {
    return process(timeout);
}

/* aclrtSubscribeReport under its newer name. */
ASN_API aclError aclrtSubscribeHostFunc(uint64_t hostFuncThreadId,
                                        aclrtStream exeStream) {
    return subscribe(hostFuncThreadId, exeStream);
}

/* aclrtUnSubscribeReport under its newer name. */
ASN_API aclError aclrtUnSubscribeHostFunc(uint64_t hostFuncThreadId,
                                          aclrtStream exeStream) {
    return unsubscribe(hostFuncThreadId, exeStream);
}

/* aclrtProcessReport under its newer name. */
ASN_API aclError aclrtProcessHostFunc(int32_t timeout) {
    return process(timeout);
}

typedef struct {
    aclrtHostFunc fn;
    void *args;
} host_task;

/* On the stream's worker. */
static int32_t task_host(void *arg) {
    host_task *t = arg;
    t->fn(t->args);
    return 0;
}

/* Runs `fn(args)` in stream order on a thread of the runtime. It must not wait for its
 * own stream. */
ASN_API aclError aclrtLaunchHostFunc(aclrtStream stream, aclrtHostFunc fn, void *args) {
    RT_CHECK_NOT_NULL("aclrtLaunchHostFunc", fn);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    host_task *t = asn_malloc(sizeof *t);
    if (t == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    *t = (host_task){fn, args};
    return asnrtStreamPush((asnrtStreamState *)s, task_host, asn_free, t);
}

void rt_callback_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&reports.lock);
        return;
    }
    if (stage == RT_FORK_CHILD) {
        /* Waiters of the parent are gone; their condition must not be waited for. */
        rt_cond_init(&reports.changed);
        reports.ready = true;
        reports.first = reports.last = NULL;
    }
    pthread_mutex_unlock(&reports.lock);
}
