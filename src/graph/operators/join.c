/* L2 graph: concatenate, repeat, arange, linspace: arrays put together from pieces (see
 * families.h).
 *
 * Concatenation is one recorded copy per piece, so that it fuses with what computes the
 * piece.
 */
#include <string.h>

#include "aclnnop/aclnn_arange.h"
#include "aclnnop/aclnn_linspace.h"
#include "aclnnop/aclnn_repeat_interleave.h"
#include "graph/small/direct.h"
#include "graph/operators/families.h"
#include "graph/lock.h"
#include "graph/ufunc/truth.h"
#include "graph/device/operator.h"

/* Copies a piece into its place, at `at` along the axis of the target. */
static asn_status copy_piece(const asn_array *target, const asn_array *piece, int axis,
                             int64_t at, asn_casting casting) {
    asn_layout l;
    asn_array slab;
    ASN_TRY(asn_layout_copy(&l, &target->layout));
    l.offset += at * l.strides[axis];
    l.shape[axis] = piece->layout.shape[axis];
    asn_layout_update(&l);
    asn_array_view(&slab, target, &l);
    asn_operand value = {.array = piece};
    asn_status status = asn_assign(&slab, &value, casting, NULL);
    asn_array_fini(&slab);
    return status;
}

/* `largest_first`: a small copy would run at once if nothing of the target were recorded
 * yet, and then could not be left out (plan_forward.h). */
static asn_status copy_pieces(const asn_array *target, int n,
                              const asn_array *const *arrays, int axis,
                              asn_casting casting, bool largest_first) {
    int first = 0;
    for (int i = 1; i < n && largest_first; i++)
        if (arrays[i]->layout.size > arrays[first]->layout.size) first = i;
    for (int turn = 0; turn < 2; turn++) {
        int64_t at = 0;
        for (int i = 0; i < n; at += arrays[i++]->layout.shape[axis])
            /* the largest in the first turn, the others in the second */
            if (!largest_first ? turn == 0 : (i == first) == (turn == 0))
                ASN_TRY(copy_piece(target, arrays[i], axis, at, casting));
    }
    return ASN_OK;
}

/* Whether axis `inner` lies inside axis `outer` in memory as far as the arrays tell: 1,
 * 0, or -1 where none does. One that contradicts decides. */
static int lies_inside(int n, const asn_array *const *arrays, int inner, int outer) {
    int verdict = -1;
    for (int i = 0; i < n; i++) {
        const asn_layout *l = &arrays[i]->layout;
        if (l->shape[inner] == 1 || l->shape[outer] == 1) continue;
        int64_t a = l->strides[inner], b = l->strides[outer];
        if ((a < 0 ? -a : a) <= (b < 0 ? -b : b)) return 1;
        verdict = 0;
    }
    return verdict;
}

/* The joined array's axes from outermost to innermost: what the pieces' strides say, else
 * row-major (an insertion sort, since pairs may be undecided, as NumPy's). False: they
 * are row-major. */
static bool joined_order(int n, const asn_array *const *arrays, int *perm) {
    int ndim = arrays[0]->layout.ndim;
    bool moved = false;
    for (int i = 0; i < ndim; i++)
        perm[i] = i;
    for (int i = 1; i < ndim; i++) {
        int at = i, axis = perm[i];
        for (int j = i - 1; j >= 0; j--) {
            int inside = lies_inside(n, arrays, axis, perm[j]);
            if (inside == 1) break;
            if (inside == 0) at = j;
        }
        if (at == i) continue;
        memmove(perm + at + 1, perm + at, (size_t)(i - at) * sizeof *perm);
        perm[at] = axis;
        moved = true;
    }
    return moved;
}

