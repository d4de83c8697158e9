/* L3 C binding: arrays from shapes, numbers and host memory, and back (array.h).
 *
 * Three ways lead from host memory to an array: asnp_from_host copies any strides;
 * asnp_adopt keeps the caller's memory and calls back when it is no longer needed;
 * asnp_data goes the other way and hands an address out, after which every operation on
 * that memory runs at once, since a program may look at any time.
 *
 * Bytes of bool that are neither 0 nor 1 are the one case where a copy and an adoption
 * differ: the copy makes them 1, an adoption refuses them, because other readers of the
 * same memory would see them change.
 */
#include "capi/capi.h"

#include <math.h>
#include <string.h>

#include "graph/ufunc/operands.h"
#include "graph/ufunc/truth.h"
#include "numpy/identities.h"

/* Storage may be taken as late as the first write. */
asnp_status asnp_empty(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                       asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_array made;
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    ASN_TRY(asn_capi_shape(ndim, shape));
    return asn_capi_wrap(asn_array_new(&made, d, ndim, shape, 'C'), &made, out);
}

/* An integer that the dtype does not hold is an OVERFLOW, as in NumPy 2; floats and
 * complex numbers are cast. */
asnp_status asnp_full(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                      asnp_number value, asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_array made;
    asn_operand number;
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    ASN_TRY(asn_capi_shape(ndim, shape));
    ASN_TRY(asn_capi_number(value, &number));
    ASN_TRY(asn_operand_check(&number, d));
    return asn_capi_wrap(asn_full(&made, d, ndim, shape, 'C', &number), &made, out);
}

asnp_status asnp_zeros(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                       asnp_array **out) {
    IN_LIBRARY;
    return asnp_full(dtype, ndim, shape, asnp_int(0), out);
}

asnp_status asnp_ones(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                      asnp_array **out) {
    IN_LIBRARY;
    return asnp_full(dtype, ndim, shape, asnp_int(1), out);
}

/* Order 'K': axes lie in memory as those of `a` do, without its gaps. */
asnp_status asnp_empty_like(const asnp_array *a, asnp_dtype dtype, asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, true, &d));
    if (d == ASN_DTYPE_NONE) d = asn_capi_type(a);
    return asn_capi_wrap(asn_array_new_like(&made, &a->array, d, 'K'), &made, out);
}

/* ---- ranges */

/* For lengths alone: a range's elements are computed in its own dtype. */
static double real_of(asnp_number n) {
    return n.kind == 'f'   ? n.real
           : n.kind == 'u' ? (double)(uint64_t)n.integer
                           : (double)n.integer;
}

/* Integers are counted exactly where their span fits int64; else as NumPy does, by the
 * ratio in double precision, which rounds up. */
static asn_status range_length(asnp_number start, asnp_number stop, asnp_number step,
                               bool whole, int64_t *n) {
    int64_t span;
    if (real_of(step) == 0)
        return asn_error_set(ASN_ERR_VALUE, "arange: step is 0; it may not be");
    if (whole && !__builtin_sub_overflow(stop.integer, start.integer, &span)) {
        *n = asn_arange_steps(span, step.integer);
        return ASN_OK;
    }
    return asn_arange_count((real_of(stop) - real_of(start)) / real_of(step), n);
}

/* Start and the value after it, in the dtype: NumPy's loops take their step from the
 * difference of these two, which for small floats is not the step given. Integers wrap.
 */
static asn_status range_ends(asnp_number start, asnp_number step, bool whole,
                             asn_dtype dtype, asn_scalar *first, asn_scalar *second) {
    asn_operand at;
    ASN_TRY(asn_capi_number(start, &at));
    ASN_TRY(asn_operand_check(&at, dtype));
    ASN_TRY(asn_scalar_cast(&at.scalar, dtype, first));
    at =
        whole
            ? asn_operand_int((int64_t)((uint64_t)start.integer + (uint64_t)step.integer))
            : asn_operand_float(real_of(start) + real_of(step));
    return asn_scalar_cast(&at.scalar, dtype, second);
}

/* The dtype follows the kinds of the three numbers: int64 where all are integers that it
 * holds, else float64. */
