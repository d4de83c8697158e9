/* CPU device, runtime: memory that a program's own allocator gives.
 *
 * A description collects the allocator's functions; registered for a stream, it gives the
 * temporaries of the operators that run there (workspaces are the program's in any case).
 * While an operator of such a stream runs, its thread's scope names the allocator.
 *
 * Registrations copy the description, so that it may be destroyed. They are few, in a
 * list under a lock that a scope takes once; without registrations and profiles operators
 * do not look (asnrtHooked).
 */
#include "device/acl/internal.h"

/* What a program describes: its object, and its functions. */
typedef struct {
    asnd_slot slot;
    aclrtAllocator object;
    aclrtAllocatorAllocFunc alloc;
    aclrtAllocatorFreeFunc free;
    aclrtAllocatorAllocAdviseFunc advise;
    aclrtAllocatorGetAddrFromBlockFunc address;
} description;

/* An allocator in use for a stream. */
typedef struct registration {
    struct registration *next;
    const rt_stream *stream;
    description functions;
} registration;

static asnd_arena descriptions =
    ASN_ARENA_INIT("allocator description", sizeof(description), 1 << 12, true);
static struct {
    pthread_mutex_t lock;
    registration *first;
} registered = {.lock = PTHREAD_MUTEX_INITIALIZER};
ASN_FORK_TAKES(descriptions, &descriptions.lock, ASN_FORK_LEAF)
ASN_FORK_TAKES(registered, &registered.lock, ASN_FORK_LEAF)
static _Thread_local const registration *scope;

/* The description behind a handle; NULL, with *code set, for anything else. */
static description *description_get(const char *function, aclrtAllocatorDesc handle,
                                    aclError *code) {
    *code = rt_object_check(&descriptions, function, "allocatorDesc", handle);
    return *code == ACL_SUCCESS ? handle : NULL;
}

/* ---- for operators */

/* The stream's registration becomes the thread's scope; the one before is returned, for
 * scopes that lie in each other. */
const void *rt_allocator_enter(const rt_stream *stream) {
    const registration *before = scope;
    pthread_mutex_lock(&registered.lock);
    const registration *r = registered.first;
    while (r != NULL && r->stream != stream)
        r = r->next;
    pthread_mutex_unlock(&registered.lock);
    scope = r;
    return before;
}

void rt_allocator_leave(const void *before) {
    scope = before;
}

/* The program's functions are called without a lock held: they may call the runtime. */
bool asnrtScratchNew(size_t size, asnrtScratch *scratch) {
    const registration *r = scope;
    if (r == NULL) return false;
    const description *f = &r->functions;
    scratch->owner = r;
    scratch->block = f->alloc(f->object, size);
    scratch->data = scratch->block ? f->address(scratch->block) : NULL;
    return true;
}

/* By the registration that gave it, whatever the scope is by then. */
void asnrtScratchFree(const asnrtScratch *scratch) {
    const registration *r = scratch->owner;
    r->functions.free(r->functions.object, scratch->block);
}

/* ---- registrations */

/* Removes the stream's registration, whose tasks have ended. */
static bool forget(const rt_stream *stream) {
    pthread_mutex_lock(&registered.lock);
    registration **at = &registered.first;
    while (*at != NULL && (*at)->stream != stream)
        at = &(*at)->next;
    registration *found = *at;
    if (found != NULL) *at = found->next;
    if (registered.first == NULL) asnrtHook(ASNRT_HOOK_ALLOCATOR, false);
    pthread_mutex_unlock(&registered.lock);
    asn_free(found);
    return found != NULL;
}

void rt_allocator_forget(const rt_stream *stream) {
    (void)forget(stream);
}

