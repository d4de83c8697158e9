/* CPU device, operator base: aclTensor, a view of memory with shape, strides and dtype.
 *
 * Strides and offset count elements. The storage shape is kept and given back, and
 * otherwise of no meaning to a CPU. Up to 8 dimensions cost no allocation. 64 dimensions
 * are allowed, as in NumPy (CANN: 8). Strides may be negative or 0; NULL means
 * contiguous.
 */
#include "device/opbase/object.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* 0 when `count` extents are at least `least` and, unless one is 0 or less, have a
 * product that fits int64. */
static aclnnStatus dims_check(const char *where, const char *name, const int64_t *dims,
                              uint64_t count, int64_t least) {
    if (count > ASN_TENSOR_MAX_DIMS)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: %llu %s dimensions; at most %d",
                         where, (unsigned long long)count, name, ASN_TENSOR_MAX_DIMS);
    if (count > 0 && dims == NULL)
        return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s dimensions are NULL", where,
                         name);
    int64_t size = 1;
    bool empty = false;
    for (uint64_t i = 0; i < count; i++) {
        if (dims[i] < least)
            return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: %s dimension %llu is %lld",
                             where, name, (unsigned long long)i, (long long)dims[i]);
        empty |= dims[i] <= 0;
        if (!empty && !asn_mul_size(size, dims[i], &size))
            return asnrtFail(ACLNN_ERR_PARAM_INVALID,
                             "%s: the %s shape has more elements than can be counted",
                             where, name);
    }
    return ACLNN_SUCCESS;
}

/* Places the three dimension lists; false when out of memory. */
static bool dims_place(aclTensor *t, uint64_t ndim, uint64_t storage_ndim) {
    int64_t *block = t->dims;
    uint64_t room = ASN_TENSOR_INLINE_DIMS;
    if (ndim > room || storage_ndim > room) {
        room = ndim > storage_ndim ? ndim : storage_ndim;
        block = asn_malloc(3 * room * sizeof *block);
        if (block == NULL) return false;
    }
    t->shape = block;
    t->strides = block + room;
    t->storage = block + 2 * room;
    t->ndim = (uint32_t)ndim;
    t->storage_ndim = (uint32_t)storage_ndim;
    return true;
}

/* Strides given, or those of a row-major tensor; an extent of 0 counts as 1. */
static void strides_set(aclTensor *t, const int64_t *strides) {
    int64_t next = 1;
    for (uint32_t i = t->ndim; i-- > 0;) {
        t->strides[i] = strides ? strides[i] : next;
        next *= t->shape[i] > 0 ? t->shape[i] : 1;
    }
}

static bool is_empty(const int64_t *dims, uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        if (dims[i] == 0) return true;
    return false;
}

/* Everything is checked before the tensor changes, so that aclInitTensor fails without a
 * trace. Programs reckon the storage from the last element, 1 + the sum of (extent - 1)
 * times stride, which is negative for views that are empty: it is nothing then. */
static aclnnStatus tensor_fill(const char *where, aclTensor *t, const int64_t *viewDims,
                               uint64_t viewDimsNum, aclDataType dataType,
                               const int64_t *stride, int64_t offset, aclFormat format,
                               const int64_t *storageDims, uint64_t storageDimsNum,
                               void *data) {
    aclnnStatus code = dims_check(where, "view", viewDims, viewDimsNum, 0);
    if (code == ACLNN_SUCCESS)
        code = dims_check(where, "storage", storageDims, storageDimsNum,
                          is_empty(viewDims, viewDimsNum) ? INT64_MIN : 0);
    if (code != ACLNN_SUCCESS) return code;
    if (offset < 0)
        return asnrtFail(ACLNN_ERR_PARAM_INVALID, "%s: offset is %lld", where,
                         (long long)offset);
    if (!dims_place(t, viewDimsNum, storageDimsNum))
        return asnrtFail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s", asn_error_message());
    for (uint64_t i = 0; i < viewDimsNum; i++)
        t->shape[i] = viewDims[i];
    for (uint64_t i = 0; i < storageDimsNum; i++)
        t->storage[i] = storageDims[i] > 0 ? storageDims[i] : 0;
    strides_set(t, stride);
    t->dtype = (uint8_t)asn_dtype_from_acl(dataType);
    t->acl_dtype = dataType;
    t->format = format;
    t->offset = offset;
    t->data = data;
    t->fits = 0;
    return ACLNN_SUCCESS;
}

/* Describes a tensor: element (i, j, ...) is at tensorData + (offset + i * stride[0] +
 * ...) elements. It borrows the data, which may be NULL when the tensor is empty or the
 * address comes later. NULL, with an error message, on failure. */
