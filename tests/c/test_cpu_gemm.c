/* Products of floats and complex numbers (gemm_panels.h, gemm_complex.h, or BLAS).
 * Numbers are small integers, whose sums are exact in every order; on real numbers one
 * thread and three give the same bits; in panels infinity times zero occurs where the
 * operands have it and not in lanes beyond. */
#include "check.h"

#include <complex.h>
#include <fenv.h>
#include <math.h>

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/gemm/gemm_panels.h"
#include "device/cpu/threads.h"

static int64_t refused;

static double number_at(const asnd_nd *a, int64_t i) {
    const char *at = view_at(a, i);
    return a->dtype == ASN_F32 ? (double)*(const float *)at : *(const double *)at;
}

static double *numbers_of(const asnd_nd *a) {
    double *all = calloc((size_t)asn_nd_size(a) + 1, sizeof *all);
    for (int64_t i = 0; i < asn_nd_size(a); i++)
        all[i] = number_at(a, i);
    return all;
}

static void put_number(const asnd_nd *a, int64_t i, double x) {
    char *at = view_at(a, i);
    if (a->dtype == ASN_F32)
        *(float *)at = (float)x;
    else
        *(double *)at = x;
}

static void fill(const asnd_nd *a, bool whole) {
    for (int64_t i = 0; i < asn_nd_size(a); i++)
        put_number(a, i, whole ? (double)(random_below(31) - 15) : random_unit() - 0.5);
}

typedef struct {
    view a, b, c;
    int64_t batch, m, k, n;
    asn_dtype dt;
} product;

static void product_init(product *p, asn_dtype dt, int64_t batch, int64_t m, int64_t k,
                         int64_t n, bool contiguous, bool whole) {
    *p = (product){.batch = batch, .m = m, .k = k, .n = n, .dt = dt};
    view_init(&p->a, dt, 3, (int64_t[]){batch, m, k}, contiguous);
    view_init(&p->b, dt, 3, (int64_t[]){batch, k, n}, contiguous);
    view_init(&p->c, dt, 3, (int64_t[]){batch, m, n}, contiguous || random_below(2));
    fill(&p->a.nd, whole);
    fill(&p->b.nd, whole);
    fill(&p->c.nd, whole);
}

static void product_fini(product *p) {
    view_fini(&p->a);
    view_fini(&p->b);
    view_fini(&p->c);
}

/* alpha NULL: c = a b. false: there is no BLAS here. */
static bool run(product *p, const double *alpha, double beta) {
    float narrow[2] = {alpha ? (float)*alpha : 1, (float)beta};
    double wide[2] = {alpha ? *alpha : 1, beta};
    const void *by[2] = {&wide[0], &wide[1]};
    if (p->dt == ASN_F32) by[0] = &narrow[0], by[1] = &narrow[1];
    asn_status status = alpha ? asn_cpu_gemm(by[0], &p->a.nd, &p->b.nd, by[1], &p->c.nd)
                              : asn_cpu_matmul(&p->a.nd, &p->b.nd, &p->c.nd);
    refused += status == ASN_ERR_RUNTIME;
    CHECK(status == ASN_OK || status == ASN_ERR_RUNTIME, "");
    return status == ASN_OK;
}

static void test_sums(asn_dtype dt, int64_t batch, int64_t m, int64_t k, int64_t n,
                      bool contiguous) {
    product p;
    product_init(&p, dt, batch, m, k, n, contiguous, true);
    if (random_below(2)) p.b.strides[0] = 0; /* one b for all: more rows of one product */
    int64_t size = batch * m * n, wrong = 0;
    bool scaled = random_below(2);
    double alpha = 1 + (double)random_below(3), beta = (double)random_below(3);
    double *want = calloc((size_t)size + 1, sizeof *want), *a = numbers_of(&p.a.nd),
           *b = numbers_of(&p.b.nd);
    for (int64_t i = 0; i < size; i++) {
        int64_t row = i / n, t = i / (m * n);
        double sum = 0;
        for (int64_t q = 0; q < k; q++)
            sum += a[row * k + q] * b[(t * k + q) * n + i % n];
        want[i] = scaled ? alpha * sum + beta * number_at(&p.c.nd, i) : sum;
    }
    if (run(&p, scaled ? &alpha : NULL, beta))
        for (int64_t i = 0; i < size; i++)
            wrong += number_at(&p.c.nd, i) != want[i];
    if (wrong)
        printf("%s %lld x %lld x %lld x %lld\n", asn_dtype_name(dt), (long long)batch,
               (long long)m, (long long)k, (long long)n);
    CHECK(wrong == 0, "wrong sums");
    free(a);
    free(b);
    free(want);
    product_fini(&p);
}

