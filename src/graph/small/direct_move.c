/* L2 graph: small movements of elements, done by the host in the device's memory (see
 * direct.h).
 *
 * Where the host reaches device memory, moving a few elements is a loop of copies that
 * ends before an operator would be described. A loop here knows only the element's size.
 * Indices are checked first and nothing is written when one is out of range: the general
 * path then says which.
 *
 * What each buys, ns a call on ten elements with it, without, and NumPy's (one core
 * with AVX-512, from Python): a[i] 79, 940, 113; a[m] 66, 960, 243; z[i] = 1. 65, 1050,
 * 155; z[m] = 1. 56, 250, 381; z[i] = b 67, 950, 88; z[2:5] = 3. 102, 295, 204;
 * arange(10) 181, 634, 325; concatenate((a, b)) 215, 363, 610; choose 437, 4390, 2680;
 * packbits 92, 2450, 512; unpackbits 130, 7600, 482; a[::2] + 1 (stretching) 161, 563,
 * 756; g.T.copy() 140, 390, 218. By the device's kernels, called at once: their 40 to 65
 * ns more, which would take a[i] and z[i] = b past NumPy's time. The statement fuzzer
 * compares them with the general path, which single operators and a device that lags
 * take.
 */
#include <string.h>

#include "array/broadcast.h"
#include "graph/small/binding.h"
#include "graph/small/direct.h"
#include "graph/small/small_call.h"
#include "graph/small/true_bytes.h"
#include "graph/engine.h"
#include "graph/fp.h"
#include "graph/ufunc/truth.h"

/* Host address of a 1-d or row-major array that is ready and has at most `most` elements,
 * with the step from one element to the next; NULL else. */
static char *line_within(const asn_array *a, bool for_write, int64_t most,
                         int64_t *step) {
    const asn_layout *l = &a->layout;
    const asn_buffer *b = a->buffer;
    bool row = l->flags & ASN_C_CONTIGUOUS;
    if (!asn_direct_ready() || !(row || l->ndim == 1) || !b->data || b->trace_writes ||
        l->size > most || l->size == 0 || (for_write && b->trace_refs) ||
        asn_is_noncanonical(a))
        return NULL;
    *step = row ? asn_itemsize(asn_layout_dtype(l)) : l->strides[0];
    return (char *)b->data + l->offset;
}

/* The same of a small array. */
static char *line_of(const asn_array *a, bool for_write, int64_t *step) {
    return line_within(a, for_write, ASN_DIRECT_ELEMENTS, step);
}

/* n elements at steps; with a constant item the compiler makes the loop a fill. */
static inline __attribute__((always_inline)) void
fill_items(char *dst, int64_t step, int64_t n, const char *element, int64_t item) {
    char value[16];
    memcpy(value, element, (size_t)item);
    for (int64_t i = 0; i < n; i++)
        memcpy(dst + i * step, value, (size_t)item);
}

/* Fills a line with one element. Zeros without gaps are left to memset; otherwise there
 * is a loop for each size of an element. */
static void fill_line(char *dst, int64_t step, int64_t n, const char *element,
                      int64_t item) {
    static const char zero[16];
    if (step == item && !memcmp(element, zero, (size_t)item)) {
        memset(dst, 0, (size_t)(n * item));
        return;
    }
    bool dense = step == item;
    switch (item) {
    case 1: fill_items(dst, step, n, element, 1); break;
    case 2: fill_items(dst, step, n, element, 2); break;
    case 4:
        dense ? fill_items(dst, 4, n, element, 4) : fill_items(dst, step, n, element, 4);
        break;
    case 8:
        dense ? fill_items(dst, 8, n, element, 8) : fill_items(dst, step, n, element, 8);
        break;
    default: fill_items(dst, step, n, element, 16);
    }
}

/* A row of bytes, of a size that is constant where the compiler is to know it; 0: not. */
static inline __attribute__((always_inline)) void move_row(char *to, const char *from,
                                                           int64_t row, size_t known) {
    if (known)
        memcpy(to, from, known);
    else
        asn_direct_move(to, from, row);
}

