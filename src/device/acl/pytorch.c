/* What lets torch_npu load beside PyTorch's build for CUDA: a library to preload.
 *
 * PyTorch keeps one set of the names of its allocators' options and refuses a name that
 * comes twice. Its build for CUDA, the only one for x86-64 on PyPI, has put two there
 * that torch_npu 2.13 puts there as well: the process would end in `import torch_npu`.
 * Both ask for the set by the function below, which takes CUDA's two out before torch_npu
 * adds its own. There is no other effect, and none with PyTorch's build for CPUs.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* c10::CachingAllocator::AcceleratorAllocatorConfig::getMutableKeys[abi:cxx11]() */
#define KEYS                                                                             \
    _ZN3c1016CachingAllocator26AcceleratorAllocatorConfig14getMutableKeysB5cxx11Ev
#define TEXT(name) #name
#define NAME(name) TEXT(name)

/* std::unordered_set<std::string> as libstdc++ lays it out; C++11's ABI, which the
 * function's name asks for, has fixed it. An element keeps its hash: one whose text was
 * changed is found under neither text. */
typedef struct key {
    struct key *next;
    char *text;
    size_t length;
} key;
typedef struct {
    void **buckets;
    size_t bucket_count;
    key *first;
    size_t count;
} key_set;

/* Whether one of the two names was there. */
static bool forget(key_set *keys) {
    static const char *const both[] = {"pinned_reserve_segment_size_mb",
                                       "per_process_memory_fraction"};
    bool found = false;
    for (key *k = keys->first; k != NULL; k = k->next) {
        for (size_t i = 0; i < sizeof both / sizeof *both; i++) {
            if (k->length != strlen(both[i]) ||
                memcmp(k->text, both[i], k->length) != 0) {
                continue;
            }
            k->text[0] = '-';
            found = true;
        }
    }
    return found;
}

void *KEYS(void);

/* PyTorch's set. CUDA's library adds to it when it is loaded, on the thread that imports
 * torch, and torch_npu's later: the names are taken out once, and stay where they came
 * from torch_npu. */
__attribute__((visibility("default"))) void *KEYS(void) {
    static bool done;
    void *(*keys)(void) = NULL;
    void *c10 = dlopen("libc10.so", RTLD_LAZY | RTLD_NOLOAD);
    if (c10 != NULL) *(void **)&keys = dlsym(c10, NAME(KEYS));
    if (keys == NULL) { /* who calls it is linked with libc10, and gets no answer else */
        fputs("libasnumpy_torch.so: libc10.so is not loaded, or not of PyTorch 2.13\n",
              stderr);
        abort();
    }
    void *set = keys();
    void *cuda = done ? NULL : dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    if (cuda != NULL) done = forget(set);
    return set;
}
