/* CPU device, operators: the gradients of LSTM and GRU (see rnn.h).
 *
 * Layers from the last to the first; of each direction the steps run back, from the
 * gradient of the state behind the last step. A step's gates' gradients are kept; with
 * those of all steps the weights' gradients and that of the layer's input are one product
 * each.
 *
 * With s the step before in the direction: dW_ih = sum of d_t^T x_t, dW_hh = sum of d_t^T
 * h_s, db = sum of d_t over steps and rows, dx_t = d_t W_ih; the state's gradient is d_t
 * W_hh. Rows behind a sequence's end have d = 0, so that sums may run over all of them,
 * and keep the gradient of the state that their sequence ended with until its last step
 * comes.
 *
 * GRU: dn = dh (1 - z) (1 - n^2), dz = dh (h' - n) z (1 - z), dr = dn hn r (1 - r), and
 * of the state's part of n dn r; dh' = dh z + those by weight_hh.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"

#include "device/opapi/core/program.h"
#include "device/opapi/rnn/rnn.h"

/* One layer and direction: its input and the gradient of that, added to; the gradient of
 * its output; h0, c0 and their gradients; what was saved; the states before each step;
 * the gates' gradients, of the input's and of the state's part (LSTM: the same). */
typedef struct {
    const asnd_rnn *p;
    const int64_t *sizes;
    bool reverse;
    const char *x, *h0, *c0, *saved[RNN_LSTM_SAVED];
    char *dx, *dy, *dh, *dc, *h_prev, *c_prev, *grads[2];
    int64_t width, dy_stride;
    bool first; /* dx is written, not added to */
    asnd_view weight[2];
} layer;

/* Rows of step i, `stride` elements apart, in memory of all steps. */
static void rows_of(const layer *l, const char *data, int64_t i, int64_t stride,
                    asnd_view *v) {
    const asnd_rnn *p = l->p;
    asn_rnn_rows(v, p->t, (char *)data + i * p->batch * stride * asn_itemsize(p->t),
                 l->sizes[i], p->hidden, stride);
}

/* to: the state before every step: of the step before it in the direction, or the first
 * one (from) where a sequence begins. */
static void states_before(const layer *l, const char *states, const char *from,
                          char *to) {
    const asnd_rnn *p = l->p;
    int64_t row = p->hidden * asn_itemsize(p->t), step = p->batch * row;
    for (int64_t i = 0; i < p->time; i++) {
        int64_t before = l->reverse ? i + 1 : i - 1;
        bool inside = before >= 0 && before < p->time;
        int64_t kept =
            inside && l->sizes[before] < p->batch ? l->sizes[before] : p->batch;
        if (!inside) kept = 0;
        if (kept > 0) memcpy(to + i * step, states + before * step, (size_t)(kept * row));
        memcpy(to + i * step + kept * row, from + kept * row,
               (size_t)((p->batch - kept) * row));
    }
}

/* The gates' gradients stay for the weights; the state's, of the step before, is their
 * product with weight_hh and replaces dh. */
static asn_status lstm_step(layer *l, int64_t i) {
    const asnd_rnn *p = l->p;
    int64_t n = l->sizes[i], hidden = p->hidden, item = asn_itemsize(p->t);
    asnd_view dy, dh, dc, c_prev, saved[RNN_LSTM_SAVED], grads[4];
    rows_of(l, l->dy, i, l->dy_stride, &dy);
    rows_of(l, l->c_prev, i, hidden, &c_prev);
    asn_rnn_rows(&dh, p->t, l->dh, n, hidden, hidden);
    asn_rnn_rows(&dc, p->t, l->dc, n, hidden, hidden);
    for (int k = 0; k < RNN_LSTM_SAVED; k++)
        rows_of(l, l->saved[k], i, hidden, &saved[k]);
    asnd_lstm_back s = {.dy = &dy,
                        .dh = &dh,
                        .dc = &dc,
                        .i = &saved[RNN_I],
                        .f = &saved[RNN_F],
                        .g = &saved[RNN_J],
                        .o = &saved[RNN_O],
                        .tanh_c = &saved[RNN_TANH],
                        .c_prev = &c_prev,
                        .dc_prev = &dc};
    for (int k = 0; k < 4; k++) {
        rows_of(l, l->grads[0] + k * hidden * item, i, 4 * hidden, &grads[k]);
        s.d_gates[k] = &grads[k];
    }
    ASN_TRY(asn_lstm_back_run(&s));
    return asn_rnn_product(p->t, n, hidden, 4 * hidden, grads[0].nd.data, 4 * hidden,
                           l->weight[1].nd.data, true, 0, l->dh, hidden);
}

