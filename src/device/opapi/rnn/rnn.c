/* CPU device, operators: LSTM and GRU, planning and what both directions share (rnn.h).
 *
 * x is the input, T steps of B rows; a layer is PyTorch's nn.LSTM or nn.GRU with the same
 * parameters in the same order: of each layer and direction weight_ih (gates * hidden,
 * input), weight_hh (gates * hidden, hidden) and, with biases, bias_ih and bias_hh. The
 * input of a layer behind the first is the output of both directions of the one before,
 * side by side. dropout between layers is refused while training, since CANN documents it
 * as not supported; projections have no place in the parameters.
 *
 * Lists and tensors are found by the parameters' names. A sequence is (time, batch,
 * features), or (batch, time, features) where the batch is first; with batchSizes, the
 * valid rows of every step, it is (rows, features), where rows are time * batch (CANN's
 * form: steps padded to the whole batch) or the sum of the sizes (PyTorch's packed form).
 * The output and its gradient may then also be (time, batch, features), padded, as
 * torch_npu has them beside an input of rows.
 */
#include "device/opapi/rnn/rnn.h"

#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"

void asn_rnn_rows(asnd_view *v, asn_dtype t, void *data, int64_t n, int64_t width,
                  int64_t stride) {
    asn_view_plain(v, t, 2, (int64_t[]){n, width}, data);
    v->strides[0] = stride * asn_itemsize(t);
}

/* Sizes are data: whether they fit is seen here. */
asn_status asn_rnn_sizes(aclOpExecutor *e, const asnd_rnn *p, asnd_tmp *tmp,
                         int64_t **sizes) {
    int64_t sum = 0;
    *sizes = asn_tmp_alloc(tmp, (size_t)p->time * sizeof **sizes);
    if (*sizes == NULL) return ASN_ERR_MEMORY;
    /* Without batchSizes every step has the whole batch. */
    for (int64_t i = 0; i < p->time; i++)
        (*sizes)[i] = p->batch;
    if (p->sizes < 0) return ASN_OK;
    asnd_view v;
    asn_view_plain(&v, ASN_I64, 1, &p->time, *sizes);
    ASN_TRY(asn_move(&v.nd, asn_exec_nd(e, p->sizes)));
    for (int64_t i = 0; i < p->time; i++) {
        /* PyTorch's packed sequences are sorted by length, the longest first, so that a
         * step's valid rows are its first ones. */
        int64_t most = i == 0 ? p->batch : (*sizes)[i - 1];
        if ((*sizes)[i] < 1 || (*sizes)[i] > most || (i == 0 && (*sizes)[i] != most))
            return asn_error_set(ASN_ERR_VALUE,
                                 "batchSizes[%lld] is %lld; sizes must begin with the "
                                 "batch, %lld, and not grow",
                                 (long long)i, (long long)(*sizes)[i],
                                 (long long)p->batch);
        sum += (*sizes)[i];
    }
    if (p->rows != p->time * p->batch && p->rows != sum)
        return asn_error_set(ASN_ERR_VALUE,
                             "input has %lld rows; batchSizes ask for %lld, or %lld with "
                             "padded steps",
                             (long long)p->rows, (long long)sum,
                             (long long)(p->time * p->batch));
    return ASN_OK;
}

/* A sequence's operand as time * batch rows, without a copy: only where it is padded. */
static void stand(const asnd_rnn *p, const asnd_nd *a, asnd_view *v) {
    asn_view_set(v, a);
    if (p->rows > 0 && a->ndim == 2) {
        asn_view_insert(v, 0, p->time, v->strides[0] * p->batch);
        v->shape[1] = p->batch;
    } else if (p->batch_first) {
        asn_view_permute(v, (int[]){1, 0, 2});
    }
}

/* The rows of step i: from row `from` of an operand of rows on, or those of its step. */
static void step_rows(const asnd_nd *a, int64_t i, int64_t from, int64_t count,
                      asnd_view *v) {
    asn_view_set(v, a);
    if (a->ndim == 3) {
        asn_view_slice(v, 0, i, 1, 1);
        asn_view_drop(v, 0);
        from = 0;
    }
    asn_view_slice(v, 0, from, count, 1);
}

/* A sequence that fills the whole batch in every step is used where it lies, if it is
 * row-major; rows behind a sequence's end are not read. */
