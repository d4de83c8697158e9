/* CPU device, private to products of int8: few rows times a matrix (gemv_int8.c). */
#ifndef ASN_DEVICE_CPU_GEMV_GEMV_INT8_H
#define ASN_DEVICE_CPU_GEMV_GEMV_INT8_H

#include "device/cpu/nd.h"

/* As asn_cpu_matmul_int8, checked, with k > 0 and a result that is not empty. *done
 * false: more rows than pay, or neither the rows nor the columns of b are contiguous;
 * nothing was written then. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_int8_few_rows(const asnd_nd *a, const asnd_nd *b,
                                              const asnd_nd *c, bool *done);

/* Kernels, fields of the context. Sums wrap. add: sums[j] += a[p] b[p * row + j], over p
 * of k and j of n: b's rows. dots: sums[j] += a[p] b[j * column + p]: its columns. */
typedef void (*asnd_int8_line)(int64_t k, const int16_t *a, const char *b, int64_t step,
                               int64_t n, int32_t *sums);
void asn_int8_add_baseline(int64_t k, const int16_t *a, const char *b, int64_t row,
                           int64_t n, int32_t *sums);
void asn_int8_add_avx2(int64_t k, const int16_t *a, const char *b, int64_t row, int64_t n,
                       int32_t *sums);
void asn_int8_dots_baseline(int64_t k, const int16_t *a, const char *b, int64_t column,
                            int64_t n, int32_t *sums);
void asn_int8_dots_avx2(int64_t k, const int16_t *a, const char *b, int64_t column,
                        int64_t n, int32_t *sums);

#endif
