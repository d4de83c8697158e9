/* L3 C binding: device memory by hand (memory.h): settings of the memory manager, blocks,
 * tensors in a device's own order of axes, the copy queue, and what is held.
 *
 * Handles of blocks and queues are the core's objects under another name, so nothing is
 * wrapped or counted twice. A tensor is an ordinary array over memory that was laid out
 * by a descriptor. Setters return the value before, through a pointer that may be NULL.
 *
 * Functions that wait (for a transfer, for a queue's end) take no lock, since what they
 * wait for may need it.
 */
#include "capi/capi.h"

#include "graph/device/workspaces.h"
#include "graph/operators/formats.h"
#include "graph/operators/tensor.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"
#include "runtime/streams/uses.h"
#include "runtime/memory/watch.h"

/* ---- settings */

/* Settings are one struct of the core's: each setter reads all, changes one and sets
 * all. */
asnp_status asnp_mm_set_limit(uint64_t limit, uint64_t *before) {
    IN_LIBRARY;
    asn_memory_settings s;
    asn_memory_get_settings(&s);
    uint64_t was = s.limit;
    s.limit = limit;
    ASN_TRY(asn_memory_set_settings(&s));
    if (before) *before = was;
    return ASN_OK;
}

asnp_status asnp_mm_set_max_split(uint64_t max_split, uint64_t *before) {
    IN_LIBRARY;
    asn_memory_settings s;
    asn_memory_get_settings(&s);
    uint64_t was = s.max_split;
    s.max_split = max_split;
    ASN_TRY(asn_memory_set_settings(&s));
    if (before) *before = was;
    return ASN_OK;
}

/* *before is written on success alone: the share may be refused. */
asnp_status asnp_mm_set_gc_threshold(double share, double *before) {
    IN_LIBRARY;
    asn_memory_settings s;
    asn_memory_get_settings(&s);
    double was = s.gc_threshold;
    s.gc_threshold = share;
    ASN_TRY(asn_memory_set_settings(&s));
    if (before) *before = was;
    return ASNP_OK;
}

asnp_status asnp_mm_reset_peaks(void) {
    asn_memory_reset_peaks();
    return ASNP_OK;
}

/* ---- blocks: a handle is the core's buffer */

/* Storage is taken now, unlike an array's, which is taken at the first write. */
asnp_status asnp_mm_alloc(int64_t nbytes, asnp_mm_block **out) {
    NEED(out);
    IN_LIBRARY;
    asn_buffer *b;
    if (nbytes < 0)
        return asn_error_set(ASN_ERR_VALUE, "alloc: %lld bytes; it may be 0 or more",
                             (long long)nbytes);
    ASN_TRY(asn_buffer_new(&b, nbytes));
    asn_status status = asn_buffer_ensure(b);
    if (status) {
        asn_buffer_release(b);
        return status;
    }
    *out = (asnp_mm_block *)b;
    return ASNP_OK;
}

void asnp_mm_free(asnp_mm_block *block) {
    IN_LIBRARY;
    /* What the caller put on the thread's stream may use it still. */
    if (block && asn_buffer_use((asn_buffer *)block, true)) asn_error_clear();
    asn_buffer_release((asn_buffer *)block);
}

/* Fixed for the block's life; NULL for NULL. */
void *asnp_mm_address(const asnp_mm_block *block) {
    return block ? ((const asn_buffer *)block)->data : NULL;
}

/* ---- tensors */

/* *to: the core's descriptor, which holds shape and order itself. Defaults: axes in the
 * order given, a first element at a multiple of 64 bytes. */
static asn_status descriptor_of(const asnp_mm_descriptor *from, asn_descriptor *to) {
    NEED(from);
    ASN_TRY(asn_capi_dtype(from->dtype, false, &to->dtype));
    ASN_TRY(asn_capi_shape(from->ndim, from->shape));
    to->ndim = from->ndim;
    to->alignment = from->alignment ? from->alignment : 64;
    for (int i = 0; i < from->ndim; i++) {
        to->shape[i] = from->shape[i];
        to->order[i] = from->order ? from->order[i] : i;
    }
    return ASN_OK;
}

/* An array whose strides are those of the descriptor's order. Who asks for memory by hand
 * hears here that there is none, not at the first write. */