/* Runs `loop`, whose last argument is the size of a row, with a constant where that is an
 * element's (a[index] of 2000 float64: 2.3 us, 4.7 where each element asks). */
#define WITH_ROW(row, loop, ...)                                                         \
    switch (row) {                                                                       \
    case 1: loop(__VA_ARGS__, 1); break;                                                 \
    case 2: loop(__VA_ARGS__, 2); break;                                                 \
    case 4: loop(__VA_ARGS__, 4); break;                                                 \
    case 8: loop(__VA_ARGS__, 8); break;                                                 \
    case 16: loop(__VA_ARGS__, 16); break;                                               \
    default: loop(__VA_ARGS__, 0); break;                                                \
    }

static inline __attribute__((always_inline)) void move_steps(char *to, int64_t to_step,
                                                             const char *from,
                                                             int64_t from_step, int64_t n,
                                                             int64_t item, size_t known) {
    for (int64_t i = 0; i < n; i++)
        move_row(to + i * to_step, from + i * from_step, item, known);
}

/* n elements from one line to another. */
static void move_line(char *to, int64_t to_step, const char *from, int64_t from_step,
                      int64_t n, int64_t item) {
    WITH_ROW(item, move_steps, to, to_step, from, from_step, n, item)
}

/* ---- stretching */

const char *asn_direct_materialised(const asn_array *a) {
    const asn_buffer *b = a->buffer;
    bool is_there = b->data && !b->trace_writes && !asn_is_noncanonical(a);
    return is_there ? (const char *)b->data + a->layout.offset : NULL;
}

/* The elements of `a`, stretched to shape, between a block without gaps and their places:
 * into the block if `gathers`, out of it otherwise. Row by row; axes around the rows are
 * counted like an odometer. */
static inline void walk(char *block, char *at, int64_t item, int ndim,
                        const int64_t *shape, const int64_t *strides, int64_t size,
                        bool gathers) {
    int64_t index[ASN_INLINE_DIMS] = {0};
    int last = ndim - 1;
    int64_t inner = ndim ? shape[last] : 1, step = ndim ? strides[last] : 0;
    size_t row = (size_t)(inner * item);
    for (int64_t i = 0; i < size; i += inner, block += row) {
        if (step == item) memcpy(gathers ? block : at, gathers ? at : block, row);
        if (step != item && gathers) move_line(block, item, at, step, inner, item);
        if (step != item && !gathers) move_line(at, step, block, item, inner, item);
        for (int d = last - 1; d >= 0; d--) {
            at += strides[d];
            if (++index[d] < shape[d]) break;
            at -= strides[d] * shape[d];
            index[d] = 0;
        }
    }
}

bool asn_direct_stretch(void *dst, const asn_array *a, int ndim, const int64_t *shape,
                        int64_t size) {
    int64_t strides[ASN_INLINE_DIMS];
    if (size > ASN_SPREAD_ELEMENTS || ndim > ASN_INLINE_DIMS ||
        !asn_direct_materialised(a) ||
        !asn_broadcast_strides(&a->layout, ndim, shape, strides))
        return false;
    walk(dst, (char *)(uintptr_t)asn_direct_materialised(a),
         asn_itemsize(asn_layout_dtype(&a->layout)), ndim, shape, strides, size, true);
    return true;
}

void asn_direct_unspread(const asn_array *a, const void *src) {
    const asn_layout *l = &a->layout;
    walk((char *)(uintptr_t)src, (char *)a->buffer->data + l->offset,
         asn_itemsize(asn_layout_dtype(l)), l->ndim, l->shape, l->strides, l->size,
         false);
}

/* ---- assignment */

