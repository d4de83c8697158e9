/* CPU device, operators: products of experts joined with the exchange of their tokens.
 *
 * AlltoAllvGroupedMatMul: tokens go to the ranks of their experts; permuteOut has them by
 * expert, then by the rank they came from; gmmY is each expert's rows times its weight.
 *
 * GroupedMatMulAlltoAllv, the way back: gmmX lies by expert, then by rank; its products
 * go to the ranks that the tokens came from.
 *
 * Both multiply mmX by mmWeight beside, for an expert that all ranks share. Counts are of
 * tokens, [r * experts + j]: those of rank r and its, or this rank's, j-th expert. A rank
 * without tokens takes part nevertheless.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/joined/joined.h"

/* Operands, -1: absent. sends, receives: of the calls, in the executor. */
typedef struct {
    asnd_plan_head head;
    int x, weight, shared, shared_weight, y, shared_y, permuted;
    bool turn_weight, turn_shared, back;
    uint32_t ranks;
    int64_t experts;
    const int64_t *sends, *receives;
} experts_plan;

/* c = a @ b, matrices; through a temporary where c lies in an operand. */
static asn_status multiply(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c,
                           asnd_tmp *tmp) {
    asnd_view to;
    if (asn_nd_size(c) == 0) return ASN_OK;
    /* The kernel wants a result that lies in neither operand. */
    if (!asn_nds_meet(a, c) && !asn_nds_meet(b, c)) return asn_cpu_matmul(a, b, c);
    ASN_TRY(asn_tmp_view(tmp, c->dtype, 2, c->shape, &to));
    ASN_TRY(asn_cpu_matmul(a, b, &to.nd));
    return asn_move(c, &to.nd);
}

/* Each expert's rows of x times its weight. counts: of x's rows. */
static asn_status multiply_experts(aclOpExecutor *e, const experts_plan *p,
                                   const int64_t *counts, const asnd_nd *x,
                                   const asnd_nd *y, asnd_tmp *tmp) {
    int64_t row = 0;
    for (int64_t j = 0; j < p->experts; j++) {
        int64_t n = 0;
        for (uint32_t r = 0; r < p->ranks; r++)
            n += counts[r * p->experts + j];
        asnd_view a, b, c;
        /* Rows of one expert follow each other, from all ranks. */
        asn_view_set(&a, x);
        asn_view_slice(&a, 0, row, n, 1);
        asn_view_set(&c, y);
        asn_view_slice(&c, 0, row, n, 1);
        asn_view_set(&b, asn_exec_nd(e, p->weight));
        asn_view_slice(&b, 0, j, 1, 1);
        asn_view_drop(&b, 0);
        if (p->turn_weight) asn_view_swap_last(&b);
        ASN_TRY(multiply(&a.nd, &b.nd, &c.nd, tmp));
        row += n;
    }
    return ASN_OK;
}

/* A row-major temporary of `like`'s dtype and rows, `width` wide. */
static asn_status rows_new(const asnd_nd *like, int64_t rows, int64_t width,
                           asnd_tmp *tmp, asnd_view *v) {
    return asn_tmp_view(tmp, like->dtype, 2, (int64_t[]){rows, width}, v);
}

/* First the exchange, then the products: rows come by rank and are put in the experts'
 * order, which permuteOut shows to the program. */
static asn_status to_experts(aclOpExecutor *e, const experts_plan *p, asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y), *in = asn_exec_nd(e, p->x);
    int64_t width = in->shape[1], item = asn_itemsize(in->dtype);
    asnd_view x, got, sorted;
    ASN_TRY(asn_packed_of(in, in->dtype, tmp, &x));
    ASN_TRY(rows_new(in, y->shape[0], width, tmp, &got));
    ASN_TRY(rows_new(in, y->shape[0], width, tmp, &sorted));
    ASN_TRY(asn_join_rows(e, in->dtype, width, p->sends, p->receives, p->ranks,
                          p->experts, x.nd.data, got.nd.data, tmp));
    ASN_TRY(asn_join_permute(p->receives, p->ranks, p->experts, false, width * item,
                             got.nd.data, sorted.nd.data, tmp));
    ASN_TRY(multiply_experts(e, p, p->receives, &sorted.nd, y, tmp));
    return p->permuted < 0 ? ASN_OK : asn_move(asn_exec_nd(e, p->permuted), &sorted.nd);
}

