/* Layouts, views, broadcasting, overlap and promotion, against brute force on small
 * shapes. */
#include <stdlib.h>
#include <string.h>

#include "array/broadcast.h"
#include "array/promote.h"
#include "array/scalar.h"
#include "array/views.h"
#include "base/half.h"
#include "check.h"

/* The byte address of element number `flat` (row-major). */
static int64_t address(const asn_layout *l, int64_t flat) {
    int64_t at = l->offset;
    for (int d = l->ndim - 1; d >= 0; d--) {
        at += flat % l->shape[d] * l->strides[d];
        flat /= l->shape[d];
    }
    return at;
}

static void random_layout(asn_layout *l, int max_ndim, int64_t max_extent, int64_t step) {
    int ndim = (int)random_below(max_ndim + 1);
    int64_t shape[8], strides[8], offset = 64 * step;
    for (int d = 0; d < ndim; d++) {
        shape[d] = random_below(max_extent + 1);
        strides[d] = (random_below(17) - 8) * step;
    }
    CHECK_OK(asn_layout_init_strided(l, step == 4 ? ASN_F32 : ASN_U8, ndim, shape,
                                     strides, offset, true));
}

static void test_overlap(void) {
    for (int round = 0; round < 20000; round++) {
        asn_layout a, b;
        int64_t step = random_below(2) ? 4 : 1;
        random_layout(&a, 3, 4, step);
        random_layout(&b, 3, 4, step);
        b.offset += random_below(40) - 20;
        bool meet = false;
        for (int64_t i = 0; i < a.size && !meet; i++)
            for (int64_t j = 0; j < b.size && !meet; j++) {
                int64_t gap = address(&a, i) - address(&b, j);
                meet = gap < step && -gap < step;
            }
        /* cautious: may say yes too often, never no wrongly */
        if (meet) CHECK(asn_layouts_overlap(&a, &b));
        bool self = false;
        for (int64_t i = 0; i < a.size && !self; i++)
            for (int64_t j = 0; j < i && !self; j++) {
                int64_t gap = address(&a, i) - address(&a, j);
                self = gap < step && -gap < step;
            }
        if (self) CHECK(asn_layout_self_overlaps(&a));
        asn_layout_fini(&a);
        asn_layout_fini(&b);
    }
    /* interleaved views are told apart */
    int64_t n = 8, two = 16;
    asn_layout even, odd;
    CHECK_OK(asn_layout_init_strided(&even, ASN_F64, 1, &n, &two, 0, true));
    CHECK_OK(asn_layout_init_strided(&odd, ASN_F64, 1, &n, &two, 8, true));
    CHECK(!asn_layouts_overlap(&even, &odd));
    CHECK(asn_layouts_overlap(&even, &even));
    asn_layout scalar; /* no dimension: nothing to read at NULL */
    CHECK_OK(asn_layout_init_strided(&scalar, ASN_F64, 0, NULL, NULL, 16, true));
    CHECK(scalar.size == 1 && asn_layouts_overlap(&scalar, &scalar));
    asn_layout_fini(&scalar);
}

/* Slices of one array overlap exactly where their boxes meet. */
static void test_boxes(void) {
    for (int round = 0; round < 20000; round++) {
        int64_t extent[3], stride = 8, strides[3];
        for (int d = 2; d >= 0; d--) {
            extent[d] = 1 + random_below(9);
            strides[d] = stride;
            stride *= extent[d];
        }
        asn_layout box[2];
        int64_t from[2][3], shape[3];
        bool meet = true;
        for (int k = 0; k < 2; k++) {
            int64_t offset = 0;
            for (int d = 0; d < 3; d++) {
                from[k][d] = random_below(extent[d]);
                shape[d] = 1 + random_below(extent[d] - from[k][d]);
                offset += from[k][d] * strides[d];
            }
            CHECK_OK(asn_layout_init_strided(&box[k], ASN_F64, 3, shape, strides, offset,
                                             true));
        }
        for (int d = 0; d < 3; d++)
            meet &= from[0][d] < from[1][d] + box[1].shape[d] &&
                    from[1][d] < from[0][d] + box[0].shape[d];
        CHECK(asn_layouts_overlap(&box[0], &box[1]) == meet);
    }
}

