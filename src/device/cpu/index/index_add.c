/* CPU device: additions by index (see index_add.h). */
#include "device/cpu/index/index_add.h"

#include <stddef.h>

#include "device/cpu/kernels.h"

#define T    double
#define NAME add_f64
#include "device/cpu/index/index_add.inc"
#define T    float
#define NAME add_f32
#include "device/cpu/index/index_add.inc"
#define T    uint32_t
#define NAME add_u32
#include "device/cpu/index/index_add.inc"
#define T    uint64_t
#define NAME add_u64
#include "device/cpu/index/index_add.inc"

const asnd_index_adds *asn_index_adds_get(asn_dtype dtype) {
    static const asnd_index_adds f64 = {add_f64, add_f64_at}, f32 = {add_f32, add_f32_at},
                                 u32 = {add_u32, add_u32_at}, u64 = {add_u64, add_u64_at};
    switch (dtype) {
    case ASN_F64: return &f64;
    case ASN_F32: return &f32;
    case ASN_I32:
    case ASN_U32: return &u32;
    case ASN_I64:
    case ASN_U64: return &u64;
    default: return NULL;
    }
}
