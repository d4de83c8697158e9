/* CPU device, private to the fused engine: programs over operands that lie across
 * (fused_tiles.c). */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_TILES_H
#define ASN_DEVICE_CPU_FUSED_FUSED_TILES_H

#include "device/cpu/fused/program.h"

/* Runs a plan without reductions, if one of its inputs lies across the others; false: it
 * does not, and nothing was done. base: as of asn_prepared_run_at. fp_flags: NULL, or has
 * the ACLNNX_FP_* raised or-ed in. After true the plan's strides are those of the
 * scratch, so it is not to be run again. */
bool asn_tiles_run(asnd_plan *plan, char *const *base, uint32_t *fp_flags);

#endif
