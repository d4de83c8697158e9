/* L2 numpy: the elements that an array has, each once (unique.h): sorted, they are the
 * ones that differ from those before them.
 *
 * A mask of the places where a new value starts is the one intermediate: values are the
 * sorted elements under it, first positions the order under it, the inverse its running
 * sum put back by the order, counts the distances of its true places. The sort is stable,
 * which is what makes the position of a value its first. NaN sorts last and differs from
 * itself; with equal_nan the mask drops all but the first NaN.
 *
 * Along an axis the elements are rows of a table and the order is lexsort's, a key for
 * each column: for wide tables that is many sorts, where NumPy compares rows as records.
 * A dtype of records would be needed to do the same.
 */
#include "numpy/unique.h"

#include <math.h>
#include <string.h>

#include "array/views.h"
#include "graph/index/index.h"
#include "graph/operators/families.h"
#include "numpy/axes.h"
#include "numpy/elementwise.h"
#include "numpy/picking.h"
#include "numpy/shape.h"
#include "numpy/temporaries.h"

/* a[1:] op a[:-1] along the first axis. */
static asn_status neighbours(asn_array *out, asn_op op, const asn_array *a) {
    ASN_TEMPORARIES;
    ASN_MAKE(later, asn_np_slice(later, a, 1, INT64_MAX, 1));
    ASN_MAKE(earlier, asn_np_slice(earlier, a, 0, -1, 1));
    return asn_np_binary(out, op, asn_np_of(later), asn_np_of(earlier));
}

/* Whether the last element, the greatest, is NaN. */
static asn_status ends_in_nan(const asn_array *sorted, bool *nan) {
    const asn_layout *l = &sorted->layout;
    asn_scalar last, wide;
    double parts[2];
    *nan = false;
    if (!asn_is_inexact(asn_layout_dtype(l)) || l->size == 0) return ASN_OK;
    ASN_TRY(asn_array_get_item(sorted, (l->size - 1) * l->strides[0], &last));
    ASN_TRY(asn_scalar_cast(&last, ASN_C128, &wide));
    memcpy(parts, wide.bytes, sizeof parts);
    *nan = isnan(parts[0]) || isnan(parts[1]);
    return ASN_OK;
}

/* differ &= not both of them NaN */
static asn_status join_nans(const asn_array *differ, const asn_array *sorted) {
    ASN_TEMPORARIES;
    ASN_MAKE(nan, asn_np_unary(nan, ASN_OP_ISNAN, sorted));
    ASN_MAKE(both, neighbours(both, ASN_OP_LOGICAL_AND, nan));
    ASN_MAKE(apart, asn_np_unary(apart, ASN_OP_LOGICAL_NOT, both));
    const asn_operand in[2] = {asn_np_of(differ), asn_np_of(apart)};
    return asn_ufunc_call(ASN_OP_LOGICAL_AND, in, differ, NULL, NULL);
}

/* A mask of n elements: the first one, and those behind it where `differ` says so. */
static asn_status with_first(asn_array *out, const asn_array *differ, int64_t n) {
    ASN_TEMPORARIES;
    const asn_operand yes = {.scalar = asn_scalar_bool(true)};
    ASN_MAKE(mask, asn_full(mask, ASN_BOOL, 1, &n, 'C', &yes));
    if (n > 1) {
        const asn_operand value = {.array = differ};
        ASN_MAKE(rest, asn_np_slice(rest, mask, 1, INT64_MAX, 1));
        ASN_TRY(asn_assign(rest, &value, ASN_CASTING_NO, NULL));
    }
    return asn_array_share(out, mask);
}

/* Which sorted elements are new. Waits for the last element where NaN may be among them.
 */
static asn_status starts_of(asn_array *out, const asn_array *sorted, bool equal_nan) {
    ASN_TEMPORARIES;
    bool nan = false;
    if (sorted->layout.size < 2) return with_first(out, NULL, sorted->layout.size);
    ASN_MAKE(differ, neighbours(differ, ASN_OP_NOT_EQUAL, sorted));
    if (equal_nan) ASN_TRY(ends_in_nan(sorted, &nan));
    if (nan) ASN_TRY(join_nans(differ, sorted));
    return with_first(out, differ, sorted->layout.size);
}

