/* CPU device: numpy.repeat along an axis.
 *
 * One count for all is a copy in disguise: an extra dimension with stride 0 in the
 * source. With counts of their own each item, which is what lies behind the axis, is
 * written as often as it counts. Threads share the counts in parts: each part's sum says
 * where its items begin. Views that are not contiguous are copied, before or after.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/integers.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/index/index.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    MAX_PARTS = 64,  /* of the counts */
    MAX_TASKS = 256, /* parts, times parts of the dimensions before the axis */
    TOGETHER = 4     /* items */
};

/* Each element `count` times: out's axis becomes two, elements outside, repetitions
 * inside. */
static asn_status repeat_all(const asnd_nd *in, int axis, int64_t count,
                             const asnd_nd *out) {
    int64_t shape[ASN_ND_MAX_DIMS + 1], from[ASN_ND_MAX_DIMS + 1],
        to[ASN_ND_MAX_DIMS + 1];
    if (in->ndim == ASN_ND_MAX_DIMS)
        return asn_error_set(ASN_ERR_VALUE, "repeat: at most %d dimensions are allowed",
                             ASN_ND_MAX_DIMS - 1);
    for (int d = 0; d <= in->ndim; d++) {
        int s = d <= axis ? d : d - 1;
        shape[d] = d == axis + 1 ? count : in->shape[s];
        from[d] = d == axis + 1 ? 0 : in->strides[s];
        to[d] = d == axis ? out->strides[axis] * count : out->strides[s];
    }
    asnd_nd src = {in->data, in->ndim + 1, in->dtype, shape, from};
    asnd_nd dst = {out->data, in->ndim + 1, in->dtype, shape, to};
    return asn_cpu_copy(&dst, &src);
}

typedef struct repeat_job {
    const asnd_nd *counts;
    const char *in; /* (outer, extent) items */
    char *out;      /* (outer, total) items */
    int64_t extent, total, outer, item, parts, pieces;
    void (*fill)(const struct repeat_job *r, const char *in, char *out, int64_t part);
    int64_t starts[MAX_PARTS + 1]; /* of the parts' items; first the sums of the counts */
    bool negative[MAX_PARTS], large[MAX_PARTS]; /* a count; the sum */
} repeat_job;

static int64_t part_from(const repeat_job *r, int64_t part) {
    return part * r->counts->shape[0] / r->parts;
}

static int64_t count_at(const repeat_job *r, int64_t i) {
    return *(const int64_t *)(r->counts->data + i * r->counts->strides[0]);
}

/* (asnd_pool_fn) */
static void sum_part(void *ctx, int64_t part) {
    repeat_job *r = ctx;
    int64_t sum = 0;
    bool negative = false, large = false;
    for (int64_t i = part_from(r, part); i < part_from(r, part + 1); i++) {
        const int64_t count = count_at(r, i);
        negative |= count < 0;
        large |= __builtin_add_overflow(sum, count, &sum);
    }
    r->starts[part] = sum;
    r->negative[part] = negative;
    r->large[part] = large;
}

/* A part's items, each being one T. TOGETHER of them are written before their number is
 * looked at: the next one's overwrite those that are too many. */
#define DEFINE_FILL(name, T)                                                             \
    static void name(const repeat_job *r, const char *in, char *out, int64_t part) {     \
        const char *count = r->counts->data;                                             \
        const int64_t stride = r->counts->strides[0], end = r->starts[part + 1];         \
        const T *restrict from = (const T *)in;                                          \
        T *restrict to = (T *)out;                                                       \
        int64_t at = r->starts[part];                                                    \
        for (int64_t i = part_from(r, part); at < end; i++) {                            \
            const int64_t stop = at + *(const int64_t *)(count + i * stride);            \
            const T x = from[i];                                                         \
            int64_t next = at;                                                           \
            if (end - at >= TOGETHER)                                                    \
                for (; next < at + TOGETHER; next++)                                     \
                    to[next] = x;                                                        \
            for (; next < stop; next++)                                                  \
                to[next] = x;                                                            \
            at = stop;                                                                   \
        }                                                                                \
    }

/* Items of a few bytes, at any address. */
typedef uint16_t item_2 __attribute__((aligned(1), may_alias));
typedef uint32_t item_4 __attribute__((aligned(1), may_alias));
typedef uint64_t item_8 __attribute__((aligned(1), may_alias));
typedef uint64_t item_16 __attribute__((vector_size(16), aligned(1), may_alias));
DEFINE_FILL(fill_1, uint8_t)
DEFINE_FILL(fill_2, item_2)
DEFINE_FILL(fill_4, item_4)
DEFINE_FILL(fill_8, item_8)
DEFINE_FILL(fill_16, item_16)

/* Items of any size. */
static void fill_bytes(const repeat_job *r, const char *in, char *out, int64_t part) {
    const size_t item = (size_t)r->item;
    int64_t at = r->starts[part];
    for (int64_t i = part_from(r, part); i < part_from(r, part + 1); i++)
        for (int64_t stop = at + count_at(r, i); at < stop; at++)
            memcpy(out + at * r->item, in + i * r->item, item);
}

