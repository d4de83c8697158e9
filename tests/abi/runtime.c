/* The runtime as a well-behaved program uses it: initialisation, devices, contexts,
 * memory, values. */
#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>

#include "check.h"

static void test_devices(void) {
    uint32_t count = 0;
    CHECK_OK(aclrtGetDeviceCount(&count));
    CHECK(count == 2);
    int32_t device = -1;
    CHECK_OK(aclrtSetDevice(1));
    CHECK_OK(aclrtGetDevice(&device));
    CHECK(device == 1);
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtGetDevice(&device));
    CHECK(device == 0);
    CHECK_OK(aclrtResetDevice(1));
    CHECK_ERROR(aclrtResetDevice(1), ACL_ERROR_RT_INVALID_DEVICEID);
    int32_t peer = 0;
    CHECK_OK(aclrtDeviceCanAccessPeer(&peer, 0, 1));
    CHECK(peer == 1);
    aclrtRunMode mode = ACL_DEVICE;
    CHECK_OK(aclrtGetRunMode(&mode));
    CHECK(mode == ACL_HOST);
    CHECK(strlen(aclrtGetSocName()) > 0);
}

static void *other_thread(void *arg) {
    int32_t device = -1;
    CHECK_OK(aclrtGetDevice(&device)); /* the process's first device */
    CHECK(device == 0);
    CHECK_OK(aclrtSetCurrentContext((aclrtContext)arg));
    CHECK_OK(aclrtGetDevice(&device));
    CHECK(device == 1);
    return NULL;
}

static void test_contexts(void) {
    aclrtContext before = NULL, made = NULL, now = NULL;
    CHECK_OK(aclrtGetCurrentContext(&before));
    CHECK_OK(aclrtCreateContext(&made, 1));
    CHECK_OK(aclrtGetCurrentContext(&now));
    CHECK(now == made && made != before);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, other_thread, made) == 0);
    pthread_join(thread, NULL);
    CHECK_OK(aclrtSetCurrentContext(before));
    CHECK_OK(aclrtDestroyContext(made));
}

static void test_memory(void) {
    static const size_t sizes[] = {1, 63, 64, 4097, 2 << 20, (2 << 20) + 1, 9 << 20};
    static const aclrtMemMallocPolicy policies[] = {
        ACL_MEM_MALLOC_HUGE_FIRST, ACL_MEM_MALLOC_HUGE_ONLY, ACL_MEM_MALLOC_NORMAL_ONLY};
    size_t before = 0, during = 0, after = 0, total = 0;
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &before, &total));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        unsigned char *p = NULL;
        CHECK_OK(aclrtMalloc((void **)&p, sizes[i], policies[i % 3]));
        CHECK(p != NULL && (uintptr_t)p % 512 == 0);
        CHECK_OK(aclrtMemset(p, sizes[i], 0x5a, sizes[i]));
        CHECK(p[0] == 0x5a && p[sizes[i] - 1] == 0x5a);
        CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &during, &total));
        CHECK(during <= total);
        aclrtPtrAttributes attributes;
        CHECK_OK(aclrtPointerGetAttributes(p, &attributes));
        CHECK(attributes.location.type == ACL_MEM_LOCATION_TYPE_DEVICE);
        CHECK_OK(aclrtFree(p));
    }
    CHECK_OK(aclrtGetMemInfo(ACL_HBM_MEM, &after, &total));
    CHECK(before > 0 && after > 0);
    /* The registry grows, and finds everything again. */
    enum { N = 3000 };
    static void *blocks[N];
    for (int i = 0; i < N; i++)
        CHECK_OK(aclrtMalloc(&blocks[i], (size_t)i % 200 + 1, ACL_MEM_MALLOC_HUGE_FIRST));
    for (int i = 0; i < N; i++)
        CHECK_OK(aclrtFree(blocks[(i * 7) % N]));
}

static void test_copies(void) {
    char *host = NULL, *device = NULL;
    char text[32] = "a line of text on the host";
    CHECK_OK(aclrtMallocHost((void **)&host, 32));
    CHECK_OK(aclrtMalloc((void **)&device, 32, ACL_MEM_MALLOC_NORMAL_ONLY));
    CHECK_OK(aclrtMemcpy(device, 32, text, 32, ACL_MEMCPY_HOST_TO_DEVICE));
    CHECK_OK(aclrtMemcpy(host, 32, device, 32, ACL_MEMCPY_DEVICE_TO_HOST));
    CHECK(memcmp(host, text, 32) == 0);
    char grid[3][8] = {"abcdefg", "hijklmn", "opqrstu"}, part[3][3];
    CHECK_OK(aclrtMemcpy2d(part, 3, grid, 8, 3, 3, ACL_MEMCPY_HOST_TO_HOST));
    CHECK(memcmp(part, "abchijopq", 9) == 0);
    CHECK_OK(aclrtFree(device));
    CHECK_OK(aclrtFreeHost(host));
}

static void test_values(void) {
    CHECK(aclDataTypeSize(ACL_FLOAT) == 4 && aclDataTypeSize(ACL_BF16) == 2 &&
          aclDataTypeSize(ACL_COMPLEX128) == 16 && aclDataTypeSize(ACL_BOOL) == 1);
    CHECK(aclFloatToFloat16(1.0f) == 0x3c00 && aclFloatToFloat16(-2.5f) == 0xc100);
    CHECK(aclFloatToFloat16(1e9f) == 0x7bff && aclFloatToFloat16(INFINITY) == 0x7bff);
    CHECK(aclFloatToFloat16(NAN) == 0x7bff);
    CHECK(aclFloat16ToFloat(0x3c00) == 1.0f && aclFloat16ToFloat(0x0001) == 0x1p-24f);
    CHECK(aclFloat16ToFloat(0x7c00) == 65536.0f && aclFloat16ToFloat(0x7e00) == 98304.0f);
    int data = 0;
    aclDataBuffer *buffer = aclCreateDataBuffer(&data, sizeof data);
    CHECK(aclGetDataBufferAddr(buffer) == &data);
    CHECK(aclGetDataBufferSizeV2(buffer) == sizeof data);
    CHECK_OK(aclDestroyDataBuffer(buffer));
    int64_t dims[] = {2, 3, 4}, dim = 0;
    aclTensorDesc *desc = aclCreateTensorDesc(ACL_FLOAT16, 3, dims, ACL_FORMAT_ND);
    CHECK(aclGetTensorDescNumDims(desc) == 3 && aclGetTensorDescElementCount(desc) == 24);
    CHECK(aclGetTensorDescSize(desc) == 48 && aclGetTensorDescType(desc) == ACL_FLOAT16);
    CHECK_OK(aclGetTensorDescDimV2(desc, 1, &dim));
    CHECK(dim == 3 && aclGetTensorDescFormat(desc) == ACL_FORMAT_ND);
    aclSetTensorDescName(desc, "x");
    CHECK(strcmp(aclGetTensorDescName(desc), "x") == 0);
    aclDestroyTensorDesc(desc);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_ERROR(aclInit(NULL), ACL_ERROR_REPEAT_INITIALIZE);
    test_devices();
    test_contexts();
    test_memory();
    test_copies();
    test_values();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    CHECK_ERROR(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE);
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclFinalize());
    return check_done();
}
