/* CPU device: triangles of matrices (contract in triangle.h). A row is one move and one
 * clearing, wherever its elements lie. */
#include "device/cpu/move/triangle.h"

#include <string.h>

#include "device/cpu/move/moves.h"
#include "device/cpu/threads.h"

enum { CHUNK_BYTES = 1 << 16 };

/* rows: of a chunk; total: of all matrices. */
typedef struct {
    const asnd_nd *to, *from;
    int64_t diagonal, rows, total;
    bool upper;
} region;

/* n elements become 0. */
static void clear(char *to, int64_t step, int64_t n, int item,
                  const asnd_move_loops *by) {
    _Alignas(16) static const char zero[16];
    if (step == item)
        memset(to, 0, (size_t)(n * item));
    else
        by->move(to, step, 0, zero, 0, 0, n, 1);
}

static void rows_chunk(void *ctx, int64_t chunk) {
    const region *r = ctx;
    const int last = r->to->ndim - 1, item = asn_itemsize(r->to->dtype);
    const int64_t columns = r->to->shape[last], height = r->to->shape[last - 1];
    const int64_t step = r->to->strides[last], from_step = r->from->strides[last];
    const asnd_move_loops *by = asn_move_loops_get(item);
    int64_t end = (chunk + 1) * r->rows;
    if (end > r->total) end = r->total;
    for (int64_t row = chunk * r->rows; row < end; row++) {
        char *to = asn_nd_item(r->to, 1, row);
        const char *from = asn_nd_item(r->from, 1, row);
        /* The first column that is kept, or the first that is cleared. */
        int64_t edge = row % height + r->diagonal + !r->upper;
        edge = edge < 0 ? 0 : edge > columns ? columns : edge;
        const int64_t first = r->upper ? edge : 0, n = r->upper ? columns - edge : edge;
        if (n > 0 && to != from)
            by->move(to + first * step, step, 0, from + first * from_step, from_step, 0,
                     n, 1);
        if (n < columns)
            clear(to + (r->upper ? 0 : edge) * step, step, columns - n, item, by);
    }
}

void asn_cpu_triangle(const asnd_nd *to, const asnd_nd *from, int64_t diagonal,
                      bool upper) {
    region r = {.to = to, .from = from, .upper = upper, .total = 1};
    /* Beyond the matrix all diagonals do the same. */
    const int64_t last = to->shape[to->ndim - 1], first = -to->shape[to->ndim - 2];
    r.diagonal = diagonal < first ? first : diagonal > last ? last : diagonal;
    for (int d = 0; d < to->ndim - 1; d++)
        r.total *= to->shape[d];
    const int64_t bytes = last * asn_itemsize(to->dtype);
    r.rows = bytes > 0 && bytes < CHUNK_BYTES ? CHUNK_BYTES / bytes : 1;
    asn_pool_run(rows_chunk, &r, (r.total + r.rows - 1) / r.rows,
                 (double)r.total * (10 + (double)bytes / 10));
}
