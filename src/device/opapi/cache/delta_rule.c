/* CPU device, operators: the gated delta rule (Yang, Kautz, Hatamizadeh, "Gated Delta
 * Networks", 2024), attention whose memory is one matrix S (Dv, Dk) for each head:
 *
 *     S = alpha S;  S = S + beta (v - S k) k^T;  out = S q * scale,  alpha = exp(g)
 *
 * token by token of each sequence. ChunkGatedDeltaRule starts sequence b from
 * initialState[b] and tells what it ends with (that CANN computes in chunks is its way to
 * the same); RecurrentGatedDeltaRule finds matrices in a cache by token: a sequence
 * starts from that of its first token, or of the last one that was accepted, and leaves
 * the matrix behind each token in the token's place. g and beta may be absent: 0, and 1.
 *
 * Everything is float32 between the tensors; heads are independent, and shared by the
 * threads.
 */
#include <math.h>

#include "device/cpu/threads.h"
#include "device/opapi/core/packed.h"

/* Operands; -1: absent. */
typedef struct {
    asnd_plan_head head;
    int q, k, v, beta, g, lengths, out;
    int state, final;     /* of the chunked form: read, written */
    int places, accepted; /* of the other: state is the cache */
    int64_t tokens, batch, key_heads, heads, key, value;
    float scale;
} delta_plan;

/* One sequence: tokens from..to. s: (heads, value, key), changed; each: NULL, or where S
 * goes behind each token, (tokens, heads, value, key). */
typedef struct {
    const delta_plan *p;
    const float *q, *k, *v, *beta, *g;
    float *s, *each, *y;
    int64_t from, to;
} delta_run;

/* Head h of the sequence; several heads of values share one of keys. */
static void run_head(void *ctx, int64_t h) {
    const delta_run *r = ctx;
    const delta_plan *p = r->p;
    int64_t dk = p->key, dv = p->value, of = h / (p->heads / p->key_heads);
    float *s = r->s + h * dv * dk;
    for (int64_t t = r->from; t < r->to; t++) {
        const float *q = r->q + (t * p->key_heads + of) * dk,
                    *k = r->k + (t * p->key_heads + of) * dk,
                    *v = r->v + (t * p->heads + h) * dv;
        float alpha = r->g ? expf(r->g[t * p->heads + h]) : 1;
        float beta = r->beta ? r->beta[t * p->heads + h] : 1;
        for (int64_t i = 0; i < dv; i++) {
            float *row = s + i * dk, known = 0, sum = 0;
            for (int64_t j = 0; j < dk; j++) {
                row[j] *= alpha;
                known += row[j] * k[j];
            }
            float step = (v[i] - known) * beta;
            for (int64_t j = 0; j < dk; j++) {
                row[j] += step * k[j];
                sum += row[j] * q[j];
            }
            r->y[(t * p->heads + h) * dv + i] = sum * p->scale;
            for (int64_t j = 0; r->each != NULL && j < dk; j++)
                r->each[(((t - r->from) * p->heads + h) * dv + i) * dk + j] = row[j];
        }
    }
}

/* An estimate of two operations a nanosecond decides whether threads are worth it: a step
 * of decoding is a token or a few. */
static void run_sequence(delta_run *r) {
    double work =
        2 * (double)(r->to - r->from) * (double)(r->p->heads * r->p->value * r->p->key);
    asn_pool_run(run_head, r, r->p->heads, work);
}

/* The block of a state tensor, as a view. */
static void block_of(asnd_view *v, const asnd_nd *state, int64_t at) {
    asn_view_set(v, state);
    asn_view_slice(v, 0, at, 1, 1);
    asn_view_drop(v, 0);
}

/* Packed inputs, and room for a sequence's matrices. */
static asn_status begin(aclOpExecutor *e, const delta_plan *p, asnd_tmp *tmp,
                        delta_run *r, asnd_view *y, asnd_view *s) {
    const asnd_nd *out = asn_exec_nd(e, p->out);
    *r = (delta_run){.p = p};
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->q), ASN_F32, tmp, &r->q));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->k), ASN_F32, tmp, &r->k));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->v), ASN_F32, tmp, &r->v));
    if (p->beta >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->beta), ASN_F32, tmp, &r->beta));
    if (p->g >= 0) ASN_TRY(asn_packed_data(asn_exec_nd(e, p->g), ASN_F32, tmp, &r->g));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, out->shape, y));
    /* Tokens that belong to no sequence keep what the output has. */
    ASN_TRY(asn_move(&y->nd, out));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, (int64_t[]){p->heads, p->value, p->key}, s));
    r->y = (float *)(void *)y->nd.data;
    r->s = (float *)(void *)s->nd.data;
    return ASN_OK;
}

