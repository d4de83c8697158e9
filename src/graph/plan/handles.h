/* L2 graph: a planned program's handles on the device (aclnnxPrepare).
 *
 * A program that is launched again is not described again: it has a handle for each way
 * it is launched, whole, in regions (launch.c) or by bands of rows (bands.c), and a
 * launch takes addresses alone. The first launch of a way is by its description: most
 * programs are launched once.
 */
#ifndef ASN_GRAPH_PLAN_HANDLES_H
#define ASN_GRAPH_PLAN_HANDLES_H

#include "aclnn/aclnnx.h"
#include "base/status.h"

/* Which box of a program's space a launch takes, and what it says of the operands. */
typedef struct {
    int64_t rows;   /* of a band; -1: all */
    uint32_t parts; /* operands that are ACLNNX_PART */
    int32_t region; /* in order */
} asn_way;

typedef struct {
    int num;
    uint32_t generation;        /* of the device's opening */
    struct asn_handle_of *ways; /* owns */
} asn_handles;

/* The handle for a way, or NULL: it is to be launched by its description. `program` makes
 * that, and is only called when there is to be a handle and is none. */
aclnnxPrepared *asn_handles_get(asn_handles *h, const asn_way *way,
                                const aclnnxProgram *(*program)(void *context),
                                void *context);
void asn_handles_fini(asn_handles *h);

#endif
