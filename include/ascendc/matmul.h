/* Ascend C on the CPU: Matmul of the high-level interface.
 *
 * C = A B (+ bias) between tensors in global memory, in row-major order, either of A and
 * B perhaps transposed. On an NPU the object works in tiles of baseM x baseN x baseK;
 * here the tiles of C alone are real, as Iterate gives them one by one, and sums run over
 * all of singleCoreK in float (int32_t for int8_t). A, B and C are the parts that the
 * block was given by operator[]; their rows are as far apart as M, N, Ka and Kb of the
 * tiling say. */
#ifndef ASCENDC_MATMUL_H_
#define ASCENDC_MATMUL_H_

#include <vector>

#include "ascendc/atomic.h"
#include "ascendc/queue.h"
#include "ascendc/vector.h"

/* Row-major; an NPU's own order of blocks (NZ) is not there. */
enum class CubeFormat { ND };

namespace AscendC {
namespace tiling {
/* What a host computes for a kernel: the whole shapes, a block's share, its tiles. The
 * fields that order an NPU's pipeline are not there. */
struct TCubeTiling {
    /* Blocks that are launched. */
    int32_t usedCoreNum = 1;
    /* C is M x N; A has Ka columns, B Kb rows. */
    int32_t M = 0, N = 0, Ka = 0, Kb = 0;
    /* A block's share of each. */
    int32_t singleCoreM = 0, singleCoreN = 0, singleCoreK = 0;
    /* A tile's; baseK is an NPU's affair. */
    int32_t baseM = 0, baseN = 0, baseK = 0;
    /* Whether there is a bias: SetBias says so here. */
    int32_t isBias = 0;
};
} // namespace tiling
using tiling::TCubeTiling;

/* An operand's place, order and element type. */
template <TPosition where, CubeFormat format, typename Type, bool isTransposed = false>
struct MatmulType {
    static_assert(where == TPosition::GM, "Matmul takes tensors in global memory");
    static constexpr bool isTrans = isTransposed;
    using T = Type;
};

/* The product of a block. Init, the operands, then IterateAll, or Iterate and GetTensorC
 * by turns; End, or other operands. */
template <typename A, typename B, typename C, typename Bias = C> class Matmul {
    /* What products are added up in. */
    using Sum = std::conditional_t<std::is_same_v<typename A::T, int8_t>, int32_t, float>;
    static_assert(detail::isAny<typename A::T, half, bfloat16_t, float, int8_t> &&
                      std::is_same_v<typename A::T, typename B::T>,
                  "A and B are both half, bfloat16_t, float or int8_t");
    static_assert(std::is_same_v<Sum, int32_t> == std::is_same_v<typename C::T, int32_t>,
                  "the product of int8_t is int32_t");

  public:
    /* Copies the tiling. */
    void Init(const TCubeTiling *tiling, TPipe * = nullptr) {
        if (tiling == nullptr) detail::Fail("Matmul", "the tiling is NULL");
        t_ = *tiling;
        const int32_t all[] = {t_.M,           t_.N,           t_.Ka,
                               t_.Kb,          t_.singleCoreM, t_.singleCoreN,
                               t_.singleCoreK, t_.baseM,       t_.baseN};
        for (int32_t extent : all)
            if (extent < 1)
                detail::Fail("Matmul",
                             "an extent of %d in the tiling (M %d, N %d, Ka %d)", extent,
                             t_.M, t_.N, t_.Ka);
        SetSingleShape(t_.singleCoreM, t_.singleCoreN, t_.singleCoreK);
        ready_ = true;
    }
    /* The whole shapes, where they are not the tiling's. */
    void SetOrgShape(int m, int n, int k) { SetOrgShape(m, n, k, k); }
    void SetOrgShape(int m, int n, int ka, int kb) {
        t_.M = m;
        t_.N = n;
        t_.Ka = ka;
        t_.Kb = kb;
    }
    /* This block's share, and that of a block at the edge. */
    void SetSingleShape(int m, int n, int k) {
        m_ = m;
        n_ = n;
        k_ = k;
        Restart();
    }
    void SetTail(int m = -1, int n = -1, int k = -1) {
        SetSingleShape(m < 0 ? m_ : m, n < 0 ? n_ : n, k < 0 ? k_ : k);
    }

    /* From the block's first row and column on. */
    void SetTensorA(const GlobalTensor<typename A::T> &a,
                    bool isTransposed = A::isTrans) {
        a_ = a;
        transA_ = isTransposed;
        hasA_ = true;
        Restart();
    }
    void SetTensorB(const GlobalTensor<typename B::T> &b,
                    bool isTransposed = B::isTrans) {
        b_ = b;
        transB_ = isTransposed;
        hasB_ = true;
        Restart();
    }
    /* One row of singleCoreN numbers, added to every row of C. */
    void SetBias(const GlobalTensor<typename Bias::T> &bias) {
        bias_ = bias;
        hasBias_ = true;
    }
    /* From here on there is none. */
    void DisableBias() { hasBias_ = false; }

    /* Computes the next tile; false: there was none left. Tiles go along M first. */
    template <bool sync = true> bool Iterate(bool enPartialSum = false) {
        if (enPartialSum) detail::Fail("Iterate", "partial sums are not there");
        Check("Iterate");
        if (tile_ >= Tiles(m_, t_.baseM) * Tiles(n_, t_.baseN)) return false;
        row_ = tile_ % Tiles(m_, t_.baseM) * t_.baseM;
        column_ = tile_ / Tiles(m_, t_.baseM) * t_.baseN;
        tile_++;
        Product();
        return true;
    }
    /* Stores the tile that Iterate computed in its place in C. */
    template <bool sync = true>
    void GetTensorC(const GlobalTensor<typename C::T> &c, uint8_t enAtomic = 0) {
        if (enAtomic > 3)
            detail::Fail("GetTensorC",
                         "enAtomic is %d; it may be 0 to 3 (none, add, max, min)",
                         enAtomic);
        const auto how = enAtomic ? static_cast<detail::Atomic>(enAtomic)
                                  : detail::AtomicNow<typename C::T>("GetTensorC");
        if (sums_.empty()) detail::Fail("GetTensorC", "Iterate comes first");
        uint64_t columns = static_cast<uint64_t>(std::min(t_.baseN, n_ - column_));
        for (uint64_t i = 0; i < sums_.size() / columns; i++) {
            uint64_t at =
                (static_cast<uint64_t>(row_) + i) * static_cast<uint64_t>(t_.N) +
                static_cast<uint64_t>(column_);
            typename C::T *row = c.Access("Matmul: C", at, columns);
            for (uint64_t j = 0; j < columns; j++)
                Put(row + j, static_cast<typename C::T>(sums_[i * columns + j]), how);
        }
    }
    /* Every tile into its place in C. */
    template <bool sync = true>
    void IterateAll(const GlobalTensor<typename C::T> &c, uint8_t enAtomic = 0) {
        while (Iterate())
            GetTensorC(c, enAtomic);
    }
    /* The next Iterate begins again. */
    void End() { Restart(); }

  private:
    /* An element of C: written, or added to what lies there. */
    static void Put(typename C::T *at, typename C::T value, detail::Atomic how) {
        if (how == detail::Atomic::NONE)
            *at = value;
        else
            detail::Accumulate("GetTensorC", how, reinterpret_cast<char *>(at), value);
    }
    /* How many tiles of `base` an extent has. */
    static int Tiles(int extent, int base) { return (extent + base - 1) / base; }
    void Restart() {
        tile_ = 0;
        sums_.clear();
    }
    /* Everything that a product needs is there. */
    void Check(const char *operation) const {
        if (!ready_)
            detail::Fail(operation, "the object has no tiling (REGIST_MATMUL_OBJ, Init)");
        if (!hasA_ || !hasB_)
            detail::Fail(operation, "SetTensorA and SetTensorB come first");
        if (m_ < 1 || n_ < 1 || k_ < 1)
            detail::Fail(operation, "a share of %d x %d x %d; each must be at least 1",
                         m_, n_, k_);
    }

    /* Rows row_ ... of A times columns column_ ... of B; one row of sums at a time. */
    void Product() {
        const uint64_t rows = static_cast<uint64_t>(std::min(t_.baseM, m_ - row_));
        const uint64_t columns = static_cast<uint64_t>(std::min(t_.baseN, n_ - column_));
        const uint64_t i0 = static_cast<uint64_t>(row_),
                       j0 = static_cast<uint64_t>(column_);
        const uint64_t depth = static_cast<uint64_t>(k_);
        /* From row to row of what lies in memory. */
        const uint64_t lda = static_cast<uint64_t>(transA_ ? t_.M : t_.Ka);
        const uint64_t ldb = static_cast<uint64_t>(transB_ ? t_.Kb : t_.N);
        sums_.assign(rows * columns, Sum(0));
        for (uint64_t i = 0; i < rows; i++) {
            Sum *sums = sums_.data() + i * columns;
            for (uint64_t k = 0; k < depth; k++) {
                uint64_t at = transA_ ? k * lda + i0 + i : (i0 + i) * lda + k;
                Sum x = static_cast<Sum>(*a_.Access("Matmul: A", at, 1));
                AddRow(sums, x, k, j0, columns, ldb);
            }
            if (!hasBias_) continue;
            const typename Bias::T *bias = bias_.Access("Matmul: bias", j0, columns);
            for (uint64_t j = 0; j < columns; j++)
                sums[j] += static_cast<Sum>(bias[j]);
        }
    }
    /* sums += x * row k of B. */
    void AddRow(Sum *sums, Sum x, uint64_t k, uint64_t j0, uint64_t columns,
                uint64_t ldb) const {
        if (!transB_) {
            const typename B::T *row = b_.Access("Matmul: B", k * ldb + j0, columns);
            for (uint64_t j = 0; j < columns; j++)
                sums[j] += x * static_cast<Sum>(row[j]);
            return;
        }
        for (uint64_t j = 0; j < columns; j++)
            sums[j] +=
                x * static_cast<Sum>(*b_.Access("Matmul: B", (j0 + j) * ldb + k, 1));
    }

    /* row_, column_: where the tile of sums_ begins in C; tile_: how many there were. */
    TCubeTiling t_;
    GlobalTensor<typename A::T> a_;
    GlobalTensor<typename B::T> b_;
    GlobalTensor<typename Bias::T> bias_;
    bool transA_ = A::isTrans, transB_ = B::isTrans;
    bool ready_ = false, hasA_ = false, hasB_ = false, hasBias_ = false;
    int m_ = 0, n_ = 0, k_ = 0, row_ = 0, column_ = 0, tile_ = 0;
    std::vector<Sum> sums_; /* of the tile that Iterate computed */
};

/* The memory that an NPU's matrix unit works with beside the kernel's: none here. */
__aicore__ inline GM_ADDR GetSysWorkSpacePtr() {
    return nullptr;
}
} // namespace AscendC

namespace matmul = AscendC;
using AscendC::tiling::TCubeTiling;

/* Makes an object ready for a tiling; pipe and workspace are an NPU's affair. */
#define REGIST_MATMUL_OBJ(pipe, workspace, object, tiling)                               \
    (static_cast<void>(workspace), (object).Init(tiling, pipe))
#endif
