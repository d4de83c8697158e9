/* CPU device, operator base: executors (see executor.h) and their public functions.
 *
 * An executor has memory of its own, a room inside the struct and chunks from the heap
 * when that is full, so that planning an ordinary call allocates nothing. It is handed to
 * programs as a pointer: every function checks it by its arena first.
 *
 * Operands keep what a tensor was in phase 1. The address alone may be exchanged, for
 * which CANN has a dozen functions; all end in set_addr. */
#include "device/opbase/executor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/fpflags.h"

asnd_arena asnop_executors =
    ASN_ARENA_INIT("aclOpExecutor", sizeof(aclOpExecutor), 1 << 18, false);

/* Memory beyond the room, freed with the executor. */
struct asnd_chunk {
    asnd_chunk *next;
    _Alignas(16) char bytes[];
};

/* ---- memory */

aclOpExecutor *asnop_executor_new(const char *name, uint32_t num_operands) {
    aclOpExecutor *e = asnop_executor_take();
    if (e == NULL) return NULL;
    if (!e->ready) {
        pthread_mutex_init(&e->lock, NULL);
        e->ready = true;
    }
    e->name = name;
    e->run = NULL;
    e->body = NULL;
    e->plan = NULL;
    e->work_ns = 0;
    e->workspace = NULL;
    e->workspace_size = 0;
    e->fp_flags = NULL;
    e->group = e->place = NULL;
    e->repeatable = false;
    atomic_store_explicit(&e->references, 1, memory_order_relaxed);
    e->num_operands = e->used = 0;
    e->capacity = num_operands;
    e->chunks = NULL;
    e->operands = asnop_executor_alloc(e, num_operands * sizeof *e->operands);
    asn_slot_publish(e);
    if (e->operands != NULL) return e;
    asnop_executor_release(e);
    return NULL;
}

void *asnop_executor_alloc_slow(aclOpExecutor *e, size_t size) {
    asnd_chunk *c = asn_malloc(sizeof *c + size);
    if (c == NULL) return NULL;
    c->next = e->chunks;
    e->chunks = c;
    return c->bytes;
}

void asnop_executor_release(aclOpExecutor *e) {
    /* The only reference is this one: nobody can add to it meanwhile. */
    if (atomic_load_explicit(&e->references, memory_order_acquire) != 1 &&
        atomic_fetch_sub_explicit(&e->references, 1, memory_order_acq_rel) != 1)
        return;
    (void)asn_slot_retire(e);
    if (e->place != NULL) asnrtGroupsGet()->leave(e->place, false);
    if (e->group != NULL) asnrtGroupsGet()->release(e->group);
    while (e->chunks != NULL) {
        asnd_chunk *next = e->chunks->next;
        asn_free(e->chunks);
        e->chunks = next;
    }
    asnop_executor_give(e);
}

/* The dtype that operators see of a tensor: words of the same size, for dtypes that they
 * only move. */
static asn_dtype seen_dtype(const aclTensor *t) {
    switch (t->acl_dtype) {
    case ACL_INT4: return ASN_I8;
    case ACL_COMPLEX32: return ASN_U32;
    case ACL_HIFLOAT8:
    case ACL_FLOAT8_E5M2:
    case ACL_FLOAT8_E4M3FN:
    case ACL_FLOAT8_E8M0: return ASN_U8;
    default: return (asn_dtype)t->dtype;
    }
}

