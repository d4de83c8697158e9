/* CPU device, operators: planning FlashAttentionScore, FlashAttentionVarLenScore and
 * their gradients (flash_attention.c says what they compute).
 *
 * All versions share this planner, which finds parameters by their names. A tensor that a
 * version lacks is absent, a number has the value that the first version implies.
 */
#include <string.h>

#include "device/opapi/nn/flash_attention.h"

/* Parameters by name, of all versions; -1: this one has none. */
typedef struct {
    int q[2], k[2], v, pse, drop, padding, mask, sink, prefix, lengths_q, lengths_k;
    int start_q, start_k, scale, keep, pre, next, heads, layout, mode, pse_type;
    int max, sum, out, dout, dq[2], dk[2], dvalue, dpse, dsink;
} names;

/* The index of every parameter. The gradient's statistics and output are inputs, with
 * names of their own, and take the places of the forward call's outputs. */
static void find(const asnd_call *c, names *n) {
    /* In the order of the struct's fields, which are written through a pointer to the
     * first: the assertion below sees a field without a name. */
    static const char *const text[] = {"query",
                                       "queryRopeOptional",
                                       "key",
                                       "keyRopeOptional",
                                       "value",
                                       "realShiftOptional",
                                       "dropMaskOptional",
                                       "paddingMaskOptional",
                                       "attenMaskOptional",
                                       "sinkOptional",
                                       "prefixOptional",
                                       "actualSeqQLenOptional",
                                       "actualSeqKvLenOptional",
                                       "qStartIdxOptional",
                                       "kvStartIdxOptional",
                                       "scaleValueOptional",
                                       "keepProbOptional",
                                       "preTokensOptional",
                                       "nextTokensOptional",
                                       "headNum",
                                       "inputLayout",
                                       "sparseModeOptional",
                                       "pseTypeOptional",
                                       "softmaxMaxOut",
                                       "softmaxSumOut",
                                       "attentionOutOut",
                                       "dy",
                                       "dqOut",
                                       "dqRopeOut",
                                       "dkOut",
                                       "dkRopeOut",
                                       "dvOut",
                                       "dpseOut",
                                       "dsinkOut"};
    _Static_assert(sizeof text / sizeof *text == sizeof(names) / sizeof(int), "names");
    int *to = (int *)n;
    for (size_t k = 0; k < sizeof text / sizeof *text; k++)
        to[k] = asn_call_param_named(c, text[k]);
    if (n->dout < 0) return;
    n->max = asn_call_param_named(c, "softmaxMaxOptional");
    n->sum = asn_call_param_named(c, "softmaxSumOptional");
    n->out = asn_call_param_named(c, "attentionInOptional");
}

/* Parameter i's tensor; NULL: it is absent, or the version has no such parameter. */
static const asnd_nd *tensor(const asnd_call *c, int i) {
    return i < 0 ? NULL : asn_call_nd(c, i);
}

/* Parameter i's operand; -1 likewise. */
static int operand(const asnd_call *c, int i) {
    return i < 0 ? -1 : c->first[i];
}

/* An integer; `otherwise`: what a version without the parameter means. */
static int64_t number(const asnd_call *c, int i, int64_t otherwise) {
    return i < 0 ? otherwise : asn_call_int(c, i);
}

/* Element k of an aclIntArray; 0: there is none. */
static int64_t element(const asnd_call *c, int i, int64_t k) {
    const asnd_array *list = i < 0 ? NULL : asn_call_array(c, i);
    return list == NULL || k >= (int64_t)list->size ? 0
                                                    : ((const int64_t *)list->data)[k];
}

/* Elements of an aclIntArray; 0: it is absent. */
static int64_t elements(const asnd_call *c, int i) {
    const asnd_array *list = i < 0 ? NULL : asn_call_array(c, i);
    return list == NULL ? 0 : (int64_t)list->size;
}

/* The error of a parameter's value: its name, and what is wrong or allowed. */
static asn_status refuse(const asnd_call *c, int i, const char *why) {
    return asn_error_set(ASN_ERR_VALUE, "%s: %s %s", c->op->name, c->op->params[i].name,
                         why);
}

