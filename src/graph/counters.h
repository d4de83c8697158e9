/* L2 graph: how often the engine did what, counted where it is done, with the library's
 * lock held (asn_engine_get_stats tells). */
#ifndef ASN_GRAPH_COUNTERS_H
#define ASN_GRAPH_COUNTERS_H

#include <stdint.h>

/* Since the process began: nodes recorded, operations run at once, launches of programs
 * and of single operators, plans found and made, operations that fell back. */
extern struct asn_counters {
    uint64_t recorded, eager, programs, single_ops, plan_hits, plan_misses, fallbacks;
} asn_counters;

#endif
