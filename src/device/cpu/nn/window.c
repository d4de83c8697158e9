/* CPU device: pooling (see window.h).
 *
 * window.inc has the loops, included once for each type: by size where elements are only
 * moved (unpooling), by type where they are compared or summed. A plane is one task: its
 * windows may overlap, and what they add must have one order.
 *
 * Positions come from tensors, so each loop checks them and goes on; one that is outside
 * its plane is told when all planes are done.
 */
#include "device/cpu/nn/window.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "device/cpu/threads.h"

static int64_t extent(const int64_t n[3]) {
    return n[0] * n[1] * n[2];
}

/* The same for every element of a window: its share of each dimension, multiplied, or
 * what the call says. */
static int64_t divisor_of(const asnd_windows *w, int64_t a, int64_t b, int64_t c) {
    if (w->divisor != 0) return w->divisor;
    return w->share[0][a] * w->share[1][b] * w->share[2][c];
}

#define T       uint8_t
#define NAME(f) f##_1
#define MOVES
#include "device/cpu/nn/window.inc"
#define T       uint16_t
#define NAME(f) f##_2
#define MOVES
#include "device/cpu/nn/window.inc"
#define T       asn_c128
#define NAME(f) f##_16
#define MOVES
#include "device/cpu/nn/window.inc"
#define T         int64_t
#define NAME(f)   f##_int
#define LOWEST    INT64_MIN
#define IS_NAN(v) false
#include "device/cpu/nn/window.inc"
#define T       float
#define NAME(f) f##_4
#define MOVES
#define LOWEST    (-INFINITY)
#define IS_NAN(v) (v != v)
#define SUMS
#include "device/cpu/nn/window.inc"
#define T       double
#define NAME(f) f##_8
#define MOVES
#define LOWEST    (-INFINITY)
#define IS_NAN(v) (v != v)
#define SUMS
#include "device/cpu/nn/window.inc"

/* Sums wrap around and quotients are cut, as C divides; a window that divides by nothing
 * holds nothing. */
static void mean_int(const asnd_windows *w, const int64_t *x, int64_t *y) {
    for (int64_t a = 0; a < w->out[0]; a++)
        for (int64_t b = 0; b < w->out[1]; b++)
            for (int64_t c = 0; c < w->out[2]; c++) {
                int64_t by = divisor_of(w, a, b, c);
                uint64_t sum = 0;
                for (int64_t i = w->start[0][a]; i < w->stop[0][a]; i++)
                    for (int64_t j = w->start[1][b]; j < w->stop[1][b]; j++) {
                        const int64_t *line = x + (i * w->in[1] + j) * w->in[2];
                        for (int64_t k = w->start[2][c]; k < w->stop[2][c]; k++)
                            sum += (uint64_t)line[k];
                    }
                bool divides = by != 0 && by != -1; /* -1 may leave int64 */
                *y++ = divides ? (int64_t)sum / by : (int64_t)(sum * (uint64_t)by);
            }
}

typedef struct {
    const asnd_windows *w;
    asn_dtype t;
    int size;
    const char *from;
    char *to;
    int64_t *index; /* written by maxima */
    const int64_t *positions;
    int64_t few, many;
    _Atomic bool outside;
} window_job;

/* ---- windows */

/* Plane p: few windows' results, many elements. */
static void max_plane(void *ctx, int64_t p) {
    const window_job *j = ctx;
    const void *x = j->from + p * j->many * j->size;
    void *y = j->to + p * j->few * j->size;
    int64_t *index = j->index ? j->index + p * j->few : NULL;
    if (j->t == ASN_F32) {
        max_4(j->w, x, y, index);
    } else if (j->t == ASN_F64) {
        max_8(j->w, x, y, index);
    } else {
        max_int(j->w, x, y, index);
    }
}

static void mean_plane(void *ctx, int64_t p) {
    const window_job *j = ctx;
    const void *x = j->from + p * j->many * j->size;
    void *y = j->to + p * j->few * j->size;
    if (j->t == ASN_F32) {
        mean_4(j->w, x, y);
    } else if (j->t == ASN_F64) {
        mean_8(j->w, x, y);
    } else {
        mean_int(j->w, x, y);
    }
}

/* Cleared first: windows add to it. */
static void spread_plane(void *ctx, int64_t p) {
    const window_job *j = ctx;
    const void *y = j->from + p * j->few * j->size;
    void *x = j->to + p * j->many * j->size;
    memset(x, 0, (size_t)(j->many * j->size));
    if (j->t == ASN_F32) {
        spread_4(j->w, y, x);
    } else {
        spread_8(j->w, y, x);
    }
}

