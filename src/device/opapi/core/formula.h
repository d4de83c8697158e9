/* CPU device, operators: a row's expression as part of a hand-written program
 * (program.h).
 *
 * For operators that do more than write an expression's value to their output: losses
 * that are reduced, gradients that are scaled, halves of a tensor.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_FORMULA_H
#define ASN_DEVICE_OPAPI_CORE_FORMULA_H

#include "device/opapi/core/elementwise.h"
#include "device/opapi/core/program.h"

/* Emits the expression; values[i] is parameter i's value in the program, constants are of
 * dtype t. Returns the result's value. */
int asn_formula_emit(asnd_prog *p, const asnd_ew *ew, const int *values, asn_dtype t);

/* "none" 0, "mean" 1, "sum" 2, and "batchmean" 3 where `most` is 3. */
enum {
    ASN_REDUCTION_NONE,
    ASN_REDUCTION_MEAN,
    ASN_REDUCTION_SUM,
    ASN_REDUCTION_BATCHMEAN
};
ASN_CHECK_RESULT asn_status asn_call_reduction(const asnd_call *c, int i, int most,
                                               int *reduction);
/* The output of a loss that is reduced: one element. */
ASN_CHECK_RESULT asn_status asn_call_one_element(const asnd_call *c, int i);

#endif
