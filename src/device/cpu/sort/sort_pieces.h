/* CPU device, private to sorting: plain keys sorted by all threads. */
#ifndef ASN_DEVICE_CPU_SORT_SORT_PIECES_H
#define ASN_DEVICE_CPU_SORT_SORT_PIECES_H

#include "device/cpu/sort/sort_vector.h"

enum { ASN_MOST_PARTS = 16 };

/* n keys of `bytes` = 4 or 8, and as many in `spare`; `parts`: a power of two. Returns
 * `spare`, which holds them in order; `keys` is overwritten. `ns`: on one thread. */
void *asn_sort_pieces(const asnd_sort_loops *loops, int bytes, void *keys, void *spare,
                      int64_t n, int parts, double ns);

#endif
