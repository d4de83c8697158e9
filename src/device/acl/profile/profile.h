/* CPU device, runtime: what the files of the profiler share.
 *
 * session.c keeps a session and its events, write.c writes them, mark.c adds a program's
 * marks, ranges and steps, mstx.c does so under the names of the tools'
 * extension. Nothing here leaves libascendcl.
 */
#ifndef ASN_DEVICE_ACL_PROFILE_H
#define ASN_DEVICE_ACL_PROFILE_H

#include "acl/acl_prof.h"
#include "device/acl/internal.h"
#include "mstx/ms_tools_ext.h"

enum { RT_PROFILE_TEXT_MAX = 160, RT_PROFILE_PATH_MAX = 4096 };

/* One span, or (end == start) a moment, in nanoseconds of rt_profile_now. */
typedef struct {
    const char *category;   /* "operator", "range", "step", "mark" */
    const char *name;       /* lives on, as an operator's does; NULL: text */
    char *text;             /* copied by rt_profile_add, which owns the copy */
    const char *domain;     /* lives on; NULL: none */
    int32_t stream, device; /* -1: none */
    uint32_t thread;        /* that did it */
    uint32_t launcher;      /* thread that launched it; 0: it was not launched */
    int64_t start, end, launched;
} rt_profile_event;

/* Adds an event of the calling thread while profiling runs; `text` is copied. */
void rt_profile_add(rt_profile_event event);
/* A span or moment of the program's own; domain: NULL where it has none. */
void rt_profile_text(const char *category, const char *domain, const char *text,
                     int32_t stream, int32_t device, int64_t start, int64_t end);

/* A moment of both clocks, by which times become those of the day: CLOCK_MONOTONIC_RAW
 * and CLOCK_REALTIME, in nanoseconds. */
typedef struct {
    int64_t raw, day;
} rt_profile_clocks;

rt_profile_clocks rt_profile_clocks_now(void);

/* What a session leaves: written below `path`, into a new folder PROF_... . */
typedef struct {
    const char *path;
    rt_profile_clocks begin;
    uint64_t devices; /* a bit for each device that the configurations named */
    const rt_profile_event *events;
    size_t count, dropped;
} rt_profile_session;
aclError rt_profile_write(const rt_profile_session *session);

#endif