/* Elements that all windows of a plane hold. */
static double held(const asnd_windows *w) {
    double all = 1;
    for (int d = 0; d < 3; d++) {
        double sum = 0;
        for (int64_t o = 0; o < w->out[d]; o++)
            if (w->stop[d][o] > w->start[d][o])
                sum += (double)((w->stop[d][o] - w->start[d][o]) / w->step[d] + 1);
        all *= sum;
    }
    return all;
}

/* A task for each plane. */
static void run_windows(const asnd_windows *w, asn_dtype t, const void *from, void *to,
                        int64_t *index, asnd_pool_fn plane) {
    window_job j = {.w = w, .t = t, .size = asn_itemsize(t), .from = from, .to = to};
    j.index = index;
    j.few = extent(w->out);
    j.many = extent(w->in);
    asn_pool_run(plane, &j, w->planes, (double)w->planes * held(w));
}

void asn_window_max(const asnd_windows *w, asn_dtype t, const void *x, void *y,
                    int64_t *index) {
    run_windows(w, t, x, y, index, max_plane);
}

void asn_window_mean(const asnd_windows *w, asn_dtype t, const void *x, void *y) {
    run_windows(w, t, x, y, NULL, mean_plane);
}

void asn_window_spread(const asnd_windows *w, asn_dtype t, const void *y, void *x) {
    run_windows(w, t, y, x, NULL, spread_plane);
}

/* ---- positions */

/* The three below: x or y of plane p by its positions. */
static void add_plane(void *ctx, int64_t p) {
    window_job *j = ctx;
    const void *y = j->from + p * j->few * j->size;
    void *x = j->to + p * j->many * j->size;
    const int64_t *at = j->positions + p * j->few;
    memset(x, 0, (size_t)(j->many * j->size));
    bool inside = j->t == ASN_F32 ? add_4(j->few, j->many, y, at, x)
                                  : add_8(j->few, j->many, y, at, x);
    if (!inside) atomic_store(&j->outside, true);
}

static void put_plane(void *ctx, int64_t p) {
    window_job *j = ctx;
    const void *y = j->from + p * j->few * j->size;
    void *x = j->to + p * j->many * j->size;
    const int64_t *at = j->positions + p * j->few;
    bool inside;
    memset(x, 0, (size_t)(j->many * j->size));
    switch (j->size) {
    case 1: inside = put_1(j->few, j->many, y, at, x); break;
    case 2: inside = put_2(j->few, j->many, y, at, x); break;
    case 4: inside = put_4(j->few, j->many, y, at, x); break;
    case 8: inside = put_8(j->few, j->many, y, at, x); break;
    default: inside = put_16(j->few, j->many, y, at, x); break;
    }
    if (!inside) atomic_store(&j->outside, true);
}

static void take_plane(void *ctx, int64_t p) {
    window_job *j = ctx;
    const void *x = j->from + p * j->many * j->size;
    void *y = j->to + p * j->few * j->size;
    const int64_t *at = j->positions + p * j->few;
    bool inside;
    switch (j->size) {
    case 1: inside = take_1(j->few, j->many, x, at, y); break;
    case 2: inside = take_2(j->few, j->many, x, at, y); break;
    case 4: inside = take_4(j->few, j->many, x, at, y); break;
    case 8: inside = take_8(j->few, j->many, x, at, y); break;
    default: inside = take_16(j->few, j->many, x, at, y); break;
    }
    if (!inside) atomic_store(&j->outside, true);
}

/* ASN_ERR_INDEX after all planes, of which those with a position outside are done in
 * part. */
static asn_status run_positions(int64_t planes, int64_t few, int64_t many, asn_dtype t,
                                const void *from, const int64_t *index, void *to,
                                asnd_pool_fn plane) {
    window_job j = {.t = t, .size = asn_itemsize(t), .from = from, .to = to};
    j.positions = index;
    j.few = few;
    j.many = many;
    asn_pool_run(plane, &j, planes, (double)planes * (double)(few + many));
    if (!atomic_load(&j.outside)) return ASN_OK;
    return asn_error_set(ASN_ERR_INDEX, "indices must be in [0, %lld)", (long long)many);
}

asn_status asn_window_add(int64_t planes, int64_t few, int64_t many, asn_dtype t,
                          const void *y, const int64_t *index, void *x) {
    return run_positions(planes, few, many, t, y, index, x, add_plane);
}

asn_status asn_window_put(int64_t planes, int64_t few, int64_t many, asn_dtype t,
                          const void *y, const int64_t *index, void *x) {
    return run_positions(planes, few, many, t, y, index, x, put_plane);
}

asn_status asn_window_take(int64_t planes, int64_t few, int64_t many, asn_dtype t,
                           const void *x, const int64_t *index, void *y) {
    return run_positions(planes, few, many, t, x, index, y, take_plane);
}
