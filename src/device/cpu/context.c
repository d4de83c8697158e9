/* CPU device: what each instruction set has, and the choice among them (see context.h).
 *
 * A new instruction set is a value of asn_isa (base/cpu.h), a row here, and the sources
 * that the row names, whose names end in the set's (CMakeLists.txt gives those its
 * options). Until it has loops of its own for a family, its row names the baseline's.
 */
#include "device/cpu/context.h"

#include <pthread.h>

#include "base/cpu.h"
#include "device/cpu/fft/fft_plan.h"
#include "device/cpu/gemm/gemm_dot.h"
#include "device/cpu/gemm/gemm_int8.h"
#include "device/cpu/gemv/gemv_int8.h"
#include "device/cpu/gemv/gemv_quant.h"
#include "device/cpu/gemm/gemm_panels.h"
#include "device/cpu/gemm/matmul_small.h"
#include "device/cpu/index/index_lines.h"
#include "device/cpu/integers/divide.h"
#include "device/cpu/integers/gcd.h"
#include "device/cpu/jit/jit_pieces.h"
#include "device/cpu/kernels.h"
#include "device/cpu/linalg/linalg_lanes.h"
#include "device/cpu/loops/casts_avx2.h"
#include "device/cpu/gemv/gemv_half.h"
#include "device/cpu/loops/half_casts.h"
#include "device/cpu/loops/predicates.h"
#include "device/cpu/math/complex_avx2.h"
#include "device/cpu/math/exponents_avx512.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/move/steps.h"
#include "device/cpu/nn/conv_direct.h"
#include "device/cpu/simd/mask_vector.h"
#include "device/cpu/sort/keys_codecs.h"
#include "device/cpu/sort/pick.h"
#include "device/cpu/sort/sort_vector.h"
#include "device/cpu/sparse/sparse.h"

/* Made by tools/gen_kernels.py of ops.def, as far as the build has the set. */
void asn_kernels_generated_baseline(asnd_kernels *k);
void asn_kernels_generated_avx2(asnd_kernels *k);
void asn_kernels_generated_avx512(asnd_kernels *k);

/* There is no machine code where the build could make none. */
#if defined(ASN_JIT)
#define PIECES(name) &name
#else
#define PIECES(name) NULL
#endif

/* NEON, which every processor of aarch64 has: its row is the base with these tables.
 * Casts, quotients and comparisons have loops for AVX2 and AVX-512 alone, as compilers
 * find NEON's instructions; transforms, matrices and what the table generates are the
 * compiler's own vectors. */
#if defined(__aarch64__)
#define NEON(table) table
#else
#define NEON(table) NULL
#endif

static const asnd_context baseline = {
    .name = "baseline",
    .fills = {asn_kernels_generated_baseline, asn_kernels_half_casts,
              NEON(asn_kernels_gcd_neon)},
    .moves = asn_moves_baseline,
    .steps = &asn_steps_baseline,
    .masks = NEON(&asn_mask_neon),
    .index_lines = NULL,
    .codecs = asn_key_codecs,
    .sorts = NEON(&asn_sort_neon),
    .picks = NEON(asn_pick_neon),
    .half_products = NULL,
    .products = NULL,
    .panels_f32 = NULL,
    .panels_f64 = NULL,
    .int8_tile = asn_int8_tile_baseline,
    .int8_weave = asn_int8_weave_baseline,
    .int8_turn = asn_int8_turn_baseline,
    .int8_add = asn_int8_add_baseline,
    .int8_dots = asn_int8_dots_baseline,
    .quant_parts = NULL,
    .quant_dots = NULL,
    .dots = NULL,
    .dots_by_vector = NULL,
    .dots_of_bytes = false,
    .dots_of_bf16 = false,
    .tiles = false,
    .conv_f32 = NULL,
    .conv_f64 = NULL,
    .sparse_f32 = NULL,
    .sparse_f64 = NULL,
    .fft_f32 = &asn_fft_f32_baseline,
    .fft_f64 = &asn_fft_f64_baseline,
    .linalg_f32 = &asn_linalg_f32_baseline,
    .linalg_f64 = &asn_linalg_f64_baseline,
    .pieces = NULL,
    .vector_bytes = 0,
    .prefetches = false,
    .band_lines = 1,
    .past_caches_one = {2, 3},
    .past_caches_several = {2, 3},
};

