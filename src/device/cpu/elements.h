/* CPU device: loops that move elements of any dtype, one per element size.
 *
 * A body in an include file that uses T (the element) and F (the names) becomes five
 * functions: define EACH_SIZE as the file and include each_size.inc.
 * ASN_BY_SIZE(name, item) is the one for elements of `item` bytes; all five must have one
 * type.
 */
#ifndef ASN_DEVICE_CPU_ELEMENTS_H
#define ASN_DEVICE_CPU_ELEMENTS_H

#include <stdint.h>

/* complex64 is 8 bytes long but only 4-byte aligned. */
typedef uint64_t asn_eight __attribute__((aligned(4)));
typedef struct {
    uint64_t a, b;
} asnd_sixteen;

#define ASN_BY_SIZE(name, item)                                                          \
    (((__typeof__(&name##_1) const[]){name##_1, name##_2, name##_4, name##_8,            \
                                      name##_16})[__builtin_ctz((unsigned)(item))])

#endif
