/* CPU device, operators: ScatterReduce(self, dim, index, src, reduction, includeSelf,
 * out), in place or not: torch.scatter_reduce.
 *
 * out is self, and every element of src is reduced into the element of out that index
 * names along the dimension. Without includeSelf the elements that are named start from
 * the reduction's identity instead. reduction, as PyTorch's NPU backend numbers them: 0
 * stores, 1 sum, 2 prod, 3 amax, 4 amin, 5 mean.
 *
 * A mean is a sum, divided by how many elements came together: one for self, if it takes
 * part, and one for each index, counted by a scatter of ones; integers are divided
 * downwards. Halves are reduced in float32 and rounded once.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/index/index.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

enum { STORE, SUM, PROD, AMAX, AMIN, MEAN, REDUCTIONS };

static const asn_op OPS[REDUCTIONS] = {ASN_OP_NONE,    ASN_OP_ADD,     ASN_OP_MULTIPLY,
                                       ASN_OP_MAXIMUM, ASN_OP_MINIMUM, ASN_OP_ADD};

/* Operands. */
typedef struct {
    asnd_plan_head head;
    int self, index, src, out, axis, reduction;
    bool include;
    asn_dtype loop;
    _Alignas(16) uint8_t identity[16], one[16]; /* of dtype loop */
} reduce_plan;

/* A view of index's shape over one element. */
static void stretched(asnd_view *v, asn_dtype dtype, const asnd_view *index,
                      const void *element) {
    int64_t one = 1;
    asn_view_plain(v, dtype, 0, &one, (void *)(uintptr_t)element);
    asn_view_broadcast(v, index->nd.ndim, index->shape);
}

/* All elements become this one. */
static asn_status fill(const asnd_nd *a, const void *element) {
    asnd_view v;
    int64_t one = 1;
    asn_view_plain(&v, a->dtype, 0, &one, (void *)(uintptr_t)element);
    asn_view_broadcast(&v, a->ndim, a->shape);
    return asn_move(a, &v.nd);
}

/* sum /= count, which is at least 1. */
static asn_status divide(const asnd_nd *sum, const asnd_nd *count) {
    asn_dtype t = sum->dtype;
    asn_op op = asn_is_integer(t) ? ASN_OP_FLOOR_DIVIDE : ASN_OP_DIVIDE;
    asnd_prog p;
    asn_prog_begin(&p, sum->ndim, sum->shape, 0);
    int x = asn_prog_in(&p, sum), n = asn_prog_in(&p, count);
    if (!asn_is_complex(t))
        n = asn_prog_op2(&p, ASN_OP_MAXIMUM, n, asn_prog_const(&p, t, 1));
    asn_prog_out(&p, asn_prog_op2(&p, op, x, n), sum);
    return asn_prog_run(&p);
}

/* Counts what the sums are made of, and divides by it. */
static asn_status average(const reduce_plan *p, const asnd_nd *sum,
                          const asnd_view *index, asnd_tmp *tmp) {
    static const uint8_t zero[16];
    asnd_view count, ones;
    ASN_TRY(asn_tmp_view(tmp, p->loop, sum->ndim, sum->shape, &count));
    ASN_TRY(fill(&count.nd, p->one));
    stretched(&ones, p->loop, index, zero);
    if (!p->include)
        ASN_TRY(asn_cpu_scatter(&count.nd, p->axis, &index->nd, &ones.nd, ASN_OP_NONE));
    stretched(&ones, p->loop, index, p->one);
    ASN_TRY(asn_cpu_scatter(&count.nd, p->axis, &index->nd, &ones.nd, ASN_OP_ADD));
    return divide(sum, &count.nd);
}

/* Works in the output where it is of the dtype that is computed in and no other operand
 * shares its memory but self in place, else in a temporary. */
