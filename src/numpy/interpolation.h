/* L2 numpy: piecewise linear interpolation. */
#ifndef ASN_NUMPY_INTERPOLATION_H
#define ASN_NUMPY_INTERPOLATION_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* What interp takes beside its arrays. */
typedef struct {
    const asn_operand *left, *right; /* NULL: the first and the last value */
    bool periodic;
    double period;
} asn_np_interp_options;

/* At x of the values fp at the points xp; x and xp are of float64, fp of float64 or
 * complex128. VALUE: no points, not as many values, a period of 0. */
ASN_CHECK_RESULT asn_status asn_np_interp(asn_array *result, const asn_array *x,
                                          const asn_array *xp, const asn_array *fp,
                                          const asn_np_interp_options *options);

#endif
