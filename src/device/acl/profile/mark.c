/* CPU device, runtime: a program's marks, ranges and steps in its profile.
 *
 * A stamp holds a message; aclprofMark marks a moment with it, Push and Pop a range of
 * the calling thread, RangeStart and RangeStop one that another thread may end. A step is
 * timed when a stream reaches its ends.
 */
#include "device/acl/profile/profile.h"

#include <stdio.h>
#include <string.h>

enum { TEXT_MAX = RT_PROFILE_TEXT_MAX, OPEN_MAX = 64 };

typedef struct {
    asnd_slot slot;
    char text[TEXT_MAX];
} stamp;

struct aclprofStepInfo {
    asnd_slot slot;
    _Atomic uint32_t references;
    int64_t start;
    uint32_t number;
};

typedef struct {
    uint32_t id;
    int64_t start;
    char text[TEXT_MAX];
} open_range;

static asnd_arena stamps = ASN_ARENA_INIT("stamp", sizeof(stamp), 1 << 16, true);
static asnd_arena steps = ASN_ARENA_INIT("step", sizeof(aclprofStepInfo), 1 << 16, true);
ASN_FORK_TAKES(stamps, &stamps.lock, ASN_FORK_LEAF)
ASN_FORK_TAKES(steps, &steps.lock, ASN_FORK_LEAF)

static struct {
    pthread_mutex_t lock;
    open_range ranges[OPEN_MAX]; /* of aclprofRangeStart; id 0: free */
    uint32_t last_range, last_step;
} marks = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(profile_marks, &marks.lock, ASN_FORK_LEAF)

static _Thread_local open_range nested[OPEN_MAX]; /* of aclprofPush */
static _Thread_local uint32_t depth;

/* ---- marks and ranges */

/* Cut to TEXT_MAX - 1 bytes. */
static void text_copy(char *to, const char *from, size_t length) {
    size_t n = length < TEXT_MAX ? length : TEXT_MAX - 1;
    memcpy(to, from, n);
    to[n] = 0;
}

/* A message to mark with; NULL when out of memory. */
ASN_API void *aclprofCreateStamp(void) {
    return rt_object_new(&stamps);
}

/* Destroys a stamp; NULL is fine. */
ASN_API void aclprofDestroyStamp(void *stamp) {
    if (stamp != NULL)
        (void)rt_object_free(&stamps, "aclprofDestroyStamp", "stamp", stamp);
}

/* Sets the stamp's message, cut to 159 bytes. */
ASN_API aclError aclprofSetStampTraceMessage(void *stamp_, const char *msg,
                                             uint32_t msgLen) {
    RT_CHECK_ALIVE("aclprofSetStampTraceMessage", &stamps, stamp_);
    RT_CHECK_NOT_NULL("aclprofSetStampTraceMessage", msg);
    text_copy(((stamp *)stamp_)->text, msg, msgLen);
    return ACL_SUCCESS;
}

/* Marks this moment. */
ASN_API aclError aclprofMark(void *stamp_) {
    RT_CHECK_ALIVE("aclprofMark", &stamps, stamp_);
    int64_t now = rt_profile_now();
    rt_profile_text("mark", NULL, ((stamp *)stamp_)->text, -1, -1, now, now);
    return ACL_SUCCESS;
}

typedef struct {
    int32_t stream, device;
    char text[TEXT_MAX];
} mark_task;

/* In stream order, with the time when it is reached. */
static int32_t task_mark(void *arg) {
    const mark_task *t = arg;
    int64_t now = rt_profile_now();
    rt_profile_text("mark", NULL, t->text, t->stream, t->device, now, now);
    return 0;
}

/* Marks the moment when the stream gets there. */
ASN_API aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream) {
    RT_CHECK_NOT_NULL("aclprofMarkEx", msg);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    mark_task t = {rt_stream_id(s), rt_stream_device(s), ""};
    text_copy(t.text, msg, msgLen);
    return rt_stream_do(s, task_mark, &t, sizeof t, 0);
}

/* Opens a range on the calling thread, inside those it has open. */
ASN_API aclError aclprofPush(void *stamp_) {
    RT_CHECK_ALIVE("aclprofPush", &stamps, stamp_);
    if (depth == OPEN_MAX)
        return asnrtFail(ACL_ERROR_STORAGE_OVER_LIMIT, "aclprofPush: %d ranges are open",
                         OPEN_MAX);
    nested[depth].start = rt_profile_now();
    memcpy(nested[depth++].text, ((stamp *)stamp_)->text, TEXT_MAX);
    return ACL_SUCCESS;
}

