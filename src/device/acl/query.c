/* CPU device, runtime: what programs ask about the device, and settings that a CPU does
 * not have.
 *
 * A setting is stored and read back where a program may look, and otherwise has no
 * effect; a getter tells the truth about a CPU.
 */
#include "device/acl/internal.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The SoC that programs shall take this for: Ascend910B3, since many refuse names they do
 * not know, unless ASNUMPY_CPU_SOC says otherwise. Programs that want to know a CPU from
 * an NPU ask for aclnnxOpcode, which only this library has. */
ASN_API const char *aclrtGetSocName(void) {
    static char name[64];
    static _Atomic int state; /* 0: not read, 1: being read, 2: read */
    int unread = 0;
    if (atomic_compare_exchange_strong(&state, &unread, 1)) {
        const char *wish = asn_setting_text(ASN_SETTING_CPU_SOC);
        snprintf(name, sizeof name, "%s", wish != NULL ? wish : "Ascend910B3");
        atomic_store(&state, 2);
    }
    while (atomic_load(&state) != 2)
        sched_yield();
    return name;
}

/* The program runs on the host. */
ASN_API aclError aclrtGetRunMode(aclrtRunMode *runMode) {
    RT_CHECK_NOT_NULL("aclrtGetRunMode", runMode);
    *runMode = ACL_HOST;
    return ACL_SUCCESS;
}

/* The version of the AscendCL interface this library implements: that of CANN 8.1. */
ASN_API aclError aclrtGetVersion(int32_t *majorVersion, int32_t *minorVersion,
                                 int32_t *patchVersion) {
    RT_CHECK_NOT_NULL("aclrtGetVersion", majorVersion);
    RT_CHECK_NOT_NULL("aclrtGetVersion", minorVersion);
    RT_CHECK_NOT_NULL("aclrtGetVersion", patchVersion);
    *majorVersion = ACL_MAJOR_VERSION;
    *minorVersion = ACL_MINOR_VERSION;
    *patchVersion = ACL_PATCH_VERSION;
    return ACL_SUCCESS;
}

/* Devices share all memory. */
ASN_API aclError aclrtDeviceCanAccessPeer(int32_t *canAccessPeer, int32_t deviceId,
                                          int32_t peerDeviceId) {
    RT_CHECK_NOT_NULL("aclrtDeviceCanAccessPeer", canAccessPeer);
    aclError code = rt_device_check(deviceId);
    if (code == ACL_SUCCESS) code = rt_device_check(peerDeviceId);
    if (code == ACL_SUCCESS) *canAccessPeer = deviceId != peerDeviceId;
    return code;
}

