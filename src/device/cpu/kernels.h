/* CPU device: the tables of compiled loops, one per (operation, dtype).
 *
 * tools/gen_kernels.py emits the loops from ops.def, once per instruction set. The
 * baseline's fill every slot that has a loop; those of the best instruction set of this
 * machine override (context.c). A slot is NULL when the row has no loop for the dtype;
 * float16 and bfloat16 only have loops that work on the bits (copy, where, ...): the
 * engine lowers the rest to float32.
 *
 * Loops are contiguous and may not overlap, but dst may be an input exactly when the
 * element sizes are equal. They read and write whole elements at natural alignment.
 */
#ifndef ASN_DEVICE_CPU_KERNELS_H
#define ASN_DEVICE_CPU_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/dtype.h"
#include "device/cpu/context.h"
#include "ops/ops.h"

/* Names of template instances. */
#define ASN_PASTE_(a, b) a##b
#define ASN_PASTE(a, b)  ASN_PASTE_(a, b)

/* dst[i] = op(a[i], b[i], c[i]); inputs the row does not have are ignored. */
typedef void (*asnd_ew_fn)(int64_t n, void *dst, const void *a, const void *b,
                           const void *c);

/* *acc = op(... op(*acc, src[0]) ..., src[n-1]); reassociated only for operations where
 * that does not change the result. */
typedef void (*asnd_fold_fn)(int64_t n, void *acc, const void *src);

/* acc = *acc; for each i: acc = op(acc, src[i]), dst[i] = acc; strides in bytes; *acc
 * receives the last. Strictly left to right; halves round at every step. */
typedef void (*asnd_scan_fn)(int64_t n, void *acc, const void *src, ptrdiff_t src_stride,
                             void *dst, ptrdiff_t dst_stride);

/* sum[0] (and sum[1], the imaginary part) = the sum of up to ASN_SUM_MAX floats, in
 * 64-byte-wide lanes; the order depends on n alone. -0.0 for n = 0. */
typedef void (*asnd_sum_fn)(int64_t n, double sum[2], const void *src);
enum { ASN_SUM_MAX = 4096 };

/* out[0] = the sum of src[i] - middle, out[1] that of their squares, n up to ASN_SUM_MAX.
 */
typedef void (*asnd_spread_fn)(int64_t n, double out[2], const void *src, double middle);

/* dst[i] = exp(src[i] - most), 0 where that is subnormal; *sum their sum. dst may be src.
 */
typedef void (*asnd_soften_fn)(int64_t n, void *dst, const void *src, double most,
                               double *sum);
/* dst[i] = src[i] * factor; dst may be src. */
typedef void (*asnd_times_fn)(int64_t n, void *dst, const void *src, double factor);

/* See slide.inc. */
typedef struct {
    const void *a, *v; /* n and m elements */
    void *out;
    int64_t n, m, first;
} asnd_slide;
/* Outputs from .. to - 1. */
typedef void (*asnd_slide_fn)(const asnd_slide *s, int64_t from, int64_t to);

/* out[r] = the fold of the n elements of row r, rows one after the other; a sum is that
 * of asnd_sum_fn, and n at most ASN_SUM_MAX. n >= 1. Of what may be reassociated. */
typedef void (*asnd_rows_fn)(int64_t rows, int64_t n, void *out, const void *src);

/* acc[i] = op(op(op(op(acc[i], r0[i]), r1[i]), r2[i]), r3[i]), row k `k * pitch` bytes
 * from src; acc overlaps none. */
typedef void (*asnd_onto_fn)(int64_t n, void *acc, const void *src, int64_t pitch);
enum { ASN_ONTO = 4 /* rows */ };

/* A matrix product C = A B; see matmul.inc. Strides are bytes. */
typedef struct {
    int64_t m, n, k;
    int64_t a_row, a_col, b_row, c_row;
} asnd_matmul;
typedef void (*asnd_matmul_fn)(const asnd_matmul *s, const char *a, const char *b,
                               char *c);
typedef void (*asnd_dot_fn)(int64_t n, const char *a, int64_t a_step, const char *b,
                            int64_t b_step, char *c);

/* A matrix of contiguous rows and a vector; see gemv.inc. */
typedef void (*asnd_gemv_dots_fn)(int64_t rows, int64_t n, const char *x, int64_t x_row,
                                  const char *v, char *out, int64_t out_step, bool adds);
typedef void (*asnd_gemv_sums_fn)(int64_t rows, int64_t n, const char *x, int64_t x_row,
                                  const char *v, int64_t v_step, char *out);
