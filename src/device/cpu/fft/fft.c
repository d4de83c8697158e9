/* CPU device: Fourier transforms of arrays: lines along an axis, dealt to kernels and
 * threads.
 *
 * Short lines, and longer ones whose neighbours lie side by side in memory, run as
 * groups: as many lines at once as a vector has lanes. Others run one by one, vectorised
 * within, which keeps them in cache. The choice depends on shapes and strides alone, so
 * results do not depend on the instruction set or the number of threads.
 *
 * Many lines that together leave the caches are made in scratch and stored past the
 * caches: their memory is not read first (1000 rows of 1024 points: a third less time).
 */
#include "device/cpu/fft/fft.h"

#include <stdatomic.h>

#include "device/cpu/fft/fft_plan.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/threads.h"
#include "device/cpu/scratch.h"

enum {
    GROUP_LENGTH = 256,   /* longest group of lines that are far apart */
    BESIDE_LENGTH = 4096, /* longest group of lines side by side */
    GROUP_LANES = 4,      /* fewer lines than that run one by one */
    NS_PER_ELEMENT = 2,
    CHUNK_ELEMENTS = 16384, /* of a chunk: some 30 us */
    STREAM_BYTES = 6 << 20, /* results from here on are stored past the caches */
    STREAM_LINE = 1 << 17,  /* by lines of at most this many bytes, */
    STREAM_LEAST = 512,     /* at least that many */
};

typedef struct {
    asnd_fft_job job;
    const asnd_fft_kernels *kernels;
    const asnd_nd *in, *out;
    int axis;
    bool grouped;
    int64_t lines, share; /* share: lines of a chunk */
    int64_t line_bytes,
        stream_room; /* of a result's line; in scratch, 0: there is none */
    atomic_int failed;
} work;

/* Addresses of `count` lines from `first` on, in row-major order of the other dimensions.
 */
static void line_addresses(const work *w, int64_t first, int count, const char **in,
                           char **out) {
    int64_t index[ASN_ND_MAX_DIMS];
    const asnd_nd *a = w->in, *b = w->out;
    int64_t rest = first;
    for (int d = a->ndim - 1; d >= 0; d--) {
        if (d == w->axis) continue;
        index[d] = rest % a->shape[d];
        rest /= a->shape[d];
    }
    for (int i = 0; i < count; i++) {
        in[i] = a->data;
        out[i] = b->data;
        for (int d = 0; d < a->ndim; d++) {
            if (d == w->axis) continue;
            in[i] += index[d] * a->strides[d];
            out[i] += index[d] * b->strides[d];
        }
        for (int d = a->ndim - 1; d >= 0; d--) {
            if (d == w->axis) continue;
            if (++index[d] < a->shape[d]) break;
            index[d] = 0;
        }
    }
}

/* The transforms of `count` lines. */
static asn_status run_lines(const work *w, int count, const char *const *in,
                            char *const *out, int64_t ahead) {
    return w->grouped ? w->kernels->group(&w->job, count, in, out)
                      : w->kernels->line(&w->job, in[0], out[0], ahead);
}

/* Bytes from line i to the next. */
static int64_t next_line(const work *w, int64_t i) {
    const char *in[2];
    char *out[2];
    line_addresses(w, i, 2, in, out);
    return in[1] - in[0];
}

/* The same by way of scratch. */
static asn_status stream_lines(const work *w, int count, const char *const *in,
                               char *const *out, int64_t ahead, char *scratch) {
    char *made[ASN_FFT_MAX_LANES];
    for (int i = 0; i < count; i++)
        made[i] = scratch + i * w->stream_room;
    ASN_TRY(run_lines(w, count, in, made, ahead));
    for (int i = 0; i < count; i++)
        asn_block_stream(out[i], made[i], w->line_bytes);
    return ASN_OK;
}

/* `share` lines, by one thread, group by group or one by one. Scratch is held for the
 * chunk, so that its memory is taken once. */
static void run_chunk(void *ctx, int64_t chunk) {
    work *w = ctx;
    const char *in[ASN_FFT_MAX_LANES];
    char *out[ASN_FFT_MAX_LANES], *scratch = NULL;
    int64_t first = chunk * w->share, left = w->lines - first;
    int64_t end = first + (left < w->share ? left : w->share);
    int lanes = w->grouped ? w->kernels->lanes : 1;
    asn_status status = ASN_OK;
    asn_scratch_hold(true);
    if (w->stream_room) {
        scratch = asn_scratch_take((size_t)(w->stream_room * lanes));
        if (scratch == NULL) status = ASN_ERR_MEMORY;
    }
    for (int64_t i = first; i < end && status == ASN_OK; i += lanes) {
        int count = end - i < lanes ? (int)(end - i) : lanes;
        line_addresses(w, i, count, in, out);
        int64_t ahead = lanes == 1 && i + 1 < w->lines ? next_line(w, i) : 0;
        status = scratch ? stream_lines(w, count, in, out, ahead, scratch)
                         : run_lines(w, count, in, out, ahead);
    }
    if (scratch) {
        asn_block_stream_end();
        asn_scratch_give(scratch);
    }
    asn_scratch_hold(false);
    if (status != ASN_OK) atomic_store(&w->failed, (int)status);
}

