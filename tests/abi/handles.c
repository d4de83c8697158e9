/* Handles of the runtime's plain objects: destroyed twice, of another kind, on the stack,
 * no address at all. Each call returns a code and leaves a sentence, or what it returns
 * for NULL. */
#include <stdint.h>
#include <stdlib.h>

#include "acl/acl_op.h"
#include "acl/acl_prof.h"
#include "check.h"

static const aclError BAD = ACL_ERROR_RT_INVALID_HANDLE;
static int64_t stack_like[1024];
/* Foreign handles: no page, no alignment, memory that is none of the runtime's. */
static void *const FOREIGN[] = {(void *)16, (void *)(uintptr_t)0x7fff12345679, stack_like,
                                (char *)stack_like + 3};
enum { FOREIGNS = sizeof FOREIGN / sizeof *FOREIGN };

/* A function without a code left a sentence. */
static void check_said(const char *what) {
    const char *message = aclGetRecentErrMsg();
    if (message == NULL) fprintf(stderr, "%s left no message\n", what);
    CHECK(message != NULL);
}

static void test_data_buffers(void) {
    char bytes[8];
    aclDataBuffer *b = aclCreateDataBuffer(bytes, sizeof bytes);
    CHECK(aclGetDataBufferAddr(b) == bytes && aclGetDataBufferSizeV2(b) == 8);
    CHECK_OK(aclUpdateDataBuffer(b, bytes + 1, 7));
    CHECK(aclGetDataBufferAddr(b) == bytes + 1 && aclGetDataBufferSize(b) == 7);
    CHECK_OK(aclDestroyDataBuffer(b));
    CHECK_ERROR(aclDestroyDataBuffer(b), BAD);
    CHECK_ERROR(aclUpdateDataBuffer(b, bytes, 1), BAD);
    CHECK(aclGetDataBufferAddr(b) == NULL && aclGetDataBufferSizeV2(b) == 0);
    for (int i = 0; i < FOREIGNS; i++) {
        CHECK_ERROR(aclDestroyDataBuffer(FOREIGN[i]), BAD);
        CHECK_ERROR(aclUpdateDataBuffer(FOREIGN[i], bytes, 1), BAD);
        CHECK(aclGetDataBufferAddr(FOREIGN[i]) == NULL);
        CHECK(aclGetDataBufferSize(FOREIGN[i]) == 0);
    }
}

static void use_bad_desc(aclTensorDesc *d) {
    int64_t n = 3, range[1][2] = {{1, 2}}, got[2];
    aclTensorDesc *other = NULL;
    aclDestroyTensorDesc(d);
    check_said("aclDestroyTensorDesc");
    CHECK(aclGetTensorDescType(d) == ACL_DT_UNDEFINED);
    CHECK(aclGetTensorDescFormat(d) == ACL_FORMAT_UNDEFINED);
    CHECK(aclGetTensorDescNumDims(d) == 0 && aclGetTensorDescDim(d, 0) == -1);
    CHECK(aclGetTensorDescElementCount(d) == 0 && aclGetTensorDescSize(d) == 0);
    CHECK(aclGetTensorDescAddress(d) == NULL);
    CHECK(aclGetTensorDescByIndex(d, 0) == NULL);
    CHECK(strcmp(aclGetTensorDescName(d), "") == 0);
    aclSetTensorDescName(d, "x");
    CHECK_ERROR(aclGetTensorDescDimV2(d, 0, &n), BAD);
    CHECK_ERROR(aclSetTensorFormat(d, ACL_FORMAT_ND), BAD);
    CHECK_ERROR(aclSetTensorStorageFormat(d, ACL_FORMAT_ND), BAD);
    CHECK_ERROR(aclSetTensorOriginFormat(d, ACL_FORMAT_ND), BAD);
    CHECK_ERROR(aclSetTensorShape(d, 1, &n), BAD);
    CHECK_ERROR(aclSetTensorStorageShape(d, 1, &n), BAD);
    CHECK_ERROR(aclSetTensorOriginShape(d, 1, &n), BAD);
    CHECK_ERROR(aclSetTensorShapeRange(d, 1, range), BAD);
    CHECK_ERROR(aclGetTensorDescDimRange(d, 0, 2, got), BAD);
    CHECK_ERROR(aclSetTensorConst(d, &n, 8), BAD);
    CHECK_ERROR(aclSetTensorPlaceMent(d, ACL_MEMTYPE_HOST), BAD);
    CHECK_ERROR(aclSetTensorDynamicInput(d, "x"), BAD);
    CHECK_ERROR(aclSetTensorValueRange(d, 1, range), BAD);
    CHECK_ERROR(aclTransTensorDescFormat(d, ACL_FORMAT_ND, &other), BAD);
}

static void test_tensor_descs(void) {
    int64_t dims[4] = {2, 3, 4, 5};
    aclTensorDesc *d = aclCreateTensorDesc(ACL_FLOAT, 4, dims, ACL_FORMAT_NCHW),
                  *t = NULL;
    aclSetTensorDescName(d, "image");
    CHECK_OK(aclTransTensorDescFormat(d, ACL_FORMAT_NHWC, &t));
    CHECK(aclGetTensorDescDim(t, 3) == 3 && !strcmp(aclGetTensorDescName(t), "image"));
    aclDestroyTensorDesc(d);
    CHECK(aclGetTensorDescDim(t, 1) == 4); /* a description of its own */
    use_bad_desc(d);
    aclDestroyTensorDesc(t);
    use_bad_desc(t);
    for (int i = 0; i < FOREIGNS; i++)
        use_bad_desc(FOREIGN[i]);
    aclDestroyTensorDesc(NULL);
    d = aclCreateTensorDesc(ACL_FLOAT, 1, dims, ACL_FORMAT_ND); /* nothing is left over */
    CHECK(strcmp(aclGetTensorDescName(d), "") == 0 && aclGetTensorDescNumDims(d) == 1);
    aclDestroyTensorDesc(d);
}

