/* CPU device: numpy.repeat along an axis.
 *
 * One count for all is a copy in disguise: an extra dimension with stride 0 in the
 * source. Counts of their own become an index array, element i counts[i] times, and a
 * take. Threads share the counts in parts: each part's sum says where its indices begin.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/integers.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/index/index.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    MAX_PARTS = 64, /* of the counts */
    TOGETHER = 4    /* indices */
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

/* Of each part of the counts: their sum, later where their indices begin. */
typedef struct {
    const asnd_nd *counts;
    int64_t *list, parts, starts[MAX_PARTS + 1];
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

/* (asnd_pool_fn) The part's indices. TOGETHER of them are written before their number is
 * looked at: the next element's overwrite those that are too many. */
static void list_part(void *ctx, int64_t part) {
    const repeat_job *r = ctx;
    const char *from = r->counts->data;
    const int64_t stride = r->counts->strides[0], end = r->starts[part + 1];
    int64_t *restrict list = r->list;
    int64_t at = r->starts[part];
    for (int64_t i = part_from(r, part); at < end; i++) {
        const int64_t stop = at + *(const int64_t *)(from + i * stride);
        int64_t next = at;
        if (end - at >= TOGETHER)
            for (; next < at + TOGETHER; next++)
                list[next] = i;
        for (; next < stop; next++)
            list[next] = i;
        at = stop;
    }
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
    if (!sum) return ASN_OK;
    if (given == 1) return repeat_all(in, axis, count_at(&r, 0), out);
    r.list = asn_scratch_take((size_t)sum * sizeof *r.list);
    if (!r.list) return ASN_ERR_MEMORY;
    asn_pool_run(list_part, &r, r.parts, (double)(given + sum));
    static const int64_t stride = sizeof(int64_t);
    asnd_nd idx = {(char *)r.list, 1, ASN_I64, &sum, &stride};
    asn_status status = asn_cpu_take(in, axis, &idx, ASN_INDEX_RAISE, out);
    asn_scratch_give(r.list);
    return status;
}