/* dst[...] = src, of one dtype. Where they overlap only a single memmove is done here. */
static bool assign_array(const asn_array *dst, char *to, int64_t to_step,
                         const asn_array *src) {
    const asn_layout *l = &dst->layout;
    int64_t from_step, n = l->size;
    int64_t item = asn_itemsize(asn_layout_dtype(l));
    if (src->layout.dtype != l->dtype) return false;
    const char *from = line_of(src, false, &from_step);
    if (!from || !asn_layout_same_shape(l, &src->layout))
        return (l->flags & ASN_C_CONTIGUOUS) &&
               !asn_buffers_alias(src->buffer, dst->buffer) &&
               asn_direct_stretch(to, src, l->ndim, l->shape, n);
    if (from_step == item && to_step == item) {
        memmove(to, from, (size_t)(n * item));
        return true;
    }
    if (asn_buffers_alias(src->buffer, dst->buffer)) return false;
    move_line(to, to_step, from, from_step, n, item);
    return true;
}

/* (Contract in direct.h.) A Python integer is taken for a floating-point array, which
 * needs no check of its range. */
bool asn_direct_assign(const asn_array *dst, const asn_operand *src) {
    asn_scalar cast;
    int64_t step;
    uint64_t begin = asn_small_begin();
    char *to = line_of(dst, true, &step);
    bool done = to && (dst->layout.flags & ASN_WRITEABLE);
    if (done && src->array) {
        done = assign_array(dst, to, step, src->array);
    } else if (done) {
        asn_dtype dtype = asn_layout_dtype(&dst->layout);
        done = !src->weak && (asn_dtype)src->scalar.dtype == dtype;
        const asn_scalar *value = &src->scalar;
        if (!done && src->weak == 'i' && asn_is_inexact(dtype)) {
            done = asn_scalar_convert(&src->scalar, dtype, &cast) == ASN_OK;
            value = &cast;
        }
        if (done)
            fill_line(to, step, dst->layout.size, (const char *)value->bytes,
                      asn_itemsize(dtype));
    }
    return asn_small_end(begin, done, "assign", &dst->layout);
}

bool asn_direct_full(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                     const asn_scalar *value) {
    asn_scalar cast;
    void *data;
    bool done = false;
    uint64_t begin = asn_small_begin();
    bool same = (asn_dtype)value->dtype == dtype;
    if (!same && asn_scalar_convert(value, dtype, &cast) != ASN_OK)
        asn_error_clear();
    else if ((done = asn_direct_new(result, dtype, ndim, shape, &data)))
        fill_line(data, asn_itemsize(dtype), result->layout.size,
                  (const char *)(same ? value : &cast)->bytes, asn_itemsize(dtype));
    return asn_small_end(begin, done, "full", &result->layout);
}

bool asn_direct_arange(asn_array *result, asn_dtype dtype, const asn_scalar *start,
                       const asn_scalar *step, int64_t n) {
    void *data;
    bool done = false;
    uint64_t begin = asn_small_begin();
    if ((dtype == ASN_I64 || dtype == ASN_F64) &&
        (done = asn_direct_new(result, dtype, 1, &n, &data))) {
        if (dtype == ASN_I64) {
            uint64_t first, delta, *out = data; /* wraps, as the device's does */
            memcpy(&first, start->bytes, sizeof first);
            memcpy(&delta, step->bytes, sizeof delta);
            for (int64_t i = 0; i < n; i++)
                out[i] = first + (uint64_t)i * delta;
        } else {
            double first, delta, *out = data;
            memcpy(&first, start->bytes, sizeof first);
            memcpy(&delta, step->bytes, sizeof delta);
            for (int64_t i = 0; i < n; i++)
                out[i] = first + (double)i * delta;
        }
    }
    return asn_small_end(begin, done, "arange", &result->layout);
}

/* ---- joining */

/* (Contract in direct.h.) Pieces without elements need no memory. */
bool asn_direct_join(asn_array *result, int n, const asn_array *const *arrays,
                     asn_dtype dtype, int ndim, const int64_t *shape) {
    void *data;
    bool done = true;
    uint64_t begin = asn_small_begin();
    for (int i = 0; i < n && done; i++) {
        const asn_layout *l = &arrays[i]->layout;
        done = l->dtype == dtype &&
               (l->size == 0 || asn_direct_memory(arrays[i], false) != NULL);
    }
    done = done && asn_direct_new(result, dtype, ndim, shape, &data);
    for (int i = 0; i < n && done; i++) {
        size_t bytes = (size_t)asn_layout_nbytes(&arrays[i]->layout);
        if (bytes) memcpy(data, asn_direct_memory(arrays[i], false), bytes);
        data = (char *)data + bytes;
    }
    return asn_small_end(begin, done, "concatenate", &result->layout);
}

