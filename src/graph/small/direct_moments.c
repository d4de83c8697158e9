/* L2 graph: mean and variance of a small array by single loops (see direct.h): fold,
 * divide, subtract, square, root, each of them the loop that the general path would run,
 * in its order, so that the bits are the same (ns on ten elements so, by the general
 * path, NumPy's: mean 127, 710, 2300; std 256, 2020, 7060).
 */
#include "graph/small/direct.h"

#include <string.h>

#include "graph/small/binding.h"
#include "graph/small/small_call.h"
#include "graph/fp.h"
#include "graph/counters.h"

/* The loops of a statistic in one dtype. */
typedef struct {
    asn_dtype dtype;
    const aclnnxLoop *fold, *divide, *subtract, *square, *sqrt;
    uint32_t met, *sink;
} statistic;

/* The dtype that NumPy computes mean and variance in; false for those whose steps are of
 * several dtypes (halves, complex). */
static bool statistic_init(statistic *s, const asn_array *a) {
    asn_dtype dt = asn_layout_dtype(&a->layout);
    if (!asn_direct_memory(a, false) || asn_is_half(dt) || asn_is_complex(dt))
        return false;
    s->dtype = asn_is_inexact(dt) ? dt : ASN_F64;
    s->met = 0;
    s->sink = asn_fp_sink() ? &s->met : NULL;
    s->fold = asn_binding_loop(ACLNNX_LOOP_FOLD, ASN_OP_ADD, s->dtype);
    s->divide = asn_binding_loop(ACLNNX_LOOP_MAP, ASN_OP_DIVIDE, s->dtype);
    s->subtract = asn_binding_loop(ACLNNX_LOOP_MAP, ASN_OP_SUBTRACT, s->dtype);
    s->square = asn_binding_loop(ACLNNX_LOOP_MAP, ASN_OP_SQUARE, s->dtype);
    s->sqrt = asn_binding_loop(ACLNNX_LOOP_MAP, ASN_OP_SQRT, s->dtype);
    return s->fold && s->divide && s->subtract && s->square && s->sqrt;
}

/* *out /= count */
static void divide_by(statistic *s, asn_scalar *out, double count) {
    asn_scalar number = asn_scalar_float(count), divisor;
    const void *src[3] = {out->bytes, divisor.bytes};
    divisor = number;
    if (s->dtype == ASN_F32) {
        float f = (float)count;
        memcpy(divisor.bytes, &f, sizeof f);
    }
    asn_loop_run(s->divide, 1, out->bytes, src, 0, s->sink);
}

/* The mean of n elements in the statistic's dtype. */
static void mean_of(statistic *s, const void *x, int64_t n, asn_scalar *out) {
    const void *src[3] = {x};
    out->dtype = (uint8_t)s->dtype;
    asn_loop_run(s->fold, n, out->bytes, src, 0, s->sink);
    divide_by(s, out, (double)n);
}

bool asn_direct_mean(const asn_array *a, asn_scalar *out) {
    _Alignas(64) char scratch[ASN_DIRECT_SCRATCH];
    statistic s = {.dtype = ASN_F64};
    const void *x = NULL;
    uint64_t begin = asn_small_begin();
    if (statistic_init(&s, a)) x = asn_direct_converted(a, s.dtype, scratch, s.sink);
    if (x) {
        mean_of(&s, x, a->layout.size, out);
        asn_loop_report(s.met, ASN_OP_DIVIDE);
        asn_counters.eager++;
    }
    return asn_small_end_work(begin, x != NULL, "mean",
                              a->layout.size * asn_itemsize(s.dtype), a->layout.size);
}

/* (Contract in direct.h.) Bit 1 of the subtraction's immediates: the mean is one number.
 */
bool asn_direct_variance(const asn_array *a, double ddof, bool root, asn_scalar *out) {
    _Alignas(64) char scratch[ASN_DIRECT_SCRATCH];
    statistic s = {.dtype = ASN_F64};
    const void *x = NULL;
    int64_t n = a->layout.size;
    uint64_t begin = asn_small_begin();
    if ((double)n > ddof && statistic_init(&s, a))
        x = asn_direct_converted(a, s.dtype, scratch, s.sink);
    if (x) {
        asn_scalar mean;
        mean_of(&s, x, n, &mean);
        const void *src[3] = {x, mean.bytes}, *deviation[3] = {scratch};
        asn_loop_run(s.subtract, n, scratch, src, 2, s.sink);
        asn_loop_run(s.square, n, scratch, deviation, 0, s.sink);
        out->dtype = (uint8_t)s.dtype;
        asn_loop_run(s.fold, n, out->bytes, deviation, 0, s.sink);
        divide_by(&s, out, (double)n - ddof);
        const void *value[3] = {out->bytes};
        if (root) asn_loop_run(s.sqrt, 1, out->bytes, value, 0, s.sink);
        asn_loop_report(s.met, root ? ASN_OP_SQRT : ASN_OP_DIVIDE);
        asn_counters.eager++;
    }
    return asn_small_end_work(begin, x != NULL, root ? "std" : "var",
                              n * asn_itemsize(s.dtype), 4 * n);
}
