/* CPU device: sort, partition, topk and order statistics along an axis.
 *
 * Each line becomes keys (keys.h) in a buffer, is sorted or partitioned there and written
 * back as values and indices. Lines share the pool, each thread with a buffer of its own;
 * a single long line is sorted in parallel itself. A buffer holds two copies of a line's
 * keys, and of its indices if they are wanted.
 */
#include "device/cpu/context.h"
#include "device/cpu/sort/sort.h"

#include <string.h>

#include "base/alloc.h"
#include "device/cpu/move/gather.h"
#include "device/cpu/sort/keys.h"
#include "device/cpu/move/lines.h"
#include "device/cpu/move/moves.h"
#include "device/cpu/sort/alike.h"
#include "device/cpu/sort/pick.h"
#include "device/cpu/threads.h"
#include "device/cpu/scratch.h"
#include "device/cpu/sort/sort_index.h"
#include "device/cpu/sort/sort_short.h"
#include "device/cpu/sort/sort_vector.h"

enum { CHUNK = 16384, LONG_LINE = 65536, IN = 0, VALUES = 1, INDICES = 2 };
enum { LINE_BYTES = 64, GROUP_BYTES = 1 << 20 }; /* of a cache line; of a group */

/* What is asked: all in order; kth positions final; the first k in order; the elements at
 * kth positions alone. */
typedef enum { WHOLE, PARTITION, TOP, PICK } sort_kind;

/* n: elements of a line; bytes: of a key, flags: of keys.h; item: bytes of an element. */
typedef struct {
    sort_kind kind;
    asn_dtype dtype;
    int bytes, flags;
    bool values, indices;
    bool by_index;    /* sort indices along; values are fetched through them */
    bool short_lines; /* many of them: sorted side by side */
    bool in_result;   /* the result's own lines hold the keys meanwhile */
    bool two_lines;   /* PARTITION: from a line to another; the buffer has two, too */
    bool across;      /* neighbouring lines interleave: sorted in a buffer, by groups */
    int item;
    asnd_lines
        *lines; /* along the axis; beside this, which is cleared: they are 3.6 KB */
    int64_t n;
    const int64_t *kth;
    int num_kth;
    int64_t kept; /* TOP: how many; PICK: num_kth; else n */
    int64_t lines_per_chunk;
    int failed;
    const asnd_sort_loops *loops; /* NULL: there are none */
    bool plain; /* the numbers may be sorted without copies of their keys */
} sort_run;

/* What lines of about a hundred elements need: an allocation would cost what sorting ten
 * costs. */
typedef struct {
    _Alignas(64) char bytes[2048];
} few_bytes;

typedef struct {
    char *memory;             /* all that follows, but keys in the result */
    char *owned;              /* scratch: the same, or NULL where it is the caller's */
    char *keys, *spare, *raw; /* raw: the line itself, when values are fetched by index */
    uint32_t *index, *spare_index;
    uint64_t *packed, *spare_packed; /* NULL: indices are not sorted packed */
} line_buffer;

/* A radix sort of keys and indices writes to 512 places at once: 73 ns per int32 at 1e6
 * on an Emerald Rapids, where the packed sort takes 28. */
static bool packs(const sort_run *r) {
    return r->by_index && (r->kind == WHOLE || r->n <= ASN_SORTED_SELECTION) &&
           r->loops && (r->bytes == 4 || r->bytes == 8);
}

/* In `few`, which outlives it, where that is enough. False: there is no memory. Pieces
 * are rounded up to lines; packed ones last. */
static bool buffer_init(line_buffer *b, const sort_run *r, few_bytes *few) {
    int64_t spare = (r->n * r->bytes + 63) & ~(int64_t)63, keys = spare;
    if (r->in_result && !r->two_lines) keys = 0;
    if (r->across) keys = LINE_BYTES / r->item * spare;
    int64_t index = r->by_index ? (r->n * 4 + 63) & ~(int64_t)63 : 0;
    int64_t raw = r->by_index && r->values ? (r->n * r->item + 63) & ~(int64_t)63 : 0;
    int64_t packed = packs(r) ? r->n * 8 : 0;
    int64_t all = keys + spare + 2 * index + raw + 2 * packed;
    bool fits = all <= (int64_t)sizeof few->bytes;
    b->owned = fits ? NULL : asn_scratch_take((size_t)all);
    b->memory = fits ? few->bytes : b->owned;
    if (!b->memory) return false;
    b->keys = b->memory;
    b->spare = b->keys + keys;
    b->index = r->by_index ? (uint32_t *)(b->spare + spare) : NULL;
    b->spare_index = r->by_index ? (uint32_t *)(b->spare + spare + index) : NULL;
    b->raw = b->spare + spare + 2 * index;
    b->packed = packed ? (uint64_t *)(void *)(b->raw + raw) : NULL;
    b->spare_packed = packed ? b->packed + r->n : NULL;
    return true;
}

