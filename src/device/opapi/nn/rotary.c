/* CPU device, operators: rotary position embedding and its gradient (Su et al.,
 * "RoFormer", 2021).
 *
 * y = x * cos + rotate(x) * sin turns pairs (a, b) of the last dimension: ya = a * cos_a
 * - b * sin_a, yb = b * cos_b + a * sin_b. The modes differ in which elements are pairs,
 * and where they go:
 *
 *     half             a from the first half, b from the second
 *     interleave       a from the even positions, b from the odd ones
 *     quarter          as half, in each half
 *     interleave-half  read as interleave, written as half; cos and sin lie as the output
 *
 * So each is one fused program over strided views with two outputs (quarter: two). cos
 * and sin broadcast to x; halves are computed in float32. In place every pair is read
 * before it is written.
 *
 * The gradient is the turn back; those of cos and sin are sums of dy * (x in the output's
 * order) and dy * rotate(x) over what they broadcast over.
 */
#include "device/opapi/nn/rotary.h"

#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/nn/norm.h"

/* Where one of a pair lies in the last dimension: start, step, count. */
typedef struct {
    int64_t start, step, count;
} lane;

/* The pairs of part k of a mode over n elements, as they are read, or written. */
static void lanes(int mode, bool written, int k, int64_t n, lane *a, lane *b) {
    if (mode == ASN_ROTARY_INTERLEAVE ||
        (mode == ASN_ROTARY_INTERLEAVE_HALF && !written)) {
        *a = (lane){0, 2, n / 2};
        *b = (lane){1, 2, n / 2};
        return;
    }
    int64_t each = mode == ASN_ROTARY_QUARTER ? n / 4 : n / 2;
    *a = (lane){2 * k * each, 1, each};
    *b = (lane){(2 * k + 1) * each, 1, each};
}

/* The elements of a lane, as a view. */
static void cut(asnd_view *v, const asnd_nd *a, lane l) {
    asn_view_set(v, a);
    asn_view_slice(v, a->ndim - 1, l.start, l.count, l.step);
}

/* Halves are computed in float32. */
static asn_dtype loop_of(const asnd_nd *a) {
    return a->dtype == ASN_F64 ? ASN_F64 : ASN_F32;
}

static int value(asnd_prog *p, const asnd_view *a, asn_dtype t) {
    return asn_prog_as(p, asn_prog_in(p, &a->nd), t);
}

/* x * y + z * w, or minus. */
static int turn(asnd_prog *p, asn_op op, int x, int y, int z, int w) {
    x = asn_prog_op2(p, ASN_OP_MULTIPLY, x, y);
    return asn_prog_op2(p, op, x, asn_prog_op2(p, ASN_OP_MULTIPLY, z, w));
}

asn_status asn_rotary_turn(const asnd_nd *x, const asnd_nd *cos, const asnd_nd *sin,
                           const asnd_nd *y, int mode, bool back) {
    asn_dtype t = loop_of(x);
    for (int k = 0; k < (mode == ASN_ROTARY_QUARTER ? 2 : 1); k++) {
        lane in_a, in_b, out_a, out_b;
        /* The turn back is the transposed matrix: of ya = a cos_a - b sin_a and yb = b
         * cos_b
         * + a sin_b follow da = ya cos_a + yb sin_b, db = yb cos_b - ya sin_a. */
        asnd_view xa, xb, ca, cb, sa, sb, ya, yb;
        int64_t n = x->shape[x->ndim - 1];
        lanes(mode, back, k, n, &in_a, &in_b);
        lanes(mode, !back, k, n, &out_a, &out_b);
        /* cos and sin lie as the forward output. */
        lane table_a = back ? in_a : out_a, table_b = back ? in_b : out_b;
        cut(&xa, x, in_a);
        cut(&xb, x, in_b);
        cut(&ca, cos, table_a);
        cut(&cb, cos, table_b);
        cut(&sa, sin, table_a);
        cut(&sb, sin, table_b);
        cut(&ya, y, out_a);
        cut(&yb, y, out_b);
        asnd_prog p;
        asn_prog_begin(&p, x->ndim, xa.shape, 0);
        int a = value(&p, &xa, t), b = value(&p, &xb, t);
        int cos_a = value(&p, &ca, t), cos_b = value(&p, &cb, t);
        int sin_a = value(&p, &sa, t), sin_b = value(&p, &sb, t);
        int first = back ? turn(&p, ASN_OP_ADD, a, cos_a, b, sin_b)
                         : turn(&p, ASN_OP_SUBTRACT, a, cos_a, b, sin_a);
        int second = back ? turn(&p, ASN_OP_SUBTRACT, b, cos_b, a, sin_a)
                          : turn(&p, ASN_OP_ADD, b, cos_b, a, sin_b);
        asn_prog_out(&p, first, &ya.nd);
        asn_prog_out(&p, second, &yb.nd);
        ASN_TRY(asn_prog_run(&p));
    }
    return ASN_OK;
}

