/* CPU device: piecewise linear interpolation (numpy.interp).
 *
 * The interval of each x is looked for where that of its neighbour was, which is right
 * for an ascending x; when that fails too often, eight bisections advance together, so
 * that their cache misses overlap. The arithmetic is numpy.interp's, to the bit: slope *
 * (x - xp[j]) + fp[j], from the other end where that is NaN (an infinity at one end).
 */
#include "device/cpu/nn/interp.h"

#include <math.h>

#include "base/alloc.h"
#include "device/cpu/threads.h"

enum { BLOCK = 256, CHUNK = 8192, LANES = 8 };

typedef struct {
    const double *x, *xp, *fp, *slope; /* slope: NULL: too few x to pay */
    double *out, left, right;
    int64_t n, points;
} interp_run;

/* How many points are not above x, less one. Without branches: the halves are chosen by
 * arithmetic, since half of the branches would be predicted wrongly. */
static int64_t bisect(const double *xp, int64_t points, double x) {
    int64_t low = 0;
    for (int64_t left = points; left > 0;) {
        int64_t half = (left + 1) / 2;
        low += xp[low + half - 1] <= x ? half : 0;
        left -= half;
    }
    return low - 1;
}

/* The same number of steps for each: points alone decide it. */
static void bisect_lanes(const interp_run *r, const double *x, int32_t *at) {
    int64_t low[LANES] = {0};
    for (int64_t left = r->points; left > 0;) {
        int64_t half = (left + 1) / 2;
        for (int k = 0; k < LANES; k++)
            low[k] += r->xp[low[k] + half - 1] <= x[k] ? half : 0;
        left -= half;
    }
    for (int k = 0; k < LANES; k++)
        at[k] = (int32_t)(low[k] - 1);
}

/* at[i]: how many points are not above x[i], less one. */
static void find_intervals(const interp_run *r, const double *x, int64_t n, int32_t *at) {
    int64_t guess = 0, misses = 0, i = 0;
    for (; i < n && misses <= BLOCK / 16; i++) {
        bool hit =
            r->xp[guess] <= x[i] && (guess + 1 == r->points || x[i] < r->xp[guess + 1]);
        if (!hit) {
            int64_t j = bisect(r->xp, r->points, x[i]);
            misses++;
            at[i] = (int32_t)j;
            guess = j < 0 ? 0 : j;
        } else
            at[i] = (int32_t)guess;
    }
    for (; i + LANES <= n; i += LANES)
        bisect_lanes(r, x + i, at + i);
    for (; i < n; i++)
        at[i] = (int32_t)bisect(r->xp, r->points, x[i]);
}

/* j: the interval of x, -1 below the first point. */
static double value_at(const interp_run *r, double x, int64_t j) {
    int64_t last = r->points - 1;
    if (x != x) return last ? x : r->fp[0]; /* as numpy.interp of one point */
    if (j < 0) {
        if (x < r->xp[0]) return r->left;
        j = 0; /* xp begins with a NaN, which shows in the value */
    }
    if (j == last) return x > r->xp[last] ? r->right : r->fp[last];
    if (r->xp[j] == x) return r->fp[j];
    double slope =
        r->slope ? r->slope[j] : (r->fp[j + 1] - r->fp[j]) / (r->xp[j + 1] - r->xp[j]);
    double value = slope * (x - r->xp[j]) + r->fp[j];
    if (value == value) return value;
    value = slope * (x - r->xp[j + 1]) + r->fp[j + 1];
    return value != value && r->fp[j] == r->fp[j + 1] ? r->fp[j] : value;
}

/* CHUNK results; a block's intervals are found first, so that values are computed without
 * a search between. */
static void interp_chunk(void *ctx, int64_t chunk) {
    const interp_run *r = ctx;
    int64_t first = chunk * CHUNK, end = first + CHUNK < r->n ? first + CHUNK : r->n;
    int32_t at[BLOCK];
    for (int64_t i = first; i < end; i += BLOCK) {
        int64_t n = end - i < BLOCK ? end - i : BLOCK;
        find_intervals(r, r->x + i, n, at);
        for (int64_t k = 0; k < n; k++)
            r->out[i + k] = value_at(r, r->x[i + k], at[k]);
    }
}

/* What the kernel takes; the array library brings operands into this form. */
static bool is_line(const asnd_nd *a) {
    return a->ndim == 1 && a->dtype == ASN_F64 &&
           (a->strides[0] == 8 || a->shape[0] <= 1);
}

/* Slopes are computed once where there are as many x as points, as numpy.interp does;
 * each costs a division. ASN_ERR_VALUE: the operands are of another form,
 * ASN_ERR_MEMORY. */
asn_status asn_cpu_interp(const asnd_nd *x, const asnd_nd *xp, const asnd_nd *fp,
                          double left, double right, const asnd_nd *out) {
    if (!is_line(x) || !is_line(xp) || !is_line(fp) || !is_line(out) ||
        xp->shape[0] != fp->shape[0] || xp->shape[0] < 1 || xp->shape[0] > INT32_MAX ||
        x->shape[0] != out->shape[0])
        return asn_error_set(
            ASN_ERR_VALUE,
            "interp: contiguous 1-d float64 x, xp, fp and out are needed, xp and fp of "
            "one length");
    interp_run r = {.x = (const double *)(void *)x->data,
                    .xp = (const double *)(void *)xp->data,
                    .fp = (const double *)(void *)fp->data,
                    .out = (double *)(void *)out->data,
                    .left = left,
                    .right = right,
                    .n = x->shape[0],
                    .points = xp->shape[0]};
    double *slope = NULL;
    if (r.points <= r.n && r.points > 1) {
        slope = asn_malloc((size_t)(r.points - 1) * sizeof *slope);
        if (!slope) return ASN_ERR_MEMORY;
        for (int64_t j = 0; j + 1 < r.points; j++)
            slope[j] = (r.fp[j + 1] - r.fp[j]) / (r.xp[j + 1] - r.xp[j]);
        r.slope = slope;
    }
    double steps = 64 - __builtin_clzll((uint64_t)r.points);
    asn_pool_run(interp_chunk, &r, (r.n + CHUNK - 1) / CHUNK, (double)r.n * (2 + steps));
    asn_free(slope);
    return ASN_OK;
}
