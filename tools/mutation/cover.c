/* Which basic blocks ran since the last look: the callback of
 * -fsanitize-coverage=trace-pc.
 *
 * Addresses go into an open hash table; a slot keeps its address for good and a mark that
 * cover_take clears. Threads race only to put the same address into the same slot.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

enum { BITS = 18, SLOTS = 1 << BITS };

static _Atomic uintptr_t address[SLOTS];
static unsigned char marked[SLOTS];

void __sanitizer_cov_trace_pc(void);
size_t cover_take(uintptr_t *out, size_t most);

void __sanitizer_cov_trace_pc(void) {
    uintptr_t pc = (uintptr_t)__builtin_return_address(0);
    size_t at = (size_t)(((uint64_t)pc * 0x9E3779B97F4A7C15u) >> (64 - BITS));
    for (;; at = (at + 1) & (SLOTS - 1)) {
        uintptr_t there = atomic_load_explicit(&address[at], memory_order_relaxed);
        if (!there && atomic_compare_exchange_strong(&address[at], &there, pc))
            there = pc;
        if (there == pc) break;
    }
    marked[at] = 1;
}

/* Writes the addresses that ran since the last call, `most` of them at most; returns how
 * many. */
size_t cover_take(uintptr_t *out, size_t most) {
    size_t n = 0;
    for (size_t at = 0; at < SLOTS; at++) {
        if (!marked[at] || n == most) continue;
        marked[at] = 0;
        out[n++] = atomic_load_explicit(&address[at], memory_order_relaxed);
    }
    return n;
}
