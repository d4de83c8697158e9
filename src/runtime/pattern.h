/* L2 runtime: the pattern of a recurring step, read off the sizes that are asked for.
 *
 * A training step, a time step or a request served asks for the same sizes in the same
 * order every time. Requests are compared with those one period earlier, the period being
 * the distance to the last request of the same class; once a whole period has matched (at
 * the end of the second pass) the most that was in use at once during it is what every
 * further pass will need. The pool then gets what is missing in one piece instead of one
 * device call a request, and does not give up memory that the next pass will want.
 */
#ifndef ASN_RUNTIME_PATTERN_H
#define ASN_RUNTIME_PATTERN_H

#include <stdint.h>

#include "runtime/segment.h"

enum { ASN_PATTERN_LONGEST = 1024 }; /* requests of a step; longer ones go unseen */

typedef struct {
    uint64_t count;                  /* requests so far */
    uint64_t period, run;            /* requests; how many matched in a row */
    int64_t need;                    /* of the whole step, once it is known */
    uint64_t last[ASN_SIZE_CLASSES]; /* number of the last request of a class, from 1 */
    uint8_t classes[ASN_PATTERN_LONGEST];
    int64_t in_use[ASN_PATTERN_LONGEST];
} asn_pattern;

/* A request of a class, with the bytes in use once it is served. */
void asn_pattern_note(asn_pattern *p, int c, int64_t in_use);
/* The most that a pass of the recurring step has in use, bytes; 0: no step recurs. */
int64_t asn_pattern_need(const asn_pattern *p);

#endif
