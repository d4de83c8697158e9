/* CPU device, operators: conversions from and to dtypes that nothing else computes with.
 *
 * float8_e4m3fn and float8_e5m2 go by way of float32, complex32 (two float16) by way of
 * complex64, as in PyTorch: halves to even, beyond the range the largest number (e4m3fn,
 * which has no infinity) or infinity (e5m2).
 *
 * Called by the planners of Cast and InplaceCopy where one of the tensors is of such a
 * dtype; tensors come as words of their size (opaque, call.h). One element at a time:
 * these dtypes are for storage, and their conversion is bound by memory soon enough.
 */
#include <math.h>
#include <string.h>

#include "device/opapi/core/packed.h"

/* A float of 8 bits: sign, exponent, mantissa. */
typedef struct {
    int mantissa, least; /* bits; exponent of the smallest normal number */
    uint8_t top;         /* codes above are no numbers */
} float8;

/* The layout of an aclDataType; anything but float8_e5m2 counts as e4m3fn. */
static const float8 *float8_of(int acl) {
    static const float8 e5m2 = {2, -14, 0x7b}, e4m3fn = {3, -6, 0x7e};
    return acl == ACL_FLOAT8_E5M2 ? &e5m2 : &e4m3fn;
}

/* x as a code. The code is the exponent above the least, shifted, plus the significand in
 * units of its last place: a carry, and the step from the numbers below the least, come
 * out right. Beyond the top code it is infinity, or for e4m3fn the largest number. */
static uint8_t encode(const float8 *f, float x) {
    uint8_t sign = signbit(x) ? 0x80 : 0, infinite = f->top == 0x7b ? 0x7c : f->top;
    float a = fabsf(x);
    if (isnan(x)) return sign | 0x7f;
    if (isinf(x)) return sign | infinite;
    int e = f->least;
    if (a != 0) (void)frexpf(a, &e);
    e = a != 0 && e - 1 > f->least ? e - 1 : f->least;
    int code = ((e - f->least) << f->mantissa) + (int)rintf(ldexpf(a, f->mantissa - e));
    return sign | (code > f->top ? infinite : (uint8_t)code);
}

/* The number of a code. body 0 to unit - 1 are the numbers below the least: exponent of
 * the least, no leading one. */
static float decode(const float8 *f, uint8_t code) {
    int body = code & 0x7f, e = body >> f->mantissa, unit = 1 << f->mantissa;
    float a = ldexpf((float)(e > 0 ? unit + body % unit : body),
                     f->least - f->mantissa + (e > 0 ? e - 1 : 0));
    if (body > f->top) a = f->top == 0x7b && body == 0x7c ? INFINITY : NAN;
    return code & 0x80 ? -a : a;
}

/* v: a tensor of complex32 as float16, real and imaginary part in a last dimension, 2
 * bytes apart. */
static void halves_of(const asnd_nd *a, asnd_view *v) {
    asn_view_set(v, a);
    v->nd.dtype = ASN_F16;
    asn_view_insert(v, v->nd.ndim, 2, 2);
}

/* A cast in which one dtype, or both, are of these. */
typedef struct {
    asnd_plan_head head;
    int in, out, from, to; /* operands, aclDataTypes */
} narrow_plan;

/* v: the input in a dtype that asn_move reads: complex64 for complex32, float32 for
 * floats of 8 bits, else itself. */
static asn_status widen(const asnd_nd *a, int acl, asnd_tmp *tmp, asnd_view *v) {
    asnd_view bytes, halves, pairs;
    int64_t n = asn_nd_size(a);
    if (acl == ACL_COMPLEX32) {
        ASN_TRY(asn_tmp_view(tmp, ASN_C64, a->ndim, a->shape, v));
        halves_of(a, &halves);
        asn_view_plain(&pairs, ASN_F32, halves.nd.ndim, halves.shape, v->nd.data);
        return asn_move(&pairs.nd, &halves.nd);
    }
    if (acl != ACL_FLOAT8_E5M2 && acl != ACL_FLOAT8_E4M3FN) {
        asn_view_set(v, a);
        return ASN_OK;
    }
    ASN_TRY(asn_packed_of(a, ASN_U8, tmp, &bytes));
    ASN_TRY(asn_tmp_view(tmp, ASN_F32, a->ndim, a->shape, v));
    for (int64_t i = 0; i < n; i++)
        ((float *)(void *)v->nd.data)[i] =
            decode(float8_of(acl), (uint8_t)bytes.nd.data[i]);
    return ASN_OK;
}

/* Widens the input, then narrows to the output's dtype, whichever of both it takes. */
static asn_status narrow_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const narrow_plan *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->out);
    asnd_view wide, plain, halves, pairs, bytes;
    ASN_TRY(widen(asn_exec_nd(e, p->in), p->from, tmp, &wide));
    asn_view_broadcast(&wide, out->ndim, out->shape);
    if (p->to == ACL_COMPLEX32) {
        ASN_TRY(asn_packed_of(&wide.nd, ASN_C64, tmp, &plain));
        halves_of(out, &halves);
        asn_view_plain(&pairs, ASN_F32, halves.nd.ndim, halves.shape, plain.nd.data);
        return asn_move(&halves.nd, &pairs.nd);
    }
    if (p->to != ACL_FLOAT8_E5M2 && p->to != ACL_FLOAT8_E4M3FN)
        return asn_move(out, &wide.nd);
    ASN_TRY(asn_packed_of(&wide.nd, ASN_F32, tmp, &plain));
    ASN_TRY(asn_tmp_view(tmp, ASN_U8, out->ndim, out->shape, &bytes));
    for (int64_t i = 0; i < asn_nd_size(out); i++)
        bytes.nd.data[i] =
            (char)encode(float8_of(p->to), ((const float *)(void *)plain.nd.data)[i]);
    return asn_move(out, &bytes.nd);
}

/* complex32 needs a dimension more while it is computed. */
asn_status asn_plan_narrow(asnd_call *c, int in, int out) {
    const asnd_nd *from = asn_call_nd(c, in), *to = asn_call_nd(c, out);
    ASN_TRY(asn_call_rank(c, in, 0, ASN_ND_MAX_DIMS - 1));
    ASN_TRY(asn_call_rank(c, out, 0, ASN_ND_MAX_DIMS - 1));
    if (!asn_nd_broadcasts(from, to->ndim, to->shape))
        return asn_call_same_shape(c, in, to->ndim, to->shape);
    if (asn_call_operand(c, out)->is_empty) return ASN_OK;
    narrow_plan *p =
        asn_call_plan(c, narrow_body, sizeof *p, 200 + 5 * (double)asn_nd_size(to));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->in = c->first[in];
    p->out = c->first[out];
    p->from = asn_call_operand(c, in)->source->acl_dtype;
    p->to = asn_call_operand(c, out)->source->acl_dtype;
    return ASN_OK;
}