static int times(asnd_prog *q, int a, int b) {
    return asn_prog_op2(q, ASN_OP_MULTIPLY, a, b);
}

/* dh keeps its direct part, dh z, and the product is added. */
static asn_status gru_step(layer *l, int64_t i) {
    const asnd_rnn *p = l->p;
    int64_t n = l->sizes[i], hidden = p->hidden, item = asn_itemsize(p->t);
    asnd_view dy, dh_rows, h_rows, saved[RNN_GRU_SAVED], to[2][3];
    rows_of(l, l->dy, i, l->dy_stride, &dy);
    rows_of(l, l->h_prev, i, hidden, &h_rows);
    asn_rnn_rows(&dh_rows, p->t, l->dh, n, hidden, hidden);
    asnd_prog q;
    asn_prog_begin(&q, 2, dh_rows.shape, 0);
    /* v: what was saved; left: 1 - v, and 1 - n^2 of the new state. */
    int v[RNN_GRU_SAVED], left[RNN_GRU_SAVED];
    int one = asn_prog_const(&q, p->t, 1);
    for (int k = 0; k < RNN_GRU_H; k++) {
        rows_of(l, l->saved[k], i, hidden, &saved[k]);
        v[k] = asn_prog_in(&q, &saved[k].nd);
        left[k] = asn_prog_op2(&q, ASN_OP_SUBTRACT, one,
                               k == RNN_N ? times(&q, v[k], v[k]) : v[k]);
    }
    int dh = asn_prog_op2(&q, ASN_OP_ADD, asn_prog_in(&q, &dy.nd),
                          asn_prog_in(&q, &dh_rows.nd));
    int dn = times(&q, times(&q, dh, left[RNN_Z]), left[RNN_N]);
    int step = asn_prog_op2(&q, ASN_OP_SUBTRACT, asn_prog_in(&q, &h_rows.nd), v[RNN_N]);
    int dz = times(&q, times(&q, dh, step), times(&q, v[RNN_Z], left[RNN_Z]));
    int dr = times(&q, times(&q, dn, v[RNN_HN]), times(&q, v[RNN_R], left[RNN_R]));
    const int values[2][3] = {{dr, dz, dn}, {dr, dz, times(&q, dn, v[RNN_R])}};
    for (int part = 0; part < 2; part++)
        for (int k = 0; k < 3; k++) {
            rows_of(l, l->grads[part] + k * hidden * item, i, 3 * hidden, &to[part][k]);
            asn_prog_out(&q, values[part][k], &to[part][k].nd);
        }
    asn_prog_out(&q, times(&q, dh, v[RNN_Z]), &dh_rows.nd);
    ASN_TRY(asn_prog_run(&q));
    return asn_rnn_product(p->t, n, hidden, 3 * hidden, to[1][0].nd.data, 3 * hidden,
                           l->weight[1].nd.data, true, 1, l->dh, hidden);
}

