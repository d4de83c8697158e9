/* CPU device, operators: GroupedMatmul of small integers. */
#ifndef ASN_DEVICE_OPAPI_MOE_GROUPED_QUANT_H
#define ASN_DEVICE_OPAPI_MOE_GROUPED_QUANT_H

#include "device/opapi/core/plan.h"

/* Whether x is of integers, or weights come with scales. */
bool asn_grouped_is_quantised(const asnd_call *c);
ASN_CHECK_RESULT asn_status asn_grouped_quant_plan(asnd_call *c);

#endif
