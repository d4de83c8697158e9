/* L2 numpy: the frequencies that the elements of a Fourier transform stand for. */
#ifndef ASN_NUMPY_FREQUENCIES_H
#define ASN_NUMPY_FREQUENCIES_H

#include "graph/array.h"
#include "graph/ufunc/ufunc.h"

/* The integers 0, 1, ... (n - 1) / 2, -(n / 2), ... -1, times `factor`, which is 1 / (n
 * d) for samples d apart; an array of factors broadcasts. VALUE: n is negative. */
ASN_CHECK_RESULT asn_status asn_np_fftfreq(asn_array *result, int64_t n,
                                           const asn_operand *factor);
/* 0, 1, ... n / 2, the half that determines all where the samples are real; rounded down
 * as Python does, so that a negative n gives no elements. */
ASN_CHECK_RESULT asn_status asn_np_rfftfreq(asn_array *result, int64_t n,
                                            const asn_operand *factor);

#endif
