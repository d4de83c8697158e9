/* CPU device: the direct entry to reductions, one operation over views: a program of one
 * copy with a reducing output, so it has the engine's order and its bits.
 */
#include "device/cpu/fused/reduce.h"

#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"

/* ASN_ERR_NO_LOOP: no fold of `op` for the dtype (halves fold as float32). */
static asn_status check_reduction(asn_op op, const asnd_nd *in) {
    asn_dtype loop = asn_is_half(in->dtype) ? ASN_F32 : in->dtype;
    if ((unsigned)op >= ASN_OP_CAST || !asn_kernels_get()->fold[op][loop])
        return asn_error_set(ASN_ERR_NO_LOOP, "%s: no reduction for dtype %s",
                             (unsigned)op < ASN_OP_COUNT ? asn_op_table[op].name
                                                         : "opcode",
                             asn_dtype_name(in->dtype));
    return ASN_OK;
}

asn_status asn_cpu_reduce(asn_op op, uint64_t mask, const asnd_nd *in, const asnd_nd *out,
                          uint32_t *fp_flags) {
    int64_t strides[ASN_ND_MAX_DIMS];
    ASN_TRY(check_reduction(op, in));
    if (out->ndim != in->ndim || out->dtype != in->dtype)
        return asn_error_set(ASN_ERR_VALUE, "%s: a %d-d %s reduces into a %d-d %s",
                             asn_op_table[op].name, in->ndim, asn_dtype_name(in->dtype),
                             out->ndim, asn_dtype_name(out->dtype));
    for (int d = 0; d < in->ndim; d++)
        strides[d] = mask >> d & 1 ? 0 : out->strides[d];
    uint8_t acl = (uint8_t)asn_dtype_table[in->dtype].acl;
    aclnnxOperand operands[2] = {
        {.data = in->data,
         .strides = in->strides,
         .dtype = acl,
         .reduceOp = ACLNNX_NO_REDUCE},
        {.data = out->data, .strides = strides, .dtype = acl, .reduceOp = (uint16_t)op}};
    aclnnxInstr copy = {ASN_OP_COPY, acl, acl, 1, {0, 0, 0}};
    aclnnxProgram p = {.numDims = in->ndim,
                       .numIn = 1,
                       .numOut = 1,
                       .numInstrs = 1,
                       .numRegs = 2,
                       .shape = in->shape,
                       .reduceMask = mask,
                       .operands = operands,
                       .instrs = &copy,
                       .fpFlags = fp_flags};
    return asn_cpu_fused(&p);
}
