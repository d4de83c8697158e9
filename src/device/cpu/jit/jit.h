/* CPU device: the register-resident JIT, the fused engine's second way to run a block.
 *
 * The steps of a plan become one function of machine code: a loop whose values stay in
 * vector registers from the loads of the operands to the stores of the results. It is put
 * together from pieces made at build time (jit_pieces.h), so that nothing is compiled on
 * the user's machine, and computes the same bits as the steps' own loops, which remain
 * its oracle and take over
 *  - where there are no pieces (another architecture, a row that does not vectorise,
 *    complex numbers) or no executable memory (ASNUMPY_JIT=0 is the same);
 *  - for a block with an element outside the range of a vector function, or that raised a
 *    floating-point exception in a program with such a function: the interpreter then
 *    gives the element to the C library and says which exceptions are the program's.
 *
 * Memory is never writable and executable at once: a program is written to fresh pages,
 * which then become executable and are not written again.
 */
#ifndef ASN_DEVICE_CPU_JIT_JIT_H
#define ASN_DEVICE_CPU_JIT_JIT_H

#include "device/cpu/fused/program.h"

typedef uint32_t (*asnd_jit_fn)(char *const *ptr, int64_t n);

/* An array that the code reads or writes at ptr[pointer], or its one element. */
typedef struct {
    uint16_t pointer;
    uint8_t item; /* bytes of an element, 0: a constant */
    bool stored;
} asnd_jit_array;

typedef struct asnd_jit_code {
    asnd_jit_fn fn;
    int lanes;    /* fn takes whole vectors of so many elements; 1: any number */
    bool repeats; /* an element may be computed twice */
    int num_arrays;
    asnd_jit_array arrays[2 * ACLNNX_MAX_OPERANDS];
    bool sums; /* a reduced value is left as the 64 bytes of lanes that sum.inc ends with
                */
    uint16_t sum;     /* where, if lanes > 1: there is one */
    uint8_t sum_item; /* bytes of an element of it */
    bool checks;      /* asn_jit_run may tell of an element outside */
    bool tried;       /* a program seen once is not compiled yet */
    int32_t users;    /* runs in progress, and the cache */
    size_t size;      /* bytes of the pages that begin at fn */
    uint64_t hash;
    uint32_t key_size;
    unsigned char key[];
} asnd_jit_code;

/* The code for the plan's steps as they are, or NULL; give it back with asn_jit_release.
 * Thread-safe. `work_ns` is what the run will take: a program seen for the first time is
 * only compiled when that is worth it. *settled: the answer will be the same the next
 * time. */
asnd_jit_code *asn_jit_find(const asnd_plan *plan, double work_ns, bool *settled);
/* Whether a block that the plan's code has computed may have to be computed again, by the
 * steps: for an element outside, or to tell whose flags it raised. */
static inline bool asn_plan_checks(const asnd_plan *plan) {
    return plan->code->checks || (plan->track_flags && plan->widens_quietly);
}
/* One more user, who releases it as well; NULL is fine for both. */
void asn_jit_hold(asnd_jit_code *code);
void asn_jit_release(asnd_jit_code *code);

/* Runs n elements of the values at ptr (asnd_run); nonzero: some element was outside a
 * function's range, and the results are to be computed again. */
uint32_t asn_jit_run(const asnd_jit_code *code, char *const *ptr, int64_t n);

/* The same for rows of n elements, of code without sums: from row to row pointer place[m]
 * moves by step[m] bytes. What they are afterwards is unsaid. */
uint32_t asn_jit_run_rows(const asnd_jit_code *code, char **ptr, int64_t n, int64_t rows,
                          int moving, const uint16_t *place, const int64_t *step);

/* ASNUMPY_JIT=0|1|always at start, asn_jit_switch afterwards (for tests; returns what it
 * was). ALWAYS takes every program, of one step or one element too. */
typedef enum { ASN_JIT_OFF, ASN_JIT_ON, ASN_JIT_ALWAYS } asnd_jit_mode;
asnd_jit_mode asn_jit_switch(asnd_jit_mode mode);
asnd_jit_mode asn_jit_now(void);

typedef struct {
    int64_t compiled, found, refused; /* programs */
    int64_t in_turns;                 /* of those compiled: two vectors interleaved */
    double compile_ns;                /* altogether */
} asnd_jit_counts;
asnd_jit_counts asn_jit_count(void);

#endif
