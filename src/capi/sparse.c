/* L3 C binding: sparse products and patterns (sparse.h). A handle is the core's pattern;
 * the library's lock is held throughout. Strategies and blocks have the core's numbers,
 * structs their own fields, so that the core's may change. Thresholds that are not given
 * are measured where they are needed: not for a strategy that is known, but of BLOCKED.
 *
 * A pattern is made of arrays of the core's and of what the host knows of them (where
 * rows end), so that analysis asks the device for nothing. It does not change when it is
 * made: a program may use one on several threads, which the lock makes take turns, and
 * end it when the last call that was given it has returned, whatever is still queued.
 *
 * Products are recorded or queued like those of asnp_matmul; what they wait for (whether
 * b is finite, where rows of CSR begin) sparse.h says of each strategy. */
#include "capi/capi.h"

#include <string.h>

#include "runtime/device.h"
#include "sparse/pattern.h"

_Static_assert((int)ASNP_SPARSE_DENSE == (int)ASN_SPARSE_DENSE &&
                   (int)ASNP_SPARSE_BLOCK_ROWS == (int)ASN_SPARSE_BLOCK,
               "the header says what the core does");

/* The core's pattern, which no call but its end changes. */
static const asn_sparse_pattern *of(const asnp_sparse_pattern *pattern) {
    return (const asn_sparse_pattern *)pattern;
}

/* The core's of those that are given, else those that are measured. */
static asn_status thresholds_of(const asnp_sparse_thresholds *given,
                                asn_sparse_thresholds *to) {
    ASN_TRY(asn_device_open());
    if (!given) return asn_sparse_measured(to);
    *to = (asn_sparse_thresholds){given->direct, given->blocked, given->inner};
    return ASN_OK;
}

/* What a product is told: NULL where none are given and the strategy looks at none (what
 * is no strategy is refused further down). Given ones are checked in any case. */
static asn_status told(const asnp_sparse_thresholds *given, int32_t strategy,
                       asn_sparse_thresholds *room, const asn_sparse_thresholds **out) {
    const bool looks = strategy == ASNP_SPARSE_AUTO || strategy == ASNP_SPARSE_BLOCKED;
    *out = NULL;
    if (!given && !looks) return ASN_OK;
    *out = room;
    return thresholds_of(given, room);
}

/* The device is opened for it where no call has done that yet. */
asnp_status asnp_sparse_measured(asnp_sparse_thresholds *thresholds) {
    NEED(thresholds);
    IN_LIBRARY;
    asn_sparse_thresholds t;
    ASN_TRY(thresholds_of(NULL, &t));
    *thresholds = (asnp_sparse_thresholds){t.direct, t.blocked, t.inner};
    return ASNP_OK;
}

/* rows are indptr's, cols b's: a matrix in CSR does not say how wide it is. */
asnp_status asnp_sparse_matmul(const asnp_array *indptr, const asnp_array *indices,
                               const asnp_array *data, const asnp_array *b,
                               int32_t strategy, const asnp_sparse_thresholds *thresholds,
                               asnp_array **out) {
    NEED(indptr);
    NEED(indices);
    NEED(data);
    NEED(b);
    NEED(out);
    IN_LIBRARY;
    asn_sparse_thresholds room;
    const asn_sparse_thresholds *t;
    asn_array result;
    ASN_TRY(told(thresholds, strategy, &room, &t));
    const asn_layout *l = asn_capi_layout(b);
    const asn_sparse_left left = {.rows = asn_capi_layout(indptr)->size - 1,
                                  .cols = l->ndim ? l->shape[0] : 0,
                                  .indptr = &indptr->array,
                                  .indices = &indices->array,
                                  .data = &data->array};
    return asn_capi_wrap(
        asn_sparse_times(&result, &left, &b->array, (asn_sparse_strategy)strategy, t),
        &result, out);
}

/* A mask that is still recorded is computed now: its true elements are counted. */
asnp_status asnp_sparse_pattern_mask(const asnp_array *mask, asnp_sparse_pattern **out) {
    NEED(mask);
    NEED(out);
    IN_LIBRARY;
    return asn_sparse_pattern_new(&mask->array, (asn_sparse_pattern **)out);
}

/* A band that has no lower end. */
asnp_status asnp_sparse_pattern_causal(int64_t rows, int64_t cols,
                                       asnp_sparse_pattern **out) {
    return asnp_sparse_pattern_banded(rows, cols, INT64_MAX, 0, out);
}

