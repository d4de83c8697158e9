/* CPU device, runtime: what programs ask the driver below CANN.
 *
 * There is none below a CPU. Profilers ask which version it has and how fast an NPU's
 * counter runs, and take the system's clock where they hear of neither.
 */
#include "device/acl/internal.h"
#include "driver/ascend_hal.h"

/* *version: 0, which no driver has. */
ASN_API int32_t halGetAPIVersion(int32_t *version) {
    RT_CHECK_NOT_NULL("halGetAPIVersion", version);
    *version = 0;
    return 0;
}

/* Refused: a CPU has none of an NPU's modules. */
ASN_API int32_t halGetDeviceInfo(uint32_t device, int32_t module, int32_t kind,
                                 int64_t *value) {
    (void)value;
    return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                     "halGetDeviceInfo: device %u has no module %d to ask for %d", device,
                     (int)module, (int)kind);
}
