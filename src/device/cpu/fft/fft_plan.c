/* CPU device: plans of Fourier transforms: factors, tables, the cache of plans.
 *
 * Roots of unity. exp(-2 pi i k / n) is brought into the first octant by exact integer
 * arithmetic and looked up there as the product of two table entries in long double, so
 * that every factor is correctly rounded but for rare ties, exact at multiples of a
 * quarter turn, and costs nanoseconds.
 *
 * A length whose largest prime factor is above ASN_FFT_MAX_RADIX, or above 13 and not
 * worth its square, is a convolution. A length that divides into two factors of 4 and
 * more also has tables to run as a line (fft_line.inc); preferred are factors near each
 * other that are multiples of the widest vector.
 *
 * The cache holds plans by (n, precision), least recently used last, up to a bound of
 * bytes; a plan in use outlives its eviction.
 */
#include "device/cpu/fft/fft_plan.h"

#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/forks.h"
#include "device/cpu/scratch.h"

enum { CACHE_BYTES = 64 << 20, SMALLEST_LINE = 16 };

/* ---- roots of unity */

typedef struct {
    int64_t n;
    int shift;
    long double *fine,
        *coarse; /* cos, sin of 2 pi a / (8 n), a in units and in 2^shift */
} roots;

/* Tables for n: about 2 sqrt(n) entries. The caller frees r->fine; ASN_ERR_MEMORY. */
static asn_status roots_init(roots *r, int64_t n) {
    const long double turn = 6.28318530717958647692528676655900577L / 8;
    r->n = n;
    r->shift = 0;
    while (((int64_t)1 << (2 * r->shift)) <= n)
        r->shift++;
    int64_t fine = (int64_t)1 << r->shift, coarse = (n >> r->shift) + 1;
    r->fine = asn_malloc((size_t)(fine + coarse) * 2 * sizeof *r->fine);
    if (r->fine == NULL) return ASN_ERR_MEMORY;
    r->coarse = r->fine + 2 * fine;
    for (int64_t i = 0; i < fine + coarse; i++) {
        int64_t a = i < fine ? i : (i - fine) << r->shift;
        long double angle = turn * (long double)a / (long double)n;
        r->fine[2 * i] = cosl(angle);
        r->fine[2 * i + 1] = sinl(angle);
    }
    return ASN_OK;
}

/* exp(-2 pi i k / n), 0 <= k < n. a is the angle in 8 n parts of a turn; reflections at
 * a half, a quarter and an eighth of a turn bring it to 0 .. n, in integers, without
 * error. */
static void root(const roots *r, int64_t k, long double *re, long double *im) {
    int64_t n = r->n, a = 8 * k;
    bool below = a > 4 * n;
    if (below) a = 8 * n - a;
    bool left = a > 2 * n;
    if (left) a = 4 * n - a;
    bool steep = a > n;
    if (steep) a = 2 * n - a;
    const long double *f = r->fine + 2 * (a & (((int64_t)1 << r->shift) - 1));
    const long double *c = r->coarse + 2 * (a >> r->shift);
    long double x = f[0] * c[0] - f[1] * c[1], y = f[0] * c[1] + f[1] * c[0];
    long double cosine = steep ? y : x, sine = steep ? x : y;
    *re = left ? -cosine : cosine;
    *im = below ? sine : -sine;
}

/* One number to a table of `size`-byte reals. */
static void set(void *table, int size, int64_t i, long double value) {
    if (size == 8)
        ((double *)table)[i] = (double)value;
    else
        ((float *)table)[i] = (float)value;
}

static void set_root(const roots *r, int64_t k, void *table, int size, int64_t i) {
    long double re, im;
    root(r, k % r->n, &re, &im);
    set(table, size, 2 * i, re);
    set(table, size, 2 * i + 1, im);
}

/* A table of the plan, counted in p->bytes; NULL with the error set. */
static void *table_new(asnd_fft_plan *p, int64_t reals) {
    p->bytes += reals * p->size;
    return asn_malloc((size_t)(reals * p->size));
}

/* ---- factors */

/* Radices of n into `out`, 8s and 4s first; the count, or 0 when n has a prime factor
 * above the largest radix or, unless `direct`, not worth it. */
