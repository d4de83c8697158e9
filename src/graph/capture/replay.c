/* L2 graph: replays (see replay.h): addresses filled in, steps launched.
 *
 * Temporaries lie in one block from the pool, laid out once by their lives in steps:
 * each, in order of birth, at the lowest place that none alive at the same time takes.
 * The block goes back as soon as everything is launched, since memory is reused in the
 * order of the stream. Replays happen under the library's lock, which is what lets them
 * fill the steps' own descriptors in.
 *
 * Why it is fast: nothing is planned, checked or allocated but one block and the results;
 * a step costs its launch. What the capture has promised (layouts, sharing of memory) is
 * the caller's to keep. */
#include "graph/capture/capture_steps.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/device/fallback.h"
#include "graph/fp.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/profile.h"
#include "runtime/streams/uses.h"

enum {
    ALIGNMENT = 64,
    BLOCKING_ELEMENTS = 1 << 15 /* above, other Python threads may run meanwhile */
};

/* ---- the arena */

static int64_t padded(int64_t n) {
    return (n + ALIGNMENT - 1) & ~(int64_t)(ALIGNMENT - 1);
}

static bool meet_in_time(const asn_slot *a, const asn_slot *b) {
    return a->first <= b->last && b->first <= a->last;
}

/* The lowest place for slot i beside those before it: moved up past each that is in the
 * way, until none is (first fit). */
static int64_t lowest_place(const asn_replay *r, int i) {
    const asn_slot *s = &r->slots[i];
    int64_t at = 0, size = padded(s->nbytes);
    for (bool moved = true; moved;) {
        moved = false;
        for (int k = 0; k < i; k++) {
            const asn_slot *o = &r->slots[k];
            if (o->kind != ASN_SLOT_TEMPORARY || !meet_in_time(s, o)) continue;
            if (at >= o->at + padded(o->nbytes) || o->at >= at + size) continue;
            at = o->at + padded(o->nbytes);
            moved = true;
        }
    }
    return at;
}

/* (Contract in capture_steps.h.) Sets each temporary's place and the block's size. */
void asn_replay_lay_out(asn_replay *r) {
    for (int i = 0; i < r->num_slots; i++) {
        asn_slot *s = &r->slots[i];
        if (s->kind != ASN_SLOT_TEMPORARY) continue;
        s->at = lowest_place(r, i);
        if (s->at + padded(s->nbytes) > r->arena_bytes)
            r->arena_bytes = s->at + padded(s->nbytes);
    }
}

/* What a step owns of the device's. */
void asn_replay_release_step(asn_replay_step *s) {
    if (s->kind == ASN_STEP_OPERATOR && s->op.executor && asn_acl.aclDestroyAclOpExecutor)
        asn_acl.aclDestroyAclOpExecutor(s->op.executor);
    if (s->kind == ASN_STEP_FUSED) asn_acl.aclnnxRelease(s->fused.prepared);
}

bool asn_replay_valid(const asn_replay *r) {
    return r->generation == asn_device_generation && r->device == asn_pool_device;
}

/* ---- launching
 *
 * A run_... returns the device's code, 0 for success, or a status where other things can
 * fail. `sink` collects floating-point exceptions; NULL: nobody asks. */

static inline void *address(char *const *bases, const asn_place *p) {
    return p->slot < 0 ? NULL : bases[p->slot] + p->offset;
}

/* The operands' addresses; immediates stay. */
static void fill(const asn_replay_step *s, aclnnxOperand *o, char *const *bases) {
    for (int i = 0; i < s->num_places; i++)
        if (s->places[i].slot >= 0) o[i].data = address(bases, &s->places[i]);
}

