/* CPU device, operators: recurrent networks, what both directions share.
 *
 * Everything is computed time first: (time, batch, features), row-major, in float32 or
 * float64. Layer l and direction d have index l * directions + d in states, lists and
 * parameters. Sequences may end early: step t has sizes[t] rows, which are the first
 * ones.
 */
#ifndef ASN_DEVICE_OPAPI_NN_RNN_H
#define ASN_DEVICE_OPAPI_NN_RNN_H

#include "device/opapi/nn/image.h"

/* What a step saves, in CANN's order of the lists. */
enum { RNN_I, RNN_J, RNN_F, RNN_O, RNN_H, RNN_C, RNN_TANH, RNN_LSTM_SAVED };
enum { RNN_R, RNN_Z, RNN_N, RNN_HN, RNN_GRU_H, RNN_GRU_SAVED };

/* Operands are the executor's; -1: absent. */
typedef struct {
    asnd_plan_head head;
    bool lstm, biases, batch_first;
    asn_dtype t;
    int64_t time, batch, input, hidden, rows; /* rows: of an input with sizes, else 0 */
    int layers, directions, gates;
    bool reverse; /* one direction, from the last step to the first */
    int x, params, h0, c0, sizes, y, hy, cy;
    int saved[RNN_LSTM_SAVED], num_saved; /* first operands of the lists */
    bool all_steps;                       /* lists hold every step, not the last state */
    int dy, dhy, dcy, dx, dh0, dc0, dparams;
} asnd_rnn;

/* rnn_forward.c, rnn_backward.c: bodies whose plan is an asnd_rnn. */
ASN_CHECK_RESULT asn_status asn_rnn_forward_body(aclOpExecutor *e, void *plan,
                                                 asnd_tmp *tmp);
ASN_CHECK_RESULT asn_status asn_rnn_backward_body(aclOpExecutor *e, void *plan,
                                                  asnd_tmp *tmp);
/* dynamic_rnn.c: the attributes of types, those that the row has: whether they are the
 * only values that are computed. */
ASN_CHECK_RESULT asn_status asn_rnn_attributes(const asnd_call *c, bool *reverse);

/* Columns [at, at + width) of `n` rows that are `stride` elements apart. */
void asn_rnn_rows(asnd_view *v, asn_dtype t, void *data, int64_t n, int64_t width,
                  int64_t stride);
/* sizes[t] for every step, checked; all are the batch where there is no such tensor. */
ASN_CHECK_RESULT asn_status asn_rnn_sizes(aclOpExecutor *e, const asnd_rnn *p,
                                          asnd_tmp *tmp, int64_t **sizes);
/* (time, batch, width) of a sequence's operand; steps without rows are 0. */
ASN_CHECK_RESULT asn_status asn_rnn_load(aclOpExecutor *e, const asnd_rnn *p, int operand,
                                         int64_t width, const int64_t *sizes,
                                         asnd_tmp *tmp, char **data);
/* The reverse. */
ASN_CHECK_RESULT asn_status asn_rnn_store(aclOpExecutor *e, const asnd_rnn *p,
                                          int operand, int64_t width,
                                          const int64_t *sizes, char *data);
/* A parameter of layer and direction `index`: weight_ih, weight_hh, bias_ih, bias_hh. */
static inline int asn_rnn_param(const asnd_rnn *p, int list, int index, int which) {
    return list + index * (p->biases ? 4 : 2) + which;
}
/* Zeros, or a state's tensor (layers * directions, batch, hidden). */
ASN_CHECK_RESULT asn_status asn_rnn_state(aclOpExecutor *e, const asnd_rnn *p,
                                          int operand, asnd_tmp *tmp, char **data);
/* c = a @ b^T + beta c, with c (m, n), a (m, k) and b (n, k) row-major; turned: b is (k,
 * n). */
ASN_CHECK_RESULT asn_status asn_rnn_product(asn_dtype t, int64_t m, int64_t n, int64_t k,
                                            const void *a, int64_t a_stride,
                                            const void *b, bool turned, double beta,
                                            void *c, int64_t c_stride);

/* The cells: views of (rows, hidden). Outputs may be NULL. gates: the sums before the
 * activations, i, f, g, o (PyTorch's order). */
typedef struct {
    asnd_view gates[4], c_prev;
    asnd_view *i, *f, *g, *o, *tanh_c, *c[2], *h[3];
} asnd_lstm_step;
ASN_CHECK_RESULT asn_status asn_lstm_step_run(asnd_lstm_step *s);
/* dy, dh, dc: gradients that come from above, from h and from c (NULL: 0); dc_prev may be
 * dc. */
typedef struct {
    const asnd_view *dy, *dh, *dc, *i, *f, *g, *o, *tanh_c, *c_prev;
    asnd_view *d_gates[4], *dc_prev;
} asnd_lstm_back;
ASN_CHECK_RESULT asn_status asn_lstm_back_run(asnd_lstm_back *s);

#endif
