/* L2 graph: how evenly the CPU device's threads share their work (contract in shares.h).
 *
 * These functions are optional ones of the device, as aclnnxDescribe is: where it lacks
 * them the host's CPU device answers. */
#include "graph/device/shares.h"

#include "graph/device/fallback.h"
#include "runtime/device.h"

/* Whose threads they are. */
static asn_status find_pool(const asn_acl_api **out) {
    ASN_TRY(asn_device_open());
    *out = &asn_acl;
    if (asn_acl.aclnnxPoolWatch && asn_acl.aclnnxPoolWatched) return ASN_OK;
    *out = &asn_host;
    return asn_fallback_ready();
}

static asn_status told(const asn_acl_api *api, int code, const char *what) {
    return code ? asn_acl_status(code, api->aclGetRecentErrMsg(), what) : ASN_OK;
}

asn_status asn_shares_watch(bool on) {
    const asn_acl_api *api;
    ASN_TRY(find_pool(&api));
    return told(api, api->aclnnxPoolWatch(on), "pool statistics");
}

asn_status asn_shares_get(asn_shares *out) {
    const asn_acl_api *api;
    ASN_TRY(find_pool(&api));
    return told(
        api,
        api->aclnnxPoolWatched(&out->times, out->busy_ns, ASN_MOST_SHARES, &out->threads),
        "pool statistics");
}
