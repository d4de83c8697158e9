/* CPU device, operators: Fourier transforms.
 *
 * aclRfft1D and aclStft. The transforms themselves are the device's (fft.h), in float32
 * or float64; results that CANN has as pairs of floats are views of complex numbers.
 *
 * A short-time transform is a view of overlapping frames, one fused multiplication by the
 * window, and one transform over all frames; the result is turned into CANN's order of
 * dimensions by a view.
 *
 * Limits are CANN's: Rfft1D transforms the last dimension of float32, and Stft does not
 * pad its input at the ends, as torch.stft does before it frames.
 */
#include <math.h>
#include <string.h>

#include "device/cpu/fft/fft.h"
#include "device/opapi/core/packed.h"
#include "device/opapi/core/program.h"

/* ---- aclRfft1D(self, n, dim, norm, out): out is (..., n / 2 + 1, 2), or the same
 * numbers with the last two dimensions in one, which CANN's page does not tell apart. */

/* CANN's numbers for norm: as it is, divided by n, by the root of n. */
enum { NORM_NONE = 1, NORM_BY_N, NORM_BY_ROOT };

/* Transforms into complex64, which is moved to out as pairs of float32. */
static asn_status rfft_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *in = asn_exec_nd(e, p->at[0]), *out = asn_exec_nd(e, p->at[4]);
    int64_t n = p->n[0], shape[ASN_ND_MAX_DIMS];
    double scale = p->kind == NORM_BY_N      ? 1 / (double)n
                   : p->kind == NORM_BY_ROOT ? 1 / sqrt((double)n)
                                             : 1;
    asnd_view complex, pairs;
    memcpy(shape, in->shape, (size_t)in->ndim * sizeof *shape);
    shape[in->ndim - 1] = n / 2 + 1;
    ASN_TRY(asn_tmp_view(tmp, ASN_C64, in->ndim, shape, &complex));
    ASN_TRY(asn_cpu_fft(ASN_FFT_REAL_FORWARD, false, n, scale, in->ndim - 1, in,
                        &complex.nd));
    /* out's shape, with or without a last dimension of 2: the numbers are the same. */
    asn_view_plain(&pairs, ASN_F32, out->ndim, out->shape, complex.nd.data);
    return asn_move(out, &pairs.nd);
}

/* n may differ from self's extent: longer lines are cut, shorter ones extended with
 * zeros. */
asn_status asn_planner_rfft(asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *out = asn_call_nd(c, 4);
    int64_t n = asn_call_int(c, 1), norm = asn_call_int(c, 3), shape[ASN_ND_MAX_DIMS + 1];
    int axis;
    ASN_TRY(asn_call_one_of(c, 0, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_one_of(c, 4, ASN_BIT(ASN_F32)));
    ASN_TRY(asn_call_rank(c, 0, 1, ASN_ND_MAX_DIMS - 1));
    ASN_TRY(asn_call_axis(c, asn_call_int(c, 2), self->ndim, &axis));
    if (axis != self->ndim - 1 || n < 1 || norm < NORM_NONE || norm > NORM_BY_ROOT)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: dim is %lld, n %lld, norm %lld; dim must be the last, n "
            "at least 1, norm 1 (as it is), 2 (by n) or 3 (by its root)",
            c->op->name, (long long)asn_call_int(c, 2), (long long)n, (long long)norm);
    memcpy(shape, self->shape, (size_t)self->ndim * sizeof *shape);
    shape[axis] = n / 2 + 1;
    shape[axis + 1] = 2;
    if (out->ndim == self->ndim) shape[axis] *= 2;
    ASN_TRY(asn_call_same_shape(
        c, 4, out->ndim == self->ndim ? self->ndim : self->ndim + 1, shape));
    if (asn_call_operand(c, 4)->is_empty) return ASN_OK;
    asnd_packed *p = asn_packed_plan(c, rfft_body, 500 + 4 * (double)asn_nd_size(out));
    if (p == NULL) return ASN_ERR_MEMORY;
    p->kind = (int)norm;
    p->n[0] = n;
    return ASN_OK;
}

