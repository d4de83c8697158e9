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
 * every buffer that one of them writes is seen by all of them in rows that do not touch.
 * A row's result does not depend on the others, so bands change no bit; but a single row
 * is one long line, which is summed in another order: a band has two at least.
 *
 * A stencil reads rows above and below: u[1:-1] += (u[:-2] + u[2:]) / 4 is a program that
 * writes a temporary and one that adds it, and the second may write a row only after the
 * first has read the one below. So it lags behind by a row, a next step by another one
 * (a skewed loop, as in Wolf and Lam 1991): four steps pass over u while it is in the
 * cache. A value that only they know goes round a ring of two bands then. Arrays that the
 * last cache holds gain nothing by it. (A step of heat on float64, one thread of a Zen 5:
 * 1000 x 1000 860 us before, 430 so; 2000 x 2000 4.5 ms, 2.7.)
 */
#include "graph/plan/bands.h"

#include <stdlib.h>

#include "base/cpu.h"
#include "graph/plan/launch.h"

enum {
    LAGGING = 4, /* programs: each has its lag, and scratch of its own */
    MAX_USES = ASN_BANDS_TOGETHER * ACLNNX_MAX_OPERANDS
};

/* A reference of one of the programs. */
typedef struct {
    const asn_ref *ref;
    bool written;
    int program;
} use;

/* The programs that may run together so far. */
typedef struct {
    const asn_node *space; /* any node: its shape is everybody's */
    int num;
    bool reduces; /* one of them does */
    int programs;
    int64_t *lag, next, most; /* the programs', that of the one to come, the largest */
    use uses[MAX_USES];
} together;

/* What a band's operands may take: half of the second cache, so that the other half holds
 * what passes through. */
static int64_t band_bytes(void) {
    return asn_cpu_caches().second / 2;
}

