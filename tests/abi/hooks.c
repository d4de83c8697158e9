/* What surrounds operators: profiles, a stream's own allocator, the report of failures;
 * and copies described in memory, registered host memory, versions. */
#include <glob.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "acl/acl_prof.h"
#include "aclnn/acl_meta.h"
#include "aclnnop/aclnn_index_select.h"
#include "aclnnop/aclnn_softmax.h"
#include "check.h"
#include "driver/ascend_hal.h"
#include "mspti/mspti.h"
#include "mstx/ms_tools_ext.h"

enum { N = 256 };
static float in[N][N], out[N][N];

static aclTensor *tensor(void *data, aclDataType dtype, int ndim, const int64_t *shape) {
    int64_t strides[2] = {ndim == 2 ? shape[1] : 1, 1};
    return aclCreateTensor(shape, (uint64_t)ndim, dtype, strides, 0, ACL_FORMAT_ND, shape,
                           (uint64_t)ndim, data);
}

/* Along the columns, which takes temporary memory. */
static void softmax(aclrtStream stream) {
    const int64_t shape[2] = {N, N};
    aclTensor *x = tensor(in, ACL_FLOAT, 2, shape), *y = tensor(out, ACL_FLOAT, 2, shape);
    uint64_t size = 0;
    aclOpExecutor *e = NULL;
    CHECK_OK(aclnnSoftmaxGetWorkspaceSize(x, 0, y, &size, &e));
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

/* The only folder in `folder`, whose name is as tools for profiles expect it. */
static void session_folder(const char *folder, char *found, size_t size) {
    glob_t names;
    char pattern[256];
    const char *digits = "[0-9][0-9][0-9][0-9][0-9][0-9]";
    snprintf(pattern, sizeof pattern, "%s/PROF_%s_2%s%s[0-9][0-9][0-9][0-9]_*", folder,
             digits, digits, digits);
    CHECK(glob(pattern, 0, NULL, &names) == 0 && names.gl_pathc == 1);
    snprintf(found, size, "%s", names.gl_pathv[0]);
    globfree(&names);
}

static void erase(const char *folder, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(remove(path) == 0);
}

/* Launch, start and end of the operator follow each other; the marks of both kinds, and
 * the copy, are there; what ran before and after is not. */
static void check_trace(const char *folder) {
    char session[256], path[512];
    session_folder(folder, session, sizeof session);
    snprintf(path, sizeof path, "%s/trace.json", session);
    const char *text = read_all(path), *first = strstr(text, "\"aclnnSoftmax\"");
    CHECK(first != NULL && strstr(first + 1, "\"aclnnSoftmax\"") == NULL);
    double start = 0, length = 0, launched = 0;
    unsigned launcher = 0;
    CHECK(sscanf(strstr(first, "\"ts\""), "\"ts\": %lf", &start) == 1);
    CHECK(sscanf(strstr(first, "\"dur\""), "\"dur\": %lf", &length) == 1);
    CHECK(sscanf(strstr(first, "\"launcher\""), "\"launcher\": %u, \"launched\": %lf",
                 &launcher, &launched) == 2);
    CHECK(launched > 0 && launched <= start && length > 0 &&
          launcher == (unsigned)gettid());
    CHECK(strstr(text, "a \\\"range\\\"") && strstr(text, "\"reached\""));
    CHECK(strstr(text, "\"step 1\"") && strstr(text, "\"dropped\": 0"));
    CHECK(strstr(text, "\"MEMCPY_ASYNC\"") && strstr(text, "\"domain\": \"mine\""));
    first = strstr(text, "\"tool's\"");
    CHECK(first != NULL && strstr(first + 1, "\"tool's\"") != NULL); /* host and stream */
    CHECK(strstr(text, "\"early\"") == NULL && strstr(text, "\"dead\"") == NULL);
    erase(session, "trace.json");
    snprintf(path, sizeof path, "%s/host/start_info", session);
    text = read_all(path);
    CHECK(strstr(text, "collectionTimeBegin") && strstr(text, "clockMonotonicRaw"));
    erase(session, "host/start_info");
    erase(session, "host");
    erase(session, "device_0");
    CHECK(rmdir(session) == 0 && rmdir(folder) == 0);
}

/* Names of the tools' extension, while profiled. */
static void marks_of_tools(aclrtStream stream) {
    static float from[8], to[8];
    mstxRangeId range = mstxRangeStartA("tool's", stream);
    CHECK(range != 0);
    CHECK_OK(aclrtMemcpyAsync(to, sizeof to, from, sizeof from, ACL_MEMCPY_HOST_TO_DEVICE,
                              stream));
    mstxRangeEnd(range);
    mstxRangeEnd(range);
    CHECK(mstxRangeStartA(NULL, NULL) == 0);
    mstxMarkA(NULL, NULL);
    mstxDomainHandle_t mine = mstxDomainCreateA("mine"), dead = mstxDomainCreateA("dead");
    CHECK(mine != NULL && mine != dead && mstxDomainCreateA("mine") == mine);
    mstxDomainDestroy(dead);
    mstxDomainMarkA(dead, "never", stream);
    CHECK(mstxDomainRangeStartA(dead, "never", stream) == 0);
    CHECK(mstxDomainRangeStartA((mstxDomainHandle_t)&range, "never", stream) == 0);
    mstxDomainMarkA(mine, "in mine", stream);
    mstxDomainRangeEnd(mine, mstxDomainRangeStartA(mine, "span", NULL));
}

static void test_profile(aclrtStream stream) {
    char folder[] = "/tmp/asnumpy_profile_XXXXXX";
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
    CHECK(mstxRangeStartA("early", stream) == 0);
    size_t features = 1;
    void *list = folder;
    CHECK_OK(aclprofGetSupportedFeaturesV2(&features, &list));
    CHECK(features == 0 && list == NULL);
    CHECK_ERROR(aclprofGetSupportedFeatures(NULL, &list), ACL_ERROR_INVALID_PARAM);
    int32_t version = -1;
    int64_t value = 0;
    CHECK(halGetAPIVersion(&version) == 0 && version == 0);
    CHECK(halGetAPIVersion(NULL) != 0 && halGetDeviceInfo(0, 0, 24, &value) != 0);
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
    marks_of_tools(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofStop(config));
    softmax(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclprofFinalize());
    CHECK_OK(aclprofDestroyConfig(config));
    aclprofDestroyStamp(stamp);
    check_trace(folder);
}

/* ---- a tool inside the program */

static int buffers_out, kernels_seen;
static uint64_t launched_as, told_as[2], kernel_start, kernel_end;
static size_t buffer_size;

static void buffer_give(uint8_t **buffer, size_t *size, size_t *most) {
    *buffer = malloc(buffer_size);
    *size = buffer_size;
    *most = 0;
    buffers_out++;
}

static void buffer_take(uint8_t *buffer, size_t size, size_t valid) {
    CHECK(size == buffer_size && valid <= size);
    msptiActivity *r = NULL;
    while (msptiActivityGetNextRecord(buffer, valid, &r) == MSPTI_SUCCESS) {
        if (r->kind == MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
            msptiActivityExternalCorrelation *e = (void *)r;
            told_as[e->externalKind == MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0] =
                e->externalId;
            launched_as = e->correlationId;
        } else if (r->kind == MSPTI_ACTIVITY_KIND_KERNEL) {
            msptiActivityKernel *k = (void *)r;
            CHECK(strcmp(k->name, "aclnnSoftmax") == 0 &&
                  strcmp(k->type, "Softmax") == 0);
            CHECK(k->correlationId == launched_as && k->ds.deviceId == 0);
            kernel_start = k->start;
            kernel_end = k->end;
            kernels_seen++;
        }
    }
    free(buffer);
    buffers_out--;
}

static uint64_t day_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Kernels come with the tool's numbers of their launch, at times of the day, also through
 * buffers that hold one record each; a buffer that holds none drops them. */
static void test_tool(aclrtStream stream) {
    msptiSubscriberHandle handle, other;
    msptiActivityKind kernel = MSPTI_ACTIVITY_KIND_KERNEL,
                      number = MSPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    msptiExternalCorrelationKind custom = MSPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                 unknown = MSPTI_EXTERNAL_CORRELATION_KIND_UNKNOWN;
    uint64_t id = 0;
    CHECK(msptiActivityFlushAll(0) == MSPTI_ERROR_INVALID_PARAMETER);
    CHECK(msptiSubscribe(NULL, NULL, NULL) == MSPTI_ERROR_INVALID_PARAMETER);
    CHECK(msptiSubscribe(&handle, NULL, NULL) == MSPTI_SUCCESS);
    CHECK(msptiSubscribe(&other, NULL, NULL) ==
          MSPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
    CHECK(msptiActivityRegisterCallbacks(NULL, buffer_take) ==
          MSPTI_ERROR_INVALID_PARAMETER);
    CHECK(msptiActivityRegisterCallbacks(buffer_give, buffer_take) == MSPTI_SUCCESS);
    CHECK(msptiActivityEnable((msptiActivityKind)99) == MSPTI_ERROR_INVALID_PARAMETER);
    CHECK(!msptiActivityIsEnabled(kernel) &&
          msptiActivityEnable(kernel) == MSPTI_SUCCESS);
    CHECK(msptiActivityIsEnabled(kernel) && msptiActivityEnable(number) == MSPTI_SUCCESS);
    CHECK(msptiActivityPopExternalCorrelationId(custom, &id) == MSPTI_ERROR_QUEUE_EMPTY);
    CHECK(msptiActivityPushExternalCorrelationId((msptiExternalCorrelationKind)0, 1) ==
          MSPTI_ERROR_INVALID_PARAMETER);
    for (int small = 0; small < 3; small++) {
        buffer_size = small == 2 ? 8 : small == 1 ? sizeof(msptiActivityKernel) : 4096;
        kernels_seen = 0;
        CHECK(msptiActivityPushExternalCorrelationId(custom, 41) == MSPTI_SUCCESS);
        CHECK(msptiActivityPushExternalCorrelationId(custom, 42) == MSPTI_SUCCESS);
        CHECK(msptiActivityPushExternalCorrelationId(unknown, 7) == MSPTI_SUCCESS);
        uint64_t before = day_ns();
        softmax(stream);
        CHECK_OK(aclrtSynchronizeStream(stream));
        uint64_t after = day_ns();
        CHECK(msptiActivityPopExternalCorrelationId(custom, &id) == MSPTI_SUCCESS &&
              id == 42);
        CHECK(msptiActivityPopExternalCorrelationId(custom, &id) == MSPTI_SUCCESS &&
              id == 41);
        CHECK(msptiActivityPopExternalCorrelationId(unknown, NULL) == MSPTI_SUCCESS);
        CHECK(msptiActivityFlushAll(1) == MSPTI_SUCCESS && buffers_out == 0);
        CHECK(kernels_seen == (small < 2));
        const uint64_t ms = 1000000; /* clocks may be set meanwhile */
        if (small == 2) continue;
        CHECK(told_as[1] == 42 && told_as[0] == 7 && kernel_start < kernel_end);
        CHECK(kernel_start + ms >= before && kernel_end <= after + ms);
    }
    CHECK(msptiActivityDisable(kernel) == MSPTI_SUCCESS &&
          msptiActivityDisable(number) == MSPTI_SUCCESS);
    softmax(stream);
    CHECK_OK(aclrtSynchronizeStream(stream));
    kernels_seen = 0;
    CHECK(msptiActivityFlushAll(1) == MSPTI_SUCCESS && kernels_seen == 0);
    CHECK(msptiUnsubscribe(handle) == MSPTI_SUCCESS);
    CHECK(msptiUnsubscribe(handle) == MSPTI_ERROR_INVALID_PARAMETER);
    msptiActivity *none = NULL;
    CHECK(msptiActivityGetNextRecord(NULL, 8, &none) == MSPTI_ERROR_INVALID_PARAMETER);
    uint64_t zero[2] = {0, 0};
    CHECK(msptiActivityGetNextRecord((uint8_t *)zero, 16, &none) ==
          MSPTI_ERROR_INVALID_PARAMETER);
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
    CHECK_ERROR(aclrtAllocatorRegister(stream, desc), ACL_ERROR_RT_INVALID_HANDLE);
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

/* Numbers of the device, its memory's use, its faults, and what no CPU has. */
static void test_what_a_device_says(void) {
    int64_t cores = 0, memory = 0, same = 0;
    size_t components = 9, left = 0, total = 0;
    uint64_t timeout = 0;
    aclrtMemUsageInfo used[2];
    aclrtErrorInfo fault;
    void *block = NULL, *address = NULL;
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_AICORE_CORE_NUM, &cores));
    CHECK_OK(aclGetDeviceCapability(0, ACL_DEVICE_INFO_AI_CORE_NUM, &same));
    CHECK(cores == same && cores > 0);
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_L2_CACHE_SIZE, &same));
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_PHY_CHIP_ID, &same));
    CHECK(same == 0);
    CHECK_OK(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_TOTAL_GLOBAL_MEM_SIZE, &memory));
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &left, &total));
    CHECK(memory == (int64_t)total);
    CHECK_ERROR(aclrtGetDeviceInfo(0, ACL_DEV_ATTR_MAINBOARD_ID, &same),
                ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_ERROR(aclrtGetDeviceInfo(63, ACL_DEV_ATTR_PHY_CHIP_ID, &same),
                ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_OK(aclrtGetMemUsageInfo(0, used, 2, &components));
    CHECK(components == 1 && strcmp(used[0].name, "APP") == 0);
    uint64_t before = used[0].curMemSize;
    CHECK_OK(aclrtMalloc(&block, 1 << 20, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtGetMemUsageInfo(0, used, 1, &components));
    CHECK(used[0].curMemSize == before + (1 << 20));
    CHECK_OK(aclrtFree(block));
    CHECK_OK(aclrtGetMemUsageInfo(0, used, 1, &components));
    CHECK(used[0].curMemSize == before && used[0].memPeakSize >= before + (1 << 20));
    CHECK_OK(aclrtGetMemUsageInfo(0, used, 0, &components));
    CHECK(components == 0);
    CHECK_OK(aclrtSetOpExecuteTimeOutV2(1000, &timeout));
    CHECK(timeout == UINT64_MAX);
    CHECK_OK(aclrtGetErrorVerbose(0, &fault));
    CHECK(fault.errorType == ACL_RT_NO_ERROR && !fault.tryRepair && !fault.hasDetail);
    CHECK_ERROR(aclrtRepairError(0, &fault), ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_ERROR(aclrtGetHardwareSyncAddr(&address), ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_ERROR(aclStressDetect(0, NULL, 0), ACL_ERROR_FEATURE_UNSUPPORTED);
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
    char text[ACL_PKG_VERSION_MAX_SIZE] = "";
    CHECK_OK(aclsysGetVersionStr("runtime", text));
    CHECK(strcmp(text, version.version) == 0);
    CHECK_ERROR(aclsysGetVersionStr("no such package", text), ACL_ERROR_INVALID_PARAM);
    test_what_a_device_says();
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
    test_tool(stream);
    test_allocator(stream);
    test_failure(stream);
    test_rest(stream);
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
