/* L2 graph: CANN's two-phase operators in a capture (see replay.h).
 *
 * An operator is planned once; its executor is made repeatable, and a replay exchanges
 * the addresses of its tensors (aclSetTensorAddr counts inputs and outputs together, in
 * the order of the operator's parameters). What the executor was planned with, tensors,
 * lists and numbers, lives as long as the replay.
 *
 * CANN's handles do not tell what they are of, so each tensor is noted when it is made,
 * by its address. What does not fit the tables below makes the next operator a refusal,
 * not a wrong replay. */
#include "graph/capture/capture_steps.h"

#include <string.h>

#include "base/alloc.h"
#include "graph/fp.h"
#include "graph/opcodes.h"
#include "runtime/device.h"

#define BELOW asn_acl_below[ASN_LAYER_CAPTURE]

/* Tensors of one operator; handles that are alive at a time. */
enum { MOST_TENSORS = 96, MOST_MADE = 256 };

/* A tensor that exists now. */
typedef struct {
    aclTensor *tensor;
    const void *address;
    bool written, empty;
    const aclTensorList *list; /* that it belongs to, or NULL */
    int member;
} made;

/* Of the open capture, of which there is one. */
static struct {
    made tensors[MOST_MADE];
    int num_tensors;
    asn_replay_tensor call[MOST_TENSORS]; /* of the operator being called */
    int num_call;
    bool full;
} now;

void asn_capture_operators_end(void) {
    now.num_tensors = now.num_call = 0;
    now.full = false;
}

/* (Contracts in capture.h.) */
void asn_capture_made_tensor(aclTensor *tensor, const asn_array *a, bool written) {
    now.full |= now.num_tensors == MOST_MADE;
    if (now.full) return;
    now.tensors[now.num_tensors++] =
        (made){.tensor = tensor,
               .address = (char *)a->buffer->data + a->layout.offset,
               .written = written,
               .empty = a->layout.size == 0};
}

/* NULL: it was not noted. */
static made *find(const aclTensor *tensor) {
    for (int i = now.num_tensors - 1; i >= 0; i--)
        if (now.tensors[i].tensor == tensor) return &now.tensors[i];
    return NULL;
}

/* aclCreateTensorList of a capture: whose members its tensors are is noted. */
static aclTensorList *note_list(const aclTensor *const *tensors, uint64_t n) {
    aclTensorList *list = BELOW.aclCreateTensorList(tensors, n);
    for (uint64_t k = 0; list && k < n; k++) {
        made *m = find(tensors[k]);
        now.full |= !m;
        if (!m) break;
        m->list = list;
        m->member = (int)k;
    }
    return list;
}

static const made *find_member(const aclTensorList *list, int member) {
    for (int i = 0; i < now.num_tensors; i++)
        if (now.tensors[i].list == list && now.tensors[i].member == member)
            return &now.tensors[i];
    return NULL;
}

/* A tensor of the operator that is being called: the next in its parameters' order. list:
 * that it is member of, or NULL. */
static void add(const aclTensor *tensor, aclTensorList *list, size_t member) {
    if (!tensor) return; /* an operator's optional one: not counted, as it is not there */
    const made *m = find(tensor);
    now.full |= now.num_call == MOST_TENSORS || !m;
    if (now.full) return;
    asn_replay_tensor *t = &now.call[now.num_call];
    *t = (asn_replay_tensor){
        (aclTensor *)tensor, list, (size_t)now.num_call - member, member, {-1, false, 0}};
    if (!m->empty) t->place = asn_capture_place(m->address, m->written);
    now.num_call++;
}

void asn_capture_tensor(const aclTensor *tensor) {
    add(tensor, NULL, 0);
}

/* A list has no function that tells its length: members are counted as they were noted.
 */
void asn_capture_tensors(const aclTensorList *list) {
    int num = 0;
    for (const made *m; list && (m = find_member(list, num)); num++)
        add(m->tensor, (aclTensorList *)list, (size_t)num);
    now.full |= list && !num;
}

static asn_status too_many(void) {
    return asn_capture_refuse("an operator has more tensors than a replay can exchange");
}

/* (Contract in capture.h.) The second phase has not run yet: a replay runs it the same
 * way. */
asn_status asn_capture_operator(const asn_acl_operator *op, uint64_t workspace,
                                aclOpExecutor *executor, const char *what) {
    int num = now.num_call;
    now.num_call = 0;
    if (now.full) return too_many();
    if (!num) return asn_capture_refuse("an operator is called that has no tensors");
    const asn_acl_api *api = &asn_acl;
    if (!api->aclSetAclOpExecutorRepeatable || !api->aclSetTensorAddr ||
        !api->aclSetDynamicTensorAddr || !api->aclDestroyAclOpExecutor)
        return asn_capture_refuse("the device cannot run a planned operator again");
    int code = api->aclSetAclOpExecutorRepeatable(executor);
    if (code) return asn_acl_failed(code, what);
    int slot = asn_capture_workspace((int64_t)workspace);
    asn_replay_step *s = asn_capture_step(ASN_STEP_OPERATOR, num);
    asn_replay_tensor *tensors =
        s ? asn_capture_copy(now.call, (size_t)num * sizeof *tensors) : NULL;
    if (!s || (num && !tensors)) {
        api->aclDestroyAclOpExecutor(executor);
        if (s) asn_captured->num_steps--;
        return ASN_ERR_MEMORY;
    }
    s->name = s->pole = what;
    s->op.run = op->run;
    s->op.executor = executor;
    s->op.workspace = workspace;
    s->op.slot = slot;
    s->op.num_tensors = num;
    s->op.tensors = tensors;
    for (int i = 0; i < num; i++)
        s->places[i] = tensors[i].place;
    asn_capture_spread(s);
    return ASN_OK;
}

