/* CPU device: what a Fourier transform of one length and precision needs: its
 * factors and tables, and the kernels that use them.
 *
 * Layouts. A group is `lanes` transforms side by side: element k is a vector of real
 * parts followed by a vector of imaginary parts, so that a butterfly needs no shuffle. A
 * line is one transform in memory, real and imaginary parts in turn.
 *
 * Only forward transforms are computed; an inverse exchanges real and imaginary parts on
 * the way in and out.
 */
#ifndef ASN_DEVICE_CPU_FFT_FFT_PLAN_H
#define ASN_DEVICE_CPU_FFT_FFT_PLAN_H

#include "device/cpu/context.h"
#include "device/cpu/fft/fft.h"

enum {
    ASN_FFT_MAX_FACTORS = 40,
    ASN_FFT_MAX_RADIX = 61,     /* larger primes go through a convolution */
    ASN_FFT_MAX_LANES = 16,     /* lanes of the widest instruction set */
    ASN_FFT_FULL_TABLE = 32768, /* longest split with one table of twiddle factors */
};

typedef struct {
    int radix;
    int64_t m, stride; /* this pass: stride * radix * m elements */
    void *twiddles;    /* (radix - 1) complex for each of m */
    void *roots;       /* odd radix: exp(-2 pi i k / radix), k < radix */
} asnd_fft_pass;

/* Tables hold elements of `size` bytes per real: 4 or 8. */
typedef struct asnd_fft_plan {
    int64_t n;
    int size;
    int64_t work; /* elements of a group's buffer: n, or the convolution's length */

    /* as a group: passes, none for a convolution */
    int num_passes;
    asnd_fft_pass passes[ASN_FFT_MAX_FACTORS];

    /* as a line of n1 * n2: columns, twiddle factors, rows (NULL: as a group of one) */
    struct asnd_fft_plan *columns, *rows;
    void *full;          /* n1 x n2, columns padded to whole vectors; split by `chunk` */
    void *coarse, *fine; /* instead for long lines: w^(k1 * chunk * g), w^(k1 * lane) */
    int64_t padded;      /* n2 rounded up to a multiple of chunk */

    /* as a convolution of length `inner->n` (Bluestein), for large prime factors */
    struct asnd_fft_plan *inner;
    void *chirp;  /* exp(-pi i k k / n), k < n */
    void *kernel; /* transform of the chirp's conjugate, over its length */

    void *half; /* exp(-2 pi i k / (2 n)), k <= n / 2: for real lines of 2 n */

    /* the cache's */
    struct asnd_fft_plan *next;
    int64_t bytes;
    int users;
} asnd_fft_plan;

/* Elements that a chunk of the tables covers: the widest vector's lanes. */
static inline int asn_fft_chunk(int size) {
    return 64 / size;
}

/* From the cache, or made; give it back with asn_fft_plan_release. NULL with the error
 * set. */
asnd_fft_plan *asn_fft_plan_get(int64_t n, int size);
void asn_fft_plan_release(asnd_fft_plan *plan);

/* What is done to every line. plan->n is n, or n / 2 for real lines of even n. */
typedef struct {
    const asnd_fft_plan *plan;
    asnd_fft_kind kind;
    bool inverse;
    int64_t n, in_count; /* in_count: elements of the input line that are used */
    int64_t in_stride, out_stride; /* bytes */
    double scale;
} asnd_fft_job;

typedef struct asnd_fft_kernels {
    int lanes;
    /* `count` <= lanes transforms, in lanes. */
    asn_status (*group)(const asnd_fft_job *job, int count, const char *const *in,
                        char *const *out);
    /* One transform, vectorised within; `ahead` bytes further is the next one's input, to
     * be fetched meanwhile (0: there is none). */
    asn_status (*line)(const asnd_fft_job *job, const char *in, char *out, int64_t ahead);
    /* In lanes, in place: for the making of plans. */
    void (*transform)(const asnd_fft_plan *plan, void *line, void *scratch);
} asnd_fft_kernels;

extern const asnd_fft_kernels asn_fft_f32_baseline, asn_fft_f64_baseline;
extern const asnd_fft_kernels asn_fft_f32_avx2, asn_fft_f64_avx2;
extern const asnd_fft_kernels asn_fft_f32_avx512, asn_fft_f64_avx512;

static inline const asnd_fft_kernels *asn_fft_kernels_of(int size) {
    return size == 8 ? asn_context_get()->fft_f64 : asn_context_get()->fft_f32;
}

#endif
