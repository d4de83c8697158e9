/* CPU device, private to the fused engine: copies to places in turn (fused_weave.c). */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_WEAVE_H
#define ASN_DEVICE_CPU_FUSED_FUSED_WEAVE_H

#include "device/cpu/fused/program.h"

/* Runs a plan that only copies arrays to every k-th element of one stretch of memory, k
 * of them; false: it is another, and nothing was done. */
bool asn_weave_run(const asnd_plan *plan);
/* Whether it may be such a plan, by all but its steps and the operands' addresses. */
bool asn_weave_may(const asnd_plan *plan);

#endif
