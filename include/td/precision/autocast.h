/* td::precision: products of float32 in narrower dtypes, in C++17. Everything here is
 * inline over the C binding (asnumpy/precision.h): -ltd_mm, another name of libasnumpy,
 * is all that is linked.
 *
 *     {
 *         td::precision::Autocast narrow(ASNP_BFLOAT16);
 *         asnp_matmul(a, b, &c);                   // c is float32
 *     }                                            // as before
 *     td::precision::Decision d = td::precision::decide(weights);
 *
 * Errors are exceptions, with the C library's sentence and status: InvalidArgument,
 * OutOfMemory, Error. Settings are a thread's; any thread may call.
 */
#ifndef TD_PRECISION_AUTOCAST_H_
#define TD_PRECISION_AUTOCAST_H_

#if !defined(__cplusplus) || __cplusplus < 201703L
#error "td/precision/autocast.h is C++17: compile with -std=c++17 or later"
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "asnumpy/error.hpp"

namespace td::precision {

using asnumpy::Error;
using asnumpy::InvalidArgument;
using asnumpy::OutOfMemory;

/* The calling thread's settings while it lives; ended in the opposite order, on the same
 * thread. */
class Autocast {
  public:
    /* bfloat16, float16, int8, or float32: as without. check: float16 only where no
     * element and no sum can be infinite in it. Error: another dtype. */
    explicit Autocast(asnp_dtype dtype, bool check = true)
        : Autocast(asnp_autocast{0, dtype, 0, check ? 0 : 1, 0}) {}
    /* Each product in the dtype that is fastest here within `error`. InvalidArgument: it
     * is not positive and finite. */
    static Autocast automatic(double error = 1e-2) {
        return Autocast(asnp_autocast{error, ASNP_FLOAT32, 1, 0, 0});
    }
    ~Autocast() { (void)asnp_autocast_set(&before_, nullptr); }
    Autocast(const Autocast &) = delete;
    Autocast &operator=(const Autocast &) = delete;

  private:
    explicit Autocast(const asnp_autocast &now) {
        asnumpy::detail::check(asnp_autocast_set(&now, &before_));
    }
    asnp_autocast before_{};
};

/* What a tensor is used in (asnumpy/precision.h). */
enum class Use : int32_t {
    PRODUCT = ASNP_PRECISION_PRODUCT,
    BOUNDED = ASNP_PRECISION_BOUNDED,
    WIDE = ASNP_PRECISION_WIDE
};

/* transposed: the tensor is (..., n, k); for_memory: the narrowest dtype. */
struct Question {
    double error = 1e-2;
    int64_t rows = 128;
    Use use = Use::PRODUCT;
    bool transposed = false, for_memory = false;
};

struct Decision {
    asnp_dtype compute = ASNP_FLOAT32, memory = ASNP_FLOAT32;
    double expected_error = 0, gain = 1;
    std::string reason;
};

/* InvalidArgument: a number out of its range, a shape. Error: the dtype is no float32. */
inline Decision decide(const asnp_array *tensor, const Question &q = {}) {
    const asnp_precision_question asked{
        q.error, q.rows, static_cast<int32_t>(q.use), q.transposed, q.for_memory, 0};
    asnp_precision_decision d{};
    asnumpy::detail::check(asnp_precision_decide(tensor, &asked, &d));
    return {d.compute, d.memory, d.expected_error, d.gain, d.reason};
}

/* What was measured in this process so far. */
inline std::vector<asnp_precision_gain> gains() {
    int64_t count = 0;
    asnumpy::detail::check(asnp_precision_gains(nullptr, 0, &count));
    std::vector<asnp_precision_gain> all(static_cast<std::size_t>(count));
    int64_t now = 0; /* others may measure meanwhile */
    asnumpy::detail::check(asnp_precision_gains(all.data(), count, &now));
    return all;
}

} // namespace td::precision

#endif
