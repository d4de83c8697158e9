/* L2 numpy: correlate and convolve (products.h).
 *
 * Both are one pass of the device over two lines of one dtype, the longer one first:
 * out[i] = sum_j a[first + i + j] v[j]. Complex lines are four such passes over their
 * parts; booleans and half floats are added up in a wider dtype. A dtype that the device
 * has no such operation for is done by one multiplication and one addition for each
 * element of the shorter line.
 */
#include "numpy/products.h"

#include "array/promote.h"
#include "array/views.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"

/* Where the result's first element lies, and how many there are. */
typedef struct {
    int64_t first, count;
} slide_range;

/* The range for lines of n and m elements, n >= m > 0. */
static slide_range range_of(asn_np_slide mode, int64_t n, int64_t m) {
    switch (mode) {
    case ASN_SLIDE_FULL: return (slide_range){1 - m, n + m - 1};
    case ASN_SLIDE_SAME: return (slide_range){-(m / 2), n};
    default: return (slide_range){0, n - m + 1};
    }
}

/* out = x op y, into what is there. */
static asn_status combine(const asn_array *out, asn_op op, const asn_array *x,
                          const asn_array *y) {
    const asn_operand in[2] = {asn_np_of(x), asn_np_of(y)};
    return asn_ufunc_call(op, in, out, NULL, NULL);
}

/* sums += a[...] v[j], for the elements of a that there are. */
static asn_status add_products(const asn_array *sums, const asn_array *a,
                               const asn_array *v, int64_t j, slide_range r) {
    const asn_index_item at = {.kind = ASN_INDEX_INT, .start = j};
    int64_t low = -r.first - j > 0 ? -r.first - j : 0;
    int64_t high = a->layout.size - r.first - j;
    if (high > r.count) high = r.count;
    if (low >= high) return ASN_OK;
    asn_array parts[4]; /* of the sums, of a, v's element, the products */
    int made = 0;
    asn_status status = asn_np_slice(&parts[made], sums, low, high, 1);
    made += !status;
    if (!status) {
        status = asn_np_slice(&parts[made], a, r.first + low + j, r.first + high + j, 1);
        made += !status;
    }
    if (!status) {
        status = asn_index_view(&parts[made], v, 1, &at);
        made += !status;
    }
    if (!status) {
        status = asn_np_binary(&parts[made], ASN_OP_MULTIPLY, asn_np_of(&parts[1]),
                               asn_np_of(&parts[2]));
        made += !status;
    }
    if (!status) status = combine(&parts[0], ASN_OP_ADD, &parts[0], &parts[3]);
    while (made)
        asn_array_fini(&parts[--made]);
    return status;
}

/* For dtypes without the operator: m passes over n elements. */
static asn_status by_products(asn_array *result, const asn_array *a, const asn_array *v,
                              slide_range r) {
    const asn_operand zero = asn_operand_int(0);
    ASN_TRY(asn_full(result, asn_layout_dtype(&a->layout), 1, &r.count, 'C', &zero));
    asn_status status = ASN_OK;
    for (int64_t j = 0; j < v->layout.size && !status; j++)
        status = add_products(result, a, v, j, r);
    if (status) asn_array_fini(result);
    return status;
}

/* Of real lines of one dtype. */
static asn_status of_lines(asn_array *result, const asn_array *a, const asn_array *v,
                           slide_range r) {
    asn_status status = asn_correlate(result, a, v, r.first, r.count);
    return status == ASN_ERR_UNSUPPORTED ? by_products(result, a, v, r) : status;
}

/* Of lines cast to `wide`, the result cast to `dtype`. */
static asn_status of_reals(asn_array *result, const asn_array *a, const asn_array *v,
                           slide_range r, asn_dtype dtype) {
    asn_dtype wide = dtype == ASN_BOOL ? ASN_I32 : asn_is_half(dtype) ? ASN_F32 : dtype;
    asn_array x, y, sums;
    ASN_TRY(asn_np_astype(&x, a, wide));
    asn_status status = asn_np_astype(&y, v, wide);
    if (!status) {
        status = of_lines(&sums, &x, &y, r);
        asn_array_fini(&y);
    }
    asn_array_fini(&x);
    ASN_TRY(status);
    status = asn_np_astype(result, &sums, dtype);
    asn_array_fini(&sums);
    return status;
}

