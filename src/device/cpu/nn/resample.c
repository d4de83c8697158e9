/* CPU device: resampling (see resample.h).
 *
 * Positions and weights are PyTorch's: with s = 1 / scale (or in / out), element o of the
 * result lies at s (o + 1/2) - 1/2, or at o (in - 1) / (out - 1) where corners are
 * aligned. Nearest takes floor(s o), exact the element that is nearest to the position;
 * linear the two neighbours; cubic four, by Keys' kernel with a = -3/4, edges repeated.
 * With antialiasing the kernel (triangle; Keys with a = -1/2) is stretched by s where s >
 * 1 and the weights inside the image are divided by their sum.
 *
 * Axes that shrink come first, so that later passes have less to do. A slab of images
 * small enough for the cache takes all passes before the next one begins; the rows of a
 * pass are shared among the threads. The last axis is summed line by line, others by
 * whole rows.
 */
#include "device/cpu/nn/resample.h"

#include <math.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/threads.h"

enum { LANES = 4, SLAB = 1 << 19, BAND = 1 << 14 }; /* lines; elements; elements */

/* A sparse matrix by rows: row r has the taps [start[r], start[r + 1]). One block. */
typedef struct {
    int64_t rows, columns, *start;
    int32_t *at;
    double *wide;
    float *narrow;
    bool identity;
} taps;

typedef struct {
    const taps *m;
    asn_dtype t;
    int64_t inner, count, band; /* rows or lines in all, and of a chunk */
    const void *x;
    void *y;
} pass_job;

#define T       float
#define NAME(f) f##_4
#define WEIGHTS narrow
#include "device/cpu/nn/resample.inc"
#define T       double
#define NAME(f) f##_8
#define WEIGHTS wide
#include "device/cpu/nn/resample.inc"

/* ---- taps */

/* The distance of two neighbours of the result, in elements of the image. */
static double step_of(const asnd_resample_axis *a) {
    if (a->align) return a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 0;
    return a->scale > 0 ? 1 / a->scale : (double)a->in / (double)a->out;
}

/* In float32 unless t is float64: where a position falls on an element's edge, rounding
 * decides which element it is. */
static int64_t nearest(const asnd_resample_axis *a, asn_dtype t, int64_t o) {
    bool exact = a->mode == ASN_RESAMPLE_NEAREST_EXACT;
    double at;
    if (t == ASN_F64) {
        double s = step_of(a);
        at = exact ? s * ((double)o + 0.5) - 0.5 : s * (double)o;
        if (exact) at = (at > 0 ? at : 0) + 0.5;
    } else {
        float s = a->scale > 0 ? (float)(1 / a->scale) : (float)a->in / (float)a->out;
        float f = exact ? s * ((float)o + 0.5f) - 0.5f : s * (float)o;
        if (exact) f = (f > 0 ? f : 0) + 0.5f;
        at = f;
    }
    return at < (double)(a->in - 1) ? (int64_t)at : a->in - 1;
}

