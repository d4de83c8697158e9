/* CPU device, operators: attention of inference: PromptFlashAttention,
 * IncreFlashAttention, FusedInferAttentionScore.
 *
 * out = softmax(scale * q k' + pseShift, what is hidden at -infinity) v, with lengths of
 * each sequence that may be shorter than the tensors: behind them queries get 0 and keys
 * are not seen. Keys and values come as one tensor, as a list with one of each sequence,
 * of which a copy in a row is made, (T, N, D), or as a cache of blocks (blocks, size, H)
 * or (blocks, N, size, D), of which a table names those of each sequence.
 * softmaxLse is the logarithm of the sum of exponentials.
 *
 * In layout TND actualSeqLengths are ends of sequences; those of a cache's keys, and of
 * every other layout, are lengths, one for all or one each. sparseMode is attention.c's.
 * Quantisation, left padding and shared prefixes are not computed: what belongs to them
 * must be NULL. The kernel is device/cpu/nn/attention.c's.
 */
#include "device/opapi/nn/infer_attention.h"

#include "base/integers.h"

/* rows [0, n) of x as a view (n, heads, d). */
static void rows_view(asnd_view *v, const asnd_rows *x, int64_t n, int64_t heads,
                      int64_t d) {
    const int64_t shape[] = {n, heads, d};
    asn_view_plain(v, x->dtype, 3, shape, x->data);
    v->strides[0] = x->row;
    v->strides[1] = x->head;
}

/* The table as the kernel takes it, once each of its blocks that is read is one of the
 * cache. */
static asn_status read_table(aclOpExecutor *e, const asnd_infer *p, asnd_tmp *tmp,
                             asnd_attention *a) {
    asnd_view v;
    const asnd_nd *t = asn_exec_nd(e, p->table);
    int64_t count = asn_exec_nd(e, p->v)->shape[0];
    for (int k = 0; k < 2 && a->d[k] > 0; k++)
        count = asn_least(count, asn_exec_nd(e, p->k[k])->shape[0]);
    ASN_TRY(asn_tmp_view(tmp, ASN_I32, 2, t->shape, &v));
    ASN_TRY(asn_move(&v.nd, t));
    a->table = (const int32_t *)(void *)v.nd.data;
    a->num_blocks = v.shape[1];
    a->block = p->block;
    for (int64_t i = 0; i < a->num_sequences; i++)
        for (int64_t k = 0; k * p->block < p->sequences[i].rows_k; k++) {
            const int64_t block = a->table[i * a->num_blocks + k];
            if (block < 0 || block >= count)
                return asn_error_set(ASN_ERR_VALUE,
                                     "blockTable names block %lld of a cache of %lld",
                                     (long long)block, (long long)count);
        }
    return ASN_OK;
}

/* Keys or values (operand, and those behind it) as rows of d columns. */
static asn_status read_keys(aclOpExecutor *e, const asnd_infer *p, int operand, int64_t d,
                            asnd_tmp *tmp, asnd_rows *r) {
    asnd_view v;
    ASN_TRY(asn_attn_input(tmp, asn_exec_nd(e, operand), &v));
    if (p->table >= 0) {
        asn_attn_rows(r, &v.nd, v.nd.ndim == 3 ? ASN_ATTN_BSH : ASN_ATTN_BNSD, d);
        return ASN_OK;
    }
    if (p->lists <= 1) {
        asn_attn_rows(r, &v.nd, p->layout, d);
        return ASN_OK;
    }
    asnd_view all;
    const int64_t shape[] = {p->all_keys, p->a.kv_heads, d};
    ASN_TRY(asn_tmp_view(tmp, v.nd.dtype, 3, shape, &all));
    asn_attn_rows(r, &all.nd, ASN_ATTN_TND, d);
    for (int64_t i = 0; i < p->a.num_sequences; i++) {
        const asnd_sequence *s = &p->sequences[i];
        asnd_view one, src, dst;
        asnd_rows from, to = *r;
        ASN_TRY(asn_attn_input(tmp, asn_exec_nd(e, operand + (int)i), &one));
        asn_attn_rows(&from, &one.nd, p->layout, d);
        to.data += s->first_k * to.row;
        rows_view(&src, &from, s->rows_k, p->a.kv_heads, d);
        rows_view(&dst, &to, s->rows_k, p->a.kv_heads, d);
        ASN_TRY(asn_move(&dst.nd, &src.nd));
    }
    return ASN_OK;
}

