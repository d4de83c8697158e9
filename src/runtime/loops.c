/* L2 runtime: loops of the host's own (see loops.h).
 *
 * Threads are made for the call: 10 to 20 us each against parts of half a millisecond,
 * and no pool that a fork would leave without its threads. A thread that cannot be made
 * is no failure: its part runs here.
 */
#include "runtime/loops.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/alloc.h"

static int64_t magnitude(int64_t x) {
    return x < 0 ? -x : x;
}

/* Whether axis a belongs outside axis b: by the first operand, outputs first, that tells.
 */
static bool outside(const asn_loop_call *c, int a, int b) {
    for (int k = c->num_args - 1; k >= 0; k--) {
        int64_t sa = magnitude(c->strides[k][a]), sb = magnitude(c->strides[k][b]);
        if (sa && sb && sa != sb) return sa > sb;
    }
    return true;
}

static void swap_axes(asn_loop_call *c, int a, int b) {
    int64_t t = c->shape[a];
    c->shape[a] = c->shape[b], c->shape[b] = t;
    for (int k = 0; k < c->num_args; k++) {
        t = c->strides[k][a];
        c->strides[k][a] = c->strides[k][b], c->strides[k][b] = t;
    }
}

static void drop_axis(asn_loop_call *c, int d) {
    c->num_dims--;
    for (int i = d; i < c->num_dims; i++)
        swap_axes(c, i, i + 1);
}

static bool steps_as_one(const asn_loop_call *c, int outer, int inner) {
    for (int k = 0; k < c->num_args; k++)
        if (c->strides[k][outer] != c->strides[k][inner] * c->shape[inner]) return false;
    return true;
}

static void simplify(asn_loop_call *c) {
    const int first = c->num_ordered;
    for (int d = c->num_dims - 1; d >= first; d--)
        if (c->shape[d] == 1) drop_axis(c, d);
    for (int d = first + 1; d < c->num_dims; d++)
        for (int i = d; i > first && !outside(c, i - 1, i); i--)
            swap_axes(c, i - 1, i);
    for (int d = c->num_dims - 1; d > first; d--) {
        if (!steps_as_one(c, d - 1, d)) continue;
        c->shape[d] *= c->shape[d - 1];
        drop_axis(c, d - 1);
    }
    if (c->num_dims == first) { /* the loop's own axis */
        c->shape[c->num_dims] = 1;
        for (int k = 0; k < c->num_args; k++)
            c->strides[k][c->num_dims] = 0;
        c->num_dims++;
    }
}

/* One part, on one thread: the innermost axis by the loop, the others like an odometer.
 */
static void run_part(const asn_loop_call *c) {
    int64_t at[ASN_LOOP_DIMS] = {0}, steps[ASN_LOOP_ARGS];
    char *args[ASN_LOOP_ARGS], *given[ASN_LOOP_ARGS];
    int inner = c->num_dims - 1;
    for (int k = 0; k < c->num_args; k++) {
        args[k] = c->args[k];
        steps[k] = c->strides[k][inner];
    }
    for (;;) {
        for (int k = 0; k < c->num_args; k++)
            given[k] = args[k]; /* the loop may step them */
        c->loop(given, &c->shape[inner], steps, c->data);
        int d = inner - 1;
        for (; d >= 0; d--) {
            at[d]++;
            for (int k = 0; k < c->num_args; k++)
                args[k] += c->strides[k][d];
            if (at[d] < c->shape[d]) break;
            for (int k = 0; k < c->num_args; k++)
                args[k] -= c->strides[k][d] * c->shape[d];
            at[d] = 0;
        }
        if (d < 0) return;
    }
}

static void *part_main(void *part) {
    run_part(part);
    return NULL;
}

/* The axis to cut: the outermost of enough elements in which no output stands still, else
 * the longest of them; -1: none. */
static int axis_to_cut(const asn_loop_call *c, int parts) {
    int best = -1;
    for (int d = c->num_ordered; d < c->num_dims; d++) {
        bool still = false;
        for (int k = c->num_inputs; k < c->num_args; k++)
            still |= c->strides[k][d] == 0;
        if (still) continue;
        if (c->shape[d] >= parts) return d;
        if (best < 0 || c->shape[d] > c->shape[best]) best = d;
    }
    return best;
}

static void cut(const asn_loop_call *c, int axis, int64_t begin, int64_t end,
                asn_loop_call *part) {
    *part = *c;
    part->shape[axis] = end - begin;
    for (int k = 0; k < c->num_args; k++)
        part->args[k] += c->strides[k][axis] * begin;
}

asn_status asn_loops_run(asn_loop_call *c, int threads, int64_t min_elements) {
    int64_t size = 1;
    for (int d = 0; d < c->num_dims; d++)
        size *= c->shape[d];
    if (size == 0) return ASN_OK;
    simplify(c);
    int64_t parts = size / (min_elements > 0 ? min_elements : 1);
    if (parts > threads) parts = threads;
    if (parts > ASN_LOOP_THREADS) parts = ASN_LOOP_THREADS;
    int axis = parts > 1 ? axis_to_cut(c, (int)parts) : -1;
    if (axis >= 0 && c->shape[axis] < parts) parts = c->shape[axis];
    if (axis < 0 || parts < 2) {
        run_part(c);
        return ASN_OK;
    }
    asn_loop_call *work = asn_malloc((size_t)parts * sizeof *work);
    if (!work) return ASN_ERR_MEMORY;
    pthread_t made[ASN_LOOP_THREADS];
    bool running[ASN_LOOP_THREADS] = {false};
    int64_t n = c->shape[axis];
    for (int64_t p = parts - 1; p >= 0; p--) {
        cut(c, axis, n / parts * p + (p < n % parts ? p : n % parts),
            n / parts * (p + 1) + (p + 1 < n % parts ? p + 1 : n % parts), &work[p]);
        running[p] = p > 0 && pthread_create(&made[p], NULL, part_main, &work[p]) == 0;
        if (!running[p]) run_part(&work[p]);
    }
    for (int64_t p = 1; p < parts; p++)
        if (running[p]) pthread_join(made[p], NULL);
    asn_free(work);
    return ASN_OK;
}

void asn_loops_update(asn_loop loop, void *data, int64_t n, char *target,
                      const int64_t *offsets, char *values, int64_t step) {
    const int64_t one = 1, steps[3] = {0, 0, 0};
    for (int64_t i = 0; i < n; i++) {
        char *at = target + offsets[i];
        char *args[3] = {at, values ? values + i * step : at, at};
        loop(args, &one, steps, data);
    }
}