/* ---- indices and masks */

/* The shape of the indices, then what is left of a's. */
static int gathered_shape(const asn_array *a, const asn_array *index, int64_t *shape) {
    int ndim = 0;
    if (index->layout.ndim + a->layout.ndim - 1 > ASN_INLINE_DIMS) return -1;
    for (int d = 0; d < index->layout.ndim; d++)
        shape[ndim++] = index->layout.shape[d];
    for (int d = 1; d < a->layout.ndim; d++)
        shape[ndim++] = a->layout.shape[d];
    return ndim;
}

/* Index memory when all are within [-extent, extent). */
static const int64_t *checked_indices(const asn_array *index, int64_t extent) {
    if (asn_layout_dtype(&index->layout) != ASN_I64) return NULL;
    const int64_t *at = asn_direct_memory(index, false);
    const uint64_t all = 2 * (uint64_t)extent;
    bool outside = false;
    for (int64_t i = 0; at && i < index->layout.size; i++)
        outside |= (uint64_t)at[i] + (uint64_t)extent >= all;
    return outside ? NULL : at;
}

/* An index from the beginning, of one that may count from the end. */
static inline int64_t from_start(int64_t index, int64_t extent) {
    return index + (index >> 63 & extent);
}

static inline __attribute__((always_inline)) void gather_rows(char *to, const char *from,
                                                              const int64_t *at,
                                                              int64_t n, int64_t extent,
                                                              int64_t row, size_t known) {
    for (int64_t i = 0; i < n; i++)
        move_row(to + i * row, from + from_start(at[i], extent) * row, row, known);
}

/* The value at from + i * each goes to row at[i], rows `step` bytes apart. */
static inline __attribute__((always_inline)) void
place_rows(char *to, int64_t step, const char *from, int64_t each, const int64_t *at,
           int64_t n, int64_t extent, int64_t row, size_t known) {
    for (int64_t i = 0; i < n; i++)
        move_row(to + from_start(at[i], extent) * step, from + i * each, row, known);
}

/* The value to the places that are true. */
static inline __attribute__((always_inline)) void
place_true(char *to, int64_t step, const char *value, const uint8_t *keep, int64_t n,
           int64_t item, size_t known) {
    char kept[16];
    memcpy(kept, value, sizeof kept);
    for (int64_t i = 0; i < n; i += 8)
        for (uint64_t left = asn_true_bytes(keep + i, n - i); left; left &= left - 1)
            move_row(to + (i + __builtin_ctzll(left) / 8) * step, kept, item, known);
}

/* a[index] over the first axis: rows are copied one by one, a negative index counting
 * from the end. The result is small, `a` need not be: a gather of 200 out of 2e5 takes
 * 0.3 us so, 1.0 by the operator. */
static bool gather(asn_array *result, const asn_array *a, const asn_array *index) {
    int64_t shape[ASN_INLINE_DIMS], extent = a->layout.shape[0];
    void *data;
    const char *from = asn_direct_large_memory(a, false);
    const int64_t *at = from ? checked_indices(index, extent) : NULL;
    int ndim = at ? gathered_shape(a, index, shape) : -1;
    if (ndim < 0 ||
        !asn_direct_new(result, asn_layout_dtype(&a->layout), ndim, shape, &data))
        return false;
    int64_t row = asn_layout_nbytes(&a->layout) / extent;
    WITH_ROW(row, gather_rows, data, from, at, index->layout.size, extent, row)
    return true;
}

