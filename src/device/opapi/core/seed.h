/* CPU device, operators: the seed and the offset of random numbers.
 *
 * They are two integers, or, in the operators that a captured graph repeats, two tensors
 * of one element and an integer that is added to the second: those are read when the
 * operator runs. Equal numbers give equal results either way.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_SEED_H
#define ASN_DEVICE_OPAPI_CORE_SEED_H

#include "device/opapi/core/view.h"

typedef struct {
    uint64_t seed, offset;
    int seed_at, offset_at; /* operands, or -1 */
} asnd_seed;

/* Reads parameters i and i + 1, and i + 2 where they are tensors. */
ASN_CHECK_RESULT asn_status asn_call_seed(const asnd_call *c, int i, asnd_seed *s);
/* The numbers as they are now. */
void asn_exec_seed(const aclOpExecutor *e, const asnd_seed *s, uint64_t *seed,
                   uint64_t *offset);

#endif
