/* L3 C binding: single elements, and assignment into views (array.h).
 *
 * Reading an element waits for what is recorded of its array and for the stream; on the
 * host that is 34 ns where nothing is. Writing one is recorded like any assignment where
 * something earlier still reads the array. Indices are bounds-checked: these functions
 * are for looking at results, not for loops over elements.
 *
 * Numbers cross the border by value: asnp_number has an integer, a real and an imaginary
 * part, and a kind that says which of them count.
 */
#include "capi/capi.h"

#include <string.h>

#include "graph/ufunc/operands.h"

/* The byte offset of an element from element (0, ..., 0). */
static asn_status offset_of(const asn_layout *l, const int64_t *index, int64_t *offset) {
    *offset = 0;
    if (l->ndim) NEED(index);
    for (int d = 0; d < l->ndim; d++) {
        int64_t i = index[d] < 0 ? index[d] + l->shape[d] : index[d];
        if (i < 0 || i >= l->shape[d])
            return asn_error_set(ASN_ERR_INDEX,
                                 "index %lld is out of bounds for axis %d with size %lld",
                                 (long long)index[d], d, (long long)l->shape[d]);
        /* Strides may be negative, or 0 in a broadcast view. */
        *offset += i * l->strides[d];
    }
    return ASN_OK;
}

/* *out: the element, after what writes it has run. */
static asn_status element(const asnp_array *a, const int64_t *index, asn_scalar *out) {
    int64_t offset;
    NEED(a);
    ASN_TRY(offset_of(asn_capi_layout(a), index, &offset));
    return asn_array_get_item(&a->array, offset, out);
}

/* The kind says what the dtype is: a program that switches on it reads the one field that
 * counts. uint64 keeps its bits in `integer`. */
asnp_status asnp_get(const asnp_array *a, const int64_t *index, asnp_number *out) {
    IN_LIBRARY;
    asn_scalar s, wide;
    NEED(out);
    ASN_TRY(element(a, index, &s));
    asn_dtype d = (asn_dtype)s.dtype;
    asnp_number n = asnp_int(0);
    if (d == ASN_U64) {
        n.kind = 'u';
        memcpy(&n.integer, s.bytes, sizeof n.integer);
    } else if (!asn_is_inexact(d)) {
        ASN_TRY(asn_scalar_cast(&s, ASN_I64, &wide));
        n.kind = d == ASN_BOOL ? 'b' : 'i';
        memcpy(&n.integer, wide.bytes, sizeof n.integer);
    } else {
        asn_c128 c;
        ASN_TRY(asn_scalar_cast(&s, ASN_C128, &wide));
        memcpy(&c, wide.bytes, sizeof c);
        n = asnp_complex(c.re, c.im);
        if (!asn_is_complex(d)) n.kind = 'f';
    }
    *out = n;
    return ASNP_OK;
}

/* Any real dtype; of integers beyond 2**53 the nearest double. Complex ones are refused
 * rather than cut down to a part. */
asnp_status asnp_get_double(const asnp_array *a, const int64_t *index, double *out) {
    IN_LIBRARY;
    asn_scalar s, wide;
    NEED(a);
    NEED(out);
    if (asn_is_complex(asn_capi_type(a)))
        return asn_error_set(ASN_ERR_TYPE, "%s is no double; asnp_get gives both parts",
                             asn_dtype_name(asn_capi_type(a)));
    ASN_TRY(element(a, index, &s));
    ASN_TRY(asn_scalar_cast(&s, ASN_F64, &wide));
    memcpy(out, wide.bytes, sizeof *out);
    return ASNP_OK;
}

/* Integers and booleans; floats are refused, since which way to round is the caller's. */
asnp_status asnp_get_int64(const asnp_array *a, const int64_t *index, int64_t *out) {
    IN_LIBRARY;
    asnp_number n;
    NEED(a);
    NEED(out);
    if (asn_is_inexact(asn_capi_type(a)))
        return asn_error_set(ASN_ERR_TYPE, "%s is no integer; asnp_get_double reads it",
                             asn_dtype_name(asn_capi_type(a)));
    ASN_TRY(asnp_get(a, index, &n));
    if (n.kind == 'u' && n.integer < 0)
        return asn_error_set(ASN_ERR_OVERFLOW, "%llu does not fit int64",
                             (unsigned long long)n.integer);
    *out = n.integer;
    return ASNP_OK;
}

/* Cast as C does; an integer that the dtype does not hold is an OVERFLOW, as in NumPy. */
asnp_status asnp_set(asnp_array *a, const int64_t *index, asnp_number value) {
    IN_LIBRARY;
    asn_operand number;
    int64_t offset;
    NEED(a);
    ASN_TRY(asn_capi_writeable(a));
    ASN_TRY(asn_capi_number(value, &number));
    ASN_TRY(asn_operand_check(&number, asn_capi_type(a)));
    ASN_TRY(offset_of(asn_capi_layout(a), index, &offset));
    return asn_array_set_item(&a->array, offset, &number.scalar);
}

/* Values broadcast and are cast as a[...] = value casts them: any to any, but a
 * Python-like integer must fit (OVERFLOW). */
asnp_status asnp_assign_where(asnp_array *a, asnp_operand value, const asnp_array *mask) {
    IN_LIBRARY;
    asn_operand source;
    NEED(a);
    ASN_TRY(asn_capi_writeable(a));
    ASN_TRY(asn_capi_operand(value, &source));
    ASN_TRY(asn_operand_check(&source, asn_capi_type(a)));
    ASN_TRY(asn_capi_mask(mask, "mask"));
    return asn_assign(&a->array, &source, ASN_CASTING_UNSAFE, mask ? &mask->array : NULL);
}

asnp_status asnp_assign(asnp_array *a, asnp_operand value) {
    IN_LIBRARY;
    return asnp_assign_where(a, value, NULL);
}
