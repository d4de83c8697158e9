/* CPU device, runtime: device and host memory.
 *
 * Both are the same memory on a CPU; the registry keeps them apart as CANN does. Every
 * live allocation is in the registry, an open-addressed hash table of addresses under one
 * lock (about 30 ns per call: the array library pools its memory above). It makes a
 * double free, a foreign pointer or the wrong kind of free an error code instead of a
 * crash. blocks.c has them in order too, for addresses inside of one.
 *
 * Blocks begin at multiples of 512 bytes (llama.cpp's allocator counts on 128) and are
 * rounded up to 64; from 2 MiB on they are mapped on their own, 2 MiB-aligned with huge
 * pages requested unless the policy forbids them: first touch runs at 10.8 GB/s then,
 * against 1.8 GB/s. ASNUMPY_CPU_MEMORY=bytes limits the device's memory (default: the
 * machine's), so that a program's out-of-memory path can be tested.
 */
#include "device/acl/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ALIGNMENT = 512, UNIT = 64, KIND_DEVICE = 1, KIND_HOST = 2 };
static const size_t HUGE = (size_t)2 << 20;

typedef struct {
    uintptr_t address; /* 0: never used, 1: removed */
    size_t size;       /* as rounded */
    int32_t device;
    int32_t kind;
} allocation;

