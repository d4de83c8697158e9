/* L2 numpy: partition's positions, descending sorts, searchsorted, bincount (ordering.h).
 *
 * The graph's operators want one dtype for both operands and integers that are there;
 * what NumPy casts, and what it refuses and how, is here, once for both bindings.
 */
#include "numpy/ordering.h"

#include "array/promote.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

asn_status asn_np_kth(int n, int64_t *kth, int64_t extent) {
    for (int i = 0; i < n; i++) {
        kth[i] += kth[i] < 0 ? extent : 0;
        if (kth[i] < 0 || kth[i] >= extent)
            return asn_error_set(ASN_ERR_VALUE, "kth(=%lld) out of bounds (%lld)",
                                 (long long)kth[i], (long long)extent);
    }
    return ASN_OK;
}

/* NumPy's words for an array that is no sequence. */
static asn_status check_line(const asn_array *a) {
    if (a->layout.ndim == 1) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, a->layout.ndim
                                            ? "object too deep for desired array"
                                            : "object of too small depth for desired "
                                              "array");
}

asn_status asn_np_searchsorted(asn_array *result, const asn_array *sorted,
                               const asn_array *values, bool right) {
    ASN_TEMPORARIES;
    const asn_dtype have = asn_layout_dtype(&sorted->layout),
                    wanted = asn_layout_dtype(&values->layout);
    ASN_TRY(check_line(sorted));
    if (have == wanted) return asn_searchsorted(result, sorted, values, right);
    const asn_dtype common = asn_promote(have, wanted);
    ASN_MAKE(line, asn_np_astype(line, sorted, common));
    ASN_MAKE(sought, asn_np_astype(sought, values, common));
    return asn_searchsorted(result, line, sought, right);
}

/* NumPy's error for a cast that loses something. */
static asn_status check_safe(const asn_array *a, asn_dtype to) {
    const asn_dtype from = asn_layout_dtype(&a->layout);
    return asn_can_cast(from, to, ASN_CASTING_SAFE)
               ? ASN_OK
               : asn_error_set(ASN_ERR_TYPE,
                               "Cannot cast array data from dtype('%s') to dtype('%s') "
                               "according to the rule 'safe'",
                               asn_dtype_name(from), asn_dtype_name(to));
}

/* (Contract in ordering.h.) The negative of a float (of both parts of a complex number)
 * and the complement of an integer or a bool turn every order round, but leave NaN where
 * it is; each is its own reverse, and raises no floating-point exception. */
asn_status asn_np_sort_descending(asn_array *result, const asn_array *a, int axis,
                                  bool positions) {
    ASN_TEMPORARIES;
    const asn_op turn =
        asn_is_inexact(asn_layout_dtype(&a->layout)) ? ASN_OP_NEGATIVE : ASN_OP_INVERT;
    ASN_MAKE(turned, asn_np_unary(turned, turn, a));
    if (positions) return asn_argsort(result, turned, axis);
    ASN_MAKE(sorted, asn_sort(sorted, turned, axis, true));
    return asn_np_unary(result, turn, sorted);
}

/* (Contract in ordering.h.) The checks come in NumPy's order. */
asn_status asn_np_bincount(asn_array *result, const asn_array *x,
                           const asn_array *weights, int64_t minlength) {
    ASN_TEMPORARIES;
    const asn_dtype dtype = asn_layout_dtype(&x->layout);
    /* The operator takes narrower integers as they are. NumPy lets uint64 pass, too. */
    if (!asn_is_integer(dtype)) ASN_TRY(check_safe(x, ASN_I64));
    ASN_TRY(check_line(x));
    if (minlength < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "'minlength' must not be negative, but is %lld",
                             (long long)minlength);
    if (weights) {
        ASN_TRY(check_safe(weights, ASN_F64));
        ASN_TRY(check_line(weights));
        if (weights->layout.size != x->layout.size)
            return asn_error_set(ASN_ERR_VALUE,
                                 "The weights and list don't have the same length.");
        if (weights->layout.dtype != ASN_F64) {
            ASN_MAKE(reals, asn_np_astype(reals, weights, ASN_F64));
            weights = reals;
        }
    }
    if (dtype != ASN_U64 && dtype != ASN_BOOL)
        return asn_bincount(result, x, weights, minlength);
    ASN_MAKE(integers, asn_np_astype(integers, x, ASN_I64));
    return asn_bincount(result, integers, weights, minlength);
}