/* Sizes known to the compiler: no call. */
static inline void move_element(char *to, const char *from, int item) {
    switch (item) {
    case 1: memcpy(to, from, 1); break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, 16); break;
    }
}

/* Returns where the keys are in order, which they need not be where indices are wanted
 * alone. parallel: by all threads, for a line of its own. TOP: what was selected is
 * sorted, the rest is not. */
static char *sort_keys(const sort_run *r, const line_buffer *b, bool parallel) {
    if (b->packed && asn_keys_argsort(r->loops, r->bytes, b->keys, b->packed,
                                      b->spare_packed, b->index, r->n, parallel))
        return b->keys;
    if (b->index)
        for (int64_t i = 0; i < r->n; i++)
            b->index[i] = (uint32_t)i;
    if (r->kind == WHOLE && parallel)
        return asn_keys_sort_parallel(r->bytes, b->keys, b->index, b->spare,
                                      b->spare_index, r->n);
    if (r->kind == WHOLE)
        asn_keys_sort(r->bytes, b->keys, b->index, b->spare, b->spare_index, r->n);
    else
        asn_keys_select(r->bytes, b->keys, b->index, b->spare, b->spare_index, r->n,
                        r->kth, r->num_kth);
    if (r->kind == TOP)
        asn_keys_sort(r->bytes, b->keys, b->index, b->spare, b->spare_index, r->kept);
    return b->keys;
}

/* ---- a line's elements to keys and back, by slices that threads share */

enum { SLICE = 65536 };

typedef struct {
    const sort_run *r;
    const line_buffer *b;
    const asnd_line *line;
    const char *sorted;
    int64_t n;
} line_pass;

/* Elements of a slice, and its first one. */
static int64_t slice_of(const line_pass *l, int64_t slice, int64_t *first) {
    *first = slice * SLICE;
    return l->n - *first < SLICE ? l->n - *first : SLICE;
}

/* A slice of the line to the buffer's keys. */
static void encode_slice(void *ctx, int64_t slice) {
    const line_pass *l = ctx;
    const sort_run *r = l->r;
    const int64_t step = r->lines->stride[0][IN];
    int64_t first, n = slice_of(l, slice, &first);
    asn_keys_encode(r->dtype, l->b->keys + first * r->bytes,
                    l->line->at[IN] + first * step, step, n, r->flags);
}

/* A slice of the sorted keys to the values. */
static void decode_slice(void *ctx, int64_t slice) {
    const line_pass *l = ctx;
    const sort_run *r = l->r;
    const int64_t step = r->lines->stride[0][VALUES];
    int64_t first, n = slice_of(l, slice, &first);
    asn_keys_decode(r->dtype, l->line->at[VALUES] + first * step, step,
                    l->sorted + first * r->bytes, n, r->flags);
}

/* A slice of the indices, which become int64. */
static void index_slice(void *ctx, int64_t slice) {
    const line_pass *l = ctx;
    const int64_t step = l->r->lines->stride[0][INDICES];
    int64_t first, n = slice_of(l, slice, &first);
    char *to = l->line->at[INDICES] + first * step;
    for (int64_t i = first; i < first + n; i++, to += step)
        *(int64_t *)to = l->b->index[i];
}

/* All slices of a line, by the pool or here. */
static void run_slices(line_pass *l, asnd_pool_fn fn, bool parallel) {
    const int64_t slices = (l->n + SLICE - 1) / SLICE;
    if (parallel) {
        asn_pool_run(fn, l, slices, (double)l->n);
        return;
    }
    for (int64_t i = 0; i < slices; i++)
        fn(l, i);
}