asnp_status asnp_mm_tensor(const asnp_mm_descriptor *descriptor, asnp_array **out) {
    NEED(out);
    IN_LIBRARY;
    asn_descriptor d;
    asn_array made;
    ASN_TRY(descriptor_of(descriptor, &d));
    ASN_TRY(asn_tensor_new(&made, &d));
    asn_status status = asn_buffer_ensure(made.buffer);
    if (status) asn_array_fini(&made);
    return asn_capi_wrap(status, &made, out);
}

/* The new array takes the dead one's memory, whatever their shapes; the core refuses what
 * others can see. */
asnp_status asnp_mm_reuse(const asnp_mm_descriptor *descriptor, const asnp_array *dead,
                          asnp_array **out) {
    NEED(out);
    NEED(dead);
    IN_LIBRARY;
    asn_descriptor d;
    asn_array made;
    ASN_TRY(descriptor_of(descriptor, &d));
    return asn_capi_wrap(asn_tensor_reuse(&made, &d, &dead->array), &made, out);
}

/* strides NULL: row-major without gaps; an extent of 0 does not make them 0. */
asnp_status asnp_mm_prepare(const asnp_mm_descriptor *descriptor, asnp_dtype dtype,
                            const int64_t *strides, const void *host, asnp_array **out) {
    NEED(out);
    NEED(host);
    IN_LIBRARY;
    asn_descriptor d;
    asn_array made;
    asn_dtype from;
    int64_t packed[ASN_MAX_DIMS];
    ASN_TRY(descriptor_of(descriptor, &d));
    ASN_TRY(asn_capi_dtype(dtype, false, &from));
    /* Strides of the host's memory, in bytes. */
    int64_t step = asn_itemsize(from);
    for (int i = d.ndim - 1; i >= 0; i--) {
        packed[i] = step;
        step *= d.shape[i] ? d.shape[i] : 1;
    }
    return asn_capi_wrap(
        asn_tensor_prepare(&made, &d, from, strides ? strides : packed, host), &made,
        out);
}

/* Host memory in the descriptor's order of axes, without gaps. */
asnp_status asnp_mm_copy_back(const asnp_array *a, const asnp_mm_descriptor *descriptor,
                              void *host) {
    NEED(a);
    NEED(host);
    IN_LIBRARY;
    asn_descriptor d;
    ASN_TRY(descriptor_of(descriptor, &d));
    return asn_tensor_copy_back(&a->array, &d, host);
}

/* ---- formats */

/* extents has room for as many as any array has; *num is written on success alone. The
 * numbers are CANN's, so nothing is translated: what is no format is the core's to
 * refuse. */
asnp_status asnp_mm_format_shape(asnp_format format, asnp_dtype dtype, int32_t ndim,
                                 const int64_t *shape, int32_t *num, int64_t *extents) {
    NEED(num);
    NEED(extents);
    asn_dtype of;
    int made;
    ASN_TRY(asn_capi_dtype(dtype, false, &of));
    ASN_TRY(asn_capi_shape(ndim, shape));
    ASN_TRY(asn_format_shape((int)format, of, ndim, shape, &made, extents));
    *num = made;
    return ASNP_OK;
}

/* A view would do for some of them; a copy is what the formats are for: whoever reads it
 * reads memory as it lies. ndim is read with a shape alone. */
asnp_status asnp_mm_convert(const asnp_array *a, asnp_format source, asnp_format target,
                            int32_t ndim, const int64_t *shape, asnp_array **out) {
    NEED(a);
    NEED(out);
    IN_LIBRARY;
    asn_array made;
    if (shape) ASN_TRY(asn_capi_shape(ndim, shape));
    return asn_capi_wrap(
        asn_format_convert(&made, &a->array, (int)source, (int)target, ndim, shape),
        &made, out);
}

/* The rule is the core's (graph/operators/formats.h), one for all bindings. */
asnp_status asnp_mm_choose_format(int64_t channels, asnp_format *out) {
    NEED(out);
    int format;
    ASN_TRY(asn_format_choose(channels, &format));
    *out = (asnp_format)format;
    return ASNP_OK;
}

/* ---- addresses: a loan is the core's buffer, which it holds */

/* What is recorded for the memory, or reads it, has run: the borrower may write. A loan
 * ends, unlike an export of asnp_data, after which the memory is the host's for good and
 * is never reused. */
asnp_status asnp_mm_lend(const asnp_array *a, int32_t to_host, void **address,
                         asnp_mm_loan **loan) {
    NEED(a);
    NEED(address);
    NEED(loan);
    IN_LIBRARY;
    void *at;
    asn_buffer *lent;
    ASN_TRY(to_host ? asn_array_lend(&a->array, &at, &lent)
                    : asn_array_lend_device(&a->array, &at, &lent));
    *address = at;
    *loan = (asnp_mm_loan *)lent;
    return ASNP_OK;
}