#if defined(__x86_64__)
static const asnd_context avx2 = {
    .name = "avx2",
    .fills = {asn_kernels_generated_baseline, asn_kernels_generated_avx2,
              asn_kernels_half_casts, asn_kernels_half_casts_avx2, asn_kernels_casts_avx2,
              asn_kernels_complex_avx2, asn_kernels_divide_avx2, asn_kernels_gcd_avx2,
              asn_kernels_gemv_half_avx2, asn_kernels_predicates_avx2},
    .moves = asn_moves_avx2,
    .steps = &asn_steps_baseline,
    .masks = &asn_mask_avx2,
    .index_lines = NULL,
    .codecs = asn_key_codecs_avx2,
    .sorts = &asn_sort_avx2,
    .picks = asn_pick_avx2,
    .half_products = &asn_small_products_avx2,
    .products = &asn_small_products_avx2,
    .panels_f32 = NULL,
    .panels_f64 = NULL,
    .int8_tile = asn_int8_tile_avx2,
    .int8_weave = asn_int8_weave_avx2,
    .int8_turn = asn_int8_turn_avx2,
    .int8_add = asn_int8_add_avx2,
    .int8_dots = asn_int8_dots_avx2,
    .quant_parts = asn_quant_parts_avx2,
    .quant_dots = asn_quant_dots_avx2,
    .dots = NULL,
    .dots_by_vector = NULL,
    .dots_of_bytes = false,
    .dots_of_bf16 = false,
    .tiles = false,
    .conv_f32 = &asn_conv_f32_avx2,
    .conv_f64 = &asn_conv_f64_avx2,
    .sparse_f32 = &asn_sparse_f32_avx2,
    .sparse_f64 = &asn_sparse_f64_avx2,
    .fft_f32 = &asn_fft_f32_avx2,
    .fft_f64 = &asn_fft_f64_avx2,
    .linalg_f32 = &asn_linalg_f32_avx2,
    .linalg_f64 = &asn_linalg_f64_avx2,
    .pieces = PIECES(asn_pieces_avx2),
    .vector_bytes = 32,
    .prefetches = false,
    .band_lines = 1,
    .past_caches_one = {2, 3},
    .past_caches_several = {2, 3},
};

static const asnd_context avx512 = {
    .name = "avx512",
    .fills = {asn_kernels_generated_baseline, asn_kernels_generated_avx2,
              asn_kernels_generated_avx512, asn_kernels_half_casts,
              asn_kernels_half_casts_avx512, asn_kernels_exponents_avx512,
              asn_kernels_divide_avx512, asn_kernels_gcd_avx512,
              asn_kernels_gemv_half_avx512, asn_kernels_predicates_avx512},
    .moves = asn_moves_avx512,
    .steps = &asn_steps_avx512,
    .masks = &asn_mask_avx512,
    .index_lines = &asn_index_lines_avx512,
    .codecs = asn_key_codecs_avx512,
    .sorts = &asn_sort_avx512,
    .picks = asn_pick_avx512,
    .half_products = &asn_small_products_avx2,
    .products = &asn_small_products_avx512,
    .panels_f32 = &asn_panels_f32_avx512,
    .panels_f64 = &asn_panels_f64_avx512,
    .int8_tile = asn_int8_tile_avx2,
    .int8_weave = asn_int8_weave_avx2,
    .int8_turn = asn_int8_turn_avx2,
    .int8_add = asn_int8_add_avx2,
    .int8_dots = asn_int8_dots_avx2,
    .quant_parts = asn_quant_parts_avx2,
    .quant_dots = asn_quant_dots_avx2,
    .dots = asn_gemm_dot_avx512,
    .dots_by_vector = asn_dots_of_bf16_avx512,
    .dots_of_bytes = true, /* with VNNI */
    .dots_of_bf16 = true,  /* with AVX-512 BF16 */
    .tiles = true,         /* with AMX */
    .conv_f32 = &asn_conv_f32_avx512,
    .conv_f64 = &asn_conv_f64_avx512,
    .sparse_f32 = &asn_sparse_f32_avx512,
    .sparse_f64 = &asn_sparse_f64_avx512,
    .fft_f32 = &asn_fft_f32_avx512,
    .fft_f64 = &asn_fft_f64_avx512,
    .linalg_f32 = &asn_linalg_f32_avx512,
    .linalg_f64 = &asn_linalg_f64_avx512,
    .pieces = PIECES(asn_pieces_avx512),
    .vector_bytes = 64,
    .prefetches = true,
    .band_lines = ASN_BAND_LINES,
    .past_caches_one = {3, 8}, /* asn_worth_streaming's */
    .past_caches_several = {1, 3},
};
#endif

static const asnd_context *const rows[] = {
    [ASN_ISA_BASELINE] = &baseline,
#if defined(__x86_64__)
    [ASN_ISA_AVX2] = &avx2,
    [ASN_ISA_AVX512] = &avx512,
#endif
};

const asnd_context *asn_context;
static asnd_context context;
static asnd_kernels kernels;

/* What only some processors of an instruction set have. */
static void leave_out(asnd_context *c) {
#if defined(__x86_64__)
    c->dots_of_bytes = c->dots_of_bytes && __builtin_cpu_supports("avx512vnni");
    c->dots_of_bf16 = c->dots_of_bf16 && __builtin_cpu_supports("avx512bf16");
    if (!c->dots_of_bf16) c->dots_by_vector = NULL;
    c->tiles = c->tiles && __builtin_cpu_supports("amx-int8") &&
               __builtin_cpu_supports("amx-bf16");
#else
    (void)c;
#endif
}

static void set_up(void) {
    context = *rows[asn_cpu_isa()];
    context.highest = rows[asn_cpu_isa_highest()]->name;
    leave_out(&context);
    for (int i = 0; i < ASN_CONTEXT_FILLS && context.fills[i]; i++)
        context.fills[i](&kernels);
    context.kernels = &kernels;
    __atomic_store_n(&asn_context, &context, __ATOMIC_RELEASE);
}

const asnd_context *asn_context_set_up(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
    return &context;
}
