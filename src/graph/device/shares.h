/* L2 graph: how evenly the CPU device's threads share their work (aclnn/aclnnx.h). On an
 * NPU it is the host's CPU device that is asked, which computes what the NPU does not. */
#ifndef ASN_GRAPH_DEVICE_SHARES_H
#define ASN_GRAPH_DEVICE_SHARES_H

#include <stdbool.h>

#include "aclnn/aclnnx.h"
#include "base/settings.h"
#include "base/status.h"

enum { ASN_MOST_SHARES = ASN_MAX_THREADS + 1 };

/* Sums since the process began, of what ran while somebody watched. */
typedef struct {
    aclnnxPoolTimes times;
    size_t threads; /* the callers, who count as one, and the workers */
    int64_t busy_ns[ASN_MOST_SHARES];
} asn_shares;

/* Begins or ends watching; watchers are counted. Opens the device. */
ASN_CHECK_RESULT asn_status asn_shares_watch(bool on);
/* Waits for nothing: what is recorded, and what runs behind calls, may be missing. */
ASN_CHECK_RESULT asn_status asn_shares_get(asn_shares *out);

#endif
