/* L2 numpy: piecewise linear interpolation (interpolation.h).
 *
 * The device has an operation for it; where it has none, the interval of each x is
 * searched and the line through its ends is followed, from the right end where the left
 * one gives no number, as NumPy does. In a capture the ends are another call's to change:
 * they stay operations. Complex values are two interpolations.
 */
#include "numpy/interpolation.h"

#include <math.h>
#include <string.h>

#include "array/views.h"
#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* The element at `index`, without an axis. */
static asn_status element(asn_array *out, const asn_array *a, int64_t index) {
    const asn_index_item item = {.kind = ASN_INDEX_INT, .start = index};
    return asn_index_view(out, a, 1, &item);
}

/* where(x op bound, value, otherwise) */
static asn_status where_x(asn_array *out, asn_op op, const asn_array *x,
                          const asn_array *bound, const asn_operand value,
                          const asn_operand otherwise) {
    ASN_TEMPORARIES;
    ASN_MAKE(mask, asn_np_binary(mask, op, asn_np_of(x), asn_np_of(bound)));
    return asn_where(out, mask, &value, &otherwise);
}

/* left below the points, right above them, else `value`. */
static asn_status with_ends(asn_array *out, const asn_array *x, const asn_array *xp,
                            const asn_operand left, const asn_operand right,
                            const asn_array *value) {
    ASN_TEMPORARIES;
    ASN_MAKE(first, element(first, xp, 0));
    ASN_MAKE(last, element(last, xp, -1));
    ASN_MAKE(high, where_x(high, ASN_OP_GREATER, x, last, right, asn_np_of(value)));
    return where_x(out, ASN_OP_LESS, x, first, left, asn_np_of(high));
}

/* f0 + (x - x0) (f1 - f0) / (x1 - x0), from the other end where that is no number. */
static asn_status follow_lines(asn_array *out, const asn_array *x, const asn_array *x0,
                               const asn_array *x1, const asn_array *f0,
                               const asn_array *f1) {
    ASN_TEMPORARIES;
    ASN_MAKE(rise, asn_np_binary(rise, ASN_OP_SUBTRACT, asn_np_of(f1), asn_np_of(f0)));
    ASN_MAKE(run, asn_np_binary(run, ASN_OP_SUBTRACT, asn_np_of(x1), asn_np_of(x0)));
    ASN_MAKE(slope, asn_np_binary(slope, ASN_OP_DIVIDE, asn_np_of(rise), asn_np_of(run)));
    ASN_MAKE(from0, asn_np_binary(from0, ASN_OP_SUBTRACT, asn_np_of(x), asn_np_of(x0)));
    ASN_MAKE(part0,
             asn_np_binary(part0, ASN_OP_MULTIPLY, asn_np_of(slope), asn_np_of(from0)));
    ASN_MAKE(value, asn_np_binary(value, ASN_OP_ADD, asn_np_of(part0), asn_np_of(f0)));
    ASN_MAKE(from1, asn_np_binary(from1, ASN_OP_SUBTRACT, asn_np_of(x), asn_np_of(x1)));
    ASN_MAKE(part1,
             asn_np_binary(part1, ASN_OP_MULTIPLY, asn_np_of(slope), asn_np_of(from1)));
    ASN_MAKE(again, asn_np_binary(again, ASN_OP_ADD, asn_np_of(part1), asn_np_of(f1)));
    const asn_operand first = asn_np_of(value), second = asn_np_of(again),
                      start = asn_np_of(f0);
    ASN_MAKE(lost, asn_np_unary(lost, ASN_OP_ISNAN, value));
    ASN_MAKE(found, asn_where(found, lost, &second, &first));
    const asn_operand other = asn_np_of(found);
    ASN_MAKE(still, asn_np_unary(still, ASN_OP_ISNAN, found));
    ASN_MAKE(level, asn_np_binary(level, ASN_OP_EQUAL, asn_np_of(f0), asn_np_of(f1)));
    ASN_MAKE(flat,
             asn_np_binary(flat, ASN_OP_BITWISE_AND, asn_np_of(still), asn_np_of(level)));
    ASN_MAKE(held, asn_where(held, flat, &start, &other));
    return where_x(out, ASN_OP_EQUAL, x, x0, start, asn_np_of(held));
}

/* The index of the interval that each x lies in. */
static asn_status intervals(asn_array *out, const asn_array *x, const asn_array *xp) {
    ASN_TEMPORARIES;
    ASN_MAKE(after, asn_searchsorted(after, xp, x, true));
    ASN_MAKE(at,
             asn_np_binary(at, ASN_OP_SUBTRACT, asn_np_of(after), asn_operand_int(1)));
    const asn_operand in[3] = {asn_np_of(at), asn_operand_int(0),
                               asn_operand_int(xp->layout.size - 2)};
    return asn_ufunc_call(ASN_OP_CLIP, in, NULL, out, NULL);
}

