/* CPU device, runtime: profiling.
 *
 * Between aclprofStart and aclprofStop every operator that runs leaves a span (name,
 * thread, stream, start, end), and the program its marks, ranges and steps.
 * aclprofFinalize writes them to PROF_<process>_<number>/trace.json below the path of
 * aclprofInit, in the trace event format that chrome://tracing and Perfetto show: times
 * in microseconds, one row per thread. Past EVENTS_MAX events are counted, not kept.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EVENTS_MAX = 1 << 20, TEXT_MAX = 128, OPEN_MAX = 64, PATH_LENGTH_MAX = 4096 };

/* One span or moment; `text` is owned. */
typedef struct {
    const char *category; /* "operator", "range", "step", "mark" */
    const char *name;     /* of an operator; NULL: text */
    char *text;
    int32_t stream; /* -1: none */
    uint32_t thread;
    int64_t start, end;
} event;

/* Stored for nothing but to be a handle: a CPU measures what it always does. */
struct aclprofConfig {
    asnd_slot slot;
    uint64_t data;
    aclprofAicoreMetrics metrics;
};

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

static asnd_arena configs =
    ASN_ARENA_INIT("profiler configuration", sizeof(aclprofConfig), 1 << 12, true);
static asnd_arena stamps = ASN_ARENA_INIT("stamp", sizeof(stamp), 1 << 16, true);
static asnd_arena steps = ASN_ARENA_INIT("step", sizeof(aclprofStepInfo), 1 << 16, true);
ASN_FORK_TAKES(configs, &configs.lock, ASN_FORK_LEAF)
ASN_FORK_TAKES(stamps, &stamps.lock, ASN_FORK_LEAF)
ASN_FORK_TAKES(steps, &steps.lock, ASN_FORK_LEAF)

static struct {
    pthread_mutex_t lock;
    char path[PATH_LENGTH_MAX]; /* "": not initialised */
    bool running;
    event *events;
    size_t count, capacity, dropped;
    open_range ranges[OPEN_MAX]; /* of aclprofRangeStart; id 0: free */
    uint32_t last_range, last_step, written;
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Thread_local open_range nested[OPEN_MAX]; /* of aclprofPush */
static _Thread_local uint32_t depth;

/* ---- events */

/* name: lives on; text: copied. While nothing runs, nothing is added. */
static void event_add(const char *category, const char *name, const char *text,
                      int32_t stream, int64_t start, int64_t end) {
    uint32_t thread = (uint32_t)syscall(SYS_gettid);
    pthread_mutex_lock(&profile.lock);
    bool room = profile.running && profile.count < EVENTS_MAX;
    if (room && profile.count == profile.capacity) {
        size_t capacity = profile.capacity ? 2 * profile.capacity : 256;
        event *more = asn_realloc(profile.events, capacity * sizeof *more);
        if (more != NULL) profile.events = more;
        if (more != NULL) profile.capacity = capacity;
        room = more != NULL;
    }
    char *copy = NULL;
    if (room && text != NULL) {
        copy = asn_malloc(strlen(text) + 1);
        if (copy != NULL) memcpy(copy, text, strlen(text) + 1);
    }
    if (room)
        profile.events[profile.count++] =
            (event){category, name, copy, stream, thread, start, end};
    profile.dropped += profile.running && !room;
    pthread_mutex_unlock(&profile.lock);
}

void rt_profile_operator(const char *name, int32_t stream, int64_t start) {
    event_add("operator", name, NULL, stream, start, rt_now());
}

/* ---- the trace */

/* As a JSON string. */
static void text_write(FILE *f, const char *text) {
    fputc('"', f);
    for (const unsigned char *c = (const unsigned char *)text; *c != 0; c++) {
        if (*c == '"' || *c == '\\') {
            fprintf(f, "\\%c", *c);
        } else if (*c < 32) {
            fprintf(f, "\\u%04x", *c);
        } else {
            fputc(*c, f);
        }
    }
    fputc('"', f);
}

/* A span (ph X), or a moment (ph i) where it has no length. */
static void event_write(FILE *f, const event *e, bool first) {
    const char *name = e->name ? e->name : e->text ? e->text : "";
    fprintf(f, "%s\n{\"name\": ", first ? "" : ",");
    text_write(f, name);
    fprintf(f, ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %u, \"ts\": %.3f", e->category,
            (int)getpid(), e->thread, (double)e->start * 1e-3);
    if (e->end > e->start)
        fprintf(f, ", \"ph\": \"X\", \"dur\": %.3f", (double)(e->end - e->start) * 1e-3);
    else
        fprintf(f, ", \"ph\": \"i\", \"s\": \"t\"");
    if (e->stream >= 0) fprintf(f, ", \"args\": {\"stream\": %d}", e->stream);
    fputc('}', f);
}

/* Lock held. */
static aclError trace_write(void) {
    char path[PATH_LENGTH_MAX + 64];
    int length = snprintf(path, sizeof path, "%s/PROF_%d_%u", profile.path, (int)getpid(),
                          ++profile.written);
    bool made = mkdir(path, 0777) == 0 || errno == EEXIST;
    snprintf(path + length, sizeof path - (size_t)length, "/trace.json");
    FILE *f = made ? fopen(path, "we") : NULL;
    bool good = f != NULL;
    if (f != NULL) {
        fprintf(f,
                "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": %zu}, "
                "\"traceEvents\": [",
                profile.dropped);
        for (size_t i = 0; i < profile.count; i++)
            event_write(f, &profile.events[i], i == 0);
        fprintf(f, "\n]}\n");
        good = !ferror(f);
        good = fclose(f) == 0 && good;
    }
    if (good) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_WRITE_FILE, "aclprofFinalize: %s: %s", path,
                     strerror(errno));
}

