/* L1 array: dtype promotion (NumPy 2, NEP 50) and casting rules.
 *
 * A weak operand is a Python scalar: it has a kind but no dtype and gives way to arrays
 * of its kind or a higher one. bfloat16 promotes as float16 does among floats; with
 * float16 it gives float32.
 */
#ifndef ASN_ARRAY_PROMOTE_H
#define ASN_ARRAY_PROMOTE_H

#include "base/dtype.h"
#include "base/status.h"
#include "ops/ops.h"

typedef enum {
    ASN_CASTING_NO,
    ASN_CASTING_EQUIV,
    ASN_CASTING_SAFE,
    ASN_CASTING_SAME_KIND,
    ASN_CASTING_UNSAFE
} asn_casting;
/* "no", "equiv", "safe", "same_kind", "unsafe". */
const char *asn_casting_name(asn_casting casting);

/* What an operand brings to promotion: a dtype, or the kind of a Python scalar. */
typedef struct {
    uint8_t dtype; /* ASN_DTYPE_NONE for a weak operand */
    char
        weak; /* 'b', 'i', 'f', 'c' for Python bool, int, float, complex; 0 for a dtype */
} asn_type;

/* The dtype of two arrays together: commutative. */
asn_dtype asn_promote(asn_dtype a, asn_dtype b);
/* n >= 1; weak-only operands give bool, int64, float64, complex128. */
asn_dtype asn_result_type(int n, const asn_type *types);
/* numpy.can_cast of dtypes. */
bool asn_can_cast(asn_dtype from, asn_dtype to, asn_casting casting);
/* Sets the error of a ufunc of that name without a loop for its operands, in NumPy's
 * words. */
ASN_CHECK_RESULT asn_status asn_error_no_loop(const char *name);

/* The loop dtype of `op` for these operands (num_in of them) into *loop. `dtype` (or
 * ASN_DTYPE_NONE) is a ufunc's dtype= argument. TypeError (NO_LOOP) when the operation
 * does not take such types; CASTING when an operand may not be cast to the loop under
 * `casting`. */
ASN_CHECK_RESULT asn_status asn_op_resolve(asn_op op, const asn_type *types,
                                           asn_dtype dtype, asn_casting casting,
                                           asn_dtype *loop);

#endif
