/* CPU device, operators: FlashAttentionScore and FlashAttentionVarLenScore with their
 * gradients, all versions.
 *
 * Which tensors a version has follows from its parameters' names: rotary parts of query
 * and key, whose products are added, a sink (a score of each head without a value), what
 * it hides (attention.c), a bias pse of the scores:
 *
 *     pseType 0  scale * q k' + pse    1  scale * (q k' + pse), versions without a type
 *     2, 3       scale * q k' - slope * distance, or its root (ALiBi), the distance being
 *                |i + qStartIdx - j - kvStartIdx|
 *
 * softmaxMax and softmaxSum, (B, N, S, 8) or (T, N, 8), hold 8 equal values a row; of a
 * row that sees nothing the least number and 0, and its output is 0. softmaxOut is not
 * written, as in CANN. The kernel is device/cpu/nn/attention.c's.
 */
#include <string.h>

#include "device/opapi/nn/flash_attention.h"

/* An output under way: what the kernel writes, and whether it must be moved. */
typedef struct {
    int operand;
    asnd_view v;
    bool moved;
} written;

typedef struct {
    aclOpExecutor *e;
    asnd_tmp *tmp;
    const asnd_flash *p;
    const asnd_nd *inputs[7];
    written out[10];
    int num_out;
} flash_run;

/* The rows of an input, d columns a head; absent operands leave r as it is. */
static asn_status read_rows(flash_run *f, int operand, asnd_attn_layout layout, int64_t d,
                            asnd_rows *r) {
    asnd_view v;
    if (operand < 0) return ASN_OK;
    ASN_TRY(asn_attn_input(f->tmp, asn_exec_nd(f->e, operand), &v));
    asn_attn_rows(r, &v.nd, layout, d);
    return ASN_OK;
}

/* The same of an output, remembered for move_results. */
static asn_status write_rows(flash_run *f, int operand, asnd_attn_layout layout,
                             int64_t d, asnd_rows *r) {
    if (operand < 0) return ASN_OK;
    written *w = &f->out[f->num_out++];
    w->operand = operand;
    ASN_TRY(asn_attn_output(f->tmp, asn_exec_nd(f->e, operand), f->inputs, 7, &w->v,
                            &w->moved));
    asn_attn_rows(r, &w->v.nd, layout, d);
    return ASN_OK;
}

/* The operands that both directions read. */
static asn_status read_inputs(flash_run *f, asnd_attention *a) {
    const asnd_flash *p = f->p;
    for (int k = 0; k < 2; k++) {
        ASN_TRY(read_rows(f, p->q[k], p->layout, a->d[k], &a->q[k]));
        ASN_TRY(read_rows(f, p->k[k], p->layout, a->d[k], &a->k[k]));
    }
    ASN_TRY(read_rows(f, p->v, p->layout, a->dv, &a->v));
    if (p->mask >= 0)
        ASN_TRY(asn_attn_scores(f->tmp, asn_exec_nd(f->e, p->mask), p->batches, a->heads,
                                p->longest_q, p->longest_k, &a->mask));
    asnd_view v;
    if (p->drop >= 0) {
        const asnd_nd *drop = asn_exec_nd(f->e, p->drop);
        ASN_TRY(asn_tmp_as(f->tmp, drop, ASN_U8, &v));
        if (!asn_nd_is_contiguous(&v.nd)) {
            ASN_TRY(asn_tmp_view(f->tmp, ASN_U8, drop->ndim, drop->shape, &v));
            ASN_TRY(asn_move(&v.nd, drop));
        }
        a->drop = (const uint8_t *)v.nd.data;
    }
    if (p->sink >= 0) {
        const asnd_nd *sink = asn_exec_nd(f->e, p->sink);
        ASN_TRY(asn_tmp_view(f->tmp, ASN_F32, 1, sink->shape, &v));
        ASN_TRY(asn_move(&v.nd, sink));
        a->sink = (const float *)v.nd.data;
    }
    if (p->pse < 0) return ASN_OK;
    const asnd_nd *pse = asn_exec_nd(f->e, p->pse);
    if (a->slopes.dtype == ASN_DTYPE_NONE)
        return asn_attn_scores(f->tmp, pse, p->batches, a->heads, p->longest_q,
                               p->longest_k, &a->pse);
    ASN_TRY(asn_tmp_view(f->tmp, ASN_F32, pse->ndim, pse->shape, &v));
    ASN_TRY(asn_move(&v.nd, pse));
    a->slopes = (asnd_rows){v.nd.data, pse->ndim == 2 ? v.strides[0] : 0,
                            v.strides[pse->ndim - 1], 0, ASN_F32};
    return ASN_OK;
}

