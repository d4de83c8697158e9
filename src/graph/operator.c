/* L2 graph: two-phase operator calls (see operator.h). */
#include "graph/operator.h"

#include "graph/launch.h"
#include "graph/lock.h"
#include "graph/trace.h"
#include "runtime/pool.h"

asn_status asn_operator_tensor(const asn_array *a, asn_access access, aclTensor **out) {
    const asn_layout *l = &a->layout;
    int64_t item = asn_itemsize(asn_layout_dtype(l)), strides[ASN_MAX_DIMS];
    *out = NULL;
    ASN_TRY(asn_trace_settle(a->buffer, access == ASN_WRITE));
    ASN_TRY(asn_buffer_ensure(a->buffer));
    for (int d = 0; d < l->ndim; d++) {
        if (l->strides[d] % item && l->shape[d] > 1)
            return asn_error_set(
                ASN_ERR_UNSUPPORTED,
                "strides of %lld bytes are no multiple of the %s itemsize; "
                "copy the array first",
                (long long)l->strides[d], asn_dtype_name(asn_layout_dtype(l)));
        strides[d] = l->strides[d] / item;
    }
    *out = asn_acl.aclCreateTensor(l->shape, (uint64_t)l->ndim,
                                   (aclDataType)asn_dtype_table[l->dtype].acl, strides, 0,
                                   ACL_FORMAT_ND, l->shape, (uint64_t)l->ndim,
                                   (char *)a->buffer->data + l->offset);
    if (!*out)
        return asn_error_set(ASN_ERR_MEMORY,
                             "the device cannot describe a tensor of %d "
                             "dimensions",
                             l->ndim);
    return ASN_OK;
}

void asn_operator_drop(int n, aclTensor *const *tensors) {
    for (int i = 0; i < n; i++)
        if (tensors[i]) asn_acl.aclDestroyTensor(tensors[i]);
}

asn_status asn_operator_find(asn_acl_operator *op, const char *name) {
    if (op->run) return ASN_OK;
    ASN_TRY(asn_device_open());
    if (asn_acl_find(name, op)) return ASN_OK;
    op->run = NULL;
    return asn_error_set(ASN_ERR_UNSUPPORTED, "the %s device has no operator aclnn%s",
                         asn_device_kind(), name);
}

asn_status asn_operator_run(const asn_acl_operator *op, uint64_t workspace,
                            aclOpExecutor *executor, const char *what) {
    void *block = NULL;
    int64_t capacity = 0;
    asn_counters.single_ops++;
    if (workspace) ASN_TRY(asn_pool_alloc((int64_t)workspace, &block, &capacity));
    asn_stream_busy = true;
    void *state = asn_blocking_enter();
    int code = op->run(block, workspace, executor, asn_stream());
    asn_blocking_leave(state);
    /* In stream order: a later task that gets this block runs after this one. */
    if (block) asn_pool_free(block, capacity);
    return code ? asn_acl_failed(code, what) : ASN_OK;
}
