/* CPU device, operators: layouts, tensors and masks of attention (see attention.h).
 *
 * sparseMode, where a mask is given (without one every query sees every key), with off =
 * keys - queries of the sequence:
 *
 *     0  the mask, within pre and next tokens: -pre <= j - i <= next
 *     1  the mask alone; 5 likewise, the prefix being in it
 *     2  causal from the upper left: j - i <= 0; 3  from the lower right: j - i <= off
 *     4  a band from the lower right: off - pre <= j - i <= off + next
 *     6  as 3, and the first `prefix` keys
 *     7  as 3, the last sequence as 4; 8  as 2, the first sequence as 4
 *
 * In the modes that name a triangle the mask is CANN's compressed one, of 2048 x 2048,
 * whose contents follow from the mode: they are not read.
 */
#include "device/opapi/nn/attention.h"

#include <ctype.h>
#include <string.h>

/* In the order of asnd_attn_layout. */
static const char *const layout_names[ASN_ATTN_LAYOUTS] = {"BSH",  "SBH", "BNSD",
                                                           "BSND", "TND", "NSD"};

asn_status asn_attn_layout_of(const asnd_call *c, const char *name, const char *allowed,
                              asnd_attn_layout *layout) {
    char upper[8] = "";
    for (int k = 0; k < 7 && name[k]; k++)
        upper[k] = (char)toupper((unsigned char)name[k]);
    size_t length = strlen(name);
    for (int k = 0; k < ASN_ATTN_LAYOUTS; k++) {
        const char *found = strstr(allowed, layout_names[k]);
        if (length >= 8 || strcmp(upper, layout_names[k]) != 0 || found == NULL) continue;
        *layout = (asnd_attn_layout)k;
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_VALUE, "%s: the layout is \"%s\"; it must be one of %s",
                         c->op->name, name, allowed);
}

asn_status asn_attn_extents_of(const asnd_call *c, int i, asnd_attn_layout layout,
                               int64_t heads, asnd_attn_extents *x) {
    static const int8_t dims[ASN_ATTN_LAYOUTS] = {3, 3, 4, 4, 3, 3};
    const asnd_nd *a = asn_call_nd(c, i);
    char got[ASN_SHAPE_TEXT];
    ASN_TRY(asn_call_floating(c, i));
    bool fits = a->ndim == dims[layout];
    if (fits) {
        const int64_t *s = a->shape;
        switch (layout) {
        case ASN_ATTN_BSH:
            *x = (asnd_attn_extents){s[0], s[1], heads, s[2] / heads};
            break;
        case ASN_ATTN_SBH:
            *x = (asnd_attn_extents){s[1], s[0], heads, s[2] / heads};
            break;
        case ASN_ATTN_BNSD: *x = (asnd_attn_extents){s[0], s[2], s[1], s[3]}; break;
        case ASN_ATTN_BSND: *x = (asnd_attn_extents){s[0], s[1], s[2], s[3]}; break;
        case ASN_ATTN_TND: *x = (asnd_attn_extents){1, s[0], s[1], s[2]}; break;
        default: *x = (asnd_attn_extents){1, s[1], s[0], s[2]}; break;
        }
        fits = layout > ASN_ATTN_SBH || s[2] % heads == 0;
    }
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s; layout %s has %d dimensions, and H is a "
                         "multiple of the heads (%lld)",
                         c->op->name, c->op->params[i].name,
                         asn_shape_text(got, a->ndim, a->shape), layout_names[layout],
                         dims[layout], (long long)heads);
}

int asn_attn_shape(const asnd_attn_extents *x, asnd_attn_layout layout, int64_t *shape) {
    const int64_t h = x->n * x->d;
    const int64_t of[ASN_ATTN_LAYOUTS][4] = {
        {x->b, x->s, h},          {x->s, x->b, h},    {x->b, x->n, x->s, x->d},
        {x->b, x->s, x->n, x->d}, {x->s, x->n, x->d}, {x->n, x->s, x->d}};
    memcpy(shape, of[layout], sizeof of[layout]);
    return layout == ASN_ATTN_BNSD || layout == ASN_ATTN_BSND ? 4 : 3;
}

void asn_attn_rows(asnd_rows *r, const asnd_nd *a, asnd_attn_layout layout, int64_t d) {
    const int64_t *s = a->strides, h = d * asn_itemsize(a->dtype);
    const int64_t of[ASN_ATTN_LAYOUTS][3] = {{s[0], h, s[1]},    {s[1], h, s[0]},
                                             {s[0], s[1], s[2]}, {s[0], s[2], s[1]},
                                             {0, s[1], s[0]},    {0, s[0], s[1]}};
    *r = (asnd_rows){a->data, of[layout][0], of[layout][1], of[layout][2], a->dtype};
}

