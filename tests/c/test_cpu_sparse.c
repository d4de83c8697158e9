/* Sparse products (sparse.h) against sums in float64: empty rows, rows longer than a
 * part, indices in any order or ascending (blocks of panels), equal ones, widths around
 * panels, indices of both dtypes, one pair that does not ascend. One thread and three
 * give the same bits. Indices outside, and an indptr that does not ascend, are refused.
 */
#include "check.h"

#include <math.h>

#include "device/cpu/sparse/sparse.h"
#include "device/cpu/threads.h"

typedef struct {
    int64_t m, k, n, nnz;
    asn_dtype dtype, index;
    void *indptr, *indices, *data, *b, *out;
    double *exact, *sizes; /* of sums; of their terms' magnitudes */
} product;

static void put_index(const product *p, void *to, int64_t i, int64_t x) {
    if (p->index == ASN_I64)
        ((int64_t *)to)[i] = x;
    else
        ((int32_t *)to)[i] = (int32_t)x;
}

static int64_t index_at(const product *p, const void *from, int64_t i) {
    return p->index == ASN_I64 ? ((const int64_t *)from)[i] : ((const int32_t *)from)[i];
}

static void put(const product *p, void *to, int64_t i, double x) {
    if (p->dtype == ASN_F32)
        ((float *)to)[i] = (float)x;
    else if (p->dtype == ASN_F64)
        ((double *)to)[i] = x;
    else
        ((int16_t *)to)[i] = (int16_t)(20 * x);
}

static double at(const product *p, const void *from, int64_t i) {
    return p->dtype == ASN_F32   ? (double)((const float *)from)[i]
           : p->dtype == ASN_F64 ? ((const double *)from)[i]
                                 : (double)((const int16_t *)from)[i];
}

/* Memory of just the size: a sanitizer sees what is read beyond. */
static void *numbers(const product *p, int64_t n) {
    void *to = malloc((size_t)(n * asn_itemsize(p->dtype)) + 1);
    for (int64_t i = 0; i < n; i++)
        put(p, to, i, random_unit() - 0.5);
    return to;
}

/* Rows of up to `most` elements, some empty, row `full` (or none, -1) of `long_row`. */
static void init(product *p, int64_t most, int64_t full, int64_t long_row, bool sorted) {
    const size_t item = p->index == ASN_I64 ? 8 : 4;
    p->indptr = malloc((size_t)(p->m + 1) * item);
    put_index(p, p->indptr, 0, 0);
    p->nnz = 0;
    for (int64_t row = 0; row < p->m; row++) {
        int64_t count = random_below(3) ? random_below(most + 1) : 0;
        p->nnz += row == full ? long_row : count;
        put_index(p, p->indptr, row + 1, p->nnz);
    }
    p->indices = malloc((size_t)p->nnz * item + 1);
    for (int64_t row = 0; row < p->m; row++) {
        const int64_t from = index_at(p, p->indptr, row);
        const int64_t count = index_at(p, p->indptr, row + 1) - from;
        for (int64_t i = 0; i < count; i++)
            put_index(p, p->indices, from + i,
                      sorted ? i * p->k / count : random_below(p->k));
    }
    p->data = numbers(p, p->nnz);
    p->b = numbers(p, p->k * p->n);
    p->out = numbers(p, p->m * p->n);
    p->exact = calloc((size_t)(p->m * p->n) + 1, sizeof *p->exact);
    p->sizes = calloc((size_t)(p->m * p->n) + 1, sizeof *p->sizes);
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t i = index_at(p, p->indptr, row); i < index_at(p, p->indptr, row + 1);
             i++)
            for (int64_t j = 0; j < p->n; j++) {
                const int64_t k = index_at(p, p->indices, i);
                const double term = at(p, p->data, i) * at(p, p->b, k * p->n + j);
                p->exact[row * p->n + j] += term;
                p->sizes[row * p->n + j] += fabs(term);
            }
}

