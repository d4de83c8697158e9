/* CPU device, private to sorting: floats whose bits or order their keys do not keep. */
#ifndef ASN_DEVICE_CPU_SORT_ALIKE_H
#define ASN_DEVICE_CPU_SORT_ALIKE_H

#include "device/cpu/nd.h"

/* Whether there are zeros of both signs, or NaN, among the elements, of a float dtype. */
bool asn_has_alike(const asnd_nd *in);

#endif
