/* Reserved addresses, physical memory, mapping, sharing with another process. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static const size_t MIB = (size_t)1 << 20;
static const aclrtPhysicalMemProp huge = {.memAttr = ACL_HBM_MEM_HUGE,
                                          .location = {0, ACL_MEM_LOCATION_TYPE_DEVICE}};

static void test_mapping(void) {
    void *at = NULL;
    aclrtDrvMemHandle first = NULL, second = NULL;
    size_t unit = 0;
    aclrtPhysicalMemProp prop = huge;
    CHECK_OK(aclrtMemGetAllocationGranularity(&prop, ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM,
                                              &unit));
    CHECK(unit == 2 * MIB);
    CHECK_OK(aclrtReserveMemAddress(&at, 8 * MIB, 0, NULL, 1));
    CHECK((uintptr_t)at % (2 * MIB) == 0);
    CHECK_OK(aclrtMallocPhysical(&first, 2 * MIB, &huge, 0));
    CHECK_OK(aclrtMallocPhysical(&second, 4 * MIB, &huge, 0));
    char *base = at;
    CHECK_OK(aclrtMapMem(base, 2 * MIB, 0, first, 0));
    CHECK_OK(aclrtMapMem(base + 2 * MIB, 4 * MIB, 0, second, 0));
    CHECK(base[0] == 0 && base[6 * MIB - 1] == 0);
    memset(base, 7, 6 * MIB); /* one array over two pieces */
    CHECK_ERROR(aclrtMapMem(base + 4 * MIB, 2 * MIB, 0, first, 0),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMapMem(base + 8 * MIB, 2 * MIB, 0, first, 0),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtReleaseMemAddress(at), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtUnmapMem(base));
    CHECK_ERROR(aclrtUnmapMem(base), ACL_ERROR_INVALID_PARAM);
    /* The contents are the physical memory's. */
    CHECK_OK(aclrtMapMem(base + 6 * MIB, 2 * MIB, 0, first, 0));
    CHECK(base[6 * MIB] == 7 && base[8 * MIB - 1] == 7);
    CHECK_OK(aclrtFreePhysical(first));
    CHECK(base[6 * MIB] == 7); /* until it is unmapped */
    CHECK_ERROR(aclrtFreePhysical(first), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_OK(aclrtUnmapMem(base + 2 * MIB));
    CHECK_OK(aclrtUnmapMem(base + 6 * MIB));
    CHECK_OK(aclrtReleaseMemAddress(at));
    CHECK_ERROR(aclrtReleaseMemAddress(at), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtFreePhysical(second));
}

static void test_errors(void) {
    void *at = NULL;
    aclrtDrvMemHandle memory = NULL;
    uint64_t shared = 0;
    aclrtPhysicalMemProp far = huge;
    far.location.id = 63;
    CHECK_ERROR(aclrtReserveMemAddress(&at, 0, 0, NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtReserveMemAddress(&at, 512, 0, NULL, 1)); /* torch_npu asks so little */
    CHECK_OK(aclrtReleaseMemAddress(at));
    CHECK_ERROR(aclrtReserveMemAddress(&at, MIB, 1, NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtReserveMemAddress(NULL, MIB, 0, NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMallocPhysical(&memory, MIB, &huge, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMallocPhysical(&memory, (size_t)1 << 46, &huge, 0),
                ACL_ERROR_RT_MEMORY_ALLOCATION); /* more than the device has */
    CHECK_ERROR(aclrtMallocPhysical(&memory, 2 * MIB, &far, 0),
                ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_ERROR(aclrtMallocPhysical(&memory, 2 * MIB, NULL, 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMapMem(&at, 4096, 0, &at, 0), ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtFreePhysical(NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(
        aclrtMemExportToShareableHandle(&at, ACL_MEM_HANDLE_TYPE_NONE, 0, &shared),
        ACL_ERROR_RT_INVALID_HANDLE);
    CHECK_ERROR(aclrtMemImportFromShareableHandle(5, 0, &memory),
                ACL_ERROR_INVALID_PARAM);
}

/* A child reads what the parent wrote, and answers. */
static void test_sharing(void) {
    void *at = NULL;
    aclrtDrvMemHandle memory = NULL, again = NULL;
    uint64_t shared = 0;
    CHECK_OK(aclrtMallocPhysical(&memory, 2 * MIB, &huge, 0));
    CHECK_OK(
        aclrtMemExportToShareableHandle(memory, ACL_MEM_HANDLE_TYPE_NONE, 1, &shared));
    int32_t child_id = (int32_t)getpid();
    CHECK_OK(aclrtMemSetPidToShareableHandle(shared, &child_id, 1));
    CHECK_OK(aclrtReserveMemAddress(&at, 2 * MIB, 0, NULL, 1));
    CHECK_OK(aclrtMapMem(at, 2 * MIB, 0, memory, 0));
    strcpy(at, "question");
    pid_t child = fork();
    if (child == 0) {
        void *there = NULL;
        bool good = aclrtMemImportFromShareableHandle(shared, 0, &again) == 0 &&
                    aclrtReserveMemAddress(&there, 2 * MIB, 0, NULL, 1) == 0 &&
                    aclrtMapMem(there, 2 * MIB, 0, again, 0) == 0 &&
                    strcmp(there, "question") == 0;
        if (good) strcpy(there, "answer");
        _exit(!good);
    }
    int status = -1;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          WEXITSTATUS(status) == 0);
    CHECK(strcmp(at, "answer") == 0);
    CHECK_OK(aclrtUnmapMem(at));
    CHECK_OK(aclrtReleaseMemAddress(at));
    CHECK_OK(aclrtFreePhysical(memory));
}

int main(void) {
    CHECK_OK(aclrtSetDevice(0));
    test_mapping();
    test_errors();
    test_sharing();
    CHECK_OK(aclrtResetDevice(0));
    return check_done();
}
