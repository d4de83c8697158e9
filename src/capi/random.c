/* L3 C binding: random numbers (random.h). Numbers are drawn on the host, which is what
 * makes them NumPy's: the same engine, seed and order of calls give the same bits as
 * numpy.random.Generator.
 *
 * A draw is a description (asn_draw, a law, an order) and a function that fills memory by
 * it; asn_capi_drawn makes the array and fills it, or in a capture writes the description
 * down, so that each run draws anew. A capture holds the generator as long as its graph
 * lives (holders). A generator has no lock: one thread at a time, as NumPy says of its
 * bit generators.
 *
 * Every draw makes a new row-major array on the host's side, whatever the device: the
 * order of elements is the order of numbers, as in NumPy.
 */
#include "capi/capi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "capi/rng.h"
#include "random/draw.h"

struct asnp_rng {
    asn_bitgen *engine; /* owns; 16-byte aligned: it holds 128-bit numbers */
    int holders;        /* the program, and graphs that draw from it */
};

enum { POOL_WORDS = 4, TWISTER_WORDS = 624 };

/* As numpy.random's bit generators seed themselves from a SeedSequence of one integer:
 * one word of entropy where the upper half is 0, else two. MT19937's first word is fixed
 * by its authors' initialisation. */
static void seed(asn_bitgen *g, asn_bitgen_kind kind, uint64_t entropy) {
    /* SeedSequence takes an integer as words of 32 bits, the lowest first. */
    const uint32_t words[2] = {(uint32_t)entropy, (uint32_t)(entropy >> 32)};
    const uint64_t counter[4] = {0};
    uint32_t pool[POOL_WORDS], drawn[TWISTER_WORDS];
    uint64_t wide[POOL_WORDS];
    asn_seed_mix(words, words[1] ? 2 : 1, pool, POOL_WORDS);
    asn_seed_generate(pool, POOL_WORDS, drawn, TWISTER_WORDS);
    memcpy(wide, drawn, sizeof wide);
    switch (kind) {
    case ASN_MT19937:
        g->kind = kind;
        memcpy(g->mt.key, drawn, sizeof g->mt.key);
        g->mt.key[0] = 0x80000000u;
        g->mt.pos = TWISTER_WORDS - 1;
        return;
    case ASN_PHILOX4X64: asn_philox4x64_seed(g, counter, wide); return;
    case ASN_SFC64: asn_sfc64_seed(g, wide); return;
    default: asn_pcg64_seed(g, kind, wide);
    }
}

/* The engine lies apart, since 128-bit numbers need an alignment that malloc need not
 * give. */
asnp_status asnp_rng_new(const char *bit_generator, uint64_t entropy, asnp_rng **out) {
    static const struct {
        const char *name;
        asn_bitgen_kind kind;
    } kinds[] = {{"PCG64", ASN_PCG64},
                 {"PCG64DXSM", ASN_PCG64DXSM},
                 {"MT19937", ASN_MT19937},
                 {"Philox", ASN_PHILOX4X64},
                 {"SFC64", ASN_SFC64}};
    NEED(bit_generator);
    NEED(out);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].name, bit_generator) != 0) continue;
        /* Handle and engine, both or none. */
        asnp_rng *g = asn_malloc(sizeof *g);
        if (!g) return ASN_ERR_MEMORY;
        size_t bytes = (sizeof *g->engine + 15) & ~(size_t)15;
        g->engine = asn_alloc_fault() ? NULL : aligned_alloc(16, bytes);
        if (!g->engine) {
            asn_free(g);
            return asn_error_set(ASN_ERR_MEMORY, "rng_new: no memory for %zu bytes",
                                 bytes);
        }
        memset(g->engine, 0, bytes);
        seed(g->engine, kinds[i].kind, entropy);
        g->holders = 1;
        *out = g;
        return ASNP_OK;
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "there is no bit generator '%s'; there are PCG64, PCG64DXSM, "
                         "MT19937, Philox and SFC64",
                         bit_generator);
}

/* The last holder ends it: the program, or a graph. */
void asnp_rng_release(asnp_rng *g) {
    if (!g || __atomic_sub_fetch(&g->holders, 1, __ATOMIC_ACQ_REL)) return;
    free(g->engine);
    asn_free(g);
}

/* From any thread: a graph may be released by another one. */
static void hold(void *g) {
    __atomic_add_fetch(&((asnp_rng *)g)->holders, 1, __ATOMIC_RELAXED);
}

static void let_go(void *g) {
    asnp_rng_release(g);
}

