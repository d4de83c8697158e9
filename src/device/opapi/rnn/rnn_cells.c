/* CPU device, operators: the LSTM cell and its gradient as fused programs, and
 * ThnnFusedLstmCell, which is one cell (see rnn.h).
 *
 * The programs run over (rows, hidden). Their views may have any distance between rows,
 * so that gates lie side by side as the product makes them, (rows, 4 hidden), and lists
 * of saved values as CANN has them.
 *
 * i, f, o = sigmoid, g = tanh of the gates' sums; c = f c' + i g; h = o tanh(c). The
 * gradient: dh = dy + dh; do = dh tanh(c) o (1 - o); dc += dh o (1 - tanh(c)^2); di = dc
 * g i (1 - i); df = dc c' f (1 - f); dg = dc i (1 - g^2); dc' = dc f.
 */
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"
#include "device/opapi/rnn/rnn.h"

static int times(asnd_prog *p, int a, int b) {
    return asn_prog_op2(p, ASN_OP_MULTIPLY, a, b);
}

static int plus(asnd_prog *p, int a, int b) {
    return asn_prog_op2(p, ASN_OP_ADD, a, b);
}

/* 1 - a: a (1 - a) is the sigmoid's derivative, 1 - a^2 that of tanh. */
static int rest(asnd_prog *p, int a, asn_dtype t) {
    return asn_prog_op2(p, ASN_OP_SUBTRACT, asn_prog_const(p, t, 1), a);
}

/* Writes the value where it is wanted. */
static void put(asnd_prog *p, int value, const asnd_view *to) {
    if (to) asn_prog_out(p, value, &to->nd);
}

/* One pass: every value is computed once and written up to three times. */
asn_status asn_lstm_step_run(asnd_lstm_step *s) {
    asnd_prog p;
    asn_prog_begin(&p, 2, s->gates[0].shape, 0);
    int i = asn_prog_op1(&p, ASN_OP_SIGMOID, asn_prog_in(&p, &s->gates[0].nd));
    int f = asn_prog_op1(&p, ASN_OP_SIGMOID, asn_prog_in(&p, &s->gates[1].nd));
    int g = asn_prog_op1(&p, ASN_OP_TANH, asn_prog_in(&p, &s->gates[2].nd));
    int o = asn_prog_op1(&p, ASN_OP_SIGMOID, asn_prog_in(&p, &s->gates[3].nd));
    /* c = f c_prev + i g, h = o tanh(c); gates (rows, hidden) each. */
    int c = plus(&p, times(&p, f, asn_prog_in(&p, &s->c_prev.nd)), times(&p, i, g));
    int tanh_c = asn_prog_op1(&p, ASN_OP_TANH, c), h = times(&p, o, tanh_c);
    put(&p, i, s->i);
    put(&p, f, s->f);
    put(&p, g, s->g);
    put(&p, o, s->o);
    put(&p, tanh_c, s->tanh_c);
    for (int k = 0; k < 2; k++)
        put(&p, c, s->c[k]);
    for (int k = 0; k < 3; k++)
        put(&p, h, s->h[k]);
    return asn_prog_run(&p);
}

asn_status asn_lstm_back_run(asnd_lstm_back *s) {
    asn_dtype t = s->i->nd.dtype;
    asnd_prog p;
    asn_prog_begin(&p, 2, s->i->shape, 0);
    int i = asn_prog_in(&p, &s->i->nd), f = asn_prog_in(&p, &s->f->nd);
    int g = asn_prog_in(&p, &s->g->nd), o = asn_prog_in(&p, &s->o->nd);
    int tanh_c = asn_prog_in(&p, &s->tanh_c->nd);
    int dh = s->dh ? asn_prog_in(&p, &s->dh->nd) : asn_prog_const(&p, t, 0);
    if (s->dy) dh = plus(&p, dh, asn_prog_in(&p, &s->dy->nd));
    /* sigmoid' = s (1 - s), tanh' = 1 - t^2, of the activated gates that forward kept. */
    int dc = times(&p, times(&p, dh, o), rest(&p, times(&p, tanh_c, tanh_c), t));
    if (s->dc) dc = plus(&p, dc, asn_prog_in(&p, &s->dc->nd));
    int d_o = times(&p, times(&p, dh, tanh_c), times(&p, o, rest(&p, o, t)));
    int d_i = times(&p, times(&p, dc, g), times(&p, i, rest(&p, i, t)));
    int d_f = times(&p, times(&p, dc, asn_prog_in(&p, &s->c_prev->nd)),
                    times(&p, f, rest(&p, f, t)));
    int d_g = times(&p, times(&p, dc, i), rest(&p, times(&p, g, g), t));
    put(&p, d_i, s->d_gates[0]);
    put(&p, d_f, s->d_gates[1]);
    put(&p, d_g, s->d_gates[2]);
    put(&p, d_o, s->d_gates[3]);
    put(&p, times(&p, dc, f), s->dc_prev);
    return asn_prog_run(&p);
}

