/* L2 sparse: where the ways of a product meet on this machine (asn_sparse_measured).
 *
 * Times are the least of a few, so that another program's work does not count; a product
 * that takes long is not repeated. */
#include <time.h>

#include "base/alloc.h"
#include "graph/capture/capture.h"
#include "graph/ufunc/ufunc.h"
#include "sparse/pattern.h"

/* Large enough that what a call costs does not show, small enough for some hundredths of
 * a second in all. Between two densities
 * that are far apart the direct product's time is a line, to within its noise. */
enum { SIZE = 512, COLUMNS = 256, REPEATS = 4 };
static const double LONG = 0.05; /* seconds: enough for one product */
static const double THIN = 0.1, THICK = 0.4;

/* Of a clock that nobody sets. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds of a product. */
static asn_status time_product(const asn_sparse_left *l, const asn_array *b,
                               asn_sparse_strategy strategy, double *least) {
    asn_array result;
    for (int i = 0; i < REPEATS; i++) {
        const double begin = seconds();
        ASN_TRY(asn_sparse_times(&result, l, b, strategy, NULL));
        const asn_status status = asn_array_sync(&result);
        asn_array_fini(&result);
        if (status) return status;
        const double took = seconds() - begin;
        if (!i || took < *least) *least = took;
        if (took > LONG) break;
    }
    return ASN_OK;
}

/* Random columns of that density: how many; heads: where the rows begin. */
static int64_t draw(double density, int64_t rows, int32_t *heads, int32_t *columns) {
    uint32_t word = 1;
    int32_t n = 0;
    heads[0] = 0;
    for (int64_t i = 0; i < rows; i++) {
        for (int32_t j = 0; j < SIZE; j++) {
            word = word * 1664525u + 1013904223u; /* Numerical Recipes' generator */
            if ((double)word < density * 0x1p32) columns[n++] = j;
        }
        heads[i + 1] = n;
    }
    return n;
}

/* The same of `rows` rows of that density. */
static asn_status time_density(double density, int64_t rows, const asn_array *b,
                               asn_sparse_strategy strategy, double *least) {
    int32_t heads[SIZE + 1];
    int32_t *columns = asn_malloc((size_t)rows * SIZE * sizeof *columns);
    if (!columns) return ASN_ERR_MEMORY;
    const int64_t step = sizeof *columns, num_heads = rows + 1;
    const int64_t count = draw(density, rows, heads, columns);
    const asn_operand one = asn_operand_int(1);
    asn_array indptr, indices, data;
    asn_status status = asn_array_from_host(&indices, ASN_I32, 1, &count, &step, columns);
    asn_free(columns);
    ASN_TRY(status);
    status = asn_array_from_host(&indptr, ASN_I32, 1, &num_heads, &step, heads);
    if (!status) {
        status = asn_full(&data, ASN_F32, 1, &count, 'C', &one);
        if (!status) {
            const asn_sparse_left l = {.rows = rows,
                                       .cols = SIZE,
                                       .indptr = &indptr,
                                       .indices = &indices,
                                       .data = &data};
            status = time_product(&l, b, strategy, least);
            asn_array_fini(&data);
        }
        asn_array_fini(&indptr);
    }
    asn_array_fini(&indices);
    return status;
}

/* Where a line through two points reaches `time`, within [0, 1]. */
static double meets(double thin, double thick, double time) {
    const double slope = (thick - thin) / (THICK - THIN);
    if (!(slope > 0)) return time >= thin ? 1 : 0;
    const double at = THIN + (time - thin) / slope;
    return at < 0 ? 0 : at > 1 ? 1 : at;
}

/* Four products, of which two are direct: a line needs two points. */
static asn_status measure(asn_sparse_thresholds *t) {
    const int64_t shape[2] = {SIZE, COLUMNS};
    const asn_operand one = asn_operand_int(1);
    double thin = 0, thick = 0, whole = 0, block = 0;
    asn_array b;
    ASN_TRY(asn_full(&b, ASN_F32, 2, shape, 'C', &one));
    asn_status status = time_density(THIN, SIZE, &b, ASN_SPARSE_DIRECT, &thin);
    if (!status) status = time_density(THICK, SIZE, &b, ASN_SPARSE_DIRECT, &thick);
    if (!status) status = time_density(THICK, SIZE, &b, ASN_SPARSE_DENSE, &whole);
    if (!status)
        status = time_density(THICK, ASN_SPARSE_BLOCK, &b, ASN_SPARSE_DENSE, &block);
    asn_array_fini(&b);
    if (status) return status;
    const double inner = meets(thin, thick, block * SIZE / ASN_SPARSE_BLOCK);
    const double blocked = meets(thin, thick, whole), direct = inner * 2 / 3;
    *t = (asn_sparse_thresholds){direct, blocked > direct ? blocked : direct, inner};
    return ASN_OK;
}

/* A failure is not kept: the next call measures again. */
asn_status asn_sparse_measured(asn_sparse_thresholds *t) {
    static asn_sparse_thresholds known;
    static bool measured; /* both under the library's lock */
    if (!measured) {
        ASN_TRY(asn_capture_forbid("measuring sparse products"));
        ASN_TRY(measure(&known));
        measured = true;
    }
    *t = known;
    return ASN_OK;
}
