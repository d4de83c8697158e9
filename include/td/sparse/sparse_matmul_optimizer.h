/* td::sparse: sparse times dense by the way that suits the density, in C++17. Everything
 * here is inline over the C functions (asnumpy/sparse.h, which says what the ways are).
 *
 *     td::sparse::SparsePattern seen = td::sparse::SparsePattern::causal(2048, 2048);
 *     td::sparse::SparseMatMulOptimizer optimizer;
 *     std::cout << optimizer.analyze(seen).why << "\n";
 *     td::mm::Tensor out = optimizer.matmul(seen, scores, values);
 *
 * A pattern is moved, not copied; after a move it is empty, and what takes it throws
 * InvalidArgument. Several threads may use one pattern and one optimizer. Errors are
 * memory_manager.h's. */
#ifndef TD_SPARSE_SPARSE_MATMUL_OPTIMIZER_H_
#define TD_SPARSE_SPARSE_MATMUL_OPTIMIZER_H_

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "td/mm/memory_manager.h"

namespace td::sparse {

using mm::InvalidArgument;
using mm::OutOfMemory;
using mm::Tensor;

enum class Strategy : int32_t {
    AUTO = ASNP_SPARSE_AUTO,
    DIRECT = ASNP_SPARSE_DIRECT,
    BLOCKED = ASNP_SPARSE_BLOCKED,
    DENSE = ASNP_SPARSE_DENSE
};

/* Densities: below `direct` direct, below `blocked` in blocks, else dense; blocks of at
 * least `inner` are dense. The customary ones; Thresholds::measured() are this machine's,
 * found at the first call of a process. */
struct Thresholds {
    double direct = 0.10, blocked = 0.30, inner = 0.15;
    static Thresholds measured() {
        asnp_sparse_thresholds t;
        asnumpy::detail::check(asnp_sparse_measured(&t));
        return {t.direct, t.blocked, t.inner};
    }
};

/* As asnp_sparse_analysis; block_density: of each block of 64 rows. */
struct Analysis {
    double density = 0;
    int64_t count = 0, least_row = 0, most_row = 0;
    int64_t filled_blocks = 0, dense_blocks = 0;
    std::vector<double> block_density;
    Strategy strategy = Strategy::DIRECT;
    std::string why;
};

/* Which elements of a matrix count. */
class SparsePattern {
  public:
    /* mask: bool (rows, cols), copied. InvalidArgument: another shape or dtype. */
    static SparsePattern mask(const Tensor &mask) {
        SparsePattern p(extent(mask, 0), extent(mask, 1));
        asnumpy::detail::check(asnp_sparse_pattern_mask(mask.handle(), &p.pattern_));
        return p;
    }
    /* (i, j) where j <= i. InvalidArgument: a negative extent. */
    static SparsePattern causal(int64_t rows, int64_t cols) {
        SparsePattern p(rows, cols);
        asnumpy::detail::check(asnp_sparse_pattern_causal(rows, cols, &p.pattern_));
        return p;
    }
    /* Where -lower <= j - i <= upper. InvalidArgument: a negative extent. */
    static SparsePattern banded(int64_t rows, int64_t cols, int64_t lower,
                                int64_t upper) {
        SparsePattern p(rows, cols);
        asnumpy::detail::check(
            asnp_sparse_pattern_banded(rows, cols, lower, upper, &p.pattern_));
        return p;
    }
    /* Where blocks[i / height, j / width] is true: bool, as many as cover (rows, cols).
     * InvalidArgument: they do not. */
    static SparsePattern block(const Tensor &blocks, int64_t height, int64_t width,
                               int64_t rows, int64_t cols) {
        SparsePattern p(rows, cols);
        asnumpy::detail::check(asnp_sparse_pattern_blocks(blocks.handle(), height, width,
                                                          rows, cols, &p.pattern_));
        return p;
    }
    SparsePattern(SparsePattern &&from) noexcept
        : rows_(from.rows_), cols_(from.cols_),
          pattern_(std::exchange(from.pattern_, nullptr)) {}
    SparsePattern &operator=(SparsePattern &&from) noexcept {
        std::swap(rows_, from.rows_);
        std::swap(cols_, from.cols_);
        std::swap(pattern_, from.pattern_);
        return *this;
    }
    ~SparsePattern() { asnp_sparse_pattern_release(pattern_); }