static int factorise(int64_t n, bool direct, int *out) {
    int count = 0, twos = 0;
    int64_t whole = n;
    while (n % 2 == 0)
        n /= 2, twos++;
    while (twos >= 3 && twos != 4)
        out[count++] = 8, twos -= 3;
    while (twos >= 2)
        out[count++] = 4, twos -= 2;
    if (twos) out[count++] = 2;
    for (int r = 3; n > 1 && r <= ASN_FFT_MAX_RADIX; r += 2)
        while (n % r == 0) {
            if (!direct && r > 13 && whole / r < r / 2) return 0;
            out[count++] = r, n /= r;
        }
    return n > 1 ? 0 : count;
}

/* The smallest length of at least n that is 64 times factors 2, 3, 5: a convolution's. */
static int64_t smooth_length(int64_t n) {
    int64_t best = INT64_MAX;
    for (int64_t f5 = 64; f5 < 2 * n + 64; f5 *= 5)
        for (int64_t f3 = f5; f3 < 2 * n + 64; f3 *= 3) {
            int64_t m = f3;
            while (m < n)
                m *= 2;
            if (m < best) best = m;
        }
    return best;
}

/* The divisor n1 of n that makes the best matrix; 1 when there is none. Columns of one
 * pass go straight from the line to the rows (8 x 128 points take a sixth less time than
 * 32 x 32), which pays while the rows' buffers stay in the nearest cache. */
static int64_t split_of(int64_t n, const int *factors, int count, int chunk) {
    enum { ONE_PASS = 8, SHORT_ROW = 128 };
    int64_t divisors[4096], best = 1;
    int num = 1;
    double best_score = INFINITY;
    divisors[0] = 1;
    for (int i = 0; i < count; i++) {
        int have = num;
        for (int k = 0; k < have && num < 4096; k++)
            divisors[num++] = divisors[k] * factors[i];
    }
    for (int k = 0; k < num; k++) {
        int64_t a = divisors[k], b = n / a;
        if (a < 4 || b < 4) continue;
        /* the work in whole vectors, and balance */
        double waste_b = (double)((b + chunk - 1) / chunk * chunk) / (double)b;
        double waste_a = (double)((a + chunk - 1) / chunk * chunk) / (double)a;
        double ratio = fabs(log2((double)a / (double)b));
        double score = waste_a + waste_b + 0.05 * ratio * ratio;
        if (a <= ONE_PASS && b <= SHORT_ROW) score -= 1;
        if (score < best_score) best_score = score, best = a;
    }
    return best;
}

/* ---- making */

static asnd_fft_plan *plan_new(int64_t n, int size, bool line);
static void plan_free(asnd_fft_plan *p);

/* Pass i transforms what the passes before have left: `length` shrinks, the stride
 * grows. */
static asn_status make_passes(asnd_fft_plan *p, const int *factors, int count) {
    int64_t length = p->n, stride = 1;
    for (int i = 0; i < count; i++) {
        int r = factors[i];
        asnd_fft_pass *pass = &p->passes[p->num_passes++];
        *pass = (asnd_fft_pass){.radix = r, .m = length / r, .stride = stride};
        pass->twiddles = table_new(p, 2 * (r - 1) * pass->m);
        pass->roots = table_new(p, 2 * r);
        roots of;
        if (!pass->twiddles || !pass->roots) return ASN_ERR_MEMORY;
        ASN_TRY(roots_init(&of, length));
        for (int64_t k = 0; k < pass->m; k++)
            for (int j = 1; j < r; j++)
                set_root(&of, k * j, pass->twiddles, p->size, k * (r - 1) + j - 1);
        for (int k = 0; k < r; k++)
            set_root(&of, k * pass->m, pass->roots, p->size, k);
        asn_free(of.fine);
        length /= r;
        stride *= r;
    }
    return ASN_OK;
}

/* w^(k1 i2) for whole rows, chunks split into real and imaginary parts. */
static void fill_full(asnd_fft_plan *p, const roots *of, int chunk) {
    int64_t n1 = p->columns->n;
    for (int64_t k = 0; k < n1; k++)
        for (int64_t i = 0; i < p->padded; i++) {
            long double re, im;
            root(of, k * i % p->n, &re, &im);
            int64_t at = 2 * (k * p->padded + i / chunk * chunk) + i % chunk;
            set(p->full, p->size, at, re);
            set(p->full, p->size, at + chunk, im);
        }
}