/* ---- ThnnFusedLstmCell */

/* The four gates of (rows, 4 hidden), contiguous. */
static void quarters(asnd_view *v, const asnd_view *all) {
    int64_t hidden = all->shape[1] / 4;
    for (int k = 0; k < 4; k++)
        asn_rnn_rows(&v[k], all->nd.dtype,
                     all->nd.data + k * hidden * asn_itemsize(all->nd.dtype),
                     all->shape[0], hidden, 4 * hidden);
}

/* Of the packed plan's parameters, the sums of gates and biases, then the cell. The
 * activated gates are the storage. */
static asn_status cell_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asn_dtype t = p->loop;
    const asnd_nd *gates = asn_exec_nd(e, p->at[0]);
    /* inputGates = x W^T and hiddenGates = h U^T come as products: (batch, 4 hidden), the
     * gates i, f, g, o side by side; biases (4 hidden). */
    static const int addends[4] = {0, 1, 3, 4};
    asnd_view in[4], sum, store, cx, h, c, parts[4];
    asnd_lstm_step s = {.h = {&h}, .c = {&c}};
    ASN_TRY(asn_tmp_view(tmp, t, 2, gates->shape, &sum));
    /* inputGates + hiddenGates + biases, those that are there. */
    asnd_prog q;
    asn_prog_begin(&q, 2, gates->shape, 0);
    int total = 0;
    for (int k = 0; k < 4; k++) {
        if (p->at[addends[k]] < 0) continue;
        asn_view_set(&in[k], asn_exec_nd(e, p->at[addends[k]]));
        asn_view_broadcast(&in[k], 2, gates->shape);
        int x = asn_prog_as(&q, asn_prog_in(&q, &in[k].nd), t);
        total = k == 0 ? x : plus(&q, total, x);
    }
    asn_prog_out(&q, total, &sum.nd);
    ASN_TRY(asn_prog_run(&q));
    ASN_TRY(asn_packed_in(e, p, 2, t, tmp, &cx));
    ASN_TRY(asn_packed_out(e, p, 5, t, tmp, &h));
    ASN_TRY(asn_packed_out(e, p, 6, t, tmp, &c));
    ASN_TRY(asn_packed_out(e, p, 7, t, tmp, &store));
    quarters(s.gates, &sum);
    quarters(parts, &store);
    asn_view_set(&s.c_prev, &cx.nd);
    s.i = &parts[0];
    s.f = &parts[1];
    s.g = &parts[2];
    s.o = &parts[3];
    ASN_TRY(asn_lstm_step_run(&s));
    ASN_TRY(asn_packed_done(e, p, 5, &h));
    ASN_TRY(asn_packed_done(e, p, 6, &c));
    return asn_packed_done(e, p, 7, &store);
}

