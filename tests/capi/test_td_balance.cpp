// td::balance: partitions from C++, and what is refused. Prints what failed.
#include <numeric>
#include <vector>

#include "td/balance/load_balancer.h"

#include "check.hpp"

using namespace td::balance;

static const Strategy all[] = {Strategy::REGULAR, Strategy::SPARSE, Strategy::ADAPTIVE};

static int64_t rows_of(const Partition &p) {
    return std::accumulate(p.block_sizes.begin(), p.block_sizes.end(), int64_t{0});
}

static void partitions() {
    std::vector<double> work(100);
    for (std::size_t i = 0; i < work.size(); i++)
        work[i] = i < 10 ? 30 : 1;
    for (Strategy strategy : all) {
        Partition p = partition(work, 4, strategy);
        check(rows_of(p) == 100, "all rows");
        check(p.block_sizes.size() == p.core_assignments.size(), "a core for each");
        check((p.load_imbalance < 0.3) == (strategy != Strategy::REGULAR), "measure");
    }
    check(partition(work, 4).block_sizes.size() == 32, "adaptive by default");
    Partition two = partition({9, 1, 1, 1}, 2, Strategy::SPARSE);
    check(two.block_sizes == std::vector<int64_t>({1, 3}), "sizes");
    check(two.core_assignments == std::vector<int32_t>({0, 1}), "cores");
    check(two.load_imbalance == 0.5, "imbalance");
}

static void edges() {
    check(partition({}, 3).block_sizes.empty(), "no rows");
    check(equal_rows(0, 3).block_sizes.empty(), "no equal rows");
    check(equal_rows(2, 5, Strategy::REGULAR).block_sizes.size() == 2, "few rows");
    check(rows_of(equal_rows(int64_t{1} << 40, 3)) == int64_t{1} << 40, "many rows");
}

static void refusals() {
    refuses<InvalidArgument>([] { (void)partition({1, -1}, 2); }, "row 1 is -1");
    refuses<InvalidArgument>([] { (void)equal_rows(-1, 2); }, "work is -1 rows");
    for (int32_t cores : {-1, 0, INT32_MAX})
        refuses<InvalidArgument>([=] { (void)equal_rows(5, cores); }, "cores is ");
    refuses<InvalidArgument>([] { (void)equal_rows(5, 2, static_cast<Strategy>(9)); },
                             "strategy is 9");
}

int main() {
    partitions();
    edges();
    refusals();
    return failures != 0;
}