/* w^(k1 i2) as a product, i2 = c chunk + i: `coarse` for c, `fine` for i. */
static void fill_two_levels(asnd_fft_plan *p, const roots *of, int chunk) {
    int64_t n1 = p->columns->n, chunks = p->padded / chunk;
    for (int64_t k = 0; k < n1; k++) {
        for (int64_t i = 0; i < chunk; i++) {
            long double re, im;
            root(of, k * i % p->n, &re, &im);
            set(p->fine, p->size, 2 * k * chunk + i, re);
            set(p->fine, p->size, 2 * k * chunk + chunk + i, im);
        }
        for (int64_t c = 0; c < chunks; c++)
            set_root(of, k * c * chunk, p->coarse, p->size, k * chunks + c);
    }
}

/* The plans of columns and rows, and the factors between them. */
static asn_status make_line(asnd_fft_plan *p, int64_t n1) {
    int chunk = asn_fft_chunk(p->size);
    int64_t n2 = p->n / n1;
    p->columns = plan_new(n1, p->size, false);
    p->rows = plan_new(n2, p->size, false);
    if (!p->columns || !p->rows) return ASN_ERR_MEMORY;
    p->bytes += p->columns->bytes + p->rows->bytes;
    p->padded = (n2 + chunk - 1) / chunk * chunk;
    roots of;
    ASN_TRY(roots_init(&of, p->n));
    if (p->n <= ASN_FFT_FULL_TABLE) {
        p->full = table_new(p, 2 * n1 * p->padded);
        if (p->full) fill_full(p, &of, chunk);
    } else {
        p->fine = table_new(p, 2 * n1 * chunk);
        p->coarse = table_new(p, 2 * n1 * (p->padded / chunk));
        if (p->fine && p->coarse) fill_two_levels(p, &of, chunk);
    }
    asn_free(of.fine);
    return p->full || (p->fine && p->coarse) ? ASN_OK : ASN_ERR_MEMORY;
}

/* The kernel's transform is made in double by a plan of its own, for either precision. */
static asn_status make_kernel(asnd_fft_plan *p) {
    int64_t n = p->n, m = p->inner->n;
    asnd_fft_plan *exact = plan_new(m, 8, false);
    asn_status status = ASN_ERR_MEMORY;
    double *line = NULL, *scratch = NULL;
    roots of = {.fine = NULL};
    if (exact == NULL) return status;
    line = asn_calloc((size_t)m, 2 * sizeof *line);
    scratch = asn_scratch_take((size_t)m * 4 * ASN_FFT_MAX_LANES * sizeof *scratch);
    if (line && scratch && roots_init(&of, 2 * n) == ASN_OK) {
        for (int64_t k = 0; k < n; k++) {
            long double re, im;
            int64_t square = (int64_t)((__int128)k * k % (2 * n));
            root(&of, square, &re, &im);
            set(p->chirp, p->size, 2 * k, re);
            set(p->chirp, p->size, 2 * k + 1, im);
            line[2 * k] = (double)re;
            line[2 * k + 1] = -(double)im;
            if (k) memcpy(line + 2 * (m - k), line + 2 * k, 2 * sizeof *line);
        }
        asn_fft_kernels_of(8)->transform(exact, line, scratch);
        for (int64_t k = 0; k < 2 * m; k++)
            set(p->kernel, p->size, k, (long double)line[k] / (long double)m);
        status = ASN_OK;
    }
    asn_free(of.fine);
    if (scratch) asn_scratch_give(scratch);
    asn_free(line);
    plan_free(exact);
    return status;
}

/* The plan of the inner transforms, the chirp and its transform; m is 2 n - 1 at least,
 * so that nothing wraps into the n results. */
static asn_status make_convolution(asnd_fft_plan *p) {
    int64_t m = smooth_length(2 * p->n - 1);
    p->inner = plan_new(m, p->size, true);
    if (p->inner == NULL) return ASN_ERR_MEMORY;
    p->bytes += p->inner->bytes;
    p->work = m;
    p->chirp = table_new(p, 2 * p->n);
    p->kernel = table_new(p, 2 * m);
    return p->chirp && p->kernel ? make_kernel(p) : ASN_ERR_MEMORY;
}

