/* CPU device: searchsorted, and the distinct values of an array.
 *
 * Both work on the sort's keys, so that NaN, -0.0 and complex numbers are ordered as in a
 * sort. The sorted array is encoded once (and fetched through the sorter, if there is
 * one), values block by block.
 */
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/index/index.h"
#include "device/cpu/sort/keys.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/threads.h"
#include "device/cpu/sort/sort.h"

typedef unsigned __int128 u128;

#define K    uint16_t
#define F(n) n##_2
#include "device/cpu/sort/search.inc"
#define K    uint32_t
#define F(n) n##_4
#include "device/cpu/sort/search.inc"
#define K    uint64_t
#define F(n) n##_8
#include "device/cpu/sort/search.inc"
#define K    u128
#define F(n) n##_16
#include "device/cpu/sort/search.inc"

enum { BLOCK = 256, CHUNK = 4096, VALUES = 0, OUT = 1 };
/* So many elements for each value: it is searched for in the array itself. That takes 30
 * ns more than among keys; encoding takes 0.5 ns an element of 8 bytes, 0.1 of 4. */
enum { FEW = 60, FEW_NARROW = 300 };

typedef struct {
    asn_dtype dtype;
    int bytes;
    bool right;
    const char *sorted;
    int64_t n;
    asnd_lines *lines; /* views: values, out */
    int64_t lines_per_chunk, pieces;
} search_run;

/* Up to BLOCK values of a line from x on: their keys, their insertion points, to the
 * result. */
static void search_block(const search_run *r, const asnd_line *line, int64_t x,
                         int64_t n) {
    const int64_t *step = r->lines->stride[0];
    _Alignas(16) char keys[BLOCK * 16];
    int64_t at[BLOCK];
    asn_keys_encode(r->dtype, keys, line->at[VALUES] + x * step[VALUES], step[VALUES], n,
                    0);
    switch (r->bytes) {
    case 2: bisect_2(r->sorted, r->n, keys, n, r->right, at); break;
    case 4: bisect_4(r->sorted, r->n, keys, n, r->right, at); break;
    case 8: bisect_8(r->sorted, r->n, keys, n, r->right, at); break;
    default: bisect_16(r->sorted, r->n, keys, n, r->right, at); break;
    }
    asn_block_scatter(line->at[OUT] + x * step[OUT], at, 8, n, step[OUT], 1, 0);
}

/* Some whole lines, or a piece of CHUNK values of one. */
static void search_chunk(void *ctx, int64_t chunk) {
    const search_run *r = ctx;
    int64_t first = chunk / r->pieces * r->lines_per_chunk,
            end = first + r->lines_per_chunk;
    int64_t from = chunk % r->pieces * CHUNK, to = from + CHUNK;
    if (r->pieces == 1 || to > r->lines->length) to = r->lines->length;
    asnd_line line;
    asn_lines_seek(r->lines, &line, first);
    for (int64_t l = first; l < end && l < r->lines->count; l++) {
        for (int64_t x = from; x < to; x += BLOCK)
            search_block(r, &line, x, to - x < BLOCK ? to - x : BLOCK);
        asn_lines_next(r->lines, &line);
    }
}

/* Keys of the 1-d `sorted`, in the sorter's order. keys: room for all. ASN_ERR_VALUE: the
 * sorter does not fit, ASN_ERR_INDEX: it names elements that are not there. */
static asn_status encode_sorted(const asnd_nd *sorted, const asnd_nd *sorter,
                                char *keys) {
    if (!sorter) {
        asn_keys_encode(sorted->dtype, keys, sorted->data, sorted->strides[0],
                        sorted->shape[0], 0);
        return ASN_OK;
    }
    if (sorter->ndim != 1 || sorter->dtype != ASN_I64 ||
        sorter->shape[0] != sorted->shape[0])
        return asn_error_set(
            ASN_ERR_VALUE,
            "searchsorted: the sorter must be as long as the sorted array");
    int item = asn_itemsize(sorted->dtype);
    char *list = asn_malloc((size_t)(sorted->shape[0] * item));
    if (!list) return ASN_ERR_MEMORY;
    int64_t step = item;
    asnd_nd fetched = {list, 1, sorted->dtype, sorted->shape, &step};
    asn_status status = asn_cpu_take(sorted, 0, sorter, ASN_INDEX_RAISE, &fetched);
    if (status == ASN_OK)
        asn_keys_encode(sorted->dtype, keys, list, item, sorted->shape[0], 0);
    asn_free(list);
    return status;
}

/* Elements at offsets (in items) from a line, one after the other. */
static void fetch(char *to, const char *from, int64_t step, int item, int64_t n,
                  const int64_t *at) {
    for (int64_t k = 0; k < n; k++) {
        const char *p = from + at[k] * step;
        switch (item) {
        case 1: to[k] = *p; break;
        case 2: memcpy(to + 2 * k, p, 2); break;
        case 4: memcpy(to + 4 * k, p, 4); break;
        case 8: memcpy(to + 8 * k, p, 8); break;
        default: memcpy(to + 16 * k, p, 16); break;
        }
    }
}