/* Lock held. */
static void events_clear(void) {
    for (size_t i = 0; i < profile.count; i++)
        asn_free(profile.events[i].text);
    asn_free(profile.events);
    profile.events = NULL;
    profile.count = profile.capacity = profile.dropped = 0;
}

/* ---- sessions */

/* Prepares profiling; results go below the folder `profilerResultPath` (`length` bytes
 * long), which must exist. */
ASN_API aclError aclprofInit(const char *profilerResultPath, size_t length) {
    RT_CHECK_NOT_NULL("aclprofInit", profilerResultPath);
    if (length == 0 || length >= PATH_LENGTH_MAX || strlen(profilerResultPath) != length)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclprofInit: length %zu is not the path's, or is 0 or above %d",
                         length, PATH_LENGTH_MAX - 1);
    struct stat info;
    if (stat(profilerResultPath, &info) != 0 || !S_ISDIR(info.st_mode) ||
        access(profilerResultPath, W_OK) != 0)
        return asnrtFail(ACL_ERROR_INVALID_FILE,
                         "aclprofInit: %s is no folder that can be written",
                         profilerResultPath);
    pthread_mutex_lock(&profile.lock);
    bool again = profile.path[0] != 0;
    if (!again) memcpy(profile.path, profilerResultPath, length + 1);
    pthread_mutex_unlock(&profile.lock);
    if (!again) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit: initialised already");
}

/* Writes the trace, ends the session. */
ASN_API aclError aclprofFinalize(void) {
    pthread_mutex_lock(&profile.lock);
    bool ready = profile.path[0] != 0;
    asnrtHook(ASNRT_HOOK_PROFILE, false);
    profile.running = false;
    aclError code = ready ? trace_write() : ACL_SUCCESS;
    events_clear();
    profile.path[0] = 0;
    pthread_mutex_unlock(&profile.lock);
    if (ready) return code;
    return asnrtFail(ACL_ERROR_UNINITIALIZE, "aclprofFinalize: aclprofInit comes first");
}

/* What to measure on which devices. A CPU has no AI cores whose metrics could be chosen
 * (aicoreEvents must be NULL), and always measures its operators. */
