/* CPU device, runtime: what the host is asked for: versions, the log, load, registered
 * host memory, faulty memory.
 */
#include "device/acl/internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef ASN_CANN_VERSION
#error "ASN_CANN_VERSION comes from CMake"
#endif

/* The version of CANN whose interface this is, whatever the package. */
ASN_API aclError aclsysGetCANNVersion(aclCANNPackageName name,
                                      aclCANNPackageVersion *version) {
    RT_CHECK_NOT_NULL("aclsysGetCANNVersion", version);
    if ((unsigned)name > ACL_PKG_NAME_DRIVER)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclsysGetCANNVersion: package %d is unknown", (int)name);
    memset(version, 0, sizeof *version);
    snprintf(version->version, sizeof version->version, "%s", ASN_CANN_VERSION);
    /* The version's parts between dots, as many as there are. */
    char *parts[] = {version->majorVersion, version->minorVersion,
                     version->releaseVersion};
    const char *text = ASN_CANN_VERSION;
    for (size_t i = 0; i < sizeof parts / sizeof *parts && *text; i++) {
        size_t length = strcspn(text, ".");
        snprintf(parts[i], sizeof version->majorVersion, "%.*s", (int)length, text);
        text += length + (text[length] == '.');
    }
    return ACL_SUCCESS;
}

/* The same version as text (128 bytes suffice), by the name of a package. */
ASN_API aclError aclsysGetVersionStr(char *pkgName, char *versionStr) {
    static const char *const packages[] = {"cann",    "runtime", "compiler", "opp",
                                           "toolkit", "hccl",    "driver",   "firmware"};
    RT_CHECK_NOT_NULL("aclsysGetVersionStr", pkgName);
    RT_CHECK_NOT_NULL("aclsysGetVersionStr", versionStr);
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++) {
        if (strcmp(pkgName, packages[i]) != 0) continue;
        strcpy(versionStr, ASN_CANN_VERSION);
        return ACL_SUCCESS;
    }
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclsysGetVersionStr: there is no package %.64s", pkgName);
}

/* ---- log */

/* An integer of the environment, read at each line: a program may change it. */
static int log_setting(const char *variable, int otherwise) {
    const char *text = getenv(variable);
    return text != NULL && *text != 0 ? atoi(text) : otherwise;
}

/* A line of the program's log, to standard error (to standard output where
 * ASCEND_SLOG_PRINT_TO_STDOUT is 1), from the level ASCEND_GLOBAL_LOG_LEVEL on (0: debug,
 * 1: information, 2: warnings, 3: errors, which is the default). */
ASN_API void aclAppLog(aclLogLevel logLevel, const char *func, const char *file,
                       uint32_t line, const char *fmt, ...) {
    static const char *const levels[] = {"DEBUG", "INFO", "WARNING", "ERROR"};
    if ((unsigned)logLevel > ACL_ERROR || fmt == NULL ||
        (int)logLevel < log_setting("ASCEND_GLOBAL_LOG_LEVEL", ACL_ERROR))
        return;
    char text[1024];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    FILE *to = log_setting("ASCEND_SLOG_PRINT_TO_STDOUT", 0) ? stdout : stderr;
    fprintf(to, "[%s] %s:%u %s: %s\n", levels[logLevel], file ? file : "", line,
            func ? func : "", text);
}

/* ---- load */

/* Busy share of all CPUs since the machine started, in percent; -1: not known. */
static int32_t cpu_load(void) {
    unsigned long long t[7] = {0}, all = 0;
    FILE *f = fopen("/proc/stat", "re");
    if (f == NULL) return -1;
    bool good = fscanf(f, "cpu %llu %llu %llu %llu %llu %llu %llu", &t[0], &t[1], &t[2],
                       &t[3], &t[4], &t[5], &t[6]) == 7;
    fclose(f);
    for (int i = 0; i < 7; i++)
        all += t[i];
    unsigned long long idle = t[3] + t[4];
    return good && all > 0 ? (int32_t)(100 * (all - idle) / all) : -1;
}

/* Shares in percent: of the CPUs since the machine started (as those of the AI CPUs), and
 * of the memory; 0 for cube and vector cores, which a CPU has not. */
