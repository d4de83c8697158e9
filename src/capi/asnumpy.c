/* L3 C face: include/asnumpy/asnumpy.h over the core. Handles in, core call, status out;
 * no semantics of its own. */
#include "asnumpy/asnumpy.h"

#include <string.h>

#include "array/views.h"
#include "graph/engine.h"
#include "graph/families.h"
#include "graph/index.h"
#include "graph/ufunc.h"

struct asn_handle {
    asn_array array;
};

const char *asn_message(void) {
    return asn_error_message();
}

static asn_status dtype_of(AsnType type, asn_dtype *out) {
    *out = asn_dtype_from_acl((int)type);
    if (*out == ASN_DTYPE_NONE)
        return asn_error_set(ASN_ERR_TYPE, "%d is no dtype; see AsnType", (int)type);
    return ASN_OK;
}

static asn_status need(const void *pointer, const char *what) {
    return pointer ? ASN_OK : asn_error_set(ASN_ERR_NULL_POINTER, "%s is NULL", what);
}

/* A handle around an array: takes it when `status` is good. */
static AsnStatus wrap(asn_status status, asn_array *made, asn_handle **out) {
    if (status) return (AsnStatus)status;
    asn_handle *h = asn_malloc(sizeof *h);
    if (!h) {
        asn_array_fini(made);
        return ASN_ERR_MEMORY;
    }
    asn_array_move(&h->array, made);
    *out = h;
    return ASN_SUCCESS;
}

/* ---- creation and host memory */

AsnStatus asn_from_host(AsnType type, int32_t ndim, const int64_t *shape,
                        const void *data, asn_handle **out) {
    asn_dtype dtype;
    asn_layout packed;
    asn_array made;
    ASN_TRY(need(out, "out"));
    ASN_TRY(dtype_of(type, &dtype));
    ASN_TRY(asn_layout_init(&packed, dtype, ndim, shape, 'C'));
    asn_status status = packed.size ? need(data, "data") : ASN_OK;
    if (!status)
        status = asn_array_from_host(&made, dtype, ndim, shape, packed.strides, data);
    asn_layout_fini(&packed);
    return wrap(status, &made, out);
}

AsnStatus asn_empty(AsnType type, int32_t ndim, const int64_t *shape, asn_handle **out) {
    asn_dtype dtype;
    asn_array made;
    ASN_TRY(need(out, "out"));
    ASN_TRY(dtype_of(type, &dtype));
    return wrap(asn_array_new(&made, dtype, ndim, shape, 'C'), &made, out);
}

AsnStatus asn_fill(AsnType type, int32_t ndim, const int64_t *shape, double value,
                   asn_handle **out) {
    asn_dtype dtype;
    asn_array made;
    asn_operand number = {.scalar = asn_scalar_float(value)};
    ASN_TRY(need(out, "out"));
    ASN_TRY(dtype_of(type, &dtype));
    return wrap(asn_full(&made, dtype, ndim, shape, 'C', &number), &made, out);
}

AsnStatus asn_to_host(const asn_handle *a, void *data, size_t nbytes) {
    ASN_TRY(need(a, "the array"));
    if (nbytes != asn_nbytes(a))
        return asn_error_set(ASN_ERR_VALUE, "the array has %zu bytes, the target %zu",
                             asn_nbytes(a), nbytes);
    if (nbytes) ASN_TRY(need(data, "data"));
    return asn_array_to_host(&a->array, data);
}

void asn_release(asn_handle *a) {
    if (!a) return;
    asn_array_fini(&a->array);
    asn_free(a);
}

/* ---- facts */

int32_t asn_ndim(const asn_handle *a) {
    return a->array.layout.ndim;
}

const int64_t *asn_shape(const asn_handle *a) {
    return a->array.layout.shape;
}

AsnType asn_type_of(const asn_handle *a) {
    return (AsnType)asn_dtype_table[a->array.layout.dtype].acl;
}

size_t asn_nbytes(const asn_handle *a) {
    return (size_t)asn_layout_nbytes(&a->array.layout);
}

/* ---- views */

static AsnStatus wrap_view(asn_status status, const asn_handle *a, asn_layout *view,
                           asn_handle **out) {
    asn_array made;
    if (status) return (AsnStatus)status;
    asn_array_view(&made, &a->array, view);
    return wrap(ASN_OK, &made, out);
}

AsnStatus asn_slice(const asn_handle *a, int32_t axis, int64_t start, int64_t stop,
                    int64_t step, asn_handle **out) {
    asn_index_item items[ASN_MAX_DIMS];
    asn_array made;
    int at;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    if (step == 0) return asn_error_set(ASN_ERR_VALUE, "slice step cannot be zero");
    ASN_TRY(asn_axis_normalize(axis, a->array.layout.ndim, &at));
    for (int d = 0; d < at; d++)
        items[d] = (asn_index_item){
            .kind = ASN_INDEX_SLICE, .start = 0, .stop = INT64_MAX, .step = 1};
    items[at] = (asn_index_item){
        .kind = ASN_INDEX_SLICE, .start = start, .stop = stop, .step = step};
    return wrap(asn_index_view(&made, &a->array, at + 1, items), &made, out);
}