    int64_t rows() const noexcept { return rows_; }
    int64_t cols() const noexcept { return cols_; }
    /* For the functions of asnumpy/sparse.h; borrowed. InvalidArgument: moved from. */
    const asnp_sparse_pattern *handle() const {
        if (!pattern_)
            asnumpy::detail::raise(ASNP_ERROR_VALUE, "the sparse pattern is empty");
        return pattern_;
    }
    /* What a product would do with these thresholds, and why. InvalidArgument: they are
     * out of range. */
    Analysis analyze(const Thresholds &thresholds) const {
        const asnp_sparse_thresholds t = {thresholds.direct, thresholds.blocked,
                                          thresholds.inner};
        const int64_t blocks =
            rows_ / ASNP_SPARSE_BLOCK_ROWS + (rows_ % ASNP_SPARSE_BLOCK_ROWS != 0);
        Analysis a;
        asnp_sparse_analysis f;
        const asnp_sparse_pattern *p = handle();
        a.block_density.resize(static_cast<std::size_t>(blocks));
        asnumpy::detail::check(
            asnp_sparse_pattern_analyze(p, &t, blocks, a.block_density.data(), &f));
        a.density = f.density;
        a.count = f.count;
        a.least_row = f.least_row;
        a.most_row = f.most_row;
        a.filled_blocks = f.filled_blocks;
        a.dense_blocks = f.dense_blocks;
        a.strategy = static_cast<Strategy>(f.strategy);
        a.why = f.why;
        return a;
    }

  private:
    SparsePattern(int64_t rows, int64_t cols) : rows_(rows), cols_(cols) {}
    /* 0 where there is none: the C function refuses the shape. */
    static int64_t extent(const Tensor &x, std::size_t axis) {
        return axis < x.desc().shape.size() ? x.desc().shape[axis] : 0;
    }

    int64_t rows_ = 0, cols_ = 0;
    asnp_sparse_pattern *pattern_ = nullptr; // owns
};

class SparseMatMulOptimizer {
  public:
    /* With measured thresholds, or given ones, which the first use checks. */
    SparseMatMulOptimizer() : thresholds_(Thresholds::measured()) {}
    explicit SparseMatMulOptimizer(const Thresholds &thresholds)
        : thresholds_(thresholds) {}

    const Thresholds &thresholds() const noexcept { return thresholds_; }
    Analysis analyze(const SparsePattern &pattern) const {
        return pattern.analyze(thresholds_);
    }

    /* Those elements of a (rows, cols) that count, times b (cols, n): a new tensor (rows,
     * n) of the promoted dtype. InvalidArgument: shapes, thresholds, a moved pattern. */
    Tensor matmul(const SparsePattern &pattern, const Tensor &a, const Tensor &b,
                  Strategy strategy = Strategy::AUTO) const {
        return made([&](const asnp_sparse_thresholds *t, asnp_array **out) {
            return asnp_sparse_multiply(pattern.handle(), a.handle(), b.handle(),
                                        static_cast<int32_t>(strategy), t, out);
        });
    }
    /* The same of a matrix in CSR: indptr (rows + 1) and indices int32 or int64, data. */
    Tensor matmul(const Tensor &indptr, const Tensor &indices, const Tensor &data,
                  const Tensor &b, Strategy strategy = Strategy::AUTO) const {
        return made([&](const asnp_sparse_thresholds *t, asnp_array **out) {
            return asnp_sparse_matmul(indptr.handle(), indices.handle(), data.handle(),
                                      b.handle(), static_cast<int32_t>(strategy), t, out);
        });
    }

  private:
    /* The descriptor is there before the array is, so that nothing throws in between. */
    template <class Call> Tensor made(Call call) const {
        const asnp_sparse_thresholds t = {thresholds_.direct, thresholds_.blocked,
                                          thresholds_.inner};
        mm::TensorDesc desc;
        desc.shape.resize(2);
        asnp_array *out = nullptr;
        asnumpy::detail::check(call(&t, &out));
        std::copy_n(asnp_shape(out), 2, desc.shape.begin());
        desc.dtype = static_cast<mm::DataType>(asnp_dtype_of(out));
        return Tensor(out, desc, false);
    }

    Thresholds thresholds_;
};

} // namespace td::sparse

#endif