ASN_API aclError aclrtGetDeviceUtilizationRate(int32_t deviceId,
                                               aclrtUtilizationInfo *utilizationInfo) {
    RT_CHECK_NOT_NULL("aclrtGetDeviceUtilizationRate", utilizationInfo);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    size_t free_bytes = 0, total = 0;
    code = aclrtGetMemInfo(ACL_HBM_MEM, &free_bytes, &total);
    if (code != ACL_SUCCESS) return code;
    utilizationInfo->cubeUtilization = utilizationInfo->vectorUtilization = 0;
    utilizationInfo->aicpuUtilization = cpu_load();
    utilizationInfo->memoryUtilization =
        total > 0 ? (int32_t)(100 * ((double)(total - free_bytes) / (double)total)) : 0;
    return ACL_SUCCESS;
}

/* ---- host memory that a device may use */

enum { REGISTERED_MAX = 4096 };
/* Addresses that were registered; a table, since there are few. */
static struct {
    pthread_mutex_t lock;
    const void *table[REGISTERED_MAX];
    int count;
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Lock held. */
static int registered_find(const void *ptr) {
    for (int i = 0; i < registered.count; i++)
        if (registered.table[i] == ptr) return i;
    return -1;
}

/* One entry a registration, told apart by its address. */
static aclError host_register(const char *function, void *ptr) {
    pthread_mutex_lock(&registered.lock);
    /* Both outcomes are told after the lock is given back. */
    bool again = registered_find(ptr) >= 0, room = registered.count < REGISTERED_MAX;
    if (!again && room) registered.table[registered.count++] = ptr;
    pthread_mutex_unlock(&registered.lock);
    if (!again && room) return ACL_SUCCESS;
    return asnrtFail(again ? ACL_ERROR_INVALID_PARAM : ACL_ERROR_STORAGE_OVER_LIMIT,
                     "%s: %p is %s", function, ptr,
                     again ? "registered already" : "one too many");
}

/* Lets the device use host memory: at the same address. */
ASN_API aclError aclrtHostRegister(void *ptr, uint64_t size, aclrtHostRegisterType type,
                                   void **devPtr) {
    RT_CHECK_NOT_NULL("aclrtHostRegister", ptr);
    RT_CHECK_NOT_NULL("aclrtHostRegister", devPtr);
    if (size == 0 || type != ACL_HOST_REGISTER_MAPPED)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtHostRegister: %llu bytes, type %d; at least one byte and "
                         "type 0 (mapped) are allowed",
                         (unsigned long long)size, (int)type);
    aclError code = host_register("aclrtHostRegister", ptr);
    if (code == ACL_SUCCESS) *devPtr = ptr;
    return code;
}

/* aclrtHostRegister whose address for the device is `ptr`; flag: ACL_HOST_REG_MAPPED,
 * ACL_HOST_REG_PINNED or both. Memory of a CPU device needs not be pinned. */
ASN_API aclError aclrtHostRegisterV2(void *ptr, uint64_t size, uint32_t flag) {
    RT_CHECK_NOT_NULL("aclrtHostRegisterV2", ptr);
    const uint32_t known = ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED;
    if (size == 0 || flag == 0 || (flag & ~known) != 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtHostRegisterV2: %llu bytes, flag %#x; at least one byte "
                         "and flags of %#x are allowed",
                         (unsigned long long)size, flag, known);
    return host_register("aclrtHostRegisterV2", ptr);
}

/* Undoes aclrtHostRegister. */
ASN_API aclError aclrtHostUnregister(void *ptr) {
    RT_CHECK_NOT_NULL("aclrtHostUnregister", ptr);
    pthread_mutex_lock(&registered.lock);
    int at = registered_find(ptr);
    if (at >= 0) registered.table[at] = registered.table[--registered.count];
    pthread_mutex_unlock(&registered.lock);
    if (at >= 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclrtHostUnregister: %p is not registered",
                     ptr);
}

void rt_host_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&registered.lock);
    } else {
        pthread_mutex_unlock(&registered.lock);
    }
}

/* ---- memory with uncorrectable errors */

/* The operating system takes faulty memory away by itself: there is none to report. */
ASN_API aclError aclrtGetMemUceInfo(int32_t deviceId, aclrtMemUceInfo *memUceInfoArray,
                                    size_t arraySize, size_t *retSize) {
    RT_CHECK_NOT_NULL("aclrtGetMemUceInfo", memUceInfoArray);
    RT_CHECK_NOT_NULL("aclrtGetMemUceInfo", retSize);
    aclError code = rt_device_check(deviceId);
    if (code == ACL_SUCCESS) *retSize = 0;
    if (code == ACL_SUCCESS && arraySize == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemUceInfo: arraySize is 0");
    return code;
}
