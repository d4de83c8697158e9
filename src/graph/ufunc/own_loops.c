/* L2 graph: loops of the program's own (see own_loops.h).
 *
 * Each output is an operation, a row of its own, with the same inputs; the device calls
 * the loop once for those that stand in one program. Outputs that are given are written
 * when all are computed: one of them may be an input of the next operation.
 */
#include "graph/ufunc/own_loops.h"

#include "graph/device/fallback.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "runtime/device.h"

/* (Contract in own_loops.h.) The device's opcode is looked up at once, which is when it
 * takes the loop. */
asn_status asn_own_loop_add(const asn_added_loop *loop, int *opcode) {
    *opcode = -1;
    asn_lock();
    asn_status status = asn_device_open();
    if (!status && !asn_acl.aclnnxOpcode) status = asn_fallback_ready();
    int first = status ? -1 : asn_op_add(loop);
    if (first >= 0 && asn_device_opcode((uint16_t)first) != ACLNNX_NO_REDUCE)
        *opcode = first;
    asn_unlock();
    return status;
}

/* A loop of several outputs: each is recorded as an operation that makes a fresh array,
 * and then assigned to the array that was given. */
static asn_status call_all(int opcode, int num_out, const asn_operand *in,
                           const asn_array *const *out, asn_array *result,
                           const asn_ufunc_options *options) {
    asn_array made[ASN_ADDED_ARGS];
    asn_ufunc_options everywhere = *options;
    everywhere.where = NULL;
    asn_status status = ASN_OK;
    int k = 0;
    for (; k < num_out && !status; k++) {
        asn_op op = (asn_op)(opcode + k);
        status = asn_ufunc_call(op, in, NULL, &made[k], out[k] ? &everywhere : options);
        if (status) break;
    }
    int num_made = k;
    for (k = 0; k < num_out && !status; k++) {
        asn_operand value = {.array = &made[k]};
        if (out[k])
            status = asn_assign(out[k], &value, ASN_CASTING_UNSAFE, options->where);
    }
    for (k = 0; k < num_made; k++) {
        if (status || out[k])
            asn_array_fini(&made[k]);
        else
            asn_array_move(&result[k], &made[k]);
    }
    return status;
}

asn_status asn_own_loop_call(int opcode, const asn_operand *in,
                             const asn_array *const *out, asn_array *result,
                             const asn_ufunc_options *options) {
    int output;
    const asn_added_loop *loop = asn_op_added(opcode, &output);
    if (!loop || output)
        return asn_error_set(ASN_ERR_VALUE, "%d is no opcode of a loop", opcode);
    if (loop->num_out == 1)
        return asn_ufunc_call((asn_op)opcode, in, out[0], result, options);
    return call_all(opcode, loop->num_out, in, out, result, options);
}
