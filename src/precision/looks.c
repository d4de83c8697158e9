/* L2 precision: what the elements say of a rounding error (narrow.h).
 *
 * Units: rounding to a half is off by u |x| with u = 2**-9 (bfloat16) and 2**-11
 * (float16), of which numbers below 2**-14 are off by 2**-25 at most instead; over all
 * elements, ||A' - A|| <= u ||A|| + 2**-25 sqrt(size). bfloat16 has float32's exponents.
 * int8 is off by half a scale in each element. With ea and eb for the operands,
 * ||A'B' - AB|| <= (ea + eb + ea eb) ||A|| ||B||, since a Frobenius norm of a product is
 * at most the product of the norms (Golub and Van Loan, Matrix Computations, 2.3). k
 * terms summed in float32 add k 2**-24 of it (Higham, Accuracy and Stability, 3.5), and
 * the result's rounding u of it; float16's subnormal results are not counted in. */
#include "precision/narrow.h"

#include <math.h>

#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* The first number of an array of one element: waits for it. */
static asn_status number_of(const asn_array *x, double *value) {
    asn_scalar item, wide;
    ASN_TRY(asn_array_get_item(x, 0, &item));
    ASN_TRY(asn_scalar_cast(&item, ASN_F64, &wide));
    *value = *(const double *)(const void *)wide.bytes;
    return ASN_OK;
}

/* op over all elements of x. */
static asn_status fold(asn_array *out, asn_op op, const asn_array *x) {
    const asn_reduce_options all = {.axes = (UINT64_C(1) << x->layout.ndim) - 1,
                                    .dtype = ASN_DTYPE_NONE,
                                    .now = true};
    return asn_ufunc_reduce(op, x, NULL, out, &all);
}

/* The norm of elements divided by the largest, so that no square overflows. */
asn_status asn_precision_look_at(const asn_array *x, bool norm,
                                 asn_precision_look *look) {
    ASN_TEMPORARIES;
    ASN_MAKE(single, asn_np_astype(single, x, ASN_F32));
    ASN_MAKE(size, asn_np_unary(size, ASN_OP_ABSOLUTE, single));
    ASN_MAKE(most, fold(most, ASN_OP_MAXIMUM, size));
    ASN_TRY(number_of(most, &look->most));
    look->norm = look->most;
    if (!norm || look->most == 0 || !isfinite(look->most)) return ASN_OK;
    ASN_MAKE(part, asn_np_binary(part, ASN_OP_DIVIDE, asn_np_of(single),
                                 asn_operand_float(look->most)));
    ASN_MAKE(square,
             asn_np_binary(square, ASN_OP_MULTIPLY, asn_np_of(part), asn_np_of(part)));
    ASN_MAKE(sum, fold(sum, ASN_OP_ADD, square));
    ASN_TRY(number_of(sum, &look->norm));
    look->norm = look->most * sqrt(look->norm);
    return ASN_OK;
}

double asn_precision_rounding(asn_dtype dtype, const asn_precision_look *look,
                              int64_t size) {
    if (dtype == ASN_F32) return 0;
    if (dtype == ASN_BF16 || look->most == 0) return 0x1p-9;
    return 0x1p-11 + 0x1p-25 * sqrt((double)size) / look->norm;
}

asn_status asn_precision_steps(const asn_array *scale, int64_t k, double norm,
                               double *e) {
    asn_precision_look look;
    ASN_TRY(asn_precision_look_at(scale, true, &look));
    *e = norm == 0 ? 0 : look.norm / 2 * sqrt((double)k) / norm;
    return ASN_OK;
}

double asn_precision_combine(asn_dtype dtype, double a, double b, int64_t k) {
    const double sums = (double)k * 0x1p-24;
    const double last = dtype == ASN_BF16 ? 0x1p-9 : dtype == ASN_F16 ? 0x1p-11 : 0x1p-22;
    if (dtype == ASN_F32) return sums;
    const double inner = a + b + a * b + (1 + a) * (1 + b) * (dtype == ASN_I8 ? 0 : sums);
    return inner + (1 + inner) * last;
}

double asn_precision_underflow(const asn_precision_look *a, const asn_precision_look *b,
                               double size) {
    if (a->most == 0 || b->most == 0) return 0;
    return 0x1p-25 * sqrt(size) / a->norm / b->norm;
}

/* NaN compares false. */
bool asn_precision_in_range(const asn_precision_look *a, const asn_precision_look *b,
                            int64_t k) {
    return a->most <= ASN_FLOAT16_MOST && b->most <= ASN_FLOAT16_MOST &&
           (double)k * a->most * b->most <= ASN_FLOAT16_MOST;
}
