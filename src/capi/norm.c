/* L3 C binding: norms of vectors and matrices (linalg.h): arguments for numpy/norms.h,
 * which both bindings share. An order of a matrix comes as text, since C has no value
 * that is a number or a name.
 *
 * The norm of order 2 of all elements has a function of its own, asn_np_norm.
 */
#include "capi/capi.h"

#include "numpy/norms.h"

/* axes NULL: over all elements, as of a vector, whatever the shape. */
asnp_status asnp_vector_norm(const asnp_array *a, double ord, int32_t num_axes,
                             const int32_t *axes, int32_t keepdims, asnp_array **out) {
    IN_LIBRARY;
    asn_reduce_options over = {.keepdims = keepdims != 0};
    asn_array made;
    NEED(a);
    NEED(out);
    if (!axes && ord == 2)
        return asn_capi_wrap(asn_np_norm(&made, &a->array, over.keepdims), &made, out);
    ASN_TRY(asn_capi_axes(num_axes, axes, asn_capi_layout(a)->ndim, &over.axes));
    return asn_capi_wrap(asn_np_vector_norm(&made, &a->array, ord, &over), &made, out);
}

/* Over the last two axes; those before are a stack. */
asnp_status asnp_matrix_norm(const asnp_array *a, const char *ord, int32_t keepdims,
                             asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(ord);
    NEED(out);
    if (asnp_ndim(a) < 2)
        return asn_error_set(ASN_ERR_LINALG,
                             "matrix_norm: the array has %d dimensions; it must have 2 "
                             "or more",
                             asnp_ndim(a));
    asn_np_matrix_order order = asn_np_matrix_order_named(ord);
    if (order == ASN_NORM_COUNT)
        return asn_error_set(ASN_ERR_VALUE,
                             "matrix_norm: ord is '%s'; it may be fro, nuc, 2, -2, 1, "
                             "-1, inf or -inf",
                             ord);
    return asn_capi_wrap(
        asn_np_matrix_norm(&made, &a->array, order, -2, -1, keepdims != 0), &made, out);
}
