/* L2 runtime: the lengths of what the device does behind the calls (see profile.h).
 *
 * Two of the device's events are put on the stream around the work; when the host next
 * waits, or all of a fixed number are taken, they are read. Where the device runs on the
 * calling thread (the CPU device), the host's clock is right and none of this is used.
 */
#include <string.h>

#include "runtime/device.h"
#include "runtime/profile.h"
#include "runtime/streams/queue.h"
#include "runtime/streams/waits.h"

enum { PAIRS = 256 };

static struct {
    aclrtEvent from[PAIRS], to[PAIRS]; /* made once, used again */
    uint64_t place[PAIRS];
    int made, used; /* used: those whose length is not known yet */
} p;

bool asn_profile_lags(void) {
    if (asn_stream_many && asn_queue_active != asn_queue_own()) return true;
    return (asn_stream_lags || !asn_device_host_access()) && asn_stream();
}

int32_t asn_profile_pair_open(void) {
    if (p.used == PAIRS) asn_profile_pairs_finish();
    if (p.used == p.made) {
        if (asn_acl.aclrtCreateEvent(&p.from[p.made])) return -1;
        if (asn_acl.aclrtCreateEvent(&p.to[p.made])) {
            asn_acl.aclrtDestroyEvent(p.from[p.made]);
            return -1;
        }
        p.made++;
    }
    if (asn_acl.aclrtRecordEvent(p.from[p.used], asn_stream())) return -1;
    p.place[p.used] = UINT64_MAX; /* until it is closed */
    return p.used++;
}

void asn_profile_pair_close(int32_t pair, uint64_t place) {
    asn_stream_launch(true);
    if (asn_acl.aclrtRecordEvent(p.to[pair], asn_stream()) == 0) p.place[pair] = place;
}

/* A stream may wait for an event that only the caller can record: its pairs are not
 * waited for, and their events keep the host's lengths. */
static bool reached(aclrtEvent event) {
    aclrtEventRecordedStatus state = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    if (!asn_waits_open()) return asn_acl.aclrtSynchronizeEvent(event) == 0;
    return asn_acl.aclrtQueryEventStatus(event, &state) == 0 &&
           state == ACL_EVENT_RECORDED_STATUS_COMPLETE;
}

void asn_profile_pairs_finish(void) {
    for (int i = 0; i < p.used; i++) {
        float ms = 0;
        if (p.place[i] != UINT64_MAX && reached(p.to[i]) &&
            !asn_acl.aclrtEventElapsedTime(&ms, p.from[i], p.to[i]))
            asn_profile_set_length(p.place[i], 1e6 * (double)ms);
    }
    p.used = 0;
}

void asn_profile_pairs_fini(void) {
    asn_profile_pairs_finish();
    for (int i = 0; i < p.made; i++) {
        asn_acl.aclrtDestroyEvent(p.from[i]);
        asn_acl.aclrtDestroyEvent(p.to[i]);
    }
    memset(&p, 0, sizeof p);
}