/* Sequences lie one after the other, within the tokens. */
static asn_status check_lengths(aclOpExecutor *e, const delta_plan *p,
                                const int64_t *lengths) {
    int64_t all = 0;
    for (int64_t b = 0; b < p->batch; b++) {
        if (lengths[b] < 0 || lengths[b] > p->tokens - all)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: sequence %lld has length %lld; %lld tokens are "
                                 "left",
                                 e->name, (long long)b, (long long)lengths[b],
                                 (long long)(p->tokens - all));
        all += lengths[b];
    }
    return ASN_OK;
}

/* A sequence of length 0 ends with the matrices that it starts with. */
static asn_status chunk_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const delta_plan *p = plan;
    const int64_t *lengths;
    delta_run r;
    asnd_view y, s, block;
    ASN_TRY(begin(e, p, tmp, &r, &y, &s));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->lengths), ASN_I64, tmp, &lengths));
    ASN_TRY(check_lengths(e, p, lengths));
    for (int64_t b = 0; b < p->batch; b++) {
        r.from = r.to;
        r.to += lengths[b];
        block_of(&block, asn_exec_nd(e, p->state), b);
        ASN_TRY(asn_move(&s.nd, &block.nd));
        run_sequence(&r);
        block_of(&block, asn_exec_nd(e, p->final), b);
        ASN_TRY(asn_move(&block.nd, &s.nd));
    }
    return asn_move(asn_exec_nd(e, p->out), &y.nd);
}

/* The place in the cache of the token that sequence b starts from. */
static asn_status start_of(aclOpExecutor *e, int64_t b, const delta_run *r,
                           const int64_t *accepted, int64_t *token) {
    int64_t at = accepted != NULL ? accepted[b] : 1;
    if (at >= 1 && at <= r->to - r->from) {
        *token = r->from + at - 1;
        return ASN_OK;
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: numAcceptedTokens of sequence %lld is %lld; it has %lld "
                         "tokens",
                         e->name, (long long)b, (long long)at,
                         (long long)(r->to - r->from));
}

/* One sequence after the other: a later one may start from what an earlier one left. */
static asn_status recurrent_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const delta_plan *p = plan;
    const asnd_nd *cache = asn_exec_nd(e, p->state);
    const int64_t *lengths, *places, *accepted = NULL;
    int64_t longest = 0, start = 0;
    delta_run r;
    asnd_view y, s, each, block, told;
    ASN_TRY(begin(e, p, tmp, &r, &y, &s));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->lengths), ASN_I64, tmp, &lengths));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->places), ASN_I64, tmp, &places));
    if (p->accepted >= 0)
        ASN_TRY(asn_packed_data(asn_exec_nd(e, p->accepted), ASN_I64, tmp, &accepted));
    ASN_TRY(check_lengths(e, p, lengths));
    for (int64_t t = 0; t < p->tokens; t++)
        if (places[t] < 0 || places[t] >= cache->shape[0])
            return asn_error_set(ASN_ERR_INDEX,
                                 "%s: ssmStateIndices has %lld; the state has %lld "
                                 "matrices for each head",
                                 e->name, (long long)places[t],
                                 (long long)cache->shape[0]);
    for (int64_t b = 0; b < p->batch; b++)
        longest = lengths[b] > longest ? lengths[b] : longest;
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 4,
                         (int64_t[]){longest, p->heads, p->value, p->key}, &each));
    r.each = (float *)(void *)each.nd.data;
    for (int64_t b = 0; b < p->batch; b++) {
        r.from = r.to;
        r.to += lengths[b];
        if (r.from == r.to) continue;
        ASN_TRY(start_of(e, b, &r, accepted, &start));
        block_of(&block, cache, places[start]);
        ASN_TRY(asn_move(&s.nd, &block.nd));
        run_sequence(&r);
        for (int64_t t = r.from; t < r.to; t++) {
            block_of(&block, cache, places[t]);
            block_of(&told, &each.nd, t - r.from);
            ASN_TRY(asn_move(&block.nd, &told.nd));
        }
    }
    return asn_move(asn_exec_nd(e, p->out), &y.nd);
}

/* ---- planners */

