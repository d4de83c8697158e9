/* CPU device, operators: aclnnxLinalg (aclnn/aclnnx.h) over cpu/linalg.h.
 *
 * It takes no stream and runs at once on the caller, who has waited for what it reads: a
 * decomposition takes microseconds at least, and *failed, the number of matrices without
 * a result, is read next. Shapes are checked by the array library
 * (graph/operators/solvers.c); here only that the descriptors make sense.
 */
#include "aclnn/aclnnx.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/linalg/linalg.h"
#include "device/opbase/executor.h"

/* *out: descriptor i as a view; its strides are in bytes. */
static asn_status operand_nd(const aclnnxTensor *t, int i, asnd_nd *out) {
    asn_dtype dtype = asn_dtype_from_acl(t->dtype);
    if (dtype >= ASN_DTYPE_COUNT)
        return asn_error_set(ASN_ERR_TYPE, "aclnnxLinalg: operand %d has dtype %d", i,
                             t->dtype);
    if (t->numDims < 0 || t->numDims > ASN_ND_MAX_DIMS ||
        (t->numDims > 0 && (!t->shape || !t->strides)))
        return asn_error_set(ASN_ERR_VALUE, "aclnnxLinalg: operand %d has no shape", i);
    *out = (asnd_nd){t->data, t->numDims, dtype, t->shape, t->strides};
    return t->data || asn_nd_size(out) == 0
               ? ASN_OK
               : asn_error_set(ASN_ERR_NULL_POINTER,
                               "aclnnxLinalg: operand %d has no data", i);
}

ASN_API int32_t aclnnxLinalg(int32_t op, int32_t options, double rcond, int32_t numBatch,
                             int32_t numOperands, const aclnnxTensor *operands,
                             int64_t *failed, uint32_t *fpFlags) {
    asnd_nd nd[ASN_LINALG_MAX_OPERANDS];
    const asnd_linalg_options asked = {.upper = options & ACLNNX_LINALG_UPPER,
                                       .finite = options & ACLNNX_LINALG_FINITE,
                                       .rcond = rcond};
    asn_status status = ASN_OK;
    if (op < 0 || op >= ASN_LINALG_OPS || numOperands < 1 ||
        numOperands > ASN_LINALG_MAX_OPERANDS || numBatch < 0 || !operands || !failed)
        status = asn_error_set(ASN_ERR_VALUE,
                               "aclnnxLinalg: operation %d of %d operands, %d batch "
                               "dimensions",
                               op, numOperands, numBatch);
    for (int i = 0; status == ASN_OK && i < numOperands; i++)
        status = operand_nd(&operands[i], i, &nd[i]);
    /* Exceptions raised on this thread before are not the operation's. */
    if (fpFlags) asn_fp_clear();
    if (status == ASN_OK)
        status =
            asn_cpu_linalg((asnd_linalg_op)op, &asked, numBatch, numOperands, nd, failed);
    if (fpFlags) asn_fp_collect(fpFlags);
    return status == ASN_OK ? ACLNN_SUCCESS : asnop_fail(status);
}
