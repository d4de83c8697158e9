/* CPU device, private to the fused engine: programs that were run before, with their plan
 * made.
 *
 * Lowering a program, laying out its iteration space, giving out slots and looking for
 * its machine code take 2 to 4 us, which on a few thousand elements is more than the
 * arithmetic. All of it depends on what the program says and on which operands share
 * their address, not on where they are; so that is the key (asn_program_describe), and a
 * program met again takes a hash, a comparison and the addresses. What does depend on
 * more, by the caches it will leave or the rows it copies, is not kept.
 */
#ifndef ASN_DEVICE_CPU_FUSED_PREPARED_H
#define ASN_DEVICE_CPU_FUSED_PREPARED_H

#include "device/cpu/fused/fused_elements.h"
#include "device/cpu/fused/fused_reduce.h"

/* A plan and how it is run: `reduction` when it has reductions. */
typedef struct {
    asn_plan plan;
    union {
        asn_elements elements;
        asn_reduction_run reduction;
    };
} asn_prepared_run;

enum { ASN_PROGRAM_KEY_WORDS = 480 };
typedef struct {
    int words; /* 0: a program too long to be kept */
    uint64_t hash;
    uint64_t word[ASN_PROGRAM_KEY_WORDS];
} asn_program_key;

/* Everything that a kept plan depends on. After asn_program_check. */
void asn_program_describe(asn_program_key *key, const aclnnxProgram *p);

/* The program of this key, to be released after its run; NULL: it is not kept, or another
 * thread looks. Thread-safe, as all of these are. */
typedef struct asn_prepared asn_prepared;
asn_prepared *asn_prepared_find(const asn_program_key *key);
void asn_prepared_release(asn_prepared *known);

/* A run of its own of a known program, for these addresses and immediates. It borrows the
 * known program's lists. */
void asn_prepared_bind(const asn_prepared *known, asn_prepared_run *run,
                       const aclnnxProgram *p);

/* Copies a run that was prepared and has not begun, when its key is met a second time and
 * nothing in it depends on more than the key. Without memory nothing is kept. */
void asn_prepared_keep(const asn_program_key *key, const asn_prepared_run *run,
                       const aclnnxProgram *p);

typedef struct {
    int64_t found, kept, dropped; /* programs, since the start */
    int64_t bytes;                /* held now */
} asn_prepared_counts;
asn_prepared_counts asn_prepared_count(void);
/* Lets go of all of them; those in use live on until their runs end. */
void asn_prepared_clear(void);

#endif
