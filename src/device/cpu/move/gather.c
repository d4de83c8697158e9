/* CPU device: moving one block between strided memory and a contiguous buffer.
 *
 * Loops per element size and instruction set (moves.inc); the cases that matter are
 * picked out: a constant row, a contiguous one, reversed, every second to fourth element.
 */
#include "device/cpu/move/gather.h"

#define MOVES asn_moves_baseline
#include "device/cpu/move/moves.inc"

void asn_block_gather(void *dst, const char *src, int item, int64_t n0, int64_t s0,
                      int64_t n1, int64_t s1) {
    asn_move_loops_get(item)->gather(dst, src, n0, s0, n1, s1);
}

void asn_block_scatter(char *dst, const void *src, int item, int64_t n0, int64_t s0,
                       int64_t n1, int64_t s1) {
    asn_move_loops_get(item)->scatter(dst, src, n0, s0, n1, s1);
}

void asn_block_splat(void *dst, const void *element, int item, int64_t n) {
    asn_move_loops_get(item)->splat(dst, element, n);
}

void asn_block_copy(void *dst, const void *src, int64_t bytes) {
    asn_move_loops_get(1)->copy(dst, src, bytes);
}

void asn_block_stream(char *dst, const char *src, int64_t bytes) {
    asn_move_loops_get(1)->stream(dst, src, bytes);
}

/* Streaming stores of x86 are not ordered by other stores: sfence makes them visible
 * before what follows. */
void asn_block_stream_end(void) {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}