/* A parameter's gradient: grads^T @ x (width > 0), or the sum of grads' rows. */
static asn_status put_param(aclOpExecutor *e, const asnd_rnn *p, int operand, char *grads,
                            const char *x, int64_t width, asnd_tmp *tmp) {
    const asnd_nd *out = asn_exec_nd(e, operand);
    int64_t rows = p->time * p->batch, wide = p->gates * p->hidden;
    asnd_view made, g, v;
    ASN_TRY(asn_image_result(e, tmp, out, p->t, &made));
    /* A weight's gradient is a product over all steps, a bias' their sum. */
    asn_rnn_rows(&g, p->t, grads, rows, wide, wide);
    if (width > 0) {
        asnd_view to;
        asn_view_swap_last(&g);
        asn_rnn_rows(&v, p->t, (char *)x, rows, width, width);
        asn_view_set(&to, &made.nd);
        _Alignas(16) uint8_t one[16], zero[16];
        asn_value_from_double(p->t, one, 1);
        asn_value_from_double(p->t, zero, 0);
        ASN_TRY(asn_cpu_gemm(one, &g.nd, &v.nd, zero, &to.nd));
    } else {
        asnd_prog q;
        asn_view_reduced(&v, &made.nd, 1, false, 2);
        asn_prog_begin(&q, 2, g.shape, 1);
        asn_prog_reduce(&q, ASN_OP_ADD, asn_prog_in(&q, &g.nd), &v.nd);
        ASN_TRY(asn_prog_run(&q));
    }
    return asn_image_finish(out, &made);
}

/* Layer and direction `index`. */
static asn_status run_layer(aclOpExecutor *e, layer *l, int index, asnd_tmp *tmp) {
    const asnd_rnn *p = l->p;
    int64_t rows = p->time * p->batch, wide = p->gates * p->hidden;
    int h_list = p->lstm ? (int)RNN_H : (int)RNN_GRU_H;
    for (int k = 0; k < 2; k++)
        ASN_TRY(asn_image_plain(tmp,
                                asn_exec_nd(e, asn_rnn_param(p, p->params, index, k)),
                                p->t, &l->weight[k]));
    for (int k = 0; k < p->num_saved; k++) {
        asnd_view v;
        ASN_TRY(asn_image_plain(tmp, asn_exec_nd(e, p->saved[k] + index), p->t, &v));
        l->saved[k] = v.nd.data;
    }
    l->reverse = p->reverse || index % p->directions == 1;
    /* What each step started from is not saved: it is the step before it. */
    states_before(l, l->saved[h_list], l->h0, l->h_prev);
    if (p->lstm) states_before(l, l->saved[RNN_C], l->c0, l->c_prev);
    for (int k = 0; k < 2 && p->sizes >= 0; k++) /* steps without all rows */
        memset(l->grads[k], 0, (size_t)(rows * wide * asn_itemsize(p->t)));
    for (int64_t i = 0; i < p->time; i++) {
        int64_t at = l->reverse ? i : p->time - 1 - i;
        ASN_TRY(p->lstm ? lstm_step(l, at) : gru_step(l, at));
    }
    /* k = 0: of the input's part; 1: of the state's. */
    for (int k = 0; k < 2; k++) {
        int to = asn_rnn_param(p, p->dparams, index, k);
        ASN_TRY(put_param(e, p, to, l->grads[k], k ? l->h_prev : l->x,
                          k ? p->hidden : l->width, tmp));
        if (p->biases) ASN_TRY(put_param(e, p, to + 2, l->grads[k], NULL, 0, tmp));
    }
    return asn_rnn_product(p->t, rows, l->width, wide, l->grads[0], wide,
                           l->weight[0].nd.data, true, l->first ? 0 : 1, l->dx, l->width);
}

