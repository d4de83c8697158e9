/* CPU device: padding by elements of the array itself.
 *
 * Arrays are contiguous: `planes` images of in[0] x in[1] x in[2] elements and of out[0]
 * x out[1] x out[2]; element o of dimension d comes from element from[d][o]. Reflection,
 * replication, wrapping around are tables only.
 */
#ifndef ASN_DEVICE_CPU_NN_PADS_H
#define ASN_DEVICE_CPU_NN_PADS_H

#include "device/cpu/nd.h"

typedef struct {
    int64_t planes, in[3], out[3];
    const int64_t *from[3]; /* borrows; each value in [0, in[d]) */
} asnd_pads;

/* y[o] = x[from[o]], elements of 1, 2, 4, 8 or 16 bytes. */
void asn_pads_take(const asnd_pads *p, int itemsize, const void *x, void *y);

/* The gradient: x = 0, then x[from[o]] += y[o]; float32 or float64, `parts` of them to an
 * element (2: complex). */
void asn_pads_add(const asnd_pads *p, asn_dtype t, int parts, const void *y, void *x);

#endif
