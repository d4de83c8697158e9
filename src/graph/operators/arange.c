/* L2 graph: what arange's bindings share (see families.h): NumPy's rules for its length
 * and its second value.
 *
 * NumPy takes arange's length from the start, the stop and the step, and then sees only
 * the first two elements; the rest continue their difference. The length is counted with
 * integers where all are integers, so that it is exact for large ones. */
#include <math.h>

#include "graph/small/direct.h"
#include "graph/operators/families.h"

/* How many integers there are from 0 in steps of `step` before `span`: none where they
 * point in different directions. */
int64_t asn_arange_steps(int64_t span, int64_t step) {
    if ((span < 0) != (step < 0)) return 0;
    /* INT64_MIN / -1 would overflow */
    if (step == -1) return span == INT64_MIN ? INT64_MAX : -span;
    return span / step + (span % step != 0);
}

/* The length for a ratio that was computed in floating point: rounded up, not below 0. */
asn_status asn_arange_count(double ratio, int64_t *n) {
    double count = ceil(ratio);
    /* NaN compares as too large as well */
    if (!(count < 9.2e18))
        return asn_error_set(ASN_ERR_VALUE, count != count
                                                ? "arange: cannot compute length"
                                                : "Maximum allowed size exceeded");
    *n = count > 0 ? (int64_t)count : 0;
    return ASN_OK;
}

/* The difference of the first two elements, in their dtype; computed at once without an
 * array where the host may. */
asn_status asn_arange_delta(const asn_scalar *first, const asn_scalar *second,
                            asn_scalar *step) {
    asn_operand in[2] = {{.scalar = *second}, {.scalar = *first}};
    asn_ufunc_options options = ASN_UFUNC_DEFAULTS;
    asn_array delta;
    if (asn_direct_scalar(ASN_OP_SUBTRACT, in, step)) return ASN_OK;
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, in, NULL, &delta, &options));
    asn_status status = asn_array_get_item(&delta, 0, step);
    asn_array_fini(&delta);
    return status;
}

/* A step that rounds to zero in the dtype repeats the first value. */
asn_status asn_arange_fill(asn_array *result, asn_dtype dtype, const asn_scalar *start,
                           const asn_scalar *step, int64_t n) {
    asn_operand value = {.scalar = *start};
    asn_scalar moving;
    ASN_TRY(asn_scalar_cast(step, ASN_BOOL, &moving));
    return n > 1 && moving.bytes[0] ? asn_arange(result, dtype, start, step, n)
                                    : asn_full(result, dtype, 1, &n, 'C', &value);
}