/* The joined array, uninitialised, in the order in memory that NumPy would give it. */
static asn_status joined_new(asn_array *result, asn_dtype dtype, int n,
                             const asn_array *const *arrays, const int64_t *shape) {
    int ndim = arrays[0]->layout.ndim, perm[ASN_MAX_DIMS];
    if (!joined_order(n, arrays, perm))
        return asn_array_new(result, dtype, ndim, shape, 'C');
    int64_t strides[ASN_MAX_DIMS], step = asn_itemsize(dtype);
    for (int i = ndim - 1; i >= 0; i--) {
        strides[perm[i]] = step;
        int64_t extent = shape[perm[i]] ? shape[perm[i]] : 1;
        if (__builtin_mul_overflow(step, extent, &step)) /* none, or too many */
            return asn_array_new(result, dtype, ndim, shape, 'C');
    }
    asn_array model = {.buffer = NULL};
    ASN_TRY(asn_layout_init_strided(&model.layout, dtype, ndim, shape, strides, 0, true));
    asn_status status = asn_array_new_like(result, &model, dtype, 'K');
    asn_layout_fini(&model.layout);
    return status;
}

/* (Contract in families.h.) Small row-major pieces are joined on the host, by
 * asn_direct_join. */
asn_status asn_concatenate(int n, const asn_array *const *arrays, int axis,
                           asn_dtype dtype, asn_casting casting, const asn_array *out,
                           asn_array *result) {
    const asn_layout *first = &arrays[0]->layout;
    int64_t shape[ASN_MAX_DIMS], total = 0;
    memcpy(shape, first->shape, (size_t)first->ndim * sizeof *shape);
    for (int i = 0; i < n; i++) {
        const asn_layout *l = &arrays[i]->layout;
        if (!asn_add_size(total, l->shape[axis], &total)) return asn_layout_too_big();
    }
    shape[axis] = total;
    /* nothing is recorded for a small result */
    if (!out && axis == 0 &&
        asn_direct_join(result, n, arrays, dtype, first->ndim, shape))
        return ASN_OK;
    if (out) {
        const asn_layout *l = &out->layout;
        if (l->ndim != first->ndim ||
            memcmp(l->shape, shape, (size_t)l->ndim * sizeof *shape))
            return asn_error_set(ASN_ERR_VALUE, "Output array is the wrong shape");
    } else {
        ASN_TRY(joined_new(result, dtype, n, arrays, shape));
    }
    const asn_array *target = out ? out : result;
    asn_status status = copy_pieces(target, n, arrays, axis, casting, !out);
    if (status && !out) asn_array_fini(result);
    return status;
}

/* The parts one after the other, laid out as `a`, of which they need not tell: an axis of
 * two is cut into two of one. */
static asn_status rolled(asn_array *result, const asn_array *a, int n,
                         const asn_array *const *parts, int axis) {
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    if (a->layout.flags & ASN_C_CONTIGUOUS)
        return asn_concatenate(n, parts, axis, dtype, ASN_CASTING_NO, NULL, result);
    ASN_TRY(asn_array_new_like(result, a, dtype, 'K'));
    asn_status status = copy_pieces(result, n, parts, axis, ASN_CASTING_NO, true);
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) Two parts change places. With a shift of 0 there is only one:
 * the list then starts at the second. */
asn_status asn_roll(asn_array *result, const asn_array *a, int64_t shift, int axis) {
    int64_t extent = a->layout.shape[axis], last = shift % extent;
    last += last < 0 ? extent : 0;
    asn_array parts[2];
    const asn_array *list[2] = {&parts[0], &parts[1]};
    ASN_TRY(asn_array_range(&parts[0], a, axis, extent - last, last));
    asn_status status = asn_array_range(&parts[1], a, axis, 0, extent - last);
    if (!status) {
        status = rolled(result, a, 2 - !last, list + !last, axis);
        asn_array_fini(&parts[1]);
    }
    asn_array_fini(&parts[0]);
    return status;
}

/* The extent of the result: the sum of the counts. The counts are read by the host, since
 * a shape cannot wait for the device. */
static asn_status repeat_total(const asn_array *counts, int64_t extent, int64_t *total) {
    int64_t n = counts->layout.size;
    if (n != 1 && n != extent)
        return asn_error_set(
            ASN_ERR_VALUE,
            "operands could not be broadcast together with shape (%lld,) "
            "(%lld,)",
            (long long)extent, (long long)n);
    int64_t *values = asn_malloc((size_t)n * sizeof *values);
    if (!values) return ASN_ERR_MEMORY;
    asn_status status = asn_array_to_host(counts, values);
    *total = 0;
    for (int64_t i = 0; i < n && !status; i++) {
        if (values[i] < 0)
            status =
                asn_error_set(ASN_ERR_VALUE, "repeats may not contain negative values.");
        else if (!status && !asn_add_size(*total, values[i], total))
            status = asn_layout_too_big();
    }
    if (n == 1 && !status && !asn_mul_size(*total, extent, total))
        status = asn_layout_too_big();
    asn_free(values);
    return status;
}

