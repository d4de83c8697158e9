/* L2 graph: two-phase operator calls (see operator.h).
 *
 * A call makes handles (tensors, lists, numbers, integers), plans with them, and drops
 * them. The device's handles are opaque, but who made them is not told what is in them
 * again; so each handle may have a note here, which keeps what it was made from. Notes
 * serve four readers: the host's device, which gets twins of the handles; the streams,
 * which must know what memory an operator reads and writes; a device that runs behind the
 * program; and the table of workspaces. Where none of the four is there, no notes are
 * taken.
 *
 * All of this is static: there is one call at a time, under the library's lock. */
#include "graph/device/operator.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/device/item_strides.h"
#include "graph/device/workspaces.h"
#include "graph/fp.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/streams/uses.h"

/* ---- what was made for a call, so that the host can make the same */

typedef struct {
    const void *handle;     /* the device's; NULL: free */
    void *twin;             /* the host's, made when wanted */
    const asn_array *array; /* of a tensor */
    asn_access access;
    int count;            /* of a list's members, of integers */
    const void **members; /* of a list */
    int64_t *ints;        /* of an array of integers */
    aclDataType dtype;    /* of a number */
    unsigned char bytes[16];
} note;

enum { NOTES = 2 * ASN_MAX_DIMS };
static note notes[NOTES];
static int num_notes;
/* The copies of the call's arrays in host memory, while the host computes. */
static asn_stage stage;
static asn_mark host_mark; /* of the operator that the host computes */

/* Whether notes are taken: the host may be called, there are several streams, the device
 * lags or workspaces are recorded. */
static inline bool takes_notes(void) {
    return asn_fallback_possible() || asn_stream_many || asn_stream_lags ||
           asn_workspaces_on;
}

/* A free note for the handle; NULL where none are taken, or all are. */
static note *note_new(const void *handle) {
    if (!takes_notes()) return NULL;
    for (int i = 0; i < NOTES; i++)
        if (!notes[i].handle) {
            notes[i] = (note){.handle = handle};
            num_notes++;
            return &notes[i];
        }
    return NULL;
}

/* The handle's note, or NULL. */
static note *note_of(const void *handle) {
    for (int i = 0; handle && num_notes && i < NOTES; i++)
        if (notes[i].handle == handle) return &notes[i];
    return NULL;
}

/* Frees the note; without one, nothing. */
static void note_end(const void *handle) {
    note *n = note_of(handle);
    if (!n) return;
    asn_free(n->members);
    asn_free(n->ints);
    n->handle = NULL;
    num_notes--;
}

/* ---- copies of arrays whose strides a tensor cannot have, until the tensors are dropped
 */

typedef struct packed {
    asn_array array; /* owns */
    const aclTensor *tensor;
    const aclTensorList *list; /* that took the tensor over, or NULL */
    struct packed *next;
} packed;

static packed *all_packed;

/* A tensor over a packed copy of `a`, which is only read. The copy lives until the tensor
 * (or the list that takes it over) is dropped. */
static asn_status pack(const asn_array *a, aclTensor **out) {
    const asn_layout *l = &a->layout;
    packed *p = asn_calloc(1, sizeof *p);
    if (!p) return ASN_ERR_MEMORY;
    asn_status status =
        asn_array_new(&p->array, asn_layout_dtype(l), l->ndim, l->shape, 'C');
    if (!status) {
        status = asn_items_copy(a, &p->array);
        if (!status) status = asn_operator_tensor(&p->array, ASN_READ, out);
        if (status) asn_array_fini(&p->array);
    }
    if (status) {
        asn_free(p);
        return status;
    }
    p->tensor = *out;
    p->next = all_packed;
    all_packed = p;
    return ASN_OK;
}

/* Ends the copies of a tensor, or of a list's tensors. */
static void unpack(const aclTensor *tensor, const aclTensorList *list) {
    for (packed **at = &all_packed; *at;) {
        packed *p = *at;
        if (tensor ? p->tensor != tensor : p->list != list) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        asn_array_fini(&p->array);
        asn_free(p);
    }
}

/* (Contract in operator.h.) A tensor counts strides in elements; an array's strides are
 * in bytes, and need not be multiples of an element's. */