/* Operands (-1: absent). x2, y2: the second tensor that is turned. */
typedef struct {
    asnd_plan_head head;
    int x[2], y[2], cos, sin, mode;
    int rotate;
    int dcos, dsin, dx; /* of the gradient, whose x is x[0], dy y[0] */
} rotary_plan;

/* cos or sin, broadcast to x; with a missing dimension of heads it is x's last but one.
 */
static void table_view(asnd_view *v, const asnd_nd *a, const asnd_nd *x) {
    asn_view_set(v, a);
    asn_view_broadcast(v, x->ndim, x->shape);
}

/* One tensor, or query and key with the same cos and sin. */
static asn_status rotary_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const rotary_plan *p = plan;
    for (int k = 0; k < 2 && p->x[k] >= 0; k++) {
        const asnd_nd *y = asn_exec_nd(e, p->y[k]);
        if (e->operands[p->y[k]].is_empty) continue;
        asnd_view x, cos, sin, copy;
        asn_view_set(&x, asn_exec_nd(e, p->x[k]));
        table_view(&cos, asn_exec_nd(e, p->cos), &x.nd);
        table_view(&sin, asn_exec_nd(e, p->sin), &x.nd);
        /* Pairs that move: the output must not lie where others are still read. */
        if (p->mode == ASN_ROTARY_INTERLEAVE_HALF && asn_nds_meet(&x.nd, y)) {
            ASN_TRY(asn_tmp_view(tmp, x.nd.dtype, x.nd.ndim, x.shape, &copy));
            ASN_TRY(asn_move(&copy.nd, &x.nd));
            asn_view_set(&x, &copy.nd);
        }
        ASN_TRY(asn_rotary_turn(&x.nd, &cos.nd, &sin.nd, y, p->mode, false));
    }
    return ASN_OK;
}

/* The gradient of a table of shape `out`: the sum of dy * x over the dimensions that it
 * broadcasts over; with a sign for each of the pairs, x read crosswise (rotate). */
static asn_status table_gradient(const asnd_nd *dy, const asnd_nd *x, const asnd_nd *out,
                                 int mode, bool crosswise, asnd_tmp *tmp) {
    asnd_norm n;
    asnd_view sum, to, target;
    /* mask: the dimensions that the table has as 1, or not at all: batches and heads as a
     * rule, whose gradients add up. */
    uint64_t mask = 0;
    asn_view_set(&target, out);
    while (target.nd.ndim < x->ndim)
        asn_view_insert(&target, 0, 1, 0);
    for (int d = 0; d < x->ndim - 1; d++)
        if (target.shape[d] != x->shape[d]) mask |= UINT64_C(1) << d;
    asn_norm_begin(&n, x, mask);
    ASN_TRY(asn_norm_kept(tmp, &n, mask, &sum));
    for (int k = 0; k < (mode == ASN_ROTARY_QUARTER ? 4 : 2); k++) {
        lane in[2], at[2];
        asnd_view xs, ds;
        lanes(mode, false, k / 2, x->shape[x->ndim - 1], &in[0], &in[1]);
        lanes(mode, true, k / 2, x->shape[x->ndim - 1], &at[0], &at[1]);
        cut(&xs, x, in[crosswise ? 1 - k % 2 : k % 2]);
        cut(&ds, dy, at[k % 2]);
        cut(&to, &sum.nd, at[k % 2]);
        asnd_prog p;
        asn_prog_begin(&p, x->ndim, xs.shape, mask);
        int v =
            asn_prog_op2(&p, ASN_OP_MULTIPLY, value(&p, &ds, n.t), value(&p, &xs, n.t));
        if (crosswise && k % 2 == 0) v = asn_prog_op1(&p, ASN_OP_NEGATIVE, v);
        if (mask)
            asn_prog_reduce(&p, ASN_OP_ADD, v, &to.nd);
        else
            asn_prog_out(&p, v, &to.nd);
        ASN_TRY(asn_prog_run(&p));
    }
    return asn_move(&target.nd, &sum.nd);
}

