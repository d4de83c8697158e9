/* CPU device, operators: kernels of a program's own, launched in blocks (aclnnxLaunch).
 *
 * A launch is a task of its stream like an operator's: queued, kept by a graph that
 * captures, seen by profiles under the kernel's name. Its blocks are the chunks of one
 * region of the thread pool. Nobody knows how long they take, so a launch is handed to
 * the stream's worker, as on an NPU, unless the stream runs everything on its caller.
 *
 * Every block runs, whatever others did: which error the stream keeps, that of the first
 * block that failed, does not depend on the threads.
 */
#include <stdio.h>
#include <string.h>

#include "aclnn/aclnnx.h"
#include "base/alloc.h"
#include "device/cpu/threads.h"
#include "device/opbase/executor.h"

enum { MESSAGE_MAX = 192 };

typedef struct {
    const char *name;
    aclnnxKernel kernel;
    void *args; /* owned, with drop */
    void (*drop)(void *);
    uint32_t blocks;
} launch;

/* One run of a launch. first: the lowest block that failed, with its message; `busy`
 * guards both. */
typedef struct {
    const launch *of;
    atomic_flag busy;
    uint32_t first;
    char message[MESSAGE_MAX];
} region;

static int32_t find_memory(const void *p, uintptr_t *begin, uintptr_t *end) {
    return asnrtBlockFind(p, begin, end);
}

/* A chunk of the pool's region. Failures are rare: who waits for `busy` spins. */
static void run_block(void *ctx, int64_t chunk) {
    region *r = ctx;
    char message[MESSAGE_MAX] = "";
    aclnnxBlock block = {(uint32_t)chunk, r->of->blocks, message, sizeof message,
                         find_memory};
    if (r->of->kernel(r->of->args, &block) == 0) return;
    while (atomic_flag_test_and_set_explicit(&r->busy, memory_order_acquire))
        continue;
    if (block.index < r->first) {
        r->first = block.index;
        memcpy(r->message, message, sizeof message);
    }
    atomic_flag_clear_explicit(&r->busy, memory_order_release);
}

/* All blocks, then 0 or the stream's code with the thread's message. stream: NULL on a
 * stream's worker. */
static int32_t launch_run(const launch *l, asnrtStreamState *stream) {
    region r = {.of = l, .busy = ATOMIC_FLAG_INIT, .first = UINT32_MAX};
    asnrtScope scope;
    bool hooked = asnrtHooked();
    if (hooked) asnrtScopeBegin(&scope, stream);
    /* Worth sharing: a kernel that is not would have one block. */
    asn_pool_run(run_block, &r, l->blocks, l->blocks > 1 ? ASNRT_INLINE_NS : 0);
    if (hooked) asnrtScopeEnd(&scope, l->name);
    if (r.first == UINT32_MAX) return 0;
    return asnrtFail(ACL_ERROR_RT_AICORE_EXCEPTION, "%.40s, block %u of %u: %.180s",
                     l->name, r.first, l->blocks,
                     r.message[0] ? r.message : "the kernel failed");
}

static int32_t task_run(void *arg) {
    return launch_run(arg, NULL);
}

static void task_drop(void *arg) {
    launch *l = arg;
    if (l->drop != NULL) l->drop(l->args);
    asn_free(l);
}

/* 0, or why there can be no such launch; the default stream's error is set, too. */
static int32_t launch_check(const char *name, aclnnxKernel kernel, const void *args,
                            uint32_t blocks) {
    if (name == NULL || kernel == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "aclnnxLaunch: %s is NULL",
                         name == NULL ? "name" : "kernel");
    if (args == NULL)
        return asnrtFail(ACLNN_ERR_RUNTIME_ERROR,
                         "aclnnxLaunch: no memory for the arguments of %.40s", name);
    if (blocks >= 1 && blocks <= ACLNNX_MAX_BLOCKS) return 0;
    return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                     "aclnnxLaunch: %u blocks of %.40s; there may be 1 to %d", blocks,
                     name, ACLNNX_MAX_BLOCKS);
}

ASN_API int32_t aclnnxLaunch(const char *name, aclnnxKernel kernel, void *args,
                             void (*drop)(void *args), uint32_t blocks, void *stream) {
    launch l = {name, kernel, args, drop, blocks}, *kept = NULL;
    int32_t code = launch_check(name, kernel, args, blocks);
    asnrtStreamState *s = code == 0 ? asnrtStreamGet(stream, NULL) : NULL;
    if (code == 0 && s == NULL) code = ACLNN_ERR_RUNTIME_ERROR;
    if (code == 0 && asnrtStreamInlines(s, ASNRT_INLINE_NS) && asnrtStreamEnter(s)) {
        code = launch_run(&l, s);
        asnrtStreamLeave(s, code); /* the stream's error, as of a queued launch */
        if (drop != NULL) drop(args);
        return ACLNN_SUCCESS;
    }
    if (code == 0 && (kept = asn_malloc(sizeof *kept)) == NULL)
        code = asnop_fail(ASN_ERR_MEMORY);
    if (code != 0) {
        if (drop != NULL && args != NULL) drop(args);
        return code;
    }
    *kept = l;
    return asnrtStreamPush(s, task_run, task_drop, kept) ? ACLNN_ERR_RUNTIME_ERROR
                                                         : ACLNN_SUCCESS;
}
