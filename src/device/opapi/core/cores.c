/* CPU device, operators: limits of cores (device/acl/resource_limit.c) hold for the
 * thread pool. */
#include "device/acl/asnrt.h"
#include "device/cpu/threads.h"

__attribute__((constructor)) static void follow_limits(void) {
    asnrtCoresUse(asn_pool_limit);
}