asn_status asn_rnn_load(aclOpExecutor *e, const asnd_rnn *p, int operand, int64_t width,
                        const int64_t *sizes, asnd_tmp *tmp, char **data) {
    const asnd_nd *a = asn_exec_nd(e, operand);
    int64_t shape[3] = {p->time, p->batch, width};
    /* packed: rows are the valid ones alone, without the padding between steps. */
    bool packed = p->rows > 0 && p->rows != p->time * p->batch;
    asnd_view v, to;
    if (p->rows == 0) {
        stand(p, a, &v);
        ASN_TRY(asn_image_plain(tmp, &v.nd, p->t, &to));
        *data = to.nd.data;
        return ASN_OK;
    }
    ASN_TRY(asn_tmp_view(tmp, p->t, 3, shape, &to));
    *data = to.nd.data;
    memset(*data, 0, (size_t)asn_nd_size(&to.nd) * (size_t)asn_itemsize(p->t));
    for (int64_t i = 0, from = 0; i < p->time; i++) {
        step_rows(a, i, from, sizes[i], &v);
        from += packed ? sizes[i] : p->batch;
        asnd_view step;
        asn_rnn_rows(&step, p->t, *data + i * to.strides[0], sizes[i], width, width);
        ASN_TRY(asn_move(&step.nd, &v.nd));
    }
    return ASN_OK;
}

/* Padded rows are written, too: zeros. */
asn_status asn_rnn_store(aclOpExecutor *e, const asnd_rnn *p, int operand, int64_t width,
                         const int64_t *sizes, char *data) {
    const asnd_nd *a = asn_exec_nd(e, operand);
    int64_t shape[3] = {p->time, p->batch, width};
    asnd_view v, from;
    asn_view_plain(&from, p->t, 3, shape, data);
    if (p->rows == 0 || a->ndim == 3 || p->rows == p->time * p->batch) {
        stand(p, a, &v);
        return asn_move(&v.nd, &from.nd);
    }
    for (int64_t i = 0, row = 0; i < p->time; row += sizes[i++]) {
        asnd_view step;
        step_rows(a, i, row, sizes[i], &v);
        asn_rnn_rows(&step, p->t, data + i * from.strides[0], sizes[i], width, width);
        ASN_TRY(asn_move(&v.nd, &step.nd));
    }
    return ASN_OK;
}

/* Always a copy, since the steps write to it. */
asn_status asn_rnn_state(aclOpExecutor *e, const asnd_rnn *p, int operand, asnd_tmp *tmp,
                         char **data) {
    int64_t shape[3] = {p->layers * p->directions, p->batch, p->hidden};
    asnd_view v;
    ASN_TRY(asn_tmp_view(tmp, p->t, 3, shape, &v));
    *data = v.nd.data;
    if (operand >= 0) {
        const asnd_nd *given = asn_exec_nd(e, operand);
        if (given->ndim == 2) asn_view_drop(&v, 0);
        return asn_move(&v.nd, given);
    }
    memset(*data, 0, (size_t)asn_nd_size(&v.nd) * (size_t)asn_itemsize(p->t));
    return ASN_OK;
}

/* Halves never come here: factors are of dtype t. */
asn_status asn_rnn_product(asn_dtype t, int64_t m, int64_t n, int64_t k, const void *a,
                           int64_t a_stride, const void *b, bool turned, double beta,
                           void *c, int64_t c_stride) {
    asnd_view x, y, z;
    _Alignas(16) uint8_t one[16], factor[16];
    asn_value_from_double(t, one, 1);
    asn_value_from_double(t, factor, beta);
    asn_rnn_rows(&x, t, (void *)a, m, k, a_stride);
    asn_rnn_rows(&y, t, (void *)b, turned ? k : n, turned ? n : k, turned ? n : k);
    if (!turned) asn_view_swap_last(&y);
    asn_rnn_rows(&z, t, c, m, n, c_stride);
    return asn_cpu_gemm(one, &x.nd, &y.nd, factor, &z.nd);
}

/* ---- planning */

/* A member of a list: checked like a parameter; -1 as ndim: there is none. */
static asn_status check_member(const asnd_call *c, int list, int k, int ndim,
                               const int64_t *shape) {
    const asnd_operand *o = &c->e->operands[c->first[list] + k];
    const asnd_nd *in = asn_call_nd(c, 0);
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    if (o->is_absent)
        return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s[%d] is NULL", c->op->name,
                             c->op->params[list].name, k);
    /* Lists have no dtype of their own: each member is held against the input. */
    bool same = o->nd.ndim == ndim;
    for (int d = 0; d < ndim && same; d++)
        same = o->nd.shape[d] == shape[d];
    if (!same)
        return asn_error_set(ASN_ERR_VALUE, "%s: %s[%d] has shape %s; it must have %s",
                             c->op->name, c->op->params[list].name, k,
                             asn_shape_text(got, o->nd.ndim, o->nd.shape),
                             asn_shape_text(want, ndim, shape));
    if (o->nd.dtype != in->dtype)
        return asn_error_set(ASN_ERR_TYPE, "%s: %s[%d] has dtype %s; it must have %s",
                             c->op->name, c->op->params[list].name, k,
                             asn_dtype_name(o->nd.dtype), asn_dtype_name(in->dtype));
    return ASN_OK;
}

