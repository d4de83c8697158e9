/* CPU device, collective communication: the reductions, for every processor. */
#define TABLE hccl_folds_baseline
#include "device/hccl/folds.inc"