/* What no version here computes: quantised tensors, a padding mask. */
static asn_status check_unused(const asnd_call *c) {
    for (int i = 0; i < c->op->num_params; i++) {
        const char *name = c->op->params[i].name;
        bool quantised = strncmp(name, "dScale", 6) == 0;
        bool padding = strcmp(name, "paddingMaskOptional") == 0;
        if ((quantised || padding) && c->first[i] >= 0 &&
            asn_nd_size(asn_call_nd(c, i)) > 0)
            return refuse(c, i,
                          quantised
                              ? "is given; quantised attention is not computed: it "
                                "must be NULL"
                              : "is given; CANN has no use for it: it must be NULL");
    }
    return ASN_OK;
}

/* Heads, extents, and that keys and values fit the queries. */
static asn_status check_operands(const asnd_call *c, const names *n, asnd_flash *p,
                                 asnd_attn_extents *q, asnd_attn_extents *k) {
    asnd_attn_extents v = {0}, more[2];
    int64_t heads = asn_call_int(c, n->heads);
    const asnd_nd *key = asn_call_nd(c, n->k[0]), *query = asn_call_nd(c, n->q[0]);
    if (heads <= 0) return refuse(c, n->heads, "must be positive");
    ASN_TRY(asn_attn_layout_of(c, c->args[n->layout].p, "BSH, SBH, BNSD, BSND, TND",
                               &p->layout));
    ASN_TRY(asn_attn_extents_of(c, n->q[0], p->layout, heads, q));
    /* H of keys tells their heads by the queries' columns. */
    /* Several heads of queries may read one of keys (grouped queries): headNum is the
     * queries', the keys' follows from their shape. */
    bool joint = p->layout <= ASN_ATTN_SBH;
    int64_t kv_heads = 1;
    if (joint && key->ndim == 3 && q->d > 0 && key->shape[2] >= q->d)
        kv_heads = key->shape[2] / q->d;
    ASN_TRY(asn_attn_extents_of(c, n->k[0], p->layout, kv_heads, k));
    /* Values may have columns of their own, which are the output's. */
    ASN_TRY(asn_attn_extents_of(c, n->v, p->layout, kv_heads, &v));
    char got[ASN_SHAPE_TEXT], of[ASN_SHAPE_TEXT];
    if (q->n != heads || k->n <= 0 || q->n % k->n != 0 || q->d != k->d || k->b != q->b ||
        v.b != k->b || v.s != k->s || v.n != k->n)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: query has shape %s, key %s, headNum is %lld; batches and "
            "columns must agree, keys and values be as many, and their "
            "heads divide headNum",
            c->op->name, asn_shape_text(got, query->ndim, query->shape),
            asn_shape_text(of, key->ndim, key->shape), (long long)heads);
    p->a.heads = heads;
    p->a.kv_heads = k->n;
    p->a.d[0] = q->d;
    p->a.dv = v.d;
    /* Rotary parts have the rows of what they belong to, and columns of their own. */
    bool ropes[] = {tensor(c, n->q[1]) != NULL, tensor(c, n->k[1]) != NULL};
    if (ropes[0] != ropes[1])
        return refuse(c, n->q[1], "and keyRope must both be given or both be NULL");
    if (!ropes[0]) return ASN_OK;
    ASN_TRY(asn_attn_extents_of(c, n->q[1], p->layout, heads, &more[0]));
    ASN_TRY(asn_attn_extents_of(c, n->k[1], p->layout, k->n, &more[1]));
    /* The scores are q k^T + q_rope k_rope^T: both parts must be as wide. */
    asnd_attn_extents want_q = *q, want_k = *k;
    int64_t shape[4];
    want_q.d = want_k.d = p->a.d[1] = more[0].d;
    int dims = asn_attn_shape(&want_q, p->layout, shape);
    ASN_TRY(asn_call_same_shape(c, n->q[1], dims, shape));
    dims = asn_attn_shape(&want_k, p->layout, shape);
    return asn_call_same_shape(c, n->k[1], dims, shape);
}

