/* L2 graph: exact comparison of integers of different range.
 *
 * Promotion sends int64 with uint64 to float64, which cannot tell 2**63 from 2**63 - 1.
 * NumPy compares the integers; so do we: where the signed side is negative the answer is
 * that of (-1, 0), elsewhere both sides are compared as uint64. A signed number beside an
 * array of uint64 is compared as the Python integer of its value. A Python integer that
 * no value of the array's dtype can equal lies above or below all of them: the answer is
 * that of (0, 1) or (0, -1).
 */
#include "graph/ufunc/compare.h"

#include <string.h>

#include "graph/ufunc/operands.h"

/* The dtype, whether it is an array or a number. */
static asn_dtype dtype_of(const asn_operand *o) {
    return (asn_dtype)(o->array ? o->array->layout.dtype : o->scalar.dtype);
}

/* Whether a Python integer is below 0; above int64 it is held as uint64. */
static bool is_negative(const asn_operand *o) {
    int64_t v;
    memcpy(&v, o->scalar.bytes, sizeof v);
    return o->scalar.dtype == ASN_I64 && v < 0;
}

/* The constant op(a, b) over in[array_at]'s shape. */
static asn_status constant(asn_op op, int64_t a, int64_t b, const asn_operand *in,
                           int array_at, const asn_array *out, asn_array *result,
                           const asn_ufunc_options *o) {
    asn_array zero;
    asn_operand pair[2] = {{.scalar = asn_scalar_int(a)}, {.scalar = asn_scalar_int(b)}};
    asn_operand fill = pair[array_at];
    const asn_layout *l = &in[array_at].array->layout;
    ASN_TRY(asn_array_new(&zero, ASN_I64, l->ndim, l->shape, 'C'));
    asn_status status = asn_assign(&zero, &fill, ASN_CASTING_UNSAFE, NULL);
    pair[array_at].array = &zero;
    if (!status) status = asn_ufunc_call(op, pair, out, result, o);
    asn_array_fini(&zero);
    return status;
}

/* The comparison of a signed operand, in[signed_at], with an unsigned one. The signed
 * side's negative elements wrap in the cast to uint64, and their answers are replaced
 * afterwards. */
static asn_status signed_unsigned(asn_op op, const asn_operand *in, int signed_at,
                                  const asn_array *out, asn_array *result,
                                  const asn_ufunc_options *o) {
    asn_array negative, as_unsigned, answer;
    asn_ufunc_options plain = ASN_UFUNC_DEFAULTS;
    asn_operand pair[2] = {in[signed_at], {.scalar = asn_scalar_int(0), .weak = 'i'}};
    ASN_TRY(asn_ufunc_call(ASN_OP_LESS, pair, NULL, &negative, &plain));
    asn_status status = asn_copy(&as_unsigned, in[signed_at].array, ASN_U64, 'K');
    if (!status) {
        asn_operand both[2] = {in[0], in[1]};
        both[signed_at] = (asn_operand){.array = &as_unsigned};
        status = asn_ufunc_call(op, both, NULL, &answer, &plain);
        asn_array_fini(&as_unsigned);
    }
    if (!status) {
        /* what a negative signed side gives */
        bool truth = asn_op_table[op].flags &
                     (signed_at == 0 ? ASN_OPF_IF_LESS : ASN_OPF_IF_GREATER);
        asn_operand merge[2] = {{.array = &answer}, {.array = &negative}};
        asn_array not_negative;
        if (truth) {
            status = asn_ufunc_call(ASN_OP_LOGICAL_OR, merge, out, result, o);
        } else {
            status = asn_ufunc_call(ASN_OP_LOGICAL_NOT, &merge[1], NULL, &not_negative,
                                    &plain);
            merge[1].array = &not_negative;
            if (!status) {
                status = asn_ufunc_call(ASN_OP_LOGICAL_AND, merge, out, result, o);
                asn_array_fini(&not_negative);
            }
        }
        asn_array_fini(&answer);
    }
    asn_array_fini(&negative);
    return status;
}

/* Whether a number of NumPy's (not a Python integer) is to be compared with an array of
 * uint64. */
static bool is_signed_number(const asn_operand *number, const asn_operand *other) {
    return !number->array && !number->weak && asn_is_signed_int(dtype_of(number)) &&
           other->array && dtype_of(other) == ASN_U64;
}

asn_status asn_compare_mixed(asn_op op, const asn_operand *in, const asn_array *out,
                             asn_array *result, const asn_ufunc_options *o, bool *done) {
    *done = false;
    if (!asn_op_compares(op)) return ASN_OK;
    for (int k = 0; k < 2; k++) {
        const asn_operand *number = &in[k], *other = &in[1 - k];
        if (number->array || number->weak != 'i' || !other->array) continue;
        asn_dtype dt = dtype_of(other);
        if (!asn_is_integer(dt)) return ASN_OK;
        if (asn_operand_check(number, dt) == ASN_OK) return ASN_OK;
        asn_error_clear();
        *done = true;
        int64_t side = is_negative(number) ? -1 : 1;
        return constant(op, k == 0 ? side : 0, k == 0 ? 0 : side, in, 1 - k, out, result,
                        o);
    }
    for (int k = 0; k < 2; k++) {
        if (!is_signed_number(&in[k], &in[1 - k])) continue;
        asn_operand both[2] = {in[0], in[1]};
        both[k].weak = 'i';
        *done = true;
        ASN_TRY(asn_scalar_cast(&in[k].scalar, ASN_I64, &both[k].scalar));
        return asn_ufunc_call(op, both, out, result, o);
    }
    for (int k = 0; k < 2; k++) {
        if (!in[k].array || (in[1 - k].weak && !in[1 - k].array)) continue;
        if (!asn_is_signed_int(dtype_of(&in[k])) || dtype_of(&in[1 - k]) != ASN_U64)
            continue;
        *done = true;
        return signed_unsigned(op, in, k, out, result, o);
    }
    return ASN_OK;
}
