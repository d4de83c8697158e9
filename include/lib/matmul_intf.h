/* Matmul under the name that programs include: see ascendc/matmul.h. */
#ifndef LIB_MATMUL_INTF_H_
#define LIB_MATMUL_INTF_H_
#include "ascendc/matmul.h"
#endif