/* Operand of parameter i (-1: absent), of floats, of this shape. */
static asn_status take(const asnd_call *c, int i, int ndim, const int64_t *shape,
                       int *operand) {
    *operand = c->first[i];
    if (*operand < 0) return ASN_OK;
    ASN_TRY(asn_call_single(c, i));
    return asn_call_same_shape(c, i, ndim, shape);
}

/* The same of positions. */
static asn_status take_ints(const asnd_call *c, int i, int64_t n, int *operand) {
    *operand = c->first[i];
    if (*operand < 0) return ASN_OK;
    ASN_TRY(asn_call_position_dtype(c, i));
    return asn_call_same_shape(c, i, 1, &n);
}

/* query, key, value; lengths, beta, g and the output at these parameters. */
static asn_status take_tokens(const asnd_call *c, delta_plan *p, int beta, int lengths,
                              int g, int out) {
    const asnd_nd *q = asn_call_nd(c, 0), *v = asn_call_nd(c, 2);
    for (int i = 0; i < 3; i += 2)
        ASN_TRY(asn_call_rank(c, i, 3, 3));
    ASN_TRY(asn_call_rank(c, lengths, 1, 1));
    *p =
        (delta_plan){.tokens = q->shape[0], .key_heads = q->shape[1], .key = q->shape[2]};
    p->heads = v->shape[1];
    p->value = v->shape[2];
    p->batch = asn_call_nd(c, lengths)->shape[0];
    p->final = p->places = p->accepted = -1;
    if (p->key_heads < 1 || p->heads % p->key_heads != 0)
        return asn_error_set(
            ASN_ERR_VALUE, "%s: value has %lld heads, key %lld; they must be a multiple",
            c->op->name, (long long)p->heads, (long long)p->key_heads);
    int64_t values[] = {p->tokens, p->heads, p->value};
    ASN_TRY(take(c, 0, 3, q->shape, &p->q));
    ASN_TRY(take(c, 1, 3, q->shape, &p->k));
    ASN_TRY(take(c, 2, 3, values, &p->v));
    ASN_TRY(take(c, beta, 2, values, &p->beta));
    ASN_TRY(take(c, g, 2, values, &p->g));
    ASN_TRY(take(c, out, 3, values, &p->out));
    return take_ints(c, lengths, p->batch, &p->lengths);
}

/* State at parameter i: (blocks, heads, value, key); of the chunked form a block is a
 * sequence, else a token's place. */
static asn_status take_state(const asnd_call *c, const delta_plan *p, int i,
                             int64_t blocks, int *operand) {
    return take(c, i, 4, (int64_t[]){blocks, p->heads, p->value, p->key}, operand);
}

/* The cost is that of all tokens, four operations for each element of a matrix. */
static asn_status keep(asnd_call *c, const delta_plan *p, asnd_body_fn body) {
    double work = 4 * (double)p->tokens * (double)(p->heads * p->value * p->key);
    return asn_call_keep(c, body, p, sizeof *p, 1000 + work / 4);
}

/* ChunkGatedDeltaRule(query, key, value, beta, initialState, actualSeqLengths, scale, g,
 * out, finalState) */
asn_status asn_planner_chunk_delta(asnd_call *c) {
    delta_plan p;
    ASN_TRY(take_tokens(c, &p, 3, 5, 7, 8));
    ASN_TRY(take_state(c, &p, 4, p.batch, &p.state));
    ASN_TRY(take_state(c, &p, 9, p.batch, &p.final));
    p.scale = (float)asn_call_double(c, 6);
    if (p.heads * p.value == 0) return ASN_OK;
    return keep(c, &p, chunk_body);
}

/* RecurrentGatedDeltaRule(query, key, value, beta, stateRef, actualSeqLengths,
 * ssmStateIndices, g, gk, numAcceptedTokens, scale, out) */
asn_status asn_planner_recurrent_delta(asnd_call *c) {
    delta_plan p;
    ASN_TRY(take_tokens(c, &p, 3, 5, 7, 11));
    ASN_TRY(asn_call_rank(c, 4, 4, 4));
    ASN_TRY(take_state(c, &p, 4, asn_call_nd(c, 4)->shape[0], &p.state));
    ASN_TRY(take_ints(c, 6, p.tokens, &p.places));
    ASN_TRY(take_ints(c, 9, p.batch, &p.accepted));
    p.scale = (float)asn_call_double(c, 10);
    if (c->first[8] >= 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: gk is given; it must be NULL",
                             c->op->name);
    if (p.tokens * p.heads * p.value == 0) return ASN_OK;
    return keep(c, &p, recurrent_body);
}
