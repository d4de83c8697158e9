/* CPU device, operators: concatenation, splitting, padding, triangles, diagonals.
 *
 * A body here is a list of moves between slices of two tensors, which asn_move makes
 * whatever their strides, dtypes or overlap; nothing is computed.
 *
 * In place of a kernel for each there is one loop over pieces for Cat, Stack and Split,
 * since they are the same slices seen from either side. A move costs a call, so that many
 * small pieces cost more than one kernel would; on the whole the bytes decide.
 */
#include <string.h>

#include "device/cpu/fused/fused.h"
#include "device/cpu/move/triangle.h"
#include "device/opapi/core/plan.h"

/* Estimated nanoseconds of moving the elements of `a`. */
static double work_of(const asnd_nd *a) {
    return 100 + 0.5 * (double)asn_nd_size(a);
}

/* ---- Cat, Stack, Split: out (or self) in pieces along an axis */

typedef struct {
    asnd_plan_head head;
    /* Operands: the whole, the first piece of the list; how many pieces. */
    int whole, first, count, axis;
    bool join, stack; /* join: pieces -> whole; stack: pieces lack the axis */
} pieces_plan;

/* Moves each piece to, or from, its slice of the whole. Pieces follow each other along
 * the axis without gaps, which the planner has checked. */
static asn_status pieces_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const pieces_plan *p = plan;
    int64_t start = 0;
    for (int k = 0; k < p->count; k++) {
        const asnd_operand *o = &e->operands[p->first + k];
        asnd_view whole, piece;
        asn_view_set(&whole, asn_exec_nd(e, p->whole));
        asn_view_set(&piece, &o->nd);
        if (!p->stack && piece.nd.ndim != whole.nd.ndim)
            continue; /* Cat: an empty 1-d tensor */
        if (p->stack) asn_view_insert(&piece, p->axis, 1, 0);
        asn_view_slice(&whole, p->axis, start, piece.shape[p->axis], 1);
        start += piece.shape[p->axis];
        ASN_TRY(p->join ? asn_move(&whole.nd, &piece.nd)
                        : asn_move(&piece.nd, &whole.nd));
    }
    return ASN_OK;
}

