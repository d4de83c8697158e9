/* CPU device, operators: the turn of rotary position embeddings. */
#ifndef ASN_DEVICE_OPAPI_NN_ROTARY_H
#define ASN_DEVICE_OPAPI_NN_ROTARY_H

#include "device/opapi/core/plan.h"
#include "device/opapi/core/program.h"

enum {
    ASN_ROTARY_HALF,
    ASN_ROTARY_INTERLEAVE,
    ASN_ROTARY_QUARTER,
    ASN_ROTARY_INTERLEAVE_HALF
};

/* y = the turned x, or, back, the gradient y of what was turned, from x, that of the
 * output. All views are of one shape; y may be x, but for the last mode. */
ASN_CHECK_RESULT asn_status asn_rotary_turn(const asnd_nd *x, const asnd_nd *cos,
                                            const asnd_nd *sin, const asnd_nd *y,
                                            int mode, bool back);

#endif
