/* L2 graph: the library's switches and the trace's life, for the bindings above. */
#ifndef ASN_GRAPH_ENGINE_H
#define ASN_GRAPH_ENGINE_H

#include "graph/array.h"

/* Runs everything recorded and waits. Reports the first asynchronous failure, naming its
 * operation. */
ASN_CHECK_RESULT asn_status asn_synchronize(void);
/* The same, but for streams that wait for an event that is not recorded: for who cannot
 * tell whether the caller is to record it. */
ASN_CHECK_RESULT asn_status asn_synchronize_free(void);
/* Waits, then closes the device, which arrays of it prevent. */
ASN_CHECK_RESULT asn_status asn_finalize(void);
/* Laziness on or off; *before (may be NULL) receives the previous value. Turning it off
 * flushes. */
ASN_CHECK_RESULT asn_status asn_set_lazy(bool on, bool *before);
/* While on, operations run as they are called whatever asn_set_lazy says: a binding that
 * turns exceptions into errors wants them from the call that raised them. */
ASN_CHECK_RESULT asn_status asn_set_at_once(bool on);
/* The plan of what is recorded for `a` (NULL: the whole trace), as text the caller frees
 * with asn_free: one line per program, its operations, and why it ends where it does. */
ASN_CHECK_RESULT asn_status asn_explain(const asn_array *a, char **text);
/* Whether a recorded operation that has not run yet writes the memory of `a`. */
bool asn_is_recorded(const asn_array *a);

/* Called around work long enough to let other threads run (a binding's global lock), and
 * while waiting for the library's own lock. `enter` may be called by a thread that does
 * not hold the binding's lock (check), and gets NULL back then. `held`, whether the
 * calling thread holds the binding's lock: every other call of the library is made by one
 * that does; NULL: there is no such promise. Set once at start. */
void asn_set_blocking_hooks(void *(*enter)(void), void (*leave)(void *),
                            int (*held)(void));
/* Called at the beginning of each call that takes the library's lock: before it does,
 * where the binding's calls are serial, else by who has just taken it. A hook that calls
 * the library itself is called again, and returns at once. NULL: none. */
void asn_set_arrival_hook(void (*arrival)(void));

/* Floating-point exceptions raised since the last call (ASN_FP_* = ACLNNX_FP_*), cleared,
 * and the name of an operation that raised them (static string). Enabled by
 * asn_set_fp_checks.
 *
 * What a call raised is kept until its caller asks. Where calls are serial and nobody
 * waits for the library's lock nobody calls in between; else who gives it back takes what
 * is there for its thread.
 */
extern uint32_t asn_fp_exceptions; /* of fp.c; here so that a look costs no call */
uint32_t asn_fp_take_raised(const char **op_name);
static inline bool asn_fp_any(void) {
    return __atomic_load_n(&asn_fp_exceptions, __ATOMIC_RELAXED);
}
static inline uint32_t asn_fp_take(const char **op_name) {
    return __builtin_expect(!asn_fp_any(), 1) ? 0 : asn_fp_take_raised(op_name);
}
/* With the lock held: what was raised since it was taken, and nothing that a thread kept.
 */
uint32_t asn_fp_take_new(const char **op_name);
/* By lock.c, with the lock held, before it is given back. */
void asn_fp_keep_own(void);
/* What raised exceptions under the first name, an operation's in asn_op_table, is called
 * by the second, which is static: the function that consists of it. */
void asn_fp_rename(const char *from, const char *to);
bool asn_set_fp_checks(bool on);
/* A bit of asn_fp_take's: an operation ran on the CPU in the device's place
 * (asn_fallback_take tells which). */
enum { ASN_FALLBACK_RAISED = 1 << 8 };
/* asn_scalar_cast that reports the exceptions a cast of an array would (named "copy"). */
ASN_CHECK_RESULT asn_status asn_scalar_convert(const asn_scalar *s, asn_dtype dtype,
                                               asn_scalar *out);

typedef struct {
    uint64_t recorded, eager, programs, single_ops, plan_hits, plan_misses, fallbacks,
        synchronizations;
} asn_engine_stats;
void asn_engine_get_stats(asn_engine_stats *out);

#endif
