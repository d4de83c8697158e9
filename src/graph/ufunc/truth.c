/* L2 graph: non-canonical bool arrays: their bytes are not all 0 or 1.
 *
 * An operation's truth values are the bytes 0 and 1, and kernels rely on it: they add
 * them up, compare them and combine them bit by bit. A view of other elements as bool
 * (`a.view(bool)`), or memory of another library, can hold any byte, which NumPy takes as
 * true unless it is 0. Such an array's layout is marked (ASN_NONCANONICAL) and every view
 * of it is. Operations that would compute with its bytes take asn_truth_clean's copy
 * instead; copies and gathers move the bytes as they are and mark their result; the short
 * paths leave marked arrays to the general ones. All other bool arrays pay nothing.
 */
#include "graph/ufunc/truth.h"

#include "graph/ufunc/ufunc.h"

/* (Contract in truth.h.) The bytes are compared with 0 as uint8. */
asn_status asn_truth_clean(asn_array *clean, const asn_array *a) {
    asn_layout bytes;
    asn_array view;
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    ASN_TRY(asn_layout_copy(&bytes, &a->layout));
    bytes.dtype = ASN_U8;
    bytes.flags &= (uint8_t)~ASN_NONCANONICAL;
    asn_array_view(&view, a, &bytes);
    asn_operand in[2] = {{.array = &view}, {.scalar = asn_scalar_int(0), .weak = 'i'}};
    asn_status status = asn_ufunc_call(ASN_OP_NOT_EQUAL, in, NULL, clean, &plain);
    asn_array_fini(&view);
    return status;
}

/* Every bit that any of the bytes has. */
static uint8_t bits_of(int ndim, const int64_t *shape, const int64_t *strides,
                       const char *from) {
    uint8_t bits = 0;
    if (ndim == 0) return (uint8_t)*from;
    if (ndim > 1) {
        for (int64_t i = 0; i < shape[0] && bits < 2; i++)
            bits |= bits_of(ndim - 1, shape + 1, strides + 1, from + i * strides[0]);
    } else if (strides[0] == 1) {
        for (int64_t i = 0; i < shape[0]; i++)
            bits |= (uint8_t)from[i];
    } else {
        for (int64_t i = 0; i < shape[0]; i++)
            bits |= (uint8_t)from[i * strides[0]];
    }
    return bits;
}

/* (Contract in truth.h.) Some byte is above 1 exactly if the or of all of them is. */
void asn_truth_mark(asn_array *a, const char *first, const int64_t *strides) {
    asn_layout *l = &a->layout;
    if (asn_layout_dtype(l) != ASN_BOOL || l->size == 0) return;
    if (bits_of(l->ndim, l->shape, strides, first) > 1) l->flags |= ASN_NONCANONICAL;
}