/* The list has `want` members. */
static asn_status check_length(const asnd_call *c, int list, int64_t want) {
    int64_t got = (int64_t)asn_call_array(c, list)->size;
    if (got == want) return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE, "%s: %s has %lld tensors; it must have %lld",
                         c->op->name, c->op->params[list].name, (long long)got,
                         (long long)want);
}

/* A tensor of the input's dtype, by name; its operand, or -1: it is NULL. */
static asn_status tensor_of(const asnd_call *c, const char *name, int ndim,
                            const int64_t *shape, int *operand) {
    int i = asn_call_param_named(c, name);
    *operand = -1;
    if (i < 0 || c->first[i] < 0) return ASN_OK;
    *operand = c->first[i];
    ASN_TRY(asn_call_same_dtype(c, 0, i));
    return asn_call_same_shape(c, i, ndim, shape);
}

/* Weights and biases of every layer and direction, as `list` has them. */
static asn_status check_params(const asnd_call *c, const asnd_rnn *p, const char *name,
                               int *first) {
    int list = asn_call_param_named(c, name), wide = p->gates * (int)p->hidden;
    int count = p->layers * p->directions;
    ASN_TRY(check_length(c, list, count * (p->biases ? 4 : 2)));
    for (int k = 0; k < count; k++) {
        int64_t in = k < p->directions ? p->input : p->hidden * p->directions;
        const int64_t ih[2] = {wide, in}, hh[2] = {wide, p->hidden};
        ASN_TRY(check_member(c, list, asn_rnn_param(p, 0, k, 0), 2, ih));
        ASN_TRY(check_member(c, list, asn_rnn_param(p, 0, k, 1), 2, hh));
        for (int b = 2; b < 4 && p->biases; b++)
            ASN_TRY(check_member(c, list, asn_rnn_param(p, 0, k, b), 1, ih));
    }
    *first = c->first[list];
    return ASN_OK;
}

/* The sequence's extents, numbers of the call, and the hidden width from the parameters.
 */
static asn_status read_sizes(const asnd_call *c, asnd_rnn *p) {
    const asnd_nd *x = asn_call_nd(c, 0);
    int sizes = asn_call_param_named(c, "batchSizes"),
        list = asn_call_param_named(c, "params");
    int hx = asn_call_param_named(c, "hx");
    p->biases = asn_call_int(c, asn_call_param_named(c, "hasBiases")) != 0;
    p->batch_first = asn_call_int(c, asn_call_param_named(c, "batchFirst")) != 0;
    p->directions = asn_call_int(c, asn_call_param_named(c, "bidirection")) ? 2 : 1;
    int64_t layers = asn_call_int(c, asn_call_param_named(c, "numLayers"));
    if (layers < 1 || layers > 1024)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: numLayers is %lld; it must be in [1, 1024]",
                             c->op->name, (long long)layers);
    p->layers = (int)layers;
    /* Ignoring it would give other numbers than the program expects. */
    int dropout = asn_call_param_named(c, "dropout");
    if (dropout >= 0 && asn_call_double(c, dropout) != 0 &&
        asn_call_int(c, asn_call_param_named(c, "train")) != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: dropout is %g; it must be 0",
                             c->op->name, asn_call_double(c, dropout));
    ASN_TRY(asn_call_floating(c, 0));
    p->t = asn_wide_dtype(x->dtype);
    bool ragged = c->first[sizes] >= 0 && !asn_call_operand(c, sizes)->is_empty;
    ASN_TRY(asn_call_rank(c, 0, ragged ? 2 : 3, ragged ? 2 : 3));
    p->input = x->shape[x->ndim - 1];
    p->time = x->shape[p->batch_first ? 1 : 0];
    p->batch = ragged ? 0 : x->shape[p->batch_first ? 0 : 1];
    p->sizes = -1;
    ASN_TRY(check_length(c, list, p->layers * p->directions * (p->biases ? 4 : 2)));
    const asnd_operand *w = &c->e->operands[c->first[list] + 1];
    /* The first weight_hh is (gates * hidden, hidden). */
    p->hidden = w->is_absent || w->nd.ndim != 2 ? 0 : w->nd.shape[1];
    /* Neither time nor batch can be seen in the rows: the sizes' length and the states
     * tell. */
    if (ragged) {
        ASN_TRY(asn_index_dtype(c, sizes, asn_call_nd(c, sizes)));
        ASN_TRY(asn_call_rank(c, sizes, 1, 1));
        p->sizes = c->first[sizes];
        p->time = asn_call_nd(c, sizes)->shape[0];
        p->rows = x->shape[0];
        p->batch_first = false;
        /* LSTM's hx is a list, which may be empty; GRU's a tensor. */
        bool given =
            hx >= 0 && c->first[hx] >= 0 &&
            (c->op->params[hx].kind == ASN_IN || asn_call_array(c, hx)->size > 0);
        const asnd_operand *h = given ? &c->e->operands[c->first[hx]] : NULL;
        p->batch = h && !h->is_absent && h->nd.ndim == 3 ? h->nd.shape[1] : 0;
    }
    /* A batch that nothing tells is 0, and refused here. */
    if (p->time < 1 || p->batch < 1 || p->hidden < 1 || p->input < 1)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: time %lld, batch %lld, input %lld, hidden %lld: each must "
            "be at least 1",
            c->op->name, (long long)p->time, (long long)p->batch, (long long)p->input,
            (long long)p->hidden);
    return ASN_OK;
}