/* First the products, then the exchange. sendCounts are of the rows of gmmX,
 * recvCounts of those that come home, in the order in which their tokens had left. */
static asn_status from_experts(aclOpExecutor *e, const experts_plan *p, asnd_tmp *tmp) {
    const asnd_nd *y = asn_exec_nd(e, p->y), *in = asn_exec_nd(e, p->x);
    int64_t width = y->shape[1], item = asn_itemsize(in->dtype);
    asnd_view product, sorted, out;
    ASN_TRY(rows_new(in, in->shape[0], width, tmp, &product));
    ASN_TRY(rows_new(in, in->shape[0], width, tmp, &sorted));
    ASN_TRY(rows_new(in, y->shape[0], width, tmp, &out));
    ASN_TRY(multiply_experts(e, p, p->sends, in, &product.nd, tmp));
    ASN_TRY(asn_join_permute(p->sends, p->ranks, p->experts, true, width * item,
                             product.nd.data, sorted.nd.data, tmp));
    ASN_TRY(asn_join_rows(e, in->dtype, width, p->sends, p->receives, p->ranks,
                          p->experts, sorted.nd.data, out.nd.data, tmp));
    return asn_move(y, &out.nd);
}

/* The shared expert's product has nothing to do with the exchange; it comes behind it,
 * so that the other ranks do not wait for it. */
static asn_status experts_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const experts_plan *p = plan;
    ASN_TRY(p->back ? from_experts(e, p, tmp) : to_experts(e, p, tmp));
    if (p->shared < 0) return ASN_OK;
    asnd_view w;
    asn_view_set(&w, asn_exec_nd(e, p->shared_weight));
    if (p->turn_shared) asn_view_swap_last(&w);
    return multiply(asn_exec_nd(e, p->shared), &w.nd, asn_exec_nd(e, p->shared_y), tmp);
}

/* ---- planning */

/* A copy of the counts of parameter `name`, whose sum must be `rows`. */
static asn_status take_counts(asnd_call *c, const experts_plan *p, const char *name,
                              int64_t rows, const int64_t **counts) {
    const asnd_array *list = asn_call_array(c, asn_call_param_named(c, name));
    const int64_t *v = list->data;
    int64_t want = p->experts * p->ranks, sum = 0;
    /* Differences, not sums, are compared with the rows: numbers as large as they may
     * be do not overflow. */
    bool fits = (int64_t)list->size == want;
    for (int64_t i = 0; fits && i < want; i++) {
        fits = v[i] >= 0 && v[i] <= rows - sum;
        sum += fits ? v[i] : 0;
    }
    if (!fits || sum != rows)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has %llu numbers; it must have %lld, an expert's "
                             "for each rank, that add up to %lld rows",
                             c->op->name, name, (unsigned long long)list->size,
                             (long long)want, (long long)rows);
    /* The array may be gone when the body runs. */
    int64_t *copy = asnop_executor_alloc(c->e, list->size * sizeof *copy + 1);
    if (copy == NULL) return asn_call_no_memory();
    for (int64_t i = 0; i < want; i++)
        copy[i] = v[i];
    *counts = copy;
    return ASN_OK;
}

/* Operand of the parameter; -1: absent, or empty as torch_npu passes it. */
static int present(const asnd_call *c, const char *name) {
    int at = asn_call_operand_named(c, name);
    return at >= 0 && c->e->operands[at].nd.ndim == 1 && c->e->operands[at].is_empty ? -1
                                                                                     : at;
}

/* The error of matrices that do not multiply. */
static asn_status no_product(const asnd_call *c, const char *what) {
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: the shapes or dtypes of %s do not go with each other",
                         c->op->name, what);
}

/* a (m, k) times b (k, n), or (n, k) turned, is y: matrices of one floating dtype. b: the
 * last two dimensions of its tensor. */
