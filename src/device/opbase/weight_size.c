/* CPU device, operator base: how many elements a weight has in the layout that products
 * like best on an NPU (FRACTAL_NZ): what a program allocates before TransMatmulWeight,
 * whose layout is the plain one here. The rules are those of CANN's public documentation
 * of these functions. Declared in acl_meta.h, which every operator's header includes.
 */
#include "base/alloc.h"
#include "device/opbase/object.h"

enum { LANES = 16 }; /* elements of a row of halves in a block: 32 bytes */

static bool round_up(int64_t *n, int64_t step) {
    return *n >= 0 && asn_mul_size((*n - 1) / step + 1, step, n);
}

/* Checks the arguments; the extents lie in *shape then. */
static aclnnStatus check_shape(const aclIntArray *array, const uint64_t *size,
                               const char *where, uint64_t most, const int64_t **shape) {
    aclnnStatus code = asnop_check(ASN_OBJECT_INT_ARRAY, array, where, "tensorShape");
    if (code != ACLNN_SUCCESS) return code;
    if (size == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: weightTensorSize is NULL", where);
    const asnd_array *a = (const asnd_array *)array;
    if (a->size < 2 || a->size > most)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "%s: tensorShape has %llu extents; it must have 2 to %llu",
                         where, (unsigned long long)a->size, (unsigned long long)most);
    *shape = a->data;
    for (uint64_t i = 0; i < a->size; i++)
        if ((*shape)[i] < 1)
            return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                             "%s: tensorShape[%llu] is %lld; it must be positive", where,
                             (unsigned long long)i, (long long)(*shape)[i]);
    return ACLNN_SUCCESS;
}

static aclnnStatus too_large(const char *where) {
    return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: the size passes 2^63 - 1 elements",
                     where);
}

/* The last two extents are (n, k), in blocks of 16 rows of 32 bytes: `lanes` elements. */
static aclnnStatus matmul_size(const aclIntArray *array, uint64_t most, int64_t lanes,
                               uint64_t *size, const char *where) {
    const int64_t *shape = NULL;
    aclnnStatus code = check_shape(array, size, where, most, &shape);
    if (code != ACLNN_SUCCESS) return code;
    uint64_t ndim = ((const asnd_array *)array)->size;
    int64_t count = 1;
    for (uint64_t i = 0; i < ndim; i++) {
        int64_t extent = shape[i];
        if (i + 2 >= ndim && !round_up(&extent, i + 1 == ndim ? lanes : LANES))
            return too_large(where);
        if (!asn_mul_size(count, extent, &count)) return too_large(where);
    }
    *size = (uint64_t)count;
    return ACLNN_SUCCESS;
}

/* Stores in *weightTensorSize the elements of a weight of halves of shape (n, k) or
 * (b, n, k) in FRACTAL_NZ: n and k rounded up to 16. */
ASN_API aclnnStatus aclnnCalculateMatmulWeightSize(const aclIntArray *tensorShape,
                                                   uint64_t *weightTensorSize) {
    return matmul_size(tensorShape, 3, LANES, weightTensorSize,
                       "aclnnCalculateMatmulWeightSize");
}

/* The same for shapes of two to six extents and a dtype: FLOAT16 and BF16 as above, INT8
 * with k rounded up to 32. */
ASN_API aclnnStatus aclnnCalculateMatmulWeightSizeV2(const aclIntArray *tensorShape,
                                                     aclDataType dataType,
                                                     uint64_t *weightTensorSize) {
    const char *where = "aclnnCalculateMatmulWeightSizeV2";
    bool wide = dataType == ACL_FLOAT16 || dataType == ACL_BF16;
    if (!wide && dataType != ACL_INT8)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                         "%s: dataType is %d; it must be ACL_FLOAT16, ACL_BF16 or "
                         "ACL_INT8",
                         where, (int)dataType);
    return matmul_size(tensorShape, 6, wide ? LANES : 2 * LANES, weightTensorSize, where);
}
