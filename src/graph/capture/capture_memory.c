/* L2 graph: the memory of an open capture (see replay.h): the slots that addresses lie
 * in.
 *
 * A slot is a block of memory, not an array: an argument's buffer, a buffer from before
 * (a constant: its values are read again at each replay, since it is memory, and writes
 * to it are done again), or one whose storage was taken meanwhile (a temporary). The
 * memory manager tells of storage taken and given back (runtime/memory/watch.h), so that
 * at any moment an address lies in at most one live temporary, and its life in steps is
 * known.
 *
 * The difficult case is memory that has two names: an argument that the function also
 * reaches as an array from outside. Nothing may stay recorded then, as the order of reads
 * and writes could not be told, and a replay would follow only one of the names. */
#include "graph/capture/capture_steps.h"

#include "graph/trace/trace.h"
#include "runtime/memory/watch.h"

/* Memory known under two names, in the open capture. */
static struct {
    bool overlap; /* there is some: nothing stays recorded */
    bool once;    /* and one name is an argument's: there is nothing to replay */
} names;

void asn_capture_memory_begin(void) {
    names.overlap = names.once = false;
}

bool asn_capture_happens_once(void) {
    return names.once;
}

/* ---- slots */

/* A live slot whose life begins with the next step; NULL with the capture failed.
 * Pointers to other slots may go stale. */
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

/* (Contract in capture_steps.h.) Newest first: of memory that was used again the last
 * life. */
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

/* By the storage's address; a buffer of another begin counts as varying. */
bool asn_capture_varies(const asn_buffer *b) {
    const asn_slot *s = slot_at(b->data);
    return !s || s->varies;
}

asn_status asn_capture_look(const asn_array *a, const char *why) {
    ASN_TRY(asn_trace_flush());
    ASN_TRY(asn_buffer_ensure(a->buffer));
    return asn_capture_varies(a->buffer) ? asn_capture_refuse(why) : ASN_OK;
}

/* Its life is the one step that is made next. */
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

/* Storage was taken for a buffer, or passed on to it. */
static void memory_taken(const asn_buffer *b) {
    if (!asn_capture_open() || !b->data) return;
    asn_slot *s = slot_at(b->data);
    if (s) { /* passed on from another buffer (reuse.c) */
        if (s->nbytes < b->nbytes) s->nbytes = b->nbytes;
        return;
    }
    (void)new_slot(ASN_SLOT_TEMPORARY, b->data, extent_of(b));
}

/* A buffer with storage ended: its life ends with the last step. */
static void memory_ended(const asn_buffer *b) {
    if (!asn_capture_open() || !b->data) return;
    asn_slot *s = slot_at(b->data);
    if (!s || s->kind != ASN_SLOT_TEMPORARY) return;
    s->live = false;
    s->last = asn_captured->num_steps - 1;
}

/* ---- one memory under two names */

/* The release of a double's memory: the argument's buffer, which it kept. */
static void let_go(void *buffer) {
    asn_buffer_release(buffer);
}

/* The program works on an argument through a buffer of its own over the same memory, so
 * that what comes from outside (an array that the function closes over) is told apart. */
static asn_status make_double(asn_buffer **out, asn_buffer *b) {
    ASN_TRY(asn_buffer_adopt(out, b->data, b->nbytes, let_go, b));
    (void)asn_buffer_retain(b); /* which let_go gives back */
    (*out)->shared = (*out)->lasting = false;
    (*out)->device = b->device;
    (*out)->of = b;
    return ASN_OK;
}

static bool is_double(const asn_buffer *b) {
    return b->of != NULL;
}

/* Whether the slot and the buffer share a byte. */
static bool same_bytes(const asn_slot *s, const asn_buffer *b) {
    const char *at = b->data;
    return s->base < at + extent_of(b) && at < s->base + s->nbytes;
}

/* Whether a buffer from outside lies over an argument, or over host memory that another
 * one shows: nothing may be put off then, and what is recorded so far runs. */
static void look_for_overlaps(const asn_buffer *b) {
    bool before = names.overlap;
    for (int i = 0; i < asn_captured->num_slots; i++) {
        const asn_slot *s = &asn_captured->slots[i];
        bool over = s->kind < ASN_SLOT_TEMPORARY && same_bytes(s, b);
        names.overlap |= over;
        names.once |= over && s->kind == ASN_SLOT_ARG;
    }
    if (names.overlap && !before && asn_trace_flush()) asn_capture_fail(ASN_ERR_RUNTIME);
}

static bool is_constant(const asn_buffer *b) {
    for (int i = 0; i < asn_captured->num_slots; i++)
        if (asn_captured->slots[i].kind == ASN_SLOT_CONSTANT &&
            asn_captured->slots[i].buffer == b)
            return true;
    return false;
}

/* Something uses a buffer that is no temporary: memory from before, held as a constant.
 */
static void memory_touched(asn_buffer *b) {
    if (!asn_capture_open() || is_double(b) || is_constant(b)) return;
    const asn_slot *known = slot_at(b->data);
    if (known && known->kind >= ASN_SLOT_TEMPORARY) return;
    look_for_overlaps(b);
    asn_slot *s = new_slot(ASN_SLOT_CONSTANT, b->data, extent_of(b));
    if (s) s->buffer = asn_buffer_retain(b);
}

const asn_watch_tap asn_capture_tap = {memory_taken, memory_ended, memory_touched};

bool asn_capture_may_record(asn_buffer *b) {
    if (b->data) memory_touched(b);
    return !names.overlap;
}

/* ---- arguments and results */

/* Arguments that share bytes are of one group: each is given the number of the first.
 * (Sharing is not transitive by itself: groups are merged.) */
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
        names.overlap |= args[i]->buffer != args[first]->buffer;
    }
    asn_slot *s = new_slot(ASN_SLOT_ARG, from, to > from ? to - from : 1);
    if (!s) return ASN_ERR_MEMORY;
    s->buffer = args[first]->buffer;
    s->arg = first;
    s->origin = (char *)s->buffer->data + args[first]->layout.offset - from;
    return ASN_OK;
}

/* The array that the program uses in argument i's place; those over one buffer share a
 * double. */
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

asn_status asn_capture_add_args(int n, const asn_array *const *args, asn_array *views) {
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

/* (Contract in replay.h: the end's results.) A temporary that a result shows becomes the
 * replay's to make anew. */
asn_status asn_capture_add_result(asn_replay_result *out, const asn_array *a) {
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

/* (Contract in replay.h.) Live temporaries that none of the held arrays lies in, and
 * references to the doubles beside those of the held arrays. */
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
