/* CPU device, runtime: profiling sessions.
 *
 * Between aclprofStart and aclprofStop every operator that runs leaves a span (name,
 * thread, stream, start, end, when and by which thread it was launched), and the program
 * its marks, ranges and steps (mark.c). aclprofFinalize writes them
 * (write.c). Times are those of CLOCK_MONOTONIC_RAW, as programs that profile
 * themselves for Ascend take them: what they measured lies beside the operators without
 * a conversion. Past EVENTS_MAX events are counted, not kept.
 */
#include "device/acl/profile/profile.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { EVENTS_MAX = 1 << 20 };

/* Stored for nothing but its devices and to be a handle: a CPU measures what it always
 * does. */
struct aclprofConfig {
    asnd_slot slot;
    uint64_t devices; /* a bit for each */
    uint64_t data;
    aclprofAicoreMetrics metrics;
};

static asnd_arena configs =
    ASN_ARENA_INIT("profiler configuration", sizeof(aclprofConfig), 1 << 12, true);
ASN_FORK_TAKES(configs, &configs.lock, ASN_FORK_LEAF)

static struct {
    pthread_mutex_t lock;
    char path[RT_PROFILE_PATH_MAX]; /* "": not initialised */
    bool running;
    rt_profile_clocks begin;
    uint64_t devices;
    rt_profile_event *events;
    size_t count, capacity, dropped;
} profile = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- events */

static int64_t clock_ns(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Unaffected by the time of day and by corrections of its rate. */
int64_t rt_profile_now(void) {
    return clock_ns(CLOCK_MONOTONIC_RAW);
}

/* One after the other: they are some 50 ns apart. */
rt_profile_clocks rt_profile_clocks_now(void) {
    return (rt_profile_clocks){rt_profile_now(), clock_ns(CLOCK_REALTIME)};
}

/* Asked each time: the child of a fork has another. */
uint32_t rt_profile_thread(void) {
    return (uint32_t)syscall(SYS_gettid);
}

/* Room for another event; lock held. */
static bool events_grow(void) {
    if (profile.count < profile.capacity) return true;
    if (profile.count >= EVENTS_MAX) return false;
    size_t capacity = profile.capacity ? 2 * profile.capacity : 256;
    rt_profile_event *more = asn_realloc(profile.events, capacity * sizeof *more);
    if (more == NULL) return false;
    profile.events = more;
    profile.capacity = capacity;
    return true;
}

/* By any thread; past EVENTS_MAX, or without memory, only counted. */
void rt_profile_add(rt_profile_event event) {
    event.thread = rt_profile_thread();
    pthread_mutex_lock(&profile.lock);
    bool room = profile.running && events_grow();
    if (room && event.text != NULL) {
        char *copy = asn_malloc(strlen(event.text) + 1);
        if (copy != NULL) memcpy(copy, event.text, strlen(event.text) + 1);
        event.text = copy;
    }
    if (room) profile.events[profile.count++] = event;
    profile.dropped += profile.running && !room;
    pthread_mutex_unlock(&profile.lock);
}

/* An operator, copy or collective has ended on the calling thread. */
void rt_profile_operator(const char *name, const asnrtScope *scope, int64_t end) {
    rt_profile_add((rt_profile_event){.category = "operator",
                                      .name = name,
                                      .stream = scope->stream,
                                      .device = scope->device,
                                      .launcher = scope->launcher,
                                      .start = scope->start,
                                      .end = end,
                                      .launched = scope->launched});
}

void rt_profile_text(const char *category, const char *domain, const char *text,
                     int32_t stream, int32_t device, int64_t start, int64_t end) {
    rt_profile_add((rt_profile_event){.category = category,
                                      .domain = domain,
                                      .text = (char *)text,
                                      .stream = stream,
                                      .device = device,
                                      .start = start,
                                      .end = end});
}

/* Lock held. */
static void events_clear(void) {
    for (size_t i = 0; i < profile.count; i++)
        asn_free(profile.events[i].text);
    asn_free(profile.events);
    profile.events = NULL;
    profile.count = profile.capacity = profile.dropped = 0;
    profile.devices = 0;
}

/* ---- sessions */

/* Prepares profiling; results go below the folder `profilerResultPath` (`length` bytes
 * long), which must exist. */
ASN_API aclError aclprofInit(const char *profilerResultPath, size_t length) {
    RT_CHECK_NOT_NULL("aclprofInit", profilerResultPath);
    if (length == 0 || length >= RT_PROFILE_PATH_MAX ||
        strlen(profilerResultPath) != length)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclprofInit: length %zu is not the path's, or is 0 or above %d",
                         length, RT_PROFILE_PATH_MAX - 1);
    struct stat info;
    if (stat(profilerResultPath, &info) != 0 || !S_ISDIR(info.st_mode) ||
        access(profilerResultPath, W_OK) != 0)
        return asnrtFail(ACL_ERROR_INVALID_FILE,
                         "aclprofInit: %s is no folder that can be written",
                         profilerResultPath);
    pthread_mutex_lock(&profile.lock);
    bool again = profile.path[0] != 0;
    if (!again) {
        memcpy(profile.path, profilerResultPath, length + 1);
        profile.begin = rt_profile_clocks_now();
    }
    pthread_mutex_unlock(&profile.lock);
    if (!again) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_REPEAT_INITIALIZE, "aclprofInit: initialised already");
}

/* Writes what was measured, ends the session. */
ASN_API aclError aclprofFinalize(void) {
    pthread_mutex_lock(&profile.lock);
    bool ready = profile.path[0] != 0;
    asnrtHook(ASNRT_HOOK_PROFILE, false);
    profile.running = false;
    rt_profile_session session = {profile.path,   profile.begin, profile.devices,
                                  profile.events, profile.count, profile.dropped};
    aclError code = ready ? rt_profile_write(&session) : ACL_SUCCESS;
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
        for (uint32_t i = 0; i < deviceNums; i++)
            config->devices |= (uint64_t)1 << deviceIdList[i];
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
        profile.devices |= config->devices;
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

/* What the profiler has beyond these functions, as a list of descriptions: none. */
static aclError features_none(const char *function, size_t *size, void **data) {
    if (size == NULL || data == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function,
                         size == NULL ? "featuresSize" : "featuresData");
    *size = 0;
    *data = NULL;
    return ACL_SUCCESS;
}

/* An empty list: a CPU's profiler has no features that a caller would choose by name. */
ASN_API aclError aclprofGetSupportedFeatures(size_t *featuresSize, void **featuresData) {
    return features_none("aclprofGetSupportedFeatures", featuresSize, featuresData);
}

/* aclprofGetSupportedFeatures for newer callers: the same empty list. */
ASN_API aclError aclprofGetSupportedFeaturesV2(size_t *featuresSize,
                                               void **featuresData) {
    return features_none("aclprofGetSupportedFeaturesV2", featuresSize, featuresData);
}

/* Devices that are set later are measured too: every device always is. */
ASN_API aclError aclprofRegisterDeviceCallback(void) {
    return ACL_SUCCESS;
}

/* Stops measuring; what was measured is kept for aclprofFinalize. */
ASN_API aclError aclprofStop(const aclprofConfig *profilerConfig) {
    return session_switch("aclprofStop", profilerConfig, false);
}

void rt_profile_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&profile.lock);
    } else {
        pthread_mutex_unlock(&profile.lock);
    }
}
