/* CPU device, operators: rows of matrices by their numbers, for mixtures of experts.
 *
 * A token is a row of h elements. Routing moves rows to the experts' order and back; on
 * the way back those of a token are weighed and summed.
 */
#ifndef ASN_DEVICE_OPAPI_MOE_ROWS_H
#define ASN_DEVICE_OPAPI_MOE_ROWS_H

#include "device/opapi/core/packed.h"

/* to[to_at[i]] = from[from_at[i]] for i < n; a list that is NULL counts 0, 1, ... A row
 * from a negative number is of zeros; one to a negative number is left out. No place is
 * given twice (asn_rows_once). Matrices of one dtype and width. ASN_ERR_INDEX for other
 * numbers, before anything is written. */
ASN_CHECK_RESULT asn_status asn_rows_move(const asnd_nd *to, const int64_t *to_at,
                                          const asnd_nd *from, const int64_t *from_at,
                                          int64_t n, asnd_tmp *tmp);

/* Row i of the result is the sum of weight[j] * (from[at[j]] + bias[expert[j]]) for j
 * from start[i] to start[i + 1] - 1, and of plus[0][i] + plus[1][i]. Terms whose `at` is
 * negative are left out. weight (of the arithmetic's dtype), bias and plus may be NULL.
 */
typedef struct {
    const asnd_nd *from, *bias, *plus[2];
    const int64_t *start, *at, *expert;
    const void *weight;
} asnd_rows_sum;

/* In float32, or float64 for float64; rounded once. */
ASN_CHECK_RESULT asn_status asn_rows_sum(const asnd_rows_sum *s, const asnd_nd *to,
                                         asnd_tmp *tmp);

/* 0, step, 2 * step, ... to rows * step: `start` where every row has as many terms. */
ASN_CHECK_RESULT asn_status asn_rows_even(asnd_tmp *tmp, int64_t rows, int64_t step,
                                          int64_t **start);

/* *values: n elements of int64. */
ASN_CHECK_RESULT asn_status asn_rows_ints(asnd_tmp *tmp, int64_t n, int64_t **values);

/* The positions that sort n numbers, equal ones in their order; sorted may be NULL. */
ASN_CHECK_RESULT asn_status asn_rows_order(const int64_t *numbers, int64_t n,
                                           int64_t *order, int64_t *sorted);

/* Which of n numbers comes to each of `rows` places: the last that names it, -1: none
 * (negative ones name no place). What programs scatter is gathered by it: no place is
 * written twice. */
ASN_CHECK_RESULT asn_status asn_rows_last(const int64_t *numbers, int64_t n, int64_t rows,
                                          asnd_tmp *tmp, int64_t **last);

/* Of equal numbers the last stays, the others become -1: asn_rows_move may scatter by
 * them. The time grows with n alone, that of asn_rows_last with the places. *numbers
 * becomes a copy, except where they ascend. */
ASN_CHECK_RESULT asn_status asn_rows_once(const int64_t **numbers, int64_t n,
                                          asnd_tmp *tmp);

/* Writes n numbers to a tensor of n elements. */
ASN_CHECK_RESULT asn_status asn_rows_write(const asnd_nd *to, const int64_t *numbers);

#endif
