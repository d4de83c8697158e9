/* CPU device: few rows of int8 times a matrix, as of one token (see gemm_int8.h).
 *
 * Memory is the limit: a matrix that is read once repays no packing, which takes six
 * times as long as the reading. Its rows are added up, times elements of a, over LINES of
 * them and WIDTH columns at a time, whose sums stay in L1 and whose bytes stay in L2 for
 * a's next row; a matrix with contiguous columns is multiplied by inner products. Tasks
 * are WIDTH columns, whatever the number of threads. */
#include "device/cpu/gemv/gemv_int8.h"

#include <string.h>

#include "base/alloc.h"
#include "device/cpu/context.h"
#include "device/cpu/threads.h"

enum { MOST_ROWS = 4, WIDTH = 1024, LINES = 64 };

/* Plain C, which the others must equal; sums wrap by way of uint32. */
void asn_int8_add_baseline(int64_t k, const int16_t *a, const char *b, int64_t row,
                           int64_t n, int32_t *sums) {
    for (int64_t p = 0; p < k; p++) {
        const int8_t *from = (const int8_t *)b + p * row;
        for (int64_t j = 0; j < n; j++)
            sums[j] = (int32_t)((uint32_t)sums[j] + (uint32_t)(a[p] * from[j]));
    }
}

void asn_int8_dots_baseline(int64_t k, const int16_t *a, const char *b, int64_t column,
                            int64_t n, int32_t *sums) {
    for (int64_t j = 0; j < n; j++) {
        const int8_t *from = (const int8_t *)b + j * column;
        uint32_t sum = (uint32_t)sums[j];
        for (int64_t p = 0; p < k; p++)
            sum += (uint32_t)(a[p] * from[p]);
        sums[j] = (int32_t)sum;
    }
}

/* wide: a's rows as int16, all items one after the other. */
typedef struct {
    const asnd_nd *b, *c;
    asnd_int8_line line;
    const int16_t *wide;
    int64_t m, n, k, chunks;
    bool columns;
} rows_run;

/* WIDTH columns of all rows of one product. */
static void run_chunk(void *ctx, int64_t task) {
    const rows_run *r = ctx;
    const int nd = r->c->ndim;
    const int64_t item = task / r->chunks, j = task % r->chunks * WIDTH,
                  row = r->b->strides[nd - 2], col = r->b->strides[nd - 1],
                  n = r->n - j < WIDTH ? r->n - j : WIDTH,
                  piece = r->columns ? r->k : LINES;
    const char *b = asn_nd_item(r->b, 2, item) + j * col;
    char *c = asn_nd_item(r->c, 2, item) + j * r->c->strides[nd - 1];
    int32_t sums[MOST_ROWS][WIDTH];
    memset(sums, 0, (size_t)r->m * sizeof *sums);
    for (int64_t p = 0; p < r->k; p += piece)
        for (int64_t i = 0; i < r->m; i++)
            r->line(r->k - p < piece ? r->k - p : piece,
                    r->wide + (item * r->m + i) * r->k + p, b + p * row,
                    r->columns ? col : row, n, sums[i]);
    for (int64_t i = 0; i < r->m; i++)
        for (int64_t x = 0; x < n; x++)
            *(int32_t *)(void *)(c + i * r->c->strides[nd - 2] +
                                 x * r->c->strides[nd - 1]) = sums[i][x];
}

/* (Contract in gemv_int8.h.) 0.04 ns a byte: what a core takes from L2. */
asn_status asn_int8_few_rows(const asnd_nd *a, const asnd_nd *b, const asnd_nd *c,
                             bool *done) {
    const int nd = c->ndim;
    rows_run r = {.b = b,
                  .c = c,
                  .m = c->shape[nd - 2],
                  .n = c->shape[nd - 1],
                  .k = a->shape[nd - 1]};
    const bool along = b->strides[nd - 1] == 1 || r.n == 1;
    int64_t batch = 1;
    r.columns = b->strides[nd - 2] == 1 && (!along || r.n == 1);
    *done = r.m <= MOST_ROWS && (along || r.columns);
    if (!*done) return ASN_OK;
    for (int d = 0; d < nd - 2; d++)
        batch *= c->shape[d];
    int16_t *wide = asn_malloc((size_t)(batch * r.m * r.k) * sizeof *wide);
    if (!wide) return ASN_ERR_MEMORY;
    for (int64_t i = 0; i < batch * r.m; i++) {
        const int8_t *row =
            (const int8_t *)asn_nd_item(a, 2, i / r.m) + i % r.m * a->strides[nd - 2];
        for (int64_t p = 0; p < r.k; p++)
            wide[i * r.k + p] = row[p * a->strides[nd - 1]];
    }
    r.wide = wide;
    r.line = r.columns ? asn_context_get()->int8_dots : asn_context_get()->int8_add;
    r.chunks = (r.n + WIDTH - 1) / WIDTH;
    const double bytes = (double)batch * (double)r.k * (double)r.n;
    asn_pool_run(run_chunk, &r, batch * r.chunks, bytes * (double)r.m * 0.04);
    asn_free(wide);
    return ASN_OK;
}
