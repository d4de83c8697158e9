/* L2 runtime: recurring steps (see pattern.h). */
#include "runtime/pattern.h"

_Static_assert(ASN_SIZE_CLASSES <= 256, "a class fits a byte");

static int64_t most_in_use(const asn_pattern *p) {
    int64_t most = 0;
    for (uint64_t k = 1; k <= p->period; k++) {
        int64_t bytes = p->in_use[(p->count - k) % ASN_PATTERN_LONGEST];
        if (bytes > most) most = bytes;
    }
    return most;
}

void asn_pattern_note(asn_pattern *p, int c, int64_t in_use) {
    uint64_t now = p->count;
    if (p->period && p->classes[(now - p->period) % ASN_PATTERN_LONGEST] == c) {
        p->run++;
    } else {
        uint64_t distance = p->last[c] ? now + 1 - p->last[c] : 0;
        p->period = distance <= ASN_PATTERN_LONGEST ? distance : 0;
        p->run = p->period ? 1 : 0;
        p->need = 0;
    }
    p->classes[now % ASN_PATTERN_LONGEST] = (uint8_t)c;
    p->in_use[now % ASN_PATTERN_LONGEST] = in_use;
    p->last[c] = ++p->count;
    if (p->period && p->run % p->period == 0) p->need = most_in_use(p);
}

int64_t asn_pattern_need(const asn_pattern *p) {
    return p->need;
}
