/* CPU device: how many bytes a program moves, and whether its results go past the caches.
 */
#include "base/cpu.h"
#include "device/cpu/gather.h"
#include "device/cpu/program.h"

/* The bytes that an operand spans: [at[0], at[1]). */
static void find_span(const asn_plan *plan, int i, const char *at[2]) {
    at[0] = plan->base[i];
    at[1] = plan->base[i] + asn_itemsize(plan->dtype[i]);
    for (int d = 0; d < plan->num_dims; d++) {
        int64_t bytes = plan->dims[d].stride[i] * (plan->dims[d].extent - 1);
        at[bytes > 0] += bytes;
    }
}

/* Views of the same memory, as a stencil has them, are read once. */
int64_t asn_plan_traffic(const asn_plan *plan) {
    const char *span[ACLNNX_MAX_OPERANDS][2];
    int64_t bytes = 0;
    for (int i = 0; i < plan->num_operands; i++) {
        bool met = false;
        span[i][0] = span[i][1] = NULL;
        if (!plan->base[i]) continue;
        find_span(plan, i, span[i]);
        for (int k = 0; k < i && !met; k++) {
            const char *low = span[i][0] > span[k][0] ? span[i][0] : span[k][0],
                       *high = span[i][1] < span[k][1] ? span[i][1] : span[k][1];
            met = high - low > (span[i][1] - span[i][0]) / 2;
        }
        int64_t extent = asn_itemsize(plan->dtype[i]);
        for (int d = 0; d < plan->num_dims; d++)
            extent *= plan->dims[d].stride[i] ? plan->dims[d].extent : 1;
        if (!met) bytes += extent;
    }
    return bytes;
}

/* With AVX2 a line is two stores, and what the caches lose shows later: 7e5 float64 and a
 * sum of the result, 455 us, past the caches 730; 2e6 2.85 and 2.5 ms. */
bool asn_plan_worth_streaming(int64_t traffic) {
    if (asn_cpu_isa() == ASN_ISA_AVX512) return asn_worth_streaming(traffic);
    return traffic >= asn_cpu_caches().last / 3 * 2;
}
