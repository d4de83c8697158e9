/* AsNumpy in C: rows of known costs dealt out to cores, and how evenly the CPU device's
 * threads share their work. Include asnumpy/asnumpy.h.
 *
 *     const double costs[] = {9, 1, 1, 1};
 *     int64_t sizes[4], blocks;
 *     int32_t cores[4];
 *     double imbalance;
 *     if (asnp_balance_partition(4, costs, 2, ASNP_PARTITION_SPARSE, 4, sizes, cores,
 *                                &blocks, &imbalance))
 *         fprintf(stderr, "%s\n", asnp_message());
 *
 * gives two blocks, of one row and of three. (asnp_partition is numpy.partition, a sort.)
 */
#ifndef ASNUMPY_BALANCE_H_
#define ASNUMPY_BALANCE_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A block is some rows that follow one another, never none.
 * REGULAR: one block a core, of equally many rows (the first ones have one more).
 * SPARSE: one block a core, the largest cost of a block as small as it can be (Pinar and
 * Aykanat 2004, exact bisection).
 * ADAPTIVE: up to ASNP_BLOCKS_PER_CORE blocks a core, cut as SPARSE cuts them, the
 * costliest first, each to the core that has least (Graham 1969). */
enum { ASNP_PARTITION_REGULAR, ASNP_PARTITION_SPARSE, ASNP_PARTITION_ADAPTIVE };
enum { ASNP_BLOCKS_PER_CORE = 8, ASNP_MOST_CORES = 1 << 20 };

/* Deals out `rows` rows to cores 0 to `cores` - 1. costs: float64, of each row; NULL: all
 * cost the same. Rows in block b, and the block's core, are written for the first `room`
 * blocks (either may be NULL when room is 0); *num_blocks receives how many there are: at
 * most `rows`, and `cores` or, ADAPTIVE, ASNP_BLOCKS_PER_CORE times as many.
 * *load_imbalance: max |load - mean| / mean over the loads of all cores, idle ones with
 * 0; 0 where all costs are 0. SPARSE and ADAPTIVE are REGULAR where that one's is
 * smaller. VALUE: rows or room is negative, a cost is negative or not finite, or their
 * sum is not; cores is not 1 to ASNP_MOST_CORES; another strategy. MEMORY. */
ASNUMPY_API asnp_status asnp_balance_partition(int64_t rows, const double *costs,
                                               int32_t cores, int32_t strategy,
                                               int64_t room, int64_t *block_sizes,
                                               int32_t *core_assignments,
                                               int64_t *num_blocks,
                                               double *load_imbalance);

/* Sums over regions of work that several threads shared, while anybody watched: how many,
 * in how many chunks; their time; that time times their threads; the mean of what the
 * threads of each computed, and the largest |busy - mean|. lost_seconds / mean_seconds is
 * the imbalance, all busy time / offered_seconds the utilisation. A thread whose core
 * another program takes is busy. */
typedef struct {
    int64_t regions, chunks;
    double seconds, offered_seconds, mean_seconds, lost_seconds;
} asnp_pool_times;

/* on: begins to watch, else ends; watchers are counted. RUNTIME: there is no device. */
ASNUMPY_API asnp_status asnp_balance_watch(int32_t on);
/* The sums since the process began, of which callers take differences, behind everything
 * recorded. busy_seconds: of each thread, first all callers', then the workers', `room`
 * at most (NULL when room is 0); *num_threads receives how many there are (0 workers: no
 * region was shared yet). On an NPU: of the host's CPU device. VALUE: room is negative.
 */
ASNUMPY_API asnp_status asnp_balance_pool(asnp_pool_times *times, int32_t room,
                                          double *busy_seconds, int32_t *num_threads);

#ifdef __cplusplus
}
#endif
#endif
