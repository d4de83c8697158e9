/* Tones in noise, in C with AsNumpy: random numbers, the Fourier transform, sorting, a
 * host buffer used in place, and what the library did for it.
 *
 * Two tones of 50 and 120 Hz, buried in noise of twice their size, are found again in the
 * spectrum of 8 seconds of samples.
 *
 *     cc spectrum.c $(pkg-config --cflags --libs asnumpy) -lm -o spectrum && ./spectrum
 */
#include <asnumpy/asnumpy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { RATE = 1000, SECONDS = 8, SAMPLES = RATE * SECONDS };

static void must(asnp_status status) {
    if (!status) return;
    fprintf(stderr, "spectrum: %s: %s\n", asnp_status_name(status), asnp_message());
    exit(1);
}

static void finished(void *context) {
    *(int *)context = 1;
}

/* signal += noise, where the signal is the caller's own buffer. */
static void add_noise(asnp_array *signal) {
    const int64_t n = SAMPLES;
    asnp_rng *g = NULL;
    asnp_array *noise = NULL;
    asnp_operand in[2];
    must(asnp_rng_new("Philox", 1, &g));
    must(asnp_rng_normal(g, 0, 2, 1, &n, &noise));
    in[0] = asnp_of(signal);
    in[1] = asnp_of(noise);
    must(asnp_ufunc_into("add", 2, in, 1, &signal, NULL));
    asnp_release(noise);
    asnp_rng_release(g);
}

/* The frequencies of the two largest amplitudes. */
static void peaks(const asnp_array *signal, double found[2]) {
    asnp_array *spectrum = NULL, *size = NULL, *order = NULL, *hz = NULL, *best = NULL;
    asnp_array *last = NULL, *sorted = NULL;
    must(asnp_rfft(signal, 0, -1, "ortho", &spectrum));
    must(asnp_unary("absolute", spectrum, &size));
    must(asnp_argsort(size, 0, &order));
    must(asnp_slice(order, 0, -2, ASNP_END, 1, &last));
    must(asnp_rfftfreq(SAMPLES, 1.0 / RATE, &hz));
    must(asnp_take(hz, last, 0, ASNP_RAISE, &best));
    must(asnp_sort(best, 0, &sorted));
    must(asnp_to_host(sorted, found, 2 * sizeof *found));
    asnp_release(spectrum);
    asnp_release(size);
    asnp_release(order);
    asnp_release(hz);
    asnp_release(best);
    asnp_release(last);
    asnp_release(sorted);
}

int main(void) {
    static double samples[SAMPLES];
    const int64_t n = SAMPLES;
    asnp_array *signal = NULL;
    asnp_memory memory;
    double found[2] = {0, 0};
    int released = 0;
    for (int i = 0; i < SAMPLES; i++) {
        double t = 2 * 3.14159265358979323846 * i / RATE;
        samples[i] = sin(50 * t) + sin(120 * t);
    }
    must(asnp_adopt(ASNP_FLOAT64, 1, &n, NULL, samples, finished, &released, &signal));
    add_noise(signal);
    peaks(signal, found);
    asnp_release(signal);
    must(asnp_memory_stats(&memory));
    printf("tones at %.3f and %.3f Hz; the buffer is %s; %d bytes of arrays left\n",
           found[0], found[1], released ? "ours again" : "still lent",
           (int)memory.bytes_in_use);
    return found[0] != 50 || found[1] != 120 || !released;
}
