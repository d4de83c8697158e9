/* CPU device, runtime: virtual memory. Addresses are reserved, physical memory is made,
 * and the one is mapped to the other.
 *
 * A reservation is address space without access. Physical memory is a file in memory
 * (memfd); mapped, its pages appear in the reservation. Unmapping leaves the addresses
 * reserved and the contents with the physical memory, which lives until it is freed and
 * no longer mapped. A shareable handle names a process and a descriptor of it (32 bits
 * each): another process of the same user imports the memory by opening it under /proc,
 * for which Linux asks the same permission as for debugging;
 * aclrtMemSetPidToShareableHandle, which lists the processes allowed, restricts nothing
 * further.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t HUGE_PAGE = (size_t)2 << 20;

/* Physical memory: the file, which this process keeps open. counted: the bytes of the
 * device's memory that it takes; 0 where it is the host's, or another process counts it.
 */
typedef struct {
    asnd_slot slot;
    int fd;
    int32_t device;
    size_t size, counted;
} physical;

/* A range of addresses: reserved, or mapped inside a reserved one. */
typedef struct range {
    struct range *next;
    char *start;
    size_t size;
} range;

static asnd_arena physicals =
    ASN_ARENA_INIT("physical memory", sizeof(physical), 1 << 16, true);

static struct {
    pthread_mutex_t lock;
    range *reserved, *mapped;
} space = {.lock = PTHREAD_MUTEX_INITIALIZER};

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* The error of a system call, with errno's text. */
static aclError system_failed(const char *function, const char *what) {
    return asnrtFail(ACL_ERROR_RT_MEMORY_ALLOCATION, "%s: %s: %s", function, what,
                     strerror(errno));
}

/* ---- ranges; lock held */

/* The link to the range that starts there, or the list's end. */
static range **range_at(range **list, const char *start) {
    while (*list != NULL && (*list)->start != start)
        list = &(*list)->next;
    return list;
}

/* The range that holds all of [start, start + size); NULL: none does. */
static range *range_around(range *list, const char *start, size_t size) {
    for (; list != NULL; list = list->next)
        if (start >= list->start && size <= list->size &&
            (size_t)(start - list->start) <= list->size - size)
            return list;
    return NULL;
}

/* Whether some range shares a byte with [start, start + size). */
static bool range_meets(const range *list, const char *start, size_t size) {
    for (; list != NULL; list = list->next)
        if (start < list->start + list->size && list->start < start + size) return true;
    return false;
}

/* false: out of memory. */
static bool range_add(range **list, char *start, size_t size) {
    range *r = asn_malloc(sizeof *r);
    if (r == NULL) return false;
    *r = (range){*list, start, size};
    *list = r;
    return true;
}

/* Takes the range that starts there out of the list; 0: none does. */
static size_t range_remove(range **list, const char *start) {
    range **at = range_at(list, start), *found = *at;
    if (found == NULL) return 0;
    size_t size = found->size;
    *at = found->next;
    asn_free(found);
    return size;
}

/* ---- reservations */

/* Reserves `size` bytes of addresses, rounded up to whole pages. alignment: 0, the only
 * one CANN allows; the addresses start at a multiple of 2 MiB. expectPtr: NULL, or where
 * to start, if that is free. flags: 0, or 1 (huge pages are used anyway). */
ASN_API aclError aclrtReserveMemAddress(void **virPtr, size_t size, size_t alignment,
                                        void *expectPtr, uint64_t flags) {
    RT_CHECK_NOT_NULL("aclrtReserveMemAddress", virPtr);
    if (size == 0 || size > SIZE_MAX / 4 || alignment != 0 || flags > 1 ||
        (uintptr_t)expectPtr % page_size())
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtReserveMemAddress: size %zu, alignment %zu, expectPtr %p, "
                         "flags %llu: a size above 0, alignment 0, a multiple of %zu and "
                         "flags 0 or 1 are allowed",
                         size, alignment, expectPtr, (unsigned long long)flags,
                         page_size());
    size = (size + page_size() - 1) & ~(page_size() - 1);
    size_t extra = expectPtr ? 0 : HUGE_PAGE;
    char *raw = mmap(expectPtr, size + extra, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (raw == MAP_FAILED) return system_failed("aclrtReserveMemAddress", "mmap");
    char *start = raw;
    if (extra != 0) {
        start = (char *)(((uintptr_t)raw + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1));
        if (start > raw) munmap(raw, (size_t)(start - raw));
        size_t tail = (size_t)(raw + extra - start);
        if (tail > 0) munmap(start + size, tail);
    }
    pthread_mutex_lock(&space.lock);
    bool added = range_add(&space.reserved, start, size);
    pthread_mutex_unlock(&space.lock);
    if (!added) {
        munmap(start, size);
        return rt_fail_status(ASN_ERR_MEMORY);
    }
    *virPtr = start;
    return ACL_SUCCESS;
}

