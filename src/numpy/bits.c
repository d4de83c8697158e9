/* L2 numpy: booleans as the bits of bytes (bits.h).
 *
 * Eight truth values are the bytes of one word: multiplied by a number with one bit in
 * each byte, their bits gather in its top byte. The other way a byte is copied into the
 * eight bytes of a word, one bit of it is left in each, and an addition of 127 carries it
 * into the top of its byte. Both take the axis last, and put it back.
 *
 * So both are three to five elementwise operations on uint64 that the device fuses into
 * one pass; there is no kernel for them but the direct one for small arrays. The byte
 * order is the host's, which is little-endian wherever this runs.
 */
#include "numpy/bits.h"

#include <string.h>

#include "array/views.h"
#include "graph/operators/families.h"
#include "graph/small/direct.h"
#include "graph/ufunc/truth.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* As factors: the first (lowest) byte becomes the highest bit, or the lowest one. As
 * masks it is the other way round. */
static const uint64_t big_first = 0x8040201008040201, little_first = 0x0102040810204080;

/* A number of the words' dtype. */
static asn_operand word(uint64_t value) {
    asn_operand o = {.scalar = {.dtype = ASN_U64}};
    memcpy(o.scalar.bytes, &value, sizeof value);
    return o;
}

/* op(a, value), word by word. */
static asn_status with_word(asn_array *out, asn_op op, const asn_array *a,
                            uint64_t value) {
    return asn_np_binary(out, op, asn_np_of(a), word(value));
}

/* The axis that is worked on, and `a` with it as the last one. */
static asn_status axis_last(asn_array *out, const asn_array *a, const asn_np_bits *bits,
                            int *axis) {
    const int ndim = a->layout.ndim ? a->layout.ndim : 1;
    *axis = 0;
    if (!bits->flat) ASN_TRY(asn_axis_normalize(bits->axis, ndim, axis));
    if (bits->flat || a->layout.ndim == 0) return asn_np_ravel(out, a);
    const int64_t from = *axis, to = -1;
    return asn_np_moveaxis(out, a, 1, &from, 1, &to);
}

/* The last axis put back where it was, in a's order of memory, as uint8. */
static asn_status put_back(asn_array *result, const asn_array *made, int axis,
                           const asn_array *a) {
    ASN_TEMPORARIES;
    const int64_t from = -1, to = axis;
    bool fortran =
        (a->layout.flags & (ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS)) == ASN_F_CONTIGUOUS;
    ASN_MAKE(turned, asn_np_moveaxis(turned, made, 1, &from, 1, &to));
    return asn_copy(result, turned, ASN_U8, fortran ? 'F' : 'C');
}

/* Zeros of `dtype` in a's shape but `n` along the last axis, a's elements in front. */
static asn_status extended(asn_array *out, const asn_array *a, asn_dtype dtype,
                           int64_t n) {
    ASN_TEMPORARIES;
    int64_t shape[ASN_MAX_DIMS];
    const int last = a->layout.ndim - 1;
    const asn_operand zero = asn_operand_int(0), value = {.array = a};
    asn_layout front;
    memcpy(shape, a->layout.shape, (size_t)last * sizeof *shape);
    shape[last] = n;
    ASN_TRY(asn_full(out, dtype, last + 1, shape, 'C', &zero));
    asn_status status = asn_layout_copy(&front, &out->layout);
    if (!status) {
        asn_array *part = &temporaries_.made[temporaries_.count++];
        front.shape[last] = a->layout.shape[last];
        asn_layout_update(&front);
        asn_array_view(part, out, &front);
        status = asn_assign(part, &value, ASN_CASTING_UNSAFE, NULL);
    }
    if (status) asn_array_fini(out);
    return status;
}

/* a's memory as another dtype, whose items may be wider: then the last axis shrinks. */
static asn_status viewed(asn_array *out, const asn_array *a, asn_dtype dtype) {
    asn_layout view;
    ASN_TRY(asn_view_dtype(&view, &a->layout, dtype));
    asn_array_view(out, a, &view);
    return ASN_OK;
}

/* Whether a bool array's bytes are words as they lie: 0 and 1, without gaps, whole words
 * to a row, each where a word may be. */
static bool lies_as_words(const asn_array *a) {
    const asn_layout *l = &a->layout;
    const uintptr_t at = (uintptr_t)a->buffer->data + (uintptr_t)l->offset;
    return l->dtype == ASN_BOOL && !asn_is_noncanonical(a) && asn_layout_contiguous(l) &&
           l->shape[l->ndim - 1] % 8 == 0 && at % 8 == 0;
}

