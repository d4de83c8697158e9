/* CPU device, operator base: arenas of the objects, checks of handles, per-thread free
 * slots.
 *
 * An operator's call creates and destroys a handful of objects. A thread keeps some free
 * slots of each kind, so that this takes no lock; what it keeps goes back to the arenas
 * when it ends. */
#include "device/opbase/object.h"

#include "base/alloc.h"
#include "device/opbase/executor.h"

#define ARENA(kind, type) ASN_ARENA_INIT(kind, sizeof(type), 1 << 20, false)

asnd_arena asnop_arenas[ASN_OBJECT_KINDS] = {
    [ASN_OBJECT_TENSOR] = ARENA("aclTensor", aclTensor),
    [ASN_OBJECT_SCALAR] = ARENA("aclScalar", aclScalar),
    [ASN_OBJECT_INT_ARRAY] = ARENA("aclIntArray", aclIntArray),
    [ASN_OBJECT_FLOAT_ARRAY] = ARENA("aclFloatArray", aclFloatArray),
    [ASN_OBJECT_BOOL_ARRAY] = ARENA("aclBoolArray", aclBoolArray),
    [ASN_OBJECT_TENSOR_LIST] = ARENA("aclTensorList", aclTensorList),
    [ASN_OBJECT_SCALAR_LIST] = ARENA("aclScalarList", aclScalarList),
};

aclnnStatus asnop_check(asnd_object_kind kind, const void *object, const char *where,
                        const char *name) {
    if (__builtin_expect(asnop_alive(kind, object), 1)) return ACLNN_SUCCESS;
    if (object == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", where, name);
    return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: %s is no %s, or was destroyed", where,
                     name, asnop_arenas[kind].kind);
}

/* ---- per-thread free slots */

enum { RANGES = 8 };

/* A thread's own: free slots by kind, and ranges around addresses that it asked about. */
typedef struct {
    asnd_slot_cache objects[ASN_OBJECT_KINDS];
    asnd_slot_cache executors;
    asnd_range ranges[RANGES]; /* by address */
} thread_slots;

/* Eight bytes of static thread-local storage: no call to find them, and few enough for a
 * library that is opened late. */
#ifdef ASN_ONE_LIBRARY /* opened late, with the runtime's thread-locals: no room for all \
                        */
static _Thread_local thread_slots *mine;
#else
static _Thread_local thread_slots *mine __attribute__((tls_model("initial-exec")));
#endif
static pthread_key_t thread_end;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* When a thread ends: everything back to the arenas. */
static void flush(void *slots) {
    thread_slots *t = slots;
    for (int kind = 0; kind < ASN_OBJECT_KINDS; kind++)
        asn_slot_cache_flush(&t->objects[kind], &asnop_arenas[kind]);
    asn_slot_cache_flush(&t->executors, &asnop_executors);
    mine = NULL; /* a later destructor may take slots again */
    asn_free(t);
}

/* Around fork, so that the child finds no lock taken by a thread that it has not. */
static void lock_all(void) {
    for (int kind = 0; kind < ASN_OBJECT_KINDS; kind++)
        asn_arena_lock(&asnop_arenas[kind]);
    asn_arena_lock(&asnop_executors);
}

static void unlock_all(void) {
    for (int kind = 0; kind < ASN_OBJECT_KINDS; kind++)
        asn_arena_unlock(&asnop_arenas[kind]);
    asn_arena_unlock(&asnop_executors);
}

static void unlock_in_child(void) {
    unlock_all();
    asnop_executors_forked();
}

static void set_up(void) {
    pthread_key_create(&thread_end, flush);
}

/* As the library loads, before the handlers of those that call it. */
__attribute__((constructor)) static void handle_forks(void) {
    pthread_atfork(lock_all, unlock_all, unlock_in_child);
}

/* NULL when out of memory: the arenas serve directly then. */
static __attribute__((noinline, cold)) thread_slots *slots_new(void) {
    pthread_once(&once, set_up);
    thread_slots *t = asn_calloc(1, sizeof *t);
    if (t != NULL) pthread_setspecific(thread_end, t);
    return mine = t;
}

/* The calling thread's; NULL: no memory for any. */
static inline thread_slots *slots(void) {
    thread_slots *t = mine;
    return __builtin_expect(t != NULL, 1) ? t : slots_new();
}

void *asnop_object_take(asnd_object_kind kind) {
    thread_slots *t = slots();
    if (t == NULL) return asn_arena_take(&asnop_arenas[kind]);
    return asn_slot_cache_take(&t->objects[kind], &asnop_arenas[kind]);
}

void asnop_object_give(asnd_object_kind kind, void *object) {
    thread_slots *t = slots();
    if (t == NULL) {
        asn_arena_give(&asnop_arenas[kind], object);
    } else {
        asn_slot_cache_give(&t->objects[kind], &asnop_arenas[kind], object);
    }
}

void *asnop_executor_take(void) {
    thread_slots *t = slots();
    return t ? asn_slot_cache_take(&t->executors, &asnop_executors)
             : asn_arena_take(&asnop_executors);
}

void asnop_executor_give(void *executor) {
    thread_slots *t = slots();
    if (t == NULL) {
        asn_arena_give(&asnop_executors, executor);
    } else {
        asn_slot_cache_give(&t->executors, &asnop_executors, executor);
    }
}

asnd_range asnop_range_of(const void *p, uint64_t changes) {
    uintptr_t at = (uintptr_t)p;
    thread_slots *t = slots();
    /* One place for each address, by a hash: a collision costs a question to the
     * runtime. */
    asnd_range fresh = {0}, *r = t ? &t->ranges[(at >> 6 ^ at >> 12) % RANGES] : &fresh;
    if (t != NULL && r->changes == changes && at - r->begin < r->end - r->begin)
        return *r;
    r->changes = changes;
    r->is_block = asnrtBlockFind(p, &r->begin, &r->end);
    return *r;
}