/* The input of layer `depth` > 0: the outputs of the one before, side by side. */
static asn_status layer_input(aclOpExecutor *e, const asnd_rnn *p, int depth, char *x) {
    int list = p->saved[p->lstm ? (int)RNN_H : (int)RNN_GRU_H];
    int64_t wide = p->hidden * p->directions;
    const int64_t shape[3] = {p->time, p->batch, p->hidden};
    for (int side = 0; side < p->directions; side++) {
        asnd_view v;
        asn_view_plain(&v, p->t, 3, shape, x + side * p->hidden * asn_itemsize(p->t));
        v.strides[1] = wide * asn_itemsize(p->t);
        v.strides[0] = p->batch * v.strides[1];
        ASN_TRY(
            asn_move(&v.nd, asn_exec_nd(e, list + (depth - 1) * p->directions + side)));
    }
    return ASN_OK;
}

/* Memory for all steps of `width` elements a row. */
static asn_status steps_alloc(const asnd_rnn *p, asnd_tmp *tmp, int64_t width,
                              char **data) {
    *data = asn_tmp_alloc(tmp, (size_t)(p->time * p->batch * width * asn_itemsize(p->t)));
    return *data == NULL ? ASN_ERR_MEMORY : ASN_OK;
}

asn_status asn_rnn_backward_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_rnn *p = plan;
    int64_t *sizes, item = asn_itemsize(p->t), wide = p->hidden * p->directions;
    int64_t most = wide > p->input ? wide : p->input, state = p->batch * p->hidden * item;
    char *x, *h0, *c0, *dh, *dc, *deep, *d[2], *dy;
    layer l = {.p = p, .dy_stride = wide};
    ASN_TRY(asn_rnn_sizes(e, p, tmp, &sizes));
    ASN_TRY(asn_rnn_load(e, p, p->x, p->input, sizes, tmp, &x));
    ASN_TRY(asn_rnn_load(e, p, p->dy, wide, sizes, tmp, &dy));
    ASN_TRY(asn_rnn_state(e, p, p->h0, tmp, &h0));
    ASN_TRY(asn_rnn_state(e, p, p->c0, tmp, &c0));
    ASN_TRY(asn_rnn_state(e, p, p->dhy, tmp, &dh));
    ASN_TRY(asn_rnn_state(e, p, p->dcy, tmp, &dc));
    ASN_TRY(steps_alloc(p, tmp, wide, &deep));
    ASN_TRY(steps_alloc(p, tmp, p->hidden, &l.h_prev));
    ASN_TRY(steps_alloc(p, tmp, p->hidden, &l.c_prev));
    for (int k = 0; k < 2; k++)
        ASN_TRY(steps_alloc(p, tmp, most, &d[k]));
    ASN_TRY(steps_alloc(p, tmp, p->gates * p->hidden, &l.grads[0]));
    l.grads[1] = l.grads[0];
    if (!p->lstm) ASN_TRY(steps_alloc(p, tmp, p->gates * p->hidden, &l.grads[1]));
    l.sizes = sizes;
    /* The gradient of a layer's input is that of the output of the layer before. */
    for (int depth = p->layers - 1; depth >= 0; depth--) {
        if (depth > 0) ASN_TRY(layer_input(e, p, depth, deep));
        l.x = depth > 0 ? deep : x;
        l.width = depth > 0 ? wide : p->input;
        l.dx = d[depth % 2];
        for (int side = 0; side < p->directions; side++) {
            int k = depth * p->directions + side;
            l.first = side == 0;
            l.dy = dy + side * p->hidden * item;
            l.h0 = h0 + k * state;
            l.c0 = c0 + k * state;
            l.dh = dh + k * state;
            l.dc = dc + k * state;
            ASN_TRY(run_layer(e, &l, k, tmp));
        }
        dy = l.dx;
    }
    ASN_TRY(asn_rnn_store(e, p, p->dx, p->input, sizes, dy));
    asnd_view v;
    const int outs[2] = {p->dh0, p->dc0};
    for (int k = 0; k < 2; k++) {
        if (outs[k] < 0) continue;
        const asnd_nd *to = asn_exec_nd(e, outs[k]);
        asn_view_plain(&v, p->t, to->ndim, to->shape, k ? dc : dh);
        ASN_TRY(asn_move(to, &v.nd));
    }
    return ASN_OK;
}
