/* CPU device: quantised lines times a few vectors (see gemv_quant.h). Threads share
 * lines; a task's lines stay in the cache for the vectors after the first. */
#include "device/cpu/gemv/gemv_quant.h"

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/threads.h"

enum { TILE_BYTES = 1 << 17 }; /* lines that a thread takes at once, at least */

typedef struct {
    const asnd_quant *q;
    asnd_quant_dots_fn dots;
    int64_t tile; /* lines of a task */
} job;

static void dots_task(void *ctx, int64_t task) {
    const job *j = ctx;
    const int64_t first = task * j->tile, end = asn_least(first + j->tile, j->q->lines);
    for (int64_t k = 0; k < j->q->count; k++)
        j->dots(j->q, first, end, k);
}

void asn_gemv_quant(const asnd_quant *q, double ns, bool *done) {
    job j = {.q = q, .dots = asn_context_get()->quant_dots};
    *done = j.dots && q->count <= ASN_QUANT_FEW && q->length % ASN_QUANT_BLOCK == 0 &&
            q->group % ASN_QUANT_BLOCK == 0;
    if (!*done) return;
    const int64_t bytes = q->nibbles ? q->length / 2 : q->length;
    const int64_t tiles = asn_pieces(q->lines, TILE_BYTES / bytes + 1);
    j.tile = asn_round_up(asn_pieces(q->lines, tiles), 4); /* as even as can be */
    asn_pool_run(dots_task, &j, asn_pieces(q->lines, j.tile), ns);
}