/* In a capture `what` is copied, and the generator held (keeper). */
asn_status asn_capi_drawn(asnp_rng *g, asn_dtype dtype, int32_t ndim,
                          const int64_t *shape, asn_filling fill, const void *what,
                          size_t size, asnp_array **out) {
    asn_array made;
    NEED(g);
    NEED(out);
    ASN_TRY(asn_capi_shape(ndim, shape));
    ASN_TRY(asn_array_new(&made, dtype, ndim, shape, 'C'));
    const asn_filler source = {.fill = fill,
                               .engine = g->engine,
                               .what = what,
                               .size = size,
                               .keeper = {g, hold, let_go, NULL, NULL}};
    asn_status status = asn_array_fill(&made, &source);
    if (status) asn_array_fini(&made);
    return asn_capi_wrap(status, &made, out);
}

/* Standard numbers of float32 or float64, by the engine's own fills for each, as
 * NumPy's. */
static asnp_status floats(asnp_rng *g, asn_draw_kind kind, asnp_dtype dtype, int32_t ndim,
                          const int64_t *shape, asnp_array **out) {
    asn_draw d = {.kind = kind};
    NEED(g);
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d.dtype));
    if (d.dtype != ASN_F64 && d.dtype != ASN_F32)
        return asn_error_set(ASN_ERR_TYPE,
                             "random numbers of %s; they may be of float64 or float32",
                             asn_dtype_name(d.dtype));
    return asn_capi_drawn(g, d.dtype, ndim, shape, asn_draw_fill, &d, sizeof d, out);
}

/* 53 bits for float64, 24 for float32. */
asnp_status asnp_rng_random(asnp_rng *g, asnp_dtype dtype, int32_t ndim,
                            const int64_t *shape, asnp_array **out) {
    return floats(g, ASN_DRAW_UNIFORM, dtype, ndim, shape, out);
}

/* By the ziggurat, as numpy.random.Generator draws them. */
asnp_status asnp_rng_standard_normal(asnp_rng *g, asnp_dtype dtype, int32_t ndim,
                                     const int64_t *shape, asnp_array **out) {
    return floats(g, ASN_DRAW_NORMAL, dtype, ndim, shape, out);
}

/* low + (high - low) * u, which rounding may bring to high. */
asnp_status asnp_rng_uniform(asnp_rng *g, double low, double high, int32_t ndim,
                             const int64_t *shape, asnp_array **out) {
    asn_draw d = {
        .kind = ASN_DRAW_UNIFORM, .dtype = ASN_F64, .start = low, .stretch = high - low};
    if (!isfinite(d.stretch))
        return asn_error_set(ASN_ERR_OVERFLOW, "high - low range exceeds valid bounds");
    if (signbit(d.stretch))
        return asn_error_set(ASN_ERR_VALUE, "uniform: high (%g) is below low (%g)", high,
                             low);
    return asn_capi_drawn(g, ASN_F64, ndim, shape, asn_draw_fill_scaled, &d, sizeof d,
                          out);
}

/* loc + scale * z; a scale of -0.0 is refused, as NumPy does. */
asnp_status asnp_rng_normal(asnp_rng *g, double loc, double scale, int32_t ndim,
                            const int64_t *shape, asnp_array **out) {
    asn_draw d = {
        .kind = ASN_DRAW_NORMAL, .dtype = ASN_F64, .start = loc, .stretch = scale};
    if (signbit(scale))
        return asn_error_set(ASN_ERR_VALUE, "normal: scale is %g; it may not be negative",
                             scale);
    return asn_capi_drawn(g, ASN_F64, ndim, shape, asn_draw_fill_scaled, &d, sizeof d,
                          out);
}

/* Integers from `first` to `last`. */
static asnp_status bounded(asnp_rng *g, int64_t first, int64_t last, asn_dtype dtype,
                           int32_t ndim, const int64_t *shape, asnp_array **out) {
    asn_draw d = {.kind = ASN_DRAW_BOUNDED,
                  .dtype = dtype,
                  .offset = (uint64_t)first,
                  .range = (uint64_t)last - (uint64_t)first};
    return asn_capi_drawn(g, dtype, ndim, shape, asn_draw_fill, &d, sizeof d, out);
}

