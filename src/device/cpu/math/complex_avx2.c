/* CPU device: complex loops with AVX2 that a compiler does not find: it gathers and
 * scatters the parts of pairs (absolute of complex128: 2.9 ns, 1.5 so). With AVX-512 and
 * NEON the loops of scalar_complex.inc, whose bits these give, vectorise as they are.
 */
#include "device/cpu/math/complex_avx2.h"

#if defined(__x86_64__)
#include "device/cpu/math/scalar.h"
#include "device/cpu/simd/number_lanes.h"

#define REAL      double
#define PAIR      asn_c128
#define LANES     4
#define NAME(x)   x##_c128
#define T         f64
#define ONE(name) name
#define B         int64_t
#define EXP_BITS  0x7ff0000000000000
#define FAR_APART 40
#include "device/cpu/math/complex_pairs.inc"
#define REAL      float
#define PAIR      asn_c64
#define LANES     8
#define NAME(x)   x##_c64
#define T         f32
#define ONE(name) name##f
#define B         int32_t
#define EXP_BITS  0x7f800000
#define FAR_APART 18
#include "device/cpu/math/complex_pairs.inc"

void asn_kernels_complex_avx2(asnd_kernels *k) {
    k->ew[ASN_OP_MULTIPLY][ASN_C128] = multiply_c128;
    k->ew[ASN_OP_MULTIPLY][ASN_C64] = multiply_c64;
    k->ew[ASN_OP_SQUARE][ASN_C128] = square_c128;
    k->ew[ASN_OP_SQUARE][ASN_C64] = square_c64;
    k->ew[ASN_OP_CONJUGATE][ASN_C128] = conjugate_c128;
    k->ew[ASN_OP_CONJUGATE][ASN_C64] = conjugate_c64;
    k->ew[ASN_OP_ABSOLUTE][ASN_C128] = absolute_c128;
    k->ew[ASN_OP_ABSOLUTE][ASN_C64] = absolute_c64;
}
#endif
