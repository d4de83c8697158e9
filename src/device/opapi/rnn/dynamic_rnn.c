/* CPU device, operators: an LSTM of one layer and one direction by the name of its type,
 * DynamicRNNV2 and DynamicRNNV2Grad, which is how torch_npu computes nn.LSTMCell.
 *
 * x is (time, batch, input); the weights stand the other way round than PyTorch's,
 * (input, 4 hidden) and (hidden, 4 hidden), with one bias (4 hidden). gate_order says how
 * the four gates lie: "ifco" (also written "ifjo"), PyTorch's, or "ijfo". States are (1,
 * batch, hidden) or (batch, hidden). As in rnn_forward.c one product gives all steps'
 * input part, and a step adds the state's part and runs the cell as one program.
 *
 * What torch_npu does not ask for is refused: other directions, projections, peepholes,
 * clipped cells, a bias of the forget gate, sequences that end early.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"
#include "device/opapi/nn/norm.h"
#include "device/opapi/rnn/rnn.h"

/* Parameters of the forward row, and of the gradient's. */
/* clang-format off */
enum { F_X, F_WI, F_WH, F_BIAS, F_LENGTH, F_H0, F_C0, F_Y, F_H, F_C, F_I, F_J, F_F, F_O,
       F_TANH, F_TENSORS };
enum { G_X, G_WI, G_WH, G_Y, G_H0, G_C0, G_H, G_C, G_DY, G_DH, G_DC, G_I, G_J, G_F, G_O,
       G_TANH, G_LENGTH, G_DWI, G_DWH, G_DBIAS, G_DX, G_DH0, G_DC0, G_TENSORS };
/* clang-format on */

/* at: operands by parameter, -1 where there is none. place: of i, f, g and o among the
 * gates. */
typedef struct {
    asnd_plan_head head;
    asn_dtype t;
    int64_t time, batch, input, hidden;
    int at[G_TENSORS], place[4];
} dynamic_rnn;

/* ---- bodies */

/* Row-major memory of a parameter in the arithmetic's dtype. */
static asn_status load(aclOpExecutor *e, const dynamic_rnn *p, int i, asnd_tmp *tmp,
                       char **data) {
    asnd_view v;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->at[i]), p->t, tmp, &v));
    *data = v.nd.data;
    return ASN_OK;
}

/* The same for an output; store writes it to where the program wants it. */
static asn_status make(aclOpExecutor *e, const dynamic_rnn *p, int i, asnd_tmp *tmp,
                       asnd_view *v) {
    const asnd_nd *out = asn_exec_nd(e, p->at[i]);
    return asn_tmp_view(tmp, p->t, out->ndim, out->shape, v);
}

/* Outputs may lie in memory that inputs have: nothing is stored before all is computed.
 */
static asn_status store(aclOpExecutor *e, const dynamic_rnn *p, int i,
                        const asnd_view *v) {
    return asn_move(asn_exec_nd(e, p->at[i]), &v->nd);
}

/* A state before the first step: memory of its own, which steps may write. */
static asn_status state(aclOpExecutor *e, const dynamic_rnn *p, int i, asnd_tmp *tmp,
                        char **data) {
    size_t bytes = (size_t)(p->batch * p->hidden * asn_itemsize(p->t));
    char *given = NULL;
    *data = asn_tmp_alloc(tmp, bytes);
    if (*data == NULL) return ASN_ERR_MEMORY;
    if (p->at[i] < 0) {
        memset(*data, 0, bytes);
        return ASN_OK;
    }
    ASN_TRY(load(e, p, i, tmp, &given));
    memcpy(*data, given, bytes);
    return ASN_OK;
}

/* (batch, hidden) of step k. */
static asnd_view *step_rows(const dynamic_rnn *p, char *data, int64_t k, asnd_view *v) {
    asn_rnn_rows(v, p->t, data + k * p->batch * p->hidden * asn_itemsize(p->t), p->batch,
                 p->hidden, p->hidden);
    return v;
}

