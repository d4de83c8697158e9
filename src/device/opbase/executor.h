/* CPU device, operator base: aclOpExecutor, a planned call of an operator.
 *
 * Phase 1 makes an executor and captures the tensors by value (`operands`, in the order
 * of the operator's parameters, a list's members one after the other); the planner of the
 * operator validates, puts what it needs into the executor's memory and sets `body`.
 * Phase 2 (asnop_run) runs it on the caller while the stream is idle and the work small,
 * else hands it to the stream.
 *
 * In a strict run an operator may have asked for workspace: phase 2 refuses less, and
 * each run's body takes its temporaries from the one that it was given.
 *
 * A one-shot executor is freed by its run. A repeatable one is shared by its queued runs:
 * each run takes a snapshot of the addresses, installs it under `lock`, runs, and
 * unlocks.
 */
#ifndef ASN_DEVICE_OPBASE_EXECUTOR_H
#define ASN_DEVICE_OPBASE_EXECUTOR_H

#include "device/cpu/nd.h"
#include "device/opbase/object.h"

enum { ASN_EXECUTOR_ROOM = 1600 };

typedef struct {
    asnd_nd nd;        /* what `run` works with; strides in bytes */
    char *addr;        /* storage address as the program set it last */
    int64_t offset;    /* bytes from addr to nd.data */
    aclTensor *source; /* the program's object, valid while its generation is this */
    uint32_t generation;
    bool is_out, is_in, is_empty;
    bool is_absent; /* a NULL member of a list: keeps its place */
    bool wild;      /* strides or offset, in bytes, are past what can be counted */
    bool exchanged; /* addr is not the one that was checked (asnop_operand_fits) */
    bool is_int4;   /* two to a byte, the first in its low bits: nd.dtype is int8, and
                       nd.strides count elements, not bytes */
} asnd_operand;

typedef struct asnd_chunk asnd_chunk;

struct aclOpExecutor {
    asnd_slot slot;
    const char *name; /* "aclnnAdd": one pointer per operator, compared as such */
    int32_t (*run)(aclOpExecutor *e);     /* 0, or an aclError whose message is set */
    asn_status (*body)(aclOpExecutor *e); /* what run calls */
    void *plan;                           /* what run needs, in the executor's memory */
    double work_ns;                       /* estimate on one thread */
    char *workspace;         /* of this run, until a body takes it; NULL: none */
    uint64_t workspace_size; /* that phase 2 must bring: 0 but in strict runs */
    uint32_t *fp_flags;      /* NULL, or takes exceptions raised (aclnnxConditions) */
    void *group; /* of asnrtGroups, owned; NULL: the operator does not communicate */
    void *place; /* of this run, in the order of the group's calls */
    bool repeatable, ready; /* ready: lock is set up, stays so for the slot */
    _Atomic uint32_t references;
    uint32_t num_operands, capacity, used;
    asnd_operand *operands;
    asnd_chunk *chunks;
    pthread_mutex_t lock;
    _Alignas(16) char room[ASN_EXECUTOR_ROOM];
};

extern ASN_API asnd_arena asnop_executors;

/* A new executor with room for so many operands; NULL with the thread's error
 * (asn_error_set) set. */
ASN_API aclOpExecutor *asnop_executor_new(const char *name, uint32_t num_operands);
ASN_API void asnop_executor_release(aclOpExecutor *e);
/* In the child of a fork: no thread is running one. */
void asnop_executors_forked(void);

/* 16-byte aligned memory that lives as long as the executor; NULL with the error set. */
ASN_API void *asnop_executor_alloc_slow(aclOpExecutor *e, size_t size);
static inline void *asnop_executor_alloc(aclOpExecutor *e, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (__builtin_expect(size <= ASN_EXECUTOR_ROOM - e->used, 1)) {
        void *p = e->room + e->used;
        e->used += (uint32_t)size;
        return p;
    }
    return asnop_executor_alloc_slow(e, size);
}

/* Captures a tensor (checked alive) as the next operand; false when out of memory. A
 * dtype that no operator computes with is captured with dtype ASN_DTYPE_NONE. */
ASN_API bool asnop_executor_capture(aclOpExecutor *e, const aclTensor *t, bool is_in,
                                    bool is_out);

/* Bytes from an operand's address, [low, high): those its elements take, and those of the
 * block of aclrtMalloc that the address lies in. */
typedef struct {
    double low, high;
    int64_t block_low, block_high;
} asnd_extent;

/* Whether the operand's elements lie in the block of its address; true when it lies in
 * none. What was found about tensor `t` (NULL: none) is remembered. */
ASN_API bool asnop_operand_fits_slow(const asnd_operand *o, aclTensor *t,
                                     asnd_extent *extent);
static inline bool asnop_operand_fits(const asnd_operand *o, aclTensor *t,
                                      asnd_extent *extent) {
    return atomic_load_explicit(&t->fits, memory_order_relaxed) ==
               atomic_load_explicit(&asnrtBlockChanges, memory_order_relaxed) ||
           asnop_operand_fits_slow(o, t, extent);
}

/* Inline: every library has its own asn_error buffer. */
static inline asn_status asnop_operand_error(const char *name, const char *what,
                                             const asnd_extent *x) {
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: %s needs bytes %.0f to %.0f from its address; its block of "
                         "memory has %lld to %lld",
                         name, what, x->low, x->high, (long long)x->block_low,
                         (long long)x->block_high);
}

/* Phase 2 of operator `name`. A workspace is looked at where phase 1 asked for one, and
 * may be written until the run is over. */
ASN_API aclnnStatus asnop_run(const char *name, void *workspace, uint64_t size,
                              aclOpExecutor *e, aclrtStream stream);

/* The aclnnStatus of a failure whose message is asn_error_message(), reported for
 * aclGetRecentErrMsg. Inline: every library has its own asn_error buffer. */
static inline aclnnStatus asnop_fail(asn_status status) {
    return asnrtFail(asn_status_aclnn(status), "%s", asn_error_message());
}

/* Around an address, while asnrtBlockChanges is `changes`: its block of aclrtMalloc, or
 * what lies between blocks. A thread keeps a few: asking the runtime takes a lock and 20
 * ns. */
typedef struct {
    uintptr_t begin, end;
    uint64_t changes;
    bool is_block;
} asnd_range;
asnd_range asnop_range_of(const void *p, uint64_t changes);

void *asnop_executor_take(void);
void asnop_executor_give(void *executor);

#endif