static struct {
    pthread_mutex_t lock;
    allocation *table;
    size_t capacity, live,
        occupied; /* capacity is a power of two; occupied counts removed */
    size_t device_bytes, limit;
    struct {
        size_t now, peak; /* bytes of each device */
    } used[RT_MAX_DEVICES];
} registry = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Where a search begins: the low 6 bits of an address are 0. */
static size_t slot_of(uintptr_t address, size_t capacity) {
    return (size_t)((address >> 6) * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
}

/* ---- registry; lock held */

/* NULL: no live block begins there. Removed entries are passed over. */
static allocation *registry_find(uintptr_t address) {
    if (registry.capacity == 0 || address < 2) return NULL;
    for (size_t i = slot_of(address, registry.capacity);;
         i = (i + 1) & (registry.capacity - 1)) {
        allocation *a = &registry.table[i];
        if (a->address == address) return a;
        if (a->address == 0) return NULL;
    }
}

/* Takes the first place that is free or was removed; there is one. */
static void registry_put(allocation *table, size_t capacity, allocation entry) {
    size_t i = slot_of(entry.address, capacity);
    while (table[i].address > 1)
        i = (i + 1) & (capacity - 1);
    table[i] = entry;
}

/* Room for one more, at most three quarters occupied; growing drops removed entries.
 * false: out of memory. */
static bool registry_grow(void) {
    if ((registry.occupied + 1) * 4 < registry.capacity * 3) return true;
    size_t capacity = 256;
    while (capacity < registry.live * 4)
        capacity *= 2;
    allocation *table = asn_calloc(capacity, sizeof *table);
    if (table == NULL) return false;
    for (size_t i = 0; i < registry.capacity; i++)
        if (registry.table[i].address > 1)
            registry_put(table, capacity, registry.table[i]);
    asn_free(registry.table);
    registry.table = table;
    registry.capacity = capacity;
    registry.occupied = registry.live;
    return true;
}

/* Bytes. */
static size_t machine_memory(void) {
    int64_t limit = asn_setting_number(ASN_SETTING_CPU_MEMORY, 0);
    if (limit > 0) return (size_t)limit;
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

/* ---- blocks */

#ifdef ASN_SANITIZE
static const bool map_large = false; /* the sanitizer sees only what malloc gave */
#else
static const bool map_large = true;
#endif

/* Maps 2 MiB more than needed and gives back what lies around the aligned part. */
static void *block_map(size_t size, bool huge) {
    char *raw = mmap(NULL, size + HUGE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (raw == MAP_FAILED) return NULL;
    char *block = (char *)(((uintptr_t)raw + HUGE - 1) & ~(uintptr_t)(HUGE - 1));
    if (block > raw) munmap(raw, (size_t)(block - raw));
    size_t tail = (size_t)(raw + size + HUGE - (block + size));
    if (tail > 0) munmap(block + size, tail);
    if (huge) madvise(block, size, MADV_HUGEPAGE);
    return block;
}

static void block_free(uintptr_t address, size_t size) {
    if (map_large && size >= HUGE) {
        munmap((void *)address, size);
    } else {
        free((void *)address);
    }
}

/* Rounded up; 0: too large. */
static size_t block_size(size_t size) {
    size_t unit = map_large && size >= HUGE ? 4096 : UNIT;
    return size > SIZE_MAX - HUGE * 2 ? 0 : (size + unit - 1) & ~(unit - 1);
}

static void *block_new(size_t rounded, bool huge) {
    if (map_large && rounded >= HUGE) return block_map(rounded, huge);
    void *p;
    return posix_memalign(&p, ALIGNMENT, rounded) == 0 ? p : NULL;
}

/* Host memory is not limited. */
static bool device_has_room(size_t size, int kind) {
    if (kind != KIND_DEVICE) return true;
    if (registry.limit == 0) registry.limit = machine_memory();
    return size <= registry.limit && registry.device_bytes <= registry.limit - size;
}

/* Counts bytes that a device takes. */
static void device_take(int32_t device, size_t size) {
    registry.device_bytes += size;
    registry.used[device].now += size;
    if (registry.used[device].peak < registry.used[device].now)
        registry.used[device].peak = registry.used[device].now;
}

/* The reverse. */
static void device_give(int32_t device, size_t size) {
    registry.device_bytes -= size;
    registry.used[device].now -= size;
}

/* The block is made with the lock held, so that two threads cannot pass the limit
 * together. */
static aclError block_register(void **out, size_t size, int kind, int32_t device,
                               bool huge) {
    size_t rounded = block_size(size);
    void *p = NULL;
    pthread_mutex_lock(&registry.lock);
    if (rounded != 0 && device_has_room(rounded, kind) && registry_grow())
        p = block_new(rounded, huge);
    if (p != NULL && !rt_blocks_add((uintptr_t)p, rounded)) {
        block_free((uintptr_t)p, rounded);
        p = NULL;
    }
    if (p != NULL) {
        atomic_fetch_add(&asnrtBlockChanges, 1);
        allocation entry = {(uintptr_t)p, rounded, device, kind};
        registry_put(registry.table, registry.capacity, entry);
        registry.live++;
        registry.occupied++;
        if (kind == KIND_DEVICE) device_take(device, rounded);
    }
    size_t used = registry.device_bytes;
    pthread_mutex_unlock(&registry.lock);
    if (p == NULL)
        return asnrtFail(ACL_ERROR_RT_MEMORY_ALLOCATION,
                         "no memory for %zu bytes; %zu bytes of device memory are in use",
                         size, used);
    *out = p;
    return ACL_SUCCESS;
}

/* A device must be set, since blocks belong to one. */
static aclError memory_new(const char *function, void **out, size_t size, int kind,
                           bool huge) {
    if (out == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: the pointer to fill is NULL",
                         function);
    *out = NULL;
    if (size == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: size is 0; it must be at least one byte", function);
    aclError code;
    rt_context *c = rt_context_current(&code);
    return c ? block_register(out, size, kind, c->device, huge) : code;
}

/* The block goes back to the system when the lock is given back. */
static aclError memory_free(const char *function, void *p, int kind) {
    if (p == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: the pointer is NULL", function);
    allocation gone = {0, 0, 0, 0};
    pthread_mutex_lock(&registry.lock);
    allocation *a = registry_find((uintptr_t)p);
    if (a != NULL) gone = *a;
    if (gone.kind == kind) {
        rt_blocks_remove(a->address);
        atomic_fetch_add(&asnrtBlockChanges, 1);
        a->address = 1;
        registry.live--;
        if (kind == KIND_DEVICE) device_give(gone.device, gone.size);
    }
    pthread_mutex_unlock(&registry.lock);
    if (gone.kind == kind) {
        if (gone.size >= HUGE) rt_ipc_forget((uintptr_t)p);
        block_free((uintptr_t)p, gone.size);
        return ACL_SUCCESS;
    }
    if (gone.kind == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: %p is no live allocation: freed before, or not from here",
                         function, p);
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %p is %s memory; use %s", function, p,
                     kind == KIND_DEVICE ? "host" : "device",
                     kind == KIND_DEVICE ? "aclrtFreeHost" : "aclrtFree");
}

bool rt_memory_take(int32_t device, size_t size) {
    pthread_mutex_lock(&registry.lock);
    bool room = device_has_room(size, KIND_DEVICE);
    if (room) device_take(device, size);
    pthread_mutex_unlock(&registry.lock);
    return room;
}

void rt_memory_give(int32_t device, size_t size) {
    pthread_mutex_lock(&registry.lock);
    device_give(device, size);
    pthread_mutex_unlock(&registry.lock);
}

size_t rt_memory_limit(void) {
    pthread_mutex_lock(&registry.lock);
    if (registry.limit == 0) registry.limit = machine_memory();
    size_t limit = registry.limit;
    pthread_mutex_unlock(&registry.lock);
    return limit;
}

_Atomic uint64_t asnrtBlockChanges = 1;

bool asnrtBlockFind(const void *p, uintptr_t *begin, uintptr_t *end) {
    pthread_mutex_lock(&registry.lock);
    bool found = rt_blocks_find((uintptr_t)p, begin, end);
    pthread_mutex_unlock(&registry.lock);
    return found;
}

/* ---- AscendCL */

/* The policies that ask for huge pages or peer access are hints, which a CPU meets or
 * needs not; normal pages only are what they say. */
static aclError policy_check(const char *function, aclrtMemMallocPolicy policy) {
    const unsigned known = 7u | ACL_MEM_TYPE_LOW_BAND_WIDTH |
                           ACL_MEM_TYPE_HIGH_BAND_WIDTH |
                           ACL_MEM_ACCESS_USER_SPACE_READONLY;
    if (((unsigned)policy & ~known) == 0) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: policy %d is unknown", function,
                     (int)policy);
}

static aclError device_new(const char *function, void **p, size_t size,
                           aclrtMemMallocPolicy policy) {
    aclError code = policy_check(function, policy);
    return code == ACL_SUCCESS ? memory_new(function, p, size, KIND_DEVICE,
                                            policy != ACL_MEM_MALLOC_NORMAL_ONLY)
                               : code;
}

/* Allocates device memory, 512-byte aligned, not initialised; freed with aclrtFree. */
ASN_API aclError aclrtMalloc(void **devPtr, size_t size, aclrtMemMallocPolicy policy) {
    return device_new("aclrtMalloc", devPtr, size, policy);
}

/* aclrtMalloc without CANN's padding: the same on a CPU. */
ASN_API aclError aclrtMallocAlign32(void **devPtr, size_t size,
                                    aclrtMemMallocPolicy policy) {
    return device_new("aclrtMallocAlign32", devPtr, size, policy);
}

/* aclrtMalloc of cached memory: the same on a CPU. */
ASN_API aclError aclrtMallocCached(void **devPtr, size_t size,
                                   aclrtMemMallocPolicy policy) {
    return device_new("aclrtMallocCached", devPtr, size, policy);
}

/* aclrtMalloc; the configuration has no effect on a CPU. */
ASN_API aclError aclrtMallocWithCfg(void **devPtr, size_t size,
                                    aclrtMemMallocPolicy policy, aclrtMallocConfig *cfg) {
    (void)cfg;
    return device_new("aclrtMallocWithCfg", devPtr, size, policy);
}

/* aclrtMalloc; the configuration has no effect on a CPU. */
ASN_API aclError aclrtMallocForTaskScheduler(void **devPtr, size_t size,
                                             aclrtMemMallocPolicy policy,
                                             aclrtMallocConfig *cfg) {
    (void)cfg;
    return device_new("aclrtMallocForTaskScheduler", devPtr, size, policy);
}

/* Frees device memory. Tasks that use it must have ended. */
ASN_API aclError aclrtFree(void *devPtr) {
    return memory_free("aclrtFree", devPtr, KIND_DEVICE);
}

/* Allocates host memory; freed with aclrtFreeHost. */
ASN_API aclError aclrtMallocHost(void **hostPtr, size_t size) {
    return memory_new("aclrtMallocHost", hostPtr, size, KIND_HOST, true);
}

/* aclrtMallocHost; the configuration has no effect on a CPU. */
ASN_API aclError aclrtMallocHostWithCfg(void **ptr, uint64_t size,
                                        aclrtMallocConfig *cfg) {
    (void)cfg;
    return memory_new("aclrtMallocHostWithCfg", ptr, size, KIND_HOST, true);
}

/* Frees host memory. */
ASN_API aclError aclrtFreeHost(void *hostPtr) {
    return memory_free("aclrtFreeHost", hostPtr, KIND_HOST);
}

/* What the machine could still give, in bytes; SIZE_MAX when it does not say. */
static size_t machine_available(void) {
    FILE *f = fopen("/proc/meminfo", "re");
    if (f == NULL) return SIZE_MAX;
    char line[128];
    unsigned long long kib = 0;
    bool found = false;
    while (!found && fgets(line, sizeof line, f) != NULL)
        found = sscanf(line, "MemAvailable: %llu", &kib) == 1;
    fclose(f);
    return found ? (size_t)kib * 1024 : SIZE_MAX;
}

/* Free and total device memory in bytes. */
ASN_API aclError aclrtGetMemInfo(aclrtMemAttr attr, size_t *free, size_t *total) {
    RT_CHECK_NOT_NULL("aclrtGetMemInfo", free);
    RT_CHECK_NOT_NULL("aclrtGetMemInfo", total);
    if ((unsigned)attr > ACL_MEM_P2P_HUGE1G)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "aclrtGetMemInfo: attr %d is unknown",
                         (int)attr);
    aclError code;
    if (rt_context_current(&code) == NULL) return code;
    size_t available = machine_available();
    pthread_mutex_lock(&registry.lock);
    if (registry.limit == 0) registry.limit = machine_memory();
    /* The smaller of what the limit leaves and what the machine has. */
    size_t left = registry.limit - registry.device_bytes;
    *total = registry.limit;
    pthread_mutex_unlock(&registry.lock);
    *free = left < available ? left : available;
    return ACL_SUCCESS;
}

/* What the components of the device's memory take, the largest first, up to inputNum of
 * them: here the program itself is the only one, under the name APP. */
ASN_API aclError aclrtGetMemUsageInfo(int32_t deviceId, aclrtMemUsageInfo *memUsageInfo,
                                      size_t inputNum, size_t *outputNum) {
    RT_CHECK_NOT_NULL("aclrtGetMemUsageInfo", memUsageInfo);
    RT_CHECK_NOT_NULL("aclrtGetMemUsageInfo", outputNum);
    aclError code = rt_device_check(deviceId);
    if (code != ACL_SUCCESS) return code;
    *outputNum = inputNum > 0 ? 1 : 0;
    if (inputNum == 0) return ACL_SUCCESS;
    memset(memUsageInfo, 0, sizeof *memUsageInfo);
    strcpy(memUsageInfo->name, "APP");
    pthread_mutex_lock(&registry.lock);
    memUsageInfo->curMemSize = registry.used[deviceId].now;
    memUsageInfo->memPeakSize = registry.used[deviceId].peak;
    pthread_mutex_unlock(&registry.lock);
    return ACL_SUCCESS;
}

/* Where a pointer's memory is: on the device when it starts a block of aclrtMalloc. */
ASN_API aclError aclrtPointerGetAttributes(const void *ptr,
                                           aclrtPtrAttributes *attributes) {
    RT_CHECK_NOT_NULL("aclrtPointerGetAttributes", attributes);
    RT_CHECK_NOT_NULL("aclrtPointerGetAttributes", ptr);
    allocation found = {0, 0, 0, 0};
    pthread_mutex_lock(&registry.lock);
    allocation *a = registry_find((uintptr_t)ptr);
    if (a != NULL) found = *a;
    pthread_mutex_unlock(&registry.lock);
    memset(attributes, 0, sizeof *attributes);
    attributes->location.id = (uint32_t)found.device;
    attributes->location.type = found.kind == KIND_DEVICE ? ACL_MEM_LOCATION_TYPE_DEVICE
                                : found.kind == KIND_HOST
                                    ? ACL_MEM_LOCATION_TYPE_HOST
                                    : ACL_MEM_LOCATION_TYPE_UNREGISTERED;
    attributes->pageSize = (uint32_t)sysconf(_SC_PAGESIZE);
    return ACL_SUCCESS;
}

void rt_memory_fork(int stage) {
    if (stage == RT_FORK_PREPARE) {
        pthread_mutex_lock(&registry.lock);
    } else {
        pthread_mutex_unlock(&registry.lock);
    }
}