/* Temporaries of operators on the stream come from the allocator from here on. */
ASN_API aclError aclrtAllocatorRegister(aclrtStream stream,
                                        aclrtAllocatorDesc allocatorDesc) {
    aclError code = ACL_SUCCESS;
    const description *d =
        description_get("aclrtAllocatorRegister", allocatorDesc, &code);
    if (d == NULL) return code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    if (d->object == NULL || d->alloc == NULL || d->free == NULL || d->address == NULL)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclrtAllocatorRegister: the description lacks its object, or "
                         "its alloc, free or get-address function");
    registration *r = asn_malloc(sizeof *r);
    if (r == NULL) return rt_fail_status(ASN_ERR_MEMORY);
    /* Tasks that are queued still use the allocator before. */
    code = rt_stream_wait(s, -1);
    (void)forget(s);
    pthread_mutex_lock(&registered.lock);
    *r = (registration){registered.first, s, *d};
    registered.first = r;
    asnrtHook(ASNRT_HOOK_ALLOCATOR, true);
    pthread_mutex_unlock(&registered.lock);
    return code;
}

/* Ends the registration, after the stream's tasks. */
ASN_API aclError aclrtAllocatorUnregister(aclrtStream stream) {
    aclError code;
    rt_stream *s = rt_stream_get(stream, &code);
    if (s == NULL) return code;
    code = rt_stream_wait(s, -1);
    if (forget(s)) return code;
    return asnrtFail(ACL_ERROR_INVALID_PARAM,
                     "aclrtAllocatorUnregister: the stream has no allocator");
}

/* ---- descriptions */

/* An empty description; NULL, with a message, when out of memory. */
ASN_API aclrtAllocatorDesc aclrtAllocatorCreateDesc(void) {
    return rt_object_new(&descriptions);
}

/* Destroys a description; registrations made from it stay. */
ASN_API aclError aclrtAllocatorDestroyDesc(aclrtAllocatorDesc allocatorDesc) {
    return rt_object_free(&descriptions, "aclrtAllocatorDestroyDesc", "allocatorDesc",
                          allocatorDesc);
}

/* The allocator, handed to its functions. */
ASN_API aclError aclrtAllocatorSetObjToDesc(aclrtAllocatorDesc allocatorDesc,
                                            aclrtAllocator allocator) {
    aclError code = ACL_SUCCESS;
    description *d = description_get("aclrtAllocatorSetObjToDesc", allocatorDesc, &code);
    if (d != NULL) d->object = allocator;
    return code;
}

/* Gives a block of at least `size` bytes, or NULL. */
ASN_API aclError aclrtAllocatorSetAllocFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                  aclrtAllocatorAllocFunc func) {
    aclError code = ACL_SUCCESS;
    description *d =
        description_get("aclrtAllocatorSetAllocFuncToDesc", allocatorDesc, &code);
    if (d != NULL) d->alloc = func;
    return code;
}

/* Takes a block back. */
ASN_API aclError aclrtAllocatorSetFreeFuncToDesc(aclrtAllocatorDesc allocatorDesc,
                                                 aclrtAllocatorFreeFunc func) {
    aclError code = ACL_SUCCESS;
    description *d =
        description_get("aclrtAllocatorSetFreeFuncToDesc", allocatorDesc, &code);
    if (d != NULL) d->free = func;
    return code;
}

/* Gives a block at an address; stored: temporaries have no address of their choice. */
ASN_API aclError aclrtAllocatorSetAllocAdviseFuncToDesc(
    aclrtAllocatorDesc allocatorDesc, aclrtAllocatorAllocAdviseFunc func) {
    aclError code = ACL_SUCCESS;
    description *d =
        description_get("aclrtAllocatorSetAllocAdviseFuncToDesc", allocatorDesc, &code);
    if (d != NULL) d->advise = func;
    return code;
}

/* The address of a block. */
ASN_API aclError aclrtAllocatorSetGetAddrFromBlockFuncToDesc(
    aclrtAllocatorDesc allocatorDesc, aclrtAllocatorGetAddrFromBlockFunc func) {
    aclError code = ACL_SUCCESS;
    description *d = description_get("aclrtAllocatorSetGetAddrFromBlockFuncToDesc",
                                     allocatorDesc, &code);
    if (d != NULL) d->address = func;
    return code;
}
