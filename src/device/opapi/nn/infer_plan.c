/* CPU device, operators: planning attention of inference (infer_attention.c says what it
 * computes). All operators and versions share this planner, which finds parameters by
 * their names; what a version lacks is absent, or has the value that the first implies.
 */
#include <string.h>

#include "device/opapi/nn/infer_attention.h"

/* Parameter i's tensor; NULL: it is absent, or the version has no such parameter. */
static const asnd_nd *tensor(const asnd_call *c, int i) {
    return i < 0 ? NULL : asn_call_nd(c, i);
}

/* The integer of this name; of a version that lacks it what it stands for there. */
static int64_t number(const asnd_call *c, const char *name, int64_t otherwise) {
    int i = asn_call_param_named(c, name);
    return i < 0 ? otherwise : asn_call_int(c, i);
}

/* The operand of the tensor of this name; -1: absent. Names end in Optional as CANN's do.
 */
static int given(const asnd_call *c, const char *name) {
    int i = asn_call_param_named(c, name);
    return i < 0 || c->first[i] < 0 ? -1 : c->first[i];
}

/* Tensors that are computed with: all others must be NULL. */
static asn_status check_unused(const asnd_call *c) {
    static const char *const used =
        " query key value pseShift attenMask blockTable queryRope keyRope learnableSink "
        "attentionOut softmaxLse ";
    for (int i = 0; i < c->op->num_params; i++) {
        const asnd_param *p = &c->op->params[i];
        if ((p->kind != ASN_IN && p->kind != ASN_OUT) || c->first[i] < 0) continue;
        /* The name without Optional, between blanks, as it stands in `used`. */
        char word[64];
        size_t n = strlen(p->name);
        if (n > 8 && strcmp(p->name + n - 8, "Optional") == 0) n -= 8;
        if (n > sizeof word - 3) n = sizeof word - 3;
        word[0] = ' ';
        memcpy(word + 1, p->name, n);
        strcpy(word + 1 + n, " ");
        if (strstr(used, word) != NULL) continue;
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s is given; quantised attention, padding in front and "
                             "shared prefixes are not computed: it must be NULL",
                             c->op->name, p->name);
    }
    return ASN_OK;
}

/* The layout, and the output's behind "_". */
static asn_status layouts(const asnd_call *c, asnd_infer *p) {
    const char *name = c->args[asn_call_param_named(c, "inputLayout")].p;
    /* The only pair: queries by head, the output by row. */
    if (strcmp(name, "BNSD_BSND") == 0) {
        p->layout = ASN_ATTN_BNSD;
        p->out_layout = ASN_ATTN_BSND;
        return ASN_OK;
    }
    ASN_TRY(
        asn_attn_layout_of(c, name, "BSH, BNSD, BSND, TND, NSD, BNSD_BSND", &p->layout));
    p->out_layout = p->layout;
    return ASN_OK;
}

/* Length k of a list; one element is for all. Without a list: `otherwise`. */
static int64_t length(const asnd_call *c, const char *name, int64_t k,
                      int64_t otherwise) {
    int i = asn_call_param_named(c, name);
    const asnd_array *list = i < 0 ? NULL : asn_call_array(c, i);
    if (list == NULL || list->size == 0) return otherwise;
    if (k >= (int64_t)list->size)
        return list->size == 1 ? ((int64_t *)list->data)[0] : -1;
    return ((int64_t *)list->data)[k];
}

/* Elements of the list of this name; 0: absent. */
static int64_t how_many(const asnd_call *c, const char *name) {
    int i = asn_call_param_named(c, name);
    const asnd_array *list = i < 0 ? NULL : asn_call_array(c, i);
    return list == NULL ? 0 : (int64_t)list->size;
}

