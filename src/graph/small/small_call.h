/* L2 graph: what surrounds a small call that runs at once: the library's lock, and its
 * event where a profile is taken. Each end returns `done`: whether the call did it. A
 * call that did nothing leaves no event: the general path's will tell of it. */
#ifndef ASN_GRAPH_SMALL_SMALL_CALL_H
#define ASN_GRAPH_SMALL_SMALL_CALL_H

#include "graph/lock.h"
#include "graph/profile_events.h"

/* What the ends take. */
static inline uint64_t asn_small_begin(void) {
    asn_lock();
    return asn_profile_begin_small();
}

/* It moved the elements of `l`, which is not looked at else. */
static inline bool asn_small_end(uint64_t begin, bool done, const char *name,
                                 const asn_layout *l) {
    if (asn_profile_small_timed(begin, done)) asn_record_move(begin, name, l);
    asn_unlock();
    return done;
}

/* It read and wrote so many bytes, with so many floating-point operations. */
static inline bool asn_small_end_work(uint64_t begin, bool done, const char *name,
                                      int64_t bytes, int64_t flops) {
    if (asn_profile_small_timed(begin, done))
        asn_profile_small(begin, name, bytes, flops);
    asn_unlock();
    return done;
}

/* It was `op` on n elements of so many arrays of `dtype`. */
static inline bool asn_small_end_op(uint64_t begin, bool done, asn_op op, int64_t n,
                                    asn_dtype dtype, int arrays) {
    if (asn_profile_small_timed(begin, done))
        asn_record_small(begin, op, n, dtype, arrays);
    asn_unlock();
    return done;
}

#endif