bool asnop_executor_capture(aclOpExecutor *e, const aclTensor *t, bool is_in,
                            bool is_out) {
    if (e->num_operands == e->capacity) return false;
    asnd_operand *o = &e->operands[e->num_operands];
    if (t == NULL) {
        *o = (asnd_operand){
            .nd.dtype = ASN_DTYPE_NONE, .is_empty = true, .is_absent = true};
        e->num_operands++;
        return true;
    }
    o->is_absent = false;
    o->is_int4 = t->acl_dtype == ACL_INT4;
    int64_t *dims = asnop_executor_alloc(e, 2 * t->ndim * sizeof *dims);
    if (dims == NULL) return false;
    asn_dtype dtype = seen_dtype(t);
    int64_t itemsize = dtype < ASN_DTYPE_COUNT ? asn_itemsize(dtype) : 0;
    o->is_empty = false;
    /* Past what can be counted in bytes, whatever the dtype: the check of extents refuses
     * it. */
    o->wild = t->offset > INT64_MAX / 16;
    for (uint32_t i = 0; i < t->ndim; i++) {
        dims[i] = t->shape[i];
        o->wild |= __builtin_mul_overflow(t->strides[i], itemsize, &dims[t->ndim + i]) &&
                   t->shape[i] > 1;
        o->is_empty |= t->shape[i] == 0;
    }
    o->offset = o->is_int4 ? t->offset / 2 : o->wild ? 0 : t->offset * itemsize;
    o->addr = t->data;
    o->exchanged = false;
    o->source = (aclTensor *)t;
    o->generation = t->member.generation;
    o->is_in = is_in;
    o->is_out = is_out;
    o->nd = (asnd_nd){t->data ? t->data + o->offset : NULL, (int)t->ndim, dtype, dims,
                      dims + t->ndim};
    e->num_operands++;
    return true;
}

/* The bytes from the storage's address that the elements take: [*low, *high). Doubles are
 * exact where a block could end, and have no overflow. */
static inline void bytes_of(const asnd_operand *o, double *low, double *high) {
    double first = 0, last = 0;
    for (int i = 0; i < o->nd.ndim; i++) {
        double way = (double)(o->nd.shape[i] - 1) * (double)o->nd.strides[i];
        first += way < 0 ? way : 0;
        last += way < 0 ? 0 : way;
    }
    if (o->is_int4) { /* strides count elements, two to a byte */
        first = -floor((1 - first) / 2);
        last = floor(last / 2);
    }
    *low = first + (double)o->offset;
    *high = last + (double)(o->offset + asn_itemsize(o->nd.dtype));
}

bool asnop_operand_fits_slow(const asnd_operand *o, aclTensor *t, asnd_extent *extent) {
    uint64_t changes = atomic_load(&asnrtBlockChanges);
    if (o->wild && !o->is_empty) {
        *extent = (asnd_extent){-0x1p63, 0x1p63, 0, 0};
        return false;
    }
    /* A tensor without an address, or without elements, needs no block. */
    bool has_block = o->addr != NULL && !o->is_empty && o->nd.dtype < ASN_DTYPE_COUNT;
    asnd_range r = {0};
    if (has_block) r = asnop_range_of(o->addr, changes);
    if (r.is_block) {
        double low, high;
        bytes_of(o, &low, &high);
        *extent = (asnd_extent){low, high, (int64_t)(r.begin - (uintptr_t)o->addr),
                                (int64_t)(r.end - (uintptr_t)o->addr)};
        if (low < (double)extent->block_low || high > (double)extent->block_high)
            return false;
    }
    if (t != NULL) atomic_store_explicit(&t->fits, changes, memory_order_relaxed);
    return true;
}

/* ---- phase 2 */

/* A queued run of a repeatable executor, with the workspace and addresses of its time and
 * its place among the calls of its group (NULL: none, or it takes one when it runs). */
typedef struct {
    aclOpExecutor *executor;
    void *place;
    char *workspace;
    char *addr[];
} run_task;

/* The operands' addresses for this run: those of `addr`, or (NULL) the executor's own. */
static void install(aclOpExecutor *e, char *const *addr) {
    for (uint32_t i = 0; i < e->num_operands; i++) {
        asnd_operand *o = &e->operands[i];
        char *base = addr ? addr[i] : o->addr;
        o->nd.data = base ? base + o->offset : NULL;
    }
}

/* For executors whose floating-point exceptions are asked for. */
static int32_t run_watched(aclOpExecutor *e) {
    asn_fp_clear();
    int32_t code = e->run(e);
    asn_fp_collect(e->fp_flags);
    return code;
}

