/* L2 runtime: small blocks from slabs (see slab.h). Only one slab is being cut, the one
 * added last; slabs are sorted by address, so that a block's is found by halving.
 */
#include "runtime/memory/slab.h"

#include <string.h>

#include "base/alloc.h"

_Static_assert((4 + (ASN_SLAB_CLASSES - 1) % 4)
                       << ((ASN_SLAB_CLASSES - 1) / 4 + ASN_SIZE_SHIFT - 2) ==
                   ASN_SLAB_LARGEST,
               "the last class is the largest block");

/* The slab an address lies in. */
static asn_slab *slab_of(const asn_slabs *s, const char *address) {
    int low = 0, high = s->num;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (s->slabs[middle].memory <= address)
            low = middle;
        else
            high = middle;
    }
    return &s->slabs[low];
}

void *asn_slabs_take(asn_slabs *s, int c, bool *reused) {
    *reused = s->bins[c].count > 0;
    if (*reused) return s->bins[c].blocks[--s->bins[c].count];
    int64_t bytes = asn_class_bytes(c);
    if (s->end - s->at < bytes) return NULL;
    char *block = s->at;
    s->at += bytes;
    slab_of(s, s->cutting)->cut++;
    return block;
}

asn_status asn_slabs_add(asn_slabs *s, void *memory) {
    if (s->num == s->capacity) {
        int capacity = s->capacity ? 2 * s->capacity : 16;
        asn_slab *grown = asn_realloc(s->slabs, (size_t)capacity * sizeof *grown);
        if (!grown) return ASN_ERR_MEMORY;
        s->slabs = grown;
        s->capacity = capacity;
    }
    int at = s->num++;
    for (; at > 0 && s->slabs[at - 1].memory > (char *)memory; at--)
        s->slabs[at] = s->slabs[at - 1];
    s->slabs[at] = (asn_slab){memory, 0, 0};
    s->at = s->cutting = memory;
    s->end = s->at + ASN_SLAB_BYTES;
    return ASN_OK;
}

void asn_slabs_give(asn_slabs *s, int c, void *block) {
    if (s->bins[c].count == s->bins[c].capacity) {
        int capacity = s->bins[c].capacity ? 2 * s->bins[c].capacity : 16;
        void **grown = asn_realloc(s->bins[c].blocks, (size_t)capacity * sizeof(void *));
        if (!grown) {
            asn_error_clear();
            return;
        }
        s->bins[c].blocks = grown;
        s->bins[c].capacity = capacity;
    }
    s->bins[c].blocks[s->bins[c].count++] = block;
}

/* Drops the listed blocks of slabs that are wholly idle. */
static void forget_blocks(asn_slabs *s) {
    for (int c = 0; c < ASN_SLAB_CLASSES; c++) {
        int kept = 0;
        for (int i = 0; i < s->bins[c].count; i++) {
            const asn_slab *slab = slab_of(s, s->bins[c].blocks[i]);
            if (slab->idle < slab->cut) s->bins[c].blocks[kept++] = s->bins[c].blocks[i];
        }
        s->bins[c].count = kept;
    }
}

void asn_slabs_release(asn_slabs *s, void (*release)(void *, void *), void *context) {
    for (int i = 0; i < s->num; i++)
        s->slabs[i].idle = 0;
    for (int c = 0; c < ASN_SLAB_CLASSES; c++)
        for (int i = 0; i < s->bins[c].count; i++)
            slab_of(s, s->bins[c].blocks[i])->idle++;
    forget_blocks(s);
    int kept = 0;
    for (int i = 0; i < s->num; i++) {
        if (s->slabs[i].idle < s->slabs[i].cut) {
            s->slabs[kept++] = s->slabs[i];
            continue;
        }
        if (s->slabs[i].memory == s->cutting) s->at = s->end = s->cutting = NULL;
        release(context, s->slabs[i].memory);
    }
    s->num = kept;
}

void asn_slabs_fini(asn_slabs *s, void (*release)(void *, void *), void *context) {
    for (int i = 0; i < s->num; i++)
        release(context, s->slabs[i].memory);
    for (int c = 0; c < ASN_SLAB_CLASSES; c++)
        asn_free(s->bins[c].blocks);
    asn_free(s->slabs);
    memset(s, 0, sizeof *s);
}
