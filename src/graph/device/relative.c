/* L2 graph: what is around a call of one of the fused operator's relatives (see
 * relative.h). */
#include "graph/device/relative.h"

#include "graph/trace/trace.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/uses.h"

asn_status asn_relative_operands(int n, const asn_array *const *arrays, int written,
                                 aclnnxOperand *o) {
    for (int i = 0; i < n; i++) {
        const asn_array *a = arrays[i];
        ASN_TRY(asn_trace_materialise(a->buffer, i >= n - written));
        ASN_TRY(asn_buffer_ensure(a->buffer));
        o[i] = (aclnnxOperand){.data = (char *)a->buffer->data + a->layout.offset,
                               .strides = a->layout.strides,
                               .dtype = (uint8_t)asn_dtype_table[a->layout.dtype].acl,
                               .reduceOp = ACLNNX_NO_REDUCE};
    }
    return ASN_OK;
}

asn_status asn_relative_begin(int n, const asn_array *const *arrays, int written,
                              bool queued) {
    for (int i = 0; i < n; i++)
        ASN_TRY(asn_buffer_use(arrays[i]->buffer, i >= n - written));
    asn_stream_launch(queued);
    return ASN_OK;
}

asn_status asn_relative_end(int code, const char *name, int n,
                            const asn_array *const *arrays) {
    return code ? asn_acl_failed(code, name) : asn_trace_catch_up_on(n, arrays);
}
