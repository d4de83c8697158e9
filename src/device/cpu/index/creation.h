/* CPU device: fills that follow from positions, and bincount. */
#ifndef ASN_DEVICE_CPU_INDEX_CREATION_H
#define ASN_DEVICE_CPU_INDEX_CREATION_H

#include "device/cpu/nd.h"

/* out[i] = start + i * delta over a 1-d view; start and delta are elements of out's
 * dtype, the arithmetic is done in it (float32 for halves), as NumPy's arange. */
ASN_CHECK_RESULT asn_status asn_cpu_arange(const asnd_nd *out, const void *start,
                                           const void *delta);

/* out[i] = start + i * step in float64, then cast to out's dtype (towards minus infinity
 * first when it is an integer dtype, as numpy.linspace); out[last] = stop when `endpoint`
 * and there are two or more elements. */
ASN_CHECK_RESULT asn_status asn_cpu_linspace(const asnd_nd *out, double start,
                                             double stop, bool endpoint);

/* Ones on the k-th diagonal of a 2-d view, zeros elsewhere. */
ASN_CHECK_RESULT asn_status asn_cpu_eye(const asnd_nd *out, int64_t k);

/* out[x[i]] += weights[i] (or 1): x is a 1-d view of integers, weights a 1-d float64 view
 * or NULL, out a 1-d float64 (weights) or int64 view that is overwritten. Errors:
 * negative x, x past out's end. */
ASN_CHECK_RESULT asn_status asn_cpu_bincount(const asnd_nd *x, const asnd_nd *weights,
                                             const asnd_nd *out);

#endif