/* A product of small matrices at a replay costs its launch: aclnnxMatmul, on the calling
 * thread, spares it where nothing is queued. */
void asn_capture_product(const asn_array *a, const asn_array *b, const asn_array *c,
                         bool watched) {
    enum { MOST_ELEMENTS = 2048 };
    asn_replay *r = asn_captured;
    asn_replay_step *s = r->num_steps ? &r->steps[r->num_steps - 1] : NULL;
    const asn_array *all[3] = {a, b, c};
    bool small = s && s->kind == ASN_STEP_OPERATOR && s->num_places == 3 &&
                 asn_acl.aclnnxMatmul && asn_fuse_enabled() && asn_device_host_access();
    for (int i = 0; i < 3; i++)
        small = small && all[i]->layout.ndim == 2 &&
                all[i]->layout.dtype == c->layout.dtype &&
                all[i]->layout.size <= MOST_ELEMENTS;
    asn_replay_product *p = small ? asn_capture_alloc(sizeof *p) : NULL;
    if (!p) return;
    for (int i = 0; i < 3; i++)
        p->operands[i] = (aclnnxOperand){
            .strides = asn_capture_copy(all[i]->layout.strides, 2 * sizeof(int64_t)),
            .dtype = (uint8_t)asn_dtype_table[c->layout.dtype].acl,
            .reduceOp = ACLNNX_NO_REDUCE};
    p->m = c->layout.shape[0];
    p->k = a->layout.shape[1];
    p->n = c->layout.shape[1];
    s->watched = watched && asn_fp_sink();
    s->op.product = p;
}

/* ---- handles: what destroys them in a capture keeps them, as the replay calls the
 * operator again */

/* false: there is no memory, and the capture fails. */
static bool keep(asn_handle kind, const void *handle) {
    asn_replay *r = asn_captured;
    void *all = r->kept;
    if (!asn_capture_grow(&all, r->num_kept, &r->kept_room, sizeof *r->kept))
        return false;
    r->kept = all;
    /* It lives on, but is the current call's no more. */
    for (int i = 0; kind == ASN_HANDLE_TENSOR && i < now.num_tensors; i++)
        if (now.tensors[i].tensor == handle) {
            now.tensors[i] = now.tensors[--now.num_tensors];
            break;
        }
    for (int i = 0; kind == ASN_HANDLE_LIST && i < now.num_tensors; i++)
        if (now.tensors[i].list == handle) /* which owns it */
            now.tensors[i--] = now.tensors[--now.num_tensors];
    r->kept[r->num_kept++] = (asn_kept){kind, (void *)handle};
    return true;
}

static int32_t keep_tensor(const aclTensor *x) {
    return keep(ASN_HANDLE_TENSOR, x) ? 0 : BELOW.aclDestroyTensor(x);
}
static int32_t keep_list(const aclTensorList *x) {
    return keep(ASN_HANDLE_LIST, x) ? 0 : BELOW.aclDestroyTensorList(x);
}
static int32_t keep_scalar(const aclScalar *x) {
    return keep(ASN_HANDLE_SCALAR, x) ? 0 : BELOW.aclDestroyScalar(x);
}
static int32_t keep_ints(const aclIntArray *x) {
    return keep(ASN_HANDLE_INTS, x) ? 0 : BELOW.aclDestroyIntArray(x);
}

void asn_capture_install_handles(asn_acl_api *table) {
    table->aclCreateTensorList = note_list;
    table->aclDestroyTensor = keep_tensor;
    table->aclDestroyTensorList = keep_list;
    table->aclDestroyScalar = keep_scalar;
    table->aclDestroyIntArray = keep_ints;
}

/* Below the layer, which another capture may have put in. Backwards: a list ends before
 * its tensors' other uses, as it was made after them. */
void asn_capture_drop_kept(const asn_replay *r) {
    if (r->generation != asn_device_generation) return; /* gone with the device */
    for (int i = r->num_kept - 1; i >= 0; i--) {
        void *handle = r->kept[i].handle;
        switch (r->kept[i].kind) {
        case ASN_HANDLE_TENSOR: BELOW.aclDestroyTensor(handle); break;
        case ASN_HANDLE_LIST: BELOW.aclDestroyTensorList(handle); break;
        case ASN_HANDLE_SCALAR: BELOW.aclDestroyScalar(handle); break;
        case ASN_HANDLE_INTS: BELOW.aclDestroyIntArray(handle); break;
        }
    }
}
