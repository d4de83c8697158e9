/* CPU device: products of int8 in int32. */
#ifndef ASN_DEVICE_CPU_GEMM_GEMM_INT8_H
#define ASN_DEVICE_CPU_GEMM_GEMM_INT8_H

#include "device/cpu/nd.h"

/* c = a @ b: int8 a and b, int32 c, which wraps (never, where k < 2**17); shapes and
 * strides as in asn_cpu_matmul. Errors: ASN_ERR_VALUE, ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_cpu_matmul_int8(const asnd_nd *a, const asnd_nd *b,
                                                const asnd_nd *c);

/* Private: one tile, ASN_INT8_ROWS rows of a times a panel of ASN_INT8_COLUMNS columns of
 * b, both packed: for each pair of k, a's rows and b's columns of two int16. The sums go
 * to out, row after row. The panel is 32-byte aligned. */
enum { ASN_INT8_ROWS = 6, ASN_INT8_COLUMNS = 16 };
typedef void (*asnd_int8_tile)(int64_t pairs, const int16_t *a, const int16_t *panel,
                               int32_t *out);
void asn_int8_tile_baseline(int64_t pairs, const int16_t *a, const int16_t *panel,
                            int32_t *out);
void asn_int8_tile_avx2(int64_t pairs, const int16_t *a, const int16_t *panel,
                        int32_t *out);

/* Private: whole panels, of pairs of rows of b, widened. weave: of contiguous rows, whose
 * distance is `row` bytes, into `panels` panels that lie `step` elements apart. turn: of
 * contiguous columns, `col` bytes apart, sixteen rows at a time. */
void asn_int8_weave_baseline(int64_t pairs, int64_t panels, const char *b, int64_t row,
                             int16_t *packed, int64_t step);
void asn_int8_weave_avx2(int64_t pairs, int64_t panels, const char *b, int64_t row,
                         int16_t *packed, int64_t step);
void asn_int8_turn_baseline(int64_t sixteens, const char *b, int64_t col, int16_t *panel);
void asn_int8_turn_avx2(int64_t sixteens, const char *b, int64_t col, int16_t *panel);

#endif