/* Whether the last dimension is contiguous, as the kernel reads and writes it. */
static bool has_rows(const asnd_nd *a) {
    int last = a->ndim - 1;
    return a->shape[last] == 1 || a->strides[last] == asn_itemsize(a->dtype);
}

asn_status asn_attn_input(asnd_tmp *tmp, const asnd_nd *a, asnd_view *v) {
    if (!has_rows(a)) {
        ASN_TRY(asn_tmp_view(tmp, a->dtype, a->ndim, a->shape, v));
        return asn_move(&v->nd, a);
    }
    asn_view_set(v, a);
    return ASN_OK;
}

asn_status asn_attn_output(asnd_tmp *tmp, const asnd_nd *a, const asnd_nd *const *inputs,
                           int n, asnd_view *v, bool *moved) {
    *moved = !has_rows(a);
    for (int k = 0; k < n && !*moved; k++)
        *moved = inputs[k] != NULL && asn_nds_meet(a, inputs[k]);
    if (*moved) return asn_tmp_view(tmp, a->dtype, a->ndim, a->shape, v);
    asn_view_set(v, a);
    return ASN_OK;
}

/* ---- masks and biases of scores */

asn_status asn_attn_check_scores(const asnd_call *c, int i, int64_t b, int64_t n,
                                 int64_t rows, int64_t columns, bool larger) {
    const asnd_nd *a = asn_call_nd(c, i);
    const int64_t want[] = {b, n, rows, columns};
    char got[ASN_SHAPE_TEXT], of[ASN_SHAPE_TEXT];
    bool fits = a->ndim >= 2 && a->ndim <= 4;
    for (int d = 0; fits && d < a->ndim; d++) {
        /* Dimensions from the last on; of three the first is the batch. */
        int to = a->ndim == 3 && d == 0 ? 0 : d + 4 - a->ndim;
        fits = a->shape[d] == want[to] || a->shape[d] == 1 ||
               (larger && to >= 2 && a->shape[d] > want[to]);
    }
    if (fits) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s has shape %s, which does not broadcast to %s, (batch, "
                         "heads, queries, keys)",
                         c->op->name, c->op->params[i].name,
                         asn_shape_text(got, a->ndim, a->shape),
                         asn_shape_text(of, 4, want));
}

asn_status asn_attn_scores(asnd_tmp *tmp, const asnd_nd *a, int64_t b, int64_t n,
                           int64_t rows, int64_t columns, asnd_rows *r) {
    const int64_t want[] = {b, n, rows, columns};
    asnd_view v, copy;
    asn_view_set(&v, a);
    if (v.nd.ndim == 3) asn_view_insert(&v, 1, 1, 0);
    while (v.nd.ndim < 4)
        asn_view_insert(&v, 0, 1, 0);
    /* What is broadcast stays one row, with a stride of 0. */
    for (int d = 0; d < 4; d++)
        if (v.shape[d] == 1 && want[d] != 1) v.strides[d] = 0;
    if (v.shape[3] == 1 && columns != 1) v.shape[3] = columns; /* written out below */
    if (!has_rows(&v.nd)) {
        ASN_TRY(asn_tmp_view(tmp, v.nd.dtype, 4, v.shape, &copy));
        ASN_TRY(asn_move(&copy.nd, &v.nd));
        for (int d = 0; d < 3; d++)
            v.strides[d] = v.shape[d] == 1 ? 0 : copy.strides[d];
        v.nd.data = copy.nd.data;
    }
    *r = (asnd_rows){v.nd.data, v.strides[0], v.strides[1], v.strides[2], v.nd.dtype};
    return ASN_OK;
}

/* Far enough for every sequence, and sums of it fit. */
static const int64_t FAR = INT64_C(1) << 40;

static int64_t near_by(int64_t x) {
    return x > FAR ? FAR : x < -FAR ? -FAR : x;
}

void asn_attn_band(asnd_sequence *s, int64_t mode, int64_t pre, int64_t next,
                   int64_t prefix, int64_t at, int64_t count) {
    int64_t off = s->rows_k - s->rows_q;
    s->low = -FAR;
    s->high = FAR;
    s->prefix = 0;
    if (mode == 7) mode = at == count - 1 ? 4 : 3;
    if (mode == 8) mode = at == 0 ? 4 : 2;
    if (mode == 0) off = 0;
    if (mode == 0 || mode == 4) {
        s->low = off - near_by(pre);
        s->high = off + near_by(next);
    }
    if (mode == 2) s->high = 0;
    if (mode == 3 || mode == 6) s->high = off;
    if (mode == 6) s->prefix = prefix;
}
