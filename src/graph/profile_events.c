/* L2 graph: launches as events (see profile_events.h). */
#include "graph/profile_events.h"

#include <string.h>

#include "graph/engine.h"
#include "graph/lock.h"
#include "runtime/streams/stream.h"

/* ---- floating-point operations */

int64_t asn_flops_of(asn_op op, asn_dtype loop) {
    const asn_op_info *row = &asn_op_table[op];
    if (!asn_is_inexact(loop) || row->flags & (ASN_OPF_PREDICATE | ASN_OPF_MOVES) ||
        row->out_dtype < 200)
        return 0;
    if (!asn_is_complex(loop)) return 1;
    return op == ASN_OP_MULTIPLY ? 6 : op == ASN_OP_DIVIDE ? 11 : 2;
}

int64_t asn_flops_of_product(asn_dtype dtype, int64_t num_matrices, int64_t m, int64_t k,
                             int64_t n) {
    if (!asn_is_inexact(dtype)) return 0;
    return (asn_is_complex(dtype) ? 8 : 2) * num_matrices * m * k * n;
}

int64_t asn_flops_of_node(const asn_node *n) {
    asn_op op = (asn_op)(n->reduce_op != ASN_OP_NONE ? n->reduce_op : n->op);
    return n->size * asn_flops_of(op, (asn_dtype)n->loop);
}

/* ---- bytes */

static int64_t ref_bytes(const asn_ref *ref, int ndim, const int64_t *shape) {
    int64_t bytes = asn_itemsize((asn_dtype)ref->dtype);
    for (int d = 0; d < ndim; d++)
        if (ref->strides[d]) bytes *= shape[d];
    return bytes;
}

static int64_t layout_bytes(const asn_layout *l) {
    int64_t bytes = asn_itemsize(asn_layout_dtype(l));
    for (int d = 0; d < l->ndim; d++)
        if (l->strides[d] || !l->shape[d]) bytes *= l->shape[d];
    return bytes;
}

int64_t asn_operand_bytes(const aclnnxOperand *o, int ndim, const int64_t *shape) {
    if (!o->data) return 0;
    int64_t bytes = asn_itemsize(asn_dtype_from_acl(o->dtype));
    for (int d = 0; d < ndim; d++)
        if (!o->strides || o->strides[d]) bytes *= shape[d];
    return bytes;
}

int64_t asn_elements_of(int ndim, const int64_t *shape) {
    int64_t n = 1;
    for (int d = 0; d < ndim; d++)
        n *= shape[d];
    return n;
}

/* ---- descriptions */

enum { MOST_DESCRIPTIONS = 4096, SLOTS = 2 * MOST_DESCRIPTIONS };

static struct {
    int num;
    asn_description all[MOST_DESCRIPTIONS];
    uint16_t slots[SLOTS]; /* by hash; 0: free */
} known;

const asn_description *asn_record_description(uint32_t number) {
    return number && (int)number <= known.num ? &known.all[number - 1] : NULL;
}

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* The place in memory that an operand names, of those that a program's node writes. */
static int16_t source_of(const asn_program *p, const asn_node *nodes, int at,
                         const asn_ref *ref) {
    if (!ref->buffer) return ASN_FROM_NUMBER;
    for (int i = at - 1; i >= 0; i--) {
        const asn_node *n = &nodes[p->nodes[i]];
        if (n->out.buffer == ref->buffer && n->out.offset == ref->offset)
            return (int16_t)i;
    }
    return ASN_FROM_MEMORY;
}

static void fill_step(asn_step *s, const asn_program *p, const asn_node *nodes, int at) {
    const asn_node *n = &nodes[p->nodes[at]];
    *s = (asn_step){.op = n->op,
                    .reduce_op = n->reduce_op,
                    .loop = n->loop,
                    .num_in = n->num_in,
                    .line = n->line};
    for (int k = 0; k < n->num_in; k++)
        s->from[k] = source_of(p, nodes, at, &n->in[k]);
    for (int i = p->num_in; i < p->num_in + p->num_out; i++)
        if (p->operands[i].node == p->nodes[at]) s->stored = 1;
}

static uint64_t hash_of(const asn_program *p, const asn_node *nodes) {
    const asn_node *first = &nodes[p->nodes[0]];
    uint64_t hash = mix((uint64_t)first->ndim, (uint64_t)p->num_nodes);
    for (int d = 0; d < first->ndim; d++)
        hash = mix(hash, (uint64_t)first->shape[d]);
    for (int i = 0; i < p->num_nodes; i++) {
        const asn_node *n = &nodes[p->nodes[i]];
        hash = mix(hash, n->op | (uint64_t)n->reduce_op << 16 | (uint64_t)n->line << 32);
        hash = mix(hash, n->loop);
    }
    return hash;
}

/* The number of a program's description; 0: there is no room for another one. */
static uint32_t describe(const asn_program *p, const asn_node *nodes) {
    uint64_t hash = hash_of(p, nodes);
    size_t at = hash % SLOTS;
    for (; known.slots[at]; at = (at + 1) % SLOTS)
        if (known.all[known.slots[at] - 1].hash == hash) return known.slots[at];
    if (known.num == MOST_DESCRIPTIONS) return 0;
    asn_description *d = &known.all[known.num];
    const asn_node *first = &nodes[p->nodes[0]];
    *d = (asn_description){.hash = hash,
                           .num_steps = p->num_nodes,
                           .ndim = first->ndim,
                           .num_in = p->num_in,
                           .num_out = p->num_out,
                           .steps = asn_malloc((size_t)p->num_nodes * sizeof *d->steps)};
    if (!d->steps) {
        asn_error_clear();
        return 0;
    }
    for (int i = 0; i < first->ndim && i < 4; i++)
        d->shape[i] = first->shape[i];
    for (int i = 0; i < p->num_nodes; i++)
        fill_step(&d->steps[i], p, nodes, i);
    known.slots[at] = (uint16_t)++known.num;
    return (uint32_t)known.num;
}