/* The shape of keys or values, parameter i's tensor `at` (an operand), as extents. */
static asn_status key_extents(const asnd_call *c, int i, int at, const asnd_infer *p,
                              asnd_attn_extents *x) {
    const asnd_nd *a = &c->e->operands[at].nd;
    const int64_t *s = a->shape, n = p->a.kv_heads;
    /* Extents in the order batch, rows, heads, columns, from each layout's own. */
    asnd_attn_layout layout = p->layout;
    /* A cache has its own layouts, its blocks standing for batches. */
    if (p->table >= 0) layout = a->ndim == 3 ? ASN_ATTN_BSH : ASN_ATTN_BNSD;
    /* BSH has heads and columns as one dimension, which the heads must divide. */
    bool joint = layout == ASN_ATTN_BSH;
    int dims = layout == ASN_ATTN_BNSD || layout == ASN_ATTN_BSND ? 4 : 3;
    char got[ASN_SHAPE_TEXT];
    bool fits = a->ndim == dims && asn_is_floating(a->dtype) && (!joint || s[2] % n == 0);
    if (fits && layout == ASN_ATTN_BSH) *x = (asnd_attn_extents){s[0], s[1], n, s[2] / n};
    if (fits && layout == ASN_ATTN_BNSD) *x = (asnd_attn_extents){s[0], s[2], s[1], s[3]};
    if (fits && layout == ASN_ATTN_BSND) *x = (asnd_attn_extents){s[0], s[1], s[2], s[3]};
    if (fits && layout == ASN_ATTN_TND) *x = (asnd_attn_extents){1, s[0], s[1], s[2]};
    if (fits && layout == ASN_ATTN_NSD) *x = (asnd_attn_extents){1, s[1], s[0], s[2]};
    fits = fits && x->n == n && (p->table < 0 || x->s == p->block);
    if (fits) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE,
        "%s: %s has shape %s; it must be floating, of the layout with %lld "
        "heads, or with a blockTable (blocks, blockSize, H) or (blocks, N, "
        "blockSize, D)",
        c->op->name, c->op->params[i].name, asn_shape_text(got, a->ndim, a->shape),
        (long long)n);
}

/* Keys and values, one tensor or one of each sequence, and their rotary parts. */
static asn_status check_keys(asnd_call *c, asnd_infer *p, const asnd_attn_extents *q,
                             asnd_attn_extents *k) {
    int key = asn_call_param_named(c, "key"), value = asn_call_param_named(c, "value");
    /* A list has one tensor for all sequences, as most programs call it, or a tensor for
     * each sequence, so that each may have a length of its own without padding. */
    bool list = c->op->params[key].kind == ASN_LIST_IN;
    int64_t n = list ? (int64_t)asn_call_array(c, key)->size : 1;
    int64_t values = list ? (int64_t)asn_call_array(c, value)->size : 1;
    asnd_attn_extents x = {0}, v = {0};
    if (n != values || n < 1 ||
        (n > 1 && (n != p->batches || p->table >= 0 || p->layout == ASN_ATTN_TND)))
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: key is a list of %lld tensors, value of %lld; there must "
            "be one of each, or one of each of %lld sequences",
            c->op->name, (long long)n, (long long)values, (long long)p->batches);
    p->lists = (int)n;
    p->k[0] = c->first[key];
    p->v = c->first[value];
    for (int64_t i = 0; i < n; i++) {
        if (c->e->operands[p->k[0] + i].nd.data == NULL &&
            asn_nd_size(&c->e->operands[p->k[0] + i].nd) > 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: key %lld is NULL",
                                 c->op->name, (long long)i);
        ASN_TRY(key_extents(c, key, p->k[0] + (int)i, p, &x));
        ASN_TRY(key_extents(c, value, p->v + (int)i, p, &v));
        if (i == 0) *k = x;
        /* A cache has as many blocks as it likes, a list's member one sequence. */
        int64_t batches = p->table >= 0 ? x.b : n > 1 ? 1 : q->b;
        if (x.d != q->d || x.b != batches || v.b != x.b || v.s != x.s ||
            (i > 0 && v.d != p->a.dv))
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: keys have %lld columns in %lld batches of %lld, "
                                 "queries %lld columns; values must be as many as keys",
                                 c->op->name, (long long)x.d, (long long)x.b,
                                 (long long)x.s, (long long)q->d);
        p->a.dv = v.d;
        /* Members of a list may have different lengths: cut_sequences finds them here. */
        if (n > 1) p->sequences[i].rows_k = x.s;
    }
    /* Latent attention (DeepSeek-V2, 2024) has the position in columns of their own,
     * which all heads of keys may share. */
    int rope = asn_call_param_named(c, "keyRopeOptional");
    if (p->q[1] < 0) return ASN_OK;
    p->k[1] = c->first[rope];
    ASN_TRY(key_extents(c, rope, p->k[1], p, &x));
    if (x.d == p->a.d[1] && x.b == k->b && x.s == k->s && n == 1) return ASN_OK;
    return asn_error_set(
        ASN_ERR_VALUE, "%s: keyRope must have queryRope's columns (%lld) and key's rows",
        c->op->name, (long long)p->a.d[1]);
}

