/* CPU device, operators: an LSTM of one layer and one direction by the name of its type:
 * DynamicRNNV2 and DynamicRNNV2Grad, which is how torch_npu computes nn.LSTMCell, and
 * DynamicRNN and DynamicRNNGrad, by which it computes nn.LSTM where aclnnLSTM is not
 * asked.
 *
 * x is (time, batch, input); the weights stand the other way round than PyTorch's,
 * (input, 4 hidden) and (hidden, 4 hidden), with one bias (4 hidden); DynamicRNN has both
 * as one matrix, (input + hidden, 4 hidden), which is given as weightInput without a
 * weightHidden. gate_order says how the four gates lie: "ifco" (also written "ifjo"),
 * PyTorch's, or "ijfo". States are (1, batch, hidden) or (batch, hidden). As in
 * rnn_forward.c one product gives all steps' input part, and a step adds the state's part
 * and runs the cell as one program.
 *
 * Direction "REDIRECTIONAL" takes the steps from the last to the first; everything of
 * step k stands at index k. seqLength says where sequences end: numbers of steps
 * (batch), or a mask (time, batch, hidden) of ones and, behind the end, zeros. There the
 * state stays as it is and y is 0.
 *
 * What torch_npu does not ask for is refused: projections, peepholes, clipped cells, a
 * bias of the forget gate.
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

/* at: operands by parameter, -1 where there is none. ends: the operand of seqLength, or
 * -1. place: of i, f, g and o among the gates. */