/* Gives reserved addresses back; nothing may be mapped there any more. */
ASN_API aclError aclrtReleaseMemAddress(void *virPtr) {
    RT_CHECK_NOT_NULL("aclrtReleaseMemAddress", virPtr);
    pthread_mutex_lock(&space.lock);
    const range *found = *range_at(&space.reserved, virPtr);
    bool used = found != NULL && range_meets(space.mapped, found->start, found->size);
    size_t size = found == NULL || used ? 0 : range_remove(&space.reserved, virPtr);
    pthread_mutex_unlock(&space.lock);
    if (size != 0) {
        munmap(virPtr, size);
        return ACL_SUCCESS;
    }
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclrtReleaseMemAddress: %p %s", virPtr,
                     used ? "has memory mapped: aclrtUnmapMem comes first"
                          : "is not the start of reserved addresses");
}

/* ---- physical memory */

/* Properties are CANN's, and a device among them exists; nothing else matters on a
 * CPU. */
static aclError prop_check(const char *function, const aclrtPhysicalMemProp *prop) {
    if (prop == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: prop is NULL", function);
    if ((unsigned)prop->memAttr > ACL_MEM_P2P_HUGE1G ||
        prop->allocationType != ACL_MEM_ALLOCATION_TYPE_PINNED ||
        (unsigned)prop->location.type > ACL_MEM_LOCATION_TYPE_HOST_NUMA)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: memAttr %d, allocationType %d, location %d: unknown",
                         function, (int)prop->memAttr, (int)prop->allocationType,
                         (int)prop->location.type);
    if (prop->location.type != ACL_MEM_LOCATION_TYPE_DEVICE) return ACL_SUCCESS;
    return rt_device_check((int32_t)prop->location.id);
}

static bool is_huge(aclrtMemAttr attr) {
    switch (attr) {
    case ACL_DDR_MEM_HUGE:
    case ACL_HBM_MEM_HUGE:
    case ACL_DDR_MEM_P2P_HUGE:
    case ACL_HBM_MEM_P2P_HUGE:
    case ACL_HBM_MEM_HUGE1G:
    case ACL_HBM_MEM_P2P_HUGE1G:
    case ACL_MEM_HUGE:
    case ACL_MEM_HUGE1G:
    case ACL_MEM_P2P_HUGE:
    case ACL_MEM_P2P_HUGE1G: return true;
    default: return false;
    }
}

/* Physical memory comes in multiples of this many bytes: 2 MiB for huge pages, else the
 * machine's page; 2 MiB are recommended for both. */
ASN_API aclError aclrtMemGetAllocationGranularity(aclrtPhysicalMemProp *prop,
                                                  aclrtMemGranularityOptions option,
                                                  size_t *granularity) {
    RT_CHECK_NOT_NULL("aclrtMemGetAllocationGranularity", granularity);
    aclError code = prop_check("aclrtMemGetAllocationGranularity", prop);
    if (code != ACL_SUCCESS) return code;
    if (option != ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM &&
        option != ACL_RT_MEM_ALLOC_GRANULARITY_RECOMMENDED)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtMemGetAllocationGranularity: option %d; it must be 0 or 1",
                         (int)option);
    bool least = option == ACL_RT_MEM_ALLOC_GRANULARITY_MINIMUM;
    *granularity = least && !is_huge(prop->memAttr) ? page_size() : HUGE_PAGE;
    return ACL_SUCCESS;
}

