/* Reductions, argmax and scans against plain loops; the same result on any number of
 * threads; every allocation failing in turn. */
#include <math.h>

#include "check.h"

#include "device/cpu/kernels.h"
#include "device/cpu/threads.h"
#include "device/cpu/fused/fused.h"
#include "device/cpu/fused/reduce.h"
#include "device/cpu/loops/scan.h"

static void set(const asnd_nd *a, int64_t i, double x) {
    asn_kernels_get()->cast[ASN_F64][a->dtype](1, view_at(a, i), &x, NULL, NULL);
}

static double get(const asnd_nd *a, int64_t i) {
    double x;
    asn_kernels_get()->cast[a->dtype][ASN_F64](1, &x, view_at(a, i), NULL, NULL);
    return x;
}

static double fold(asn_op op, double a, double b) {
    switch (op) {
    case ASN_OP_ADD: return a + b;
    case ASN_OP_SUBTRACT: return a - b;
    case ASN_OP_MAXIMUM: return a > b ? a : b;
    default: return a < b ? a : b;
    }
}

/* Position in the reduced array of element i of the whole. */
static int64_t kept_position(const asnd_nd *a, uint64_t mask, int64_t i) {
    int64_t at = 0, factor = 1;
    for (int d = a->ndim - 1; d >= 0; d--) {
        int64_t x = i % a->shape[d];
        i /= a->shape[d];
        if (mask >> d & 1) continue;
        at += x * factor;
        factor *= a->shape[d];
    }
    return at;
}

static void test_reduce(asn_op op, asn_dtype dt, int ndim, const int64_t *shape) {
    view in, out;
    uint64_t mask = random_u64() & (((uint64_t)1 << ndim) - 1);
    int64_t reduced[8], n, m;
    if (op == ASN_OP_SUBTRACT) mask = ndim ? (uint64_t)1 << random_below(ndim) : 0;
    for (int d = 0; d < ndim; d++)
        reduced[d] = mask >> d & 1 ? 1 : shape[d];
    view_init(&in, dt, ndim, shape, random_below(2));
    view_init(&out, dt, ndim, reduced, random_below(2));
    n = asn_nd_size(&in.nd);
    m = asn_nd_size(&out.nd);
    for (int64_t i = 0; i < n; i++) /* exact in every dtype */
        set(&in.nd, i, (double)random_below(n > 1000 && dt == ASN_F16 ? 2 : 4));
    CHECK(asn_cpu_reduce(op, mask, &in.nd, &out.nd, NULL) == ASN_OK, "");
    double *want = malloc((size_t)m * sizeof *want);
    bool *started = calloc((size_t)m, sizeof *started);
    for (int64_t i = 0; i < n; i++) {
        int64_t at = kept_position(&in.nd, mask, i);
        want[at] = started[at] ? fold(op, want[at], get(&in.nd, i)) : get(&in.nd, i);
        started[at] = true;
    }
    for (int64_t i = 0; i < m; i++) {
        double x = want[i], y;
        char cell[16];
        asn_kernels_get()->cast[ASN_F64][dt](1, cell, &x, NULL, NULL);
        asn_kernels_get()->cast[dt][ASN_F64](1, &y, cell, NULL, NULL);
        CHECK(get(&out.nd, i) == y, "");
    }
    free(want);
    free(started);
    view_fini(&in);
    view_fini(&out);
}

static void test_threads(void) {
    static const int64_t shapes[][2] = {{1, 300000}, {700, 900}, {40000, 5}, {5, 40000}};
    for (int s = 0; s < 4; s++) {
        for (uint64_t mask = 1; mask < 4; mask++) {
            view in, out[3];
            int64_t reduced[2];
            for (int d = 0; d < 2; d++)
                reduced[d] = mask >> d & 1 ? 1 : shapes[s][d];
            view_init(&in, ASN_F32, 2, shapes[s], true);
            for (int64_t i = 0; i < asn_nd_size(&in.nd); i++)
                set(&in.nd, i, random_unit() - 0.5);
            for (int t = 0; t < 3; t++) {
                view_init(&out[t], ASN_F32, 2, reduced, true);
                asn_pool_set_threads(t + 1);
                CHECK(asn_cpu_reduce(ASN_OP_ADD, mask, &in.nd, &out[t].nd, NULL) ==
                          ASN_OK,
                      "");
                size_t bytes = (size_t)asn_nd_size(&out[t].nd) * 4;
                CHECK(memcmp(out[t].nd.data, out[0].nd.data, bytes) == 0, "");
            }
            for (int t = 0; t < 3; t++)
                view_fini(&out[t]);
            view_fini(&in);
        }
    }
}

