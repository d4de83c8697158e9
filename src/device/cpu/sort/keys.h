/* CPU device, private to sorting: order-preserving unsigned keys.
 *
 * Every dtype is sorted as unsigned integers whose order is NumPy's order of the values:
 * signed integers and floats have their sign turned round, all NaN become the largest
 * key, -0.0 the key of 0.0 (they are equal; in a plain sort of values they keep their
 * bits, so that none is lost). A complex number is the pair of its parts' keys; where a
 * part is NaN the upper half is a code above all numbers' (for im, re, both, in this
 * order) and the lower half the key of the part that is a number. A descending order is
 * the complement of the keys, so sorting stays stable. Widths: 16 bits (8-bit dtypes
 * too), 32, 64 (complex64 too), 128 (complex128).
 *
 * A key_sorter is what the drivers call; one exists per width (sort_keys.c).
 */
#ifndef ASN_DEVICE_CPU_SORT_KEYS_H
#define ASN_DEVICE_CPU_SORT_KEYS_H

#include "device/cpu/nd.h"

enum {
    ASN_KEYS_DESCENDING = 1,
    ASN_KEYS_EXACT = 2 /* -0.0 before 0.0, to keep every bit */
};

int asn_key_bytes(asn_dtype dt); /* 2, 4, 8 or 16 */

/* Keys of n elements from strided memory, and back. stride: bytes between elements; keys
 * may be the elements themselves where both are equally long and contiguous. Decoding
 * with the same flags gives the elements back, but for -0.0 (unless EXACT) and NaN, whose
 * bits become one and the same. */
void asn_keys_encode(asn_dtype dt, void *keys, const char *src, int64_t stride, int64_t n,
                     int flags);
void asn_keys_decode(asn_dtype dt, char *dst, int64_t stride, const void *keys, int64_t n,
                     int flags);

/* Keys and, where not NULL, the indices that go with them, ascending and stable. The
 * spares are as long; the result is in `keys` and `index`. Runs on the calling thread. */
void asn_keys_sort(int bytes, void *keys, uint32_t *index, void *spare,
                   uint32_t *spare_index, int64_t n);

/* The same in parallel, for one long array; returns where the keys are, in order: `keys`,
 * or `spare` if there is no index. */
void *asn_keys_sort_parallel(int bytes, void *keys, uint32_t *index, void *spare,
                             uint32_t *spare_index, int64_t n);

/* A selection among so few keys sorts them. */
enum { ASN_SORTED_SELECTION = 1024 };

/* Puts the elements at positions kth[0..count) (ascending) of n in their sorted places,
 * smaller ones before, larger ones behind. Few keys are sorted; more are parted
 * around one kth key after the other, keeping their order below, at and above it, so
 * that the result is one and the same on every machine. */
void asn_keys_select(int bytes, void *keys, uint32_t *index, void *spare,
                     uint32_t *spare_index, int64_t n, const int64_t *kth, int count);

/* The kth smallest of n keys of 4 or 8 bytes, which stay as they are; `scratch` is as
 * long. */
uint64_t asn_keys_kth(int bytes, const void *keys, void *scratch, int64_t n, int64_t kth);

/* The positions that a selection of one kth key gives, without moving keys or positions
 * twice; `scratch` is as long as the keys. False, and nothing done: there is no such
 * function for this width, length or processor. */
bool asn_keys_argselect(int bytes, const void *keys, void *scratch, int64_t *to,
                        int64_t n, int64_t kth);

#endif