/* Elements at the kth positions of keys that are in order there. */
static void pick_keys(const sort_run *r, const char *keys, char *to, int64_t step) {
    for (int64_t j = 0; j < r->kept; j++)
        asn_keys_decode(r->dtype, to + j * step, step, keys + r->kth[j] * r->bytes, 1,
                        r->flags);
}

/* Without keys of the whole line; false where that cannot be. */
static bool select_values(const sort_run *r, const line_buffer *b,
                          const asnd_line *line) {
    const int64_t *step = r->lines->stride[0];
    uint64_t picked[ASN_MOST_PICKED];
    if (!r->values || r->by_index || step[IN] != r->item) return false;
    if (r->kind == PARTITION)
        return r->two_lines && asn_pick_part(r->dtype, line->at[IN], r->n, b->memory,
                                             r->kth[0], line->at[VALUES]);
    if (r->kind != PICK || r->kept > ASN_MOST_PICKED ||
        !asn_pick_values(r->dtype, line->at[IN], r->n, b->keys, r->kth, r->num_kth,
                         picked))
        return false;
    for (int64_t j = 0; j < r->kept; j++)
        move_element(line->at[VALUES] + j * step[VALUES], (char *)picked + j * r->item,
                     r->item);
    return true;
}

/* One line from its elements to the results: by its values themselves where that can be
 * (select_values, numbers), else by keys. With indices values are fetched through them,
 * which keeps every bit of NaN and -0.0. */
static void sort_line(const sort_run *r, line_buffer *b, const asnd_line *line,
                      bool parallel) {
    const int64_t *step = r->lines->stride[0];
    if (select_values(r, b, line)) return;
    if (r->in_result) b->keys = line->at[VALUES];
    /* Numbers need no copies of their keys; false: there is a NaN or -0.0 where they
     * cannot. */
    if (r->plain && r->in_result && !parallel && step[IN] == r->item &&
        r->loops->numbers(r->dtype, b->keys, line->at[IN], b->spare, r->n))
        return;
    line_pass all = {.r = r, .b = b, .line = line, .n = r->n};
    run_slices(&all, encode_slice, parallel);
    if (r->kind == PARTITION && !r->values && r->num_kth == 1 && step[INDICES] == 8 &&
        asn_keys_argselect(r->bytes, b->keys, b->spare, (int64_t *)line->at[INDICES],
                           r->n, r->kth[0]))
        return;
    all.sorted = sort_keys(r, b, parallel);
    all.n = r->kept;
    const int64_t *from = r->kind == PICK ? r->kth : NULL;
    if (r->values && r->by_index) {
        char *to = line->at[VALUES];
        asn_block_gather(b->raw, line->at[IN], r->item, r->n, step[IN], 1, 0);
        for (int64_t i = 0; i < r->kept; i++, to += step[VALUES])
            move_element(to, b->raw + (int64_t)b->index[from ? from[i] : i] * r->item,
                         r->item);
    } else if (r->values && r->kind == PICK)
        pick_keys(r, b->keys, line->at[VALUES], step[VALUES]);
    else if (r->values)
        run_slices(&all, decode_slice, parallel);
    if (r->indices) run_slices(&all, index_slice, parallel);
}

/* `count` lines that begin next to each other: turned into the buffer, sorted, turned
 * back (PICK: read there), so that every cache line is read and written once. */
static void sort_group(const sort_run *r, const line_buffer *b, const asnd_line *line,
                       int64_t count) {
    const asnd_move_loops *loops = asn_move_loops_get(r->item);
    const int64_t *step = r->lines->stride[0];
    const int64_t pitch = b->spare - b->keys;
    line_buffer one = *b;
    int64_t between = pitch / (LINE_BYTES / r->item);
    loops->transpose(b->keys, between, line->at[IN], step[IN], r->n, count, false);
    for (int64_t l = 0; l < count; l++) {
        one.keys = b->keys + l * between;
        if (r->kind == PICK) {
            asn_keys_encode(r->dtype, one.keys, one.keys, r->item, r->n, r->flags);
            sort_keys(r, &one, false);
            pick_keys(r, one.keys, line->at[VALUES] + l * r->item, step[VALUES]);
            continue;
        }
        if (r->plain && r->loops->numbers(r->dtype, one.keys, one.keys, b->spare, r->n))
            continue;
        asn_keys_encode(r->dtype, one.keys, one.keys, r->item, r->n, r->flags);
        sort_keys(r, &one, false);
        asn_keys_decode(r->dtype, one.keys, r->item, one.keys, r->n, r->flags);
    }
    if (r->kind != PICK)
        loops->transpose(line->at[VALUES], step[VALUES], b->keys, between, count, r->n,
                         false);
}

