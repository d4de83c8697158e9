/* L2 graph: matmul and dot (see families.h), by CANN's Matmul on matrices or batches of
 * them.
 *
 * One-dimensional operands become a row or a column first and lose that axis again in the
 * result; batch dimensions broadcast as views, of which the operator takes the strides.
 * Operands are cast to the promoted dtype.
 *
 * The bits of a product depend on shapes and strides alone, not on what is recorded.
 * Rejected: to record a matrix that is still recorded, times a vector, as products and
 * row sums of the matrix' program. It saves a sixth of (dx * inverse) @ mass over all
 * pairs of 800 bodies, but its sums are others, so that a result depends on whether
 * something else has run the matrix' program.
 */
#include <string.h>

#include "aclnnop/aclnn_matmul.h"
#include "array/broadcast.h"
#include "array/views.h"
#include "graph/small/direct.h"
#include "graph/operators/families.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/ufunc/operands.h"
#include "graph/ufunc/truth.h"
#include "graph/device/operator.h"
#include "graph/profile_events.h"

/* Replaces an array by a view of it, *view; `made` is the status of making that. After an
 * error `a` is as before. */
static asn_status replace_view(asn_array *a, asn_status made, asn_layout *view) {
    asn_array moved;
    ASN_TRY(made);
    asn_array_view(&moved, a, view);
    asn_array_fini(a);
    asn_array_move(a, &moved);
    return ASN_OK;
}

/* NumPy's function that is at work, for messages and warnings about floating-point
 * exceptions; NULL: one that reports none (einsum). Under the library's lock. */
static const char *caller;

/* c = a @ b, all of at least two dimensions and equal batch dimensions. */
static asn_status product(const asn_array *a, const asn_array *b, const asn_array *c) {
    aclTensor *t[3] = {NULL, NULL, NULL};
    if (c->layout.size == 0) return ASN_OK;
    /* sums of nothing */
    if (a->layout.size == 0) {
        asn_operand zero = {.scalar = asn_scalar_int(0), .weak = 'i'};
        return asn_assign(c, &zero, ASN_CASTING_UNSAFE, NULL);
    }
    const asn_array *all[3] = {a, b, c};
    asn_status status = asn_operator_tensors(3, all, 1 << 2, t);
    const char *what = caller ? caller : "einsum";
    if (ASN_PROFILING) {
        int64_t k = a->layout.shape[a->layout.ndim - 1];
        asn_record_work(
            asn_flops_of_product(asn_layout_dtype(&c->layout), 1, c->layout.size, k, 1));
    }
    ASN_OPERATOR_WATCH(status, Matmul, what, caller != NULL, t[0], t[1], t[2], 0);
    if (ASN_CAPTURING && !status) asn_capture_product(a, b, c, caller != NULL);
    asn_operator_drop(3, t);
    return status;
}

/* Makes `a` a view with the batch dimensions in front of its matrix. */
static asn_status spread_batch(asn_array *a, int ndim, const int64_t *batch) {
    int64_t shape[ASN_MAX_DIMS];
    asn_layout view;
    memcpy(shape, batch, (size_t)(ndim - 2) * sizeof *shape);
    shape[ndim - 2] = a->layout.shape[a->layout.ndim - 2];
    shape[ndim - 1] = a->layout.shape[a->layout.ndim - 1];
    return replace_view(a, asn_view_broadcast(&view, &a->layout, ndim, shape), &view);
}

/* The broadcast batch dimensions of a and b, and *ndim with the matrix counted. The two
 * layouts are copies with the last two axes cut off; their shapes still lie in the
 * originals. */
static asn_status batch_shape(const asn_array *a, const asn_array *b, int *ndim,
                              int64_t *shape) {
    asn_layout la = a->layout, lb = b->layout;
    const asn_layout *both[2] = {&la, &lb};
    la.shape = a->layout.shape;
    lb.shape = b->layout.shape;
    la.ndim -= 2;
    lb.ndim -= 2;
    ASN_TRY(asn_broadcast_shape(2, both, ndim, shape));
    *ndim += 2;
    return ASN_OK;
}

/* Whether a product may be written to `place` as it is computed: memory of its own, of
 * whole elements, each once. */
