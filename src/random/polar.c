/* L1 random: Box and Muller's steps around the elementary functions (see polar.h). With
 * AVX2 the same loops in its vectors: half of the time is theirs otherwise.
 */
#include "random/polar.h"

#include <math.h>

#include "random/loops.h"

/* 1 - u is in (0, 1], whose logarithm is finite. */
static inline __attribute__((always_inline)) void split(asn_polar *b, const double *x,
                                                        int64_t pairs) {
    for (int64_t j = 0; j < pairs; j++) {
        b->r[j] = 1 - x[2 * j];
        b->angle[j] = 2 * 3.14159265358979323846 * x[2 * j + 1];
    }
}

/* r: logarithms by now. */
static inline __attribute__((always_inline)) void join(const asn_polar *b, double *x,
                                                       int64_t pairs) {
    for (int64_t j = 0; j < pairs; j++) {
        double r = sqrt(-2 * b->r[j]);
        x[2 * j] = r * b->cosine[j];
        x[2 * j + 1] = r * b->sine[j];
    }
}

void asn_polar_split_baseline(asn_polar *to, const double *uniform, int64_t pairs) {
    split(to, uniform, pairs);
}

void asn_polar_join_baseline(const asn_polar *from, double *normal, int64_t pairs) {
    join(from, normal, pairs);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) void
asn_polar_split_avx2(asn_polar *to, const double *uniform, int64_t pairs) {
    split(to, uniform, pairs);
}

__attribute__((target("avx2"))) void asn_polar_join_avx2(const asn_polar *from,
                                                         double *normal, int64_t pairs) {
    join(from, normal, pairs);
}
#endif

void asn_polar_split(asn_polar *to, const double *uniform, int64_t pairs) {
    asn_random_loops_get()->polar_split(to, uniform, pairs);
}

void asn_polar_join(const asn_polar *from, double *normal, int64_t pairs) {
    asn_random_loops_get()->polar_join(from, normal, pairs);
}