/* Rows of every sequence; keys that are copied lie one sequence after the other. */
static asn_status cut_sequences(const asnd_call *c, asnd_infer *p,
                                const asnd_attn_extents *q, const asnd_attn_extents *k,
                                const char *lengths_q, const char *lengths_k) {
    bool ends = p->layout == ASN_ATTN_TND, masked = given(c, "attenMaskOptional") >= 0;
    const bool decodes = !ends && q->s == 1 && asn_call_param_named(c, "softmaxLse") >= 0;
    int64_t mode = number(c, "sparseMode", 0), end_q = 0, end_k = 0;
    if (mode >= 10 && mode <= 14) mode -= 10; /* the same, in high precision */
    if (mode < 0 || mode > 4)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: sparseMode is %lld; it must be in [0, 4] or [10, 14]",
                             c->op->name, (long long)mode);
    /* room: the keys that memory has for a sequence: the blocks of its row of the table,
     * its own tensor of a list, or the common extent. */
    const asnd_nd *table = p->table < 0 ? NULL : &c->e->operands[p->table].nd;
    for (int64_t i = 0; i < p->batches; i++) {
        asnd_sequence *s = &p->sequences[i];
        int64_t room = table          ? table->shape[1] * p->block
                       : p->lists > 1 ? s->rows_k
                                      : k->s;
        int64_t rows_q = length(c, lengths_q, i, q->s);
        int64_t rows_k = length(c, lengths_k, i, table ? -1 : room);
        /* With one query a sequence FusedInferAttentionScore decodes, for which lengths
         * of queries mean nothing: its documentation's example has one of 100. */
        if (decodes && rows_q > 1) rows_q = 1;
        /* Ends become lengths; a cache's keys have lengths always. */
        if (ends) rows_q -= end_q;
        if (ends && !table) rows_k -= end_k;
        /* The numbers are the program's: what they exceed would be read or written behind
         * the tensors. */
        if (rows_q < 0 || rows_k < 0 || rows_k > room ||
            (ends && end_q + rows_q > q->s) || rows_q > q->s ||
            (ends && !table && end_k + rows_k > k->s))
            return asn_error_set(
                ASN_ERR_VALUE,
                "%s: sequence %lld has %lld queries and %lld keys, of %lld "
                "and %lld; see actualSeqLengths and actualSeqLengthsKv",
                c->op->name, (long long)i, (long long)rows_q, (long long)rows_k,
                (long long)q->s, (long long)room);
        *s = (asnd_sequence){.batch = i,
                             .first_q = ends ? end_q : 0,
                             .rows_q = rows_q,
                             .first_k = ends || p->lists > 1 ? end_k : 0,
                             .rows_k = rows_k};
        /* Without a mask every query sees every key (mode 1), whatever the mode says. */
        asn_attn_band(s, masked ? mode : 1, number(c, "preTokens", INT64_MAX),
                      number(c, "nextTokens", INT64_MAX), 0, i, p->batches);
        end_q += rows_q;
        end_k += rows_k;
        /* Rows without a query have an output all the same, which the body fills with 0.
         */
        p->short_queries |= rows_q < q->s && !ends;
        if (rows_q > p->longest_q) p->longest_q = rows_q;
        if (rows_k > p->longest_k) p->longest_k = rows_k;
    }
    p->short_queries |= ends && end_q < q->s;
    p->all_keys = end_k;
    p->mask = masked && asn_attn_reads_mask(mode) ? given(c, "attenMaskOptional") : -1;
    return ASN_OK;
}

