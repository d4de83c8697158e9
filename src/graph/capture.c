/* L2 graph: an open capture (see replay.h): its beginning and end, the slots that
 * addresses lie in, what it refuses.
 *
 * A slot is a block of memory, not an array: an argument's buffer, a buffer from before
 * (a constant: its values are read again at each replay, since it is memory, and writes
 * to it are done again), or one whose storage was taken meanwhile (a temporary). The
 * memory manager tells of storage taken and given back (runtime/watch.h), so that at any
 * moment an address lies in at most one live temporary, and its life in steps is known.
 *
 * Nothing counts as settled while a capture is open (asn_stream_held): every shortcut by
 * which the host computes or reads elements then takes the long way, where a look at
 * values is a synchronisation (runtime/sync.h), which the capture refuses.
 */
#include "graph/capture_steps.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "graph/lock.h"
#include "graph/streams.h"
#include "graph/trace.h"
#include "runtime/device.h"
#include "runtime/pool.h"
#include "runtime/site.h"
#include "runtime/stream.h"
#include "runtime/sync.h"
#include "runtime/watch.h"

enum { CHUNK_BYTES = 16 << 10 };

struct asn_capture_chunk {
    struct asn_capture_chunk *next;
    _Alignas(16) char bytes[];
};

bool asn_capturing;
asn_replay *asn_captured;
asn_acl_api asn_capture_below;

static struct {
    asn_status status; /* the first failure, which the end reports */
    char message[1024];
    size_t used, room; /* of the newest chunk */
    bool overlaps;     /* memory is known under two names: nothing stays recorded */
    bool once;         /* and one is an argument's: there is nothing to replay */
} state;