typedef struct {
    asnd_plan_head head;
    asn_dtype t;
    bool reverse;
    int64_t time, batch, input, hidden;
    int at[G_TENSORS], ends, place[4];
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

/* The two weights, the second behind the first where they are one matrix. */
static asn_status load_weights(aclOpExecutor *e, const dynamic_rnn *p, int i,
                               asnd_tmp *tmp, char **wi, char **wh) {
    ASN_TRY(load(e, p, i, tmp, wi));
    if (p->at[i + 1] >= 0) return load(e, p, i + 1, tmp, wh);
    *wh = *wi + p->input * 4 * p->hidden * asn_itemsize(p->t);
    return ASN_OK;
}

/* *ends: for each sequence the steps that it has; NULL: all have all. */
static asn_status load_ends(aclOpExecutor *e, const dynamic_rnn *p, asnd_tmp *tmp,
                            int64_t **ends) {
    *ends = NULL;
    if (p->ends < 0) return ASN_OK;
    const asnd_nd *given = asn_exec_nd(e, p->ends);
    asnd_view v, mask;
    ASN_TRY(asn_tmp_view(tmp, ASN_I64, 1, &p->batch, &v));
    *ends = (int64_t *)v.nd.data;
    if (given->ndim == 1) {
        ASN_TRY(asn_move(&v.nd, given));
    } else {
        ASN_TRY(asn_packed_of(given, ASN_BOOL, tmp, &mask));
        for (int64_t b = 0; b < p->batch; b++) {
            const bool *at = (const bool *)mask.nd.data + b * p->hidden;
            int64_t k = 0;
            while (k < p->time && at[k * p->batch * p->hidden])
                k++;
            (*ends)[b] = k;
            for (; k < p->time; k++)
                if (at[k * p->batch * p->hidden]) (*ends)[b] = -1;
        }
    }
    for (int64_t b = 0; b < p->batch; b++)
        if ((*ends)[b] < 0 || (*ends)[b] > p->time)
            return asn_error_set(ASN_ERR_VALUE,
                                 "seqLength of sequence %lld: it must be in [0, %lld], a "
                                 "mask ones with zeros behind them",
                                 (long long)b, (long long)p->time);
    return ASN_OK;
}

/* Of the sequences that have ended at step k: their rows, copied, or zeros (from NULL).
 * stride: of a row, in bytes. */
static void ended_rows(const dynamic_rnn *p, const int64_t *ends, int64_t k, char *to,
                       const char *from, int64_t stride) {
    for (int64_t b = 0; ends != NULL && b < p->batch; b++) {
        if (k < ends[b]) continue;
        if (from)
            memcpy(to + b * stride, from + b * stride, (size_t)stride);
        else
            memset(to + b * stride, 0, (size_t)stride);
    }
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

/* Step k: the state's product is added to its sums, then the cell runs. h and c: the
 * state before it, which becomes that behind it. */
static asn_status forward_step(const dynamic_rnn *p, int64_t k, const int64_t *ends,
                               char *sums, const char *wh, const asnd_view *made,
                               char **h, char **c) {
    asnd_view v[F_TENSORS];
    int64_t wide = 4 * p->hidden, item = asn_itemsize(p->t);
    asnd_lstm_step s = {.c = {step_rows(p, made[F_C].nd.data, k, &v[F_C])},
                        .h = {step_rows(p, made[F_H].nd.data, k, &v[F_H])}};
    ASN_TRY(asn_rnn_product(p->t, p->batch, wide, p->hidden, *h, p->hidden, wh, true, 1,
                            sums + k * p->batch * wide * item, wide));
    step_gates(p, sums, k, s.gates);
    step_rows(p, *c, 0, &s.c_prev);
    s.i = step_rows(p, made[F_I].nd.data, k, &v[F_I]);
    s.g = step_rows(p, made[F_J].nd.data, k, &v[F_J]);
    s.f = step_rows(p, made[F_F].nd.data, k, &v[F_F]);
    s.o = step_rows(p, made[F_O].nd.data, k, &v[F_O]);
    s.tanh_c = step_rows(p, made[F_TANH].nd.data, k, &v[F_TANH]);
    ASN_TRY(asn_lstm_step_run(&s));
    ended_rows(p, ends, k, v[F_H].nd.data, *h, p->hidden * item);
    ended_rows(p, ends, k, v[F_C].nd.data, *c, p->hidden * item);
    *h = v[F_H].nd.data;
    *c = v[F_C].nd.data;
    return ASN_OK;
}

/* The sums of all steps' gates begin with the bias; the input's product is added to them,
 * then, step by step, the state's. */
static asn_status forward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dynamic_rnn *p = plan;
    int64_t rows = p->time * p->batch, wide = 4 * p->hidden, *ends;
    char *x, *wi, *wh, *h, *c;
    asnd_view sums, bias, made[F_TENSORS];
    ASN_TRY(load(e, p, F_X, tmp, &x));
    ASN_TRY(load_weights(e, p, F_WI, tmp, &wi, &wh));
    ASN_TRY(load_ends(e, p, tmp, &ends));
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
    for (int64_t k = 0; k < p->time; k++)
        ASN_TRY(forward_step(p, p->reverse ? p->time - 1 - k : k, ends, sums.nd.data, wh,
                             made, &h, &c));
    for (int i = F_H; i < F_TENSORS; i++)
        ASN_TRY(store(e, p, i, &made[i]));
    /* y is h, but 0 behind the sequences' ends. */
    int64_t row = p->hidden * asn_itemsize(p->t);
    for (int64_t k = 0; ends != NULL && k < p->time; k++)
        ended_rows(p, ends, k, made[F_H].nd.data + k * p->batch * row, NULL, row);
    return store(e, p, F_Y, &made[F_H]);
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
    int64_t wide = 4 * p->hidden;
    bool one = p->at[G_DWH] < 0; /* both gradients in one matrix */
    asnd_view dw, dwi, dwh, db, to;
    ASN_TRY(make(e, p, G_DWI, tmp, &dw));
    asn_rnn_rows(&dwi, p->t, dw.nd.data, p->input, wide, wide);
    asn_rnn_rows(&dwh, p->t, dw.nd.data + p->input * wide * asn_itemsize(p->t), p->hidden,
                 wide, wide);
    if (!one) ASN_TRY(make(e, p, G_DWH, tmp, &dwh));
    ASN_TRY(make(e, p, G_DBIAS, tmp, &db));
    ASN_TRY(weight_gradient(p, x, p->input, gates, &dwi));
    ASN_TRY(weight_gradient(p, before, p->hidden, gates, &dwh));
    asnd_prog q;
    asn_view_reduced(&to, &db.nd, 1, false, 2);
    asn_prog_begin(&q, 2, gates->shape, 1);
    asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_in(&q, &gates->nd), &to.nd);
    ASN_TRY(asn_prog_run(&q));
    ASN_TRY(store(e, p, G_DWI, &dw));
    if (!one) ASN_TRY(store(e, p, G_DWH, &dwh));
    return store(e, p, G_DBIAS, &db);
}

/* What the steps of the gradient share: the inputs by parameter, the state before the
 * first step, the gradients of the state, and memory for rows of them that stay. */
typedef struct {
    char *in[G_TENSORS], *wh, *h0, *c0, *dh, *dc, *kept;
    int64_t *ends;
} back;

/* The cell makes the gates' gradients of step k from dh and dc, which become those of the
 * step before: dc within the cell, dh by the product with weightHidden. A sequence that
 * has ended gives the gates nothing and keeps both. */
