/* CPU device: whole loops of the half floats, for an operation on its own.
 *
 * In a program a half is converted once and rounded after each operation (program.c).
 * An operation alone, which small arrays mostly are, needs no program: this converts a
 * block on the stack, runs the float32 loop and rounds, which gives the same values and
 * exceptions. (float16 sine of ten elements: 480 ns by way of a program.)
 */
#include "base/dtype.h"
#include "device/cpu/kernels.h"

enum { BLOCK = 1024 }; /* four operands of 4 KB stay in L1 */

/* `src` has as many entries as the row has inputs; those of the half's dtype are
 * converted, others (the condition of where, say) read as they are. dst may be one of
 * them exactly where the elements are equally long. */
void asn_half_loop(asn_op op, asn_dtype half, int64_t n, void *dst,
                   const void *const *src) {
    const asnd_kernels *k = asn_kernels_get();
    _Alignas(64) float wide[4][BLOCK];
    asn_dtype result = asn_op_result(op, half);
    int num_in = asn_op_table[op].num_in, item = asn_itemsize(result);
    for (int64_t i = 0; i < n; i += BLOCK) {
        int64_t m = n - i < BLOCK ? n - i : BLOCK;
        const void *at[3] = {wide[0], wide[0], wide[0]};
        for (int s = 0; s < num_in; s++) {
            asn_dtype dtype = asn_op_operand(op, s, half);
            const char *from = (const char *)src[s] + i * asn_itemsize(dtype);
            at[s] = dtype == half ? (const void *)wide[s] : from;
            if (dtype == half) k->cast[half][ASN_F32](m, wide[s], from, NULL, NULL);
        }
        char *to = (char *)dst + i * item;
        k->ew[op][ASN_F32](m, result == half ? (void *)wide[3] : to, at[0], at[1], at[2]);
        if (result == half) k->cast[ASN_F32][half](m, to, wide[3], NULL, NULL);
    }
}
