/* L3 C binding: waiting, settings, the device, statistics (runtime.h).
 *
 * Functions that only ask the core for a number take no lock of their own: the core's
 * have theirs. Setters give the value before through a pointer that may be NULL.
 */
#include "capi/capi.h"

#include <string.h>

#include "graph/engine.h"
#include "graph/device/fallback.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"

const char *asnp_version(void) {
    return ASNUMPY_VERSION;
}

asnp_status asnp_synchronize(void) {
    return asn_synchronize();
}

asnp_status asnp_set_lazy(int32_t on, int32_t *before) {
    bool was = false;
    ASN_TRY(asn_set_lazy(on != 0, &was));
    if (before) *before = was;
    return ASNP_OK;
}

asnp_status asnp_explain(const asnp_array *a, char **text) {
    NEED(text);
    return asn_explain(a ? &a->array : NULL, text);
}

void asnp_free_text(char *text) {
    asn_free(text);
}

asnp_status asnp_device_kind(const char **out) {
    NEED(out);
    ASN_TRY(asn_device_open());
    *out = asn_device_kind();
    return ASNP_OK;
}

asnp_status asnp_device_count(int32_t *out) {
    int count;
    NEED(out);
    ASN_TRY(asn_device_count(&count));
    *out = count;
    return ASNP_OK;
}

asnp_status asnp_get_device(int32_t *out) {
    int device;
    NEED(out);
    ASN_TRY(asn_device_get(&device));
    *out = device;
    return ASNP_OK;
}

/* What is recorded belongs to the device that is left, and runs there first. */
asnp_status asnp_set_device(int32_t device) {
    IN_LIBRARY;
    ASN_TRY(asn_trace_flush());
    return asn_device_set(device);
}

asnp_status asnp_finalize(void) {
    return asn_finalize();
}

/* Everything recorded is put on it first, so that what the program launches comes behind.
 */
asnp_status asnp_stream(void **out) {
    NEED(out);
    IN_LIBRARY;
    ASN_TRY(asn_device_open());
    return asn_streams_handle(asn_queue_active, out);
}

asnp_status asnp_set_fallback(asnp_fallback policy, asnp_fallback *before) {
    if (policy != ASNP_FALLBACK_ERROR && policy != ASNP_FALLBACK_CPU)
        return asn_error_set(ASN_ERR_VALUE,
                             "set_fallback: policy is %d; it may be ASNP_FALLBACK_ERROR "
                             "or ASNP_FALLBACK_CPU",
                             (int)policy);
    asn_fallback was = asn_fallback_set(
        policy == ASNP_FALLBACK_ERROR ? ASN_FALLBACK_ERROR : ASN_FALLBACK_SILENT);
    if (before)
        *before = was == ASN_FALLBACK_ERROR ? ASNP_FALLBACK_ERROR : ASNP_FALLBACK_CPU;
    return ASNP_OK;
}

asnp_status asnp_memory_stats(asnp_memory *out) {
    asn_memory_stats s;
    NEED(out);
    asn_memory_get_stats(&s);
    *out = (asnp_memory){s.device_allocations,
                         s.pool_hits,
                         s.bytes_in_use,
                         s.bytes_cached,
                         s.peak_bytes,
                         s.peak_reserved,
                         s.magazine_hits,
                         s.bin_hits,
                         s.segment_hits,
                         s.bytes_allocated,
                         s.bytes_reused,
                         s.device_frees,
                         s.segments};
    return ASNP_OK;
}

asnp_status asnp_empty_cache(void) {
    asn_memory_empty_cache();
    return ASNP_OK;
}

asnp_status asnp_engine_stats(asnp_engine *out) {
    asn_engine_stats s;
    NEED(out);
    asn_engine_get_stats(&s);
    *out = (asnp_engine){s.recorded,  s.eager,       s.programs,  s.single_ops,
                         s.plan_hits, s.plan_misses, s.fallbacks, s.synchronizations};
    return ASNP_OK;
}
