/* L2 runtime: synchronisations, the places where the host waits for the device, with
 * their reasons: recorded while there is a profile, and told to a binding that wants to
 * hear of each one (debug.on_sync), which may forbid it.
 *
 * A place counts where something is recorded or queued, or where elements have to be
 * copied from a device whose memory the host cannot reach; where nothing is in the way it
 * costs nothing and is none.
 */
#ifndef ASN_RUNTIME_STREAMS_SYNC_H
#define ASN_RUNTIME_STREAMS_SYNC_H

#include "runtime/profile.h"

extern bool asn_sync_watched;

asn_status asn_sync_told(const char *why, asn_mark *mark) ASN_RECORDS;
/* Before the wait. `why` is static, and goes on from "synchronisation: ". What the
 * binding says no to is a RuntimeError. */
ASN_CHECK_RESULT static inline asn_status asn_sync_begin(const char *why,
                                                         asn_mark *mark) {
    *mark = ASN_NO_MARK;
    if (__builtin_expect(asn_profile_on | asn_sync_watched, 0))
        return asn_sync_told(why, mark);
    return ASN_OK;
}
static inline void asn_sync_end(const char *why, asn_mark mark) {
    if (__builtin_expect(mark.ticks != 0, 0))
        asn_profile_note(mark, ASN_EVENT_SYNCHRONIZE, why, 0);
}
/* The binding's; NULL: it wants to hear of none. Called with or without the library's
 * lock.
 */
void asn_sync_set_hook(asn_status (*hook)(const char *why));

/* A capture's (graph/capture/replay.h), asked first; NULL: none. */
void asn_sync_set_tap(asn_status (*ask)(const char *why));

#endif
