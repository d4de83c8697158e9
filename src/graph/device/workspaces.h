/* L2 graph: the workspaces that operators asked for, by operator, dtypes and shapes.
 *
 * On an NPU, and in strict runs of the CPU device, a first phase may ask for memory that
 * its second phase works in. While recording is on, each size that is asked for is kept:
 * one entry for an operator with operands of these dtypes and shapes. Entries stay until
 * the process ends. All of it under the library's lock.
 */
#ifndef ASN_GRAPH_DEVICE_WORKSPACES_H
#define ASN_GRAPH_DEVICE_WORKSPACES_H

#include "array/layout.h"

typedef struct {
    const char *name;      /* "Matmul" */
    const char *operands;  /* "float32(2,3) float32(3,4) -> float32(2,4)" */
    uint64_t bytes, calls; /* the most that was asked for; how often it was */
} asn_workspace;

extern bool asn_workspaces_on;

/* A call of an operator that asks for `bytes`; bit i of `written`: operand i is. Of what
 * memory runs out for, nothing is kept. */
void asn_workspaces_note(const char *name, uint64_t bytes, int n,
                         const asn_layout *const *operands, uint64_t written);
/* Entry i, in the order of first calls; false: there are no more. */
bool asn_workspaces_get(int64_t i, asn_workspace *out);

#endif