/* dx last: it may be dy or x. */
static asn_status gradient_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const rotary_plan *p = plan;
    asnd_view dy, cos, sin;
    asn_view_set(&dy, asn_exec_nd(e, p->y[0]));
    table_view(&cos, asn_exec_nd(e, p->cos), &dy.nd);
    table_view(&sin, asn_exec_nd(e, p->sin), &dy.nd);
    if (p->x[0] >= 0) {
        const asnd_nd *x = asn_exec_nd(e, p->x[0]);
        ASN_TRY(table_gradient(&dy.nd, x, asn_exec_nd(e, p->dcos), p->mode, false, tmp));
        ASN_TRY(table_gradient(&dy.nd, x, asn_exec_nd(e, p->dsin), p->mode, true, tmp));
    }
    const asnd_nd *dx = asn_exec_nd(e, p->dx);
    if (p->mode == ASN_ROTARY_INTERLEAVE_HALF && asn_nds_meet(&dy.nd, dx)) {
        asnd_view copy;
        ASN_TRY(asn_tmp_view(tmp, dy.nd.dtype, dy.nd.ndim, dy.shape, &copy));
        ASN_TRY(asn_move(&copy.nd, &dy.nd));
        asn_view_set(&dy, &copy.nd);
    }
    return asn_rotary_turn(&dy.nd, &cos.nd, &sin.nd, dx, p->mode, true);
}

/* x * cos + (x @ rotate) * sin: any turn that a matrix can say. */
static asn_status matrix_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const rotary_plan *p = plan;
    const asnd_nd *from = asn_exec_nd(e, p->x[0]), *y = asn_exec_nd(e, p->y[0]);
    asn_dtype t = loop_of(from);
    /* rotate (n, n) has a 1 or -1 in each column where one of the modes is meant; as a
     * product it costs n a number where the modes cost two. */
    int64_t n = from->shape[from->ndim - 1], shape[] = {asn_nd_size(from) / n, n};
    asnd_view x, rotate, turned, rows, result, cos, sin;
    ASN_TRY(asn_packed_of(from, t, tmp, &x));
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p->rotate), t, tmp, &rotate));
    ASN_TRY(asn_tmp_view(tmp, t, from->ndim, from->shape, &turned));
    asn_view_plain(&rows, t, 2, shape, x.nd.data);
    asn_view_plain(&result, t, 2, shape, turned.nd.data);
    ASN_TRY(asn_cpu_matmul(&rows.nd, &rotate.nd, &result.nd));
    table_view(&cos, asn_exec_nd(e, p->cos), from);
    table_view(&sin, asn_exec_nd(e, p->sin), from);
    asnd_prog g;
    asn_prog_begin(&g, from->ndim, from->shape, 0);
    int a = value(&g, &x, t), b = value(&g, &turned, t);
    asn_prog_out(&g, turn(&g, ASN_OP_ADD, a, value(&g, &cos, t), b, value(&g, &sin, t)),
                 y);
    return asn_prog_run(&g);
}

/* ---- planning */

