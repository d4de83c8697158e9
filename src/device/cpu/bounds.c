/* CPU device: checking index arrays, before anything is written.
 *
 * The smallest and largest index decide; only a failure looks for the first offender, for
 * the message.
 */
#include "device/cpu/bounds.h"

#include "device/cpu/lines.h"
#include "device/cpu/pool.h"

enum { CHUNK = 32768 };

typedef struct {
    asn_lines lines;
    int64_t lines_per_chunk, pieces,
        piece; /* pieces of a line, when there is one long line */
    int64_t low, high;
} bounds_run;

static void widen(int64_t *low, int64_t *high, const char *p, int64_t stride, int64_t n) {
    int64_t lo = *low, hi = *high;
    if (stride == sizeof(int64_t)) {
        const int64_t *q = (const int64_t *)p;
        for (int64_t i = 0; i < n; i++) {
            lo = q[i] < lo ? q[i] : lo;
            hi = q[i] > hi ? q[i] : hi;
        }
    } else {
        for (int64_t i = 0; i < n; i++, p += stride) {
            int64_t x = *(const int64_t *)p;
            lo = x < lo ? x : lo;
            hi = x > hi ? x : hi;
        }
    }
    *low = lo;
    *high = hi;
}

static void bounds_chunk(void *ctx, int64_t chunk) {
    bounds_run *b = ctx;
    int64_t low = INT64_MAX, high = INT64_MIN, stride = b->lines.stride[0][0];
    asn_line line;
    if (b->pieces > 1) {
        int64_t from = chunk * b->piece, n = b->lines.length - from;
        asn_lines_seek(&b->lines, &line, 0);
        widen(&low, &high, line.at[0] + from * stride, stride,
              n < b->piece ? n : b->piece);
    } else {
        int64_t first = chunk * b->lines_per_chunk, end = first + b->lines_per_chunk;
        asn_lines_seek(&b->lines, &line, first);
        for (int64_t i = first; i < end && i < b->lines.count; i++) {
            widen(&low, &high, line.at[0], stride, b->lines.length);
            asn_lines_next(&b->lines, &line);
        }
    }
    int64_t seen = __atomic_load_n(&b->low, __ATOMIC_RELAXED);
    while (low < seen && !__atomic_compare_exchange_n(&b->low, &seen, low, true,
                                                      __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    seen = __atomic_load_n(&b->high, __ATOMIC_RELAXED);
    while (high > seen &&
           !__atomic_compare_exchange_n(&b->high, &seen, high, true, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED))
        ;
}

static asn_status report_first(const bounds_run *b, int64_t size, int axis) {
    asn_line line;
    asn_lines_seek(&b->lines, &line, 0);
    for (int64_t l = 0; l < b->lines.count; l++) {
        for (int64_t i = 0; i < b->lines.length; i++) {
            int64_t x = *(const int64_t *)(line.at[0] + i * b->lines.stride[0][0]);
            if (x < -size || x >= size)
                return asn_error_set(
                    ASN_ERR_INDEX,
                    "index %lld is out of bounds for axis %d with size %lld",
                    (long long)x, axis, (long long)size);
        }
        asn_lines_next(&b->lines, &line);
    }
    return ASN_OK;
}

asn_status asn_bounds_check(const asn_nd *idx, int64_t size, int axis, bool *negative) {
    bounds_run b = {
        .low = INT64_MAX, .high = INT64_MIN, .pieces = 1, .lines_per_chunk = 1};
    *negative = false;
    asn_lines_init(&b.lines, idx->ndim, idx->shape, ASN_NO_AXIS, 1, &idx->data,
                   &idx->strides);
    if (b.lines.count == 0) return ASN_OK;
    int64_t n = b.lines.count * b.lines.length, chunks;
    if (b.lines.count == 1) {
        b.piece = CHUNK;
        chunks = b.pieces = (n + CHUNK - 1) / CHUNK;
    } else {
        b.lines_per_chunk = asn_lines_per_chunk(&b.lines, CHUNK);
        chunks = (b.lines.count + b.lines_per_chunk - 1) / b.lines_per_chunk;
    }
    asn_pool_run(bounds_chunk, &b, chunks, (double)n * 0.3);
    *negative = b.low < 0;
    if (b.low >= -size && b.high < size) return ASN_OK;
    return report_first(&b, size, axis);
}
