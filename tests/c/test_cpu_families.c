/* Copy, indexing, masks, sorting, searching and matrix products against plain loops on
 * random views; every allocation failing in turn. */
#include "check.h"

#include "device/cpu/move/copy.h"
#include "device/cpu/index/creation.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/gemm/gemm.h"
#include "device/cpu/index/index.h"
#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"
#include "device/cpu/fused/reduce.h"
#include "device/cpu/nn/slide.h"
#include "device/cpu/sort/sort.h"

static const asn_dtype dtypes[] = {ASN_U8,  ASN_I16, ASN_F16, ASN_I32, ASN_F32,
                                   ASN_I64, ASN_F64, ASN_C64, ASN_C128};
static asn_dtype random_dtype(void) {
    return dtypes[random_below(9)];
}

static void set(const asnd_nd *a, int64_t i, double x) {
    asn_kernels_get()->cast[ASN_F64][a->dtype](1, view_at(a, i), &x, NULL, NULL);
}

static double get(const asnd_nd *a, int64_t i) {
    double x;
    asn_kernels_get()->cast[a->dtype][ASN_F64](1, &x, view_at(a, i), NULL, NULL);
    return x;
}

static void fill(const asnd_nd *a, int64_t below) {
    for (int64_t i = 0; i < asn_nd_size(a); i++)
        set(a, i, (double)random_below(below));
}

static bool equal(const asnd_nd *a, int64_t i, const asnd_nd *b, int64_t j) {
    return memcmp(view_at(a, i), view_at(b, j), (size_t)asn_itemsize(a->dtype)) == 0;
}

static void test_copy(void) {
    int64_t shape[4];
    int ndim = random_shape(shape, 4, random_below(5) ? 8 : 40);
    view a, b;
    asn_dtype dt = random_dtype();
    view_init(&a, dt, ndim, shape, random_below(2));
    view_init(&b, dt, ndim, shape, random_below(2));
    fill(&a.nd, 100);
    if (ndim && random_below(4) == 0) a.strides[random_below(ndim)] = 0;
    CHECK(asn_cpu_copy(&b.nd, &a.nd) == ASN_OK, "");
    for (int64_t i = 0; i < asn_nd_size(&a.nd); i++)
        CHECK(equal(&a.nd, i, &b.nd, i), "");
    view_fini(&a);
    view_fini(&b);
}

/* self (n, r), one index array of any shape. */
static void test_index(void) {
    int64_t shape[3] = {1 + random_below(20), 1 + random_below(5), 1}, j[3], joined[4];
    int ndim = 1 + (int)random_below(2), nj = random_shape(j, 2, 30);
    asn_dtype dt = random_dtype();
    view self, idx, out, values;
    view_init(&self, dt, ndim, shape, random_below(2));
    view_init(&idx, ASN_I64, nj, j, random_below(2));
    memcpy(joined, j, sizeof(int64_t) * (size_t)nj);
    joined[nj] = shape[1];
    view_init(&out, dt, nj + ndim - 1, joined, random_below(2));
    view_init(&values, dt, nj + ndim - 1, joined, random_below(2));
    fill(&self.nd, 100);
    fill(&values.nd, 100);
    int64_t n = asn_nd_size(&idx.nd), rest = ndim == 2 ? shape[1] : 1;
    for (int64_t i = 0; i < n; i++)
        *(int64_t *)view_at(&idx.nd, i) = random_below(2 * shape[0]) - shape[0];
    const asnd_nd *list[1] = {&idx.nd};
    CHECK(asn_cpu_index_get(&self.nd, 1, list, &out.nd) == ASN_OK, "");
    for (int64_t i = 0; i < n; i++) {
        int64_t at = *(int64_t *)view_at(&idx.nd, i);
        at += at < 0 ? shape[0] : 0;
        for (int64_t r = 0; r < rest; r++)
            CHECK(equal(&self.nd, at * rest + r, &out.nd, i * rest + r), "");
    }
    CHECK(asn_cpu_index_put(&self.nd, 1, list, &values.nd, ASN_OP_NONE, NULL) == ASN_OK,
          "");
    for (int64_t i = 0; i < n; i++) {
        int64_t at = *(int64_t *)view_at(&idx.nd, i), last = i;
        for (int64_t k = i; k < n; k++) {
            int64_t other = *(int64_t *)view_at(&idx.nd, k);
            if ((other - at) % shape[0] == 0) last = k;
        }
        at += at < 0 ? shape[0] : 0;
        for (int64_t r = 0; r < rest; r++)
            CHECK(equal(&self.nd, at * rest + r, &values.nd, last * rest + r), "");
    }
    if (n) {
        *(int64_t *)view_at(&idx.nd, n - 1) = shape[0];
        CHECK(asn_cpu_index_get(&self.nd, 1, list, &out.nd) == ASN_ERR_INDEX, "");
        *(int64_t *)view_at(&idx.nd, n - 1) = -shape[0] - 1;
        CHECK(asn_cpu_take(&self.nd, 0, &idx.nd, ASN_INDEX_RAISE, &out.nd) ==
                  ASN_ERR_INDEX,
              "");
    }
    view_fini(&self);
    view_fini(&idx);
    view_fini(&out);
    view_fini(&values);
}

