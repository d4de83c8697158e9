/* CPU device: gathers across rows: which rows come next, and where lines go (see
 * index_lines.h).
 *
 * Announcing memory changes no result. It pays where rows are short and far apart, so
 * that the processor's own prefetching sees no pattern.
 */
#include "device/cpu/index/index_lines.h"

#include "device/cpu/move/gather.h"

enum { LINE = 64 };

/* `few` lines a step, so that all are announced when the n lines are done. Nothing (left
 * 0) for long rows, rows that are walked backwards, and several index arrays. */
asnd_index_ahead asn_index_rows_ahead(const asnd_index_run *r, const char *p,
                                      int64_t rows, int64_t n) {
    enum { LONGEST = 16384 };
    int64_t bytes = r->bound[0] * r->self_stride[0];
    asnd_index_ahead a = {p, p + bytes, bytes, r->rest[0].self, 0, 0};
    if (r->num_idx != 1 || r->self_stride[0] <= 0 || bytes > LONGEST) return a;
    a.left = rows * ((bytes + LINE - 1) / LINE);
    a.few = (a.left + n - 1) / n;
    return a;
}

void asn_index_fetch_rows(const asnd_index_run *r, const char *p, int64_t rows) {
    asnd_index_ahead a = asn_index_rows_ahead(r, p, rows, 1);
    for (int64_t k = 0; k < rows && a.left; k++, p += a.stride)
        for (int64_t b = 0; b < a.bytes; b += LINE)
            __builtin_prefetch(p + b, 0, 2);
}

/* Rows of the result must lie next to each other, and every line begin at a multiple of
 * 64 bytes. */
bool asn_index_streams_lines(const asnd_index_run *r) {
    bool whole = r->rest[0].other == r->run && asn_index_lines_get(r->run);
    for (int d = 0; d < r->num_j; d++)
        whole &= r->other_stride[d] % LINE == 0;
    return whole && asn_worth_streaming(2 * r->size_j * r->size_rest * r->item);
}
