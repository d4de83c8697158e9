/* L2 graph: an open capture (see replay.h): its beginning and end, its steps, what it
 * refuses.
 *
 * No array counts as materialised while a capture is open (asn_stream_held): every
 * shortcut by which the host computes or reads elements then takes the long way, where a
 * look at values is a synchronisation (runtime/streams/sync.h), which the capture
 * refuses.
 *
 * A capture is one object (asn_captured) and a few hooks: in the device's interface
 * (capture_launch.c), in the memory manager (capture_memory.c), and at synchronisations.
 * They are set at its beginning and taken back at its end, whatever comes between. A
 * failure is kept, not raised where it happens: what launches goes on, and the end
 * reports the first one. */
#include "graph/capture/capture_steps.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/lock.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/memory/memory_pool.h"
#include "runtime/site.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"
#include "runtime/memory/watch.h"

/* Memory of a replay comes in pieces of this size, which end together. */
enum { CHUNK_BYTES = 16 << 10 };

struct asn_capture_chunk {
    struct asn_capture_chunk *next;
    _Alignas(16) char bytes[];
};

bool asn_capturing;
asn_replay *asn_captured;

static struct {
    asn_status status; /* the first failure, which the end reports */
    char message[1024];
    size_t used, room; /* of the newest chunk */
} state;

/* The lock's owner is the thread that has the capture; other threads see the flag, too.
 */
bool asn_capture_open(void) {
    return asn_capturing && asn_lock_is_mine();
}

/* ---- failures */

void asn_capture_fail(asn_status status) {
    if (state.status) return;
    state.status = status;
    snprintf(state.message, sizeof state.message, "%s", asn_error_message());
}

asn_status asn_capture_refuse(const char *what) {
    const asn_site_info *at = asn_site_get(asn_site_here());
    char where[512] = "";
    if (at) snprintf(where, sizeof where, "%s:%d: ", at->file, at->line);
    asn_status status = asn_error_set(
        ASN_ERR_RUNTIME,
        "%s%s while the call is traced, and a replay would not do it again; compute "
        "with arrays (np.where instead of if), make what decides a static argument, or "
        "move this out of the function",
        where, what);
    asn_capture_fail(status);
    return status;
}

asn_status asn_capture_forbid(const char *what) {
    return asn_capture_open() ? asn_capture_refuse(what) : ASN_OK;
}

/* ---- memory of the replay
 *
 * It only grows while the capture is open, so a pointer into it stays good; nothing of it
 * is given back before asn_replay_free. */

void *asn_capture_alloc(size_t bytes) {
    asn_replay *r = asn_captured;
    bytes = (bytes + 15) & ~(size_t)15; /* aligned as an allocation is */
    if (!r->chunks || state.used + bytes > state.room) {
        size_t room = bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES;
        struct asn_capture_chunk *c = asn_malloc(sizeof *c + room);
        if (!c) {
            asn_capture_fail(ASN_ERR_MEMORY);
            return NULL;
        }
        c->next = r->chunks;
        r->chunks = c;
        state.used = 0;
        state.room = room;
    }
    void *p = r->chunks->bytes + state.used;
    state.used += bytes;
    return p;
}

void *asn_capture_copy(const void *from, size_t bytes) {
    void *p = from ? asn_capture_alloc(bytes) : NULL;
    if (p) memcpy(p, from, bytes);
    return p;
}

bool asn_capture_grow(void **items, int used, int *room, size_t size) {
    if (used < *room) return true;
    int more = *room ? 2 * *room : 16;
    void *grown = asn_realloc(*items, (size_t)more * size);
    if (!grown) {
        asn_capture_fail(ASN_ERR_MEMORY);
        return false;
    }
    *items = grown;
    *room = more;
    return true;
}

/* (Contract in capture_steps.h.) The pointer is good until the next step is made. */
asn_replay_step *asn_capture_step(asn_replay_kind kind, int num_places) {
    asn_replay *r = asn_captured;
    void *steps = r->steps;
    if (!asn_capture_grow(&steps, r->num_steps, &r->steps_room, sizeof *r->steps))
        return NULL;
    r->steps = steps;
    asn_place *places =
        asn_capture_alloc((size_t)(num_places ? num_places : 1) * sizeof *places);
    if (!places) return NULL;
    asn_replay_step *s = &r->steps[r->num_steps++];
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->num_places = num_places;
    s->places = places;
    return s;
}

/* (Contracts in capture.h.) Names are noted after the launch: the step is the last one.
 */
void asn_capture_names(const char *pole, const char *name) {
    asn_replay *r = asn_captured;
    if (!r->num_steps) return;
    r->steps[r->num_steps - 1].pole = pole;
    r->steps[r->num_steps - 1].name = name;
}

void asn_capture_name(const char *name) {
    asn_replay *r = asn_captured;
    /* A solver has its name: of its floating-point exceptions only those of det are told.
     */
    if (r && r->num_steps && name && r->steps[r->num_steps - 1].kind != ASN_STEP_LINALG)
        asn_capture_names(name, name);
}

void asn_capture_complaint(const char *text) {
    asn_replay *r = asn_captured;
    if (!r->num_steps || r->steps[r->num_steps - 1].kind != ASN_STEP_LINALG) return;
    r->steps[r->num_steps - 1].call.complaint = asn_capture_copy(text, strlen(text) + 1);
}

void asn_capture_checked(void) {
    asn_replay *r = asn_captured;
    if (r->num_steps) r->steps[r->num_steps - 1].checked = true;
}

