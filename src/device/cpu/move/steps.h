/* CPU device, private to creation.c: loops of start + i * delta, one table per
 * instruction set.
 */
#ifndef ASN_DEVICE_CPU_MOVE_STEPS_H
#define ASN_DEVICE_CPU_MOVE_STEPS_H

#include <stdint.h>

/* An element of the loop's dtype each, in the first bytes. */
typedef struct {
    _Alignas(16) char start[16], delta[16];
} asnd_steps;

/* out[k] = start + (i + k) * delta, k < n */
typedef void (*asnd_steps_fn)(const asnd_steps *s, char *out, int64_t i, int64_t n);

typedef struct asnd_step_loops {
    asnd_steps_fn i64, f32, f64, c64, c128;
} asnd_step_loops;

extern const asnd_step_loops asn_steps_baseline, asn_steps_avx512;

#endif
