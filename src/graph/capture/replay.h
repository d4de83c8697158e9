/* L2 graph: captures: what a piece of a program launches, kept as a list of steps, and
 * launched again with other arrays (docs/design/0018-replay.md).
 *
 * Between asn_capture_begin and its end everything the calling thread launches runs as
 * ever and is written down: fused programs, CANN's operators (their executors kept and
 * made repeatable), the fused operator's relatives, memory filled from the host. A step's
 * addresses are kept as places: a slot (an argument, an array that was there before, a
 * temporary, a result) and an offset. A replay takes memory for the temporaries in one
 * block laid out by their lives, fills addresses in and launches.
 *
 * While a capture is open it holds the library's lock, so other threads' calls wait;
 * everything is recorded, however small, and the host may not read a value: what tries
 * fails with a RuntimeError that says where, and so does the capture's end.
 */
#ifndef ASN_GRAPH_CAPTURE_REPLAY_H
#define ASN_GRAPH_CAPTURE_REPLAY_H

#include "graph/capture/capture.h"

typedef struct asn_replay asn_replay;

/* Begins a capture of the calling thread's launches. The arrays are what a replay
 * replaces by others of the same dtypes, shapes and strides; they stay the caller's, and
 * alive, until the end. `views` receives arrays over their memory, which are to be used
 * in their place until the end, and which the caller owns. RuntimeError: this thread
 * captures already. Takes the library's lock until the end. */
ASN_CHECK_RESULT asn_status asn_capture_begin(int num_args, const asn_array *const *args,
                                              asn_array *views);
/* Ends it: runs what is recorded, and makes *out, which the caller owns. The results are
 * arrays that a replay makes anew: views of arguments stay views of them. *out is NULL
 * where there is nothing to launch again: an array that is no argument lies over the
 * memory of one, so that the next call's may be apart. RuntimeError:
 * the host asked for a value meanwhile, or something cannot be launched again. */
ASN_CHECK_RESULT asn_status asn_capture_end(int num_results,
                                            const asn_array *const *results,
                                            asn_replay **out);
/* How many arrays made meanwhile, or views of arguments, are alive beside those that the
 * caller holds: somebody else keeps them. Runs what is recorded. */
ASN_CHECK_RESULT asn_status asn_capture_alive(int num_held, const asn_array *const *held,
                                              int *out);
/* Ends it without a result. */
void asn_capture_abort(void);

/* Launches the steps with other arguments, which must be like the captured ones in
 * dtypes, shapes, strides and in which of them share memory; makes the results, which the
 * caller owns. Any thread. */
ASN_CHECK_RESULT asn_status asn_replay_run(asn_replay *r, const asn_array *const *args,
                                           asn_array *results);
/* NULL is allowed. */
void asn_replay_free(asn_replay *r);
/* Whether the device it was captured on is still open and current. */
bool asn_replay_valid(const asn_replay *r);
/* Whether memory of the host that an argument shows may lie over memory that the steps
 * know by another name; such a call has to run as it is written. */
bool asn_replay_collides(const asn_replay *r, const asn_array *const *args);

/* Its programs as C text (aclnnxSource), which the caller frees with asn_free: a file
 * that defines `asnumpy_native`, a table; NULL: none has a text here. MemoryError. */
ASN_CHECK_RESULT asn_status asn_replay_source(const asn_replay *r, char **text);
/* From now on replays call the compiled text: `table` is the address of asnumpy_native in
 * a library that stays loaded as long as the capture. ValueError: it is another text's.
 */
ASN_CHECK_RESULT asn_status asn_replay_attach(asn_replay *r, const void *table);

/* Which argument a result shows, or shares its memory with; -1: none. */
int asn_replay_result_arg(const asn_replay *r, int result);
/* Such a result, over these arguments. */
ASN_CHECK_RESULT asn_status asn_replay_view(const asn_replay *r, int result,
                                            const asn_array *const *args, asn_array *out);

/* Counts for people; bytes of each kind of slot. */
typedef struct {
    int steps, programs, operators, copies; /* copies: from the host */
    int natives;                            /* programs whose compiled text runs */
    int temporaries, constants;
    int64_t temporary_bytes; /* what the temporaries would take side by side */
    int64_t arena_bytes;     /* what they take */
    int64_t result_bytes, constant_bytes;
} asn_replay_info;
void asn_replay_get_info(const asn_replay *r, asn_replay_info *out);
/* A table of the steps as text that the caller frees with asn_free. MemoryError. */
ASN_CHECK_RESULT asn_status asn_replay_explain(const asn_replay *r, char **text);

#endif
