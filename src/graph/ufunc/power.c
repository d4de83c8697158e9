/* L2 graph: powers by a constant that products, quotients and roots make (see
 * families.h).
 *
 * NumPy replaces 2, 1, 0.5 and -1; these are the others that programs are full of
 * (distance**-1.5 in gravity, r**-2). A general power takes 3.4 ns an element inside a
 * fused program, (1 / a) / sqrt(a) takes 1. Each rounds two or three times, so the error
 * is at most 2 ULP; (1 / a)**2 rather than 1 / a**2, which would lose digits where a**2
 * is subnormal and the result is not. The power of -inf is that of inf, while its root is
 * NaN: hence the selection.
 */
#include <math.h>

#include "graph/ufunc/ufunc.h"

/* A new array by one operation. */
static asn_status unary(asn_array *result, asn_op op, const asn_array *a) {
    asn_operand in = {.array = a};
    return asn_ufunc_call(op, &in, NULL, result, NULL);
}

static asn_status binary(asn_array *result, asn_op op, const asn_array *a,
                         const asn_array *b) {
    asn_operand in[2] = {{.array = a}, {.array = b}};
    return asn_ufunc_call(op, in, NULL, result, NULL);
}

/* a, where it is not -inf, else inf. */
static asn_status without_minus_inf(asn_array *result, const asn_array *a) {
    asn_operand in[2] = {{.array = a},
                         {.scalar = asn_scalar_float(-INFINITY), .weak = 'f'}};
    asn_operand inf = {.scalar = asn_scalar_float(INFINITY), .weak = 'f'};
    asn_array lowest;
    ASN_TRY(asn_ufunc_call(ASN_OP_EQUAL, in, NULL, &lowest, NULL));
    asn_status status = asn_where(result, &lowest, &inf, &in[0]);
    asn_array_fini(&lowest);
    return status;
}

/* a * sqrt(a), 1 / a / sqrt(a) */
static asn_status half_power(asn_array *result, const asn_array *a, double e) {
    asn_array x, root, inverse;
    ASN_TRY(without_minus_inf(&x, a));
    asn_status status = unary(&root, ASN_OP_SQRT, &x);
    if (status) {
        asn_array_fini(&x);
        return status;
    }
    if (e == 1.5) {
        status = binary(result, ASN_OP_MULTIPLY, &x, &root);
    } else {
        status = unary(&inverse, ASN_OP_RECIPROCAL, &x);
        if (!status) {
            status = binary(result, ASN_OP_DIVIDE, &inverse, &root);
            asn_array_fini(&inverse);
        }
    }
    asn_array_fini(&root);
    asn_array_fini(&x);
    return status;
}

/* 1 everywhere, of NaN too. */
static asn_status zeroth_power(asn_array *result, const asn_array *a) {
    const asn_layout *l = &a->layout;
    asn_operand one = {.scalar = asn_scalar_float(1), .weak = 'f'};
    char order =
        (l->flags & ASN_F_CONTIGUOUS) && !(l->flags & ASN_C_CONTIGUOUS) ? 'F' : 'C';
    ASN_TRY(asn_array_new(result, (asn_dtype)l->dtype, l->ndim, l->shape, order));
    asn_status status = asn_assign(result, &one, ASN_CASTING_UNSAFE, NULL);
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) The cube is x * x * x, the fourth power a square of a square.
 */
asn_status asn_power_simple(asn_array *result, const asn_array *a, double e, bool *done) {
    asn_array first;
    *done = (a->layout.dtype == ASN_F32 || a->layout.dtype == ASN_F64) &&
            (e == 0 || e == 3 || e == 4 || e == -2 || e == 1.5 || e == -1.5);
    if (!*done) return ASN_OK;
    if (e == 0) return zeroth_power(result, a);
    if (e != 3 && e != 4 && e != -2) return half_power(result, a, e);
    ASN_TRY(unary(&first, e == -2 ? ASN_OP_RECIPROCAL : ASN_OP_SQUARE, a));
    asn_status status = e == 3 ? binary(result, ASN_OP_MULTIPLY, &first, a)
                               : unary(result, ASN_OP_SQUARE, &first);
    asn_array_fini(&first);
    return status;
}
