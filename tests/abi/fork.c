/* A child made by fork goes on with the library: its streams start new workers. */
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static void set_one(void *arg) {
    *(int *)arg = 1;
}

static int child(aclrtStream stream, void *memory) {
    int done = 0;
    CHECK_OK(aclrtLaunchHostFunc(stream, set_one, &done));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(done == 1);
    CHECK_OK(aclrtMemset(memory, 64, 7, 64));
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
    return check_done();
}

int main(void) {
    aclrtStream stream = NULL;
    void *memory = NULL;
    int done = 0, status = -1;
    CHECK_OK(aclInit(NULL));
    CHECK_OK(aclrtSetDevice(0));
    CHECK_OK(aclrtCreateStream(&stream));
    CHECK_OK(aclrtMalloc(&memory, 64, ACL_MEM_MALLOC_HUGE_FIRST));
    CHECK_OK(aclrtLaunchHostFunc(stream, set_one, &done)); /* the worker lives */
    CHECK_OK(aclrtSynchronizeStream(stream));
    pid_t pid = fork();
    if (pid == 0) _exit(child(stream, memory));
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    done = 0;
    CHECK_OK(aclrtLaunchHostFunc(stream, set_one, &done));
    CHECK_OK(aclrtSynchronizeStream(stream));
    CHECK(done == 1);
    CHECK_OK(aclrtFree(memory));
    CHECK_OK(aclrtDestroyStream(stream));
    return check_done();
}