/* Devices share all memory: nothing to enable. */
ASN_API aclError aclrtDeviceEnablePeerAccess(int32_t peerDeviceId, uint32_t flags) {
    if (flags != 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtDeviceEnablePeerAccess: flags is %u; it must be 0", flags);
    return rt_device_check(peerDeviceId);
}

/* Devices share all memory: nothing to disable. */
ASN_API aclError aclrtDeviceDisablePeerAccess(int32_t peerDeviceId) {
    return rt_device_check(peerDeviceId);
}

/* A CPU that runs this is well. */
ASN_API aclError aclrtQueryDeviceStatus(int32_t deviceId,
                                        aclrtDeviceStatus *deviceStatus) {
    RT_CHECK_NOT_NULL("aclrtQueryDeviceStatus", deviceStatus);
    aclError code = rt_device_check(deviceId);
    if (code == ACL_SUCCESS) *deviceStatus = ACL_RT_DEVICE_STATUS_NORMAL;
    return code;
}

/* The process that uses the device. */
ASN_API aclError aclrtDeviceGetBareTgid(int32_t *pid) {
    RT_CHECK_NOT_NULL("aclrtDeviceGetBareTgid", pid);
    *pid = (int32_t)getpid();
    return ACL_SUCCESS;
}

/* A number of 16 bytes that tells a machine's device from every other: the machine's own
 * (/etc/machine-id, where there is one), and the device's. */
ASN_API aclError aclrtDeviceGetUuid(int32_t deviceId, aclrtUuid *uuid) {
    RT_CHECK_NOT_NULL("aclrtDeviceGetUuid", uuid);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    unsigned char bytes[16] = "asnumpy-cpu";
    FILE *f = fopen("/etc/machine-id", "re");
    for (int i = 0; f != NULL && i < 16; i++) {
        unsigned byte;
        if (fscanf(f, "%2x", &byte) == 1) bytes[i] = (unsigned char)byte;
    }
    if (f != NULL) fclose(f);
    bytes[15] ^= (unsigned char)deviceId;
    memcpy(uuid->bytes, bytes, sizeof bytes);
    return ACL_SUCCESS;
}

/* Numbers that programs size their work with: CPUs stand in for cores. */
ASN_API aclError aclGetDeviceCapability(uint32_t deviceId, aclDeviceInfo deviceInfo,
                                        int64_t *value) {
    RT_CHECK_NOT_NULL("aclGetDeviceCapability", value);
    aclError code = rt_device_check((int32_t)deviceId);
    if (code != ACL_SUCCESS) return code;
    long l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
    switch (deviceInfo) {
    case ACL_DEVICE_INFO_AI_CORE_NUM:
    case ACL_DEVICE_INFO_VECTOR_CORE_NUM: *value = sysconf(_SC_NPROCESSORS_ONLN); break;
    case ACL_DEVICE_INFO_L2_SIZE: *value = l2 > 0 ? l2 : 0; break;
    default:
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclGetDeviceCapability: info %d is unknown", (int)deviceInfo);
    }
    return ACL_SUCCESS;
}

/* Like aclGetDeviceCapability, of more attributes; those of chips and their racks have no
 * meaning on a CPU and are refused. */
ASN_API aclError aclrtGetDeviceInfo(uint32_t deviceId, aclrtDevAttr attr,
                                    int64_t *value) {
    RT_CHECK_NOT_NULL("aclrtGetDeviceInfo", value);
    aclError code = rt_device_check((int32_t)deviceId);
    if (code != ACL_SUCCESS) return code;
    switch (attr) {
    case ACL_DEV_ATTR_AICPU_CORE_NUM:
    case ACL_DEV_ATTR_AICORE_CORE_NUM:
    case ACL_DEV_ATTR_VECTOR_CORE_NUM:
        return aclGetDeviceCapability(deviceId, ACL_DEVICE_INFO_AI_CORE_NUM, value);
    case ACL_DEV_ATTR_L2_CACHE_SIZE:
        return aclGetDeviceCapability(deviceId, ACL_DEVICE_INFO_L2_SIZE, value);
    case ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE: *value = (int64_t)rt_memory_limit(); break;
    case ACL_DEV_ATTR_PHY_CHIP_ID: *value = deviceId; break;
    default:
        return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                         "aclrtGetDeviceInfo: attribute %d has no meaning on a CPU",
                         (int)attr);
    }
    return ACL_SUCCESS;
}

/* A device that failed would say how: a CPU that runs this has not. */
ASN_API aclError aclrtGetErrorVerbose(int32_t deviceId, aclrtErrorInfo *errorInfo) {
    RT_CHECK_NOT_NULL("aclrtGetErrorVerbose", errorInfo);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    memset(errorInfo, 0, sizeof *errorInfo);
    errorInfo->errorType = ACL_RT_NO_ERROR;
    return ACL_SUCCESS;
}

/* What CANN's attributes say of NaN, infinity and bfloat16 holds here. */
static const aclCannAttr attributes[] = {ACL_CANN_ATTR_INF_NAN, ACL_CANN_ATTR_BF16};

/* The attributes the device has. */
ASN_API aclError aclGetCannAttributeList(const aclCannAttr **cannAttrList, size_t *num) {
    RT_CHECK_NOT_NULL("aclGetCannAttributeList", cannAttrList);
    RT_CHECK_NOT_NULL("aclGetCannAttributeList", num);
    *cannAttrList = attributes;
    *num = sizeof attributes / sizeof *attributes;
    return ACL_SUCCESS;
}