/* ---- events */

static const char *name_of(const asn_node *n) {
    return asn_op_table[n->reduce_op != ASN_OP_NONE ? n->reduce_op : n->op].name;
}

/* What is the same for every launch of a planned program, found by its serial number and
 * the lines that recorded it: a loop launches few programs many times. */
typedef struct {
    uint32_t serial, detail;
    uint64_t lines; /* hashed */
    const char *name;
    asn_site line;
    uint16_t dtype;
    int64_t bytes, work;
} launched;

static __attribute__((noinline, cold)) void
learn(launched *f, uint64_t lines, const asn_program *p, const asn_node *nodes) {
    const asn_node *first = &nodes[p->nodes[0]],
                   *last = &nodes[p->nodes[p->num_nodes - 1]];
    *f = (launched){.serial = p->serial,
                    .lines = lines,
                    .detail = describe(p, nodes),
                    .name = name_of(last),
                    .line = last->line,
                    .dtype = last->loop};
    for (int i = 0; i < p->num_in + p->num_out; i++) {
        const asn_ref *ref = asn_program_ref(p, nodes, i);
        if (ref->buffer) f->bytes += ref_bytes(ref, first->ndim, first->shape);
    }
    for (int i = 0; i < p->num_nodes; i++)
        f->work += asn_flops_of_node(&nodes[p->nodes[i]]);
}

static inline const launched *facts_of(const asn_program *p, const asn_node *nodes) {
    enum { PLACES = 256 };
    static launched met[PLACES];
    uint64_t lines = 0;
    for (int i = 0; i < p->num_nodes; i++)
        lines =
            (lines << 7 | lines >> 57) ^ nodes[p->nodes[i]].line * 0x9e3779b97f4a7c15u;
    launched *f = &met[p->serial % PLACES];
    if (__builtin_expect(f->serial != p->serial || f->lines != lines, 0))
        learn(f, lines, p, nodes);
    return f;
}

void asn_record_program(asn_mark mark, const asn_program *p, const asn_node *nodes,
                        int64_t rows) {
    const launched *f = facts_of(p, nodes);
    asn_event *e = asn_profile_close(mark, ASN_EVENT_PROGRAM, f->name, f->line);
    e->dtype = f->dtype;
    e->detail = f->detail;
    e->bytes = f->bytes;
    e->work = f->work;
    const asn_node *first = &nodes[p->nodes[0]];
    if (__builtin_expect(rows >= 0 && first->shape[0], 0)) {
        double part = (double)rows / (double)first->shape[0];
        e->bytes = (int64_t)((double)f->bytes * part);
        e->work = (int64_t)((double)f->work * part);
    }
    asn_profile_keep(mark);
}

void asn_record_node(asn_mark mark, const asn_node *node) {
    asn_event *e = asn_profile_close(mark, ASN_EVENT_OPERATOR, name_of(node), 0);
    e->dtype = node->loop;
    e->bytes = ref_bytes(&node->out, node->ndim, node->shape);
    e->work = asn_flops_of_node(node);
    for (int k = 0; k < node->num_in; k++)
        if (node->in[k].buffer)
            e->bytes += ref_bytes(&node->in[k], node->ndim, node->shape);
    asn_profile_keep(mark);
}

void asn_record_small(uint64_t begin, asn_op op, int64_t n, asn_dtype dtype, int arrays) {
    asn_profile_small(begin, asn_op_table[op].name, n * arrays * asn_itemsize(dtype),
                      n * asn_flops_of(op, dtype));
}

void asn_record_plan(asn_mark mark, int count) {
    asn_profile_close(mark, ASN_EVENT_PLAN, "plan", 0)->work = count;
    asn_profile_keep(mark);
}

void asn_record_move(uint64_t begin, const char *name, const asn_layout *l) {
    asn_profile_small(begin, name, 2 * l->size * asn_itemsize(asn_layout_dtype(l)), 0);
}

static struct {
    int64_t bytes, work;
} pending;

void asn_record_operand(const asn_layout *l) {
    pending.bytes += layout_bytes(l);
}

void asn_record_work(int64_t flops) {
    pending.work = flops;
}

void asn_record_operator(asn_mark mark, const char *name) {
    if (mark.ticks) {
        asn_event *e = asn_profile_close(mark, ASN_EVENT_OPERATOR, name, 0);
        e->bytes = pending.bytes;
        e->work = pending.work;
        asn_profile_keep(mark);
    }
    pending.bytes = pending.work = 0;
}

/* ---- sessions */

asn_status asn_record_start(int every, uint64_t *since) {
    asn_lock();
    asn_status status = asn_trace_flush();
    if (!status) status = asn_stream_wait();
    if (!status) status = asn_profile_start(every, since);
    asn_record_layer();
    pending.bytes = pending.work = 0;
    asn_unlock();
    return status;
}

asn_status asn_record_stop(void) {
    asn_lock();
    asn_status status = asn_trace_flush();
    if (!status) status = asn_stream_wait();
    asn_profile_pairs_finish();
    asn_profile_stop();
    asn_record_layer();
    asn_unlock();
    return status;
}
