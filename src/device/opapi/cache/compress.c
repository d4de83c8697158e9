/* CPU device, operators: NsaCompress, the weighted sums of windows of a sequence that
 * native sparse attention looks at first (Yuan et al., "Native Sparse Attention", 2025),
 * and its gradient.
 *
 *     output[i] = sum over j of weight[j, n] * input[start_i + j, n, d]
 *
 * for the windows of compressBlockSize tokens, compressStride apart, that lie within one
 * sequence; sequences lie one after the other, and actSeqLen has their ends.
 */
#include <string.h>

#include "device/opapi/core/packed.h"

/* Extents: windows, tokens of one, heads, elements of a head, all tokens. Operands;
 * starts: of each window, in the executor. */
typedef struct {
    asnd_plan_head head;
    int grad, input, weight, out, out_weight;
    int64_t windows, block, heads, size, tokens;
    int64_t *starts;
} nsa_plan;

/* Windows overlap where the stride is less than the block: each is summed by itself, a
 * token of a head at a time, whose elements lie together. */
static asn_status nsa_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const nsa_plan *p = plan;
    const float *x, *weight;
    const asnd_nd *to = asn_exec_nd(e, p->out);
    asnd_view out;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->input), ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weight), ASN_F32, tmp, &weight));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, to->shape, &out));
    float *y = (float *)(void *)out.nd.data;
    memset(y, 0, (size_t)asn_nd_size(to) * sizeof *y);
    for (int64_t i = 0; i < p->windows; i++)
        for (int64_t j = 0; j < p->block; j++)
            for (int64_t n = 0; n < p->heads; n++) {
                const float *v = x + ((p->starts[i] + j) * p->heads + n) * p->size;
                float by = weight[j * p->heads + n],
                      *sum = y + (i * p->heads + n) * p->size;
                for (int64_t d = 0; d < p->size; d++)
                    sum[d] += by * v[d];
            }
    return asn_move(to, &out.nd);
}

/* A token gets a part of every window that it is in. The weight's gradient sums over all
 * windows, of which there may be thousands: in float64. */
static asn_status nsa_grad_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const nsa_plan *p = plan;
    const float *g, *x, *weight;
    asnd_view out, sums;
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->grad), ASN_F32, tmp, &g));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->input), ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_data(asn_exec_nd(e, p->weight), ASN_F32, tmp, &weight));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 3, asn_exec_nd(e, p->input)->shape, &out));
    ASN_TRY(asn_tmp_view(tmp, ASN_F64, 2, (int64_t[]){p->block, p->heads}, &sums));
    float *gx = (float *)(void *)out.nd.data;
    double *gw = (double *)(void *)sums.nd.data;
    memset(gx, 0, (size_t)asn_nd_size(&out.nd) * sizeof *gx);
    memset(gw, 0, (size_t)(p->block * p->heads) * sizeof *gw);
    for (int64_t i = 0; i < p->windows; i++)
        for (int64_t j = 0; j < p->block; j++)
            for (int64_t n = 0; n < p->heads; n++) {
                int64_t at = ((p->starts[i] + j) * p->heads + n) * p->size;
                const float *dy = g + (i * p->heads + n) * p->size;
                double dot = 0;
                for (int64_t d = 0; d < p->size; d++) {
                    gx[at + d] += weight[j * p->heads + n] * dy[d];
                    dot += (double)x[at + d] * dy[d];
                }
                gw[j * p->heads + n] += dot;
            }
    ASN_TRY(asn_move(asn_exec_nd(e, p->out_weight), &sums.nd));
    return asn_move(asn_exec_nd(e, p->out), &out.nd);
}

/* starts, from the ends of the sequences; windows are counted while they are found, which
 * are tokens / stride + 1 at most. A sequence that is shorter than a window has none. */
