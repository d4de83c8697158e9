/* What streams, processes and operators share: batches of copies, numbers in memory that
 * streams write and wait for, memory of another process, limits of cores, failure modes,
 * attributes of operators. */
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "acl/acl_op_compiler.h"
#include "acl/acl_prof.h"
#include "check.h"
#include "toolchain/prof_api.h"

enum { BLOCK = 2 << 20 };

static void test_batch(void) {
    char from[3][8] = {"one", "two", "three"}, to[3][8] = {"", "", ""};
    void *dsts[] = {to[0], to[1], to[2]}, *srcs[] = {from[0], from[1], from[2]};
    size_t rooms[] = {8, 8, 8}, sizes[] = {8, 4, 8}, first[] = {0}, fail = 7;
    aclrtMemcpyBatchAttr attrs[1];
    memset(attrs, 0, sizeof attrs);
    CHECK_OK(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 3, attrs, first, 1, &fail));
    CHECK(strcmp(to[0], "one") == 0 && strcmp(to[1], "two") == 0 &&
          strcmp(to[2], "three") == 0 && fail == SIZE_MAX);
    sizes[1] = 9;
    memset(to, 0, sizeof to);
    CHECK_ERROR(
        aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 3, attrs, first, 1, &fail, NULL),
        ACL_ERROR_INVALID_PARAM);
    CHECK(fail == 1 && to[0][0] == 0); /* before the first byte moves */
    sizes[1] = 8;
    CHECK_OK(
        aclrtMemcpyBatchAsync(dsts, rooms, srcs, sizes, 3, attrs, first, 1, NULL, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(strcmp(to[2], "three") == 0);
    first[0] = 1;
    CHECK_ERROR(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 3, attrs, first, 1, &fail),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 0, attrs, first, 1, &fail),
                ACL_ERROR_INVALID_PARAM);
    dsts[2] = NULL;
    first[0] = 0;
    CHECK_ERROR(aclrtMemcpyBatch(dsts, rooms, srcs, sizes, 3, attrs, first, 1, &fail),
                ACL_ERROR_INVALID_PARAM);
    CHECK(fail == 2);
}