/* `stream`: NULL on a stream's worker. */
static int32_t run_body(aclOpExecutor *e, asnrtStreamState *stream) {
    if (!asnrtHooked()) return e->fp_flags ? run_watched(e) : e->run(e);
    asnrtScope scope;
    asnrtScopeBegin(&scope, stream);
    int32_t code = e->fp_flags ? run_watched(e) : e->run(e);
    asnrtScopeEnd(&scope, e->name);
    return code;
}

void asnop_executors_forked(void) {
    for (uint32_t i = 0; i < atomic_load(&asnop_executors.used); i++) {
        aclOpExecutor *e = asn_arena_at(&asnop_executors, i);
        if (e != NULL && e->ready) pthread_mutex_init(&e->lock, NULL);
    }
}

/* ---- operators that communicate */

/* Takes the place of a run that is launched; a captured one takes it when its graph runs.
 */
static bool place_take(const aclOpExecutor *e, asnrtStreamState *s, void **place) {
    *place = NULL;
    if (e->group == NULL || (atomic_load(&s->state) & ASNRT_CAPTURED)) return true;
    *place = asnrtGroupsGet()->place(e->group);
    return *place != NULL;
}

/* Waits for the place, by the stream's thread: before the executor's lock, which the run
 * whose turn it is may want. */
static int32_t place_wait(const aclOpExecutor *e, void **place) {
    const asnrtGroups *groups = asnrtGroupsGet();
    if (*place == NULL) *place = groups->place(e->group);
    if (*place == NULL) return ACL_ERROR_BAD_ALLOC;
    groups->wait(*place);
    return 0;
}

/* The run of a one-shot executor, which the queue owns (drop_once). */
static int32_t task_once(void *arg) {
    aclOpExecutor *e = arg;
    if (e->group == NULL) return run_body(e, NULL);
    int32_t code = place_wait(e, &e->place);
    if (code != 0) return code;
    code = run_body(e, NULL);
    asnrtGroupsGet()->leave(e->place, code != 0);
    e->place = NULL;
    return code;
}

static void drop_once(void *arg) {
    asnop_executor_release(arg);
}

/* The run of a repeatable one: under its lock, since runs of several streams share it. */
static int32_t task_repeat(void *arg) {
    run_task *t = arg;
    bool joins = t->executor->group != NULL;
    int32_t code = joins ? place_wait(t->executor, &t->place) : 0;
    if (code != 0) return code;
    pthread_mutex_lock(&t->executor->lock);
    install(t->executor, t->addr);
    t->executor->place = t->place;
    t->executor->workspace = t->workspace;
    code = run_body(t->executor, NULL);
    t->executor->place = NULL;
    pthread_mutex_unlock(&t->executor->lock);
    if (joins) asnrtGroupsGet()->leave(t->place, code != 0);
    t->place = NULL;
    return code;
}

static void drop_repeat(void *arg) {
    void *place = ((run_task *)arg)->place;
    if (place != NULL) asnrtGroupsGet()->leave(place, false);
    asnop_executor_release(((run_task *)arg)->executor);
    asn_free(arg);
}

/* A snapshot of the addresses and a reference go with the run. */
static aclnnStatus push_repeat(asnrtStreamState *s, aclOpExecutor *e, void *workspace) {
    run_task *t = asn_malloc(sizeof *t + e->num_operands * sizeof *t->addr);
    if (t == NULL) return asnop_fail(ASN_ERR_MEMORY);
    if (!place_take(e, s, &t->place)) {
        asn_free(t);
        return ACLNN_ERR_RUNTIME_ERROR; /* the message is set */
    }
    t->executor = e;
    t->workspace = workspace;
    for (uint32_t i = 0; i < e->num_operands; i++)
        t->addr[i] = e->operands[i].addr;
    atomic_fetch_add(&e->references, 1);
    return asnrtStreamPush(s, task_repeat, drop_repeat, t) ? ACLNN_ERR_RUNTIME_ERROR : 0;
}

