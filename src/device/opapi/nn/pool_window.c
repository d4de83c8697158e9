/* CPU device, operators: the windows of a pooling operator (see pool_window.h).
 *
 * For each dimension three tables of numbers: where each window starts and stops within
 * the image, and by how much its mean is divided (share). They are made in phase 1, so
 * that the loops have no cases for padding, dilation, ceil mode or adaptive extents.
 *
 * Two operators that differ in any of these differ in their tables alone; the general
 * way, to compute each window's bounds in the loop, would do so for every plane.
 */
#include "device/opapi/nn/pool_window.h"

#include <string.h>

/* The number of planes of the image, and room for the tables of w->out windows, in the
 * executor's memory; w->out is set. */
static asn_status tables(const asnd_call *c, const asnd_nd *in, int spatial,
                         asnd_windows *w) {
    int64_t planes = 1;
    for (int d = 0; d < in->ndim - spatial; d++)
        planes *= in->shape[d];
    w->planes = planes;
    for (int d = 0; d < 3; d++) {
        w->step[d] = 1;
        size_t size = (size_t)w->out[d] * sizeof(int64_t);
        int64_t *all = asnop_executor_alloc(c->e, 3 * size);
        if (all == NULL) return asn_call_no_memory();
        w->start[d] = all;
        w->stop[d] = all + w->out[d];
        w->share[d] = all + 2 * w->out[d];
    }
    return ASN_OK;
}

/* The last `spatial` extents as three, 1 in front. */
static void image_extents(const asnd_nd *in, int spatial, asnd_windows *w) {
    for (int d = 0; d < 3; d++)
        w->in[d] = d < 3 - spatial ? 1 : in->shape[in->ndim - 3 + d];
}

/* One dimension: the window's size, its stride, the padding on both sides. */
typedef struct {
    int64_t k, stride, before, after, dilation;
} window;

/* *out: how many windows there are over `in` elements; none is an error. ceil: a last
 * window that sticks out counts, unless it would start beyond the image and the padding
 * before it. */
static asn_status count_windows(const asnd_call *c, int64_t in, const window *v,
                                bool ceil, int64_t *out) {
    int64_t span = in + v->before + v->after - v->dilation * (v->k - 1) - 1;
    *out = span < 0 ? (ceil && span > -v->stride ? 1 : 0)
                    : (span + (ceil ? v->stride - 1 : 0)) / v->stride + 1;
    /* A window starts inside the image or the padding before it. */
    if (ceil && *out > 0 && (*out - 1) * v->stride >= in + v->before) --*out;
    if (*out > 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: an extent of %lld with padding %lld is too small for a "
                         "window of %lld",
                         c->op->name, (long long)in, (long long)(v->before + v->after),
                         (long long)(v->dilation * (v->k - 1) + 1));
}

/* Fills the tables of dimension d. The first element inside the image is found in steps
 * of the dilation. include_pad: a mean counts the padding, but not what lies beyond
 * it. */
static void fill_table(asnd_windows *w, int d, const window *v, bool include_pad) {
    w->step[d] = v->dilation;
    for (int64_t o = 0; o < w->out[d]; o++) {
        int64_t start = o * v->stride - v->before;
        int64_t stop = start + v->dilation * (v->k - 1) + 1, end = w->in[d] + v->after;
        /* What the mean counts: up to the end of the padding behind. */
        int64_t padded = (stop < end ? stop : end) - start;
        if (start < 0) start += (-start + v->dilation - 1) / v->dilation * v->dilation;
        if (stop > w->in[d]) stop = w->in[d];
        w->start[d][o] = start;
        w->stop[d][o] = stop;
        w->share[d][o] = include_pad ? padded : stop - start;
    }
}

/* Reads the padding, parameter i, into v: one value, one per dimension, or (pairs) all
 * before, then all after. Without pairs it is at most half a window, as in PyTorch. */