static asn_status check_permutation(const int32_t *perm, int ndim, int *checked) {
    uint64_t seen = 0;
    for (int d = 0; d < ndim; d++) {
        ASN_TRY(asn_axis_normalize(perm[d], ndim, &checked[d]));
        if (seen >> checked[d] & 1)
            return asn_error_set(ASN_ERR_VALUE, "repeated axis in transpose");
        seen |= (uint64_t)1 << checked[d];
    }
    return ASN_OK;
}

AsnStatus asn_transpose(const asn_handle *a, const int32_t *perm, asn_handle **out) {
    asn_layout view;
    int checked[ASN_MAX_DIMS];
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    if (perm) ASN_TRY(check_permutation(perm, a->array.layout.ndim, checked));
    return wrap_view(asn_view_transpose(&view, &a->array.layout, perm ? checked : NULL),
                     a, &view, out);
}

AsnStatus asn_reshape(const asn_handle *a, int32_t ndim, const int64_t *shape,
                      asn_handle **out) {
    asn_layout view;
    asn_array packed, made;
    bool possible;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    ASN_TRY(asn_view_reshape(&view, &a->array.layout, ndim, shape, 'C', &possible));
    if (possible) return wrap_view(ASN_OK, a, &view, out);
    ASN_TRY(asn_copy(&packed, &a->array, asn_layout_dtype(&a->array.layout), 'C'));
    asn_status status =
        asn_view_reshape(&view, &packed.layout, ndim, shape, 'C', &possible);
    if (!status) asn_array_view(&made, &packed, &view);
    asn_array_fini(&packed);
    return wrap(status, &made, out);
}

AsnStatus asn_broadcast(const asn_handle *a, int32_t ndim, const int64_t *shape,
                        asn_handle **out) {
    asn_layout view;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    return wrap_view(asn_view_broadcast(&view, &a->array.layout, ndim, shape), a, &view,
                     out);
}

/* ---- operations */

static asn_status find_op(const char *name, int32_t num_in, asn_op *op) {
    ASN_TRY(need(name, "the operation's name"));
    for (int i = 0; i < ASN_OP_CAST; i++) {
        if (strcmp(asn_op_table[i].name, name) != 0) continue;
        if (asn_op_table[i].num_in != num_in)
            return asn_error_set(ASN_ERR_TYPE, "%s takes %d arrays but %d were given",
                                 name, asn_op_table[i].num_in, num_in);
        *op = (asn_op)i;
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_VALUE, "there is no operation '%s'", name);
}

static asn_status call(const char *name, int32_t num_in, asn_handle *const *in,
                       const asn_array *target, asn_array *made) {
    asn_op op;
    asn_operand operands[3];
    ASN_TRY(find_op(name, num_in, &op));
    for (int k = 0; k < num_in; k++) {
        ASN_TRY(need(in[k], "an input"));
        operands[k] = (asn_operand){.array = &in[k]->array};
    }
    if (op == ASN_OP_WHERE && !target)
        return asn_where(made, operands[0].array, &operands[1], &operands[2]);
    return asn_ufunc_call(op, operands, target, made, NULL);
}

AsnStatus asn_ufunc(const char *name, int32_t num_in, asn_handle *const *in,
                    asn_handle **out) {
    asn_array made;
    ASN_TRY(need(out, "out"));
    return wrap(call(name, num_in, in, NULL, &made), &made, out);
}

AsnStatus asn_ufunc_into(const char *name, int32_t num_in, asn_handle *const *in,
                         asn_handle *out) {
    ASN_TRY(need(out, "out"));
    return call(name, num_in, in, &out->array, NULL);
}

AsnStatus asn_ufunc_scalar(const char *name, asn_handle *a, double value,
                           asn_handle **out) {
    asn_op op;
    asn_array made;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    ASN_TRY(find_op(name, 2, &op));
    asn_operand in[2] = {{.array = &a->array},
                         {.scalar = asn_scalar_float(value), .weak = 'f'}};
    return wrap(asn_ufunc_call(op, in, NULL, &made, NULL), &made, out);
}

AsnStatus asn_reduce(const char *name, asn_handle *a, int32_t axis, int32_t keepdims,
                     asn_handle **out) {
    asn_op op;
    asn_array made;
    int at = 0;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    ASN_TRY(find_op(name, 2, &op));
    if (axis != -1) ASN_TRY(asn_axis_normalize(axis, a->array.layout.ndim, &at));
    asn_reduce_options options = {.axes = axis == -1 ? ~(uint64_t)0 : (uint64_t)1 << at,
                                  .keepdims = keepdims != 0,
                                  .dtype = ASN_DTYPE_NONE};
    return wrap(asn_ufunc_reduce(op, &a->array, NULL, &made, &options), &made, out);
}

AsnStatus asn_matrix_product(asn_handle *a, asn_handle *b, asn_handle **out) {
    asn_array made;
    ASN_TRY(need(a, "a"));
    ASN_TRY(need(b, "b"));
    ASN_TRY(need(out, "out"));
    return wrap(asn_matmul(&a->array, &b->array, NULL, &made), &made, out);
}

AsnStatus asn_astype(asn_handle *a, AsnType type, asn_handle **out) {
    asn_dtype dtype;
    asn_array made;
    ASN_TRY(need(a, "the array"));
    ASN_TRY(need(out, "out"));
    ASN_TRY(dtype_of(type, &dtype));
    return wrap(asn_copy(&made, &a->array, dtype, 'C'), &made, out);
}

AsnStatus asn_sync(void) {
    return asn_synchronize();
}