/* The four gates of step k, in the cell's order. */
static void step_gates(const dynamic_rnn *p, char *data, int64_t k, asnd_view *v) {
    int64_t item = asn_itemsize(p->t), row = 4 * p->hidden;
    for (int g = 0; g < 4; g++)
        asn_rnn_rows(&v[g], p->t,
                     data + (k * p->batch * row + p->place[g] * p->hidden) * item,
                     p->batch, p->hidden, row);
}

/* The sums of all steps' gates begin with the bias; the input's product is added to them,
 * then, step by step, the state's. h and c point into what was made by the step before.
 */
static asn_status forward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dynamic_rnn *p = plan;
    int64_t rows = p->time * p->batch, wide = 4 * p->hidden;
    char *x, *wi, *wh, *h, *c;
    asnd_view sums, bias, made[F_TENSORS], v[F_TENSORS];
    ASN_TRY(load(e, p, F_X, tmp, &x));
    ASN_TRY(load(e, p, F_WI, tmp, &wi));
    ASN_TRY(load(e, p, F_WH, tmp, &wh));
    ASN_TRY(state(e, p, F_H0, tmp, &h));
    ASN_TRY(state(e, p, F_C0, tmp, &c));
    for (int i = F_H; i < F_TENSORS; i++)
        ASN_TRY(make(e, p, i, tmp, &made[i]));
    ASN_TRY(asn_tmp_view(tmp, p->t, 2, (int64_t[]){rows, wide}, &sums));
    if (p->at[F_BIAS] >= 0) {
        asn_view_set(&bias, asn_exec_nd(e, p->at[F_BIAS]));
        asn_view_broadcast(&bias, 2, sums.shape);
        ASN_TRY(asn_move(&sums.nd, &bias.nd));
    }
    ASN_TRY(asn_rnn_product(p->t, rows, wide, p->input, x, p->input, wi, true,
                            p->at[F_BIAS] >= 0, sums.nd.data, wide));
    for (int64_t k = 0; k < p->time; k++) {
        asnd_lstm_step s = {.c = {step_rows(p, made[F_C].nd.data, k, &v[F_C])},
                            .h = {step_rows(p, made[F_H].nd.data, k, &v[F_H])}};
        char *at = sums.nd.data + k * p->batch * wide * asn_itemsize(p->t);
        ASN_TRY(asn_rnn_product(p->t, p->batch, wide, p->hidden, h, p->hidden, wh, true,
                                1, at, wide));
        step_gates(p, sums.nd.data, k, s.gates);
        step_rows(p, c, 0, &s.c_prev);
        s.i = step_rows(p, made[F_I].nd.data, k, &v[F_I]);
        s.g = step_rows(p, made[F_J].nd.data, k, &v[F_J]);
        s.f = step_rows(p, made[F_F].nd.data, k, &v[F_F]);
        s.o = step_rows(p, made[F_O].nd.data, k, &v[F_O]);
        s.tanh_c = step_rows(p, made[F_TANH].nd.data, k, &v[F_TANH]);
        ASN_TRY(asn_lstm_step_run(&s));
        h = v[F_H].nd.data;
        c = v[F_C].nd.data;
    }
    ASN_TRY(store(e, p, F_Y, &made[F_H]));
    for (int i = F_H; i < F_TENSORS; i++)
        ASN_TRY(store(e, p, i, &made[i]));
    return ASN_OK;
}

/* gates: the gradients of the gates' sums, (time, batch, 4 hidden); to = a^T gates, with
 * a (time, batch, width). */
static asn_status weight_gradient(const dynamic_rnn *p, char *a, int64_t width,
                                  const asnd_view *gates, const asnd_view *to) {
    _Alignas(16) uint8_t one[16], zero[16];
    asnd_view turned;
    asn_value_from_double(p->t, one, 1);
    asn_value_from_double(p->t, zero, 0);
    asn_rnn_rows(&turned, p->t, a, p->time * p->batch, width, width);
    asn_view_swap_last(&turned);
    return asn_cpu_gemm(one, &turned.nd, &gates->nd, zero, &to->nd);
}

/* The weights' gradients, once the gates' are known. before: the states before each
 * step. */
