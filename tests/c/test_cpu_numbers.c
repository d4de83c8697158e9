/* Elementwise loops that are written in vectors' words (number_lanes.h)
 * against themselves, one element at a time: those calls take the loops that compilers
 * made, or scalar code. Quotients, common divisors, comparisons, tests, casts, complex
 * products; numbers of every magnitude, with the ends of each type among them. */
#include "check.h"

#include <math.h>

#include "device/cpu/kernels.h"

enum { MOST = 400, SPARE = 32 };
static const asn_dtype integers[] = {ASN_I8,  ASN_U8,  ASN_I16, ASN_U16,
                                     ASN_I32, ASN_U32, ASN_I64, ASN_U64};
static const asn_dtype reals[] = {ASN_F32, ASN_F64};
static const asn_dtype complexes[] = {ASN_C64, ASN_C128};

/* One of the values that loops treat apart: zeros, ends, the bounds of conversions. */
static double odd_float(void) {
    static const double odd[] = {0,      -0.0,    1,        -1,        0.5,
                                 0x1p51, -0x1p51, 0x1p52,   0x1p63,    -0x1p63,
                                 1e300,  -1e300,  INFINITY, -INFINITY, NAN};
    return odd[random_below(sizeof odd / sizeof *odd)];
}

/* n numbers, each of at most `bits` bits; one of `rare` is an odd one, none if 0. */
static void fill(void *to, asn_dtype dt, int64_t n, int bits, int rare) {
    if (asn_is_complex(dt)) {
        fill(to, dt == ASN_C64 ? ASN_F32 : ASN_F64, 2 * n, bits, rare);
        return;
    }
    const int item = asn_itemsize(dt);
    for (int64_t i = 0; i < n; i++) {
        uint64_t u = random_u64() >> (64 - bits);
        const bool odd = rare && random_below(rare) == 0;
        const double x = odd ? odd_float() : (double)u / (random_below(2) ? 8 : -8);
        const float y = (float)x;
        if (random_below(2)) u = 0 - u;
        if (odd) {
            const uint64_t lowest = (uint64_t)1 << (8 * item - 1);
            const uint64_t ends[] = {0, 1, UINT64_MAX, lowest, lowest - 1};
            u = ends[random_below(5)];
        }
        const void *from = dt == ASN_F64   ? (const void *)&x
                           : dt == ASN_F32 ? (const void *)&y
                                           : (const void *)&u;
        memcpy((char *)to + i * item, from, (size_t)item);
    }
}

/* One call for all elements, and a call for each. Bytes behind the last one stay. */
static void compare(const char *name, asnd_ew_fn fn, asn_dtype in, asn_dtype out) {
    static _Alignas(64) char a[16 * MOST], b[16 * MOST], together[16 * MOST + SPARE],
        apart[16 * MOST + SPARE];
    static const int widths[] = {6, 20, 31, 50, 64}, rares[] = {0, 6, 100};
    if (!fn) return;
    const int64_t n = 1 + random_below(random_below(3) ? 100 : MOST);
    const int item = asn_itemsize(in), bytes = asn_itemsize(out);
    /* the sign of a NaN that an operation makes is nobody's concern */
    const int bits = widths[random_below(5)],
              rare = asn_is_complex(in) ? 0 : rares[random_below(3)];
    fill(a, in, n, bits, rare);
    fill(b, in, n, random_below(2) ? bits : 6, rare);
    memset(together, 0x5a, sizeof together);
    memset(apart, 0x5a, sizeof apart);
    fn(n, together, a, b, NULL);
    for (int64_t i = 0; i < n; i++)
        fn(1, apart + i * bytes, a + i * item, b + i * item, NULL);
    if (memcmp(together, apart, (size_t)(n * bytes + SPARE)) != 0)
        check_failed(__FILE__, __LINE__, "the same together and apart", name);
}

static void test_operation(asn_op op, const asn_dtype *dtypes, int count) {
    const asnd_kernels *k = asn_kernels_get();
    for (int d = 0; d < count; d++)
        compare(asn_op_table[op].name, k->ew[op][dtypes[d]], dtypes[d],
                asn_op_result(op, dtypes[d]));
}

static void test_casts(void) {
    const asnd_kernels *k = asn_kernels_get();
    static const asn_dtype dtypes[] = {ASN_BOOL, ASN_I32, ASN_U32, ASN_I64,
                                       ASN_U64,  ASN_F32, ASN_F64};
    for (int from = 1; from < 7; from++)
        for (int to = 0; to < 7; to++)
            compare("cast", k->cast[dtypes[from]][dtypes[to]], dtypes[from], dtypes[to]);
}

/* any and all of bytes, one of which may be the odd one out. */
static void test_truth(void) {
    const asnd_kernels *k = asn_kernels_get();
    static char bytes[MOST];
    const int64_t n = random_below(MOST);
    for (int all = 0; all < 2; all++) {
        memset(bytes, all, sizeof bytes);
        const bool differs = n > 0 && random_below(2);
        if (differs) bytes[random_below(n)] = (char)!all;
        char acc = (char)all;
        const asn_op op = all ? ASN_OP_LOGICAL_AND : ASN_OP_LOGICAL_OR;
        k->fold[op][ASN_BOOL](n, &acc, bytes);
        CHECK(acc == (all ? !differs : differs));
    }
}

/* Euclid's own way. */
static void test_divisors(void) {
    static uint64_t a[MOST], b[MOST], out[MOST];
    static const int widths[] = {6, 20, 40, 50, 60};
    const int64_t n = 1 + random_below(MOST);
    const int bits = widths[random_below(5)];
    fill(a, ASN_U64, n, bits, 0);
    fill(b, ASN_U64, n, bits, 0);
    for (int64_t i = 0; i < n; i++) {
        a[i] &= ((uint64_t)1 << bits) - 1;
        b[i] &= ((uint64_t)1 << bits) - 1;
    }
    asn_kernels_get()->ew[ASN_OP_GCD][ASN_U64](n, out, a, b, NULL);
    for (int64_t i = 0; i < n; i++) {
        uint64_t x = a[i], y = b[i];
        while (y) {
            const uint64_t rest = x % y;
            x = y;
            y = rest;
        }
        CHECK(out[i] == x);
    }
}

int main(void) {
    static const asn_op quotients[] = {ASN_OP_FLOOR_DIVIDE, ASN_OP_REMAINDER, ASN_OP_FMOD,
                                       ASN_OP_GCD, ASN_OP_LCM};
    static const asn_op comparisons[] = {ASN_OP_LESS,    ASN_OP_LESS_EQUAL,
                                         ASN_OP_GREATER, ASN_OP_GREATER_EQUAL,
                                         ASN_OP_EQUAL,   ASN_OP_NOT_EQUAL};
    static const asn_op tests[] = {ASN_OP_ISNAN, ASN_OP_ISINF, ASN_OP_ISFINITE,
                                   ASN_OP_SIGNBIT};
    static const asn_op pairs[] = {ASN_OP_MULTIPLY, ASN_OP_SQUARE, ASN_OP_CONJUGATE,
                                   ASN_OP_ABSOLUTE};
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 5; i++)
            test_operation(quotients[i], integers, 8);
        for (int i = 0; i < 6; i++) {
            test_operation(comparisons[i], integers, 8);
            test_operation(comparisons[i], reals, 2);
        }
        for (int i = 0; i < 4; i++) {
            test_operation(tests[i], reals, 2);
            test_operation(pairs[i], complexes, 2);
        }
        test_casts();
        test_truth();
        test_divisors();
    }
    return check_report("numbers");
}
