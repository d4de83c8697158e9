/* L2 precision: what a tensor is to be computed in and stored as (precision.h).
 *
 * Of the dtypes whose error is within the bound, the fastest is computed in, if it is
 * LEAST_GAIN times as fast as float32 at least; what is stored is the same, or, for
 * memory's sake, the narrowest. */
#include <math.h>

#include "graph/lock.h"
#include "graph/operators/families.h"
#include "precision/narrow.h"

static const asn_dtype narrower[] = {ASN_BF16, ASN_F16, ASN_I8};
enum { CHOICES = sizeof narrower / sizeof *narrower };

/* Against a dtype, the weaker reason first: the bound is the caller's. */
static const char BEYOND[] = "the error of the narrower dtypes is beyond the bound",
                  TERMS[] = "sums of int8 have more terms than int32 holds",
                  RANGE[] = "values or their sums may lie beyond float16's 65504",
                  SLOW[] = "the narrower dtypes within the bound are no faster here";

/* What is known of one dtype: its error, NaN where it is out of the question. */
typedef struct {
    double error, gain;
    const char *reason;
} candidate;

/* The product's shape with the tensor as its second operand. */
static asn_precision_shape shape_of(const asn_array *tensor,
                                    const asn_precision_question *q) {
    const asn_layout *l = &tensor->layout;
    const int64_t first = l->shape[l->ndim - 2], second = l->shape[l->ndim - 1];
    asn_precision_shape s = {.m = q->rows,
                             .k = q->transposed ? second : first,
                             .n = q->transposed ? first : second,
                             .batch = 1};
    for (int d = 0; d < l->ndim - 2; d++)
        s.batch *= l->shape[d];
    return s;
}

/* The rounding of the tensor to dtype. */
static asn_status rounding_of(const asn_array *tensor, const asn_precision_question *q,
                              asn_dtype dtype, const asn_precision_look *look,
                              double *e) {
    if (dtype != ASN_I8) {
        *e = asn_precision_rounding(dtype, look, tensor->layout.size);
        return ASN_OK;
    }
    const int axis = tensor->layout.ndim - (q->transposed ? 1 : 2);
    asn_array made[2];
    ASN_TRY(asn_precision_quantise(&made[0], &made[1], tensor, axis));
    asn_status status =
        asn_precision_steps(&made[1], tensor->layout.shape[axis], look->norm, e);
    asn_array_fini(&made[0]);
    asn_array_fini(&made[1]);
    return status;
}

/* A product's error and gain in dtype, the other operand being like the tensor. */
static asn_status consider(const asn_array *tensor, const asn_precision_question *q,
                           asn_dtype dtype, const asn_precision_look *look,
                           candidate *c) {
    const asn_precision_shape s = shape_of(tensor, q);
    double e;
    *c = (candidate){.error = NAN, .gain = 1, .reason = BEYOND};
    ASN_TRY(rounding_of(tensor, q, dtype, look, &e));
    e = asn_precision_combine(dtype, e, e, s.k);
    if (dtype == ASN_F16)
        e += asn_precision_underflow(look, look,
                                     (double)s.batch * (double)s.m * (double)s.n);
    if (!(e <= q->error)) return ASN_OK;
    if (dtype == ASN_F16 && !asn_precision_in_range(look, look, s.k)) {
        c->reason = RANGE;
        return ASN_OK;
    }
    if (dtype == ASN_I8 && s.k > ASN_INT8_MOST_TERMS) {
        c->reason = TERMS;
        return ASN_OK;
    }
    c->error = e;
    ASN_TRY(asn_precision_measure(dtype, true, &s, &c->gain));
    c->reason = SLOW;
    return ASN_OK;
}

/* For speed: the fastest candidate, if it gains enough. For memory: the narrowest, and of
 * those as wide the most exact; it is computed in where that gains, else in float32,
 * whose error is no larger than with both operands rounded. */
static void choose(const candidate *all, bool for_memory, asn_precision_decision *out) {
    int at = -1;
    for (int i = 0; i < CHOICES; i++) {
        if (isnan(all[i].error)) continue;
        if (!for_memory && all[i].gain < ASN_PRECISION_LEAST_GAIN) continue;
        const int now = asn_itemsize(narrower[i]),
                  best = at < 0 ? 0 : asn_itemsize(narrower[at]);
        if (at < 0 ||
            (for_memory ? now < best || (now == best && all[i].error < all[at].error)
                        : all[i].gain > all[at].gain))
            at = i;
    }
    if (at < 0) return;
    out->memory = narrower[at];
    out->error = all[at].error;
    if (all[at].gain < ASN_PRECISION_LEAST_GAIN) return;
    out->compute = narrower[at];
    out->gain = all[at].gain;
    out->reason = for_memory ? "the narrowest within the bound, and faster"
                             : "the fastest within the bound";
}

/* float32 unless a candidate is chosen; of the reasons against, the weightiest is told.
 */
static asn_status decide_product(const asn_array *tensor, const asn_precision_question *q,
                                 asn_precision_decision *out) {
    asn_precision_look look;
    candidate all[CHOICES];
    out->error = asn_precision_combine(ASN_F32, 0, 0, shape_of(tensor, q).k);
    out->reason = "the tensor is not finite";
    ASN_TRY(asn_precision_look_at(tensor, true, &look));
    if (!isfinite(look.most)) return ASN_OK;
    for (int i = 0; i < CHOICES; i++)
        ASN_TRY(consider(tensor, q, narrower[i], &look, &all[i]));
    static const char *const by_weight[] = {BEYOND, TERMS, RANGE, SLOW};
    for (int r = 0; r < 4; r++)
        for (int i = 0; i < CHOICES; i++)
            if (all[i].reason == by_weight[r]) out->reason = by_weight[r];
    choose(all, q->for_memory, out);
    return ASN_OK;
}

asn_status asn_precision_decide(const asn_array *tensor, const asn_precision_question *q,
                                asn_precision_decision *out) {
    const asn_layout *l = &tensor->layout;
    char got[256];
    if (l->dtype != ASN_F32)
        return asn_error_set(ASN_ERR_TYPE, "decide: dtype is %s; it must be float32",
                             asn_dtype_name(asn_layout_dtype(l)));
    if (!(q->error > 0 && isfinite(q->error)) || q->rows < 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "decide: error is %g and rows %lld; they must be positive",
                             q->error, (long long)q->rows);
    if (l->size == 0 || (q->kind == ASN_PRECISION_PRODUCT && l->ndim < 2))
        return asn_error_set(ASN_ERR_VALUE,
                             "decide: the shape is %s; a tensor has elements, and two "
                             "dimensions or more for a product",
                             asn_shape_format(got, sizeof got, l->ndim, l->shape));
    *out = (asn_precision_decision){ASN_F32, ASN_F32, 0x1p-24, 1,
                                    q->kind == ASN_PRECISION_WIDE
                                        ? "sums, exponentials and norms need float32"
                                        : "an elementwise operation has the dtype of its "
                                          "operands; products alone are narrowed"};
    asn_lock();
    asn_status status = ASN_OK;
    if (q->kind == ASN_PRECISION_PRODUCT) status = decide_product(tensor, q, out);
    asn_unlock();
    return status;
}