asnp_status asnp_arange(asnp_number start, asnp_number stop, asnp_number step,
                        asnp_dtype dtype, asnp_array **out) {
    IN_LIBRARY;
    const asnp_number *parts[3] = {&start, &stop, &step};
    bool whole = true;
    asn_dtype d;
    asn_scalar first, second, delta;
    asn_array made;
    int64_t n;
    NEED(out);
    /* whole: all three are integers that int64 holds. */
    for (int i = 0; i < 3; i++) {
        asn_operand checked;
        ASN_TRY(asn_capi_number(*parts[i], &checked));
        if (parts[i]->kind == 'c')
            return asn_error_set(ASN_ERR_TYPE, "arange takes real numbers, not complex");
        whole &= parts[i]->kind != 'f' && checked.scalar.dtype != ASN_U64;
    }
    ASN_TRY(asn_capi_dtype(dtype, true, &d));
    if (d == ASN_DTYPE_NONE) d = whole ? ASN_I64 : ASN_F64;
    if (d == ASN_BOOL || asn_is_complex(d))
        return asn_error_set(ASN_ERR_TYPE,
                             "arange of %s; it may be of an integer or float dtype",
                             asn_dtype_name(d));
    ASN_TRY(range_length(start, stop, step, whole, &n));
    ASN_TRY(range_ends(start, step, whole, d, &first, &second));
    ASN_TRY(asn_arange_delta(&first, &second, &delta));
    return asn_capi_wrap(asn_arange_fill(&made, d, &first, &delta, n), &made, out);
}

/* numpy.linspace where a step underflows or there are fewer than two points: on the host.
 */
static asn_status short_line(asn_array *made, double start, double stop, int64_t num) {
    asn_status status;
    double *points = asn_malloc((size_t)num * sizeof *points);
    const int64_t stride = sizeof *points;
    if (!points) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < num; i++)
        points[i] =
            num > 1 ? (double)i / (double)(num - 1) * (stop - start) + start : start;
    if (num > 1) points[num - 1] = stop;
    status = asn_array_from_host(made, ASN_F64, 1, &num, &stride, points);
    asn_free(points);
    return status;
}

/* The endpoint is included and exact. A step of 0 (equal ends, or an underflow) is
 * computed the other way round, i / (n - 1) * span, as NumPy does. */
asnp_status asnp_linspace(double start, double stop, int64_t num, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    int64_t bytes;
    NEED(out);
    if (num < 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "linspace: num is %lld; it may not be negative",
                             (long long)num);
    if (!asn_mul_size(num, 8, &bytes))
        return asn_error_set(ASN_ERR_VALUE, "linspace: %lld elements are too many",
                             (long long)num);
    /* The distance of two neighbours, which may underflow to 0. */
    double step = num > 1 ? (stop - start) / (double)(num - 1) : 0;
    return asn_capi_wrap(step != 0 ? asn_linspace(&made, start, stop, num)
                                   : short_line(&made, start, stop, num),
                         &made, out);
}

/* k may be any number: a diagonal outside the matrix leaves zeros. */
asnp_status asnp_eye(asnp_dtype dtype, int64_t rows, int64_t columns, int64_t k,
                     asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_array made;
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    return asn_capi_wrap(asn_np_eye(&made, d, rows, columns, k, 'C'), &made, out);
}

/* ---- host memory */

/* *layout: host data, of strides given (bytes) or row-major. NULL data is an error unless
 * there are no elements. The caller ends it. */
static asn_status host_strides(asn_dtype dtype, int32_t ndim, const int64_t *shape,
                               const int64_t *given, asn_layout *layout,
                               const void *data) {
    ASN_TRY(asn_capi_shape(ndim, shape));
    ASN_TRY(asn_layout_init(layout, dtype, ndim, shape, 'C'));
    if (given && ndim) {
        asn_layout_fini(layout);
        ASN_TRY(asn_layout_init_strided(layout, dtype, ndim, shape, given, 0, true));
    }
    asn_status status = layout->size ? asn_capi_need(data, "data") : ASN_OK;
    if (status) asn_layout_fini(layout);
    return status;
}

/* The layout describes the host's side alone; the array itself is row-major. */
asnp_status asnp_from_host(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                           const int64_t *strides, const void *data, asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_layout host;
    asn_array made, clean;
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    ASN_TRY(host_strides(d, ndim, shape, strides, &host, data));
    asn_status status = asn_array_from_host(&made, d, ndim, shape, host.strides, data);
    if (!status) asn_truth_mark(&made, data, host.strides);
    asn_layout_fini(&host);
    if (!status &&
        asn_is_noncanonical(&made)) { /* any byte but 0 is true, and becomes 1 */
        status = asn_truth_clean(&clean, &made);
        asn_array_fini(&made);
        if (!status) asn_array_move(&made, &clean);
    }
    return asn_capi_wrap(status, &made, out);
}

