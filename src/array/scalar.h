/* L1 array: one element of any dtype, and its conversion on the host. */
#ifndef ASN_ARRAY_SCALAR_H
#define ASN_ARRAY_SCALAR_H

#include "base/dtype.h"
#include "base/status.h"

/* An element by value: its first itemsize bytes count; aligned for every dtype. */
typedef struct {
    uint8_t dtype; /* asn_dtype */
    uint8_t bytes[16] __attribute__((aligned(16)));
} asn_scalar;

/* As a C cast; out-of-range floats as the machine's cast gives them, which is what
 * NumPy's arrays do. */
ASN_CHECK_RESULT asn_status asn_scalar_cast(const asn_scalar *s, asn_dtype dtype,
                                            asn_scalar *out);

/* Scalars of the four Python kinds. */
asn_scalar asn_scalar_bool(bool v);
asn_scalar asn_scalar_int(int64_t v);
asn_scalar asn_scalar_float(double v);

#endif