static bool takes_product(const asn_array *place, const asn_array *a, const asn_array *b,
                          int ndim, const int64_t *shape) {
    const asn_layout *l = &place->layout;
    const int item = asn_itemsize((asn_dtype)l->dtype);
    if (l->dtype != a->layout.dtype || l->ndim != ndim || !(l->flags & ASN_WRITEABLE))
        return false;
    for (int d = 0; d < ndim; d++)
        if (l->shape[d] != shape[d] || l->strides[d] % item) return false;
    return !asn_layout_self_overlaps(l) && !asn_array_may_share(place, a) &&
           !asn_array_may_share(place, b);
}

/* The product of a and b, which are ours to change; both have at least two dimensions.
 * The result is another handle on `place`, where there is one that takes it. */
static asn_status multiply(asn_array *a, asn_array *b, const asn_array *place,
                           asn_array *result) {
    int64_t shape[ASN_MAX_DIMS];
    int ndim;
    ASN_TRY(batch_shape(a, b, &ndim, shape));
    ASN_TRY(spread_batch(a, ndim, shape));
    ASN_TRY(spread_batch(b, ndim, shape));
    shape[ndim - 2] = a->layout.shape[ndim - 2];
    shape[ndim - 1] = b->layout.shape[ndim - 1];
    const asn_array *both[2] = {a, b};
    if (place && takes_product(place, a, b, ndim, shape))
        ASN_TRY(asn_array_share(result, place));
    else
        ASN_TRY(asn_result_new_stack(result, asn_layout_dtype(&a->layout), ndim, shape, 2,
                                     2, both));
    asn_status status = product(a, b, result);
    if (status) asn_array_fini(result);
    return status;
}

/* NumPy's errors for operands without dimensions and for lengths that differ. */
static asn_status check_core(const asn_array *a, const asn_array *b) {
    const asn_layout *la = &a->layout, *lb = &b->layout;
    for (int k = 0; k < 2; k++)
        if ((k ? lb : la)->ndim == 0)
            return asn_error_set(
                ASN_ERR_VALUE,
                "matmul: Input operand %d does not have enough dimensions "
                "(has 0, gufunc core with signature (n?,k),(k,m?)->(n?,m?) "
                "requires 1)",
                k);
    int64_t inner_a = la->shape[la->ndim - 1];
    int64_t inner_b = lb->shape[lb->ndim > 1 ? lb->ndim - 2 : 0];
    if (inner_a == inner_b) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "matmul: Input operand 1 has a mismatch in its core dimension 0, with "
        "gufunc signature (n?,k),(k,m?)->(n?,m?) (size %lld is different from "
        "%lld)",
        (long long)inner_b, (long long)inner_a);
}

/* Gives the product to the caller: as the result, or cast into out, unless it was made
 * there. Takes *made. */
static asn_status deliver(asn_array *made, const asn_array *out, asn_array *result) {
    if (!out) {
        asn_array_move(result, made);
        return ASN_OK;
    }
    asn_operand value = {.array = made};
    asn_status status = ASN_OK;
    if (asn_array_is(made, out)) {
        asn_array_fini(made);
        return ASN_OK;
    }
    if (!(out->layout.flags & ASN_WRITEABLE))
        status = asn_error_set(ASN_ERR_VALUE, "output array is read-only");
    else if (!asn_layout_same_shape(&out->layout, &made->layout))
        status = asn_error_set(ASN_ERR_VALUE,
                               "output array has the wrong shape for the product");
    if (!status) status = asn_assign(out, &value, ASN_CASTING_SAME_KIND, NULL);
    asn_array_fini(made);
    return status;
}

const asn_product_precision *asn_product_precision_of;

/* Whether products are asked about before they are computed. */
static inline bool is_asked(void) {
    const asn_product_precision *p = asn_product_precision_of;
    return __builtin_expect(p != NULL, 0) && p->asks();
}

/* Whether another precision may be asked for: float32 with float32 or a half. */
static bool is_single(const asn_array *a, const asn_array *b) {
    const asn_dtype x = asn_layout_dtype(&a->layout), y = asn_layout_dtype(&b->layout);
    return (x == ASN_F32 && (y == ASN_F32 || asn_is_half(y))) ||
           (y == ASN_F32 && asn_is_half(x));
}

/* `a` becomes one of dtype. */
static asn_status widen(asn_array *a, asn_dtype dtype) {
    asn_array wide;
    if (asn_layout_dtype(&a->layout) == dtype) return ASN_OK;
    ASN_TRY(asn_copy(&wide, a, dtype, 'K'));
    asn_array_fini(a);
    asn_array_move(a, &wide);
    return ASN_OK;
}