static void fini(product *p) {
    void *all[] = {p->indptr, p->indices, p->data, p->b, p->out, p->exact, p->sizes};
    for (int i = 0; i < 7; i++)
        free(all[i]);
}

static asn_status multiply(const product *p, void *out) {
    const int64_t item = asn_itemsize(p->dtype), each = asn_itemsize(p->index);
    int64_t heads = p->m + 1, count = p->nnz, in[2] = {p->k, p->n}, to[2] = {p->m, p->n};
    int64_t step = each, one = item, rows[2] = {p->n * item, item};
    asnd_nd indptr = {p->indptr, 1, p->index, &heads, &step};
    asnd_nd indices = {p->indices, 1, p->index, &count, &step};
    asnd_nd data = {p->data, 1, p->dtype, &count, &one};
    asnd_nd b = {p->b, 2, p->dtype, in, rows}, result = {out, 2, p->dtype, to, rows};
    return asn_cpu_sparse_matmul(&indptr, &indices, &data, &b, &result);
}

/* Near the exact sums; int16 wraps as they do. */
static void compare(const product *p) {
    const double eps = p->dtype == ASN_F32 ? 0x1p-23 : 0x1p-52;
    CHECK(multiply(p, p->out) == ASN_OK);
    int64_t wrong = 0;
    for (int64_t i = 0; i < p->m * p->n; i++) {
        const double got = at(p, p->out, i);
        if (p->dtype == ASN_I16)
            wrong += got != (double)(int16_t)(int64_t)p->exact[i];
        else /* each of the terms rounds, at most as often as there are elements */
            wrong += !(fabs(got - p->exact[i]) <=
                       eps * (4 + sqrt((double)p->nnz)) * p->sizes[i]);
    }
    if (wrong)
        printf("%lld of (%lld, %lld) by %lld\n", (long long)wrong, (long long)p->m,
               (long long)p->k, (long long)p->n);
    CHECK(wrong == 0);
}

static void compare_threads(const product *p) {
    const size_t bytes = (size_t)(p->m * p->n * asn_itemsize(p->dtype));
    void *alone = malloc(bytes + 1);
    asn_pool_set_threads(1);
    CHECK(multiply(p, alone) == ASN_OK);
    asn_pool_set_threads(3);
    CHECK(multiply(p, p->out) == ASN_OK && memcmp(alone, p->out, bytes) == 0);
    free(alone);
}

static void test_random(void) {
    static const asn_dtype dtypes[] = {ASN_F32, ASN_F64, ASN_I16};
    for (int round = 0; round < 120; round++) {
        product p = {.m = random_below(40),
                     .k = 1 + random_below(300),
                     .n = round % 4 ? random_below(300) : round % 8 / 4,
                     .dtype = dtypes[round % 3],
                     .index = random_below(2) ? ASN_I64 : ASN_I32};
        init(&p, random_below(60), -1, 0, random_below(2));
        compare(&p);
        compare_threads(&p);
        fini(&p);
    }
}

/* One row with most of the elements, among short ones; and of a vector. */
static void test_long_rows(void) {
    for (int round = 0; round < 8; round++) {
        product p = {.m = 50,
                     .k = 2000,
                     .n = round % 2 ? 130 : 1,
                     .index = ASN_I32,
                     .dtype = round % 4 < 2 ? ASN_F32 : ASN_F64};
        init(&p, 30, round < 4 ? 49 : 20, round % 2 ? 30000 : 900000, round % 3 == 0);
        compare(&p);
        compare_threads(&p);
        fini(&p);
    }
}

/* Rows dense enough for blocks of b, and more of them than pass through these together;
 * last panels of one column and of several. */
static void test_blocks(void) {
    static const int64_t widths[] = {33, 65, 66, 100, 129, 257};
    for (int round = 0; round < 24; round++) {
        product p = {.m = 100 + random_below(300),
                     .k = 300 + random_below(500),
                     .n = widths[round % 6],
                     .index = round % 4 < 2 ? ASN_I32 : ASN_I64,
                     .dtype = round % 2 ? ASN_F32 : ASN_F64};
        init(&p, 200, round % 3 ? -1 : 7, 5000, true);
        compare(&p);
        compare_threads(&p);
        fini(&p);
    }
}

