/* CPU device, collective communication: the reductions, with AVX2 and F16C. */
#define TABLE hccl_folds_avx2
#include "device/hccl/folds.inc"
