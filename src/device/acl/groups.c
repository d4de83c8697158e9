/* CPU device, runtime: where operators that communicate find their group of ranks.
 *
 * Communicators belong to libhccl, which stands above the runtime, beside the operators.
 * When it is loaded it leaves its functions here, so that neither of the two libraries
 * needs the other: a program without communication does not load libhccl.
 */
#include "device/acl/internal.h"

static _Atomic(const asnrtGroups *) known;

void asnrtGroupsUse(const asnrtGroups *groups) {
    atomic_store(&known, groups);
}

const asnrtGroups *asnrtGroupsGet(void) {
    return atomic_load(&known);
}
