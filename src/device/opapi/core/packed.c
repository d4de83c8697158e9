/* CPU device, operators: plans over packed copies (see packed.h).
 *
 * A tensor that is row-major in the wanted dtype is used where it lies; anything else is
 * converted into a temporary, which ends with the body. Outputs are always computed in a
 * temporary and moved last, so an output may overlap any input.
 */
#include "device/opapi/core/packed.h"

#include <string.h>

/* Scalars become doubles here, since their objects may be gone when the body runs. */
asnd_packed *asn_packed_plan(asnd_call *c, asnd_body_fn fn, double work_ns) {
    asnd_packed *p = asn_call_plan(c, fn, sizeof *p, work_ns);
    if (p == NULL) return NULL;
    memset((char *)p + sizeof p->head, 0, sizeof *p - sizeof p->head);
    p->kind = c->op->arg;
    for (int i = 0; i < c->op->num_params; i++) {
        char kind = c->op->params[i].kind;
        p->at[i] = c->first[i];
        if (kind == ASN_INT || kind == ASN_DOUBLE) p->arg[i] = c->args[i];
        if (kind == ASN_SCALAR && c->args[i].p != NULL) {
            const aclScalar *s = asn_call_scalar(c, i);
            p->arg[i].f = s->dtype < ASN_DTYPE_COUNT
                              ? asn_value_to_double((asn_dtype)s->dtype, s->value)
                              : 0;
        }
    }
    return p;
}

asn_status asn_packed_of(const asnd_nd *a, asn_dtype dtype, asnd_tmp *tmp, asnd_view *v) {
    if (a->dtype == dtype && asn_nd_is_contiguous(a)) {
        asn_view_set(v, a);
        return ASN_OK;
    }
    ASN_TRY(asn_tmp_view(tmp, dtype, a->ndim, a->shape, v));
    return asn_move(&v->nd, a);
}

/* memcpy: `values` may be a pointer to any kind of element. */
asn_status asn_packed_data(const asnd_nd *a, asn_dtype dtype, asnd_tmp *tmp,
                           void *values) {
    asnd_view v;
    ASN_TRY(asn_packed_of(a, dtype, tmp, &v));
    memcpy(values, &v.nd.data, sizeof v.nd.data);
    return ASN_OK;
}

asn_status asn_packed_in(aclOpExecutor *e, const asnd_packed *p, int i, asn_dtype dtype,
                         asnd_tmp *tmp, asnd_view *v) {
    return asn_packed_of(asn_exec_nd(e, p->at[i]), dtype, tmp, v);
}

asn_status asn_packed_like(const asnd_nd *a, const asnd_nd *shape, asn_dtype dtype,
                           asnd_tmp *tmp, asnd_view *v) {
    asnd_view wide;
    asn_view_set(&wide, a);
    asn_view_broadcast(&wide, shape->ndim, shape->shape);
    return asn_packed_of(&wide.nd, dtype, tmp, v);
}

asn_status asn_packed_out(aclOpExecutor *e, const asnd_packed *p, int i, asn_dtype dtype,
                          asnd_tmp *tmp, asnd_view *v) {
    const asnd_nd *out = asn_exec_nd(e, p->at[i]);
    return asn_tmp_view(tmp, dtype, out->ndim, out->shape, v);
}

asn_status asn_packed_done(aclOpExecutor *e, const asnd_packed *p, int i,
                           const asnd_view *v) {
    return asn_move(asn_exec_nd(e, p->at[i]), &v->nd);
}

asn_status asn_call_one_of(const asnd_call *c, int i, uint32_t dtypes) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL || dtypes >> a->dtype & 1) return ASN_OK;
    char names[128] = "";
    for (int t = 0; t < ASN_DTYPE_COUNT; t++) {
        size_t used = strlen(names);
        if (dtypes >> t & 1 && used + 16 < sizeof names) {
            if (used) strcat(names, ", ");
            strcat(names, asn_dtype_name((asn_dtype)t));
        }
    }
    return asn_error_set(ASN_ERR_TYPE, "%s: %s has dtype %s; it must be one of %s",
                         c->op->name, c->op->params[i].name, asn_dtype_name(a->dtype),
                         names);
}

asn_status asn_call_single(const asnd_call *c, int i) {
    return asn_call_one_of(c, i, ASN_BIT(ASN_F16) | ASN_BIT(ASN_BF16) | ASN_BIT(ASN_F32));
}

/* An absent tensor has any rank. */
asn_status asn_call_rank(const asnd_call *c, int i, int least, int most) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL || (a->ndim >= least && a->ndim <= most)) return ASN_OK;
    if (least == most)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have %d",
                             c->op->name, c->op->params[i].name, a->ndim, least);
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has %d dimensions; it must have %d to %d",
                         c->op->name, c->op->params[i].name, a->ndim, least, most);
}

/* Sizes are added up where they fit only, so that no sum overflows. */
asn_status asn_packed_ends(const aclOpExecutor *e, const char *name, const int64_t *given,
                           int64_t groups, bool sizes, int64_t all, asnd_tmp *tmp,
                           const int64_t **ends) {
    int64_t *to = asn_tmp_alloc(tmp, (size_t)groups * sizeof *to + 1), last = 0;
    if (to == NULL) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < groups; i++) {
        int64_t end = given[i];
        if (sizes && (end < 0 || end > all)) end = -1;
        to[i] = sizes && end >= 0 ? last + end : end;
        if (to[i] < last || to[i] > all)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: group %lld of %s ends at %lld, the one before at "
                                 "%lld; ends ascend to %lld at most",
                                 e->name, (long long)i, name, (long long)to[i],
                                 (long long)last, (long long)all);
        last = to[i];
    }
    *ends = to;
    return ASN_OK;
}