/* x is floating, of one dimension or more, the last of which the mode's pairs fill; cos
 * and sin are floating, broadcast to it and have its last extent. */
static asn_status check_rotary(const asnd_call *c, int i, int cos, int sin, int mode) {
    const asnd_nd *x = asn_call_nd(c, i);
    char got[ASN_SHAPE_TEXT], want[ASN_SHAPE_TEXT];
    /* x (..., n): pairs need an even n, pairs in each half a multiple of four. */
    int of = mode == ASN_ROTARY_QUARTER ? 4 : 2;
    ASN_TRY(asn_norm_check(c, i, x->ndim, x->shape));
    if (x->ndim < 1 || x->shape[x->ndim - 1] % of != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: %s has shape %s; its last extent must be a multiple of "
                             "%d",
                             c->op->name, c->op->params[i].name,
                             asn_shape_text(got, x->ndim, x->shape), of);
    for (int k = 0; k < 2; k++) {
        int at = k == 0 ? cos : sin;
        const asnd_nd *a = asn_call_nd(c, at);
        ASN_TRY(asn_call_floating(c, at));
        if (a->ndim >= 1 && a->shape[a->ndim - 1] == x->shape[x->ndim - 1] &&
            asn_nd_broadcasts(a, x->ndim, x->shape))
            continue;
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: %s has shape %s, which does not broadcast to %s with its "
            "last extent",
            c->op->name, c->op->params[at].name, asn_shape_text(got, a->ndim, a->shape),
            asn_shape_text(want, x->ndim, x->shape));
    }
    return ASN_OK;
}

/* The mode from an integer or a string; InterleaveRope has its own. */
static asn_status mode_of(const asnd_call *c, int *mode) {
    static const char *const names[] = {"half", "interleave", "quarter"};
    int i = asn_call_param_named(c, "mode"), s = asn_call_param_named(c, "rotaryMode");
    *mode = c->op->arg;
    if (s >= 0) {
        const char *name = c->args[s].p;
        for (int k = 0; k < 3; k++)
            if (strcmp(name, names[k]) == 0) {
                *mode = k;
                return ASN_OK;
            }
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: rotaryMode is \"%s\"; it must be \"half\", "
                             "\"interleave\" or \"quarter\"",
                             c->op->name, name);
    }
    if (i < 0) return ASN_OK;
    int64_t wanted = asn_call_int(c, i);
    if (wanted < 0 || wanted > 3)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: mode is %lld; it must be 0 (half), 1 (interleave), 2 "
                             "(quarter) or 3 (interleave-half)",
                             c->op->name, (long long)wanted);
    *mode = (int)wanted;
    return ASN_OK;
}

/* A layout, as the number of dimensions that query and key have: 1 BSND, 2 SBND, 3 BNSD,
 * 4 TND. Nothing else follows from it: cos and sin broadcast. */
static asn_status check_layout(const asnd_call *c) {
    int i = asn_call_param_named(c, "layout");
    if (i < 0) return ASN_OK;
    int64_t layout = asn_call_int(c, i);
    if (layout < 1 || layout > 4)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: layout is %lld; it must be 1 (BSND), 2 (SBND), 3 (BNSD) "
            "or 4 (TND)",
            c->op->name, (long long)layout);
    for (int k = 0; k < 2; k++) {
        const asnd_nd *x = asn_call_nd(c, k);
        char got[ASN_SHAPE_TEXT];
        int want = layout == 4 ? 3 : 4;
        if (x->ndim != want)
            return asn_error_set(
                ASN_ERR_VALUE, "%s: %s has shape %s; layout %lld has %d dimensions",
                c->op->name, c->op->params[k].name,
                asn_shape_text(got, x->ndim, x->shape), (long long)layout, want);
    }
    return ASN_OK;
}

/* A plan with every operand absent; NULL with the error set. */
static rotary_plan *plan_rotary(asnd_call *c, asnd_body_fn body, const asnd_nd *x) {
    rotary_plan *p = asn_call_plan(c, body, sizeof *p, 300 + 2 * (double)asn_nd_size(x));
    if (p == NULL) return NULL;
    *p = (rotary_plan){
        .head = p->head, .x = {-1, -1}, .y = {-1, -1}, .dcos = -1, .dsin = -1, .dx = -1};
    return p;
}

