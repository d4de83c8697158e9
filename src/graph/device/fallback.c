/* L2 graph: what the host computes in the device's place (see fallback.h).
 *
 * The host's device is the CPU device, loaded beside the other one through a table of its
 * own (asn_host). Operands are staged: copied to host memory, computed on, and results
 * copied back. All of it waits for the stream, before and after, so it is correct and
 * slow; a capture writes such a step down as work of the host's. */
#include "graph/device/fallback.h"

#include "base/settings.h"
#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/fp.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"

asn_acl_api asn_host;

/* chosen: the environment was asked; untold: see asn_fallback_take. */
static struct {
    asn_fallback policy;
    bool chosen, open;
    const char *untold;
} state;

/* ASNUMPY_FALLBACK=error|warn|silent is the policy until one is set. */
static asn_fallback policy_now(void) {
    if (!state.chosen) {
        int wish =
            asn_setting_choice(ASN_SETTING_FALLBACK); /* in the order of the enum */
        state.policy = wish < 0 ? ASN_FALLBACK_WARN : (asn_fallback)wish;
        state.chosen = true;
    }
    return state.policy;
}

/* (Contracts in fallback.h.) The library's lock is held, or a binding's. */
asn_fallback asn_fallback_set(asn_fallback policy) {
    asn_fallback before = policy_now();
    state.policy = policy;
    return before;
}

const char *asn_fallback_take(void) {
    const char *what = state.untold;
    state.untold = NULL;
    return what;
}

/* The host's work has no stream of its own to wait for: it is waited for here. */
asn_status asn_host_status(int code, const char *what) {
    if (!code) code = asn_host.aclrtSynchronizeStream(NULL);
    const char *text = code ? asn_host.aclGetRecentErrMsg() : NULL;
    return code ? asn_acl_status(code, text, what) : ASN_OK;
}

asn_status asn_fallback_ready(void) {
    if (state.open) return ASN_OK;
    ASN_TRY(asn_acl_load_host(asn_device_library_path(), &asn_host));
    /* 100002: CANN's code for "initialised already". */
    int code = asn_host.aclInit(NULL);
    if (code == 0 || code == 100002) code = asn_host.aclrtSetDevice(0);
    if (code) return asn_acl_status(code, asn_host.aclGetRecentErrMsg(), "the host");
    state.open = true;
    return ASN_OK;
}

/* What asn_fallback_begin does; kept: a capture does it again (capture_launch.c), so that
 * waiting is no look at a value. */
static asn_status begin(const char *what, bool kept) {
    asn_fallback policy = policy_now();
    if (policy == ASN_FALLBACK_ERROR)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "%s: the %s device has no operator for it, and "
                             "set_fallback(\"error\") keeps it from the CPU",
                             what, asn_device_kind());
    asn_counters.fallbacks++;
    if (policy == ASN_FALLBACK_WARN) {
        state.untold = what;
        asn_fp_raise(ASN_FALLBACK_RAISED, NULL);
    }
    ASN_TRY(asn_fallback_ready());
    static const char why[] = "the CPU computes what the device has no operator for";
    asn_mark mark = ASN_NO_MARK;
    if (!kept || !asn_capture_open()) ASN_TRY(asn_sync_begin(why, &mark));
    ASN_TRY(asn_stream_wait());
    asn_sync_end(why, mark);
    return ASN_OK;
}

asn_status asn_fallback_begin(const char *what) {
    return begin(what, false);
}

/* ---- the fused operator and its relatives
 *
 * Each stages the operands, calls the host's function, brings results back, and tells an
 * open capture. */

/* Immediates have no address and are not staged. */
static asn_status stage_operand(asn_stage *s, const aclnnxOperand *o, int ndim,
                                const int64_t *shape, bool written) {
    if (!o->data) return ASN_OK;
    return asn_stage_add(s, o->data, asn_dtype_from_acl(o->dtype), ndim, shape,
                         o->strides, written);
}

