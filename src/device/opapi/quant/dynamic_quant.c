/* CPU device, operators: DynamicQuantV3 and V4, whose scale is that of a row, of a
 * channel or of the whole tensor.
 *
 * x times smoothScales (one for each column; with groupIndex a row of them for each
 * group of rows) is cut into sets: rows ("pertoken"), columns of each matrix
 * ("perchannel"), everything ("pertensor"). A set's scale is its largest magnitude
 * divided by the largest integer, or, not symmetrical, its range divided by the range of
 * the integers, with the offset that takes its maximum to the largest.
 */
#include <math.h>
#include <string.h>

#include "device/opapi/quant/quant.h"

/* Operands, -1: absent. Set g has `count` elements, `step` apart, from base(g) on. */
typedef struct {
    asnd_plan_head head;
    int x, smooth, groups, y, scale, offset;
    bool symmetrical, columns;
    int64_t all, n, sets, count, step, num_groups;
} dynamic_plan;

/* Multiplies every row by its smooth scales. */
static asn_status smooth_rows(aclOpExecutor *e, const dynamic_plan *p, float *v,
                              asnd_tmp *tmp) {
    const float *smooth;
    const int64_t *ends = NULL;
    if (p->smooth < 0) return ASN_OK;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->smooth), ASN_F32, tmp, &smooth));
    if (p->groups >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->groups), ASN_I64, tmp, &ends));
    for (int64_t i = 0, g = 0; i < p->all / p->n; i++) {
        /* groupIndex has ends; rows behind the last one take the last group's scales. */
        while (ends != NULL && g + 1 < p->num_groups && i >= ends[g])
            g++;
        for (int64_t j = 0; j < p->n; j++)
            v[i * p->n + j] *= smooth[g * p->n + j];
    }
    return ASN_OK;
}

/* Quantises one set in place of q; gives its scale and offset. */
static void quantise_set(const dynamic_plan *p, const float *v, int32_t top, int32_t *q,
                         float *scale, float *offset) {
    float low = v[0], high = v[0], most = 0;
    for (int64_t k = 0; k < p->count; k++) {
        float x = v[k * p->step];
        most = fmaxf(most, fabsf(x));
        low = fminf(low, x);
        high = fmaxf(high, x);
    }
    /* From -1 - top to top: 255 steps of int8, 15 of int4. */
    float range = (float)(2 * top + 1);
    /* x = (q - offset) * scale, so that q = x / scale + offset: symmetrical sets have no
     * offset, others take their maximum to `top` and their minimum to -1 - top. A set of
     * equal numbers has scale 0, by which nothing is divided. */
    *scale = p->symmetrical ? most / (float)top : (high - low) / range;
    *offset = !p->symmetrical && *scale > 0 ? (float)top - high / *scale : 0;
    for (int64_t k = 0; k < p->count; k++) {
        float y = *scale > 0 ? v[k * p->step] / *scale + *offset : 0;
        q[k * p->step] = asn_quant_value(y, ASN_ROUND_EVEN, -1 - top, top);
    }
}

/* x is copied, since smoothing and the search for extremes read it more than once. */
static asn_status dynamic_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dynamic_plan *p = plan;
    const asnd_nd *x = asn_exec_nd(e, p->x), *to = asn_exec_nd(e, p->y);
    asnd_view v, out, scales, offsets;
    bool packs = to->dtype == ASN_I32;
    int32_t top = -1 - asn_quant_least(&e->operands[p->y], true);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, x->ndim, x->shape, &v));
    ASN_TRY(asn_move(&v.nd, x));
    float *values = (float *)(void *)v.nd.data;
    ASN_TRY(smooth_rows(e, p, values, tmp));
    ASN_TRY(asn_tmp_view(tmp, to->dtype, to->ndim, to->shape, &out));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &p->sets, &scales));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &p->sets, &offsets));
    int32_t *q = asn_tmp_alloc(tmp, (size_t)p->all * sizeof *q);
    if (q == NULL) return ASN_ERR_MEMORY;
    for (int64_t g = 0; g < p->sets; g++) {
        /* A column begins in its matrix, count rows of n apart from the next one's. */
        int64_t base = p->columns ? g / p->n * p->count * p->n + g % p->n : g * p->count;
        quantise_set(p, values + base, top, q + base, (float *)(void *)scales.nd.data + g,
                     (float *)(void *)offsets.nd.data + g);
    }
    asn_quant_store(q, p->all, to->dtype, packs, out.nd.data);
    ASN_TRY(asn_quant_done(e, p->y, &out));
    for (int k = 0; k < 2; k++) {
        int at = k ? p->offset : p->scale;
        if (at < 0) continue;
        const asnd_nd *a = asn_exec_nd(e, at);
        asnd_view told;
        asn_view_plain(&told, ASN_F32, a->ndim, a->shape,
                       (k ? &offsets : &scales)->nd.data);
        ASN_TRY(asn_move(a, &told.nd));
    }
    return ASN_OK;
}

