/* Host memory that fails on demand (see faults.h): malloc and its family, over glibc's
 * own or, with FAULTS_SANITIZER, over the sanitizer's, and mmap. Not instrumented itself:
 * it is called before the sanitizer is set up.
 */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "faults.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static _Atomic long countdown, live;

#ifdef FAULTS_SANITIZER
#define BENEATH(name) __interceptor_##name
#else
#define BENEATH(name) __libc_##name
#endif
void *BENEATH(malloc)(size_t);
void *BENEATH(calloc)(size_t, size_t);
void *BENEATH(realloc)(void *, size_t);
void *BENEATH(memalign)(size_t, size_t);
void BENEATH(free)(void *);

int faults_arm(long k) {
    return atomic_exchange(&countdown, k) < 0;
}

long faults_live(void) {
    return atomic_load(&live);
}

/* Counts down to 0, and on to -1 when that allocation fails. */
static int fails(void) {
    long left = atomic_load_explicit(&countdown, memory_order_relaxed);
    while (left > 0)
        if (atomic_compare_exchange_weak(&countdown, &left, left == 1 ? -1 : left - 1))
            return left == 1;
    return 0;
}

static void *counted(void *p) {
    if (p != NULL) atomic_fetch_add_explicit(&live, 1, memory_order_relaxed);
    return p;
}

static void *failed(void) {
    errno = ENOMEM;
    return NULL;
}

void *malloc(size_t size) {
    return fails() ? failed() : counted(BENEATH(malloc)(size));
}

void *calloc(size_t count, size_t size) {
    return fails() ? failed() : counted(BENEATH(calloc)(count, size));
}

void *realloc(void *old, size_t size) {
    if (fails()) return failed();
    void *p = BENEATH(realloc)(old, size);
    return old == NULL ? counted(p) : p;
}

void *memalign(size_t alignment, size_t size) {
    return fails() ? failed() : counted(BENEATH(memalign)(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) {
    return memalign(alignment, size);
}

int posix_memalign(void **out, size_t alignment, size_t size) {
    void *p = memalign(alignment, size);
    if (p != NULL) *out = p;
    return p != NULL ? 0 : ENOMEM;
}

void free(void *p) {
    if (p != NULL) atomic_fetch_sub_explicit(&live, 1, memory_order_relaxed);
    BENEATH(free)(p);
}

/* Arenas of handles, blocks from 2 MiB on, machine code. A sanitizer maps memory itself.
 */
#ifndef FAULTS_SANITIZER
void *mmap(void *address, size_t size, int protection, int flags, int file,
           off_t offset) {
    if ((flags & MAP_ANONYMOUS) != 0 && fails()) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, size, protection, flags, file, offset);
}
#endif

/* ---- what fails as a whole or not at all
 *
 * Half-way, others end the process: OpenBLAS when it cannot start its threads, the
 * sanitizers when a thread cannot.
 */

void *dlopen(const char *path, int mode) {
    void *(*beneath)(const char *, int);
    if (fails()) return failed();
    *(void **)&beneath = dlsym(RTLD_NEXT, "dlopen");
    long left = atomic_exchange(&countdown, 0);
    void *handle = beneath(path, mode);
    atomic_store(&countdown, left);
    return handle;
}

typedef struct {
    void *(*main)(void *);
    void *arg;
    _Atomic int started;
} thread_start;

static void *thread_main(void *arg) {
    thread_start *s = arg, mine = {s->main, s->arg, 0};
    atomic_store(&s->started, 1); /* *s is gone from here on */
    return mine.main(mine.arg);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*main)(void *),
                   void *arg) {
    int (*beneath)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (fails()) return EAGAIN;
    *(void **)&beneath = dlsym(RTLD_NEXT, "pthread_create");
    long left = atomic_exchange(&countdown, 0);
    thread_start start = {main, arg, 0};
    int code = beneath(thread, attr, thread_main, &start);
    while (code == 0 && !atomic_load(&start.started))
        sched_yield();
    atomic_store(&countdown, left);
    return code;
}
