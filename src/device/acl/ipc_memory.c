/* CPU device, runtime: memory of one process used by another.
 *
 * A key names a process, a descriptor, a place and a size. When the first key of a block
 * is asked for, the block moves to a file in memory (memfd) that is mapped where it lay,
 * at the same address; another process of the same user opens that file under /proc, for
 * which Linux asks the same permission as for debugging, and maps it. A block of less
 * than 2 MiB shares its pages with others and cannot be given away.
 */
#include "device/acl/internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_LENGTH = 65, MOST = 4096 };

/* A block with a file of its own, or (key[0] != 0) one of another process. */
typedef struct {
    uintptr_t begin;
    size_t size;
    int fd;
    char key[KEY_LENGTH];
} shared;

static struct {
    pthread_mutex_t lock;
    shared *blocks;
    size_t count, capacity;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(ipc_memory, &table.lock, ASN_FORK_LEAF)

/* Lock held; NULL when out of memory. */
static shared *table_add(shared entry) {
    if (table.count == table.capacity) {
        size_t more = table.capacity ? 2 * table.capacity : 16;
        shared *blocks = asn_realloc(table.blocks, more * sizeof *blocks);
        if (blocks == NULL) return NULL;
        table.blocks = blocks;
        table.capacity = more;
    }
    table.blocks[table.count] = entry;
    return &table.blocks[table.count++];
}

static void table_remove(size_t i) {
    table.blocks[i] = table.blocks[--table.count];
}

/* The exported block that begins there; table.count: none. */
static size_t exported(uintptr_t begin) {
    size_t i = 0;
    while (i < table.count && (table.blocks[i].begin != begin || table.blocks[i].key[0]))
        i++;
    return i;
}

/* A block that was given to other processes is freed: they keep theirs. */
void rt_ipc_forget(uintptr_t begin) {
    pthread_mutex_lock(&table.lock);
    size_t i = exported(begin);
    if (i < table.count) {
        close(table.blocks[i].fd);
        table_remove(i);
    }
    pthread_mutex_unlock(&table.lock);
}

/* The bytes of [begin, begin + size) in a file, mapped there; -1 when the system refuses,
 * with the memory as it was. */
static int move_to_file(uintptr_t begin, size_t size) {
    int fd = memfd_create("asnumpy-ipc", MFD_CLOEXEC);
    bool good = fd >= 0 && ftruncate(fd, (off_t)size) == 0;
    for (size_t done = 0; good && done < size;) {
        ssize_t n = pwrite(fd, (char *)begin + done, size - done, (off_t)done);
        good = n > 0;
        if (good) done += (size_t)n;
    }
    if (good)
        good = mmap((void *)begin, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                    fd, 0) != MAP_FAILED;
    if (good) return fd;
    if (fd >= 0) close(fd);
    return -1;
}

/* The file of the block that starts at `begin`, which it moves to one the first time; -1.
 * Lock held. */
static int block_file(uintptr_t begin, size_t size) {
    size_t i = exported(begin);
    if (i < table.count) return table.blocks[i].fd;
    if (table.count >= MOST) return -1;
    shared *entry = table_add((shared){begin, size, -1, ""});
    if (entry == NULL) return -1;
    entry->fd = move_to_file(begin, size);
    if (entry->fd < 0) table.count--;
    return table.count > i ? table.blocks[i].fd : -1;
}

/* A key of `len` (65 at least) characters by which other processes import the `size`
 * bytes at `devPtr`, which lie in a block of aclrtMalloc of 2 MiB or more. The device is
 * synchronised first. flag: 0, or 1 (no list of processes): the operating system decides
 * who may import either way. */
ASN_API aclError aclrtIpcMemGetExportKey(void *devPtr, size_t size, char *key, size_t len,
                                         uint64_t flag) {
    RT_CHECK_NOT_NULL("aclrtIpcMemGetExportKey", devPtr);
    RT_CHECK_NOT_NULL("aclrtIpcMemGetExportKey", key);
    uintptr_t begin, end, at = (uintptr_t)devPtr;
    if (len < KEY_LENGTH || flag > 1 || size == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtIpcMemGetExportKey: size %zu, len %zu, flag %llu; at "
                         "least 1 byte, %d characters and flag 0 or 1 are needed",
                         size, len, (unsigned long long)flag, KEY_LENGTH);
    if (!asnrtBlockFind(devPtr, &begin, &end) || size > end - at)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtIpcMemGetExportKey: %zu bytes at %p do not lie in one "
                         "block of aclrtMalloc",
                         size, devPtr);
    if (end - begin < ((size_t)2 << 20) || begin % 4096 != 0)
        return asnrtFail(ACL_ERROR_FEATURE_UNSUPPORTED,
                         "aclrtIpcMemGetExportKey: the block of %zu bytes shares its "
                         "pages with others; blocks of 2 MiB and more can be exported",
                         (size_t)(end - begin));
    aclError code = aclrtSynchronizeDevice();
    if (code != ACL_SUCCESS) return code;
    pthread_mutex_lock(&table.lock);
    int fd = block_file(begin, end - begin);
    pthread_mutex_unlock(&table.lock);
    if (fd < 0)
        return asnrtFail(ACL_ERROR_BAD_ALLOC,
                         "aclrtIpcMemGetExportKey: the system gives no file of %zu bytes "
                         "in memory",
                         (size_t)(end - begin));
    snprintf(key, len, "%d:%d:%zx:%zx", (int)getpid(), fd, (size_t)(at - begin), size);
    return ACL_SUCCESS;
}

