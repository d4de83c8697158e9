/* CPU device, operators: kernels that are on their way in device/cpu answer here, weakly,
 * that they are not there yet. Empty once cpu/ is complete, and removed then.
 */
#include "device/cpu/creation.h"
#include "device/cpu/gemm.h"
#include "device/cpu/index.h"
#include "device/cpu/reduce.h"
#include "device/cpu/scan.h"
#include "device/cpu/sort.h"

#define PENDING(name, ...)                                                               \
    __attribute__((weak)) asn_status name(__VA_ARGS__) {                                 \
        return asn_error_set(ASN_ERR_UNSUPPORTED, #name " is not built");                \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"

PENDING(asn_cpu_arange, const asn_nd *out, const void *start, const void *delta)
PENDING(asn_cpu_linspace, const asn_nd *out, double start, double stop, bool endpoint)
PENDING(asn_cpu_eye, const asn_nd *out, int64_t k)
PENDING(asn_cpu_bincount, const asn_nd *x, const asn_nd *weights, const asn_nd *out)
PENDING(asn_cpu_matmul, const asn_nd *a, const asn_nd *b, const asn_nd *c)
PENDING(asn_cpu_gemm, const void *alpha, const asn_nd *a, const asn_nd *b,
        const void *beta, const asn_nd *c)
PENDING(asn_cpu_sort, const asn_nd *in, int axis, int flags, const asn_nd *values,
        const asn_nd *indices)
PENDING(asn_cpu_topk, const asn_nd *in, int axis, int64_t k, int flags,
        const asn_nd *values, const asn_nd *indices)
PENDING(asn_cpu_searchsorted, const asn_nd *sorted, const asn_nd *sorter,
        const asn_nd *values, bool right, const asn_nd *out)
PENDING(asn_cpu_unique, const asn_nd *in, bool equal_nan, const asn_nd *values,
        const asn_nd *index, const asn_nd *inverse, const asn_nd *counts, int64_t *count)