enum { LANES = 16 }; /* searches that advance together */

/* Bisection on the array itself, as bisect does it on its keys: each step encodes as many
 * probes as there are searches. For a few values, which would not pay for the encoding of
 * all of it (200 float64 in 2e5: 22 us one by one, 9 so). */
static void bisect_unencoded(const asnd_nd *sorted, const char *values, int64_t step,
                             int64_t lanes, bool right, int64_t *low) {
    _Alignas(16) char probes[LANES * 16], fetched[LANES * 16], keys[LANES * 16];
    const int item = asn_itemsize(sorted->dtype);
    const int64_t apart = sorted->strides[0];
    asn_keys_encode(sorted->dtype, keys, values, step, lanes, 0);
    memset(low, 0, (size_t)lanes * sizeof *low);
    for (int64_t left = sorted->shape[0], half; left > 0; left -= half) {
        half = (left + 1) / 2;
        fetch(fetched, sorted->data + (half - 1) * apart, apart, item, lanes, low);
        asn_keys_encode(sorted->dtype, probes, fetched, item, lanes, 0);
        switch (asn_key_bytes(sorted->dtype)) {
        case 2: advance_2(probes, keys, lanes, right, half, low); break;
        case 4: advance_4(probes, keys, lanes, right, half, low); break;
        case 8: advance_8(probes, keys, lanes, right, half, low); break;
        default: advance_16(probes, keys, lanes, right, half, low); break;
        }
    }
}

/* The general answer, a few values at a time; nothing is allocated. */
static void search_few(const asnd_nd *sorted, const asnd_nd *values, bool right,
                       const asnd_nd *out) {
    asnd_lines lines;
    asnd_line line;
    asn_lines_init(&lines, values->ndim, values->shape, ASN_NO_AXIS, 2,
                   (char *[]){values->data, out->data},
                   (const int64_t *[]){values->strides, out->strides});
    asn_lines_seek(&lines, &line, 0);
    for (int64_t l = 0; l < lines.count; l++) {
        for (int64_t i = 0, n; i < lines.length; i += n) {
            int64_t at[LANES];
            const int64_t *step = lines.stride[0];
            n = lines.length - i < LANES ? lines.length - i : LANES;
            bisect_unencoded(sorted, line.at[VALUES] + i * step[VALUES], step[VALUES], n,
                             right, at);
            for (int64_t k = 0; k < n; k++)
                *(int64_t *)(line.at[OUT] + (i + k) * step[OUT]) = at[k];
        }
        asn_lines_next(&lines, &line);
    }
}

/* Left: the first position whose element is not below the value; right: behind the last
 * that is not above. Equal elements are those of equal keys, so -0.0 finds 0.0 and NaN
 * finds NaN. */
asn_status asn_cpu_searchsorted(const asnd_nd *sorted, const asnd_nd *sorter,
                                const asnd_nd *values, bool right, const asnd_nd *out) {
    if (sorted->ndim != 1 || values->dtype != sorted->dtype || out->dtype != ASN_I64 ||
        out->ndim != values->ndim)
        return asn_error_set(
            ASN_ERR_VALUE, "searchsorted: %d-d %s values in a %d-d %s give a %d-d %s",
            values->ndim, asn_dtype_name(values->dtype), sorted->ndim,
            asn_dtype_name(sorted->dtype), out->ndim, asn_dtype_name(out->dtype));
    asnd_lines lines;
    search_run r = {.lines = &lines,
                    .dtype = sorted->dtype,
                    .bytes = asn_key_bytes(sorted->dtype),
                    .right = right,
                    .n = sorted->shape[0],
                    .pieces = 1,
                    .lines_per_chunk = 1};
    if (!sorter && asn_nd_size(values) < r.n / (r.bytes < 8 ? FEW_NARROW : FEW)) {
        search_few(sorted, values, right, out);
        return ASN_OK;
    }
    char *keys = asn_malloc((size_t)(r.n * r.bytes));
    if (!keys) return ASN_ERR_MEMORY;
    r.sorted = keys;
    asn_status status = encode_sorted(sorted, sorter, keys);
    asn_lines_init(r.lines, values->ndim, values->shape, ASN_NO_AXIS, 2,
                   (char *[]){values->data, out->data},
                   (const int64_t *[]){values->strides, out->strides});
    if (status == ASN_OK && r.lines->count) {
        if (r.lines->length > CHUNK)
            r.pieces = (r.lines->length + CHUNK - 1) / CHUNK;
        else
            r.lines_per_chunk = asn_lines_per_chunk(r.lines, CHUNK);
        int64_t groups = (r.lines->count + r.lines_per_chunk - 1) / r.lines_per_chunk;
        double ns = (double)r.lines->count * (double)r.lines->length * 20;
        asn_pool_run(search_chunk, &r, groups * r.pieces, ns);
    }
    asn_free(keys);
    return status;
}

