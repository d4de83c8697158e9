/* L2 graph: floating-point exceptions of what is launched (fp.c): where programs report
 * them, and under whose name they are kept until the binding asks (engine.h). */
#ifndef ASN_GRAPH_FP_H
#define ASN_GRAPH_FP_H

#include <stdint.h>

/* Where programs report to; NULL while nobody asks for exceptions. */
uint32_t *asn_fp_sink(void);
/* After a launch: what it raised, if it raised something and nobody did before, is
 * `name`'s (static). */
void asn_fp_note(const char *name);
/* Adds exceptions (ACLNNX_FP_*) that an operation raised. */
void asn_fp_raise(uint32_t met, const char *name);

#endif
