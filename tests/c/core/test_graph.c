/* Recorded programs on views, against the same program on plain C arrays; eager, lazy,
 * and with every allocation failing in turn.
 *
 * A program is a random sequence of in-place operations between overlapping views of two
 * buffers: what the trace must keep in order. The arithmetic is exact (small integers in
 * float64), so results agree to the bit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "check.h"
#include "graph/engine.h"
#include "graph/operators/families.h"
#include "graph/index/index.h"
#include "graph/opcodes.h"
#include "graph/plan/plan.h"
#include "graph/ufunc/ufunc.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"

enum { SIDE = 72, STEPS = 30 };

/* A view of a SIDE x SIDE buffer: rows/columns [start, start + n) by step, maybe
 * transposed. */
typedef struct {
    int buffer, row, col, row_step, col_step, transposed;
} window;

static double model[2][SIDE][SIDE];
static asn_array arrays[2];

static double *at(window w, int i, int j) {
    int r = w.row + (w.transposed ? j : i) * w.row_step;
    int c = w.col + (w.transposed ? i : j) * w.col_step;
    return &model[w.buffer][r][c];
}

static window random_window(int n) {
    window w = {.buffer = (int)random_below(2), .transposed = random_below(4) == 0};
    w.row_step = random_below(3) ? 1 : -1;
    w.col_step = random_below(3) ? 1 : -1;
    w.row = (int)random_below(SIDE - n) + (w.row_step < 0 ? n - 1 : 0);
    w.col = (int)random_below(SIDE - n) + (w.col_step < 0 ? n - 1 : 0);
    return w;
}

static asn_status view(window w, int n, asn_array *out) {
    int64_t shape[2] = {n, n}, strides[2] = {8 * SIDE * w.row_step, 8 * w.col_step};
    if (w.transposed) {
        int64_t t = strides[0];
        strides[0] = strides[1];
        strides[1] = t;
    }
    asn_layout l;
    ASN_TRY(asn_layout_init_strided(&l, ASN_F64, 2, shape, strides,
                                    8 * (w.row * SIDE + w.col), true));
    asn_array_view(out, &arrays[w.buffer], &l);
    return ASN_OK;
}

static double apply(asn_op op, double a, double b) {
    return op == ASN_OP_ADD        ? a + b
           : op == ASN_OP_SUBTRACT ? a - b
           : op == ASN_OP_MAXIMUM  ? (a > b ? a : b)
                                   : (a < b ? a : b);
}

static void model_step(asn_op op, window out, window a, window b, int n) {
    static double result[SIDE][SIDE];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            result[i][j] = apply(op, *at(a, i, j), *at(b, i, j));
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            *at(out, i, j) = result[i][j];
}

static asn_status step(asn_op op, window out, window a, window b, int n) {
    asn_array vout, va, vb;
    ASN_TRY(view(out, n, &vout));
    ASN_TRY(view(a, n, &va));
    ASN_TRY(view(b, n, &vb));
    asn_operand in[2] = {{.array = &va}, {.array = &vb}};
    asn_status status = asn_ufunc_call(op, in, &vout, NULL, NULL);
    asn_array_fini(&vout);
    asn_array_fini(&va);
    asn_array_fini(&vb);
    return status;
}

static void fill_both(void) {
    int64_t shape[2] = {SIDE, SIDE}, strides[2] = {8 * SIDE, 8};
    for (int k = 0; k < 2; k++) {
        for (int i = 0; i < SIDE * SIDE; i++)
            (&model[k][0][0])[i] = (double)random_below(100);
        CHECK_OK(asn_array_from_host(&arrays[k], ASN_F64, 2, shape, strides, model[k]));
    }
}

static void compare_both(void) {
    static double got[SIDE][SIDE];
    for (int k = 0; k < 2; k++) {
        CHECK_OK(asn_array_to_host(&arrays[k], got));
        CHECK(memcmp(got, model[k], sizeof got) == 0);
        asn_array_fini(&arrays[k]);
    }
}

static void test_programs(bool lazy) {
    static const asn_op ops[] = {ASN_OP_ADD, ASN_OP_SUBTRACT, ASN_OP_MAXIMUM,
                                 ASN_OP_MINIMUM};
    CHECK_OK(asn_set_lazy(lazy, NULL));
    for (int round = 0; round < 60; round++) {
        fill_both();
        /* few sizes, so that operations share shapes and fuse; above and below the eager
         * bound */
        int n = (int[]){8, 50, 50, 64}[random_below(4)];
        window recent = random_window(n);
        for (int s = 0; s < STEPS; s++) {
            window out = random_window(n), a = random_window(n), b = random_window(n);
            if (random_below(2)) a = recent;
            if (random_below(3) == 0) out = a;
            asn_op op = ops[random_below(4)];
            model_step(op, out, a, b, n);
            CHECK_OK(step(op, out, a, b, n));
            recent = out;
        }
        compare_both();
    }
}