static asn_status parameters_body(aclOpExecutor *e, const dynamic_rnn *p, char *x,
                                  char *before, const asnd_view *gates, asnd_tmp *tmp) {
    asnd_view dwi, dwh, db, to;
    ASN_TRY(make(e, p, G_DWI, tmp, &dwi));
    ASN_TRY(make(e, p, G_DWH, tmp, &dwh));
    ASN_TRY(make(e, p, G_DBIAS, tmp, &db));
    ASN_TRY(weight_gradient(p, x, p->input, gates, &dwi));
    ASN_TRY(weight_gradient(p, before, p->hidden, gates, &dwh));
    asnd_prog q;
    asn_view_reduced(&to, &db.nd, 1, false, 2);
    asn_prog_begin(&q, 2, gates->shape, 1);
    asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_in(&q, &gates->nd), &to.nd);
    ASN_TRY(asn_prog_run(&q));
    ASN_TRY(store(e, p, G_DWI, &dwi));
    ASN_TRY(store(e, p, G_DWH, &dwh));
    return store(e, p, G_DBIAS, &db);
}

/* Steps from the last to the first, with the gradient of the state behind each. */
static asn_status gradient_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dynamic_rnn *p = plan;
    static const int inputs[] = {G_X, G_WI, G_WH, G_Y, G_C,   G_DY,
                                 G_I, G_J,  G_F,  G_O, G_TANH};
    int64_t rows = p->time * p->batch, wide = 4 * p->hidden;
    size_t row = (size_t)(p->batch * p->hidden * asn_itemsize(p->t));
    char *in[G_TENSORS], *h0, *c0, *dh, *dc;
    asnd_view gates, before, dx, v[G_TENSORS], d_gates[4];
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        ASN_TRY(load(e, p, inputs[k], tmp, &in[inputs[k]]));
    ASN_TRY(state(e, p, G_H0, tmp, &h0));
    ASN_TRY(state(e, p, G_C0, tmp, &c0));
    ASN_TRY(state(e, p, G_DH, tmp, &dh));
    ASN_TRY(state(e, p, G_DC, tmp, &dc));
    ASN_TRY(asn_tmp_view(tmp, p->t, 2, (int64_t[]){rows, wide}, &gates));
    ASN_TRY(asn_tmp_view(tmp, p->t, 2, (int64_t[]){rows, p->hidden}, &before));
    ASN_TRY(make(e, p, G_DX, tmp, &dx));
    /* The state before a step is the output of the one before. */
    memcpy(before.nd.data, h0, row);
    memcpy(before.nd.data + row, in[G_Y], row * (size_t)(p->time - 1));
    /* The cell makes the gates' gradients of a step from dh and dc, which become those of
     * the step before: dc within the cell, dh by the product with weightHidden. */
    for (int64_t k = p->time; k-- > 0;) {
        asnd_lstm_back s = {.dy = step_rows(p, in[G_DY], k, &v[G_DY]),
                            .dh = step_rows(p, dh, 0, &v[G_DH]),
                            .dc = step_rows(p, dc, 0, &v[G_DC]),
                            .i = step_rows(p, in[G_I], k, &v[G_I]),
                            .f = step_rows(p, in[G_F], k, &v[G_F]),
                            .g = step_rows(p, in[G_J], k, &v[G_J]),
                            .o = step_rows(p, in[G_O], k, &v[G_O]),
                            .tanh_c = step_rows(p, in[G_TANH], k, &v[G_TANH]),
                            .dc_prev = &v[G_DC]};
        s.c_prev =
            k > 0 ? step_rows(p, in[G_C], k - 1, &v[G_C]) : step_rows(p, c0, 0, &v[G_C]);
        step_gates(p, gates.nd.data, k, d_gates);
        for (int g = 0; g < 4; g++)
            s.d_gates[g] = &d_gates[g];
        ASN_TRY(asn_lstm_back_run(&s));
        char *at = gates.nd.data + k * p->batch * wide * asn_itemsize(p->t);
        ASN_TRY(asn_rnn_product(p->t, p->batch, p->hidden, wide, at, wide, in[G_WH],
                                false, 0, dh, p->hidden));
    }
    ASN_TRY(asn_rnn_product(p->t, rows, p->input, wide, gates.nd.data, wide, in[G_WI],
                            false, 0, dx.nd.data, p->input));
    ASN_TRY(parameters_body(e, p, in[G_X], before.nd.data, &gates, tmp));
    ASN_TRY(store(e, p, G_DX, &dx));
    for (int k = 0; k < 2; k++) {
        asnd_view made;
        ASN_TRY(make(e, p, G_DH0 + k, tmp, &made));
        memcpy(made.nd.data, k == 0 ? dh : dc, row);
        ASN_TRY(store(e, p, G_DH0 + k, &made));
    }
    return ASN_OK;
}

