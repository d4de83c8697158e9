/* L3 C binding: partitions of rows, and how evenly threads share work (balance.h).
 *
 * Partitions are plain arithmetic of the host's and need neither the library's lock nor a
 * device. The name asnp_partition is taken by NumPy's function, which sorts, so that all
 * names here begin with asnp_balance. */
#include "capi/capi.h"

#include "base/balance.h"
#include "graph/device/shares.h"
#include "graph/engine.h"

_Static_assert((int)ASNP_BLOCKS_PER_CORE == (int)ASN_BALANCE_PER_CORE &&
                   (int)ASNP_MOST_CORES == (int)ASN_BALANCE_MOST_CORES &&
                   (int)ASNP_PARTITION_ADAPTIVE == (int)ASN_BALANCE_ADAPTIVE,
               "the header says what the core does");

/* The partition is made whole, whatever the room: its size is known only then. Nothing is
 * written where it fails. A strategy that is no number of the core's is refused there,
 * with the names of those that are. */
asnp_status asnp_balance_partition(int64_t rows, const double *costs, int32_t cores,
                                   int32_t strategy, int64_t room, int64_t *block_sizes,
                                   int32_t *core_assignments, int64_t *num_blocks,
                                   double *load_imbalance) {
    NEED(num_blocks);
    NEED(load_imbalance);
    if (room < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "partition: room is %lld; it may be 0 or more",
                             (long long)room);
    if (room > 0) {
        NEED(block_sizes);
        NEED(core_assignments);
    }
    asn_balance p;
    ASN_TRY(asn_balance_init(&p, rows, costs, cores, (asn_balance_strategy)strategy));
    for (int64_t b = 0; b < p.blocks && b < room; b++) {
        block_sizes[b] = p.ends[b] - (b > 0 ? p.ends[b - 1] : 0);
        core_assignments[b] = p.cores[b];
    }
    *num_blocks = p.blocks;
    *load_imbalance = p.imbalance;
    asn_balance_fini(&p);
    return ASNP_OK;
}

/* Opens the device, whose threads they are. Watchers are counted there, so that parts of
 * a program that know nothing of one another may watch at the same time. */
asnp_status asnp_balance_watch(int32_t on) {
    IN_LIBRARY;
    return asn_shares_watch(on != 0);
}

/* What is recorded runs first, so that it is counted. The core counts nanoseconds;
 * seconds are what this binding gives everywhere (profile.h). */
asnp_status asnp_balance_pool(asnp_pool_times *times, int32_t room, double *busy_seconds,
                              int32_t *num_threads) {
    NEED(times);
    NEED(num_threads);
    if (room < 0)
        return asn_error_set(ASN_ERR_VALUE, "pool: room is %d; it may be 0 or more",
                             (int)room);
    if (room > 0) NEED(busy_seconds);
    ASN_TRY(asn_synchronize());
    IN_LIBRARY;
    asn_shares s;
    ASN_TRY(asn_shares_get(&s));
    *times = (asnp_pool_times){s.times.regions,
                               s.times.chunks,
                               (double)s.times.spanNs * 1e-9,
                               (double)s.times.roomNs * 1e-9,
                               (double)s.times.meanNs * 1e-9,
                               (double)s.times.lostNs * 1e-9};
    *num_threads = (int32_t)s.threads;
    for (int32_t i = 0; i < room && i < *num_threads; i++)
        busy_seconds[i] = (double)s.busy_ns[i] * 1e-9;
    return ASNP_OK;
}
