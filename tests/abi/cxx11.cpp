// A C++11 program: the headers are valid C++, scalars and lists work through std::vector.
#include <cstdio>
#include <vector>

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_add.h"
#include "aclnnop/aclnn_cast.h"
#include "aclnnop/aclnn_cat.h"
#include "aclnnop/aclnn_pow.h"
#include "hccl/hccl.h"

#define CHECK_RET(cond, return_expr)                                                     \
    do {                                                                                 \
        if (!(cond)) {                                                                   \
            std::printf("%s:%d %s\n", __FILE__, __LINE__, #cond);                        \
            return_expr;                                                                 \
        }                                                                                \
    } while (0)

int main() {
    std::vector<int64_t> shape = {2, 3};
    std::vector<float> a(6, 2.0f), out(6, 0.0f);
    aclrtStream stream = nullptr;
    auto ret = aclInit(nullptr);
    CHECK_RET(ret == ACL_SUCCESS, return ret);
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