/* A sequence of this width: its shape. */
static int sequence(const asnd_rnn *p, int64_t width, int64_t *shape) {
    int at = 0;
    if (p->rows > 0) {
        shape[at++] = p->rows;
    } else {
        shape[at++] = p->batch_first ? p->batch : p->time;
        shape[at++] = p->batch_first ? p->time : p->batch;
    }
    shape[at++] = width;
    return at;
}

/* The output, or its gradient: (time, batch, width) is also allowed. */
static asn_status output_of(const asnd_call *c, const asnd_rnn *p, const char *name,
                            int *operand) {
    int64_t width = p->hidden * p->directions, rows[3];
    const int64_t padded[3] = {p->time, p->batch, width};
    const asnd_nd *a = asn_call_nd(c, asn_call_param_named(c, name));
    int ndim = sequence(p, width, rows);
    bool stands = p->rows > 0 && a != NULL && a->ndim == 3;
    return tensor_of(c, name, stands ? 3 : ndim, stands ? padded : rows, operand);
}

/* hx: LSTM's list of h and c (empty: zeros), GRU's tensor. */
static asn_status check_states(const asnd_call *c, asnd_rnn *p, const int64_t *state) {
    int hx = asn_call_param_named(c, "hx");
    p->h0 = p->c0 = -1;
    if (!p->lstm) return tensor_of(c, "hx", 3, state, &p->h0);
    if (c->args[hx].p == NULL || asn_call_array(c, hx)->size == 0) return ASN_OK;
    ASN_TRY(check_length(c, hx, 2));
    for (int k = 0; k < 2; k++)
        ASN_TRY(check_member(c, hx, k, 3, state));
    p->h0 = c->first[hx];
    p->c0 = c->first[hx] + 1;
    return ASN_OK;
}

/* Whether the tensors of list `list` have no dimensions, as torch_npu gives them without
 * training, where nobody reads them: they stay as they are. */
static bool unread(const asnd_call *c, int list) {
    if (asn_call_int(c, asn_call_param_named(c, "train")) != 0) return false;
    return c->e->operands[c->first[list]].nd.ndim == 0;
}

/* The lists of what steps save: every step's (time, batch, hidden), or, without training,
 * none but h and c, which may hold the last state (batch, hidden). */
