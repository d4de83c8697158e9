/* L2 runtime: the pattern of a recurring step, read off the sizes that are asked for.
 *
 * A training step, a time step or a request served asks for the same sizes in the same
 * order every time. Requests are compared with those one period earlier; when one
 * differs, the period becomes the lag at which the longest stretch of the latest requests
 * was asked for before. Once a whole period has matched (at the end of the second pass)
 * the most that was in use at once during it is what every further pass will need. The
 * pool then gets what is missing in one piece instead of one device call a request.
 */
#ifndef ASN_RUNTIME_MEMORY_PATTERN_H
#define ASN_RUNTIME_MEMORY_PATTERN_H

#include <stdint.h>

enum { ASN_PATTERN_LONGEST = 512 }; /* requests of a step; longer ones go unseen */

typedef struct {
    uint64_t count;       /* requests so far */
    uint64_t period, run; /* requests; how many in a row matched those a period before */
    int64_t need;         /* of the whole step, once it is known */
    int64_t bytes[2 * ASN_PATTERN_LONGEST], in_use[ASN_PATTERN_LONGEST];
} asn_pattern;

/* A request, with the bytes in use once it is served. */
void asn_pattern_note(asn_pattern *p, int64_t bytes, int64_t in_use);
/* The most that a pass of the recurring step has in use, bytes; 0: no step recurs. */
int64_t asn_pattern_need(const asn_pattern *p);

#endif
