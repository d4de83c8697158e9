/* CPU device, operators: what the operators on images share (see image.h).
 *
 * Images stand in five dimensions, batch and channels in front; missing ones have extent
 * 1. Kernels read and write row-major memory of one dtype: a tensor that is so is used
 * where it lies, an output only if no input of the call overlaps it.
 *
 * The general way would be kernels by strides for each dtype; with a copy of what is not
 * row-major there is one kernel for each operation and dtype.
 */
#include "device/opapi/nn/image.h"

void asn_image_stand(asnd_view *v, int spatial) {
    if (v->nd.ndim == spatial + 1) asn_view_insert(v, 0, 1, 0);
    while (v->nd.ndim < 5)
        asn_view_insert(v, 2, 1, 0);
}

asn_status asn_image_plain(asnd_tmp *tmp, const asnd_nd *a, asn_dtype dtype,
                           asnd_view *out) {
    if (a->dtype == dtype && asn_nd_is_contiguous(a)) {
        asn_view_set(out, a);
        return ASN_OK;
    }
    ASN_TRY(asn_tmp_view(tmp, dtype, a->ndim, a->shape, out));
    return asn_move(&out->nd, a);
}

asn_status asn_image_result(const aclOpExecutor *e, asnd_tmp *tmp, const asnd_nd *out,
                            asn_dtype dtype, asnd_view *result) {
    bool direct = out->dtype == dtype && asn_nd_is_contiguous(out);
    for (uint32_t i = 0; i < e->num_operands && direct; i++) {
        const asnd_operand *o = &e->operands[i];
        direct = !o->is_in || o->is_empty || !asn_nds_meet(out, &o->nd);
    }
    if (!direct) return asn_tmp_view(tmp, dtype, out->ndim, out->shape, result);
    asn_view_set(result, out);
    return ASN_OK;
}

asn_status asn_image_finish(const asnd_nd *out, const asnd_view *result) {
    return out->data == result->nd.data ? ASN_OK : asn_move(out, &result->nd);
}

/* One value stands for all n; none for `fallback`, where that is allowed (not below low).
 */
asn_status asn_image_ints(const asnd_call *c, int i, int n, int64_t low, int64_t fallback,
                          int64_t *values) {
    const asnd_array *a = asn_call_array(c, i);
    const int64_t *got = a ? a->data : NULL;
    uint64_t size = a ? a->size : 0;
    if (size != 1 && size != (uint64_t)n && (size != 0 || fallback < low))
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %llu values; it must have %s%d",
                             c->op->name, c->op->params[i].name, (unsigned long long)size,
                             n == 1 ? "" : "1 or ", n);
    for (int d = 0; d < n; d++) {
        values[d] = size == 0 ? fallback : got[size == 1 ? 0 : d];
        if (values[d] < low || values[d] > INT32_MAX)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: %s has the value %lld; it must be in [%lld, %d]",
                                 c->op->name, c->op->params[i].name, (long long)values[d],
                                 (long long)low, INT32_MAX);
    }
    return ASN_OK;
}

asn_status asn_image_rank(const asnd_call *c, int i, int spatial) {
    int ndim = asn_call_nd(c, i)->ndim;
    if (ndim == spatial + 1 || ndim == spatial + 2) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have %d or %d",
                         c->op->name, c->op->params[i].name, ndim, spatial + 1,
                         spatial + 2);
}