/* The sequences: one a batch, or (TND) by their ends. */
static asn_status cut_sequences(const asnd_call *c, const names *n, asnd_flash *p,
                                const asnd_attn_extents *q, const asnd_attn_extents *k) {
    bool rows = p->layout == ASN_ATTN_TND, masked = tensor(c, n->mask) != NULL;
    int64_t count = p->a.num_sequences, drop = 0;
    /* sparseMode (asn_attn_band): 0 mask and a band around the diagonal from the first
     * row, 1 and 5 the mask alone; without its elements 2 and 3 the triangle from the
     * first or up to the last row, 4 the band to the last, 6 mode 3 and a prefix of keys;
     * 7 and 8 of TND are 3 and 2, but 4 in the last or the first sequence. */
    int64_t mode = number(c, n->mode, 0), end_q = 0, end_k = 0;
    if (mode < 0 || mode > 8 || (!rows && mode > 6) || (rows && mode == 5))
        return asn_error_set(ASN_ERR_VALUE, "%s: sparseMode is %lld; it must be in %s",
                             c->op->name, (long long)mode,
                             rows ? "[0, 4], [6, 8]" : "[0, 6]");
    /* Without a mask preTokens and nextTokens do not count either. */
    if (!masked && mode != 0) mode = 1; /* CANN: everything, without a mask */
    if (masked && mode == 6 && elements(c, n->prefix) != count)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: prefix has %lld elements; sparseMode 6 takes one a "
                             "sequence, %lld",
                             c->op->name, (long long)elements(c, n->prefix),
                             (long long)count);
    for (int64_t s = 0; s < count; s++) {
        asnd_sequence *x = &p->sequences[s];
        *x = (asnd_sequence){s, 0, q->s, 0, k->s, 0, 0, 0, drop};
        if (rows) {
            int64_t to_q = element(c, n->lengths_q, s),
                    to_k = element(c, n->lengths_k, s);
            /* The lists count from the first row on: an end below the one before would be
             * a sequence of negative length, one past the rows would read behind the
             * tensor. */
            if (to_q < end_q || to_k < end_k || to_q > q->s || to_k > k->s)
                return asn_error_set(
                    ASN_ERR_VALUE,
                    "%s: sequence %lld ends at query %lld and key %lld, of "
                    "%lld and %lld; ends must not fall",
                    c->op->name, (long long)s, (long long)to_q, (long long)to_k,
                    (long long)q->s, (long long)k->s);
            *x = (asnd_sequence){s, end_q, to_q - end_q, end_k, to_k - end_k, 0,
                                 0, 0,     drop};
            end_q = to_q;
            end_k = to_k;
        }
        if (x->rows_q > p->longest_q) p->longest_q = x->rows_q;
        if (x->rows_k > p->longest_k) p->longest_k = x->rows_k;
        asn_attn_band(x, masked ? mode : 1, number(c, n->pre, 0), number(c, n->next, 0),
                      element(c, n->prefix, s), s, count);
        /* Dropout's bits lie by sequence, head, query and key. */
        drop += p->a.heads * x->rows_q * x->rows_k;
    }
    /* Rows behind the last sequence would stay unwritten in the output. */
    if (rows && (end_q != q->s || end_k != k->s))
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: sequences end at query %lld and key %lld; there are %lld "
            "and %lld",
            c->op->name, (long long)end_q, (long long)end_k, (long long)q->s,
            (long long)k->s);
    p->mask = masked && asn_attn_reads_mask(mode) ? c->first[n->mask] : -1;
    return ASN_OK;
}

/* Bits of dropout's mask: those of all scores. */
static asn_status check_dropout(const asnd_call *c, const names *n, asnd_flash *p) {
    const asnd_nd *drop = tensor(c, n->drop);
    const asnd_sequence *last = &p->sequences[p->a.num_sequences - 1];
    p->a.keep = asn_call_double(c, n->keep);
    if (!(p->a.keep > 0 && p->a.keep <= 1))
        return refuse(c, n->keep, "must be in (0, 1]");
    if (p->a.keep == 1) return ASN_OK;
    /* Eight scores a byte, sequences on end without gaps; a kept score is divided by
     * keepProb. */
    int64_t bits = last->drop + p->a.heads * last->rows_q * last->rows_k;
    if (drop != NULL && drop->dtype == ASN_U8 && asn_nd_size(drop) >= (bits + 7) / 8) {
        p->drop = c->first[n->drop];
        return ASN_OK;
    }
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: dropMask has %lld elements; where keepProb is below 1 it must "
        "be of uint8 with a bit for each of %lld scores",
        c->op->name, drop == NULL ? 0LL : (long long)asn_nd_size(drop), (long long)bits);
}

