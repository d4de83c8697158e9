/* CPU device: floats that a sort of keys would not keep (see alike.h).
 *
 * The keys that values are sorted by (keys.h) put -0.0 before 0.0 and make one of all
 * NaN. Where there are none, a stable sort of values is a sort of keys; else positions
 * are sorted, which takes several times as long, so it pays to look: one pass, in parts
 * that threads share.
 */
#include "device/cpu/sort/alike.h"

#include <string.h>

#include "device/cpu/move/lines.h"
#include "device/cpu/threads.h"

enum { PART = 1 << 15 };

enum { ZERO = 1, NEGATIVE_ZERO = 2, NAN_ = 4 }; /* what was seen */

#define T    uint16_t
#define NAME look_2
#include "device/cpu/sort/alike.inc"
#define T    uint32_t
#define NAME look_4
#include "device/cpu/sort/alike.inc"
#define T    uint64_t
#define NAME look_8
#include "device/cpu/sort/alike.inc"

/* Parts of lines; threads or what they saw into `found`, atomically. */
typedef struct {
    asnd_lines lines;
    int64_t parts; /* of a line */
    int item;
    uint64_t infinity;
    unsigned found;
} search;

static void look_part(void *ctx, int64_t chunk) {
    search *s = ctx;
    asnd_line line;
    asn_lines_seek(&s->lines, &line, chunk / s->parts);
    const int64_t from = chunk % s->parts * PART, step = s->lines.stride[0][0];
    int64_t n = s->lines.length - from;
    if (n > PART) n = PART;
    unsigned part =
        (s->item == 2   ? look_2
         : s->item == 4 ? look_4
                        : look_8)(line.at[0] + from * step, step, n, s->infinity);
    __atomic_fetch_or(&s->found, part, __ATOMIC_RELAXED);
}

static uint64_t infinity_of(asn_dtype dtype) {
    switch (dtype) {
    case ASN_F16: return 0x7c00;
    case ASN_BF16: return 0x7f80;
    case ASN_F32: return 0x7f800000;
    default: return 0x7ff0000000000000;
    }
}

bool asn_has_alike(const asnd_nd *in) {
    search s = {.item = asn_itemsize(in->dtype), .infinity = infinity_of(in->dtype)};
    asn_lines_init(&s.lines, in->ndim, in->shape, ASN_NO_AXIS, 1, (char *[]){in->data},
                   (const int64_t *[]){in->strides});
    s.parts = (s.lines.length + PART - 1) / PART;
    const int64_t chunks = s.lines.count * s.parts;
    asn_pool_run(look_part, &s, chunks, (double)s.lines.count * (double)s.lines.length);
    return s.found & NAN_ || s.found == (ZERO | NEGATIVE_ZERO);
}
