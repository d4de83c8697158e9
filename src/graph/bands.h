/* L2 graph: programs over one space that run together, band by band (bands.c). */
#ifndef ASN_GRAPH_BANDS_H
#define ASN_GRAPH_BANDS_H

#include "graph/plan.h"

/* How many programs of the plan, from `first` on, run together by bands of `*rows` rows;
 * 1: this one runs whole. */
int asn_bands_find(const asn_plan *plan, const asn_node *nodes, const bool *keep,
                   int first, int64_t *rows);
ASN_CHECK_RESULT asn_status asn_bands_run(const asn_program *programs, int num,
                                          const asn_node *nodes, int64_t rows);

#endif