/* ---- aclStft(self, windowOptional, out, nFft, hopLength, winLength, normalized,
 * onesided, returnComplex): torch.stft without its padding */

/* *w = the window as `dt`, n long, with zeros on both sides where it is shorter. Without
 * a window it is winLength ones in the middle. */
static asn_status padded_window(aclOpExecutor *e, const asnd_packed *p, asn_dtype dt,
                                asnd_tmp *tmp, asnd_view *w) {
    int64_t n = p->n[0], length = p->arg[5].i;
    static const double one = 1;
    asnd_view middle, ones;
    ASN_TRY(asn_tmp_view(tmp, dt, 1, &n, w));
    memset(w->nd.data, 0, (size_t)(n * asn_itemsize(dt)));
    asn_view_set(&middle, &w->nd);
    asn_view_slice(&middle, 0, (n - length) / 2, length, 1);
    if (p->at[1] >= 0) return asn_move(&middle.nd, asn_exec_nd(e, p->at[1]));
    asn_view_plain(&ones, ASN_F64, 0, &n, (void *)(uintptr_t)&one);
    asn_view_broadcast(&ones, 1, &length);
    return asn_move(&middle.nd, &ones.nd);
}

/* n[0]: nFft; n[1]: frequencies; n[2]: frames. The result is (batch, frequencies,
 * frames), as complex numbers or with a last dimension of 2. */
static asn_status stft_body(aclOpExecutor *e, void *plan, asnd_tmp *tmp) {
    const asnd_packed *p = plan;
    const asnd_nd *out = asn_exec_nd(e, p->at[2]);
    int64_t n = p->n[0], bins = p->n[1], frames = p->n[2];
    /* A real transform gives the one-sided result; the two-sided one is complex. */
    bool whole = p->arg[8].i != 0, one_sided = bins != n || n == 1;
    asn_dtype complex = p->loop == ASN_F64 || p->loop == ASN_C128 ? ASN_C128 : ASN_C64;
    asn_dtype dt = one_sided && !asn_is_complex(p->loop) ? p->loop : complex;
    asnd_view x, window, framed, spectrum, turned, pairs;
    ASN_TRY(asn_packed_in(e, p, 0, dt, tmp, &x));
    if (x.nd.ndim == 1) asn_view_insert(&x, 0, 1, 0);
    int64_t shape[4] = {x.shape[0], frames, n, 2}, hop = p->arg[4].i;
    /* (batch, frames, n) over the packed signal: frame f begins at element f * hop, so
     * that frames overlap without a copy. */
    asn_view_drop(&x, 1);
    asn_view_insert(&x, 1, frames, hop * asn_itemsize(dt));
    asn_view_insert(&x, 2, n, asn_itemsize(dt));
    ASN_TRY(padded_window(e, p, dt, tmp, &window));
    asn_view_broadcast(&window, 3, shape);
    ASN_TRY(asn_tmp_view(tmp, dt, 3, shape, &framed));
    asnd_prog prog;
    asn_prog_begin(&prog, 3, shape, 0);
    int left = asn_prog_in(&prog, &x.nd), right = asn_prog_in(&prog, &window.nd);
    asn_prog_out(&prog, asn_prog_op2(&prog, ASN_OP_MULTIPLY, left, right), &framed.nd);
    ASN_TRY(asn_prog_run(&prog));
    /* normalized divides by the root of nFft. */
    shape[2] = bins;
    ASN_TRY(asn_tmp_view(tmp, complex, 3, shape, &spectrum));
    ASN_TRY(asn_cpu_fft(asn_is_complex(dt) ? ASN_FFT_COMPLEX : ASN_FFT_REAL_FORWARD,
                        false, n, p->arg[6].i ? 1 / sqrt((double)n) : 1, 2, &framed.nd,
                        &spectrum.nd));
    if (whole) {
        asn_view_set(&turned, &spectrum.nd);
    } else {
        asn_view_plain(&pairs, asn_real_dtype(complex), 4, shape, spectrum.nd.data);
        asn_view_set(&turned, &pairs.nd);
    }
    /* Frequencies come before frames. */
    asn_view_permute(&turned, (const int[]){0, 2, 1, 3});
    if (out->ndim < turned.nd.ndim) asn_view_drop(&turned, 0);
    return asn_move(out, &turned.nd);
}

