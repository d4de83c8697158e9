// td::mm: descriptors, formats, levels, errors, moves, reuse, copies behind the program.
// Built and run under sanitizers too, on the device whose launches lag, and, as a program
// of its own against an installed home, in CANN's place. Prints what failed.
#include <array>
#include <cstdio>
#include <cstring>
#include <numeric>
#include <thread>

#include <sys/wait.h>

#include "td/mm/memory_manager.h"

#include "check.hpp"

using namespace td::mm;

static MemoryManager &mm = MemoryManager::instance();

// Whether the host reaches the device's memory, which it does not in CANN's place.
static bool host_reaches() {
    const char *kind = nullptr;
    check(!asnp_device_kind(&kind), "kind");
    return kind && std::strcmp(kind, "cpu") == 0;
}

static std::vector<float> numbers(int64_t n, float first = 0) {
    std::vector<float> x(static_cast<size_t>(n));
    std::iota(x.begin(), x.end(), first);
    return x;
}

static TensorDesc floats(int64_t n) {
    return {DataType::FLOAT32, {n}, MemoryFormat::ND, 64};
}

static void descriptors() {
    check(TensorDesc{}.nbytes() == 4, "0-d");
    check(TensorDesc{DataType::FP16, {2, 0, 1 << 30}}.nbytes() == 0, "empty");
    check(floats(5).nbytes() == 20, "five floats");
    const int64_t huge = int64_t{1} << 40;
    refuses<InvalidArgument>([&] { (void)floats(-1).nbytes(); }, "an extent is -1");
    refuses<InvalidArgument>(
        [&] { (void)TensorDesc{DataType::INT8, {huge, huge}}.nbytes(); },
        "more bytes than there are addresses");
    refuses<InvalidArgument>(
        [] { (void)TensorDesc{static_cast<DataType>(99), {}}.nbytes(); },
        "99 is no dtype");
    refuses<InvalidArgument>(
        [] { mm.allocate_tensor({DataType::INT8, {2, 3}, MemoryFormat::NCHW, 64}); },
        "the shape has 2 extents; its format needs 4");
    refuses<InvalidArgument>(
        [] {
            mm.allocate_tensor({DataType::INT8, {2}, static_cast<MemoryFormat>(9), 64});
        },
        "9 is no format");
    refuses<InvalidArgument>(
        [] { mm.allocate_tensor({DataType::INT8, {2}, MemoryFormat::ND, 96}); },
        "alignment is 96");
}

static void levels() {
    check(level_of(1023) == LEVEL_0 && level_of(1024) == LEVEL_1, "1 KiB");
    check(level_of(2 << 20) == LEVEL_1 && level_of((2 << 20) + 1) == LEVEL_2, "2 MiB");
    check(mm.allocate_tensor(floats(255), LEVEL_0).level() == LEVEL_0, "LEVEL_0");
    check(mm.allocate_tensor(floats(1 << 18), LEVEL_1).level() == LEVEL_1, "LEVEL_1");
    check(mm.allocate_tensor(floats(5 << 20), LEVEL_2).level() == LEVEL_2, "LEVEL_2");
    check(mm.allocate_tensor(floats(1000)).level() == LEVEL_1, "LEVEL_AUTO");
    refuses<InvalidArgument>([] { mm.allocate_tensor(floats(256), LEVEL_0); },
                             "a tensor of 1024 bytes is of LEVEL_1; LEVEL_0 is for sizes "
                             "under 1 KiB, LEVEL_AUTO for any");
    std::vector<float> x = numbers(4);
    refuses<InvalidArgument>([&] { mm.prepare_tensor(x.data(), floats(4), LEVEL_2); },
                             "LEVEL_2 is for sizes above 2 MiB");
    refuses<InvalidArgument>(
        [] { mm.allocate_tensor(floats(4), static_cast<CacheLevel>(7)); },
        "level 7; it may be LEVEL_0");
}

