/* Products of int8, uint8 and bfloat16 against plain loops: what processors with dot
 * products of quadruples and pairs do by those (gemm_dot.h), and all others by their own
 * loops and BLAS. Bytes wrap; the numbers of bfloat16 are small integers, whose sums
 * float32 holds, so that every order of summing gives the same bits. */
#include "check.h"

#include "base/half.h"
#include "device/cpu/context.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/threads.h"

static int64_t refused;

static void fill_numbers(const asnd_nd *a) {
    for (int64_t i = 0; i < asn_nd_size(a); i++) {
        if (a->dtype != ASN_BF16) {
            *view_at(a, i) = (char)random_u64();
            continue;
        }
        uint16_t number = asn_f32_to_bf16((float)(random_below(127) - 63));
        memcpy(view_at(a, i), &number, sizeof number);
    }
}

static int64_t number_at(const asnd_nd *a, int64_t i) {
    const char *at = view_at(a, i);
    if (a->dtype == ASN_I8) return *(const int8_t *)at;
    if (a->dtype == ASN_U8) return *(const uint8_t *)at;
    uint16_t half;
    memcpy(&half, at, sizeof half);
    return (int64_t)asn_bf16_to_f32(half);
}

/* Whether c's element is this sum, in c's dtype. */
static bool holds(const asnd_nd *c, int64_t i, int64_t sum) {
    if (c->dtype != ASN_BF16) return (uint8_t)*view_at(c, i) == (uint8_t)sum;
    uint16_t want = asn_f32_to_bf16((float)sum);
    return memcmp(view_at(c, i), &want, sizeof want) == 0;
}

static void test_product(asn_dtype dt, int64_t batch, int64_t m, int64_t k, int64_t n,
                         bool contiguous) {
    view a, b, c;
    view_init(&a, dt, 3, (int64_t[]){batch, m, k}, contiguous);
    view_init(&b, dt, 3, (int64_t[]){batch, k, n}, contiguous);
    view_init(&c, dt, 3, (int64_t[]){batch, m, n}, contiguous);
    fill_numbers(&a.nd);
    fill_numbers(&b.nd);
    asn_status status = asn_cpu_matmul(&a.nd, &b.nd, &c.nd);
    bool no_blas = status == ASN_ERR_RUNTIME && dt == ASN_BF16;
    refused += no_blas;
    CHECK(status == ASN_OK || no_blas, "");
    int64_t wrong = 0;
    for (int64_t i = 0; status == ASN_OK && i < batch * m * n; i++) {
        int64_t sum = 0, row = i / n, t = i / (m * n);
        for (int64_t p = 0; p < k; p++)
            sum +=
                number_at(&a.nd, row * k + p) * number_at(&b.nd, (t * k + p) * n + i % n);
        wrong += !holds(&c.nd, i, sum);
    }
    CHECK(wrong == 0, "wrong sums");
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
}

static void test_products(void) {
    static const asn_dtype dtypes[] = {ASN_I8, ASN_U8, ASN_BF16};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++) {
        for (int i = 0; i < 100; i++)
            test_product(dtypes[d], 1 + random_below(3), random_below(30),
                         random_below(40), random_below(50), random_below(2));
        for (int i = 0; i < 12; i++)
            test_product(dtypes[d], 1 + random_below(2), 20 + random_below(40),
                         20 + random_below(200), 40 + random_below(120), random_below(2));
        test_product(dtypes[d], 1, 400, 9, 70, true);  /* parts of the rows */
        test_product(dtypes[d], 1, 7, 4100, 66, true); /* pieces of the panels */
        for (int i = 0; i < 30; i++) {                 /* by a vector */
            bool row = random_below(2);
            int64_t n = 100 + random_below(300), k = 1 + random_below(400);
            test_product(dtypes[d], 1, row ? 1 : n, k, row ? n : 1, random_below(2));
        }
    }
}

int main(void) {
    asn_pool_set_threads(2);
    asnd_context *context = (asnd_context *)(uintptr_t)asn_context_get();
    test_products();
    if (context->tiles) { /* as a processor without a matrix unit */
        context->tiles = false;
        test_products();
    }
    if (context->dots_by_vector) {
        context->dots_by_vector = NULL;
        test_products();
    }
    if (refused)
        printf("no BLAS here: %lld products of bfloat16 are not tested\n",
               (long long)refused);
    return check_report("test_cpu_dot");
}