static void test_stream_configs(void) {
    size_t flag = 1;
    aclrtStream stream = NULL;
    aclrtStreamConfigHandle *h = aclrtCreateStreamConfigHandle();
    CHECK_OK(aclrtSetStreamConfigOpt(h, ACL_RT_STREAM_FLAG, &flag, sizeof flag));
    CHECK(h->flag == 1);
    CHECK_OK(aclrtCreateStreamV2(&stream, h));
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_OK(aclrtDestroyStreamConfigHandle(h));
    CHECK_ERROR(aclrtDestroyStreamConfigHandle(h), BAD);
    CHECK_ERROR(aclrtSetStreamConfigOpt(h, ACL_RT_STREAM_FLAG, &flag, sizeof flag), BAD);
    CHECK_ERROR(aclrtDestroyStreamConfigHandle(NULL), ACL_ERROR_INVALID_PARAM);
    for (int i = 0; i < FOREIGNS; i++) {
        CHECK_ERROR(aclrtDestroyStreamConfigHandle(FOREIGN[i]), BAD);
        CHECK_ERROR(
            aclrtSetStreamConfigOpt(FOREIGN[i], ACL_RT_STREAM_FLAG, &flag, sizeof flag),
            BAD);
    }
}

static void use_bad_stamp(void *stamp) {
    uint32_t id = 0;
    aclprofDestroyStamp(stamp);
    check_said("aclprofDestroyStamp");
    CHECK_ERROR(aclprofSetStampTraceMessage(stamp, "x", 1), BAD);
    CHECK_ERROR(aclprofMark(stamp), BAD);
    CHECK_ERROR(aclprofPush(stamp), BAD);
    CHECK_ERROR(aclprofRangeStart(stamp, &id), BAD);
}

static void use_bad_step(aclprofStepInfo *step) {
    CHECK_ERROR(aclprofGetStepTimestamp(step, ACL_STEP_START, NULL), BAD);
    aclprofDestroyStepInfo(step);
    check_said("aclprofDestroyStepInfo");
}

static void test_profiles(void) {
    uint32_t device = 0;
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, 1);
    void *stamp = aclprofCreateStamp();
    aclprofStepInfo *step = aclprofCreateStepInfo();
    CHECK(config != NULL && stamp != NULL && step != NULL);
    CHECK_OK(aclprofSetStampTraceMessage(stamp, "here", 4));
    CHECK_OK(aclprofGetStepTimestamp(step, ACL_STEP_START, NULL));
    aclprofDestroyStepInfo(step); /* perhaps before the time is taken */
    use_bad_step(step);
    CHECK_OK(aclrtSynchronizeStream(NULL));
    aclprofDestroyStamp(stamp);
    use_bad_stamp(stamp);
    CHECK_OK(aclprofDestroyConfig(config));
    CHECK_ERROR(aclprofDestroyConfig(config), BAD);
    CHECK_ERROR(aclprofStart(config), BAD);
    CHECK_ERROR(aclprofStop(config), BAD);
    for (int i = 0; i < FOREIGNS; i++) {
        CHECK_ERROR(aclprofDestroyConfig(FOREIGN[i]), BAD);
        CHECK_ERROR(aclprofStart(FOREIGN[i]), BAD);
        use_bad_stamp(FOREIGN[i]);
        use_bad_step(FOREIGN[i]);
    }
    aclprofDestroyStamp(NULL);
    aclprofDestroyStepInfo(NULL);
}

/* A description of a copy lies in the program's memory: what is none is refused. */
static void test_copy_descriptions(void) {
    char from[8] = "1234567", to[8] = "";
    size_t size = 0;
    CHECK_OK(aclrtGetMemcpyDescSize(ACL_MEMCPY_DEVICE_TO_DEVICE, &size));
    void *desc = malloc(size), *moved = malloc(size);
    CHECK_OK(aclrtSetMemcpyDesc(desc, ACL_MEMCPY_DEVICE_TO_DEVICE, from, to, 8, NULL));
    memcpy(moved, desc, size); /* it may be copied to where it is used */
    CHECK_OK(aclrtMemcpyAsyncWithDesc(moved, ACL_MEMCPY_DEVICE_TO_DEVICE, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(strcmp(to, from) == 0);
    for (int i = 0; i < 2; i++) /* no memory is there */
        CHECK_ERROR(
            aclrtMemcpyAsyncWithDesc(FOREIGN[i], ACL_MEMCPY_DEVICE_TO_DEVICE, NULL),
            ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(
        aclrtSetMemcpyDesc((void *)16, ACL_MEMCPY_DEVICE_TO_DEVICE, from, to, 8, NULL),
        ACL_ERROR_INVALID_PARAM);
    memset(moved, 0x5a, size); /* memory, but no description: known when it runs */
    CHECK_OK(aclrtMemcpyAsyncWithDesc(moved, ACL_MEMCPY_DEVICE_TO_DEVICE, NULL));
    CHECK_ERROR(aclrtSynchronizeStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtSynchronizeStream(NULL));
    free(desc);
    free(moved);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_data_buffers();
    test_tensor_descs();
    test_stream_configs();
    test_profiles();
    test_copy_descriptions();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
