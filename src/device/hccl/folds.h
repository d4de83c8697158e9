/* CPU device, collective communication: the loops of reductions, a table for each
 * instruction set (folds.inc), chosen among by reduce.c. */
#ifndef ASN_DEVICE_HCCL_FOLDS_H
#define ASN_DEVICE_HCCL_FOLDS_H

#include "device/hccl/internal.h"

/* By data type and operation. */
typedef struct {
    hccl_fold folds[HCCL_DATA_TYPE_INT128 + 1][HCCL_REDUCE_RESERVED];
    struct {
        hccl_widen store, fold[HCCL_REDUCE_PROD + 1];
        hccl_narrow narrow;
    } halves[2]; /* float16, bfloat16 */
} hccl_folds;

extern const hccl_folds hccl_folds_baseline, hccl_folds_avx2;

#endif