/* tanh(cy) is not in the storage and is computed again. */
static asn_status cell_back_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    asn_dtype t = p->loop;
    asnd_view dhy, dcy, cx, cy, tanh_c, store, parts[4], made, made_parts[4], dcx;
    if (p->at[0] >= 0) ASN_TRY(asn_packed_in(e, p, 0, t, tmp, &dhy));
    if (p->at[1] >= 0) ASN_TRY(asn_packed_in(e, p, 1, t, tmp, &dcy));
    ASN_TRY(asn_packed_in(e, p, 2, t, tmp, &cx));
    ASN_TRY(asn_packed_in(e, p, 3, t, tmp, &cy));
    ASN_TRY(asn_packed_in(e, p, 4, t, tmp, &store));
    ASN_TRY(asn_packed_out(e, p, 6, t, tmp, &made));
    ASN_TRY(asn_packed_out(e, p, 7, t, tmp, &dcx));
    ASN_TRY(asn_tmp_view(tmp, t, 2, cy.shape, &tanh_c));
    asnd_prog q;
    asn_prog_begin(&q, 2, cy.shape, 0);
    asn_prog_out(&q, asn_prog_op1(&q, ASN_OP_TANH, asn_prog_in(&q, &cy.nd)), &tanh_c.nd);
    ASN_TRY(asn_prog_run(&q));
    quarters(parts, &store);
    quarters(made_parts, &made);
    asnd_lstm_back s = {.dh = p->at[0] >= 0 ? &dhy : NULL,
                        .dc = p->at[1] >= 0 ? &dcy : NULL,
                        .i = &parts[0],
                        .f = &parts[1],
                        .g = &parts[2],
                        .o = &parts[3],
                        .tanh_c = &tanh_c,
                        .c_prev = &cx,
                        .dc_prev = &dcx};
    for (int k = 0; k < 4; k++)
        s.d_gates[k] = &made_parts[k];
    /* gradGates is made last: the biases' gradient reads it. */
    ASN_TRY(asn_lstm_back_run(&s));
    ASN_TRY(asn_packed_done(e, p, 7, &dcx));
    if (p->at[8] >= 0 && p->arg[5].i != 0) {
        /* The biases' gradient is the sum over the batch. */
        asnd_view bias, to;
        ASN_TRY(asn_tmp_view(tmp, t, 1, made.shape + 1, &bias));
        asn_view_reduced(&to, &bias.nd, 1, false, 2);
        asn_prog_begin(&q, 2, made.shape, 1);
        asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_in(&q, &made.nd), &to.nd);
        ASN_TRY(asn_prog_run(&q));
        ASN_TRY(asn_packed_done(e, p, 8, &bias));
    }
    return asn_packed_done(e, p, 6, &made);
}

/* Parameters of shapes (batch, 4 hidden), (batch, hidden), (4 hidden,), those that are
 * there; like: one of the second kind. */
static asn_status check_cell(const asnd_call *c, int like, const int *wide,
                             const int *narrow, const int *biases) {
    const asnd_nd *a = asn_call_nd(c, like);
    ASN_TRY(asn_call_rank(c, like, 2, 2));
    ASN_TRY(asn_call_floating(c, like));
    /* One dtype for all, since one program reads and writes them. */
    const int64_t shape[2] = {a->shape[0], 4 * a->shape[1]};
    for (int kind = 0; kind < 3; kind++)
        for (const int *i = kind == 0   ? wide
                            : kind == 1 ? narrow
                                        : biases;
             *i >= 0; i++) {
            if (c->first[*i] < 0) continue;
            ASN_TRY(asn_call_same_dtype(c, like, *i));
            if (kind == 0) ASN_TRY(asn_call_same_shape(c, *i, 2, shape));
            if (kind == 1) ASN_TRY(asn_call_same_shape(c, *i, 2, a->shape));
            if (kind == 2) ASN_TRY(asn_call_same_shape(c, *i, 1, shape + 1));
        }
    return ASN_OK;
}

/* ThnnFusedLstmCell(inputGates, hiddenGates, cx, inputBias, hiddenBias, hy, cy, storage);
 * arg 1: ThnnFusedLstmCellBackward(gradHy, gradCy, cx, cy, storage, hasBias, gradGates,
 * gradCx, gradBias) */
asn_status asn_planner_lstm_cell(asnd_call *c) {
    bool back = c->op->arg != 0;
    ASN_TRY(back ? check_cell(c, 2, (int[]){4, 6, -1}, (int[]){0, 1, 3, 7, -1},
                              (int[]){8, -1})
                 : check_cell(c, 2, (int[]){0, 1, 7, -1}, (int[]){5, 6, -1},
                              (int[]){3, 4, -1}));
    const asnd_nd *cx = asn_call_nd(c, 2);
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, back ? cell_back_body : cell_body,
                                     500 + 20 * (double)asn_nd_size(cx));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = asn_wide_dtype(cx->dtype);
    return ASN_OK;
}