ASN_API aclprofConfig *aclprofCreateConfig(uint32_t *deviceIdList, uint32_t deviceNums,
                                           aclprofAicoreMetrics aicoreMetrics,
                                           const aclprofAicoreEvents *aicoreEvents,
                                           uint64_t dataTypeConfig) {
    bool good = aicoreEvents == NULL && (deviceIdList != NULL || deviceNums == 0);
    for (uint32_t i = 0; good && i < deviceNums; i++)
        if (rt_device_check((int32_t)deviceIdList[i]) != ACL_SUCCESS) return NULL;
    aclprofConfig *config = good ? rt_object_new(&configs) : NULL;
    if (!good)
        (void)asnrtFail(ACL_ERROR_INVALID_PROFILING_CONFIG,
                        "aclprofCreateConfig: deviceIdList is NULL, or aicoreEvents not");
    if (config != NULL) {
        config->data = dataTypeConfig;
        config->metrics = aicoreMetrics;
    }
    return config;
}

/* Destroys the configuration. */
ASN_API aclError aclprofDestroyConfig(const aclprofConfig *profilerConfig) {
    return rt_object_free(&configs, "aclprofDestroyConfig", "profilerConfig",
                          profilerConfig);
}

/* Settings of NPU counters: known ones are accepted and change nothing on a CPU. */
ASN_API aclError aclprofSetConfig(aclprofConfigType configType, const char *config,
                                  size_t configLength) {
    RT_CHECK_NOT_NULL("aclprofSetConfig", config);
    if (configType > ACL_PROF_ARGS_MIN && configType < ACL_PROF_ARGS_MAX &&
        strlen(config) == configLength)
        return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PROFILING_CONFIG,
                     "aclprofSetConfig: type %d is unknown, or the length %zu not the "
                     "text's",
                     (int)configType, configLength);
}

/* Starts or stops; the configuration must be a live one. */
static aclError session_switch(const char *function, const aclprofConfig *config,
                               bool on) {
    RT_CHECK_ALIVE(function, &configs, config);
    pthread_mutex_lock(&profile.lock);
    bool ready = profile.path[0] != 0, was = profile.running;
    if (ready && was != on) {
        profile.running = on;
        asnrtHook(ASNRT_HOOK_PROFILE, on);
    }
    pthread_mutex_unlock(&profile.lock);
    if (!ready)
        return asnrtFail(ACL_ERROR_UNINITIALIZE, "%s: aclprofInit comes first", function);
    if (was != on) return ACL_SUCCESS;
    return asnrtFail(on ? ACL_ERROR_PROF_ALREADY_RUN : ACL_ERROR_PROF_NOT_RUN,
                     "%s: profiling %s", function, on ? "runs already" : "does not run");
}

/* Starts measuring. */
ASN_API aclError aclprofStart(const aclprofConfig *profilerConfig) {
    return session_switch("aclprofStart", profilerConfig, true);
}

/* Gets ready to measure: a CPU needs no preparation, so that the configuration is checked
 * and nothing else. */
ASN_API aclError aclprofWarmup(const aclprofConfig *profilerConfig) {
    return rt_object_check(&configs, "aclprofWarmup", "profilerConfig", profilerConfig);
}

/* Devices that are set later are measured too: every device always is. */
ASN_API aclError aclprofRegisterDeviceCallback(void) {
    return ACL_SUCCESS;
}

/* Stops measuring; what was measured is kept for aclprofFinalize. */
ASN_API aclError aclprofStop(const aclprofConfig *profilerConfig) {
    return session_switch("aclprofStop", profilerConfig, false);
}

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

/* Sets the stamp's message, cut to 127 bytes. */
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
    int64_t now = rt_now();
    event_add("mark", NULL, ((stamp *)stamp_)->text, -1, now, now);
    return ACL_SUCCESS;
}

typedef struct {
    int32_t stream;
    char text[TEXT_MAX];
} mark_task;

/* In stream order, with the time when it is reached. */
static int32_t task_mark(void *arg) {
    const mark_task *t = arg;
    int64_t now = rt_now();
    event_add("mark", NULL, t->text, t->stream, now, now);
    return 0;
}