/* Blocks of as many columns as places of 16 bits have room for, and more (one block). */
static void test_wide_blocks(void) {
    static const int64_t most[] = {60, 48, 40, 37, 36, 30}; /* 2.4e6 / most columns */
    for (int round = 0; round < 12; round++) {
        product p = {.m = 48000,
                     .k = 100000,
                     .n = 2,
                     .index = round % 4 < 2 ? ASN_I32 : ASN_I64,
                     .dtype = round % 2 ? ASN_F32 : ASN_F64};
        init(&p, most[round / 2], -1, 0, true);
        compare(&p);
        compare_threads(&p);
        fini(&p);
    }
}

/* One pair that does not ascend, in any row, among many that do. */
static void test_one_descends(void) {
    for (int round = 0; round < 24; round++) {
        product p = {.m = 300,
                     .k = 400,
                     .n = 66,
                     .index = round % 2 ? ASN_I32 : ASN_I64,
                     .dtype = round % 4 < 2 ? ASN_F32 : ASN_F64};
        init(&p, 200, -1, 0, true);
        int64_t row = random_below(p.m), first, count;
        do {
            row = (row + 1) % p.m;
            first = index_at(&p, p.indptr, row);
            count = index_at(&p, p.indptr, row + 1) - first;
        } while (count < 2);
        const int64_t one = first + random_below(count - 1);
        const int64_t index = index_at(&p, p.indices, one);
        const double x = at(&p, p.data, one);
        put_index(&p, p.indices, one, index_at(&p, p.indices, one + 1));
        put(&p, p.data, one, at(&p, p.data, one + 1));
        put_index(&p, p.indices, one + 1, index);
        put(&p, p.data, one + 1, x);
        compare(&p);
        compare_threads(&p);
        fini(&p);
    }
}

/* Wherever it stands: indices that ascend are looked at by the ends of their rows, those
 * of many rows by several threads. */
static void check_outside(asn_dtype index, int64_t rows, bool sorted) {
    product p = {.m = rows, .k = 90, .n = 3, .dtype = ASN_F32, .index = index};
    init(&p, rows, 2, 4, sorted);
    const int64_t outside[] = {90, -1, index == ASN_I64 ? INT64_MAX : INT32_MAX,
                               index == ASN_I64 ? (INT64_C(1) << 32) + 1 : INT32_MIN};
    const int64_t step = 1 + p.nnz / 40;
    for (int64_t at = 0; at < p.nnz; at += step) {
        const int64_t kept = index_at(&p, p.indices, at);
        for (int i = 0; i < 4; i++) {
            put_index(&p, p.indices, at, outside[i]);
            CHECK(multiply(&p, p.out) == ASN_ERR_VALUE);
        }
        put_index(&p, p.indices, at, kept);
    }
    CHECK(multiply(&p, p.out) == ASN_OK);
    fini(&p);
}

static void test_refused(void) {
    for (int kind = 0; kind < 8; kind++)
        check_outside(kind % 2 ? ASN_I32 : ASN_I64, kind / 2 % 2 ? 700 : 5, kind / 4);
    product p = {.m = 5, .k = 9, .n = 3, .dtype = ASN_F32, .index = ASN_I64};
    init(&p, 5, 2, 4, true);
    const int64_t kept = index_at(&p, p.indptr, 3);
    put_index(&p, p.indptr, 3, p.nnz + 1);
    CHECK(multiply(&p, p.out) == ASN_ERR_VALUE);
    put_index(&p, p.indptr, 3, kept);
    p.dtype = ASN_F16;
    CHECK(multiply(&p, p.out) == ASN_ERR_NO_LOOP);
    fini(&p);
}

int main(void) {
    asn_pool_set_threads(3);
    test_random();
    test_long_rows();
    test_blocks();
    test_wide_blocks();
    test_one_descends();
    test_refused();
    return check_report("test_cpu_sparse");
}
