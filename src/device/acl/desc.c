/* CPU device, runtime: aclTensorDesc, the shape and dtype of a tensor without its data.
 *
 * Older programs describe operator arguments with it. A rank of -2 dimensions (CANN's
 * "unknown rank") is one dimension of -2, as programs read it back.
 *
 * The descriptions are data without behaviour: setters store, getters read back.
 * Operators of this library take aclTensor (opbase/tensor.c), which is another type.
 */
#include "device/acl/internal.h"

#include <stdio.h>
#include <string.h>

enum { MAX_DIMS = 128, NAME_MAX_LENGTH = 128 };

/* Plain fields, zeroed when the description is made. */
struct aclTensorDesc {
    asnd_slot slot;
    aclDataType dtype;
    aclFormat format, storage_format, origin_format;
    size_t num_dims, num_storage_dims, num_origin_dims;
    aclMemType placement;
    void *constant; /* borrows */
    size_t constant_size;
    char name[NAME_MAX_LENGTH], dynamic_input[NAME_MAX_LENGTH];
    int64_t dims[MAX_DIMS], storage_dims[MAX_DIMS], origin_dims[MAX_DIMS];
    int64_t ranges[MAX_DIMS][2];
};

static asnd_arena descs =
    ASN_ARENA_INIT("tensor description", sizeof(aclTensorDesc), 1 << 17, true);
ASN_FORK_TAKES(descs, &descs.lock, ASN_FORK_LEAF)

/* `desc` when it is alive, else NULL: for the getters that have no code to return. */
static aclTensorDesc *live(const aclTensorDesc *desc) {
    return asn_arena_alive(&descs, desc) ? (aclTensorDesc *)desc : NULL;
}

/* to, *count: a list of up to MAX_DIMS extents, copied. */
static aclError dims_set(const char *function, int64_t *to, size_t *count, int numDims,
                         const int64_t *dims) {
    if (numDims < 0 || numDims > MAX_DIMS || (numDims > 0 && dims == NULL))
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "%s: %d dimensions%s; 0 to %d are allowed", function, numDims,
                         dims ? "" : " at NULL", MAX_DIMS);
    if (numDims > 0) memcpy(to, dims, (size_t)numDims * sizeof *to);
    *count = (size_t)numDims;
    return ACL_SUCCESS;
}

/* Describes a tensor; NULL, with an error message, on bad arguments. */
ASN_API aclTensorDesc *aclCreateTensorDesc(aclDataType dataType, int numDims,
                                           const int64_t *dims, aclFormat format) {
    aclTensorDesc *d = rt_object_new(&descs);
    if (d == NULL) return NULL;
    d->dtype = dataType;
    d->format = d->storage_format = d->origin_format = format;
    if (dims_set("aclCreateTensorDesc", d->dims, &d->num_dims, numDims, dims) !=
        ACL_SUCCESS) {
        if (asn_slot_retire(d)) asn_arena_give(&descs, d);
        return NULL;
    }
    for (size_t i = 0; i < d->num_dims; i++)
        d->ranges[i][0] = d->ranges[i][1] = d->dims[i];
    return d;
}

/* Destroys a description; NULL is fine. */
ASN_API void aclDestroyTensorDesc(const aclTensorDesc *desc) {
    if (desc != NULL) (void)rt_object_free(&descs, "aclDestroyTensorDesc", "desc", desc);
}

/* The dtype; ACL_DT_UNDEFINED for what is no description. */
ASN_API aclDataType aclGetTensorDescType(const aclTensorDesc *desc) {
    return live(desc) ? desc->dtype : ACL_DT_UNDEFINED;
}

/* The format; ACL_FORMAT_UNDEFINED for what is no description. */
ASN_API aclFormat aclGetTensorDescFormat(const aclTensorDesc *desc) {
    return live(desc) ? desc->format : ACL_FORMAT_UNDEFINED;
}

/* The number of dimensions. */
ASN_API size_t aclGetTensorDescNumDims(const aclTensorDesc *desc) {
    return live(desc) ? desc->num_dims : 0;
}

/* One extent; -1 when there is no such dimension. */
ASN_API int64_t aclGetTensorDescDim(const aclTensorDesc *desc, size_t index) {
    return live(desc) && index < desc->num_dims ? desc->dims[index] : -1;
}

/* One extent. */
ASN_API aclError aclGetTensorDescDimV2(const aclTensorDesc *desc, size_t index,
                                       int64_t *dimSize) {
    RT_CHECK_ALIVE("aclGetTensorDescDimV2", &descs, desc);
    RT_CHECK_NOT_NULL("aclGetTensorDescDimV2", dimSize);
    if (index >= desc->num_dims)
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclGetTensorDescDimV2: index %zu; there are %zu dimensions",
                         index, desc->num_dims);
    *dimSize = desc->dims[index];
    return ACL_SUCCESS;
}