/* whole, list: parameters. The shapes are checked already. */
static asn_status plan_pieces(asnd_call *c, int whole, int list, int axis, bool join,
                              bool stack) {
    pieces_plan *p =
        asn_call_plan(c, pieces_body, sizeof *p, work_of(asn_call_nd(c, whole)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->whole = c->first[whole];
    p->first = c->first[list];
    p->count = (int)asn_call_array(c, list)->size;
    p->axis = axis;
    p->join = join;
    p->stack = stack;
    return ASN_OK;
}

/* Checks member k of a list: it is there, and has the shape but for one axis (-1: for
 * all). */
static asn_status piece_check(const asnd_call *c, int list, uint64_t k, int ndim,
                              const int64_t *shape, int but_axis) {
    const asnd_operand *o = &c->e->operands[c->first[list] + (int)k];
    bool fits = !o->is_absent && o->nd.ndim == ndim;
    for (int d = 0; d < ndim && fits; d++)
        fits = d == but_axis || o->nd.shape[d] == shape[d];
    if (fits) return ASN_OK;
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    return asn_error_set(
        ASN_ERR_VALUE, "%s: %s %llu has shape %s, which does not go with %s", c->op->name,
        c->op->params[list].name, (unsigned long long)k,
        o->is_absent ? "NULL" : asn_shape_text(got, o->nd.ndim, o->nd.shape),
        asn_shape_text(want, ndim, shape));
}

/* Cat(tensors, dim, out); empty 1-d tensors among others are skipped, as torch.cat does
 * for old programs. Dtypes convert to the output's. */
asn_status asn_planner_cat(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    const asnd_array *list = asn_call_array(c, 0);
    int axis = 0;
    int64_t total = 0;
    if (list->size == 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: tensors is empty; at least one is needed", c->op->name);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), out->ndim, &axis));
    for (uint64_t k = 0; k < list->size; k++) {
        const asnd_operand *o = &c->e->operands[c->first[0] + (int)k];
        if (!o->is_absent && o->nd.ndim == 1 && o->nd.shape[0] == 0) continue;
        ASN_TRY(piece_check(c, 0, k, out->ndim, out->shape, axis));
        if (out->ndim == 0)
            return asn_error_set(ASN_ERR_VALUE, "%s: 0-d tensors cannot be joined",
                                 c->op->name);
        total += o->nd.shape[axis];
        ASN_TRY(asn_call_convertible(c, o->nd.dtype, 2));
    }
    if (total != (out->ndim ? out->shape[axis] : 0))
        return asn_error_set(
            ASN_ERR_VALUE, "%s: the tensors are %lld long along dim %d, out is %lld",
            c->op->name, (long long)total, axis, (long long)out->shape[axis]);
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    return plan_pieces(c, 2, 0, axis, true, false);
}

/* Stack(tensors, dim, out): dim counts the output's dimensions. */
asn_status asn_planner_stack(asnd_call *c) {
    const asnd_nd *out = asn_call_nd(c, 2);
    const asnd_array *list = asn_call_array(c, 0);
    int axis = 0;
    asnd_view piece;
    if (list->size == 0 || out->ndim == 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: no tensors, or out is 0-d", c->op->name);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 1), out->ndim, &axis));
    asn_view_set(&piece, out);
    asn_view_drop(&piece, axis);
    for (uint64_t k = 0; k < list->size; k++) {
        ASN_TRY(piece_check(c, 0, k, piece.nd.ndim, piece.shape, -1));
        ASN_TRY(
            asn_call_convertible(c, c->e->operands[c->first[0] + (int)k].nd.dtype, 2));
    }
    if (out->shape[axis] != (int64_t)list->size)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %llu tensors, but out is %lld long along dim %d",
                             c->op->name, (unsigned long long)list->size,
                             (long long)out->shape[axis], axis);
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    return plan_pieces(c, 2, 0, axis, true, true);
}

/* SplitTensor(self, splitSections, dim, out), where the last piece may be shorter;
 * SplitWithSize(self, splitSize, dim, out), where the sizes add up to the extent. */
asn_status asn_planner_split(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    const asnd_array *list = asn_call_array(c, 3);
    const asnd_array *sizes =
        c->op->params[1].kind == ASN_INTS ? asn_call_array(c, 1) : NULL;
    int axis = 0;
    int64_t total = 0, section = sizes ? 0 : asn_call_int(c, 1);
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), self->ndim, &axis));
    if (self->ndim == 0 || (sizes ? sizes->size != list->size : section <= 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: the sizes do not fit self and the list",
                             c->op->name);
    for (uint64_t k = 0; k < list->size; k++) {
        const asnd_operand *o = &c->e->operands[c->first[3] + (int)k];
        ASN_TRY(piece_check(c, 3, k, self->ndim, self->shape, axis));
        /* Sections are cut to what is left; members past the end are empty. */
        int64_t left = self->shape[axis] - total;
        int64_t want = sizes            ? ((int64_t *)sizes->data)[k]
                       : section < left ? section
                                        : left;
        if (o->nd.shape[axis] != want)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: out %llu is %lld long along dim %d, not %lld",
                                 c->op->name, (unsigned long long)k,
                                 (long long)o->nd.shape[axis], axis, (long long)want);
        total += want;
    }
    if (total != self->shape[axis])
        return asn_error_set(ASN_ERR_VALUE, "%s: the sizes add up to %lld, not to %lld",
                             c->op->name, (long long)total, (long long)self->shape[axis]);
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    return plan_pieces(c, 0, 3, axis, false, false);
}

/* ---- ConstantPadNd(self, pad, value, out): pairs (before, after) from the last
 * dimension on */

typedef struct {
    asnd_plan_head head;
    int in, out;
    _Alignas(16) uint8_t element[16];
    int64_t before[ASN_ND_MAX_DIMS]; /* negative: cut */
} pad_plan;

/* Filled first, then the part that is kept moved in; a pad may cut everything. A negative
 * number of elements before or after cuts as many, as in torch. */
