/* CPU device, operators: rows of matrices by their numbers (see rows.h).
 *
 * Moving is a copy of each row, in bands over the pool. A sum keeps one line of the
 * arithmetic's dtype per band, converts the rows of halves into a second one, and rounds
 * the line when it is done: every row is read once and no matrix lies in between.
 */
#include "device/opapi/moe/rows.h"

#include <string.h>

#include "device/cpu/kernels.h"
#include "device/cpu/sort/sort.h"
#include "device/cpu/threads.h"

/* Rows i of n belong to band i * BANDS / n. */
enum { BANDS = 32 };

/* As many bands as there are rows, up to BANDS; their bounds do not depend on the
 * number of threads, and so neither does a result. */
static int64_t bands_of(int64_t n) {
    return n < BANDS ? n : BANDS;
}

/* Room for one number even where there are none, so that the pointer is never NULL. */
asn_status asn_rows_ints(asnd_tmp *tmp, int64_t n, int64_t **values) {
    *values = asn_tmp_alloc(tmp, (size_t)(n > 0 ? n : 1) * sizeof **values);
    return *values == NULL ? ASN_ERR_MEMORY : ASN_OK;
}

/* For sums with as many terms for each row; the last of rows + 1 numbers is the end
 * of all. */
asn_status asn_rows_even(asnd_tmp *tmp, int64_t rows, int64_t step, int64_t **start) {
    ASN_TRY(asn_rows_ints(tmp, rows + 1, start));
    for (int64_t i = 0; i <= rows; i++)
        (*start)[i] = i * step;
    return ASN_OK;
}

/* The device's stable sort, with the numbers as keys. sorted may be NULL where only
 * the order is wanted. */
asn_status asn_rows_order(const int64_t *numbers, int64_t n, int64_t *order,
                          int64_t *sorted) {
    asnd_view in, to, values;
    asn_view_plain(&in, ASN_I64, 1, &n, (void *)(uintptr_t)numbers);
    asn_view_plain(&to, ASN_I64, 1, &n, order);
    asn_view_plain(&values, ASN_I64, 1, &n, sorted);
    return asn_cpu_sort(&in.nd, 0, 0, sorted ? &values.nd : NULL, &to.nd);
}

/* To a tensor of any integer dtype and strides; numbers too large for it wrap, as
 * in a cast. */
asn_status asn_rows_write(const asnd_nd *to, const int64_t *numbers) {
    asnd_view from;
    asn_view_plain(&from, ASN_I64, to->ndim, to->shape, (void *)(uintptr_t)numbers);
    return asn_move(to, &from.nd);
}

/* ---- moving */

/* Row to_at[i] of `to` gets row from_at[i] of `from`, for i < n; without numbers row i.
 */
typedef struct {
    const asnd_nd *to, *from;
    const int64_t *to_at, *from_at;
    int64_t n, bands;
    size_t bytes; /* of a row */
} move_job;

/* A negative number: no row is written, or a row of zeros is. Two rows that go to
 * one place are a race, which callers exclude by giving every place once. */
static void move_band(void *ctx, int64_t band) {
    const move_job *j = ctx;
    int64_t end = (band + 1) * j->n / j->bands;
    for (int64_t i = band * j->n / j->bands; i < end; i++) {
        int64_t to = j->to_at ? j->to_at[i] : i, from = j->from_at ? j->from_at[i] : i;
        if (to < 0) continue;
        char *row = j->to->data + to * j->to->strides[0];
        if (from < 0)
            memset(row, 0, j->bytes);
        else
            memcpy(row, j->from->data + from * j->from->strides[0], j->bytes);
    }
}

/* Numbers up to rows - 1; negative ones have a meaning of their own. */
static asn_status check_numbers(const int64_t *at, int64_t n, int64_t rows) {
    for (int64_t i = 0; at != NULL && i < n; i++)
        if (at[i] >= rows)
            return asn_error_set(ASN_ERR_INDEX, "row %lld of a matrix of %lld rows",
                                 (long long)at[i], (long long)rows);
    return ASN_OK;
}

/* Whether rows are lines of memory. */
static bool has_lines(const asnd_nd *a) {
    return a->strides[1] == asn_itemsize(a->dtype) || a->shape[1] == 1;
}

