/* CPU device, runtime: many copies in one call.
 *
 * Attributes say where sources and destinations lie, each from the copy on that its index
 * names. All memory is the CPU's: they are checked and change nothing.
 */
#include "device/acl/internal.h"

#include <string.h>

/* The call's lists; `fail`, where not NULL, gets the index of the copy that was refused,
 * or SIZE_MAX where no copy is to blame. */
typedef struct {
    const char *function;
    void **dsts, **srcs;
    const size_t *rooms, *sizes;
    size_t count;
    size_t *fail;
} batch;

static aclError batch_fails(const batch *b, size_t index, const char *why) {
    if (b->fail != NULL) *b->fail = index;
    return asnrtFail(ACL_ERROR_INVALID_PARAM, "%s: copy %zu of %zu: %s", b->function,
                     index, b->count, why);
}

/* Every copy is looked at before the first byte moves. */
static aclError batch_check(const batch *b, const aclrtMemcpyBatchAttr *attrs,
                            const size_t *first, size_t num_attrs) {
    if (b->fail != NULL) *b->fail = SIZE_MAX;
    if (b->dsts == NULL || b->srcs == NULL || b->rooms == NULL || b->sizes == NULL ||
        b->count == 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: %s; lists of at least one copy are needed", b->function,
                         b->count == 0 ? "numBatches is 0" : "a list is NULL");
    if (num_attrs == 0 || attrs == NULL || first == NULL || first[0] != 0)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: attributes are needed, the first for copy 0", b->function);
    for (size_t i = 1; i < num_attrs; i++)
        if (first[i] <= first[i - 1] || first[i] >= b->count)
            return asnrtFail(ACL_ERROR_INVALID_PARAM,
                             "%s: attrsIndexes[%zu] is %zu; it must rise and be below "
                             "the number of copies, %zu",
                             b->function, i, first[i], b->count);
    for (size_t i = 0; i < b->count; i++) {
        if (b->dsts[i] == NULL || b->srcs[i] == NULL)
            return batch_fails(b, i, b->dsts[i] ? "source NULL" : "destination NULL");
        if (b->sizes[i] > b->rooms[i])
            return batch_fails(b, i, "larger than its destination");
    }
    return ACL_SUCCESS;
}

/* `numBatches` copies, done when it returns. */
ASN_API aclError aclrtMemcpyBatch(void **dsts, size_t *destMaxs, void **srcs,
                                  size_t *sizes, size_t numBatches,
                                  aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                  size_t numAttrs, size_t *failIndex) {
    batch b = {"aclrtMemcpyBatch", dsts, srcs, destMaxs, sizes, numBatches, failIndex};
    aclError code = batch_check(&b, attrs, attrsIndexes, numAttrs);
    for (size_t i = 0; code == ACL_SUCCESS && i < numBatches; i++)
        memmove(dsts[i], srcs[i], sizes[i]);
    return code;
}

/* aclrtMemcpyBatch in stream order; the lists are read before it returns. */
ASN_API aclError aclrtMemcpyBatchAsync(void **dsts, size_t *destMaxs, void **srcs,
                                       size_t *sizes, size_t numBatches,
                                       aclrtMemcpyBatchAttr *attrs, size_t *attrsIndexes,
                                       size_t numAttrs, size_t *failIndex,
                                       aclrtStream stream) {
    batch b = {
        "aclrtMemcpyBatchAsync", dsts, srcs, destMaxs, sizes, numBatches, failIndex};
    aclError code = batch_check(&b, attrs, attrsIndexes, numAttrs);
    for (size_t i = 0; code == ACL_SUCCESS && i < numBatches; i++)
        code = aclrtMemcpyAsync(dsts[i], destMaxs[i], srcs[i], sizes[i],
                                ACL_MEMCPY_DEFAULT, stream);
    return code;
}