static void test_masks(void) {
    int64_t shape[3], n;
    int ndim = random_shape(shape, 3, random_below(4) ? 9 : 60);
    asn_dtype dt = random_dtype();
    view self, mask, list, where;
    view_init(&self, dt, ndim, shape, random_below(2));
    view_init(&mask, ASN_BOOL, ndim, shape, random_below(2));
    fill(&self.nd, 100);
    fill(&mask.nd, 2);
    n = asn_nd_size(&self.nd);
    view_init(&list, dt, 1, &n, random_below(2));
    view_init(&where, ASN_I64, 2, (int64_t[]){ndim, n}, random_below(2));
    int64_t count = -1, found = 0;
    CHECK(asn_cpu_masked_select(&self.nd, &mask.nd, &list.nd, &count) == ASN_OK, "");
    CHECK(asn_cpu_nonzero(&mask.nd, &where.nd, &count) == ASN_OK, "");
    for (int64_t i = 0; i < n; i++) {
        if (!get(&mask.nd, i)) continue;
        CHECK(equal(&self.nd, i, &list.nd, found), "");
        int64_t flat = 0;
        for (int d = 0; d < ndim; d++)
            flat = flat * shape[d] + *(int64_t *)view_at(&where.nd, d * n + found);
        CHECK(flat == i, "");
        set(&list.nd, found, (double)(found % 100));
        found++;
    }
    CHECK(found == count, "");
    CHECK(asn_cpu_masked_scatter(&self.nd, &mask.nd, &list.nd) == ASN_OK, "");
    found = 0;
    for (int64_t i = 0; i < n; i++)
        if (get(&mask.nd, i)) CHECK(get(&self.nd, i) == (double)(found++ % 100), "");
    view_fini(&self);
    view_fini(&mask);
    view_fini(&list);
    view_fini(&where);
}