static asn_status gradient_step(const dynamic_rnn *p, back *g, int64_t k, char *gates) {
    asnd_view v[G_TENSORS], d_gates[4];
    int64_t row = p->hidden * asn_itemsize(p->t), all = p->batch * row;
    int64_t before = p->reverse ? k + 1 : k - 1;
    bool first = before < 0 || before >= p->time;
    char *at = gates + 4 * k * all;
    asnd_lstm_back s = {.dy = step_rows(p, g->in[G_DY], k, &v[G_DY]),
                        .dh = step_rows(p, g->dh, 0, &v[G_DH]),
                        .dc = step_rows(p, g->dc, 0, &v[G_DC]),
                        .i = step_rows(p, g->in[G_I], k, &v[G_I]),
                        .f = step_rows(p, g->in[G_F], k, &v[G_F]),
                        .g = step_rows(p, g->in[G_J], k, &v[G_J]),
                        .o = step_rows(p, g->in[G_O], k, &v[G_O]),
                        .tanh_c = step_rows(p, g->in[G_TANH], k, &v[G_TANH]),
                        .dc_prev = &v[G_DC]};
    s.c_prev = first ? step_rows(p, g->c0, 0, &v[G_C])
                     : step_rows(p, g->in[G_C], before, &v[G_C]);
    step_gates(p, gates, k, d_gates);
    for (int i = 0; i < 4; i++)
        s.d_gates[i] = &d_gates[i];
    memcpy(g->kept, g->dh, (size_t)all);
    memcpy(g->kept + all, g->dc, (size_t)all);
    ASN_TRY(asn_lstm_back_run(&s));
    ended_rows(p, g->ends, k, at, NULL, 4 * row);
    ASN_TRY(asn_rnn_product(p->t, p->batch, p->hidden, 4 * p->hidden, at, 4 * p->hidden,
                            g->wh, false, 0, g->dh, p->hidden));
    ended_rows(p, g->ends, k, g->dh, g->kept, row);
    ended_rows(p, g->ends, k, g->dc, g->kept + all, row);
    return ASN_OK;
}

/* The state before each step: that behind the step before it in the direction. */
static void states_before(const dynamic_rnn *p, const back *g, char *to) {
    size_t step = (size_t)(p->batch * p->hidden * asn_itemsize(p->t));
    size_t rest = step * (size_t)(p->time - 1);
    memcpy(p->reverse ? to + rest : to, g->h0, step);
    memcpy(p->reverse ? to : to + step, g->in[G_H] + (p->reverse ? step : 0), rest);
}

/* Steps from the last to the first, with the gradient of the state behind each. */
static asn_status gradient_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const dynamic_rnn *p = plan;
    static const int inputs[] = {G_X, G_H, G_C, G_DY, G_I, G_J, G_F, G_O, G_TANH};
    int64_t rows = p->time * p->batch, wide = 4 * p->hidden;
    size_t row = (size_t)(p->batch * p->hidden * asn_itemsize(p->t));
    back g;
    asnd_view gates, before, dx;
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        ASN_TRY(load(e, p, inputs[k], tmp, &g.in[inputs[k]]));
    ASN_TRY(load_weights(e, p, G_WI, tmp, &g.in[G_WI], &g.wh));
    ASN_TRY(load_ends(e, p, tmp, &g.ends));
    ASN_TRY(state(e, p, G_H0, tmp, &g.h0));
    ASN_TRY(state(e, p, G_C0, tmp, &g.c0));
    ASN_TRY(state(e, p, G_DH, tmp, &g.dh));
    ASN_TRY(state(e, p, G_DC, tmp, &g.dc));
    g.kept = asn_tmp_alloc(tmp, 2 * row);
    if (g.kept == NULL) return ASN_ERR_MEMORY;
    ASN_TRY(asn_tmp_view(tmp, p->t, 2, (int64_t[]){rows, wide}, &gates));
    ASN_TRY(asn_tmp_view(tmp, p->t, 2, (int64_t[]){rows, p->hidden}, &before));
    ASN_TRY(make(e, p, G_DX, tmp, &dx));
    states_before(p, &g, before.nd.data);
    for (int64_t k = 0; k < p->time; k++)
        ASN_TRY(gradient_step(p, &g, p->reverse ? k : p->time - 1 - k, gates.nd.data));
    ASN_TRY(asn_rnn_product(p->t, rows, p->input, wide, gates.nd.data, wide, g.in[G_WI],
                            false, 0, dx.nd.data, p->input));
    ASN_TRY(parameters_body(e, p, g.in[G_X], before.nd.data, &gates, tmp));
    ASN_TRY(store(e, p, G_DX, &dx));
    for (int k = 0; k < 2; k++) {
        asnd_view made;
        ASN_TRY(make(e, p, G_DH0 + k, tmp, &made));
        memcpy(made.nd.data, k == 0 ? g.dh : g.dc, row);
        ASN_TRY(store(e, p, G_DH0 + k, &made));
    }
    return ASN_OK;
}

/* ---- planning */