ASN_API aclTensor *aclCreateTensor(const int64_t *viewDims, uint64_t viewDimsNum,
                                   aclDataType dataType, const int64_t *stride,
                                   int64_t offset, aclFormat format,
                                   const int64_t *storageDims, uint64_t storageDimsNum,
                                   void *tensorData) {
    aclTensor *t = asnop_object_take(ASN_OBJECT_TENSOR);
    if (t == NULL) {
        (void)asnrtFail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s", asn_error_message());
        return NULL;
    }
    if (tensor_fill("aclCreateTensor", t, viewDims, viewDimsNum, dataType, stride, offset,
                    format, storageDims, storageDimsNum, tensorData) != ACLNN_SUCCESS) {
        asnop_object_give(ASN_OBJECT_TENSOR, t);
        return NULL;
    }
    t->member.generation++;
    t->member.freed_by_list = false;
    asn_slot_publish(t);
    return t;
}

void asnop_tensor_release(aclTensor *t, bool by_list) {
    if (!asn_slot_retire(t)) return;
    if (t->shape != t->dims) asn_free(t->shape);
    t->member.freed_by_list = by_list;
    if (by_list) {
        asn_arena_give_last(&asnop_arenas[ASN_OBJECT_TENSOR], t);
    } else {
        asnop_object_give(ASN_OBJECT_TENSOR, t);
    }
}

/* Was this tensor destroyed with its list, and is it destroyed on its own now? Then that
 * is fine. */
static bool released_by_list(asnd_object_kind kind, const void *object) {
    asnd_arena *arena = &asnop_arenas[kind];
    char *base = arena->base;
    uintptr_t offset = (uintptr_t)object - (uintptr_t)base;
    if (base == NULL || offset >= (uintptr_t)arena->used * arena->slot_size ||
        offset % arena->slot_size != 0)
        return false;
    asnd_member *m = (asnd_member *)object;
    bool was = m->freed_by_list;
    m->freed_by_list = false;
    return was;
}

/* Destroys the description, not the data. */
ASN_API aclnnStatus aclDestroyTensor(const aclTensor *tensor) {
    if (asnop_alive(ASN_OBJECT_TENSOR, tensor)) {
        asnop_tensor_release((aclTensor *)tensor, false);
        return ACLNN_SUCCESS;
    }
    if (released_by_list(ASN_OBJECT_TENSOR, tensor)) return ACLNN_SUCCESS;
    return asnop_check(ASN_OBJECT_TENSOR, tensor, "aclDestroyTensor", "tensor");
}

/* Describes another view with an existing object. */
ASN_API aclnnStatus aclInitTensor(aclTensor *tensor, const int64_t *viewDims,
                                  uint64_t viewDimsNum, aclDataType dataType,
                                  const int64_t *stride, int64_t offset, aclFormat format,
                                  const int64_t *storageDims, uint64_t storageDimsNum,
                                  void *tensorDataAddr) {
    aclnnStatus code = asnop_check(ASN_OBJECT_TENSOR, tensor, "aclInitTensor", "tensor");
    if (code != ACLNN_SUCCESS) return code;
    int64_t *old = tensor->shape != tensor->dims ? tensor->shape : NULL;
    code = tensor_fill("aclInitTensor", tensor, viewDims, viewDimsNum, dataType, stride,
                       offset, format, storageDims, storageDimsNum, tensorDataAddr);
    if (code == ACLNN_SUCCESS) asn_free(old);
    return code;
}

/* ---- getters and setters */

/* Returns from a getter unless the tensor is alive and there is a place for the
 * answer. */
#define CHECK_GET(function, tensor, out)                                                 \
    do {                                                                                 \
        aclnnStatus get_ = asnop_check(ASN_OBJECT_TENSOR, tensor, function, "tensor");   \
        if (get_ != ACLNN_SUCCESS) return get_;                                          \
        if ((out) == NULL)                                                               \
            return asnrtFail(ACLNN_ERR_PARAM_NULLPTR, "%s: %s is NULL", function, #out); \
    } while (0)

/* A copy that the caller frees with free() (or delete[]). */
static aclnnStatus dims_copy(const int64_t *dims, uint32_t count, int64_t **out,
                             uint64_t *num) {
    *out = malloc((count ? count : 1) * sizeof **out);
    if (*out == NULL) return asnrtFail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "out of memory");
    if (count > 0) memcpy(*out, dims, count * sizeof **out);
    *num = count;
    return ACLNN_SUCCESS;
}

/* The shape, in memory the caller frees. */
ASN_API aclnnStatus aclGetViewShape(const aclTensor *tensor, int64_t **viewDims,
                                    uint64_t *viewDimsNum) {
    CHECK_GET("aclGetViewShape", tensor, viewDims);
    CHECK_GET("aclGetViewShape", tensor, viewDimsNum);
    return dims_copy(tensor->shape, tensor->ndim, viewDims, viewDimsNum);
}