asn_status asn_operator_tensor(const asn_array *a, asn_access access, aclTensor **out) {
    const asn_layout *l = &a->layout;
    int64_t item = asn_itemsize(asn_layout_dtype(l)), strides[ASN_MAX_DIMS];
    *out = NULL;
    ASN_TRY(asn_device_open()); /* of arrays over host memory it may be closed */
    ASN_TRY(asn_trace_materialise(a->buffer, access == ASN_WRITE));
    ASN_TRY(asn_buffer_ensure(a->buffer));
    if (asn_items_apart(l)) {
        if (access == ASN_READ) return pack(a, out);
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "an operator cannot write %s elements whose strides are no "
                             "multiple of their size; write to a copy",
                             asn_dtype_name(asn_layout_dtype(l)));
    }
    if (ASN_PROFILING) asn_record_operand(l);
    /* the element size divides them: asn_items_apart has said so */
    for (int d = 0; d < l->ndim; d++)
        strides[d] = l->strides[d] / item;
    *out = asn_acl.aclCreateTensor(l->shape, (uint64_t)l->ndim,
                                   (aclDataType)asn_dtype_table[l->dtype].acl, strides, 0,
                                   ACL_FORMAT_ND, l->shape, (uint64_t)l->ndim,
                                   (char *)a->buffer->data + l->offset);
    if (!*out)
        return asn_error_set(ASN_ERR_MEMORY,
                             "the device cannot describe a tensor of %d "
                             "dimensions",
                             l->ndim);
    if (ASN_CAPTURING) asn_capture_made_tensor(*out, a, access == ASN_WRITE);
    note *n = note_new(*out);
    if (n) {
        n->array = a;
        n->access = access;
    } else if (asn_stream_many) { /* who uses its memory would go untold */
        asn_acl.aclDestroyTensor(*out);
        *out = NULL;
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "an operator takes more than %d tensors, lists and numbers, "
                             "which is the most with several streams",
                             NOTES);
    }
    return ASN_OK;
}

/* (Contract in operator.h.) After a failure the rest stays NULL, so that
 * asn_operator_drop may be called at all events. */
asn_status asn_operator_tensors(int n, const asn_array *const *arrays, uint32_t written,
                                aclTensor **out) {
    asn_status status = ASN_OK;
    for (int i = 0; i < n; i++) {
        out[i] = NULL;
        if (arrays[i] && !status)
            status = asn_operator_tensor(
                arrays[i], written >> i & 1 ? ASN_WRITE : ASN_READ, &out[i]);
    }
    return status;
}

void asn_operator_drop(int n, aclTensor *const *tensors) {
    for (int i = 0; i < n; i++) {
        note_end(tensors[i]);
        if (!tensors[i]) continue;
        if (all_packed) unpack(tensors[i], NULL);
        asn_acl.aclDestroyTensor(tensors[i]);
    }
}

/* The tensors of packed copies become the list's: they end with it. */
aclTensorList *asn_operator_list(int n, aclTensor *const *tensors) {
    /* Without them the notes of the members would outlive the list. */
    const void **members = takes_notes() ? asn_malloc((size_t)n * sizeof *members) : NULL;
    if (takes_notes() && !members) return NULL;
    aclTensorList *list =
        asn_acl.aclCreateTensorList((const aclTensor *const *)tensors, (uint64_t)n);
    if (!list) {
        asn_free(members);
        (void)asn_error_set(ASN_ERR_MEMORY, "the device cannot make a list of tensors");
        return NULL;
    }
    for (packed *p = all_packed; p; p = p->next)
        for (int i = 0; i < n; i++)
            if (p->tensor == tensors[i]) p->list = list;
    note *made = note_new(list);
    if (made) {
        memcpy(members, tensors, (size_t)n * sizeof *members);
        made->members = members;
        made->count = n;
    } else {
        asn_free(members);
    }
    return list;
}

/* The tensors of a list have no drop of their own, so their notes end here. */
void asn_operator_drop_list(aclTensorList *list) {
    const note *made = note_of(list);
    for (int i = 0; made && i < made->count; i++)
        note_end(made->members[i]);
    note_end(list);
    if (list && all_packed) unpack(NULL, list);
    if (list) asn_acl.aclDestroyTensorList(list);
}

/* `value` is of that dtype and is copied. */
aclScalar *asn_operator_scalar(const void *value, aclDataType dtype) {
    aclScalar *scalar = asn_acl.aclCreateScalar((void *)value, dtype);
    if (!scalar) {
        (void)asn_error_set(ASN_ERR_MEMORY, "the device cannot make a number");
        return NULL;
    }
    note *made = note_new(scalar);
    if (made) {
        made->dtype = dtype;
        memcpy(made->bytes, value, (size_t)asn_itemsize(asn_dtype_from_acl(dtype)));
    }
    return scalar;
}

void asn_operator_drop_scalar(aclScalar *scalar) {
    note_end(scalar);
    if (scalar) asn_acl.aclDestroyScalar(scalar);
}