static asn_status pad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const pad_plan *p = plan;
    asnd_view src, dst;
    asn_view_set(&src, asn_exec_nd(e, p->in));
    asn_view_set(&dst, asn_exec_nd(e, p->out));
    ASN_TRY(asn_cpu_fill(&dst.nd, p->element));
    for (int d = 0; d < src.nd.ndim; d++) {
        /* The kept part begins at `from` in the input and at `to` in the output; how long
         * it is, the shorter of both says, which takes care of a cut behind. */
        int64_t b = p->before[d], from = b < 0 ? -b : 0, to = b < 0 ? 0 : b;
        int64_t n = src.shape[d] - from, room = dst.shape[d] - to;
        n = n < room ? n : room;
        if (n <= 0) return ASN_OK;
        asn_view_slice(&src, d, from, n, 1);
        asn_view_slice(&dst, d, to, n, 1);
    }
    return asn_move(&dst.nd, &src.nd);
}

/* Shape and value; `pad` may name fewer dimensions than there are, from the last one
 * on. */
asn_status asn_planner_pad(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *out = asn_call_nd(c, 3);
    const asnd_array *pad = asn_call_array(c, 1);
    int64_t before[ASN_ND_MAX_DIMS] = {0}, shape[ASN_ND_MAX_DIMS];
    if (pad->size % 2 != 0 || pad->size / 2 > (uint64_t)self->ndim)
        return asn_error_set(ASN_ERR_VALUE, "%s: %llu numbers in pad for %d dimensions",
                             c->op->name, (unsigned long long)pad->size, self->ndim);
    for (int d = 0; d < self->ndim; d++) {
        uint64_t k = 2 * (uint64_t)(self->ndim - 1 - d);
        bool given = k < pad->size;
        before[d] = given ? ((int64_t *)pad->data)[k] : 0;
        shape[d] =
            self->shape[d] + before[d] + (given ? ((int64_t *)pad->data)[k + 1] : 0);
        if (shape[d] < 0)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: pad cuts more of dim %d than there is", c->op->name,
                                 d);
    }
    ASN_TRY(asn_call_same_shape(c, 3, self->ndim, shape));
    if (asn_call_operand(c, 3)->is_empty) return ASN_OK;
    pad_plan *p = asn_call_plan(c, pad_body, sizeof *p, work_of(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[3];
    memcpy(p->before, before, sizeof before);
    return asn_call_element(c, 2, out->dtype, p->element);
}

/* ---- Tril, Triu (self, diagonal, out), in place or not */

typedef struct {
    asnd_plan_head head;
    int in, out;
    bool upper;       /* Triu */
    int64_t diagonal; /* 0: the main one; above it positive */
} triangle_plan;

/* From the input where it lies; another dtype, or memory that both share, is moved first.
 */
static asn_status triangle_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const triangle_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out), *in = asn_exec_nd(e, p->in);
    if (p->in != p->out && (in->dtype != out->dtype || asn_nds_meet(in, out))) {
        ASN_TRY(asn_move(out, in));
        in = out;
    }
    asn_cpu_triangle(out, in, p->diagonal, p->upper);
    return ASN_OK;
}

/* arg 1 is Triu. */
asn_status asn_planner_triangle(asnd_call *c) {
    int out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 0);
    if (self->ndim < 2)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self has %d dimensions; at least 2 are needed",
                             c->op->name, self->ndim);
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    ASN_TRY(asn_call_convertible(c, self->dtype, out));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    triangle_plan *p = asn_call_plan(c, triangle_body, sizeof *p, work_of(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[out];
    p->upper = c->op->arg != 0;
    p->diagonal = asn_call_int(c, 1);
    return ASN_OK;
}

/* ---- diagonals: Diag(self, diagonal, out), DiagFlat, FillDiagonal, Trace */

typedef struct {
    asnd_plan_head head;
    int in, out;
    int64_t k; /* which diagonal; of FillDiagonal: wrap */
    _Alignas(16) uint8_t element[16];
} diag_plan;

/* The k-th diagonal of a 2-d view as a 1-d view, whose stride is the sum of both; empty
 * where k is outside the matrix. */
static void diagonal_of(asnd_view *v, int64_t k) {
    int64_t rows = v->shape[0], cols = v->shape[1];
    int64_t i = k < 0 ? -k : 0, j = k > 0 ? k : 0;
    int64_t n = rows - i < cols - j ? rows - i : cols - j;
    n = n < 0 ? 0 : n;
    if (n > 0) v->nd.data += i * v->strides[0] + j * v->strides[1];
    v->strides[0] += v->strides[1];
    v->shape[0] = n;
    v->nd.ndim = 1;
}

/* The body of Diag and DiagFlat: out of a matrix, or into one that is filled with
 * zeros. */
static asn_status diag_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const diag_plan *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->in), *out = asn_exec_nd(e, p->out);
    asnd_view src, dst;
    asn_view_set(&src, in);
    asn_view_set(&dst, out);
    if (out->ndim < 2) {
        diagonal_of(&src, p->k);
        return asn_move(out, &src.nd);
    }
    ASN_TRY(asn_cpu_fill(out, p->element));
    diagonal_of(&dst, p->k);
    if (in->ndim == 1) return asn_move(&dst.nd, in);
    int64_t n = asn_nd_size(in); /* DiagFlat */
    asnd_view copy, flat;
    ASN_TRY(asn_tmp_view(tmp, in->dtype, in->ndim, in->shape, &copy));
    ASN_TRY(asn_move(&copy.nd, in));
    asn_view_plain(&flat, in->dtype, 1, &n, copy.nd.data);
    return asn_move(&dst.nd, &flat.nd);
}