static bool multiplies(const asnd_call *c, int a, int b, int y, bool turned,
                       bool same_rows) {
    const asnd_nd *x = &c->e->operands[a].nd, *w = &c->e->operands[b].nd;
    const asnd_nd *to = &c->e->operands[y].nd;
    if (x->ndim != 2 || to->ndim != 2 || w->ndim < 2 || !asn_is_floating(x->dtype) ||
        x->dtype != w->dtype || x->dtype != to->dtype)
        return false;
    int64_t k = w->shape[w->ndim - (turned ? 1 : 2)],
            n = w->shape[w->ndim - (turned ? 2 : 1)];
    return x->shape[1] == k && to->shape[1] == n &&
           (!same_rows || to->shape[0] == x->shape[0]);
}

/* The expert that all ranks share: mmX, mmWeight and mmY, or none of them. */
static asn_status take_shared(const asnd_call *c, experts_plan *p) {
    p->shared = present(c, "mmXOptional");
    p->shared_weight = present(c, "mmWeightOptional");
    p->shared_y = present(c, "mmYOptional");
    bool all = p->shared >= 0 && p->shared_weight >= 0 && p->shared_y >= 0;
    if (!all && p->shared < 0 && p->shared_weight < 0 && p->shared_y < 0) return ASN_OK;
    if (!all || c->e->operands[p->shared_weight].nd.ndim != 2 ||
        !multiplies(c, p->shared, p->shared_weight, p->shared_y, p->turn_shared, true))
        return no_product(c, "mmX, mmWeight and mmY");
    return ASN_OK;
}

/* arg 1: GroupedMatMulAlltoAllv, the way back. */
asn_status asn_planner_joined_experts(asnd_call *c) {
    experts_plan p = {.back = c->op->arg == 1, .permuted = -1};
    uint32_t rank = 0;
    int flag = asn_call_param_named(c, "permuteOutFlag");
    p.turn_weight = asn_call_int(c, asn_call_param_named(c, "transGmmWeight")) != 0;
    p.turn_shared = asn_call_int(c, asn_call_param_named(c, "transMmWeight")) != 0;
    ASN_TRY(asn_join_reserved(c));
    ASN_TRY(asn_join_group(c, "group", &p.ranks, &rank));
    int64_t size = asn_call_int(c, asn_call_param_named(c, "epWorldSize"));
    if (size != p.ranks)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: epWorldSize is %lld; the group has %u ranks",
                             c->op->name, (long long)size, p.ranks);
    p.x = c->first[0];
    p.weight = c->first[1];
    p.y = c->first[asn_call_param_named(c, p.back ? "y" : "gmmY")];
    ASN_TRY(asn_call_rank(c, 1, 3, 3));
    if (!multiplies(c, p.x, p.weight, p.y, p.turn_weight, false))
        return no_product(c,
                          p.back ? "gmmX, gmmWeight and y" : "gmmX, gmmWeight and gmmY");
    p.experts = asn_call_nd(c, 1)->shape[0];
    const asnd_nd *x = asn_call_nd(c, 0), *y = &c->e->operands[p.y].nd;
    ASN_TRY(take_shared(c, &p));
    if (flag >= 0 && asn_call_int(c, flag) != 0) {
        p.permuted = present(c, "permuteOutOptional");
        int64_t want[] = {y->shape[0], x->shape[1]};
        int at = asn_call_param_named(c, "permuteOutOptional");
        if (p.permuted < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER,
                                 "%s: permuteOutFlag is set, permuteOut is NULL",
                                 c->op->name);
        ASN_TRY(asn_call_same_shape(c, at, 2, want));
        ASN_TRY(asn_call_same_dtype(c, at, 0));
    }
    ASN_TRY(take_counts(c, &p, "sendCounts", x->shape[0], &p.sends));
    ASN_TRY(take_counts(c, &p, "recvCounts", y->shape[0], &p.receives));
    return asn_call_keep(c, experts_body, &p, sizeof p,
                         1000 + 10 * (double)asn_nd_size(x));
}