static void test_reshape(void) {
    int possible_count = 0;
    for (int round = 0; round < 20000; round++) {
        static const int64_t extents[] = {1, 2, 3, 4, 6};
        int64_t from[4], perm_shape[4];
        int ndim = 1 + (int)random_below(4), perm[4] = {0, 1, 2, 3};
        for (int d = 0; d < ndim; d++)
            from[d] = extents[random_below(5)];
        for (int d = ndim - 1; d > 0; d--) {
            int j = (int)random_below(d + 1), t = perm[d];
            perm[d] = perm[j];
            perm[j] = t;
        }
        asn_layout base, l, out;
        bool possible;
        CHECK_OK(asn_layout_init(&base, ASN_I32, ndim, from, 'C'));
        CHECK_OK(asn_view_transpose(&l, &base, perm));
        for (int d = 0; d < ndim; d++)
            perm_shape[d] = l.shape[d];
        /* the new shape: merge two neighbours, or split off a factor */
        int64_t to[6];
        int to_ndim = 0, at = (int)random_below(ndim);
        for (int d = 0; d < ndim; d++) {
            if (d == at && d + 1 < ndim) {
                to[to_ndim++] = perm_shape[d] * perm_shape[d + 1];
                d++;
            } else if (d == at && perm_shape[d] % 2 == 0) {
                to[to_ndim++] = 2;
                to[to_ndim++] = perm_shape[d] / 2;
            } else {
                to[to_ndim++] = perm_shape[d];
            }
        }
        CHECK_OK(asn_view_reshape(&out, &l, to_ndim, to, 'C', &possible));
        if (possible) {
            possible_count++;
            for (int64_t i = 0; i < l.size; i++)
                CHECK(address(&l, i) == address(&out, i));
            asn_layout_fini(&out);
        }
        asn_layout_fini(&l);
        asn_layout_fini(&base);
    }
    CHECK(possible_count > 5000);
    asn_layout l, out;
    bool possible;
    int64_t six = 6, four = 4, two_unknown[2] = {-1, -1}, part[2] = {-1, 3};
    CHECK_OK(asn_layout_init(&l, ASN_I32, 1, &six, 'C'));
    CHECK_STATUS(asn_view_reshape(&out, &l, 1, &four, 'C', &possible), ASN_ERR_VALUE);
    CHECK_STATUS(asn_view_reshape(&out, &l, 2, two_unknown, 'C', &possible),
                 ASN_ERR_VALUE);
    CHECK_OK(asn_view_reshape(&out, &l, 2, part, 'C', &possible));
    CHECK(out.shape[0] == 2 && out.shape[1] == 3);
}

static void test_limits(void) {
    asn_layout l;
    int64_t huge[3] = {INT64_MAX / 4, 8, 1}, negative = -1, many[65],
            zero[2] = {0, INT64_MAX};
    for (int d = 0; d < 65; d++)
        many[d] = 1;
    CHECK_STATUS(asn_layout_init(&l, ASN_F64, 3, huge, 'C'), ASN_ERR_VALUE);
    CHECK_STATUS(asn_layout_init(&l, ASN_F64, 1, &negative, 'C'), ASN_ERR_VALUE);
    CHECK_STATUS(asn_layout_init(&l, ASN_F64, 65, many, 'C'), ASN_ERR_VALUE);
    CHECK_STATUS(asn_layout_init(&l, ASN_F64, 2, zero, 'C'), ASN_ERR_VALUE);
    CHECK_OK(asn_layout_init(&l, ASN_F64, 64, many, 'F'));
    CHECK(l.size == 1 && (l.flags & ASN_C_CONTIGUOUS) && (l.flags & ASN_F_CONTIGUOUS));
    asn_layout_fini(&l);
    int axis;
    CHECK_STATUS(asn_axis_normalize(3, 3, &axis), ASN_ERR_AXIS);
    CHECK_OK(asn_axis_normalize(-3, 3, &axis));
    CHECK(axis == 0);
}

