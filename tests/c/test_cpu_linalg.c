/* Solvers: a @ x = b holds for matrices of every size, alone and in stacks, whose results
 * do not depend on the number of threads; singular matrices are counted; every allocation
 * failing in turn. Tests that need LAPACK say so and pass where there is none. */
#include <math.h>
#include <string.h>

#include "check.h"

#include "device/cpu/gemm/gemm.h"
#include "device/cpu/linalg/linalg.h"
#include "device/cpu/threads.h"

enum { MOST_N = 40, MOST_COUNT = 70 };
static double a[MOST_COUNT * MOST_N * MOST_N], b[MOST_COUNT * MOST_N],
    x[MOST_COUNT * MOST_N], y[MOST_COUNT * MOST_N];

static asn_status solve(int64_t count, int64_t n, double *to, int64_t *failed) {
    int64_t square[3] = {count, n, n}, column[3] = {count, n, 1};
    int64_t rows[3] = {8 * n * n, 8 * n, 8}, cells[3] = {8 * n, 8, 8};
    asnd_nd nd[3] = {{(char *)a, 3, ASN_F64, square, rows},
                     {(char *)b, 3, ASN_F64, column, cells},
                     {(char *)to, 3, ASN_F64, column, cells}};
    return asn_cpu_linalg(ASN_LINALG_SOLVE, NULL, 1, 3, nd, failed);
}

static void fill(int64_t count, int64_t n) {
    for (int64_t i = 0; i < count * n * n; i++)
        a[i] = random_unit() - 0.5;
    for (int64_t i = 0; i < count * n; i++)
        b[i] = random_unit();
    for (int64_t k = 0; k < count; k++) /* rows exchanged: pivots are needed */
        for (int64_t i = 0; i < n; i++)
            a[k * n * n + i * n + (i + k) % n] += (double)n;
}

static void test_residual(int64_t count, int64_t n) {
    int64_t failed = 7;
    fill(count, n);
    CHECK(solve(count, n, x, &failed) == ASN_OK && failed == 0);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++) {
            double left = -b[k * n + i];
            for (int64_t j = 0; j < n; j++)
                left += a[(k * n + i) * n + j] * x[k * n + j];
            CHECK(fabs(left) < 1e-13 * (double)n);
        }
    int before = asn_pool_set_threads(4);
    CHECK(solve(count, n, y, &failed) == ASN_OK);
    asn_pool_set_threads(before);
    CHECK(memcmp(x, y, (size_t)(count * n) * sizeof *x) == 0);
}

static void test_singular(int64_t count, int64_t n) {
    int64_t failed = 0;
    fill(count, n);
    memset(a + (count - 1) * n * n, 0, (size_t)(n * n) * sizeof *a);
    CHECK(solve(count, n, x, &failed) == ASN_OK && failed == 1);
    CHECK(isnan(x[count * n - 1]) && (count == 1 || !isnan(x[0])));
}

static void test_no_memory(int64_t count, int64_t n) {
    int64_t failed;
    fill(count, n);
    for (long k = 1; k < 50; k++) {
        asn_alloc_fail_after(k);
        asn_status status = solve(count, n, x, &failed);
        asn_alloc_fail_after(0);
        if (status == ASN_OK) break;
        CHECK(status == ASN_ERR_MEMORY && k < 49);
    }
}

static void test_refusals(void) {
    int64_t failed, shape[2] = {2, 3}, strides[2] = {24, 8};
    asnd_nd nd[2] = {{(char *)a, 2, ASN_F64, shape, strides},
                     {(char *)x, 2, ASN_F64, shape, strides}};
    CHECK(asn_cpu_linalg(ASN_LINALG_INV, NULL, 0, 2, nd, &failed) == ASN_ERR_VALUE);
    CHECK(asn_cpu_linalg(ASN_LINALG_INV, NULL, 0, 1, nd, &failed) == ASN_ERR_VALUE);
    nd[0].dtype = ASN_I32;
    CHECK(asn_cpu_linalg(ASN_LINALG_INV, NULL, 0, 2, nd, &failed) == ASN_ERR_TYPE);
}

int main(void) {
    void *dgesv;
    bool lapack = asn_blas_symbol("dgesv_", &dgesv) == ASN_OK;
    if (!lapack) printf("no LAPACK here: single and large matrices are not tested\n");
    for (int64_t n = 1; n <= (lapack ? MOST_N : 32); n++) {
        if (lapack) test_residual(1, n);
        test_residual(5, n);
        test_residual(MOST_COUNT, n);
        test_singular(MOST_COUNT, n);
    }
    if (lapack) {
        test_singular(1, 5);
        test_no_memory(1, 5);
    }
    test_no_memory(10, 5);
    test_refusals();
    return check_report("test_cpu_linalg");
}