/* The mask; of one query a sequence it may be (batch, keys). */
static asn_status read_mask(aclOpExecutor *e, const asnd_infer *p, asnd_tmp *tmp,
                            asnd_rows *r) {
    asnd_view v;
    asn_view_set(&v, asn_exec_nd(e, p->mask));
    if (p->mask_by_batch) {
        asn_view_insert(&v, 1, 1, 0);
        asn_view_insert(&v, 1, 1, 0);
    }
    return asn_attn_scores(tmp, &v.nd, p->batches, p->a.heads, p->longest_q, p->longest_k,
                           r);
}

asn_status asn_infer_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_infer *p = plan;
    asnd_attention a = p->a;
    asnd_view v, out, lse;
    const asnd_nd *inputs[] = {asn_exec_nd(e, p->q[0]), asn_exec_nd(e, p->k[0]),
                               asn_exec_nd(e, p->v)};
    bool moved = false, lse_moved = false;
    if (p->table >= 0) ASN_TRY(read_table(e, p, tmp, &a));
    for (int k = 0; k < 2 && a.d[k] > 0; k++) {
        ASN_TRY(asn_attn_input(tmp, asn_exec_nd(e, p->q[k]), &v));
        asn_attn_rows(&a.q[k], &v.nd, p->layout, a.d[k]);
        ASN_TRY(read_keys(e, p, p->k[k], a.d[k], tmp, &a.k[k]));
    }
    ASN_TRY(read_keys(e, p, p->v, a.dv, tmp, &a.v));
    if (p->mask >= 0) ASN_TRY(read_mask(e, p, tmp, &a.mask));
    if (p->pse >= 0)
        ASN_TRY(asn_attn_scores(tmp, asn_exec_nd(e, p->pse), p->batches, a.heads,
                                p->longest_q, p->longest_k, &a.pse));
    if (p->sink >= 0) {
        ASN_TRY(asn_tmp_view(tmp, ASN_F32, 1, &a.heads, &v));
        ASN_TRY(asn_move(&v.nd, asn_exec_nd(e, p->sink)));
        a.sink = (const float *)v.nd.data;
    }
    const asnd_nd *to = asn_exec_nd(e, p->out);
    ASN_TRY(asn_attn_output(tmp, to, inputs, 3, &out, &moved));
    asn_attn_rows(&a.out, &out.nd, p->out_layout, a.dv);
    if (p->short_queries) {
        int64_t zero = 0;
        asnd_view zeros;
        asn_view_plain(&zeros, out.nd.dtype, 0, NULL, &zero);
        asn_view_broadcast(&zeros, out.nd.ndim, out.shape);
        ASN_TRY(asn_move(&out.nd, &zeros.nd));
    }
    if (p->lse >= 0) {
        ASN_TRY(
            asn_attn_output(tmp, asn_exec_nd(e, p->lse), inputs, 3, &lse, &lse_moved));
        asn_attn_rows(&a.lse, &lse.nd,
                      p->layout == ASN_ATTN_TND ? ASN_ATTN_TND : ASN_ATTN_BNSD, 1);
    }
    ASN_TRY(asn_attention_forward(&a));
    if (lse_moved) ASN_TRY(asn_move(asn_exec_nd(e, p->lse), &lse.nd));
    return moved ? asn_move(to, &out.nd) : ASN_OK;
}
