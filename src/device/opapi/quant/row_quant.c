/* CPU device, operators: rows of floats that end as small integers (see row_quant.h).
 *
 * Rounding is half to even, then clamped. A dynamic scale is the largest magnitude
 * divided by the largest integer; a row of zeros has scale 0 and zeros.
 */
#include "device/opapi/quant/row_quant.h"

#include <math.h>

/* An output of int32 has an eighth of the last extent: eight int4 in each element. */
asn_status asn_row_quant_check(const asnd_call *c, const asnd_row_quant *r, int ndim,
                               const int64_t *shape) {
    const asnd_operand *o = &c->e->operands[r->y];
    bool packed = o->nd.dtype == ASN_I32, fits = packed || o->nd.dtype == ASN_I8;
    fits = fits && o->nd.ndim == ndim;
    for (int d = 0; d < ndim && fits; d++)
        fits = o->nd.shape[d] * (packed && d == ndim - 1 ? 8 : 1) == shape[d];
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    if (!fits)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: an integer output has shape %s, dtype %s; it must be "
                             "%s of int8 or int4, or int32 with eight int4 in each",
                             c->op->name, asn_shape_text(got, o->nd.ndim, o->nd.shape),
                             asn_dtype_name(o->nd.dtype),
                             asn_shape_text(want, ndim, shape));
    /* A scale of each row, in x's leading dimensions. */
    if (!r->dynamic) return ASN_OK;
    const asnd_nd *s = &c->e->operands[r->scale_out].nd;
    fits = s->dtype == ASN_F32 && s->ndim == ndim - 1;
    for (int d = 0; d + 1 < ndim && fits; d++)
        fits = s->shape[d] == shape[d];
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: the output of scales has shape %s, dtype %s; it must be %s "
                         "of float32",
                         c->op->name, asn_shape_text(got, s->ndim, s->shape),
                         asn_dtype_name(s->dtype), asn_shape_text(want, ndim - 1, shape));
}

/* Integers are offsets: CANN has them of int32 or int8. */
asn_status asn_row_quant_factor(const asnd_call *c, int operand, const char *name,
                                int64_t n, int64_t groups) {
    if (operand < 0) return ASN_OK;
    const asnd_nd *a = &c->e->operands[operand].nd;
    int64_t size = asn_nd_size(a);
    bool numbers = asn_is_floating(a->dtype) || a->dtype == ASN_I32 ||
                   a->dtype == ASN_I8; /* offsets may be integers */
    if (numbers && (size == groups || size == n * groups)) return ASN_OK;
    char got[ASN_SHAPE_TEXT];
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, dtype %s; it must have %lld numbers, or "
                         "%lld",
                         c->op->name, name, asn_shape_text(got, a->ndim, a->shape),
                         asn_dtype_name(a->dtype), (long long)groups,
                         (long long)(n * groups));
}

/* Factors as floats; *size: how many a group has. */
static asn_status factors(aclOpExecutor *e, int operand, int64_t n, asnd_tmp *tmp,
                          const float **values, int64_t *size) {
    asnd_view v;
    *values = NULL;
    if (operand < 0) return ASN_OK;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, operand), ASN_F32, tmp, &v));
    *values = (const float *)(void *)v.nd.data;
    /* A row of one column has one factor either way. */
    int64_t all = asn_nd_size(&v.nd);
    /* One factor for all columns, or one for each, of every group. */
    *size = all >= n && all % n == 0 && n > 1 ? n : 1;
    return ASN_OK;
}

/* An output that is not wanted has y -1 and costs nothing. */
asn_status asn_row_quant_begin(aclOpExecutor *e, asnd_row_quant *r, int64_t rows,
                               int64_t n, asnd_tmp *tmp) {
    if (r->y < 0) return ASN_OK;
    const asnd_nd *to = asn_exec_nd(e, r->y);
    r->packs = to->dtype == ASN_I32;
    r->bottom = asn_quant_least(&e->operands[r->y], true);
    r->top = -1 - r->bottom;
    ASN_TRY(factors(e, r->scale, n, tmp, &r->factor, &r->factor_size));
    ASN_TRY(factors(e, r->offset, n, tmp, &r->shift, &r->shift_size));
    ASN_TRY(asn_tmp_view(tmp, to->dtype, to->ndim, to->shape, &r->out));
    if (r->dynamic) ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &rows, &r->scales));
    r->q = asn_tmp_alloc(tmp, (size_t)n * sizeof *r->q + 1);
    return r->q == NULL ? ASN_ERR_MEMORY : ASN_OK;
}

/* The row's own scale. */
static void dynamic_row(asnd_row_quant *r, int64_t row, const float *factor, float *v,
                        int64_t n) {
    float most = 0;
    for (int64_t j = 0; j < n; j++) {
        if (factor != NULL) v[j] *= factor[r->factor_size == 1 ? 0 : j];
        most = fmaxf(most, fabsf(v[j]));
    }
    /* Symmetrical: the lowest integer is never reached, so that negating a row negates
     * its numbers. */
    float scale = most / (float)r->top;
    for (int64_t j = 0; j < n; j++)
        r->q[j] = asn_quant_value(scale > 0 ? v[j] / scale : 0, ASN_ROUND_EVEN, r->bottom,
                                  r->top);
    if (r->inverse) scale = most > 0 ? (float)r->top / most : 0;
    ((float *)(void *)r->scales.nd.data)[row] = scale;
}

/* v is changed: a dynamic scale is found behind the factors. */
void asn_row_quant_put(asnd_row_quant *r, int64_t row, int64_t group, float *v,
                       int64_t n) {
    if (r->y < 0) return;
    const float *factor = r->factor ? r->factor + group * r->factor_size : NULL;
    const float *shift = r->shift ? r->shift + group * r->shift_size : NULL;
    if (r->dynamic) {
        dynamic_row(r, row, factor, v, n);
    } else {
        for (int64_t j = 0; j < n; j++) {
            float f = factor ? factor[r->factor_size == 1 ? 0 : j] : 1;
            float y = r->divides ? v[j] / f : v[j] * f;
            if (shift) y += shift[r->shift_size == 1 ? 0 : j];
            r->q[j] = asn_quant_value(y, ASN_ROUND_EVEN, r->bottom, r->top);
        }
    }
    /* In bytes: a word has eight elements, and int4 tensors are bytes until the end. */
    int64_t width = r->packs ? n / 8 * 4 : n;
    asn_quant_store(r->q, n, r->out.nd.dtype, r->packs, r->out.nd.data + row * width);
}

/* Strides, and tensors of int4, are met here alone. */
asn_status asn_row_quant_end(aclOpExecutor *e, asnd_row_quant *r) {
    if (r->y < 0) return ASN_OK;
    ASN_TRY(asn_quant_done(e, r->y, &r->out));
    if (!r->dynamic) return ASN_OK;
    const asnd_nd *to = asn_exec_nd(e, r->scale_out);
    asnd_view scales;
    asn_view_plain(&scales, ASN_F32, to->ndim, to->shape, r->scales.nd.data);
    return asn_move(to, &scales.nd);
}

/* The same as a dynamic row, for rows that are sent before they are written. */
float asn_quant_row(const float *v, int64_t n, int8_t *q) {
    float most = 0;
    for (int64_t j = 0; j < n; j++)
        most = fmaxf(most, fabsf(v[j]));
    float scale = most / 127;
    for (int64_t j = 0; j < n; j++)
        q[j] = (int8_t)asn_quant_value(scale > 0 ? v[j] / scale : 0, ASN_ROUND_EVEN, -128,
                                       127);
    return scale;
}