/* x = sum over axis 1 of (a - b)^2, with temporaries that nobody keeps. */
static asn_status fused_reduction(const asn_array *a, const asn_array *b,
                                  asn_array *out) {
    asn_array d, q;
    asn_operand ab[2] = {{.array = a}, {.array = b}};
    asn_reduce_options o = {.axes = 2, .dtype = ASN_DTYPE_NONE};
    ASN_TRY(asn_ufunc_call(ASN_OP_SUBTRACT, ab, NULL, &d, NULL));
    asn_operand dd = {.array = &d};
    asn_status status = asn_ufunc_call(ASN_OP_SQUARE, &dd, NULL, &q, NULL);
    if (!status) {
        status = asn_ufunc_reduce(ASN_OP_ADD, &q, NULL, out, &o);
        asn_array_fini(&q);
    }
    asn_array_fini(&d);
    return status;
}

static void test_reduction(void) {
    fill_both();
    asn_array sum;
    double got[SIDE];
    asn_engine_stats before, after;
    CHECK_OK(asn_set_lazy(true, NULL));
    CHECK_OK(asn_synchronize());
    asn_engine_get_stats(&before);
    CHECK_OK(fused_reduction(&arrays[0], &arrays[1], &sum));
    CHECK_OK(asn_array_to_host(&sum, got));
    asn_engine_get_stats(&after);
    if (after.programs != before.programs) CHECK(after.programs - before.programs == 1);
    for (int i = 0; i < SIDE; i++) {
        double want = 0;
        for (int j = 0; j < SIDE; j++) {
            double d = model[0][i][j] - model[1][i][j];
            want += d * d;
        }
        CHECK(got[i] == want);
    }
    asn_array_fini(&sum);
    compare_both();
}

static void test_plan_cache(void) {
    fill_both();
    asn_engine_stats before, after;
    asn_engine_get_stats(&before);
    for (int i = 0; i < 10; i++) {
        asn_array sum;
        CHECK_OK(fused_reduction(&arrays[0], &arrays[1], &sum));
        CHECK_OK(asn_array_sync(&sum));
        asn_array_fini(&sum);
    }
    asn_engine_get_stats(&after);
    if (after.plan_hits + after.plan_misses > before.plan_hits + before.plan_misses)
        CHECK(after.plan_hits - before.plan_hits >= 9);
    compare_both();
}

/* The k-th allocation fails: an error comes back, nothing leaks or breaks, and the next
 * try works. */
static void test_allocation_failures(void) {
    for (int lazy = 0; lazy < 2; lazy++) {
        CHECK_OK(asn_set_lazy(lazy, NULL));
        for (long k = 1; k < 60; k++) {
            fill_both();
            asn_array sum;
            asn_alloc_fail_after(k);
            asn_status status = fused_reduction(&arrays[0], &arrays[1], &sum);
            if (!status) {
                status = asn_array_sync(&sum);
                asn_array_fini(&sum);
            }
            asn_alloc_fail_after(0);
            CHECK(status == ASN_OK || status == ASN_ERR_MEMORY ||
                  status == ASN_ERR_RUNTIME);
            CHECK_OK(asn_synchronize());
            compare_both();
        }
    }
}

static void test_errors(void) {
    int64_t two = 2, three = 3;
    asn_array a, b, out;
    CHECK_OK(asn_array_new(&a, ASN_F32, 1, &two, 'C'));
    CHECK_OK(asn_array_new(&b, ASN_F32, 1, &three, 'C'));
    asn_operand in[2] = {{.array = &a}, {.array = &b}};
    CHECK_STATUS(asn_ufunc_call(ASN_OP_ADD, in, NULL, &out, NULL), ASN_ERR_VALUE);
    in[1].array = &a;
    CHECK_STATUS(asn_ufunc_call(ASN_OP_ADD, in, &b, NULL, NULL), ASN_ERR_VALUE);
    CHECK_STATUS(asn_ufunc_call(ASN_OP_LEFT_SHIFT, in, NULL, &out, NULL),
                 ASN_ERR_NO_LOOP);
    asn_index_item far = {.kind = ASN_INDEX_INT, .start = 2};
    CHECK_STATUS(asn_index_view(&out, &a, 1, &far), ASN_ERR_INDEX);
    asn_array_fini(&a);
    asn_array_fini(&b);
}

static int arrivals;

static void arrive(void) {
    static bool inside;
    arrivals++;
    if (inside) return;
    inside = true;
    CHECK_OK(asn_synchronize()); /* a hook may call the library, and meets itself */
    inside = false;
}