/* The product of matrices, which are ours to change, in the precision that is asked for,
 * else in `dtype`. */
static asn_status multiply_as(asn_array *a, asn_array *b, asn_dtype dtype,
                              const asn_array *place, bool asked, asn_array *result) {
    bool done = false;
    if (asked) ASN_TRY(asn_product_precision_of->multiply(a, b, result, &done));
    if (done) return ASN_OK;
    ASN_TRY(widen(a, dtype));
    ASN_TRY(widen(b, dtype));
    return multiply(a, b, place, result);
}

/* The product, with the library's lock held; `place` is multiply's; asked: see
 * families.h. */
static asn_status matmul_locked(const asn_array *a, const asn_array *b,
                                const asn_array *place, bool asked, asn_array *result) {
    asn_array x, y;
    asn_layout view;
    asn_type types[2] = {{a->layout.dtype, 0}, {b->layout.dtype, 0}};
    asn_dtype dtype = asn_result_type(2, types);
    ASN_TRY(check_core(a, b));
    bool row = a->layout.ndim == 1, column = b->layout.ndim == 1;
    ASN_TRY(asn_array_share(&x, a));
    asn_status status = asn_array_share(&y, b);
    if (status) {
        asn_array_fini(&x);
        return status;
    }
    if (row) status = replace_view(&x, asn_view_expand(&view, &x.layout, 2, 1), &view);
    if (!status && column)
        status = replace_view(&y, asn_view_expand(&view, &y.layout, 2, 2), &view);
    if (!status)
        status = multiply_as(&x, &y, dtype, row || column ? NULL : place,
                             asked && is_single(a, b), result);
    if (!status && (row || column)) {
        /* the axes that 1-d operands were given */
        uint64_t mask = 0;
        int n = result->layout.ndim;
        if (row) mask |= (uint64_t)1 << (n - 2);
        if (column) mask |= (uint64_t)1 << (n - 1);
        status =
            replace_view(result, asn_view_squeeze(&view, &result->layout, mask), &view);
    }
    asn_array_fini(&x);
    asn_array_fini(&y);
    return status;
}

/* (Contract in families.h.) */
asn_status asn_product_plain(const asn_array *a, const asn_array *b, asn_array *result) {
    return matmul_locked(a, b, NULL, false, result);
}

/* Both products: small ones by the host at once. A non-canonical bool operand is made
 * canonical first. */
static asn_status matmul_as(const char *what, const asn_array *a, const asn_array *b,
                            const asn_array *place, const asn_array *out,
                            asn_array *result) {
    asn_array made;
    const bool asked = is_asked() && is_single(a, b);
    if (!out && !asked && asn_direct_matmul(result, a, b, what)) return ASN_OK;
    ASN_TRUTH_OF(a, matmul_as(what, &clean, b, place, out, result))
    ASN_TRUTH_OF(b, matmul_as(what, a, &clean, place, out, result))
    asn_lock();
    caller = what;
    asn_status status = matmul_locked(a, b, place, asked, &made);
    if (!status) status = deliver(&made, out, result);
    asn_unlock();
    return status;
}

asn_status asn_matmul(const asn_array *a, const asn_array *b, const asn_array *out,
                      asn_array *result) {
    return matmul_as("matmul", a, b, out, out, result);
}

asn_status asn_matmul_at(const asn_array *a, const asn_array *b, const asn_array *place,
                         asn_array *result) {
    return matmul_as("matmul", a, b, place, NULL, result);
}

/* (Contract in families.h.) Without a name nothing is reported. */
asn_status asn_contract(const asn_array *a, const asn_array *b, asn_array *result) {
    return matmul_as(NULL, a, b, NULL, NULL, result);
}

/* b's second-last axis in front and the rest flattened: (k, n). */
static asn_status as_columns(asn_array *out, const asn_array *b) {
    int perm[ASN_MAX_DIMS], n = b->layout.ndim, at = 1;
    asn_layout view;
    asn_array turned, packed;
    bool possible;
    perm[0] = n - 2;
    for (int d = 0; d < n; d++)
        if (d != n - 2) perm[at++] = d;
    ASN_TRY(asn_view_transpose(&view, &b->layout, perm));
    asn_array_view(&turned, b, &view);
    int64_t shape[2] = {b->layout.shape[n - 2], 1};
    for (int d = 0; d < n; d++)
        if (d != n - 2) shape[1] *= b->layout.shape[d];
    asn_status status = asn_copy(&packed, &turned, asn_layout_dtype(&b->layout), 'C');
    asn_array_fini(&turned);
    ASN_TRY(status);
    status = asn_view_reshape(&view, &packed.layout, 2, shape, 'C', &possible);
    if (!status) asn_array_view(out, &packed, &view);
    asn_array_fini(&packed);
    return status;
}

