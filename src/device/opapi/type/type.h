/* CPU device, operators by type: CANN's older way to call one, by the name of its type
 * ("Identity") with descriptions of its tensors and named attributes.
 *
 * A type is a row of types.def: the two-phase operator that computes it, and where each
 * of that operator's parameters comes from. The table is written by tools/gen_opapi.py,
 * sorted by name.
 */
#ifndef ASN_DEVICE_OPAPI_TYPE_TYPE_H
#define ASN_DEVICE_OPAPI_TYPE_TYPE_H

#include "device/opapi/core/call.h"

/* Where a parameter's value comes from. */
enum {
    ASN_FROM_INPUT,  /* tensor `index`; a list: that one and those behind it */
    ASN_FROM_OUTPUT, /* likewise */
    ASN_FROM_VALUES, /* the numbers in input `index`, which lies in the host's memory */
    ASN_FROM_PAIRS,  /* likewise, pairs of them from the last to the first */
    ASN_FROM_DTYPE,  /* the dtype of output `index` */
    ASN_FROM_SHAPE,  /* the extents of input `index` */
    ASN_FROM_ATTR, /* the attribute `name`, a list's numbers from `index` on; without it,
                      `value` where there is one */
    ASN_FROM_NUMBER, /* `value`, `index` times */
    ASN_FROM_UNIT,   /* `index` numbers, 1 at `value` and else 0 */
    ASN_FROM_NOTHING /* NULL, 0 */
};

typedef struct {
    uint8_t from;
    uint8_t index;
    bool has_value;
    const char *name; /* of an attribute; of a tensor: of one that exchanges its last two
                         dimensions, or, with has_value, says where one is inserted */
    double value;
} asnd_type_source;

typedef struct {
    const char *name;
    const asnd_opdesc *op;
    const asnd_type_source *sources; /* one for each parameter of op */
} asnd_type;

extern const asnd_type asn_types[];
extern const int asn_types_count;

#endif
