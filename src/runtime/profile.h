/* L2 runtime: the recorder: what the library did, when, for which line of the program.
 *
 * Off, it is one flag that the slow paths test. On, each operation, fused program, copy,
 * allocation, plan and wait leaves an event of 64 bytes in a ring; what the ring no
 * longer holds is folded into totals by name and line before it is overwritten, so that
 * totals are complete however long the recording is. Times are the processor's ticks,
 * converted when they are read. On a device that works behind the calls, an event's
 * length is what two of the device's own events say, found at the next wait.
 *
 * Any number of sessions (profiles, a monitor) share the recorder: it runs while there is
 * one, and each reads from where it began.
 */
#ifndef ASN_RUNTIME_PROFILE_H
#define ASN_RUNTIME_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "runtime/site.h"

typedef enum {
    ASN_EVENT_PROGRAM,   /* a fused program */
    ASN_EVENT_OPERATOR,  /* an operator of CANN's, or one of the fused one's relatives */
    ASN_EVENT_SMALL,     /* a small operation on the calling thread; stands for `calls` */
    ASN_EVENT_TO_DEVICE, /* a copy */
    ASN_EVENT_TO_HOST,   /* a copy */
    ASN_EVENT_ALLOCATE,  /* from the pool; work: bytes in use then */
    ASN_EVENT_RELEASE,   /* to the pool; work: bytes in use then; no line */
    ASN_EVENT_SYNCHRONIZE, /* name: what the host waited for */
    ASN_EVENT_PLAN,        /* work: operations planned; calls: 1 */
    ASN_EVENT_RANGE,       /* of the program's own: what lies between two of its calls */
    ASN_EVENT_KINDS
} asn_event_kind;

typedef struct {
    uint64_t begin, length; /* ticks; nanoseconds once read */
    int64_t bytes;          /* read and written, allocated, copied */
    int64_t work;           /* floating-point operations */
    const char *name;       /* static */
    asn_site line;          /* of the program */
    uint32_t thread;        /* 1, 2, ... in order of appearance */
    uint32_t calls;
    uint32_t detail; /* of a program: its description (graph/profile_events.h); else 0 */
    uint16_t kind, dtype;
    uint32_t stream; /* whose queue's number it was put on; 0: the library's own */
} asn_event;

/* The same added up: one for each kind, name, line and detail. */
typedef struct {
    const char *name;
    uint64_t calls, length; /* nanoseconds once read */
    int64_t bytes, work;
    asn_site line;
    uint32_t detail, kind, unused;
} asn_event_total;

/* ---- for those who record */

extern bool asn_profile_on;
#define ASN_PROFILING __builtin_expect(asn_profile_on, 0)
/* What runs only while something is recorded. Not `cold`: GCC makes such functions small
 * (an event is cleared and copied by `rep stos` and `rep movs`, 30 cycles each) and puts
 * them where no other code is; the branches that lead to them are unlikely as it is. */
#define ASN_RECORDS __attribute__((noinline))

/* The beginning of an event; .ticks 0: nothing is recorded. */
typedef struct {
    uint64_t ticks;
    int32_t pair; /* of the device's events, or -1 */
} asn_mark;
#define ASN_NO_MARK ((asn_mark){0, -1})

asn_mark asn_profile_open(bool on_device) ASN_RECORDS;
/* Work of the host, and work that is put on the stream. */
static inline asn_mark asn_profile_begin(void) {
    return ASN_PROFILING ? asn_profile_open(false) : ASN_NO_MARK;
}
static inline asn_mark asn_profile_begin_on_device(void) {
    return ASN_PROFILING ? asn_profile_open(true) : ASN_NO_MARK;
}
/* The end of what `mark` began: its place in the ring, with .bytes, .work, .detail and
 * .dtype still 0, for the caller to fill. line 0: that of what runs. Nothing else may be
 * recorded before asn_profile_keep. */
asn_event *asn_profile_close(asn_mark mark, asn_event_kind kind, const char *name,
                             asn_site line) ASN_RECORDS;
void asn_profile_keep(asn_mark mark) ASN_RECORDS;
/* Both, where the bytes are all there is to fill. */
void asn_profile_note(asn_mark mark, asn_event_kind kind, const char *name,
                      int64_t bytes) ASN_RECORDS;