/* dot with a b of three dimensions or more: one product with all of b's columns, its
 * result being reshaped to a's dimensions without the last and b's without the
 * second-last. */
static asn_status dot_many(const asn_array *a, const asn_array *b, bool asked,
                           asn_array *result) {
    int64_t shape[2 * ASN_MAX_DIMS];
    int ndim = 0, nb = b->layout.ndim;
    asn_array columns, flat;
    asn_layout view;
    bool possible;
    for (int d = 0; d < a->layout.ndim - 1; d++)
        shape[ndim++] = a->layout.shape[d];
    for (int d = 0; d < nb; d++)
        if (d != nb - 2) shape[ndim++] = b->layout.shape[d];
    ASN_TRY(as_columns(&columns, b));
    asn_status status = matmul_locked(a, &columns, NULL, asked, &flat);
    asn_array_fini(&columns);
    ASN_TRY(status);
    status = asn_view_reshape(&view, &flat.layout, ndim, shape, 'C', &possible);
    if (!status) asn_array_view(result, &flat, &view);
    asn_array_fini(&flat);
    return status;
}

/* dot, with the library's lock held. Up to two dimensions of b it is matmul. */
static asn_status dot_locked(const asn_array *a, const asn_array *b,
                             const asn_array *place, bool asked, asn_array *result) {
    const asn_layout *la = &a->layout, *lb = &b->layout;
    if (la->ndim == 0 || lb->ndim == 0) {
        asn_operand in[2] = {{.array = a}, {.array = b}};
        return asn_ufunc_call(ASN_OP_MULTIPLY, in, NULL, result, NULL);
    }
    /* the sum runs over b's second-last axis, or its only one */
    int inner = lb->ndim > 1 ? lb->ndim - 2 : 0;
    if (la->shape[la->ndim - 1] != lb->shape[inner]) {
        char x[256], y[256];
        return asn_error_set(
            ASN_ERR_VALUE, "shapes %s and %s not aligned: %lld (dim %d) != %lld (dim %d)",
            asn_shape_format(x, sizeof x, la->ndim, la->shape),
            asn_shape_format(y, sizeof y, lb->ndim, lb->shape),
            (long long)la->shape[la->ndim - 1], la->ndim - 1, (long long)lb->shape[inner],
            inner);
    }
    return lb->ndim > 2 ? dot_many(a, b, asked, result)
                        : matmul_locked(a, b, place, asked, result);
}

/* (Contract in families.h.) Small products of two dimensions run at once; a non-canonical
 * bool operand is made canonical first. */
asn_status asn_dot(const asn_array *a, const asn_array *b, const asn_array *out,
                   asn_array *result) {
    asn_array made;
    const bool asked = is_asked() && is_single(a, b);
    if (!out && !asked && asn_direct_matmul(result, a, b, "dot")) return ASN_OK;
    ASN_TRUTH_OF(a, asn_dot(&clean, b, out, result))
    ASN_TRUTH_OF(b, asn_dot(a, &clean, out, result))
    asn_lock();
    caller = "dot";
    asn_status status = dot_locked(a, b, out, asked, &made);
    if (!status) status = deliver(&made, out, result);
    asn_unlock();
    return status;
}

/* (Contract in families.h.) For real numbers it is dot; for complex ones dot of the
 * conjugate, unless the host computes it at once. */
asn_status asn_vdot(const asn_array *a, const asn_array *b, asn_array *result) {
    asn_array conjugate;
    if (!asn_is_complex(a->layout.dtype)) return asn_dot(a, b, NULL, result);
    if (asn_direct_vdot(result, a, b)) return ASN_OK;
    asn_operand in = {.array = a};
    ASN_TRY(asn_ufunc_call(ASN_OP_CONJUGATE, &in, NULL, &conjugate, NULL));
    asn_status status = asn_dot(&conjugate, b, NULL, result);
    asn_array_fini(&conjugate);
    return status;
}
