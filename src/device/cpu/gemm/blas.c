/* CPU device: finding the BLAS library.
 *
 * OpenBLAS as the PyPI package scipy-openblas32 builds it prefixes its symbols with
 * `scipy_`; a system library has plain names. Whichever opens first is kept for the life
 * of the process and told to use one thread: the pool splits the work. While none does,
 * the next call tries again: what was missing may have been memory.
 *
 * It would start a thread for every other CPU as it loads, and each of these spins for
 * some 100 ms before it sleeps, on a CPU that a worker of the pool has (A @ x of 2000 x
 * 2000 on two CPUs: 920 us for as long, 600 after it). It counts the CPUs that the
 * loading thread may use, so that may use one meanwhile.
 */
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/forks.h"
#include "base/settings.h"
#include "device/cpu/gemm/gemm.h"

static struct {
    pthread_mutex_t lock;
    void *_Atomic handle; /* set last */
    const char *prefix;
    char tried[512];
    bool no_memory; /* was why one of them did not open */
} blas = {.lock = PTHREAD_MUTEX_INITIALIZER};
/* A fork waits for the library to open: the loader, too, would be left half-way. */
ASN_FORK_TAKES(blas, &blas.lock, ASN_FORK_LEAF)

/* A symbol of the open library by its plain name; NULL: it has none. */
static void *lookup(void *handle, const char *prefix, const char *name) {
    char full[128];
    int n = snprintf(full, sizeof full, "%s%s", prefix, name);
    return n > 0 && n < (int)sizeof full ? dlsym(handle, full) : NULL;
}

/* dlopen by a thread that may use one CPU. */
static void *open_on_one_cpu(const char *path) {
    cpu_set_t all, one;
    const pthread_t self = pthread_self();
    const int here = sched_getcpu();
    bool narrowed = here >= 0 && here < CPU_SETSIZE &&
                    pthread_getaffinity_np(self, sizeof all, &all) == 0;
    if (narrowed) {
        CPU_ZERO(&one);
        CPU_SET(here, &one);
        narrowed = pthread_setaffinity_np(self, sizeof one, &one) == 0;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (narrowed) (void)pthread_setaffinity_np(self, sizeof all, &all);
    return handle;
}

/* A library that is there, where twice its size cannot be mapped: dlerror tells its
 * reason in words alone, those of the user's language. */
static bool lacks_memory(const char *path) {
    struct stat file;
    if (!strchr(path, '/') || stat(path, &file) != 0) return false;
    size_t size = 2 * (size_t)file.st_size;
    void *room = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) return true;
    munmap(room, size);
    return false;
}

/* Opens a library and keeps it if it has CBLAS's names. Its path joins those tried, for
 * the message. Held: the lock. */
static bool try_open(const char *path) {
    static const char *const prefixes[] = {"scipy_", ""};
    size_t used = strlen(blas.tried);
    snprintf(blas.tried + used, sizeof blas.tried - used, "%s%s", used ? ", " : "", path);
    void *handle = open_on_one_cpu(path);
    if (!handle) {
        blas.no_memory |= lacks_memory(path);
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (!lookup(handle, prefixes[i], "cblas_dgemm")) continue;
        void (*set_threads)(int);
        *(void **)&set_threads = lookup(handle, prefixes[i], "openblas_set_num_threads");
        if (set_threads) set_threads(1);
        blas.prefix = prefixes[i];
        atomic_store(&blas.handle, handle);
        return true;
    }
    dlclose(handle);
    return false;
}

/* The OpenBLAS that a wheel puts into this library's own folder. */
static bool try_beside_us(void) {
    Dl_info info;
    char path[PATH_MAX];
    if (!dladdr((void *)&blas, &info) || !info.dli_fname) return false;
    const char *slash = strrchr(info.dli_fname, '/');
    int dir = slash ? (int)(slash - info.dli_fname) : 1;
    int n = snprintf(path, sizeof path, "%.*s/libscipy_openblas.so", dir,
                     slash ? info.dli_fname : ".");
    return n > 0 && n < (int)sizeof path && try_open(path);
}

/* The order of gemm.h. A library that the user names is the only one tried: another one
 * in its place would hide the mistake. */
static void open_any(void) {
    static const char *const system[] = {"libopenblas.so.0", "libopenblas.so",
                                         "libcblas.so.3", "libblas.so.3"};
    const char *wish = asn_setting_text(ASN_SETTING_OPENBLAS);
    if (wish) {
        try_open(wish);
        return;
    }
    if (try_beside_us()) return;
    for (size_t i = 0; i < sizeof system / sizeof *system; i++)
        if (try_open(system[i])) return;
}

/* Under the lock; another thread may have opened it meanwhile. ASN_ERR_MEMORY,
 * ASN_ERR_RUNTIME with the paths tried. */
static asn_status open_blas(void) {
    asn_status status = ASN_OK;
    pthread_mutex_lock(&blas.lock);
    blas.tried[0] = 0;
    blas.no_memory = false;
    if (blas.handle == NULL) open_any();
    if (blas.handle == NULL && blas.no_memory)
        status = asn_error_set(ASN_ERR_MEMORY,
                               "no memory to open a BLAS library (tried %s)", blas.tried);
    else if (blas.handle == NULL)
        status = asn_error_set(
            ASN_ERR_RUNTIME,
            "no BLAS library could be opened (tried %s); set ASNUMPY_OPENBLAS "
            "to one with CBLAS names",
            blas.tried);
    pthread_mutex_unlock(&blas.lock);
    return status;
}

asn_status asn_blas_symbol(const char *name, void **symbol) {
    if (atomic_load(&blas.handle) == NULL) ASN_TRY(open_blas());
    *symbol = lookup(atomic_load(&blas.handle), blas.prefix, name);
    if (*symbol) return ASN_OK;
    return asn_error_set(ASN_ERR_RUNTIME, "the BLAS library has no %s%s", blas.prefix,
                         name);
}
