/* CPU device: moving one block between strided memory and a contiguous buffer.
 *
 * Typed loops per element size; the cases that matter are picked out: a constant row, a
 * contiguous row (memcpy), a plain stride. Short rows (a few elements) stay in one doubly
 * nested loop.
 */
#include "device/cpu/gather.h"

#include <string.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* complex64 is 8 bytes long but only 4-byte aligned. */
typedef uint64_t eight __attribute__((aligned(4)));
typedef struct {
    uint64_t a, b;
} wide;

#define T    uint8_t
#define F(n) n##_1
#include "device/cpu/gather.inc"
#define T    uint16_t
#define F(n) n##_2
#include "device/cpu/gather.inc"
#define T    uint32_t
#define F(n) n##_4
#include "device/cpu/gather.inc"
#define T    eight
#define F(n) n##_8
#include "device/cpu/gather.inc"
#define T    wide
#define F(n) n##_16
#include "device/cpu/gather.inc"

void asn_block_gather(void *dst, const char *src, int item, int64_t n0, int64_t s0,
                      int64_t n1, int64_t s1) {
    switch (item) {
    case 1: gather_1(dst, src, n0, s0, n1, s1); break;
    case 2: gather_2(dst, src, n0, s0, n1, s1); break;
    case 4: gather_4(dst, src, n0, s0, n1, s1); break;
    case 8: gather_8(dst, src, n0, s0, n1, s1); break;
    default: gather_16(dst, src, n0, s0, n1, s1); break;
    }
}

void asn_block_scatter(char *dst, const void *src, int item, int64_t n0, int64_t s0,
                       int64_t n1, int64_t s1) {
    switch (item) {
    case 1: scatter_1(dst, src, n0, s0, n1, s1); break;
    case 2: scatter_2(dst, src, n0, s0, n1, s1); break;
    case 4: scatter_4(dst, src, n0, s0, n1, s1); break;
    case 8: scatter_8(dst, src, n0, s0, n1, s1); break;
    default: scatter_16(dst, src, n0, s0, n1, s1); break;
    }
}

void asn_block_splat(void *dst, const void *element, int item, int64_t n) {
    switch (item) {
    case 1: splat_1(dst, element, n); break;
    case 2: splat_2(dst, element, n); break;
    case 4: splat_4(dst, element, n); break;
    case 8: splat_8(dst, element, n); break;
    default: splat_16(dst, element, n); break;
    }
}

void asn_block_stream(char *dst, const char *src, int64_t bytes) {
#if defined(__x86_64__)
    int64_t i = (int64_t)(-(uintptr_t)dst & 63);
    if (bytes >= 256) {
        memcpy(dst, src, (size_t)i);
        for (; i + 64 <= bytes; i += 64)
            for (int k = 0; k < 64; k += 16)
                _mm_stream_si128((__m128i *)(dst + i + k),
                                 _mm_loadu_si128((const __m128i *)(src + i + k)));
        memcpy(dst + i, src + i, (size_t)(bytes - i));
        return;
    }
#endif
    memcpy(dst, src, (size_t)bytes);
}

void asn_block_stream_end(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