void asnp_mm_take_back(asnp_mm_loan *loan) {
    IN_LIBRARY;
    asn_array_take_back((asn_buffer *)loan);
}

/* ---- queues: a handle is the core's queue */

/* A transfer with the array at its device end, which it keeps. */
struct asnp_transfer {
    asn_transfer *transfer;
    asn_array array; /* its memory on the device */
    int32_t to_device;
};

asnp_status asnp_queue_new(int64_t staging_bytes, asnp_queue **out) {
    NEED(out);
    IN_LIBRARY;
    asn_dma *q;
    ASN_TRY(asn_dma_new(&q, staging_bytes));
    *out = (asnp_queue *)q;
    return ASNP_OK;
}

void asnp_queue_release(asnp_queue *queue) {
    asn_dma_free((asn_dma *)queue);
}

/* Starts a transfer into *t: of the elements of `fetched` to the host, or from it with
 * the descriptor. */
static asn_status start(asn_dma *q, const asn_descriptor *d, const asn_array *fetched,
                        void *host, int priority, asnp_transfer *t) {
    t->to_device = !fetched;
    return fetched ? asn_tensor_fetch(q, fetched, host, priority, &t->array, &t->transfer)
                   : asn_tensor_send(q, d, host, priority, &t->array, &t->transfer);
}

/* *out: a handle of a transfer that runs; on failure nothing is left. */
static asnp_status transfer_new(asn_dma *q, const asn_descriptor *d,
                                const asn_array *fetched, void *host, int priority,
                                asnp_transfer **out) {
    asnp_transfer *t = asn_malloc(sizeof *t);
    if (!t) return ASN_ERR_MEMORY;
    asn_status status = start(q, d, fetched, host, priority, t);
    if (status) {
        asn_free(t);
        return status;
    }
    *out = t;
    return ASNP_OK;
}

/* The host's memory must stay as it is until the transfer ends. */
asnp_status asnp_queue_send(asnp_queue *queue, const asnp_mm_descriptor *descriptor,
                            const void *host, int32_t priority, asnp_transfer **out) {
    NEED(queue);
    NEED(host);
    NEED(out);
    IN_LIBRARY;
    asn_descriptor d;
    ASN_TRY(descriptor_of(descriptor, &d));
    return transfer_new((asn_dma *)queue, &d, NULL, (void *)host, priority, out);
}

/* The elements as they are now: what was recorded of `a` runs before. */
asnp_status asnp_queue_fetch(asnp_queue *queue, const asnp_array *a, void *host,
                             int32_t priority, asnp_transfer **out) {
    NEED(queue);
    NEED(a);
    NEED(host);
    NEED(out);
    IN_LIBRARY;
    return transfer_new((asn_dma *)queue, NULL, &a->array, host, priority, out);
}

/* The transfer holds a share of the array, so that its memory outlives the handle. Unlike
 * asnp_queue_fetch it takes the elements where they are: what the program writes there
 * before the transfer ends may be what arrives. */
asnp_status asnp_queue_copy(asnp_queue *queue, asnp_array *a, int64_t offset, void *host,
                            int64_t bytes, int32_t to_device, int32_t priority,
                            asnp_transfer **out) {
    NEED(queue);
    NEED(a);
    NEED(host);
    NEED(out);
    IN_LIBRARY;
    if (to_device) ASN_TRY(asn_capi_writeable(a));
    asnp_transfer *t = asn_malloc(sizeof *t);
    if (!t) return ASN_ERR_MEMORY;
    t->to_device = to_device != 0;
    asn_status status = asn_array_share(&t->array, &a->array);
    if (!status) {
        status = asn_tensor_copy_bytes((asn_dma *)queue, &t->array, offset, host, bytes,
                                       t->to_device, priority, &t->transfer);
        if (status) asn_array_fini(&t->array);
    }
    if (status) {
        asn_free(t);
        return status;
    }
    *out = t;
    return ASNP_OK;
}

/* May be asked for before the transfer ends: what then uses the array is ordered behind
 * it. */
asnp_status asnp_transfer_array(asnp_transfer *transfer, asnp_array **out) {
    NEED(transfer);
    NEED(out);
    IN_LIBRARY;
    asn_array shared;
    if (!transfer->to_device)
        return asn_error_set(ASN_ERR_VALUE,
                             "transfer_array: the transfer goes to the host");
    ASN_TRY(asn_tensor_order(transfer->transfer, &transfer->array));
    return asn_capi_wrap(asn_array_share(&shared, &transfer->array), &shared, out);
}

