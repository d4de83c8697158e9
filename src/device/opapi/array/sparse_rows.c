/* CPU device, operators: rows of a table chosen by index, and rows that are rescaled.
 *
 * EmbeddingBag, EmbeddingDenseBackward, EmbeddingRenorm, Renorm.
 * Sums of rows are made in float64, in the order of the indices, whoever makes them.
 *
 * Indices are data, so that one out of range is an error of the task; all are checked
 * before an output is written. Negative indices are out of range here, unlike in
 * indexing.
 *
 * Bodies are loops over packed copies (packed.h); rows that are summed are read where
 * they lie, a row at a time, by tasks that share the results.
 */
#include <math.h>
#include <string.h>

#include "base/integers.h"
#include "device/cpu/kernels.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"

enum {
    TASKS = 64,   /* that threads share, of rows of a gradient or of bags */
    COLUMNS = 256 /* of a bag's sums at once: with a row's they fill 4 KB */
};

/* The error of an index; `what` names it. */
static asn_status bad_index(const char *what, int64_t got, int64_t limit) {
    return asn_error_set(ASN_ERR_INDEX, "%s %lld is out of bounds for %lld rows", what,
                         (long long)got, (long long)limit);
}

/* ---- EmbeddingDenseBackward(grad, indices, numWeights, paddingIdx, scaleGradByFreq,
 * out)
 */

/* (*counts)[row] = how often each of `rows` rows is named by index[0 .. n); all indices
 * are checked on the way. */
static asn_status counts_of(const int64_t *index, int64_t n, int64_t rows, asnd_tmp *tmp,
                            int64_t **counts) {
    *counts = asn_tmp_alloc(tmp, ((size_t)rows + 1) * sizeof **counts);
    if (*counts == NULL) return ASN_ERR_MEMORY;
    memset(*counts, 0, ((size_t)rows + 1) * sizeof **counts);
    for (int64_t i = 0; i < n; i++) {
        if (index[i] < 0 || index[i] >= rows) return bad_index("index", index[i], rows);
        (*counts)[index[i]]++;
    }
    return ASN_OK;
}

/* Positions by the row that they name, ascending: those of row r end at (*ends)[r], where
 * those of the next begin. */
static asn_status order_by_row(const int64_t *index, int64_t n, int64_t rows,
                               asnd_tmp *tmp, int64_t **order, int64_t **ends) {
    ASN_TRY(counts_of(index, n, rows, tmp, ends));
    *order = asn_tmp_alloc(tmp, ((size_t)n + 1) * sizeof **order);
    if (*order == NULL) return ASN_ERR_MEMORY;
    for (int64_t r = 0, begin = 0; r < rows; r++) {
        const int64_t count = (*ends)[r];
        (*ends)[r] = begin; /* moves on to the end as the row's positions come */
        begin += count;
    }
    for (int64_t i = 0; i < n; i++)
        (*order)[(*ends)[index[i]]++] = i;
    return ASN_OK;
}

/* What the tasks of a gradient share; a task is some rows of it. grad, out: row-major, of
 * their own dtypes. */
typedef struct {
    const asnd_nd *grad, *out;
    const int64_t *order, *ends;
    int64_t rows, width, padding;
    bool averages, failed; /* failed: out of memory */
} row_sums;

static void sum_rows(void *ctx, int64_t task) {
    row_sums *j = ctx;
    const asnd_kernels *by = asn_kernels_get();
    const int64_t w = j->width, end = (task + 1) * j->rows / TASKS;
    const int64_t from = w * asn_itemsize(j->grad->dtype),
                  to = w * asn_itemsize(j->out->dtype);
    double *sum = asn_scratch_take(2 * (size_t)w * sizeof *sum);
    if (sum == NULL) {
        __atomic_store_n(&j->failed, true, __ATOMIC_RELAXED);
        return;
    }
    for (int64_t r = task * j->rows / TASKS; r < end; r++) {
        const int64_t first = r ? j->ends[r - 1] : 0, last = j->ends[r];
        const double count = j->averages && last > first ? (double)(last - first) : 1;
        memset(sum, 0, (size_t)w * sizeof *sum);
        for (int64_t i = first; i < last && r != j->padding; i++) {
            by->cast[j->grad->dtype][ASN_F64](
                w, sum + w, j->grad->data + j->order[i] * from, NULL, NULL);
            by->ew[ASN_OP_ADD][ASN_F64](w, sum, sum, sum + w, NULL);
        }
        if (count != 1) by->times[ASN_F64](w, sum, sum, 1 / count);
        by->cast[ASN_F64][j->out->dtype](w, j->out->data + r * to, sum, NULL, NULL);
    }
    asn_scratch_give(sum);
}