/* The first `count` elements kept; what is not kept is overwritten by the next. */
static inline void select_items(char *to, const char *from, const uint8_t *keep,
                                int64_t count, size_t item) {
    for (int64_t i = 0, k = 0; k < count; i++) {
        memcpy(to + k * (int64_t)item, from + i * (int64_t)item, item);
        k += keep[i] != 0;
    }
}

/* a[mask]: counts, then copies. */
static bool select_true(asn_array *result, const asn_array *a, const asn_array *mask) {
    void *data;
    const char *from = asn_direct_memory(a, false);
    const uint8_t *keep = from ? asn_direct_memory(mask, false) : NULL;
    if (!keep || !asn_layout_same_shape(&a->layout, &mask->layout)) return false;
    const int64_t count = asn_count_true(keep, a->layout.size);
    if (!asn_direct_new(result, asn_layout_dtype(&a->layout), 1, &count, &data))
        return false;
    switch (asn_itemsize(asn_layout_dtype(&a->layout))) {
    case 1: select_items(data, from, keep, count, 1); break;
    case 2: select_items(data, from, keep, count, 2); break;
    case 4: select_items(data, from, keep, count, 4); break;
    case 8: select_items(data, from, keep, count, 8); break;
    default: select_items(data, from, keep, count, 16); break;
    }
    return true;
}

bool asn_direct_index(asn_array *result, const asn_array *a, const asn_array *index) {
    uint64_t begin = asn_small_begin();
    bool done = a->layout.ndim > 0 && (asn_layout_dtype(&index->layout) == ASN_BOOL
                                           ? select_true(result, a, index)
                                           : gather(result, a, index));
    return asn_small_end(begin, done, "index", &result->layout);
}

/* One value where the mask, of a's shape, is true. */
static bool scatter_true(const asn_array *a, const asn_array *mask, const char *value) {
    int64_t step, item = asn_itemsize(asn_layout_dtype(&a->layout));
    char *to = line_of(a, true, &step);
    const uint8_t *keep = to ? asn_direct_memory(mask, false) : NULL;
    if (!keep || asn_buffers_alias(mask->buffer, a->buffer) ||
        !asn_layout_same_shape(&a->layout, &mask->layout))
        return false;
    WITH_ROW(item, place_true, to, step, value, keep, a->layout.size, item)
    return true;
}

/* One value at every index of few; `a` may be large. */
static bool scatter_value(const asn_array *a, const asn_array *index, const char *value) {
    int64_t step, item = asn_itemsize(asn_layout_dtype(&a->layout));
    if (asn_layout_dtype(&index->layout) == ASN_BOOL)
        return scatter_true(a, index, value);
    if (a->layout.ndim != 1 || asn_buffers_alias(index->buffer, a->buffer)) return false;
    char *to = line_within(a, true, INT64_MAX, &step);
    int64_t extent = a->layout.shape[0];
    const int64_t *at = to ? checked_indices(index, extent) : NULL;
    if (!at) return false;
    WITH_ROW(item, place_rows, to, step, value, 0, at, index->layout.size, extent, item)
    return true;
}

/* A row of values at every index, or one row at all of them; `a` may be large. */
static bool scatter_rows(const asn_array *a, const asn_array *index,
                         const asn_array *value) {
    const asn_layout *to = &a->layout, *from = &value->layout;
    const int each = from->ndim - (to->ndim - 1); /* 1: a row for every index */
    if (to->ndim < 1 || index->layout.ndim != 1 || each < 0 || each > 1 ||
        from->dtype != to->dtype || asn_is_noncanonical(value) || to->shape[0] == 0 ||
        (each ? from->shape[0] != index->layout.size
              : from->size * index->layout.size > ASN_DIRECT_ELEMENTS) ||
        asn_buffers_alias(index->buffer, a->buffer) ||
        asn_buffers_alias(value->buffer, a->buffer))
        return false;
    for (int d = 1; d < to->ndim; d++)
        if (from->shape[d - 1 + each] != to->shape[d]) return false;
    char *rows = asn_direct_large_memory(a, true);
    const char *values = rows ? asn_direct_memory(value, false) : NULL;
    const int64_t *at = values ? checked_indices(index, to->shape[0]) : NULL;
    if (!at) return false;
    const int64_t extent = to->shape[0], row = asn_layout_nbytes(to) / extent;
    WITH_ROW(row, place_rows, rows, row, values, each ? row : 0, at, index->layout.size,
             extent, row)
    return true;
}

