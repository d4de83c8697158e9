/* Kernels launched in blocks (aclnnxLaunch): every block once, in the stream's order, its
 * arguments dropped once; errors that stay on the stream; graphs; the profile. */
#include <glob.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "acl/acl_prof.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnnx.h"
#include "check.h"

enum { BLOCKS = 100 };

/* What a kernel here is told, and what it did. */
typedef struct {
    atomic_int runs[BLOCKS], dropped, order;
    uint32_t bad_from; /* blocks from here on fail */
    bool silent;       /* without a message */
    void *memory;
} call;

static int32_t kernel(void *args, const aclnnxBlock *block) {
    call *c = args;
    uintptr_t begin = 0, end = 0;
    if (block->count > BLOCKS || block->index >= block->count) return 1;
    atomic_fetch_add(&c->runs[block->index], 1);
    atomic_fetch_add(&c->order, 1);
    if (c->memory != NULL && (block->find((char *)c->memory + 8, &begin, &end) != 1 ||
                              begin != (uintptr_t)c->memory || end - begin < 1000))
        return 1;
    if (block->index < c->bad_from) return 0;
    if (!c->silent) snprintf(block->message, block->room, "block %u says", block->index);
    return 1;
}

static void drop(void *args) {
    atomic_fetch_add(&((call *)args)->dropped, 1);
}

static void check_runs(const call *c, int blocks, int times) {
    int wrong = 0;
    for (int i = 0; i < BLOCKS; i++)
        wrong += c->runs[i] != (i < blocks ? times : 0);
    CHECK(!wrong);
}

static int32_t launch(call *c, uint32_t blocks, void *stream) {
    return aclnnxLaunch("kernel", kernel, c, drop, blocks, stream);
}

/* On the default stream, on one of its own, and on one that runs all on its caller. */
static void test_streams(void) {
    aclrtStream streams[3] = {NULL, NULL, NULL};
    CHECK_OK(aclrtCreateStream(&streams[1]));
    CHECK_OK(aclrtCreateStreamWithConfig(&streams[2], 0, ACL_STREAM_FAST_LAUNCH));
    for (int i = 0; i < 3; i++) {
        static const uint32_t counts[] = {1, 2, BLOCKS};
        for (int k = 0; k < 3; k++) {
            call c = {.bad_from = BLOCKS};
            CHECK_OK(aclrtMalloc(&c.memory, 1000, ACL_MEM_MALLOC_HUGE_FIRST));
            CHECK_OK(launch(&c, counts[k], streams[i]));
            CHECK_OK(launch(&c, counts[k], streams[i]));
            CHECK_OK(aclrtSynchronizeStream(streams[i]));
            check_runs(&c, (int)counts[k], 2);
            CHECK(c.dropped == 2);
            CHECK_OK(aclrtFree(c.memory));
        }
        call bad = {.bad_from = 7}, next = {.bad_from = BLOCKS};
        CHECK_OK(launch(&bad, BLOCKS, streams[i]));
        CHECK_OK(launch(&next, BLOCKS, streams[i]));
        CHECK(aclrtSynchronizeStream(streams[i]) == ACL_ERROR_RT_AICORE_EXCEPTION);
        CHECK(strstr(aclGetRecentErrMsg(), "kernel, block 7 of 100: block 7 says"));
        check_runs(&bad, BLOCKS, 1);
        check_runs(&next, BLOCKS, 1);
        CHECK_OK(aclrtSynchronizeStream(streams[i])); /* told once */
        call silent = {.bad_from = 99, .silent = true};
        CHECK_OK(launch(&silent, BLOCKS, streams[i]));
        CHECK(aclrtSynchronizeStream(streams[i]) == ACL_ERROR_RT_AICORE_EXCEPTION);
        CHECK(strstr(aclGetRecentErrMsg(), "kernel, block 99 of 100: the kernel failed"));
        CHECK(bad.dropped == 1 && next.dropped == 1 && silent.dropped == 1);
        if (i > 0) CHECK_OK(aclrtDestroyStream(streams[i]));
    }
}

/* Refused launches drop their arguments, too. */
static void test_refused(void) {
    call c = {.bad_from = BLOCKS};
    static int none;
    CHECK_ERROR(aclnnxLaunch(NULL, kernel, &c, drop, 1, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(aclnnxLaunch("k", NULL, &c, drop, 1, NULL), ACLNN_ERR_PARAM_NULLPTR);
    CHECK_ERROR(launch(&c, 0, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(launch(&c, ACLNNX_MAX_BLOCKS + 1, NULL), ACLNN_ERR_PARAM_INVALID);
    CHECK_ERROR(launch(&c, 1, &none), ACLNN_ERR_RUNTIME_ERROR);
    CHECK_ERROR(launch(NULL, 1, NULL), ACLNN_ERR_RUNTIME_ERROR);
    CHECK(c.dropped == 5);
    check_runs(&c, 0, 0);
    CHECK_OK(aclnnxLaunch("kernel", kernel, &c, NULL, 1, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK(c.dropped == 5);
}

/* A captured launch runs each time the graph does, and is dropped with it. */
static void test_graph(void) {
    aclrtStream stream = NULL;
    aclmdlRI graph = NULL;
    call c = {.bad_from = BLOCKS};
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclmdlRICaptureBegin(stream, ACL_MODEL_RI_CAPTURE_MODE_GLOBAL));
    CHECK_OK(launch(&c, BLOCKS, stream));
    CHECK_OK(aclmdlRICaptureEnd(stream, &graph));
    check_runs(&c, 0, 0);
    for (int i = 1; i <= 3; i++) {
        CHECK_OK(aclmdlRIExecuteAsync(graph, stream));
        CHECK_OK(aclrtSynchronizeStream(stream));
        check_runs(&c, BLOCKS, i);
    }
    CHECK(c.dropped == 0);
    CHECK_OK(aclmdlRIDestroy(graph));
    CHECK(c.dropped == 1);
    CHECK_OK(aclrtDestroyStream(stream));
}

/* The profile has it under the kernel's name. */
static void test_profile(void) {
    char folder[] = "/tmp/asnumpy_launch_XXXXXX", pattern[64], command[128];
    static char text[1 << 16];
    uint32_t device = 0;
    call c = {.bad_from = BLOCKS};
    CHECK(mkdtemp(folder) != NULL);
    CHECK_OK(aclprofInit(folder, strlen(folder)));
    aclprofConfig *config = aclprofCreateConfig(&device, 1, ACL_AICORE_NONE, NULL, 3);
    CHECK_OK(aclprofStart(config));
    CHECK_OK(aclnnxLaunch("named_kernel", kernel, &c, NULL, BLOCKS, NULL));
    CHECK_OK(aclrtSynchronizeStream(NULL));
    CHECK_OK(aclprofStop(config));
    CHECK_OK(aclprofFinalize());
    CHECK_OK(aclprofDestroyConfig(config));
    glob_t names;
    snprintf(pattern, sizeof pattern, "%s/PROF_*/trace.json", folder);
    CHECK(glob(pattern, 0, NULL, &names) == 0 && names.gl_pathc == 1);
    FILE *f = fopen(names.gl_pathv[0], "r");
    CHECK(f != NULL && fread(text, 1, sizeof text - 1, f) > 0);
    if (f != NULL) fclose(f);
    globfree(&names);
    CHECK(strstr(text, "\"named_kernel\"") != NULL);
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK(system(command) == 0);
}

int main(void) {
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    test_streams();
    test_refused();
    test_graph();
    test_profile();
    CHECK_OK(aclrtResetDevice(0));
    CHECK_OK(aclFinalize());
    return check_done();
}
