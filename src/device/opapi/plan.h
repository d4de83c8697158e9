/* CPU device, operators: the planners that descriptors name. */
#ifndef ASN_DEVICE_OPAPI_PLAN_H
#define ASN_DEVICE_OPAPI_PLAN_H

#include "device/opapi/elementwise.h"

#define ASN_PLANNER(name) ASN_CHECK_RESULT asn_status asn_plan_##name(asn_call *c)

/* elementwise.c */
ASN_PLANNER(elementwise);
ASN_PLANNER(div_mode);

#endif
