/* L1 random: what each instruction set has, and the choice among them (see loops.h).
 *
 * A level of the instruction set does not say everything: IFMA and BMI2 are asked for on
 * their own. Every loop of a column gives the same bits, so that the choice is seen in
 * time alone. */
#include "random/loops.h"

#include <pthread.h>

#include "base/cpu.h"

static const asn_random_loops rows[] = {
    [ASN_ISA_BASELINE] =
        {
            .philox_words = NULL,
            .philox_doubles = NULL,
            .pcg64_words = NULL,
            .pcg64_doubles = NULL,
            .pcg64_fours = asn_pcg64_fours_baseline,
            .units = asn_units_baseline,
            .polar_split = asn_polar_split_baseline,
            .polar_join = asn_polar_join_baseline,
        },
#if defined(__x86_64__)
    [ASN_ISA_AVX2] =
        {
            .philox_words = asn_philox_words_avx2,
            .philox_doubles = asn_philox_doubles_avx2,
            .pcg64_words = NULL,
            .pcg64_doubles = NULL,
            .pcg64_fours = asn_pcg64_fours_bmi2,
            .units = asn_units_avx2,
            .polar_split = asn_polar_split_avx2,
            .polar_join = asn_polar_join_avx2,
        },
    [ASN_ISA_AVX512] =
        {
            .philox_words = asn_philox_words_avx512,
            .philox_doubles = asn_philox_doubles_avx512,
            .pcg64_words = asn_pcg64_words_ifma,
            .pcg64_doubles = asn_pcg64_doubles_ifma,
            .pcg64_fours = asn_pcg64_fours_bmi2,
            .units = asn_units_avx2,
            .polar_split = asn_polar_split_avx2,
            .polar_join = asn_polar_join_avx2,
        },
#endif
};

const asn_random_loops *asn_random_table;
static asn_random_loops table;

/* What only some processors of an instruction set have. */
static void leave_out(asn_random_loops *t) {
#if defined(__x86_64__)
    if (!__builtin_cpu_supports("avx512ifma")) t->pcg64_words = t->pcg64_doubles = NULL;
    if (!__builtin_cpu_supports("bmi2")) t->pcg64_fours = asn_pcg64_fours_baseline;
#else
    (void)t;
#endif
}

/* Published when it is complete: readers take no lock. */
static void set_up(void) {
    table = rows[asn_cpu_isa()];
    leave_out(&table);
    __atomic_store_n(&asn_random_table, &table, __ATOMIC_RELEASE);
}

const asn_random_loops *asn_random_loops_set_up(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, set_up);
    return &table;
}
