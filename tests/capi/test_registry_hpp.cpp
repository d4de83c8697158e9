// The registry's C++ face: static registration, options, namespaces and ATen's names,
// exceptions that cross C, lifetimes, threads. Prints what failed.
#include <cstdio>
#include <cstring>
#include <thread>

#include "asnumpy/registry.hpp"

#include "check.hpp"

using asnumpy::Array;
using asnumpy::Arrays;
using asnumpy::dispatch_operator;
using asnumpy::For;
using asnumpy::Registration;

static Array full(double value, asnp_dtype dtype = ASNP_FLOAT32, int32_t ndim = 1) {
    const int64_t shape[3] = {3, 3, 3};
    asnp_array *a = nullptr;
    asnumpy::check(asnp_full(dtype, ndim, shape, asnp_float(value), &a));
    return Array(a);
}

static double first(const Array &a) {
    const int64_t at[3] = {0, 0, 0};
    double value = -1;
    asnumpy::check(asnp_get_double(a.get(), at, &value));
    return value;
}

// An implementation whose results are `value`.
static asnumpy::Implementation gives(double value) {
    return [value](const Arrays &) {
        Arrays made;
        made.push_back(full(value));
        return made;
    };
}

static Arrays twice(const Arrays &in) {
    asnp_array *out = nullptr;
    asnumpy::check(asnp_add(in.at(0).get(), in.at(0).get(), &out));
    return asnumpy::results(out);
}
static Arrays both(const Arrays &in) {
    return in;
}

REGISTER_OPERATOR("npu::twice", twice);
REGISTER_OPERATOR("npu::twice", both, For().dtype(ASNP_FLOAT64).priority(3));
REGISTER_OPERATOR("npu::twice", both); // taken
REGISTER_OPERATOR("gpu::twice", twice, For().device("gpu"));

static void static_registrations() {
    check(first(dispatch_operator("npu::twice", {full(4)})[0]) == 8, "twice");
    check(first(dispatch_operator("npu::twice", {full(4, ASNP_FLOAT64)})[0]) == 4,
          "of float64");
    auto said = asnumpy::StaticFailures::list();
    check(said.size() == 2, "two of the four failed");
    check(said[0].find("'npu::twice' is already registered with priority 0 by C++ at ") ==
                  0 ||
              said[0].find("operator 'npu::twice' is already registered") == 0,
          "the first sentence");
    check(said[0].find("test_registry_hpp.cpp:") != std::string::npos, "says where");
    check(said[1].find("the device is 'gpu'") != std::string::npos, "the second");
}

static void levels_and_lifetimes() {
    const Array a = full(1);
    const uint64_t version = asnp_registry_version();
    {
        Registration any("npu::level", gives(1)),
            high("npu::level", gives(2), For().priority(5));
        check(first(dispatch_operator("npu::level", {a})[0]) == 2, "priority");
        Registration dtype("npu::level", gives(3), For().dtype(ASNP_FLOAT32));
        check(first(dispatch_operator("npu::level", {a})[0]) == 3, "dtype");
        check(first(dispatch_operator("npu::level", {full(1, ASNP_FLOAT64)})[0]) == 2,
              "of another dtype");
        check(first(dispatch_operator("npu::level", {full(1, ASNP_FLOAT64)},
                                      {nullptr, ASNP_FLOAT32})[0]) == 3,
              "a dtype in the context");
        Registration there("npu::level", gives(4), For().device("ascend:7"));
        check(first(dispatch_operator("npu::level", {a}, {"ascend:7"})[0]) == 3,
              "a dtype is more specific than a device");
        check(first(dispatch_operator("npu::level", {full(1, ASNP_FLOAT64)},
                                      {"ascend:7"})[0]) == 4,
              "a device in the context");
        check(first(dispatch_operator("npu::level", {})[0]) == 2, "no arrays");
        dtype.remove();
        dtype.remove();
        check(!dtype && first(dispatch_operator("npu::level", {a})[0]) == 2, "removed");
        any = std::move(high); // ends what it was
        check(any && !high, "moved");
        check(first(dispatch_operator("npu::level", {a})[0]) == 2, "the moved one");
        asnumpy::check(asnp_unregister("npu::level", nullptr, ASNP_DTYPE_NONE, 5));
    }
    check(asnp_registry_version() > version, "the version goes up");
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("npu::level", {a}); },
                                      "no operator 'npu::level' is registered");
}

static void errors() {
    const Array a = full(1);
    Registration bad("npu::bad", [](const Arrays &in) -> Arrays {
        switch (in.size()) {
        case 1: throw asnumpy::InvalidArgument(ASNP_ERROR_INDEX, "index 7 of 3");
        case 2: throw std::runtime_error("a standard one");
        case 3: throw std::bad_alloc();
        case 4: throw 5;
        case 5: return {Array()};
        default: return {};
        }
    });
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("npu::bad", {a}); },
                                      "index 7 of 3");
    refuses<asnumpy::DeviceError>([&] { dispatch_operator("npu::bad", {a, a}); },
                                  "a standard one");
    refuses<asnumpy::OutOfMemory>([&] { dispatch_operator("npu::bad", {a, a, a}); }, "");
    refuses<asnumpy::DeviceError>([&] { dispatch_operator("npu::bad", {a, a, a, a}); },
                                  "no std::exception");
    refuses<asnumpy::InvalidArgument>(
        [&] { dispatch_operator("npu::bad", {a, a, a, a, a}); }, "an empty Array");
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("npu::bad", {}); },
                                      "the operator has 0 results; 1 are asked");
    check(dispatch_operator("npu::bad", {}, {nullptr, ASNP_DTYPE_NONE, 0}).empty(),
          "no results");
    refuses<asnumpy::InvalidArgument>(
        [&] { dispatch_operator("npu::bad", {}, {nullptr, ASNP_DTYPE_NONE, -1}); },
        "-1 results");
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("add", {a, Array()}); },
                                      "an argument is NULL");
    refuses<asnumpy::InvalidArgument>(
        [] { Registration("npu::none", asnumpy::Implementation()); },
        "an empty function");
    refuses<asnumpy::DeviceError>([] { Registration("add", twice); },
                                  "by asnumpy (built in)");
}