/* The repetition, with the library's lock held: one operator for a count that is the same
 * everywhere, another for one count per element. */
static asn_status repeat_locked(asn_array *result, const asn_array *a,
                                const asn_array *counts, int axis) {
    int64_t shape[ASN_MAX_DIMS], total = 0, extent = a->layout.shape[axis], each = 0;
    ASN_TRY(repeat_total(counts, extent, &total));
    memcpy(shape, a->layout.shape, (size_t)a->layout.ndim * sizeof *shape);
    shape[axis] = total;
    ASN_TRY(
        asn_array_new(result, asn_layout_dtype(&a->layout), a->layout.ndim, shape, 'C'));
    if (result->layout.size == 0) return ASN_OK;
    aclTensor *t[3];
    const bool alike = counts->layout.size == 1;
    const asn_array *all[3] = {a, result, alike ? NULL : counts};
    asn_status status = asn_operator_tensors(3, all, 1 << 1, t);
    if (alike) {
        each = total / extent;
        ASN_OPERATOR(status, RepeatInterleaveIntWithDim, "repeat", t[0], each, axis,
                     total, t[1]);
    } else {
        ASN_OPERATOR(status, RepeatInterleaveWithDim, "repeat", t[0], t[2], axis, total,
                     t[1]);
    }
    asn_operator_drop(3, t);
    if (status) asn_array_fini(result);
    return status;
}

/* (Contract in families.h.) Bytes are copied as they are, so that a non-canonical bool
 * stays one. */
asn_status asn_repeat(asn_array *result, const asn_array *a, const asn_array *counts,
                      int axis) {
    asn_lock();
    asn_status status = repeat_locked(result, a, counts, axis);
    asn_unlock();
    if (!status) asn_truth_follow(result, a);
    return status;
}

/* NumPy fills with start + i * delta, delta = (start + step) - start rounded to the
 * dtype. */
static void arange_scalars(asn_dtype dtype, const asn_scalar *start,
                           const asn_scalar *step, int64_t n, void *values[3],
                           aclDataType *type) {
    /* start, end, step; the end lies between the last element and the next, so that
     * rounding does not change how many there are */
    static _Thread_local double d[3];
    static _Thread_local float f[3];
    static _Thread_local int64_t i[3];
    if (dtype == ASN_F64) {
        memcpy(&d[0], start->bytes, 8);
        memcpy(&d[2], step->bytes, 8);
        d[2] = (d[0] + d[2]) - d[0];
        d[1] = d[0] + ((double)n - 0.5) * d[2]; /* ceil((end - start) / step) is n */
        for (int k = 0; k < 3; k++)
            values[k] = &d[k];
        *type = ACL_DOUBLE;
    } else if (dtype == ASN_F32) {
        memcpy(&f[0], start->bytes, 4);
        memcpy(&f[2], step->bytes, 4);
        f[2] = (f[0] + f[2]) - f[0];
        f[1] = (float)(f[0] + ((double)n - 0.5) * f[2]);
        for (int k = 0; k < 3; k++)
            values[k] = &f[k];
        *type = ACL_FLOAT;
    } else {
        memcpy(&i[0], start->bytes, 8);
        memcpy(&i[2], step->bytes, 8);
        i[1] = i[0] + n * i[2];
        for (int k = 0; k < 3; k++)
            values[k] = &i[k];
        *type = ACL_INT64;
    }
}

