/* What hostile programs do to the runtime: each time a code and a sentence, never a
 * crash. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"

static void test_before_init(void) {
    void *p = NULL;
    aclrtStream stream = NULL;
    int32_t device = 0;
    CHECK_ERROR(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    CHECK_ERROR(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_ERROR_RT_CONTEXT_NULL);
    CHECK(p == NULL);
    CHECK_ERROR(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_ERROR(aclrtSynchronizeStream(NULL), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_ERROR(aclrtGetDevice(&device), ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_ERROR(aclrtSynchronizeDevice(), ACL_ERROR_RT_CONTEXT_NULL);
}

/* aclInit refuses an instruction set of another name, and opens once it is mended. */
static void test_instruction_set(void) {
    const char *before = getenv("ASNUMPY_ISA");
    char kept[16] = "";
    if (before) snprintf(kept, sizeof kept, "%s", before);
    CHECK(setenv("ASNUMPY_ISA", "avx", 1) == 0);
    CHECK(aclInit(NULL) == ACL_ERROR_INVALID_PARAM);
    const char *why = aclGetRecentErrMsg();
    CHECK(why && !strcmp(why, "ASNUMPY_ISA is 'avx'; it may be 'baseline', 'avx2' or "
                              "'avx512'"));
    CHECK_ERROR(aclFinalize(), ACL_ERROR_UNINITIALIZE);
    CHECK((before ? setenv("ASNUMPY_ISA", kept, 1) : unsetenv("ASNUMPY_ISA")) == 0);
}

static void test_null(void) {
    int32_t n = 0;
    CHECK_ERROR(aclrtGetDevice(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtGetDeviceCount(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtCreateContext(NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtDestroyContext(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtSetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtCreateStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtDestroyStream(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtCreateEvent(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtRecordEvent(NULL, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtSynchronizeEvent(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMalloc(NULL, 1, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFree(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFreeHost(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpy(NULL, 4, &n, 4, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpy(&n, 4, NULL, 4, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemset(NULL, 4, 0, 4), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtLaunchHostFunc(NULL, NULL, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtLaunchCallback(NULL, NULL, ACL_CALLBACK_BLOCK, NULL),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclDestroyDataBuffer(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK(aclGetTensorDescNumDims(NULL) == 0);
    CHECK(aclCreateTensorDesc(ACL_FLOAT, -1, NULL, ACL_FORMAT_ND) == NULL);
    CHECK(aclGetRecentErrMsg() != NULL && aclGetRecentErrMsg() == NULL);
}

static void test_values(void) {
    void *p = NULL;
    int32_t n = 0, m = 0;
    CHECK_ERROR(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_ERROR(aclrtSetDevice(1000), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_ERROR(aclrtResetDevice(5), ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_ERROR(aclrtMalloc(&p, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMalloc(&p, SIZE_MAX, ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_ERROR(aclrtMalloc(&p, (size_t)1 << 60, ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_ERROR_RT_MEMORY_ALLOCATION);
    CHECK_ERROR(aclrtMalloc(&p, 64, (aclrtMemMallocPolicy)99), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMallocHost(&p, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpy(&n, 4, &m, 8, ACL_MEMCPY_DEFAULT), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpy(&n, 4, &m, 4, (aclrtMemcpyKind)77), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpyAsync(&n, 4, &m, 8, ACL_MEMCPY_DEFAULT, NULL),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemset(&n, 4, 0, 5), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpy2d(&n, 2, &m, 4, 4, 1, ACL_MEMCPY_DEFAULT),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtSynchronizeStreamWithTimeout(NULL, -7), ACL_ERROR_INVALID_PARAM);
    CHECK(aclrtPeekAtLastError(ACL_RT_THREAD_LEVEL) == ACL_ERROR_INVALID_PARAM);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == ACL_ERROR_INVALID_PARAM);
    CHECK(aclrtGetLastError(ACL_RT_THREAD_LEVEL) == ACL_SUCCESS);
}

static void test_handles(void) {
    int local = 0;
    void *p = NULL, *host = NULL;
    aclrtStream stream = NULL;
    aclrtEvent event = NULL;
    aclrtContext context = NULL, primary = NULL;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_OK(aclrtGetCurrentContext(&primary));
    CHECK_OK(aclrtCreateContext(&context, 0));
    CHECK_OK(aclrtSetCurrentContext(primary));
    /* wrong kinds */
    CHECK_ERROR(aclrtSynchronizeStream(event), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtSynchronizeStream(&local), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtSynchronizeStream((char *)stream + 8), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtRecordEvent(stream, stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtRecordEvent(event, event), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtSetCurrentContext(stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtDestroyContext(primary), ACL_ERROR_INVALID_PARAM);
    /* used after they are gone */
    CHECK_OK(aclrtDestroyStream(stream));
    CHECK_ERROR(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtSynchronizeStream(stream), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_ERROR(aclrtDestroyEvent(event), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtStreamWaitEvent(NULL, event), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtDestroyContext(context));
    CHECK_ERROR(aclrtDestroyContext(context), ACL_ERROR_RT_INVALID_HANDLE);
    /* memory */
    CHECK_OK(aclrtMalloc(&p, 100, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMallocHost(&host, 100));
    CHECK_ERROR(aclrtFreeHost(p), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFree(host), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFree((char *)p + 1), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFree(&local), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtFree((void *)1), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtFree(p));
    CHECK_ERROR(aclrtFree(p), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtFreeHost(host));
    /* events that are not there yet */
    float ms = 0;
    CHECK_OK(aclrtCreateEvent(&event));
    CHECK_ERROR(aclrtEventElapsedTime(&ms, event, event), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtSynchronizeEvent(event));
    CHECK_OK(aclrtDestroyEvent(event));
}

int main(void) {
    test_before_init();
    test_instruction_set();
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_null();
    test_values();
    test_handles();
    CHECK_OK(aclrtResetDevice(0));
    void *p = NULL;
    CHECK_ERROR(aclrtMalloc(&p, 64, ACL_MEM_MALLOC_HUGE_FIRST),
                ACL_ERROR_RT_CONTEXT_NULL);
    CHECK_OK(aclFinalize());
    return check_done();
}
