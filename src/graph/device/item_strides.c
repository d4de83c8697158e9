/* L2 graph: arrays whose strides are no multiple of their items (see item_strides.h).
 *
 * An item is taken for several smaller ones along an axis of their own, as long as the
 * greatest common divisor of all that is counted in bytes: 12-byte strides of complex64
 * are 3 of int32, two for each item.
 */
#include "graph/device/item_strides.h"

#include "aclnnop/aclnn_copy.h"
#include "array/layout.h"
#include "graph/device/operator.h"

bool asn_items_apart(const asn_layout *l) {
    const int64_t below = asn_itemsize(asn_layout_dtype(l)) - 1; /* a power of two */
    for (int d = 0; d < l->ndim; d++)
        if (l->strides[d] & below && l->shape[d] > 1) return true;
    return false;
}

/* The largest power of two up to `unit` that divides addresses and strides; items are
 * powers of two long. */
static int64_t common_divisor(int64_t unit, const asn_array *a) {
    const asn_layout *l = &a->layout;
    int64_t bytes = l->offset | (int64_t)(uintptr_t)a->buffer->data;
    for (int d = 0; d < l->ndim; d++)
        if (l->shape[d] > 1) bytes |= l->strides[d];
    while (bytes & (unit - 1))
        unit /= 2;
    return unit;
}

/* The array as one of integers of `unit` bytes, with an axis more. UNSUPPORTED: it has as
 * many axes as there may be. */
static asn_status as_units(const asn_array *a, int64_t unit, asn_array *out) {
    const asn_layout *l = &a->layout;
    asn_dtype dtype = unit == 1   ? ASN_U8
                      : unit == 2 ? ASN_I16
                      : unit == 4 ? ASN_I32
                                  : ASN_I64;
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS];
    if (l->ndim == ASN_MAX_DIMS)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "an array of %d dimensions whose strides are no multiple of "
                             "its itemsize; copy it first",
                             ASN_MAX_DIMS);
    for (int d = 0; d < l->ndim; d++) {
        shape[d] = l->shape[d];
        strides[d] = l->shape[d] > 1 ? l->strides[d] : 0;
    }
    shape[l->ndim] = asn_itemsize(asn_layout_dtype(l)) / unit;
    strides[l->ndim] = unit;
    ASN_TRY(asn_layout_init_strided(&out->layout, dtype, l->ndim + 1, shape, strides,
                                    l->offset, true));
    out->buffer = asn_buffer_retain(a->buffer);
    return ASN_OK;
}

asn_status asn_items_copy(const asn_array *from, const asn_array *to) {
    int64_t unit = asn_itemsize(asn_layout_dtype(&from->layout));
    if (unit > 8) unit = 8;
    ASN_TRY(asn_buffer_ensure(from->buffer));
    ASN_TRY(asn_buffer_ensure(to->buffer));
    unit = common_divisor(common_divisor(unit, from), to);
    asn_array in, out;
    aclTensor *t[2];
    ASN_TRY(as_units(from, unit, &in));
    asn_status status = as_units(to, unit, &out);
    if (!status) {
        const asn_array *all[2] = {&in, &out};
        status = asn_operator_tensors(2, all, 1 << 1, t);
        ASN_OPERATOR(status, InplaceCopy, "copy", t[1], t[0]);
        asn_operator_drop(2, t);
        asn_array_fini(&out);
    }
    asn_array_fini(&in);
    return status;
}
