/* L2 graph: work of the host's in a capture (see replay.h): random numbers, and
 * conditions on values that are an error where they do not hold.
 *
 * A step has a function and a context that lives as long as the replay; its arrays are
 * slots like others. It runs when everything before it on the active stream has ended, on
 * the arrays' memory where the host reaches it, else on copies. What it writes is
 * another's at each replay. Objects that it needs, such as a generator, are held, and
 * entered around a replay: before the library's lock is taken, as whoever else uses them
 * does. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/capture/capture_steps.h"
#include "graph/device/fallback.h"
#include "graph/lock.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"

/* ---- running a step */

/* Arrays lie 16 bytes apart at least, and aligned so. */
static size_t padded(int64_t bytes) {
    return ((size_t)bytes + 15) & ~(size_t)15;
}

/* On a device whose memory the host does not reach: inputs are copied from it, outputs to
 * it. */
static asn_status run_on_copies(const asn_replay_step *s, void *const *device) {
    void *host[ASN_HOST_ARRAYS], *all = NULL;
    size_t total = 0;
    for (int i = 0; i < s->num_places; i++)
        total += padded(s->host.bytes[i]);
    if (total && !(all = asn_malloc(total))) return ASN_ERR_MEMORY;
    char *at = all;
    asn_status status = ASN_OK;
    for (int i = 0; i < s->num_places && !status; i++) {
        size_t bytes = (size_t)s->host.bytes[i];
        host[i] = at;
        at += padded(s->host.bytes[i]);
        int code = i < s->host.num_in
                       ? asn_acl.aclrtMemcpy(host[i], bytes, device[i], bytes,
                                             ACL_MEMCPY_DEVICE_TO_HOST)
                       : 0;
        if (code) status = asn_acl_failed(code, s->name);
    }
    if (!status) status = s->host.run(s->host.context, host);
    for (int i = s->host.num_in; i < s->num_places && !status; i++) {
        size_t bytes = (size_t)s->host.bytes[i];
        int code = asn_acl.aclrtMemcpy(device[i], bytes, host[i], bytes,
                                       ACL_MEMCPY_HOST_TO_DEVICE);
        if (code) status = asn_acl_failed(code, s->name);
    }
    asn_free(all);
    return status;
}

/* A fused program that the device has no operator for; its operands' addresses are filled
 * in. */
static asn_status run_program(const asn_replay_step *s, char *const *bases) {
    aclnnxOperand *operands = (aclnnxOperand *)s->host.program->operands;
    for (int i = 0; i < s->num_places; i++)
        if (s->places[i].slot >= 0)
            operands[i].data = bases[s->places[i].slot] + s->places[i].offset;
    return asn_host_fused(s->host.program, s->name);
}

asn_status asn_capture_host_run(const asn_replay_step *s, char *const *bases) {
    void *memory[ASN_HOST_ARRAYS];
    if (s->host.program) return run_program(s, bases);
    /* What it reads is computed, and what it writes may have been another array's. */
    ASN_TRY(asn_streams_wait_active());
    for (int i = 0; i < s->num_places; i++)
        memory[i] = bases[s->places[i].slot] + s->places[i].offset;
    return asn_device_host_access() ? s->host.run(s->host.context, memory)
                                    : run_on_copies(s, memory);
}

/* ---- capturing one */

/* Storage, and no other stream that uses it: the host reads or writes it now. */
static asn_status make_ready(const asn_array *a, bool written) {
    ASN_TRY(asn_buffer_ensure(a->buffer));
    return asn_streams_wait_for(a->buffer, written);
}

