/* CPU device: what the generated loops and the loop templates share. */
#ifndef ASN_DEVICE_CPU_LOOP_H
#define ASN_DEVICE_CPU_LOOP_H

#include "device/cpu/kernels.h"
#include "device/cpu/scalar.h"

/* The iterations are independent: dst is an input exactly, or overlaps none. */
#if defined(__clang__)
#define ASN_IVDEP _Pragma("clang loop vectorize(assume_safety)")
#else
#define ASN_IVDEP _Pragma("GCC ivdep")
#endif

#endif