static void test_promotion(void) {
    /* symmetric, idempotent, an upper bound; and some of NumPy's own values */
    for (int a = 0; a < ASN_DTYPE_COUNT; a++)
        for (int b = 0; b < ASN_DTYPE_COUNT; b++) {
            asn_dtype c = asn_promote((asn_dtype)a, (asn_dtype)b);
            CHECK(c == asn_promote((asn_dtype)b, (asn_dtype)a));
            CHECK(asn_can_cast((asn_dtype)a, c, ASN_CASTING_SAFE));
            CHECK(asn_promote(c, (asn_dtype)a) == c);
        }
    CHECK(asn_promote(ASN_I8, ASN_U8) == ASN_I16);
    CHECK(asn_promote(ASN_I64, ASN_U64) == ASN_F64);
    CHECK(asn_promote(ASN_I8, ASN_F16) == ASN_F16);
    CHECK(asn_promote(ASN_I16, ASN_F16) == ASN_F32);
    CHECK(asn_promote(ASN_I32, ASN_F32) == ASN_F64);
    CHECK(asn_promote(ASN_F16, ASN_BF16) == ASN_F32);
    CHECK(asn_promote(ASN_I32, ASN_C64) == ASN_C128);
    CHECK(!asn_can_cast(ASN_I32, ASN_U32, ASN_CASTING_SAME_KIND));
    CHECK(asn_can_cast(ASN_F64, ASN_F32, ASN_CASTING_SAME_KIND));
    asn_type weak[2] = {{ASN_F32, 0}, {ASN_DTYPE_NONE, 'f'}};
    CHECK(asn_result_type(2, weak) == ASN_F32);
    weak[0].dtype = ASN_I8;
    CHECK(asn_result_type(2, weak) == ASN_F64);
    weak[1].weak = 'i';
    CHECK(asn_result_type(2, weak) == ASN_I8);
    asn_dtype loop;
    asn_type bools[2] = {{ASN_BOOL, 0}, {ASN_BOOL, 0}};
    CHECK_STATUS(asn_op_resolve(ASN_OP_SUBTRACT, bools, ASN_DTYPE_NONE,
                                ASN_CASTING_SAME_KIND, &loop),
                 ASN_ERR_TYPE);
    CHECK_OK(asn_op_resolve(ASN_OP_DIVIDE, bools, ASN_DTYPE_NONE, ASN_CASTING_SAME_KIND,
                            &loop));
    CHECK(loop == ASN_F64);
    asn_type small = {ASN_I8, 0};
    CHECK_OK(
        asn_op_resolve(ASN_OP_SIN, &small, ASN_DTYPE_NONE, ASN_CASTING_SAME_KIND, &loop));
    CHECK(loop == ASN_F16);
}

static void test_half(void) {
    for (uint32_t h = 0; h < 0x10000; h++) {
        float f = asn_f16_to_f32((uint16_t)h);
        if (f == f) CHECK(asn_f32_to_f16(f) == h);
        f = asn_bf16_to_f32((uint16_t)h);
        if (f == f) CHECK(asn_f32_to_bf16(f) == h);
    }
    CHECK(asn_f32_to_f16(65519.0f) == 0x7bff && asn_f32_to_f16(65520.0f) == 0x7c00);
    CHECK(asn_f32_to_f16(0x1p-25f) == 0 && asn_f32_to_f16(0x1.000002p-25f) == 1);
    /* a tie in float32 that float64 breaks */
    CHECK(asn_f64_to_f16(1.0 + 0x1p-11) == 0x3c00);
    CHECK(asn_f64_to_f16(1.0 + 0x1p-11 + 0x1p-40) == 0x3c01);
}

static void test_scalars(void) {
    asn_scalar s = asn_scalar_float(-3.7), r;
    CHECK_OK(asn_scalar_cast(&s, ASN_I8, &r));
    CHECK((int8_t)r.bytes[0] == -3);
    CHECK_OK(asn_scalar_cast(&s, ASN_BOOL, &r));
    CHECK(r.bytes[0] == 1);
    s = asn_scalar_int(-1);
    CHECK_OK(asn_scalar_cast(&s, ASN_U64, &r));
    uint64_t all;
    memcpy(&all, r.bytes, 8);
    CHECK(all == UINT64_MAX);
}

int main(void) {
    test_overlap();
    test_boxes();
    test_reshape();
    test_limits();
    test_promotion();
    test_half();
    test_scalars();
    return finish();
}