// Every format and alignment gives the elements back; addresses are multiples.
static void round_trips() {
    const std::vector<int64_t> shape = {2, 3, 4, 5}, deep = {2, 3, 4, 5, 6};
    for (int64_t alignment : {64, 256, 4096})
        for (MemoryFormat format :
             {MemoryFormat::ND, MemoryFormat::NCHW, MemoryFormat::NHWC,
              MemoryFormat::NCDHW, MemoryFormat::NDHWC}) {
            bool five = format >= MemoryFormat::NCDHW;
            std::vector<float> x = numbers(five ? 720 : 120), y(x.size());
            TensorDesc d{DataType::FP16, five ? deep : shape, format, alignment};
            Tensor t = mm.prepare_tensor(x.data(), DataType::FLOAT32, d, LEVEL_AUTO);
            check(reinterpret_cast<uintptr_t>(t.data()) % uint64_t(alignment) == 0,
                  "alignment");
            check(asnp_dtype_of(t.handle()) == ASNP_FLOAT16, "dtype");
            std::vector<uint16_t> half(x.size());
            mm.copy_to_host(t, half.data(), int64_t(half.size() * 2));
            Tensor back = mm.prepare_tensor(half.data(), DataType::FP16,
                                            {DataType::FLOAT32, d.shape}, LEVEL_AUTO);
            mm.copy_to_host(back, y.data());
            check(x == y, "the elements come back");
        }
    TensorDesc nhwc{DataType::FLOAT32, shape, MemoryFormat::NHWC, 64};
    std::vector<float> x = numbers(120);
    Tensor t = mm.prepare_tensor(x.data(), nhwc);
    std::vector<float> lies(120);
    DmaStatus copied = mm.schedule_dma({t, lies.data(), 0, 480}, PRIORITY_HIGH);
    copied.wait();
    check(lies[1] == x[20] && lies[2] == x[40] && lies[3] == x[1], "NHWC lies so");
    refuses<InvalidArgument>([&] { mm.copy_to_host(t, lies.data(), 479); },
                             "479 bytes of room for a tensor of 480 bytes");
    for (std::vector<int64_t> none : {std::vector<int64_t>{}, {0}, {3, 0}}) {
        TensorDesc d{DataType::DOUBLE, none};
        double value = 7, out = 0;
        Tensor a = mm.prepare_tensor(&value, d);
        mm.copy_to_host(a, &out);
        check(out == (none.empty() ? 7 : 0), "0-d and empty");
        mm.schedule_dma({a, &out, 0, 0}).wait();
    }
    refuses<InvalidArgument>([] { mm.prepare_tensor(nullptr, floats(3)); }, "NULL");
}

// From every format to each other of its axes: the same elements, lying as it says.
static void formats() {
    const std::vector<int64_t> shape = {2, 3, 4, 5}, deep = {2, 3, 4, 5, 6};
    for (MemoryFormat from : {MemoryFormat::ND, MemoryFormat::NCHW, MemoryFormat::NHWC,
                              MemoryFormat::NCDHW, MemoryFormat::NDHWC})
        for (MemoryFormat to : {MemoryFormat::ND, MemoryFormat::NCHW, MemoryFormat::NHWC,
                                MemoryFormat::NCDHW, MemoryFormat::NDHWC}) {
            bool five = from >= MemoryFormat::NCDHW,
                 fits = to == MemoryFormat::ND || five == (to >= MemoryFormat::NCDHW);
            std::vector<float> x = numbers(five ? 720 : 120), y(x.size()), lies(x.size());
            TensorDesc d{DataType::FLOAT32, five ? deep : shape, from, 256};
            Tensor t = mm.prepare_tensor(x.data(), d);
            if (!fits) {
                refuses<InvalidArgument>([&] { mm.convert_format(t, to); },
                                         "extents; its format needs");
                continue;
            }
            Tensor made = mm.convert_format(t, to);
            check(made.desc().format == to && made.desc().alignment == 256, "described");
            mm.copy_to_host(made, y.data());
            check(x == y, "the same elements");
            mm.schedule_dma({made, lies.data(), 0, made.nbytes()}).wait();
            bool last = to == MemoryFormat::NHWC || to == MemoryFormat::NDHWC;
            check(lies[1] == x[last ? (five ? 120 : 20) : 1], "lies so");
        }
    refuses<InvalidArgument>([] { mm.convert_format(Tensor(), MemoryFormat::ND); },
                             "the tensor is empty");
    check(mm.choose_format(64) == MemoryFormat::NCHW &&
              mm.choose_format(63) == MemoryFormat::NHWC,
          "chosen");
    refuses<InvalidArgument>([] { mm.choose_format(0); }, "0 channels");
}

