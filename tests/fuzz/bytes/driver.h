/* What the harnesses of arbitrary bytes share. Each defines LLVMFuzzerTestOneInput, and
 * make_input for the driver's main:
 *
 *     NAME             so many inputs of its own, the same each time (FUZZ_INPUTS)
 *     NAME FILE...     the bytes of each file
 * With clang -fsanitize=fuzzer -DFUZZER they are libFuzzer targets, and libFuzzer has
 * main. */
#ifndef ASN_FUZZ_DRIVER_H
#define ASN_FUZZ_DRIVER_H

#include <stddef.h>
#include <stdint.h>

enum { DRIVER_MOST = 4096 }; /* bytes of an input */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Fills `data` with the next input; its length. */
size_t make_input(uint8_t data[DRIVER_MOST]);
extern const long inputs_of_its_own;

uint8_t random_byte(void);
/* Below `count`, which is at least 1. */
size_t random_below(size_t count);

#endif