asn_status asn_capture_host(const char *name, asn_host_run run, const void *context,
                            int num_in, int num, const asn_array *const *arrays) {
    char *bases[ASN_HOST_ARRAYS];
    if (num_in) ASN_TRY(asn_trace_flush());
    for (int i = 0; i < num; i++)
        ASN_TRY(make_ready(arrays[i], i >= num_in));
    asn_replay_step *s = asn_capture_step(ASN_STEP_HOST, num);
    int64_t *bytes = asn_capture_alloc(ASN_HOST_ARRAYS * sizeof *bytes);
    if (!s || !bytes) return ASN_ERR_MEMORY;
    s->name = s->pole = name;
    s->host.run = run;
    s->host.context = context;
    s->host.num_in = num_in;
    s->host.bytes = bytes;
    for (int i = 0; i < num; i++) {
        const asn_layout *l = &arrays[i]->layout;
        s->places[i] =
            asn_capture_place((char *)arrays[i]->buffer->data + l->offset, i >= num_in);
        if (s->places[i].slot < 0) return ASN_ERR_RUNTIME;
        asn_slot *slot = &asn_captured->slots[s->places[i].slot];
        slot->varies |= i >= num_in; /* whatever it is made from */
        bytes[i] = asn_layout_nbytes(l);
        s->nbytes += bytes[i];
    }
    /* The step runs now, too, with the slots' addresses of now. */
    asn_replay_step now = *s;
    asn_place places[ASN_HOST_ARRAYS];
    for (int i = 0; i < num; i++) {
        places[i] = (asn_place){i, i >= num_in, 0};
        bases[i] = (char *)arrays[i]->buffer->data + arrays[i]->layout.offset;
    }
    now.places = places;
    asn_status status = asn_capture_host_run(&now, bases);
    if (status) asn_capture_fail(status); /* whoever catches it decides by values */
    return status;
}

/* ---- what the steps hold */

asn_status asn_capture_hold(const asn_keeper *keeper) {
    asn_replay *r = asn_captured;
    void *all = r->keepers;
    int at = 0;
    for (; at < r->num_keepers && r->keepers[at].object <= keeper->object; at++)
        if (r->keepers[at].object == keeper->object) return ASN_OK;
    if (!asn_capture_grow(&all, r->num_keepers, &r->keepers_room, sizeof *r->keepers))
        return ASN_ERR_MEMORY;
    r->keepers = all;
    memmove(&r->keepers[at + 1], &r->keepers[at],
            (size_t)(r->num_keepers++ - at) * sizeof *r->keepers);
    r->keepers[at] = *keeper; /* in one order for all replays, which enter several */
    keeper->retain(keeper->object);
    return ASN_OK;
}

/* A capture's end; the keepers' references go. */
void asn_replay_let_go(asn_replay *r) {
    for (int i = 0; i < r->num_keepers; i++)
        r->keepers[i].release(r->keepers[i].object);
    asn_free(r->keepers);
}

/* In the opposite order. */
void asn_replay_leave(const asn_replay *r, int entered) {
    while (entered-- > 0)
        if (r->keepers[entered].leave)
            r->keepers[entered].leave(r->keepers[entered].object);
}

/* All or none: after a failure those entered are left again. */
asn_status asn_replay_enter(const asn_replay *r) {
    for (int i = 0; i < r->num_keepers; i++) {
        const asn_keeper *k = &r->keepers[i];
        asn_status status = k->enter ? k->enter(k->object) : ASN_OK;
        if (!status) continue;
        asn_replay_leave(r, i);
        return status;
    }
    return ASN_OK;
}

/* ---- conditions */

/* What a condition is an error of. */
typedef struct {
    asn_status error;
    char message[];
} requirement;

/* As asn_host_run: memory[0] is the condition. */
static asn_status check(const void *context, void *const *memory) {
    const requirement *r = context;
    if (*(const uint8_t *)memory[0]) return ASN_OK;
    return asn_error_set(r->error, "%s", r->message);
}

asn_status asn_capture_known(const asn_array *a, bool *known) {
    *known = true;
    if (!asn_capture_open()) return ASN_OK;
    asn_lock();
    asn_status status = asn_trace_flush();
    if (!status) status = asn_buffer_ensure(a->buffer);
    *known = !status && !asn_capture_varies(a->buffer);
    asn_unlock();
    return status;
}

asn_status asn_capture_require(const asn_array *condition, asn_status error,
                               const char *message) {
    size_t bytes = strlen(message) + 1;
    requirement *r = asn_capture_alloc(sizeof *r + bytes);
    if (!r) return ASN_ERR_MEMORY;
    r->error = error;
    memcpy(r->message, message, bytes);
    asn_lock();
    asn_status status = asn_capture_host("check", check, r, 1, 1, &condition);
    asn_unlock();
    return status;
}
