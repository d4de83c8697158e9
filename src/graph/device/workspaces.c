/* L2 graph: the workspaces that operators asked for (see workspaces.h).
 *
 * The key of an entry is its text, which a call of an operator writes anew: a microsecond
 * beside what the two phases of an NPU's operator take. Entries lie in the order of their
 * first calls and in an open hash table of their numbers, which is half full at most.
 */
#include "graph/device/workspaces.h"

#include <string.h>

#include "base/alloc.h"
#include "base/text.h"

bool asn_workspaces_on;

typedef struct {
    asn_workspace w; /* owns `operands` and `name`, one text: the name comes first */
    uint64_t hash;
} entry;

static struct {
    entry *all;
    int32_t *slots; /* 2 * capacity of them: an entry's number + 1, 0: free */
    int64_t count, capacity;
} table;

/* FNV-1a, 64 bits. */
static uint64_t hash_of(const char *text, size_t n) {
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < n; i++)
        hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
    return hash;
}

/* The slot of a key: its own, or the free one where it goes. */
static int32_t *slot_of(uint64_t hash, const char *name, const char *operands) {
    uint64_t mask = 2 * (uint64_t)table.capacity - 1;
    for (uint64_t i = hash;; i++) {
        int32_t *slot = &table.slots[i & mask];
        const entry *e = *slot ? &table.all[*slot - 1] : NULL;
        if (!e || (e->hash == hash && !strcmp(e->w.name, name) &&
                   !strcmp(e->w.operands, operands)))
            return slot;
    }
}

/* Room for one more; false: memory ran out. */
static bool make_room(void) {
    if (table.count < table.capacity) return true;
    int64_t capacity = table.capacity ? 2 * table.capacity : 64;
    entry *all = asn_malloc((size_t)capacity * sizeof *all);
    int32_t *slots = asn_calloc(2 * (size_t)capacity, sizeof *slots);
    if (!all || !slots) {
        asn_free(all);
        asn_free(slots);
        return false;
    }
    if (table.count) memcpy(all, table.all, (size_t)table.count * sizeof *all);
    asn_free(table.all);
    asn_free(table.slots);
    table.all = all;
    table.slots = slots;
    table.capacity = capacity;
    for (int64_t i = 0; i < table.count; i++)
        *slot_of(all[i].hash, all[i].w.name, all[i].w.operands) = (int32_t)i + 1;
    return true;
}

/* "dtype(extents)" of each operand; an arrow before the first that is written. */
static void put_operands(asn_text *t, int n, const asn_layout *const *operands,
                         uint64_t written) {
    bool arrow = false;
    for (int i = 0; i < n; i++) {
        const asn_layout *l = operands[i];
        char shape[512];
        bool out = written >> i & 1;
        asn_text_put(t, "%s%s%s", i ? " " : "", out && !arrow ? "-> " : "",
                     asn_dtype_name(asn_layout_dtype(l)));
        asn_text_put(t, "%s", asn_shape_format(shape, sizeof shape, l->ndim, l->shape));
        arrow |= out;
    }
}

/* (Contract in workspaces.h.) */
void asn_workspaces_note(const char *name, uint64_t bytes, int n,
                         const asn_layout *const *operands, uint64_t written) {
    asn_text t = {.status = ASN_OK};
    asn_text_append(&t, name, strlen(name) + 1);
    size_t head = t.used;
    put_operands(&t, n, operands, written);
    asn_text_append(&t, "", 1);
    if (t.status || !make_room()) {
        asn_free(t.text);
        return;
    }
    uint64_t hash = hash_of(t.text, t.used - 1);
    int32_t *slot = slot_of(hash, t.text, t.text + head);
    if (*slot) {
        asn_workspace *w = &table.all[*slot - 1].w;
        w->bytes = bytes > w->bytes ? bytes : w->bytes;
        w->calls++;
        asn_free(t.text);
        return;
    }
    table.all[table.count] = (entry){{t.text, t.text + head, bytes, 1}, hash};
    *slot = (int32_t)++table.count;
}

/* (Contract in workspaces.h.) */
bool asn_workspaces_get(int64_t i, asn_workspace *out) {
    if (i < 0 || i >= table.count) return false;
    *out = table.all[i].w;
    return true;
}
