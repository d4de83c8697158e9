/* L2 graph: which loops an operation on operands of given dtypes runs, found once (its
 * "binding": nothing to do with Python's).
 *
 * A small operation costs a few nanoseconds in its loop. To resolve its dtypes each time
 * would cost many times that, so the answer is kept under a key made of the operation and
 * its operands' dtypes. */
#ifndef ASN_GRAPH_SMALL_BINDING_H
#define ASN_GRAPH_SMALL_BINDING_H

#include <string.h>

#include "graph/fp.h"
#include "graph/ufunc/ufunc.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"

/* What is known of an operation on operands of given dtypes. */
typedef struct {
    uint32_t key;
    uint8_t result, operand[3]; /* dtypes */
    bool casts;                 /* some cast[k] is set */
    bool refuses;               /* negative exponents: integer powers look first */
    const aclnnxLoop *loop;     /* NULL: these operands need the general path */
    const aclnnxLoop *cast[3];  /* array operand k to operand[k]; NULL: already so */
} asn_binding;

/* What the key of a binding says of an operand in 5 bits: its dtype, or 16 + the kind of
 * a Python number. */
static inline uint32_t asn_binding_type(const asn_operand *o) {
    if (o->array) return o->array->layout.dtype;
    switch (o->weak) {
    case 0: return o->scalar.dtype;
    case 'f': return 16;
    case 'i': return 17;
    case 'c': return 18;
    default: return 19;
    }
}

/* Single loops may run: the device has them, its memory is the host's, the fused path is
 * not switched off, and nothing is queued. */
extern uint32_t asn_direct_since; /* the opening of the device this was found out for */
bool asn_direct_find(void);
static inline bool asn_direct_ready(void) {
    return (asn_direct_since == asn_device_generation || asn_direct_find()) &&
           asn_stream_is_idle();
}

/* key: op << 15, and asn_binding_type of operand k << 5 k. Valid until the next get. Lock
 * held, asn_direct_ready. */
const asn_binding *asn_binding_get(uint32_t key, asn_op op, const asn_operand *in);
/* For a binding that may refuse: whether one of n exponents is negative (or has to be
 * converted first). The general path then says what is wrong. */
bool asn_binding_refuses(const asn_binding *b, int64_t n, const void *exponents);
/* The full reduction of an array like `a`; result is its dtype. */
const asn_binding *asn_binding_fold(asn_op op, const asn_array *a);
/* Single loops, NULL where the device has none: a conversion; argmin (argmax); a loop of
 * `kind` (ACLNNX_LOOP_*: elementwise, or folding an array into one element) in one dtype.
 * asn_direct_ready. */
const aclnnxLoop *asn_binding_cast(asn_dtype from, asn_dtype to);
const aclnnxLoop *asn_binding_arg(bool smallest, asn_dtype dtype);
const aclnnxLoop *asn_binding_loop(int kind, asn_op op, asn_dtype dtype);

/* One loop over n elements; *met (or NULL) receives the floating-point exceptions that it
 * raises. Bit k of `immediates`: src[k] is one number for all elements. */
static inline void asn_loop_run(const aclnnxLoop *loop, int64_t n, void *out,
                                const void *const *src, uint32_t immediates,
                                uint32_t *met) {
    asn_acl.aclnnxLoopRun(loop, n, out, src, immediates, met);
}
/* Notes the exceptions that an operation raised, under its name. */
static inline void asn_loop_report(uint32_t met, asn_op op) {
    if (__builtin_expect(met != 0, 0)) asn_fp_raise(met, asn_op_table[op].name);
}

/* One element; a call of memcpy with a size known here is a move. */
static inline void asn_direct_move(char *dst, const char *src, int64_t item) {
    switch (item) {
    case 1: memcpy(dst, src, 1); break;
    case 2: memcpy(dst, src, 2); break;
    case 4: memcpy(dst, src, 4); break;
    case 8: memcpy(dst, src, 8); break;
    case 16: memcpy(dst, src, 16); break;
    default: memcpy(dst, src, (size_t)item);
    }
}

#endif
