/* Products of int8 in int32 against plain loops: random views, the extreme values, shapes
 * beyond every block of the kernels; every allocation failing in turn. */
#include "check.h"

#include "device/cpu/gemm/gemm_int8.h"
#include "device/cpu/threads.h"

static void fill_bytes(const asnd_nd *a, bool extreme) {
    for (int64_t i = 0; i < asn_nd_size(a); i++)
        *view_at(a, i) = (char)(extreme ? -128 : (int8_t)random_u64());
}

static int32_t *plain(const asnd_nd *a, const asnd_nd *b, int64_t batch) {
    int64_t m = a->shape[1], n = b->shape[2], k = a->shape[2];
    int32_t *want = calloc((size_t)(batch * m * n) + 1, sizeof *want);
    int8_t *row = malloc((size_t)k + 1);
    for (int64_t t = 0; t < batch; t++)
        for (int64_t i = 0; i < m; i++) {
            for (int64_t p = 0; p < k; p++)
                row[p] = (int8_t)*view_at(a, (t * m + i) * k + p);
            for (int64_t j = 0; j < n; j++) {
                int32_t sum = 0;
                const char *at = b->data + t * b->strides[0] + j * b->strides[2];
                for (int64_t p = 0; p < k; p++)
                    sum += row[p] * *(const int8_t *)(at + p * b->strides[1]);
                want[(t * m + i) * n + j] = sum;
            }
        }
    free(row);
    return want;
}

/* The next products' second operands have contiguous columns. */
static bool turned;

static void test_product(int64_t batch, int64_t m, int64_t k, int64_t n, bool contiguous,
                         bool extreme, bool once) {
    view a, b, c;
    view_init(&a, ASN_I8, 3, (int64_t[]){batch, m, k}, contiguous);
    view_init(&b, ASN_I8, 3,
              (int64_t[]){once ? 1 : batch, turned ? n : k, turned ? k : n}, contiguous);
    if (turned) {
        const int64_t step = b.strides[1];
        b.strides[1] = b.strides[2];
        b.strides[2] = step;
        b.shape[1] = k;
        b.shape[2] = n;
    }
    view_init(&c, ASN_I32, 3, (int64_t[]){batch, m, n}, contiguous);
    fill_bytes(&a.nd, extreme);
    fill_bytes(&b.nd, extreme);
    memset(c.memory, 77, 4);
    if (once) {
        b.shape[0] = batch;
        b.strides[0] = 0;
    }
    int32_t *want = plain(&a.nd, &b.nd, batch);
    CHECK(asn_cpu_matmul_int8(&a.nd, &b.nd, &c.nd) == ASN_OK, "");
    int64_t wrong = 0;
    for (int64_t i = 0; i < batch * m * n; i++)
        wrong += *(int32_t *)(void *)view_at(&c.nd, i) != want[i];
    CHECK(wrong == 0, "wrong sums");
    free(want);
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
}

static void test_refusals(void) {
    view a, b, c, d;
    view_init(&a, ASN_I8, 2, (int64_t[]){3, 4}, true);
    view_init(&b, ASN_I8, 2, (int64_t[]){4, 5}, true);
    view_init(&c, ASN_I32, 2, (int64_t[]){3, 5}, true);
    view_init(&d, ASN_I8, 2, (int64_t[]){3, 5}, true);
    CHECK(asn_cpu_matmul_int8(&a.nd, &b.nd, &c.nd) == ASN_OK, "");
    CHECK(asn_cpu_matmul_int8(&b.nd, &a.nd, &c.nd) == ASN_ERR_VALUE, "");
    CHECK(asn_cpu_matmul_int8(&a.nd, &b.nd, &d.nd) == ASN_ERR_VALUE, "");
    CHECK(asn_cpu_matmul_int8(&c.nd, &b.nd, &c.nd) == ASN_ERR_VALUE, "");
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
    view_fini(&d);
}

static void test_failing_allocations(void) {
    view a, b, c;
    view_init(&a, ASN_I8, 2, (int64_t[]){64, 200}, false);
    view_init(&b, ASN_I8, 2, (int64_t[]){200, 90}, true);
    view_init(&c, ASN_I32, 2, (int64_t[]){64, 90}, true);
    for (long k = 1; k < 20; k++) {
        asn_alloc_fail_after(k);
        asn_status s = asn_cpu_matmul_int8(&a.nd, &b.nd, &c.nd);
        asn_alloc_fail_after(0);
        CHECK(s == ASN_OK || s == ASN_ERR_MEMORY, "");
        if (s == ASN_OK) break;
    }
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
}

int main(void) {
    asn_pool_set_threads(2);
    for (int i = 0; i < 300; i++) {
        turned = i % 2;
        test_product(1 + random_below(3), random_below(30), random_below(40),
                     random_below(50), random_below(2), random_below(8) == 0,
                     random_below(3) == 0);
    }
    for (int i = 0; i < 16; i++) {
        turned = i % 2;
        test_product(1 + random_below(2), 40 + random_below(60), 20 + random_below(1500),
                     60 + random_below(120), random_below(2), false, random_below(2));
    }
    for (int i = 0; i < 60; i++) { /* few rows, by rows and by columns */
        turned = i % 2;
        test_product(1 + random_below(3), 1 + random_below(5), 1 + random_below(200),
                     1 + random_below(2100), i % 3 > 0, i % 7 == 0, i % 5 == 0);
        test_product(1, 1 + random_below(4), 131071, 1 + random_below(3), true, true,
                     false);
    }
    turned = false;
    test_product(1, 900, 33, 130, true, false, false); /* parts of the rows */
    test_product(1, 7, 4200, 70, true, true,
                 false); /* pieces of the four bytes' panels */
    test_product(1, 2, 131071, 17, true, true, false); /* the largest sums */
    test_product(18, 5, 600, 20, true, false, true);
    test_refusals();
    test_failing_allocations();
    return check_report("test_cpu_int8");
}
