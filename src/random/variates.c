/* L1 random: the table of distributions: finding a row, checking parameters, filling.
 *
 * Each row of variates.def becomes one loop; the parameters' steps are 0 for a number and
 * 1 for an array.
 *
 * A row is found by its name once for a call; the loop then runs without a switch.
 * Parameters are checked before anything is drawn, by the row's letters, in NumPy's
 * words.
 */
#include <math.h>
#include <string.h>

#include <numpy/random/distributions.h>

#include "random/variates.h"
#include "random/variates_bits.h"
#include "random/variates_legacy.h"
#include "random/variates_runs.h"

/* ---- bits */

/* The next 64-bit word, of any engine but the twister. */
static uint64_t wide64(void *state) {
    asn_words *w = state;
    if (w->at == w->filled) asn_words_refill(w);
    return w->wide[w->at++];
}

/* 53 bits of it, in [0, 1). */
static double wide_double(void *state) {
    return (double)(int64_t)(wide64(state) >> 11) * 0x1p-53;
}

static uint64_t twister64(void *w) {
    return asn_words_next64(w);
}

static double twister_double(void *w) {
    return asn_words_double(w);
}

static uint32_t next32(void *w) {
    return asn_words_next32(w);
}

/* A bitgen_t of numpy.random over the buffer; valid until asn_bits_end. */
bitgen_t *asn_bits_begin(asn_bits *s, asn_bitgen *g, int64_t expected) {
    bool twister = g->kind == ASN_MT19937;
    asn_words_begin(&s->words, g, expected);
    s->bits = (bitgen_t){.state = &s->words,
                         .next_uint64 = twister ? twister64 : wide64,
                         .next_uint32 = next32,
                         .next_double = twister ? twister_double : wide_double,
                         .next_raw = twister ? twister64 : wide64};
    return &s->bits;
}

/* ---- one loop per row */

/* Parameter k of element i. */
#define D(k) (((const double *)p[k])[i * step[k]])
#define L(k) (((const int64_t *)p[k])[i * step[k]])
#define FILL(name, legacy)                                                               \
    static void fill_##name##_##legacy(asn_bitgen *g, int64_t n, const void *const *p,   \
                                       const int64_t *step, void *results)
#define VARIATE(legacy, name, result, kinds, checks, params, expression)                 \
    FILL(name, legacy) {                                                                 \
        asn_bits bits;                                                                   \
        result *out = results;                                                           \
        binomial_t binomial = {0};                                                       \
        bitgen_t *b = asn_bits_begin(&bits, g, n);                                       \
        (void)p, (void)step, (void)binomial;                                             \
        for (int64_t i = 0; i < n; i++)                                                  \
            out[i] = expression;                                                         \
        asn_bits_end(&bits);                                                             \
    }
/* In runs, where the parameters are numbers. */
#define RUN(legacy, name, result, kinds, checks, params, expression, run)                \
    FILL(name, legacy) {                                                                 \
        asn_bits bits;                                                                   \
        result *out = results;                                                           \
        asn_words *w = &bits.words;                                                      \
        bitgen_t *b = asn_bits_begin(&bits, g, n);                                       \
        bool runs = all_zero(sizeof(kinds) - 1, step);                                   \
        (void)p;                                                                         \
        for (int64_t i = 0; i < n; i++) {                                                \
            if (runs) i += run;                                                          \
            if (i < n) out[i] = expression;                                              \
        }                                                                                \
        asn_bits_end(&bits);                                                             \
    }

/* Whether every parameter is one number: only then does a run know it. */
static bool all_zero(size_t n, const int64_t *step) {
    for (size_t k = 0; k < n; k++)
        if (step[k]) return false;
    return true;
}

#include "random/variates.def"
#undef VARIATE
#undef RUN

