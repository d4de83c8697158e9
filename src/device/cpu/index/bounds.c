/* CPU device: checking index arrays, before anything is written.
 *
 * The smallest and largest index decide; only a failure looks for the first offender, for
 * the message.
 */
#include "device/cpu/context.h"
#include "device/cpu/index/bounds.h"

#include "device/cpu/move/lines.h"
#include "device/cpu/simd/mask_vector.h"
#include "device/cpu/threads.h"

enum { CHUNK = 32768 };

typedef struct {
    asnd_lines *lines;
    int64_t lines_per_chunk, pieces,
        piece;             /* pieces of a line, when there is one long line */
    uint64_t size, misses; /* sign bit of misses: some index is out of range */
} bounds_run;

/* The sign of (i + size) | (size - 1 - i) tells whether i is outside [-size, size):
 * additions and ors, which every instruction set has vectors for, unlike a minimum of
 * 64-bit integers. */
uint64_t asn_bounds_misses(const char *p, int64_t stride, int64_t n, uint64_t size) {
    uint64_t misses = 0;
    const asnd_mask_loops *loops = asn_context_get()->masks;
    if (stride == sizeof(int64_t) && loops)
        return loops->misses((const uint64_t *)p, n, size);
    if (stride == sizeof(int64_t)) {
        const uint64_t *q = (const uint64_t *)p;
        for (int64_t i = 0; i < n; i++)
            misses |= (q[i] + size) | (size - 1 - q[i]);
    } else {
        for (int64_t i = 0; i < n; i++, p += stride) {
            uint64_t x = *(const uint64_t *)p;
            misses |= (x + size) | (size - 1 - x);
        }
    }
    return misses;
}

/* A piece of the only line, or some whole lines; the answer is or-ed. */
static void bounds_chunk(void *ctx, int64_t chunk) {
    bounds_run *b = ctx;
    int64_t stride = b->lines->stride[0][0], length = b->lines->length;
    uint64_t misses = 0;
    asnd_line line;
    if (b->pieces > 1) {
        int64_t from = chunk * b->piece, n = length - from;
        asn_lines_seek(b->lines, &line, 0);
        misses = asn_bounds_misses(line.at[0] + from * stride, stride,
                                   n < b->piece ? n : b->piece, b->size);
    } else {
        int64_t first = chunk * b->lines_per_chunk, end = first + b->lines_per_chunk;
        asn_lines_seek(b->lines, &line, first);
        for (int64_t i = first; i < end && i < b->lines->count; i++) {
            misses |= asn_bounds_misses(line.at[0], stride, length, b->size);
            asn_lines_next(b->lines, &line);
        }
    }
    __atomic_fetch_or(&b->misses, misses, __ATOMIC_RELAXED);
}

/* Looks again, in order, for NumPy's message. ASN_OK: another thread changed the array
 * meanwhile. */
static asn_status report_first(const bounds_run *b, int64_t size, int axis) {
    asnd_line line;
    asn_lines_seek(b->lines, &line, 0);
    for (int64_t l = 0; l < b->lines->count; l++) {
        for (int64_t i = 0; i < b->lines->length; i++) {
            int64_t x = *(const int64_t *)(line.at[0] + i * b->lines->stride[0][0]);
            if (x < -size || x >= size)
                return asn_error_set(
                    ASN_ERR_INDEX,
                    "index %lld is out of bounds for axis %d with size %lld",
                    (long long)x, axis, (long long)size);
        }
        asn_lines_next(b->lines, &line);
    }
    return ASN_OK;
}

asn_status asn_bounds_check(const asnd_nd *idx, int64_t size, int axis) {
    asnd_lines lines;
    bounds_run b = {
        .lines = &lines, .size = (uint64_t)size, .pieces = 1, .lines_per_chunk = 1};
    asn_lines_init(b.lines, idx->ndim, idx->shape, ASN_NO_AXIS, 1, &idx->data,
                   &idx->strides);
    if (b.lines->count == 0) return ASN_OK;
    int64_t n = b.lines->count * b.lines->length, chunks;
    if (b.lines->count == 1) {
        b.piece = CHUNK;
        chunks = b.pieces = (n + CHUNK - 1) / CHUNK;
    } else {
        b.lines_per_chunk = asn_lines_per_chunk(b.lines, CHUNK);
        chunks = (b.lines->count + b.lines_per_chunk - 1) / b.lines_per_chunk;
    }
    asn_pool_run(bounds_chunk, &b, chunks, (double)n * 0.2);
    return b.misses >> 63 ? report_first(&b, size, axis) : ASN_OK;
}