static void test_sort(void) {
    int64_t shape[3];
    int ndim = 1 + random_shape(shape + 1, 2, 5), axis = (int)random_below(ndim);
    shape[0] = 1 + random_below(20);
    shape[axis] = 1 + random_below(random_below(3) ? 30 : 1000);
    asn_dtype dt = random_dtype();
    view in, values, order;
    view_init(&in, dt, ndim, shape, random_below(2));
    view_init(&values, dt, ndim, shape, random_below(2));
    view_init(&order, ASN_I64, ndim, shape, random_below(2));
    fill(&in.nd, 60);
    int64_t n = asn_nd_size(&in.nd), inner = 1, length = shape[axis];
    for (int d = axis + 1; d < ndim; d++)
        inner *= shape[d];
    int descending = random_below(2) ? ASN_SORT_DESCENDING : 0;
    CHECK(asn_cpu_sort(&in.nd, axis, descending, &values.nd, &order.nd) == ASN_OK, "");
    for (int64_t lane = 0; lane < n / length; lane++) {
        int64_t base = lane / inner * inner * length + lane % inner;
        for (int64_t i = 0; i < length; i++) {
            int64_t from = *(int64_t *)view_at(&order.nd, base + i * inner);
            CHECK(equal(&values.nd, base + i * inner, &in.nd, base + from * inner), "");
            if (i == 0) continue;
            double a = get(&values.nd, base + (i - 1) * inner),
                   b = get(&values.nd, base + i * inner);
            CHECK(descending ? a >= b : a <= b, "");
            if (a == b)
                CHECK(*(int64_t *)view_at(&order.nd, base + (i - 1) * inner) < from, "");
        }
    }
    view_fini(&in);
    view_fini(&values);
    view_fini(&order);
}

static void test_search(void) {
    int64_t n = random_below(200), m = 1 + random_below(300);
    asn_dtype dt = dtypes[random_below(7)];
    view sorted, values, at;
    view_init(&sorted, dt, 1, &n, random_below(2));
    view_init(&values, dt, 1, &m, random_below(2));
    view_init(&at, ASN_I64, 1, &m, random_below(2));
    fill(&sorted.nd, 50);
    fill(&values.nd, 60);
    CHECK(asn_cpu_sort(&sorted.nd, 0, 0, &sorted.nd, NULL) == ASN_OK, "");
    bool right = random_below(2);
    CHECK(asn_cpu_searchsorted(&sorted.nd, NULL, &values.nd, right, &at.nd) == ASN_OK,
          "");
    for (int64_t i = 0; i < m; i++) {
        int64_t want = 0;
        double x = get(&values.nd, i);
        while (want < n &&
               (right ? get(&sorted.nd, want) <= x : get(&sorted.nd, want) < x))
            want++;
        CHECK(*(int64_t *)view_at(&at.nd, i) == want, "");
    }
    view_fini(&sorted);
    view_fini(&values);
    view_fini(&at);
}

/* Dtypes whose products need no BLAS library. */
static void test_matmul(void) {
    static const asn_dtype own[] = {ASN_BOOL, ASN_U8, ASN_I32, ASN_I64};
    asn_dtype dt = own[random_below(4)];
    int64_t m = 1 + random_below(20), n = 1 + random_below(20), k = random_below(30),
            batch = 1 + random_below(3);
    view a, b, c;
    view_init(&a, dt, 3, (int64_t[]){batch, m, k}, random_below(2));
    view_init(&b, dt, 3, (int64_t[]){batch, k, n}, random_below(2));
    view_init(&c, dt, 3, (int64_t[]){batch, m, n}, random_below(2));
    fill(&a.nd, 3);
    fill(&b.nd, 3);
    CHECK(asn_cpu_matmul(&a.nd, &b.nd, &c.nd) == ASN_OK, "");
    for (int64_t t = 0; t < batch; t++) {
        for (int64_t i = 0; i < m; i++) {
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t p = 0; p < k; p++)
                    sum +=
                        get(&a.nd, (t * m + i) * k + p) * get(&b.nd, (t * k + p) * n + j);
                if (dt == ASN_BOOL) sum = sum != 0;
                CHECK(get(&c.nd, (t * m + i) * n + j) == sum, "");
            }
        }
    }
    view_fini(&a);
    view_fini(&b);
    view_fini(&c);
}

/* Products of one to a few hundred terms, positions before and past the ends; whole
 * numbers, so that the order of a sum does not matter. */
