// A classifier's forward pass, as Ascend programs are written: C++17, RAII around
// AscendCL's handles, the two-phase operators, batches on two streams so that copies
// overlap with arithmetic.
//
//     H=$(python -m asnumpy.acl --home)
//     g++ -std=c++17 classifier.cpp -I$H/include -L$H/lib64 -lopapi -lascendcl -lnnopbase
//     -o classifier . $H/set_env.sh && ./classifier
//
// softmax(relu(x w1 + b1) w2), checked against plain loops. Exits with 1 when they
// differ.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_addmm.h"
#include "aclnnop/aclnn_matmul.h"
#include "aclnnop/aclnn_relu.h"
#include "aclnnop/aclnn_softmax.h"

namespace {

void check(int code, const char *what) {
    if (code == ACL_SUCCESS) return;
    const char *text = aclGetRecentErrMsg();
    throw std::runtime_error(std::string(what) + ": " + std::to_string(code) + " " +
                             (text ? text : ""));
}
#define CHECK(call) check((call), #call)

class Device {
  public:
    explicit Device(int32_t id) : id_(id) {
        CHECK(aclInit(nullptr));
        CHECK(aclrtSetDevice(id));
    }
    ~Device() {
        aclrtResetDevice(id_);
        aclFinalize();
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;

  private:
    int32_t id_;
};

class Stream {
  public:
    Stream() { CHECK(aclrtCreateStream(&stream_)); }
    ~Stream() { aclrtDestroyStream(stream_); }
    Stream(const Stream &) = delete;
    Stream &operator=(const Stream &) = delete;
    aclrtStream get() const { return stream_; }
    void synchronize() const { CHECK(aclrtSynchronizeStream(stream_)); }

