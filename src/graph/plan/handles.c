/* L2 graph: a planned program's handles (see handles.h).
 *
 * A program has few ways to be launched, so they stand in a list that is searched from
 * its begin; past MOST_WAYS (bands of many heights, say) launches are by description. A
 * handle belongs to the device's opening (generation) it was made in. */
#include "graph/plan/handles.h"

#include "base/alloc.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"

enum { MOST_WAYS = 32 };

/* One way, and its handle. */
typedef struct asn_handle_of {
    asn_way way;
    aclnnxPrepared *prepared; /* NULL: launched once */
} handle_of;

static bool same_way(const asn_way *a, const asn_way *b) {
    return a->rows == b->rows && a->parts == b->parts && a->region == b->region;
}

/* Handles of a device that was closed went with it. */
void asn_handles_fini(asn_handles *h) {
    for (int i = 0; i < h->num && h->generation == asn_device_generation; i++)
        asn_acl.aclnnxRelease(h->ways[i].prepared);
    asn_free(h->ways);
    *h = (asn_handles){0};
}

/* Remembers that a way was launched; without memory the next launch is the first again.
 */
static void add(asn_handles *h, const asn_way *way) {
    if (h->num == MOST_WAYS) return;
    handle_of *ways = asn_realloc(h->ways, (size_t)(h->num + 1) * sizeof *ways);
    if (!ways) {
        asn_error_clear();
        return;
    }
    h->ways = ways;
    h->ways[h->num++] = (handle_of){.way = *way};
}

aclnnxPrepared *asn_handles_get(asn_handles *h, const asn_way *way,
                                const aclnnxProgram *(*program)(void *context),
                                void *context) {
    if (!asn_acl.aclnnxFused) return NULL;
    if (h->generation != asn_device_generation) {
        asn_handles_fini(h);
        h->generation = asn_device_generation;
    }
    int i = 0;
    while (i < h->num && !same_way(&h->ways[i].way, way))
        i++;
    if (i == h->num) {
        add(h, way);
        return NULL;
    }
    aclnnxPrepared **prepared = &h->ways[i].prepared;
    /* What is wrong with it, or no memory: describing it fails the same way again. */
    if (!*prepared && asn_acl.aclnnxPrepare(program(context), prepared)) *prepared = NULL;
    return *prepared;
}
