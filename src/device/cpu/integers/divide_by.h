/* CPU device: 64-bit integers divided by one number, whose reciprocal is worked out once:
 * q = floor(n / d) is the high half of a product, corrected (Granlund and Montgomery,
 * "Division by invariant integers using multiplication", 1994, figure 4.1: right for all
 * n and d below 2^64). 1.1 ns an element where dividing takes 3 to 10; for operands that
 * a float quotient does not hold (divide_int.inc).
 */
#ifndef ASN_DEVICE_CPU_INTEGERS_DIVIDE_BY_H
#define ASN_DEVICE_CPU_INTEGERS_DIVIDE_BY_H

#include <stdbool.h>
#include <stdint.h>

/* The kinds of divide_int.inc: floor_divide, remainder, fmod. */
enum { ASN_DIVIDE_FLOOR, ASN_DIVIDE_MODULO, ASN_DIVIDE_REST };

/* out[i] of a[i] and b[i], where all of b is one number; false, and nothing is done: it
 * is not, or is 0 or -1, by which a quotient raises exceptions. out may be a or b. */
bool asn_divide_by_i64(int kind, int64_t n, int64_t *out, const int64_t *a,
                       const int64_t *b);
bool asn_divide_by_u64(int kind, int64_t n, uint64_t *out, const uint64_t *a,
                       const uint64_t *b);

#endif
