/* CPU device, operators: the seed and the offset of random numbers (seed.h).
 *
 * A tensor of either is of int64 or uint64; the sum of offsets wraps, as counters do.
 */
#include "device/opapi/core/seed.h"

/* Parameter i, a tensor, is one number. */
static asn_status check_number(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (asn_nd_size(a) == 1 && (a->dtype == ASN_I64 || a->dtype == ASN_U64))
        return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s has %lld elements of dtype %s; it must have one of int64",
        c->op->name, c->op->params[i].name, (long long)asn_nd_size(a),
        asn_dtype_name(a->dtype));
}

asn_status asn_call_seed(const asnd_call *c, int i, asnd_seed *s) {
    s->seed_at = s->offset_at = -1;
    if (c->op->params[i].kind != ASN_IN) {
        s->seed = (uint64_t)asn_call_int(c, i);
        s->offset = (uint64_t)asn_call_int(c, i + 1);
        return ASN_OK;
    }
    ASN_TRY(check_number(c, i));
    ASN_TRY(check_number(c, i + 1));
    s->seed_at = c->first[i];
    s->offset_at = c->first[i + 1];
    s->seed = 0;
    s->offset = (uint64_t)asn_call_int(c, i + 2);
    return ASN_OK;
}

void asn_exec_seed(const aclOpExecutor *e, const asnd_seed *s, uint64_t *seed,
                   uint64_t *offset) {
    *seed = s->seed;
    *offset = s->offset;
    if (s->seed_at < 0) return;
    *seed += *(const uint64_t *)(const void *)asn_exec_nd(e, s->seed_at)->data;
    *offset += *(const uint64_t *)(const void *)asn_exec_nd(e, s->offset_at)->data;
}