bool asn_capture_open(void) {
    return asn_capturing && asn_lock_state.owner == asn_lock_self();
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

static asn_status refuse_sync(const char *why) {
    return asn_capture_open() ? asn_capture_refuse(why) : ASN_OK;
}

/* ---- memory of the replay */

void *asn_capture_alloc(size_t bytes) {
    asn_replay *r = asn_captured;
    bytes = (bytes + 15) & ~(size_t)15;
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

void asn_capture_names(const char *pole, const char *name) {
    asn_replay *r = asn_captured;
    if (!r->num_steps) return;
    r->steps[r->num_steps - 1].pole = pole;
    r->steps[r->num_steps - 1].name = name;
}

void asn_capture_name(const char *name) {
    asn_replay *r = asn_captured;
    /* A solver has its name: of its conditions only those of det are told. */
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

/* ---- slots */

static asn_slot *new_slot(asn_slot_kind kind, char *base, int64_t nbytes) {
    asn_replay *r = asn_captured;
    void *slots = r->slots;
    if (!asn_capture_grow(&slots, r->num_slots, &r->slots_room, sizeof *r->slots))
        return NULL;
    r->slots = slots;
    asn_slot *s = &r->slots[r->num_slots++];
    *s = (asn_slot){.kind = kind,
                    .live = true,
                    .varies = kind != ASN_SLOT_TEMPORARY,
                    .arg = -1,
                    .base = base,
                    .nbytes = nbytes,
                    .first = r->num_steps,
                    .last = -1};
    return s;
}

/* The live slot that begins at the address, newest first. */
static asn_slot *slot_at(const char *base) {
    for (int i = asn_captured->num_slots - 1; i >= 0; i--) {
        asn_slot *s = &asn_captured->slots[i];
        if (s->live && s->base == base) return s;
    }
    return NULL;
}

asn_place asn_capture_place(const void *address, bool written) {
    const char *at = address;
    asn_place place = {-1, written, 0};
    if (!at) return place;
    for (int i = asn_captured->num_slots - 1; i >= 0; i--) {
        asn_slot *s = &asn_captured->slots[i];
        if (!s->live || at < s->base || at >= s->base + s->nbytes) continue;
        s->written |= written;
        return (asn_place){i, written, at - s->base};
    }
    (void)asn_capture_refuse("an operation uses memory that is no array's");
    return place;
}

void asn_capture_spread(const asn_replay_step *s) {
    bool varies = false;
    for (int i = 0; i < s->num_places; i++)
        if (s->places[i].slot >= 0)
            varies |= asn_captured->slots[s->places[i].slot].varies;
    for (int i = 0; varies && i < s->num_places; i++)
        if (s->places[i].slot >= 0 && s->places[i].written)
            asn_captured->slots[s->places[i].slot].varies = true;
}

bool asn_capture_varies(const asn_buffer *b) {
    const asn_slot *s = slot_at(b->data);
    return !s || s->varies;
}

asn_status asn_capture_look(const asn_array *a, const char *why) {
    ASN_TRY(asn_trace_flush());
    ASN_TRY(asn_buffer_ensure(a->buffer));
    return asn_capture_varies(a->buffer) ? asn_capture_refuse(why) : ASN_OK;
}

int asn_capture_workspace(int64_t nbytes) {
    asn_slot *s = nbytes ? new_slot(ASN_SLOT_TEMPORARY, NULL, nbytes) : NULL;
    if (!s) return -1;
    s->live = false;
    s->last = s->first;
    return asn_captured->num_slots - 1;
}

/* ---- told by the memory manager: of the capturing thread's buffers */

static int64_t extent_of(const asn_buffer *b) {
    return b->nbytes > 0 ? b->nbytes : 1;
}

static void memory_taken(const asn_buffer *b) {
    if (!asn_capture_open() || !b->data) return;
    asn_slot *s = slot_at(b->data);
    if (s) { /* passed on from another buffer (reuse.c) */
        if (s->nbytes < b->nbytes) s->nbytes = b->nbytes;
        return;
    }
    (void)new_slot(ASN_SLOT_TEMPORARY, b->data, extent_of(b));
}

static void memory_ended(const asn_buffer *b) {
    if (!asn_capture_open() || !b->data) return;
    asn_slot *s = slot_at(b->data);
    if (!s || s->kind != ASN_SLOT_TEMPORARY) return;
    s->live = false;
    s->last = asn_captured->num_steps - 1;
}

/* ---- one memory under two names */

static void let_go(void *buffer) {
    asn_buffer_release(buffer);
}

/* The program works on an argument through a buffer of its own over the same memory, so
 * that what comes from outside (an array that the function closes over) is told apart. */
static asn_status make_double(asn_buffer **out, asn_buffer *b) {
    ASN_TRY(asn_buffer_adopt(out, b->data, b->nbytes, let_go, b));
    (void)asn_buffer_retain(b); /* which let_go gives back */
    (*out)->shared = false;
    (*out)->device = b->device;
    return ASN_OK;
}

static bool is_double(const asn_buffer *b) {
    return b->release == let_go;
}

static bool same_bytes(const asn_slot *s, const asn_buffer *b) {
    const char *at = b->data;
    return s->base < at + extent_of(b) && at < s->base + s->nbytes;
}

/* Whether a buffer from outside lies over an argument, or over host memory that another
 * one shows: nothing may be put off then. */
static void look_for_overlaps(const asn_buffer *b) {
    bool before = state.overlaps;
    for (int i = 0; i < asn_captured->num_slots; i++) {
        const asn_slot *s = &asn_captured->slots[i];
        bool over = s->kind < ASN_SLOT_TEMPORARY && same_bytes(s, b);
        state.overlaps |= over;
        state.once |= over && s->kind == ASN_SLOT_ARG;
    }
    if (state.overlaps && !before && asn_trace_flush()) asn_capture_fail(ASN_ERR_RUNTIME);
}

static bool is_constant(const asn_buffer *b) {
    for (int i = 0; i < asn_captured->num_slots; i++)
        if (asn_captured->slots[i].kind == ASN_SLOT_CONSTANT &&
            asn_captured->slots[i].buffer == b)
            return true;
    return false;
}

/* Memory from before: held as a constant. */
static void memory_touched(asn_buffer *b) {
    if (!asn_capture_open() || is_double(b) || is_constant(b)) return;
    const asn_slot *known = slot_at(b->data);
    if (known && known->kind >= ASN_SLOT_TEMPORARY) return;
    look_for_overlaps(b);
    asn_slot *s = new_slot(ASN_SLOT_CONSTANT, b->data, extent_of(b));
    if (s) s->buffer = asn_buffer_retain(b);
}

static const asn_watch_tap tap = {memory_taken, memory_ended, memory_touched};

bool asn_capture_may_record(asn_buffer *b) {
    if (b->data) memory_touched(b);
    return !state.overlaps;
}

/* ---- memory filled from the host */

asn_status asn_capture_upload(const asn_array *a, const void *packed, size_t bytes) {
    ASN_TRY(asn_streams_wait_active()); /* the block may have been another array's */
    int code = asn_capture_below.aclrtMemcpy(a->buffer->data, bytes, packed, bytes,
                                             ACL_MEMCPY_HOST_TO_DEVICE);
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

/* Arguments that share bytes are of one group: each is given the number of the first. */
static void find_groups(int n, const asn_array *const *args, int *group) {
    for (int i = 0; i < n; i++) {
        group[i] = i;
        for (int j = 0; j < i; j++) {
            int mine = group[i], other = group[j];
            if (mine == other || !asn_buffers_alias(args[i]->buffer, args[j]->buffer) ||
                !asn_array_may_share(args[i], args[j]))
                continue;
            int first = mine < other ? mine : other, last = mine < other ? other : mine;
            for (int k = 0; k <= i; k++)
                if (group[k] == last) group[k] = first;
        }
    }
}

/* The slot of a group: the bytes of all its arrays. */
static asn_status add_group(int first, int n, const asn_array *const *args,
                            const int *group) {
    char *from = NULL, *to = NULL;
    for (int i = first; i < n; i++) {
        int64_t low, high;
        if (group[i] != first) continue;
        asn_layout_bounds(&args[i]->layout, &low, &high);
        char *data = args[i]->buffer->data;
        from = !from || data + low < from ? data + low : from;
        to = !to || data + high > to ? data + high : to;
        state.overlaps |= args[i]->buffer != args[first]->buffer;
    }
    asn_slot *s = new_slot(ASN_SLOT_ARG, from, to > from ? to - from : 1);
    if (!s) return ASN_ERR_MEMORY;
    s->buffer = args[first]->buffer;
    s->arg = first;
    s->origin = (char *)s->buffer->data + args[first]->layout.offset - from;
    return ASN_OK;
}

static asn_status make_view(int i, const asn_array *const *args, const int *group,
                            asn_array *views) {
    ASN_TRY(asn_layout_copy(&views[i].layout, &args[i]->layout));
    for (int j = 0; j < i; j++)
        if (group[j] == group[i] && args[j]->buffer == args[i]->buffer) {
            views[i].buffer = asn_buffer_retain(views[j].buffer);
            return ASN_OK;
        }
    asn_status status = make_double(&views[i].buffer, args[i]->buffer);
    if (status) asn_layout_fini(&views[i].layout);
    return status;
}

static asn_status add_args(int n, const asn_array *const *args, asn_array *views) {
    int *group = asn_capture_alloc(((size_t)n + 1) * sizeof *group), made = 0;
    if (!group) return ASN_ERR_MEMORY;
    asn_status status = ASN_OK;
    for (int i = 0; i < n && !status; i++)
        status = asn_buffer_ensure(args[i]->buffer);
    if (!status) find_groups(n, args, group);
    for (int i = 0; i < n && !status; i++) {
        if (group[i] == i && args[i]->layout.size) status = add_group(i, n, args, group);
        if (!status) status = make_view(i, args, group, views);
        made += !status;
    }
    while (status && made > 0)
        asn_array_fini(&views[--made]);
    return status;
}

static void close_up(void) {
    asn_capture_operators_end();
    asn_acl = asn_capture_below;
    asn_sync_set_tap(NULL);
    asn_watch_set_tap(NULL);
    asn_capturing = asn_stream_held = false;
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
    r->generation = asn_device_generation;
    r->device = asn_pool_device;
    r->num_args = num_args;
    asn_captured = r;
    asn_capture_below = asn_acl;
    asn_capture_install(&asn_acl);
    asn_capturing = asn_stream_held = asn_stream_busy = true;
    asn_sync_set_tap(refuse_sync);
    status = add_args(num_args, args, views);
    asn_watch_set_tap(&tap);
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

static asn_status add_result(asn_replay_result *out, const asn_array *a) {
    ASN_TRY(asn_layout_copy(&out->like, &a->layout));
    asn_captured->num_results++;
    out->slot = -1;
    if (!a->layout.size) return ASN_OK;
    ASN_TRY(asn_buffer_ensure(a->buffer));
    memory_touched(a->buffer); /* an array from outside */
    asn_place at = asn_capture_place((char *)a->buffer->data + a->layout.offset, false);
    if (at.slot < 0) return ASN_ERR_RUNTIME;
    asn_slot *s = &asn_captured->slots[at.slot];
    if (s->kind == ASN_SLOT_TEMPORARY) {
        s->kind = ASN_SLOT_RESULT;
        if (s->nbytes < a->buffer->nbytes) s->nbytes = a->buffer->nbytes;
    }
    out->slot = at.slot;
    out->offset = at.offset;
    return ASN_OK;
}

asn_status asn_capture_alive(int num_held, const asn_array *const *held, int *out) {
    *out = 0;
    ASN_TRY(asn_trace_flush());
    for (int i = 0; i < asn_captured->num_slots; i++) {
        const asn_slot *s = &asn_captured->slots[i];
        bool known = !s->live || s->kind != ASN_SLOT_TEMPORARY;
        for (int k = 0; k < num_held && !known; k++)
            known = held[k]->buffer->data == s->base;
        *out += !known;
    }
    for (int i = 0; i < num_held; i++) { /* views of arguments by others */
        const asn_buffer *b = held[i]->buffer;
        int holders = 0, first = i;
        for (int k = num_held - 1; k >= 0; k--)
            if (held[k]->buffer == b) {
                holders++;
                first = k;
            }
        if (is_double(b) && first == i)
            *out += atomic_load_explicit(&b->refs, memory_order_acquire) - holders;
    }
    return ASN_OK;
}

static asn_status finish(asn_replay *r, int num_results,
                         const asn_array *const *results) {
    ASN_TRY(asn_trace_flush());
    r->results = asn_calloc((size_t)num_results + 1, sizeof *r->results);
    if (!r->results) return ASN_ERR_MEMORY;
    for (int i = 0; i < num_results; i++)
        ASN_TRY(add_result(&r->results[i], results[i]));
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
    bool none = status || state.once;
    *out = none ? NULL : r;
    if (none) asn_replay_free(r);
    return status;
}

void asn_replay_free(asn_replay *r) {
    if (!r) return;
    for (int i = 0; i < r->num_steps; i++)
        if (r->generation == asn_device_generation) asn_replay_release_step(&r->steps[i]);
    for (int i = r->num_kept - 1; i >= 0; i--) {
        void *handle = r->kept[i].handle;
        if (r->generation != asn_device_generation) break; /* gone with the device */
        switch (r->kept[i].kind) {
        case ASN_HANDLE_TENSOR: asn_acl.aclDestroyTensor(handle); break;
        case ASN_HANDLE_LIST: asn_acl.aclDestroyTensorList(handle); break;
        case ASN_HANDLE_SCALAR: asn_acl.aclDestroyScalar(handle); break;
        case ASN_HANDLE_INTS: asn_acl.aclDestroyIntArray(handle); break;
        }
    }
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