/* The mask, the bias and the sink. */
static asn_status check_scores(const asnd_call *c, const names *n, asnd_flash *p) {
    const asnd_nd *mask = tensor(c, n->mask), *pse = tensor(c, n->pse);
    bool rows = p->layout == ASN_ATTN_TND;
    int64_t b = p->batches, type = number(c, n->pse_type, 1);
    if (mask != NULL && mask->dtype != ASN_BOOL && mask->dtype != ASN_U8)
        return refuse(c, n->mask, "must be of bool or uint8");
    if (p->mask >= 0)
        ASN_TRY(asn_attn_check_scores(c, n->mask, b, p->a.heads, p->longest_q,
                                      p->longest_k, rows));
    if (tensor(c, n->sink) != NULL) {
        ASN_TRY(asn_call_floating(c, n->sink));
        ASN_TRY(asn_call_same_shape(c, n->sink, 1, &p->a.heads));
        p->sink = c->first[n->sink];
    }
    /* pseType: the bias is added 0 behind the scale, or 1 before it, or (2, 3) made of
     * a slope for each head, of the distance or of its root. */
    if (type < 0 || type > 3) return refuse(c, n->pse_type, "must be 0, 1, 2 or 3");
    if (pse == NULL || asn_nd_size(pse) == 0) return ASN_OK;
    ASN_TRY(asn_call_floating(c, n->pse));
    p->pse = c->first[n->pse];
    p->a.pse_first = type == 1;
    if (type < 2) {
        /* The kernels' rows of pse begin with each sequence. */
        ASN_TRY(asn_attn_check_scores(c, n->pse, b, p->a.heads, p->longest_q,
                                      p->longest_k, rows));
        /* Several heads or batches add to one gradient of pse: one after the other. */
        p->a.shared_pse = pse->ndim < 4 || (pse->shape[0] == 1 && b > 1) ||
                          (pse->shape[1] == 1 && p->a.heads > 1);
        return ASN_OK;
    }
    /* The kernel adds -slope * |i + shift - j|. */
    /* Attention with linear biases (Press et al., "Train Short, Test Long", 2022): slopes
     * (heads) or (batch, heads); shift is where the queries start behind the keys. */
    const int64_t slopes[] = {b, p->a.heads};
    p->a.slopes.dtype = ASN_F32;
    p->a.root = type == 3;
    p->a.shift = element(c, n->start_q, 0) - element(c, n->start_k, 0);
    return asn_call_same_shape(c, n->pse, pse->ndim == 2 ? 2 : 1,
                               pse->ndim == 2 ? slopes : slopes + 1);
}

/* Statistics have a value for each row of queries, eight times. */
static asn_status check_statistics(const asnd_call *c, const names *n,
                                   const asnd_flash *p, const asnd_attn_extents *q) {
    /* The forward call stores each row's maximum and the sum of exp(score - maximum),
     * from which the gradient makes the probabilities again instead of keeping them. */
    asnd_attn_extents x = {q->b, q->s, q->n, ASN_FLASH_STATISTICS};
    int64_t shape[4];
    int dims = asn_attn_shape(&x, asn_flash_statistics(p), shape);
    for (int k = 0; k < 2; k++) {
        int i = k ? n->sum : n->max;
        if (p->backward && c->first[i] < 0) return refuse(c, i, "is NULL");
        ASN_TRY(asn_call_floating(c, i));
        ASN_TRY(asn_call_same_shape(c, i, dims, shape));
    }
    return ASN_OK;
}

/* The gradients have the shapes of what they are of. */
static asn_status check_gradients(const asnd_call *c, const names *n, asnd_flash *p) {
    const int of[][2] = {{n->q[0], n->dq[0]}, {n->k[0], n->dk[0]}, {n->v, n->dvalue},
                         {n->q[1], n->dq[1]}, {n->k[1], n->dk[1]}, {n->pse, n->dpse},
                         {n->sink, n->dsink}};
    /* Pairs of an input and its gradient: those of pse and sink may be left out, those of
     * queries, keys and values may not. */
    int *to[] = {&p->dq[0], &p->dk[0], &p->dvalue, &p->dq[1],
                 &p->dk[1], &p->dpse,  &p->dsink};
    for (int k = 0; k < 7; k++) {
        const asnd_nd *in = tensor(c, of[k][0]), *out = tensor(c, of[k][1]);
        if (in == NULL || (k >= 5 && (out == NULL || asn_nd_size(out) == 0))) continue;
        /* Slopes have no gradient: they are the program's constants. */
        if (k == 5 && (p->pse < 0 || p->a.slopes.dtype != ASN_DTYPE_NONE)) continue;
        if (out == NULL)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but %s is given",
                                 c->op->name, c->op->params[of[k][1]].name,
                                 c->op->params[of[k][0]].name);
        ASN_TRY(asn_call_floating(c, of[k][1]));
        ASN_TRY(asn_call_same_shape(c, of[k][1], in->ndim, in->shape));
        *to[k] = c->first[of[k][1]];
    }
    return ASN_OK;
}