static asn_status padding(const asnd_call *c, int i, int spatial, bool pairs, window *v) {
    const asnd_array *a = asn_call_array(c, i);
    int64_t pad[6];
    int n =
        pairs && a != NULL && a->size == 2 * (uint64_t)spatial ? 2 * spatial : spatial;
    ASN_TRY(asn_image_ints(c, i, n, 0, 0, pad));
    for (int d = 0; d < spatial; d++) {
        v[d].before = pad[d];
        v[d].after = pad[d + n - spatial];
        int64_t reach = v[d].dilation * (v[d].k - 1) + 1;
        if (!pairs && 2 * pad[d] > reach)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: padding is %lld; it must be at most half the "
                                 "window, %lld",
                                 c->op->name, (long long)pad[d], (long long)reach);
    }
    return ASN_OK;
}

asn_status asn_pool_windows(const asnd_call *c, const asnd_pool_params *at,
                            const asnd_nd *in, int spatial, bool pairs, asnd_windows *w) {
    int first = 3 - spatial;
    window v[3];
    int64_t k[3], stride[3], dilation[3] = {1, 1, 1};
    const asnd_array *strides = asn_call_array(c, at->stride);
    ASN_TRY(asn_image_ints(c, at->kernel, spatial, 1, 0, k));
    memcpy(stride, k, sizeof k); /* no stride: the window's size */
    if (strides != NULL && strides->size > 0)
        ASN_TRY(asn_image_ints(c, at->stride, spatial, 1, 0, stride));
    if (at->dilation >= 0)
        ASN_TRY(asn_image_ints(c, at->dilation, spatial, 1, 1, dilation));
    for (int d = 0; d < spatial; d++)
        v[first + d] = (window){k[d], stride[d], 0, 0, dilation[d]};
    for (int d = 0; d < first; d++)
        v[d] = (window){1, 1, 0, 0, 1};
    ASN_TRY(padding(c, at->pad, spatial, pairs, v + first));
    image_extents(in, spatial, w);
    for (int d = 0; d < 3; d++)
        ASN_TRY(count_windows(c, w->in[d], &v[d], asn_call_int(c, at->ceil) != 0,
                              &w->out[d]));
    ASN_TRY(tables(c, in, spatial, w));
    bool include = at->include_pad >= 0 && asn_call_int(c, at->include_pad) != 0;
    for (int d = 0; d < 3; d++)
        fill_table(w, d, &v[d], include);
    w->divisor = at->divisor >= 0 ? asn_call_int(c, at->divisor) : 0;
    return ASN_OK;
}

/* Window o covers [floor(o n / m), ceil((o + 1) n / m)), as PyTorch's: neighbours may
 * overlap by one. */
asn_status asn_pool_adaptive(const asnd_call *c, const asnd_nd *in, int spatial,
                             const int64_t *out, asnd_windows *w) {
    image_extents(in, spatial, w);
    for (int d = 0; d < 3; d++) {
        w->out[d] = d < 3 - spatial ? 1 : out[d - (3 - spatial)];
        if (w->in[d] == 0 && w->out[d] > 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: a pooled dimension of the image is empty",
                                 c->op->name);
    }
    ASN_TRY(tables(c, in, spatial, w));
    w->divisor = 0;
    for (int d = 0; d < 3; d++)
        for (int64_t o = 0; o < w->out[d]; o++) {
            w->start[d][o] = o * w->in[d] / w->out[d];
            w->stop[d][o] = ((o + 1) * w->in[d] + w->out[d] - 1) / w->out[d];
            w->share[d][o] = w->stop[d][o] - w->start[d][o];
        }
    return ASN_OK;
}

asn_status asn_pool_shape(const asnd_call *c, int i, const asnd_nd *in, int spatial,
                          const asnd_windows *w) {
    int64_t shape[ASN_ND_MAX_DIMS];
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    memcpy(shape + in->ndim - spatial, w->out + 3 - spatial,
           (size_t)spatial * sizeof *shape);
    return asn_call_same_shape(c, i, in->ndim, shape);
}