/* A handle for the file, which it takes with what was counted, also on failure. */
static aclError physical_publish(int fd, size_t size, size_t counted, int32_t device,
                                 aclrtDrvMemHandle *handle) {
    physical *p = asn_arena_take(&physicals);
    if (p == NULL) {
        close(fd);
        rt_memory_give(device, counted);
        return rt_fail_status(ASN_ERR_MEMORY);
    }
    p->fd = fd;
    p->size = size;
    p->counted = counted;
    p->device = device;
    asn_slot_publish(p);
    *handle = p;
    return ACL_SUCCESS;
}

/* The memory behind a handle; NULL, with *code set, for anything else. */
static physical *physical_get(const char *function, aclrtDrvMemHandle handle,
                              aclError *code) {
    if (asn_arena_alive(&physicals, handle)) return handle;
    *code =
        handle ? asnrtFail(ACL_ERROR_RT_INVALID_HANDLE,
                           "%s: %p is no physical memory, or was freed", function, handle)
               : asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: handle is NULL", function);
    return NULL;
}

/* Makes `size` bytes of zeroed physical memory, a multiple of the granularity. */
ASN_API aclError aclrtMallocPhysical(aclrtDrvMemHandle *handle, size_t size,
                                     const aclrtPhysicalMemProp *prop, uint64_t flags) {
    RT_CHECK_NOT_NULL("aclrtMallocPhysical", handle);
    aclError code = prop_check("aclrtMallocPhysical", prop);
    if (code != ACL_SUCCESS) return code;
    size_t unit = is_huge(prop->memAttr) ? HUGE_PAGE : page_size();
    if (size == 0 || size % unit || size > INT64_MAX || flags != 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtMallocPhysical: %zu bytes, flags %llu; a multiple of %zu "
                         "bytes and flags 0 are allowed",
                         size, (unsigned long long)flags, unit);
    bool on_device = prop->location.type == ACL_MEM_LOCATION_TYPE_DEVICE;
    int32_t device = on_device ? (int32_t)prop->location.id : 0;
    size_t counted = on_device ? size : 0;
    if (!rt_memory_take(device, counted))
        return asnrtFail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                         "aclrtMallocPhysical: no memory for %zu bytes on the device",
                         size);
    int fd = memfd_create("asnumpy-device", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size) != 0) {
        code = system_failed("aclrtMallocPhysical", "memfd");
        if (fd >= 0) close(fd);
        rt_memory_give(device, counted);
        return code;
    }
    return physical_publish(fd, size, counted, device, handle);
}

/* Frees physical memory; what is mapped stays usable until it is unmapped. */
ASN_API aclError aclrtFreePhysical(aclrtDrvMemHandle handle) {
    aclError code = ACL_SUCCESS;
    physical *p = physical_get("aclrtFreePhysical", handle, &code);
    if (p == NULL) return code;
    if (!asn_slot_retire(p)) { /* another thread was faster */
        (void)physical_get("aclrtFreePhysical", handle, &code);
        return code;
    }
    close(p->fd);
    rt_memory_give(p->device, p->counted);
    asn_arena_give(&physicals, p);
    return ACL_SUCCESS;
}

/* ---- mapping */

/* Maps `size` bytes of physical memory, from its start (offset must be 0), to reserved
 * addresses where nothing is mapped. */
ASN_API aclError aclrtMapMem(void *virPtr, size_t size, size_t offset,
                             aclrtDrvMemHandle handle, uint64_t flags) {
    RT_CHECK_NOT_NULL("aclrtMapMem", virPtr);
    aclError code = ACL_SUCCESS;
    physical *p = physical_get("aclrtMapMem", handle, &code);
    if (p == NULL) return code;
    if (size == 0 || size % page_size() || size > p->size || offset != 0 || flags != 0 ||
        (uintptr_t)virPtr % page_size())
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtMapMem: %zu bytes at %p, offset %zu, flags %llu: whole "
                         "pages, at most the handle's %zu bytes, offset 0 and flags 0 "
                         "are allowed",
                         size, virPtr, offset, (unsigned long long)flags, p->size);
    pthread_mutex_lock(&space.lock);
    bool inside = range_around(space.reserved, virPtr, size) != NULL;
    bool used = range_meets(space.mapped, virPtr, size);
    bool added = inside && !used && range_add(&space.mapped, virPtr, size);
    if (added && mmap(virPtr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, p->fd,
                      0) == MAP_FAILED) {
        code = system_failed("aclrtMapMem", "mmap");
        (void)range_remove(&space.mapped, virPtr);
    }
    pthread_mutex_unlock(&space.lock);
    if (added) return code;
    if (inside && !used) return rt_fail_status(ASN_ERR_MEMORY);
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclrtMapMem: %zu bytes at %p %s", size,
                     virPtr, used ? "are mapped in part" : "are not reserved");
}

