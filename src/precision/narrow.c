/* L2 precision: a product computed in bfloat16, float16 or int8 (narrow.h).
 *
 * Halves: both operands are rounded, CANN's Matmul multiplies them, sums being float32
 * and the result a half, which is widened. int8: int8.c. A product of float16 is begun
 * only where no element is beyond 65504 and k max |a| max |b|, which no sum exceeds, is
 * not either: an infinity out of finite numbers is no rounding error. */
#include "precision/narrow.h"

#include "graph/operators/families.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

asn_precision_shape asn_precision_shape_of(const asn_array *a, const asn_array *b) {
    const asn_layout *x = &a->layout, *y = &b->layout;
    asn_precision_shape s = {.m = x->shape[x->ndim - 2],
                             .k = x->shape[x->ndim - 1],
                             .n = y->shape[y->ndim - 1],
                             .batch = 1};
    for (int i = 3; i <= x->ndim || i <= y->ndim; i++) {
        const int64_t p = i <= x->ndim ? x->shape[x->ndim - i] : 1;
        const int64_t q = i <= y->ndim ? y->shape[y->ndim - i] : 1;
        s.batch *= p > q ? p : q;
    }
    return s;
}

/* Both rounded, multiplied, widened. */
static asn_status multiply_halves(const asn_array *a, const asn_array *b, asn_dtype dtype,
                                  asn_array *result) {
    ASN_TEMPORARIES;
    ASN_MAKE(x, asn_np_astype(x, a, dtype));
    ASN_MAKE(y, asn_np_astype(y, b, dtype));
    ASN_MAKE(z, asn_product_plain(x, y, z));
    return asn_np_astype(result, z, ASN_F32);
}

/* Whether float16 may: within its range, and, where the choice is ours, the error. */
static asn_status look_at_both(const asn_array *a, const asn_array *b,
                               const asn_precision *p, asn_narrow *outcome) {
    asn_precision_look x, y;
    const int64_t k = a->layout.shape[a->layout.ndim - 1];
    ASN_TRY(asn_precision_look_at(a, p->automatic, &x));
    ASN_TRY(asn_precision_look_at(b, p->automatic, &y));
    *outcome = ASN_NARROW_RANGE;
    if (!asn_precision_in_range(&x, &y, k)) return ASN_OK;
    *outcome = ASN_NARROW_DONE;
    if (!p->automatic) return ASN_OK;
    const asn_precision_shape s = asn_precision_shape_of(a, b);
    const double size = (double)s.batch * (double)s.m * (double)s.n;
    const double e = asn_precision_combine(
        ASN_F16, asn_precision_rounding(ASN_F16, &x, a->layout.size),
        asn_precision_rounding(ASN_F16, &y, b->layout.size), k);
    if (!(e + asn_precision_underflow(&x, &y, size) <= p->error))
        *outcome = ASN_NARROW_ERROR;
    return ASN_OK;
}

/* int8 of both: rows of a, columns of b. */
static asn_status multiply_int8(const asn_array *a, const asn_array *b,
                                const asn_precision *p, asn_array *result,
                                asn_narrow *outcome) {
    const int64_t k = a->layout.shape[a->layout.ndim - 1];
    ASN_TEMPORARIES;
    *outcome = ASN_NARROW_ERROR;
    if (k > ASN_INT8_MOST_TERMS) return ASN_OK;
    ASN_MAKE(x, asn_np_astype(x, a, ASN_F32));
    ASN_MAKE(y, asn_np_astype(y, b, ASN_F32));
    asn_array *q = &temporaries_.made[temporaries_.count];
    ASN_TRY(asn_precision_quantise(&q[0], &q[1], y, y->layout.ndim - 2));
    temporaries_.count += 2;
    if (p->automatic) {
        asn_precision_look looks[2];
        double ea, eb;
        ASN_TRY(asn_precision_quantise(&q[2], &q[3], x, x->layout.ndim - 1));
        temporaries_.count += 2;
        ASN_TRY(asn_precision_look_at(x, true, &looks[0]));
        ASN_TRY(asn_precision_look_at(y, true, &looks[1]));
        ASN_TRY(asn_precision_steps(&q[3], k, looks[0].norm, &ea));
        ASN_TRY(asn_precision_steps(&q[1], k, looks[1].norm, &eb));
        if (!(asn_precision_combine(ASN_I8, ea, eb, k) <= p->error)) return ASN_OK;
    }
    *outcome = ASN_NARROW_DONE;
    return asn_precision_multiply_int8(x, &q[0], &q[1], result);
}

asn_status asn_precision_narrow(const asn_array *a, const asn_array *b,
                                const asn_precision *p, asn_array *result,
                                asn_narrow *outcome) {
    *outcome = ASN_NARROW_DONE;
    if (p->dtype == ASN_I8) return multiply_int8(a, b, p, result, outcome);
    if (p->dtype == ASN_F16 && !p->unchecked) ASN_TRY(look_at_both(a, b, p, outcome));
    if (*outcome != ASN_NARROW_DONE) return ASN_OK;
    return multiply_halves(a, b, p->dtype, result);
}
