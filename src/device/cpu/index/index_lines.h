/* CPU device, private to indexing: elements of as many rows as a cache line of the result
 * holds, as g[:, r] asks for them. */
#ifndef ASN_DEVICE_CPU_INDEX_INDEX_LINES_H
#define ASN_DEVICE_CPU_INDEX_INDEX_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "device/cpu/context.h"
#include "device/cpu/index/index_run.h"

/* Lines of memory that are announced while others are worked on: `left` of them, a few at
 * a time, in rows of `bytes`, `stride` apart; `end` of the row that `at` is in. */
typedef struct {
    const char *at, *end;
    int64_t bytes, stride, left, few;
} asnd_index_ahead;

/* For n indices: the elements at src + from[i] and at the 64 / item - 1 rows behind it,
 * `stride` apart, become 64 bytes at dst + to[i]; past the caches, which asks for whole
 * lines and asn_block_stream_end. */
typedef void (*asnd_index_lines)(char *dst, const int64_t *to, const char *src,
                                 const int64_t *from, int64_t stride, int64_t n,
                                 bool stream, asnd_index_ahead ahead);

/* Of elements of 4 and of 8 bytes. */
typedef struct asnd_line_loops {
    asnd_index_lines four, eight;
} asnd_line_loops;
extern const asnd_line_loops asn_index_lines_avx512;

/* NULL: none for this processor or size. */
static inline asnd_index_lines asn_index_lines_get(int64_t item) {
    const asnd_line_loops *loops = asn_context_get()->index_lines;
    return !loops ? NULL : item == 8 ? loops->eight : item == 4 ? loops->four : NULL;
}

/* The next rows to gather from, in order, while n lines are put together: the gather
 * itself has no order. Rows too long for the caches are left alone. */
asnd_index_ahead asn_index_rows_ahead(const asnd_index_run *r, const char *p,
                                      int64_t rows, int64_t n);
/* The same at once. */
void asn_index_fetch_rows(const asnd_index_run *r, const char *p, int64_t rows);

/* Whether a gather by rows writes whole lines, past the caches as there is much of them.
 */
bool asn_index_streams_lines(const asnd_index_run *r);

#endif