/* Long ones let other threads of the binding run meanwhile. */
static int launch_fused(const asn_replay_step *s, void *const *addresses,
                        uint32_t *sink) {
    void *state = s->elements > BLOCKING_ELEMENTS ? asn_blocking_enter() : NULL;
    asn_stream_launch(false);
    int code = asn_acl.aclnnxRun(s->fused.prepared, addresses, sink, asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(false); /* another thread may have waited meanwhile */
    return code;
}

/* The compiled text, unless it declines (an exception that may not be its own): then the
 * engine runs the program again. */
static int run_program(const asn_replay_step *s, bool compiled, void *const *addresses,
                       uint32_t *sink) {
    if (compiled && asn_replay_run_native(s, addresses, sink)) return 0;
    return launch_fused(s, addresses, sink);
}

static int run_fused(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    void *addresses[ACLNNX_MAX_OPERANDS];
    const aclnnxOperand *operands = s->fused.program.operands;
    for (int i = 0; i < s->num_places; i++)
        addresses[i] = s->places[i].slot < 0 ? (void *)(uintptr_t)operands[i].immediate
                                             : address(bases, &s->places[i]);
    if (!s->watched) sink = NULL;
    asn_counters.programs++;
    if (!s->native || !asn_stream_is_idle()) return launch_fused(s, addresses, sink);
    if (__builtin_expect(!asn_replay_trying(s), 1))
        return run_program(s, !s->slower, addresses, sink);
    bool compiled = !(s->trials & 1); /* they take turns while they are tried */
    uint64_t begin = asn_profile_clock();
    int code = run_program(s, compiled, addresses, sink);
    asn_replay_tried(s, compiled, asn_profile_clock() - begin);
    return code;
}

static int run_product(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    asn_replay_product *p = s->op.product;
    for (int i = 0; i < 3; i++)
        p->operands[i].data = address(bases, &s->places[i]);
    asn_counters.single_ops++;
    return asn_acl.aclnnxMatmul(&p->operands[0], &p->operands[1], &p->operands[2], p->m,
                                p->k, p->n, s->watched ? sink : NULL);
}

/* Addresses are exchanged in the executor, which was planned with others. */
static int run_operator(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    if (s->op.product && asn_stream_is_idle()) return run_product(s, bases, sink);
    for (int i = 0; i < s->op.num_tensors; i++) {
        const asn_replay_tensor *t = &s->op.tensors[i];
        if (t->place.slot < 0) continue;
        void *to = address(bases, &t->place);
        int code =
            t->list ? asn_acl.aclSetDynamicTensorAddr(s->op.executor, t->index, t->member,
                                                      t->list, to)
                    : asn_acl.aclSetTensorAddr(s->op.executor, t->index, t->tensor, to);
        if (code) return code;
    }
    asn_counters.single_ops++;
    asn_stream_launch(true);
    void *workspace = s->op.slot < 0 ? NULL : bases[s->op.slot];
    void *state = asn_blocking_enter();
    int code = s->op.run(workspace, s->op.workspace, s->op.executor, asn_stream());
    asn_blocking_leave(state);
    asn_stream_launch(true); /* another thread may have waited meanwhile */
    return code;
}

static asn_status run_linalg(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    int64_t failed = 0;
    ASN_TRY(asn_streams_wait_active()); /* solvers work on the calling thread */
    for (int i = 0; i < s->num_places; i++)
        s->call.tensors[i].data = address(bases, &s->places[i]);
    uint32_t *flags = asn_linalg_reports(s->call.op) ? sink : NULL;
    if (!asn_acl.aclnnxLinalg) {
        /* The device has no solvers: the host's, on the device's memory. */
        int num_inputs = 0;
        for (int i = 0; i < s->num_places; i++)
            num_inputs += !s->places[i].written;
        ASN_TRY(asn_host_linalg(s->call.op, s->call.options, s->call.scale,
                                s->call.num_batch, s->num_places, s->call.tensors,
                                num_inputs, &failed, flags));
    } else {
        void *state = asn_blocking_enter();
        int code = asn_acl.aclnnxLinalg(s->call.op, s->call.options, s->call.scale,
                                        s->call.num_batch, s->num_places, s->call.tensors,
                                        &failed, flags);
        asn_blocking_leave(state);
        if (code) return asn_acl_failed(code, s->name);
    }
    if (failed && s->call.complaint)
        return asn_error_set(ASN_ERR_LINALG, "%s", s->call.complaint);
    return ASN_OK;
}

/* A transform that the device has no operator for. */
static asn_status run_host_fft(asn_replay_step *s, char *const *bases) {
    aclnnxOperand *o = s->call.operands;
    fill(s, o, bases);
    return asn_host_fft(s->call.kind, s->call.n, s->call.scale, &o[0], s->call.shape,
                        &o[1], s->call.other_shape, s->call.ndim, s->call.axis);
}

/* The fused operator's relatives. */
static int run_relative(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    aclnnxOperand *o = s->call.operands;
    aclrtStream stream = asn_stream();
    fill(s, o, bases);
    asn_stream_launch(s->kind == ASN_STEP_FFT);
    switch (s->kind) {
    case ASN_STEP_SCAN:
        return asn_acl.aclnnxScan(s->call.op, &o[0], &o[1], s->call.ndim, s->call.shape,
                                  s->call.axis, sink, stream);
    case ASN_STEP_UPDATE_AT: {
        int n = s->call.num_indices;
        return asn_acl.aclnnxUpdateAt(s->call.op, &o[n + 1], s->call.ndim, s->call.shape,
                                      n, o, s->call.index_ndim, s->call.other_shape,
                                      &o[n], sink, stream);
    }
    case ASN_STEP_SORT:
        return asn_acl.aclnnxSort(&o[0], &o[1], s->call.ndim, s->call.shape, s->call.axis,
                                  s->call.indices, s->call.num_kth, s->call.kth, stream);
    case ASN_STEP_FFT:
        return asn_acl.aclnnxFft(s->call.kind, s->call.n, s->call.scale, &o[0],
                                 s->call.shape, &o[1], s->call.other_shape, s->call.ndim,
                                 s->call.axis, sink, stream);
    case ASN_STEP_INTERP:
        return asn_acl.aclnnxInterp(&o[0], &o[1], &o[2], &o[3], s->call.n, s->call.m,
                                    s->call.left, s->call.right, stream);
    case ASN_STEP_SPARSE:
        return asn_acl.aclnnxSparseMatmul(&o[0], &o[1], &o[2], &o[3], &o[4], s->call.m,
                                          s->call.first, s->call.n, s->elements, stream);
    default:
        return asn_acl.aclnnxCorrelate(&o[0], &o[1], &o[2], s->call.n, s->call.m,
                                       s->call.first, s->elements, stream);
    }
}

static asn_status run_upload(asn_replay_step *s, char *const *bases) {
    ASN_TRY(asn_streams_wait_active()); /* the memory may have been another array's */
    int code =
        asn_acl.aclrtMemcpy(address(bases, &s->places[0]), s->upload.size,
                            s->upload.bytes, s->upload.size, ACL_MEMCPY_HOST_TO_DEVICE);
    return code ? asn_acl_failed(code, s->name) : ASN_OK;
}

static asn_status run_step(asn_replay_step *s, char *const *bases, uint32_t *sink) {
    int code = 0;
    switch (s->kind) {
    case ASN_STEP_FUSED: code = run_fused(s, bases, sink); break;
    case ASN_STEP_OPERATOR: code = run_operator(s, bases, sink); break;
    case ASN_STEP_UPLOAD: ASN_TRY(run_upload(s, bases)); break;
    case ASN_STEP_LINALG: ASN_TRY(run_linalg(s, bases, sink)); break;
    case ASN_STEP_FFT:
        if (asn_acl.aclnnxFft)
            code = run_relative(s, bases, sink);
        else
            ASN_TRY(run_host_fft(s, bases));
        break;
    case ASN_STEP_HOST: ASN_TRY(asn_capture_host_run(s, bases)); break;
    default: code = run_relative(s, bases, sink);
    }
    if (code) return asn_acl_failed(code, s->name);
    /* Exceptions are told under the name of the step that raised them. */
    if (__builtin_expect(sink && *sink, 0))
        asn_fp_note(*sink & ACLNNX_FP_DIVIDE && s->pole ? s->pole : s->name);
    return s->checked ? asn_streams_wait_active() : ASN_OK;
}

/* Copies and the fused operator's relatives record themselves (profile_launch.c). */
static bool is_recorded_here(asn_replay_kind kind) {
    return kind == ASN_STEP_FUSED || kind == ASN_STEP_OPERATOR || kind == ASN_STEP_HOST;
}

static asn_status run_recorded_step(asn_replay_step *s, char *const *bases,
                                    uint32_t *sink) {
    asn_mark mark = ASN_NO_MARK;
    if (is_recorded_here(s->kind)) mark = asn_profile_begin_on_device();
    ASN_TRY(run_step(s, bases, sink));
    if (mark.ticks)
        asn_profile_note(
            mark, s->kind == ASN_STEP_FUSED ? ASN_EVENT_PROGRAM : ASN_EVENT_OPERATOR,
            s->name ? s->name : "program", s->nbytes);
    return ASN_OK;
}

/* ---- a replay */

/* What is recorded for memory that the steps know runs first. */
static asn_status run_what_is_recorded(const asn_replay *r,
                                       const asn_array *const *args) {
    bool pending = false;
    for (int i = 0; i < r->num_args && !pending; i++)
        pending = args[i]->buffer->trace_refs > 0;
    for (int i = 0; i < r->num_slots && !pending; i++)
        pending =
            r->slots[i].kind == ASN_SLOT_CONSTANT && r->slots[i].buffer->trace_refs > 0;
    return pending ? asn_trace_flush() : ASN_OK;
}

/* (Contract in replay.h.) The result may begin anywhere in its argument's group. */
asn_status asn_replay_view(const asn_replay *r, int result, const asn_array *const *args,
                           asn_array *out) {
    const asn_replay_result *want = &r->results[result];
    const asn_slot *s = &r->slots[want->slot];
    ASN_TRY(asn_layout_copy(&out->layout, &want->like));
    out->layout.offset = args[s->arg]->layout.offset - s->origin + want->offset;
    out->buffer = asn_buffer_retain(args[s->arg]->buffer);
    return ASN_OK;
}

/* New memory for what no argument or constant shows; a slot borrows it. */
static asn_status make_result(asn_replay *r, int result, asn_array *out) {
    const asn_replay_result *want = &r->results[result];
    asn_slot *s = want->slot < 0 ? NULL : &r->slots[want->slot];
    asn_status status = ASN_OK;
    ASN_TRY(asn_layout_copy(&out->layout, &want->like));
    out->layout.offset = s ? want->offset : 0;
    if (s && s->buffer) {
        out->buffer = asn_buffer_retain(s->buffer);
        return ASN_OK;
    }
    status = asn_buffer_new(&out->buffer, s ? s->nbytes : 0);
    if (!status && s && (status = asn_buffer_ensure(out->buffer)))
        asn_buffer_release(out->buffer);
    if (status)
        asn_layout_fini(&out->layout);
    else if (s)
        s->buffer = out->buffer;
    return status;
}

/* *num_made counts, also after a failure. */
static asn_status make_results(asn_replay *r, const asn_array *const *args,
                               asn_array *results, int *num_made) {
    for (; *num_made < r->num_results; ++*num_made) {
        int i = *num_made;
        ASN_TRY(asn_replay_result_arg(r, i) >= 0
                    ? asn_replay_view(r, i, args, &results[i])
                    : make_result(r, i, &results[i]));
    }
    return ASN_OK;
}

/* Where each slot begins, this time. Arguments' storage may have to be taken first. */
static asn_status fill_bases(asn_replay *r, const asn_array *const *args, char *arena) {
    for (int i = 0; i < r->num_slots; i++) {
        const asn_slot *s = &r->slots[i];
        if (s->kind == ASN_SLOT_TEMPORARY) {
            r->bases[i] = arena + s->at;
        } else if (s->kind == ASN_SLOT_ARG) {
            const asn_array *a = args[s->arg];
            ASN_TRY(asn_buffer_ensure(a->buffer));
            r->bases[i] = (char *)a->buffer->data + a->layout.offset - s->origin;
        } else {
            r->bases[i] = s->buffer->data;
        }
    }
    return ASN_OK;
}

/* Work on other streams that uses the memory that the steps use comes first. */
static asn_status use_slots(const asn_replay *r, const asn_array *const *args) {
    for (int i = 0; asn_stream_many && i < r->num_slots; i++) {
        const asn_slot *s = &r->slots[i];
        asn_buffer *b = s->kind == ASN_SLOT_ARG ? args[s->arg]->buffer : s->buffer;
        if (s->kind != ASN_SLOT_TEMPORARY && b) ASN_TRY(asn_buffer_use(b, s->written));
    }
    return ASN_OK;
}

/* A step that waits (an upload, the host's work, a solver) begins a new ticket of the
 * queue: the memory that was said to be used by the one before counts as free then,
 * though later steps use it still. */
static asn_status run_steps(asn_replay *r, const asn_array *const *args) {
    uint32_t *sink = asn_fp_sink();
    ASN_TRY(use_slots(r, args));
    uint64_t ticket = asn_queue_active->marked;
    asn_status status = ASN_OK;
    for (int i = 0; i < r->num_steps && !status; i++) {
        status = run_recorded_step(&r->steps[i], r->bases, sink);
        if (__builtin_expect(asn_queue_active->marked != ticket, 0)) {
            asn_status used = use_slots(r, args); /* also of what a failure leaves */
            if (!status) status = used;
            ticket = asn_queue_active->marked;
        }
    }
    return status;
}

/* All of it, with the lock held. After a failure no result is left. */
static asn_status run(asn_replay *r, const asn_array *const *args, asn_array *results) {
    int made = 0;
    asn_block arena = {0};
    ASN_TRY(run_what_is_recorded(r, args));
    asn_status status = make_results(r, args, results, &made);
    if (!status && r->arena_bytes) status = asn_block_take(r->arena_bytes, &arena);
    if (!status) status = fill_bases(r, args, arena.data);
    if (!status) status = run_steps(r, args);
    /* Where the device runs behind: waits, if the host shares an argument's memory. */
    if (!status) status = asn_trace_catch_up_on(r->num_args, args);
    if (arena.data) asn_block_give(&arena);
    for (int i = 0; i < r->num_slots; i++)
        if (r->slots[i].kind == ASN_SLOT_RESULT) r->slots[i].buffer = NULL;
    while (status && made > 0)
        asn_array_fini(&results[--made]);
    return status;
}

asn_status asn_replay_run(asn_replay *r, const asn_array *const *args,
                          asn_array *results) {
    asn_status status = ASN_OK;
    if (r->num_keepers) ASN_TRY(asn_replay_enter(r));
    asn_lock();
    if (asn_capturing)
        status = asn_capture_refuse("a capture is replayed");
    else if (!asn_replay_valid(r))
        status = asn_error_set(ASN_ERR_RUNTIME, "the capture was made on a device that "
                                                "is closed or not current");
    else
        status = run(r, args, results);
    asn_unlock();
    asn_replay_leave(r, r->num_keepers);
    return status;
}

/* ---- what a capture is */

int asn_replay_result_arg(const asn_replay *r, int result) {
    int slot = r->results[result].slot;
    return slot >= 0 && r->slots[slot].kind == ASN_SLOT_ARG ? r->slots[slot].arg : -1;
}

/* An argument that is a constant as well would be read by its old address. */
bool asn_replay_collides(const asn_replay *r, const asn_array *const *args) {
    for (int i = 0; i < r->num_slots; i++) {
        const asn_slot *s = &r->slots[i];
        if (s->kind != ASN_SLOT_CONSTANT) continue;
        for (int k = 0; k < r->num_args; k++)
            if (asn_buffers_alias(s->buffer, args[k]->buffer)) return true; /* or one */
    }
    return false;
}

void asn_replay_get_info(const asn_replay *r, asn_replay_info *out) {
    *out = (asn_replay_info){.steps = r->num_steps, .arena_bytes = r->arena_bytes};
    for (int i = 0; i < r->num_steps; i++) {
        out->programs += r->steps[i].kind == ASN_STEP_FUSED;
        out->natives += r->steps[i].native != NULL;
        out->copies += r->steps[i].kind == ASN_STEP_UPLOAD;
    }
    out->operators = r->num_steps - out->programs - out->copies;
    for (int i = 0; i < r->num_slots; i++) {
        const asn_slot *s = &r->slots[i];
        if (s->kind == ASN_SLOT_TEMPORARY) {
            out->temporaries++;
            out->temporary_bytes += s->nbytes;
        } else if (s->kind == ASN_SLOT_CONSTANT) {
            out->constants++;
            out->constant_bytes += s->nbytes;
        } else if (s->kind == ASN_SLOT_RESULT) {
            out->result_bytes += s->nbytes;
        }
    }
}
