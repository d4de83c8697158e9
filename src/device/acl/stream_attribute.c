/* CPU device, runtime: attributes of streams: what follows a failure, and what only an
 * NPU has.
 */
#include "device/acl/internal.h"

#include <string.h>

/* ACL_CONTINUE_ON_FAILURE (0): a stream goes on after a failed task, and the next
 * synchronisation returns the failure. ACL_STOP_ON_FAILURE (1): what is queued behind the
 * failed task is dropped, and whatever is launched afterwards is refused with its code,
 * until aclrtStreamAbort or aclrtDeviceTaskAbort. Other streams are not stopped. */
ASN_API aclError aclrtSetStreamFailureMode(aclrtStream stream, uint64_t mode) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if (mode > ACL_STOP_ON_FAILURE)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtSetStreamFailureMode: mode is %llu; it must be 0 (go on) "
                         "or 1 (stop)",
                         (unsigned long long)mode);
    rt_stream_stops(s, mode == ACL_STOP_ON_FAILURE);
    return ACL_SUCCESS;
}

static aclError unknown(const char *function, aclrtStreamAttr attribute) {
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: attribute %d is unknown; 1 to 4 are",
                     function, (int)attribute);
}

/* The failure mode; overflow and operator information are not watched for (0); the
 * custom tag is kept. */
ASN_API aclError aclrtSetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                         aclrtStreamAttrValue *value) {
    RT_CHECK_NOT_NULL("aclrtSetStreamAttribute", value);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    switch (stmAttrType) {
    case ACL_STREAM_ATTR_FAILURE_MODE:
        return aclrtSetStreamFailureMode(stream, value->failureMode);
    case ACL_STREAM_ATTR_FLOAT_OVERFLOW_CHECK:
        return aclrtSetStreamOverflowSwitch(stream, value->overflowSwitch);
    case ACL_STREAM_ATTR_USER_CUSTOM_TAG:
        *rt_stream_tag(s) = value->userCustomTag;
        return ACL_SUCCESS;
    case ACL_STREAM_ATTR_CACHE_OP_INFO:
        if (value->cacheOpInfoSwitch == 0) return ACL_SUCCESS;
        return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                         "aclrtSetStreamAttribute: operators of a CPU are profiled with "
                         "their names; there is no information to cache (0)");
    default: return unknown("aclrtSetStreamAttribute", stmAttrType);
    }
}

/* Reads an attribute back. */
ASN_API aclError aclrtGetStreamAttribute(aclrtStream stream, aclrtStreamAttr stmAttrType,
                                         aclrtStreamAttrValue *value) {
    RT_CHECK_NOT_NULL("aclrtGetStreamAttribute", value);
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if (stmAttrType < ACL_STREAM_ATTR_FAILURE_MODE ||
        stmAttrType > ACL_STREAM_ATTR_CACHE_OP_INFO)
        return unknown("aclrtGetStreamAttribute", stmAttrType);
    memset(value, 0, sizeof *value);
    if (stmAttrType == ACL_STREAM_ATTR_FAILURE_MODE)
        value->failureMode = rt_stream_does_stop(s);
    if (stmAttrType == ACL_STREAM_ATTR_USER_CUSTOM_TAG)
        value->userCustomTag = *rt_stream_tag(s);
    return ACL_SUCCESS;
}
