/* CPU device: bincount.
 *
 * Counting is split over threads, each with histograms of its own that are added at the
 * end: integers add in any order. A thread keeps several while they leave room in L1, so
 * that equal neighbours do not wait for each other (1e6 random int64, no equal
 * neighbours, in 1000 bins: four 670 us, two 510, one 420; in 100 bins 480, 430, 430).
 * Weighted sums run in the order of the input on one thread, which fixes their rounding.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"

enum { FEW_BINS = 256, MANY_BINS = 1024, MAX_PARTS = 64 };

#define T    int8_t
#define NAME count_i8
#include "device/cpu/index/bincount.inc"
#define T    uint8_t
#define NAME count_u8
#include "device/cpu/index/bincount.inc"
#define T    int16_t
#define NAME count_i16
#include "device/cpu/index/bincount.inc"
#define T    uint16_t
#define NAME count_u16
#include "device/cpu/index/bincount.inc"
#define T    int32_t
#define NAME count_i32
#include "device/cpu/index/bincount.inc"
#define T    uint32_t
#define NAME count_u32
#include "device/cpu/index/bincount.inc"
#define T    int64_t
#define NAME count_i64
#include "device/cpu/index/bincount.inc"

typedef int64_t (*count_fn)(const char *x, int64_t stride, int64_t n, int64_t bins,
                            int tables, int64_t *counts);

/* NULL: the dtype is no integer. */
static count_fn counter_of(asn_dtype dtype) {
    switch (dtype) {
    case ASN_I8: return count_i8;
    case ASN_U8: return count_u8;
    case ASN_I16: return count_i16;
    case ASN_U16: return count_u16;
    case ASN_I32: return count_i32;
    case ASN_U32: return count_u32;
    case ASN_I64:
    case ASN_U64: return count_i64; /* a value past INT64_MAX is outside either way */
    default: return NULL;
    }
}

typedef struct {
    const asnd_nd *x;
    count_fn count;
    int64_t bins, per_part, bad; /* bad: a position of a value outside, or -1 */
    int tables;
    int64_t *counts; /* parts x tables x bins */
} counting;

/* A thread's part, into its own histograms. A value outside ends it and is noted; any one
 * of several will do. */
static void count_part(void *ctx, int64_t part) {
    counting *c = ctx;
    int64_t n = c->x->shape[0], stride = c->x->strides[0], first = part * c->per_part;
    int64_t length = n - first < c->per_part ? n - first : c->per_part;
    int64_t done = c->count(c->x->data + first * stride, stride, length, c->bins,
                            c->tables, c->counts + part * c->tables * c->bins);
    if (done < length) __atomic_store_n(&c->bad, first + done, __ATOMIC_RELAXED);
}

/* Element i as int64; a uint64 past INT64_MAX wraps to a negative number. */
static int64_t value_at(const asnd_nd *x, int64_t i) {
    char *at = x->data + i * x->strides[0];
    int64_t wide = 0;
    bool is_signed = asn_is_signed_int(x->dtype);
    int size = asn_itemsize(x->dtype);
    memcpy(&wide, at, (size_t)size);
    return is_signed ? (int64_t)((uint64_t)wide << (64 - 8 * size)) >> (64 - 8 * size)
                     : wide;
}

/* NumPy's message for a negative value. A value past the end is the caller's mistake,
 * whose result should be as long as the largest value asks. */
static asn_status outside(const asnd_nd *x, int64_t at, int64_t bins) {
    int64_t v = value_at(x, at);
    if (v < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "'list' argument must have no negative elements");
    return asn_error_set(ASN_ERR_INDEX, "bincount: value %lld, the result has %lld bins",
                         (long long)v, (long long)bins);
}

/* Parts only where the histograms that are to be added are short against the input. */
static asn_status count_values(const asnd_nd *x, const asnd_nd *out) {
    int64_t n = x->shape[0], bins = out->shape[0];
    counting c = {.x = x, .count = counter_of(x->dtype), .bins = bins, .bad = -1};
    double work = 0.4 * (double)n;
    int64_t parts = asn_pool_width(work);
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    if (parts * bins * 4 > n) parts = 1;
    c.tables = n <= 4 * bins ? 1 : bins <= FEW_BINS ? 4 : bins <= MANY_BINS ? 2 : 1;
    c.per_part = (n + parts - 1) / parts;
    c.counts = asn_calloc((size_t)(parts * c.tables * bins), sizeof *c.counts);
    if (!c.counts) return ASN_ERR_MEMORY;
    asn_pool_run(count_part, &c, parts, work);
    asn_status status = c.bad >= 0 ? outside(x, c.bad, bins) : ASN_OK;
    for (int64_t b = 0; b < bins && !status; b++) {
        int64_t sum = 0;
        for (int64_t t = 0; t < parts * c.tables; t++)
            sum += c.counts[t * bins + b];
        *(int64_t *)(out->data + b * out->strides[0]) = sum;
    }
    asn_free(c.counts);
    return status;
}

typedef int64_t (*weigh_fn)(const char *x, int64_t stride, int64_t n, int64_t bins,
                            const char *weights, int64_t weight_stride, char *sums,
                            int64_t sum_stride);

static weigh_fn weigher_of(asn_dtype dtype) {
    switch (dtype) {
    case ASN_I8: return weigh_count_i8;
    case ASN_U8: return weigh_count_u8;
    case ASN_I16: return weigh_count_i16;
    case ASN_U16: return weigh_count_u16;
    case ASN_I32: return weigh_count_i32;
    case ASN_U32: return weigh_count_u32;
    default: return weigh_count_i64;
    }
}

/* One thread, in the order of the input, straight into out. */
static asn_status sum_weights(const asnd_nd *x, const asnd_nd *weights,
                              const asnd_nd *out) {
    static const char zero[16];
    int64_t n = x->shape[0], bins = out->shape[0];
    ASN_TRY(asn_cpu_fill(out, zero));
    int64_t done = weigher_of(x->dtype)(x->data, x->strides[0], n, bins, weights->data,
                                        weights->strides[0], out->data, out->strides[0]);
    return done < n ? outside(x, done, bins) : ASN_OK;
}

asn_status asn_cpu_bincount(const asnd_nd *x, const asnd_nd *weights,
                            const asnd_nd *out) {
    asn_dtype want = weights ? ASN_F64 : ASN_I64;
    if (x->ndim != 1 || !asn_is_integer(x->dtype) || out->ndim != 1 ||
        out->dtype != want ||
        (weights && (weights->ndim != 1 || weights->dtype != ASN_F64 ||
                     weights->shape[0] != x->shape[0])))
        return asn_error_set(
            ASN_ERR_VALUE,
            "bincount: integer x and float64 weights of one length into a %s, "
            "got %s into %s",
            asn_dtype_name(want), asn_dtype_name(x->dtype), asn_dtype_name(out->dtype));
    return weights ? sum_weights(x, weights, out) : count_values(x, out);
}