static void test_slide(void) {
    static const asn_dtype with_loop[] = {ASN_U8,  ASN_I16, ASN_I32,
                                          ASN_I64, ASN_F32, ASN_F64};
    asn_dtype dt = with_loop[random_below(6)];
    int64_t n = random_below(400), m = random_below(random_below(2) ? 300 : 9);
    int64_t first = random_below(n + 2 * m + 9) - m - 4;
    int64_t count = random_below(random_below(8) ? 500 : 3000);
    view a, v, out;
    view_init(&a, dt, 1, &n, true);
    view_init(&v, dt, 1, &m, true);
    view_init(&out, dt, 1, &count, true);
    fill(&a.nd, 2);
    fill(&v.nd, 2);
    CHECK(asn_cpu_slide(&a.nd, &v.nd, first, &out.nd) == ASN_OK, "");
    int64_t wrong = 0;
    for (int64_t i = 0; i < count; i++) {
        int64_t want = 0;
        for (int64_t j = 0; j < m; j++) {
            int64_t at = first + i + j;
            if (at >= 0 && at < n) want += (int64_t)(get(&a.nd, at) * get(&v.nd, j));
        }
        wrong += get(&out.nd, i) != (double)(dt == ASN_U8 ? want & 255 : want);
    }
    CHECK(!wrong, "sliding products");
    view_fini(&a);
    view_fini(&v);
    view_fini(&out);
}

static void test_slide_refusals(void) {
    int64_t n = 8, stride = 16;
    view a, v, half;
    view_init(&a, ASN_F64, 1, &n, true);
    view_init(&v, ASN_F64, 1, &n, true);
    view_init(&half, ASN_F16, 1, &n, true);
    CHECK(asn_cpu_slide(&half.nd, &half.nd, 0, &half.nd) == ASN_ERR_NO_LOOP, "");
    CHECK(asn_cpu_slide(&a.nd, &half.nd, 0, &a.nd) == ASN_ERR_NO_LOOP, "");
    n = 4;
    asnd_nd gaps = {v.nd.data, 1, ASN_F64, &n, &stride};
    CHECK(asn_cpu_slide(&a.nd, &gaps, 0, &a.nd) == ASN_ERR_VALUE, "");
    view_fini(&a);
    view_fini(&v);
    view_fini(&half);
}

static void test_failing_allocations(void) {
    int64_t n = 3000, count;
    view in, out, order, mask;
    view_init(&in, ASN_F64, 1, &n, true);
    view_init(&out, ASN_F64, 1, &n, true);
    view_init(&order, ASN_I64, 1, &n, true);
    view_init(&mask, ASN_BOOL, 1, &n, true);
    fill(&in.nd, 1000);
    fill(&mask.nd, 2);
    int64_t kth = 5;
    for (int which = 0; which < 5; which++) {
        for (long k = 1; k < 20; k++) {
            asn_status s = ASN_OK;
            asn_alloc_fail_after(k);
            if (which == 0) s = asn_cpu_sort(&in.nd, 0, 0, &out.nd, &order.nd);
            if (which == 1) s = asn_cpu_partition(&in.nd, 0, &kth, 1, &out.nd, NULL);
            if (which == 2) s = asn_cpu_masked_select(&in.nd, &mask.nd, &out.nd, &count);
            if (which == 3)
                s = asn_cpu_searchsorted(&in.nd, NULL, &in.nd, false, &order.nd);
            if (which == 4)
                s = asn_cpu_unique(&in.nd, true, &out.nd, NULL, &order.nd, NULL, &count);
            asn_alloc_fail_after(0);
            CHECK(s == ASN_OK || s == ASN_ERR_MEMORY, "");
            if (s == ASN_OK) break;
        }
    }
    view_fini(&in);
    view_fini(&out);
    view_fini(&order);
    view_fini(&mask);
}

int main(void) {
    asn_pool_set_threads(2);
    for (int i = 0; i < 400; i++) {
        test_copy();
        test_index();
        test_masks();
        test_sort();
        test_search();
        test_matmul();
        test_slide();
    }
    test_slide_refusals();
    test_failing_allocations();
    return check_report("test_cpu_families");
}
