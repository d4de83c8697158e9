/* AsNumpy in C: random numbers, NumPy's streams bit for bit. Include asnumpy/asnumpy.h.
 *
 * asnp_rng_new("PCG64", 42, &g) followed by asnp_rng_random gives the numbers of
 * numpy.random.default_rng(42).random. A generator is used by one thread at a time. In a
 * capture (graph.h) numbers are drawn again by each run.
 */
#ifndef ASNUMPY_RANDOM_H_
#define ASNUMPY_RANDOM_H_

#include "asnumpy/types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct asnp_rng asnp_rng;

/* bit_generator: "PCG64" (NumPy's default), "PCG64DXSM", "MT19937", "Philox" or "SFC64";
 * seeded as numpy.random.Generator(bit_generator(seed)). VALUE: another name. */
ASNUMPY_API asnp_status asnp_rng_new(const char *bit_generator, uint64_t seed,
                                     asnp_rng **out);
/* NULL is fine. A graph that draws from it keeps it. */
ASNUMPY_API void asnp_rng_release(asnp_rng *g);

/* Uniform in [0, 1); dtype float64 or float32 (TYPE). */
ASNUMPY_API asnp_status asnp_rng_random(asnp_rng *g, asnp_dtype dtype, int32_t ndim,
                                        const int64_t *shape, asnp_array **out);
/* float64 in [low, high). OVERFLOW: high - low is not finite. VALUE: high < low. */
ASNUMPY_API asnp_status asnp_rng_uniform(asnp_rng *g, double low, double high,
                                         int32_t ndim, const int64_t *shape,
                                         asnp_array **out);
/* Of mean 0 and deviation 1; dtype float64 or float32 (TYPE). */
ASNUMPY_API asnp_status asnp_rng_standard_normal(asnp_rng *g, asnp_dtype dtype,
                                                 int32_t ndim, const int64_t *shape,
                                                 asnp_array **out);
/* float64. VALUE: scale is negative. */
ASNUMPY_API asnp_status asnp_rng_normal(asnp_rng *g, double loc, double scale,
                                        int32_t ndim, const int64_t *shape,
                                        asnp_array **out);
/* Integers in [low, high), or with endpoint 1 in [low, high]; dtype int8 to uint64 or
 * bool (TYPE). VALUE: no such integer, or the dtype does not have the bounds. */
ASNUMPY_API asnp_status asnp_rng_integers(asnp_rng *g, int64_t low, int64_t high,
                                          int32_t endpoint, asnp_dtype dtype,
                                          int32_t ndim, const int64_t *shape,
                                          asnp_array **out);
/* A distribution of numpy.random.Generator by its name ("gamma", "poisson", "binomial",
 * ...; those with one number a parameter), with all of NumPy's parameters in NumPy's
 * order; those that are integers there are whole numbers here. float64, or int64 where
 * counts are drawn. VALUE: another name, another number of parameters, or one outside its
 * range. UNSUPPORTED: the library was built without NumPy. */
ASNUMPY_API asnp_status asnp_rng_distribution(asnp_rng *g, const char *name,
                                              int32_t count, const double *parameters,
                                              int32_t ndim, const int64_t *shape,
                                              asnp_array **out);
/* 0 ... n - 1 in random order, int64. VALUE: n is negative. */
ASNUMPY_API asnp_status asnp_rng_permutation(asnp_rng *g, int64_t n, asnp_array **out);
/* Shuffles the slices of `a` along an axis, in place. VALUE: read-only, 0-d. */
ASNUMPY_API asnp_status asnp_rng_shuffle(asnp_rng *g, asnp_array *a, int32_t axis);
/* `count` of 0 ... n - 1 as int64: with replacement (replace 1), or distinct ones in
 * random order. VALUE: n < 1, or more than n without replacement. */
ASNUMPY_API asnp_status asnp_rng_choice(asnp_rng *g, int64_t n, int64_t count,
                                        int32_t replace, asnp_array **out);

#ifdef __cplusplus
}
#endif
#endif
