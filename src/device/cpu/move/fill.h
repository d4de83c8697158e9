/* CPU device: a large stretch of memory filled with one element. */
#ifndef ASN_DEVICE_CPU_MOVE_FILL_H
#define ASN_DEVICE_CPU_MOVE_FILL_H

#include <stdbool.h>
#include <stdint.h>

enum { ASN_FILL_BYTES = 1 << 18 }; /* fewer are written as fast by vectors */

/* false: nothing was done; it is short, very long, or vectors are as good. */
bool asn_fill_stretch(void *data, const void *element, int item, int64_t bytes);

#endif
