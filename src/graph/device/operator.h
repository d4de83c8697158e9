/* L2 graph: calling CANN's two-phase operators on arrays.
 *
 * An operator's first phase plans with handles of its operands and says how much
 * workspace it needs; the second enqueues it. ASN_OPERATOR does both: it looks the
 * operator up once, plans it, takes workspace from the pool, enqueues it.
 *
 * A call is not recorded, so it ends the recording for the buffers it touches:
 * asn_operator_tensor flushes what writes (or, for an output, reads) them.
 *
 * An operator that the device lacks, or refuses for its dtypes, is called on the host's
 * CPU device, with twins of the same tensors (fallback.h): what was made for a call is
 * noted until it is dropped, under the library's lock. A capture (graph/capture) keeps
 * the handles and calls the second phase again at each replay. */
#ifndef ASN_GRAPH_DEVICE_OPERATOR_H
#define ASN_GRAPH_DEVICE_OPERATOR_H

#include "graph/array.h"
#include "graph/capture/capture.h"
#include "graph/device/fallback.h"
#include "runtime/acl_api.h"
#include "runtime/streams/stream.h"

typedef enum { ASN_READ, ASN_WRITE } asn_access;

/* A tensor over the array's memory; owned by the caller (asn_operator_drop). */
ASN_CHECK_RESULT asn_status asn_operator_tensor(const asn_array *a, asn_access access,
                                                aclTensor **out);
/* Those of n arrays, NULLs allowed; bit i of `written`: array i is. In out[0 ... n), NULL
 * where there is none, also when it fails. */
ASN_CHECK_RESULT asn_status asn_operator_tensors(int n, const asn_array *const *arrays,
                                                 uint32_t written, aclTensor **out);
/* Destroys n tensors, NULLs allowed. */
void asn_operator_drop(int n, aclTensor *const *tensors);
/* A list, which takes the tensors over; a number; NULL with the error set. Dropped by the
 * functions below, NULL allowed. */
aclTensorList *asn_operator_list(int n, aclTensor *const *tensors);
aclScalar *asn_operator_scalar(const void *value, aclDataType dtype);
aclIntArray *asn_operator_ints(int n, const int64_t *values);
void asn_operator_drop_list(aclTensorList *list);
void asn_operator_drop_scalar(aclScalar *scalar);
void asn_operator_drop_ints(aclIntArray *ints);

/* Looks it up once; op->run stays NULL when the device lacks it. */
ASN_CHECK_RESULT asn_status asn_operator_find(asn_acl_operator *op, const char *name);
/* Whether a first phase's code says that the device cannot do what is asked. */
static inline bool asn_operator_refused(int code) {
    return code == ACLNN_ERR_PARAM_INVALID && asn_fallback_possible();
}
/* Between the phases: the floating-point exceptions that the run raises are wanted. */
void asn_operator_watch(const asn_acl_api *device, aclOpExecutor *executor);
/* Second phase, with workspace. `what` names NumPy's function in errors and in warnings
 * about floating-point exceptions. */
ASN_CHECK_RESULT asn_status asn_operator_run(const asn_acl_operator *op,
                                             uint64_t workspace, aclOpExecutor *executor,
                                             const char *what);

/* ---- the host's turn */

/* The operator on the host's device, and the stage of everything noted; then each
 * handle's twin; then the second phase, and what it wrote goes to the device. */
ASN_CHECK_RESULT asn_status asn_operator_host_begin(asn_acl_operator *op,
                                                    const char *name, const char *what);
aclTensor *asn_operator_host_tensor(const aclTensor *tensor);
aclTensorList *asn_operator_host_list(const aclTensorList *list);
aclScalar *asn_operator_host_scalar(const aclScalar *scalar);
aclIntArray *asn_operator_host_ints(const aclIntArray *ints);
ASN_CHECK_RESULT asn_status asn_operator_host_end(const asn_acl_operator *op, int code,
                                                  aclOpExecutor *executor,
                                                  const char *what);

/* An argument as the host takes it: a handle's twin, anything else itself. (The compound
 * literal makes _Generic's branches valid for every type; only one is evaluated.) */
#define ASN_AS(T, x) (*(T *)(void *)&(__typeof__(x)){x})
#define ASN_HOST(x)                                                                      \
    _Generic((x),                                                                        \
        aclTensor *: asn_operator_host_tensor(ASN_AS(aclTensor *, x)),                   \
        aclTensorList *: asn_operator_host_list(ASN_AS(aclTensorList *, x)),             \
        aclScalar *: asn_operator_host_scalar(ASN_AS(aclScalar *, x)),                   \
        aclIntArray *: asn_operator_host_ints(ASN_AS(aclIntArray *, x)),                 \
        default: (x))
