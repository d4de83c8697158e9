/* CPU device, private to the fused engine: programs over operands that lie across
 * (fused_tiles.c). */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_TILES_H
#define ASN_DEVICE_CPU_FUSED_FUSED_TILES_H

#include "device/cpu/fused/program.h"

/* Runs a plan without reductions, if one of its inputs lies across the others; false: it
 * does not, and nothing was done. */
bool asn_tiles_run(asnd_plan *plan, char *const *base, uint32_t *fp_flags);

#endif
