/* CPU device, operators: an operator inside another one's plan.
 *
 * An operator that is documented as another one with something before or behind it plans
 * that one by its own planner, on the executor's operands and on temporaries, and runs it
 * when its body wants to:
 *
 *     at = asn_inner_room(c, 1);                              < 0: no memory
 *     asn_inner_operand(c, at, ASN_F32, 2, shape);
 *     asn_inner_plan(c, &product, args, operands, &p->product);
 *     ...
 *     e->operands[p->at].nd.data = buffer;                    in the body
 *     asn_inner_run(e, &p->product);
 *
 * Temporaries are operands behind those that programs know: no address is exchanged
 * there, and they have memory only while the body runs. */
#ifndef ASN_DEVICE_OPAPI_CORE_INNER_H
#define ASN_DEVICE_OPAPI_CORE_INNER_H

#include "device/opapi/core/plan.h"

typedef struct {
    asn_status (*body)(aclOpExecutor *e); /* NULL: nothing to compute */
    void *plan;
    double work_ns;
} asnd_inner;

/* Room for `count` operands more, once for a call: the index of the first; -1 with the
 * error set. Pointers to operands that were taken before are void. */
int asn_inner_room(asnd_call *c, int count);
/* Makes one of them a contiguous tensor without memory. */
ASN_CHECK_RESULT asn_status asn_inner_operand(asnd_call *c, int at, asn_dtype dtype,
                                              int ndim, const int64_t *shape);
/* Plans `op` (whose name is that of the outer operator in messages). operands: of each
 * of its parameters, -1: absent, or no tensor. */
ASN_CHECK_RESULT asn_status asn_inner_plan(asnd_call *c, const asnd_opdesc *op,
                                           const asnd_arg *args, const int *operands,
                                           asnd_inner *inner);
/* In the body of the outer operator. */
ASN_CHECK_RESULT asn_status asn_inner_run(aclOpExecutor *e, const asnd_inner *inner);

#endif