/* V2's matrix, if it is given: (n, n) of floats. */
static asn_status take_matrix(const asnd_call *c, rotary_plan *p) {
    int at = asn_call_param_named(c, "rotateOptional");
    const asnd_nd *x = asn_call_nd(c, 0);
    if (at < 0 || c->first[at] < 0) return ASN_OK;
    int64_t n = x->shape[x->ndim - 1];
    ASN_TRY(asn_call_floating(c, at));
    ASN_TRY(asn_call_same_shape(c, at, 2, (int64_t[]){n, n}));
    p->rotate = c->first[at];
    return ASN_OK;
}

/* RotaryPositionEmbedding(x, cos, sin, mode, out), V2 with a matrix, InterleaveRope(x,
 * cos, sin, out), arg its mode, ApplyRotaryPosEmb(queryRef, keyRef, cos, sin, layout), V2
 * with rotaryMode. */
asn_status asn_planner_rotary(asnd_call *c) {
    int cos = asn_call_param_named(c, "cos"), sin = cos + 1, mode = 0;
    bool in_place = cos == 2;
    int out = in_place ? -1 : asn_call_out(c);
    const asnd_nd *x = asn_call_nd(c, 0);
    ASN_TRY(mode_of(c, &mode));
    ASN_TRY(check_layout(c));
    ASN_TRY(check_rotary(c, 0, cos, sin, mode));
    if (in_place) ASN_TRY(check_rotary(c, 1, cos, sin, mode));
    if (!in_place) ASN_TRY(asn_norm_check(c, out, x->ndim, x->shape));
    rotary_plan with = {.rotate = -1};
    ASN_TRY(take_matrix(c, &with));
    if (with.rotate >= 0 && asn_nd_size(x) == 0) return ASN_OK;
    rotary_plan *p = plan_rotary(c, with.rotate >= 0 ? matrix_body : rotary_body, x);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->rotate = with.rotate;
    p->mode = mode;
    p->cos = c->first[cos];
    p->sin = c->first[sin];
    p->x[0] = c->first[0];
    p->y[0] = in_place ? c->first[0] : c->first[out];
    if (in_place) p->x[1] = p->y[1] = c->first[1];
    return ASN_OK;
}

/* RotaryPositionEmbeddingGrad(dy, cos, sin, xOptional, mode, dxOut, dcosOut, dsinOut).
 * Without x the gradients of cos and sin are not computed. */
asn_status asn_planner_rotary_grad(asnd_call *c) {
    const asnd_nd *dy = asn_call_nd(c, 0);
    int mode = 0;
    ASN_TRY(mode_of(c, &mode));
    ASN_TRY(check_rotary(c, 0, 1, 2, mode));
    ASN_TRY(asn_norm_check(c, 3, dy->ndim, dy->shape));
    ASN_TRY(asn_norm_check(c, 5, dy->ndim, dy->shape));
    for (int k = 0; k < 2 && c->first[3] >= 0; k++) {
        const asnd_nd *table = asn_call_nd(c, 1 + k);
        if (c->first[6 + k] < 0)
            return asn_error_set(ASN_ERR_NULL_POINTER, "%s: %s is NULL, but x is given",
                                 c->op->name, c->op->params[6 + k].name);
        ASN_TRY(asn_norm_check(c, 6 + k, table->ndim, table->shape));
    }
    if (asn_call_operand(c, 5)->is_empty && c->first[3] < 0) return ASN_OK;
    rotary_plan *p = plan_rotary(c, gradient_body, dy);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->mode = mode;
    p->y[0] = c->first[0];
    p->cos = c->first[1];
    p->sin = c->first[2];
    p->x[0] = c->first[3];
    p->dx = c->first[5];
    p->dcos = c->first[6];
    p->dsin = c->first[7];
    return ASN_OK;
}