/* out[row] = the sum of the gradients of all positions that name it. The padding row gets
 * no gradient. By frequency: a row's gradients are averaged. */
static asn_status dense_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view grad, indices, out;
    const asn_dtype given = asn_exec_nd(e, p->at[0])->dtype;
    ASN_TRY(asn_packed_in(e, p, 0, given, tmp, &grad));
    ASN_TRY(asn_packed_in(e, p, 1, ASN_I64, tmp, &indices));
    ASN_TRY(asn_packed_out(e, p, 5, asn_exec_nd(e, p->at[5])->dtype, tmp, &out));
    int64_t *order, *ends;
    const int64_t n = p->n[0], rows = p->n[1], width = p->n[2];
    ASN_TRY(order_by_row((const int64_t *)(void *)indices.nd.data, n, rows, tmp, &order,
                         &ends));
    row_sums j = {.grad = &grad.nd,
                  .out = &out.nd,
                  .order = order,
                  .ends = ends,
                  .rows = rows,
                  .width = width,
                  .padding = p->arg[3].i,
                  .averages = p->arg[4].i != 0};
    asn_pool_run(sum_rows, &j, TASKS, 0.5 * (double)(n + rows) * (double)width);
    if (j.failed) return asn_error_set(ASN_ERR_MEMORY, "no memory for a row's sum");
    return asn_packed_done(e, p, 5, &out);
}

/* grad is (..., width), with a row for each index; out is (numWeights, width). */
asn_status asn_planner_embedding_dense_backward(asnd_call *c) {
    const asnd_nd *grad = asn_call_nd(c, 0), *indices = asn_call_nd(c, 1);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 5));
    int64_t shape[2] = {asn_call_int(c, 2), grad->ndim ? grad->shape[grad->ndim - 1] : 1};
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS));
    if (shape[0] < 0 || asn_nd_size(grad) != asn_nd_size(indices) * shape[1])
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: grad has %lld elements; %lld indices of rows of %lld",
                             c->op->name, (long long)asn_nd_size(grad),
                             (long long)asn_nd_size(indices), (long long)shape[1]);
    ASN_TRY(asn_call_same_shape(c, 5, 2, shape));
    if (asn_call_operand(c, 5)->is_empty) return ASN_OK;
    asnd_packed *p =
        asn_packed_plan(c, dense_backward_body, 300 + 2 * (double)asn_nd_size(grad));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = asn_nd_size(indices);
    p->n[1] = shape[0];
    p->n[2] = shape[1];
    return ASN_OK;
}

/* ---- EmbeddingBag(weight, indices, offsets, scaleGradByFreq, mode, sparse,
 * perSampleWeights, includeLastOffset, paddingIdx, output, offset2bag, bagSize,
 * maxIndices); mode 0 sum, 1 mean, 2 max. scaleGradByFreq and sparse concern the
 * gradient. The three auxiliary outputs are what torch.embedding_bag returns. */

/* The arrays of a call: weight is (rows, width), out (bags, width), of their own dtypes.
 * A bag's indices begin at offset[bag] and end where the next one begins, the last one's
 * at `end`. */
typedef struct {
    const asnd_nd *weight, *out;
    const double *sample;
    const int64_t *index, *offset;
    int64_t *bag_of, *size, *arg_max;
    int64_t rows, width, num_indices, end, bags, padding, mode;
} bags;

static int64_t end_of(const bags *b, int64_t bag) {
    return bag + 1 < b->bags ? b->offset[bag + 1] : b->end;
}

/* All offsets and indices, before an output is written. */
static asn_status check_bags(const bags *b) {
    for (int64_t bag = 0; bag < b->bags; bag++) {
        const int64_t first = b->offset[bag], end = end_of(b, bag);
        if (first < 0 || end > b->num_indices || first > end)
            return asn_error_set(ASN_ERR_INDEX, "bag %lld goes from %lld to %lld of %lld",
                                 (long long)bag, (long long)first, (long long)end,
                                 (long long)b->num_indices);
        for (int64_t i = first; i < end; i++)
            if (b->index[i] < 0 || b->index[i] >= b->rows)
                return bad_index("index", b->index[i], b->rows);
    }
    return ASN_OK;
}

