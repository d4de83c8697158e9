/* L2 numpy: matrices of ones along a diagonal (identities.h): zeros, and one assignment
 * to a view of the diagonal. The diagonal's view is read-only by NumPy's rule; here the
 * array is new and nobody else's, so it is made writable again.
 */
#include "numpy/identities.h"

#include "array/views.h"
#include "graph/operators/families.h"

/* Ones on the diagonal, which has elements. */
static asn_status set_ones(const asn_array *a, int64_t k) {
    const asn_operand one = asn_operand_int(1);
    asn_layout along;
    asn_array diagonal;
    ASN_TRY(asn_view_diagonal(&along, &a->layout, k, 0, 1));
    along.flags |= ASN_WRITEABLE;
    asn_array_view(&diagonal, a, &along);
    asn_status status = asn_assign(&diagonal, &one, ASN_CASTING_UNSAFE, NULL);
    asn_array_fini(&diagonal);
    return status;
}

asn_status asn_np_eye(asn_array *out, asn_dtype dtype, int64_t rows, int64_t columns,
                      int64_t k, char order) {
    const asn_operand zero = asn_operand_int(0);
    const int64_t shape[2] = {rows, columns};
    ASN_TRY(asn_full(out, dtype, 2, shape, order, &zero));
    if (k >= columns || k <= -rows) return ASN_OK; /* beyond the corners */
    asn_status status = set_ones(out, k);
    if (status) asn_array_fini(out);
    return status;
}