/* The strides in elements, in memory the caller frees. */
ASN_API aclnnStatus aclGetViewStrides(const aclTensor *tensor, int64_t **stridesValue,
                                      uint64_t *stridesNum) {
    CHECK_GET("aclGetViewStrides", tensor, stridesValue);
    CHECK_GET("aclGetViewStrides", tensor, stridesNum);
    return dims_copy(tensor->strides, tensor->ndim, stridesValue, stridesNum);
}

/* The storage shape, in memory the caller frees. */
ASN_API aclnnStatus aclGetStorageShape(const aclTensor *tensor, int64_t **storageDims,
                                       uint64_t *storageDimsNum) {
    CHECK_GET("aclGetStorageShape", tensor, storageDims);
    CHECK_GET("aclGetStorageShape", tensor, storageDimsNum);
    return dims_copy(tensor->storage, tensor->storage_ndim, storageDims, storageDimsNum);
}

/* The offset in elements. */
ASN_API aclnnStatus aclGetViewOffset(const aclTensor *tensor, int64_t *offset) {
    CHECK_GET("aclGetViewOffset", tensor, offset);
    *offset = tensor->offset;
    return ACLNN_SUCCESS;
}

/* The dtype. */
ASN_API aclnnStatus aclGetDataType(const aclTensor *tensor, aclDataType *dataType) {
    CHECK_GET("aclGetDataType", tensor, dataType);
    *dataType = tensor->acl_dtype;
    return ACLNN_SUCCESS;
}

/* The format. */
ASN_API aclnnStatus aclGetFormat(const aclTensor *tensor, aclFormat *format) {
    CHECK_GET("aclGetFormat", tensor, format);
    *format = tensor->format;
    return ACLNN_SUCCESS;
}

/* The address of the storage, offset not included. */
ASN_API aclnnStatus aclGetRawTensorAddr(const aclTensor *tensor, void **addr) {
    CHECK_GET("aclGetRawTensorAddr", tensor, addr);
    *addr = tensor->data;
    return ACLNN_SUCCESS;
}

/* Changes the address of the storage. */
ASN_API aclnnStatus aclSetRawTensorAddr(aclTensor *tensor, void *addr) {
    aclnnStatus code =
        asnop_check(ASN_OBJECT_TENSOR, tensor, "aclSetRawTensorAddr", "tensor");
    if (code != ACLNN_SUCCESS) return code;
    tensor->data = addr;
    tensor->fits = 0;
    return ACLNN_SUCCESS;
}

/* ---- aclScalar: a value of any dtype */

/* A scalar with the dtype's bytes at `value`, copied. NULL, with an error message, on
 * failure. */
ASN_API aclScalar *aclCreateScalar(void *value, aclDataType dataType) {
    size_t size = aclDataTypeSize(dataType);
    if (value == NULL || size == 0) {
        (void)asnrtFail(value ? ACLNN_ERR_PARAM_INVALID : ACLNN_ERR_PARAM_NULLPTR,
                        value ? "aclCreateScalar: dtype %d has no scalars"
                              : "aclCreateScalar: value is NULL (dtype %d)",
                        (int)dataType);
        return NULL;
    }
    aclScalar *s = asnop_object_take(ASN_OBJECT_SCALAR);
    if (s == NULL) {
        (void)asnrtFail(ACLNN_ERR_INNER_CREATE_EXECUTOR, "%s", asn_error_message());
        return NULL;
    }
    memcpy(s->value, value, size);
    s->dtype = (uint8_t)asn_dtype_from_acl(dataType);
    s->acl_dtype = dataType;
    s->member.generation++;
    s->member.freed_by_list = false;
    asn_slot_publish(s);
    return s;
}

void asnop_scalar_release(aclScalar *s, bool by_list) {
    if (!asn_slot_retire(s)) return;
    s->member.freed_by_list = by_list;
    if (by_list) {
        asn_arena_give_last(&asnop_arenas[ASN_OBJECT_SCALAR], s);
    } else {
        asnop_object_give(ASN_OBJECT_SCALAR, s);
    }
}

/* Destroys a scalar. */
ASN_API aclnnStatus aclDestroyScalar(const aclScalar *scalar) {
    if (asnop_alive(ASN_OBJECT_SCALAR, scalar)) {
        asnop_scalar_release((aclScalar *)scalar, false);
        return ACLNN_SUCCESS;
    }
    if (released_by_list(ASN_OBJECT_SCALAR, scalar)) return ACLNN_SUCCESS;
    return asnop_check(ASN_OBJECT_SCALAR, scalar, "aclDestroyScalar", "scalar");
}
