/* A program that opens libopapi alone and finds every function in that handle, as some
 * do. */
#include <dlfcn.h>

#include "acl/acl.h"
#include "check.h"

int main(int argc, char **argv) {
    static const char *const names[] = {"aclnnAddGetWorkspaceSize",
                                        "aclnnAdd",
                                        "aclCreateTensor",
                                        "aclDestroyTensor",
                                        "aclCreateScalar",
                                        "aclnnInit",
                                        "aclrtMalloc",
                                        "aclrtSetDevice",
                                        "aclnnxFused"};
    CHECK(argc == 2);
    if (argc != 2) return 1;
    void *handle = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(handle != NULL);
    for (size_t i = 0; handle != NULL && i < sizeof names / sizeof *names; i++) {
        if (dlsym(handle, names[i]) == NULL) fprintf(stderr, "no %s\n", names[i]);
        CHECK(dlsym(handle, names[i]) != NULL);
    }
    return check_failures != 0;
}
