/* CPU device, operators: what segments.c asks of a single loop (direct.c). */
#ifndef ASN_DEVICE_OPAPI_CORE_LOOP_ITEM_H
#define ASN_DEVICE_OPAPI_CORE_LOOP_ITEM_H

#include <stdbool.h>

#include "aclnn/aclnnx.h"

/* Bytes of an element that a loop folds; 0: it folds nothing. */
int asnop_loop_item(const aclnnxLoop *loop);
/* Whether the operation raises floating-point exceptions of its own. */
bool asnop_loop_raises(const aclnnxLoop *loop);

#endif