/* Mask, bias, sink, outputs. */
static asn_status check_rest(const asnd_call *c, asnd_infer *p,
                             const asnd_attn_extents *q) {
    int mask = asn_call_param_named(c, "attenMaskOptional"), out = asn_call_out(c);
    int pse = asn_call_param_named(c, "pseShiftOptional");
    int sink = asn_call_param_named(c, "learnableSinkOptional");
    int lse = asn_call_param_named(c, "softmaxLse");
    /* mask: true hides a key; pse (batch, heads, queries, keys) is added to the scores.
     */
    const asnd_nd *m = tensor(c, mask);
    if (m != NULL && m->dtype != ASN_BOOL && m->dtype != ASN_U8 && m->dtype != ASN_I8)
        return asn_error_set(ASN_ERR_TYPE,
                             "%s: attenMask has dtype %s; it must be of bool, "
                             "int8 or uint8",
                             c->op->name, asn_dtype_name(m->dtype));
    if (p->mask >= 0) {
        /* One query a sequence: a mask of two dimensions has a row each sequence. */
        p->mask_by_batch = m->ndim == 2 && q->s == 1 && m->shape[0] == p->batches &&
                           m->shape[1] >= p->longest_k;
        if (!p->mask_by_batch)
            ASN_TRY(asn_attn_check_scores(c, mask, p->batches, p->a.heads, p->longest_q,
                                          p->longest_k, true));
    }
    if (tensor(c, pse) != NULL) {
        ASN_TRY(asn_call_floating(c, pse));
        ASN_TRY(asn_attn_check_scores(c, pse, p->batches, p->a.heads, p->longest_q,
                                      p->longest_k, true));
        p->pse = c->first[pse];
    }
    /* A sink is one more score for each head, which takes a part of the softmax and has
     * no value (Xiao et al., "Efficient Streaming Language Models with Attention Sinks",
     * 2024). */
    if (tensor(c, sink) != NULL) {
        ASN_TRY(asn_call_floating(c, sink));
        ASN_TRY(asn_call_same_shape(c, sink, 1, &p->a.heads));
        p->sink = c->first[sink];
    }
    /* The output has the values' columns; softmaxLse the logarithm of each row's sum of
     * exponentials, (B, N, S, 1) or (T, N, 1). */
    asnd_attn_extents x = {q->b, q->s, q->n, p->a.dv}, one = {q->b, q->s, q->n, 1};
    int64_t shape[4];
    int dims = asn_attn_shape(&x, p->out_layout, shape);
    ASN_TRY(asn_call_floating(c, out));
    ASN_TRY(asn_call_same_shape(c, out, dims, shape));
    p->out = c->first[out];
    if (number(c, "softmaxLseFlag", 0) == 0) return ASN_OK;
    if (c->first[lse] < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: softmaxLse is NULL, but softmaxLseFlag is true",
                             c->op->name);
    dims = asn_attn_shape(&one, p->layout == ASN_ATTN_TND ? ASN_ATTN_TND : ASN_ATTN_BNSD,
                          shape);
    ASN_TRY(asn_call_floating(c, lse));
    ASN_TRY(asn_call_same_shape(c, lse, dims, shape));
    p->lse = c->first[lse];
    return ASN_OK;
}

/* The table of a cache's blocks: int32, a row each sequence. */
static asn_status check_table(const asnd_call *c, asnd_infer *p) {
    int i = asn_call_param_named(c, "blockTableOptional");
    const asnd_nd *t = tensor(c, i);
    char got[ASN_SHAPE_TEXT];
    /* Paged attention (Kwon et al., 2023): the cache is blocks of blockSize rows, and
     * entry (i, k) of the table the block that holds sequence i's rows from k blockSize
     * on. */
    p->block = number(c, "blockSize", 0);
    if (t == NULL) return ASN_OK;
    p->table = c->first[i];
    if (t->ndim == 2 && t->shape[0] == p->batches && asn_is_integer(t->dtype) &&
        p->block > 0)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: blockTable has shape %s, blockSize is %lld; it must be of "
                         "integers, (%lld, blocks), and the size positive",
                         c->op->name, asn_shape_text(got, t->ndim, t->shape),
                         (long long)p->block, (long long)p->batches);
}

/* The rotary parts of queries: their rows, columns of their own. Keys must have them,
 * too; check_keys compares the two. */
