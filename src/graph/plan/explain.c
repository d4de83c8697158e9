/* L2 graph: asn_explain, the plan of what is recorded, as text.
 *
 *   program 1: 3 operations over (1000,1000), 2 loads, 1 store
 *     multiply float64 -> float64
 *     ...
 *     ends here: a later operation has another shape
 *
 * It plans as a flush would, without the cache, and runs nothing. */
#include "base/text.h"
#include "graph/engine.h"
#include "graph/opcodes.h"
#include "graph/lock.h"
#include "graph/plan/plan_cut.h"

static const char *reason(asn_cut cut) {
    switch (cut) {
    case ASN_CUT_SHAPE: return "a later operation has another shape";
    case ASN_CUT_OVERLAP:
        return "a later operation touches the same memory in another order";
    case ASN_CUT_REDUCTION: return "a later operation needs a reduction's result";
    case ASN_CUT_ORDER: return "a later operation walks other memory in another order";
    case ASN_CUT_LIMIT: return "the program is full";
    default: return "nothing more is recorded";
    }
}

/* One program: its size, its operations, why it ends. */
static void put_program(asn_text *w, int number, const asn_program *p,
                        const asn_node *nodes) {
    char shape[256];
    const asn_node *first = &nodes[p->nodes[0]];
    asn_text_put(
        w, "program %d: %d operations over %s, %d loads, %d stores, %d instructions\n",
        number, p->num_nodes,
        asn_shape_format(shape, sizeof shape, first->ndim, first->shape), p->num_in,
        p->num_out, p->num_instrs);
    for (int i = 0; i < p->num_nodes; i++) {
        const asn_node *n = &nodes[p->nodes[i]];
        bool reduces = n->reduce_op != ASN_OP_NONE;
        asn_text_put(w, "  %s%s %s -> %s\n",
                     asn_op_table[reduces ? n->reduce_op : n->op].name,
                     reduces ? ".reduce" : "", asn_dtype_name((asn_dtype)n->loop),
                     asn_dtype_name((asn_dtype)n->out.dtype));
    }
    if (p->num_out == 0)
        asn_text_put(w, "  does not run: its results are read at their sources\n");
    asn_text_put(w, "  ends here: %s\n", reason(p->cut));
}

/* Whether program `p` helps to compute the buffer (any program does for NULL). */
static bool concerns(const asn_program *p, const asn_node *nodes,
                     const asn_buffer *buffer) {
    bool yes = !buffer;
    for (int i = 0; i < p->num_nodes; i++)
        yes = yes || nodes[p->nodes[i]].out.buffer == buffer;
    return yes;
}

/* (Contract in graph/engine.h.) With an array: the programs up to the last that helps to
 * compute it. */
asn_status asn_explain(const asn_array *a, char **text) {
    asn_text w = {.status = ASN_OK};
    asn_lock();
    asn_trace *t = &asn_the_trace;
    if (t->count == 0 || (a && !a->buffer->trace_writes)) {
        asn_text_put(&w, "nothing is recorded: the values are final\n");
    } else {
        bool dead[ASN_TRACE_MAX_NODES];
        asn_plan plan;
        for (int i = 0; i < t->count; i++)
            dead[i] = atomic_load(&t->nodes[i].out.buffer->refs) ==
                      t->nodes[i].out.buffer->trace_refs;
        w.status = asn_plan_make(&plan, t->nodes, t->count, dead, asn_fuse_enabled());
        if (!w.status) {
            asn_node room[ASN_TRACE_MAX_NODES];
            const asn_node *nodes = asn_plan_nodes(&plan, t->nodes, room);
            int last = -1;
            for (int g = 0; g < plan.num_programs; g++)
                if (concerns(&plan.programs[g], nodes, a ? a->buffer : NULL)) last = g;
            for (int g = 0; g <= last; g++)
                put_program(&w, g + 1, &plan.programs[g], nodes);
            asn_plan_fini(&plan);
        }
    }
    asn_unlock();
    if (w.status) {
        asn_free(w.text);
        return w.status;
    }
    *text = w.text;
    return ASN_OK;
}

/* (Contract in graph/engine.h.) */
bool asn_is_recorded(const asn_array *a) {
    asn_lock();
    bool recorded = a->buffer->trace_writes > 0;
    asn_unlock();
    return recorded;
}