/* Whether both nodes run over one shape. */
static bool same_space(const asn_node *a, const asn_node *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* Whether element i of a is element i of b, over the shared space. */
static bool same_elements(const together *t, const asn_ref *a, const asn_ref *b) {
    if (a->offset != b->offset || a->dtype != b->dtype) return false;
    for (int d = 0; d < t->space->ndim; d++)
        if (t->space->shape[d] > 1 && a->strides[d] != b->strides[d]) return false;
    return true;
}

/* Bytes from the first to past the last element of a row, in memory. */
static int64_t row_extent(const together *t, const asn_ref *ref) {
    int64_t bytes = asn_itemsize((asn_dtype)ref->dtype);
    for (int d = 1; d < t->space->ndim; d++)
        bytes += llabs(ref->strides[d]) * (t->space->shape[d] - 1);
    return bytes;
}

/* The byte at which row 0 begins in memory. */
static int64_t row_begin(const together *t, const asn_ref *ref) {
    int64_t at = ref->offset;
    for (int d = 1; d < t->space->ndim; d++)
        if (ref->strides[d] < 0) at += ref->strides[d] * (t->space->shape[d] - 1);
    return at;
}

/* *last: by how many rows the last row of `a` that shares bytes with row r of `b` comes
 * after r. False: there is none. Both have the same stride of rows, above 0. (The bytes
 * of row r of a begin at r * stride, those of b `ahead` later.) */
static bool rows_meet(const together *t, const asn_ref *a, const asn_ref *b,
                      int64_t *last) {
    const int64_t stride = a->strides[0], ahead = row_begin(t, b) - row_begin(t, a),
                  end = ahead + row_extent(t, b) - 1, begin = ahead - row_extent(t, a);
    *last = end >= 0 ? end / stride : -((stride - 1 - end) / stride);
    return *last * stride > begin;
}

/* Adds an operand; false: it does not keep to its rows or some near, or it is another's
 * (the host may touch it). *linked: it shares memory with an operand before, of which one
 * is written. The lag of the program to come grows to what the operand needs. */
static bool add_use(together *t, const asn_ref *ref, bool written, bool *linked) {
    if (ref->buffer->shared) return false;
    /* Rows of one array must not overlap each other, or a band would write into the next.
     */
    if (written && llabs(ref->strides[0]) < row_extent(t, ref)) return false;
    for (int i = 0; i < t->num; i++) {
        const use *u = &t->uses[i];
        int64_t last = 0;
        if (u->ref->buffer != ref->buffer || !(u->written || written)) continue;
        if (!same_elements(t, u->ref, ref)) {
            if (u->ref->strides[0] != ref->strides[0] || ref->strides[0] <= 0)
                return false;
            if (!rows_meet(t, u->ref, ref, &last)) continue;
        }
        last += t->lag[u->program];
        if (t->next < last) t->next = last;
        *linked |= u->written;
    }
    if (t->num == MAX_USES) return false;
    t->uses[t->num++] = (use){ref, written, t->programs};
    return true;
}

/* Adds a program's operands and finds its lag; *linked: it shares values with those
 * before. false: the program cannot join; t is then not to be used on. What is kept
 * recorded (keep) must not be taken apart. */
static bool add_program(together *t, const asn_program *p, const asn_node *nodes,
                        const bool *keep, bool *linked) {
    const asn_node *node = &nodes[p->nodes[0]];
    if (p->num_out == 0 || p->num_forwards || p->reduce_mask & 1) return false;
    if (t->space && !same_space(t->space, node)) return false;
    t->space = node;
    t->reduces |= p->reduce_mask != 0;
    t->lag[t->programs] = t->next = 0;
    for (int i = 0; i < p->num_nodes; i++)
        if (keep[p->nodes[i]]) return false;
    for (int i = 0; i < p->num_in + p->num_out; i++) {
        const asn_ref *ref = asn_program_ref(p, nodes, i);
        if (ref->buffer && !add_use(t, ref, i >= p->num_in, linked)) return false;
    }
    t->lag[t->programs] = t->next;
    if (t->most < t->next) t->most = t->next;
    return ++t->programs <= (t->most ? LAGGING : ASN_BANDS_TOGETHER) &&
           !(t->most && t->reduces);
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

void asn_bands_find(asn_bands *b, const asn_plan *plan, const asn_node *nodes,
                    const bool *keep, int first) {
    const asn_node *node = &nodes[plan->programs[first].nodes[0]];
    together t; /* whose uses are filled, not cleared */
    t.space = NULL;
    t.num = 0;
    t.reduces = false;
    t.programs = 0;
    t.lag = b->lag;
    t.most = 0;
    b->num = 1;
    if (first + 1 == plan->num_programs || node->ndim < 2 ||
        /* Too little to gain: a space of one row's length, or one that the cache holds.
         */
        node->size * 8 < band_bytes())
        return;
    int num = 0;
    while (first + num < plan->num_programs && num < ASN_BANDS_TOGETHER) {
        int before = t.num;
        bool linked = false;
        if (!add_program(&t, &plan->programs[first + num], nodes, keep, &linked) ||
            (num && !linked)) {
            t.num = before;
            break;
        }
        b->most = t.most;
        num++;
    }
    if (num < 2) return;
    const int64_t bytes = row_bytes(&t);
    b->rows = band_bytes() / bytes;
    if (b->most) {
        /* All of it lies in the last cache anyway: the skewed loop only costs calls. */
        if (bytes * node->shape[0] < asn_cpu_caches().last / 8 * 3) return;
        b->rows += b->rows / 2; /* scratch and lag cost calls, which fewer bands spare */
    }
    if (b->rows > 1 && b->rows * 2 <= node->shape[0] && b->most * 2 <= b->rows)
        b->num = num;
}

/* Whether only these programs know the buffer, the first one that does writes it, and all
 * see the same elements: its bands may overwrite each other. */
static bool is_scratch(const asn_bands *bands, const asn_plan *plan,
                       const asn_program *programs, const asn_node *nodes,
                       const asn_buffer *b) {
    int refs = 0;
    const asn_ref *first = NULL;
    bool written = false;
    if (!asn_buffer_only_traced(b)) return false;
    for (int g = 0; g < bands->num; g++)
        for (int i = 0; i < programs[g].num_nodes; i++) {
            const asn_node *node = &nodes[programs[g].nodes[i]];
            if (node->accumulate && node->out.buffer == b) return false;
            if (plan->forwarded[programs[g].nodes[i]]) continue; /* others read later */
            refs += node->out.buffer == b;
            for (int k = 0; k < node->num_in; k++)
                refs += node->in[k].buffer == b;
        }
    if (refs != b->trace_refs) return false;
    for (int g = 0; g < bands->num; g++) {
        const asn_program *p = &programs[g];
        for (int i = 0; i < p->num_in + p->num_out; i++) {
            const asn_ref *ref = asn_program_ref(p, nodes, i);
            if (ref->buffer != b) continue;
            if (first && ref->offset != first->offset) return false;
            if (!first) written = i >= p->num_in;
            first = ref;
        }
    }
    return written;
}

/* Rows [from, to) of a program, cut where its ring ends. */
static asn_status run_rows(asn_program *p, const asn_node *nodes, asn_band *band,
                           int64_t from, int64_t to) {
    for (int64_t end; from < to; from = end) {
        end = to;
        if (band->fixed && band->ring && from / band->ring != (to - 1) / band->ring)
            end = (from / band->ring + 1) * band->ring;
        band->start = from;
        band->rows = end - from;
        ASN_TRY(asn_launch_band(p, nodes, band));
    }
    return ASN_OK;
}

/* Bands reach past the ends by the lags. */
static int64_t within(int64_t row, int64_t count) {
    return row < 0 ? 0 : row > count ? count : row;
}

/* Each turn advances all programs by one band, each behind by its lag; the last turns
 * only finish those that lag. */
asn_status asn_bands_run(const asn_bands *b, asn_plan *plan, int first,
                         const asn_node *nodes) {
    asn_program *programs = &plan->programs[first];
    const int64_t count = nodes[programs[0].nodes[0]].shape[0], all = count + b->most;
    asn_band bands[ASN_BANDS_TOGETHER] = {0};
    for (int g = 0; g < b->num; g++) {
        const asn_program *p = &programs[g];
        bands[g].ring = b->most ? 2 * b->rows : 0;
        for (int i = 0; i < p->num_in + p->num_out; i++) {
            const asn_buffer *buffer = asn_program_ref(p, nodes, i)->buffer;
            if (buffer && is_scratch(b, plan, programs, nodes, buffer))
                bands[g].fixed |= 1u << i;
        }
    }
    for (int64_t start = 0, end; start < all; start = end) {
        /* A last band of one row would be summed in another order: it joins the one
         * before. */
        end = all - start - b->rows < 2 ? all : start + b->rows;
        for (int g = 0; g < b->num; g++)
            ASN_TRY(run_rows(&programs[g], nodes, &bands[g],
                             within(start - b->lag[g], count),
                             within(end - b->lag[g], count)));
    }
    return ASN_OK;
}
