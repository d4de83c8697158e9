/* Tests in C: checks that count failures, a random generator, and random views.
 *
 * A test is a program; CHECK reports file and line and goes on, check_report() is main's
 * result. Randomness is seeded, so a failure repeats.
 */
#ifndef ASN_TESTS_CHECK_H
#define ASN_TESTS_CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/status.h"
#include "device/cpu/nd.h"

static int check_failures;

#define CHECK(condition, ...)                                                            \
    do {                                                                                 \
        if (!(condition)) check_failed(__FILE__, __LINE__, #condition, "" __VA_ARGS__);  \
    } while (0)

static inline void check_failed(const char *file, int line, const char *what,
                                const char *detail) {
    if (check_failures++ < 20)
        printf("%s:%d: %s (%s; last error: %s)\n", file, line, what, detail,
               asn_error_message());
}

static inline int check_report(const char *name) {
    printf("%s: %s\n", name, check_failures ? "FAILED" : "ok");
    return check_failures != 0;
}

static uint64_t check_seed = 88172645463325252u;

static inline uint64_t random_u64(void) {
    check_seed ^= check_seed << 13;
    check_seed ^= check_seed >> 7;
    check_seed ^= check_seed << 17;
    return check_seed * 2685821657736338717u;
}
static inline int64_t random_below(int64_t n) {
    return (int64_t)(random_u64() % (uint64_t)n);
}
static inline double random_unit(void) {
    return (double)(random_u64() >> 11) * 0x1p-53;
}

/* A view of its own memory: axes permuted, some strides negative or with gaps. */
typedef struct {
    asnd_nd nd;
    int64_t shape[8], strides[8];
    char *memory;
} view;

static inline void view_init(view *v, asn_dtype dt, int ndim, const int64_t *shape,
                             bool contiguous) {
    int order[8];
    int64_t step = asn_itemsize(dt), offset = 0;
    for (int d = 0; d < ndim; d++) {
        order[d] = d;
        v->shape[d] = shape[d];
    }
    for (int d = ndim - 1; d > 0 && !contiguous; d--) {
        int j = (int)random_below(d + 1), t = order[d];
        order[d] = order[j];
        order[j] = t;
    }
    for (int k = ndim - 1; k >= 0; k--) {
        int d = order[k], gap = contiguous || random_below(3) ? 1 : 2;
        bool backwards = !contiguous && random_below(4) == 0;
        v->strides[d] = backwards ? -step * gap : step * gap;
        if (backwards) offset += step * gap * (shape[d] - 1);
        step *= shape[d] * gap;
    }
    v->memory = calloc(1, (size_t)(step > 0 ? step : 1) + 16);
    v->nd =
        (asnd_nd){v->memory + (offset > 0 ? offset : 0), ndim, dt, v->shape, v->strides};
}

static inline void view_fini(view *v) {
    free(v->memory);
}

/* Address of the i-th element in row-major order. */
static inline char *view_at(const asnd_nd *a, int64_t i) {
    char *p = a->data;
    for (int d = a->ndim - 1; d >= 0; d--) {
        p += i % a->shape[d] * a->strides[d];
        i /= a->shape[d];
    }
    return p;
}

static inline int random_shape(int64_t *shape, int max_ndim, int64_t max_extent) {
    int ndim = (int)random_below(max_ndim + 1);
    for (int d = 0; d < ndim; d++)
        shape[d] = 1 + random_below(max_extent);
    return ndim;
}

#endif
