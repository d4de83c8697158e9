/* L3 C binding: norms of vectors and matrices (linalg.h). */
#include "capi/capi.h"

#include <math.h>
#include <string.h>

/* In a float dtype. */
static asnp_status inexact(const asnp_array *a, asnp_array **out) {
    NEED(a);
    return asn_is_inexact(asn_capi_type(a)) ? asnp_share(a, out)
                                            : asnp_astype(a, ASNP_FLOAT64, out);
}

/* |x|**2, real. */
static asnp_status squared(const asnp_array *x, asnp_array **out) {
    asnp_array *t[3] = {NULL};
    if (!asn_is_complex(asn_capi_type(x))) return asnp_multiply(x, x, out);
    asnp_status status = asnp_unary("conjugate", x, &t[0]);
    if (!status) status = asnp_multiply(t[0], x, &t[1]);
    if (!status) status = asnp_real(t[1], &t[2]);
    if (!status) status = asnp_copy(t[2], out);
    asn_capi_release(t, 3);
    return status;
}

/* The sum of powers, or the count of nonzero elements. */
static asnp_status summed(const asnp_array *x, double ord, int32_t num_axes,
                          const int32_t *axes, int32_t keepdims, asnp_array **out) {
    asnp_array *t[2] = {NULL};
    asnp_reduce_options options = {num_axes, axes, keepdims, ASNP_DTYPE_NONE, NULL, NULL};
    asnp_status status;
    if (ord == 2) {
        status = squared(x, &t[1]);
    } else if (ord == 0) {
        asn_dtype real = asn_real_dtype(asn_capi_type(x));
        options.dtype = (asnp_dtype)asn_dtype_table[real].acl;
        status = asnp_binary_number("not_equal", x, asnp_int(0), &t[1]);
    } else {
        status = asnp_unary("absolute", x, &t[ord == 1]);
        if (!status && ord != 1)
            status = asnp_binary_number("power", t[0], asnp_float(ord), &t[1]);
    }
    if (!status) status = asnp_reduce("add", t[1], &options, out);
    asn_capi_release(t, 2);
    return status;
}

asnp_status asnp_vector_norm(const asnp_array *a, double ord, int32_t num_axes,
                             const int32_t *axes, int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    asnp_array *t[3] = {NULL};
    const asnp_number zero = asnp_int(0);
    asnp_reduce_options options = {num_axes, axes, keepdims, ASNP_DTYPE_NONE, NULL, NULL};
    NEED(out);
    asnp_status status = inexact(a, &t[0]);
    if (!status && isinf(ord)) {
        status = asnp_unary("absolute", t[0], &t[1]);
        if (ord > 0) options.initial = &zero;
        if (!status)
            status = asnp_reduce(ord > 0 ? "maximum" : "minimum", t[1], &options, out);
    } else if (!status) {
        bool plain = ord == 0 || ord == 1;
        status = summed(t[0], ord, num_axes, axes, keepdims, plain ? out : &t[1]);
        if (!status && ord == 2) status = asnp_unary("sqrt", t[1], out);
        if (!status && !plain && ord != 2)
            status = asnp_binary_number("power", t[1], asnp_float(1 / ord), out);
    }
    asn_capi_release(t, 3);
    return status;
}

/* The extreme of the sums of |x| over one of the two last axes. */
static asnp_status of_sums(const asnp_array *x, int32_t over, bool largest,
                           int32_t keepdims, asnp_array **out) {
    asnp_array *t[2] = {NULL};
    const asnp_number zero = asnp_int(0);
    const int32_t other = over == -2 ? -1 : -2, both[2] = {-2, -1};
    asnp_reduce_options options = ASNP_REDUCE_DEFAULTS;
    options.num_axes = 1;
    options.axes = &other;
    options.keepdims = 1;
    if (largest) options.initial = &zero;
    asnp_array *kept = NULL;
    asnp_status status = asnp_unary("absolute", x, &t[0]);
    if (!status) status = asnp_sum(t[0], 1, &over, 1, &t[1]);
    if (!status)
        status = asnp_reduce(largest ? "maximum" : "minimum", t[1], &options, &kept);
    if (!status)
        status = keepdims ? asnp_share(kept, out) : asnp_squeeze(kept, 2, both, out);
    asnp_release(kept);
    asn_capi_release(t, 2);
    return status;
}

/* By singular values: their sum, the largest or the smallest. */
static asnp_status spectral(const asnp_array *x, const char *ord, int32_t keepdims,
                            asnp_array **out) {
    asnp_array *t[3] = {NULL};
    const int32_t last = -1;
    const asnp_number zero = asnp_int(0);
    bool largest = strcmp(ord, "2") == 0;
    asnp_reduce_options options = ASNP_REDUCE_DEFAULTS;
    options.num_axes = 1;
    options.axes = &last;
    options.keepdims = keepdims;
    if (largest) options.initial = &zero;
    const char *name = largest ? "maximum" : strcmp(ord, "nuc") == 0 ? "add" : "minimum";
    asnp_status status = asnp_svd(x, 0, NULL, &t[0], NULL);
    if (!status) status = asnp_reduce(name, t[0], &options, keepdims ? &t[1] : out);
    if (!status && keepdims) status = asnp_expand_dims(t[1], -1, out);
    asn_capi_release(t, 3);
    return status;
}

asnp_status asnp_matrix_norm(const asnp_array *a, const char *ord, int32_t keepdims,
                             asnp_array **out) {
    IN_LIBRARY;
    static const struct {
        const char *ord;
        int32_t over; /* 0: by singular values */
        bool largest;
    } orders[] = {{"1", -2, true},     {"-1", -2, false}, {"inf", -1, true},
                  {"-inf", -1, false}, {"2", 0, false},   {"-2", 0, false},
                  {"nuc", 0, false}};
    const int32_t both[2] = {-2, -1};
    asnp_array *x = NULL;
    NEED(a);
    NEED(ord);
    NEED(out);
    if (asnp_ndim(a) < 2)
        return asn_error_set(ASN_ERR_LINALG,
                             "matrix_norm: the array has %d dimensions; it must have 2 "
                             "or more",
                             asnp_ndim(a));
    if (strcmp(ord, "fro") == 0) return asnp_vector_norm(a, 2, 2, both, keepdims, out);
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        if (strcmp(orders[i].ord, ord) != 0) continue;
        asnp_status status = inexact(a, &x);
        if (!status)
            status = orders[i].over
                         ? of_sums(x, orders[i].over, orders[i].largest, keepdims, out)
                         : spectral(x, ord, keepdims, out);
        asnp_release(x);
        return status;
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "matrix_norm: ord is '%s'; it may be fro, nuc, 2, -2, 1, -1, "
                         "inf or -inf",
                         ord);
}