static asn_status check_saved(const asnd_call *c, asnd_rnn *p, bool back) {
    static const char *const lstm[] = {"i", "j", "f", "o", "h", "c", "tanhC"};
    static const char *const gru[] = {"r", "z", "n", "hn", "h"};
    /* The names that CANN's pages give the lists, without Out. */
    const int64_t step[3] = {p->time, p->batch, p->hidden};
    int count = p->layers * p->directions;
    p->num_saved = p->lstm ? RNN_LSTM_SAVED : RNN_GRU_SAVED;
    p->all_steps = true;
    for (int k = 0; k < p->num_saved; k++) {
        char name[16];
        strcpy(name, p->lstm ? lstm[k] : gru[k]);
        if (!back) strcat(name, "Out");
        int list = asn_call_param_named(c, name);
        p->saved[k] = -1;
        if (!back && (c->args[list].p == NULL || asn_call_array(c, list)->size == 0))
            continue;
        ASN_TRY(check_length(c, list, count));
        if (!back && unread(c, list)) continue;
        p->saved[k] = c->first[list];
        for (int m = 0; m < count; m++) {
            const asnd_operand *o = &c->e->operands[c->first[list] + m];
            bool last = !back && (k == RNN_H || k == RNN_C) && o->nd.ndim == 2;
            if (last && p->lstm) p->all_steps = false;
            ASN_TRY(check_member(c, list, m, last ? 2 : 3, last ? step + 1 : step));
        }
    }
    return ASN_OK;
}

/* Nanoseconds: products, and 30 for each gate. */
static double work_of(const asnd_rnn *p) {
    double cells = (double)(p->time * p->batch) * (double)p->hidden * p->gates;
    return 1000 +
           cells * p->layers * p->directions * (5 + (double)(p->input + p->hidden) / 10);
}

/* LSTM(input, params, hx, batchSizes, hasBiases, numLayers, dropout, train, bidirection,
 * batchFirst, output, hy, cy, iOut, jOut, fOut, oOut, hOut, cOut, tanhCOut); GRU has no
 * cy, and rOut, zOut, nOut, hnOut, hOut. arg 1: the LSTM. */
asn_status asn_planner_rnn(asnd_call *c) {
    asnd_rnn p;
    memset(&p, 0, sizeof p);
    p.lstm = c->op->arg != 0;
    p.gates = p.lstm ? 4 : 3;
    ASN_TRY(read_sizes(c, &p));
    int64_t state[3] = {p.layers * p.directions, p.batch, p.hidden};
    ASN_TRY(check_params(c, &p, "params", &p.params));
    ASN_TRY(check_states(c, &p, state));
    ASN_TRY(output_of(c, &p, "output", &p.y));
    ASN_TRY(tensor_of(c, "hy", 3, state, &p.hy));
    ASN_TRY(tensor_of(c, "cy", 3, state, &p.cy));
    ASN_TRY(check_saved(c, &p, false));
    p.x = c->first[0];
    return asn_call_keep(c, asn_rnn_forward_body, &p, sizeof p, work_of(&p));
}

/* LstmBackward(input, hx, params, dy, dh, dc, i, j, f, o, h, c, tanhC, batchSizes,
 * hasBiases, numLayers, dropout, train, bidirection, batchFirst, outputMask, dx, dhPrev,
 * dcPrev, dparams); GRUBackward(input, params, hx, dy, dh, r, z, n, hn, h, batchSizes,
 * hasBiases, numLayers, bidirection, batchFirst, dx, dhPrev, dparams). */
asn_status asn_planner_rnn_backward(asnd_call *c) {
    asnd_rnn p;
    memset(&p, 0, sizeof p);
    p.lstm = c->op->arg != 0;
    p.gates = p.lstm ? 4 : 3;
    int mask = asn_call_param_named(c, "outputMask");
    if (mask >= 0 && c->args[mask].p != NULL)
        return asn_error_set(ASN_ERR_VALUE, "%s: outputMask must be NULL", c->op->name);
    ASN_TRY(read_sizes(c, &p));
    int64_t x[3], state[3] = {p.layers * p.directions, p.batch, p.hidden};
    int ndim = sequence(&p, p.input, x);
    ASN_TRY(check_params(c, &p, "params", &p.params));
    ASN_TRY(check_params(c, &p, "dparams", &p.dparams));
    ASN_TRY(check_states(c, &p, state));
    ASN_TRY(output_of(c, &p, "dy", &p.dy));
    ASN_TRY(tensor_of(c, "dh", 3, state, &p.dhy));
    ASN_TRY(tensor_of(c, "dc", 3, state, &p.dcy));
    ASN_TRY(tensor_of(c, "dx", ndim, x, &p.dx));
    ASN_TRY(tensor_of(c, "dhPrev", 3, state, &p.dh0));
    ASN_TRY(tensor_of(c, "dcPrev", 3, state, &p.dc0));
    ASN_TRY(check_saved(c, &p, true));
    p.x = c->first[0];
    return asn_call_keep(c, asn_rnn_backward_body, &p, sizeof p, 2 * work_of(&p));
}
