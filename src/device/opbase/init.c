/* CPU device, operator base: aclnnInit and aclnnFinalize.
 *
 * Operators need no initialisation on a CPU; programs may or may not ask for it, any
 * number of times.
 */
#include "device/opbase/object.h"

/* Accepted; operators are always ready. The configuration file is not read. */
ASN_API aclnnStatus aclnnInit(const char *configPath) {
    (void)configPath;
    return ACLNN_SUCCESS;
}

/* Accepted; operators stay ready. */
ASN_API aclnnStatus aclnnFinalize(void) {
    return ACLNN_SUCCESS;
}