/* (asnd_pool_fn) */
static void fill_task(void *ctx, int64_t task) {
    const repeat_job *r = ctx;
    const int64_t part = task % r->parts, piece = task / r->parts;
    for (int64_t i = piece * r->outer / r->pieces; i < (piece + 1) * r->outer / r->pieces;
         i++)
        r->fill(r, r->in + i * r->extent * r->item, r->out + i * r->total * r->item,
                part);
}

/* A contiguous view of x's elements: x itself, or scratch, which the caller gives back;
 * not filled. */
static asn_status lined_up(const asnd_nd *x, char **data) {
    *data = x->data;
    if (asn_nd_is_contiguous(x)) return ASN_OK;
    *data = asn_scratch_take((size_t)(asn_nd_size(x) * asn_itemsize(x->dtype)));
    return *data ? ASN_OK : ASN_ERR_MEMORY;
}

/* As x, row-major at `data`. */
static asnd_nd row_major(const asnd_nd *x, char *data, int64_t *strides) {
    int64_t step = asn_itemsize(x->dtype);
    for (int d = x->ndim - 1; d >= 0; d--) {
        strides[d] = step;
        step *= x->shape[d];
    }
    return (asnd_nd){data, x->ndim, x->dtype, x->shape, strides};
}

/* Between contiguous memory, with copies of what is not. */
static asn_status repeat_each(repeat_job *r, const asnd_nd *in, int axis,
                              const asnd_nd *out) {
    char *from = NULL, *to = NULL;
    int64_t strides[ASN_ND_MAX_DIMS];
    r->extent = in->shape[axis];
    r->total = out->shape[axis];
    r->outer = 1;
    r->item = asn_itemsize(in->dtype);
    for (int d = 0; d < in->ndim; d++)
        *(d < axis ? &r->outer : &r->item) *= d == axis ? 1 : in->shape[d];
    r->fill = r->item == 1    ? fill_1
              : r->item == 2  ? fill_2
              : r->item == 4  ? fill_4
              : r->item == 8  ? fill_8
              : r->item == 16 ? fill_16
                              : fill_bytes;
    r->pieces = asn_least(r->outer, MAX_TASKS / r->parts);
    asn_status status = lined_up(in, &from);
    if (!status) status = lined_up(out, &to);
    if (!status && from != in->data) {
        asnd_nd copy = row_major(in, from, strides);
        status = asn_cpu_copy(&copy, in);
    }
    if (!status) {
        r->in = from;
        r->out = to;
        asn_pool_run(fill_task, r, r->parts * r->pieces,
                     (double)r->outer * (1.5 * (double)r->extent +
                                         0.15 * (double)r->total * (double)r->item));
        if (to != out->data) {
            asnd_nd made = row_major(out, to, strides);
            status = asn_cpu_copy(out, &made);
        }
    }
    if (to && to != out->data) asn_scratch_give(to);
    if (from && from != in->data) asn_scratch_give(from);
    return status;
}

/* The sum of the counts, and r's starts. */
static asn_status sum_counts(repeat_job *r, int64_t *sum) {
    asn_pool_run(sum_part, r, r->parts, (double)r->counts->shape[0]);
    bool negative = false, large = false;
    *sum = 0;
    for (int64_t part = 0; part < r->parts; part++) {
        const int64_t own = r->starts[part];
        negative = negative || r->negative[part];
        r->starts[part] = *sum;
        large = large || r->large[part] || !asn_add_size(*sum, own, sum);
    }
    r->starts[r->parts] = *sum;
    if (negative)
        return asn_error_set(ASN_ERR_VALUE, "repeats may not contain negative values.");
    return large ? asn_error_set(ASN_ERR_VALUE, "repeat: the result is too large")
                 : ASN_OK;
}

/* Counts are looked at before anything is written; NumPy's messages. */
asn_status asn_cpu_repeat(const asnd_nd *in, int axis, const asnd_nd *counts,
                          const asnd_nd *out) {
    if (axis < 0 || axis >= in->ndim || out->ndim != in->ndim ||
        out->dtype != in->dtype || counts->ndim != 1 || counts->dtype != ASN_I64)
        return asn_error_set(
            ASN_ERR_VALUE,
            "repeat: axis %d of a %d-d %s with %d-d %s counts into a %d-d %s", axis,
            in->ndim, asn_dtype_name(in->dtype), counts->ndim,
            asn_dtype_name(counts->dtype), out->ndim, asn_dtype_name(out->dtype));
    int64_t extent = in->shape[axis], given = counts->shape[0], sum;
    if (given != extent && given != 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "operands could not be broadcast together with shape (%lld,) "
            "(%lld,)",
            (long long)extent, (long long)given);
    repeat_job r = {.counts = counts, .parts = asn_least(given, MAX_PARTS)};
    ASN_TRY(sum_counts(&r, &sum));
    if (given == 1 && !asn_mul_size(sum, extent, &sum))
        return asn_error_set(ASN_ERR_VALUE, "repeat: the result is too large");
    if (sum != out->shape[axis])
        return asn_error_set(ASN_ERR_VALUE,
                             "repeat: the counts add up to %lld, the result has %lld",
                             (long long)sum, (long long)out->shape[axis]);
    if (!asn_nd_size(out)) return ASN_OK;
    if (given == 1) return repeat_all(in, axis, count_at(&r, 0), out);
    return repeat_each(&r, in, axis, out);
}