#define ASN_HOST_2(a, b)                            ASN_HOST(a), ASN_HOST(b)
#define ASN_HOST_3(a, ...)                          ASN_HOST(a), ASN_HOST_2(__VA_ARGS__)
#define ASN_HOST_4(a, ...)                          ASN_HOST(a), ASN_HOST_3(__VA_ARGS__)
#define ASN_HOST_5(a, ...)                          ASN_HOST(a), ASN_HOST_4(__VA_ARGS__)
#define ASN_HOST_6(a, ...)                          ASN_HOST(a), ASN_HOST_5(__VA_ARGS__)
#define ASN_HOST_7(a, ...)                          ASN_HOST(a), ASN_HOST_6(__VA_ARGS__)
#define ASN_PICK_7(a, b, c, d, e, f, g, which, ...) which
#define ASN_HOST_ALL(...)                                                                \
    ASN_PICK_7(__VA_ARGS__, ASN_HOST_7, ASN_HOST_6, ASN_HOST_5, ASN_HOST_4, ASN_HOST_3,  \
               ASN_HOST_2, ASN_HOST)                                                     \
    (__VA_ARGS__)

/* A capture (replay.h) wants the tensors in the order of the operator's parameters. */
#define ASN_SEEN(x)                                                                      \
    _Generic((x),                                                                        \
        aclTensor *: asn_capture_tensor(ASN_AS(aclTensor *, x)),                         \
        aclTensorList *: asn_capture_tensors(ASN_AS(aclTensorList *, x)),                \
        default: asn_capture_other())
#define ASN_SEEN_2(a, b)   (ASN_SEEN(a), ASN_SEEN(b))
#define ASN_SEEN_3(a, ...) (ASN_SEEN(a), ASN_SEEN_2(__VA_ARGS__))
#define ASN_SEEN_4(a, ...) (ASN_SEEN(a), ASN_SEEN_3(__VA_ARGS__))
#define ASN_SEEN_5(a, ...) (ASN_SEEN(a), ASN_SEEN_4(__VA_ARGS__))
#define ASN_SEEN_6(a, ...) (ASN_SEEN(a), ASN_SEEN_5(__VA_ARGS__))
#define ASN_SEEN_7(a, ...) (ASN_SEEN(a), ASN_SEEN_6(__VA_ARGS__))
#define ASN_SEEN_ALL(...)                                                                \
    ASN_PICK_7(__VA_ARGS__, ASN_SEEN_7, ASN_SEEN_6, ASN_SEEN_5, ASN_SEEN_4, ASN_SEEN_3,  \
               ASN_SEEN_2, ASN_SEEN)                                                     \
    (__VA_ARGS__)

/* Calls aclnn<Name> with the given first-phase arguments (two to seven); `status`
 * receives the outcome. It does nothing where `status` is an error already, so that
 * callers make their handles without looking at each. ASN_OPERATOR_WATCH also reports the
 * floating-point exceptions that it raises, where the device can tell and `watched`. */
#define ASN_OPERATOR(status, Name, what, ...)                                            \
    ASN_OPERATOR_WATCH(status, Name, what, false, __VA_ARGS__)
#define ASN_OPERATOR_WATCH(status, Name, what, watched, ...)                             \
    do {                                                                                 \
        static asn_acl_operator op_, host_;                                              \
        uint64_t workspace_ = 0;                                                         \
        aclOpExecutor *executor_ = NULL;                                                 \
        __typeof__(aclnn##Name##GetWorkspaceSize) *plan_;                                \
        if ((status) == ASN_OK) (status) = asn_operator_find(&op_, #Name);               \
        if ((status) != ASN_OK) break;                                                   \
        int code_ = ACLNN_ERR_PARAM_INVALID;                                             \
        plan_ = (__typeof__(plan_))op_.get_workspace;                                    \
        if (op_.run) code_ = plan_(__VA_ARGS__, &workspace_, &executor_);                \
        if ((watched) && code_ == 0) asn_operator_watch(&asn_acl, executor_);            \
        if (ASN_CAPTURING && code_ == 0) ASN_SEEN_ALL(__VA_ARGS__);                      \
        if (!asn_operator_refused(code_)) {                                              \
            (status) = code_ ? asn_acl_failed(code_, what)                               \
                             : asn_operator_run(&op_, workspace_, executor_, what);      \
            break;                                                                       \
        }                                                                                \
        (status) = asn_operator_host_begin(&host_, #Name, what);                         \
        if ((status) != ASN_OK) break;                                                   \
        plan_ = (__typeof__(plan_))host_.get_workspace;                                  \
        code_ = plan_(ASN_HOST_ALL(__VA_ARGS__), &workspace_, &executor_);               \
        if ((watched) && code_ == 0) asn_operator_watch(&asn_host, executor_);           \
        (status) = asn_operator_host_end(&host_, code_, executor_, what);                \
    } while (0)

#endif