/* One after the other: a later number takes the place of an earlier one. */
asn_status asn_rows_last(const int64_t *numbers, int64_t n, int64_t rows, asnd_tmp *tmp,
                         int64_t **last) {
    ASN_TRY(check_numbers(numbers, n, rows));
    ASN_TRY(asn_rows_ints(tmp, rows, last));
    for (int64_t i = 0; i < rows; i++)
        (*last)[i] = -1;
    for (int64_t i = 0; i < n; i++)
        if (numbers[i] >= 0) (*last)[numbers[i]] = i;
    return ASN_OK;
}

/* Slots of a sequence ascend, so that most calls end at the first loop. Otherwise from
 * the end, by a hash table at least half empty; the factor is 2^64 over the golden ratio,
 * which spreads numbers that lie evenly apart (Knuth, vol. 3, 6.4). */
asn_status asn_rows_once(const int64_t **numbers, int64_t n, asnd_tmp *tmp) {
    const int64_t *given = *numbers;
    int64_t i = 0, most = -1, *seen, *once;
    for (; i < n && (given[i] < 0 || given[i] > most); i++)
        if (given[i] >= 0) most = given[i];
    if (i == n) return ASN_OK;
    int bits = 1;
    while ((int64_t)1 << bits < 2 * n)
        bits++;
    uint64_t size = (uint64_t)1 << bits;
    ASN_TRY(asn_rows_ints(tmp, n, &once));
    ASN_TRY(asn_rows_ints(tmp, (int64_t)size, &seen));
    memset(seen, 0xff, size * sizeof *seen); /* -1: free */
    for (i = n - 1; i >= 0; i--) {
        uint64_t at = (uint64_t)given[i] * 0x9E3779B97F4A7C15u >> (64 - bits);
        once[i] = -1;
        if (given[i] < 0) continue;
        while (seen[at] >= 0 && seen[at] != given[i])
            at = (at + 1) & (size - 1);
        if (seen[at] < 0) once[i] = seen[at] = given[i];
    }
    *numbers = once;
    return ASN_OK;
}

/* Sources that overlap the target are copied first; a target whose rows are not
 * lines of memory is written through a copy. */
asn_status asn_rows_move(const asnd_nd *to, const int64_t *to_at, const asnd_nd *from,
                         const int64_t *from_at, int64_t n, asnd_tmp *tmp) {
    ASN_TRY(check_numbers(to_at, n, to->shape[0]));
    ASN_TRY(check_numbers(from_at, n, from->shape[0]));
    asnd_view source, target;
    asn_view_set(&source, from);
    asn_view_set(&target, to);
    if (!has_lines(from) || asn_nds_meet(from, to)) {
        ASN_TRY(asn_tmp_view(tmp, from->dtype, 2, from->shape, &source));
        ASN_TRY(asn_move(&source.nd, from));
    }
    bool apart = !has_lines(to); /* through a copy, with the rows that stay as they are */
    if (apart) {
        ASN_TRY(asn_tmp_view(tmp, to->dtype, 2, to->shape, &target));
        ASN_TRY(asn_move(&target.nd, to));
    }
    move_job j = {&target.nd, &source.nd, to_at, from_at, n, bands_of(n), 0};
    j.bytes = (size_t)(to->shape[1] * asn_itemsize(to->dtype));
    if (n > 0 && j.bytes > 0)
        asn_pool_run(move_band, &j, j.bands, (double)n * (20 + (double)j.bytes / 8));
    return apart ? asn_move(to, &target.nd) : ASN_OK;
}

/* ---- sums */

/* A sum with everything in memory that rows can be read from line by line. */
typedef struct {
    const asnd_rows_sum *s;
    const asnd_nd *to, *from, *bias, *plus[2];
    asn_dtype wide;
    int64_t bands, rows, h;
    char *lines; /* two of each band */
} sum_job;

/* The row in the arithmetic's dtype: itself, or converted into `line`. */
static const void *wide_row(const sum_job *j, const asnd_nd *a, int64_t i, void *line) {
    const char *row = a->data + i * a->strides[0];
    if (a->dtype == j->wide) return row;
    asn_kernels_get()->cast[a->dtype][j->wide](j->h, line, row, NULL, NULL);
    return line;
}

/* acc += w * row */
static void add_f32(int64_t n, float *restrict acc, const float *restrict row, float w) {
    for (int64_t i = 0; i < n; i++)
        acc[i] += w * row[i];
}

/* The same for float64. Two functions instead of a template: the compiler
 * vectorises both as they stand. */
static void add_f64(int64_t n, double *restrict acc, const double *restrict row,
                    double w) {
    for (int64_t i = 0; i < n; i++)
        acc[i] += w * row[i];
}

