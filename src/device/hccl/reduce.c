/* CPU device, collective communication: reductions.
 *
 * Plain loops that the compiler vectorises. Integers wrap. Halves are added and
 * multiplied in float32: of two ranks the result is rounded once, of more ranks the sum
 * stays in float32 until the last one was added, so that it does not depend on how many
 * there are how well it is rounded. Conversions are free of branches; base/half.h has the
 * reference that a test compares them with.
 */
#include "device/hccl/internal.h"

#include "base/half.h"

/* Exact: a subnormal becomes a normal float32 by the multiplication. */
static inline float f16_load(uint16_t h) {
    uint32_t mag = (uint32_t)(h & 0x7fff) << 13;
    uint32_t finite = asn_bits_f32(asn_f32_bits(mag) * 0x1p112f);
    uint32_t bits = mag >= 0x0f800000 ? mag | 0x7f800000 : finite;
    return asn_f32_bits(bits | (uint32_t)(h & 0x8000) << 16);
}

/* Half to even. Below the smallest normal number, adding 0.5 aligns the last bits. */
static inline uint16_t f16_store(float f) {
    uint32_t u = asn_bits_f32(f), mag = u & 0x7fffffff;
    uint32_t small = asn_bits_f32(asn_f32_bits(mag) + 0.5f) - 0x3f000000;
    uint32_t normal = (mag - 0x38000000 + 0xfff + (mag >> 13 & 1)) >> 13;
    uint32_t nan = 0x7e00 | (mag >> 13 & 0x1ff);
    uint32_t h = mag < 0x38800000 ? small : normal;
    h = mag >= 0x477ff000 ? 0x7c00 : h;
    h = mag > 0x7f800000 ? nan : h;
    return (uint16_t)(h | (u >> 16 & 0x8000));
}

#define T       float
#define W       float
#define NAME(x) f32_##x
#include "device/hccl/reduce.inc"
#define T       double
#define W       double
#define NAME(x) f64_##x
#include "device/hccl/reduce.inc"
#define T       int8_t
#define W       uint32_t
#define NAME(x) i8_##x
#include "device/hccl/reduce.inc"
#define T       uint8_t
#define W       uint32_t
#define NAME(x) u8_##x
#include "device/hccl/reduce.inc"
#define T       int16_t
#define W       uint32_t
#define NAME(x) i16_##x
#include "device/hccl/reduce.inc"
#define T       uint16_t
#define W       uint32_t
#define NAME(x) u16_##x
#include "device/hccl/reduce.inc"
#define T       int32_t
#define W       uint32_t
#define NAME(x) i32_##x
#include "device/hccl/reduce.inc"
#define T       uint32_t
#define W       uint32_t
#define NAME(x) u32_##x
#include "device/hccl/reduce.inc"
#define T       int64_t
#define W       uint64_t
#define NAME(x) i64_##x
#include "device/hccl/reduce.inc"
#define T       uint64_t
#define W       uint64_t
#define NAME(x) u64_##x
#include "device/hccl/reduce.inc"
#define T       __int128
#define W       unsigned __int128
#define NAME(x) i128_##x
#include "device/hccl/reduce.inc"
#define LOAD    f16_load
#define STORE   f16_store
#define NAME(x) f16_##x
#include "device/hccl/reduce_half.inc"
#define LOAD    asn_bf16_to_f32
#define STORE   asn_f32_to_bf16
#define NAME(x) bf16_##x
#include "device/hccl/reduce_half.inc"

#define FOLDS(name) {name##_sum, name##_prod, name##_max, name##_min}

static const struct {
    size_t size;
    hccl_fold folds[HCCL_REDUCE_RESERVED]; /* NULL: is not reduced */
} dtypes[] = {
    [HCCL_DATA_TYPE_INT8] = {1, FOLDS(i8)},
    [HCCL_DATA_TYPE_INT16] = {2, FOLDS(i16)},
    [HCCL_DATA_TYPE_INT32] = {4, FOLDS(i32)},
    [HCCL_DATA_TYPE_FP16] = {2, FOLDS(f16)},
    [HCCL_DATA_TYPE_FP32] = {4, FOLDS(f32)},
    [HCCL_DATA_TYPE_INT64] = {8, FOLDS(i64)},
    [HCCL_DATA_TYPE_UINT64] = {8, FOLDS(u64)},
    [HCCL_DATA_TYPE_UINT8] = {1, FOLDS(u8)},
    [HCCL_DATA_TYPE_UINT16] = {2, FOLDS(u16)},
    [HCCL_DATA_TYPE_UINT32] = {4, FOLDS(u32)},
    [HCCL_DATA_TYPE_FP64] = {8, FOLDS(f64)},
    [HCCL_DATA_TYPE_BFP16] = {2, FOLDS(bf16)},
    [HCCL_DATA_TYPE_INT128] = {16, FOLDS(i128)},
    [HCCL_DATA_TYPE_HIF8] = {1, {NULL}},
    [HCCL_DATA_TYPE_FP8E4M3] = {1, {NULL}},
    [HCCL_DATA_TYPE_FP8E5M2] = {1, {NULL}},
    [HCCL_DATA_TYPE_FP8E8M0] = {1, {NULL}},
};

size_t hccl_dtype_size(HcclDataType dtype) {
    return (size_t)dtype < sizeof dtypes / sizeof *dtypes ? dtypes[dtype].size : 0;
}

bool hccl_dtype_reduces(HcclDataType dtype) {
    return hccl_dtype_size(dtype) != 0 && dtypes[dtype].folds[0] != NULL;
}

hccl_reduction hccl_reduction_of(HcclDataType dtype, HcclReduceOp op) {
    hccl_reduction r = {dtypes[dtype].size, dtypes[dtype].folds[op], NULL, NULL, NULL};
    bool f16 = dtype == HCCL_DATA_TYPE_FP16;
    if (op > HCCL_REDUCE_PROD || !(f16 || dtype == HCCL_DATA_TYPE_BFP16)) return r;
    r.store = f16 ? f16_widen : bf16_widen;
    r.narrow = f16 ? f16_narrow : bf16_narrow;
    if (op == HCCL_REDUCE_SUM) {
        r.add = f16 ? f16_add : bf16_add;
    } else {
        r.add = f16 ? f16_multiply : bf16_multiply;
    }
    return r;
}
