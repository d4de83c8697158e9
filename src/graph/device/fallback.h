/* L2 graph: what the device does not compute, computed by the host's CPU device, under
 * the fallback policy: an error, a warning (the default), or nothing said. Every such
 * operation is counted (asn_counters.fallbacks).
 *
 * On the CPU device nothing is missing but in a strict run (ASNUMPY_CANN_STRICT=1), which
 * stands for CANN.
 */
#ifndef ASN_GRAPH_DEVICE_FALLBACK_H
#define ASN_GRAPH_DEVICE_FALLBACK_H

#include "graph/array.h"
#include "runtime/acl_api.h"
#include "runtime/memory/stage.h"

typedef enum { ASN_FALLBACK_ERROR, ASN_FALLBACK_WARN, ASN_FALLBACK_SILENT } asn_fallback;
asn_fallback asn_fallback_set(asn_fallback policy); /* returns the one before */
/* The last operation that fell back under `warn` and was not told yet; NULL: none. */
const char *asn_fallback_take(void);

/* A device with the fused operator computes everything itself. */
static inline bool asn_fallback_possible(void) {
    return !asn_acl.aclnnxFused;
}
/* The host's device, open after asn_fallback_begin. */
extern asn_acl_api asn_host;
/* Before an operation falls back: asks the policy, counts, opens the host's device, waits
 * for the stream. `what` names NumPy's function and lives as long as the process. */
ASN_CHECK_RESULT asn_status asn_fallback_begin(const char *what);
/* Opens the host's device alone, for its opcodes. */
ASN_CHECK_RESULT asn_status asn_fallback_ready(void);
/* A failure of the host's device as a status. */
ASN_CHECK_RESULT asn_status asn_host_status(int code, const char *what);

/* The fused operator and its relatives by the host, on device memory. */
ASN_CHECK_RESULT asn_status asn_host_fused(const aclnnxProgram *program,
                                           const char *what);
ASN_CHECK_RESULT asn_status asn_host_fft(int32_t kind, int64_t n, double scale,
                                         const aclnnxOperand *in, const int64_t *in_shape,
                                         const aclnnxOperand *out,
                                         const int64_t *out_shape, int32_t num_dims,
                                         int32_t axis);
ASN_CHECK_RESULT asn_status asn_host_linalg(int32_t op, int32_t options, double rcond,
                                            int32_t num_batch, int32_t num_operands,
                                            const aclnnxTensor *operands, int num_inputs,
                                            int64_t *failed, uint32_t *fp_flags);

#endif
