/* L2 runtime: staged memory (see stage.h). The spans are disjoint: what an operand
 * covers, from its lowest to its highest byte, is joined with every span that it
 * overlaps.
 */
#include "runtime/memory/stage.h"

#include "base/alloc.h"
#include "runtime/acl_api.h"

/* Joins the spans that meet `added` into it. */
static void span_add(asn_stage *s, asn_span added) {
    for (int i = 0; i < s->num;) {
        asn_span *old = &s->spans[i];
        if (old->device >= added.device + added.bytes ||
            added.device >= old->device + old->bytes) {
            i++;
            continue;
        }
        char *end = old->device + old->bytes, *own = added.device + added.bytes;
        if (own > end) end = own;
        if (old->device < added.device) added.device = old->device;
        added.bytes = (size_t)(end - added.device);
        added.written |= old->written;
        *old = s->spans[--s->num];
        i = 0; /* the larger one may meet those before */
    }
    s->spans[s->num++] = added;
}

asn_status asn_stage_add(asn_stage *s, const void *data, asn_dtype dtype, int ndim,
                         const int64_t *shape, const int64_t *strides, bool written) {
    int64_t low = 0, high = asn_itemsize(dtype), step = high;
    for (int d = ndim - 1; d >= 0; d--) {
        if (shape[d] == 0) return ASN_OK;
        int64_t reach = (shape[d] - 1) * (strides ? strides[d] : step);
        step *= shape[d];
        if (reach < 0)
            low += reach;
        else
            high += reach;
    }
    if (s->num == ASN_STAGE_SPANS)
        return asn_error_set(ASN_ERR_UNSUPPORTED, "more than %d operands",
                             ASN_STAGE_SPANS);
    span_add(s, (asn_span){(char *)data + low, NULL, (size_t)(high - low), written});
    return ASN_OK;
}

asn_status asn_stage_in(asn_stage *s) {
    for (int i = 0; i < s->num; i++) {
        asn_span *p = &s->spans[i];
        p->host = asn_malloc(p->bytes);
        if (!p->host)
            return asn_error_set(ASN_ERR_MEMORY, "no memory for %zu bytes on the host",
                                 p->bytes);
        ASN_ACL_TRY(asn_acl.aclrtMemcpy(p->host, p->bytes, p->device, p->bytes,
                                        ACL_MEMCPY_DEVICE_TO_HOST),
                    "copy to the host");
    }
    return ASN_OK;
}

void *asn_stage_host(const asn_stage *s, const void *data) {
    for (int i = 0; i < s->num; i++) {
        const asn_span *p = &s->spans[i];
        if ((const char *)data >= p->device && (const char *)data < p->device + p->bytes)
            return p->host + ((const char *)data - p->device);
    }
    return (void *)data;
}

asn_status asn_stage_out(const asn_stage *s) {
    for (int i = 0; i < s->num; i++) {
        const asn_span *p = &s->spans[i];
        if (!p->written) continue;
        ASN_ACL_TRY(asn_acl.aclrtMemcpy(p->device, p->bytes, p->host, p->bytes,
                                        ACL_MEMCPY_HOST_TO_DEVICE),
                    "copy to the device");
    }
    return ASN_OK;
}

void asn_stage_fini(asn_stage *s) {
    for (int i = 0; i < s->num; i++)
        asn_free(s->spans[i].host);
    s->num = 0;
}
