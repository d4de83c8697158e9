/* CPU device, private to the fused engine: prepared programs found by what they say.
 *
 * Who runs a program again holds it (prepared.h). Operators of CANN's cannot: each call
 * describes its own anew. Theirs are found here, which takes a tenth of a microsecond
 * where planning takes two or more.
 */
#ifndef ASN_DEVICE_CPU_FUSED_PREPARED_TABLE_H
#define ASN_DEVICE_CPU_FUSED_PREPARED_TABLE_H

#include "device/cpu/fused/prepared.h"

/* The program that says the same, held for the caller; NULL: it did not come before, or
 * another thread looks. After asn_program_check. Thread-safe, as all of these are. */
asnd_prepared *asn_prepared_find(const aclnnxProgram *p);

typedef struct {
    int64_t found, kept, dropped; /* programs, since the start */
} asnd_prepared_table_counts;
asnd_prepared_table_counts asn_prepared_table_count(void);
/* Lets go of all of them. */
void asn_prepared_clear(void);

#endif