enum { ASN_GEMV_SUMS = 8 /* rows at once */ };

/* The extreme element of a row of memory; see arg.inc. */
typedef struct {
    void (*line)(const char *p, int64_t stride, int64_t first, int64_t n, void *best,
                 int64_t *at);
    int64_t (*find)(const char *p, int64_t n, const void *best);
    void (*first)(const char *p, void *best);
    bool (*beats)(const void *a, const void *b);
    void (*stack)(const char *p, int64_t stride, int64_t row_stride, int64_t rows,
                  int64_t n, void *best, int64_t *at);
    /* many rows of contiguous elements; NULL for some dtypes */
    void (*rows)(const char *p, int64_t pitch, int64_t rows, int64_t n, char *at,
                 int64_t at_pitch);
} asnd_arg_loops;

typedef struct asnd_kernels {
    asnd_ew_fn ew[ASN_OP_COUNT][ASN_DTYPE_COUNT];
    asnd_ew_fn half[ASN_OP_COUNT][2]; /* F16, BF16: with the conversions (half.c) */
    asnd_ew_fn cast[ASN_DTYPE_COUNT]
                   [ASN_DTYPE_COUNT]; /* [from][to]; b and c are ignored */
    asnd_fold_fn fold[ASN_OP_COUNT][ASN_DTYPE_COUNT];
    asnd_onto_fn onto[ASN_OP_COUNT][ASN_DTYPE_COUNT]; /* NULL for most */
    asnd_scan_fn scan[ASN_OP_COUNT][ASN_DTYPE_COUNT];
    asnd_sum_fn sum[ASN_DTYPE_COUNT];       /* float32, float64, complex */
    asnd_spread_fn spread[ASN_DTYPE_COUNT]; /* float32, float64, and the next two */
    asnd_soften_fn soften[ASN_DTYPE_COUNT];
    asnd_times_fn times[ASN_DTYPE_COUNT];
    asnd_slide_fn slide[ASN_DTYPE_COUNT];             /* integers, float32, float64 */
    asnd_rows_fn rows[ASN_OP_COUNT][ASN_DTYPE_COUNT]; /* NULL for some */
    asnd_ew_fn
        round_half[ASN_DTYPE_COUNT]; /* [F16], [BF16]: float32 rounded through the half */
    asnd_matmul_fn matmul[ASN_DTYPE_COUNT]; /* not of halves */
    asnd_dot_fn dot[ASN_DTYPE_COUNT];
    asnd_dot_fn vdot[ASN_DTYPE_COUNT]; /* complex: the first vector conjugated */
    asnd_gemv_dots_fn
        gemv_dots[ASN_DTYPE_COUNT]; /* floats (halves: or NULL), and the next */
    asnd_gemv_sums_fn gemv_sums[ASN_DTYPE_COUNT];
    asnd_arg_loops arg[2][ASN_DTYPE_COUNT]; /* [0]: largest, [1]: smallest */
    uint8_t cost[ASN_OP_COUNT];             /* of one element, in tenths of ns */
    /* its floating-point flags mean nothing (comparisons of NaN) */
    bool quiet[ASN_OP_COUNT][ASN_DTYPE_COUNT];
} asnd_kernels;

static inline const asnd_kernels *asn_kernels_get(void) {
    return asn_context_get()->kernels;
}
/* Whether a scan may go through the elementwise loop, one element at a time: there is one
 * and it maps (T, T) to T. */
static inline bool asn_kernels_steps(asn_op op, asn_dtype dtype) {
    return (unsigned)op < ASN_OP_COUNT && asn_op_table[op].num_in == 2 &&
           asn_kernels_get()->ew[op][dtype] && asn_op_operand(op, 0, dtype) == dtype &&
           asn_op_operand(op, 1, dtype) == dtype && asn_op_result(op, dtype) == dtype;
}
/* The float32 loop of `op` over halves: dst and src are theirs. */
void asn_half_loop(asn_op op, asn_dtype half, int64_t n, void *dst,
                   const void *const *src);

/* Whether a conversion tells of a condition. One of float16 to a wider float raises
 * "invalid" for signaling NaNs alone, which it quietens; NumPy's keeps them and raises
 * nothing: what computes with the NaN then does. */
static inline bool asn_cast_widens_half(asn_dtype from, asn_dtype to) {
    return from == ASN_F16 && asn_is_inexact(to) && !asn_is_half(to);
}
static inline bool asn_cast_raises(asn_dtype from, asn_dtype to) {
    return from != to && (asn_is_inexact(from) || asn_is_half(to)) &&
           !asn_cast_widens_half(from, to);
}

#endif