/* The integers are copied. */
aclIntArray *asn_operator_ints(int n, const int64_t *values) {
    aclIntArray *ints = asn_acl.aclCreateIntArray(values, (uint64_t)n);
    if (!ints) {
        (void)asn_error_set(ASN_ERR_MEMORY, "the device cannot make integers");
        return NULL;
    }
    note *made = note_new(ints);
    if (made) made->ints = asn_malloc((size_t)n * sizeof *made->ints);
    if (made && made->ints) {
        memcpy(made->ints, values, (size_t)n * sizeof *made->ints);
        made->count = n;
    }
    return ints;
}

void asn_operator_drop_ints(aclIntArray *ints) {
    note_end(ints);
    if (ints) asn_acl.aclDestroyIntArray(ints);
}

/* ---- the host's turn: begin stages every noted array, the twins are made over the
 * staged copies, end runs and copies back what was written */

/* (Contract in operator.h.) The operator is looked up on the host's device once per place
 * of call. */
asn_status asn_operator_host_begin(asn_acl_operator *op, const char *name,
                                   const char *what) {
    ASN_TRY(asn_fallback_begin(what));
    host_mark = asn_profile_begin();
    if (!op->run && !asn_acl_find_host(name, op)) {
        op->run = NULL;
        return asn_error_set(ASN_ERR_UNSUPPORTED, "no device has an operator aclnn%s",
                             name);
    }
    asn_status status = ASN_OK;
    for (int i = 0; i < NOTES && !status; i++) {
        const note *n = &notes[i];
        if (!n->handle || !n->array) continue;
        const asn_layout *l = &n->array->layout;
        status = asn_stage_add(&stage, (char *)n->array->buffer->data + l->offset,
                               asn_layout_dtype(l), l->ndim, l->shape, l->strides,
                               n->access == ASN_WRITE);
    }
    if (!status) status = asn_stage_in(&stage);
    if (status) asn_stage_fini(&stage);
    return status;
}

/* A tensor over the staged copy, with the original's shape and strides. */
aclTensor *asn_operator_host_tensor(const aclTensor *tensor) {
    note *n = note_of(tensor);
    if (!n || !n->array) return NULL;
    const asn_layout *l = &n->array->layout;
    int64_t item = asn_itemsize(asn_layout_dtype(l)), strides[ASN_MAX_DIMS];
    for (int d = 0; d < l->ndim; d++)
        strides[d] = l->strides[d] / item;
    void *data = asn_stage_host(&stage, (char *)n->array->buffer->data + l->offset);
    return n->twin = asn_host.aclCreateTensor(
               l->shape, (uint64_t)l->ndim, (aclDataType)asn_dtype_table[l->dtype].acl,
               strides, 0, ACL_FORMAT_ND, l->shape, (uint64_t)l->ndim, data);
}

/* A list of twins of the members, which it owns. */
aclTensorList *asn_operator_host_list(const aclTensorList *list) {
    note *n = note_of(list);
    const aclTensor *members[ASN_MAX_DIMS];
    if (!n) return NULL;
    for (int i = 0; i < n->count; i++)
        members[i] = asn_operator_host_tensor(n->members[i]);
    return n->twin = asn_host.aclCreateTensorList(members, (uint64_t)n->count);
}

/* A twin of a number, from the bytes that were noted. */
aclScalar *asn_operator_host_scalar(const aclScalar *scalar) {
    note *n = note_of(scalar);
    return n ? n->twin = asn_host.aclCreateScalar(n->bytes, n->dtype) : NULL;
}

/* A twin of integers. */
aclIntArray *asn_operator_host_ints(const aclIntArray *ints) {
    note *n = note_of(ints);
    return n ? n->twin = asn_host.aclCreateIntArray(n->ints, (uint64_t)n->count) : NULL;
}

/* Ends the twins. A list's tensors go with it, so those are forgotten first. */
static void twins_end(void) {
    for (int i = 0; i < NOTES; i++)
        for (int k = 0; notes[i].handle && notes[i].twin && k < notes[i].count; k++) {
            note *member = notes[i].members ? note_of(notes[i].members[k]) : NULL;
            if (member) member->twin = NULL;
        }
    for (int i = 0; i < NOTES; i++) {
        note *n = &notes[i];
        if (!n->handle || !n->twin) continue;
        if (n->array)
            asn_host.aclDestroyTensor(n->twin);
        else if (n->members)
            asn_host.aclDestroyTensorList(n->twin);
        else if (n->ints)
            asn_host.aclDestroyIntArray(n->twin);
        else
            asn_host.aclDestroyScalar(n->twin);
        n->twin = NULL;
    }
}

/* (Contract in operator.h.) `code` is the first phase's; if that refused, its error is
 * the outcome. */
