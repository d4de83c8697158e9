/* CPU device, runtime: what a profiling session leaves on disk.
 *
 * A session makes one folder, PROF_<number>_<time of day>_<process>, and in it
 *   trace.json         every event, in the trace event format that chrome://tracing and
 *                      Perfetto show: microseconds, a row per thread;
 *   host/start_info    the two clocks at the start, by which times become the day's;
 *   device_<n>         for each device that was profiled.
 * These are the names that tools for profiles of Ascend look for. `msprof --export=on`
 * (msprof/msprof.py) makes the documented tables and time line from trace.json.
 */
#include "device/acl/profile/profile.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FOLDER_MAX = RT_PROFILE_PATH_MAX + 128, TRIES = 10000 };

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

/* Microseconds to the nanosecond: a double would lose digits after days of running. */
static void time_write(FILE *f, const char *key, int64_t ns) {
    fprintf(f, ", \"%s\": %lld.%03lld", key, (long long)(ns / 1000),
            (long long)(ns % 1000));
}

/* A span (ph X), or a moment (ph i) where it has no length. */
static void event_write(FILE *f, const rt_profile_event *e, bool first) {
    const char *name = e->name ? e->name : e->text ? e->text : "";
    fprintf(f, "%s\n{\"name\": ", first ? "" : ",");
    text_write(f, name);
    fprintf(f, ", \"cat\": \"%s\", \"pid\": %d, \"tid\": %u", e->category, (int)getpid(),
            e->thread);
    time_write(f, "ts", e->start);
    if (e->end > e->start) {
        fprintf(f, ", \"ph\": \"X\"");
        time_write(f, "dur", e->end - e->start);
    } else {
        fprintf(f, ", \"ph\": \"i\", \"s\": \"t\"");
    }
    fprintf(f, ", \"args\": {\"stream\": %d, \"device\": %d", e->stream, e->device);
    if (e->domain != NULL) {
        fprintf(f, ", \"domain\": ");
        text_write(f, e->domain);
    }
    if (e->launcher != 0) {
        fprintf(f, ", \"launcher\": %u", e->launcher);
        time_write(f, "launched", e->launched);
    }
    fprintf(f, "}}");
}

/* All events in the order in which they ended. */
static void trace_write(FILE *f, const rt_profile_session *session) {
    fprintf(f,
            "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"dropped\": %zu}, "
            "\"traceEvents\": [",
            session->dropped);
    for (size_t i = 0; i < session->count; i++)
        event_write(f, &session->events[i], i == 0);
    fprintf(f, "\n]}\n");
}

/* As texts, which readers turn into numbers: a double would lose digits of either. */
static void start_write(FILE *f, const rt_profile_session *session) {
    const rt_profile_clocks *t = &session->begin;
    fprintf(f,
            "{\"collectionTimeBegin\": \"%lld.%03lld\", \"clockMonotonicRaw\": "
            "\"%lld\"}\n",
            (long long)(t->day / 1000), (long long)(t->day % 1000), (long long)t->raw);
}

/* With the reason that the system gave. */
static aclError fail(const char *path) {
    return asnrtFail(ACL_ERROR_WRITE_FILE, "aclprofFinalize: %s: %s", path,
                     strerror(errno));
}

/* A whole file, or the error; what was written of it stays. */
static aclError file_write(const char *folder, const char *name,
                           const rt_profile_session *session,
                           void (*write)(FILE *, const rt_profile_session *)) {
    char path[FOLDER_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "we");
    if (f == NULL) return fail(path);
    write(f, session);
    bool good = !ferror(f);
    good = fclose(f) == 0 && good;
    return good ? ACL_SUCCESS : fail(path);
}

/* Inside the session's folder, which is new: so is this. */
static aclError folder_make(const char *folder, const char *name) {
    char path[FOLDER_MAX + 32];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return mkdir(path, 0777) == 0 ? ACL_SUCCESS : fail(path);
}

/* A folder that no other session has: of this process, or of another with its number. */
static aclError session_folder(const rt_profile_session *session, char *folder) {
    static _Atomic uint32_t number;
    time_t seconds = (time_t)(session->begin.day / 1000000000);
    struct tm day;
    localtime_r(&seconds, &day);
    char text[32];
    strftime(text, sizeof text, "%Y%m%d%H%M%S", &day);
    for (int i = 0; i < TRIES; i++) {
        snprintf(folder, FOLDER_MAX, "%s/PROF_%06u_%s%03d_%08d", session->path,
                 atomic_fetch_add(&number, 1) + 1, text,
                 (int)(session->begin.day / 1000000 % 1000), (int)getpid());
        if (mkdir(folder, 0777) == 0) return ACL_SUCCESS;
        if (errno != EEXIST) break;
    }
    return fail(folder);
}

/* The devices that were named and those that did something. */
static uint64_t devices_of(const rt_profile_session *session) {
    uint64_t devices = session->devices;
    for (size_t i = 0; i < session->count; i++)
        if (session->events[i].device >= 0)
            devices |= (uint64_t)1 << session->events[i].device;
    return devices;
}

/* Folders first: a reader that finds a file finds all that belong to it. */
aclError rt_profile_write(const rt_profile_session *session) {
    char folder[FOLDER_MAX], name[32];
    uint64_t devices = devices_of(session);
    aclError code = session_folder(session, folder);
    if (code == ACL_SUCCESS) code = folder_make(folder, "host");
    for (int i = 0; i < RT_MAX_DEVICES && code == ACL_SUCCESS; i++) {
        snprintf(name, sizeof name, "device_%d", i);
        if (devices >> i & 1) code = folder_make(folder, name);
    }
    if (code == ACL_SUCCESS)
        code = file_write(folder, "host/start_info", session, start_write);
    if (code == ACL_SUCCESS)
        code = file_write(folder, "trace.json", session, trace_write);
    return code;
}
