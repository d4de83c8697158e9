/* CPU device, the moves of lanes that bring chosen ones
 * first.
 *
 * The tables are made by the preprocessor: no code runs before main, and they are the
 * same for every user. A choice m has bit i set for lane i.
 */
#ifndef ASN_DEVICE_CPU_SIMD_FIRST_LANES_H
#define ASN_DEVICE_CPU_SIMD_FIRST_LANES_H

#include <stdint.h>

/* For every choice m of eight lanes, a bit each, the lanes' numbers, chosen ones first:
 * byte p of entry m is the lane that comes to place p. BEFORE: chosen lanes below i;
 * PLACE: where lane i goes, those not chosen behind all that are, in their order; LANE:
 * its number in the byte of that place. */
#define BEFORE(m, i) __builtin_popcount((m) & ((1u << (i)) - 1))
#define PLACE(m, i)                                                                      \
    ((m) >> (i) & 1 ? BEFORE(m, i) : __builtin_popcount(m) + (i) - BEFORE(m, i))
#define LANE(m, i) ((uint64_t)(i) << 8 * PLACE(m, i))
#define LANES_OF(m)                                                                      \
    (LANE(m, 1) | LANE(m, 2) | LANE(m, 3) | LANE(m, 4) | LANE(m, 5) | LANE(m, 6) |       \
     LANE(m, 7))
#define FOUR(m)    LANES_OF(m), LANES_OF((m) + 1), LANES_OF((m) + 2), LANES_OF((m) + 3)
#define SIXTEEN(m) FOUR(m), FOUR((m) + 4), FOUR((m) + 8), FOUR((m) + 12)
#define MANY(m)    SIXTEEN(m), SIXTEEN((m) + 16), SIXTEEN((m) + 32), SIXTEEN((m) + 48)
/* 256 entries of 8 bytes: 2 KB. */
static const uint64_t first_lanes[256] = {MANY(0u), MANY(64u), MANY(128u), MANY(192u)};

#endif