/* The composition for two points or more: the value on the line through the ends of x's
 * interval; then what differs at and beyond the last point, below the first, and for NaN.
 */
static asn_status on_lines(asn_array *out, const asn_array *x, const asn_array *xp,
                           const asn_array *fp, const asn_operand left,
                           const asn_operand right) {
    ASN_TEMPORARIES;
    ASN_MAKE(j, intervals(j, x, xp));
    ASN_MAKE(next, asn_np_binary(next, ASN_OP_ADD, asn_np_of(j), asn_operand_int(1)));
    ASN_MAKE(x0, asn_take(x0, xp, j, 0, 0));
    ASN_MAKE(x1, asn_take(x1, xp, next, 0, 0));
    ASN_MAKE(f0, asn_take(f0, fp, j, 0, 0));
    ASN_MAKE(f1, asn_take(f1, fp, next, 0, 0));
    ASN_MAKE(value, follow_lines(value, x, x0, x1, f0, f1));
    ASN_MAKE(last, element(last, xp, -1));
    ASN_MAKE(end, element(end, fp, -1));
    ASN_MAKE(ended,
             where_x(ended, ASN_OP_EQUAL, x, last, asn_np_of(end), asn_np_of(value)));
    ASN_MAKE(bounded, with_ends(bounded, x, xp, left, right, ended));
    const asn_operand in = asn_np_of(x), otherwise = asn_np_of(bounded);
    ASN_MAKE(none, asn_np_unary(none, ASN_OP_ISNAN, x));
    return asn_where(out, none, &in, &otherwise);
}

/* Without the device's operation. */
static asn_status composed(asn_array *out, const asn_array *x, const asn_array *xp,
                           const asn_array *fp, const asn_operand left,
                           const asn_operand right) {
    ASN_TEMPORARIES;
    if (xp->layout.size == 1) {
        ASN_MAKE(only, element(only, fp, 0));
        return with_ends(out, x, xp, left, right, only);
    }
    /* lines may divide by 0 or pass through infinities where NumPy does not warn */
    bool checked = asn_set_fp_checks(false);
    asn_status status = on_lines(out, x, xp, fp, left, right);
    asn_set_fp_checks(checked);
    return status;
}

/* Of float64 values; left and right have one element. */
static asn_status of_reals(asn_array *result, const asn_array *x, const asn_array *xp,
                           const asn_array *fp, const asn_array *left,
                           const asn_array *right) {
    ASN_TEMPORARIES;
    const bool capturing = asn_capture_open();
    double ends[2] = {0, 0};
    if (!capturing) {
        asn_scalar low, high;
        ASN_TRY(asn_array_get_item(left, 0, &low));
        ASN_TRY(asn_array_get_item(right, 0, &high));
        memcpy(&ends[0], low.bytes, sizeof *ends);
        memcpy(&ends[1], high.bytes, sizeof *ends);
    }
    asn_array *value = &temporaries_.made[0];
    asn_status status = asn_interp(value, x, xp, fp, ends[0], ends[1]);
    if (status == ASN_ERR_UNSUPPORTED)
        return composed(result, x, xp, fp, asn_np_of(left), asn_np_of(right));
    ASN_TRY(status);
    if (!capturing) {
        asn_array_move(result, value);
        return ASN_OK;
    }
    temporaries_.count++;
    return with_ends(result, x, xp, asn_np_of(left), asn_np_of(right), value);
}

/* One part of complex values into that of the result. */
static asn_status of_part(const asn_array *result, int part, const asn_array *x,
                          const asn_array *xp, const asn_array *fp, const asn_array *left,
                          const asn_array *right) {
    ASN_TEMPORARIES;
    ASN_MAKE(values, asn_np_part(values, fp, part));
    ASN_MAKE(low, asn_np_part(low, left, part));
    ASN_MAKE(high, asn_np_part(high, right, part));
    ASN_MAKE(target, asn_np_part(target, result, part));
    ASN_MAKE(found, of_reals(found, x, xp, values, low, high));
    const asn_operand value = asn_np_of(found);
    return asn_assign(target, &value, ASN_CASTING_SAME_KIND, NULL);
}

/* What is given beyond an end, as an array of fp's dtype; the value there where nothing
 * is. */
static asn_status end_value(asn_array *out, const asn_operand *given, const asn_array *fp,
                            int64_t index) {
    const asn_dtype dtype = asn_layout_dtype(&fp->layout);
    if (!given) return element(out, fp, index);
    return given->array ? asn_np_astype(out, given->array, dtype)
                        : asn_full(out, dtype, 0, NULL, 'C', given);
}

