/* Generated programs: repeatable executors whose addresses are exchanged.
 *
 * With --exchange every case that succeeds runs three times by one executor: first on
 * other values (random ones, or the same elements elsewhere), then, every tensor's
 * address exchanged, on other buffers with the recorded values, then on the first ones
 * again, refilled with them. The last two must give the recorded bytes, the second must
 * leave the first buffers alone.
 */
#ifndef ASN_TESTS_ABI_EXCHANGE_H
#define ASN_TESTS_ABI_EXCHANGE_H

#include "program.h"

/* Random values in place of `m`'s recorded ones; they are put into m->spare, which gets
 * its guards too. 0: no memory. */
int exchange_prepare(program_memory_t *m, const unsigned char *values, size_t guard);

/* The three runs; the first failure of the last two through note(). Returns whether the
 * first run took the other values. */
int exchange_run(program *p, program_phase2 phase2, void *workspace);

#endif