/* A row's columns enter its bag's. The first of equal maxima stays; NaN is one
 * only where it comes first. */
static void add_row(const bags *b, int64_t bag, int64_t left, int64_t w, int64_t i,
                    bool first, double *sum) {
    const asnd_kernels *by = asn_kernels_get();
    const asn_dtype t = b->weight->dtype;
    const int64_t r = b->index[i];
    double row[COLUMNS];
    by->cast[t][ASN_F64](
        w, row, b->weight->data + (r * b->width + left) * asn_itemsize(t), NULL, NULL);
    if (b->mode != 2) {
        if (b->sample) by->times[ASN_F64](w, row, row, b->sample[i]);
        by->ew[ASN_OP_ADD][ASN_F64](w, sum, sum, row, NULL);
        return;
    }
    for (int64_t k = 0; k < w; k++)
        if (first || row[k] > sum[k]) {
            sum[k] = row[k];
            b->arg_max[bag * b->width + left + k] = r;
        }
}

/* Computes `w` columns of a row of `out`, few enough for the first cache. An empty bag is
 * 0. Padding counts for nothing, not even in the mean. */
static void some_columns(const bags *b, int64_t bag, int64_t left, int64_t w) {
    const asn_dtype t = b->out->dtype;
    double sum[COLUMNS] = {0};
    bool first = true;
    for (int64_t i = b->offset[bag]; i < end_of(b, bag); i++) {
        if (b->index[i] == b->padding) continue;
        add_row(b, bag, left, w, i, first, sum);
        first = false;
    }
    for (int64_t k = 0; k < w && b->mode == 1 && b->size[bag] > 0; k++)
        sum[k] /= (double)b->size[bag];
    asn_kernels_get()->cast[ASN_F64][t](
        w, b->out->data + (bag * b->width + left) * asn_itemsize(t), sum, NULL, NULL);
}

/* (asnd_pool_fn) Rows of `out` and their share of the auxiliary outputs. */
static void some_bags(void *ctx, int64_t task) {
    const bags *b = ctx;
    const int64_t end = (task + 1) * b->bags / TASKS;
    for (int64_t bag = task * b->bags / TASKS; bag < end; bag++) {
        for (int64_t i = b->offset[bag]; i < end_of(b, bag); i++) {
            b->bag_of[i] = bag;
            b->size[bag] += b->index[i] != b->padding;
        }
        for (int64_t left = 0; left < b->width; left += COLUMNS)
            some_columns(b, bag, left, asn_least(b->width - left, COLUMNS));
    }
}

/* Writes n positions where the output has exactly that room: CANN's outputs are 1-d, some
 * empty by mode. */
static asn_status store_positions(aclOpExecutor *e, int operand, const int64_t *values,
                                  int64_t n) {
    const asnd_nd *out = asn_exec_nd(e, operand);
    if (asn_nd_size(out) != n) return ASN_OK;
    asnd_view v;
    asn_view_plain(&v, ASN_I64, out->ndim, out->shape, (void *)(uintptr_t)values);
    return asn_move(out, &v.nd);
}

static asn_status embedding_bag_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asnd_view weight, indices, offsets, sample, out;
    ASN_TRY(asn_packed_in(e, p, 0, asn_exec_nd(e, p->at[0])->dtype, tmp, &weight));
    ASN_TRY(asn_packed_in(e, p, 1, ASN_I64, tmp, &indices));
    ASN_TRY(asn_packed_in(e, p, 2, ASN_I64, tmp, &offsets));
    if (p->at[6] >= 0) ASN_TRY(asn_packed_in(e, p, 6, ASN_F64, tmp, &sample));
    ASN_TRY(asn_packed_out(e, p, 9, asn_exec_nd(e, p->at[9])->dtype, tmp, &out));
    int64_t n = p->n[0], count = p->n[1], width = p->n[2];
    /* One block for all auxiliary outputs, zeroed; those of mode 2 have maxima's. */
    const int64_t maxima = p->arg[4].i == 2 ? count * width : 0;
    size_t room = (size_t)(n + count + maxima + 1) * sizeof(int64_t);
    int64_t *positions = asn_tmp_alloc(tmp, room);
    if (positions == NULL) return ASN_ERR_MEMORY;
    memset(positions, 0, room);
    bags b = {.weight = &weight.nd,
              .out = &out.nd,
              .sample = p->at[6] >= 0 ? (const double *)(void *)sample.nd.data : NULL,
              .index = (const int64_t *)(void *)indices.nd.data,
              .offset = (const int64_t *)(void *)offsets.nd.data,
              .bag_of = positions,
              .size = positions + n,
              .arg_max = positions + n + count,
              .rows = weight.shape[0],
              .width = width,
              .num_indices = n,
              .end = n,
              .bags = count,
              .padding = p->arg[8].i,
              .mode = p->arg[4].i};
    if (p->arg[7].i) b.end = b.offset[count]; /* what comes after it is in no bag */
    ASN_TRY(check_bags(&b));
    asn_pool_run(some_bags, &b, TASKS, 0.5 * (double)(n + count) * (double)width);
    ASN_TRY(asn_packed_done(e, p, 9, &out));
    ASN_TRY(store_positions(e, p->at[10], b.bag_of, n));
    ASN_TRY(store_positions(e, p->at[11], b.size, count));
    return store_positions(e, p->at[12], b.mode == 2 ? b.arg_max : b.size,
                           b.mode == 2 ? maxima : count);
}

