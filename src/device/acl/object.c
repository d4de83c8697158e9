/* CPU device, runtime: handles of plain objects, and memory that a program names.
 *
 * What a program may hand back in any state (destroyed, of another kind, no address at
 * all) lives in an arena (handle.h), zeroed when it is taken. Each use asks the arena
 * first.
 */
#include "device/acl/internal.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Published before the program has it: zeroed fields are a valid object. */
void *rt_object_new(asnd_arena *arena) {
    asnd_slot *slot = asn_arena_take(arena);
    if (slot == NULL) {
        (void)rt_fail_status(ASN_ERR_MEMORY);
        return NULL;
    }
    memset(slot + 1, 0, arena->slot_size - sizeof *slot);
    asn_slot_publish(slot);
    return slot;
}

aclError rt_object_check(asnd_arena *arena, const char *function, const char *parameter,
                         const void *handle) {
    if (handle == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: %s is NULL", function, parameter);
    if (asn_arena_alive(arena, handle)) return ACL_SUCCESS;
    return asnrtFail(ACL_ERROR_RT_INVALID_HANDLE, "%s: %s %p is no %s, or was destroyed",
                     function, parameter, handle, arena->kind);
}

aclError rt_object_free(asnd_arena *arena, const char *function, const char *parameter,
                        const void *handle) {
    aclError code = rt_object_check(arena, function, parameter, handle);
    if (code == ACL_SUCCESS && asn_slot_retire((void *)handle))
        asn_arena_give(arena, (void *)handle);
    return code;
}

/* The kernel reads a signal set before it looks at what to do with it: an unknown request
 * changes nothing and says whether 8 bytes could be read (EFAULT, else EINVAL). */
static bool word_readable(uintptr_t address) {
    return syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) == 0 ||
           errno != EFAULT;
}

/* A word of each page that the bytes lie in. */
bool rt_readable(const void *p, size_t size) {
    uintptr_t first = (uintptr_t)p, page = 4096;
    if (size == 0) return true;
    if (first > UINTPTR_MAX - size) return false;
    for (uintptr_t at = first; at < first + size; at = (at | (page - 1)) + 1)
        if (!word_readable(at)) return false;
    return true;
}