/* How many sequences a call has; each needs the rows of its own. */
static asn_status count_sequences(const asnd_call *c, const names *n, int64_t *count) {
    const asnd_nd *q = asn_call_nd(c, n->q[0]);
    asnd_attn_layout layout;
    ASN_TRY(asn_attn_layout_of(c, c->args[n->layout].p, "BSH, SBH, BNSD, BSND, TND",
                               &layout));
    *count = elements(c, n->lengths_q);
    bool rows = layout == ASN_ATTN_TND;
    if (rows && *count > 0 && *count == elements(c, n->lengths_k)) return ASN_OK;
    if (rows)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: layout TND takes as many ends of sequences of queries "
                             "(%lld) as of keys (%lld), at least one",
                             c->op->name, (long long)*count,
                             (long long)elements(c, n->lengths_k));
    /* Every other layout has the batch as a dimension; a query with too few dimensions is
     * refused by check_operands, with its shape. */
    int batch = layout == ASN_ATTN_SBH ? 1 : 0;
    *count = q->ndim > batch ? q->shape[batch] : 0;
    return ASN_OK;
}

/* arg 1: the gradient. Scores are checked when sequences are cut: their mask and bias
 * have the longest one's extents. */
asn_status asn_planner_flash_attention(asnd_call *c) {
    names n = {0};
    asnd_attn_extents q = {0}, k = {0};
    int64_t count = 0, shape[4];
    find(c, &n);
    ASN_TRY(check_unused(c));
    ASN_TRY(count_sequences(c, &n, &count));
    bool backward = n.dout >= 0;
    asnd_flash *p = asn_call_plan(c, backward ? asn_flash_backward : asn_flash_forward,
                                  sizeof *p + (size_t)count * sizeof p->sequences[0], 0);
    if (p == NULL) return ASN_ERR_MEMORY;
    *p = (asnd_flash){.head = p->head,
                      .backward = backward,
                      .q = {c->first[n.q[0]], -1},
                      .k = {c->first[n.k[0]], -1},
                      .v = c->first[n.v],
                      .pse = -1,
                      .mask = -1,
                      .drop = -1,
                      .sink = -1,
                      .max = c->first[n.max],
                      .sum = c->first[n.sum],
                      .out = c->first[n.out],
                      .dout = operand(c, n.dout),
                      .dq = {-1, -1},
                      .dk = {-1, -1},
                      .dvalue = -1,
                      .dpse = -1,
                      .dsink = -1,
                      .batches = count};
    p->a.num_sequences = count;
    p->a.sequences = p->sequences;
    p->a.width = ASN_FLASH_STATISTICS;
    p->a.slopes.dtype = ASN_DTYPE_NONE;
    p->a.scale = asn_call_double(c, n.scale);
    ASN_TRY(check_operands(c, &n, p, &q, &k));
    /* Rotary parts have operands where they have columns. */
    p->q[1] = p->a.d[1] ? c->first[n.q[1]] : -1;
    p->k[1] = p->a.d[1] ? c->first[n.k[1]] : -1;
    p->a.t = asn_call_nd(c, n.q[0])->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
    asnd_attn_extents out = {q.b, q.s, q.n, p->a.dv};
    int dims = asn_attn_shape(&out, p->layout, shape);
    if (backward && c->first[n.out] < 0) return refuse(c, n.out, "is NULL");
    ASN_TRY(asn_call_floating(c, n.out));
    ASN_TRY(asn_call_same_shape(c, n.out, dims, shape));
    if (backward) ASN_TRY(asn_call_floating(c, n.dout));
    if (backward) ASN_TRY(asn_call_same_shape(c, n.dout, dims, shape));
    ASN_TRY(check_statistics(c, &n, p, &q));
    if (count > 0) {
        ASN_TRY(cut_sequences(c, &n, p, &q, &k));
        ASN_TRY(check_dropout(c, &n, p));
        ASN_TRY(check_scores(c, &n, p));
    }
    if (backward) ASN_TRY(check_gradients(c, &n, p));
    /* Nanoseconds, roughly; the gradient has five products a score, not two. */
    double scores = (double)p->longest_q * (double)p->longest_k * (double)count;
    c->e->work_ns = 1000 + scores * (double)p->a.heads * (backward ? 8 : 3);
    if (count == 0 || q.n == 0) c->e->body = NULL;
    return ASN_OK;
}
