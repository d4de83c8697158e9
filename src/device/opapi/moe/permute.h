/* CPU device, operators: what the gradients of permutations share. */
#ifndef ASN_DEVICE_OPAPI_MOE_PERMUTE_H
#define ASN_DEVICE_OPAPI_MOE_PERMUTE_H

#include "device/opapi/core/plan.h"

/* to[row[i]] = grad[token[i]] * weight[i] for i < n (negative rows: left out; of equal
 * ones the last counts); the others of to's rows are 0. weight, of the arithmetic's
 * dtype, may be NULL. */
ASN_CHECK_RESULT asn_status asn_moe_spread(const asnd_nd *grad, const int64_t *token,
                                           const int64_t *row, const void *weight,
                                           int64_t n, const asnd_nd *to, asnd_tmp *tmp);

/* to[i] = a[a_row[i]] . b[b_row[i]]; to is of the arithmetic's dtype and contiguous. A
 * negative row is 0. */
ASN_CHECK_RESULT asn_status asn_moe_dots(const asnd_nd *a, const int64_t *a_row,
                                         const asnd_nd *b, const int64_t *b_row,
                                         int64_t n, const asnd_nd *to, asnd_tmp *tmp);

#endif