/* A binding is asked at each call while it wants to be, and before the call is begun. */
static void test_arrival_hook(void) {
    int64_t shape = 4;
    asn_operand one = {.scalar = asn_scalar_float(1.0), .weak = 'f'};
    asn_array a, b;
    CHECK_OK(asn_full(&a, ASN_F64, 1, &shape, 'C', &one));
    asn_operand in[2] = {{.array = &a}, one};
    asn_set_arrival_hook(arrive);
    CHECK_OK(asn_ufunc_call(ASN_OP_ADD, in, NULL, &b, NULL));
    int seen = arrivals;
    asn_set_arrival_hook(NULL);
    CHECK(seen > 0);
    asn_array_fini(&b);
    CHECK_OK(asn_ufunc_call(ASN_OP_ADD, in, NULL, &b, NULL));
    CHECK(arrivals == seen);
    asn_array_fini(&a);
    asn_array_fini(&b);
}

static int (*fused)(const aclnnxProgram *, aclrtStream);
static uint8_t told[8]; /* of each program's first output */
static int programs;

static int spy(const aclnnxProgram *program, aclrtStream stream) {
    if (programs < 8) told[programs] = program->operands[program->numIn].flags;
    programs++;
    return fused(program, stream);
}

/* out += above + below of N x N elements, and of the model. */
enum { N = 64 };
static void update_in_place(void) {
    window at = {.row = 1, .row_step = 1, .col_step = 1}, above = at, below = at;
    above.row = 0;
    below.row = 2;
    asn_array out, a, b, sum;
    CHECK_OK(view(at, N, &out));
    CHECK_OK(view(above, N, &a));
    CHECK_OK(view(below, N, &b));
    asn_operand neighbours[2] = {{.array = &a}, {.array = &b}};
    CHECK_OK(asn_ufunc_call(ASN_OP_ADD, neighbours, NULL, &sum, NULL));
    asn_operand update[2] = {{.array = &out}, {.array = &sum}};
    CHECK_OK(asn_ufunc_call(ASN_OP_ADD, update, &out, NULL, NULL));
    asn_array_fini(&sum);
    static double before[SIDE][SIDE];
    memcpy(before, model[0], sizeof before);
    for (int i = 1; i <= N; i++)
        for (int j = 0; j < N; j++)
            model[0][i][j] += before[i - 1][j] + before[i + 1][j];
    asn_array_fini(&out);
    asn_array_fini(&a);
    asn_array_fini(&b);
}

static bool fuses(void) {
    fill_both();
    CHECK_OK(asn_set_lazy(true, NULL));
    CHECK_OK(asn_synchronize());
    if (asn_acl.aclnnxFused && asn_fuse_enabled()) return true;
    compare_both();
    return false;
}

/* An update in place from its neighbours is two programs: the device hears that the
 * second reads what the first stores, and of the second's result that nobody known does.
 */
static void test_read_soon(void) {
    if (!fuses()) return;
    update_in_place();
    fused = asn_acl.aclnnxFused;
    asn_acl.aclnnxFused = spy;
    CHECK_OK(asn_synchronize());
    asn_acl.aclnnxFused = fused;
    CHECK(programs == 2 && told[0] & ACLNNX_READ_SOON && !(told[1] & ACLNNX_READ_SOON));
    compare_both();
}

static int (*prepare)(const aclnnxProgram *, aclnnxPrepared **);
static int prepared;
static bool refuses;

static int spy_prepare(const aclnnxProgram *program, aclnnxPrepared **out) {
    prepared++;
    return refuses ? ACL_ERROR_BAD_ALLOC : prepare(program, out);
}

/* A program that recurs is described once as it is, and once for its handle. Without a
 * handle it is launched all the same. */
static void test_handles(void) {
    if (!fuses()) return;
    asn_plan_forget();
    fused = asn_acl.aclnnxFused;
    prepare = asn_acl.aclnnxPrepare;
    programs = 0;
    asn_acl.aclnnxFused = spy;
    asn_acl.aclnnxPrepare = spy_prepare;
    for (int turn = 0; turn < 6; turn++) {
        update_in_place();
        CHECK_OK(asn_synchronize());
    }
    CHECK(programs == 2 && prepared == 2);
    asn_plan_forget();
    refuses = true;
    for (int turn = 0; turn < 2; turn++) {
        update_in_place();
        CHECK_OK(asn_synchronize());
    }
    CHECK(programs == 6 && prepared == 4);
    asn_acl.aclnnxFused = fused;
    asn_acl.aclnnxPrepare = prepare;
    compare_both();
}

int main(int argc, char **argv) {
    if (argc > 1) asn_device_set_library_path(argv[1]);
    test_programs(true);
    test_programs(false);
    test_reduction();
    test_plan_cache();
    test_allocation_failures();
    test_errors();
    test_arrival_hook();
    test_read_soon();
    test_handles();
    return finish();
}