#define NONE               {NULL}
#define NAMES(...)         {__VA_ARGS__}
#define IS_INTEGER(result) _Generic((result)0, int64_t: true, default: false)
#define ENTRY(legacy, name, result, kinds, checks, ...)                                  \
    {#name, legacy, sizeof(kinds) - 1, IS_INTEGER(result),                               \
     kinds, checks, __VA_ARGS__,       fill_##name##_##legacy},
#define VARIATE(legacy, name, result, kinds, checks, params, expression)                 \
    ENTRY(legacy, name, result, kinds, checks, params)
#define RUN(legacy, name, result, kinds, checks, params, expression, run)                \
    ENTRY(legacy, name, result, kinds, checks, params)
static const asn_variate rows[] = {
#include "random/variates.def"
};

/* Some names have two rows: Generator's and RandomState's. */
const asn_variate *asn_variate_find(const char *name, bool legacy) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((rows[i].legacy == 2 || rows[i].legacy == legacy) &&
            !strcmp(rows[i].name, name))
            return &rows[i];
    return NULL;
}

/* ---- parameters */

/* Above it a Poisson variate may not fit int64: max - 10 sqrt(max), as numpy.random. */
static double rate_max(void) {
    return 0x1p63 - sqrt(0x1p63) * 10;
}

/* Whether x passes a check (variates.def). */
static bool allowed(char check, double x) {
    switch (check) {
    case '0': return isnan(x) || !signbit(x);
    case '+': return !(x <= 0);
    case '!': return x > 0;
    case 'p': return x >= 0 && x <= 1;
    case 'g': return x > 0 && x <= 1;
    case 'l': return x >= 0 && x < 1;
    case '1': return x > 1;
    case 'n': return x >= 1;
    case 'L': return x >= 0 && x <= rate_max();
    default: return true;
    }
}

/* NumPy's message for an x that does not. */
static const char *complaint(char check, double x) {
    switch (check) {
    case '0': return "%s < 0";
    case '+': return "%s <= 0";
    case '!': return isnan(x) ? "%s must not be NaN" : "%s <= 0";
    case 'p': return "%s < 0, %s > 1 or %s is NaN";
    case 'g': return "%s <= 0, %s > 1 or %s contains NaNs";
    case 'l': return "%s < 0, %s >= 1 or %s is NaN";
    case '1': return "%s <= 1 or %s is NaN";
    case 'n': return "%s < 1 or %s is NaN";
    default: return x >= 0 ? "%s value too large" : "%s < 0 or %s is NaN";
    }
}

const char *asn_variate_check(const asn_variate *v, int k, int64_t n,
                              const void *values) {
    char check = v->checks[k];
    for (int64_t i = 0; i < n; i++) {
        double x = v->kinds[k] == 'l' ? (double)((const int64_t *)values)[i]
                                      : ((const double *)values)[i];
        if (!allowed(check, x)) return complaint(check, x);
    }
    return NULL;
}

/* ---- what takes a float32 or a method */

void asn_fill_exponential(asn_bitgen *g, bool inverse, int64_t n, double *out) {
    asn_bits bits;
    bitgen_t *b = asn_bits_begin(&bits, g, n);
    if (inverse)
        random_standard_exponential_inv_fill(b, n, out);
    else
        random_standard_exponential_fill(b, n, out);
    asn_bits_end(&bits);
}

/* Two variates from each word. */
void asn_fill_exponential_float(asn_bitgen *g, bool inverse, int64_t n, float *out) {
    asn_bits bits;
    bitgen_t *b = asn_bits_begin(&bits, g, n / 2);
    if (inverse) {
        random_standard_exponential_inv_fill_f(b, n, out);
    } else {
        for (int64_t i = 0; i < n; i++) {
            i += asn_run_exponential_float(&bits.words, n - i, out + i);
            if (i < n) out[i] = random_standard_exponential_f(b);
        }
    }
    asn_bits_end(&bits);
}

void asn_fill_gamma_float(asn_bitgen *g, int64_t n, const float *shape, int64_t step,
                          float *out) {
    asn_bits bits;
    bitgen_t *b = asn_bits_begin(&bits, g, n);
    for (int64_t i = 0; i < n; i++)
        out[i] = random_standard_gamma_f(b, shape[i * step]);
    asn_bits_end(&bits);
}
