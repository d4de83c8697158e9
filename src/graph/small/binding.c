/* L2 graph: which loops an operation runs (see binding.h): a table of fixed size,
 * addressed by a hash of the key; a newer entry replaces an older one in its slot.
 *
 * An entry only holds for what is the same for all values: dtypes. What depends on a
 * value (a Python integer out of range, a negative integer power) is looked at by the
 * caller. When the device is closed and opened again the table starts over. */
#include "graph/small/binding.h"

#include <string.h>

#include "graph/ufunc/operands.h"
#include "graph/opcodes.h"

enum { SLOT_BITS = 9, FOLD = 1 << 30 };

static asn_binding slots[1 << SLOT_BITS];
uint32_t asn_direct_since = UINT32_MAX;
static uint32_t never = UINT32_MAX; /* the opening that has no direct path */

/* Looks once per opening of the device whether it has single loops and memory that the
 * host reaches; both answers are kept. */
bool asn_direct_find(void) {
    if (never == asn_device_generation) return false;
    if (asn_device_open() != ASN_OK) {
        /* the general path finds the same error */
        asn_error_clear(); /* the general path finds the same error */
        return false;
    }
    memset(slots, 0, sizeof slots);
    bool can = asn_fuse_enabled() && asn_device_host_access() && asn_acl.aclnnxLoopFind &&
               asn_acl.aclnnxLoopRun;
    *(can ? &asn_direct_since : &never) = asn_device_generation;
    return can;
}

/* The slot of a key: multiplicative hashing, by the upper bits. */
static inline asn_binding *slot_of(uint32_t key) {
    return &slots[key * 2654435769u >> (32 - SLOT_BITS)];
}

/* (Contract in binding.h.) Each answer is kept until the device is opened again; a loop
 * that is missing is looked for again at each call. */
const aclnnxLoop *asn_binding_loop(int kind, asn_op op, asn_dtype dtype) {
    static const aclnnxLoop *known[2][ASN_OP_COUNT][ASN_DTYPE_COUNT];
    static uint32_t since;
    if (since != asn_direct_since) {
        memset(known, 0, sizeof known);
        since = asn_direct_since;
    }
    const aclnnxLoop **place = &known[kind == ACLNNX_LOOP_FOLD][op][dtype],
                     *loop = *place;
    if (loop) return loop;
    uint16_t code = asn_device_opcode((uint16_t)op);
    if (code == ACLNNX_NO_REDUCE) return NULL;
    loop = asn_acl.aclnnxLoopFind(kind, code, asn_dtype_table[dtype].acl);
    *place = loop;
    return loop;
}

/* (Contract in binding.h.) The device keeps these itself. */
const aclnnxLoop *asn_binding_cast(asn_dtype from, asn_dtype to) {
    return asn_acl.aclnnxLoopFind(ACLNNX_LOOP_CAST, asn_dtype_table[to].acl,
                                  asn_dtype_table[from].acl);
}

const aclnnxLoop *asn_binding_arg(bool smallest, asn_dtype dtype) {
    uint16_t code = asn_device_opcode(smallest ? ASN_OP_MINIMUM : ASN_OP_MAXIMUM);
    return asn_acl.aclnnxLoopFind(ACLNNX_LOOP_ARG, code, asn_dtype_table[dtype].acl);
}

/* Comparisons of integers of two dtypes are compared exactly, not promoted. */
static bool compares_mixed(asn_op op, const asn_operand *in) {
    if (!asn_op_compares(op)) return false;
    asn_type a = asn_operand_type(&in[0]), b = asn_operand_type(&in[1]);
    return !a.weak && !b.weak && a.dtype != b.dtype &&
           asn_is_integer((asn_dtype)a.dtype) && asn_is_integer((asn_dtype)b.dtype);
}

/* Fills in a fresh binding. It stays without a loop, which means the general path, where
 * dtypes do not resolve, a needed cast is missing, or an operand is a Python bool or
 * complex number. */
static void resolve(asn_binding *b, asn_op op, const asn_operand *in) {
    const asn_op_info *info = &asn_op_table[op];
    asn_type types[3];
    asn_dtype loop;
    for (int k = 0; k < info->num_in; k++) {
        types[k] = asn_operand_type(&in[k]);
        if (types[k].weak == 'b' || types[k].weak == 'c') return;
    }
    if (compares_mixed(op, in)) return;
    if (asn_op_resolve(op, types, ASN_DTYPE_NONE, ASN_CASTING_SAME_KIND, &loop)) {
        asn_error_clear();
        return;
    }
    b->refuses = op == ASN_OP_POWER && asn_is_signed_int(loop);
    for (int k = 0; k < info->num_in; k++) {
        asn_dtype want = asn_op_operand(op, k, loop);
        b->operand[k] = (uint8_t)want;
        /* A NumPy scalar has an array's key, so it gets an array's binding. */
        asn_dtype have = types[k].weak ? want : (asn_dtype)types[k].dtype;
        if (have == want) continue;
        b->casts = true;
        if (!(b->cast[k] = asn_binding_cast(have, want))) return;
    }
    b->result = (uint8_t)asn_op_result(op, loop);
    b->loop = asn_binding_loop(ACLNNX_LOOP_MAP, op, loop);
}

/* (Contract in binding.h.) Also a refusal is kept, so that it is not worked out again. */
const asn_binding *asn_binding_get(uint32_t key, asn_op op, const asn_operand *in) {
    asn_binding *b = slot_of(key);
    if (__builtin_expect(b->key == key + 1, 1)) return b;
    memset(b, 0, sizeof *b);
    resolve(b, op, in);
    b->key = key + 1; /* 0 is an empty slot */
    return b;
}

/* (Contract in binding.h.) An exponent is negative where its highest byte is. */
bool asn_binding_refuses(const asn_binding *b, int64_t n, const void *exponents) {
    int64_t item = asn_itemsize((asn_dtype)b->operand[1]);
    const int8_t *top = (const int8_t *)exponents + item - 1;
    int any = 0;
    for (int64_t i = 0; i < n; i++)
        any |= top[i * item];
    return b->casts || any < 0;
}

const asn_binding *asn_binding_fold(asn_op op, const asn_array *a) {
    if ((a->layout.ndim > 1 && !(asn_op_table[op].flags & ASN_OPF_REORDERABLE)) ||
        op == ASN_OP_POWER)
        return NULL; /* the general path refuses it, or looks at the exponents */
    uint32_t key = FOLD | (uint32_t)op << 5 | a->layout.dtype;
    asn_binding *b = slot_of(key);
    if (b->key == key + 1) return b;
    asn_dtype loop;
    memset(b, 0, sizeof *b);
    if (asn_reduce_dtype(op, asn_layout_dtype(&a->layout), ASN_DTYPE_NONE, ASN_DTYPE_NONE,
                         &loop)) {
        asn_error_clear();
    } else {
        b->result = (uint8_t)loop;
        b->loop = asn_binding_loop(ACLNNX_LOOP_FOLD, op, loop);
    }
    b->key = key + 1;
    return b;
}
