/* The harnesses of arbitrary bytes as programs that make their own inputs (see driver.h).
 */
#include "driver.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static uint64_t state = 1;

static uint64_t step(void) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state >> 24;
}

uint8_t random_byte(void) {
    return (uint8_t)step();
}

size_t random_below(size_t count) {
    return (size_t)(step() % count);
}

static int run_file(const char *name) {
    uint8_t data[DRIVER_MOST];
    FILE *f = fopen(name, "rb");
    if (f == NULL) return 1;
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    return LLVMFuzzerTestOneInput(data, size);
}

/* FUZZ_CORPUS: a folder that receives the inputs, for libFuzzer to begin with. */
static int write_input(const char *folder, long number, const uint8_t *data,
                       size_t size) {
    char name[4096];
    snprintf(name, sizeof name, "%s/own-%ld", folder, number);
    FILE *f = fopen(name, "wb");
    if (f == NULL) return 1;
    bool written = fwrite(data, 1, size, f) == size;
    return fclose(f) == 0 && written ? 0 : 1;
}

int main(int argc, char **argv) {
    uint8_t data[DRIVER_MOST];
    for (int i = 1; i < argc; i++)
        if (run_file(argv[i]) != 0) return 1;
    if (argc > 1) return 0;
    const char *count = getenv("FUZZ_INPUTS");
    long inputs = count ? atol(count) : inputs_of_its_own;
    const char *corpus = getenv("FUZZ_CORPUS");
    for (long i = 0; i < inputs; i++) {
        size_t size = make_input(data);
        if (corpus != NULL && write_input(corpus, i, data, size) != 0) return 1;
        if (corpus == NULL && LLVMFuzzerTestOneInput(data, size) != 0) return 1;
    }
    return 0;
}
