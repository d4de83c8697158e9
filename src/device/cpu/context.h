/* CPU device: the context: what the processor's instruction set has for each family of
 * kernels, and the numbers that engines take from it.
 *
 * One struct of tables and numbers, filled once per process at the first question, after
 * BLIS's cntx_t. context.c has a row per instruction set, in which every field stands; no
 * other file of the device asks which instruction set there is. A NULL says "none": the
 * engine's general loop, which is C for every processor, does the work then. What a table
 * holds is said where its struct is declared.
 */
#ifndef ASN_DEVICE_CPU_CONTEXT_H
#define ASN_DEVICE_CPU_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "device/cpu/nd.h"

struct asnd_kernels;
struct asnd_quant;
struct asnd_quant_parts;
enum {
    ASN_CONTEXT_FILLS = 10,
    ASN_BAND_LINES = 4 /* that bands take, at most */
};

/* parts / of of something, as divisions of integers round. */
typedef struct {
    int parts, of;
} asnd_share;

typedef struct {
    /* The instruction set as ASNUMPY_ISA has it, and the highest that the processor has.
     */
    const char *name, *highest;

    /* Elementwise loops, casts, folds and what else ops.def and the generator give
     * (kernels.h): `fills` put them there one after the other, later ones over earlier
     * ones; NULL ends the list. */
    const struct asnd_kernels *kernels;
    void (*fills[ASN_CONTEXT_FILLS])(struct asnd_kernels *k);

    /* move: strided moves (moves.h), [log2 of an element's bytes]; steps (steps.h). */
    const struct asnd_move_loops *moves;
    const struct asnd_step_loops *steps;

    /* simd, index: masks and bounds (mask_vector.h); lines of rows (index_lines.h). Both
     * may be NULL. */
    const struct asnd_mask_loops *masks;
    const struct asnd_line_loops *index_lines;

    /* sort: keys (keys_codecs.h), [dtype]; sorts (sort_vector.h), or NULL; selection
     * among values (pick.h), [dtype], or NULL. */
    const struct asnd_key_codec *codecs;
    const struct asnd_sort_loops *sorts;
    const struct asnd_pick_loops *picks;

    /* gemm: small products (matmul_small.h) of rows that half a register of AVX-512
     * holds, and of longer ones, both or neither NULL; tiles of float32 and float64
     * (gemm_panels.h), or NULL; a tile and panels of int8 (gemm_int8.h); products by the
     * processor's dot products (gemm_dot.h), those of bfloat16 with one vector, or NULL,
     * and whether it has those of bytes and of bfloat16. */
    const struct asnd_small_products *half_products, *products;
    const struct asnd_panels_kernels *panels_f32, *panels_f64;
    void (*int8_tile)(int64_t pairs, const int16_t *a, const int16_t *panel,
                      int32_t *out);
    void (*int8_weave)(int64_t pairs, int64_t panels, const char *b, int64_t row,
                       int16_t *packed, int64_t step);
    void (*int8_turn)(int64_t sixteens, const char *b, int64_t col, int16_t *panel);
    void (*int8_add)(int64_t k, const int16_t *a, const char *b, int64_t row, int64_t n,
                     int32_t *sums); /* few rows of int8 (gemv_int8.h) */
    void (*int8_dots)(int64_t k, const int16_t *a, const char *b, int64_t column,
                      int64_t n, int32_t *sums);
    bool (*quant_parts)(const struct asnd_quant *q, struct asnd_quant_parts *to);
    void (*quant_dots)(const struct asnd_quant *q, const struct asnd_quant_parts *parts,
                       int64_t first,
                       int64_t end); /* lines of int8 or int4 (gemv_quant.h), or NULL */
    asn_status (*dots)(const asnd_nd *a, const asnd_nd *b, const asnd_nd *t, bool *done);
    void (*dots_by_vector)(int64_t rows, int64_t n, const char *x, int64_t x_row,
                           const uint16_t *v, char *out, int64_t out_step);
    bool dots_of_bytes, dots_of_bf16;
    bool tiles; /* a matrix unit for both (Intel AMX) */

    /* nn: convolution without patches (conv_direct.h), or NULL. */
    const struct asnd_conv_loops *conv_f32, *conv_f64;

    /* sparse: rows of a sparse product (sparse.h), or NULL. */
    const struct asnd_sparse_loops *sparse_f32, *sparse_f64;

    /* fft (fft_plan.h) and linalg (linalg_lanes.h): one line or matrix per lane. */
    const struct asnd_fft_kernels *fft_f32, *fft_f64;
    const struct asnd_linalg_kernels *linalg_f32, *linalg_f64;

    /* jit: machine code of operations on whole vectors (jit_pieces.h), or NULL, and the
     * bytes of a vector. */
    const struct asnd_piece_table *pieces;
    int vector_bytes;

    /* fused: whether short blocks announce the next one's operands (iteration_space.c);
     * lines that a band of rows takes of an operand across (fused_tiles.c); from which
     * share of the last cache on results go past the caches, in a program that reads one
     * array and in one that reads several (store_policy.c). */
    bool prefetches;
    int band_lines;
    asnd_share past_caches_one, past_caches_several;
} asnd_context;

/* Sets the context up and returns it; thread-safe. */
const asnd_context *asn_context_set_up(void) __attribute__((cold));
/* NULL until then. */
extern const asnd_context *asn_context;

static inline const asnd_context *asn_context_get(void) {
    const asnd_context *context = __atomic_load_n(&asn_context, __ATOMIC_ACQUIRE);
    return __builtin_expect(context != NULL, 1) ? context : asn_context_set_up();
}

#endif
