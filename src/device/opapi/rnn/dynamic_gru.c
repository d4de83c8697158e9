/* CPU device, operators: a GRU of one layer and one direction by the name of its type,
 * DynamicGRUV2 and DynamicGRUV2Grad, which is how torch_npu computes nn.GRU in bfloat16.
 *
 * It is GRU of one layer (rnn.h), whose weights stand the other way round, (input, 3
 * hidden) and (hidden, 3 hidden): their operands are exchanged in place, and so are those
 * of their gradients, so that the bodies of GRU run as they are. Gate order "rzh" is
 * PyTorch's; "update" is z, "reset" r, "new" n and "hidden_new" the state's part of n,
 * which r multiplies behind its bias (reset_after). States are (1, batch, hidden) or
 * (batch, hidden). Direction "REDIRECTIONAL" takes the steps from the last to the first;
 * everything of step k stands at index k.
 *
 * Sequences that end early, projections, clipped states and the order "zrh" are refused:
 * torch_npu does not ask for them.
 */
#include <string.h>

#include "device/opapi/core/packed.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/rnn/rnn.h"

/* Parameters of the forward row, and of the gradient's. Weights and biases stand side by
 * side, as GRU's list has them. */
/* clang-format off */
enum { F_X, F_WI, F_WH, F_BI, F_BH, F_LENGTH, F_H0, F_Y, F_H, F_Z, F_R, F_N, F_HN,
       F_TENSORS };
enum { G_X, G_WI, G_WH, G_Y, G_H0, G_H, G_DY, G_DH, G_Z, G_R, G_N, G_HN, G_LENGTH, G_MASK,
       G_DWI, G_DWH, G_DBI, G_DBH, G_DX, G_DH0, G_TENSORS };
/* clang-format on */

/* What neither PyTorch nor the page that torch_npu has of it leaves open. */
static asn_status check_order(const asnd_call *c) {
    const char *order = c->args[asn_call_param_named(c, "gateOrder")].p;
    if (strcmp(order, "rzh") == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_UNSUPPORTED, "%s: gate_order is %s; rzh is computed",
                         c->op->name, order);
}

/* Parameter i is not there. torch_npu hands the gradient a zero without dimensions for
 * that. */
static asn_status check_none(const asnd_call *c, int i) {
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL || a->ndim == 0) return ASN_OK;
    return asn_error_set(ASN_ERR_UNSUPPORTED,
                         "%s: %s must be NULL: all steps of all sequences are computed",
                         c->op->name, c->op->params[i].name);
}

/* A matrix as GRU has it: rows are gates. Its two dimensions are the executor's own. */
static void turn(const asnd_call *c, int i) {
    asnd_nd *a = &asn_call_operand(c, i)->nd;
    int64_t *shape = (int64_t *)a->shape, *strides = (int64_t *)a->strides;
    int64_t extent = shape[0], stride = strides[0];
    shape[0] = shape[1];
    strides[0] = strides[1];
    shape[1] = extent;
    strides[1] = stride;
}

/* Parameter i: (1, batch, hidden) or (batch, hidden), if it is there; its operand. */
static asn_status state_of(const asnd_call *c, const asnd_rnn *p, int i, int *operand) {
    const int64_t shape[3] = {1, p->batch, p->hidden};
    const asnd_nd *a = asn_call_nd(c, i);
    *operand = c->first[i];
    if (a == NULL) return ASN_OK;
    bool flat = a->ndim == 2;
    return asn_norm_check(c, i, flat ? 2 : 3, flat ? shape + 1 : shape);
}

/* Parameter i: (time, batch, hidden); its operand. */
static asn_status steps_of(const asnd_call *c, const asnd_rnn *p, int i, int *operand) {
    const int64_t shape[3] = {p->time, p->batch, p->hidden};
    *operand = c->first[i];
    return asn_norm_check(c, i, 3, shape);
}

/* Matrices i and i + 1, turned: the weights, or their gradients. */
static asn_status matrices_of(const asnd_call *c, const asnd_rnn *p, int i) {
    const int64_t ih[2] = {p->input, 3 * p->hidden}, hh[2] = {p->hidden, 3 * p->hidden};
    ASN_TRY(asn_norm_check(c, i, 2, ih));
    ASN_TRY(asn_norm_check(c, i + 1, 2, hh));
    turn(c, i);
    turn(c, i + 1);
    return ASN_OK;
}

/* What both rows share: extents from x and the weights. tensors: how many of the
 * parameters are tensors, of x's dtype but for the ends of sequences and the mask, which
 * are not there (mask -1: no such parameter). */