/* offsets holds a bag's beginning each and, with includeLastOffset, the end of the
 * last. */
asn_status asn_planner_embedding_bag(asnd_call *c) {
    const asnd_nd *weight = asn_call_nd(c, 0), *indices = asn_call_nd(c, 1),
                  *offsets = asn_call_nd(c, 2), *sample = asn_call_nd(c, 6);
    int64_t mode = asn_call_int(c, 4);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_floating(c, 9));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 1, 1));
    ASN_TRY(asn_call_rank(c, 2, 1, 1));
    ASN_TRY(asn_index_dtype(c, 1, indices));
    ASN_TRY(asn_index_dtype(c, 2, offsets));
    if (mode < 0 || mode > 2 || (sample != NULL && mode != 0))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: mode is %lld; it must be 0 (sum), 1 (mean) or 2 (max), "
                             "and 0 with perSampleWeights",
                             c->op->name, (long long)mode);
    if (sample != NULL) ASN_TRY(asn_call_same_shape(c, 6, 1, indices->shape));
    if (sample != NULL) ASN_TRY(asn_call_floating(c, 6));
    int64_t bags_count = offsets->shape[0] - (asn_call_int(c, 7) ? 1 : 0);
    int64_t shape[2] = {bags_count < 0 ? 0 : bags_count, weight->shape[1]};
    ASN_TRY(asn_call_same_shape(c, 9, 2, shape));
    for (int i = 10; i < 13; i++)
        ASN_TRY(asn_call_position_dtype(c, i));
    if (shape[0] == 0) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, embedding_bag_body,
                                     500 + 2 * (double)(indices->shape[0] * shape[1]));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->n[0] = indices->shape[0];
    p->n[1] = shape[0];
    p->n[2] = shape[1];
    return ASN_OK;
}

/* ---- Renorm(self, p, dim, maxNorm, out), InplaceRenorm; EmbeddingRenorm(selfRef,
 * indices, maxNorm, normType): slices whose norm is above the bound are scaled to it */

/* Where a slice's elements lie: `outer` pieces of `inner` numbers, `step` apart; a
 * complex element is two numbers (wide 2). */
typedef struct {
    int64_t outer, step, inner;
    int wide;
} slice;

/* The norm of order p of a slice. */
static double norm_of(const double *x, const slice *s, double p) {
    double sum = 0;
    for (int64_t i = 0; i < s->outer; i++)
        for (int64_t k = 0; k < s->inner; k += s->wide) {
            const double *v = x + i * s->step + k;
            double a = s->wide == 2 ? hypot(v[0], v[1]) : fabs(v[0]);
            if (isinf(p)) {
                sum = a > sum || isnan(a) ? a : sum;
            } else {
                sum += p == 2 ? a * a : p == 1 ? a : p == 0 ? a != 0 : pow(a, p);
            }
        }
    return isinf(p) || p == 0 || p == 1 ? sum : p == 2 ? sqrt(sum) : pow(sum, 1 / p);
}

/* Scales a slice in place, whose norm is above the bound; 1e-7 keeps the result below it,
 * as torch has it. */