/* The number of elements; 0 when an extent is unknown (negative). */
ASN_API size_t aclGetTensorDescElementCount(const aclTensorDesc *desc) {
    if (!live(desc)) return 0;
    int64_t count = 1;
    for (size_t i = 0; i < desc->num_dims; i++)
        if (desc->dims[i] < 0 || !asn_mul_size(count, desc->dims[i], &count)) return 0;
    return (size_t)count;
}

/* The size in bytes; 0 when an extent is unknown. */
ASN_API size_t aclGetTensorDescSize(const aclTensorDesc *desc) {
    if (!live(desc)) return 0;
    int64_t size, count = (int64_t)aclGetTensorDescElementCount(desc);
    return asn_mul_size(count, (int64_t)aclDataTypeSize(desc->dtype), &size)
               ? (size_t)size
               : 0;
}

/* Names the tensor; longer names are cut to 127 bytes. */
ASN_API void aclSetTensorDescName(aclTensorDesc *desc, const char *name) {
    if (live(desc)) snprintf(desc->name, sizeof desc->name, "%s", name ? name : "");
}

/* The name, "" by default; borrowed from the description. */
ASN_API const char *aclGetTensorDescName(aclTensorDesc *desc) {
    return live(desc) ? desc->name : "";
}

/* The address of the constant set with aclSetTensorConst; NULL when there is none. */
ASN_API void *aclGetTensorDescAddress(const aclTensorDesc *desc) {
    return live(desc) ? desc->constant : NULL;
}

/* `desc` itself for index 0: descriptions here have no parts. */
ASN_API aclTensorDesc *aclGetTensorDescByIndex(aclTensorDesc *desc, size_t index) {
    return index == 0 ? live(desc) : NULL;
}

/* Sets the format the data are stored in. */
ASN_API aclError aclSetTensorFormat(aclTensorDesc *desc, aclFormat format) {
    RT_CHECK_ALIVE("aclSetTensorFormat", &descs, desc);
    desc->storage_format = format;
    return ACL_SUCCESS;
}

/* aclSetTensorFormat under its older name. */
ASN_API aclError aclSetTensorStorageFormat(aclTensorDesc *desc, aclFormat format) {
    RT_CHECK_ALIVE("aclSetTensorStorageFormat", &descs, desc);
    desc->storage_format = format;
    return ACL_SUCCESS;
}

/* Sets the format before conversion. */
ASN_API aclError aclSetTensorOriginFormat(aclTensorDesc *desc, aclFormat format) {
    RT_CHECK_ALIVE("aclSetTensorOriginFormat", &descs, desc);
    desc->origin_format = format;
    return ACL_SUCCESS;
}

/* Sets the shape the data are stored in. */
ASN_API aclError aclSetTensorShape(aclTensorDesc *desc, int numDims,
                                   const int64_t *dims) {
    RT_CHECK_ALIVE("aclSetTensorShape", &descs, desc);
    return dims_set("aclSetTensorShape", desc->storage_dims, &desc->num_storage_dims,
                    numDims, dims);
}

/* aclSetTensorShape under its older name. */
ASN_API aclError aclSetTensorStorageShape(aclTensorDesc *desc, int numDims,
                                          const int64_t *dims) {
    RT_CHECK_ALIVE("aclSetTensorStorageShape", &descs, desc);
    return dims_set("aclSetTensorStorageShape", desc->storage_dims,
                    &desc->num_storage_dims, numDims, dims);
}

/* Sets the shape before conversion. */
ASN_API aclError aclSetTensorOriginShape(aclTensorDesc *desc, int numDims,
                                         const int64_t *dims) {
    RT_CHECK_ALIVE("aclSetTensorOriginShape", &descs, desc);
    return dims_set("aclSetTensorOriginShape", desc->origin_dims, &desc->num_origin_dims,
                    numDims, dims);
}

/* Sets the range of each extent. */
ASN_API aclError aclSetTensorShapeRange(aclTensorDesc *desc, size_t dimsCount,
                                        int64_t dimsRange[][2]) {
    RT_CHECK_ALIVE("aclSetTensorShapeRange", &descs, desc);
    if (dimsCount > MAX_DIMS || (dimsCount > 0 && dimsRange == NULL))
        return asnrtFail(ACL_ERROR_INVALID_PARAM,
                         "aclSetTensorShapeRange: %zu dimensions%s; 0 to %d are allowed",
                         dimsCount, dimsRange ? "" : " at NULL", MAX_DIMS);
    if (dimsCount > 0) memcpy(desc->ranges, dimsRange, dimsCount * sizeof *desc->ranges);
    return ACL_SUCCESS;
}

/* The range of one extent; `dimRangeNum` must be 2. */
ASN_API aclError aclGetTensorDescDimRange(const aclTensorDesc *desc, size_t index,
                                          size_t dimRangeNum, int64_t *dimRange) {
    RT_CHECK_ALIVE("aclGetTensorDescDimRange", &descs, desc);
    RT_CHECK_NOT_NULL("aclGetTensorDescDimRange", dimRange);
    if (dimRangeNum != 2 || index >= desc->num_dims)
        return asnrtFail(
            ACL_ERROR_INVALID_PARAM,
            "aclGetTensorDescDimRange: index %zu of %zu, %zu numbers; 2 are needed",
            index, desc->num_dims, dimRangeNum);
    dimRange[0] = desc->ranges[index][0];
    dimRange[1] = desc->ranges[index][1];
    return ACL_SUCCESS;
}