static double complex *complex_numbers(const asnd_nd *a, bool filled) {
    double complex *all = calloc((size_t)asn_nd_size(a) + 1, sizeof *all);
    for (int64_t i = 0; i < asn_nd_size(a); i++) {
        char *at = view_at(a, i);
        for (int part = 0; part < 2 && !filled; part++)
            if (a->dtype == ASN_C64)
                ((float *)at)[part] = (float)(random_below(31) - 15);
            else
                ((double *)at)[part] = (double)(random_below(31) - 15);
        all[i] = a->dtype == ASN_C64 ? (double complex) * (const float complex *)at
                                     : *(const double complex *)at;
    }
    return all;
}

static void test_complex(asn_dtype dt, int64_t batch, int64_t m, int64_t k, int64_t n,
                         bool contiguous) {
    view a, b, c;
    view_init(&a, dt, 3, (int64_t[]){batch, m, k}, contiguous);
    view_init(&b, dt, 3, (int64_t[]){batch, k, n}, contiguous);
    view_init(&c, dt, 3, (int64_t[]){batch, m, n}, contiguous || random_below(2));
    double complex *x = complex_numbers(&a.nd, false), *y = complex_numbers(&b.nd, false);
    asn_status status = asn_cpu_matmul(&a.nd, &b.nd, &c.nd);
    refused += status == ASN_ERR_RUNTIME;
    CHECK(status == ASN_OK || status == ASN_ERR_RUNTIME, "");
    double complex *got = complex_numbers(&c.nd, true);
    int64_t wrong = 0;
    for (int64_t i = 0; status == ASN_OK && i < batch * m * n; i++) {
        int64_t row = i / n, t = i / (m * n);
        double complex sum = 0;
        for (int64_t q = 0; q < k; q++)
            sum += x[row * k + q] * y[(t * k + q) * n + i % n];
        wrong += got[i] != sum;
    }
    CHECK(wrong == 0, "wrong complex sums");
    free(x);
    free(y);
    free(got);
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
}

static void test_threads(asn_dtype dt, int64_t m, int64_t k, int64_t n) {
    product p;
    product_init(&p, dt, 1, m, k, n, false, false);
    double *alone = calloc((size_t)(m * n), sizeof *alone);
    asn_pool_set_threads(1);
    bool done = run(&p, NULL, 0);
    for (int64_t i = 0; i < m * n; i++)
        alone[i] = number_at(&p.c.nd, i);
    asn_pool_set_threads(3);
    done = done && run(&p, NULL, 0);
    int64_t other = 0;
    for (int64_t i = 0; done && i < m * n; i++)
        other += number_at(&p.c.nd, i) != alone[i];
    CHECK(other == 0, "other bits with more threads");
    free(alone);
    product_fini(&p);
}

/* Rows of a product of many rows, for which B is packed, and of few, for which it is read
 * where it lies, have the same bits. */
static void test_few_and_many(asn_dtype dt, int64_t k, int64_t n) {
    enum { MANY = 300 };
    static const int64_t few[] = {20, 64, 65, 160, 161};
    product p;
    product_init(&p, dt, 1, MANY, k, n, true, false);
    const double one = 1;
    CHECK(run(&p, &one, 0), "");
    double *whole = numbers_of(&p.c.nd);
    int64_t other = 0;
    for (int i = 0; i < (int)(sizeof few / sizeof *few); i++) {
        const int64_t a_shape[3] = {1, few[i], k}, c_shape[3] = {1, few[i], n};
        p.a.nd.shape = a_shape;
        p.c.nd.shape = c_shape;
        CHECK(run(&p, &one, 0), "");
        for (int64_t e = 0; e < few[i] * n; e++)
            other += number_at(&p.c.nd, e) != whole[e];
    }
    CHECK(other == 0, "other bits with fewer rows");
    free(whole);
    product_fini(&p);
}

/* No row of a has a zero where b's column has an infinity; a's others do not matter. */
static void test_conditions(asn_dtype dt, int64_t m, int64_t k, int64_t n, bool invalid) {
    product p;
    product_init(&p, dt, 1, m, k, n, true, true);
    for (int64_t i = 0; i < m * k; i++)
        put_number(&p.a.nd, i, 1 + (double)random_below(9));
    for (int64_t i = 0; i < k * n; i++)
        put_number(&p.b.nd, i, random_below(50) ? (double)random_below(9) : HUGE_VAL);
    int64_t q = random_below(k);
    put_number(&p.b.nd, q * n + n - 1, HUGE_VAL);
    if (invalid) put_number(&p.a.nd, random_below(m) * k + q, 0);
    if (run(&p, NULL, 0)) { /* the first call may open the library */
        feclearexcept(FE_ALL_EXCEPT);
        run(&p, NULL, 0);
        CHECK(!fetestexcept(FE_INVALID) == !invalid, "conditions");
    }
    feclearexcept(FE_ALL_EXCEPT);
    product_fini(&p);
}