/* What is allowed of each. */
asn_status asn_rnn_attributes(const asnd_call *c, bool *reverse) {
    static const struct {
        const char *name;
        double least, most;
    } numbers[] = {{"keepProb", 1, 1},    {"cellClip", -1e300, 0}, {"numProj", 0, 0},
                   {"usePeephole", 0, 0}, {"timeMajor", 1, 1},     {"forgetBias", 0, 0},
                   {"resetAfter", 1, 1}};
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
    *reverse = strcmp(direction, "REDIRECTIONAL") == 0;
    if (!*reverse && strcmp(direction, "UNIDIRECTIONAL") != 0)
        return asn_error_set(
            ASN_ERR_UNSUPPORTED,
            "%s: direction is %s; UNIDIRECTIONAL and REDIRECTIONAL are computed",
            c->op->name, direction);
    return ASN_OK;
}

/* Where the four gates lie. */
static asn_status check_order(const asnd_call *c, int *place) {
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

/* seqLength, if it is there: numbers of steps or a mask. torch_npu hands the gradient a
 * zero without dimensions for none. */
static asn_status check_ends(const asnd_call *c, dynamic_rnn *p, int length) {
    const asnd_nd *ends = asn_call_nd(c, length);
    const int64_t shape[3] = {p->time, p->batch, p->hidden};
    p->ends = -1;
    if (ends == NULL || (ends->ndim == 0 && length == G_LENGTH)) return ASN_OK;
    bool counts = ends->ndim == 1;
    ASN_TRY(counts ? asn_index_dtype(c, length, ends) : asn_call_floating(c, length));
    ASN_TRY(asn_call_same_shape(c, length, counts ? 1 : 3, counts ? shape + 1 : shape));
    p->ends = c->first[length];
    return ASN_OK;
}

/* What both rows share: extents from x and the weights. tensors: how many of the
 * parameters are tensors, which are of x's dtype but for the ends of sequences. */
static asn_status begin(asnd_call *c, dynamic_rnn *p, int tensors, int length) {
    memset(p, 0, sizeof *p);
    ASN_TRY(asn_rnn_attributes(c, &p->reverse));
    ASN_TRY(check_order(c, p->place));
    ASN_TRY(asn_call_rank(c, 0, length == G_LENGTH ? 2 : 3, 3));
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    const asnd_nd *x = asn_call_nd(c, 0), *w = asn_call_nd(c, 1);
    p->t = asn_wide_dtype(x->dtype);
    p->time = x->ndim == 3 ? x->shape[0] : 1;
    p->batch = x->shape[x->ndim - 2];
    p->input = x->shape[x->ndim - 1];
    p->hidden = w->shape[1] / 4;
    if (p->time < 1 || p->batch < 1 || p->input < 1 || p->hidden < 1)
        return asn_error_set(ASN_ERR_VALUE, "%s: x and weights must have elements",
                             c->op->name);
    for (int i = 0; i < tensors; i++) {
        p->at[i] = c->first[i];
        if (i != length && c->first[i] >= 0) ASN_TRY(asn_call_same_dtype(c, 0, i));
    }
    return check_ends(c, p, length);
}

/* Parameters i and i + 1: the weights, or their gradients, as one matrix or as two. */
static asn_status check_weights(const asnd_call *c, const dynamic_rnn *p, int i) {
    int64_t w[2] = {p->input, 4 * p->hidden};
    const int64_t wh[2] = {p->hidden, 4 * p->hidden};
    if (c->first[i + 1] < 0) w[0] += p->hidden;
    ASN_TRY(asn_norm_check(c, i, 2, w));
    return asn_norm_check(c, i + 1, 2, wh);
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
    const int64_t wide = 4 * p.hidden;
    ASN_TRY(check_weights(c, &p, F_WI));
    ASN_TRY(asn_norm_check(c, F_BIAS, 1, &wide));
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
    const int64_t wide = 4 * p.hidden;
    const asnd_nd *x = asn_call_nd(c, G_X);
    ASN_TRY(check_weights(c, &p, G_WI));
    ASN_TRY(check_weights(c, &p, G_DWI));
    ASN_TRY(asn_norm_check(c, G_DBIAS, 1, &wide));
    ASN_TRY(asn_norm_check(c, G_DX, x->ndim, x->shape));
    static const int states[] = {G_H0, G_C0, G_DH, G_DC, G_DH0, G_DC0};
    for (size_t k = 0; k < sizeof states / sizeof *states; k++)
        ASN_TRY(check_state(c, &p, states[k]));
    ASN_TRY(check_steps(c, &p, G_Y, G_Y));
    ASN_TRY(check_steps(c, &p, G_H, G_DY));
    ASN_TRY(check_steps(c, &p, G_I, G_TANH));
    return asn_call_keep(c, gradient_body, &p, sizeof p, 2 * work_of(&p));
}