static asn_status check_rope(const asnd_call *c, asnd_infer *p,
                             const asnd_attn_extents *q) {
    int rope = asn_call_param_named(c, "queryRopeOptional");
    asnd_attn_extents r = {0};
    int64_t heads = q->n;
    if (rope < 0 || c->first[rope] < 0) return ASN_OK;
    if (given(c, "keyRopeOptional") < 0)
        return asn_error_set(ASN_ERR_NULL_POINTER,
                             "%s: keyRope is NULL, queryRope is not", c->op->name);
    ASN_TRY(asn_attn_extents_of(c, rope, p->layout, heads, &r));
    p->q[1] = c->first[rope];
    p->a.d[1] = r.d;
    if (r.b != q->b || r.s != q->s || r.n != q->n)
        return asn_error_set(ASN_ERR_VALUE, "%s: queryRope must have query's rows",
                             c->op->name);
    return ASN_OK;
}

/* arg 1: IncreFlashAttention, whose lengths are those of keys. */
asn_status asn_planner_infer_attention(asnd_call *c) {
    const char *lengths_q = c->op->arg == 1 ? "" : "actualSeqLengthsOptional";
    const char *lengths_k =
        c->op->arg == 1 ? "actualSeqLengthsOptional" : "actualSeqLengthsKvOptional";
    asnd_infer about = {.q = {c->first[0], -1},
                        .k = {-1, -1},
                        .pse = -1,
                        .mask = -1,
                        .table = -1,
                        .sink = -1,
                        .lse = -1};
    asnd_attn_extents q = {0}, k = {0};
    ASN_TRY(check_unused(c));
    ASN_TRY(layouts(c, &about));
    int64_t heads = number(c, "numHeads", 0), kv = number(c, "numKeyValueHeads", 0);
    if (kv == 0) kv = heads;
    if (heads <= 0 || kv <= 0 || heads % kv != 0 || number(c, "pseType", 0) != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numHeads is %lld, numKeyValueHeads %lld, pseType %lld; "
                             "the second must divide the first, and pseType be 0",
                             c->op->name, (long long)heads, (long long)kv,
                             (long long)number(c, "pseType", 0));
    ASN_TRY(asn_attn_extents_of(c, 0, about.layout, heads, &q));
    /* Sequences of TND are counted by their ends. */
    about.batches = about.layout == ASN_ATTN_TND ? how_many(c, lengths_q) : q.b;
    /* The plan ends in an array of sequences, whose number is only known now: the fields
     * found so far go from `about` into it. */
    asnd_infer *p = asn_call_plan(
        c, asn_infer_body, sizeof *p + (size_t)about.batches * sizeof p->sequences[0], 0);
    if (p == NULL) return ASN_ERR_MEMORY;
    about.head = p->head;
    *p = about;
    memset(p->sequences, 0, (size_t)p->batches * sizeof p->sequences[0]);
    p->a = (asnd_attention){.num_sequences = p->batches,
                            .heads = heads,
                            .kv_heads = kv,
                            .sequences = p->sequences,
                            .d = {q.d, 0},
                            .keep = 1,
                            .scale =
                                asn_call_double(c, asn_call_param_named(c, "scaleValue")),
                            .t = asn_call_nd(c, 0)->dtype == ASN_F64 ? ASN_F64 : ASN_F32};
    if (q.n != heads)
        return asn_error_set(ASN_ERR_VALUE, "%s: query has %lld heads, numHeads is %lld",
                             c->op->name, (long long)q.n, (long long)heads);
    ASN_TRY(check_table(c, p));
    ASN_TRY(check_rope(c, p, &q));
    ASN_TRY(check_keys(c, p, &q, &k));
    ASN_TRY(cut_sequences(c, p, &q, &k, lengths_q, lengths_k));
    ASN_TRY(check_rest(c, p, &q));
    /* Nanoseconds, roughly: three a score, for streams that queue long work. */
    c->e->work_ns = 1000 + 3.0 * (double)p->longest_q * (double)p->longest_k *
                               (double)(p->batches * heads);
    if (asn_call_operand(c, asn_call_out(c))->is_empty) c->e->body = NULL;
    return ASN_OK;
}
