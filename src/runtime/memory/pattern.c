/* L2 runtime: recurring steps (see pattern.h). The ring of sizes is twice as long as the
 * longest period, so that a whole period can be compared with the one before it. As long
 * as requests repeat, one costs a comparison; the search for a period runs when they do
 * not.
 */
#include "runtime/memory/pattern.h"

enum { LONGEST = ASN_PATTERN_LONGEST, KEPT = 2 * LONGEST };

/* How many of the latest requests, up to `most`, equal those a lag before. */
static uint64_t matching(const asn_pattern *p, uint64_t lag, uint64_t most) {
    uint64_t last = p->count - 1, k = 0;
    while (k < most && p->bytes[(last - k) % KEPT] == p->bytes[(last - k - lag) % KEPT])
        k++;
    return k;
}

/* The lag at which the latest requests were asked for before, for the longest stretch.
 * A lag counts when it is seen over a whole period at most: no history beyond the ring is
 * compared. */
static void find_period(asn_pattern *p) {
    uint64_t known = p->count < KEPT ? p->count : KEPT;
    p->period = p->run = 0;
    for (uint64_t lag = 1; lag <= LONGEST && lag < known; lag++) {
        uint64_t most = known - lag < LONGEST ? known - lag : LONGEST;
        uint64_t run = matching(p, lag, most);
        if (run <= p->run) continue;
        p->run = run;
        p->period = lag;
        if (run >= lag) return; /* a whole period: the shortest such lag */
    }
}

/* The most in use over the latest period. */
static int64_t most_in_use(const asn_pattern *p) {
    int64_t most = 0;
    for (uint64_t k = 1; k <= p->period; k++) {
        int64_t bytes = p->in_use[(p->count - k) % LONGEST];
        if (bytes > most) most = bytes;
    }
    return most;
}

/* The need is read when a period has matched for the first time and at the end of each
 * one after it; it is unknown again at the first request that differs. */
void asn_pattern_note(asn_pattern *p, int64_t bytes, int64_t in_use) {
    uint64_t now = p->count++;
    p->bytes[now % KEPT] = bytes;
    p->in_use[now % LONGEST] = in_use;
    if (p->period && p->bytes[(now - p->period) % KEPT] == bytes) {
        p->run++;
    } else {
        find_period(p);
        p->need = 0;
    }
    if (p->period && p->run >= p->period && (!p->need || p->run % p->period == 0))
        p->need = most_in_use(p);
}

int64_t asn_pattern_need(const asn_pattern *p) {
    return p->need;
}