/* Undoes aclrtMapMem at its address; the addresses stay reserved. */
ASN_API aclError aclrtUnmapMem(void *virPtr) {
    RT_CHECK_NOT_NULL("aclrtUnmapMem", virPtr);
    pthread_mutex_lock(&space.lock);
    size_t size = range_remove(&space.mapped, virPtr);
    void *at = size ? mmap(virPtr, size, PROT_NONE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0)
                    : virPtr;
    pthread_mutex_unlock(&space.lock);
    if (at == MAP_FAILED) return system_failed("aclrtUnmapMem", "mmap");
    if (size != 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtUnmapMem: %p is not the start of mapped memory", virPtr);
}

/* ---- sharing */

/* A number by which another process can import the memory, as long as this process has
 * not freed it. flags: 0, or 1 (no list of allowed processes). */
ASN_API aclError aclrtMemExportToShareableHandle(aclrtDrvMemHandle handle,
                                                 aclrtMemHandleType handleType,
                                                 uint64_t flags,
                                                 uint64_t *shareableHandle) {
    RT_CHECK_NOT_NULL("aclrtMemExportToShareableHandle", shareableHandle);
    aclError code = ACL_SUCCESS;
    physical *p = physical_get("aclrtMemExportToShareableHandle", handle, &code);
    if (p == NULL) return code;
    if (handleType != ACL_MEM_HANDLE_TYPE_NONE || flags > 1)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtMemExportToShareableHandle: handleType %d, flags %llu; "
                         "type 0 and flags 0 or 1 are allowed",
                         (int)handleType, (unsigned long long)flags);
    *shareableHandle = (uint64_t)getpid() << 32 | (uint32_t)p->fd;
    return ACL_SUCCESS;
}

/* The memory behind another process's (or this one's) shareable handle. */
ASN_API aclError aclrtMemImportFromShareableHandle(uint64_t shareableHandle,
                                                   int32_t deviceId,
                                                   aclrtDrvMemHandle *handle) {
    RT_CHECK_NOT_NULL("aclrtMemImportFromShareableHandle", handle);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    char path[64], target[64] = "";
    snprintf(path, sizeof path, "/proc/%u/fd/%u", (unsigned)(shareableHandle >> 32),
             (unsigned)(uint32_t)shareableHandle);
    struct stat info;
    /* Only memory that this library made: the link's name tells. */
    bool ours = readlink(path, target, sizeof target - 1) > 0 &&
                strncmp(target, "/memfd:asnumpy-device", 21) == 0;
    int fd = ours ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd >= 0 && fstat(fd, &info) == 0)
        return physical_publish(fd, (size_t)info.st_size, 0, 0, handle);
    if (fd >= 0) close(fd);
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtMemImportFromShareableHandle: %#llx names no memory that this "
                     "process may open",
                     (unsigned long long)shareableHandle);
}

/* Accepted for a handle of this process; the operating system decides who may import. */
ASN_API aclError aclrtMemSetPidToShareableHandle(uint64_t shareableHandle, int32_t *pid,
                                                 size_t pidNum) {
    RT_CHECK_NOT_NULL("aclrtMemSetPidToShareableHandle", pid);
    if (pidNum > 0 && (pid_t)(shareableHandle >> 32) == getpid()) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtMemSetPidToShareableHandle: %zu processes for %#llx; a handle "
                     "that this process exported and at least one are needed",
                     pidNum, (unsigned long long)shareableHandle);
}

void rt_virtual_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&space.lock);
        asn_arena_lock(&physicals);
    } else {
        asn_arena_unlock(&physicals);
        pthread_mutex_unlock(&space.lock);
    }
}
