/* CPU device, runtime: events that several processes record and wait for.
 *
 * Such an event counts as others do (event.c), in a page of memory that the processes
 * share: `recorded` rises when a record is launched, `done` follows when a stream gets
 * there, and who waits sleeps on `done` (a futex). The page is a file in memory (memfd)
 * of the process that made the event; a handle names that process and the descriptor, and
 * another process of the same user opens it under /proc, as memory is (ipc_memory.c).
 * A wait looks now and then whether the process that recorded last still lives: it fails
 * when that one ended with its record unreached.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static const uint64_t MARK = 0x41534e6576656e74; /* the page is one of these */
enum { LOOK_MS = 100 };                          /* between looks at the recorder */

/* The shared page. Numbers of records wrap around after 2^32. */
typedef struct {
    uint64_t mark;
    _Atomic uint32_t recorded, done;
    _Atomic int32_t recorder; /* the process of the newest record */
} page;

struct rt_ipc_event {
    page *shared;
    int fd;        /* of the file in memory; -1: another process has it */
    int32_t owner; /* that process */
};

static rt_ipc_event *event_of(page *shared, int fd, int32_t owner) {
    rt_ipc_event *e = shared != MAP_FAILED ? asn_malloc(sizeof *e) : NULL;
    if (e != NULL) *e = (rt_ipc_event){shared, fd, owner};
    if (e == NULL && shared != MAP_FAILED) munmap(shared, sizeof(page));
    if (e == NULL && fd >= 0) close(fd);
    return e;
}

static page *page_map(int fd) {
    return mmap(NULL, sizeof(page), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
}

rt_ipc_event *rt_ipc_event_new(void) {
    int fd = memfd_create("asnumpy-event", MFD_CLOEXEC);
    page *shared =
        fd >= 0 && ftruncate(fd, sizeof(page)) == 0 ? page_map(fd) : MAP_FAILED;
    if (shared != MAP_FAILED) shared->mark = MARK;
    return event_of(shared, fd, (int32_t)getpid());
}

void rt_ipc_event_free(rt_ipc_event *e) {
    munmap(e->shared, sizeof(page));
    if (e->fd >= 0) close(e->fd);
    asn_free(e);
}

/* A handle says "<process>:<descriptor>". */
aclError rt_ipc_event_handle(const rt_ipc_event *e, aclrtIpcEventHandle *handle) {
    memset(handle, 0, sizeof *handle);
    if (e->fd < 0 || e->owner != (int32_t)getpid())
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtIpcGetEventHandle: the event is of process %d, which "
                         "gives its handle",
                         (int)e->owner);
    snprintf(handle->reserved, sizeof handle->reserved, "%d:%d", (int)e->owner, e->fd);
    return ACL_SUCCESS;
}

rt_ipc_event *rt_ipc_event_open(const aclrtIpcEventHandle *handle) {
    int owner = 0, number = -1;
    bool good = memchr(handle->reserved, 0, sizeof handle->reserved) != NULL &&
                sscanf(handle->reserved, "%d:%d", &owner, &number) == 2;
    int fd = good ? rt_ipc_file(owner, number, "asnumpy-event") : -1;
    struct stat info;
    good = fd >= 0 && fstat(fd, &info) == 0 && info.st_size >= (off_t)sizeof(page);
    page *shared = good ? page_map(fd) : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (shared == MAP_FAILED || shared->mark != MARK) {
        if (shared != MAP_FAILED) munmap(shared, sizeof(page));
        (void)asnrtFail(ACL_ERROR_INVALID_PARAM,
                        "aclrtIpcOpenEventHandle: the handle names no event that this "
                        "process may open");
        return NULL;
    }
    rt_ipc_event *e = event_of(shared, -1, owner);
    if (e == NULL) (void)rt_fail_status(ASN_ERR_MEMORY);
    return e;
}

uint32_t rt_ipc_event_record(rt_ipc_event *e) {
    atomic_store(&e->shared->recorder, (int32_t)getpid());
    return atomic_fetch_add(&e->shared->recorded, 1) + 1;
}

/* Whether `done` is at or behind `number`, around the wrap too. */
static bool is_done(uint32_t done, uint32_t number) {
    return (int32_t)(done - number) >= 0;
}

void rt_ipc_event_reach(rt_ipc_event *e, uint32_t number) {
    uint32_t done = atomic_load(&e->shared->done);
    while (!is_done(done, number) &&
           !atomic_compare_exchange_weak(&e->shared->done, &done, number)) {
    }
    syscall(SYS_futex, &e->shared->done, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

uint32_t rt_ipc_event_newest(const rt_ipc_event *e) {
    return atomic_load(&e->shared->recorded);
}

bool rt_ipc_event_reached(const rt_ipc_event *e, uint32_t number) {
    return is_done(atomic_load(&e->shared->done), number);
}

static bool process_lives(int32_t process) {
    return process <= 0 || kill((pid_t)process, 0) == 0 || errno != ESRCH;
}

aclError rt_ipc_event_wait(rt_ipc_event *e, uint32_t number, int32_t timeout_ms) {
    int64_t end = timeout_ms < 0 ? INT64_MAX : rt_now() + (int64_t)timeout_ms * 1000000;
    for (;;) {
        uint32_t done = atomic_load(&e->shared->done);
        if (is_done(done, number)) return ACL_SUCCESS;
        int64_t left = end - rt_now();
        if (left <= 0)
            return asnrtFail(ACL_ERROR_RT_EVENT_SYNC_TIMEOUT,
                             "the event was not reached within %d ms", timeout_ms);
        int32_t recorder = atomic_load(&e->shared->recorder);
        if (!process_lives(recorder))
            return asnrtFail(ACL_ERROR_RT_FAILURE,
                             "process %d, which recorded the event, ended before it was "
                             "reached",
                             (int)recorder);
        int64_t sleep = left < LOOK_MS * 1000000LL ? left : LOOK_MS * 1000000LL;
        struct timespec t = {0, (long)sleep};
        syscall(SYS_futex, &e->shared->done, FUTEX_WAIT, done, &t, NULL, 0);
    }
}
