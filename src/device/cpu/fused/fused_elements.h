/* CPU device, private to the fused engine: programs without reductions
 * (fused_elements.c). */
#ifndef ASN_DEVICE_CPU_FUSED_FUSED_ELEMENTS_H
#define ASN_DEVICE_CPU_FUSED_FUSED_ELEMENTS_H

#include "device/cpu/fused/block.h"

/* How a plan's elements are shared out: the split dimension (0: pieces of rows, 1: groups
 * of whole rows) in units of `step`. */
typedef struct {
    const asnd_plan *plan;
    char *const *base; /* of a run (asn_prepared_run_at) */
    int split;
    int64_t block, step, units_per_line, units, units_per_chunk, chunks;
    double work_ns;      /* of all */
    uint32_t flags;      /* floating-point exceptions raised, ACLNNX_FP_* */
    bool single;         /* one loop over operands as they lie: */
    uint8_t argument[4]; /* they, the result first */
} asnd_elements;

/* After asn_plan_space: places the plan's values, looks for its code. The caller detaches
 * it after the last run. */
void asn_elements_prepare(asnd_elements *e, asnd_plan *plan);
/* base: as of asn_prepared_run_at. fp_flags: NULL, or has the ACLNNX_FP_* raised or-ed
 * in.
 */
void asn_elements_run(const asnd_elements *prepared, char *const *base,
                      uint32_t *fp_flags);

#endif
