/* The context: one for all threads, that of the instruction set that ASNUMPY_ISA leaves,
 * with every table that engines take for granted. */
#include <pthread.h>

#include "base/cpu.h"
#include "check.h"
#include "device/cpu/context.h"
#include "device/cpu/kernels.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/sort/keys_codecs.h"

enum { THREADS = 8 };

/* Also whether the loops were there when the context was given out. */
static void *ask(void *begin) {
    pthread_barrier_wait(begin);
    const asnd_context *context = asn_context_get();
    const asnd_kernels *k = context->kernels;
    bool filled = k && k->ew[ASN_OP_ADD][ASN_F64] && k->cost[ASN_OP_ADD] &&
                  k->cast[ASN_F16][ASN_F32] && k->round_half[ASN_F16];
    return filled ? (void *)(uintptr_t)context : NULL;
}

static void test_one_for_all(void) {
    pthread_t threads[THREADS];
    pthread_barrier_t begin;
    pthread_barrier_init(&begin, NULL, THREADS);
    for (int i = 0; i < THREADS; i++)
        CHECK(pthread_create(&threads[i], NULL, ask, &begin) == 0);
    for (int i = 0; i < THREADS; i++) {
        void *seen;
        pthread_join(threads[i], &seen);
        CHECK(seen && seen == (void *)(uintptr_t)asn_context_get());
    }
    pthread_barrier_destroy(&begin);
}

/* What baseline's row has, every row has. */
static void test_complete(void) {
    const asnd_context *c = asn_context_get();
    CHECK(c->moves && c->steps && c->codecs && c->int8_tile);
    CHECK(c->fft_f32 && c->fft_f64 && c->linalg_f32 && c->linalg_f64);
    CHECK(!c->half_products == !c->products && !c->panels_f32 == !c->panels_f64);
    CHECK(!c->conv_f32 == !c->conv_f64);
    CHECK(c->dots || !(c->dots_of_bytes || c->dots_of_bf16));
    CHECK(c->band_lines >= 1 && c->band_lines <= ASN_BAND_LINES);
    CHECK(c->past_caches_one.parts > 0 &&
          c->past_caches_one.parts < c->past_caches_one.of);
    CHECK(c->past_caches_several.parts > 0 &&
          c->past_caches_several.parts < c->past_caches_several.of);
    for (int size = 0; size < 5; size++)
        CHECK(c->moves[size].gather && c->moves[size].transpose);
    for (int dt = 0; dt < ASN_DTYPE_COUNT; dt++)
        CHECK(c->codecs[dt].bytes == asn_key_codecs[dt].bytes);
}

/* Wider sets have more, and no set what only a wider one has. */
static void test_of_this_set(void) {
    static const int bytes[ASN_ISA_COUNT] = {0, 32, 64};
    const asnd_context *c = asn_context_get();
    asn_isa isa = asn_cpu_isa();
    const char *most = getenv("ASNUMPY_ISA");
    CHECK(!most || strcmp(most, "baseline") || isa == ASN_ISA_BASELINE);
    CHECK(!most || strcmp(most, "avx2") || isa <= ASN_ISA_AVX2);
    CHECK(c->vector_bytes == bytes[isa]);
    CHECK(!c->products == (isa == ASN_ISA_BASELINE));
#if defined(__aarch64__)
    CHECK(c->masks && c->picks && c->sorts); /* of NEON, which is the base there */
#else
    CHECK(!c->masks == !c->products && !c->picks == !c->masks && !c->sorts == !c->masks);
#endif
    CHECK(!c->panels_f32 == (isa < ASN_ISA_AVX512) && !c->dots == !c->panels_f32);
    CHECK(!c->conv_f32 == (isa == ASN_ISA_BASELINE));
    CHECK((c->moves == asn_moves_baseline) == (isa == ASN_ISA_BASELINE));
}

int main(void) {
    test_one_for_all();
    test_complete();
    test_of_this_set();
    return check_report("context");
}
