// td::sparse: patterns and products by every way from C++ against sums made here, moves,
// what is refused. Run on the device whose launches lag, too. Prints what failed.
#include <cmath>
#include <vector>

#include "td/sparse/sparse_matmul_optimizer.h"

#include "check.hpp"

using namespace td::sparse;
using td::mm::DataType;
using td::mm::MemoryFormat;
using td::mm::MemoryManager;

static MemoryManager &mm = MemoryManager::instance();
static const Strategy all[] = {Strategy::AUTO, Strategy::DIRECT, Strategy::BLOCKED,
                               Strategy::DENSE};
enum { ROWS = 150, COLS = 70, WIDTH = 5 };

// A tensor of host numbers.
template <class T>
static Tensor tensor(const std::vector<T> &x, DataType dtype,
                     std::vector<int64_t> shape) {
    return mm.prepare_tensor(x.data(), {dtype, std::move(shape), MemoryFormat::ND, 64});
}

// Whole numbers, so that sums are exact in any order.
static std::vector<float> numbers(std::size_t n) {
    std::vector<float> x(n);
    for (std::size_t i = 0; i < n; i++)
        x[i] = static_cast<float>(i * 7919 % 13) - 6;
    return x;
}

static const std::vector<float> a = numbers(ROWS * COLS), b = numbers(COLS * WIDTH);

// Whether `got` is the product of those elements of `a` where mask is not 0.
static bool right(const Tensor &got, const std::vector<uint8_t> &mask) {
    std::vector<float> host(ROWS * WIDTH);
    if (got.desc().shape != std::vector<int64_t>({ROWS, WIDTH})) return false;
    mm.copy_to_host(got, host.data(), static_cast<int64_t>(4 * host.size()));
    for (std::size_t i = 0; i < ROWS; i++)
        for (std::size_t n = 0; n < WIDTH; n++) {
            float sum = 0;
            for (std::size_t j = 0; j < COLS; j++)
                if (mask[i * COLS + j]) sum += a[i * COLS + j] * b[j * WIDTH + n];
            if (host[i * WIDTH + n] != sum) return false;
        }
    return true;
}

template <class Test> static std::vector<uint8_t> mask_of(Test test) {
    std::vector<uint8_t> mask(ROWS * COLS);
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < COLS; j++)
            mask[static_cast<std::size_t>(i * COLS + j)] = test(i, j);
    return mask;
}

static void every_way(const SparsePattern &pattern, const std::vector<uint8_t> &mask,
                      const char *what) {
    const Tensor x = tensor(a, DataType::FLOAT32, {ROWS, COLS});
    const Tensor y = tensor(b, DataType::FLOAT32, {COLS, WIDTH});
    for (const Thresholds &t : {Thresholds{}, Thresholds{0, 1, 0.5}, Thresholds{0, 0, 0}})
        for (Strategy strategy : all)
            check(right(SparseMatMulOptimizer(t).matmul(pattern, x, y, strategy), mask),
                  what);
    check(right(SparseMatMulOptimizer().matmul(pattern, x, y), mask), "measured");
}

static void patterns() {
    every_way(SparsePattern::causal(ROWS, COLS),
              mask_of([](int i, int j) { return j <= i; }), "causal");
    every_way(SparsePattern::banded(ROWS, COLS, 5, 2),
              mask_of([](int i, int j) { return j - i <= 2 && i - j <= 5; }), "banded");
    const std::vector<uint8_t> blocks = {1, 0, 0, 1, 1, 0, 0, 0};
    every_way(
        SparsePattern::block(tensor(blocks, DataType::BOOL, {4, 2}), 40, 35, ROWS, COLS),
        mask_of([&](int i, int j) {
            return blocks[static_cast<std::size_t>(i / 40 * 2 + j / 35)] != 0;
        }),
        "blocks");
    const std::vector<uint8_t> mask =
        mask_of([](int i, int j) { return i * j % 3 == 1; });
    every_way(SparsePattern::mask(tensor(mask, DataType::BOOL, {ROWS, COLS})), mask,
              "mask");
}

static void csr() {
    const std::vector<int32_t> indptr = {0, 1, 3}, indices = {2, 0, 1};
    const std::vector<double> data = {4, 1, 2}, y = {1, 10, 100};
    for (Strategy strategy : all) {
        const Tensor out = SparseMatMulOptimizer(Thresholds{})
                               .matmul(tensor(indptr, DataType::INT32, {3}),
                                       tensor(indices, DataType::INT32, {3}),
                                       tensor(data, DataType::FLOAT64, {3}),
                                       tensor(y, DataType::FLOAT64, {3, 1}), strategy);
        double host[2] = {0, 0};
        check(out.desc().dtype == DataType::FLOAT64, "dtype");
        mm.copy_to_host(out, host, sizeof host);
        check(host[0] == 400 && host[1] == 21, "CSR");
    }
}

static void analysis() {
    const SparsePattern p = SparsePattern::causal(100, 100);
    const Analysis found = SparseMatMulOptimizer(Thresholds{}).analyze(p);
    check(found.count == 5050 && found.least_row == 1 && found.most_row == 100, "rows");
    check(found.block_density.size() == 2 && found.filled_blocks == 2, "blocks");
    check(found.density == 0.505 && found.strategy == Strategy::DENSE, "density");
    check(found.why == "dense: density 0.505 is not below 0.3", "why");
    const Thresholds t = Thresholds::measured(), again = Thresholds::measured();
    check(t.direct == again.direct && t.direct <= t.blocked && t.blocked <= 1,
          "measured");
}

static void refusals() {
    SparsePattern p = SparsePattern::causal(ROWS, COLS);
    const Tensor x = tensor(a, DataType::FLOAT32, {ROWS, COLS});
    const SparseMatMulOptimizer usual{Thresholds{}};
    refuses<InvalidArgument>([] { (void)SparsePattern::causal(-1, 2); }, "(-1, 2)");
    refuses<InvalidArgument>([&] { (void)SparsePattern::mask(x); }, "mask is float32");
    refuses<InvalidArgument>([&] { (void)usual.matmul(p, x, x); }, "dimension mismatch");
    refuses<InvalidArgument>(
        [&] { (void)usual.matmul(p, x, x, static_cast<Strategy>(9)); }, "strategy is 9");
    refuses<InvalidArgument>([&] { (void)p.analyze({0.5, 0.1, 0}); }, "direct 0.5");
    SparsePattern moved = std::move(p);
    check(moved.rows() == ROWS && moved.cols() == COLS, "moved");
    refuses<InvalidArgument>([&] { (void)p.handle(); }, "pattern is empty");
    p = std::move(moved);
    check(p.handle() != nullptr, "moved back");
}

int main() {
    patterns();
    csr();
    analysis();
    refusals();
    return failures != 0;
}