/* Of memory that the caller keeps without being told. */
static void keep(void *context) {
    (void)context;
}

/* `release` is called once, when the last array over the memory has gone. The handle is
 * made first, since after asn_array_adopt nothing may fail. The layout's offset counts
 * from the lowest byte, so that negative strides need no rule of their own. */
asnp_status asnp_adopt(asnp_dtype dtype, int32_t ndim, const int64_t *shape,
                       const int64_t *strides, void *data, void (*release)(void *),
                       void *context, asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_layout layout;
    asn_array made;
    int64_t low, high;
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    ASN_TRY(host_strides(d, ndim, shape, strides, &layout, data));
    if (!layout.size) { /* there is nothing to adopt */
        asn_layout_fini(&layout);
        asnp_status status = asnp_empty(dtype, ndim, shape, out);
        if (!status && release) release(context);
        return status;
    }
    /* Bytes of the elements before and behind `data`, whatever the strides. */
    asn_layout_bounds(&layout, &low, &high);
    if ((uintptr_t)data % asn_dtype_table[d].alignment) {
        asn_layout_fini(&layout);
        return asn_error_set(ASN_ERR_VALUE,
                             "data at %p is not aligned to the %d bytes of %s", data,
                             asn_dtype_table[d].alignment, asn_dtype_name(d));
    }
    if (d == ASN_BOOL) { /* adopted bytes stay what they are */
        asn_array look = {.layout = layout};
        look.layout.shape = layout.shape == layout.dims ? look.layout.dims : layout.shape;
        asn_truth_mark(&look, data, layout.strides);
        if (asn_is_noncanonical(&look)) {
            asn_layout_fini(&layout);
            return asn_error_set(ASN_ERR_VALUE,
                                 "adopt: a bool's byte is neither 0 nor 1");
        }
    }
    layout.offset = -low;
    asnp_array *handle = asn_malloc(sizeof *handle);
    if (!handle) {
        asn_layout_fini(&layout);
        return ASN_ERR_MEMORY;
    }
    asn_status status = asn_array_adopt(&made, &layout, (char *)data + low, high - low,
                                        release ? release : keep, context);
    if (status) {
        asn_free(handle);
        return status;
    }
    asn_array_move(&handle->array, &made);
    *out = handle;
    return ASNP_OK;
}

/* Row-major, whatever the order of `a`, as the header promises. */
asnp_status asnp_copy(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_copy(&made, &a->array, asn_capi_type(a), 'C'), &made, out);
}

/* Values are cast as C does; the copy is one even where the dtype stays. */
asnp_status asnp_astype(const asnp_array *a, asnp_dtype dtype, asnp_array **out) {
    IN_LIBRARY;
    asn_dtype d;
    asn_array made;
    NEED(a);
    NEED(out);
    ASN_TRY(asn_capi_dtype(dtype, false, &d));
    return asn_capi_wrap(asn_copy(&made, &a->array, d, 'C'), &made, out);
}

/* Another reference on the same buffer: nothing is read or written. */
asnp_status asnp_share(const asnp_array *a, asnp_array **out) {
    IN_LIBRARY;
    asn_array made;
    NEED(a);
    NEED(out);
    return asn_capi_wrap(asn_array_share(&made, &a->array), &made, out);
}

/* The size is asked for as a guard against a target of another dtype. */
asnp_status asnp_to_host(const asnp_array *a, void *data, size_t nbytes) {
    IN_LIBRARY;
    NEED(a);
    if (nbytes != asnp_nbytes(a))
        return asn_error_set(ASN_ERR_VALUE, "the array has %zu bytes, the target %zu",
                             asnp_nbytes(a), nbytes);
    if (nbytes) NEED(data);
    return asn_array_to_host(&a->array, data);
}

/* From here on the buffer counts as shared with the host. */
asnp_status asnp_data(const asnp_array *a, void **data) {
    IN_LIBRARY;
    NEED(a);
    NEED(data);
    return asn_array_export(&a->array, data);
}
