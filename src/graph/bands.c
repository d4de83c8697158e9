/* L2 graph: programs over one space, run together band by band.
 *
 * What needs a reduction's result is another program: softmax is three, whose values go
 * through memory in between. Where each of them keeps to its rows (the first axis), so
 * that row i of the second reads only what row i of the first wrote, they run in turn
 * over a band of rows that fits the cache, then over the next. A value that nobody reads
 * afterwards is not even spread out: each band overwrites the one before. (Softmax of
 * 10000 x 1000 float64, one thread: 18.4 ms before, 14.0 so.)
 *
 * Programs run together when their spaces are the same, none reduces the first axis, and
 * every buffer that one of them writes is seen by all of them as the same elements, in
 * rows that do not touch. A row's result does not depend on the others, so bands change
 * no bit; but a single row is one long line, which is summed in another order: a band has
 * two at least.
 */
#include "graph/bands.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "graph/launch.h"

enum { MAX_TOGETHER = 8, MAX_USES = MAX_TOGETHER * ACLNNX_MAX_OPERANDS };

typedef struct {
    const asn_ref *ref;
    bool written;
} use;

typedef struct {
    const asn_node *space; /* any node: its shape is everybody's */
    int num;
    use uses[MAX_USES];
} together;

static int64_t band_bytes(void) {
    return asn_cpu_caches().second / 2;
}

static bool same_space(const asn_node *a, const asn_node *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

static bool same_elements(const together *t, const asn_ref *a, const asn_ref *b) {
    if (a->offset != b->offset || a->dtype != b->dtype) return false;
    for (int d = 0; d < t->space->ndim; d++)
        if (t->space->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
    return true;
}

/* Bytes from the first to past the last element of a row. */
static int64_t row_extent(const together *t, const asn_ref *ref) {
    int64_t bytes = asn_itemsize((asn_dtype)ref->dtype);
    for (int d = 1; d < t->space->ndim; d++)
        bytes += llabs(ref->strides[d]) * (t->space->shape[d] - 1);
    return bytes;
}

/* Adds an operand; false: it does not keep to its rows, or it is another's. */
static bool add_use(together *t, const asn_ref *ref, bool written, bool *linked) {
    if (ref->buffer->shared) return false;
    if (written && llabs(ref->strides[0]) < row_extent(t, ref)) return false;
    for (int i = 0; i < t->num; i++) {
        const use *u = &t->uses[i];
        if (u->ref->buffer != ref->buffer || !(u->written || written)) continue;
        if (!same_elements(t, u->ref, ref)) return false;
        *linked |= u->written;
    }
    if (t->num == MAX_USES) return false;
    t->uses[t->num++] = (use){ref, written};
    return true;
}

/* false: the program cannot join; t is then not to be used on. */
static bool add_program(together *t, const asn_program *p, const asn_node *nodes,
                        const bool *keep, bool *linked) {
    const asn_node *node = &nodes[p->nodes[0]];
    if (p->num_out == 0 || p->num_forwards || p->reduce_mask & 1) return false;
    if (t->space && !same_space(t->space, node)) return false;
    t->space = node;
    for (int i = 0; i < p->num_nodes; i++)
        if (keep[p->nodes[i]]) return false;
    for (int i = 0; i < p->num_in + p->num_out; i++) {
        const asn_ref *ref = asn_program_ref(p, nodes, i);
        if (ref->buffer && !add_use(t, ref, i >= p->num_in, linked)) return false;
    }
    return true;
}

/* Bytes that a row of all the operands has, each buffer once. */
static int64_t row_bytes(const together *t) {
    int64_t bytes = 0;
    for (int i = 0; i < t->num; i++) {
        bool met = false;
        for (int k = 0; k < i; k++)
            met |= t->uses[k].ref->buffer == t->uses[i].ref->buffer;
        if (!met) bytes += row_extent(t, t->uses[i].ref);
    }
    return bytes;
}

int asn_bands_find(const asn_plan *plan, const asn_node *nodes, const bool *keep,
                   int first, int64_t *rows) {
    const asn_node *node = &nodes[plan->programs[first].nodes[0]];
    together t; /* whose uses are filled, not cleared */
    t.space = NULL;
    t.num = 0;
    int num = 0;
    bool linked = false;
    if (first + 1 == plan->num_programs || node->ndim < 2 ||
        node->size * 8 < band_bytes())
        return 1;
    while (first + num < plan->num_programs && num < MAX_TOGETHER) {
        int before = t.num;
        linked = false;
        if (!add_program(&t, &plan->programs[first + num], nodes, keep, &linked) ||
            (num && !linked)) {
            t.num = before;
            break;
        }
        num++;
    }
    if (num < 2) return 1;
    int64_t bytes = row_bytes(&t);
    *rows = band_bytes() / bytes;
    return *rows > 1 && *rows * 2 <= node->shape[0] ? num : 1;
}

/* Whether only these programs know the buffer, and the first one that does writes it. */
static bool is_scratch(const asn_program *programs, int num, const asn_node *nodes,
                       const asn_buffer *b) {
    int refs = 0;
    if (!asn_buffer_only_traced(b)) return false;
    for (int g = 0; g < num; g++)
        for (int i = 0; i < programs[g].num_nodes; i++) {
            const asn_node *node = &nodes[programs[g].nodes[i]];
            if (node->accumulate && node->out.buffer == b) return false;
            refs += node->out.buffer == b;
            for (int k = 0; k < node->num_in; k++)
                refs += node->in[k].buffer == b;
        }
    if (refs != b->trace_refs) return false;
    for (int g = 0; g < num; g++) {
        const asn_program *p = &programs[g];
        for (int i = 0; i < p->num_in + p->num_out; i++)
            if (asn_program_ref(p, nodes, i)->buffer == b) return i >= p->num_in;
    }
    return false;
}

asn_status asn_bands_run(const asn_program *programs, int num, const asn_node *nodes,
                         int64_t rows) {
    int64_t count = nodes[programs[0].nodes[0]].shape[0];
    asn_band bands[MAX_TOGETHER] = {0};
    for (int g = 0; g < num; g++)
        for (int i = 0; i < programs[g].num_in + programs[g].num_out; i++) {
            const asn_buffer *b = asn_program_ref(&programs[g], nodes, i)->buffer;
            if (b && is_scratch(programs, num, nodes, b)) bands[g].fixed |= 1u << i;
        }
    for (int64_t start = 0, end; start < count; start = end) {
        end = count - start - rows < 2 ? count : start + rows;
        for (int g = 0; g < num; g++) {
            bands[g].start = start;
            bands[g].rows = end - start;
            ASN_TRY(asn_launch_band(&programs[g], nodes, &bands[g]));
        }
    }
    return ASN_OK;
}