/* Whether the result is stored past the caches, and how. */
static void plan_stream(work *w) {
    const asnd_nd *out = w->out;
    int64_t item = asn_itemsize(out->dtype);
    w->line_bytes = out->shape[w->axis] * item;
    if (out->strides[w->axis] == item && w->line_bytes >= STREAM_LEAST &&
        w->line_bytes <= STREAM_LINE && w->lines * w->line_bytes >= STREAM_BYTES &&
        out->data != w->in->data)
        /* An odd number of cache lines apart. */
        w->stream_room = (w->line_bytes + 63) / 64 * 64 + 64;
}

/* Whether lines are transformed in lanes: there are enough, and they are short, or
 * neighbours in memory, so that an element of all of them is one load. */
static bool run_as_group(const work *w, const asnd_fft_plan *plan) {
    if (w->lines < GROUP_LANES) return false;
    if (plan->work <= GROUP_LENGTH) return true;
    int last = w->in->ndim - 1 == w->axis ? w->in->ndim - 2 : w->in->ndim - 1;
    int64_t beside =
        w->in->strides[last] < 0 ? -w->in->strides[last] : w->in->strides[last];
    return plan->work <= BESIDE_LENGTH && w->in->shape[last] >= GROUP_LANES &&
           beside <= 2 * plan->size;
}

/* Dtypes, axis and extents as in fft.h: ASN_ERR_TYPE, ASN_ERR_VALUE. */
static asn_status check(asnd_fft_kind kind, int64_t n, int axis, const asnd_nd *in,
                        const asnd_nd *out) {
    bool real_in = kind == ASN_FFT_REAL_FORWARD, real_out = kind == ASN_FFT_REAL_INVERSE;
    bool is_f32 = in->dtype == (real_in ? ASN_F32 : ASN_C64);
    asn_dtype want_in = real_in  ? (is_f32 ? ASN_F32 : ASN_F64)
                        : is_f32 ? ASN_C64
                                 : ASN_C128;
    asn_dtype want_out = real_out ? (is_f32 ? ASN_F32 : ASN_F64)
                         : is_f32 ? ASN_C64
                                  : ASN_C128;
    if (in->dtype != want_in || out->dtype != want_out)
        return asn_error_set(ASN_ERR_TYPE, "fft: takes no %s to make %s",
                             asn_dtype_name(in->dtype), asn_dtype_name(out->dtype));
    int64_t made = real_in ? n / 2 + 1 : n;
    if (n < 1 || axis < 0 || axis >= in->ndim || in->ndim != out->ndim ||
        out->shape[axis] != made)
        return asn_error_set(ASN_ERR_VALUE,
                             "fft: %lld points along axis %d of %d dimensions do not fit "
                             "the result",
                             (long long)n, axis, in->ndim);
    for (int d = 0; d < in->ndim; d++)
        if (d != axis && in->shape[d] != out->shape[d])
            return asn_error_set(ASN_ERR_VALUE, "fft: axis %d has %lld and %lld elements",
                                 d, (long long)in->shape[d], (long long)out->shape[d]);
    return ASN_OK;
}

/* Real lines of even n are transformed as complex ones of half the length. Few long lines
 * are run one after the other by all threads, which share each from within. */
asn_status asn_cpu_fft(asnd_fft_kind kind, bool inverse, int64_t n, double scale,
                       int axis, const asnd_nd *in, const asnd_nd *out) {
    ASN_TRY(check(kind, n, axis, in, out));
    int size = in->dtype == ASN_F32 || in->dtype == ASN_C64 ? 4 : 8;
    int64_t want = kind == ASN_FFT_REAL_INVERSE ? n / 2 + 1 : n;
    work w = {.kernels = asn_fft_kernels_of(size),
              .in = in,
              .out = out,
              .axis = axis,
              .lines = 1};
    for (int d = 0; d < in->ndim; d++)
        if (d != axis) w.lines *= in->shape[d];
    if (w.lines == 0) return ASN_OK;
    bool halved = kind != ASN_FFT_COMPLEX && n % 2 == 0;
    asnd_fft_plan *plan = asn_fft_plan_get(halved ? n / 2 : n, size);
    if (plan == NULL) return ASN_ERR_MEMORY;
    w.job = (asnd_fft_job){.plan = plan,
                           .kind = kind,
                           .inverse = inverse,
                           .n = n,
                           .scale = scale,
                           .in_count = in->shape[axis] < want ? in->shape[axis] : want,
                           .in_stride = in->strides[axis],
                           .out_stride = out->strides[axis]};
    double ns = (double)w.lines * (double)n * NS_PER_ELEMENT;
    w.grouped = run_as_group(&w, plan);
    w.share = 1 + CHUNK_ELEMENTS / n;
    if (w.grouped) /* whole groups of every instruction set */
        w.share =
            (w.share + ASN_FFT_MAX_LANES - 1) / ASN_FFT_MAX_LANES * ASN_FFT_MAX_LANES;
    plan_stream(&w);
    int64_t chunks = (w.lines + w.share - 1) / w.share;
    if (chunks == 1 || (!w.grouped && w.lines < 8)) /* threads within the lines */
        for (int64_t i = 0; i < chunks; i++)
            run_chunk(&w, i);
    else
        asn_pool_run(run_chunk, &w, chunks, ns);
    asn_fft_plan_release(plan);
    int failed = atomic_load(&w.failed);
    return failed ? asn_error_set((asn_status)failed, "fft: out of memory") : ASN_OK;
}
