/* L2 numpy: other shapes of the same elements (shape.h). A view where strides allow it;
 * else a row-major copy, and a view of that. Callers that must not share memory copy
 * themselves.
 */
#include "numpy/shape.h"

#include "array/views.h"
#include "graph/index/index.h"
#include "graph/ufunc/ufunc.h"

asn_status asn_np_reshape(asn_array *out, const asn_array *a, int ndim,
                          const int64_t *shape) {
    asn_layout view;
    asn_array packed;
    bool possible;
    ASN_TRY(asn_view_reshape(&view, &a->layout, ndim, shape, 'C', &possible));
    if (possible) {
        asn_array_view(out, a, &view);
        return ASN_OK;
    }
    ASN_TRY(asn_copy(&packed, a, asn_layout_dtype(&a->layout), 'C'));
    asn_status status =
        asn_view_reshape(&view, &packed.layout, ndim, shape, 'C', &possible);
    if (!status) asn_array_view(out, &packed, &view);
    asn_array_fini(&packed);
    return status;
}

asn_status asn_np_ravel(asn_array *out, const asn_array *a) {
    if (a->layout.ndim == 1) return asn_array_share(out, a);
    return asn_np_reshape(out, a, 1, &a->layout.size);
}

asn_status asn_np_slice(asn_array *out, const asn_array *a, int64_t start, int64_t stop,
                        int64_t step) {
    const asn_index_item item = {
        .kind = ASN_INDEX_SLICE, .start = start, .stop = stop, .step = step};
    return asn_index_view(out, a, 1, &item);
}

asn_status asn_np_part(asn_array *out, const asn_array *a, int part) {
    asn_layout view;
    ASN_TRY(asn_view_part(&view, &a->layout, part));
    asn_array_view(out, a, &view);
    return ASN_OK;
}

asn_status asn_np_astype(asn_array *out, const asn_array *a, asn_dtype dtype) {
    return asn_layout_dtype(&a->layout) == dtype ? asn_array_share(out, a)
                                                 : asn_copy(out, a, dtype, 'K');
}