/* On the calling thread, which has entered the stream. */
static int32_t run_inline(aclOpExecutor *e, asnrtStreamState *stream, void *workspace) {
    if (!e->repeatable) {
        e->workspace = workspace;
        return run_body(e, stream);
    }
    pthread_mutex_lock(&e->lock);
    install(e, NULL);
    e->workspace = workspace;
    int32_t code = run_body(e, stream);
    pthread_mutex_unlock(&e->lock);
    return code;
}

/* The executor is alive, of this operator (by the address of its name), and each tensor
 * has memory that holds its elements. */
static aclnnStatus check_run(const char *name, aclOpExecutor *e) {
    if (e == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: executor is NULL", name);
    if (!asn_arena_alive(&asnop_executors, e))
        return asnrtFail(
            ACLNN_ERR_PARAM_INVALID,
            "%s: the executor is none, or was used before: one runs once unless "
            "aclSetAclOpExecutorRepeatable made it repeatable",
            name);
    if (e->name != name)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: the executor was made for %s",
                         name, e->name);
    for (uint32_t i = 0; i < e->num_operands; i++) {
        asnd_operand *o = &e->operands[i];
        if (o->addr == NULL && !o->is_empty)
            return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: tensor %u has no data address",
                             name, i);
        if (__builtin_expect(o->exchanged, 0)) {
            asnd_extent extent;
            char what[32];
            snprintf(what, sizeof what, "tensor %u", i);
            if (!asnop_operand_fits_slow(o, NULL, &extent))
                return asnop_fail(asnop_operand_error(name, what, &extent));
            o->exchanged = false;
        }
    }
    return ACLNN_SUCCESS;
}

/* Whether two runs of bytes have one in common. */
static bool bytes_meet(uintptr_t a, double a_size, uintptr_t b, double b_size) {
    return (double)a < (double)b + b_size && (double)b < (double)a + a_size;
}

/* The workspace that phase 1 asked for is there, lies in its block of memory as a whole,
 * and holds no tensor. */
static aclnnStatus workspace_check(const aclOpExecutor *e, const void *workspace,
                                   uint64_t size) {
    unsigned long long got = size, needed = e->workspace_size;
    if (workspace == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR,
                         "%s: workspace is NULL; it needs %llu bytes", e->name, needed);
    if (got < needed)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "%s: a workspace of %llu bytes; it needs %llu", e->name, got,
                         needed);
    asnd_range r = asnop_range_of(workspace, atomic_load(&asnrtBlockChanges));
    if (r.is_block && r.end - (uintptr_t)workspace < needed)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "%s: a workspace of %llu bytes whose block of memory ends after "
                         "%llu; it needs %llu",
                         e->name, got, (unsigned long long)(r.end - (uintptr_t)workspace),
                         needed);
    for (uint32_t i = 0; i < e->num_operands; i++) {
        const asnd_operand *o = &e->operands[i];
        if (o->addr == NULL || o->is_empty || o->nd.dtype >= ASN_DTYPE_COUNT) continue;
        double low, high;
        bytes_of(o, &low, &high);
        if (bytes_meet((uintptr_t)workspace, (double)needed,
                       (uintptr_t)(o->addr + (int64_t)low), high - low))
            return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                             "%s: the workspace lies in the memory of tensor %u", e->name,
                             i);
    }
    return ACLNN_SUCCESS;
}

