/* L2 graph: operands of ufuncs, reductions and assignments (see operands.h). */
#include "graph/ufunc/operands.h"

#include <string.h>

#include "array/broadcast.h"
#include "graph/engine.h"

/* The inclusive range of an integer dtype, as int64 low and uint64 high. */
static void integer_range(asn_dtype dt, int64_t *low, uint64_t *high) {
    int bits = 8 * asn_itemsize(dt);
    bool is_unsigned = asn_is_unsigned_int(dt);
    *low = is_unsigned ? 0 : INT64_MIN >> (64 - bits);
    *high = (is_unsigned ? UINT64_MAX : (uint64_t)INT64_MAX) >> (64 - bits);
}

/* (Contract in operands.h.) A Python integer is held as int64, or as uint64 above that.
 */
asn_status asn_operand_check(const asn_operand *o, asn_dtype dtype) {
    if (o->array || o->weak != 'i' || !asn_is_integer(dtype)) return ASN_OK;
    int64_t low, value;
    uint64_t high, bits;
    integer_range(dtype, &low, &high);
    memcpy(&value, o->scalar.bytes, 8);
    memcpy(&bits, o->scalar.bytes, 8);
    bool negative = o->scalar.dtype == ASN_I64 && value < 0;
    if (negative ? value >= low : bits <= high) return ASN_OK;
    if (negative)
        return asn_error_set(ASN_ERR_OVERFLOW, "Python integer %lld out of bounds for %s",
                             (long long)value, asn_dtype_name(dtype));
    return asn_error_set(ASN_ERR_OVERFLOW, "Python integer %llu out of bounds for %s",
                         (unsigned long long)bits, asn_dtype_name(dtype));
}

/* (Contract in operands.h.) A number is cast here, once; an array's cast is implied by
 * the node. */
asn_status asn_draft_operand(asn_draft *d, asn_ref *ref, const asn_operand *o,
                             asn_dtype dtype) {
    if (o->array) {
        asn_draft_array(d, ref, o->array);
        return ASN_OK;
    }
    asn_scalar cast;
    /* a Python int of any size has a truth value */
    if (asn_op_table[d->node.op].flags & ASN_OPF_TRUTH) {
        asn_scalar truth;
        ASN_TRY(asn_scalar_cast(&o->scalar, ASN_BOOL, &truth));
        ASN_TRY(asn_scalar_convert(&truth, dtype, &cast));
    } else {
        ASN_TRY(asn_operand_check(o, dtype));
        ASN_TRY(asn_scalar_convert(&o->scalar, dtype, &cast));
    }
    asn_draft_immediate(ref, &cast);
    return ASN_OK;
}

/* (Contract in operands.h.) Buffers over host memory may overlap without being one. */
bool asn_draft_hazard(const asn_draft *d, const asn_ref *ref) {
    const asn_node *n = &d->node;
    const asn_ref *out = &n->out;
    if (!ref->buffer || !asn_buffers_alias(ref->buffer, out->buffer)) return false;
    int64_t apart = 0; /* of the two buffers */
    if (ref->buffer != out->buffer)
        apart = (int64_t)((uintptr_t)ref->buffer->data - (uintptr_t)out->buffer->data);
    bool same = ref->offset + apart == out->offset && ref->dtype == out->dtype;
    for (int i = 0; same && i < n->ndim; i++)
        same = n->shape[i] <= 1 || ref->strides[i] == out->strides[i];
    asn_layout a = {.ndim = n->ndim, .dtype = ref->dtype, .size = n->size};
    asn_layout b = a;
    a.offset = ref->offset + apart;
    a.shape = b.shape = n->shape;
    a.strides = ref->strides;
    b.dtype = out->dtype;
    b.offset = out->offset;
    b.strides = out->strides;
    /* Element on element is no hazard, unless two elements of out are one in memory. */
    if (same) return asn_layout_self_overlaps(&b);
    return asn_layouts_overlap(&a, &b);
}

asn_status asn_check_out_shape(const asn_array *out, int ndim, const int64_t *shape) {
    const asn_layout *l = &out->layout;
    if (l->ndim == ndim && !memcmp(l->shape, shape, (size_t)ndim * sizeof *shape))
        return ASN_OK;
    char have[256], want[256];
    return asn_error_set(
        ASN_ERR_VALUE,
        "non-broadcastable output operand with shape %s doesn't match the "
        "broadcast shape %s",
        asn_shape_format(have, sizeof have, l->ndim, l->shape),
        asn_shape_format(want, sizeof want, ndim, shape));
}

/* How two axes should be ordered by what the operands' strides say: 1 the first is inner,
 * 0 the second is, -1 no operand knows. (NumPy's nditer: an operand with equal strides
 * keeps row-major order, and any operand can veto a swap.) */
