/* CPU device: the triangle of matrices on one side of a diagonal; zero on the other. */
#ifndef ASN_DEVICE_CPU_MOVE_TRIANGLE_H
#define ASN_DEVICE_CPU_MOVE_TRIANGLE_H

#include "device/cpu/nd.h"

/* to: matrices in the last two dimensions, of any strides. Row i keeps `from`'s columns
 * from i + diagonal on (upper) or up to it (lower); the others become 0. Of one dtype and
 * shape; `from` may be `to`, or they share no memory. Rows are shared out among threads.
 */
void asn_cpu_triangle(const asnd_nd *to, const asnd_nd *from, int64_t diagonal,
                      bool upper);

#endif