/* ---- distinct values */

/* Keys and the positions they came from, with as much spare. */
typedef struct {
    char *keys, *spare;
    uint32_t *order, *spare_order;
} unique_buffer;

/* One int64 of a result, where that is wanted. */
static void store(const asnd_nd *list, int64_t at, int64_t value) {
    if (list) *(int64_t *)(list->data + at * list->strides[0]) = value;
}

/* The largest key, and what NaN parts lie above: everything that is not equal to itself.
 */
static bool is_nan_key(const asnd_nd *in, int64_t i) {
    const char *p = in->data + i * in->strides[0];
    switch (in->dtype) {
    case ASN_F16: return (*(const uint16_t *)p & 0x7fff) > 0x7c00;
    case ASN_BF16: return (*(const uint16_t *)p & 0x7fff) > 0x7f80;
    case ASN_F32: return *(const float *)p != *(const float *)p;
    case ASN_F64: return *(const double *)p != *(const double *)p;
    case ASN_C64: {
        const asn_c64 *z = (const asn_c64 *)p;
        return z->re != z->re || z->im != z->im;
    }
    case ASN_C128: {
        const asn_c128 *z = (const asn_c128 *)p;
        return z->re != z->re || z->im != z->im;
    }
    default: return false;
    }
}

/* NumPy takes all NaN as one value, whatever their other part. */
static bool same_value(const asnd_nd *in, const unique_buffer *b, int bytes, int64_t i,
                       bool equal_nan) {
    if (is_nan_key(in, b->order[i])) return equal_nan && is_nan_key(in, b->order[i - 1]);
    return memcmp(b->keys + (i - 1) * bytes, b->keys + i * bytes, (size_t)bytes) == 0;
}

/* One pass over the sorted keys: each run of equal ones is a value. The sort is stable,
 * so the first of a run has the lowest position: values and index are its. Returns how
 * many. */
static int64_t collect_runs(const asnd_nd *in, bool equal_nan, const unique_buffer *b,
                            int bytes, const asnd_nd *values, const asnd_nd *index,
                            const asnd_nd *inverse, const asnd_nd *counts) {
    int64_t n = in->shape[0], found = 0, start = 0;
    int item = asn_itemsize(in->dtype);
    for (int64_t i = 0; i < n; i++) {
        if (i == 0 || !same_value(in, b, bytes, i, equal_nan)) {
            if (i) store(counts, found - 1, i - start);
            start = i;
            if (values)
                memcpy(values->data + found * values->strides[0],
                       in->data + b->order[i] * in->strides[0], (size_t)item);
            store(index, found, b->order[i]);
            found++;
        }
        store(inverse, b->order[i], found - 1);
    }
    if (n) store(counts, found - 1, n - start);
    return found;
}

/* Whether a result is not wanted, or 1-d of the dtype. */
static bool is_list(const asnd_nd *list, asn_dtype dt) {
    return !list || (list->ndim == 1 && list->dtype == dt);
}

/* By an argsort of keys of 32-bit positions, in parallel. ASN_ERR_MEMORY. */
asn_status asn_cpu_unique(const asnd_nd *in, bool equal_nan, const asnd_nd *values,
                          const asnd_nd *index, const asnd_nd *inverse,
                          const asnd_nd *counts, int64_t *count) {
    *count = 0;
    if (in->ndim != 1 || !is_list(values, in->dtype) || !is_list(index, ASN_I64) ||
        !is_list(inverse, ASN_I64) || !is_list(counts, ASN_I64) ||
        in->shape[0] > UINT32_MAX)
        return asn_error_set(ASN_ERR_VALUE,
                             "unique: a 1-d array and 1-d results are needed, got %d-d",
                             in->ndim);
    int64_t n = in->shape[0];
    int bytes = asn_key_bytes(in->dtype);
    int64_t room = (n * bytes + 63) & ~(int64_t)63, order = (n * 4 + 63) & ~(int64_t)63;
    unique_buffer b = {.keys = asn_malloc((size_t)(2 * (room + order)))};
    if (!b.keys) return ASN_ERR_MEMORY;
    b.spare = b.keys + room;
    b.order = (uint32_t *)(b.spare + room);
    b.spare_order = (uint32_t *)(b.spare + room + order);
    asn_keys_encode(in->dtype, b.keys, in->data, in->strides[0], n, 0);
    for (int64_t i = 0; i < n; i++)
        b.order[i] = (uint32_t)i;
    asn_keys_sort_parallel(bytes, b.keys, b.order, b.spare, b.spare_order, n);
    *count = collect_runs(in, equal_nan, &b, bytes, values, index, inverse, counts);
    asn_free(b.keys);
    return ASN_OK;
}
