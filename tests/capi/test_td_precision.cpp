// td::precision: settings that end with their object, decisions, and what is refused.
// Prints what failed.
#include <cmath>
#include <thread>
#include <vector>

#include "td/precision/autocast.h"

#include "check.hpp"

using namespace td::precision;

// A float32 array of one value.
struct Array {
    asnp_array *handle = nullptr;
    explicit Array(std::vector<int64_t> shape, float value,
                   asnp_dtype dtype = ASNP_FLOAT32) {
        asnumpy::detail::check(asnp_full(dtype, static_cast<int32_t>(shape.size()),
                                         shape.data(), asnp_float(value), &handle));
    }
    ~Array() { asnp_release(handle); }
};

static float product(const Array &a, const Array &b) {
    asnp_array *c = nullptr;
    float out[4];
    asnumpy::detail::check(asnp_matmul(a.handle, b.handle, &c));
    check(asnp_dtype_of(c) == ASNP_FLOAT32, "float32");
    asnumpy::detail::check(asnp_to_host(c, out, sizeof out));
    asnp_release(c);
    return out[0];
}

static void settings() {
    const Array a({2, 2}, 1.001f), one({2, 2}, 1);
    const float plain = product(a, one);
    check(std::fabs(plain - 2.002f) < 1e-6f, "float32's");
    {
        Autocast narrow(ASNP_BFLOAT16);
        check(product(a, one) == 2, "bfloat16's");
        {
            Autocast wide(ASNP_FLOAT32);
            check(product(a, one) == plain, "inside");
        }
        std::thread([&] { check(product(a, one) == plain, "another thread's"); }).join();
        check(product(a, one) == 2, "again");
        Autocast all = Autocast::automatic(1e-9);
        check(product(a, one) == plain, "a bound that none keeps");
    }
    check(product(a, one) == plain, "after");
    const Array big({2, 2}, 70000);
    Autocast half(ASNP_FLOAT16);
    check(product(big, one) == 140000, "out of float16's range");
    Autocast loose(ASNP_FLOAT16, false);
    check(std::isinf(product(big, one)), "not looked at");
}

static void decisions() {
    const Array w({32, 16}, 0.5f);
    Question q;
    q.error = 0.1;
    q.for_memory = true;
    Decision d = decide(w.handle, q);
    check(d.memory == ASNP_INT8 && d.expected_error <= 0.1, "memory");
    check(d.compute == ASNP_INT8 ? d.gain >= 1.2 : d.gain == 1, "gain");
    q.use = Use::WIDE;
    check(decide(w.handle, q).memory == ASNP_FLOAT32, "wide");
    check(gains().size() == 3 && gains()[0].m == 128, "gains");
}

static void refusals() {
    const Array w({2, 2}, 1), whole({2, 2}, 1, ASNP_INT32);
    refuses<InvalidArgument>([] { (void)Autocast::automatic(-1); }, "error is -1");
    refuses<Error>([] { Autocast no(ASNP_INT32); }, "dtype is int32");
    refuses<Error>([&] { (void)decide(whole.handle); }, "dtype is int32");
    Question q;
    q.rows = 0;
    refuses<InvalidArgument>([&] { (void)decide(w.handle, q); }, "rows 0");
    q.use = static_cast<Use>(7);
    refuses<InvalidArgument>([&] { (void)decide(w.handle, q); }, "kind is 7");
}

int main() {
    settings();
    decisions();
    refusals();
    return failures != 0;
}
