/* L2 graph: what CANN documents of its operators, and where an operation of the table
 * runs on an NPU by that. The data are those of the seam (tools/cann/operators.json);
 * what a device really takes shows when it is asked (fallback.h).
 */
#ifndef ASN_GRAPH_DEVICE_CANN_H
#define ASN_GRAPH_DEVICE_CANN_H

#include "ops/ops.h"

typedef struct {
    const char *name;      /* without "aclnn" */
    uint32_t takes, gives; /* dtypes of the first tensor and of the result, bit by
                              asn_dtype; 0: none documented, any may do */
} asn_cann_operator;

extern const asn_cann_operator asn_cann_operators[];
extern const int asn_cann_num_operators;

typedef enum {
    ASN_PLACE_DEVICE, /* by the row's operator, or by its parts' */
    ASN_PLACE_WIDER,  /* by them, in a wider dtype */
    ASN_PLACE_CPU     /* by the fallback policy */
} asn_computed_by;
/* For the loop dtype. */
asn_computed_by asn_cann_place(asn_op op, asn_dtype loop);
/* For an operator of this name on tensors of the dtype. */
asn_computed_by asn_cann_place_of(const char *name, asn_dtype dtype);

/* A dtype in which an operation's result, cast back, is the same (integers wrap alike,
 * halves are rounded once more) and that CANN knows for nearly everything; false: none.
 */
bool asn_cann_wider(asn_dtype dtype, asn_dtype *wider);

#endif
