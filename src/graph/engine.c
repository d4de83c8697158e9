/* L2 graph: the library's switches, its end, and waiting for everything (see engine.h).
 */
#include "graph/engine.h"

#include "graph/capture/capture.h"
#include "graph/counters.h"
#include "graph/lock.h"
#include "graph/plan/plan.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"

struct asn_counters asn_counters;

/* What the binding asked for; the trace is not lazy while exceptions are to be met where
 * they arise. */
static bool lazy_wish = true;

/* Runs what is recorded and waits by `wait`. */
static asn_status run_and_wait(asn_status (*wait)(void)) {
    static const char why[] = "synchronize()";
    asn_mark mark = ASN_NO_MARK;
    asn_lock();
    asn_status status = ASN_OK;
    if (asn_capture_open()) { /* nobody looks at anything: what is recorded runs */
        status = asn_trace_flush();
        asn_unlock();
        return status;
    }
    if (asn_the_trace.count || asn_stream_busy) status = asn_sync_begin(why, &mark);
    if (!status) status = asn_trace_flush();
    if (!status) status = wait();
    asn_sync_end(why, mark);
    asn_unlock();
    return status;
}

asn_status asn_synchronize(void) {
    return run_and_wait(asn_streams_wait_all);
}

asn_status asn_synchronize_free(void) {
    return run_and_wait(asn_streams_wait_free);
}

asn_status asn_finalize(void) {
    /* What is recorded and needed by nobody holds memory, too. */
    ASN_TRY(asn_synchronize());
    asn_lock();
    asn_plan_forget(); /* plans hold handles of the device */
    asn_status status = asn_device_close();
    asn_unlock();
    return status;
}

asn_status asn_set_lazy(bool on, bool *before) {
    asn_lock();
    if (before) *before = lazy_wish;
    lazy_wish = on;
    asn_the_trace.lazy = lazy_wish && !asn_the_trace.at_once;
    asn_status status = asn_the_trace.lazy ? ASN_OK : asn_trace_flush();
    asn_unlock();
    return status;
}

asn_status asn_set_at_once(bool on) {
    asn_lock();
    asn_the_trace.at_once = on;
    asn_the_trace.lazy = lazy_wish && !asn_the_trace.at_once;
    asn_status status = asn_the_trace.lazy ? ASN_OK : asn_trace_flush();
    asn_unlock();
    return status;
}

void asn_engine_get_stats(asn_engine_stats *out) {
    out->recorded = asn_counters.recorded;
    out->eager = asn_counters.eager;
    out->programs = asn_counters.programs;
    out->single_ops = asn_counters.single_ops;
    out->plan_hits = asn_counters.plan_hits;
    out->plan_misses = asn_counters.plan_misses;
    out->fallbacks = asn_counters.fallbacks;
    out->synchronizations = asn_stream_waits;
}
