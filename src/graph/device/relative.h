/* L2 graph: calling the fused operator's relatives (aclnnxScan, aclnnxSort, ...) on whole
 * arrays: what is around each such call, with the library's lock held.
 *
 *     asn_relative_operands(2, arrays, 1, o);   what is recorded for them has run
 *     asn_relative_begin(2, arrays, 1, false);  the streams that use them come first
 *     code = asn_acl.aclnnxScan(..., &o[0], &o[1], ...);
 *     return asn_relative_end(code, "cumsum", 2, arrays);
 */
#ifndef ASN_GRAPH_DEVICE_RELATIVE_H
#define ASN_GRAPH_DEVICE_RELATIVE_H

#include "graph/array.h"
#include "runtime/acl_api.h"

/* Makes sure that the arrays' elements are there, or will be by what is queued, and fills
 * an operand for each, with strides. The call writes the last `written` of them. */
ASN_CHECK_RESULT asn_status asn_relative_operands(int n, const asn_array *const *arrays,
                                                  int written, aclnnxOperand *o);
/* queued: the call may leave work on an idle stream (asn_stream_launch). */
ASN_CHECK_RESULT asn_status asn_relative_begin(int n, const asn_array *const *arrays,
                                               int written, bool queued);
/* The call's code as a status, `name` the function in its message; what the host may look
 * at is waited for. */
ASN_CHECK_RESULT asn_status asn_relative_end(int code, const char *name, int n,
                                             const asn_array *const *arrays);

#endif
