/* L2 graph: solvers and decompositions (see families.h), by aclnnxLinalg.
 *
 * They run at once: a singular matrix is an error of the call that computes with it, not
 * of a later one. So the host waits for what the device still does with the matrices. A
 * device without aclnnxLinalg has them computed by the host's. */
#include "graph/capture/capture.h"
#include "graph/device/fallback.h"
#include "graph/operators/families.h"
#include "graph/fp.h"
#include "graph/lock.h"
#include "graph/profile_events.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"

/* Letting go of the binding's lock would take as long. */
static bool is_short(const asn_array *a) {
    enum { SHORT = 256 /* elements of all matrices */ };
    return a->layout.size <= SHORT;
}

/* Runs the operation on the arrays, inputs first, with the library's lock held. *failed:
 * as in families.h. */
static asn_status run(int op, int options, double rcond, int num_batch, int num_arrays,
                      const asn_array *const *arrays, int num_inputs, int64_t *failed) {
    aclnnxTensor t[ACLNNX_LINALG_MAX_OPERANDS];
    for (int i = 0; i < num_arrays; i++) {
        const asn_layout *l = &arrays[i]->layout;
        ASN_TRY(asn_trace_materialise(arrays[i]->buffer, i >= num_inputs));
        ASN_TRY(asn_buffer_ensure(arrays[i]->buffer));
        t[i] = (aclnnxTensor){.data = (char *)arrays[i]->buffer->data + l->offset,
                              .shape = l->shape,
                              .strides = l->strides,
                              .numDims = l->ndim,
                              .dtype = asn_dtype_table[l->dtype].acl};
    }
    uint32_t *sink = asn_linalg_reports(op) ? asn_fp_sink() : NULL;
    if (!asn_acl.aclnnxLinalg) {
        asn_status status = asn_host_linalg(op, options, rcond, num_batch, num_arrays, t,
                                            num_inputs, failed, sink);
        asn_fp_note(asn_linalg_name(op));
        return status;
    }
    if (asn_stream_busy) {
        static const char why[] = "a solver works on the calling thread";
        asn_mark mark = ASN_NO_MARK;
        if (!ASN_CAPTURING) ASN_TRY(asn_sync_begin(why, &mark));
        for (int i = 0; i < num_arrays; i++)
            ASN_TRY(asn_streams_wait_for(arrays[i]->buffer, i >= num_inputs));
        asn_sync_end(why, mark);
    }
    void *state = is_short(arrays[0]) ? NULL : asn_blocking_enter();
    int code =
        asn_acl.aclnnxLinalg(op, options, rcond, num_batch, num_arrays, t, failed, sink);
    asn_blocking_leave(state);
    asn_fp_note(asn_linalg_name(op));
    return code ? asn_acl_failed(code, "linalg") : ASN_OK;
}

/* (Contract in families.h.) A profile and an error name the operation as NumPy does. */
asn_status asn_linalg(int op, int options, double rcond, int num_batch, int num_arrays,
                      const asn_array *const *arrays, int num_inputs, int64_t *failed) {
    *failed = 0;
    ASN_TRY(asn_device_open());
    asn_lock();
    asn_status status =
        run(op, options, rcond, num_batch, num_arrays, arrays, num_inputs, failed);
    asn_unlock();
    return status;
}
