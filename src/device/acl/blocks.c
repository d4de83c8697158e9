/* CPU device, runtime: allocations in the order of their addresses.
 *
 * memory.c's table answers for the first byte of an allocation; a tensor may begin
 * anywhere in one. The blocks stand sorted in leaves of up to ROOM, which an array of
 * leaves keeps in order: looking one up is two binary searches, a change moves less than
 * a leaf and, when one splits, the array of leaves. Callers hold memory.c's lock.
 */
#include "device/acl/internal.h"

#include <string.h>

enum { ROOM = 128 };

typedef struct {
    uintptr_t begin, end;
} block;

typedef struct {
    size_t count; /* 1 at least */
    block blocks[ROOM];
} leaf;

static struct {
    leaf **leaves;
    size_t count, capacity;
} ordered;

/* The last leaf that does not begin behind `address`; 0 when all do. */
static size_t leaf_of(uintptr_t address) {
    size_t low = 0, high = ordered.count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (ordered.leaves[middle]->blocks[0].begin <= address)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* How many blocks of the leaf begin at `address` or before. */
static size_t place_in(const leaf *l, uintptr_t address) {
    size_t low = 0, high = l->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (l->blocks[middle].begin <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* An empty leaf at place `at`; false when out of memory. */
static bool leaf_insert(size_t at) {
    if (ordered.count == ordered.capacity) {
        size_t capacity = ordered.capacity ? 2 * ordered.capacity : 16;
        leaf **more = asn_realloc(ordered.leaves, capacity * sizeof *more);
        if (more == NULL) return false;
        ordered.leaves = more;
        ordered.capacity = capacity;
    }
    leaf *fresh = asn_malloc(sizeof *fresh);
    if (fresh == NULL) return false;
    fresh->count = 0;
    memmove(ordered.leaves + at + 1, ordered.leaves + at,
            (ordered.count++ - at) * sizeof *ordered.leaves);
    ordered.leaves[at] = fresh;
    return true;
}

/* The upper half of a full leaf goes to a new one behind it; false when out of memory. */
static bool leaf_split(size_t at) {
    if (!leaf_insert(at + 1)) return false;
    leaf *full = ordered.leaves[at], *upper = ordered.leaves[at + 1];
    upper->count = ROOM / 2;
    full->count -= upper->count;
    memcpy(upper->blocks, full->blocks + full->count,
           upper->count * sizeof *upper->blocks);
    return true;
}

/* Blocks do not overlap: the order of beginnings is that of ends. */
bool rt_blocks_add(uintptr_t begin, size_t size) {
    if (ordered.count == 0 && !leaf_insert(0)) return false;
    size_t at = leaf_of(begin);
    if (ordered.leaves[at]->count == ROOM) {
        if (!leaf_split(at)) return false;
        at = leaf_of(begin);
    }
    leaf *l = ordered.leaves[at];
    size_t i = place_in(l, begin);
    memmove(l->blocks + i + 1, l->blocks + i, (l->count++ - i) * sizeof *l->blocks);
    l->blocks[i] = (block){begin, begin + size};
    return true;
}

/* An empty leaf goes, so that each has a first block to compare with. */
void rt_blocks_remove(uintptr_t begin) {
    size_t at = leaf_of(begin);
    leaf *l = ordered.leaves[at];
    size_t i = place_in(l, begin) - 1;
    memmove(l->blocks + i, l->blocks + i + 1, (--l->count - i) * sizeof *l->blocks);
    if (l->count > 0) return;
    asn_free(l);
    memmove(ordered.leaves + at, ordered.leaves + at + 1,
            (--ordered.count - at) * sizeof *ordered.leaves);
}

bool rt_blocks_find(uintptr_t address, uintptr_t *begin, uintptr_t *end) {
    *begin = 0;
    *end = UINTPTR_MAX;
    if (ordered.count == 0) return false;
    size_t at = leaf_of(address);
    const leaf *l = ordered.leaves[at];
    size_t i = place_in(l, address);
    if (i > 0 && address < l->blocks[i - 1].end) {
        *begin = l->blocks[i - 1].begin;
        *end = l->blocks[i - 1].end;
        return true;
    }
    /* Between two blocks: from the end of one to the beginning of the next, in this leaf
     * or the next. */
    if (i > 0) *begin = l->blocks[i - 1].end;
    if (i < l->count)
        *end = l->blocks[i].begin;
    else if (at + 1 < ordered.count)
        *end = ordered.leaves[at + 1]->blocks[0].begin;
    return false;
}
