/* L2 graph: ldexp's exponents of more than int32's range (see families.h).
 *
 * The loops take int32. A cast would drop the upper bits, so wider exponents are bounded
 * first: beyond 2^20 every result is zero, infinite or the argument's NaN already.
 * (uint64 is refused: it casts to no signed type safely.)
 */
#include <string.h>

#include "graph/ufunc/ufunc.h"

enum { FARTHEST = 1 << 20 };

/* A number's value, bounded; *far: it was not within the bounds. */
static int64_t bounded_value(const asn_scalar *e, bool *far) {
    int64_t value = 0;
    asn_scalar wide;
    if (asn_is_integer((asn_dtype)e->dtype) && e->dtype != ASN_U64 &&
        asn_scalar_cast(e, ASN_I64, &wide) == ASN_OK)
        memcpy(&value, wide.bytes, sizeof value);
    *far = value > FARTHEST || value < -FARTHEST;
    if (!*far) return value;
    return value > 0 ? FARTHEST : -FARTHEST;
}

/* op(e, to): one of the two bounds. */
static asn_status bounded_by(asn_array *out, const asn_array *e, asn_op op, int64_t to) {
    asn_operand in[2] = {{.array = e}, {.scalar = asn_scalar_int(to), .weak = 'i'}};
    return asn_ufunc_call(op, in, NULL, out, NULL);
}

/* The bounded exponents as int32. Unsigned ones have no lower bound. */
static asn_status bounded_array(asn_array *out, const asn_array *e) {
    asn_array below, both;
    ASN_TRY(bounded_by(&below, e, ASN_OP_MINIMUM, FARTHEST));
    if (asn_is_unsigned_int(asn_layout_dtype(&e->layout))) {
        asn_status status = asn_copy(out, &below, ASN_I32, 'K');
        asn_array_fini(&below);
        return status;
    }
    asn_status status = bounded_by(&both, &below, ASN_OP_MAXIMUM, -FARTHEST);
    asn_array_fini(&below);
    ASN_TRY(status);
    status = asn_copy(out, &both, ASN_I32, 'K');
    asn_array_fini(&both);
    return status;
}

bool asn_exponent_is_wide(const asn_operand *in) {
    bool far;
    const asn_operand *e = &in[1];
    if (e->array) {
        asn_dtype dtype = asn_layout_dtype(&e->array->layout);
        return dtype == ASN_I64 || dtype == ASN_U32;
    }
    /* A Python int beside a dtype of its own must fit int32: that is checked later. */
    if (e->weak && !in[0].weak) return false;
    return bounded_value(&e->scalar, &far), far;
}

asn_status asn_exponent_bound(const asn_operand *e, asn_operand *bounded,
                              asn_array *owner) {
    bool far;
    if (e->array) {
        ASN_TRY(bounded_array(owner, e->array));
        *bounded = (asn_operand){.array = owner};
        return ASN_OK;
    }
    *bounded = (asn_operand){.scalar = asn_scalar_int(bounded_value(&e->scalar, &far)),
                             .weak = e->weak};
    return ASN_OK;
}
