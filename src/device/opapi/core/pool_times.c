/* CPU device, operators: how evenly the thread pool's work is shared (aclnn/aclnnx.h).
 *
 * The pool is the process's: all streams and devices share it, so that these functions
 * take neither. */
#include "aclnn/aclnnx.h"
#include "base/settings.h"
#include "device/cpu/threads.h"
#include "device/opbase/executor.h"

ASN_API int32_t aclnnxPoolWatch(int32_t on) {
    asn_pool_watch(on != 0);
    return ACLNN_SUCCESS;
}

ASN_API int32_t aclnnxPoolWatched(aclnnxPoolTimes *times, int64_t *busyNs, size_t room,
                                  size_t *threads) {
    if (times == NULL || threads == NULL || (busyNs == NULL && room > 0))
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxPoolWatched: times, threads or busyNs is NULL");
    asnd_pool_times t;
    int most = room < ASN_MAX_THREADS + 1 ? (int)room : ASN_MAX_THREADS + 1;
    *threads = (size_t)asn_pool_watched(&t, busyNs, most);
    *times = (aclnnxPoolTimes){t.regions, t.chunks,  t.span_ns,
                               t.room_ns, t.mean_ns, t.lost_ns};
    return ACLNN_SUCCESS;
}