asn_status asn_operator_host_end(const asn_acl_operator *op, int code,
                                 aclOpExecutor *executor, const char *what) {
    if (!code) code = op->run(NULL, 0, executor, NULL);
    asn_status status = asn_host_status(code, what);
    if (!status) status = asn_stage_out(&stage);
    if (ASN_PROFILING) asn_record_operator(host_mark, what);
    asn_fp_note(what);
    twins_end();
    asn_stage_fini(&stage);
    return status;
}

/* ---- the device's turn */

/* (Contract in operator.h.) That it is missing is no error where the host may compute in
 * its place. */
asn_status asn_operator_find(asn_acl_operator *op, const char *name) {
    if (!asn_lock_is_mine()) /* else threads mix their operands */
        return asn_error_set(ASN_ERR_RUNTIME, "aclnn%s: the library's lock is not held",
                             name);
    if (op->run) return ASN_OK;
    if (asn_acl_find(name, op)) return ASN_OK;
    op->run = NULL;
    if (asn_fallback_possible()) return ASN_OK;
    return asn_error_set(ASN_ERR_UNSUPPORTED, "the %s device has no operator aclnn%s",
                         asn_device_kind(), name);
}

/* (Contract in operator.h.) Only devices of this library can report them; without the
 * extension the results are right and the exceptions unknown. */
void asn_operator_watch(const asn_acl_api *device, aclOpExecutor *executor) {
    uint32_t *sink = asn_fp_sink();
    if (sink && device->aclnnxConditions) (void)device->aclnnxConditions(executor, sink);
}

/* The streams that use the tensors' memory come first. (So do those of an operator whose
 * operands are being made while recorded ones run: too much, never too little.) */
static asn_status use_operands(void) {
    for (int i = 0; i < NOTES; i++)
        if (notes[i].handle && notes[i].array)
            ASN_TRY(asn_buffer_use(notes[i].array->buffer, notes[i].access == ASN_WRITE));
    return ASN_OK;
}

/* The call's workspace, into the table: what is noted are its operands, in order. */
static void record_workspace(const char *name, uint64_t workspace) {
    const asn_layout *operands[NOTES];
    uint64_t written = 0;
    int n = 0;
    for (int i = 0; i < NOTES; i++) {
        if (!notes[i].handle || !notes[i].array) continue;
        written |= (uint64_t)(notes[i].access == ASN_WRITE) << n;
        operands[n++] = &notes[i].array->layout;
    }
    asn_workspaces_note(name, workspace, n, operands, written);
}

/* Whether the host shares the memory of an operand: it may then look at the result
 * without asking, so that a lagging device must be waited for. */
static bool shares_memory(void) {
    bool shared = false;
    for (int i = 0; i < NOTES; i++)
        shared |= notes[i].handle && notes[i].array && notes[i].array->buffer->shared;
    return shared;
}

/* Ends an executor that will not run; a device frees those alone that could run again. */
static void abandon(aclOpExecutor *executor) {
    if (asn_acl.aclSetAclOpExecutorRepeatable && asn_acl.aclDestroyAclOpExecutor &&
        !asn_acl.aclSetAclOpExecutorRepeatable(executor))
        (void)asn_acl.aclDestroyAclOpExecutor(executor);
}

/* (Contract in operator.h.) The workspace counts as memory in use while the block is
 * taken. It is given back right after the launch: who takes the block next is on the same
 * stream, or waits for it. */
asn_status asn_operator_run(const asn_acl_operator *op, uint64_t workspace,
                            aclOpExecutor *executor, const char *what) {
    asn_block block = {0};
    asn_counters.single_ops++;
    if (workspace && asn_workspaces_on)
        record_workspace(op->name ? op->name : what, workspace);
    if (ASN_CAPTURING) ASN_TRY(asn_capture_operator(op, workspace, executor, what));
    asn_status status = workspace ? asn_block_take((int64_t)workspace, &block) : ASN_OK;
    if (!status && asn_stream_many) status = use_operands();
    if (status) {
        if (block.data) asn_block_give(&block);
        abandon(executor);
        return status;
    }
    asn_stream_launch(true);
    asn_mark mark = asn_profile_begin_on_device();
    void *state = asn_blocking_enter();
    int code = op->run(block.data, workspace, executor, asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(true); /* another thread may have waited meanwhile */
    if (ASN_PROFILING) asn_record_operator(mark, what);
    if (block.data) asn_block_give(&block);
    asn_fp_note(what);
    if (code) return asn_acl_failed(code, what);
    return asn_stream_lags ? asn_trace_catch_up(shares_memory()) : ASN_OK;
}
