/* CPU device, collective communication: reductions.
 *
 * Halves are added and multiplied in float32. Of two ranks the result is rounded once; of
 * more ranks the sum stays in float32 until the last one was added, so that it is rounded
 * once, too, however many there are.
 */
#include "device/hccl/folds.h"

#include "base/cpu.h"

static const size_t sizes[] = {
    [HCCL_DATA_TYPE_INT8] = 1,    [HCCL_DATA_TYPE_INT16] = 2,
    [HCCL_DATA_TYPE_INT32] = 4,   [HCCL_DATA_TYPE_FP16] = 2,
    [HCCL_DATA_TYPE_FP32] = 4,    [HCCL_DATA_TYPE_INT64] = 8,
    [HCCL_DATA_TYPE_UINT64] = 8,  [HCCL_DATA_TYPE_UINT8] = 1,
    [HCCL_DATA_TYPE_UINT16] = 2,  [HCCL_DATA_TYPE_UINT32] = 4,
    [HCCL_DATA_TYPE_FP64] = 8,    [HCCL_DATA_TYPE_BFP16] = 2,
    [HCCL_DATA_TYPE_INT128] = 16, [HCCL_DATA_TYPE_HIF8] = 1,
    [HCCL_DATA_TYPE_FP8E4M3] = 1, [HCCL_DATA_TYPE_FP8E5M2] = 1,
    [HCCL_DATA_TYPE_FP8E8M0] = 1,
};

/* Bytes of an element. */
size_t hccl_dtype_size(HcclDataType dtype) {
    return (size_t)dtype < sizeof sizes / sizeof *sizes ? sizes[dtype] : 0;
}

/* Kinds that are only moved have no loops. */
bool hccl_dtype_reduces(HcclDataType dtype) {
    return (unsigned)dtype <= HCCL_DATA_TYPE_INT128;
}

/* The loops for this processor, chosen once. */
static const hccl_folds *table(void) {
#if defined(__x86_64__)
    if (asn_cpu_isa() >= ASN_ISA_AVX2) return &hccl_folds_avx2;
#endif
    return &hccl_folds_baseline;
}

/* Halves also have the three loops of a sum that stays in float32. */
hccl_reduction hccl_reduction_of(HcclDataType dtype, HcclReduceOp op) {
    const hccl_folds *t = table();
    hccl_reduction r = {sizes[dtype], t->folds[dtype][op], NULL, NULL, NULL};
    bool f16 = dtype == HCCL_DATA_TYPE_FP16;
    if (op > HCCL_REDUCE_PROD || !(f16 || dtype == HCCL_DATA_TYPE_BFP16)) return r;
    r.store = t->halves[!f16].store;
    r.add = t->halves[!f16].fold[op];
    r.narrow = t->halves[!f16].narrow;
    return r;
}
