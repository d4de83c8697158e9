/* CPU device, operators: elementwise operators as expressions.
 *
 * An elementwise operator is a short list of steps over its parameters, generated from
 * its row of operators.def or ops.def. The planner turns it into one fused program:
 * conversion of the inputs to the loop dtype, the steps, conversion to the output's
 * dtype.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_ELEMENTWISE_H
#define ASN_DEVICE_OPAPI_CORE_ELEMENTWISE_H

#include "device/opapi/core/call.h"
#include "ops/ops.h"

/* A step's operand: a parameter, an earlier step (ASN_EW_STEP | k), a constant. */
enum { ASN_EW_STEP = 0x40, ASN_EW_CONST = 0x80, ASN_EW_INDEX = 0x3f };

/* One operation of the expression, with up to three operands. */
typedef struct {
    uint16_t op;
    uint8_t src[3];
} asnd_ew_step;

typedef struct {
    const asnd_ew_step *steps;
    const double *consts;
    uint8_t num_steps;
    bool floats;       /* integers are computed in floating point */
    bool inverts;      /* so they are where the output is: 1 / 2 is 0.5, then */
    uint16_t promotes; /* bit i: parameter i takes part in the loop dtype */
    uint16_t weak;     /* bit i: a factor that is left out when it is 1 (alpha) */
} asnd_ew;

/* Plans the call as this expression. */
ASN_CHECK_RESULT asn_status asn_ew_plan(asnd_call *c, const asnd_ew *ew);

#endif
