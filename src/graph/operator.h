/* L2 graph: calling CANN's two-phase operators on arrays.
 *
 * An operator call ends the trace's current recording for the buffers it touches:
 * asn_operator_tensor flushes what writes (or, for an output, reads) them. ASNN_CALL
 * looks the operator up once, plans it, takes workspace from the pool, enqueues it.
 */
#ifndef ASN_GRAPH_OPERATOR_H
#define ASN_GRAPH_OPERATOR_H

#include "graph/array.h"
#include "runtime/acl_api.h"
#include "runtime/stream.h"

typedef enum { ASN_READ, ASN_WRITE } asn_access;

/* A tensor over the array's memory; owned by the caller (asn_operator_drop). */
ASN_CHECK_RESULT asn_status asn_operator_tensor(const asn_array *a, asn_access access,
                                                aclTensor **out);
/* Destroys n tensors, NULLs allowed. */
void asn_operator_drop(int n, aclTensor *const *tensors);

/* NOT_IMPLEMENTED when the device lacks it. */
ASN_CHECK_RESULT asn_status asn_operator_find(asn_acl_operator *op, const char *name);
/* Second phase, with workspace. `what` names NumPy's function in errors. */
ASN_CHECK_RESULT asn_status asn_operator_run(const asn_acl_operator *op,
                                             uint64_t workspace, aclOpExecutor *executor,
                                             const char *what);

/* Calls aclnn<Name> with the given first-phase arguments; `status` receives the outcome.
 */
#define ASN_OPERATOR(status, Name, what, ...)                                            \
    do {                                                                                 \
        static asn_acl_operator op_;                                                     \
        uint64_t workspace_ = 0;                                                         \
        aclOpExecutor *executor_ = NULL;                                                 \
        if ((status) == ASN_OK) (status) = asn_operator_find(&op_, #Name);               \
        if ((status) == ASN_OK) {                                                        \
            __typeof__(aclnn##Name##GetWorkspaceSize) *plan_ =                           \
                (__typeof__(plan_))op_.get_workspace;                                    \
            int code_ = plan_(__VA_ARGS__, &workspace_, &executor_);                     \
            (status) = code_ ? asn_acl_failed(code_, what)                               \
                             : asn_operator_run(&op_, workspace_, executor_, what);      \
        }                                                                                \
    } while (0)

#endif
