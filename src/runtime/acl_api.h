/* L2 runtime: CANN's interface as a table of functions, filled by the loader.
 *
 * This is the seam: nothing above calls a device in any other way. `asn_acl` is valid
 * after asn_device_open().
 */
#ifndef ASN_RUNTIME_ACL_API_H
#define ASN_RUNTIME_ACL_API_H

#include "acl/acl.h"
#include "aclnn/acl_meta.h"
#include "aclnn/aclnnx.h"
#include "base/status.h"

typedef struct {
#define ASN_ACL_FN(library, name) __typeof__(name) *name;
#include "runtime/acl_api.def"
#undef ASN_ACL_FN
    __typeof__(aclrtLaunchHostFunc) *aclrtLaunchHostFunc; /* NULL: it has none */
    /* Planned operators run again with other addresses: NULL on a device without them. */
    __typeof__(aclSetAclOpExecutorRepeatable) *aclSetAclOpExecutorRepeatable;
    __typeof__(aclDestroyAclOpExecutor) *aclDestroyAclOpExecutor;
    __typeof__(aclSetTensorAddr) *aclSetTensorAddr;
    __typeof__(aclSetDynamicTensorAddr) *aclSetDynamicTensorAddr;
    /* The fused operator and its relatives: NULL on a device without them. */
    __typeof__(aclnnxOpcode) *aclnnxOpcode;
    __typeof__(aclnnxFused) *aclnnxFused;
    __typeof__(aclnnxPrepare) *aclnnxPrepare;
    __typeof__(aclnnxRun) *aclnnxRun;
    __typeof__(aclnnxRelease) *aclnnxRelease;
    __typeof__(aclnnxRegisterLoop) *aclnnxRegisterLoop;
    __typeof__(aclnnxScan) *aclnnxScan;
    __typeof__(aclnnxUpdateAt) *aclnnxUpdateAt;
    __typeof__(aclnnxSort) *aclnnxSort;
    __typeof__(aclnnxFft) *aclnnxFft;
    __typeof__(aclnnxLinalg) *aclnnxLinalg;
    __typeof__(aclnnxLoopFind) *aclnnxLoopFind;
    __typeof__(aclnnxMatmul) *aclnnxMatmul;
    __typeof__(aclnnxConditions) *aclnnxConditions;
    __typeof__(aclnnxLoopRun) *aclnnxLoopRun;
    __typeof__(aclnnxLoopSegments) *aclnnxLoopSegments;
    __typeof__(aclnnxSource) *aclnnxSource;
    __typeof__(aclnnxInterp) *aclnnxInterp;
    __typeof__(aclnnxCorrelate) *aclnnxCorrelate;
    __typeof__(aclnnxSparseMatmul) *aclnnxSparseMatmul;
    __typeof__(aclnnxDescribe) *aclnnxDescribe;
    __typeof__(aclnnxLaunch) *aclnnxLaunch;
    __typeof__(aclnnxPoolWatch) *aclnnxPoolWatch;
    __typeof__(aclnnxPoolWatched) *aclnnxPoolWatched;
} asn_acl_api;

extern asn_acl_api asn_acl;

/* What stands between the library and the device while it is wanted: a layer puts its own
 * functions into the table (install), each of which calls what it stands for, of
 * asn_acl_below[layer]. The first layer is nearest to the device. */
typedef enum { ASN_LAYER_PROFILE, ASN_LAYER_CAPTURE, ASN_LAYERS } asn_acl_layer;
extern asn_acl_api asn_acl_below[ASN_LAYERS];
/* Puts a layer in, or takes it out (install NULL). Devices that are loaded later get it,
 * too. With the library's lock held. */
void asn_acl_interpose(asn_acl_layer layer, void (*install)(asn_acl_api *table));

/* Opens the libraries `kind` ("cpu" or "ascend") and fills asn_acl. cpu_folder is tried
 * first for "cpu" (may be NULL). */
ASN_CHECK_RESULT asn_status asn_acl_load(const char *kind, const char *cpu_folder);
void asn_acl_unload(void);
/* The libraries that are loaded are this project's CPU device, whatever they stand for.
 */
bool asn_acl_is_cpu_device(void);
/* Opens the CPU device in one library; asn_acl_load_host does too, says why it cannot,
 * and fills *api (for host.c). */
void asn_acl_open_host(const char *cpu_folder);
ASN_CHECK_RESULT asn_status asn_acl_load_host(const char *cpu_folder, asn_acl_api *api);

/* A two-phase operator, by its name without "aclnn". */
typedef struct {
    const char *name;    /* that it was looked up by, or NULL; borrowed */
    void *get_workspace; /* aclnnXxxGetWorkspaceSize */
    aclnnStatus (*run)(void *, uint64_t, aclOpExecutor *, aclrtStream);
} asn_acl_operator;
/* false when the device has no such operator. */
bool asn_acl_find(const char *name, asn_acl_operator *out);
/* The same of the CPU device that asn_acl_load_host opened. */
bool asn_acl_find_host(const char *name, asn_acl_operator *out);

/* Turns a failed aclError / aclnnStatus into a status with the device's own sentence,
 * prefixed by `what`. */
asn_status asn_acl_failed(int code, const char *what) __attribute__((cold));
/* The same with the device's sentence given (NULL: none). */
asn_status asn_acl_status(int code, const char *text, const char *what)
    __attribute__((cold));

#define ASN_ACL_TRY(call, what)                                                          \
    do {                                                                                 \
        int acl_code_ = (call);                                                          \
        if (__builtin_expect(acl_code_ != 0, 0)) return asn_acl_failed(acl_code_, what); \
    } while (0)

#endif
