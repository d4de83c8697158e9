/* CPU device, private to copies: the processor's own moves and fills. */
#ifndef ASN_DEVICE_CPU_MOVE_STRING_MOVE_H
#define ASN_DEVICE_CPU_MOVE_STRING_MOVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cpu.h"

/* Where it is faster than vectors: what is moved no longer fits the first cache (Zen 5,
 * GB/s one way, vectors and this: 16 KiB 237, 151; 64 KiB 92, 122; 800 KB 60, 76). */
enum { ASN_STRING_BYTES = 40 << 10 };

/* Whether this processor's moves are fast between these addresses: always, or where both
 * have the same place in a line. */
static inline bool asn_string_moves(const void *dst, const void *src) {
    asn_cpu_moves moves = asn_cpu_moves_get();
    return moves == ASN_MOVES_ANY ||
           (moves == ASN_MOVES_ALIKE && (((uintptr_t)dst ^ (uintptr_t)src) & 63) == 0);
}

/* Callers have asked asn_string_moves (fill.c: asn_cpu_moves_get): on other processors
 * these do nothing. */
static inline void asn_string_move(void *dst, const void *src, int64_t bytes) {
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(dst), "+S"(src), "+c"(bytes) : : "memory");
#else
    (void)dst, (void)src, (void)bytes;
#endif
}

static inline void asn_string_fill_bytes(void *dst, uint8_t byte, int64_t count) {
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(dst), "+c"(count) : "a"(byte) : "memory");
#else
    (void)dst, (void)byte, (void)count;
#endif
}

static inline void asn_string_fill_words(void *dst, uint64_t word, int64_t count) {
#if defined(__x86_64__)
    __asm__ volatile("rep stosq" : "+D"(dst), "+c"(count) : "a"(word) : "memory");
#else
    (void)dst, (void)word, (void)count;
#endif
}

#endif
