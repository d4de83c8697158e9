/* L2 runtime: recurring steps (see pattern.h). */
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

static int64_t most_in_use(const asn_pattern *p) {
    int64_t most = 0;
    for (uint64_t k = 1; k <= p->period; k++) {
        int64_t bytes = p->in_use[(p->count - k) % LONGEST];
        if (bytes > most) most = bytes;
    }
    return most;
}

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