/* Marks the moment when the stream gets there. */
ASN_API aclError aclprofMarkEx(const char *msg, size_t msgLen, aclrtStream stream) {
    RT_CHECK_NOT_NULL("aclprofMarkEx", msg);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    mark_task t = {rt_stream_id(s), ""};
    text_copy(t.text, msg, msgLen);
    return rt_stream_do(s, task_mark, &t, sizeof t, 0);
}

/* Opens a range on the calling thread, inside those it has open. */
ASN_API aclError aclprofPush(void *stamp_) {
    RT_CHECK_ALIVE("aclprofPush", &stamps, stamp_);
    if (depth == OPEN_MAX)
        return asnrtFail(ACL_ERROR_STORAGE_OVER_LIMIT, "aclprofPush: %d ranges are open",
                         OPEN_MAX);
    nested[depth].start = rt_now();
    memcpy(nested[depth++].text, ((stamp *)stamp_)->text, TEXT_MAX);
    return ACL_SUCCESS;
}

/* Closes the thread's innermost range. */
ASN_API aclError aclprofPop(void) {
    if (depth == 0)
        return asnrtFail(ACL_ERROR_PROF_NOT_RUN,
                         "aclprofPop: no range is open on this thread");
    const open_range *r = &nested[--depth];
    event_add("range", NULL, r->text, -1, r->start, rt_now());
    return ACL_SUCCESS;
}

/* Opens a range that any thread may close by its number. */
ASN_API aclError aclprofRangeStart(void *stamp_, uint32_t *rangeId) {
    RT_CHECK_ALIVE("aclprofRangeStart", &stamps, stamp_);
    RT_CHECK_NOT_NULL("aclprofRangeStart", rangeId);
    open_range *found = NULL;
    pthread_mutex_lock(&profile.lock);
    for (int i = 0; i < OPEN_MAX && found == NULL; i++)
        if (profile.ranges[i].id == 0) found = &profile.ranges[i];
    if (found != NULL) {
        found->id = *rangeId = ++profile.last_range;
        found->start = rt_now();
        memcpy(found->text, ((stamp *)stamp_)->text, TEXT_MAX);
    }
    pthread_mutex_unlock(&profile.lock);
    if (found != NULL) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_STORAGE_OVER_LIMIT,
                     "aclprofRangeStart: %d ranges are open", OPEN_MAX);
}

/* Closes a range of aclprofRangeStart. */
ASN_API aclError aclprofRangeStop(uint32_t rangeId) {
    open_range closed = {0, 0, ""};
    pthread_mutex_lock(&profile.lock);
    for (int i = 0; rangeId != 0 && i < OPEN_MAX && closed.id == 0; i++) {
        if (profile.ranges[i].id != rangeId) continue;
        closed = profile.ranges[i];
        profile.ranges[i].id = 0;
    }
    pthread_mutex_unlock(&profile.lock);
    if (closed.id == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclprofRangeStop: no range %u is open",
                         rangeId);
    event_add("range", NULL, closed.text, -1, closed.start, rt_now());
    return ACL_SUCCESS;
}

/* ---- steps */

/* A step of the program, to be timed on a stream; NULL when out of memory. */
ASN_API aclprofStepInfo *aclprofCreateStepInfo(void) {
    aclprofStepInfo *step = rt_object_new(&steps);
    if (step == NULL) return NULL;
    pthread_mutex_lock(&profile.lock);
    step->number = ++profile.last_step;
    pthread_mutex_unlock(&profile.lock);
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
    int32_t stream;
} step_task;

/* The end adds the event, from the start's time. */
static int32_t task_step(void *arg) {
    const step_task *t = arg;
    int64_t now = rt_now();
    if (t->tag == ACL_STEP_START) {
        t->step->start = now;
    } else {
        char text[TEXT_MAX];
        snprintf(text, sizeof text, "step %u", t->step->number);
        event_add("step", NULL, text, t->stream, t->step->start, now);
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
    *t = (step_task){stepInfo, tag, rt_stream_id(s)};
    atomic_fetch_add(&stepInfo->references, 1);
    return asnrtStreamPush((asnrtStreamState *)s, task_step, drop_step, t);
}

void rt_profile_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&profile.lock);
    } else {
        pthread_mutex_unlock(&profile.lock);
    }
}