static void renorm_slice(double *x, const slice *s, double p, double bound) {
    double norm = norm_of(x, s, p);
    if (!(norm > bound)) return;
    double scale = bound / (norm + 1e-7);
    for (int64_t i = 0; i < s->outer; i++)
        for (int64_t k = 0; k < s->inner; k++)
            x[i * s->step + k] *= scale;
}

/* Slice i of the dimension: n[0] pieces of n[2] elements, n[1] * n[2] apart, in a copy of
 * float64 or complex128. */
static asn_status renorm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]);
    asnd_view v;
    bool pairs = asn_is_complex(in->dtype);
    ASN_TRY(asn_tmp_view(tmp, pairs ? ASN_C128 : ASN_F64, in->ndim, in->shape, &v));
    ASN_TRY(asn_move(&v.nd, in));
    double *x = (double *)(void *)v.nd.data;
    int wide = pairs ? 2 : 1;
    slice s = {p->n[0], p->n[1] * p->n[2] * wide, p->n[2] * wide, wide};
    for (int64_t i = 0; i < p->n[1]; i++)
        renorm_slice(x + i * s.inner, &s, p->arg[1].f, p->arg[3].f);
    return asn_packed_done(e, p, p->kind, &v);
}

/* The order of a norm is above 0, the bound not negative; NaN is refused. */
static asn_status check_norm(const asnd_call *c, double norm, double bound) {
    if (norm > 0 && bound >= 0) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: the norm is of order %g, above 0, and at most %g, not "
                         "negative",
                         c->op->name, norm, bound);
}

/* n[0], n[1], n[2]: the product of extents before dim, dim's, the product after it. */
asn_status asn_planner_renorm(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0);
    int out = asn_call_out(c), axis = 0;
    double order, bound;
    if (asn_is_complex(self->dtype)) {
        ASN_TRY(asn_call_same_dtype(c, 0, out));
    } else {
        ASN_TRY(asn_call_floating(c, 0));
        ASN_TRY(asn_call_floating(c, out));
    }
    ASN_TRY(asn_call_rank(c, 0, 2, ASN_ND_MAX_DIMS));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), self->ndim, &axis));
    ASN_TRY(asn_call_number(c, 1, &order));
    ASN_TRY(asn_call_number(c, 3, &bound));
    ASN_TRY(check_norm(c, order, bound));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, renorm_body, 300 + 4 * (double)asn_nd_size(self));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = out;
    p->n[0] = p->n[2] = 1;
    for (int d = 0; d < self->ndim; d++)
        if (d != axis) p->n[d < axis ? 0 : 2] *= self->shape[d];
    p->n[1] = self->shape[axis];
    return ASN_OK;
}

/* In place, the rows that are named, each once however often it is named. */
static asn_status embedding_renorm_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *table = asn_exec_nd(e, p->at[0]);
    asnd_view indices, row, v;
    ASN_TRY(asn_packed_in(e, p, 1, ASN_I64, tmp, &indices));
    const int64_t *index = (const int64_t *)(void *)indices.nd.data;
    int64_t n = asn_nd_size(&indices.nd), rows = table->shape[0], *counts;
    ASN_TRY(counts_of(index, n, rows, tmp, &counts));
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, 1, table->shape + 1, &v));
    for (int64_t i = 0; i < rows; i++) {
        if (counts[i] == 0) continue;
        asn_view_set(&row, table);
        asn_view_slice(&row, 0, i, 1, 1);
        asn_view_drop(&row, 0);
        ASN_TRY(asn_move(&v.nd, &row.nd));
        slice s = {1, 0, v.shape[0], 1};
        renorm_slice((double *)(void *)v.nd.data, &s, p->arg[3].f, p->arg[2].f);
        ASN_TRY(asn_move(&row.nd, &v.nd));
    }
    return ASN_OK;
}

/* p->arg: 2 is the bound, 3 the order. */
asn_status asn_planner_embedding_renorm(asnd_call *c) {
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_index_dtype(c, 1, asn_call_nd(c, 1)));
    ASN_TRY(check_norm(c, asn_call_double(c, 3), asn_call_double(c, 2)));
    if (asn_call_operand(c, 1)->is_empty || asn_call_nd(c, 0)->shape[1] == 0)
        return ASN_OK;
    return asn_packed_plan(c, embedding_renorm_body,
                           300 + 100 * (double)asn_nd_size(asn_call_nd(c, 1)))
               ? ASN_OK
               : ASN_ERR_MEMORY;
}
