// A C++11 program: the headers are valid C++, scalars and lists work through std::vector.
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "acl/acl_prof.h"
#include "acl/error_codes/rt_error_codes.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_pow.h"
#include "aclnnop/aclnn_util.h"
#include "hccl/hccl.h"

#define CHECK_RET(cond, return_expr)                                                     \
    do {                                                                                 \
        if (!(cond)) {                                                                   \
            std::printf("%s:%d %s\n", __FILE__, __LINE__, #cond);                        \
            return_expr;                                                                 \
        }                                                                                \
    } while (0)

// Names that programs take from the headers, with their documented values.
static_assert(ACL_ERROR_RT_PARAM_INVALID == 107000 &&
                  ACL_ERROR_RT_CONTEXT_NULL == 107002 &&
                  ACL_ERROR_RT_MEMORY_ALLOCATION == 207001 &&
                  ACL_ERROR_RT_SOCKET_CLOSE == 507901,
              "error codes");
static_assert((ACL_PROF_ACL_API | ACL_PROF_TASK_TIME | ACL_PROF_AICORE_METRICS |
               ACL_PROF_AICPU | ACL_PROF_L2CACHE | ACL_PROF_HCCL_TRACE |
               ACL_PROF_TRAINING_TRACE | ACL_PROF_MSPROFTX | ACL_PROF_RUNTIME_API) ==
                  0x1ff,
              "what a profile holds");
static_assert(ACL_TENSOR_SHAPE_RANGE_NUM == 2 && ACL_TENSOR_VALUE_RANGE_NUM == 2 &&
                  ACL_UNKNOWN_RANK == static_cast<size_t>(-2) &&
                  ACL_EVENT_EXTERNAL == 0x20u && ACL_STOP_ON_FAILURE == 1 &&
                  ACL_CONTINUE_ON_FAILURE == 0,
              "constants");
ACL_DEPRECATED ACLNN_API void old_function();
ACL_DEPRECATED_MESSAGE("use another") void older_function();

int main() {
    std::vector<int64_t> shape = {2, 3};
    std::vector<float> a(6, 2.0f), out(6, 0.0f);
    aclrtStream stream = nullptr;
    auto ret = aclInit(nullptr);
    CHECK_RET(ret == ACL_SUCCESS, return ret);
    ACL_APP_LOG(ACL_INFO, "%d devices", 1);
    ret = aclrtSetDevice(0);
    CHECK_RET(ret == ACL_SUCCESS, return ret);
    CHECK_RET(aclrtCreateStream(&stream) == ACL_SUCCESS, return 1);
    auto self = aclCreateTensor(shape.data(), shape.size(), ACL_FLOAT, nullptr, 0,
                                ACL_FORMAT_ND, shape.data(), shape.size(), a.data());
    auto result =
        aclCreateTensor(shape.data(), shape.size(), aclDataType::ACL_FLOAT, nullptr, 0,
                        aclFormat::ACL_FORMAT_ND, shape.data(), shape.size(), out.data());
    float exponent = 3.0f;
    aclScalar *scalar = aclCreateScalar(&exponent, ACL_FLOAT);
    uint64_t workspaceSize = 0;
    aclOpExecutor *executor = nullptr;
    auto status = aclnnPowTensorScalarGetWorkspaceSize(self, scalar, result,
                                                       &workspaceSize, &executor);
    CHECK_RET(status == ACLNN_SUCCESS, return status);
    status = aclnnPowTensorScalar(nullptr, workspaceSize, executor, stream);
    CHECK_RET(status == OK, return status);
    CHECK_RET(aclrtSynchronizeStream(stream) == ACL_SUCCESS, return 1);
    for (float v : out)
        CHECK_RET(v == 8.0f, return 1);
    aclDestroyTensor(self);
    aclDestroyTensor(result);
    aclDestroyScalar(scalar);
    aclrtDestroyStream(stream);
    aclrtResetDevice(0);
    return aclFinalize();
}
