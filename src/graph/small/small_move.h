/* L2 graph: what surrounds a small call that moves elements: the library's lock, and its
 * event where a profile is taken. */
#ifndef ASN_GRAPH_SMALL_SMALL_MOVE_H
#define ASN_GRAPH_SMALL_SMALL_MOVE_H

#include "graph/lock.h"
#include "graph/profile_events.h"

/* What asn_small_end takes. */
static inline uint64_t asn_small_begin(void) {
    asn_lock();
    return asn_profile_begin_small();
}

/* `done`, which it returns: the call did it, and moved the elements of `l`, which is not
 * looked at else. */
static inline bool asn_small_end(uint64_t begin, bool done, const char *name,
                                 const asn_layout *l) {
    if (asn_profile_small_timed(begin, done)) asn_record_move(begin, name, l);
    asn_unlock();
    return done;
}

#endif