/* One part of a product of complex lines: x0 y0 - x1 y1, or x0 y1 + x1 y0. */
static asn_status complex_part(const asn_array *result, int part, const asn_array *x,
                               const asn_array *y, slide_range r) {
    asn_array sums[2], target;
    asn_status status = of_lines(&sums[0], &x[0], &y[part], r);
    ASN_TRY(status);
    status = of_lines(&sums[1], &x[1], &y[!part], r);
    if (!status) {
        status = asn_np_part(&target, result, part);
        if (!status) {
            status =
                combine(&target, part ? ASN_OP_ADD : ASN_OP_SUBTRACT, &sums[0], &sums[1]);
            asn_array_fini(&target);
        }
        asn_array_fini(&sums[1]);
    }
    asn_array_fini(&sums[0]);
    return status;
}

/* Of lines that are cast to `dtype`, a complex one. */
static asn_status of_complex(asn_array *result, const asn_array *a, const asn_array *v,
                             slide_range r, asn_dtype dtype) {
    asn_array whole[2], parts[4]; /* real and imaginary of a, of v */
    int made = 0;
    ASN_TRY(asn_np_astype(&whole[0], a, dtype));
    asn_status status = asn_np_astype(&whole[1], v, dtype);
    if (status) {
        asn_array_fini(&whole[0]);
        return status;
    }
    for (; made < 4 && !status; made += !status)
        status = asn_np_part(&parts[made], &whole[made / 2], made % 2);
    if (!status) status = asn_array_new(result, dtype, 1, &r.count, 'C');
    if (!status) {
        for (int part = 0; part < 2 && !status; part++)
            status = complex_part(result, part, parts, parts + 2, r);
        if (status) asn_array_fini(result);
    }
    while (made)
        asn_array_fini(&parts[--made]);
    asn_array_fini(&whole[1]);
    asn_array_fini(&whole[0]);
    return status;
}

/* NumPy's errors for what is no line of elements. */
static asn_status check_line(const asn_array *a, const char *which) {
    if (a->layout.ndim != 1)
        return asn_error_set(ASN_ERR_VALUE, a->layout.ndim
                                                ? "object too deep for desired array"
                                                : "object of too small depth for desired "
                                                  "array");
    return a->layout.size
               ? ASN_OK
               : asn_error_set(ASN_ERR_VALUE, "%s array argument cannot be empty", which);
}

/* out[k] = sum_n a[n + k] v[n] */
static asn_status slide(asn_array *result, const asn_array *a, const asn_array *v,
                        asn_np_slide mode) {
    ASN_TRY(check_line(a, "first"));
    ASN_TRY(check_line(v, "second"));
    bool swapped = a->layout.size < v->layout.size;
    const asn_array *longer = swapped ? v : a, *shorter = swapped ? a : v;
    slide_range r = range_of(mode, longer->layout.size, shorter->layout.size);
    asn_dtype dtype =
        asn_promote(asn_layout_dtype(&a->layout), asn_layout_dtype(&v->layout));
    asn_array made, backwards;
    asn_status status = asn_is_complex(dtype)
                            ? of_complex(&made, longer, shorter, r, dtype)
                            : of_reals(&made, longer, shorter, r, dtype);
    ASN_TRY(status);
    if (!swapped) {
        asn_array_move(result, &made);
        return ASN_OK;
    }
    status = asn_np_flip(&backwards, &made, 1); /* the operands changed places */
    asn_array_fini(&made);
    ASN_TRY(status);
    status = asn_copy(result, &backwards, dtype, 'C');
    asn_array_fini(&backwards);
    return status;
}

/* The second line is conjugated, as in NumPy; convolve's is not. */
asn_status asn_np_correlate(asn_array *result, const asn_array *a, const asn_array *v,
                            asn_np_slide mode) {
    asn_array conjugate;
    if (!asn_is_complex(asn_layout_dtype(&v->layout))) return slide(result, a, v, mode);
    ASN_TRY(asn_np_unary(&conjugate, ASN_OP_CONJUGATE, v));
    asn_status status = slide(result, a, &conjugate, mode);
    asn_array_fini(&conjugate);
    return status;
}

/* A correlation with the shorter line backwards. */
asn_status asn_np_convolve(asn_array *result, const asn_array *a, const asn_array *v,
                           asn_np_slide mode) {
    asn_array backwards;
    if (a->layout.size == 0) return asn_error_set(ASN_ERR_VALUE, "a cannot be empty");
    if (v->layout.size == 0) return asn_error_set(ASN_ERR_VALUE, "v cannot be empty");
    bool swapped = v->layout.size > a->layout.size;
    ASN_TRY(check_line(swapped ? a : v, "second"));
    ASN_TRY(asn_np_flip(&backwards, swapped ? a : v, 1));
    asn_status status = slide(result, swapped ? v : a, &backwards, mode);
    asn_array_fini(&backwards);
    return status;
}