/* Of real values that end with the first and the last one, by the device's operation. */
static asn_status of_values(asn_array *result, const asn_array *x, const asn_array *xp,
                            const asn_array *fp) {
    asn_scalar low, high;
    double ends[2];
    const int64_t last = (fp->layout.size - 1) * fp->layout.strides[0];
    ASN_TRY(asn_array_get_item(fp, 0, &low));
    ASN_TRY(asn_array_get_item(fp, last, &high));
    memcpy(&ends[0], low.bytes, sizeof *ends);
    memcpy(&ends[1], high.bytes, sizeof *ends);
    return asn_interp(result, x, xp, fp, ends[0], ends[1]);
}

/* Without a period: the checks, in NumPy's order, and then the shortest way that there
 * is. Whether xp ascends is not checked, as in NumPy. */
static asn_status interpolated(asn_array *result, const asn_array *x, const asn_array *xp,
                               const asn_array *fp, const asn_operand *left,
                               const asn_operand *right) {
    ASN_TEMPORARIES;
    const asn_dtype dtype = asn_layout_dtype(&fp->layout);
    if (xp->layout.ndim != 1 || fp->layout.ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             xp->layout.ndim && fp->layout.ndim
                                 ? "object too deep for desired array"
                                 : "object of too small depth for desired array");
    if (xp->layout.size == 0)
        return asn_error_set(ASN_ERR_VALUE, "array of sample points is empty");
    if (xp->layout.size != fp->layout.size)
        return asn_error_set(ASN_ERR_VALUE, "fp and xp are not of the same length.");
    if (!left && !right && !asn_is_complex(dtype) && !asn_capture_open()) {
        asn_status status = of_values(result, x, xp, fp);
        if (status != ASN_ERR_UNSUPPORTED) return status;
    }
    ASN_MAKE(low, end_value(low, left, fp, 0));
    ASN_MAKE(high, end_value(high, right, fp, -1));
    if (!asn_is_complex(dtype)) return of_reals(result, x, xp, fp, low, high);
    ASN_TRY(asn_array_new(result, dtype, x->layout.ndim, x->layout.shape, 'C'));
    asn_status status = ASN_OK;
    for (int part = 0; part < 2 && !status; part++)
        status = of_part(result, part, x, xp, fp, low, high);
    if (status) asn_array_fini(result);
    return status;
}

/* ---- periods */

/* a % period */
static asn_status within(asn_array *out, const asn_array *a, double period) {
    return asn_np_binary(out, ASN_OP_REMAINDER, asn_np_of(a), asn_operand_float(period));
}

/* The points with the last one a period earlier in front, and the first one a period
 * later behind; or the values, where period is 0. */
static asn_status wrapped(asn_array *out, const asn_array *points, double period) {
    ASN_TEMPORARIES;
    ASN_MAKE(last, asn_np_slice(last, points, -1, INT64_MAX, 1));
    ASN_MAKE(first, asn_np_slice(first, points, 0, 1, 1));
    const asn_dtype dtype = asn_layout_dtype(&points->layout);
    if (period == 0)
        return asn_concatenate(3, (const asn_array *[]){last, points, first}, 0, dtype,
                               ASN_CASTING_NO, NULL, out);
    ASN_MAKE(before, asn_np_binary(before, ASN_OP_SUBTRACT, asn_np_of(last),
                                   asn_operand_float(period)));
    ASN_MAKE(after, asn_np_binary(after, ASN_OP_ADD, asn_np_of(first),
                                  asn_operand_float(period)));
    return asn_concatenate(3, (const asn_array *[]){before, points, after}, 0, dtype,
                           ASN_CASTING_NO, NULL, out);
}

/* With a period: points and x are taken modulo the period, the points sorted, and one
 * more point is put on either side. */
static asn_status periodic(asn_array *result, const asn_array *x, const asn_array *xp,
                           const asn_array *fp, double period) {
    ASN_TEMPORARIES;
    if (period == 0)
        return asn_error_set(ASN_ERR_VALUE, "period must be a non-zero value");
    if (xp->layout.ndim != 1 || fp->layout.ndim != 1)
        return asn_error_set(ASN_ERR_VALUE, "Data points must be 1-D sequences");
    if (xp->layout.size != fp->layout.size)
        return asn_error_set(ASN_ERR_VALUE, "fp and xp are not of the same length");
    ASN_MAKE(at, within(at, x, fabs(period)));
    ASN_MAKE(points, within(points, xp, fabs(period)));
    ASN_MAKE(order, asn_argsort(order, points, 0));
    ASN_MAKE(sorted, asn_take(sorted, points, order, 0, 0));
    ASN_MAKE(values, asn_take(values, fp, order, 0, 0));
    ASN_MAKE(all_points, wrapped(all_points, sorted, fabs(period)));
    ASN_MAKE(all_values, wrapped(all_values, values, 0));
    return interpolated(result, at, all_points, all_values, NULL, NULL);
}

asn_status asn_np_interp(asn_array *result, const asn_array *x, const asn_array *xp,
                         const asn_array *fp, const asn_np_interp_options *options) {
    if (options->periodic) return periodic(result, x, xp, fp, options->period);
    return interpolated(result, x, xp, fp, options->left, options->right);
}
