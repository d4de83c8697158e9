/* What surrounds operators: profiles, a stream's own allocator, the report of failures;
 * and copies described in memory, registered host memory, versions. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "acl/acl_prof.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_softmax.h"
#include "check.h"

enum { N = 256 };
static float in[N][N], out[N][N];

static aclTensor *tensor(void *data, aclDataType dtype, int ndim, const int64_t *shape) {
    int64_t strides[2] = {ndim == 2 ? shape[1] : 1, 1};
    return aclCreateTensor(shape, (uint64_t)ndim, dtype, strides, 0, ACL_FORMAT_ND, shape,
                           (uint64_t)ndim, data);
}

static void softmax(aclrtStream stream) {
    const int64_t shape[2] = {N, N};
    aclTensor *x = tensor(in, ACL_FLOAT, 2, shape), *y = tensor(out, ACL_FLOAT, 2, shape);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnSoftmaxGetWorkspaceSize(x, 1, y, &size, &e));
    CHECK_OK(aclnnSoftmax(NULL, size, e, stream));
    aclDestroyTensor(x);
    aclDestroyTensor(y);
}

/* ---- profile */

static char *read_all(const char *path) {
    static char text[1 << 16];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f != NULL) fclose(f);
    text[n] = 0;
    return text;
}

static void test_profile(aclrtStream stream) {
    char folder[] = "/tmp/asnumpy_profile_XXXXXX", path[256];
    CHECK(mkdtemp(folder) != NULL);
    uint32_t device = 0, range = 0;
    CHECK_ERROR(aclprofFinalize(), ACL_ERROR_UNINITIALIZE);
    CHECK_ERROR(aclprofInit("/nonexistent", 12), ACL_ERROR_INVALID_FILE);
    CHECK_OK(aclprofInit(folder, strlen(folder)));
    CHECK_ERROR(aclprofInit(folder, strlen(folder)), ACL_ERROR_REPEAT_INITIALIZE);
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, 3);
    CHECK(config != NULL);
    CHECK_ERROR(aclprofStop(config), ACL_ERROR_PROF_NOT_RUN);
    softmax(stream); /* before the start: not in the profile */
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofStart(config));
    CHECK_ERROR(aclprofStart(config), ACL_ERROR_PROF_ALREADY_RUN);
    void *stamp = aclprofCreateStamp();
    CHECK_OK(aclprofSetStampTraceMessage(stamp, "a \"range\"", 9));
    aclprofStepInfo *step = aclprofCreateStepInfo();
    CHECK_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, stream));
    CHECK_OK(aclprofPush(stamp));
    softmax(stream);
    CHECK_OK(aclprofMarkEx("reached", 7, stream));
    CHECK_OK(aclprofGetStepTimestamp(step, ACL_STEP_END, stream));
    aclprofDestroyStepInfo(step);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofPop());
    CHECK_ERROR(aclprofPop(), ACL_ERROR_PROF_NOT_RUN);
    CHECK_OK(aclprofRangeStart(stamp, &range));
    CHECK_OK(aclprofRangeStop(range));
    CHECK_ERROR(aclprofRangeStop(range), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclprofMark(stamp));
    CHECK_OK(aclprofStop(config));
    softmax(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofFinalize());
    CHECK_OK(aclprofDestroyConfig(config));
    aclprofDestroyStamp(stamp);
    snprintf(path, sizeof path, "%s/PROF_%d_1/trace.json", folder, (int)getpid());
    const char *text = read_all(path), *first = strstr(text, "\"aclnnSoftmax\"");
    CHECK(first != NULL && strstr(first + 1, "\"aclnnSoftmax\"") == NULL);
    CHECK(strstr(text, "a \\\"range\\\"") && strstr(text, "\"reached\""));
    CHECK(strstr(text, "\"step 1\"") && strstr(text, "\"dropped\": 0"));
    CHECK(unlink(path) == 0);
    snprintf(path, sizeof path, "%s/PROF_%d_1", folder, (int)getpid());
    CHECK(rmdir(path) == 0 && rmdir(folder) == 0);
}

