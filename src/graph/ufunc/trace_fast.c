/* L2 graph: the short way to record (see rows.h).
 *
 * What a program over large arrays does all day is `a * b + 2`: row-major operands of one
 * dtype and shape, whose result is laid out as they are. Such an operation needs no
 * resolution of dtypes, no broadcasting and no draft: it is looked at once, and its node
 * is written where it will stand. One block of strides serves every operand with elements
 * of one size. What is recorded is what the general path would have recorded.
 *
 * Not for here: what the library has to look at by value (integer powers, division of
 * integers, whose warning is not put off, numbers that the dtype cannot hold), and what
 * may not stay recorded (small operations, memory that the host sees, an open capture).
 */
#include "graph/ufunc/trace_fast.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "graph/capture/capture.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/trace/trace.h"
#include "graph/trace/transient.h"

/* Both row-major. */
static inline bool same_shape(const asn_layout *a, const asn_layout *b) {
    if (a->ndim != b->ndim || a->size != b->size) return false;
    for (int d = 1; d < a->ndim; d++) /* the first extent is what the others leave */
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* Row-major, its bools canonical, its memory not shared with the host. */
static inline bool is_rows(const asn_array *a) {
    return (a->layout.flags & (ASN_C_CONTIGUOUS | ASN_NONCANONICAL)) ==
               ASN_C_CONTIGUOUS &&
           !a->buffer->shared;
}

/* ldexp's exponents are int32, whatever its first operand is. */
static inline bool takes_exponents(const asn_operand *in) {
    return in[0].array && in[1].array && in[1].array->layout.dtype == ASN_I32 &&
           is_rows(in[1].array) && same_shape(&in[0].array->layout, &in[1].array->layout);
}

/* The layout that the arrays have in common; NULL: they have none. */
static inline const asn_layout *common_layout(asn_op op, const asn_operand *in) {
    const asn_layout *l = NULL;
    int num_in = asn_op_table[op].num_in;
    if (op == ASN_OP_LDEXP) num_in = takes_exponents(in);
    for (int k = 0; k < num_in; k++) {
        const asn_array *a = in[k].array;
        if (!a) continue;
        if (!is_rows(a) || (l && (l->dtype != a->layout.dtype ||
                                  (l != &a->layout && !same_shape(l, &a->layout)))))
            return NULL;
        l = &a->layout;
    }
    return l && l->size > ASN_TRACE_EAGER && l->ndim <= ASN_INLINE_DIMS ? l : NULL;
}

/* The dtypes for which the operation's loop has operands of that dtype only, and waits
 * for its turn like any other. */
static uint16_t plain_loops(asn_op op) {
    const asn_op_info *info = &asn_op_table[op];
    uint16_t dtypes = info->dtype_mask & (uint16_t)~(1u << ASN_BOOL);
    for (int k = 0; k < info->num_in && op != ASN_OP_LDEXP; k++)
        if (info->in_dtype[k] != ASN_DTYPE_NONE) return 0;
    for (int d = 0; d < ASN_DTYPE_COUNT && info->flags & ASN_OPF_DIVIDES; d++)
        if (asn_is_integer((asn_dtype)d)) dtypes &= (uint16_t)~(1u << d);
    return op == ASN_OP_POWER ? 0 : dtypes;
}

/* What is known of an operation, whatever its operands' values. */
typedef struct {
    uint16_t plain; /* the dtypes of plain loops */
    uint16_t alike; /* of those, the ones whose results have the dtype of two operands */
    uint8_t num_in;
    bool known;
} facts;

/* Works them out. */
static facts find_facts(asn_op op) {
    uint8_t num_in = asn_op_table[op].num_in;
    uint16_t plain = plain_loops(op);
    uint16_t alike = num_in <= 2 && op != ASN_OP_LDEXP ? plain : 0;
    for (int d = 0; d < ASN_DTYPE_COUNT; d++)
        if (asn_op_result(op, (asn_dtype)d) != (asn_dtype)d)
            alike &= (uint16_t)~(1u << d);
    return (facts){plain, alike, num_in, true};
}

/* The facts of an operation, worked out at its first use. (Two threads may both do so:
 * they write the same.) */
static inline facts facts_of(asn_op op) {
    static facts all[ASN_OP_COUNT];
    if (op >= ASN_OP_COUNT) return find_facts(op); /* loops may come and go */
    if (__builtin_expect(!all[op].known, 0)) all[op] = find_facts(op);
    return all[op];
}

/* A Python int as a float that is equal, which asks for no rule of its own. */
static bool exact_float(int64_t value, asn_dtype loop, asn_ref *ref) {
    int64_t most = (int64_t)1 << (loop == ASN_F64 ? 53 : 24);
    double wide = (double)value;
    float narrow = (float)value;
    if ((loop != ASN_F64 && loop != ASN_F32) || value < -most || value > most)
        return false;
    if (loop == ASN_F64)
        memcpy(ref->immediate, &wide, sizeof wide);
    else
        memcpy(ref->immediate, &narrow, sizeof narrow);
    return true;
}

/* A Python float as float32, if it is in the range where rounding raises no exception. */
static bool normal_float(double value, asn_ref *ref) {
    double size = fabs(value);
    if (!(size >= FLT_MIN && size <= 1e38) && value != 0) return false;
    float narrow = (float)value;
    memcpy(ref->immediate, &narrow, sizeof narrow);
    return true;
}

/* The number as the loop takes it, where that raises no floating-point exception and no
 * error. */
static __attribute__((noinline)) bool take_number(asn_op op, const asn_operand *o,
                                                  asn_dtype loop, asn_ref *ref) {
    const asn_op_info *info = &asn_op_table[op];
    const asn_scalar *s = &o->scalar;
    int64_t value;
    double real;
    memcpy(&value, s->bytes, sizeof value);
    memcpy(&real, s->bytes, sizeof real);
    ref->buffer = NULL;
    ref->strides = NULL;
    ref->offset = 0;
    ref->dtype = (uint8_t)loop;
    memset(ref->immediate, 0, sizeof ref->immediate);
    if (o->weak == 'f' && loop == ASN_F64) {
        memcpy(ref->immediate, &real, sizeof real);
        return true;
    }
    if (o->weak == 'f' && loop == ASN_F32) return normal_float(real, ref);
    if (o->weak != 'i' || s->dtype != ASN_I64 ||
        (info->flags & ASN_OPF_PREDICATE && !asn_op_compares(op)))
        return false;
    if (loop != ASN_I64) return exact_float(value, loop, ref);
    memcpy(ref->immediate, &value, sizeof value);
    return true;
}

/* Whether `out` may take the result where it lies. */
static bool takes_result(const asn_array *out, const asn_layout *l, asn_dtype dtype,
                         int num_in, const asn_operand *in) {
    const asn_layout *o = &out->layout;
    if (!is_rows(out) || !(o->flags & ASN_WRITEABLE) || o->dtype != dtype ||
        l->dtype != dtype || !same_shape(o, l))
        return false;
    for (int k = 0; k < num_in; k++) {
        const asn_array *a = in[k].array;
        if (a && a->buffer == out->buffer && a->layout.offset != o->offset) return false;
    }
    return true;
}

/* The layout of a fresh row-major array of l's shape. (That it is column-major as well
 * depends on the shape alone.) */
static void fresh_layout(asn_layout *r, asn_dtype dtype, const asn_layout *l) {
    int64_t stride = asn_itemsize(dtype);
    r->ndim = l->ndim;
    r->dtype = (uint8_t)dtype;
    r->flags = (uint8_t)((l->flags & (ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS)) |
                         ASN_WRITEABLE | ASN_ALIGNED);
    r->size = l->size;
    r->offset = 0;
    r->shape = r->dims;
    r->strides = r->dims + ASN_INLINE_DIMS;
    for (int d = l->ndim - 1; d >= 0; d--) {
        r->shape[d] = l->shape[d];
        r->strides[d] = stride;
        stride *= l->shape[d];
    }
}

/* A fresh result, without storage yet. False: the general path gives the error. */
static bool new_result(asn_array *result, asn_dtype dtype, const asn_layout *l) {
    if (asn_buffer_new(&result->buffer, l->size * asn_itemsize(dtype)) == ASN_OK) {
        fresh_layout(&result->layout, dtype, l);
        return true;
    }
    asn_error_clear();
    return false;
}

/* Strides of row-major elements as a draft writes them: 0 for an extent of 1. */
static void put_strides(int64_t *strides, const asn_layout *l, int64_t stride) {
    for (int d = l->ndim - 1; d >= 0; d--) {
        strides[d] = l->shape[d] == 1 ? 0 : stride;
        stride *= l->shape[d];
    }
}

/* A reference of the trace to an array, in the strides of a block. `serial`: no other
 * thread counts references now. Returns what the trace's reach grows by. */
static inline int64_t share_ref(asn_ref *ref, const asn_array *a, int64_t *strides,
                                bool serial) {
    asn_buffer *b = a->buffer;
    if (serial)
        atomic_store_explicit(&b->refs,
                              atomic_load_explicit(&b->refs, memory_order_relaxed) + 1,
                              memory_order_relaxed);
    else
        asn_buffer_retain(b);
    ref->buffer = b;
    ref->offset = a->layout.offset;
    ref->dtype = a->layout.dtype;
    ref->strides = strides;
    return asn_trace_count_ref(b);
}

/* All but the operands of a node. */
static inline void put_head(asn_node *n, asn_op op, asn_dtype loop, int num_in, int ndim,
                            int64_t size, int64_t *shape) {
    n->op = (uint16_t)op;
    n->reduce_op = ASN_OP_NONE;
    n->loop = (uint8_t)loop;
    n->num_in = (uint8_t)num_in;
    n->ndim = (uint8_t)ndim;
    n->accumulate = false;
    n->line = 0;
    n->reduce_mask = 0;
    n->size = size;
    n->shape = shape;
}

/* Counts the node that has been written at the end of the trace. */
static inline void count_node(asn_trace *t, asn_node *n) {
    if (n->op == ASN_OP_DIVIDE) asn_node_ease_division(n);
    t->count++;
    t->small_run = 0;
    asn_counters.recorded++;
}

/* ---- like the node before */

/* An operand that lies as the last node's result does. */
static inline bool lies_alike(const asn_layout *model, const asn_array *a) {
    const asn_layout *l = &a->layout;
    if (l->size != model->size || l->ndim != model->ndim || !is_rows(a)) return false;
    for (int d = 1; d < l->ndim; d++)
        if (l->shape[d] != model->dims[d]) return false;
    return true;
}

/* What most calls are: over the shape of the one before, which gives the node its shape
 * and strides, and the result its layout. For a binding that is serial and holds no lock.
 */
static inline bool record_alike(asn_op op, const asn_operand *in, asn_array *result) {
    asn_trace *t = &asn_the_trace;
    facts f = facts_of(op);
    bool pair = f.num_in == 2;
    const asn_array *a = in[0].array, *b = pair ? in[1].array : a;
    const asn_array *first = a ? a : b;
    if (!first || t->count == ASN_TRACE_MAX_NODES) return false;
    const asn_layout *model = &t->rows.model;
    asn_dtype dtype = asn_layout_dtype(&first->layout);
    asn_node *n = &t->nodes[t->count];
    if (asn_itemsize(dtype) != t->rows.itemsize || !(f.alike >> dtype & 1) ||
        !lies_alike(model, first) || asn_trace_may_hold_much(t, t->count + 1))
        return false;
    if (a != b) {
        if (a && b) {
            if (b->layout.dtype != dtype || !lies_alike(model, b)) return false;
        } else if (!take_number(op, &in[a ? 1 : 0], dtype, &n->in[a ? 1 : 0])) {
            return false;
        }
    }
    if (asn_buffer_new(&result->buffer, model->size * t->rows.itemsize) != ASN_OK) {
        asn_error_clear();
        return false;
    }
    result->layout = *model;
    result->layout.dtype = (uint8_t)dtype;
    result->layout.shape = result->layout.dims;
    result->layout.strides = result->layout.dims + ASN_INLINE_DIMS;
    int64_t *strides = t->rows.strides;
    put_head(n, op, dtype, 1 + pair, model->ndim, model->size, t->rows.shape);
    int64_t reach = share_ref(&n->out, result, strides, true);
    n->out.buffer->trace_writes++;
    if (a) reach += share_ref(&n->in[0], a, strides, true);
    if (b && pair) reach += share_ref(&n->in[1], b, strides, true);
    t->reach += reach;
    count_node(t, n);
    return true;
}

/* ---- any */

/* One block of strides serves every operand with elements of one size; three are never
 * needed. */
static void put_refs(asn_trace *t, asn_node *n, const asn_layout *l,
                     const asn_operand *in, const asn_array *out) {
    int ndim = l->ndim, item = asn_itemsize(asn_layout_dtype(l)),
        out_item = asn_itemsize(asn_layout_dtype(&out->layout));
    int64_t *shape = n->shape, *strides = shape + ndim, *rows = strides;
    for (int d = 0; d < ndim; d++)
        shape[d] = l->shape[d];
    put_strides(strides, l, out_item);
    if (item != out_item) put_strides(rows += ndim, l, item);
    int64_t *exponents = rows;
    if (n->op == ASN_OP_LDEXP && item != asn_itemsize(ASN_I32))
        put_strides(exponents += ndim, l, asn_itemsize(ASN_I32));
    t->arena_used += (size_t)(exponents + ndim - shape);
    int64_t reach = share_ref(&n->out, out, strides, false);
    n->out.buffer->trace_writes++;
    for (int k = 0; k < n->num_in; k++)
        if (in[k].array)
            reach += share_ref(&n->in[k], in[k].array, k ? exponents : rows, false);
    t->reach += reach;
    fresh_layout(&t->rows.model, asn_layout_dtype(&out->layout), l);
    t->rows.itemsize = out_item;
    t->rows.shape = shape;
    t->rows.strides = strides;
}

/* Whether one more node may be recorded without a look at the trace as a whole. */
static bool has_room(const asn_trace *t) {
    return t->lazy && !ASN_CAPTURING && t->arena && t->count < ASN_TRACE_MAX_NODES &&
           t->arena_used <= ASN_TRACE_ARENA - 3 * ASN_INLINE_DIMS &&
           !asn_trace_may_hold_much(t, t->count + 1);
}

/* Any operation that the short way may record, with the lock held. */
static bool record(asn_op op, const asn_operand *in, const asn_array *out,
                   asn_array *result) {
    asn_trace *t = &asn_the_trace;
    int num_in = asn_op_table[op].num_in;
    const asn_layout *l = common_layout(op, in);
    if (t->kept) asn_transient_forget(t);
    if (!l || !(facts_of(op).plain >> l->dtype & 1) || !has_room(t)) return false;
    if (out && op == ASN_OP_LDEXP) return false; /* it may lie over the exponents */
    asn_dtype loop = asn_layout_dtype(l), dtype = asn_op_result(op, loop);
    asn_node *n = &t->nodes[t->count];
    for (int k = 0; k < num_in; k++)
        if (!in[k].array && !take_number(op, &in[k], loop, &n->in[k])) return false;
    if (out ? !takes_result(out, l, dtype, num_in, in) : !new_result(result, dtype, l))
        return false;
    put_head(n, op, loop, num_in, l->ndim, l->size, t->arena + t->arena_used);
    put_refs(t, n, l, in, out ? out : result);
    count_node(t, n);
    return true;
}

/* The same, taking the lock. */
static __attribute__((noinline)) bool record_locked(asn_op op, const asn_operand *in,
                                                    const asn_array *out,
                                                    asn_array *result, uint32_t line) {
    asn_lock();
    bool done = record(op, in, out, result);
    if (done) asn_the_trace.nodes[asn_the_trace.count - 1].line = line;
    asn_unlock();
    return done;
}

bool asn_rows_record(asn_op op, const asn_operand *in, const asn_array *out,
                     asn_array *result) {
    uint32_t line = asn_record_line();
    if (out || !asn_lock_is_idle() || !record_alike(op, in, result))
        return record_locked(op, in, out, result, line);
    if (__builtin_expect(line != 0, 0))
        asn_the_trace.nodes[asn_the_trace.count - 1].line = line;
    return true;
}