/* a[mask] along the first axis. */
static asn_status masked(asn_array *out, const asn_array *a, const asn_array *mask) {
    const asn_index_item item = {.kind = ASN_INDEX_MASK, .array = mask};
    return asn_index_get(out, a, 1, &item);
}

/* For each element the number of its run, in a shape. */
static asn_status inverse_of(asn_array *out, const asn_array *order,
                             const asn_array *starts, int ndim, const int64_t *shape) {
    ASN_TEMPORARIES;
    const asn_index_item at = {.kind = ASN_INDEX_ARRAY, .array = order};
    ASN_MAKE(counted,
             asn_ufunc_accumulate(ASN_OP_ADD, starts, 0, ASN_DTYPE_NONE, NULL, counted));
    ASN_MAKE(run,
             asn_np_binary(run, ASN_OP_SUBTRACT, asn_np_of(counted), asn_operand_int(1)));
    const asn_operand value = {.array = run};
    ASN_MAKE(inverse, asn_array_new(inverse, ASN_I64, 1, &order->layout.size, 'C'));
    ASN_TRY(asn_index_set(inverse, 1, &at, &value));
    return asn_np_reshape(out, inverse, ndim, shape);
}

/* The distances between the starts of runs. */
static asn_status lengths_of(asn_array *out, const asn_array *starts) {
    ASN_TEMPORARIES;
    const int64_t one = 1;
    const asn_operand end = asn_operand_int(starts->layout.size);
    ASN_MAKE(at, asn_nonzero(at, starts));
    ASN_MAKE(last, asn_full(last, ASN_I64, 1, &one, 'C', &end));
    ASN_MAKE(all, asn_concatenate(2, (const asn_array *[]){at, last}, 0, ASN_I64,
                                  ASN_CASTING_NO, NULL, all));
    if (starts->layout.size == 0) return asn_array_share(out, at);
    return neighbours(out, ASN_OP_SUBTRACT, all);
}

/* Positions and counts of runs, where they are wanted. Values are there; what is made is
 * dropped again where one fails. */
static asn_status positions(asn_array *const *results, const asn_array *order,
                            const asn_array *starts, int ndim, const int64_t *shape) {
    asn_array *made[ASN_UNIQUE_RESULTS];
    int n = 0;
    asn_status status = ASN_OK;
    for (int which = ASN_UNIQUE_FIRST; which < ASN_UNIQUE_RESULTS && !status; which++) {
        asn_array *out = results[which];
        if (!out) continue;
        status = which == ASN_UNIQUE_FIRST ? masked(out, order, starts)
                 : which == ASN_UNIQUE_INVERSE
                     ? inverse_of(out, order, starts, ndim, shape)
                     : lengths_of(out, starts);
        if (!status) made[n++] = out;
    }
    while (status && n)
        asn_array_fini(made[--n]);
    return status;
}

/* (Contract in unique.h.) Without positions the values are sorted alone, which is cheaper
 * than the order. */
asn_status asn_np_unique(asn_array *const *results, const asn_array *a, bool equal_nan) {
    ASN_TEMPORARIES;
    const asn_array *order = NULL, *sorted;
    ASN_MAKE(flat, asn_np_ravel(flat, a));
    if (results[ASN_UNIQUE_FIRST] || results[ASN_UNIQUE_INVERSE]) {
        ASN_MAKE(ranks, asn_argsort(ranks, flat, 0));
        ASN_MAKE(ranked, asn_take(ranked, flat, ranks, 0, 0));
        order = ranks;
        sorted = ranked;
    } else {
        ASN_MAKE(ranked, asn_sort(ranked, flat, 0, false));
        sorted = ranked;
    }
    ASN_MAKE(starts, starts_of(starts, sorted, equal_nan));
    ASN_MAKE(values, masked(values, sorted, starts));
    ASN_TRY(positions(results, order, starts, a->layout.ndim, a->layout.shape));
    return asn_array_share(results[ASN_UNIQUE_VALUES], values);
}