bool asn_direct_index_set(const asn_array *a, const asn_array *index,
                          const asn_operand *value) {
    if (!(a->layout.flags & ASN_WRITEABLE) ||
        (!value->array && (value->weak || value->scalar.dtype != a->layout.dtype)))
        return false;
    uint64_t begin = asn_small_begin();
    bool done = value->array ? scatter_rows(a, index, value->array)
                             : scatter_value(a, index, (const char *)value->scalar.bytes);
    return asn_small_end(begin, done, "index assign", &a->layout);
}

/* Values, one for each index or one for all, to positions in row-major order. */
static bool put_locked(const asn_array *a, const asn_array *index,
                       const asn_array *values) {
    const asn_layout *to = &a->layout, *from = &values->layout;
    if (from->dtype != to->dtype || asn_is_noncanonical(values) ||
        (from->size != 1 && from->size != index->layout.size) ||
        asn_buffers_alias(index->buffer, a->buffer) ||
        asn_buffers_alias(values->buffer, a->buffer))
        return false;
    const int64_t item = asn_itemsize(asn_layout_dtype(to)), extent = to->size;
    char *memory = asn_direct_large_memory(a, true);
    const char *source = memory ? asn_direct_memory(values, false) : NULL;
    const int64_t *at = source ? checked_indices(index, extent) : NULL;
    if (!at) return false;
    WITH_ROW(item, place_rows, memory, item, source, from->size == 1 ? 0 : item, at,
             index->layout.size, extent, item)
    return true;
}

bool asn_direct_put(const asn_array *a, const asn_array *index, const asn_array *values) {
    uint64_t begin = asn_small_begin();
    bool done = put_locked(a, index, values);
    return asn_small_end(begin, done, "put", &a->layout);
}

/* The values to the places that are true: value i % count to place i, or each time the
 * next one. */
static inline __attribute__((always_inline)) void
place_several(char *to, const char *values, int64_t count, const uint8_t *keep, int64_t n,
              bool by_position, int64_t item, size_t known) {
    int64_t next = 0;
    for (int64_t i = 0; i < n; i += 8)
        for (uint64_t left = asn_true_bytes(keep + i, n - i); left; left &= left - 1) {
            const int64_t at = i + __builtin_ctzll(left) / 8;
            if (by_position) next = at < count ? at : at % count;
            move_row(to + at * item, values + next * item, item, known);
            if (!by_position && ++next == count) next = 0;
        }
}

/* An empty list of values has no memory: the general path's. */
static bool place_locked(const asn_array *a, const asn_array *mask,
                         const asn_array *values, bool by_position) {
    const asn_layout *to = &a->layout, *from = &values->layout;
    if (from->dtype != to->dtype || asn_is_noncanonical(values) ||
        asn_layout_dtype(&mask->layout) != ASN_BOOL || mask->layout.size != to->size ||
        asn_buffers_alias(mask->buffer, a->buffer) ||
        asn_buffers_alias(values->buffer, a->buffer))
        return false;
    const int64_t item = asn_itemsize(asn_layout_dtype(to));
    char *memory = asn_direct_memory(a, true);
    const char *source = memory ? asn_direct_memory(values, false) : NULL;
    const uint8_t *keep = source ? asn_direct_memory(mask, false) : NULL;
    if (!keep) return false;
    WITH_ROW(item, place_several, memory, source, from->size, keep, to->size, by_position,
             item)
    return true;
}

bool asn_direct_place(const asn_array *a, const asn_array *mask, const asn_array *values,
                      bool by_position) {
    uint64_t begin = asn_small_begin();
    bool done = place_locked(a, mask, values, by_position);
    return asn_small_end(begin, done, by_position ? "putmask" : "place", &a->layout);
}