/* Diag takes the diagonal of a matrix, or makes a matrix of a vector; DiagFlat (arg 1)
 * makes one of all elements in row-major order. */
asn_status asn_planner_diag(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t k = asn_call_int(c, 1), shape[2];
    bool take = self->ndim == 2 && c->op->arg == 0;
    if (!take && c->op->arg == 0 && self->ndim != 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self has %d dimensions; 1 or 2 are allowed",
                             c->op->name, self->ndim);
    if (take) {
        asnd_view v;
        asn_view_set(&v, self);
        diagonal_of(&v, k);
        shape[0] = v.shape[0];
    } else {
        shape[0] = shape[1] = asn_nd_size(self) + (k < 0 ? -k : k);
    }
    ASN_TRY(asn_call_same_shape(c, 2, take ? 1 : 2, shape));
    ASN_TRY(asn_call_convertible(c, self->dtype, 2));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    diag_plan *p = asn_call_plan(c, diag_body, sizeof *p, work_of(asn_call_nd(c, 2)));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[0];
    p->out = c->first[2];
    p->k = k;
    memset(p->element, 0, sizeof p->element);
    return ASN_OK;
}

/* FillDiagonal(selfRef, fillValue, wrap): of any dimension, all extents equal, or 2-d. As
 * numpy.fill_diagonal: with wrap the diagonal of a tall matrix begins again after each
 * cols + 1 rows. */
static asn_status fill_diagonal_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    (void)tmp;
    const diag_plan *p = plan;
    asnd_view v;
    asn_view_set(&v, asn_exec_nd(e, p->out));
    int64_t n = v.shape[0], step = 0, cols = v.shape[v.nd.ndim - 1];
    for (int d = 0; d < v.nd.ndim; d++) {
        n = v.shape[d] < n ? v.shape[d] : n;
        step += v.strides[d];
    }
    int64_t row = v.strides[0], rows = v.shape[0];
    char *data = v.nd.data;
    for (int64_t start = 0; start < rows; start += cols + 1) {
        int64_t left = rows - start, count = n < left ? n : left;
        asnd_nd line = {data + start * row, 1, v.nd.dtype, &count, &step};
        ASN_TRY(asn_cpu_fill(&line, p->element));
        if (p->k == 0 || v.nd.ndim != 2) break; /* no wrap */
    }
    return ASN_OK;
}

asn_status asn_planner_fill_diagonal(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    bool equal = self->ndim >= 2;
    for (int d = 1; d < self->ndim && self->ndim > 2; d++)
        equal = equal && self->shape[d] == self->shape[0];
    if (!equal)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: self must be 2-d, or have equal extents, and value "
                             "a number",
                             c->op->name);
    if (asn_call_operand(c, 0)->is_empty) return ASN_OK;
    diag_plan *p =
        asn_call_plan(c, fill_diagonal_body, sizeof *p, 100 + (double)self->shape[0]);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->out = c->first[0];
    p->k = asn_call_int(c, 2);
    return asn_call_element(c, 1, self->dtype, p->element);
}
