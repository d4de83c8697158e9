/* L3 C binding: waiting, settings, the device, statistics (runtime.h).
 *
 * Functions that only ask the core for a number take no lock of their own: the core's
 * have theirs. Setters give the value before through a pointer that may be NULL.
 *
 * Texts that a function gives away (plans) are the caller's, freed by asnp_free_text,
 * since a program may have another malloc than the library.
 */
#include "capi/capi.h"

#include <string.h>

#include "graph/engine.h"
#include "graph/device/fallback.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "runtime/device.h"
#include "runtime/memory/memory.h"

/* The version of the library that runs, not of the header. */
const char *asnp_version(void) {
    return ASNUMPY_VERSION;
}

/* Failures of work that ran behind calls are told here, once. */
asnp_status asnp_synchronize(void) {
    return asn_synchronize();
}

/* Turning recording off runs what is recorded. */
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

/* Opens the device, since "auto" decides then. */
asnp_status asnp_device_kind(const char **out) {
    NEED(out);
    ASN_TRY(asn_device_open());
    *out = asn_device_kind();
    return ASNP_OK;
}

/* Devices of the kind in use. */
asnp_status asnp_device_count(int32_t *out) {
    int count;
    NEED(out);
    ASN_TRY(asn_device_count(&count));
    *out = count;
    return ASNP_OK;
}

/* The current one's number, from 0. */
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

/* Refused while arrays are left: their memory would go with the device. */
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

/* Whether a fallback warns is Python's concern: C has an error or silence. */
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

/* Field by field: the public struct has its own order. */
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

/* Idle memory goes back to the device; what is in use stays. */
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
