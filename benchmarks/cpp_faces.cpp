// What the C++ faces cost: allocation, dispatch, alignment, and the share of copies that
// is hidden behind computing. Run by cpp_faces.py; prints "name value unit" a line.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include <acl/acl.h>

#include "asnumpy/registry.hpp"
#include "td/mm/memory_manager.h"

using asnumpy::Array;
using asnumpy::Arrays;
using namespace td::mm;

static double now() {
    using clock = std::chrono::steady_clock;
    return std::chrono::duration<double>(clock::now().time_since_epoch()).count();
}

static bool quick; // each work once: does it run?

// The least of `repeats` means of `count` calls, in seconds.
template <class Work> static double least(int repeats, int count, Work work) {
    double best = 1e9;
    if (quick) repeats = count = 1;
    for (int r = 0; r < repeats; r++) {
        double start = now();
        for (int i = 0; i < count; i++)
            work();
        best = std::min(best, (now() - start) / count);
    }
    return best;
}

static void say(const char *name, double value, const char *unit) {
    std::printf("%-44s %10.3f %s\n", name, value, unit);
}

static TensorDesc floats(int64_t n, int64_t alignment = 64) {
    return {DataType::FLOAT32, {n}, MemoryFormat::ND, alignment};
}

// A tensor and its end; aclrtMalloc and aclrtFree of as many bytes beside it.
static void allocation() {
    auto &mm = MemoryManager::instance();
    for (int64_t bytes : {512, 256 << 10, 1 << 20, 32 << 20})
        for (int64_t alignment : {64, 256}) {
            TensorDesc desc = floats(bytes / 4, alignment);
            std::string name = "allocate_tensor, " + std::to_string(bytes >> 10) +
                               " KiB, aligned to " + std::to_string(alignment);
            say(name.c_str(), 1e6 * least(15, 2000, [&] { mm.allocate_tensor(desc); }),
                "us");
        }
    for (int64_t bytes : {512, 256 << 10, 1 << 20, 32 << 20}) {
        std::string name = "aclrtMalloc, " + std::to_string(bytes >> 10) + " KiB";
        say(name.c_str(),
            1e6 * least(15, 500,
                        [&] {
                            void *p = nullptr;
                            if (aclrtMalloc(&p, bytes, ACL_MEM_MALLOC_HUGE_FIRST))
                                std::exit(1);
                            (void)aclrtFree(p);
                        }),
            "us");
    }
}

static asnp_status nothing(int32_t, asnp_array *const *, int32_t, asnp_array **, void *) {
    return ASNP_OK;
}

// Of two arrays of ten elements, to an implementation that does nothing, and to the
// library's own addition.
static void dispatch() {
    asnp_array *out = nullptr;
    const int64_t n = 10;
    asnumpy::check(asnp_ones(ASNP_FLOAT32, 1, &n, &out));
    Array a(out);
    Arrays both{a, a};
    asnp_array *in[2] = {a.get(), a.get()};
    asnumpy::check(asnp_register_aten_op("npu::c", nothing, nullptr, 0));
    asnumpy::Registration cpp("npu::cpp", [](const Arrays &) { return Arrays(); });
    say("dispatch from C",
        1e6 * least(15, 20000, [&] { asnp_call("npu::c", 2, in, 0, &out); }), "us");
    for (int k = 0; k < 500; k++)
        asnumpy::check(asnp_register_aten_op(("npu::other" + std::to_string(k)).c_str(),
                                             nothing, nullptr, 0));
    say("dispatch from C, 500 other operators",
        1e6 * least(15, 20000, [&] { asnp_call("npu::c", 2, in, 0, &out); }), "us");
    say("dispatch from C++ to C++",
        1e6 * least(15, 20000,
                    [&] {
                        asnumpy::dispatch_operator("npu::cpp", both,
                                                   {nullptr, ASNP_DTYPE_NONE, 0});
                    }),
        "us");
    auto sum = [&](const char *name) {
        return 1e6 * least(15, 20000, [&] {
                   asnumpy::check(asnp_call(name, 2, in, 1, &out));
                   asnp_release(out);
               });
    };
    say("asnp_call(\"add\")", sum("add"), "us");
    say("asnp_call(\"aten::add.Tensor\")", sum("aten::add.Tensor"), "us");
    say("asnp_add",
        1e6 * least(15, 20000,
                    [&] {
                        asnumpy::check(asnp_add(in[0], in[1], &out));
                        asnp_release(out);
                    }),
        "us");
}