static asn_status reduce_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const reduce_plan *p = plan;
    const asnd_nd *self = asn_exec_nd(e, p->self), *out = asn_exec_nd(e, p->out);
    asnd_view to, index, src, first;
    bool direct = out->dtype == p->loop && !asn_nds_meet(out, asn_exec_nd(e, p->src)) &&
                  !asn_nds_meet(out, asn_exec_nd(e, p->index));
    if (direct)
        asn_view_set(&to, out);
    else
        ASN_TRY(asn_tmp_view(tmp, p->loop, out->ndim, out->shape, &to));
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->index), ASN_I64, &index));
    ASN_TRY(asn_tmp_as(tmp, asn_exec_nd(e, p->src), p->loop, &src));
    asn_view_at_least_1d(&index);
    asn_view_at_least_1d(&src);
    if (!direct || p->self != p->out) ASN_TRY(asn_move(&to.nd, self));
    asn_view_at_least_1d(&to);
    if (asn_nd_size(&index.nd) > 0) {
        /* src may be larger than index; what is beyond it is not read. */
        memcpy(src.shape, index.shape, (size_t)index.nd.ndim * sizeof *src.shape);
        stretched(&first, p->loop, &index, p->identity);
        if (!p->include && p->reduction != STORE)
            ASN_TRY(asn_cpu_scatter(&to.nd, p->axis, &index.nd, &first.nd, ASN_OP_NONE));
        ASN_TRY(asn_cpu_scatter(&to.nd, p->axis, &index.nd, &src.nd, OPS[p->reduction]));
        if (p->reduction == MEAN) ASN_TRY(average(p, &to.nd, &index, tmp));
    }
    if (direct) return ASN_OK;
    asn_view_plain(&first, p->loop, out->ndim, out->shape, to.nd.data);
    return asn_move(out, &first.nd);
}

/* The identity of a reduction in dtype t: the lowest or the largest value for extremes.
 */
static void set_identity(asn_dtype t, int reduction, void *element) {
    int size = asn_itemsize(t);
    bool is_signed = t == ASN_I8 || t == ASN_I16 || t == ASN_I32 || t == ASN_I64;
    if (reduction != AMAX && reduction != AMIN) {
        asn_value_from_double(t, element, reduction == PROD);
        return;
    }
    if (asn_is_floating(t)) {
        asn_value_from_double(t, element, reduction == AMAX ? -INFINITY : INFINITY);
        return;
    }
    /* All bits are alike but for the sign, in the last byte. */
    memset(element, reduction == AMIN ? 0xff : 0, (size_t)size);
    if (is_signed) ((uint8_t *)element)[size - 1] = reduction == AMIN ? 0x7f : 0x80;
}

asn_status asn_planner_scatter_reduce(asnd_call *c) {
    int axis = 0, out = asn_call_out(c);
    const asnd_nd *self = asn_call_nd(c, 0);
    int64_t reduction = asn_call_int(c, 4);
    ASN_TRY(asn_check_along(c, 1, 2, &axis));
    ASN_TRY(asn_check_scattered(c, 2, 3));
    ASN_TRY(asn_call_same_dtype(c, 0, 3));
    ASN_TRY(asn_call_same_dtype(c, 0, out));
    ASN_TRY(asn_call_same_shape(c, out, self->ndim, self->shape));
    if (reduction < 0 || reduction >= REDUCTIONS)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: reduction is %lld; it must be 0 (none), 1 (sum), 2 "
                             "(prod), 3 (amax), 4 (amin) or 5 (mean)",
                             c->op->name, (long long)reduction);
    asn_dtype t =
        self->dtype == ASN_F16 || self->dtype == ASN_BF16 ? ASN_F32 : self->dtype;
    if (reduction != STORE &&
        (t == ASN_BOOL ||
         (asn_is_complex(t) && (reduction == AMAX || reduction == AMIN))))
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: self has dtype %s, which has no such "
                             "reduction",
                             c->op->name, asn_dtype_name(self->dtype));
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    double work =
        300 + 2 * (double)asn_nd_size(self) + 6 * (double)asn_nd_size(asn_call_nd(c, 2));
    reduce_plan *p = asn_call_plan(c, reduce_body, sizeof *p, work);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->self = c->first[0];
    p->index = c->first[2];
    p->src = c->first[3];
    p->out = c->first[out];
    p->axis = axis;
    p->reduction = (int)reduction;
    p->include = asn_call_int(c, 5) != 0;
    p->loop = t;
    set_identity(t, p->reduction, p->identity);
    asn_value_from_double(t, p->one, 1);
    return ASN_OK;
}