/* Small operations are counted, and timed one in a few, chosen without a pattern (PASSED:
 * not this one; 0: nothing is recorded). What is not timed costs two counters and no
 * call. Torn updates by two threads would only move a sample. */
enum { ASN_SMALL_PASSED = 1 };
extern int32_t asn_small_left;    /* until one is timed */
extern uint32_t asn_small_passed; /* done since one was timed */
/* Whether the next one is to be timed, which asn_profile_small_open then begins. */
static inline bool asn_profile_take_small(void) {
    return --asn_small_left <= 0;
}
uint64_t asn_profile_small_open(void) ASN_RECORDS;
static inline uint64_t asn_profile_begin_small(void) {
    if (!ASN_PROFILING) return 0;
    return asn_profile_take_small() ? asn_profile_small_open() : ASN_SMALL_PASSED;
}
/* Whether one that began so, and was done or not, was timed; asn_profile_small ends it.
 */
static inline bool asn_profile_small_timed(uint64_t begin, bool done) {
    if (__builtin_expect(begin == 0, 1) || !done) return false;
    asn_small_passed += begin == ASN_SMALL_PASSED;
    return begin != ASN_SMALL_PASSED;
}
void asn_profile_small(uint64_t begin, const char *name, int64_t bytes,
                       int64_t work) ASN_RECORDS;

/* Memory that is now in use (bytes > 0), or no longer (< 0). Called without locks. */
void asn_profile_memory_changed(int64_t bytes, uint64_t in_use) ASN_RECORDS;
static inline void asn_profile_memory(int64_t bytes, uint64_t in_use) {
    if (ASN_PROFILING) asn_profile_memory_changed(bytes, in_use);
}

extern bool asn_profile_line_held; /* by the thread that runs recorded operations */
asn_site asn_profile_line_own(void) ASN_RECORDS;
/* The line of what runs: that of recorded operations while they run
 * (asn_profile_line_set), else that of the caller. */
static inline asn_site asn_profile_line(void) {
    return asn_profile_line_held ? asn_profile_line_own() : asn_site_here();
}
/* 0 ends it. */
void asn_profile_line_set(asn_site line);
/* The line of now stays that of the thread's events, which may end where the binding
 * cannot be asked, until asn_profile_line_release. With the library's lock held. */
void asn_profile_line_hold(void) ASN_RECORDS;
void asn_profile_line_release(void) ASN_RECORDS;

/* ---- for those who read */

/* Starts a session; of small operations one in `every` is timed (0: as it is, 32
 * at first); *since receives the place of its first event. MemoryError. */
ASN_CHECK_RESULT asn_status asn_profile_start(int every, uint64_t *since);
/* Ends one. Without sessions nothing is recorded; what was stays until the next start. */
void asn_profile_stop(void);
/* Copies events from place `since` on, at most `room`, into out (NULL: none), times in
 * nanoseconds of asn_profile_clock; *first receives the place of the first one (later
 * than `since` when the ring has moved on). Returns how many. */
size_t asn_profile_read(uint64_t since, size_t room, asn_event *out, uint64_t *first);
/* All totals since the process began, at most `room`; returns how many there are. */
size_t asn_profile_totals(size_t room, asn_event_total *out);
/* Nanoseconds of CLOCK_MONOTONIC. */
uint64_t asn_profile_clock(void);

/* Around a fork: no other thread is recording an event. */
void asn_profile_hold(void);
void asn_profile_let_go(void);

/* ---- profile_device.c: lengths by the device's own clock */

/* Whether work is done behind the calls. */
bool asn_profile_lags(void);
/* A pair whose first event is on the stream, or -1; its second; then the event's place.
 */
int32_t asn_profile_pair_open(void);
void asn_profile_pair_close(int32_t pair, uint64_t place);
/* Waits for all pairs and has their lengths filled in. */
void asn_profile_pairs_finish(void);
/* The device closes. */
void asn_profile_pairs_fini(void);
/* profile.c's part: the length of the event at `place`, if it is still held. */
void asn_profile_set_length(uint64_t place, double ns);

#endif
