/* L2 numpy: frequencies (frequencies.h).
 *
 * The integers are exact and are multiplied once, as NumPy does it: another order of the
 * same arithmetic (steps of the frequency's own size) would round each element
 * differently. The factor is the caller's, since what 1 / (n d) is for n d = 0 is a rule
 * of its language.
 */
#include "numpy/frequencies.h"

#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/temporaries.h"

/* first, first + 1, ... n of them */
static asn_status counted(asn_array *out, int64_t first, int64_t n) {
    const asn_scalar start = asn_scalar_int(first), one = asn_scalar_int(1);
    return asn_arange(out, ASN_I64, &start, &one, n);
}

asn_status asn_np_fftfreq(asn_array *result, int64_t n, const asn_operand *factor) {
    ASN_TEMPORARIES;
    if (n < 0) return asn_error_set(ASN_ERR_VALUE, "negative dimensions are not allowed");
    ASN_MAKE(front, counted(front, 0, n - n / 2));
    ASN_MAKE(back, counted(back, -(n / 2), n / 2));
    ASN_MAKE(steps, asn_concatenate(2, (const asn_array *[]){front, back}, 0, ASN_I64,
                                    ASN_CASTING_NO, NULL, steps));
    return asn_np_binary(result, ASN_OP_MULTIPLY, asn_np_of(steps), *factor);
}

/* n is the number of samples, of which one more than half are frequencies. */
asn_status asn_np_rfftfreq(asn_array *result, int64_t n, const asn_operand *factor) {
    ASN_TEMPORARIES;
    ASN_MAKE(steps, counted(steps, 0, n < 0 ? 0 : n / 2 + 1));
    return asn_np_binary(result, ASN_OP_MULTIPLY, asn_np_of(steps), *factor);
}