/* ---- planning */

/* The attributes that a row's names end with: what is allowed of each. */
static asn_status check_attributes(const asnd_call *c, int *place) {
    static const struct {
        const char *name;
        double least, most;
    } numbers[] = {{"keepProb", 1, 1},    {"cellClip", -1e300, 0}, {"numProj", 0, 0},
                   {"usePeephole", 0, 0}, {"timeMajor", 1, 1},     {"forgetBias", 0, 0}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        int i = asn_call_param_named(c, numbers[k].name);
        if (i < 0) continue;
        bool real = c->op->params[i].kind == ASN_DOUBLE;
        double value = real ? asn_call_double(c, i) : (double)asn_call_int(c, i);
        if (value >= numbers[k].least && value <= numbers[k].most) continue;
        return asn_error_set(ASN_ERR_UNSUPPORTED, "%s: %s is %g; it must be %g",
                             c->op->name, numbers[k].name, value, numbers[k].most);
    }
    const char *direction = c->args[asn_call_param_named(c, "direction")].p;
    if (strcmp(direction, "UNIDIRECTIONAL") != 0)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "%s: direction is %s; UNIDIRECTIONAL is computed",
                             c->op->name, direction);
    const char *order = c->args[asn_call_param_named(c, "gateOrder")].p;
    bool torch = strcmp(order, "ifco") == 0 || strcmp(order, "ifjo") == 0;
    if (!torch && strcmp(order, "ijfo") != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: gate_order is %s; ifco, ifjo and ijfo are known",
                             c->op->name, order);
    /* Of i, f, g (which CANN calls j, or c) and o. */
    const int places[2][4] = {{0, 2, 1, 3}, {0, 1, 2, 3}};
    memcpy(place, places[torch], sizeof places[0]);
    return ASN_OK;
}

/* Parameter i: (1, batch, hidden) or (batch, hidden), if it is there. */
static asn_status check_state(const asnd_call *c, const dynamic_rnn *p, int i) {
    const int64_t shape[3] = {1, p->batch, p->hidden};
    const asnd_nd *a = asn_call_nd(c, i);
    if (a == NULL) return ASN_OK;
    bool flat = a->ndim == 2;
    return asn_norm_check(c, i, flat ? 2 : 3, flat ? shape + 1 : shape);
}

/* Shapes and dtypes of parameters first to last: (time, batch, hidden) each; of one step
 * the time may be left out. */
static asn_status check_steps(const asnd_call *c, const dynamic_rnn *p, int first,
                              int last) {
    const int64_t shape[3] = {p->time, p->batch, p->hidden};
    for (int i = first; i <= last; i++)
        ASN_TRY(p->time == 1 ? check_state(c, p, i) : asn_norm_check(c, i, 3, shape));
    return ASN_OK;
}

/* What both rows share: extents from x and weightHidden. tensors: how many of the
 * parameters are tensors, which are of x's dtype but for the lengths of sequences. */