/* Checks the numbers of the call against self and each other: at least one frame, and a
 * window of winLength that fits into it. */
static asn_status check_frames(const asnd_call *c) {
    const asnd_nd *self = asn_call_nd(c, 0), *window = asn_call_nd(c, 1);
    int64_t length = self->shape[self->ndim - 1], n = asn_call_int(c, 3),
            hop = asn_call_int(c, 4), width = asn_call_int(c, 5);
    if (n < 1 || n > length || hop < 1 || width < 1 || width > n)
        return asn_error_set(
            ASN_ERR_VALUE,
            "%s: nFft is %lld, hopLength %lld, winLength %lld; nFft must "
            "be in [1, %lld], hopLength at least 1, winLength in [1, "
            "nFft]",
            c->op->name, (long long)n, (long long)hop, (long long)width,
            (long long)length);
    if (window != NULL) ASN_TRY(asn_call_same_shape(c, 1, 1, &width));
    bool complex =
        asn_is_complex(self->dtype) || (window != NULL && asn_is_complex(window->dtype));
    if (complex && asn_call_int(c, 7))
        return asn_error_set(ASN_ERR_VALUE,
                             "%s: onesided goes with a real self and window only",
                             c->op->name);
    return ASN_OK;
}

/* dt is the promotion of signal and window; the result is complex of that width, or pairs
 * of its real dtype. */
asn_status asn_planner_stft(asnd_call *c) {
    const uint32_t dtypes =
        ASN_BIT(ASN_F32) | ASN_BIT(ASN_F64) | ASN_BIT(ASN_C64) | ASN_BIT(ASN_C128);
    const asnd_nd *self = asn_call_nd(c, 0), *window = asn_call_nd(c, 1);
    for (int i = 0; i < 2; i++)
        ASN_TRY(asn_call_one_of(c, i, dtypes));
    ASN_TRY(asn_call_rank(c, 0, 1, 2));
    ASN_TRY(check_frames(c));
    asn_dtype dt = self->dtype;
    if (window != NULL) dt = (asn_dtype)asn_promote_tensors[dt][window->dtype];
    bool whole = asn_call_int(c, 8) != 0, wide = dt == ASN_F64 || dt == ASN_C128;
    int64_t n = asn_call_int(c, 3), bins = asn_call_int(c, 7) ? n / 2 + 1 : n;
    int64_t frames = 1 + (self->shape[self->ndim - 1] - n) / asn_call_int(c, 4);
    int64_t shape[4] = {self->shape[0], bins, frames, 2};
    int skip = self->ndim == 1;
    asn_dtype result = whole ? (wide ? ASN_C128 : ASN_C64) : (wide ? ASN_F64 : ASN_F32);
    ASN_TRY(asn_call_one_of(c, 2, ASN_BIT(result)));
    ASN_TRY(asn_call_same_shape(c, 2, (whole ? 3 : 4) - skip, shape + skip));
    if (asn_call_operand(c, 2)->is_empty) return ASN_OK;
    double work = (double)asn_nd_size(asn_call_nd(c, 2)) * 6;
    asnd_packed *p = asn_packed_plan(c, stft_body, 1000 + work);
    if (p == NULL) return ASN_ERR_MEMORY;
    p->loop = dt;
    p->n[0] = n;
    p->n[1] = bins;
    p->n[2] = frames;
    return ASN_OK;
}