/* Keys' kernel: within 1, and from 1 to 2. */
static double keys(double x, double a) {
    x = fabs(x);
    if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

/* x without its fraction, within [0, n]. */
static int64_t inside(double x, int64_t n) {
    return x < 0 ? 0 : x < (double)n ? (int64_t)x : n;
}

/* Kernel values of the window around a position, divided by their sum. */
static int64_t stretched(const asnd_resample_axis *a, int64_t o, int32_t *at, double *w) {
    bool cubic = a->mode == ASN_RESAMPLE_CUBIC_AA;
    double step = step_of(a), wide = step > 1 ? step : 1, sum = 0;
    double support = (cubic ? 2 : 1) * wide, centre = step * ((double)o + 0.5);
    int64_t low = inside(centre - support + 0.5, a->in), n = 0;
    int64_t high = inside(centre + support + 0.5, a->in);
    for (int64_t i = low; i < high; i++, n++) {
        double x = ((double)i - centre + 0.5) / wide;
        at[n] = (int32_t)i;
        w[n] = cubic ? keys(x, -0.5) : fabs(x) < 1 ? 1 - fabs(x) : 0;
        sum += w[n];
    }
    for (int64_t k = 0; k < n && sum != 0; k++)
        w[k] /= sum;
    return n;
}

/* The most taps that an element of the result can have. */
static int64_t most_taps(const asnd_resample_axis *a) {
    if (a->mode < ASN_RESAMPLE_LINEAR) return 1;
    if (a->mode < ASN_RESAMPLE_LINEAR_AA) return a->mode == ASN_RESAMPLE_LINEAR ? 2 : 4;
    double step = step_of(a), n = (a->mode == ASN_RESAMPLE_CUBIC_AA ? 4 : 2);
    n = n * (step > 1 ? step : 1) + 2;
    return n < (double)a->in ? (int64_t)n : a->in;
}

/* Row o of the matrix: how many taps. An index may occur more than once at the edges. */
static int64_t row_of(const asnd_resample_axis *a, asn_dtype t, int64_t o, int32_t *at,
                      double *w) {
    if (a->mode >= ASN_RESAMPLE_LINEAR_AA) return stretched(a, o, at, w);
    w[0] = 1;
    if (a->mode < ASN_RESAMPLE_LINEAR ||
        (a->in == a->out && a->mode == ASN_RESAMPLE_LINEAR)) {
        at[0] = (int32_t)(a->mode < ASN_RESAMPLE_LINEAR ? nearest(a, t, o) : o);
        return 1;
    }
    bool cubic = a->mode == ASN_RESAMPLE_CUBIC;
    double step = step_of(a);
    double x = a->align ? step * (double)o : step * ((double)o + 0.5) - 0.5;
    if (x < 0 && !cubic) x = 0;
    int64_t last = a->in - 1, i = floor(x) < (double)last ? (int64_t)floor(x) : last;
    double f = x - (double)i < 1 ? x - (double)i : 1;
    for (int k = 0; k < (cubic ? 4 : 2); k++) {
        int64_t at_k = i + k - (cubic ? 1 : 0);
        at[k] = (int32_t)(at_k < 0 ? 0 : at_k > last ? last : at_k);
        w[k] = cubic ? keys(f + 1 - k, -0.75) : k ? f : 1 - f;
    }
    return cubic ? 4 : 2;
}

static asn_status taps_new(int64_t rows, int64_t columns, int64_t room, taps *m) {
    size_t each = sizeof(double) + sizeof(float) + sizeof(int32_t);
    size_t heads = (size_t)(rows + 1) * sizeof *m->start;
    char *block = asn_malloc(heads + (size_t)room * each);
    if (block == NULL) return ASN_ERR_MEMORY;
    memset(m, 0, sizeof *m);
    m->rows = rows;
    m->columns = columns;
    m->start = (int64_t *)(void *)block;
    m->wide = (double *)(void *)(block + heads);
    m->narrow = (float *)(void *)(m->wide + room);
    m->at = (int32_t *)(void *)(m->narrow + room);
    return ASN_OK;
}

/* t of m: rows and columns exchanged, a column's taps in the order of m's rows. */
static asn_status transposed(const taps *m, taps *t) {
    int64_t n = m->start[m->rows];
    ASN_TRY(taps_new(m->columns, m->rows, n, t));
    memset(t->start, 0, (size_t)(t->rows + 1) * sizeof *t->start);
    for (int64_t k = 0; k < n; k++)
        t->start[m->at[k] + 1]++;
    for (int64_t r = 0; r < t->rows; r++)
        t->start[r + 1] += t->start[r];
    /* start[r] runs to the row's end, which is where the next row starts. */
    for (int64_t r = 0; r < m->rows; r++)
        for (int64_t k = m->start[r]; k < m->start[r + 1]; k++) {
            int64_t to = t->start[m->at[k]]++;
            t->at[to] = (int32_t)r;
            t->wide[to] = m->wide[k];
        }
    memmove(t->start + 1, t->start, (size_t)t->rows * sizeof *t->start);
    t->start[0] = 0;
    return ASN_OK;
}

/* The axis' matrix; its memory is at m->start. */
static asn_status taps_of(const asnd_resample_axis *a, asn_dtype t, bool back, taps *m) {
    ASN_TRY(taps_new(a->out, a->in, a->out * most_taps(a), m));
    int64_t n = 0;
    bool identity = a->in == a->out;
    for (int64_t o = 0; o < a->out; o++) {
        m->start[o] = n;
        int64_t count = row_of(a, t, o, m->at + n, m->wide + n);
        identity = identity && count == 1 && m->at[n] == o;
        n += count;
    }
    m->start[a->out] = n;
    if (back) {
        taps turned;
        asn_status status = transposed(m, &turned);
        asn_free(m->start);
        m->start = NULL;
        ASN_TRY(status);
        *m = turned;
    }
    for (int64_t k = 0; k < n; k++)
        m->narrow[k] = (float)m->wide[k];
    m->identity = identity;
    return ASN_OK;
}

/* ---- passes */

static void pass_chunk(void *ctx, int64_t chunk) {
    const pass_job *j = ctx;
    int64_t first = chunk * j->band, end = first + j->band;
    if (end > j->count) end = j->count;
    if (j->inner > 1) {
        (j->t == ASN_F32 ? rows_4 : rows_8)(j, first, end);
    } else {
        (j->t == ASN_F32 ? lines_4 : lines_8)(j, first, end);
    }
}

/* y = x along one axis: x is (outer, columns, inner), y (outer, rows, inner). A tap of a
 * whole row takes a quarter of a nanosecond an element, of a line one. */
static void pass(const taps *m, asn_dtype t, int64_t outer, int64_t inner, const void *x,
                 void *y) {
    pass_job j = {m, t, inner, inner > 1 ? outer * m->rows : outer, 1, x, y};
    int64_t length = inner > 1 ? inner : m->rows;
    j.band = (BAND / length + LANES) / LANES * LANES;
    double work = (double)(outer * inner) * (double)m->start[m->rows];
    asn_pool_run(pass_chunk, &j, (j.count + j.band - 1) / j.band,
                 work * (inner > 1 ? 0.3 : 1));
}

/* The order of the passes: `order` lists axes, shrinking ones first. Axes that stay as
 * they are have no pass. */
static int order_of(int n, const taps *m, int *order) {
    int count = 0;
    for (int d = n - 1; d >= 0; d--) {
        if (m[d].identity) continue;
        int k = count++;
        double ratio = (double)m[d].rows / (double)m[d].columns;
        for (; k > 0; k--) {
            const taps *before = &m[order[k - 1]];
            if ((double)before->rows / (double)before->columns <= ratio) break;
            order[k] = order[k - 1];
        }
        order[k] = d;
    }
    return count;
}

/* All passes of `planes` images; between: two buffers for what lies between passes. */
static void run_slab(asn_dtype t, int64_t planes, int n, const taps *m, int passes,
                     const int *order, const char *x, char *y, char *const *between) {
    int64_t size[3];
    for (int d = 0; d < n; d++)
        size[d] = m[d].columns;
    for (int p = 0; p < passes; p++) {
        int64_t outer = planes, inner = 1;
        for (int d = 0; d < n; d++)
            if (d < order[p])
                outer *= size[d];
            else if (d > order[p])
                inner *= size[d];
        char *to = p == passes - 1 ? y : between[p % 2];
        pass(&m[order[p]], t, outer, inner, x, to);
        x = to;
        size[order[p]] = m[order[p]].rows;
    }
}

/* The most elements of one image between two passes. */
static int64_t most_between(int n, const taps *m, int passes, const int *order) {
    int64_t size = 1, most = 0;
    for (int d = 0; d < n; d++)
        size *= m[d].columns;
    for (int p = 0; p + 1 < passes; p++) {
        size = size / m[order[p]].columns * m[order[p]].rows;
        if (size > most) most = size;
    }
    return most;
}

asn_status asn_resample(asn_dtype t, int64_t planes, int n,
                        const asnd_resample_axis *axes, bool back, const void *x,
                        void *y) {
    taps m[3];
    memset(m, 0, sizeof m);
    char *between[2] = {NULL, NULL};
    int64_t item = asn_itemsize(t), from = 1, to = 1;
    int order[3] = {0};
    asn_status status = ASN_OK;
    for (int d = 0; d < n; d++) {
        status = taps_of(&axes[d], t, back, &m[d]);
        if (status != ASN_OK) goto out;
        from *= m[d].columns;
        to *= m[d].rows;
    }
    int passes = order_of(n, m, order);
    if (passes == 0) {
        memcpy(y, x, (size_t)(planes * from * item));
        goto out;
    }
    int64_t middle = most_between(n, m, passes, order);
    int64_t slab = SLAB / (from + to + middle) + 1;
    if (slab > planes) slab = planes;
    for (int p = 0; p + 1 < passes; p++) {
        between[p] = asn_malloc((size_t)(slab * middle * item));
        if (between[p] == NULL) {
            status = ASN_ERR_MEMORY;
            goto out;
        }
    }
    for (int64_t p = 0; p < planes; p += slab)
        run_slab(t, planes - p < slab ? planes - p : slab, n, m, passes, order,
                 (const char *)x + p * from * item, (char *)y + p * to * item, between);
out:
    for (int k = 0; k < 2; k++)
        asn_free(between[k]);
    for (int d = 0; d < n; d++)
        asn_free(m[d].start);
    return status;
}