/* The processes that may import: accepted for a key of this process; the operating system
 * decides. */
ASN_API aclError aclrtIpcMemSetImportPid(const char *key, int32_t *pid, size_t num) {
    RT_CHECK_NOT_NULL("aclrtIpcMemSetImportPid", key);
    RT_CHECK_NOT_NULL("aclrtIpcMemSetImportPid", pid);
    int owner;
    if (num > 0 && sscanf(key, "%d:", &owner) == 1 && owner == getpid())
        return ACL_SUCCESS;
    return asnrtFail(
        ACL_ERROR_INVALID_PARAM,
        "aclrtIpcMemSetImportPid: %zu processes for key %.64s; a key of this "
        "process and at least one are needed",
        num, key);
}

/* Only what this library made: the link's name tells. */
int rt_ipc_file(int owner, int number, const char *name) {
    char path[64], target[64] = "", want[64];
    snprintf(path, sizeof path, "/proc/%d/fd/%d", owner, number);
    snprintf(want, sizeof want, "/memfd:%s", name);
    if (readlink(path, target, sizeof target - 1) <= 0 ||
        strncmp(target, want, strlen(want)) != 0)
        return -1;
    return open(path, O_RDWR | O_CLOEXEC);
}

/* The memory behind a key, until aclrtIpcMemClose; flag: 0, or 1 (peer access). */
ASN_API aclError aclrtIpcMemImportByKey(void **devPtr, const char *key, uint64_t flag) {
    RT_CHECK_NOT_NULL("aclrtIpcMemImportByKey", devPtr);
    RT_CHECK_NOT_NULL("aclrtIpcMemImportByKey", key);
    int owner, number;
    size_t offset, size;
    bool good = flag <= 1 && strlen(key) < KEY_LENGTH &&
                sscanf(key, "%d:%d:%zx:%zx", &owner, &number, &offset, &size) == 4;
    int fd = good ? rt_ipc_file(owner, number, "asnumpy-ipc") : -1;
    struct stat info;
    good = fd >= 0 && fstat(fd, &info) == 0 && (size_t)info.st_size >= size &&
           offset <= (size_t)info.st_size - size;
    void *mapped =
        good ? mmap(NULL, (size_t)info.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)
             : MAP_FAILED;
    if (fd >= 0) close(fd);
    if (mapped == MAP_FAILED)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtIpcMemImportByKey: %.64s (flag %llu) names no memory that "
                         "this process may open",
                         key, (unsigned long long)flag);
    shared entry = {(uintptr_t)mapped, (size_t)info.st_size, -1, ""};
    memcpy(entry.key, key, strlen(key) + 1);
    pthread_mutex_lock(&table.lock);
    bool kept = table_add(entry) != NULL;
    pthread_mutex_unlock(&table.lock);
    if (!kept) {
        munmap(mapped, (size_t)info.st_size);
        return asnrtFail(ACL_ERROR_BAD_ALLOC, "aclrtIpcMemImportByKey: no memory");
    }
    *devPtr = (char *)mapped + offset;
    return ACL_SUCCESS;
}

/* Ends the use of imported memory; for the exporter, of the key: what others imported
 * stays theirs. */
ASN_API aclError aclrtIpcMemClose(const char *key) {
    RT_CHECK_NOT_NULL("aclrtIpcMemClose", key);
    int owner = 0, number = -1;
    bool found = false;
    pthread_mutex_lock(&table.lock);
    for (size_t i = 0; i < table.count && !found; i++) {
        found = strncmp(table.blocks[i].key, key, KEY_LENGTH) == 0 && key[0] != 0;
        if (!found) continue;
        munmap((void *)table.blocks[i].begin, table.blocks[i].size);
        table_remove(i);
    }
    if (!found && sscanf(key, "%d:%d:", &owner, &number) == 2 && owner == getpid())
        for (size_t i = 0; i < table.count && !found; i++)
            found = table.blocks[i].fd == number;
    pthread_mutex_unlock(&table.lock);
    if (found) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtIpcMemClose: %.64s was neither imported nor exported here",
                     key);
}
