/* Ascend C for the host's compiler (C++17): kernels written for an NPU run on the CPU
 * device, a block per task of its thread pool, with the sizes of the unified buffer, the
 * bounds of copies and the order of queues checked. launch.h says how one is launched,
 * docs/guide/ascendc.md what there is and what not. */
#ifndef KERNEL_OPERATOR_H_
#define KERNEL_OPERATOR_H_

#include "ascendc/arithmetic.h"
#include "ascendc/atomic.h"
#include "ascendc/compare.h"
#include "ascendc/convert.h"
#include "ascendc/copy.h"
#include "ascendc/core.h"
#include "ascendc/elementary.h"
#include "ascendc/half.h"
#include "ascendc/mask.h"
#include "ascendc/queue.h"
#include "ascendc/reduce.h"
#include "ascendc/sync.h"
#include "ascendc/tensor.h"
#endif
