/* Transforms of real numbers against those of the same numbers as complex ones, and both
 * ways back; complex lines back to what they were: both precisions, single lines and
 * several side by side, lengths of all kinds of plan. (test_cpu_fft.c holds the complex
 * ones to their definition.) */
#include <math.h>
#include <string.h>

#include "check.h"

#include "device/cpu/fft/fft.h"
#include "device/cpu/threads.h"

enum { MOST = 4096, ROWS = 20 };
static char real_in[MOST * ROWS * 8], complex_in[MOST * ROWS * 16],
    half_out[(MOST + 2) * ROWS * 16], full_out[MOST * ROWS * 16], back[MOST * ROWS * 16];

static double number_at(const char *p, bool single, int64_t i) {
    float f;
    double d;
    memcpy(&f, p + i * 4, sizeof f);
    if (single) return (double)f;
    memcpy(&d, p + i * 8, sizeof d);
    return d;
}

static void set_number(char *p, bool single, int64_t i, double value) {
    float f = (float)value;
    if (single)
        memcpy(p + i * 4, &f, sizeof f);
    else
        memcpy(p + i * 8, &value, sizeof value);
}

static asn_status transform(asnd_fft_kind kind, bool inverse, bool single, int64_t rows,
                            int64_t n, char *from, char *to) {
    int64_t half = n / 2 + 1, real = single ? 4 : 8;
    bool reads_real = kind == ASN_FFT_REAL_FORWARD,
         gives_real = kind == ASN_FFT_REAL_INVERSE;
    int64_t in_shape[2] = {rows, gives_real ? half : n},
            in_item = reads_real ? real : 2 * real;
    int64_t out_shape[2] = {rows, reads_real ? half : n},
            out_item = gives_real ? real : 2 * real;
    int64_t in_strides[2] = {in_shape[1] * in_item, in_item},
            out_strides[2] = {out_shape[1] * out_item, out_item};
    asn_dtype complex = single ? ASN_C64 : ASN_C128, plain = single ? ASN_F32 : ASN_F64;
    asnd_nd in = {from, 2, reads_real ? plain : complex, in_shape, in_strides};
    asnd_nd out = {to, 2, gives_real ? plain : complex, out_shape, out_strides};
    return asn_cpu_fft(kind, inverse, n, inverse ? 1. / (double)n : 1, 1, &in, &out);
}

static double farthest(const char *a, const char *b, bool single, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        double apart = fabs(number_at(a, single, i) - number_at(b, single, i));
        if (!(apart <= most)) most = apart; /* NaN counts; fmax ends gcc 12 for aarch64 */
    }
    return most;
}

static void test_length(bool single, int64_t rows, int64_t n) {
    double unit = (single ? 6e-7 : 1e-15) * (double)(n + 16), apart = 0;
    int64_t half = n / 2 + 1, real = single ? 4 : 8;
    memset(complex_in, 0, sizeof complex_in);
    for (int64_t i = 0; i < rows * n; i++) {
        double x = (double)random_below(2001) / 1000 - 1;
        set_number(real_in, single, i, x);
        set_number(complex_in, single, 2 * i, x);
    }
    CHECK(transform(ASN_FFT_REAL_FORWARD, false, single, rows, n, real_in, half_out) ==
          ASN_OK);
    CHECK(transform(ASN_FFT_COMPLEX, false, single, rows, n, complex_in, full_out) ==
          ASN_OK);
    for (int64_t r = 0; r < rows; r++)
        apart = fmax(apart, farthest(half_out + r * half * 2 * real,
                                     full_out + r * n * 2 * real, single, 2 * half));
    CHECK(apart < unit, "real and complex");
    CHECK(transform(ASN_FFT_REAL_INVERSE, true, single, rows, n, half_out, back) ==
          ASN_OK);
    CHECK(farthest(back, real_in, single, rows * n) < unit, "real and back");
    CHECK(transform(ASN_FFT_COMPLEX, true, single, rows, n, full_out, back) == ASN_OK);
    CHECK(farthest(back, complex_in, single, 2 * rows * n) < unit, "complex and back");
}

int main(void) {
    asn_pool_set_threads(2);
    static const int64_t lengths[] = {256,  360,  512,  1000, 1009, 1024,
                                      1536, 2048, 2187, 4095, MOST};
    for (int single = 0; single < 2; single++) {
        for (int64_t n = 1; n <= 140; n++) {
            test_length(single, 1, n);
            test_length(single, ROWS, n);
        }
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            test_length(single, 1, lengths[i]);
            test_length(single, ROWS, lengths[i]);
        }
    }
    return check_report("test_cpu_rfft");
}