static asn_status begin(const asnd_call *c, asnd_rnn *p, int tensors, int length,
                        int mask) {
    memset(p, 0, sizeof *p);
    ASN_TRY(check_order(c));
    ASN_TRY(asn_rnn_attributes(c, &p->reverse));
    ASN_TRY(asn_call_rank(c, 0, 3, 3));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(asn_call_floating(c, 0));
    const asnd_nd *x = asn_call_nd(c, 0), *w = asn_call_nd(c, 1);
    ASN_TRY(check_none(c, length));
    p->t = asn_wide_dtype(x->dtype);
    p->gates = 3;
    p->layers = p->directions = 1;
    p->time = x->shape[0];
    p->batch = x->shape[1];
    p->input = x->shape[2];
    p->hidden = w->shape[1] / 3;
    p->x = c->first[0];
    p->sizes = p->c0 = p->hy = p->cy = p->dcy = p->dc0 = -1;
    p->num_saved = RNN_GRU_SAVED;
    p->all_steps = true;
    if (p->time < 1 || p->batch < 1 || p->input < 1 || p->hidden < 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: x and weights must have elements",
                             c->op->name);
    for (int i = 1; i < tensors; i++)
        if (c->first[i] >= 0 && i != length && i != mask)
            ASN_TRY(asn_call_same_dtype(c, 0, i));
    return ASN_OK;
}

/* Nanoseconds: products, and 5 for each gate. */
static double work_of(const asnd_rnn *p) {
    double cells = (double)(p->time * p->batch) * (double)(3 * p->hidden);
    return 1000 + cells * (5 + (double)(p->input + p->hidden) / 10);
}

/* DynamicGRUV2(x, weightInput, weightHidden, biasInput, biasHidden, seqLength, initH, y,
 * outputH, update, reset, new, hiddenNew, attributes) */
asn_status asn_planner_dynamic_gru(asnd_call *c) {
    asnd_rnn p;
    ASN_TRY(begin(c, &p, F_TENSORS, F_LENGTH, -1));
    const int64_t wide = 3 * p.hidden;
    ASN_TRY(matrices_of(c, &p, F_WI));
    p.params = c->first[F_WI];
    p.biases = c->first[F_BI] >= 0;
    if (p.biases != (c->first[F_BH] >= 0))
        return asn_error_set(ASN_ERR_VALUE, "%s: one of the biases is NULL, one not",
                             c->op->name);
    ASN_TRY(asn_norm_check(c, F_BI, 1, &wide));
    ASN_TRY(asn_norm_check(c, F_BH, 1, &wide));
    ASN_TRY(state_of(c, &p, F_H0, &p.h0));
    ASN_TRY(steps_of(c, &p, F_Y, &p.y));
    ASN_TRY(steps_of(c, &p, F_R, &p.saved[RNN_R]));
    ASN_TRY(steps_of(c, &p, F_Z, &p.saved[RNN_Z]));
    ASN_TRY(steps_of(c, &p, F_N, &p.saved[RNN_N]));
    ASN_TRY(steps_of(c, &p, F_HN, &p.saved[RNN_HN]));
    ASN_TRY(steps_of(c, &p, F_H, &p.saved[RNN_GRU_H]));
    return asn_call_keep(c, asn_rnn_forward_body, &p, sizeof p, work_of(&p));
}

/* DynamicGRUV2Grad(x, weightInput, weightHidden, y, initH, h, dy, dh, update, reset, new,
 * hiddenNew, seqLength, mask, dwInput, dwHidden, dbInput, dbHidden, dx, dhPrev,
 * attributes). The biases' gradients are always made; GRU's body does not read biases. */
asn_status asn_planner_dynamic_gru_grad(asnd_call *c) {
    asnd_rnn p;
    ASN_TRY(begin(c, &p, G_TENSORS, G_LENGTH, G_MASK));
    const int64_t wide = 3 * p.hidden;
    const asnd_nd *x = asn_call_nd(c, G_X);
    ASN_TRY(check_none(c, G_MASK));
    ASN_TRY(matrices_of(c, &p, G_WI));
    ASN_TRY(matrices_of(c, &p, G_DWI));
    ASN_TRY(asn_norm_check(c, G_DBI, 1, &wide));
    ASN_TRY(asn_norm_check(c, G_DBH, 1, &wide));
    ASN_TRY(asn_norm_check(c, G_DX, x->ndim, x->shape));
    p.params = c->first[G_WI];
    p.dparams = c->first[G_DWI];
    p.biases = true;
    p.dx = c->first[G_DX];
    ASN_TRY(state_of(c, &p, G_H0, &p.h0));
    ASN_TRY(state_of(c, &p, G_DH, &p.dhy));
    ASN_TRY(state_of(c, &p, G_DH0, &p.dh0));
    ASN_TRY(steps_of(c, &p, G_DY, &p.dy));
    ASN_TRY(steps_of(c, &p, G_R, &p.saved[RNN_R]));
    ASN_TRY(steps_of(c, &p, G_Z, &p.saved[RNN_Z]));
    ASN_TRY(steps_of(c, &p, G_N, &p.saved[RNN_N]));
    ASN_TRY(steps_of(c, &p, G_HN, &p.saved[RNN_HN]));
    ASN_TRY(steps_of(c, &p, G_H, &p.saved[RNN_GRU_H]));
    return asn_call_keep(c, asn_rnn_backward_body, &p, sizeof p, 2 * work_of(&p));
}