/* ---- allocator */

static atomic_int given, taken;
static int name_of_the_allocator, exhausted;

static void *give(aclrtAllocator allocator, size_t size) {
    CHECK(allocator == &name_of_the_allocator);
    if (exhausted) return NULL;
    atomic_fetch_add(&given, 1);
    void **block = malloc(sizeof *block);
    *block = malloc(size);
    return block;
}
static void take(aclrtAllocator allocator, aclrtAllocatorBlock block) {
    CHECK(allocator == &name_of_the_allocator);
    atomic_fetch_add(&taken, 1);
    free(*(void **)block);
    free(block);
}
static void *address_of(aclrtAllocatorBlock block) {
    return *(void **)block;
}

static void test_allocator(aclrtStream stream) {
    aclrtAllocatorDesc desc = aclrtAllocatorCreateDesc();
    CHECK_ERROR(aclrtAllocatorRegister(stream, desc), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtAllocatorSetObjToDesc(desc, &name_of_the_allocator));
    CHECK_OK(aclrtAllocatorSetAllocFuncToDesc(desc, give));
    CHECK_OK(aclrtAllocatorSetFreeFuncToDesc(desc, take));
    CHECK_OK(aclrtAllocatorSetAllocAdviseFuncToDesc(desc, NULL));
    CHECK_OK(aclrtAllocatorSetGetAddrFromBlockFuncToDesc(desc, address_of));
    CHECK_OK(aclrtAllocatorRegister(stream, desc));
    CHECK_OK(aclrtAllocatorDestroyDesc(desc));
    CHECK_ERROR(aclrtAllocatorRegister(stream, desc), ACL_ERROR_INVALID_RESOURCE_HANDLE);
    for (int i = 0; i < N; i++)
        in[i][i] = 3;
    softmax(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    int used = atomic_load(&given);
    CHECK(used > 0 && atomic_load(&taken) == used);
    CHECK(out[5][5] > 0.07f && out[5][5] < 0.08f);
    softmax(NULL); /* another stream */
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(atomic_load(&given) == used);
    exhausted = 1;
    softmax(stream);
    CHECK(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
    CHECK_OK(aclrtAllocatorUnregister(stream));
    CHECK_ERROR(aclrtAllocatorUnregister(stream), ACL_ERROR_INVALID_PARAM);
    softmax(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(atomic_load(&given) == used);
}

/* ---- failures */

static atomic_uint failed_code, failed_stream, failed_device;

static void on_failure(aclrtExceptionInfo *info) {
    atomic_store(&failed_code, aclrtGetErrorCodeFromExceptionInfo(info));
    atomic_store(&failed_stream, aclrtGetStreamIdFromExceptionInfo(info));
    atomic_store(&failed_device, aclrtGetDeviceIdFromExceptionInfo(info));
    CHECK(aclrtGetThreadIdFromExceptionInfo(info) > 0);
    CHECK(aclrtGetTaskIdFromExceptionInfo(info) != UINT32_MAX);
}

static void test_failure(aclrtStream stream) {
    const int64_t shape[2] = {N, N}, two[2] = {2, N}, count = 2;
    int64_t positions[2] = {0, N + 9};
    int32_t id = -1;
    aclTensor *x = tensor(in, ACL_FLOAT, 2, shape), *y = tensor(out, ACL_FLOAT, 2, two),
              *p = tensor(positions, ACL_INT64, 1, &count);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclrtSetExceptionInfoCallback(on_failure));
    CHECK_OK(aclnnIndexSelectGetWorkspaceSize(x, 0, p, y, &size, &e));
    (void)aclnnIndexSelect(NULL, size, e, stream);
    aclError code = aclrtSynchronizeStream(stream);
    CHECK(code != ACL_SUCCESS && atomic_load(&failed_code) == (unsigned)code);
    CHECK_OK(aclrtStreamGetId(stream, &id));
    CHECK(atomic_load(&failed_stream) == (unsigned)id &&
          atomic_load(&failed_device) == 0);
    CHECK_OK(aclrtSetExceptionInfoCallback(NULL));
    CHECK(aclrtGetErrorCodeFromExceptionInfo(NULL) == UINT32_MAX);
    uint32_t task = 0, again = 0;
    CHECK_OK(aclrtGetThreadLastTaskId(&task));
    CHECK_OK(aclrtLaunchHostFunc(stream, (aclrtHostFunc)free, NULL));
    CHECK_OK(aclrtGetThreadLastTaskId(&again));
    CHECK(again > task);
    aclDestroyTensor(x);
    aclDestroyTensor(y);
    aclDestroyTensor(p);
}

/* ---- the rest */

static void test_rest(aclrtStream stream) {
    char from[64] = "copied", to[64] = "", desc[256];
    size_t size = 0;
    CHECK_OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_DEVICE_TO_DEVICE, &size));
    CHECK(size > 0 && size <= sizeof desc);
    CHECK_OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_DEVICE_TO_DEVICE, from, to, 7, NULL));
    CHECK_OK(aclrtMemcpyAsyncWithDesc(desc, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
    CHECK_OK(aclrtCmoAsync(from, sizeof from, ACL_RT_CMO_TYPE_PREFETCH, stream));
    CHECK_ERROR(aclrtCmoAsync(from, sizeof from, ACL_RT_CMO_TYPE_FLUSH, stream),
                ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(strcmp(to, "copied") == 0);
    void *device = NULL;
    CHECK_OK(aclrtHostRegister(from, sizeof from, ACL_HOST_REGISTER_MAPPED, &device));
    CHECK(device == from);
    CHECK_ERROR(aclrtHostRegister(from, 1, ACL_HOST_REGISTER_MAPPED, &device),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtHostUnregister(from));
    CHECK_ERROR(aclrtHostUnregister(from), ACL_ERROR_INVALID_PARAM);
    aclCANNPackageVersion version;
    CHECK_OK(aclsysGetCANNVersion(ACL_PKG_NAME_CANN, &version));
    CHECK(version.version[0] != 0 && version.majorVersion[0] != 0);
    aclrtUtilizationInfo load = {-2, -2, -2, -2, NULL};
    CHECK_OK(aclrtGetDeviceUtilizationRate(0, &load));
    CHECK(load.aicpuUtilization >= -1 && load.aicpuUtilization <= 100);
    CHECK(load.memoryUtilization >= 0 && load.memoryUtilization <= 100);
    aclrtMemUceInfo faults[2];
    CHECK_OK(aclrtGetMemUceInfo(0, faults, 2, &size));
    CHECK(size == 0);
    const int64_t image[4] = {2, 3, 5, 7};
    aclTensorDesc *nchw = aclCreateTensorDesc(ACL_FLOAT, 4, image, ACL_FORMAT_NCHW),
                  *nhwc = NULL;
    CHECK_OK(aclTransTensorDescFormat(nchw, ACL_FORMAT_NHWC, &nhwc));
    CHECK(aclGetTensorDescDim(nhwc, 1) == 5 && aclGetTensorDescDim(nhwc, 3) == 3);
    CHECK_ERROR(aclTransTensorDescFormat(nchw, ACL_FORMAT_NCDHW, &nhwc),
                ACL_ERROR_FORMAT_NOT_MATCH);
    int64_t ranges[1][2] = {{3, 1}};
    CHECK_ERROR(aclSetTensorValueRange(nchw, 1, ranges), ACL_ERROR_INVALID_PARAM);
    aclDestroyTensorDesc(nchw);
    aclDestroyTensorDesc(nhwc);
    CHECK_ERROR(aclmdlSetDump("x"), ACL_ERROR_FEATURE_UNSUPPORTED);
}

int main(void) {
    aclrtStream stream = NULL;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    test_profile(stream);
    test_allocator(stream);
    test_failure(stream);
    test_rest(stream);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