/* Lines [first, end) in groups that begin next to each other, up to a cache line's
 * worth. */
static void sort_groups(const sort_run *r, const line_buffer *b, int64_t first,
                        int64_t end) {
    asnd_line line;
    for (int64_t count; first < end; first += count) {
        asn_lines_seek(r->lines, &line, first);
        count = r->lines->extent[1] - line.index[1];
        if (count > end - first) count = end - first;
        if (count > LINE_BYTES / r->item) count = LINE_BYTES / r->item;
        sort_group(r, b, &line, count);
    }
}

/* A chunk of lines by one thread, with a buffer of its own; lack of memory is told by
 * r->failed. */
static void sort_chunk(void *ctx, int64_t chunk) {
    sort_run *r = ctx;
    int64_t first = chunk * r->lines_per_chunk, end = first + r->lines_per_chunk;
    line_buffer b;
    few_bytes few;
    asnd_line line;
    if (end > r->lines->count) end = r->lines->count;
    if (r->short_lines) {
        asnd_short_sort s = {.loops = r->loops,
                             .lines = r->lines,
                             .dtype = r->dtype,
                             .flags = r->flags,
                             .out = r->indices ? INDICES : VALUES,
                             .indices = r->indices,
                             .kth = r->kind == PICK ? r->kth : NULL,
                             .num_kth = r->num_kth};
        asn_sort_short(&s, first, end - first);
        return;
    }
    if (!buffer_init(&b, r, &few)) {
        __atomic_store_n(&r->failed, 1, __ATOMIC_RELAXED);
        return;
    }
    if (r->across) sort_groups(r, &b, first, end);
    asn_lines_seek(r->lines, &line, first);
    for (int64_t l = first; l < end && !r->across; l++) {
        sort_line(r, &b, &line, false);
        asn_lines_next(r->lines, &line);
    }
    if (b.owned) asn_scratch_give(b.owned);
}

/* A few long lines one after the other, by all threads each; else lines are shared out.
 * ASN_ERR_UNSUPPORTED: indices of 32 bits do not reach. */
static asn_status sort_execute(sort_run *r) {
    if (r->lines->count == 0 || r->n == 0) return ASN_OK;
    if (r->n > UINT32_MAX)
        return asn_error_set(ASN_ERR_UNSUPPORTED,
                             "sort: %lld elements along the axis, at most "
                             "%lld are supported",
                             (long long)r->n, (long long)UINT32_MAX);
    /* About 4 ns an element and 2 more a byte of its key. */
    double ns = (double)r->lines->count * (double)r->n * (4 + 2 * r->bytes);
    if (r->kind == WHOLE && r->n >= LONG_LINE && r->lines->count < asn_pool_width(ns)) {
        line_buffer b;
        few_bytes few;
        asnd_line line;
        if (!buffer_init(&b, r, &few)) return ASN_ERR_MEMORY;
        asn_lines_seek(r->lines, &line, 0);
        for (int64_t l = 0; l < r->lines->count; l++) {
            sort_line(r, &b, &line, true);
            asn_lines_next(r->lines, &line);
        }
        if (b.owned) asn_scratch_give(b.owned);
        return ASN_OK;
    }
    r->lines_per_chunk = asn_lines_per_chunk(r->lines, CHUNK);
    asn_pool_run(sort_chunk, r,
                 (r->lines->count + r->lines_per_chunk - 1) / r->lines_per_chunk, ns);
    if (r->failed)
        return asn_error_set(ASN_ERR_MEMORY, "sort: no memory for lines of %lld elements",
                             (long long)r->n);
    return ASN_OK;
}

/* Whether a result is not wanted, or has in's shape with `kept` elements along the
 * axis. */
