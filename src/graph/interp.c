/* L2 graph: linear interpolation in one call of the device (see families.h). */
#include "graph/families.h"
#include "graph/launch.h"
#include "graph/lock.h"
#include "graph/operator.h"
#include "graph/trace.h"
#include "runtime/device.h"

/* `a` itself or a packed copy, its memory ready to be read. */
static asn_status packed_line(asn_array *line, const asn_array *a) {
    if (asn_layout_contiguous(&a->layout))
        ASN_TRY(asn_array_share(line, a));
    else
        ASN_TRY(asn_copy(line, a, ASN_F64, 'C'));
    asn_status status = asn_trace_settle(line->buffer, false);
    if (!status) status = asn_buffer_ensure(line->buffer);
    if (status) asn_array_fini(line);
    return status;
}

static aclnnxOperand operand_of(const asn_array *a) {
    return (aclnnxOperand){.data = (char *)a->buffer->data + a->layout.offset,
                           .dtype = (uint8_t)asn_dtype_table[ASN_F64].acl,
                           .reduceOp = ACLNNX_NO_REDUCE};
}

static asn_status interp_locked(asn_array *result, const asn_array lines[3], double left,
                                double right) {
    const asn_layout *x = &lines[0].layout;
    ASN_TRY(asn_array_new(result, ASN_F64, x->ndim, x->shape, 'C'));
    asn_status status = asn_buffer_ensure(result->buffer);
    if (!status && x->size) {
        aclnnxOperand o[4] = {operand_of(&lines[0]), operand_of(&lines[1]),
                              operand_of(&lines[2]), operand_of(result)};
        int code = asn_acl.aclnnxInterp(&o[0], &o[1], &o[2], &o[3], x->size,
                                        lines[1].layout.size, left, right, asn_stream());
        if (code) status = asn_acl_failed(code, "interp");
    }
    if (status) asn_array_fini(result);
    return status;
}

asn_status asn_interp(asn_array *result, const asn_array *x, const asn_array *xp,
                      const asn_array *fp, double left, double right) {
    ASN_TRY(asn_device_open());
    if (!asn_fuse_enabled() || !asn_acl.aclnnxInterp)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "interp: the device has no such operation");
    const asn_array *from[3] = {x, xp, fp};
    asn_array lines[3];
    int have = 0;
    asn_lock();
    asn_status status = ASN_OK;
    for (; have < 3 && !status; have += !status)
        status = packed_line(&lines[have], from[have]);
    if (!status) status = interp_locked(result, lines, left, right);
    while (have > 0)
        asn_array_fini(&lines[--have]);
    asn_unlock();
    return status;
}
