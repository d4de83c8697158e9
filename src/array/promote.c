/* L1 array: promotion and casting (see promote.h).
 *
 * Promotion is computed, not tabulated: kinds first (bool < integer < float < complex),
 * then the smallest dtype of the higher kind that holds both. Loop resolution is NumPy's:
 * the first loop, in the table's dtype order, that the promoted dtype reaches by a safe
 * cast.
 */
#include "array/promote.h"

#include "base/alloc.h"

const char *asn_casting_name(asn_casting casting) {
    static const char *const names[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
    return names[casting];
}

/* The smallest signed integer of so many bytes; past 8 NumPy goes on with float64. */
static asn_dtype signed_of_size(int size) {
    return size <= 1   ? ASN_I8
           : size <= 2 ? ASN_I16
           : size <= 4 ? ASN_I32
           : size <= 8 ? ASN_I64
                       : ASN_F64; /* int64 with uint64 */
}

/* NumPy: the larger of two of one kind; of both kinds the smallest signed one that holds
 * both. */
static asn_dtype promote_integers(asn_dtype a, asn_dtype b) {
    int sa = asn_itemsize(a), sb = asn_itemsize(b);
    bool ua = asn_is_unsigned_int(a), ub = asn_is_unsigned_int(b);
    if (ua == ub) return sa >= sb ? a : b;
    int sig = ua ? sb : sa, uns = ua ? sa : sb;
    return sig > uns ? (ua ? b : a) : signed_of_size(2 * uns);
}

/* The smallest float that NumPy pairs with an integer of this size. */
static asn_dtype float_for_integer(asn_dtype integer) {
    int size = integer == ASN_BOOL ? 0 : asn_itemsize(integer);
    return size <= 1 ? ASN_F16 : size <= 2 ? ASN_F32 : ASN_F64;
}

/* Neither half holds the other: one lacks range, the other digits. float32 holds both. */
static asn_dtype promote_floats(asn_dtype a, asn_dtype b) {
    if (asn_is_half(a) && asn_is_half(b)) return a == b ? a : ASN_F32;
    return a > b ? a : b;
}

/* Dtypes are numbered by kind and size: the lower one is put first. */
asn_dtype asn_promote(asn_dtype a, asn_dtype b) {
    if (a == b) return a;
    if (a > b) {
        asn_dtype t = a;
        a = b;
        b = t;
    }
    if (a == ASN_BOOL) return b;
    if (asn_is_integer(b)) return promote_integers(a, b);
    asn_dtype real_a = asn_is_integer(a) ? float_for_integer(a) : asn_real_dtype(a);
    asn_dtype real_b = asn_real_dtype(b);
    /* An int8 fits either half: the float's own stays. */
    if (asn_is_half(real_a) && asn_is_half(real_b) && asn_is_integer(a)) real_a = real_b;
    asn_dtype real = promote_floats(real_a, real_b);
    if (!asn_is_complex(b)) return real;
    return real == ASN_F64 ? ASN_C128 : ASN_C64;
}

/* The dtype of Python numbers alone. */
static asn_dtype weak_default(char weak) {
    return weak == 'b'   ? ASN_BOOL
           : weak == 'i' ? ASN_I64
           : weak == 'f' ? ASN_F64
                         : ASN_C128;
}

/* A Python number of kind `weak` next to arrays of dtype `strong`. */
static asn_dtype weak_with(asn_dtype strong, char weak) {
    switch (weak) {
    case 'i': return strong == ASN_BOOL ? ASN_I64 : strong;
    case 'f': return asn_is_inexact(strong) ? strong : ASN_F64;
    case 'c':
        if (asn_is_complex(strong)) return strong;
        return asn_is_inexact(strong) && strong != ASN_F64 ? ASN_C64 : ASN_C128;
    default: return strong;
    }
}

asn_dtype asn_result_type(int n, const asn_type *types) {
    /* strong: the arrays' dtype; weak: the highest kind among Python numbers. */
    asn_dtype strong = ASN_DTYPE_NONE;
    char weak = 0;
    static const char rank[] = "bifc";
    /* Floats first: each integer then meets them by itself, so that the order does not
     * matter (int16, uint16 and float16 make float32, though int16 and uint16 alone would
     * make int32). */
    for (int inexact = 1; inexact >= 0; inexact--)
        for (int i = 0; i < n; i++) {
            asn_dtype dt = (asn_dtype)types[i].dtype;
            if (types[i].weak || asn_is_inexact(dt) != inexact) continue;
            strong = strong == ASN_DTYPE_NONE ? dt : asn_promote(strong, dt);
        }
    for (int i = 0; i < n; i++) {
        if (types[i].weak) {
            int now = 0, new = 0;
            for (int k = 0; k < 4; k++) {
                if (rank[k] == weak) now = k + 1;
                if (rank[k] == types[i].weak) new = k + 1;
            }
            if (new > now) weak = types[i].weak;
        }
    }
    if (strong == ASN_DTYPE_NONE) return weak_default(weak);
    return weak ? weak_with(strong, weak) : strong;
}

/* NumPy's order of kinds for "same_kind": a cast may go up, or stay. */
static int kind_rank(asn_dtype dt) {
    return dt == ASN_BOOL            ? 0
           : asn_is_unsigned_int(dt) ? 1
           : asn_is_integer(dt)      ? 2
           : asn_is_complex(dt)      ? 4
                                     : 3;
}

bool asn_can_cast(asn_dtype from, asn_dtype to, asn_casting casting) {
    if (from == to || casting == ASN_CASTING_UNSAFE) return true;
    if (casting == ASN_CASTING_NO || casting == ASN_CASTING_EQUIV) return false;
    if (asn_promote(from, to) == to) return true;
    return casting == ASN_CASTING_SAME_KIND && kind_rank(from) <= kind_rank(to);
}

asn_status asn_error_no_loop(const char *name) {
    return asn_error_set(
        ASN_ERR_NO_LOOP,
        "ufunc '%s' not supported for the input types, and the inputs could "
        "not be safely coerced to any supported types according to the "
        "casting rule ''safe''",
        name);
}

/* Operations that NumPy refuses for bool although an integer loop would hold it. */
static asn_status refuse_bool(asn_op op) {
    if (!(asn_op_table[op].flags & ASN_OPF_NO_BOOL)) return ASN_OK;
    if (op == ASN_OP_SUBTRACT)
        return asn_error_set(
            ASN_ERR_TYPE,
            "numpy boolean subtract, the `-` operator, is not supported, use "
            "the bitwise_xor, the `^` operator, or the logical_xor function "
            "instead.");
    if (op == ASN_OP_NEGATIVE)
        return asn_error_set(
            ASN_ERR_TYPE,
            "The numpy boolean negative, the `-` operator, is not supported, "
            "use the `~` operator or the logical_not function instead.");
    return asn_error_set(
        ASN_ERR_NO_LOOP,
        "ufunc '%s' did not contain a loop with signature matching types "
        "<class 'numpy.dtypes.BoolDType'> -> None",
        asn_op_table[op].name);
}

/* Whether every operand casts safely to dtype. Arrays are asked one by one: int8 and
 * uint8 both fit float16, although the int16 they promote to does not. */
static bool all_fit(asn_dtype dtype, asn_dtype promoted, int n, const asn_type *types) {
    for (int i = 0; i < n; i++)
        if (types[i].weak && types[i].weak != 'b')
            return asn_can_cast(promoted, dtype, ASN_CASTING_SAFE);
    for (int i = 0; i < n; i++)
        if (!types[i].weak && !asn_can_cast(types[i].dtype, dtype, ASN_CASTING_SAFE))
            return false;
    return true;
}

/* The first loop in table order that holds the operands, as NumPy's search finds it. */
static asn_dtype first_loop(asn_op op, asn_dtype promoted, int n, const asn_type *types) {
    const asn_op_info *info = &asn_op_table[op];
    if (info->ints_to != ASN_DTYPE_NONE && !asn_is_inexact(promoted))
        return (asn_dtype)info->ints_to;
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        if (asn_op_has_loop(op, (asn_dtype)d) &&
            all_fit((asn_dtype)d, promoted, n, types))
            return (asn_dtype)d;
    return ASN_DTYPE_NONE;
}

/* Whether the operands may be cast to the loop. Parameters of a dtype of their own
 * (in_dtype: ldexp's exponent) need a safe cast; any integer but uint64 is taken
 * there. */
static asn_status check_inputs(asn_op op, const asn_type *types, asn_dtype loop,
                               asn_casting casting) {
    const asn_op_info *info = &asn_op_table[op];
    for (int i = 0; i < info->num_in; i++) {
        asn_dtype to = asn_op_operand(op, i, loop);
        /* "equiv" wants a Python number's own dtype, all other rules its kind. */
        asn_dtype like = casting == ASN_CASTING_EQUIV ? ASN_BOOL : to;
        asn_dtype from = types[i].weak ? weak_with(like, types[i].weak) : types[i].dtype;
        bool integers = info->in_dtype[i] != ASN_DTYPE_NONE && asn_is_integer(to) &&
                        (asn_is_integer(from) || from == ASN_BOOL) && from != ASN_U64;
        asn_casting rule =
            info->in_dtype[i] != ASN_DTYPE_NONE ? ASN_CASTING_SAFE : casting;
        if (!integers && !asn_can_cast(from, to, rule))
            return asn_error_set(ASN_ERR_CASTING,
                                 "Cannot cast ufunc '%s' input %d from dtype('%s') to "
                                 "dtype('%s') with casting rule '%s'",
                                 info->name, i, asn_dtype_name(from), asn_dtype_name(to),
                                 asn_casting_name(casting));
    }
    return ASN_OK;
}

/* The dtype that every operand has, Python numbers giving way to it; NONE when they
 * differ. Most calls are of this kind, and need no search. */
static asn_dtype shared_dtype(int n, const asn_type *types) {
    asn_dtype shared = ASN_DTYPE_NONE;
    char weak = 0;
    for (int i = 0; i < n; i++) {
        if (types[i].weak) {
            if (weak && weak != types[i].weak) return ASN_DTYPE_NONE;
            weak = types[i].weak;
        } else if (shared == ASN_DTYPE_NONE) {
            shared = (asn_dtype)types[i].dtype;
        } else if (shared != (asn_dtype)types[i].dtype) {
            return ASN_DTYPE_NONE;
        }
    }
    if (shared == ASN_DTYPE_NONE || shared == ASN_BOOL) return ASN_DTYPE_NONE;
    if (weak == 'c' || (weak == 'f' && !asn_is_inexact(shared))) return ASN_DTYPE_NONE;
    return shared;
}

asn_status asn_op_resolve(asn_op op, const asn_type *types, asn_dtype dtype,
                          asn_casting casting, asn_dtype *loop) {
    const asn_op_info *info = &asn_op_table[op];
    if (dtype == ASN_DTYPE_NONE && info->in_dtype[0] == ASN_DTYPE_NONE &&
        info->in_dtype[1] == ASN_DTYPE_NONE && casting != ASN_CASTING_EQUIV) {
        asn_dtype shared = shared_dtype(info->num_in, types);
        if (shared != ASN_DTYPE_NONE && asn_op_has_loop(op, shared)) {
            *loop = shared;
            return ASN_OK;
        }
    }
    /* Otherwise the result's dtype is the operation's own, and dtype= can only name
     * that. */
    bool free_result = info->out_dtype == ASN_OUT_SAME || info->out_dtype == ASN_OUT_REAL;
    if (info->out_dtype == ASN_OUT_REAL && !types[0].weak) {
        /* dtype= is the result's: of complex numbers it is their real dtype */
        asn_dtype wide = dtype == ASN_F32   ? ASN_C64
                         : dtype == ASN_F64 ? ASN_C128
                                            : ASN_DTYPE_NONE;
        asn_dtype from = (asn_dtype)types[0].dtype;
        if (wide != ASN_DTYPE_NONE && asn_is_complex(from) &&
            asn_can_cast(from, wide, ASN_CASTING_SAFE)) {
            *loop = wide;
            return check_inputs(op, types, wide, casting);
        }
    }
    if (dtype != ASN_DTYPE_NONE && free_result) {
        if (!asn_op_has_numpy_loop(op, dtype))
            return asn_error_set(
                ASN_ERR_NO_LOOP,
                "No loop matching the specified signature and casting was "
                "found for ufunc %s",
                info->name);
        *loop = dtype;
        return check_inputs(op, types, dtype, casting);
    }
    if (dtype != ASN_DTYPE_NONE && dtype != (asn_dtype)info->out_dtype)
        return asn_error_set(
            ASN_ERR_NO_LOOP,
            "No loop matching the specified signature and casting was found "
            "for ufunc %s",
            info->name);
    /* The operands that share the loop's dtype: those without one of their own. */
    asn_type uniform[3] = {{ASN_DTYPE_NONE, 0}};
    int n = 0;
    for (int i = 0; i < info->num_in; i++)
        if (info->in_dtype[i] == ASN_DTYPE_NONE) uniform[n++] = types[i];
    asn_dtype promoted = asn_result_type(n, uniform);
    /* A Python int beside integers that take no part in the loop fits any float: ldexp(2,
     * int64) is float16 in NumPy. */
    if (n == 1 && info->num_in == 2 && uniform[0].weak == 'i' && !types[1].weak &&
        types[1].dtype != ASN_BOOL)
        promoted = ASN_I8;
    if (promoted == ASN_BOOL) ASN_TRY(refuse_bool(op));
    *loop = first_loop(op, promoted, n, uniform);
    if (*loop == ASN_DTYPE_NONE) return asn_error_no_loop(asn_op_table[op].name);
    return check_inputs(op, types, *loop,
                        casting == ASN_CASTING_UNSAFE ? ASN_CASTING_SAME_KIND : casting);
}
