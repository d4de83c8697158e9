/* L2 graph: opcodes of the device's fused operator, asked for once each (see opcodes.h).
 *
 * On a device without it the host's CPU device, which then runs fused programs in its
 * place, has them. */
#include "graph/opcodes.h"

#include "base/settings.h"
#include "graph/device/fallback.h"
#include "ops/added.h"
#include "runtime/acl_api.h"

static uint16_t opcodes[ASN_OP_COUNT + ASN_OP_ADDED]; /* + 1; 0: not asked yet */

bool asn_fuse_enabled(void) {
    static int enabled = -1;
    if (enabled < 0) {
        enabled = asn_acl.aclnnxFused && asn_acl.aclnnxOpcode &&
                  asn_setting_choice(ASN_SETTING_FUSE) != 0;
    }
    return enabled;
}

/* The opcode of a custom operator's loop, which the device learns here. */
static int32_t added_opcode(const asn_acl_api *api, uint16_t op) {
    int output;
    const asn_added_loop *loop = asn_op_added(op, &output);
    if (!loop || !api->aclnnxRegisterLoop) return -1;
    aclnnxOwnLoop own = {.name = loop->name,
                         .function = loop->fn,
                         .data = loop->data,
                         .numIn = loop->num_in,
                         .numOut = loop->num_out};
    for (int k = 0; k < ASN_ADDED_ARGS; k++)
        own.dtypes[k] = (uint8_t)asn_dtype_table[loop->dtypes[k]].acl;
    int32_t first = api->aclnnxRegisterLoop(&own);
    return first < 0 ? -1 : first + output;
}

uint16_t asn_device_opcode(uint16_t op) {
    if (op >= ASN_OP_COUNT + ASN_OP_ADDED) return ACLNNX_NO_REDUCE;
    if (!opcodes[op]) {
        const asn_acl_api *api = asn_acl.aclnnxOpcode ? &asn_acl : &asn_host;
        int32_t code = op >= ASN_OP_COUNT ? added_opcode(api, op)
                                          : api->aclnnxOpcode(asn_op_table[op].name);
        opcodes[op] = code < 0 ? ACLNNX_NO_REDUCE : (uint16_t)(code + 1);
    }
    return opcodes[op] == ACLNNX_NO_REDUCE ? ACLNNX_NO_REDUCE
                                           : (uint16_t)(opcodes[op] - 1);
}

asn_op asn_op_of_device(int32_t opcode) {
    for (int op = 0; op < ASN_OP_COUNT; op++)
        if (opcodes[op] == opcode + 1) return (asn_op)op;
    return ASN_OP_NONE;
}
