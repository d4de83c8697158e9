/* CPU device, private to copies: squares of 64-byte rows, transposed, of elements of 1 to
 * 16 bytes: turn_<size> (turn.inc).
 *
 * Bytes and pairs of bytes go by registers of 16 bytes on every machine, whose squares
 * are 16 and 8 rows already; wider elements by the machine's own.
 */
#ifndef ASN_DEVICE_CPU_MOVE_TRANSPOSE_H
#define ASN_DEVICE_CPU_MOVE_TRANSPOSE_H

/* The number of lanes stands in conditions of the preprocessor. */
#if defined(__AVX512F__)
#define OF_4 16
#define OF_8 8
#elif defined(__AVX2__)
#define OF_4 8
#define OF_8 4
#else
#define OF_4 4
#define OF_8 2
#endif

#define TURN    turn_1
#define REAL    uint8_t
#define LANES   16
#define NAME(x) turned_1_##x
#include "device/cpu/move/turn.inc"
#define TURN    turn_2
#define REAL    uint16_t
#define LANES   8
#define NAME(x) turned_2_##x
#include "device/cpu/move/turn.inc"
#define TURN    turn_4
#define REAL    uint32_t
#define LANES   OF_4
#define NAME(x) turned_4_##x
#include "device/cpu/move/turn.inc"
#define TURN    turn_8
#define REAL    uint64_t
#define LANES   OF_8
#define NAME(x) turned_8_##x
#include "device/cpu/move/turn.inc"
#undef OF_4
#undef OF_8

/* Four rows of 16-byte elements. */
static inline void turn_16(const char *from, int64_t stride, char *to, int64_t pitch) {
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 4; x++)
            ((asnd_sixteen *)(to + x * pitch))[y] =
                ((const asnd_sixteen *)(from + y * stride))[x];
}

#endif