/* last is included from here on, which an int64 always can hold. */
asnp_status asnp_rng_integers(asnp_rng *g, int64_t low, int64_t high, int32_t endpoint,
                              asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                              asnp_array **out) {
    asn_dtype d;
    NEED(g);
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    if (!asn_is_integer(d) && d != ASN_BOOL)
        return asn_error_set(ASN_ERR_TYPE,
                             "integers of %s; they may be of an integer dtype or bool",
                             asn_dtype_name(d));
    if (endpoint ? low > high : low >= high)
        return asn_error_set(ASN_ERR_VALUE, "integers: low (%lld) %s high (%lld)",
                             (long long)low, endpoint ? ">" : ">=", (long long)high);
    int64_t last = endpoint ? high : high - 1;
    if (!asn_dtype_holds(d, low, last))
        return asn_error_set(ASN_ERR_VALUE,
                             "integers: %lld to %lld are out of bounds for %s",
                             (long long)low, (long long)last, asn_dtype_name(d));
    return bounded(g, low, last, d, ndim, shape, out);
}

/* ---- orders */

/* A permutation (of n, from position `first` on) or a sample of n. */
typedef struct {
    bool masked, shuffled;
    int64_t n, first;
} order;

/* n positions in order, shuffled from the end down to `first`. */
static asn_status fill_order(void *engine, const void *what, int64_t n, void *out) {
    const order *o = what;
    int64_t *at = out;
    for (int64_t i = 0; i < n; i++)
        at[i] = i;
    asn_shuffle(engine, o->masked, n, o->first, at);
    return ASN_OK;
}

/* k distinct numbers below o->n. */
static asn_status fill_sample(void *engine, const void *what, int64_t k, void *out) {
    const order *o = what;
    return asn_sample(engine, o->n, k, o->shuffled, out);
}

/* By masked rejection, as Generator.permutation draws. */
asnp_status asnp_rng_permutation(asnp_rng *g, int64_t n, asnp_array **out) {
    const order o = {.masked = true, .n = n, .first = 1};
    if (n < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "permutation: n is %lld; it may not be negative",
                             (long long)n);
    return asn_capi_drawn(g, ASN_I64, 1, &n, fill_order, &o, sizeof o, out);
}

/* A permutation of positions and a take: one draw for each sub-array, not for each
 * element. */
asnp_status asnp_rng_shuffle(asnp_rng *g, asnp_array *a, int32_t axis) {
    asnp_array *at = NULL, *moved = NULL;
    int which;
    NEED(g);
    NEED(a);
    ASN_TRY(asn_capi_writeable(a));
    if (asnp_ndim(a) == 0)
        return asn_error_set(ASN_ERR_VALUE, "shuffle: a 0-d array has no axis");
    ASN_TRY(asn_axis_normalize(axis, asnp_ndim(a), &which));
    /* Nothing is drawn for it, and nothing would move. */
    if (asnp_size(a) == 0) return ASNP_OK;
    asnp_status status = asnp_rng_permutation(g, asnp_shape(a)[which], &at);
    if (!status) status = asnp_take(a, at, which, ASNP_RAISE, &moved);
    if (!status) status = asnp_assign(a, asnp_of(moved));
    asnp_release(at);
    asnp_release(moved);
    return status;
}

/* The end of a shuffle, which for many of a large population costs less than Floyd's
 * method; as numpy.random chooses. */
static asnp_status tail_of_shuffle(asnp_rng *g, int64_t n, int64_t count,
                                   asnp_array **out) {
    const order o = {.n = n, .first = n - count > 1 ? n - count : 1};
    asnp_array *all = NULL, *tail = NULL;
    asnp_status status =
        asn_capi_drawn(g, ASN_I64, 1, &n, fill_order, &o, sizeof o, &all);
    if (!status) status = asnp_slice(all, 0, n - count, ASNP_END, 1, &tail);
    if (!status) status = asnp_copy(tail, out);
    asnp_release(all);
    asnp_release(tail);
    return status;
}

/* LARGE, CUTOFF: numpy.random's, on which the stream of numbers depends. */
asnp_status asnp_rng_choice(asnp_rng *g, int64_t n, int64_t count, int32_t replace,
                            asnp_array **out) {
    enum { LARGE = 10000, CUTOFF = 50 };
    const order o = {.n = n, .shuffled = true};
    if (n < 1 || count < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "choice: %lld of %lld; there must be 0 or more of 1 or more",
                             (long long)count, (long long)n);
    if (replace) return bounded(g, 0, n - 1, ASN_I64, 1, &count, out);
    if (count > n)
        return asn_error_set(ASN_ERR_VALUE,
                             "choice: %lld of %lld without replacement; there may be no "
                             "more than there are",
                             (long long)count, (long long)n);
    if (n > LARGE && count > n / CUTOFF) return tail_of_shuffle(g, n, count, out);
    return asn_capi_drawn(g, ASN_I64, 1, &count, fill_sample, &o, sizeof o, out);
}