/* The elements of a choice; the indices are all checked before anything is made. */
static bool choose_locked(asn_array *result, const asn_array *which, int n,
                          const asn_array *const *from) {
    const asn_layout *l = &which->layout;
    asn_dtype dtype = asn_layout_dtype(&from[0]->layout);
    const int64_t *at =
        asn_layout_dtype(l) == ASN_I64 ? asn_direct_memory(which, false) : NULL;
    const char *memory[ASN_DIRECT_CHOICES];
    void *data;
    for (int k = 0; k < n; k++) {
        memory[k] = asn_direct_memory(from[k], false);
        if (!memory[k] || asn_layout_dtype(&from[k]->layout) != dtype ||
            !asn_layout_same_shape(l, &from[k]->layout))
            return false;
    }
    for (int64_t i = 0; at && i < l->size; i++)
        if (at[i] < 0 || at[i] >= n) return false;
    if (!at || !asn_direct_new(result, dtype, l->ndim, l->shape, &data)) return false;
    int64_t item = asn_itemsize(dtype);
    for (int64_t i = 0; i < l->size; i++)
        asn_direct_move((char *)data + i * item, memory[at[i]] + i * item, item);
    return true;
}

bool asn_direct_choose(asn_array *result, const asn_array *which, int n,
                       const asn_array *const *from) {
    uint64_t begin = asn_small_begin();
    bool done = n > 0 && n <= ASN_DIRECT_CHOICES && choose_locked(result, which, n, from);
    return asn_small_end(begin, done, "choose", &result->layout);
}

/* ---- bits */

/* The elements of an array of bytes (or bools), or NULL. */
static const uint8_t *bytes_of(const asn_array *a, bool bools) {
    asn_dtype dtype = asn_layout_dtype(&a->layout);
    bool known = dtype == ASN_U8 || (bools && dtype == ASN_BOOL);
    return known ? asn_direct_memory(a, false) : NULL;
}

/* Eight bytes at once: a product brings the lowest bit of byte k to bit 63 - k, and no
 * two bits to one place. */
bool asn_direct_pack(asn_array *result, const asn_array *a) {
    void *data;
    int64_t n = a->layout.size, count = (n + 7) / 8;
    uint64_t begin = asn_small_begin();
    const uint8_t *from = bytes_of(a, true);
    bool done = from && asn_direct_new(result, ASN_U8, 1, &count, &data);
    for (int64_t i = 0; done && i < count; i++)
        ((uint8_t *)data)[i] = (uint8_t)((asn_true_bytes(from + 8 * i, n - 8 * i) >> 7) *
                                             UINT64_C(0x8040201008040201) >>
                                         56);
    return asn_small_end(begin, done, "packbits", &result->layout);
}

/* The byte in all eight, of each its own bit, which a sum carries to the highest. The
 * result is made as words: it may have eight times the elements of a small one. */
bool asn_direct_unpack(asn_array *result, const asn_array *a) {
    const uint64_t each = UINT64_C(0x0101010101010101);
    void *data;
    const int64_t count = a->layout.size;
    uint64_t begin = asn_small_begin();
    const uint8_t *from = bytes_of(a, false);
    bool done = from && asn_direct_new(result, ASN_U64, 1, &count, &data);
    for (int64_t i = 0; done && i < count; i++) {
        const uint64_t bits = from[i] * each & UINT64_C(0x0102040810204080);
        const uint64_t eight = (bits + 0x7f * each) >> 7 & each;
        memcpy((char *)data + 8 * i, &eight, 8);
    }
    if (done) {
        asn_layout *l = &result->layout;
        l->dtype = ASN_U8;
        l->size = l->shape[0] = 8 * count;
        l->strides[0] = 1;
    }
    return asn_small_end(begin, done, "unpackbits", &result->layout);
}

/* ---- products */

/* Elements of an operand where the other is a vector: such a product takes 3 to 5 us of
 * float64, 24 at most (int8, 256 x 256). */
enum { LONGEST_BY_VECTOR = 1 << 16 };

