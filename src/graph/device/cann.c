/* L2 graph: CANN's documented dtypes (see cann.h).
 *
 * The table is generated from CANN's documentation and sorted by name. It answers two
 * questions: what `asnumpy.doctor` and the tests report of an NPU, and whether a
 * composition can be expected to run there before its first step is tried. */
#include "graph/device/cann.h"

#include <stdlib.h>
#include <string.h>

#include "ops/parts.h"

/* As bsearch wants it. */
static int compare(const void *name, const void *row) {
    return strcmp(name, ((const asn_cann_operator *)row)->name);
}

/* NULL: CANN has no such operator. */
static const asn_cann_operator *find(const char *name) {
    return bsearch(name, asn_cann_operators, (size_t)asn_cann_num_operators,
                   sizeof *asn_cann_operators, compare);
}

bool asn_cann_wider(asn_dtype dtype, asn_dtype *wider) {
    switch (dtype) {
    case ASN_I8:
    case ASN_U8:
    case ASN_I16:
    case ASN_U16: *wider = ASN_I32; return true;
    case ASN_U32: *wider = ASN_I64; return true;
    case ASN_F16:
    case ASN_BF16: *wider = ASN_F32; return true;
    default: return false;
    }
}

/* No dtypes documented: any may do. */
static bool has(uint32_t mask, asn_dtype dtype) {
    return mask == 0 || mask >> dtype & 1;
}

/* By the operator's first tensor and its result, in the loop's dtypes or the wider ones.
 */
static asn_computed_by place(const char *name, asn_dtype takes, asn_dtype gives,
                             asn_dtype wide_takes, asn_dtype wide_gives) {
    const asn_cann_operator *o = find(name);
    if (!o) return ASN_PLACE_CPU;
    if (has(o->takes, takes) && has(o->gives, gives)) return ASN_PLACE_DEVICE;
    return has(o->takes, wide_takes) && has(o->gives, wide_gives) ? ASN_PLACE_WIDER
                                                                  : ASN_PLACE_CPU;
}

/* Where the row's steps run: where the farthest does. */
static asn_computed_by place_of_parts(asn_op op, asn_dtype loop) {
    asn_dtype loops[ASN_PARTS_MOST], results[ASN_PARTS_MOST];
    const asn_op_parts *parts = asn_op_parts_find(op, loop);
    if (!parts) return ASN_PLACE_CPU;
    asn_computed_by farthest = asn_is_half(loop) ? ASN_PLACE_WIDER : ASN_PLACE_DEVICE;
    asn_op_parts_types(parts, asn_is_half(loop) ? ASN_F32 : loop, loops, results);
    for (int s = 0; s < parts->num_steps; s++) {
        asn_computed_by at = asn_cann_place((asn_op)parts->steps[s].op, loops[s]);
        if (at > farthest) farthest = at;
    }
    return farthest;
}

asn_computed_by asn_cann_place(asn_op op, asn_dtype loop) {
    const char *name = asn_op_table[op].cann;
    asn_dtype wide = loop;
    if (op == ASN_OP_COPY) return asn_cann_place_of("InplaceCopy", loop);
    if (!name) return place_of_parts(op, loop);
    (void)asn_cann_wider(loop, &wide);
    asn_computed_by at = place(name, asn_op_operand(op, 0, loop), asn_op_result(op, loop),
                               asn_op_operand(op, 0, wide), asn_op_result(op, wide));
    return at == ASN_PLACE_CPU ? place_of_parts(op, loop) : at;
}

asn_computed_by asn_cann_place_of(const char *name, asn_dtype dtype) {
    const asn_cann_operator *o = find(name);
    return o && has(o->takes, dtype) ? ASN_PLACE_DEVICE : ASN_PLACE_CPU;
}