/* Marks the tensor as a constant whose `length` bytes at `dataBuffer` are borrowed. */
ASN_API aclError aclSetTensorConst(aclTensorDesc *desc, void *dataBuffer, size_t length) {
    RT_CHECK_ALIVE("aclSetTensorConst", &descs, desc);
    RT_CHECK_NOT_NULL("aclSetTensorConst", dataBuffer);
    desc->constant = dataBuffer;
    desc->constant_size = length;
    return ACL_SUCCESS;
}

/* Says where the tensor's memory is. */
ASN_API aclError aclSetTensorPlaceMent(aclTensorDesc *desc, aclMemType memType) {
    RT_CHECK_ALIVE("aclSetTensorPlaceMent", &descs, desc);
    desc->placement = memType;
    return ACL_SUCCESS;
}

/* Names the dynamic input the tensor is part of. */
ASN_API aclError aclSetTensorDynamicInput(aclTensorDesc *desc,
                                          const char *dynamicInputName) {
    RT_CHECK_ALIVE("aclSetTensorDynamicInput", &descs, desc);
    RT_CHECK_NOT_NULL("aclSetTensorDynamicInput", dynamicInputName);
    snprintf(desc->dynamic_input, sizeof desc->dynamic_input, "%s", dynamicInputName);
    return ACL_SUCCESS;
}

/* Sets the range of each value of a constant that is not known yet; checked and not used:
 * no operator here is compiled from descriptions. */
ASN_API aclError aclSetTensorValueRange(aclTensorDesc *desc, size_t valueCount,
                                        int64_t valueRange[][2]) {
    RT_CHECK_ALIVE("aclSetTensorValueRange", &descs, desc);
    if (valueCount > 0) RT_CHECK_NOT_NULL("aclSetTensorValueRange", valueRange);
    for (size_t i = 0; i < valueCount; i++)
        if (valueRange[i][1] != -1 && valueRange[i][0] > valueRange[i][1])
            return asnrtFail(ACL_ERROR_INVALID_PARAM,
                             "aclSetTensorValueRange: range %zu is [%lld, %lld]", i,
                             (long long)valueRange[i][0], (long long)valueRange[i][1]);
    return ACL_SUCCESS;
}

/* Where a dimension of the image formats stands: batch, channels, (depth,) rows, columns.
 */
static const char *format_axes(aclFormat format, size_t num_dims) {
    switch (format) {
    case ACL_FORMAT_NCHW: return num_dims == 4 ? "NCHW" : NULL;
    case ACL_FORMAT_NHWC: return num_dims == 4 ? "NHWC" : NULL;
    case ACL_FORMAT_NCDHW: return num_dims == 5 ? "NCDHW" : NULL;
    case ACL_FORMAT_NDHWC: return num_dims == 5 ? "NDHWC" : NULL;
    default: return NULL;
    }
}

/* A new description of the tensor in another format: NCHW and NHWC, NCDHW and NDHWC go
 * over into each other, a format into itself. */
ASN_API aclError aclTransTensorDescFormat(const aclTensorDesc *srcDesc,
                                          aclFormat dstFormat, aclTensorDesc **dstDesc) {
    RT_CHECK_ALIVE("aclTransTensorDescFormat", &descs, srcDesc);
    RT_CHECK_NOT_NULL("aclTransTensorDescFormat", dstDesc);
    const char *from = format_axes(srcDesc->format, srcDesc->num_dims),
               *to = format_axes(dstFormat, srcDesc->num_dims);
    if (srcDesc->format != dstFormat && (from == NULL || to == NULL))
        return asnrtFail(ACL_ERROR_FORMAT_NOT_MATCH,
                         "aclTransTensorDescFormat: %zu dimensions of format %d cannot "
                         "take format %d",
                         srcDesc->num_dims, (int)srcDesc->format, (int)dstFormat);
    aclTensorDesc *d = rt_object_new(&descs);
    if (d == NULL) return ACL_ERROR_BAD_ALLOC;
    memcpy(&d->slot + 1, &srcDesc->slot + 1, sizeof *d - sizeof d->slot);
    d->format = dstFormat;
    for (size_t i = 0; from != NULL && to != NULL && i < d->num_dims; i++) {
        /* Where the dimension of this letter stands in the source. */
        size_t k = (size_t)(strchr(from, to[i]) - from);
        d->dims[i] = srcDesc->dims[k];
        memcpy(d->ranges[i], srcDesc->ranges[k], sizeof d->ranges[i]);
    }
    *dstDesc = d;
    return ACL_SUCCESS;
}