/* (Contract in families.h.) The device fills in float64, float32 or int64 only. */
asn_status asn_arange(asn_array *result, asn_dtype dtype, const asn_scalar *start,
                      const asn_scalar *step, int64_t n) {
    /* computed in the widest dtype of the kind, then cast (complex: the reals) */
    asn_dtype work = asn_is_complex(dtype)   ? ASN_F64
                     : asn_is_half(dtype)    ? ASN_F32
                     : asn_is_inexact(dtype) ? dtype
                                             : ASN_I64;
    asn_scalar first, delta;
    void *values[3];
    aclDataType type;
    n = n < 0 ? 0 : n;
    if (start->dtype == dtype && step->dtype == dtype &&
        asn_direct_arange(result, dtype, start, step, n))
        return ASN_OK;
    ASN_TRY(asn_scalar_cast(start, work, &first));
    ASN_TRY(asn_scalar_cast(step, work, &delta));
    ASN_TRY(asn_array_new(result, work, 1, &n, 'C'));
    if (n) {
        arange_scalars(work, &first, &delta, n, values, &type);
        asn_lock();
        aclTensor *t = NULL;
        asn_status status = asn_operator_tensor(result, ASN_WRITE, &t);
        aclScalar *s[3] = {NULL, NULL, NULL};
        for (int k = 0; k < 3 && !status; k++)
            s[k] = asn_operator_scalar(values[k], type);
        ASN_OPERATOR(status, Arange, "arange", s[0], s[1], s[2], t);
        for (int k = 0; k < 3; k++)
            asn_operator_drop_scalar(s[k]);
        asn_operator_drop(1, &t);
        asn_unlock();
        if (status) {
            asn_array_fini(result);
            return status;
        }
    }
    if (work == dtype) return ASN_OK;
    asn_array cast;
    asn_status status = asn_copy(&cast, result, dtype, 'C');
    asn_array_fini(result);
    ASN_TRY(status);
    asn_array_move(result, &cast);
    return ASN_OK;
}

/* (Contract in families.h.) One operator, which sets the last element to `stop` itself.
 */
asn_status asn_linspace(asn_array *result, double start, double stop, int64_t n) {
    ASN_TRY(asn_array_new(result, ASN_F64, 1, &n, 'C'));
    if (n == 0) return ASN_OK;
    asn_lock();
    aclTensor *t = NULL;
    asn_status status = asn_operator_tensor(result, ASN_WRITE, &t);
    aclScalar *s[2] = {NULL, NULL};
    if (!status) {
        s[0] = asn_operator_scalar(&start, ACL_DOUBLE);
        s[1] = asn_operator_scalar(&stop, ACL_DOUBLE);
    }
    ASN_OPERATOR(status, Linspace, "linspace", s[0], s[1], n, t);
    for (int k = 0; k < 2; k++)
        asn_operator_drop_scalar(s[k]);
    asn_operator_drop(1, &t);
    asn_unlock();
    if (status) asn_array_fini(result);
    return status;
}

/* NumPy's errors for pieces that cannot be joined, out of the way of the check. */
__attribute__((cold)) static asn_status refuse_ndim(int i, int got, int first) {
    return asn_error_set(
        ASN_ERR_VALUE,
        "all the input arrays must have same number of dimensions, but the array "
        "at index 0 has %d dimension(s) and the array at index %d has %d "
        "dimension(s)",
        first, i, got);
}

__attribute__((cold)) static asn_status refuse_extent(int i, int d, int64_t got,
                                                      int64_t first) {
    return asn_error_set(
        ASN_ERR_VALUE,
        "all the input array dimensions except for the concatenation axis "
        "must match exactly, but along dimension %d, the array at index 0 "
        "has size %lld and the array at index %d has size %lld",
        d, (long long)first, i, (long long)got);
}

/* (Contract in families.h.) In one dimension nothing but the axis itself can differ. */
asn_status asn_join_check(int n, const asn_array *const *arrays, int64_t axis,
                          int *which) {
    const asn_layout *first = &arrays[0]->layout;
    int ndim = first->ndim;
    if (ndim == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "zero-dimensional arrays cannot be concatenated");
    *which = (int)axis;
    if (axis < 0 || axis >= ndim) ASN_TRY(asn_axis_normalize(axis, ndim, which));
    for (int i = 1; i < n; i++) {
        const asn_layout *l = &arrays[i]->layout;
        if (l->ndim != ndim) return refuse_ndim(i, l->ndim, ndim);
        for (int d = 0; d < ndim && ndim > 1; d++)
            if (d != *which && l->shape[d] != first->shape[d])
                return refuse_extent(i, d, l->shape[d], first->shape[d]);
    }
    return ASN_OK;
}
