/* CPU device: copies of several arrays to places in turn: np.stack((x, y), axis=-1).
 *
 * Each copy by itself touches every line of the result, and reads it first. Together, a
 * piece of the result is put together in L1 and stored in one go, past the caches where
 * it is large. 1e6 pairs of float64, one thread, NumPy's time over ours: 1.5 (1.0 copy by
 * copy).
 *
 * `turn` is a group of one element of each array, the length of a step of the result. The
 * general path is the copies themselves, one after the other (fused_elements.c).
 */
#include "device/cpu/fused/fused_weave.h"

#include "device/cpu/move/gather.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/threads.h"

enum { MOST = 8, PIECE = 4096, CHUNK = 65536 }; /* arrays; bytes, bytes */

typedef struct {
    const asnd_plan *plan;
    int count, item;
    bool streams, pairs; /* of two arrays without gaps */
    int64_t per_chunk;   /* elements of each array */
    char *to;
    int input[MOST]; /* whose elements come at place k */
} weave_run;

/* The input that output `out` is a copy of, or -1. */
static int copied(const asnd_plan *plan, int out) {
    for (int s = 0; s < plan->num_steps; s++) {
        const asnd_step *step = &plan->steps[s];
        if (step->dst != plan->value[out] || step->op != ASN_OP_COPY) continue;
        for (int i = 0; i < plan->num_in; i++)
            if (plan->value[i] == step->src[0] && plan->dtype[i] == plan->dtype[out])
                return i;
    }
    return -1;
}

/* Whether input `in` shares no byte with the result's `bytes` bytes at `to`. PIECE stands
 * for the length of its last element. */
static bool is_apart(const asnd_plan *plan, int in, const char *to, int64_t bytes) {
    int64_t stride = plan->dims[0].stride[in], reach = stride * (plan->size - 1);
    const char *first = plan->base[in] + (reach < 0 ? reach : 0);
    return plan->base[in] &&
           (first >= to + bytes || first + (reach < 0 ? -reach : reach) + PIECE <= to);
}

bool asn_weave_may(const asnd_plan *plan) {
    int first = plan->num_in, count = plan->num_operands - first;
    if (plan->num_reductions || count < 2 || count > MOST || plan->num_steps != count ||
        plan->num_dims != 1)
        return false;
    int64_t item = asn_itemsize(plan->dtype[first]);
    for (int i = first; i < plan->num_operands; i++)
        if (asn_itemsize(plan->dtype[i]) != item ||
            plan->dims[0].stride[i] != count * item)
            return false;
    return true;
}

/* Finds which input goes to which place of a turn. False: the outputs are not one place
 * each of one stretch, some output is no plain copy, or an input overlaps the result,
 * which would then be overwritten before it is read. */
static bool weave_setup(weave_run *w, const asnd_plan *plan) {
    int count = plan->num_operands - plan->num_in, first = plan->num_in;
    if (!asn_weave_may(plan)) return false;
    w->plan = plan;
    w->count = count;
    w->item = asn_itemsize(plan->dtype[first]);
    w->to = plan->base[first];
    for (int k = 0; k < count; k++) {
        if (plan->base[first + k] < w->to) w->to = plan->base[first + k];
        w->input[k] = -1;
    }
    int64_t turn = (int64_t)count * w->item;
    for (int k = 0; k < count; k++) {
        int out = first + k, in = copied(plan, out);
        int64_t offset = plan->base[out] - w->to;
        if (in < 0 || offset >= turn || offset % w->item ||
            w->input[offset / w->item] >= 0 ||
            !is_apart(plan, in, w->to, plan->size * turn))
            return false;
        w->input[offset / w->item] = in;
    }
    w->pairs = count == 2;
    for (int k = 0; k < count; k++)
        w->pairs &= plan->dims[0].stride[w->input[k]] == w->item;
    return true;
}

/* Elements [x, x + n) of two arrays, read where they lie. */
static void put_pairs(const weave_run *w, char *piece, int64_t x, int64_t n) {
    const asnd_plan *plan = w->plan;
    asn_move_loops_get(w->item)->weave(piece, plan->base[w->input[0]] + x * w->item,
                                       plan->base[w->input[1]] + x * w->item, n);
}

/* Turns [x, end): pieces are put together in L1, then go to the result in one go. */
static void weave_chunk(void *ctx, int64_t chunk) {
    const weave_run *w = ctx;
    const asnd_plan *plan = w->plan;
    _Alignas(64) char piece[PIECE], line[PIECE];
    int64_t turn = (int64_t)w->count * w->item, most = PIECE / turn;
    int64_t end = (chunk + 1) * w->per_chunk;
    if (end > plan->size) end = plan->size;
    for (int64_t x = chunk * w->per_chunk; x < end; x += most) {
        int64_t n = end - x < most ? end - x : most;
        if (w->pairs) put_pairs(w, piece, x, n);
        for (int k = 0; k < w->count && !w->pairs; k++) {
            int i = w->input[k];
            int64_t stride = plan->dims[0].stride[i];
            const char *from = plan->base[i] + x * stride;
            if (stride != w->item) asn_block_gather(line, from, w->item, n, stride, 1, 0);
            asn_block_scatter(piece + k * w->item, stride == w->item ? from : line,
                              w->item, n, turn, 1, 0);
        }
        if (w->streams)
            asn_block_stream(w->to + x * turn, piece, n * turn);
        else
            asn_block_gather(w->to + x * turn, piece, w->item, n * w->count, w->item, 1,
                             0);
    }
    if (w->streams) asn_block_stream_end();
}

bool asn_weave_run(const asnd_plan *plan) {
    weave_run w;
    if (!weave_setup(&w, plan)) return false;
    int64_t turn = (int64_t)w.count * w.item, most = PIECE / turn;
    w.streams = asn_worth_streaming(asn_plan_traffic(plan).bytes);
    w.per_chunk = (CHUNK / turn + most - 1) / most * most;
    asn_pool_run(weave_chunk, &w, (plan->size + w.per_chunk - 1) / w.per_chunk,
                 asn_plan_work(plan));
    return true;
}
