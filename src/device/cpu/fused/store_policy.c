/* CPU device: how many bytes a program moves, and whether its results go past the caches.
 *
 * A store past the caches does not read its line first, which saves a third of the
 * traffic of a + b, but leaves the result in memory: good where it would leave the caches
 * anyway, bad where somebody reads it soon. The policy decides by the bytes of the whole
 * program, with thresholds of the instruction set (context.h), and by what the program
 * says of its outputs (ACLNNX_PART, ACLNNX_READ_SOON). Results are the same bits either
 * way.
 */
#include "base/cpu.h"
#include "device/cpu/context.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/fused/program.h"

/* The bytes that an operand spans: [at[0], at[1]). Negative strides reach down from the
 * base. */
static void find_span(const asnd_plan *plan, int i, const char *at[2]) {
    at[0] = plan->base[i];
    at[1] = plan->base[i] + asn_itemsize(plan->dtype[i]);
    for (int d = 0; d < plan->num_dims; d++) {
        int64_t bytes = plan->dims[d].stride[i] * (plan->dims[d].extent - 1);
        at[bytes > 0] += bytes;
    }
}

/* Views of the same memory, as a stencil has them, are read once. An operand whose span
 * lies in an earlier one's by more than half counts as read already. */
asnd_traffic asn_plan_traffic(const asnd_plan *plan) {
    const char *span[ACLNNX_MAX_OPERANDS][2];
    asnd_traffic all = {0, 0};
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
        if (met) continue;
        all.bytes += extent;
        all.read += i < plan->num_in && plan->dims[0].stride[i] != 0;
    }
    return all;
}

/* With AVX2 a line is two stores, and what the caches lose shows later: 7e5 float64 and a
 * sum of the result, 455 us, past the caches 730; 2e6 2.85 and 2.5 ms. With AVX-512 a
 * program of several arrays gains sooner than one of a single array, whose lines are
 * stored as fast as they are read (Zen 5, NumPy in between, 1e6 float32: a + b 205-280
 * us, past the caches 155-195; -a 93-135, 122-140). */
bool asn_plan_worth_streaming(asnd_traffic traffic) {
    const asnd_context *context = asn_context_get();
    asnd_share least =
        traffic.read > 1 ? context->past_caches_several : context->past_caches_one;
    return traffic.bytes >= asn_cpu_caches().last / least.of * least.parts;
}

bool asn_plan_shares(const asnd_plan *plan, int out) {
    for (int i = 0; i < plan->num_in; i++)
        if (plan->base[i] == plan->base[out]) return true;
    return false;
}

bool asn_plan_in_place(const asnd_plan *plan) {
    for (int i = plan->num_in; i < plan->num_operands; i++)
        if (asn_plan_shares(plan, i)) return true;
    return false;
}

/* A vector's results fill a quarter of a line or less, and stores past the caches come in
 * pieces (Zen 5, 1e7 float64: a < b 4.6 ms so, 4.1 through the caches; bits counted 3.3,
 * 3.0; as float32, half a line, 2.8 both ways). */
static bool is_narrow(const asnd_plan *plan, int out) {
    int64_t widest = 0;
    for (int i = 0; i < plan->num_operands; i++) {
        int64_t item = asn_itemsize(plan->dtype[i]);
        widest = item > widest ? item : widest;
    }
    return 4 * asn_itemsize(plan->dtype[out]) <= widest;
}

/* An output of long rows that no input shares memory with, in a program whose operands
 * do not fit the caches, or would push others out of them. What is read soon is better
 * off there (an update in place by two programs, 1024 x 1024: 850 us past the caches, 540
 * so). */
bool asn_plan_streams_to(const asnd_plan *plan, int out, asnd_traffic traffic) {
    enum { ROW = 2048 };
    int64_t item = asn_itemsize(plan->dtype[out]);
    const uint8_t flags = plan->operands[out].flags;
    bool large = flags & ACLNNX_PART || asn_plan_worth_streaming(traffic);
    if (flags & ACLNNX_READ_SOON) large &= traffic.bytes >= asn_cpu_caches().last;
    return large && plan->dims[0].extent * item >= ROW && !is_narrow(plan, out) &&
           !asn_plan_shares(plan, out);
}