/* Truth values, whole words of them along the last axis. */
static asn_status truth_words(asn_array *out, const asn_array *a) {
    if (lies_as_words(a)) return viewed(out, a, ASN_U64);
    ASN_TEMPORARIES;
    const asn_operand number = asn_operand_int(0),
                      no = {.scalar = asn_scalar_bool(false)};
    ASN_MAKE(bits, asn_np_binary(bits, ASN_OP_NOT_EQUAL, asn_np_of(a),
                                 a->layout.dtype == ASN_BOOL ? no : number));
    int64_t n = a->layout.shape[a->layout.ndim - 1], whole = n / 8 * 8 + (n % 8 ? 8 : 0);
    if (n == whole && asn_layout_contiguous(&bits->layout))
        return viewed(out, bits, ASN_U64);
    ASN_MAKE(full, extended(full, bits, ASN_BOOL, whole));
    return viewed(out, full, ASN_U64);
}

/* The last byte is filled with zeros; any integer but 0 is a set bit. */
asn_status asn_np_packbits(asn_array *result, const asn_array *a,
                           const asn_np_bits *bits) {
    ASN_TEMPORARIES;
    const asn_dtype dtype = asn_layout_dtype(&a->layout);
    int axis;
    if (dtype != ASN_BOOL && !asn_is_integer(dtype))
        return asn_error_set(ASN_ERR_TYPE,
                             "Expected an input array of integer or boolean data type");
    if (bits->flat && !bits->little && asn_direct_pack(result, a)) return ASN_OK;
    ASN_MAKE(turned, axis_last(turned, a, bits, &axis));
    ASN_MAKE(words, truth_words(words, turned));
    ASN_MAKE(met, with_word(met, ASN_OP_MULTIPLY, words,
                            bits->little ? little_first : big_first));
    ASN_MAKE(top, with_word(top, ASN_OP_RIGHT_SHIFT, met, 56));
    return put_back(result, top, axis, a);
}

/* How many bits are kept of n. */
static asn_status kept_of(const asn_np_bits *bits, int64_t n, int64_t *kept) {
    *kept = bits->counted ? bits->count : n;
    if (*kept < -n)
        return asn_error_set(ASN_ERR_VALUE,
                             "-count larger than number of elements: %lld of %lld",
                             (long long)*kept, (long long)n);
    *kept += *kept < 0 ? n : 0;
    return ASN_OK;
}

/* The first `kept` bits of the last axis, zeros behind those that there are. */
static asn_status cut(asn_array *out, const asn_array *bits, int64_t kept) {
    const int last = bits->layout.ndim - 1;
    asn_layout view;
    if (kept > bits->layout.shape[last]) return extended(out, bits, ASN_U8, kept);
    ASN_TRY(asn_layout_copy(&view, &bits->layout));
    view.shape[last] = kept;
    asn_layout_update(&view);
    asn_array_view(out, bits, &view);
    return ASN_OK;
}

/* The axis is put back in a's order of memory, as NumPy lays it out. */
asn_status asn_np_unpackbits(asn_array *result, const asn_array *a,
                             const asn_np_bits *bits) {
    ASN_TEMPORARIES;
    const uint64_t ones = 0x0101010101010101, low = 0x7F7F7F7F7F7F7F7F;
    int64_t kept;
    int axis;
    if (asn_layout_dtype(&a->layout) != ASN_U8)
        return asn_error_set(ASN_ERR_TYPE,
                             "Expected an input array of unsigned byte data type");
    if (bits->flat && !bits->little && !bits->counted && asn_direct_unpack(result, a))
        return ASN_OK;
    ASN_MAKE(turned, axis_last(turned, a, bits, &axis));
    ASN_TRY(kept_of(bits, 8 * turned->layout.shape[turned->layout.ndim - 1], &kept));
    ASN_MAKE(bytes, asn_copy(bytes, turned, ASN_U64, 'C'));
    ASN_MAKE(copies, with_word(copies, ASN_OP_MULTIPLY, bytes, ones));
    ASN_MAKE(single, with_word(single, ASN_OP_BITWISE_AND, copies,
                               bits->little ? big_first : little_first));
    ASN_MAKE(carried, with_word(carried, ASN_OP_ADD, single, low));
    ASN_MAKE(shifted, with_word(shifted, ASN_OP_RIGHT_SHIFT, carried, 7));
    ASN_MAKE(words, with_word(words, ASN_OP_BITWISE_AND, shifted, ones));
    ASN_MAKE(all, viewed(all, words, ASN_U8));
    /* Row by row and whole, the words are the result. */
    if (axis == turned->layout.ndim - 1 && kept == all->layout.shape[axis] &&
        asn_layout_contiguous(&a->layout))
        return viewed(result, words, ASN_U8);
    ASN_MAKE(some, cut(some, all, kept));
    return put_back(result, some, axis, a);
}