static void test_accuracy(void) {
    int64_t n = 1000003, one = 1;
    view in, out;
    view_init(&in, ASN_F64, 1, &n, true);
    view_init(&out, ASN_F64, 1, &one, true);
    long double exact = 0;
    for (int64_t i = 0; i < n; i++) {
        double x = random_unit() * (i % 3 ? 1e-8 : 1e3);
        set(&in.nd, i, x);
        exact += x;
    }
    CHECK(asn_cpu_reduce(ASN_OP_ADD, 1, &in.nd, &out.nd, NULL) == ASN_OK, "");
    CHECK(fabsl(get(&out.nd, 0) - exact) <= 2 * 2.3e-16L * fabsl(exact), "");
    view_fini(&in);
    view_fini(&out);
}

/* Any number of threads gives the same bits; a drift, a step and a distant mean cancel
 * nothing. */
static void test_squared_deviations(void) {
    enum { N = 100003 };
    double *x = malloc(N * sizeof *x), m2[2];
    for (int kind = 0; kind < 4; kind++) {
        long double mean = 0, want = 0;
        for (int i = 0; i < N; i++) {
            double drift = kind == 1 ? i * 0.01 : kind == 2 ? (i < N / 2) * 1e4 : 0;
            x[i] = kind == 3 ? 0.1 : random_unit() + drift + 1e6;
            mean += x[i];
        }
        mean /= N;
        for (int i = 0; i < N; i++)
            want += (x[i] - mean) * (x[i] - mean);
        for (int t = 0; t < 2; t++) {
            asn_pool_set_threads(t + 1);
            CHECK(asn_cpu_squared_deviations(ASN_F64, N, x, &m2[t]) == ASN_OK, "");
        }
        CHECK(m2[0] == m2[1], "");
        CHECK(fabsl(m2[0] - want) <= 1e-14L * want + 1e-20L, "");
    }
    CHECK(asn_cpu_squared_deviations(ASN_F64, 0, x, m2) == ASN_OK && m2[0] == 0, "");
    CHECK(asn_cpu_squared_deviations(ASN_I32, 1, x, m2) == ASN_ERR_NO_LOOP, "");
    asn_alloc_fail_after(1);
    CHECK(asn_cpu_squared_deviations(ASN_F64, N, x, m2) == ASN_ERR_MEMORY, "");
    asn_alloc_fail_after(0);
    free(x);
}

static void test_along(asn_dtype dt, int ndim, const int64_t *shape, int axis) {
    view in, scanned, at;
    int64_t without[8];
    for (int d = 0, k = 0; d < ndim; d++)
        if (d != axis) without[k++] = shape[d];
    view_init(&in, dt, ndim, shape, random_below(2));
    view_init(&scanned, dt, ndim, shape, random_below(2));
    view_init(&at, ASN_I64, ndim - 1, without, random_below(2));
    int64_t n = asn_nd_size(&in.nd), inner = 1;
    for (int d = axis + 1; d < ndim; d++)
        inner *= shape[d];
    for (int64_t i = 0; i < n; i++)
        set(&in.nd, i,
            random_below(30) == 0 && asn_is_floating(dt) ? NAN : (double)random_below(3));
    CHECK(asn_cpu_argmax(&in.nd, axis, &at.nd) == ASN_OK, "");
    CHECK(asn_cpu_scan(ASN_OP_MAXIMUM, axis, &in.nd, &scanned.nd, NULL) == ASN_OK, "");
    for (int64_t lane = 0; lane < n / shape[axis]; lane++) {
        int64_t base = lane / inner * inner * shape[axis] + lane % inner, best = 0;
        double top = get(&in.nd, base);
        for (int64_t i = 0; i < shape[axis]; i++) {
            double x = get(&in.nd, base + i * inner);
            if (top == top && (x > top || x != x)) {
                top = x;
                best = i;
            }
            double y = get(&scanned.nd, base + i * inner);
            CHECK(y == top || (y != y && top != top), "");
        }
        CHECK(*(int64_t *)view_at(&at.nd, lane) == best, "");
    }
    view_fini(&in);
    view_fini(&scanned);
    view_fini(&at);
}