/* 1 when the device has the attribute, else 0. */
ASN_API aclError aclGetCannAttribute(aclCannAttr cannAttr, int32_t *value) {
    RT_CHECK_NOT_NULL("aclGetCannAttribute", value);
    if (cannAttr < ACL_CANN_ATTR_INF_NAN || cannAttr > ACL_CANN_ATTR_JIT_COMPILE)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclGetCannAttribute: attribute %d is unknown", (int)cannAttr);
    *value = cannAttr == ACL_CANN_ATTR_INF_NAN || cannAttr == ACL_CANN_ATTR_BF16;
    return ACL_SUCCESS;
}

/* ---- settings */

enum { NUM_OPTIONS = ACL_OPT_ENABLE_KERNEL_EARLY_START + 1 };
static _Atomic int64_t options[NUM_OPTIONS] = {[ACL_OPT_DETERMINISTIC] = 1};

/* 0 when the parameter is one of CANN's. */
static aclError option_check(aclSysParamOpt opt) {
    if ((unsigned)opt < NUM_OPTIONS) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "system parameter %d is unknown", (int)opt);
}

/* Stored; results are deterministic whatever it says. */
ASN_API aclError aclrtSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    aclError code = option_check(opt);
    if (code == ACL_SUCCESS) atomic_store(&options[opt], value);
    return code;
}

/* The stored value. */
ASN_API aclError aclrtGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    RT_CHECK_NOT_NULL("aclrtGetSysParamOpt", value);
    aclError code = option_check(opt);
    if (code == ACL_SUCCESS) *value = atomic_load(&options[opt]);
    return code;
}

/* aclrtSetSysParamOpt: contexts share one value. */
ASN_API aclError aclrtCtxSetSysParamOpt(aclSysParamOpt opt, int64_t value) {
    return aclrtSetSysParamOpt(opt, value);
}

/* aclrtGetSysParamOpt: contexts share one value. */
ASN_API aclError aclrtCtxGetSysParamOpt(aclSysParamOpt opt, int64_t *value) {
    return aclrtGetSysParamOpt(opt, value);
}

/* Only infinity/NaN mode exists: IEEE 754 arithmetic. */
ASN_API aclError aclrtSetDeviceSatMode(aclrtFloatOverflowMode mode) {
    if (mode == ACL_RT_OVERFLOW_MODE_INFNAN) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                     "overflow mode %d: a CPU has infinity/NaN mode (1) only", (int)mode);
}

/* Infinity/NaN mode. */
ASN_API aclError aclrtGetDeviceSatMode(aclrtFloatOverflowMode *mode) {
    RT_CHECK_NOT_NULL("aclrtGetDeviceSatMode", mode);
    *mode = ACL_RT_OVERFLOW_MODE_INFNAN;
    return ACL_SUCCESS;
}

/* Overflow is never watched for (flag 0): infinity/NaN mode needs no such watch. */
ASN_API aclError aclrtSetStreamOverflowSwitch(aclrtStream stream, uint32_t flag) {
    aclError code;
    if (rt_stream_get(stream, &code) == NULL) return code;
    if (flag == 0) return ACL_SUCCESS;
    return asnrtFail(
        ACL_ERROR_FEATURE_UNSUPPORTED,
        "aclrtSetStreamOverflowSwitch: flag %u; a CPU has infinity/NaN mode, "
        "where overflow shows in the results (0)",
        flag);
}

/* 0: overflow is not watched for. */
ASN_API aclError aclrtGetStreamOverflowSwitch(aclrtStream stream, uint32_t *flag) {
    RT_CHECK_NOT_NULL("aclrtGetStreamOverflowSwitch", flag);
    aclError code;
    if (rt_stream_get(stream, &code) == NULL) return code;
    *flag = 0;
    return ACL_SUCCESS;
}

/* A CPU has one scheduler, which stands for both kinds. */
ASN_API aclError aclrtSetTsDevice(aclrtTsId tsId) {
    if (tsId == ACL_TS_ID_AICORE || tsId == ACL_TS_ID_AIVECTOR) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtSetTsDevice: tsId is %d; it must be 0 or 1", (int)tsId);
}

