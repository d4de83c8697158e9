/* CPU device, collective communication: configurations.
 *
 * A configuration begins with its size, a magic word and a version, so that programs
 * built with an older structure go on working: fields beyond its size have their
 * defaults. What only an NPU's network has (traffic classes, algorithms, retries, where
 * an algorithm is expanded) is checked by nobody and changes nothing; the buffers between
 * two ranks have one size; results never depend on timing.
 */
#include "device/hccl/internal.h"

#include <stdlib.h>

const hccl_options hccl_no_options = {"", -1};

typedef struct {
    uint64_t size;
    uint32_t magic, version;
} config_info;

#define CONFIG_HAS(info, field)                                                          \
    ((info).size >= offsetof(HcclCommConfig, field) + sizeof((HcclCommConfig *)0)->field)

/* Options of newer versions than the configuration's size covers keep their
 * defaults. */
HcclResult hccl_options_get(const char *function, const HcclCommConfig *config,
                            hccl_options *options) {
    const uint32_t unset = 0xffffffff;
    config_info info;
    *options = hccl_no_options;
    memcpy(&info, config->reserved, sizeof info);
    if (info.magic != HCCL_COMM_CONFIG_MAGIC_WORD || !CONFIG_HAS(info, hcclCommName))
        return hccl_fail(HCCL_E_PARA, "%s: HcclCommConfigInit has not set config",
                         function);
    if (config->hcclBufferSize == 0)
        return hccl_fail(HCCL_E_PARA,
                         "%s: hcclBufferSize is 0; at least 1 (MB) is needed", function);
    if (config->hcclDeterministic > 2 && config->hcclDeterministic != unset)
        return hccl_fail(HCCL_E_PARA,
                         "%s: hcclDeterministic is %u; 0, 1 and 2 are allowed", function,
                         config->hcclDeterministic);
    memcpy(options->name, config->hcclCommName, sizeof options->name - 1);
    if (CONFIG_HAS(info, hcclExecTimeOut) && config->hcclExecTimeOut > 0 &&
        config->hcclExecTimeOut < INT32_MAX)
        options->exec_seconds = config->hcclExecTimeOut;
    return HCCL_SUCCESS;
}

/* How many of HcclCommConfigCapability's fields a configuration may set, from the first
 * on. */
ASN_API uint32_t HcclGetCommConfigCapability(void) {
    return HCCL_COMM_CONFIG_EXEC_TIMEOUT + 1;
}

/* -1: as HCCL_DETERMINISTIC says. */
static _Atomic int32_t deterministic = -1;

/* Sets an option of all communicators: HCCL_DETERMINISTIC, 0, 1 or 2. Results are the
 * same each time, whatever it is. */
ASN_API HcclResult HcclSetConfig(HcclConfig config, HcclConfigValue configValue) {
    if (config != HCCL_DETERMINISTIC || configValue.value < 0 || configValue.value > 2)
        return hccl_fail(HCCL_E_PARA,
                         "HcclSetConfig: option %d, value %d; option 0 "
                         "(HCCL_DETERMINISTIC) may be 0, 1 or 2",
                         (int)config, (int)configValue.value);
    atomic_store(&deterministic, configValue.value);
    return HCCL_SUCCESS;
}

/* The option's value: the one set, else that of the environment variable. */
ASN_API HcclResult HcclGetConfig(HcclConfig config, HcclConfigValue *configValue) {
    HCCL_CHECK_NOT_NULL("HcclGetConfig", configValue);
    if (config != HCCL_DETERMINISTIC)
        return hccl_fail(HCCL_E_PARA,
                         "HcclGetConfig: option %d; 0 (HCCL_DETERMINISTIC) is allowed",
                         (int)config);
    int32_t value = atomic_load(&deterministic);
    const char *text = getenv("HCCL_DETERMINISTIC");
    if (value < 0) value = text != NULL && strcmp(text, "true") == 0;
    configValue->value = value;
    return HCCL_SUCCESS;
}
