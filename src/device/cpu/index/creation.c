/* CPU device: fills that follow from positions: arange, linspace, eye.
 *
 * An element is start + i delta, from its position alone, not by adding delta again and
 * again: blocks can be made by any thread, and errors do not add up, as in NumPy. Dtypes
 * without a loop of steps are made in a wider one (halves as float32, integers as int64)
 * and cast.
 */
#include "device/cpu/index/creation.h"

#include <math.h>
#include <string.h>

#include "device/cpu/context.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/index/index.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

#define STEPS asn_steps_baseline
#include "device/cpu/move/steps.inc"

enum { BLOCK = 512, CHUNK = 16384 };

/* A 1-d result of steps in `dtype`, block by block, cast to out's dtype where that
 * differs. */
typedef struct {
    const asnd_nd *out;
    asn_dtype dtype;
    asnd_steps steps;
    asnd_steps_fn make;
    bool floors; /* towards minus infinity before a cast to integers; float64 only */
    const double *last; /* of the last element, or NULL; float64 only */
} fill_run;

/* Elements [i, i + n) of the steps, in r->dtype, at `to`. */
static void make_block(const fill_run *r, char *to, int64_t i, int64_t n) {
    r->make(&r->steps, to, i, n);
    if (r->last && i + n == r->out->shape[0]) ((double *)to)[n - 1] = *r->last;
    for (int64_t k = 0; k < n && r->floors; k++)
        ((double *)to)[k] = floor(((double *)to)[k]);
}

/* CHUNK elements, made where they belong when that is a stretch of the dtype, else block
 * by block. */
static void fill_chunk(void *ctx, int64_t chunk) {
    const fill_run *r = ctx;
    const asnd_nd *out = r->out;
    _Alignas(64) char block[BLOCK * 16], cast[BLOCK * 16];
    int64_t from = chunk * CHUNK, to = from + CHUNK, stride = out->strides[0];
    int item = asn_itemsize(out->dtype);
    if (to > out->shape[0]) to = out->shape[0];
    if (r->dtype == out->dtype && stride == item) {
        make_block(r, out->data + from * stride, from, to - from);
        return;
    }
    for (int64_t i = from; i < to; i += BLOCK) {
        int64_t n = to - i < BLOCK ? to - i : BLOCK;
        char *made = block;
        make_block(r, block, i, n);
        if (r->dtype != out->dtype) {
            asn_kernels_get()->cast[r->dtype][out->dtype](n, cast, block, NULL, NULL);
            made = cast;
        }
        asn_block_scatter(out->data + i * stride, made, item, n, stride, 1, 0);
    }
}

/* ASN_ERR_VALUE: out is not 1-d. */
static asn_status check_line(const char *name, const asnd_nd *out) {
    if (out->ndim == 1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: the result is 1-d, got %d-d", name,
                         out->ndim);
}

static void fill_execute(fill_run *r) {
    int64_t n = r->out->shape[0];
    asn_pool_run(fill_chunk, r, (n + CHUNK - 1) / CHUNK, (double)n * 0.5);
}

/* start and delta come in out's dtype and are cast to the one that computes. */
asn_status asn_cpu_arange(const asnd_nd *out, const void *start, const void *delta) {
    fill_run r = {.out = out};
    ASN_TRY(check_line("arange", out));
    asn_dtype dt = out->dtype;
    r.dtype = asn_is_half(dt) ? ASN_F32 : asn_is_inexact(dt) ? dt : ASN_I64;
    const asnd_step_loops *loops = asn_context_get()->steps;
    r.make = r.dtype == ASN_I64   ? loops->i64
             : r.dtype == ASN_F32 ? loops->f32
             : r.dtype == ASN_F64 ? loops->f64
             : r.dtype == ASN_C64 ? loops->c64
                                  : loops->c128;
    const asnd_kernels *k = asn_kernels_get();
    k->cast[dt][r.dtype](1, r.steps.start, start, NULL, NULL);
    k->cast[dt][r.dtype](1, r.steps.delta, delta, NULL, NULL);
    fill_execute(&r);
    return ASN_OK;
}

/* The step is rounded once; `last` puts the end where rounding would miss it, as NumPy
 * does. */
asn_status asn_cpu_linspace(const asnd_nd *out, double start, double stop,
                            bool endpoint) {
    fill_run r = {.out = out, .dtype = ASN_F64, .make = asn_context_get()->steps->f64};
    ASN_TRY(check_line("linspace", out));
    int64_t n = out->shape[0], divisions = endpoint ? n - 1 : n;
    double step = divisions > 0 ? (stop - start) / (double)divisions : 0;
    memcpy(r.steps.start, &start, sizeof start);
    memcpy(r.steps.delta, &step, sizeof step);
    r.last = endpoint && n > 1 ? &stop : NULL;
    r.floors = asn_is_integer(out->dtype);
    fill_execute(&r);
    return ASN_OK;
}

/* Zeros, then ones along the diagonal as a 1-d view of it; an offset outside of the
 * matrix leaves zeros. */
asn_status asn_cpu_eye(const asnd_nd *out, int64_t k) {
    static const char zero[16];
    _Alignas(16) char one[16];
    const uint8_t yes = 1;
    if (out->ndim != 2)
        return asn_error_set(ASN_ERR_VALUE, "eye: the result is 2-d, got %d-d",
                             out->ndim);
    ASN_TRY(asn_cpu_fill(out, zero));
    int64_t row = k < 0 ? -k : 0, col = k > 0 ? k : 0;
    int64_t n = out->shape[0] - row, m = out->shape[1] - col;
    if (m < n) n = m;
    if (n <= 0) return ASN_OK;
    int64_t stride = out->strides[0] + out->strides[1];
    asn_kernels_get()->cast[ASN_BOOL][out->dtype](1, one, &yes, NULL, NULL);
    asnd_nd diagonal = {out->data + row * out->strides[0] + col * out->strides[1], 1,
                        out->dtype, &n, &stride};
    return asn_cpu_fill(&diagonal, one);
}