aclnnStatus asnop_run(const char *name, void *workspace, uint64_t size, aclOpExecutor *e,
                      aclrtStream stream) {
    aclnnStatus code = check_run(name, e);
    if (code != ACLNN_SUCCESS) return code;
    if (__builtin_expect(e->workspace_size == 0, 1)) {
        workspace = NULL;
    } else {
        code = workspace_check(e, workspace, size);
        if (code != ACLNN_SUCCESS) return code;
    }
    asnrtStreamState *s = asnrtStreamGet(stream, NULL);
    if (s == NULL) return ACLNN_ERR_RUNTIME_ERROR; /* the message is set */
    bool repeatable = e->repeatable;
    if (e->run == NULL) {
        /* nothing to compute: empty tensors */
    } else if (e->group == NULL && e->work_ns < s->inline_ns && asnrtStreamEnter(s)) {
        asnrtStreamLeave(s, run_inline(e, s, workspace));
    } else if (repeatable) {
        return push_repeat(s, e, workspace);
    } else if (!place_take(e, s, &e->place)) {
        code = ACLNN_ERR_RUNTIME_ERROR; /* the message is set */
    } else {
        e->workspace = workspace;
        (void)asn_slot_retire(e); /* the queue's from here on */
        return asnrtStreamPush(s, task_once, drop_once, e) ? ACLNN_ERR_RUNTIME_ERROR : 0;
    }
    if (!repeatable) asnop_executor_release(e);
    return code;
}

/* ---- public functions */

/* 0 when the executor is alive. */
static aclnnStatus executor_check(const char *where, const aclOpExecutor *e) {
    if (asn_arena_alive(&asnop_executors, e)) return ACLNN_SUCCESS;
    if (e == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: executor is NULL", where);
    return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                     "%s: the executor is none, or was used or destroyed", where);
}

/* Lets the executor run any number of times; aclDestroyAclOpExecutor frees it then. */
ASN_API aclnnStatus aclSetAclOpExecutorRepeatable(aclOpExecutor *executor) {
    aclnnStatus code = executor_check("aclSetAclOpExecutorRepeatable", executor);
    if (code == ACLNN_SUCCESS) executor->repeatable = true;
    return code;
}

/* Frees an executor; runs that are queued still happen. */
ASN_API aclnnStatus aclDestroyAclOpExecutor(aclOpExecutor *executor) {
    aclnnStatus code = executor_check("aclDestroyAclOpExecutor", executor);
    if (code != ACLNN_SUCCESS) return code;
    (void)asn_slot_retire(executor);
    asnop_executor_release(executor);
    return ACLNN_SUCCESS;
}

typedef enum { ANY, INPUTS, OUTPUTS } operand_role;

/* Exchanges the address of the index-th operand of a role, and of the program's tensor
 * object. A repeatable executor's runs that are queued keep their own. */
static aclnnStatus set_addr(const char *where, aclOpExecutor *e, operand_role role,
                            size_t index, aclTensor *tensor, void *addr) {
    aclnnStatus code = executor_check(where, e);
    if (code == ACLNN_SUCCESS)
        code = asnop_check(ASN_OBJECT_TENSOR, tensor, where, "tensor");
    if (code != ACLNN_SUCCESS) return code;
    if (addr == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: addr is NULL", where);
    size_t seen = 0;
    for (uint32_t i = 0; i < e->num_operands; i++) {
        asnd_operand *o = &e->operands[i];
        if ((role == INPUTS && !o->is_in) || (role == OUTPUTS && !o->is_out)) continue;
        if (seen++ != index) continue;
        tensor->data = addr;
        tensor->fits = 0;
        o->addr = addr;
        o->exchanged = true;
        if (!e->repeatable) o->nd.data = o->addr + o->offset;
        return ACLNN_SUCCESS;
    }
    return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: index %zu; %s has %zu such tensors",
                     where, index, e->name, seen);
}

/* first: the place of the list's first member among the operands of the role. */
static aclnnStatus set_list_addr(const char *where, aclOpExecutor *e, operand_role role,
                                 size_t first, size_t member, aclTensorList *list,
                                 void *addr) {
    aclnnStatus code = asnop_check(ASN_OBJECT_TENSOR_LIST, list, where, "tensors");
    if (code != ACLNN_SUCCESS) return code;
    if (member >= list->array.size)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "%s: relativeIndex %zu; the list has %llu", where, member,
                         (unsigned long long)list->array.size);
    aclTensor *tensor = ((aclTensor **)list->array.data)[member];
    return set_addr(where, e, role, first + member, tensor, addr);
}