/* Operators are never timed out on a CPU; accepted. */
ASN_API aclError aclrtSetOpExecuteTimeOut(uint32_t timeout) {
    (void)timeout;
    return ACL_SUCCESS;
}

/* Operators are never timed out on a CPU; accepted. */
ASN_API aclError aclrtSetOpExecuteTimeOutWithMs(uint32_t timeout) {
    (void)timeout;
    return ACL_SUCCESS;
}

/* Operators are never timed out on a CPU: *actualTimeout, in microseconds, is the most
 * that can be said. */
ASN_API aclError aclrtSetOpExecuteTimeOutV2(uint64_t timeout, uint64_t *actualTimeout) {
    (void)timeout;
    RT_CHECK_NOT_NULL("aclrtSetOpExecuteTimeOutV2", actualTimeout);
    *actualTimeout = UINT64_MAX;
    return ACL_SUCCESS;
}

/* Waits are never timed out on a CPU unless asked to; accepted. */
ASN_API aclError aclrtSetOpWaitTimeout(uint32_t timeout) {
    (void)timeout;
    return ACL_SUCCESS;
}

/* The struct is CANN's, with public fields: the slot lies before it. */
typedef struct {
    asnd_slot slot;
    aclrtStreamConfigHandle handle;
} stream_config;

static asnd_arena stream_configs =
    ASN_ARENA_INIT("stream configuration", sizeof(stream_config), 1 << 12, true);
ASN_FORK_TAKES(stream_configs, &stream_configs.lock, ASN_FORK_LEAF)

/* From the public struct to the slot before it; the result is checked by the arena before
 * it is used. */
static stream_config *config_of(const aclrtStreamConfigHandle *handle) {
    return handle ? (stream_config *)((uintptr_t)handle - offsetof(stream_config, handle))
                  : NULL;
}

/* A configuration for aclrtCreateStreamV2; NULL when out of memory. */
ASN_API aclrtStreamConfigHandle *aclrtCreateStreamConfigHandle(void) {
    stream_config *config = rt_object_new(&stream_configs);
    return config ? &config->handle : NULL;
}

/* Destroys the configuration. */
ASN_API aclError aclrtDestroyStreamConfigHandle(aclrtStreamConfigHandle *handle) {
    return rt_object_free(&stream_configs, "aclrtDestroyStreamConfigHandle", "handle",
                          config_of(handle));
}

/* Stores an attribute of the configuration. */
ASN_API aclError aclrtSetStreamConfigOpt(aclrtStreamConfigHandle *handle,
                                         aclrtStreamConfigAttr attr,
                                         const void *attrValue, size_t valueSize) {
    aclError code = rt_object_check(&stream_configs, "aclrtSetStreamConfigOpt", "handle",
                                    config_of(handle));
    if (code != ACL_SUCCESS) return code;
    RT_CHECK_NOT_NULL("aclrtSetStreamConfigOpt", attrValue);
    /* Each attribute's place in CANN's struct, and its size. */
    static const struct {
        size_t offset, size;
    } fields[] = {
        [ACL_RT_STREAM_WORK_ADDR_PTR] = {offsetof(aclrtStreamConfigHandle, workptr),
                                         sizeof(void *)},
        [ACL_RT_STREAM_WORK_SIZE] = {offsetof(aclrtStreamConfigHandle, workSize),
                                     sizeof(size_t)},
        [ACL_RT_STREAM_FLAG] = {offsetof(aclrtStreamConfigHandle, flag), sizeof(size_t)},
        [ACL_RT_STREAM_PRIORITY] = {offsetof(aclrtStreamConfigHandle, priority),
                                    sizeof(uint32_t)},
    };
    if ((unsigned)attr >= sizeof fields / sizeof *fields ||
        valueSize != fields[attr].size)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtSetStreamConfigOpt: attribute %d of %zu bytes is unknown",
                         (int)attr, valueSize);
    memcpy((char *)handle + fields[attr].offset, attrValue, valueSize);
    return ACL_SUCCESS;
}
