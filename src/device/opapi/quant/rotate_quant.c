/* CPU device, operators: RotateQuant, rows turned by a matrix, then quantised (Ashkboos
 * et al., "QuaRot", 2024).
 *
 *     v = x @ rotation for every k columns of x, rotation being (k, k); scale[i] =
 *     max |v[i]| / 127 (7 for int4), y = round(v / scale)
 *
 * in float32. What CANN has for floats of 8 and 4 bits (alpha, scaleAlg, dstTypeMax) is
 * not here.
 */
#include <string.h>

#include "device/cpu/gemm/gemm.h"
#include "device/opapi/quant/row_quant.h"

/* Operands. */
typedef struct {
    asnd_plan_head head;
    int x, rotation;
    int64_t rows, n, k;
    asnd_row_quant q;
} rotate_plan;

/* One product: the pieces of all rows lie one below the other. */
static asn_status rotate_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    rotate_plan p = *(const rotate_plan *)plan;
    int64_t shape[] = {p.rows * p.n / p.k, p.k};
    asnd_view x, rotation, pieces, out;
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p.x), ASN_F32, tmp, &x));
    ASN_TRY(asn_packed_of(asn_exec_nd(e, p.rotation), ASN_F32, tmp, &rotation));
    asn_view_plain(&pieces, ASN_F32, 2, shape, x.nd.data);
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, 2, shape, &out));
    ASN_TRY(asn_cpu_matmul(&pieces.nd, &rotation.nd, &out.nd));
    ASN_TRY(asn_row_quant_begin(e, &p.q, p.rows, p.n, tmp));
    float *v = (float *)(void *)out.nd.data;
    for (int64_t i = 0; i < p.rows; i++)
        asn_row_quant_put(&p.q, i, 0, v + i * p.n, p.n);
    return asn_row_quant_end(e, &p.q);
}

/* Parameters that only have one value here. */
static asn_status check_plain(const asnd_call *c) {
    const char *mode = c->args[4].p;
    int64_t axis = asn_call_int(c, 3);
    if (c->first[2] >= 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: alpha is given; it must be NULL",
                             c->op->name);
    if (mode != NULL && strcmp(mode, "rint") != 0)
        return asn_error_set(ASN_ERR_VALUE, "%s: roundMode is \"%.20s\"; it must be rint",
                             c->op->name, mode);
    if ((axis == -1 || axis == 1) && asn_call_int(c, 5) == 0 &&
        asn_call_double(c, 6) == 0 && asn_call_int(c, 7) == 0)
        return ASN_OK;
    return asn_error_set(ASN_ERR_VALUE,
                         "%s: axis is %lld, scaleAlg %lld, dstTypeMax %g; axis must be "
                         "the last, the others and transposeY 0",
                         c->op->name, (long long)axis, (long long)asn_call_int(c, 5),
                         asn_call_double(c, 6));
}

/* RotateQuant(x, rotation, alpha, axis, roundMode, scaleAlg, dstTypeMax, transposeY, y,
 * scale) */
asn_status asn_planner_rotate_quant(asnd_call *c) {
    const asnd_nd *x = asn_call_nd(c, 0), *r = asn_call_nd(c, 1);
    ASN_TRY(asn_call_floating(c, 0));
    ASN_TRY(asn_call_same_dtype(c, 1, 0));
    ASN_TRY(asn_call_rank(c, 0, 2, 2));
    ASN_TRY(asn_call_rank(c, 1, 2, 2));
    ASN_TRY(check_plain(c));
    int64_t k = r->shape[0];
    if (r->shape[1] != k || k == 0 || x->shape[1] % k != 0)
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: rotation is (%lld, %lld), x has %lld columns; it must "
                             "be square and divide them",
                             c->op->name, (long long)k, (long long)r->shape[1],
                             (long long)x->shape[1]);
    rotate_plan p = {.x = c->first[0],
                     .rotation = c->first[1],
                     .rows = x->shape[0],
                     .n = x->shape[1],
                     .k = k};
    p.q = (asnd_row_quant){.scale = -1, .offset = -1, .dynamic = true};
    p.q.y = c->first[8];
    p.q.scale_out = c->first[9];
    ASN_TRY(asn_row_quant_check(c, &p.q, 2, x->shape));
    if (asn_nd_size(x) == 0) return ASN_OK;
    double work = (double)asn_nd_size(x) * (double)(k + 60);
    return asn_call_keep(c, rotate_body, &p, sizeof p, 500 + work / 20);
}