static void test_values(void) {
    aclrtStream waits, writes;
    uint64_t *number;
    char done[2] = "-";
    CHECK_OK(aclrtCreateStream(&waits));
    CHECK_OK(aclrtCreateStream(&writes));
    CHECK_OK(aclrtMalloc((void **)&number, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    static const struct {
        uint64_t before, value, written;
        uint32_t flag;
    } rows[] = {{3, 5, 6, ACL_VALUE_WAIT_GEQ},
                {3, 5, 5, ACL_VALUE_WAIT_EQ},
                {8, 6, 2, ACL_VALUE_WAIT_AND},
                {~(uint64_t)6, 6, 1, ACL_VALUE_WAIT_NOR}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        *number = rows[i].before;
        done[0] = '-';
        CHECK_OK(aclrtValueWait(number, rows[i].value, rows[i].flag, waits));
        CHECK_OK(aclrtMemcpyAsync(done, 2, "+", 2, ACL_MEMCPY_DEFAULT, waits));
        usleep(2000);
        CHECK(done[0] == '-');
        CHECK_OK(aclrtValueWrite(number, rows[i].written, 0, writes));
        CHECK_OK(aclrtSynchronizeStream(writes));
        CHECK(*number == rows[i].written);
        CHECK_OK(aclrtSynchronizeStream(waits));
        CHECK(done[0] == '+');
    }
    /* Nobody writes: aborting ends the wait (with its code, if it had begun), and the
     * next synchronisation is clean. */
    *number = 0;
    CHECK_OK(aclrtValueWait(number, 1, ACL_VALUE_WAIT_EQ, waits));
    (void)aclrtStreamAbort(waits);
    CHECK_OK(aclrtSynchronizeStream(waits));
    CHECK_ERROR(aclrtValueWait(number, 1, 4, waits), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtValueWait((char *)number + 4, 1, 0, waits), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtValueWrite(number, 1, 1, waits), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtFree(number));
    CHECK_OK(aclrtDestroyStream(waits));
    CHECK_OK(aclrtDestroyStream(writes));
}

/* A task that fails when it runs: a description of no copy. */
static aclError launch_failure(uint64_t *described, aclrtStream stream) {
    memset(described, 0, 128);
    return aclrtMemcpyAsyncWithDesc(described, ACL_MEMCPY_DEFAULT, stream);
}

static void test_failure_modes(void) {
    aclrtStream stream;
    uint64_t described[16];
    char to[4] = "old";
    CHECK_OK(aclrtCreateStream(&stream));
    aclrtStreamAttrValue value;
    memset(&value, 0, sizeof value);
    CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
    CHECK(value.failureMode == 0);
    /* Going on: what follows runs, the synchronisation tells. */
    CHECK_OK(launch_failure(described, stream));
    CHECK_OK(aclrtMemcpyAsync(to, 4, "new", 4, ACL_MEMCPY_DEFAULT, stream));
    CHECK_ERROR(aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM);
    CHECK(strcmp(to, "new") == 0);
    /* Stopping: what follows is dropped or refused, until the stream is aborted. */
    CHECK_OK(aclrtSetStreamFailureMode(stream, ACL_STOP_ON_FAILURE));
    CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_FAILURE_MODE, &value));
    CHECK(value.failureMode == 1);
    CHECK_OK(launch_failure(described, stream));
    CHECK_ERROR(aclrtSynchronizeStream(stream), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtMemcpyAsync(to, 4, "bad", 4, ACL_MEMCPY_DEFAULT, stream),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(strcmp(to, "new") == 0);
    /* A capture takes nothing of what is refused. */
    aclmdlRI graph = NULL;
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_ERROR(aclrtMemcpyAsync(to, 4, "bad", 4, ACL_MEMCPY_DEFAULT, stream),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    CHECK_OK(aclmdlRIExecuteAsync(graph, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK(strcmp(to, "new") == 0);
    CHECK_OK(aclrtStreamAbort(stream));
    CHECK_OK(aclrtMemcpyAsync(to, 4, "yes", 4, ACL_MEMCPY_DEFAULT, stream));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(strcmp(to, "yes") == 0);
    CHECK_ERROR(aclrtSetStreamFailureMode(stream, 2), ACL_ERROR_INVALID_PARAM);
    value.userCustomTag = 41;
    CHECK_OK(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    memset(&value, 0, sizeof value);
    CHECK_OK(aclrtGetStreamAttribute(stream, ACL_STREAM_ATTR_USER_CUSTOM_TAG, &value));
    CHECK(value.userCustomTag == 41);
    value.cacheOpInfoSwitch = 1;
    CHECK_ERROR(aclrtSetStreamAttribute(stream, ACL_STREAM_ATTR_CACHE_OP_INFO, &value),
                ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_ERROR(aclrtSetStreamAttribute(stream, (aclrtStreamAttr)9, &value),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtDestroyStream(stream));
}

static void test_limits(void) {
    aclrtStream stream;
    uint32_t all = 0, value = 0;
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtGetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, &all));
    CHECK(all >= 1);
    CHECK_OK(aclrtSetDeviceResLimit(0, ACL_RT_DEV_RES_VECTOR_CORE, 1));
    CHECK_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_VECTOR_CORE, &value));
    CHECK(value == 1);
    CHECK_OK(aclrtResetDeviceResLimit(0));
    CHECK_OK(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 1));
    CHECK_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == 1);
    CHECK_OK(aclrtUseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == 1);
    CHECK_OK(aclrtUnuseStreamResInCurrentThread(stream));
    CHECK_OK(aclrtGetResInCurrentThread(ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == all);
    CHECK_OK(aclrtResetStreamResLimit(stream));
    CHECK_OK(aclrtGetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, &value));
    CHECK(value == all);
    CHECK_ERROR(aclrtSetStreamResLimit(stream, ACL_RT_DEV_RES_CUBE_CORE, 0),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtSetDeviceResLimit(0, (aclrtDevResLimitType)2, 1),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtGetDeviceResLimit(99, ACL_RT_DEV_RES_CUBE_CORE, &value),
                ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_OK(aclrtDestroyStream(stream));
}

/* The program again, as another process: imports, checks, writes. */
static int other_process(const char *key) {
    char *there = NULL;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtIpcMemImportByKey((void **)&there, key, 0));
    if (there == NULL) return 1;
    CHECK(strcmp(there, "from the first") == 0);
    strcpy(there, "from the second");
    CHECK_OK(aclrtIpcMemClose(key));
    CHECK_ERROR(aclrtIpcMemClose(key), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtResetDevice(0));
    return check_done();
}