/* acc += weight t * row; without a weight, or t < 0, 1. */
static void add_row(const sum_job *j, void *acc, const void *row, int64_t t) {
    const void *w = t < 0 ? NULL : j->s->weight;
    if (j->wide == ASN_F64)
        add_f64(j->h, acc, row, w ? ((const double *)w)[t] : 1);
    else
        add_f32(j->h, acc, row, w ? ((const float *)w)[t] : 1);
}

/* Weights multiply a row and its bias one after the other: w * row + w * bias. */
static void sum_band(void *ctx, int64_t band) {
    const sum_job *j = ctx;
    const asnd_rows_sum *s = j->s;
    size_t bytes = (size_t)(j->h * asn_itemsize(j->wide));
    char *line = j->lines + 2 * (size_t)band * bytes, *own = line + bytes;
    int64_t end = (band + 1) * j->rows / j->bands;
    for (int64_t i = band * j->rows / j->bands; i < end; i++) {
        char *row = j->to->data + i * j->to->strides[0];
        char *acc = j->to->dtype == j->wide ? row : own;
        memset(acc, 0, bytes);
        for (int k = 0; k < 2; k++)
            if (j->plus[k]) add_row(j, acc, wide_row(j, j->plus[k], i, line), -1);
        for (int64_t t = s->start[i]; t < s->start[i + 1]; t++) {
            if (s->at[t] < 0) continue;
            add_row(j, acc, wide_row(j, j->from, s->at[t], line), t);
            if (j->bias) add_row(j, acc, wide_row(j, j->bias, s->expert[t], line), t);
        }
        if (acc == own)
            asn_kernels_get()->cast[j->wide][j->to->dtype](j->h, row, own, NULL, NULL);
    }
}

/* The matrix with rows that are lines of memory: itself, or a copy. */
static asn_status lines_of(const asnd_nd *a, const asnd_nd *to, asnd_tmp *tmp,
                           asnd_view *v) {
    asn_view_set(v, a);
    if (has_lines(a) && !asn_nds_meet(a, to)) return ASN_OK;
    ASN_TRY(asn_tmp_view(tmp, a->dtype, 2, a->shape, v));
    return asn_move(&v->nd, a);
}

/* Everything that numbers could get wrong is checked before the first row is
 * written. Sums are in float32 (float64 for float64), term after term in the given
 * order. */
asn_status asn_rows_sum(const asnd_rows_sum *s, const asnd_nd *to, asnd_tmp *tmp) {
    int64_t rows = to->shape[0], h = to->shape[1], terms = s->start[rows];
    asnd_view from, bias, plus[2], target;
    sum_job j = {.s = s, .wide = asn_wide_dtype(to->dtype), .rows = rows, .h = h};
    ASN_TRY(check_numbers(s->at, terms, s->from->shape[0]));
    if (s->bias) ASN_TRY(check_numbers(s->expert, terms, s->bias->shape[0]));
    for (int64_t t = 0; s->bias != NULL && t < terms; t++)
        if (s->expert[t] < 0)
            return asn_error_set(ASN_ERR_INDEX, "expert %lld of %lld",
                                 (long long)s->expert[t], (long long)s->bias->shape[0]);
    ASN_TRY(lines_of(s->from, to, tmp, &from));
    j.from = &from.nd;
    if (s->bias) {
        ASN_TRY(lines_of(s->bias, to, tmp, &bias));
        j.bias = &bias.nd;
    }
    for (int k = 0; k < 2; k++) {
        if (s->plus[k] == NULL) continue;
        ASN_TRY(lines_of(s->plus[k], to, tmp, &plus[k]));
        j.plus[k] = &plus[k].nd;
    }
    asn_view_set(&target, to);
    if (!has_lines(to)) ASN_TRY(asn_tmp_view(tmp, to->dtype, 2, to->shape, &target));
    j.to = &target.nd;
    j.bands = bands_of(rows);
    j.lines = asn_tmp_alloc(tmp, (size_t)(2 * j.bands * h * asn_itemsize(j.wide) + 1));
    if (j.lines == NULL) return ASN_ERR_MEMORY;
    if (rows > 0 && h > 0)
        asn_pool_run(sum_band, &j, j.bands,
                     (double)(rows + terms) * (20 + (double)h / 4));
    return has_lines(to) ? ASN_OK : asn_move(to, &target.nd);
}
