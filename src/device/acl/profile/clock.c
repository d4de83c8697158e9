/* CPU device, runtime: clock and names of CANN's profiling service.
 *
 * Reports to the service are refused (refused.def): a profile is taken by aclprofInit and
 * aclprofStart.
 */
#include "device/acl/internal.h"

#include "base/hash.h"

/* Nanoseconds of a clock that only rises: a cycle is one here. */
ASN_API uint64_t MsprofSysCycleTime(void) {
    return (uint64_t)rt_now();
}

/* A number for a name, the same for the same bytes; 0 for NULL. */
ASN_API uint64_t MsprofGetHashId(const char *hashInfo, size_t length) {
    uint64_t h = length;
    for (size_t i = 0; hashInfo != NULL && i < length; i++)
        h = asn_hash_mix(h, (unsigned char)hashInfo[i]);
    return hashInfo ? h : 0;
}
