/* CPU device, operators: single values of any dtype, and result dtypes. */
#ifndef ASN_DEVICE_OPAPI_CORE_VALUE_H
#define ASN_DEVICE_OPAPI_CORE_VALUE_H

#include "base/dtype.h"
#include "base/status.h"

/* dst = (to)src. Integers wrap; a float goes to 64 bits towards zero (NaN to 0, what is
 * below int64 or above uint64 to the nearest), whose low bytes an integer keeps; anything
 * not 0 is true; a complex number loses its imaginary part. */
void asn_value_cast(asn_dtype to, void *dst, asn_dtype from, const void *src);
void asn_value_from_double(asn_dtype to, void *dst, double value);
void asn_value_from_int(asn_dtype to, void *dst, int64_t value);
double asn_value_to_double(asn_dtype from, const void *src);
int64_t asn_value_to_int(asn_dtype from, const void *src);

/* CANN's result dtypes, completed by NumPy's where CANN has none (generated from
 * promotion.json). */
extern const uint8_t asn_promote_tensors[ASN_DTYPE_COUNT][ASN_DTYPE_COUNT];
extern const uint8_t asn_promote_scalar[ASN_DTYPE_COUNT]
                                       [ASN_DTYPE_COUNT]; /* [scalar][tensor] */

#endif