/* The sets by their mode; shape: of the scales. */
static asn_status take_mode(const asnd_call *c, dynamic_plan *p, int *ndim,
                            int64_t *shape) {
    const char *mode = c->args[asn_call_param_named(c, "quantMode")].p;
    const asnd_nd *x = asn_call_nd(c, 0);
    int last = x->ndim - 1;
    /* The whole tensor is a set with one scale, whatever its shape. */
    bool token = strcmp(mode, "pertoken") == 0, all = strcmp(mode, "pertensor") == 0;
    p->columns = strcmp(mode, "perchannel") == 0;
    if (!token && !all && !p->columns)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: quantMode is \"%.20s\"; it must be pertoken, perchannel "
            "or pertensor",
            c->op->name, mode);
    /* Scales: x's shape without the last dimension (pertoken), without the last but one
     * (perchannel), or (1). */
    p->all = asn_nd_size(x);
    p->n = x->shape[last];
    p->step = p->columns ? p->n : 1;
    p->count = all ? p->all : p->columns ? x->shape[last - 1] : p->n;
    p->sets = p->count > 0 ? p->all / p->count : 0;
    *ndim = all ? 1 : last;
    memcpy(shape, x->shape, (size_t)last * sizeof *shape);
    if (p->columns) shape[last - 1] = p->n;
    if (all) shape[0] = 1;
    if (token || p->groups < 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: groupIndex goes with pertoken", c->op->name);
}

/* smoothScales: one for each column, or a row for each group. */
static asn_status take_smooth(const asnd_call *c, dynamic_plan *p) {
    const asnd_nd *x = asn_call_nd(c, 0);
    p->smooth = c->first[1];
    p->groups = c->first[2];
    p->num_groups = p->groups < 0 ? 0 : asn_nd_size(asn_call_nd(c, 2));
    /* smoothScales (n) or (groups, n), groupIndex (groups). */
    int64_t want[] = {p->num_groups, x->shape[x->ndim - 1]};
    ASN_TRY(asn_call_floating(c, 1));
    if (p->groups >= 0 && (p->smooth < 0 || !asn_is_integer(asn_call_nd(c, 2)->dtype)))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: groupIndex holds integers and goes with smoothScales",
                             c->op->name);
    if (p->smooth < 0) return ASN_OK;
    return p->groups >= 0 ? asn_call_same_shape(c, 1, 2, want)
                          : asn_call_same_shape(c, 1, 1, want + 1);
}

/* (x, smoothScales, groupIndex, dstType, isSymmetrical, quantMode, y, scale, offset); V4
 * has dstTypeMax, which is of dtypes that are not here, before y. */
asn_status asn_planner_dynamic_sets(asnd_call *c) {
    dynamic_plan p;
    memset(&p, 0, sizeof p);
    int y = asn_call_out(c), ndim = 0, most = asn_call_param_named(c, "dstTypeMax");
    int64_t shape[ASN_ND_MAX_DIMS];
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(take_smooth(c, &p));
    ASN_TRY(take_mode(c, &p, &ndim, shape));
    ASN_TRY(asn_call_one_of(c, y, ASN_BIT(ASN_I8) | ASN_BIT(ASN_I32)));
    ASN_TRY(asn_quant_out_shape(c, y, asn_call_nd(c, 0), true));
    ASN_TRY(asn_quant_out_type(c, y, asn_call_int(c, 3)));
    if (most >= 0 && asn_call_double(c, most) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: dstTypeMax is %g; it must be 0",
                             c->op->name, asn_call_double(c, most));
    p.symmetrical = asn_call_int(c, 4) != 0;
    if (!p.symmetrical && c->first[y + 2] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: isSymmetrical is false, offset is NULL", c->op->name);
    p.x = c->first[0];
    p.y = c->first[y];
    p.scale = c->first[y + 1];
    p.offset = p.symmetrical ? -1 : c->first[y + 2];
    for (int i = y + 1; i <= y + 2; i++) {
        if (c->first[i] < 0 || (i == y + 2 && p.symmetrical)) continue;
        ASN_TRY(asn_call_same_shape(c, i, ndim, shape));
        ASN_TRY(asn_call_one_of(c, i, ASN_BIT(ASN_F32)));
    }
    if (p.all == 0) return ASN_OK;
    return asn_call_keep(c, dynamic_body, &p, sizeof p, 300 + 8 * (double)p.all);
}