static asn_status begin(asnd_call *c, dynamic_rnn *p, int tensors, int length) {
    memset(p, 0, sizeof *p);
    ASN_TRY(check_attributes(c, p->place));
    ASN_TRY(asn_call_rank(c, 0, length == G_LENGTH ? 2 : 3, 3));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 2, 2, 2));
    const asnd_nd *x = asn_call_nd(c, 0), *wh = asn_call_nd(c, 2);
    p->t = asn_wide_dtype(x->dtype);
    p->time = x->ndim == 3 ? x->shape[0] : 1;
    p->batch = x->shape[x->ndim - 2];
    p->input = x->shape[x->ndim - 1];
    p->hidden = wh->shape[0];
    if (p->time < 1 || p->batch < 1 || p->input < 1 || p->hidden < 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: x and weights must have elements",
                             c->op->name);
    for (int i = 0; i < tensors; i++) {
        p->at[i] = c->first[i];
        if (i != length && c->first[i] >= 0) ASN_TRY(asn_call_same_dtype(c, 0, i));
    }
    const asnd_nd *ends = asn_call_nd(c, length);
    if (ends == NULL || (ends->ndim == 0 && length == G_LENGTH)) return ASN_OK;
    return asn_error_set(ASN_ERR_UNSUPPORTED,
                         "%s: sequences that end early (seq_length) are not computed",
                         c->op->name);
}

/* Nanoseconds: 5 for each gate, and the products. */
static double work_of(const dynamic_rnn *p) {
    double cells = (double)(p->time * p->batch) * (double)(4 * p->hidden);
    return 1000 + cells * (5 + (double)(p->input + p->hidden) / 10);
}

/* DynamicRNNV2(x, weightInput, weightHidden, b, seqLength, initH, initC, y, outputH,
 * outputC, i, j, f, o, tanhc, attributes) */
asn_status asn_planner_dynamic_rnn(asnd_call *c) {
    dynamic_rnn p;
    ASN_TRY(begin(c, &p, F_TENSORS, F_LENGTH));
    const int64_t wi[2] = {p.input, 4 * p.hidden}, wh[2] = {p.hidden, 4 * p.hidden};
    ASN_TRY(asn_norm_check(c, F_WI, 2, wi));
    ASN_TRY(asn_norm_check(c, F_WH, 2, wh));
    ASN_TRY(asn_norm_check(c, F_BIAS, 1, wh + 1));
    ASN_TRY(check_state(c, &p, F_H0));
    ASN_TRY(check_state(c, &p, F_C0));
    ASN_TRY(check_steps(c, &p, F_Y, F_TANH));
    return asn_call_keep(c, forward_body, &p, sizeof p, work_of(&p));
}

/* DynamicRNNV2Grad(x, weightInput, weightHidden, ySaved, initH, initC, h, c, dy, dh, dc,
 * i, j, f, o, tanhc, seqLength, dwInput, dwHidden, db, dx, dhPrev, dcPrev, attributes).
 * torch_npu's seqLength is a zero without dimensions, its x of one step (batch, input).
 */
asn_status asn_planner_dynamic_rnn_grad(asnd_call *c) {
    dynamic_rnn p;
    ASN_TRY(begin(c, &p, G_TENSORS, G_LENGTH));
    const int64_t wi[2] = {p.input, 4 * p.hidden}, wh[2] = {p.hidden, 4 * p.hidden};
    const asnd_nd *x = asn_call_nd(c, G_X);
    for (int k = 0; k < 2; k++) {
        ASN_TRY(asn_norm_check(c, k ? G_DWI : G_WI, 2, wi));
        ASN_TRY(asn_norm_check(c, k ? G_DWH : G_WH, 2, wh));
    }
    ASN_TRY(asn_norm_check(c, G_DBIAS, 1, wh + 1));
    ASN_TRY(asn_norm_check(c, G_DX, x->ndim, x->shape));
    static const int states[] = {G_H0, G_C0, G_DH, G_DC, G_DH0, G_DC0};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++)
        ASN_TRY(check_state(c, &p, states[k]));
    ASN_TRY(check_steps(c, &p, G_Y, G_Y));
    ASN_TRY(check_steps(c, &p, G_H, G_DY));
    ASN_TRY(check_steps(c, &p, G_I, G_TANH));
    return asn_call_keep(c, gradient_body, &p, sizeof p, 2 * work_of(&p));
}
