/* L1 random: normal numbers of uniform ones (Box and Muller, 1958), a block at a time:
 * what comes before the logarithm, the cosine and the sine, and what comes after. Those
 * are the caller's, who has them for vectors.
 */
#ifndef ASN_RANDOM_POLAR_H
#define ASN_RANDOM_POLAR_H

#include <stdint.h>

enum { ASN_POLAR_PAIRS = 256 };
typedef struct {
    double r[ASN_POLAR_PAIRS], angle[ASN_POLAR_PAIRS]; /* of pairs of uniform numbers */
    double cosine[ASN_POLAR_PAIRS], sine[ASN_POLAR_PAIRS]; /* of the angles */
} asn_polar;

/* r and angle of up to ASN_POLAR_PAIRS pairs. */
void asn_polar_split(asn_polar *to, const double *uniform, int64_t pairs);
/* The pairs of normal numbers; r holds logarithms by then. */
void asn_polar_join(const asn_polar *from, double *normal, int64_t pairs);

#endif
