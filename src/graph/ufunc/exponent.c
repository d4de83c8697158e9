/* L2 graph: exponents that need a look (see ufunc.h): negative ones of integers, and
 * ldexp's of more than int32's range.
 *
 * ldexp's loops take int32. A cast would drop the upper bits, so wider exponents are
 * bounded first: beyond 2^20 every result is zero, infinite or the argument's NaN
 * already. (uint64 is refused: it casts to no signed type safely.)
 */
#include <string.h>

#include "graph/capture/capture.h"
#include "graph/ufunc/operands.h"
#include "graph/ufunc/ufunc.h"

/* ---- powers of integers */

static const char negative_power[] =
    "Integers to negative integer powers are not allowed.";

/* In a trace: that the exponents are not negative is required at each replay, where they
 * come from the call's arguments. */
static asn_status require_positive(const asn_array *least, bool *known) {
    ASN_TRY(asn_capture_known(least, known));
    if (*known) return ASN_OK;
    asn_operand in[2] = {{.array = least}, {.scalar = asn_scalar_int(0), .weak = 'i'}};
    asn_array positive;
    ASN_TRY(asn_ufunc_call(ASN_OP_GREATER_EQUAL, in, NULL, &positive, NULL));
    asn_status status = asn_capture_require(&positive, ASN_ERR_VALUE, negative_power);
    asn_array_fini(&positive);
    return status;
}

/* Whether an exponent is negative, by the smallest one. */
static asn_status any_negative(const asn_array *exponents, bool *negative) {
    asn_array least;
    asn_reduce_options all = {.axes = ~(uint64_t)0, .dtype = ASN_DTYPE_NONE};
    asn_scalar answer = {0};
    int64_t value = 0;
    bool known;
    ASN_TRY(asn_ufunc_reduce(ASN_OP_MINIMUM, exponents, NULL, &least, &all));
    asn_status status = require_positive(&least, &known);
    if (!status && known) status = asn_array_get_item(&least, 0, &answer);
    asn_array_fini(&least);
    ASN_TRY(status);
    if (!known) return ASN_OK;
    ASN_TRY(asn_scalar_cast(&answer, ASN_I64, &answer));
    memcpy(&value, answer.bytes, sizeof value);
    *negative = value < 0;
    return ASN_OK;
}

/* 0 in place of the exponents that are not chosen. */
static asn_status any_chosen_negative(const asn_operand *exponents,
                                      const asn_array *where, bool *negative) {
    asn_operand zero = {.scalar = asn_scalar_int(0), .weak = 'i'};
    asn_array chosen;
    *negative = false;
    ASN_TRY(asn_where(&chosen, where, exponents, &zero));
    asn_status status = ASN_OK;
    if (chosen.layout.size) status = any_negative(&chosen, negative);
    asn_array_fini(&chosen);
    return status;
}

asn_status asn_exponents_check(const asn_operand *exponents, const asn_array *where,
                               asn_dtype loop) {
    ASN_TRY(asn_operand_check(exponents, loop));
    if (!asn_is_signed_int(loop)) return ASN_OK;
    bool negative = false;
    if (!exponents->array) {
        int64_t value;
        asn_scalar cast;
        ASN_TRY(asn_scalar_cast(&exponents->scalar, ASN_I64, &cast));
        memcpy(&value, cast.bytes, sizeof value);
        negative = value < 0;
    } else if (!asn_is_signed_int(asn_layout_dtype(&exponents->array->layout)) ||
               exponents->array->layout.size == 0) {
        return ASN_OK;
    } else if (!where) {
        ASN_TRY(any_negative(exponents->array, &negative));
    }
    if (where && (negative || exponents->array))
        ASN_TRY(any_chosen_negative(exponents, where, &negative));
    return negative ? asn_error_set(ASN_ERR_VALUE, "%s", negative_power) : ASN_OK;
}

asn_status asn_exponents_check_line(const asn_array *a, int axis, int64_t from,
                                    asn_dtype loop) {
    if (!asn_is_signed_int(loop) || a->layout.size == 0) return ASN_OK;
    asn_array rest;
    ASN_TRY(asn_array_range(&rest, a, axis, from, a->layout.shape[axis] - from));
    asn_operand exponents = {.array = &rest};
    asn_status status = asn_exponents_check(&exponents, NULL, loop);
    asn_array_fini(&rest);
    return status;
}

/* ---- ldexp's exponents */

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
