/* CPU device, private to the fused engine: programs that run again and again.
 *
 * Lowering a program, laying out its iteration space, giving out slots and looking for
 * its machine code take 2 to 4 us, which on a few thousand elements is more than the
 * arithmetic. All of it depends on what the program says and on which operands share
 * their address, not on where they are. So a program that is to run more than once is
 * copied (aclnnxPrepare), and each way it turned out to run is kept with it: a run then
 * takes a look at which operands lie on each other, and the addresses. What depends on
 * more, by the caches it will leave or the rows it copies, is planned at every run.
 */
#ifndef ASN_DEVICE_CPU_FUSED_PREPARED_H
#define ASN_DEVICE_CPU_FUSED_PREPARED_H

#include "device/cpu/fused/fused_elements.h"
#include "device/cpu/fused/fused_reduce.h"

/* A plan and how it is run: `reduction` when it has reductions. */
typedef struct {
    asnd_plan plan;
    union {
        asnd_elements elements;
        asnd_reduction_run reduction;
    };
} asnd_prepared_run;

/* base: of every operand, the element at position 0, or an immediate's bytes. */
ASN_CHECK_RESULT asn_status asn_prepared_run_at(const asnd_prepared_run *run,
                                                char *const *base, uint32_t *fp_flags);

/* Whoever has one holds it. All of these are thread-safe. */
typedef struct aclnnxPrepared asnd_prepared;
/* Checks a program and copies what it says, immediates' bytes and addresses apart. */
ASN_CHECK_RESULT asn_status asn_prepared_new(asnd_prepared **out, const aclnnxProgram *p);
void asn_prepared_hold(asnd_prepared *known);
void asn_prepared_release(asnd_prepared *known); /* or NULL */
const aclnnxProgram *asn_prepared_program(const asnd_prepared *known);

/* Runs it on the operands at these addresses (of an immediate: that of its bytes). */
ASN_CHECK_RESULT asn_status asn_prepared_run_on(asnd_prepared *known,
                                                void *const *addresses,
                                                uint32_t *fp_flags);

/* What a program is planned for, besides itself. */
typedef struct {
    int jit;                            /* asnd_jit_mode */
    bool tracks;                        /* exceptions are wanted */
    uint32_t over[ACLNNX_MAX_OPERANDS]; /* per output: inputs that begin where it does */
} asnd_prepared_case;

/* Keeps a run that was planned and has not begun, unless something in it depends on more
 * than the program and this case, or there is no memory. */
void asn_prepared_keep(asnd_prepared *known, const asnd_prepared_case *of,
                       const asnd_prepared_run *run, const aclnnxProgram *p);

/* Plans a program whose counts were checked and runs it; `known` (or NULL) keeps the
 * plan (fused.c). */
ASN_CHECK_RESULT asn_status asn_fused_plan_and_run(const aclnnxProgram *p,
                                                   asnd_prepared *known,
                                                   const asnd_prepared_case *of);

typedef struct {
    int64_t kept, reused; /* plans, and runs of theirs, since the start */
    int64_t bytes;        /* held now, of programs and plans */
} asnd_prepared_counts;
asnd_prepared_counts asn_prepared_count(void);

#endif