// x + y into z, a million floats each, whose first elements lie at multiples of 256
// bytes, or 64 bytes behind such.
static void alignment() {
    auto &mm = MemoryManager::instance();
    const int64_t n = 1 << 20;
    std::vector<double> best(2, 1e9);
    Tensor memory[3] = {mm.allocate_tensor(floats(n + 64, 256)),
                        mm.allocate_tensor(floats(n + 64, 256)),
                        mm.allocate_tensor(floats(n + 64, 256))};
    for (int turn = 0; turn < (quick ? 1 : 30); turn++)
        for (int kind = 0; kind < 2; kind++) { // taken in turn
            Array part[3];
            for (int k = 0; k < 3; k++) {
                asnp_array *view = nullptr;
                int64_t from = kind ? 16 : 64;
                asnumpy::check(
                    asnp_slice(memory[k].handle(), 0, from, from + n, 1, &view));
                part[k] = Array(view);
                if (turn == 0 && k < 2)
                    asnumpy::check(asnp_assign(view, asnp_of_number(asnp_float(1))));
            }
            asnp_operand in[2] = {asnp_of(part[0].get()), asnp_of(part[1].get())};
            asnp_array *out = part[2].get();
            asnumpy::check(asnp_synchronize());
            best[kind] = std::min(
                best[kind], least(1, 5, [&] {
                    asnumpy::check(asnp_ufunc_into("add", 2, in, 1, &out, nullptr));
                    asnumpy::check(asnp_synchronize());
                }));
        }
    say("x + y, 1M floats, at multiples of 256", 1e6 * best[0], "us");
    say("x + y, 1M floats, 64 past multiples of 256", 1e6 * best[1], "us");
}

// ---- copies behind computing

enum { BATCHES = 13, ELEMENTS = 1 << 22, STEPS = 4 };

// Puts the work on one batch on the stream, without waiting.
static void compute(const Tensor &x, asnp_array **kept) {
    asnp_array *t = nullptr;
    asnumpy::check(asnp_unary("tanh", x.handle(), &t));
    for (int i = 1; i < STEPS; i++) {
        asnp_array *next = nullptr;
        asnumpy::check(asnp_unary("tanh", t, &next));
        asnp_release(t);
        t = next;
    }
    void *stream = nullptr;
    asnumpy::check(asnp_stream(&stream));
    asnp_release(std::exchange(*kept, t));
}

// Seconds of all batches; copies: each batch but the first, which is there, is copied to
// the device; works: each is computed with. The copy of a batch is under way while the
// one before it is computed.
static double run(bool copies, bool works) {
    static std::vector<float> host(ELEMENTS, 0.5f);
    auto &mm = MemoryManager::instance();
    Tensor two[2] = {mm.prepare_tensor(host.data(), floats(ELEMENTS)),
                     mm.prepare_tensor(host.data(), floats(ELEMENTS))};
    asnp_array *kept = nullptr;
    mm.synchronize();
    double start = now();
    DmaStatus coming;
    for (int k = 0; k < BATCHES; k++) {
        coming.order();
        if (copies && k + 1 < BATCHES)
            coming = mm.schedule_dma(
                {host.data(), two[(k + 1) & 1], 0, 4 * int64_t{ELEMENTS}}, PRIORITY_HIGH);
        if (works) compute(two[k & 1], &kept);
        if (!works) coming.wait();
    }
    mm.synchronize();
    double seconds = now() - start;
    asnp_release(kept);
    return seconds;
}

// Medians of turns, in each of which the three are measured one after the other: a
// machine that is disturbed for a while disturbs all of them.
static void overlap() {
    std::vector<double> copies, works, both, hidden;
    run(true, true);
    for (int turn = 0; turn < (quick ? 1 : 21); turn++) {
        copies.push_back(run(true, false));
        works.push_back(run(false, true));
        both.push_back(run(true, true));
        double seen = both.back() - works.back();
        hidden.push_back(100 * (1 - seen / copies.back()));
    }
    auto median = [](std::vector<double> &x) {
        std::sort(x.begin(), x.end());
        return x[x.size() / 2];
    };
    say("12 copies of 16 MiB, alone", 1e3 * median(copies), "ms");
    say("13 batches computed, alone", 1e3 * median(works), "ms");
    say("both, each copy behind the batch before", 1e3 * median(both), "ms");
    say("share of the copies that is hidden", median(hidden), "%");
}

int main(int argc, char **argv) {
    const std::string what = argc > 1 ? argv[1] : "";
    quick = argc > 1 && std::strcmp(argv[argc - 1], "quick") == 0;
    try {
        if (what == "overlap") {
            overlap();
        } else {
            allocation();
            dispatch();
            alignment();
        }
    } catch (const std::exception &error) {
        std::fprintf(stderr, "%s\n", error.what());
        return 1;
    }
}
