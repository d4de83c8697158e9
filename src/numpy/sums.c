/* L2 numpy: counts and traces (sums.h).
 *
 * Both are a cheap first step (a comparison, a view) and then add.reduce, which has all
 * of NumPy's rules about accumulation dtypes. Counting adds up the truth values of a
 * comparison with zero rather than looking for positions: the comparison and the sum are
 * one fused pass over large arrays, and nothing is written.
 */
#include "numpy/sums.h"

#include "array/views.h"
#include "graph/small/direct.h"
#include "graph/trace/transient.h"
#include "numpy/elementwise.h"
#include "numpy/temporaries.h"

/* add.reduce, by the way of small arrays where a number is wanted of all axes. */
static asn_status added_up(asn_array *result, asn_scalar *number, const asn_array *a,
                           const asn_array *out, const asn_reduce_options *over) {
    if (number) {
        if (asn_direct_reduce(ASN_OP_ADD, a, number)) return ASN_OK;
        number->dtype = ASN_DTYPE_NONE;
    }
    return asn_ufunc_reduce(ASN_OP_ADD, a, out, result, over);
}

/* (Contract in sums.h.) A bool array is its own comparison. */
asn_status asn_np_count_nonzero(asn_array *result, asn_scalar *number, const asn_array *a,
                                const asn_reduce_options *over) {
    const asn_operand zero = asn_operand_int(0); /* small arrays have loops for such */
    if (a->layout.dtype == ASN_BOOL) return added_up(result, number, a, NULL, over);
    asn_array truth;
    ASN_TRY(asn_np_binary(&truth, ASN_OP_NOT_EQUAL, asn_np_of(a), zero));
    const bool large = truth.layout.size > ASN_DIRECT_ELEMENTS;
    if (large) asn_transient_name(&truth);
    asn_status status = added_up(result, number, &truth, NULL, over);
    if (large) asn_transient_name(NULL);
    asn_array_fini(&truth);
    return status;
}

/* Read-only, as NumPy's has been since 1.9: programs took it for a copy. */
asn_status asn_np_diagonal(asn_layout *view, const asn_layout *l,
                           const asn_np_diagonals *of) {
    int first, second;
    if (l->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "diag requires an array of at least two dimensions");
    ASN_TRY(asn_axis_normalize(of->axis1, l->ndim, &first));
    ASN_TRY(asn_axis_normalize(of->axis2, l->ndim, &second));
    if (first == second)
        return asn_error_set(ASN_ERR_VALUE, "axis1 and axis2 cannot be the same");
    ASN_TRY(asn_view_diagonal(view, l, of->offset, first, second));
    view->flags &= (uint8_t)~ASN_WRITEABLE;
    return ASN_OK;
}

/* A number only where the sum is one and no option changes it: the direct way has the
 * default dtype alone. */
asn_status asn_np_trace(asn_array *result, asn_scalar *number, const asn_array *a,
                        const asn_np_diagonals *of, asn_dtype dtype,
                        const asn_array *out) {
    asn_layout view;
    asn_array diagonals;
    ASN_TRY(asn_np_diagonal(&view, &a->layout, of));
    asn_array_view(&diagonals, a, &view);
    const int last = diagonals.layout.ndim - 1;
    const asn_reduce_options over = {
        .axes = (uint64_t)1 << last, .dtype = dtype, .now = number && last == 0};
    bool plain = last == 0 && dtype == ASN_DTYPE_NONE && !out;
    if (number && !plain) number->dtype = ASN_DTYPE_NONE;
    asn_status status = added_up(result, plain ? number : NULL, &diagonals, out, &over);
    asn_array_fini(&diagonals);
    return status;
}