/* Never waits. */
asnp_status asnp_transfer_done(const asnp_transfer *transfer, int32_t *out) {
    NEED(transfer);
    NEED(out);
    *out = asn_transfer_done(transfer->transfer);
    return ASNP_OK;
}

asnp_status asnp_transfer_wait(const asnp_transfer *transfer) {
    NEED(transfer);
    return asn_transfer_wait(transfer->transfer);
}

/* Waits for the copy before the array goes, whose memory it uses. */
void asnp_transfer_release(asnp_transfer *transfer) {
    if (!transfer) return;
    asn_transfer_release(transfer->transfer);
    IN_LIBRARY;
    asn_array_fini(&transfer->array);
    asn_free(transfer);
}

/* ---- what is held */

/* The program's function, for the core's walk. */
typedef struct {
    void (*visit)(void *context, const asnp_mm_piece *piece);
    void *context;
} walker;

static void visit_piece(void *context, const asn_memory_piece *p) {
    const walker *w = context;
    w->visit(w->context, &(asnp_mm_piece){(int32_t)p->place, (int32_t)p->state, p->device,
                                          p->address, p->bytes});
}

/* visit runs while the memory manager is locked: it must not call the library. */
asnp_status asnp_mm_walk(void (*visit)(void *context, const asnp_mm_piece *piece),
                         void *context) {
    if (!visit)
        return asn_error_set(ASN_ERR_NULL_POINTER, "visit is NULL; a function is needed");
    walker w = {visit, context};
    asn_memory_walk(visit_piece, &w);
    return ASNP_OK;
}

/* The flag alone: what was recorded stays. */
asnp_status asnp_mm_record_workspaces(int32_t on, int32_t *before) {
    IN_LIBRARY;
    if (before) *before = asn_workspaces_on;
    asn_workspaces_on = on != 0;
    return ASNP_OK;
}

/* Numbers are those of first calls: entries are only added. */
asnp_status asnp_mm_workspace_at(int64_t i, asnp_mm_workspace *out) {
    IN_LIBRARY;
    asn_workspace w;
    NEED(out);
    if (!asn_workspaces_get(i, &w))
        return asn_error_set(ASN_ERR_INDEX, "there is no workspace %lld", (long long)i);
    *out = (asnp_mm_workspace){w.name, w.operands, w.bytes, w.calls};
    return ASNP_OK;
}

/* The binding's hooks in the core's slots: a slot is free while its hook is NULL. */
static struct {
    asnp_mm_hook hook;
    void *context;
} hooks[8];

/* Called by whatever thread allocates; `slot` is the index in hooks[], which outlives the
 * registration. */
static void call_hook(void *slot, const asn_watch_event *e) {
    size_t i = (size_t)(uintptr_t)slot;
    if (hooks[i].hook)
        hooks[i].hook(hooks[i].context,
                      &(asnp_mm_event){(int32_t)e->kind, e->ns, e->address, e->bytes,
                                       e->in_use, e->held});
}

/* The slot's hook is set before the core may call it. */
asnp_status asnp_mm_add_hook(asnp_mm_hook hook, void *context) {
    IN_LIBRARY;
    if (!hook)
        return asn_error_set(ASN_ERR_NULL_POINTER, "hook is NULL; a function is needed");
    for (size_t i = 0; i < 8; i++) {
        if (hooks[i].hook) continue;
        hooks[i].hook = hook;
        hooks[i].context = context;
        asn_status status = asn_watch_add_hook(call_hook, (void *)(uintptr_t)i);
        if (status) hooks[i].hook = NULL;
        return status;
    }
    return asn_error_set(ASN_ERR_UNSUPPORTED, "there are 8 memory hooks already");
}

/* Both function and context must be those of the registration. */
asnp_status asnp_mm_remove_hook(asnp_mm_hook hook, void *context) {
    IN_LIBRARY;
    for (size_t i = 0; i < 8; i++) {
        if (!hook || hooks[i].hook != hook || hooks[i].context != context) continue;
        asn_watch_remove_hook(call_hook, (void *)(uintptr_t)i);
        hooks[i].hook = NULL;
        return ASNP_OK;
    }
    return asn_error_set(ASN_ERR_VALUE, "there is no such memory hook");
}