static void handles() {
    Tensor empty;
    check(!empty && empty.nbytes() == 0, "empty");
    refuses<InvalidArgument>([&] { empty.data(); }, "the tensor is empty");
    refuses<InvalidArgument>([&] { mm.copy_to_host(empty, &empty); }, "empty");
    Tensor a = mm.allocate_tensor(floats(100)), b = std::move(a);
    check(!a && b && b.desc().shape[0] == 100, "moved");
    void *at = b.data();
    a = std::move(b);
    check(a.data() == at && !b, "assigned");
    Tensor &same = a;
    a = std::move(same);
    check(a && a.data() == at, "assigned to itself");
    a.reset();
    a.reset();
    check(!a, "reset");
    if (host_reaches()) {
        Tensor z = mm.allocate_tensor(floats(100), LEVEL_AUTO, true);
        check(z.zero_copy() && z.host_data() == z.data(), "zero_copy");
        static_cast<float *>(z.host_data())[7] = 5;
        std::array<float, 100> out;
        mm.copy_to_host(z, out.data());
        check(out[7] == 5, "written by the host");
        Tensor y = mm.reuse_memory(z, floats(50));
        check(y.zero_copy() && !z, "zero_copy after reuse");
    } else {
        refuses<InvalidArgument>([] { mm.allocate_tensor(floats(9), LEVEL_AUTO, true); },
                                 "the host cannot reach");
        refuses<InvalidArgument>([] { mm.allocate_tensor(floats(9)).host_data(); },
                                 "the host cannot reach");
    }
}

static void reuse() {
    const int64_t before = int64_t(mm.stats().bytes_in_use);
    Tensor src = mm.allocate_tensor(floats(4096));
    void *at = src.data();
    Tensor dst = mm.reuse_memory(src, {DataType::INT8, {100, 100}}, REUSE_LAZY);
    check(!src && dst.data() == at && dst.nbytes() == 10000, "lazy");
    Tensor other = mm.allocate_tensor(floats(64));
    mm.reuse_memory(dst, other, REUSE_EAGER);
    check(!dst && other.data() == at && other.nbytes() == 256, "eager, into a tensor");
    refuses<InvalidArgument>([&] { mm.reuse_memory(other, other); }, "one tensor");
    refuses<InvalidArgument>([&] { mm.reuse_memory(src, floats(1)); }, "is empty");
    refuses<InvalidArgument>([&] { mm.reuse_memory(other, src); }, "is empty");
    refuses<InvalidArgument>([&] { mm.reuse_memory(other, floats(1 << 20)); },
                             "the descriptor needs 4194304");
    refuses<InvalidArgument>(
        [&] { mm.reuse_memory(other, floats(1), static_cast<ReuseMode>(5)); },
        "reuse mode 5");
    check(other && other.data() == at, "a refused tensor stays");
    asnp_array *shared = nullptr;
    check(!asnp_share(other.handle(), &shared), "share");
    refuses<InvalidArgument>([&] { mm.reuse_memory(other, floats(1)); },
                             "1 other arrays share");
    asnp_release(shared);
    other.reset();
    check(int64_t(mm.stats().bytes_in_use) == before, "nothing is left");
}