static asn_status take_windows(const asnd_call *c, nsa_plan *p, int64_t stride) {
    const asnd_array *ends =
        asn_call_array(c, asn_call_param_named(c, "actSeqLenOptional"));
    int64_t most = p->tokens / (stride > 0 ? stride : 1) + 1, from = 0;
    p->starts = asnop_executor_alloc(c->e, (size_t)most * sizeof *p->starts);
    if (p->starts == NULL) return asn_call_no_memory();
    for (uint64_t i = 0; i < ends->size; i++) {
        int64_t to = ((const int64_t *)ends->data)[i];
        if (to < from || to > p->tokens)
            return asn_error_set(ASN_ERR_VALUE,
                                 "%s: actSeqLen has %lld behind %lld; its ends ascend to "
                                 "%lld at most",
                                 c->op->name, (long long)to, (long long)from,
                                 (long long)p->tokens);
        for (int64_t s = from; s + p->block <= to; s += stride)
            p->starts[p->windows++] = s;
        from = to;
    }
    return ASN_OK;
}

/* What both have: layout TND, ends of sequences, sizes. actSeqLenType 1, which would have
 * lengths, is on no page. */
static asn_status check_nsa(const asnd_call *c) {
    const char *layout = c->args[asn_call_param_named(c, "layoutOptional")].p;
    int lengths = asn_call_param_named(c, "actSeqLenOptional");
    int64_t type = asn_call_int(c, asn_call_param_named(c, "actSeqLenType")),
            block = asn_call_int(c, asn_call_param_named(c, "compressBlockSize")),
            stride = asn_call_int(c, asn_call_param_named(c, "compressStride"));
    if (c->args[lengths].p == NULL)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: actSeqLenOptional is NULL",
                             c->op->name);
    if (layout != NULL && *layout != 0 && strcmp(layout, "TND") != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: layout is \"%.20s\"; it must be TND",
                             c->op->name, layout);
    if (type == 0 && stride >= 1 && block >= stride) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: actSeqLenType is %lld, compressBlockSize %lld, "
                         "compressStride %lld; the first must be 0 (ends), the last 1 or "
                         "more, and no larger than the block",
                         c->op->name, (long long)type, (long long)block,
                         (long long)stride);
}

/* NsaCompress(input, weight, actSeqLen, layout, compressBlockSize, compressStride,
 * actSeqLenType, output); arg 1: NsaCompressGrad(outputGrad, input, weight, actSeqLen,
 * compressBlockSize, compressStride, actSeqLenType, layout, inputGrad, weightGrad). */
asn_status asn_planner_nsa_compress(asnd_call *c) {
    bool back = c->op->arg == 1;
    int in = back ? 1 : 0, out = back ? 8 : 7, small = back ? 0 : 7;
    const asnd_nd *x = asn_call_nd(c, in);
    const int tensors[] = {in, in + 1, out, back ? 9 : out, 0};
    for (int i = 0; i < 5; i++) {
        ASN_TRY(asn_call_single(c, tensors[i]));
        ASN_TRY(asn_call_same_dtype(c, tensors[i], 0));
    }
    ASN_TRY(asn_call_rank(c, in, 3, 3));
    ASN_TRY(check_nsa(c));
    nsa_plan p = {.input = c->first[in], .weight = c->first[in + 1]};
    p.grad = c->first[0];
    p.out = c->first[out];
    p.out_weight = back ? c->first[9] : -1;
    p.block = asn_call_int(c, asn_call_param_named(c, "compressBlockSize"));
    p.tokens = x->shape[0];
    p.heads = x->shape[1];
    p.size = x->shape[2];
    int64_t weight[] = {p.block, p.heads};
    ASN_TRY(asn_call_same_shape(c, in + 1, 2, weight));
    ASN_TRY(
        take_windows(c, &p, asn_call_int(c, asn_call_param_named(c, "compressStride"))));
    ASN_TRY(asn_call_same_shape(c, small, 3, (int64_t[]){p.windows, p.heads, p.size}));
    if (back) ASN_TRY(asn_call_same_shape(c, 8, 3, x->shape));
    if (back) ASN_TRY(asn_call_same_shape(c, 9, 2, weight));
    if (back ? p.heads == 0 : p.windows * p.heads * p.size == 0) return ASN_OK;
    double work = (double)(p.windows * p.block) * (double)(p.heads * p.size);
    return asn_call_keep(c, back ? nsa_grad_body : nsa_body, &p, sizeof p,
                         300 + work / 2);
}