/* Sums of truth values: rows of every length about a word's, a stride's and the 255
 * rounds that a byte's sum holds, all of them ones (the most that can be counted) or a
 * third. */
static void test_counts(void) {
    static const int64_t shapes[][2] = {{1, 0},     {5, 7},       {40, 8},    {33, 63},
                                        {3, 64},    {2, 65},      {300, 248}, {20, 249},
                                        {1, 16319}, {1, 16320},   {2, 16321}, {1, 16384},
                                        {3, 32700}, {1, 1000003}, {70000, 9}};
    aclnnxInstr cast = {.op = ASN_OP_CAST,
                        .dtype = (uint8_t)asn_dtype_table[ASN_BOOL].acl,
                        .outDtype = (uint8_t)asn_dtype_table[ASN_I64].acl,
                        .dst = 1};
    for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
        const int64_t *shape = shapes[s], n = shape[0] * shape[1];
        uint8_t *bytes = malloc((size_t)n + 1);
        int64_t *sums = malloc((size_t)shape[0] * sizeof *sums), to[2] = {8, 0};
        aclnnxOperand operands[2] = {
            {.data = bytes, .dtype = cast.dtype, .reduceOp = ACLNNX_NO_REDUCE},
            {.data = sums,
             .strides = to,
             .dtype = cast.outDtype,
             .reduceOp = ASN_OP_ADD}};
        aclnnxProgram p = {.numDims = 2,
                           .numIn = 1,
                           .numOut = 1,
                           .numInstrs = 1,
                           .numRegs = 2,
                           .shape = shape,
                           .reduceMask = 2,
                           .operands = operands,
                           .instrs = &cast};
        for (int of = 1; of <= 3; of += 2) {
            for (int64_t i = 0; i < n; i++)
                bytes[i] = random_below(of) == 0;
            CHECK(asn_cpu_fused(&p) == ASN_OK, "");
            for (int64_t r = 0; r < shape[0]; r++) {
                int64_t want = 0;
                for (int64_t i = 0; i < shape[1]; i++)
                    want += bytes[r * shape[1] + i];
                CHECK(sums[r] == want, "");
            }
        }
        free(bytes);
        free(sums);
    }
}

static void test_failing_allocations(void) {
    int64_t n = 200000, one = 1;
    view in, out;
    view_init(&in, ASN_F64, 1, &n, true);
    view_init(&out, ASN_F64, 1, &one, true);
    set(&in.nd, 7, 5);
    for (long k = 1; k < 10; k++) {
        asn_alloc_fail_after(k);
        asn_status status = asn_cpu_reduce(ASN_OP_ADD, 1, &in.nd, &out.nd, NULL);
        asn_alloc_fail_after(0);
        CHECK(status == ASN_OK || status == ASN_ERR_MEMORY, "");
        if (status == ASN_OK) break;
    }
    CHECK(get(&out.nd, 0) == 5, "");
    view_fini(&in);
    view_fini(&out);
}

int main(void) {
    static const asn_op ops[] = {ASN_OP_ADD, ASN_OP_SUBTRACT, ASN_OP_MAXIMUM,
                                 ASN_OP_MINIMUM};
    static const asn_dtype dtypes[] = {ASN_F64, ASN_F32, ASN_I32,
                                       ASN_I64, ASN_F16, ASN_C128};
    int64_t shape[4];
    asn_pool_set_threads(2);
    for (int i = 0; i < 1500; i++) {
        int ndim = i % 5 ? random_shape(shape, 4, 9) : random_shape(shape, 2, 400);
        test_reduce(ops[random_below(4)], dtypes[random_below(6)], ndim, shape);
        if (ndim)
            test_along(dtypes[random_below(5)], ndim, shape, (int)random_below(ndim));
    }
    test_threads();
    test_accuracy();
    test_squared_deviations();
    test_counts();
    test_failing_allocations();
    return check_report("test_cpu_reduce");
}