static bool fits(const asnd_nd *in, int axis, int64_t kept, const asnd_nd *out) {
    if (!out) return true;
    if (out->ndim != in->ndim) return false;
    for (int d = 0; d < in->ndim; d++)
        if (out->shape[d] != (d == axis ? kept : in->shape[d])) return false;
    return true;
}

/* Whether one view may be written before all of the other is read: they are the same
 * elements in the same places, or apart. */
static bool same_or_apart(const asnd_nd *in, const asnd_nd *out) {
    const asnd_nd *views[] = {in, out};
    uintptr_t low[2], high[2];
    bool same = in->data == out->data;
    for (int v = 0; v < 2; v++) {
        low[v] = (uintptr_t)views[v]->data;
        high[v] = low[v] + (uintptr_t)asn_itemsize(in->dtype);
        for (int d = 0; d < in->ndim; d++) {
            int64_t reach = (views[v]->shape[d] - 1) * views[v]->strides[d];
            if (reach < 0)
                low[v] -= (uintptr_t)-reach;
            else
                high[v] += (uintptr_t)reach;
            same &= in->strides[d] == out->strides[d];
        }
    }
    return same || high[0] <= low[1] || high[1] <= low[0];
}

/* Where the keys lie while they are sorted: keys of the values' size can do without
 * memory of their own. Needs the lines. */
static void choose_place(sort_run *r, const asnd_nd *in, const asnd_nd *values) {
    const asnd_lines *l = r->lines;
    if (!values || r->by_index || r->short_lines || r->kind == TOP ||
        r->item != r->bytes || !same_or_apart(in, values))
        return;
    /* in_result: contiguous lines of aligned elements. across: neighbouring lines are one
     * element apart, so a cache line holds elements of several. */
    bool apart = in->data != values->data;
    uintptr_t unaligned = (uintptr_t)values->data;
    for (int d = 0; d < values->ndim; d++)
        unaligned |= (uintptr_t)values->strides[d];
    r->in_result = r->kind != PICK && l->stride[0][VALUES] == r->item &&
                   unaligned % (uintptr_t)r->item == 0;
    r->two_lines = r->in_result && r->kind == PARTITION && r->num_kth == 1 && apart &&
                   r->n > ASN_SORTED_SELECTION;
    r->across = !r->in_result && r->n * LINE_BYTES <= GROUP_BYTES && l->num_dims > 1 &&
                l->extent[1] >= 4 && l->stride[1][IN] == r->item &&
                l->stride[1][VALUES] == r->item && l->stride[0][IN] != r->item;
}

/* Checks the views and decides how lines are sorted. Complex numbers are sorted by index,
 * as their keys do not keep NaN's bits, and so are floats whose order keys do not keep.
 */
static asn_status sort_setup(sort_run *r, const asnd_nd *in, int axis, int flags,
                             const asnd_nd *values, const asnd_nd *indices) {
    if (axis < 0 || axis >= in->ndim || !fits(in, axis, r->kept, values) ||
        !fits(in, axis, r->kept, indices) || (values && values->dtype != in->dtype) ||
        (indices && indices->dtype != ASN_I64))
        return asn_error_set(
            ASN_ERR_VALUE,
            "sort: axis %d of a %d-d %s with %lld kept elements does not fit "
            "the results",
            axis, in->ndim, asn_dtype_name(in->dtype), (long long)r->kept);
    r->dtype = in->dtype;
    r->bytes = asn_key_bytes(in->dtype);
    r->n = in->shape[axis];
    r->values = values != NULL;
    r->indices = indices != NULL;
    r->flags = flags & ASN_SORT_DESCENDING ? ASN_KEYS_DESCENDING : 0;
    r->by_index = indices || asn_is_complex(in->dtype) ||
                  (flags & ASN_SORT_STABLE && asn_is_inexact(in->dtype) &&
                   r->kind == WHOLE && asn_has_alike(in));
    r->item = asn_itemsize(in->dtype);
    if (!r->by_index) r->flags |= ASN_KEYS_EXACT;
    asn_lines_init(r->lines, in->ndim, in->shape, axis, 3,
                   (char *[]){in->data, values ? values->data : in->data,
                              indices ? indices->data : in->data},
                   (const int64_t *[]){in->strides,
                                       values ? values->strides : in->strides,
                                       indices ? indices->strides : in->strides});
    r->short_lines = r->values != r->indices && !(r->values && r->by_index) &&
                     r->kind != TOP && asn_sort_short_fits(r->lines, r->dtype);
    choose_place(r, in, values);
    r->loops = asn_context_get()->sorts;
    const bool sorts =
        r->kind == WHOLE || (r->kind == PARTITION && r->n <= ASN_SORTED_SELECTION);
    r->plain = sorts && !r->by_index && r->loops && !(flags & ASN_SORT_DESCENDING);
    return ASN_OK;
}