/* The operand at its copy's address. */
static aclnnxOperand staged(const asn_stage *s, const aclnnxOperand *o) {
    aclnnxOperand r = *o;
    if (o->data) r.data = asn_stage_host(s, o->data);
    return r;
}

asn_status asn_host_fused(const aclnnxProgram *program, const char *what) {
    aclnnxProgram p = *program;
    aclnnxOperand operands[ACLNNX_MAX_OPERANDS];
    asn_stage s = {.num = 0};
    int count = p.numIn + p.numOut;
    ASN_TRY(begin(what, true));
    asn_status status = ASN_OK;
    for (int i = 0; i < count && !status; i++)
        status = stage_operand(&s, &p.operands[i], p.numDims, p.shape, i >= p.numIn);
    if (!status) status = asn_stage_in(&s);
    if (!status) {
        for (int i = 0; i < count; i++)
            operands[i] = staged(&s, &p.operands[i]);
        p.operands = operands;
        status = asn_host_status(asn_host.aclnnxFused(&p, NULL), what);
    }
    if (!status) status = asn_stage_out(&s);
    asn_stage_fini(&s);
    if (!status && asn_capture_open()) asn_capture_host_program(program, what);
    return status;
}

asn_status asn_host_fft(int32_t kind, int64_t n, double scale, const aclnnxOperand *in,
                        const int64_t *in_shape, const aclnnxOperand *out,
                        const int64_t *out_shape, int32_t num_dims, int32_t axis) {
    asn_stage s = {.num = 0};
    ASN_TRY(begin("fft", true));
    asn_status status = stage_operand(&s, in, num_dims, in_shape, false);
    if (!status) status = stage_operand(&s, out, num_dims, out_shape, true);
    if (!status) status = asn_stage_in(&s);
    if (!status) {
        aclnnxOperand from = staged(&s, in), to = staged(&s, out);
        asn_mark mark = asn_profile_begin();
        void *state = asn_blocking_enter();
        int code = asn_host.aclnnxFft(kind, n, scale, &from, in_shape, &to, out_shape,
                                      num_dims, axis, asn_fp_sink(), NULL);
        asn_blocking_leave(state);
        asn_record_fft(mark, code, n, in, in_shape, out, out_shape, num_dims);
        status = asn_host_status(code, "fft");
    }
    if (!status) status = asn_stage_out(&s);
    asn_stage_fini(&s);
    if (!status && asn_capture_open())
        asn_capture_fft(kind, n, scale, in, in_shape, out, out_shape, num_dims, axis);
    return status;
}

asn_status asn_host_linalg(int32_t op, int32_t options, double rcond, int32_t num_batch,
                           int32_t num_operands, const aclnnxTensor *operands,
                           int num_inputs, int64_t *failed, uint32_t *fp_flags) {
    aclnnxTensor t[ACLNNX_LINALG_MAX_OPERANDS];
    asn_stage s = {.num = 0};
    ASN_TRY(begin("linalg", true));
    asn_status status = ASN_OK;
    for (int i = 0; i < num_operands && !status; i++) {
        const aclnnxTensor *o = &operands[i];
        status = asn_stage_add(&s, o->data, asn_dtype_from_acl(o->dtype), o->numDims,
                               o->shape, o->strides, i >= num_inputs);
    }
    if (!status) status = asn_stage_in(&s);
    if (!status) {
        for (int i = 0; i < num_operands; i++) {
            t[i] = operands[i];
            t[i].data = asn_stage_host(&s, operands[i].data);
        }
        asn_mark mark = asn_profile_begin();
        void *state = asn_blocking_enter();
        int code = asn_host.aclnnxLinalg(op, options, rcond, num_batch, num_operands, t,
                                         failed, fp_flags);
        asn_blocking_leave(state);
        asn_record_linalg(mark, code, op, num_operands, operands);
        status = asn_host_status(code, "linalg");
    }
    if (!status) status = asn_stage_out(&s);
    asn_stage_fini(&s);
    if (!status && asn_capture_open())
        asn_capture_linalg(op, options, rcond, num_batch, num_operands, operands);
    return status;
}