/* Every allocation fails once: an error, or the product all the same. */
static void test_memory(asn_dtype dt, int64_t m, int64_t k, int64_t n) {
    asn_pool_set_threads(1);
    for (long fail = 1; fail < 6; fail++) {
        product p;
        product_init(&p, dt, 1, m, k, n, false, true);
        asn_alloc_fail_after(fail);
        asn_status status = asn_cpu_matmul(&p.a.nd, &p.b.nd, &p.c.nd);
        asn_alloc_fail_after(0);
        CHECK(status == ASN_OK || status == ASN_ERR_MEMORY || status == ASN_ERR_RUNTIME,
              "");
        int64_t at = random_below(m * n), row = at / n;
        double sum = 0;
        for (int64_t q = 0; q < k; q++)
            sum += number_at(&p.a.nd, row * k + q) * number_at(&p.b.nd, q * n + at % n);
        CHECK(status != ASN_OK || number_at(&p.c.nd, at) == sum, "wrong sum");
        product_fini(&p);
    }
}

/* A matrix times a column, and a row times a matrix: short and long rows, few and many.
 */
static void test_vectors(asn_dtype dt) {
    static const int64_t shapes[][2] = {
        {30000, 3},  {30000, 20}, {3000, 100}, {700, 700}, {60, 9000},
        {20, 30000}, {3, 70000},  {300, 2100}, {2, 33},    {1500, 64},
    };
    for (int i = 0; i < 300; i++) {
        int64_t m = 1 + random_below(90), k = 1 + random_below(90),
                batch = 1 + random_below(3);
        test_sums(dt, batch, m, k, 1, random_below(2));
        test_sums(dt, batch, 1, k, m, random_below(2));
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        int64_t m = shapes[i][0], k = shapes[i][1], batch = 1 + !random_below(4);
        test_sums(dt, batch, m, k, 1, random_below(2));
        test_sums(dt, batch, 1, m, k, random_below(2));
        test_threads(dt, m, k, 1);
        test_threads(dt, 1, m, k);
    }
    for (int i = 0; i < 40; i++) {
        test_conditions(dt, 2 + random_below(200), 2 + random_below(200), 1, i % 2);
        test_conditions(dt, 1, 2 + random_below(200), 2 + random_below(200), i % 2);
    }
    test_sums(dt, 2, 3300, 3300, 1, true); /* threads share each of a batch */
    test_sums(dt, 2, 1, 3300, 3300, true);
    test_memory(dt, 20, 30000, 1);
    test_memory(dt, 1, 3000, 100);
    asn_pool_set_threads(2);
}

int main(void) {
    static const asn_dtype dtypes[] = {ASN_F32, ASN_F64};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        asn_dtype dt = dtypes[d];
        asn_pool_set_threads(2);
        for (int i = 0; i < 300; i++)
            test_sums(dt, 1 + random_below(3), 1 + random_below(40), 1 + random_below(60),
                      1 + random_below(120), random_below(2));
        for (int i = 0; i < 12; i++)
            test_sums(dt, 1, 1 + random_below(300), 1 + random_below(300),
                      1 + random_below(600), random_below(2));
        test_sums(dt, 1, 20, 1000, 30, true);   /* parts of the sums */
        test_sums(dt, 1, 600, 400, 40, false);  /* blocks of rows */
        test_sums(dt, 1, 17, 380, 3200, false); /* packed columns in turns */
        test_sums(dt, 2, 260, 390, 270, true);  /* threads share each of a batch */
        for (int i = 0; i < 8; i++)             /* tiles of narrow ones in a batch */
            test_sums(dt, 2, 70000, 8, 4, true);
        test_threads(dt, 150, 400, 170);
        test_threads(dt, 33, 700, 900);
        for (int i = 0; i < 40 && asn_panels_kernels_of(dt); i++) /* BLAS has its own */
            test_conditions(dt, 2 + random_below(20), 17 + random_below(20),
                            2 + random_below(60), i % 2);
        if (asn_panels_kernels_of(dt)) {
            test_few_and_many(dt, 150, 270);
            test_few_and_many(dt, 400, 1024); /* whole pages */
        }
        test_memory(dt, 40, 300, 50);
        test_vectors(dt);
    }
    asn_pool_set_threads(2);
    for (int i = 0; i < 100; i++) {
        asn_dtype dt = i % 2 ? ASN_C64 : ASN_C128;
        test_complex(dt, 1 + random_below(2), 1 + random_below(80), 1 + random_below(80),
                     1 + random_below(80), random_below(2));
        if (i < 4) test_complex(dt, 1, 150, 500, 90, i < 2);
    }
    if (refused)
        printf("no BLAS here: %lld products are not tested\n", (long long)refused);
    return check_report("test_cpu_gemm");
}
