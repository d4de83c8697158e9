/* L1 random: the loops that differ by instruction set: one table, filled once per process
 * (loops.c has a row per set). NULL: none, the engine's own steps in C do it.
 */
#ifndef ASN_RANDOM_LOOPS_H
#define ASN_RANDOM_LOOPS_H

#include "random/bitgen.h"
#include "random/polar.h"

/* As many of n words, or numbers in [0, 1), of a Philox key's stream as whole vectors
 * give, from word `first` on, which is even; returns how many. */
typedef int64_t (*asn_philox_fill)(uint64_t key, uint64_t first, int64_t n, void *out);

/* As many of the next n words, or numbers, of ASN_PCG64 with multiplier m as vectors
 * give; n >= ASN_PCG64_LEAST. Returns how many. */
typedef int64_t (*asn_pcg64_fill)(asn_bitgen *g, unsigned __int128 m, int64_t n,
                                  void *out);
enum { ASN_PCG64_LEAST = 16 };

typedef struct {
    asn_philox_fill philox_words, philox_doubles; /* or NULL */
    asn_pcg64_fill pcg64_words, pcg64_doubles;    /* or NULL */
    /* The words i, i + 1, ... below n of ASN_PCG64, in fours; returns where it ends. */
    int64_t (*pcg64_fours)(asn_bitgen *g, int64_t i, int64_t n, uint64_t *out);
    /* The numbers in [0, 1) that words make. */
    void (*units)(int64_t n, const uint64_t *words, double *out);
    /* See polar.h. */
    void (*polar_split)(asn_polar *to, const double *uniform, int64_t pairs);
    void (*polar_join)(const asn_polar *from, double *normal, int64_t pairs);
} asn_random_loops;

/* Sets the table up and returns it; thread-safe. */
const asn_random_loops *asn_random_loops_set_up(void) __attribute__((cold));
/* NULL until then. */
extern const asn_random_loops *asn_random_table;

static inline const asn_random_loops *asn_random_loops_get(void) {
    const asn_random_loops *loops = __atomic_load_n(&asn_random_table, __ATOMIC_ACQUIRE);
    return __builtin_expect(loops != NULL, 1) ? loops : asn_random_loops_set_up();
}

/* What the rows are made of. */
int64_t asn_pcg64_fours_baseline(asn_bitgen *g, int64_t i, int64_t n, uint64_t *out);
void asn_units_baseline(int64_t n, const uint64_t *words, double *out);
void asn_polar_split_baseline(asn_polar *to, const double *uniform, int64_t pairs);
void asn_polar_join_baseline(const asn_polar *from, double *normal, int64_t pairs);
#if defined(__x86_64__)
int64_t asn_philox_words_avx2(uint64_t key, uint64_t first, int64_t n, void *out);
int64_t asn_philox_doubles_avx2(uint64_t key, uint64_t first, int64_t n, void *out);
int64_t asn_philox_words_avx512(uint64_t key, uint64_t first, int64_t n, void *out);
int64_t asn_philox_doubles_avx512(uint64_t key, uint64_t first, int64_t n, void *out);
int64_t asn_pcg64_words_ifma(asn_bitgen *g, unsigned __int128 m, int64_t n, void *out);
int64_t asn_pcg64_doubles_ifma(asn_bitgen *g, unsigned __int128 m, int64_t n, void *out);
int64_t asn_pcg64_fours_bmi2(asn_bitgen *g, int64_t i, int64_t n, uint64_t *out);
void asn_units_avx2(int64_t n, const uint64_t *words, double *out);
void asn_polar_split_avx2(asn_polar *to, const double *uniform, int64_t pairs);
void asn_polar_join_avx2(const asn_polar *from, double *normal, int64_t pairs);
#endif

#endif