/* ---- along an axis */

/* The order of rows by their columns, the first one first in rank. */
static asn_status rows_order(asn_array *out, const asn_array *rows) {
    const int width = (int)rows->layout.shape[1];
    asn_array *columns = asn_malloc((size_t)width * sizeof *columns);
    const asn_array **keys = asn_malloc((size_t)width * sizeof *keys);
    asn_status status = columns && keys ? ASN_OK : ASN_ERR_MEMORY;
    int made = 0;
    for (; made < width && !status; made += !status) {
        const asn_index_item items[2] = {
            {.kind = ASN_INDEX_SLICE, .stop = INT64_MAX, .step = 1},
            {.kind = ASN_INDEX_INT, .start = width - 1 - made}};
        status = asn_index_view(&columns[made], rows, 2, items);
        keys[made] = &columns[made];
    }
    if (!status) status = asn_np_lexsort(out, width, keys, 0);
    while (made)
        asn_array_fini(&columns[--made]);
    asn_free(keys);
    asn_free(columns);
    return status;
}

/* A mask of the rows that differ from those before them. */
static asn_status row_starts(asn_array *out, const asn_array *ranked) {
    ASN_TEMPORARIES;
    const int64_t n = ranked->layout.shape[0];
    const asn_reduce_options across = {.axes = 2, .dtype = ASN_DTYPE_NONE};
    if (n < 2) return with_first(out, NULL, n);
    ASN_MAKE(differ, neighbours(differ, ASN_OP_NOT_EQUAL, ranked));
    ASN_MAKE(any, asn_ufunc_reduce(ASN_OP_LOGICAL_OR, differ, NULL, any, &across));
    return with_first(out, any, n);
}

/* The rows of a table (n, width) in order, and which of them are new. */
static asn_status rank_rows(asn_array *order, asn_array *starts, const asn_array *table) {
    ASN_TEMPORARIES;
    const asn_scalar zero = asn_scalar_int(0), one = asn_scalar_int(1);
    const int64_t n = table->layout.shape[0];
    const bool empty = table->layout.size == 0; /* rows of nothing are all the same */
    ASN_TRY(empty ? asn_arange(order, ASN_I64, &zero, &one, n)
                  : rows_order(order, table));
    asn_array *ranked = &temporaries_.made[0];
    asn_status status = asn_take(ranked, table, order, 0, 0);
    if (!status) {
        temporaries_.count++;
        status = row_starts(starts, ranked);
    }
    if (status) asn_array_fini(order);
    return status;
}

/* (Contract in unique.h.) Sub-arrays become rows of a table; new values are taken from
 * `a` by position. */
asn_status asn_np_unique_along(asn_array *const *results, const asn_array *a,
                               int64_t axis) {
    ASN_TEMPORARIES;
    int which;
    ASN_TRY(asn_axis_normalize(axis, a->layout.ndim, &which));
    const int64_t from = which, to = 0;
    ASN_MAKE(rows, asn_np_moveaxis(rows, a, 1, &from, 1, &to));
    const int64_t n = rows->layout.shape[0];
    int64_t shape[2] = {n, 1};
    for (int d = 1; d < rows->layout.ndim; d++)
        shape[1] *= rows->layout.shape[d];
    ASN_MAKE(table, asn_np_reshape(table, rows, 2, shape));
    asn_array *order = &temporaries_.made[temporaries_.count], *starts = order + 1;
    ASN_TRY(rank_rows(order, starts, table));
    temporaries_.count += 2;
    ASN_MAKE(first, masked(first, order, starts));
    ASN_MAKE(values, asn_take(values, rows, first, 0, 0));
    ASN_MAKE(turned, asn_np_moveaxis(turned, values, 1, &to, 1, &from));
    ASN_TRY(asn_array_share(results[ASN_UNIQUE_VALUES], turned));
    asn_status status = positions(results, order, starts, 1, &n);
    if (status) asn_array_fini(results[ASN_UNIQUE_VALUES]);
    return status;
}
