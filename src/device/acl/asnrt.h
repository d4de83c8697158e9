/* CPU device: what the runtime offers to the operators above it (libnnopbase, libopapi).
 *
 * Exported from libascendcl under the prefix asnrt, but no public interface. A stream is
 * an ordered queue. Its state word tells in one load whether anything is queued or
 * running; while it is 0, a caller may take the stream with one compare-and-swap, do a
 * small task itself and give the stream back: the short path of a small operator (about
 * 10 ns, no lock).
 *
 *     s = asnrtStreamGet(handle);                       NULL: error is set
 *     if (work < s->inline_ns && asnrtStreamEnter(s)) {
 *         code = run(arg);
 *         asnrtStreamLeave(s, code);
 *     } else {
 *         code = asnrtStreamPush(s, run, drop, copy of arg);
 *     }
 */
#ifndef ASN_DEVICE_ACL_ASNRT_H
#define ASN_DEVICE_ACL_ASNRT_H

#include "acl/acl.h"
#include "device/acl/handle.h"

#define ASN_API __attribute__((visibility("default")))

/* Below this estimate a task runs on the caller of an idle stream: handing over and
 * waiting cost 20-35 us (measured around tasks of 80-220 us), so that at 1 ms the loss is
 * below 3%; a longer task is worth overlapping with its caller. */
#define ASNRT_INLINE_NS 1e6
/* On a stream made with ACL_STREAM_FAST_SYNC alone a task from here on runs on the
 * stream's thread: the owner has other streams to launch on, and waits with spinning. */
#define ASNRT_INLINE_SHORT_NS 1e5
/* On a stream made with ACL_STREAM_FAST_LAUNCH every task does: its owner waits for
 * results at once, and the caller's core would idle meanwhile. */
#define ASNRT_INLINE_ALL 1e300

typedef struct asnrtStreamState asnrtStreamState;

/* A task returns 0 or the code that the next synchronisation shall return, with the
 * thread's message set (asnrtFail). */
typedef int32_t (*asnrtTask)(void *arg);

enum {
    ASNRT_BUSY = 1,   /* a caller runs a task inline */
    ASNRT_QUEUED = 2, /* tasks are queued, or the worker runs the last one */
    ASNRT_WAITED = 4, /* a thread sleeps until the stream is done: no new inline tasks */
    ASNRT_CAPTURED = 8, /* tasks are kept for a graph instead of run */
    ASNRT_DELAYED = 16, /* always set on a device that delays launches: nothing inline */
    ASNRT_STOPPED = 32, /* at a failure: tasks are refused */
};

/* The part of a stream that the inline path touches. */
struct asnrtStreamState {
    asnd_slot slot;
    _Atomic uint32_t state;
    double inline_ns; /* longest task that runs on the caller */
};

/* Resolves a handle; NULL means the current context's default stream. NULL on failure,
 * with the thread's error set and *code (which may be NULL) holding the aclError. */
ASN_API asnrtStreamState *asnrtStreamGet(aclrtStream stream, aclError *code);

/* Whether a task of this length, in nanoseconds, may run on the thread that launches it.
 */
#define asnrtStreamInlines(stream, work_ns)                                              \
    ((stream)->inline_ns >= ASNRT_INLINE_ALL || (work_ns) < (stream)->inline_ns)

/* Takes an idle stream for an inline task; false: it has something to do. */
static inline bool asnrtStreamEnter(asnrtStreamState *stream) {
    uint32_t idle = 0;
    return atomic_compare_exchange_strong_explicit(
        &stream->state, &idle, ASNRT_BUSY, memory_order_acquire, memory_order_relaxed);
}

/* asnrtStreamLeave where the task failed, or someone waits. */
ASN_API void asnrtStreamLeaveSlow(asnrtStreamState *stream, int32_t code);

/* Ends an inline task; a failure `code` stays on the stream, with the thread's message.
 */
static inline void asnrtStreamLeave(asnrtStreamState *stream, int32_t code) {
    uint32_t busy = ASNRT_BUSY;
    if (__builtin_expect(code != 0, 0) ||
        !atomic_compare_exchange_strong_explicit(
            &stream->state, &busy, 0, memory_order_release, memory_order_relaxed)) {
        asnrtStreamLeaveSlow(stream, code);
    }
}

/* Appends a task; `drop` (may be NULL) frees `arg` after the task, or at once on failure.
 */
ASN_API aclError asnrtStreamPush(asnrtStreamState *stream, asnrtTask run,
                                 void (*drop)(void *), void *arg);