asn_status asn_cpu_sort(const asnd_nd *in, int axis, int flags, const asnd_nd *values,
                        const asnd_nd *indices) {
    bool known = axis >= 0 && axis < in->ndim;
    asnd_lines lines;
    sort_run r = {.lines = &lines, .kind = WHOLE, .kept = known ? in->shape[axis] : 0};
    ASN_TRY(sort_setup(&r, in, axis, flags, values, indices));
    return sort_execute(&r);
}

/* NumPy's error for a kth outside of the axis. */
static asn_status check_positions(const sort_run *r, const int64_t *kth) {
    for (int i = 0; i < r->num_kth; i++)
        if (kth[i] < 0 || kth[i] >= r->n)
            return asn_error_set(ASN_ERR_VALUE, "kth(=%lld) out of bounds (%lld)",
                                 (long long)kth[i], (long long)r->n);
    return ASN_OK;
}

/* kth may come in any order, and twice; it is put in order by insertion. */
asn_status asn_cpu_partition(const asnd_nd *in, int axis, const int64_t *kth, int num_kth,
                             const asnd_nd *values, const asnd_nd *indices) {
    bool known = axis >= 0 && axis < in->ndim;
    asnd_lines lines;
    sort_run r = {.lines = &lines,
                  .kind = PARTITION,
                  .kept = known ? in->shape[axis] : 0,
                  .num_kth = num_kth};
    ASN_TRY(sort_setup(&r, in, axis, 0, values, indices));
    ASN_TRY(check_positions(&r, kth));
    int64_t *order = asn_malloc((size_t)num_kth * sizeof *order);
    if (!order) return ASN_ERR_MEMORY;
    for (int i = 0; i < num_kth; i++) { /* ascending */
        int j = i;
        for (; j > 0 && order[j - 1] > kth[i]; j--)
            order[j] = order[j - 1];
        order[j] = kth[i];
    }
    r.kth = order;
    asn_status status = sort_execute(&r);
    asn_free(order);
    return status;
}

/* `kth` is borrowed for the call. */
asn_status asn_cpu_pick(const asnd_nd *in, int axis, const int64_t *kth, int num_kth,
                        const asnd_nd *values) {
    asnd_lines lines;
    sort_run r = {
        .lines = &lines, .kind = PICK, .kept = num_kth, .num_kth = num_kth, .kth = kth};
    ASN_TRY(sort_setup(&r, in, axis, 0, values, NULL));
    ASN_TRY(check_positions(&r, kth));
    for (int i = 1; i < num_kth; i++)
        if (kth[i] < kth[i - 1])
            return asn_error_set(ASN_ERR_VALUE,
                                 "positions are to ascend; %lld comes after %lld",
                                 (long long)kth[i], (long long)kth[i - 1]);
    return num_kth ? sort_execute(&r) : ASN_OK;
}

/* A selection of position k - 1, then a sort of the first k. */
asn_status asn_cpu_topk(const asnd_nd *in, int axis, int64_t k, int flags,
                        const asnd_nd *values, const asnd_nd *indices) {
    asnd_lines lines;
    sort_run r = {.lines = &lines, .kind = TOP, .kept = k, .num_kth = 1};
    bool known = axis >= 0 && axis < in->ndim;
    if (!known || k < 0 || k > in->shape[axis])
        return asn_error_set(ASN_ERR_VALUE, "topk: k = %lld of %lld elements",
                             (long long)k, known ? (long long)in->shape[axis] : 0);
    ASN_TRY(sort_setup(&r, in, axis, flags, values, indices));
    if (k == 0) return ASN_OK;
    int64_t last = k - 1;
    r.kth = &last;
    return sort_execute(&r);
}
