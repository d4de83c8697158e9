/* CPU device, runtime: dtype sizes, float16 conversion, data buffers.
 *
 * aclFloatToFloat16 and aclFloat16ToFloat keep CANN's own arithmetic: the first saturates
 * (NaN and infinity become 65504), the second reads exponent 31 as a number (65536 for
 * infinity).
 */
#include "device/acl/internal.h"

#include "base/half.h"

/* Bytes of one element; 0 for a dtype with no whole number of bytes or none known. */
ASN_API size_t aclDataTypeSize(aclDataType dataType) {
    switch (dataType) {
    case ACL_BOOL:
    case ACL_INT8:
    case ACL_UINT8: return 1;
    case ACL_INT16:
    case ACL_UINT16:
    case ACL_FLOAT16:
    case ACL_BF16: return 2;
    case ACL_INT32:
    case ACL_UINT32:
    case ACL_FLOAT:
    case ACL_COMPLEX32: return 4;
    case ACL_INT64:
    case ACL_UINT64:
    case ACL_DOUBLE:
    case ACL_COMPLEX64: return 8;
    case ACL_COMPLEX128: return 16;
    default: return 0;
    }
}

/* float -> float16, rounded half to even; NaN, infinity and larger values become 65504.
 */
ASN_API aclFloat16 aclFloatToFloat16(float value) {
    const uint16_t largest = 0x7bff;
    uint16_t h = asn_f32_to_f16(value);
    if ((h & 0x7c00) != 0x7c00) return h;
    return (uint16_t)((h & 0x8000) | largest);
}

/* float16 -> float; exponent 31 counts as any other. */
ASN_API float aclFloat16ToFloat(aclFloat16 value) {
    if ((value & 0x7c00) != 0x7c00) return asn_f16_to_f32(value);
    float magnitude = 65536.0f * (1.0f + (float)(value & 0x3ff) / 1024.0f);
    return value & 0x8000 ? -magnitude : magnitude;
}

/* Memory of the program's, by address and size. */
struct aclDataBuffer {
    asnd_slot slot;
    void *data; /* borrows */
    size_t size;
};

static asnd_arena buffers =
    ASN_ARENA_INIT("data buffer", sizeof(aclDataBuffer), 1 << 20, true);
ASN_FORK_TAKES(buffers, &buffers.lock, ASN_FORK_LEAF)

/* Describes `size` bytes at `data`, which it borrows; NULL when out of memory. */
ASN_API aclDataBuffer *aclCreateDataBuffer(void *data, size_t size) {
    aclDataBuffer *b = rt_object_new(&buffers);
    if (b == NULL) return NULL;
    b->data = data;
    b->size = size;
    return b;
}

/* Destroys the description, not the memory. */
ASN_API aclError aclDestroyDataBuffer(const aclDataBuffer *dataBuffer) {
    return rt_object_free(&buffers, "aclDestroyDataBuffer", "dataBuffer", dataBuffer);
}

/* Changes address and size. */
ASN_API aclError aclUpdateDataBuffer(aclDataBuffer *dataBuffer, void *data, size_t size) {
    RT_CHECK_ALIVE("aclUpdateDataBuffer", &buffers, dataBuffer);
    dataBuffer->data = data;
    dataBuffer->size = size;
    return ACL_SUCCESS;
}

/* The address; NULL for what is no data buffer. */
ASN_API void *aclGetDataBufferAddr(const aclDataBuffer *dataBuffer) {
    return asn_arena_alive(&buffers, dataBuffer) ? dataBuffer->data : NULL;
}

/* The size, cut to 32 bits: use aclGetDataBufferSizeV2. */
ASN_API uint32_t aclGetDataBufferSize(const aclDataBuffer *dataBuffer) {
    return (uint32_t)aclGetDataBufferSizeV2(dataBuffer);
}

/* The size in bytes; 0 for what is no data buffer. */
ASN_API size_t aclGetDataBufferSizeV2(const aclDataBuffer *dataBuffer) {
    return asn_arena_alive(&buffers, dataBuffer) ? dataBuffer->size : 0;
}
