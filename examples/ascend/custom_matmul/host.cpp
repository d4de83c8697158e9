// The operator of examples/torch/custom_matmul.c for matrices in the host's memory, as
// NumPy's are: td::mm brings them to the device, the operator computes there, td::mm
// brings the results back. What Python calls has C's names, and no exception leaves it:
//
//     library = ctypes.CDLL("build/libcustom_matmul.so")
//     code = library.custom_matmul_forward_host(a.ctypes, b.ctypes, c.ctypes, M, K, N, 0)
//
// A function returns 0, or a status of asnumpy/types.h or a code of CANN, of which
// custom_matmul_error() is a sentence.
#include <td/mm/memory_manager.h>

#include <acl/acl.h>
#include <aclnn/aclnn_matmul.h>

#include <string>

extern "C" {
int custom_matmul_forward(void *a, void *b, void *c, int64_t M, int64_t K, int64_t N,
                          int dtype);
int custom_matmul_backward(void *grad_c, void *a, void *b, void *grad_a, void *grad_b,
                           int64_t M, int64_t K, int64_t N, int dtype);
}

namespace {
using td::mm::MemoryManager;
using td::mm::Tensor;
using td::mm::TensorDesc;

constexpr int64_t ALIGNMENT = 256; // what an NPU's matrix unit reads at once

thread_local std::string message;

// A row-major matrix.
TensorDesc matrix(int64_t rows, int64_t columns, int dtype) {
    return {static_cast<td::mm::DataType>(dtype),
            {rows, columns},
            td::mm::MemoryFormat::ND,
            ALIGNMENT};
}

// On the device: with the host's elements; to be written.
Tensor given(const void *host, int64_t rows, int64_t columns, int dtype) {
    return MemoryManager::instance().prepare_tensor(host, matrix(rows, columns, dtype));
}
Tensor fresh(int64_t rows, int64_t columns, int dtype) {
    return MemoryManager::instance().allocate_tensor(matrix(rows, columns, dtype));
}

// The operator has a stream of its own, which the calling thread makes.
void use_device() {
    int32_t device = 0;
    td::mm::detail::check(asnp_get_device(&device));
    if (int code = aclrtSetDevice(device))
        throw td::mm::DeviceError(code, "the device cannot be set");
}

void check(int code) {
    if (code == 0) return;
    const char *said = aclGetRecentErrMsg();
    throw td::mm::DeviceError(code, said ? said : "the product failed");
}

// 0, or the code of the exception that the work throws.
template <class Work> int guarded(Work work) noexcept {
    try {
        use_device();
        work();
        return 0;
    } catch (const td::mm::Error &error) {
        message = error.what();
        return error.status();
    } catch (const std::exception &error) {
        message = error.what();
        return ASNP_ERROR_MEMORY;
    }
}
} // namespace

#define EXPORT extern "C" __attribute__((visibility("default")))

// A sentence about this thread's last failure; "" when there was none.
EXPORT const char *custom_matmul_error() {
    return message.c_str();
}

// c[M, N] = a[M, K] b[K, N], all in host memory; dtype: 0 float32, 1 float16.
EXPORT int custom_matmul_forward_host(const void *a, const void *b, void *c, int64_t M,
                                      int64_t K, int64_t N, int dtype) {
    return guarded([&] {
        Tensor left = given(a, M, K, dtype), right = given(b, K, N, dtype);
        Tensor out = fresh(M, N, dtype);
        check(
            custom_matmul_forward(left.data(), right.data(), out.data(), M, K, N, dtype));
        MemoryManager::instance().copy_to_host(out, c);
    });
}

// grad_a = grad_c b^T, grad_b = a^T grad_c; either may be NULL.
EXPORT int custom_matmul_backward_host(const void *grad_c, const void *a, const void *b,
                                       void *grad_a, void *grad_b, int64_t M, int64_t K,
                                       int64_t N, int dtype) {
    return guarded([&] {
        auto &mm = MemoryManager::instance();
        Tensor grad = given(grad_c, M, N, dtype);
        Tensor left = given(a, M, K, dtype), right = given(b, K, N, dtype);
        Tensor da = grad_a ? fresh(M, K, dtype) : Tensor();
        Tensor db = grad_b ? fresh(K, N, dtype) : Tensor();
        check(custom_matmul_backward(grad.data(), left.data(), right.data(),
                                     da ? da.data() : nullptr, db ? db.data() : nullptr,
                                     M, K, N, dtype));
        if (da) mm.copy_to_host(da, grad_a);
        if (db) mm.copy_to_host(db, grad_b);
    });
}