/* Numbers far outside the matrix are fine: they mean all of it, or nothing. */
asnp_status asnp_sparse_pattern_banded(int64_t rows, int64_t cols, int64_t lower,
                                       int64_t upper, asnp_sparse_pattern **out) {
    NEED(out);
    IN_LIBRARY;
    ASN_TRY(asn_device_open());
    return asn_sparse_pattern_banded(rows, cols, lower, upper,
                                     (asn_sparse_pattern **)out);
}

/* The core counts blocks, and refuses what does not cover the shape just so. */
asnp_status asnp_sparse_pattern_blocks(const asnp_array *blocks, int64_t height,
                                       int64_t width, int64_t rows, int64_t cols,
                                       asnp_sparse_pattern **out) {
    NEED(blocks);
    NEED(out);
    IN_LIBRARY;
    return asn_sparse_pattern_blocks(&blocks->array, height, width, rows, cols,
                                     (asn_sparse_pattern **)out);
}

/* Arrays that a product still reads stay until it has run. */
void asnp_sparse_pattern_release(asnp_sparse_pattern *pattern) {
    IN_LIBRARY;
    asn_sparse_pattern_free((asn_sparse_pattern *)pattern);
}

/* All or none: what is made before one fails is ended. Copies, since handles may be
 * written through: a program that writes into indices would otherwise change what every
 * later product reads. The mask is one byte an element, indptr and indices are of the
 * narrower dtype that holds them; a program that wants int64 casts. */
asnp_status asnp_sparse_pattern_parts(const asnp_sparse_pattern *pattern,
                                      asnp_array **mask, asnp_array **indptr,
                                      asnp_array **indices) {
    NEED(pattern);
    IN_LIBRARY;
    const asn_sparse_pattern *p = of(pattern);
    const asn_array *from[3] = {&p->mask, &p->indptr, &p->indices};
    asnp_array **to[3] = {mask, indptr, indices}, *made[3] = {NULL, NULL, NULL};
    for (int i = 0; i < 3; i++) {
        asn_array copy;
        if (!to[i]) continue;
        asnp_status status =
            asn_copy(&copy, from[i], asn_layout_dtype(&from[i]->layout), 'C');
        status = asn_capi_wrap(status, &copy, &made[i]);
        if (status) {
            asn_capi_release(made, 3);
            return status;
        }
    }
    for (int i = 0; i < 3; i++)
        if (to[i]) *to[i] = made[i];
    return ASNP_OK;
}

/* Blocks that room is too small for are counted all the same, so that a program may ask
 * with no room first. `why` is copied: it is the caller's, like all of the struct. */
asnp_status asnp_sparse_pattern_analyze(const asnp_sparse_pattern *pattern,
                                        const asnp_sparse_thresholds *thresholds,
                                        int64_t room, double *occupancy,
                                        asnp_sparse_analysis *found) {
    NEED(pattern);
    NEED(found);
    if (room > 0) NEED(occupancy);
    if (room < 0)
        return asn_error_set(ASN_ERR_VALUE, "analyze: room is %lld; it may be 0 or more",
                             (long long)room);
    IN_LIBRARY;
    asn_sparse_thresholds t;
    asn_sparse_analysis f;
    ASN_TRY(thresholds_of(thresholds, &t));
    ASN_TRY(asn_sparse_analyze(of(pattern), &t, &f, room, occupancy));
    *found = (asnp_sparse_analysis){.density = f.density,
                                    .count = f.count,
                                    .least_row = f.least_row,
                                    .most_row = f.most_row,
                                    .blocks = f.blocks,
                                    .filled_blocks = f.filled,
                                    .dense_blocks = f.dense,
                                    .least_block = f.least_block,
                                    .most_block = f.most_block,
                                    .strategy = (int32_t)f.strategy};
    memcpy(found->why, f.why, sizeof found->why);
    return ASNP_OK;
}

/* By the pattern's structure, or its mask. */
asnp_status asnp_sparse_multiply(const asnp_sparse_pattern *pattern, const asnp_array *a,
                                 const asnp_array *b, int32_t strategy,
                                 const asnp_sparse_thresholds *thresholds,
                                 asnp_array **out) {
    NEED(pattern);
    NEED(a);
    NEED(b);
    NEED(out);
    IN_LIBRARY;
    asn_sparse_thresholds room;
    const asn_sparse_thresholds *t;
    asn_array result;
    ASN_TRY(told(thresholds, strategy, &room, &t));
    return asn_capi_wrap(asn_sparse_multiply(&result, of(pattern), &a->array, &b->array,
                                             (asn_sparse_strategy)strategy, t),
                         &result, out);
}