static void copies() {
    const int64_t n = 300000;
    std::vector<float> x = numbers(n), y(size_t(n), 0.0f), part = numbers(10, 1000);
    Tensor t = mm.prepare_tensor(y.data(), floats(n));
    DmaStatus sent = mm.schedule_dma({x.data(), t, 0, 4 * n}, PRIORITY_HIGH);
    sent.order(); // what the library does with t comes after it
    asnp_array *twice = nullptr;
    check(!asnp_binary("add", t.handle(), t.handle(), &twice), "add");
    check(!asnp_to_host(twice, y.data(), size_t(4 * n)), "to_host");
    check(y[7] == 14 && y[size_t(n) - 1] == 2 * float(n - 1), "ordered");
    asnp_release(twice);
    sent.wait();
    check(sent.done(), "done");
    mm.schedule_dma({part.data(), t, 400, 40}).wait();
    std::vector<float> window(12);
    mm.schedule_dma({t, window.data(), 396, 48}, PRIORITY_LOW).wait();
    check(window[0] == 99 && window[1] == 1000 && window[10] == 1009 && window[11] == 110,
          "a window");
    refuses<InvalidArgument>([&] { mm.schedule_dma({x.data(), t, 8, 4 * n}); },
                             "1200000 bytes from byte 8 on of an array that has 1200000");
    refuses<InvalidArgument>([&] { mm.schedule_dma({x.data(), t, -4, 4}); }, "byte -4");
    refuses<InvalidArgument>([&] { mm.schedule_dma({x.data(), t, 0, -4}); }, "-4 bytes");
    refuses<InvalidArgument>([&] { mm.schedule_dma({t, t, 0, 4}); }, "one end must be");
    refuses<InvalidArgument>([&] { mm.schedule_dma({x.data(), y.data(), 0, 4}); },
                             "one end must be");
    DmaStatus status = mm.schedule_dma({t, y.data(), 0, 4 * n});
    refuses<InvalidArgument>([&] { status.order(); }, "goes to the host");
    DmaStatus moved = std::move(status);
    check(status.done(), "a moved status is done");
    status = std::move(moved);
    t.reset(); // the copy keeps the memory
    status.wait();
    check(y[100] == 1000 && y[99] == 99, "after the tensor");
}

// Threads allocate, copy and reuse at the same time, the first copies among them.
static void threads() {
    std::vector<std::thread> all;
    for (int k = 0; k < 4; k++)
        all.emplace_back([k] {
            std::vector<float> x = numbers(5000, float(k)), y(5000);
            for (int round = 0; round < 20; round++) {
                Tensor t = mm.allocate_tensor(floats(5000));
                mm.schedule_dma({x.data(), t, 0, 20000}).order();
                mm.schedule_dma({t, y.data(), 0, 20000}).wait();
                check(x == y, "a thread's copy");
                Tensor u = mm.reuse_memory(t, floats(10), REUSE_LAZY);
            }
        });
    for (std::thread &t : all)
        t.join();
}

// A child makes a queue of its own.
static void child() {
    pid_t pid = fork();
    if (pid == 0) {
        std::vector<float> x = numbers(10), y(10);
        int code = 1;
        if (host_reaches()) {
            Tensor t = mm.allocate_tensor(floats(10));
            mm.schedule_dma({x.data(), t, 0, 40}).wait();
            mm.schedule_dma({t, y.data(), 0, 40}).wait();
            code = x == y ? 0 : 2;
        }
        _exit(code);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    check(status == 0, "a child's copies");
}

static void out_of_memory() {
    asnp_memory m = mm.stats();
    uint64_t before = 0;
    check(!asnp_mm_set_limit(m.bytes_in_use + m.bytes_cached + 4096, &before), "limit");
    refuses<OutOfMemory>([] { mm.allocate_tensor(floats(50 << 20), LEVEL_2); },
                         "Unable to allocate");
    check(!asnp_mm_set_limit(before, nullptr), "limit");
    refuses<Error>([] { throw DeviceError(ASNP_ERROR_RUNTIME, "kinds are Errors"); },
                   "kinds are Errors");
}

int main(int argc, char **argv) {
    descriptors();
    levels();
    round_trips();
    formats();
    handles();
    reuse();
    copies();
    threads();
    out_of_memory();
    if (argc > 1 && std::strcmp(argv[1], "fork") == 0) child();
    if (failures == 0) std::printf("td::mm: all as it should be\n");
    return failures != 0;
}