/* Exchanges the address of the index-th tensor, inputs and outputs counted together. */
ASN_API aclnnStatus aclSetTensorAddr(aclOpExecutor *executor, const size_t index,
                                     aclTensor *tensor, void *addr) {
    return set_addr("aclSetTensorAddr", executor, ANY, index, tensor, addr);
}

/* aclSetTensorAddr under its older name. */
ASN_API aclnnStatus AclSetTensorAddr(aclOpExecutor *executor, const size_t index,
                                     aclTensor *tensor, void *addr) {
    return set_addr("AclSetTensorAddr", executor, ANY, index, tensor, addr);
}

/* Exchanges the address of the index-th input tensor. */
ASN_API aclnnStatus aclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
                                          aclTensor *tensor, void *addr) {
    return set_addr("aclSetInputTensorAddr", executor, INPUTS, index, tensor, addr);
}

/* aclSetInputTensorAddr under its older name. */
ASN_API aclnnStatus AclSetInputTensorAddr(aclOpExecutor *executor, const size_t index,
                                          aclTensor *tensor, void *addr) {
    return set_addr("AclSetInputTensorAddr", executor, INPUTS, index, tensor, addr);
}

/* Exchanges the address of the index-th output tensor. */
ASN_API aclnnStatus aclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
                                           aclTensor *tensor, void *addr) {
    return set_addr("aclSetOutputTensorAddr", executor, OUTPUTS, index, tensor, addr);
}

/* aclSetOutputTensorAddr under its older name. */
ASN_API aclnnStatus AclSetOutputTensorAddr(aclOpExecutor *executor, const size_t index,
                                           aclTensor *tensor, void *addr) {
    return set_addr("AclSetOutputTensorAddr", executor, OUTPUTS, index, tensor, addr);
}

/* Exchanges the address of a list's member; irIndex is the position of the list's first
 * tensor. */
ASN_API aclnnStatus aclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                            const size_t relativeIndex,
                                            aclTensorList *tensors, void *addr) {
    return set_list_addr("aclSetDynamicTensorAddr", executor, ANY, irIndex, relativeIndex,
                         tensors, addr);
}

/* aclSetDynamicTensorAddr under its older name. */
ASN_API aclnnStatus AclSetDynamicTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                            const size_t relativeIndex,
                                            aclTensorList *tensors, void *addr) {
    return set_list_addr("AclSetDynamicTensorAddr", executor, ANY, irIndex, relativeIndex,
                         tensors, addr);
}

/* Exchanges the address of a member of an input list. */
ASN_API aclnnStatus aclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                 const size_t relativeIndex,
                                                 aclTensorList *tensors, void *addr) {
    return set_list_addr("aclSetDynamicInputTensorAddr", executor, INPUTS, irIndex,
                         relativeIndex, tensors, addr);
}

/* aclSetDynamicInputTensorAddr under its older name. */
ASN_API aclnnStatus AclSetDynamicInputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                 const size_t relativeIndex,
                                                 aclTensorList *tensors, void *addr) {
    return set_list_addr("AclSetDynamicInputTensorAddr", executor, INPUTS, irIndex,
                         relativeIndex, tensors, addr);
}

/* Exchanges the address of a member of an output list. */
ASN_API aclnnStatus aclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                  const size_t relativeIndex,
                                                  aclTensorList *tensors, void *addr) {
    return set_list_addr("aclSetDynamicOutputTensorAddr", executor, OUTPUTS, irIndex,
                         relativeIndex, tensors, addr);
}

/* aclSetDynamicOutputTensorAddr under its older name. */
ASN_API aclnnStatus AclSetDynamicOutputTensorAddr(aclOpExecutor *executor, size_t irIndex,
                                                  const size_t relativeIndex,
                                                  aclTensorList *tensors, void *addr) {
    return set_list_addr("AclSetDynamicOutputTensorAddr", executor, OUTPUTS, irIndex,
                         relativeIndex, tensors, addr);
}