static void aten_names() {
    const Array a = full(6), b = full(2), m = full(2, ASNP_FLOAT32, 2);
    const struct {
        const char *name;
        double want;
    } known[] = {
        {"aten::add", 8},       {"aten::sub", 4},        {"aten::mul", 12},
        {"aten::div", 3},       {"aten::div.Tensor", 3}, {"aten::pow", 36},
        {"aten::remainder", 0}, {"aten::eq.Tensor", 0},  {"aten::maximum", 6},
        {"aten::subtract", 4},  {"aten::dot", 36},       {"aten::floor_divide", 3}};
    for (const auto &k : known)
        check(first(dispatch_operator(k.name, {a, b})[0]) == (float)k.want, k.name);
    check(first(dispatch_operator("aten::neg", {a})[0]) == -6, "neg");
    check(first(dispatch_operator("aten::mm", {m, m})[0]) == 12, "mm");
    const int64_t none = 0;
    double sum = 0;
    Arrays total = dispatch_operator("aten::sum", {m});
    check(!asnp_get_double(total[0].get(), &none, &sum) && sum == 18, "sum");
    for (const char *name :
         {"aten::add_", "aten::", "aten::no_such", "npu::add", "aten::_"})
        refuses<asnumpy::InvalidArgument>([&] { dispatch_operator(name, {a, b}); },
                                          "no operator");
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("aten::mm", {a, m}); },
                                      "argument 1 has 1 dimensions; it must have 2");
    refuses<asnumpy::InvalidArgument>([&] { dispatch_operator("aten::mm", {m}); },
                                      "has 2 arguments and 1 result; 1 and 1");
    Registration own = asnumpy::register_aten_op("mm", gives(77), 1);
    check(first(dispatch_operator("aten::mm", {m, m})[0]) == 77, "an own mm");
    Registration add("add", gives(5), For().dtype(ASNP_FLOAT32));
    check(first(dispatch_operator("aten::add.Tensor", {a, b})[0]) == 5,
          "what is registered for the ufunc");
    Registration better = asnumpy::register_aten_op("aten::add", gives(6), 9);
    check(first(dispatch_operator("aten::add.Tensor", {a, b})[0]) == 5,
          "a dtype is more specific than a priority");
    refuses<asnumpy::DeviceError>([] { asnumpy::register_aten_op("aten::mm", twice, 0); },
                                  "built in");
}

// In asnp_add's place as long as it is registered; a name that replaces nothing stays
// unregistered.
static void replacing() {
    const Array a = full(4);
    auto sum = [&a] {
        asnp_array *out = nullptr;
        asnumpy::check(asnp_add(a.get(), a.get(), &out));
        return first(Array(out));
    };
    {
        Registration plain("add", gives(7), For().dtype(ASNP_FLOAT32));
        check(sum() == 8, "not asked to replace");
        Registration r("aten::add", gives(5),
                       For().priority(2).dtype(ASNP_FLOAT32).replace());
        check(sum() == 5, "replaced");
        Registration deeper("add", twice,
                            For().device("cpu").dtype(ASNP_FLOAT32).replace());
        check(sum() == 8, "twice reaches the built-in");
    }
    check(sum() == 8, "the built-in again");
    refuses<asnumpy::InvalidArgument>(
        [] { Registration r("npu::mine", gives(5), For().replace()); },
        "'npu::mine' replaces nothing: names of elementwise operations do");
    refuses<asnumpy::InvalidArgument>([&a] { dispatch_operator("npu::mine", {a}); },
                                      "no operator 'npu::mine'");
}

// Threads register, dispatch and remove at the same time.
static void threads() {
    std::vector<std::thread> all;
    for (int k = 0; k < 4; k++)
        all.emplace_back([k] {
            const Array a = full(k);
            const std::string own = "npu::thread" + std::to_string(k);
            for (int round = 0; round < 200; round++) {
                Registration r(own, gives(k)), p(own, gives(k + 10), For().priority(1));
                check(first(dispatch_operator(own, {a})[0]) == k + 10, "a thread's own");
                p.remove();
                check(first(dispatch_operator(own, {a})[0]) == k, "the lower one");
                check(first(dispatch_operator("npu::twice", {a})[0]) == 2 * k, "common");
            }
        });
    for (std::thread &t : all)
        t.join();
}

int main() {
    static_registrations();
    levels_and_lifetimes();
    errors();
    aten_names();
    replacing();
    threads();
    if (failures == 0) std::printf("registry: all as it should be\n");
    return failures != 0;
}
