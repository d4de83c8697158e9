/* td::balance: rows of known costs dealt out to cores, in C++17. Everything here is
 * inline over the C binding (asnumpy/balance.h): -ltd_mm, another name of libasnumpy, is
 * all that is linked.
 *
 *     td::balance::Partition p =
 *         td::balance::partition({9, 1, 1, 1}, 2, td::balance::Strategy::SPARSE);
 *     p.block_sizes;      // {1, 3}
 *     p.core_assignments; // {0, 1}
 *     p.load_imbalance;   // 0.5
 *
 * Errors are exceptions, with the C library's sentence and status: InvalidArgument,
 * OutOfMemory. Any thread may call.
 */
#ifndef TD_BALANCE_LOAD_BALANCER_H_
#define TD_BALANCE_LOAD_BALANCER_H_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "td/balance/load_balancer.h is C++17: compile with -std=c++17 or later"
#endif

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "asnumpy/error.hpp"

namespace td::balance {

using asnumpy::Error;
using asnumpy::InvalidArgument;
using asnumpy::OutOfMemory;

/* What they do: asnumpy/balance.h. */
enum class Strategy : int32_t {
    REGULAR = ASNP_PARTITION_REGULAR,
    SPARSE = ASNP_PARTITION_SPARSE,
    ADAPTIVE = ASNP_PARTITION_ADAPTIVE
};

/* Blocks in the order of the rows, none of them empty, and the core of each; the largest
 * |load - mean| / mean over the loads of all cores. */
struct Partition {
    std::vector<int64_t> block_sizes;
    std::vector<int32_t> core_assignments;
    double load_imbalance = 0;
};

namespace detail {
inline Partition make(int64_t rows, const double *costs, int32_t cores,
                      Strategy strategy) {
    Partition p;
    int64_t most = cores;
    if (strategy == Strategy::ADAPTIVE) most *= ASNP_BLOCKS_PER_CORE;
    if (cores < 1 || cores > ASNP_MOST_CORES) most = 0; /* the call refuses */
    most = std::max<int64_t>(std::min(most, rows), 0);
    p.block_sizes.resize(static_cast<std::size_t>(most));
    p.core_assignments.resize(static_cast<std::size_t>(most));
    int64_t blocks = 0;
    asnumpy::detail::check(asnp_balance_partition(
        rows, costs, cores, static_cast<int32_t>(strategy), most, p.block_sizes.data(),
        p.core_assignments.data(), &blocks, &p.load_imbalance));
    p.block_sizes.resize(static_cast<std::size_t>(blocks));
    p.core_assignments.resize(static_cast<std::size_t>(blocks));
    return p;
}
} // namespace detail

/* Rows of these costs. InvalidArgument: one is negative or not finite, their sum is not,
 * cores is not 1 to ASNP_MOST_CORES. */
inline Partition partition(const std::vector<double> &work, int32_t cores,
                           Strategy strategy = Strategy::ADAPTIVE) {
    static const double none = 0;
    return detail::make(static_cast<int64_t>(work.size()),
                        work.empty() ? &none : work.data(), cores, strategy);
}
/* So many rows that cost the same. InvalidArgument: rows is negative, or as above. */
inline Partition equal_rows(int64_t rows, int32_t cores,
                            Strategy strategy = Strategy::ADAPTIVE) {
    return detail::make(rows, nullptr, cores, strategy);
}

} // namespace td::balance

#endif