/* A matrix, or a vector as a row or column, of up to `longest` elements; false: not
 * ready, or too large. */
static bool matrix_of(const asn_array *a, bool row, int64_t longest, aclnnxOperand *o,
                      int64_t *shape, int64_t *strides) {
    const asn_layout *l = &a->layout;
    bool vector = l->ndim == 1;
    if (l->ndim < 1 || l->ndim > 2 || !a->buffer->data || a->buffer->trace_writes ||
        l->size > longest || l->size == 0 || asn_is_noncanonical(a))
        return false;
    int last = l->ndim - 1;
    shape[0] = vector ? (row ? 1 : l->shape[0]) : l->shape[0];
    shape[1] = vector ? (row ? l->shape[0] : 1) : l->shape[last];
    strides[0] = vector && row ? 0 : l->strides[0];
    strides[1] = vector && !row ? 0 : l->strides[last];
    *o = (aclnnxOperand){.data = (char *)a->buffer->data + l->offset,
                         .strides = strides,
                         .dtype = (uint8_t)asn_dtype_table[l->dtype].acl,
                         .reduceOp = ACLNNX_NO_REDUCE};
    return true;
}

/* A product by the device's kernel on the calling thread. `conjugate`: of a, for any
 * length, since the general path would make the conjugate first. */
static bool direct_product(asn_array *result, const asn_array *a, const asn_array *b,
                           bool conjugate, const char *what) {
    const bool vector = a->layout.ndim == 1 || b->layout.ndim == 1;
    const int64_t longest = conjugate ? INT64_MAX
                            : vector  ? LONGEST_BY_VECTOR
                                      : ASN_DIRECT_ELEMENTS;
    aclnnxOperand o[3];
    int64_t shape[2][2], strides[2][2], kept[2];
    void *data;
    int ndim = 0;
    uint64_t begin = asn_small_begin();
    bool done = asn_direct_ready() && asn_acl.aclnnxMatmul &&
                a->layout.dtype == b->layout.dtype &&
                matrix_of(a, true, longest, &o[0], shape[0], strides[0]) &&
                matrix_of(b, false, longest, &o[1], shape[1], strides[1]) &&
                shape[0][1] == shape[1][0];
    if (done && a->layout.ndim == 2) kept[ndim++] = shape[0][0];
    if (done && b->layout.ndim == 2) kept[ndim++] = shape[1][1];
    done =
        done && asn_direct_new(result, asn_layout_dtype(&a->layout), ndim, kept, &data);
    if (done) {
        o[0].flags = conjugate ? ACLNNX_CONJUGATE : 0;
        o[2] = (aclnnxOperand){
            .data = data, .dtype = o[0].dtype, .reduceOp = ACLNNX_NO_REDUCE};
        uint32_t met = 0, *sink = what && asn_fp_sink() ? &met : NULL;
        if (asn_acl.aclnnxMatmul(&o[0], &o[1], &o[2], shape[0][0], shape[0][1],
                                 shape[1][1], sink)) {
            asn_array_fini(result);
            done = false; /* the general path reports it */
        } else if (__builtin_expect(met != 0, 0)) {
            asn_fp_raise(met, what);
        }
    }
    /* only for the profile */
    int64_t bytes = 0, flops = 0;
    if (done && begin > ASN_SMALL_PASSED) {
        const asn_dtype dtype = asn_layout_dtype(&a->layout);
        bytes =
            (a->layout.size + b->layout.size + result->layout.size) * asn_itemsize(dtype);
        flops = asn_flops_of_product(dtype, 1, shape[0][0], shape[0][1], shape[1][1]);
    }
    return asn_small_end_work(begin, done, "matmul", bytes, flops);
}

bool asn_direct_matmul(asn_array *result, const asn_array *a, const asn_array *b,
                       const char *what) {
    return direct_product(result, a, b, false, what);
}

bool asn_direct_vdot(asn_array *result, const asn_array *a, const asn_array *b) {
    return direct_product(result, a, b, true, "vdot");
}
