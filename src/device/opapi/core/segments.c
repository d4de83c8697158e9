/* CPU device, operators: one loop over many segments of a vector (aclnn/aclnnx.h).
 *
 * Segments are of any lengths. Equal numbers of them would be unequal work, so threads
 * get blocks of segments that are cut by what they cost (base/balance.h): more blocks
 * than threads, since the pool's threads claim one at a time and may be disturbed.
 */
#include "aclnn/aclnnx.h"
#include <string.h>

#include "base/alloc.h"
#include "base/balance.h"
#include "device/cpu/fpflags.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/loop_item.h"
#include "device/opbase/executor.h"

/* What a segment and a byte of it cost, measured (float64 sums, AVX2). */
static const double SEGMENT_NS = 15, BYTE_NS = 0.06;

typedef struct {
    const aclnnxLoop *loop;
    const int64_t *bounds, *ends; /* ends: of blocks of segments */
    char *out;
    const char *in;
    int item;
    uint32_t *fp_flags;
} segments_run;

/* The processor's flags are looked at once for all of them. */
static void fold_range(const segments_run *r, int64_t from, int64_t to) {
    if (r->fp_flags) asn_fp_clear();
    for (int64_t i = from; i < to; i++) {
        const char *first = r->in + r->bounds[2 * i] * r->item;
        int64_t n = r->bounds[2 * i + 1] - r->bounds[2 * i];
        char *out = r->out + i * r->item;
        const void *src[1] = {first};
        if (n == 1)
            memcpy(out, first, (size_t)r->item);
        else if (n > 1 && aclnnxLoopRun(r->loop, n, out, src, 0, NULL) != 0)
            return; /* the lengths have been looked at */
    }
    uint32_t met = r->fp_flags ? asn_fp_exceptions() : 0;
    if (met) __atomic_fetch_or(r->fp_flags, met, __ATOMIC_RELAXED);
}

static void fold_block(void *ctx, int64_t block) {
    const segments_run *r = ctx;
    fold_range(r, block > 0 ? r->ends[block - 1] : 0, r->ends[block]);
}

/* 0, or what is wrong. */
static int32_t segments_check(const aclnnxLoop *loop, int64_t segments,
                              const int64_t *bounds, const void *out, const void *in) {
    if (loop == NULL || bounds == NULL || out == NULL || in == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "aclnnxLoopSegments: loop, bounds, out or in is NULL");
    const int item = asnop_loop_item(loop);
    if (item == 0 || segments < 0)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "aclnnxLoopSegments: %lld segments, of a loop that %s",
                         (long long)segments, item ? "folds" : "folds nothing");
    for (int64_t i = 0; i < segments; i++) {
        int64_t n = bounds[2 * i + 1] - bounds[2 * i];
        if (bounds[2 * i] < 0 || n < 0 || n > ACLNNX_LOOP_BYTES / item)
            return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                             "aclnnxLoopSegments: segment %lld has %lld elements of %d "
                             "bytes; 0 to %d bytes are allowed",
                             (long long)i, (long long)n, item, ACLNNX_LOOP_BYTES);
    }
    return 0;
}

ASN_API int32_t aclnnxLoopSegments(const aclnnxLoop *loop, int64_t segments,
                                   const int64_t *bounds, void *out, const void *in,
                                   uint32_t *fpFlags) {
    int32_t code = segments_check(loop, segments, bounds, out, in);
    if (code != 0) return code;
    segments_run r = {loop, bounds, NULL, out, in, asnop_loop_item(loop), NULL};
    if (asnop_loop_raises(loop)) r.fp_flags = fpFlags;
    double work = 0;
    for (int64_t i = 0; i < segments; i++)
        work +=
            SEGMENT_NS + BYTE_NS * (double)((bounds[2 * i + 1] - bounds[2 * i]) * r.item);
    int64_t blocks = asn_pool_width(work) * ASN_BALANCE_PER_CORE;
    if (blocks > segments) blocks = segments;
    if (blocks <= ASN_BALANCE_PER_CORE) {
        fold_range(&r, 0, segments);
        return ACLNN_SUCCESS;
    }
    double *sums = asn_malloc((size_t)(segments + 1) * sizeof *sums);
    int64_t *ends = sums ? asn_malloc((size_t)blocks * sizeof *ends) : NULL;
    if (ends == NULL) {
        asn_free(sums);
        return asnop_fail(ASN_ERR_MEMORY);
    }
    sums[0] = 0;
    for (int64_t i = 0; i < segments; i++)
        sums[i + 1] = sums[i] + SEGMENT_NS +
                      BYTE_NS * (double)((bounds[2 * i + 1] - bounds[2 * i]) * r.item);
    asn_balance_cut(segments, sums, blocks, ends);
    r.ends = ends;
    asn_pool_run(fold_block, &r, blocks, work);
    asn_free(ends);
    asn_free(sums);
    return ACLNN_SUCCESS;
}