static int inner_first(int num_in, const int64_t strides[][ASN_MAX_DIMS], int first,
                       int second) {
    int verdict = -1;
    for (int k = 0; k < num_in; k++) {
        int64_t a = strides[k][first], b = strides[k][second];
        if (a == 0 || b == 0) continue;
        a = a < 0 ? -a : a;
        b = b < 0 ? -b : b;
        if (b <= a) return 0;
        verdict = 1;
    }
    return verdict;
}

void asn_order_by_strides(int *perm, int ndim, int core, int num,
                          const int64_t strides[][ASN_MAX_DIMS]) {
    /* insertion sort from the row-major order */
    for (int i = 0; i < ndim; i++)
        perm[i] = ndim - 1 - i; /* perm[0] is the innermost */
    for (int i = core + 1; i < ndim; i++) {
        int at = i, axis = perm[i];
        for (int j = i - 1; j >= core; j--) {
            int verdict = inner_first(num, strides, axis, perm[j]);
            if (verdict == 0) break;
            if (verdict == 1) at = j;
        }
        memmove(perm + at + 1, perm + at, (size_t)(i - at) * sizeof *perm);
        perm[at] = axis;
    }
}

/* A result whose order in memory follows the strides. The last `core` axes stay
 * innermost, row-major. */
static asn_status follow_strides(asn_array *result, asn_dtype dtype, int ndim,
                                 const int64_t *shape, int core, int num,
                                 const int64_t strides[][ASN_MAX_DIMS]) {
    int perm[ASN_MAX_DIMS];
    asn_order_by_strides(perm, ndim, core, num, strides);
    asn_layout l;
    ASN_TRY(asn_layout_init(&l, dtype, ndim, shape, 'C'));
    int64_t stride = asn_itemsize(dtype);
    for (int i = 0; i < ndim; i++) {
        l.strides[perm[i]] = stride;
        stride *= shape[perm[i]] ? shape[perm[i]] : 1;
    }
    asn_layout_update(&l);
    asn_layout_move(&result->layout, &l);
    asn_status status =
        asn_buffer_new(&result->buffer, asn_layout_nbytes(&result->layout));
    if (status) asn_layout_fini(&result->layout);
    return status;
}

/* (Contract in operands.h.) NumPy's rule for 'K': row-major where every array is, else
 * the axes in the order of the operands' strides. 'A' is column-major only where all are.
 */
asn_status asn_result_new(asn_array *result, asn_dtype dtype, int ndim,
                          const int64_t *shape, char order, int num_in,
                          const asn_operand *in) {
    bool all_c = true, all_f = true;
    int arrays = 0;
    for (int k = 0; k < num_in; k++) {
        if (!in[k].array || in[k].array->layout.ndim == 0) continue;
        const asn_layout *l = &in[k].array->layout;
        all_c = all_c && (l->flags & ASN_C_CONTIGUOUS);
        all_f = all_f && (l->flags & ASN_F_CONTIGUOUS) && l->ndim == ndim;
        arrays++;
    }
    if (order == 'A') order = all_f && !all_c && arrays ? 'F' : 'C';
    if (order != 'K' || all_c || ndim <= 1)
        return asn_array_new(result, dtype, ndim, shape, order == 'F' ? 'F' : 'C');
    int64_t strides[3][ASN_MAX_DIMS];
    int num = 0;
    for (int k = 0; k < num_in; k++)
        if (in[k].array &&
            asn_broadcast_strides(&in[k].array->layout, ndim, shape, strides[num]))
            num++;
    return follow_strides(result, dtype, ndim, shape, 0, num, strides);
}

asn_status asn_result_new_stack(asn_array *result, asn_dtype dtype, int ndim,
                                const int64_t *shape, int core, int num_in,
                                const asn_array *const *in) {
    int64_t strides[3][ASN_MAX_DIMS];
    if (ndim - core < 2) return asn_array_new(result, dtype, ndim, shape, 'C');
    for (int k = 0; k < num_in; k++)
        for (int d = 0; d < ndim; d++) /* an axis of one element says nothing */
            strides[k][d] = shape[d] > 1 ? in[k]->layout.strides[d] : 0;
    return follow_strides(result, dtype, ndim, shape, core, num_in, strides);
}

asn_status asn_select(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                      const asn_operand in[3]) {
    asn_draft d;
    asn_status status = ASN_OK;
    ASN_TRY(asn_result_new(result, dtype, ndim, shape, 'K', 2, in));
    asn_draft_init(&d, ASN_OP_WHERE, dtype, ndim, shape);
    asn_draft_array(&d, &d.node.out, result);
    for (int k = 0; k < 3 && !status; k++)
        status = asn_draft_operand(&d, &d.node.in[k], &in[k], k ? dtype : ASN_BOOL);
    if (!status && d.node.size) status = asn_trace_submit(&d);
    if (status) asn_array_fini(result);
    return status;
}
