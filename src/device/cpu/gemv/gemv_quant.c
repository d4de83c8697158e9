/* CPU device: quantised lines times a few vectors (see gemv_quant.h).
 *
 * Vectors become fixed point of 16 bits, some elements with one exponent, so that the
 * processor multiplies pairs of integers and a part's sums are exact. Threads share
 * lines; a task's lines stay in the cache for the vectors after the first.
 */
#include "device/cpu/gemv/gemv_quant.h"

#include "base/integers.h"
#include "device/cpu/context.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum { TILE_BYTES = 1 << 17 }; /* lines that a thread takes at once, at least */

typedef struct {
    const asnd_quant *q;
    asnd_quant_parts parts;
    int64_t tile; /* lines of a task */
} job;

static void dots_task(void *ctx, int64_t task) {
    const job *j = ctx;
    const int64_t first = task * j->tile;
    asn_context_get()->quant_dots(j->q, &j->parts, first,
                                  asn_least(first + j->tile, j->q->lines));
}

static bool multiply(job *j, double ns) {
    const asnd_quant *q = j->q;
    if (!asn_context_get()->quant_parts(q, &j->parts)) return false;
    const int64_t bytes = q->nibbles ? q->length / 2 : q->length;
    const int64_t tiles = asn_pieces(q->lines, TILE_BYTES / bytes + 1);
    j->tile = asn_round_up(asn_pieces(q->lines, tiles), 4); /* as even as can be */
    asn_pool_run(dots_task, j, asn_pieces(q->lines, j->tile), ns);
    return true;
}

asn_status asn_gemv_quant(const asnd_quant *q, double ns, bool *done) {
    job j = {.q = q};
    *done = asn_context_get()->quant_dots && q->count <= ASN_QUANT_FEW &&
            q->length % ASN_QUANT_BLOCK == 0 && q->group % ASN_QUANT_BLOCK == 0;
    if (!*done) return ASN_OK;
    const int64_t group = asn_least(q->group, q->length);
    const int64_t most =
        2 * asn_pieces(q->length, group) * asn_pieces(group, ASN_QUANT_PART);
    asnd_quant_parts *p = &j.parts;
    const size_t values = (size_t)(most * q->count * ASN_QUANT_PART) * sizeof *p->values,
                 scales = (size_t)(most * q->count * 2) * sizeof *p->scales;
    p->values = asn_scratch_take(values + scales + (size_t)most * sizeof *p->parts);
    if (p->values == NULL) return ASN_ERR_MEMORY;
    p->scales = (float *)(void *)((char *)p->values + values);
    p->parts = (asnd_quant_part *)(void *)((char *)p->scales + scales);
    *done = multiply(&j, ns);
    asn_scratch_give(p->values);
    return ASN_OK;
}