/* Results go to where the program wants them. */
static asn_status move_results(flash_run *f) {
    for (int k = 0; k < f->num_out; k++)
        if (f->out[k].moved)
            ASN_TRY(asn_move(asn_exec_nd(f->e, f->out[k].operand), &f->out[k].v.nd));
    return ASN_OK;
}

/* The inputs that no output may overlap while the kernel runs. */
static void begin(flash_run *f, aclOpExecutor *e, const asnd_flash *p, asnd_tmp *tmp) {
    const int of[] = {
        p->q[0], p->q[1], p->k[0], p->k[1], p->v, p->dout, p->backward ? p->out : -1};
    f->e = e;
    f->tmp = tmp;
    f->p = p;
    f->num_out = 0;
    for (int k = 0; k < 7; k++)
        f->inputs[k] = of[k] < 0 ? NULL : asn_exec_nd(e, of[k]);
}

asn_status asn_flash_forward(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_flash *p = plan;
    flash_run f;
    asnd_attention a = p->a;
    begin(&f, e, p, tmp);
    ASN_TRY(read_inputs(&f, &a));
    ASN_TRY(write_rows(&f, p->out, p->layout, a.dv, &a.out));
    ASN_TRY(
        write_rows(&f, p->max, asn_flash_statistics(p), ASN_FLASH_STATISTICS, &a.max));
    ASN_TRY(
        write_rows(&f, p->sum, asn_flash_statistics(p), ASN_FLASH_STATISTICS, &a.sum));
    ASN_TRY(asn_attention_forward(&a));
    return move_results(&f);
}

/* pse's gradient, in the arithmetic's dtype, in a zeroed temporary of pse's shape. */
static asn_status dpse_rows(flash_run *f, asnd_attention *a, asnd_view *sums) {
    const asnd_nd *pse = asn_exec_nd(f->e, f->p->pse);
    ASN_TRY(asn_tmp_view(f->tmp, a->t, pse->ndim, pse->shape, sums));
    memset(sums->nd.data, 0, (size_t)(asn_nd_size(&sums->nd) * asn_itemsize(a->t)));
    return asn_attn_scores(f->tmp, &sums->nd, f->p->batches, a->heads, f->p->longest_q,
                           f->p->longest_k, &a->dpse);
}

/* The sum over sequences, in their order. */
static asn_status write_dsink(flash_run *f, const asnd_attention *a) {
    const int64_t shape[] = {a->heads};
    asnd_view sums;
    ASN_TRY(asn_tmp_view(f->tmp, ASN_F64, 1, shape, &sums));
    double *to = (double *)sums.nd.data;
    for (int64_t h = 0; h < a->heads; h++) {
        to[h] = 0;
        for (int64_t s = 0; s < a->num_sequences; s++)
            to[h] += a->dsink[s * a->heads + h];
    }
    return asn_move(asn_exec_nd(f->e, f->p->dsink), &sums.nd);
}

asn_status asn_flash_backward(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_flash *p = plan;
    flash_run f;
    asnd_view dpse;
    asnd_attention a = p->a;
    begin(&f, e, p, tmp);
    ASN_TRY(read_inputs(&f, &a));
    ASN_TRY(read_rows(&f, p->out, p->layout, a.dv, &a.out));
    ASN_TRY(read_rows(&f, p->dout, p->layout, a.dv, &a.dout));
    ASN_TRY(read_rows(&f, p->max, asn_flash_statistics(p), ASN_FLASH_STATISTICS, &a.max));
    ASN_TRY(read_rows(&f, p->sum, asn_flash_statistics(p), ASN_FLASH_STATISTICS, &a.sum));
    for (int k = 0; k < 2; k++) {
        ASN_TRY(write_rows(&f, p->dq[k], p->layout, a.d[k], &a.dq[k]));
        ASN_TRY(write_rows(&f, p->dk[k], p->layout, a.d[k], &a.dk[k]));
    }
    ASN_TRY(write_rows(&f, p->dvalue, p->layout, a.dv, &a.dvalue));
    if (p->dpse >= 0) ASN_TRY(dpse_rows(&f, &a, &dpse));
    if (p->sink >= 0) {
        size_t size = (size_t)(a.num_sequences * a.heads) * sizeof *a.dsink;
        a.dsink = asn_tmp_alloc(tmp, size);
        if (a.dsink == NULL) return ASN_ERR_MEMORY;
        memset(a.dsink, 0, size);
    }
    ASN_TRY(asn_attention_backward(&a));
    ASN_TRY(move_results(&f));
    if (p->dsink >= 0) ASN_TRY(write_dsink(&f, &a));
    return p->dpse < 0 ? ASN_OK : asn_move(asn_exec_nd(e, p->dpse), &dpse.nd);
}