  private:
    aclrtStream stream_ = nullptr;
};

// A float32 matrix (or row) in device memory with its aclTensor.
class Tensor {
  public:
    explicit Tensor(std::vector<int64_t> shape) : shape_(std::move(shape)) {
        std::vector<int64_t> strides(shape_.size(), 1);
        for (size_t i = shape_.size() - 1; i > 0; i--)
            strides[i - 1] = strides[i] * shape_[i];
        size_ = static_cast<size_t>(strides[0] * shape_[0]);
        CHECK(aclrtMalloc(&data_, bytes(), ACL_MEM_MALLOC_HUGE_FIRST));
        tensor_ = aclCreateTensor(shape_.data(), shape_.size(), ACL_FLOAT, strides.data(),
                                  0, ACL_FORMAT_ND, shape_.data(), shape_.size(), data_);
        if (tensor_ == nullptr) throw std::runtime_error("aclCreateTensor");
    }
    ~Tensor() {
        aclDestroyTensor(tensor_);
        aclrtFree(data_);
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    aclTensor *get() const { return tensor_; }
    size_t bytes() const { return size_ * sizeof(float); }
    void from(const float *host, aclrtStream stream) const {
        CHECK(aclrtMemcpyAsync(data_, bytes(), host, bytes(), ACL_MEMCPY_HOST_TO_DEVICE,
                               stream));
    }
    void to(float *host, aclrtStream stream) const {
        CHECK(aclrtMemcpyAsync(host, bytes(), data_, bytes(), ACL_MEMCPY_DEVICE_TO_HOST,
                               stream));
    }

  private:
    std::vector<int64_t> shape_;
    size_t size_ = 0;
    void *data_ = nullptr;
    aclTensor *tensor_ = nullptr;
};

using Scalar = std::unique_ptr<aclScalar, int (*)(const aclScalar *)>;
Scalar scalar(float value) {
    return {aclCreateScalar(&value, ACL_FLOAT), aclDestroyScalar};
}

// Phase 1, workspace, phase 2.
template <typename Plan, typename Run, typename... Args>
void launch(aclrtStream stream, Plan plan, Run run, Args... args) {
    uint64_t size = 0;
    aclOpExecutor *executor = nullptr;
    CHECK(plan(args..., &size, &executor));
    void *workspace = nullptr;
    if (size > 0) CHECK(aclrtMalloc(&workspace, size, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK(run(workspace, size, executor, stream));
    if (workspace != nullptr) {
        CHECK(aclrtSynchronizeStream(stream));
        CHECK(aclrtFree(workspace));
    }
}

constexpr int64_t BATCH = 128, IN = 256, HIDDEN = 512, CLASSES = 10, BATCHES = 8;

// What one stream needs to work on a batch of its own.
struct Lane {
    Stream stream;
    Tensor x{{BATCH, IN}}, hidden{{BATCH, HIDDEN}}, active{{BATCH, HIDDEN}},
        logits{{BATCH, CLASSES}}, out{{BATCH, CLASSES}};
};

void forward(const Lane &lane, const Tensor &w1, const Tensor &b1, const Tensor &w2) {
    const Scalar one = scalar(1);
    const aclrtStream s = lane.stream.get();
    launch(s, aclnnAddmmGetWorkspaceSize, aclnnAddmm, b1.get(), lane.x.get(), w1.get(),
           one.get(), one.get(), lane.hidden.get(), int8_t{0});
    launch(s, aclnnReluGetWorkspaceSize, aclnnRelu, lane.hidden.get(), lane.active.get());
    launch(s, aclnnMatmulGetWorkspaceSize, aclnnMatmul, lane.active.get(), w2.get(),
           lane.logits.get(), int8_t{0});
    launch(s, aclnnSoftmaxGetWorkspaceSize, aclnnSoftmax, lane.logits.get(), int64_t{1},
           lane.out.get());
}

std::vector<float> random_matrix(std::mt19937 &engine, int64_t rows, int64_t columns) {
    std::normal_distribution<float> normal(0, 1 / std::sqrt(static_cast<float>(rows)));
    std::vector<float> values(static_cast<size_t>(rows * columns));
    for (float &v : values)
        v = normal(engine);
    return values;
}

// The same in plain loops, in double.
std::array<double, CLASSES> expected(const float *x, const float *w1, const float *b1,
                                     const float *w2) {
    std::array<double, CLASSES> y{};
    for (int64_t h = 0; h < HIDDEN; h++) {
        double sum = b1[h];
        for (int64_t i = 0; i < IN; i++)
            sum += double(x[i]) * w1[i * HIDDEN + h];
        if (sum <= 0) continue;
        for (int64_t c = 0; c < CLASSES; c++)
            y[c] += sum * w2[h * CLASSES + c];
    }
    double top = *std::max_element(y.begin(), y.end()), total = 0;
    for (double &v : y)
        total += v = std::exp(v - top);
    for (double &v : y)
        v /= total;
    return y;
}

int run() {
    const Device device(0);
    std::mt19937 engine(7);
    const auto x = random_matrix(engine, BATCHES * BATCH, IN),
               w1 = random_matrix(engine, IN, HIDDEN),
               b1 = random_matrix(engine, 1, HIDDEN),
               w2 = random_matrix(engine, HIDDEN, CLASSES);
    std::vector<float> y(static_cast<size_t>(BATCHES * BATCH * CLASSES));
    const Tensor dw1({IN, HIDDEN}), db1({HIDDEN}), dw2({HIDDEN, CLASSES});
    std::array<Lane, 2> lanes;
    dw1.from(w1.data(), lanes[0].stream.get());
    db1.from(b1.data(), lanes[0].stream.get());
    dw2.from(w2.data(), lanes[0].stream.get());
    aclrtEvent ready = nullptr;
    CHECK(aclrtCreateEvent(&ready));
    CHECK(aclrtRecordEvent(ready, lanes[0].stream.get()));
    CHECK(aclrtStreamWaitEvent(lanes[1].stream.get(), ready)); // the weights are there
    const auto start = std::chrono::steady_clock::now();
    for (int64_t b = 0; b < BATCHES; b++) {
        const Lane &lane = lanes[static_cast<size_t>(b % 2)];
        lane.x.from(x.data() + b * BATCH * IN, lane.stream.get());
        forward(lane, dw1, db1, dw2);
        lane.out.to(y.data() + b * BATCH * CLASSES, lane.stream.get());
    }
    for (const Lane &lane : lanes)
        lane.stream.synchronize();
    const std::chrono::duration<double, std::milli> took =
        std::chrono::steady_clock::now() - start;
    CHECK(aclrtDestroyEvent(ready));
    double worst = 0;
    for (int64_t row = 0; row < BATCHES * BATCH; row++) {
        const auto want = expected(x.data() + row * IN, w1.data(), b1.data(), w2.data());
        for (int64_t c = 0; c < CLASSES; c++)
            worst = std::max(worst,
                             std::fabs(want[size_t(c)] - y[size_t(row * CLASSES + c)]));
    }
    std::printf("%lld rows on two streams of %s: %.2f ms, largest difference %.1e\n",
                static_cast<long long>(BATCHES * BATCH), aclrtGetSocName(), took.count(),
                worst);
    return worst < 1e-5 ? 0 : 1;
}

} // namespace

int main() {
    try {
        return run();
    } catch (const std::exception &e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
}