/* ---- what surrounds an operator (hooks.c)
 *
 *     if (atomic_load(&asnrtHooks)) {
 *         asnrtScopeBegin(&scope, stream);   NULL on a stream's worker
 *         code = run(arg);
 *         asnrtScopeEnd(&scope, "aclnnAdd"); the name outlives the profile
 *     }
 */
enum {
    ASNRT_HOOK_PROFILE = 1,
    ASNRT_HOOK_ALLOCATOR = 2,
    ASNRT_HOOK_CORES = 4,
    ASNRT_HOOK_ACTIVITY = 8
};
extern ASN_API _Atomic uint32_t asnrtHooks;
typedef struct {
    int64_t start, launched; /* times of the profile, when there is one */
    uint32_t launcher;       /* the thread that launched it */
    uint64_t correlation;    /* the launch's number for a tool (profile/mspti.c) */
    int32_t stream, device;  /* -1: none */
    const void *before;
    uint32_t cores; /* the operator may use; 0: all */
} asnrtScope;
ASN_API void asnrtScopeBegin(asnrtScope *scope, asnrtStreamState *stream);
ASN_API void asnrtScopeEnd(const asnrtScope *scope, const char *name);
/* Who limits the threads of the operators that the calling thread runs; 0: not. */
typedef void (*asnrtCoresFn)(uint32_t cores);
ASN_API void asnrtCoresUse(asnrtCoresFn fn);
static inline bool asnrtHooked(void) {
    return __builtin_expect(atomic_load_explicit(&asnrtHooks, memory_order_relaxed) != 0,
                            0);
}

/* Temporary memory of the stream's own allocator, inside a scope. false: there is none;
 * true with data NULL: it is exhausted. */
typedef struct {
    const void *owner;
    void *block, *data;
} asnrtScratch;
ASN_API bool asnrtScratchNew(size_t size, asnrtScratch *scratch);
ASN_API void asnrtScratchFree(const asnrtScratch *scratch);

/* ---- groups of ranks (groups.c)
 *
 * What libhccl, where a program has loaded it, offers to operators that communicate and
 * know their group by its name alone. The calls of one group run in the order in which
 * their places were taken, on whichever streams, as HCCL's own do:
 *
 *     group = groups->find(name, &size, &rank);      in phase 1; a reference
 *     place = groups->place(group);                  when the operator is launched
 *     groups->wait(place);                           by the stream's thread
 *     code = groups->call(place, "aclnn...", &call); any number of times
 *     groups->leave(place, code != 0);               also of a place that never came up
 */
typedef enum {
    ASNRT_ALL_REDUCE,     /* to[i] = the sum of from[i] over all ranks; may be in place */
    ASNRT_ALL_GATHER,     /* `count` elements of each rank, one after the other */
    ASNRT_REDUCE_SCATTER, /* the rank's `count` elements of the sum */
    ASNRT_ALL_TO_ALL      /* sends[r] elements from sends_at[r] on to rank r, and back */
} asnrtGroupKind;
typedef struct {
    asnrtGroupKind kind;
    int32_t dtype; /* aclDataType; sums are of numbers */
    const void *from;
    void *to;
    uint64_t count;
    uint64_t *sends, *sends_at, *receives, *receives_at; /* by rank; borrowed */
} asnrtGroupCall;
typedef struct {
    /* NULL, with the thread's message set: there is none of this name. */
    void *(*find)(const char *name, uint32_t *size, uint32_t *rank);
    void (*release)(void *group);
    void *(*place)(void *group); /* NULL: no memory, message set */
    void (*wait)(void *place);
    /* 0, or a code for the stream with the thread's message set. */
    int32_t (*call)(void *place, const char *function, const asnrtGroupCall *call);
    /* failed: the operator did; the other ranks, who may be waiting, are told. */
    void (*leave)(void *place, bool failed);
} asnrtGroups;
ASN_API void asnrtGroupsUse(const asnrtGroups *groups);
ASN_API const asnrtGroups *asnrtGroupsGet(void); /* NULL: libhccl is not loaded */

/* ---- the memory that the runtime gave
 *
 * Blocks of aclrtMalloc and aclrtMallocHost. Their changes are counted, from 1: what was
 * found out about an address holds as long as the count stays. */
extern ASN_API _Atomic uint64_t asnrtBlockChanges;
/* The block that `p` lies in; false: in none, as a program's own memory, but between
 * blocks. */
ASN_API bool asnrtBlockFind(const void *p, uintptr_t *begin, uintptr_t *end);

/* Sets the calling thread's message, as aclGetRecentErrMsg returns it, and its last
 * error; returns `code`. */
ASN_API int32_t asnrtFail(int32_t code, const char *format, ...)
    __attribute__((format(printf, 2, 3), cold));

#endif
