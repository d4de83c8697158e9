/* Fourier transforms against their definition: every short length, lengths of all kinds
 * of plan, lanes next to lines; the same result on any number of threads; every
 * allocation failing in turn. */
#include <math.h>
#include <string.h>

#include "check.h"

#include "base/alloc.h"
#include "device/cpu/fft/fft.h"
#include "device/cpu/threads.h"

enum { MOST = 4096 };
static double source[2 * MOST * 20], result[2 * MOST * 20], again[2 * MOST * 20];

/* rows x n complex numbers; the transform of the rows into `to` */
static asn_status transform(int64_t rows, int64_t n, bool inverse, double *to) {
    int64_t shape[2] = {rows, n}, strides[2] = {16 * n, 16};
    asnd_nd in = {(char *)source, 2, ASN_C128, shape, strides};
    asnd_nd out = {(char *)to, 2, ASN_C128, shape, strides};
    return asn_cpu_fft(ASN_FFT_COMPLEX, inverse, n, 1, 1, &in, &out);
}

static void fill(int64_t count) {
    for (int64_t i = 0; i < count; i++)
        source[i] = (double)random_below(2001) / 1000 - 1;
}

/* Element k of row 0 by the definition. */
static double error_at(int64_t n, int64_t k, bool inverse) {
    long double re = 0, im = 0;
    for (int64_t j = 0; j < n; j++) {
        long double angle =
            6.283185307179586476925286766559L * (long double)(j * k % n) / (long double)n;
        long double c = cosl(angle), s = inverse ? sinl(angle) : -sinl(angle);
        re += source[2 * j] * c - source[2 * j + 1] * s;
        im += source[2 * j] * s + source[2 * j + 1] * c;
    }
    return fabs((double)(re - result[2 * k])) + fabs((double)(im - result[2 * k + 1]));
}

static void test_length(int64_t rows, int64_t n) {
    for (int inverse = 0; inverse < 2; inverse++) {
        fill(2 * rows * n);
        CHECK(transform(rows, n, inverse, result) == ASN_OK);
        for (int64_t k = 0; k < n; k += n > 64 ? n / 37 : 1)
            CHECK(error_at(n, k, inverse) < 1e-14 * (double)(n + 16));
    }
}

static void test_threads(int64_t rows, int64_t n) {
    fill(2 * rows * n);
    int before = asn_pool_set_threads(1);
    CHECK(transform(rows, n, false, result) == ASN_OK);
    asn_pool_set_threads(4);
    CHECK(transform(rows, n, false, again) == ASN_OK);
    asn_pool_set_threads(before);
    CHECK(memcmp(result, again, (size_t)(2 * rows * n) * 8) == 0);
}

static void test_no_memory(void) {
    for (int n = 1021; n < 1026; n += 4) /* a convolution, a line: neither planned yet */
        for (long k = 1; k < 200; k++) {
            asn_alloc_fail_after(k);
            asn_status status = transform(1, n, false, result);
            asn_alloc_fail_after(0);
            if (status == ASN_OK) break;
            CHECK(status == ASN_ERR_MEMORY && k < 199);
        }
}

int main(void) {
    test_no_memory();
    for (int64_t n = 1; n <= 200; n++) {
        test_length(1, n);
        test_length(20, n);
    }
    static const int64_t lengths[] = {512, 1000, 1009, 1024, 2187, 3599, 4093, 4096};
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        test_length(1 + i % 2 * 9, lengths[i]);
    test_threads(1, 4096);
    test_threads(20, 4096);
    test_threads(300, 64);
    test_threads(7, 4093);
    return check_report("test_cpu_fft");
}
