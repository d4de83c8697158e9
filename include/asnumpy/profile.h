/* AsNumpy in C: what ran, when, and how close to what the machine can do. Include
 * asnumpy/asnumpy.h.
 *
 *     asnp_profile *p = NULL;
 *     char *text = NULL;
 *     if (asnp_profile_start(0, &p) || work() || asnp_profile_stop(p) ||
 *         asnp_profile_summary(p, 20, &text) || asnp_profile_export(p, "trace.json"))
 *         fprintf(stderr, "%s\n", asnp_message());
 *     asnp_free_text(text), asnp_profile_release(p);
 *
 * Sessions may overlap; each has what happened between its start and its stop, on all
 * threads. The totals are complete, the events the latest 262,144. Without a session
 * nothing is recorded, and nothing costs.
 */
#ifndef ASNUMPY_PROFILE_H_
#define ASNUMPY_PROFILE_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A session. Ended by asnp_profile_release. */
typedef struct asnp_profile asnp_profile;

/* Runs everything recorded, and begins. Small operations, up to 2048 elements, are all
 * counted, and one in `every` is timed and stands for the others (0: 32; 1: each).
 * MEMORY; VALUE: every < 0. */
ASNUMPY_API asnp_status asnp_profile_start(int32_t every, asnp_profile **out);
/* Runs everything recorded, and ends. VALUE: it has ended. */
ASNUMPY_API asnp_status asnp_profile_stop(asnp_profile *p);
/* NULL is nothing; one that has not ended is ended. */
ASNUMPY_API void asnp_profile_release(asnp_profile *p);

/* ---- ranges: parts of the program, by the program's own names
 *
 *     ASNP_PROFILE_PUSH("forward");
 *     ...
 *     asnp_profile_pop();
 *
 * A range is the time of its thread between push and pop, and encloses what the thread
 * asks for in it: operations, copies and allocations carry the innermost range, also
 * those that run later. (For the time of the work itself, call asnp_synchronize before
 * the pop.) Without a session a range costs a few nanoseconds; one that is open when a
 * session begins is not in it. Names and files are copied and kept for the process: they
 * are meant to be those of the program's text. */

/* file: where, or NULL. VALUE: 64 ranges are open on this thread. MEMORY. */
ASNUMPY_API asnp_status asnp_profile_push(const char *name, const char *file,
                                          int32_t line);
/* Ends the innermost one. VALUE: none is open on this thread. */
ASNUMPY_API asnp_status asnp_profile_pop(void);
/* A moment: a range without length. MEMORY. */
ASNUMPY_API asnp_status asnp_profile_mark(const char *name, const char *file,
                                          int32_t line);
#define ASNP_PROFILE_PUSH(name) asnp_profile_push(name, __FILE__, __LINE__)
#define ASNP_PROFILE_MARK(name) asnp_profile_mark(name, __FILE__, __LINE__)

/* ---- reading

 * What belongs together, added up. kind: "program" (fused), "operator", "small",
 * "to device", "to host", "allocate", "release", "synchronize" (name: why), "plan" or
 * "range"; a program's name is that of its last operation. range: the innermost one that
 * encloses them, NULL: none. bytes: read and written, copied, or
 * allocated. flops: floating-point operations. Texts are static. */
typedef struct {
    const char *kind, *name, *range;
    int64_t calls, bytes, flops;
    double seconds;
} asnp_profile_row;
/* The rows, longest first, at most `room` into rows (NULL when room is 0); *count
 * receives how many there are. VALUE: the session has not ended. */
ASNUMPY_API asnp_status asnp_profile_rows(const asnp_profile *p, int32_t room,
                                          asnp_profile_row *rows, int32_t *count);
/* The `top` longest as a table, which the caller frees with asnp_free_text. VALUE: the
 * session has not ended, top < 1. */
ASNUMPY_API asnp_status asnp_profile_summary(const asnp_profile *p, int32_t top,
                                             char **text);
/* Writes the events to a file in Chrome's trace format, which Perfetto opens. VALUE: the
 * session has not ended. RUNTIME: the file. */
ASNUMPY_API asnp_status asnp_profile_export(const asnp_profile *p, const char *path);

#ifdef __cplusplus
}
#endif
#endif
