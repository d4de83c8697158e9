/* L2 graph: random numbers that the device draws (see families.h).
 *
 * The device's generators are counters: an element depends on the seed, the offset and
 * its position only, so that no state is kept here. */
#include "aclnnop/aclnn_normal.h"
#include "aclnnop/aclnn_uniform.h"
#include "graph/operators/families.h"
#include "graph/lock.h"
#include "graph/device/operator.h"
#include "runtime/device.h"

/* (Contract in families.h.) Uniform numbers come from [0, 1), normal ones have mean 0 and
 * deviation 1. */
asn_status asn_random_new(asn_array *result, asn_dtype dtype, int ndim,
                          const int64_t *shape, bool normal, uint64_t seed,
                          uint64_t offset) {
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status = asn_array_new(result, dtype, ndim, shape, 'C');
    if (!status && result->layout.size) {
        aclTensor *t[1] = {NULL};
        status = asn_operator_tensor(result, ASN_WRITE, &t[0]);
        if (normal)
            ASN_OPERATOR(status, InplaceNormal, "normal", t[0], 0, 1, (int64_t)seed,
                         (int64_t)offset);
        else
            ASN_OPERATOR(status, InplaceUniform, "uniform", t[0], 0, 1, seed, offset);
        asn_operator_drop(1, t);
        if (status) asn_array_fini(result);
    }
    asn_unlock();
    return status;
}
