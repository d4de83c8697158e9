/* L0 base: rows of known costs dealt out to cores.
 *
 * Rows stay in their order: a block is some rows that follow one another, never none, and
 * belongs to one core. Of fewer rows than cores some cores have none, and count as cores
 * with a load of 0.
 *
 *   regular   one block a core, of equally many rows (the first ones have one more)
 *   sparse    one block a core, the largest cost of a block as small as it can be
 *   adaptive  up to ASN_BALANCE_PER_CORE blocks a core, cut as sparse cuts them; the
 *             costliest first, each to the core that has least
 *
 * The measure is max |load - mean| / mean over the cores' loads, 0 where all costs are 0.
 * Sparse and adaptive are the regular partition where that one's is smaller. */
#ifndef ASN_BASE_BALANCE_H
#define ASN_BASE_BALANCE_H

#include <stdint.h>

#include "base/status.h"

enum { ASN_BALANCE_PER_CORE = 8, ASN_BALANCE_MOST_CORES = 1 << 20 };

typedef enum {
    ASN_BALANCE_REGULAR,
    ASN_BALANCE_SPARSE,
    ASN_BALANCE_ADAPTIVE,
    ASN_BALANCE_STRATEGIES
} asn_balance_strategy;

typedef struct {
    int64_t blocks;
    int64_t *ends;  /* owns; block b is rows [ends[b - 1], ends[b]), from 0 on */
    int32_t *cores; /* owns; of each block */
    double imbalance;
} asn_balance;

/* costs: of each row, 0 or more, finite; NULL: all cost 1. VALUE: what was got is out of
 * range, or the costs' sum is; MEMORY. On failure there is nothing to end. */
ASN_CHECK_RESULT asn_status asn_balance_init(asn_balance *out, int64_t rows,
                                             const double *costs, int64_t cores,
                                             asn_balance_strategy strategy);
void asn_balance_fini(asn_balance *p);

/* The cuts of `sparse`, for who has the sums: sums[i] is the cost of the rows before i,
 * rows + 1 of them from 0 on, finite, never descending. Writes the ends of `blocks`
 * blocks, 1 to rows. */
void asn_balance_cut(int64_t rows, const double *sums, int64_t blocks, int64_t *ends);

#endif