/* Factors that join the two halves of a real line of 2 n; every cached plan has them, as
 * n does not tell who asks. */
static asn_status make_half(asnd_fft_plan *p) {
    int64_t count = p->n / 2 + 1;
    roots of;
    p->half = table_new(p, 2 * count);
    if (p->half == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(roots_init(&of, 2 * p->n));
    for (int64_t k = 0; k < count; k++)
        set_root(&of, k, p->half, p->size, k);
    asn_free(of.fine);
    return ASN_OK;
}

static void plan_free(asnd_fft_plan *p) {
    if (p == NULL) return;
    for (int i = 0; i < p->num_passes; i++) {
        asn_free(p->passes[i].twiddles);
        asn_free(p->passes[i].roots);
    }
    plan_free(p->columns);
    plan_free(p->rows);
    plan_free(p->inner);
    void *tables[] = {p->full, p->coarse, p->fine, p->chirp, p->kernel, p->half};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        asn_free(tables[i]);
    asn_free(p);
}

/* `line`: with the tables to run as a line; else by passes alone. */
static asnd_fft_plan *plan_new(int64_t n, int size, bool line) {
    int factors[64];
    asnd_fft_plan *p = asn_calloc(1, sizeof *p);
    if (p == NULL) return NULL;
    p->n = p->work = n;
    p->size = size;
    p->bytes = sizeof *p;
    int count = n == 1 ? 0 : factorise(n, !line, factors);
    asn_status status = ASN_OK;
    if (n > 1 && count == 0) {
        status = make_convolution(p);
    } else {
        int64_t n1 = line && n >= SMALLEST_LINE
                         ? split_of(n, factors, count, asn_fft_chunk(size))
                         : 1;
        status = make_passes(p, factors, count);
        if (!status && n1 > 1) status = make_line(p, n1);
    }
    if (status == ASN_OK) return p;
    plan_free(p);
    return NULL;
}

/* ---- the cache */

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
ASN_FORK_TAKES(cache, &cache_lock, ASN_FORK_LEAF)
static asnd_fft_plan *cache;

/* Takes plans over the bound out of the list; lock held. Returns those nobody uses. */
static asnd_fft_plan *evict(void) {
    asnd_fft_plan *dead = NULL;
    int64_t bytes = 0;
    for (asnd_fft_plan **at = &cache; *at;) {
        asnd_fft_plan *p = *at;
        bytes += p->bytes;
        if (bytes <= CACHE_BYTES || p == cache) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (--p->users == 0) {
            p->next = dead;
            dead = p;
        }
    }
    return dead;
}

/* The cached plan, moved to the front and counted as used; lock held. */
static asnd_fft_plan *find(int64_t n, int size) {
    for (asnd_fft_plan **at = &cache; *at; at = &(*at)->next) {
        asnd_fft_plan *p = *at;
        if (p->n != n || p->size != size) continue;
        *at = p->next;
        p->next = cache;
        cache = p;
        p->users++;
        return p;
    }
    return NULL;
}

asnd_fft_plan *asn_fft_plan_get(int64_t n, int size) {
    pthread_mutex_lock(&cache_lock);
    asnd_fft_plan *p = find(n, size);
    pthread_mutex_unlock(&cache_lock);
    if (p) return p;
    p = plan_new(n, size, true);
    if (p == NULL) return NULL;
    if (make_half(p) != ASN_OK) {
        plan_free(p);
        return NULL;
    }
    pthread_mutex_lock(&cache_lock);
    asnd_fft_plan *other = find(n, size); /* made by another thread meanwhile */
    asnd_fft_plan *dead = p;
    if (other == NULL) {
        p->users = 2; /* the cache's and the caller's */
        p->next = cache;
        cache = p;
        dead = evict();
        other = p;
    }
    pthread_mutex_unlock(&cache_lock);
    /* Freed without the lock: those evicted, or the plan that came second. */
    while (dead) {
        asnd_fft_plan *next = dead == p ? NULL : dead->next;
        plan_free(dead);
        dead = next;
    }
    return other;
}

/* The last user of an evicted plan frees it. */
void asn_fft_plan_release(asnd_fft_plan *plan) {
    pthread_mutex_lock(&cache_lock);
    bool last = --plan->users == 0;
    pthread_mutex_unlock(&cache_lock);
    if (last) plan_free(plan);
}