/* Closes the thread's innermost range. */
ASN_API aclError aclprofPop(void) {
    if (depth == 0)
        return asnrtFail(ACL_ERROR_PROF_NOT_RUN,
                         "aclprofPop: no range is open on this thread");
    const open_range *r = &nested[--depth];
    rt_profile_text("range", NULL, r->text, -1, -1, r->start, rt_profile_now());
    return ACL_SUCCESS;
}

/* Opens a range that any thread may close by its number. */
ASN_API aclError aclprofRangeStart(void *stamp_, uint32_t *rangeId) {
    RT_CHECK_ALIVE("aclprofRangeStart", &stamps, stamp_);
    RT_CHECK_NOT_NULL("aclprofRangeStart", rangeId);
    open_range *found = NULL;
    pthread_mutex_lock(&marks.lock);
    for (int i = 0; i < OPEN_MAX && found == NULL; i++)
        if (marks.ranges[i].id == 0) found = &marks.ranges[i];
    if (found != NULL) {
        found->id = *rangeId = ++marks.last_range;
        found->start = rt_profile_now();
        memcpy(found->text, ((stamp *)stamp_)->text, TEXT_MAX);
    }
    pthread_mutex_unlock(&marks.lock);
    if (found != NULL) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_STORAGE_OVER_LIMIT,
                     "aclprofRangeStart: %d ranges are open", OPEN_MAX);
}

/* Closes a range of aclprofRangeStart. */
ASN_API aclError aclprofRangeStop(uint32_t rangeId) {
    open_range closed = {0, 0, ""};
    pthread_mutex_lock(&marks.lock);
    for (int i = 0; rangeId != 0 && i < OPEN_MAX && closed.id == 0; i++) {
        if (marks.ranges[i].id != rangeId) continue;
        closed = marks.ranges[i];
        marks.ranges[i].id = 0;
    }
    pthread_mutex_unlock(&marks.lock);
    if (closed.id == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclprofRangeStop: no range %u is open",
                         rangeId);
    rt_profile_text("range", NULL, closed.text, -1, -1, closed.start, rt_profile_now());
    return ACL_SUCCESS;
}

/* ---- steps */

/* A step of the program, to be timed on a stream; NULL when out of memory. */
ASN_API aclprofStepInfo *aclprofCreateStepInfo(void) {
    aclprofStepInfo *step = rt_object_new(&steps);
    if (step == NULL) return NULL;
    pthread_mutex_lock(&marks.lock);
    step->number = ++marks.last_step;
    pthread_mutex_unlock(&marks.lock);
    atomic_store(&step->references, 1);
    return step;
}

/* The program's reference, and one for each stamp that is queued. */
static void step_release(aclprofStepInfo *step) {
    if (atomic_fetch_sub(&step->references, 1) == 1) asn_arena_give(&steps, step);
}

/* Destroys a step, when queued time stamps are done with it; NULL is fine. */
ASN_API void aclprofDestroyStepInfo(aclprofStepInfo *stepinfo) {
    if (stepinfo == NULL || rt_object_check(&steps, "aclprofDestroyStepInfo", "stepinfo",
                                            stepinfo) != ACL_SUCCESS)
        return;
    if (asn_slot_retire(stepinfo)) step_release(stepinfo);
}

typedef struct {
    aclprofStepInfo *step;
    aclprofStepTag tag;
    int32_t stream, device;
} step_task;

/* The end adds the event, from the start's time. */
static int32_t task_step(void *arg) {
    const step_task *t = arg;
    int64_t now = rt_profile_now();
    if (t->tag == ACL_STEP_START) {
        t->step->start = now;
    } else {
        char text[TEXT_MAX];
        snprintf(text, sizeof text, "step %u", t->step->number);
        rt_profile_text("step", NULL, text, t->stream, t->device, t->step->start, now);
    }
    return 0;
}

static void drop_step(void *arg) {
    step_release(((step_task *)arg)->step);
    asn_free(arg);
}

/* The step starts or ends when the stream gets there. */
ASN_API aclError aclprofGetStepTimestamp(aclprofStepInfo *stepInfo, aclprofStepTag tag,
                                         aclrtStream stream) {
    RT_CHECK_ALIVE("aclprofGetStepTimestamp", &steps, stepInfo);
    if (tag != ACL_STEP_START && tag != ACL_STEP_END)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclprofGetStepTimestamp: tag %d; it must be 0 or 1", (int)tag);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    step_task *t = asn_malloc(sizeof *t);
    if (t == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    *t = (step_task){stepInfo, tag, rt_stream_id(s), rt_stream_device(s)};
    atomic_fetch_add(&stepInfo->references, 1);
    return asnrtStreamPush((asnrtStreamState *)s, task_step, drop_step, t);
}