static void test_memory_of_another_process(const char *program) {
    char *block, *small, key[65];
    CHECK_OK(aclrtMalloc((void **)&block, 2 * BLOCK, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtMalloc((void **)&small, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    memset(block, 7, 2 * BLOCK);
    char *text = block + BLOCK + 128;
    strcpy(text, "from the first");
    CHECK_OK(aclrtIpcMemGetExportKey(text, 64, key, sizeof key, 0));
    CHECK(strcmp(text, "from the first") == 0 && block[5] == 7);
    int32_t pids[] = {1};
    CHECK_OK(aclrtIpcMemSetImportPid(key, pids, 1));
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "import", key, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    CHECK(strcmp(text, "from the second") == 0);
    char again[65];
    CHECK_OK(aclrtIpcMemGetExportKey(text, 64, again, sizeof again, 1));
    CHECK(strcmp(again, key) == 0);
    CHECK_ERROR(aclrtIpcMemGetExportKey(small, 64, key, sizeof key, 0),
                ACL_ERROR_FEATURE_UNSUPPORTED);
    CHECK_ERROR(aclrtIpcMemGetExportKey(text, 2 * BLOCK, key, sizeof key, 0),
                ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtIpcMemGetExportKey(text, 64, key, 8, 0), ACL_ERROR_INVALID_PARAM);
    void *none;
    CHECK_ERROR(aclrtIpcMemImportByKey(&none, "1:2:0:40", 0), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtIpcMemImportByKey(&none, "nonsense", 0), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtIpcMemClose(again));
    CHECK_OK(aclrtFree(block));
    CHECK_OK(aclrtFree(small));
}

/* ---- events of several processes */

static aclrtIpcEventHandle handle_of(aclrtEvent event) {
    aclrtIpcEventHandle handle;
    CHECK_OK(aclrtIpcGetEventHandle(event, &handle));
    return handle;
}

/* The child of a fork may not use the runtime: the program again, with both handles as
 * its arguments. It waits for the first event, which must not be there yet; records the
 * second, by which it tells; and waits for the first as a stream does. `dies`: it ends
 * with a record that is never reached. */
static int waiting_process(const char *handles, bool dies) {
    aclrtIpcEventHandle handle[2];
    const char *text = handles;
    for (size_t i = 0; i < sizeof handle; i++, text += 2) {
        unsigned byte = 0;
        CHECK(sscanf(text, "%2x", &byte) == 1);
        ((unsigned char *)handle)[i] = (unsigned char)byte;
    }
    aclrtEvent first, second;
    aclrtStream stream;
    static uint64_t never;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtIpcOpenEventHandle(handle[0], &first));
    CHECK_OK(aclrtIpcOpenEventHandle(handle[1], &second));
    if (dies) {
        CHECK_OK(aclrtValueWait(&never, 1, ACL_VALUE_WAIT_EQ, stream));
        CHECK_OK(aclrtRecordEvent(second, stream));
        _exit(check_done());
    }
    CHECK_ERROR(aclrtSynchronizeEventWithTimeout(first, 20),
                ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
    aclrtEventRecordedStatus status;
    CHECK_OK(aclrtQueryEventStatus(first, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
    CHECK_OK(aclrtRecordEvent(second, stream));
    CHECK_OK(aclrtStreamWaitEvent(stream, first));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK_OK(aclrtQueryEventStatus(first, &status));
    CHECK(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_ERROR(aclrtIpcGetEventHandle(first, handle), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtDestroyEvent(first));
    CHECK_OK(aclrtDestroyEvent(second));
    CHECK_OK(aclrtDestroyStream(stream));
    return check_done();
}

static pid_t start_waiting(const char *program, const char *way,
                           const aclrtIpcEventHandle *handles) {
    char text[4 * sizeof *handles + 1];
    for (size_t i = 0; i < 2 * sizeof *handles; i++)
        snprintf(text + 2 * i, 3, "%02x", ((const unsigned char *)handles)[i]);
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, way, text, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    return child;
}

static void refused_events(void) {
    aclrtEvent event, plain;
    aclrtIpcEventHandle handle;
    aclrtEventStatus status;
    aclrtEventWaitStatus wait;
    float ms;
    uint64_t time;
    CHECK_ERROR(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC | ACL_EVENT_SYNC),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
    CHECK_OK(aclrtCreateEvent(&plain));
    CHECK_ERROR(aclrtIpcGetEventHandle(plain, &handle), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtIpcGetEventHandle(event, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtResetEvent(event, NULL), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtQueryEvent(event, &status), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtQueryEventWaitStatus(event, &wait), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtEventElapsedTime(&ms, event, plain), ACL_ERROR_API_NOT_SUPPORT);
    CHECK_ERROR(aclrtEventGetTimestamp(event, &time), ACL_ERROR_API_NOT_SUPPORT);
    handle = handle_of(event);
    CHECK_OK(aclrtDestroyEvent(event));
    CHECK_ERROR(aclrtIpcOpenEventHandle(handle, &event), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclrtIpcOpenEventHandle(handle, NULL), ACL_ERROR_INVALID_PARAM);
    memset(&handle, 'x', sizeof handle);
    CHECK_ERROR(aclrtIpcOpenEventHandle(handle, &event), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtDestroyEvent(plain));
}

static void test_events_of_processes(const char *program) {
    aclrtEvent event[2];
    aclrtIpcEventHandle handles[2];
    aclrtStream stream;
    static uint64_t gate;
    int status = -1;
    CHECK_OK(aclrtCreateStream(&stream));
    for (int i = 0; i < 2; i++) {
        CHECK_OK(aclrtCreateEventExWithFlag(&event[i], ACL_EVENT_IPC));
        CHECK_OK(aclrtSynchronizeEvent(event[i])); /* never recorded: at once */
        handles[i] = handle_of(event[i]);
    }
    CHECK_OK(aclrtValueWait(&gate, 1, ACL_VALUE_WAIT_EQ, stream));
    CHECK_OK(aclrtRecordEvent(event[0], stream));
    pid_t child = start_waiting(program, "wait", handles);
    aclrtEventRecordedStatus there = ACL_EVENT_RECORDED_STATUS_NOT_READY;
    for (int i = 0; i < 5000 && there == ACL_EVENT_RECORDED_STATUS_NOT_READY; i++) {
        usleep(1000);
        CHECK_OK(aclrtQueryEventStatus(event[1], &there));
    }
    CHECK(there == ACL_EVENT_RECORDED_STATUS_COMPLETE);
    CHECK_OK(aclrtValueWrite(&gate, 1, 0, NULL));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    child = start_waiting(program, "die", handles);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK_ERROR(aclrtSynchronizeEvent(event[1]), ACL_ERROR_RT_FAILURE);
    for (int i = 0; i < 2; i++)
        CHECK_OK(aclrtDestroyEvent(event[i]));
    CHECK_OK(aclrtDestroyStream(stream));
    refused_events();
}

static void test_attributes(void) {
    aclopAttr *attr = aclopCreateAttr();
    const uint8_t bools[] = {1, 0};
    const int64_t ints[] = {1, 2, 3};
    const float floats[] = {0.5f};
    const aclDataType dtypes[] = {ACL_FLOAT, ACL_INT8};
    const char *texts[] = {"a", "bc"};
    const int lengths[] = {2, 1};
    const int64_t *const lists[] = {ints, ints};
    CHECK(attr != NULL);
    CHECK_OK(aclopSetAttrBool(attr, "b", 1));
    CHECK_OK(aclopSetAttrInt(attr, "b", 3)); /* in its place */
    CHECK_OK(aclopSetAttrFloat(attr, "f", 0.5f));
    CHECK_OK(aclopSetAttrDataType(attr, "t", ACL_FLOAT));
    CHECK_OK(aclopSetAttrString(attr, "s", "text"));
    CHECK_OK(aclopSetAttrListBool(attr, "bs", 2, bools));
    CHECK_OK(aclopSetAttrListInt(attr, "is", 3, ints));
    CHECK_OK(aclopSetAttrListInt(attr, "none", 0, NULL));
    CHECK_OK(aclopSetAttrListFloat(attr, "fs", 1, floats));
    CHECK_OK(aclopSetAttrListDataType(attr, "ts", 2, dtypes));
    CHECK_OK(aclopSetAttrListString(attr, "ss", 2, texts));
    CHECK_OK(aclopSetAttrListListInt(attr, "iss", 2, lengths, lists));
    CHECK_ERROR(aclopSetAttrListInt(attr, "is", -1, ints), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclopSetAttrListInt(attr, "is", 1, NULL), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclopSetAttrInt(attr, NULL, 1), ACL_ERROR_INVALID_PARAM);
    CHECK_ERROR(aclopSetAttrInt(NULL, "i", 1), ACL_ERROR_INVALID_PARAM);
    aclopDestroyAttr(attr);
    CHECK_ERROR(aclopSetAttrInt(attr, "i", 1), ACL_ERROR_RT_INVALID_HANDLE);
    aclopDestroyAttr(NULL);
}

static void test_queries(void) {
    aclrtUuid uuid, again;
    int32_t number = -1, active = -1, major = 0, minor = 0, patch = -1;
    uint32_t flags = 9;
    CHECK_OK(aclrtDeviceGetUuid(0, &uuid));
    CHECK_OK(aclrtDeviceGetUuid(0, &again));
    CHECK(memcmp(&uuid, &again, sizeof uuid) == 0);
    CHECK_OK(aclrtGetLogicDevIdByUserDevId(0, &number));
    CHECK(number == 0);
    CHECK_ERROR(aclrtGetLogicDevIdByUserDevId(99, &number),
                ACL_ERROR_RT_INVALID_DEVICEID);
    CHECK_OK(aclrtGetPrimaryCtxState(0, &flags, &active));
    CHECK(active == 1 && flags == 0);
    CHECK_OK(aclrtGetVersion(&major, &minor, &patch));
    CHECK(major == ACL_MAJOR_VERSION && minor == ACL_MINOR_VERSION &&
          patch == ACL_PATCH_VERSION);
    CHECK(strcmp(aclrtGetSocName(), "Ascend910B3") == 0);
    char memory[256];
    CHECK_OK(aclrtHostRegisterV2(memory, sizeof memory,
                                 ACL_HOST_REG_MAPPED | ACL_HOST_REG_PINNED));
    CHECK_ERROR(aclrtHostRegisterV2(memory, sizeof memory, ACL_HOST_REG_MAPPED),
                ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclrtHostUnregister(memory));
    CHECK_ERROR(aclrtHostRegisterV2(memory, sizeof memory, 4), ACL_ERROR_INVALID_PARAM);
    CHECK_OK(aclprofRegisterDeviceCallback());
    CHECK_ERROR(aclprofWarmup(NULL), ACL_ERROR_INVALID_PARAM);
    uint64_t time = MsprofSysCycleTime();
    CHECK(MsprofSysCycleTime() >= time);
    CHECK(MsprofGetHashId("ab", 2) == MsprofGetHashId("abc", 2) &&
          MsprofGetHashId("ab", 2) != MsprofGetHashId("ba", 2));
    CHECK(MsprofReportApi(0, NULL) != 0 && aclGetRecentErrMsg() != NULL);
}

int main(int argc, char **argv) {
    if (argc == 3 && strcmp(argv[1], "import") == 0) return other_process(argv[2]);
    if (argc == 3) return waiting_process(argv[2], strcmp(argv[1], "die") == 0);
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_batch();
    test_values();
    test_failure_modes();
    test_limits();
#ifndef ASN_SANITIZE /* whose blocks lie between others of malloc's */
    test_memory_of_another_process(argv[0]);
#else
    (void)test_memory_of_another_process;
#endif
    test_events_of_processes(argv[0]);
    test_attributes();
    test_queries();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
