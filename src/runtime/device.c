/* L2 runtime: opening the device (see device.h).
 *
 * ASNUMPY_DEVICE: "cpu", "ascend", or "auto" (the default): CANN's libraries if they open
 * and report a device, else the CPU device. Opening happens at the first use, never at
 * import. Device numbers are those of AscendCL.
 */
#include "runtime/device.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/settings.h"
#include "runtime/acl_api.h"
#include "runtime/forks.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/profile.h"
#include "runtime/streams/queue.h"
#include "runtime/streams/uses.h"

static struct {
    bool open, host_access;
    int current;
    const char *kind;
    char folder[4096];
} device = {.kind = "cpu", .host_access = true};

void asn_device_set_library_path(const char *folder) {
    snprintf(device.folder, sizeof device.folder, "%s", folder ? folder : "");
}

const char *asn_device_library_path(void) {
    return device.folder;
}

/* Libraries of `kind`, initialised, with at least one device. */
static asn_status try_kind(const char *kind) {
    ASN_TRY(asn_acl_load(kind, device.folder));
    int code = asn_acl.aclInit(NULL);
    uint32_t count = 0;
    if (code == 0 || code == 100002) code = asn_acl.aclrtGetDeviceCount(&count);
    if (code == 0 && count > 0) {
        device.kind = kind;
        device.host_access = !strcmp(kind, "cpu");
        return ASN_OK;
    }
    asn_status status =
        asn_error_set(ASN_ERR_RUNTIME,
                      "the %s libraries open but report no device (code %d)", kind, code);
    asn_acl_unload();
    return status;
}

static asn_status load_libraries(void) {
    ASN_TRY(asn_settings_check());
    const char *wish = asn_setting_text(ASN_SETTING_DEVICE);
    if (wish && strcmp(wish, "auto") != 0) return try_kind(wish);
    const char *home = getenv("ASCEND_HOME_PATH"),
               *toolkit = getenv("ASCEND_TOOLKIT_HOME");
    if ((home || toolkit) && try_kind("ascend") == ASN_OK) {
        /* The folder may be this package's own (set_env.sh). */
        if (!asn_acl_is_cpu_device()) return ASN_OK;
        asn_acl.aclFinalize();
        asn_acl_unload();
    }
    return try_kind("cpu");
}

static asn_status use_device(int number) {
    ASN_ACL_TRY(asn_acl.aclrtSetDevice(number), "set_device");
    aclrtStream stream;
    ASN_ACL_TRY(asn_acl.aclrtCreateStreamWithConfig(
                    &stream, 0, ACL_STREAM_FAST_LAUNCH | ACL_STREAM_FAST_SYNC),
                "set_device");
    asn_queue_open(stream, number);
    ASN_TRY(asn_pool_select(number));
    device.current = number;
    asn_stream_lags = asn_setting_text(ASN_SETTING_CPU_LAUNCH_DELAY_US) != NULL;
    return ASN_OK;
}

uint32_t asn_device_generation;

/* Beside an NPU the CPU device is opened now and not by the first operator that the NPU
 * lacks: a library that is loaded while another thread forks is not told of that fork.
 * Where it cannot be opened, that operator will say so. */
static void settle_forks(void) {
    if (strcmp(device.kind, "cpu") != 0) asn_acl_open_host(device.folder);
    asn_forks_come_first();
}

asn_status asn_device_open(void) {
    /* No fork waits for it (base/forks.h): libraries that are loaded meanwhile install
     * handlers, for which some C libraries wait until the fork is over. */
    static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
    if (__atomic_load_n(&device.open, __ATOMIC_ACQUIRE)) return ASN_OK;
    pthread_mutex_lock(&opening);
    asn_status status = ASN_OK;
    if (!device.open) {
        status = load_libraries();
        if (!status) settle_forks();
        if (!status) status = use_device(0);
        asn_device_generation++;
        if (!status) __atomic_store_n(&device.open, true, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&opening);
    return status;
}

/* A capture's steps belong to one device, as it is. */
static asn_status check_not_held(const char *what) {
    if (!asn_stream_held) return ASN_OK;
    return asn_error_set(ASN_ERR_RUNTIME,
                         "%s: a call is being traced; move this out of it", what);
}

asn_status asn_device_close(void) {
    if (!device.open) return ASN_OK;
    ASN_TRY(check_not_held("finalize"));
    ASN_TRY(asn_stream_wait());
    asn_uses_sweep();
    asn_memory_stats stats;
    asn_memory_get_stats(&stats);
    if (stats.bytes_in_use)
        return asn_error_set(ASN_ERR_RUNTIME,
                             "finalize: arrays still hold %llu bytes of device memory",
                             (unsigned long long)stats.bytes_in_use);
    asn_profile_pairs_fini();
    asn_queue_close();
    asn_pool_fini();
    asn_acl.aclrtResetDevice(device.current);
    asn_acl.aclFinalize();
    device.open = false;
    asn_device_generation++;
    asn_acl_unload();
    return ASN_OK;
}

asn_status asn_device_count(int *out) {
    ASN_TRY(asn_device_open());
    uint32_t count = 0;
    ASN_ACL_TRY(asn_acl.aclrtGetDeviceCount(&count), "get_device_count");
    *out = (int)count;
    return ASN_OK;
}

asn_status asn_device_get(int *out) {
    ASN_TRY(asn_device_open());
    *out = device.current;
    return ASN_OK;
}

/* ValueError when there is no such device. */
static asn_status check_number(int number) {
    int count = 0;
    ASN_TRY(asn_device_count(&count));
    if (number >= 0 && number < count) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "device %d does not exist: there are %d, counted from 0", number,
                         count);
}

asn_status asn_device_set(int number) {
    ASN_TRY(check_number(number));
    if (number == device.current) return ASN_OK;
    ASN_TRY(check_not_held("set_device"));
    ASN_TRY(asn_stream_wait());
    asn_acl.aclrtDestroyStream(asn_queue_own()->stream);
    return use_device(number);
}

asn_status asn_device_reset(int number) {
    ASN_TRY(check_not_held("reset_device"));
    ASN_TRY(check_number(number));
    ASN_TRY(asn_stream_wait());
    asn_pool_trim();
    return ASN_OK;
}

const char *asn_device_kind(void) {
    return device.kind;
}

bool asn_device_host_access(void) {
    return device.host_access;
}