/* ---- memory filled from the host
 *
 * The bytes are kept as they are now: a replay writes the same again, whatever the host's
 * memory holds then. */

asn_status asn_capture_upload(const asn_array *a, const void *packed, size_t bytes) {
    ASN_TRY(asn_streams_wait_active()); /* the block may have been another array's */
    int code = asn_acl_below[ASN_LAYER_CAPTURE].aclrtMemcpy(
        a->buffer->data, bytes, packed, bytes, ACL_MEMCPY_HOST_TO_DEVICE);
    if (code) return asn_acl_failed(code, "copy from host");
    asn_replay_step *s = asn_capture_step(ASN_STEP_UPLOAD, 1);
    if (!s) return ASN_ERR_MEMORY;
    s->name = s->pole = "copy from host";
    s->nbytes = (int64_t)bytes;
    s->places[0] = asn_capture_place(a->buffer->data, true);
    s->upload.size = bytes;
    s->upload.bytes = asn_capture_copy(packed, bytes);
    return s->upload.bytes ? ASN_OK : ASN_ERR_MEMORY;
}

/* ---- beginning and end */

/* The hooks go, the lock too, and with them the capture's claim on the thread. */
static void close_up(void) {
    asn_capture_operators_end();
    asn_acl_interpose(ASN_LAYER_CAPTURE, NULL);
    asn_sync_set_tap(NULL);
    asn_watch_set_tap(NULL);
    asn_capturing = false;
    asn_stream_hold(false);
    asn_captured = NULL;
    asn_unlock();
}

asn_status asn_capture_begin(int num_args, const asn_array *const *args,
                             asn_array *views) {
    if (asn_capture_open())
        return asn_error_set(ASN_ERR_RUNTIME, "a capture is open already; it takes in "
                                              "what is called meanwhile");
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status = asn_trace_flush();
    asn_replay *r = status ? NULL : asn_calloc(1, sizeof *r);
    if (!r) {
        asn_unlock();
        return status ? status : ASN_ERR_MEMORY;
    }
    memset(&state, 0, sizeof state);
    asn_capture_memory_begin();
    r->generation = asn_device_generation;
    r->device = asn_pool_device;
    r->num_args = num_args;
    asn_captured = r;
    asn_acl_interpose(ASN_LAYER_CAPTURE, asn_capture_install);
    /* a stream that is never idle: nothing is computed beside it */
    asn_capturing = true;
    asn_stream_hold(true);
    asn_sync_set_tap(asn_capture_forbid);
    status = asn_capture_add_args(num_args, args, views);
    asn_watch_set_tap(&asn_capture_tap);
    if (status) asn_capture_abort();
    return status;
}

void asn_capture_abort(void) {
    asn_replay *r = asn_captured;
    if (!asn_capture_open()) return;
    /* What was recorded before the failure runs, as it does without a capture. */
    if (asn_trace_flush()) asn_error_clear();
    close_up();
    asn_replay_free(r);
}

/* What the end does while the capture is open: the last launches, the results, the lives
 * of temporaries that outlast the steps, their places in the block. */
static asn_status finish(asn_replay *r, int num_results,
                         const asn_array *const *results) {
    ASN_TRY(asn_trace_flush());
    r->results = asn_calloc((size_t)num_results + 1, sizeof *r->results);
    if (!r->results) return ASN_ERR_MEMORY;
    for (int i = 0; i < num_results; i++)
        ASN_TRY(asn_capture_add_result(&r->results[i], results[i]));
    for (int i = 0; i < r->num_slots; i++) {
        asn_slot *s = &r->slots[i];
        if (s->live && s->kind == ASN_SLOT_TEMPORARY) s->last = r->num_steps - 1;
    }
    r->bases = asn_calloc((size_t)r->num_slots + 1, sizeof *r->bases);
    if (!r->bases) return ASN_ERR_MEMORY;
    asn_replay_lay_out(r);
    return ASN_OK;
}

asn_status asn_capture_end(int num_results, const asn_array *const *results,
                           asn_replay **out) {
    asn_replay *r = asn_captured;
    if (!asn_capture_open())
        return asn_error_set(ASN_ERR_RUNTIME, "no capture is open on this thread");
    asn_status status = finish(r, num_results, results);
    if (state.status) status = asn_error_set(state.status, "%s", state.message);
    close_up();
    bool none = status || asn_capture_happens_once(); /* refused, or of no use */
    *out = none ? NULL : r;
    if (none) asn_replay_free(r);
    return status;
}

/* (Contract in replay.h.) What belongs to a device that was closed since has gone with
 * it. */
void asn_replay_free(asn_replay *r) {
    if (!r) return;
    for (int i = 0; i < r->num_steps; i++)
        if (r->generation == asn_device_generation) asn_replay_release_step(&r->steps[i]);
    asn_capture_drop_kept(r);
    asn_replay_let_go(r);
    for (int i = 0; i < r->num_slots; i++)
        if (r->slots[i].kind == ASN_SLOT_CONSTANT) asn_buffer_release(r->slots[i].buffer);
    for (int i = 0; i < r->num_results; i++)
        asn_layout_fini(&r->results[i].like);
    while (r->chunks) {
        struct asn_capture_chunk *next = r->chunks->next;
        asn_free(r->chunks);
        r->chunks = next;
    }
    asn_free(r->slots);
    asn_free(r->steps);
    asn_free(r->kept);
    asn_free(r->results);
    asn_free(r->bases);
    asn_free(r);
}
