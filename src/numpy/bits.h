/* L2 numpy: booleans as the bits of bytes, and back. */
#ifndef ASN_NUMPY_BITS_H
#define ASN_NUMPY_BITS_H

#include "graph/array.h"

/* How booleans and bits correspond. */
typedef struct {
    bool flat; /* of all elements, whatever the axis */
    int64_t axis;
    bool little;  /* the first bit is a byte's lowest */
    bool counted; /* unpackbits: so many bits, or where negative all but so many */
    int64_t count;
} asn_np_bits;

/* TYPE: no booleans or integers; AXIS. */
ASN_CHECK_RESULT asn_status asn_np_packbits(asn_array *result, const asn_array *a,
                                            const asn_np_bits *bits);
/* TYPE: not uint8; VALUE: a count that leaves less than nothing; AXIS. */
ASN_CHECK_RESULT asn_status asn_np_unpackbits(asn_array *result, const asn_array *a,
                                              const asn_np_bits *bits);

#endif
