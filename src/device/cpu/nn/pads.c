/* CPU device: padding (see pads.h).
 *
 * Each element is copied from where the tables say, plane by plane. Inside a row most
 * elements follow each other in the source too: the longest such run is found once
 * (find_inside) and copied as bytes, the edges one by one. The gradient has no such run
 * to copy, since it adds; a plane is one thread's, so elements that several places come
 * from are added up in order.
 */
#include "device/cpu/nn/pads.h"

#include <string.h>

#include "device/cpu/threads.h"

#define EACH_NUMBER "device/cpu/nn/pads.inc"
#include "device/cpu/each_number.inc"

typedef struct {
    const asnd_pads *p;
    const char *from;
    char *to;
    int size, parts;   /* bytes of an element; numbers in it */
    int64_t inside[2]; /* a row's elements that follow each other: memcpy */
} pad_job;

/* The two edges by the table, then the middle in one piece. */
static void take_row(const pad_job *j, const char *x, char *y) {
    const int64_t *from = j->p->from[2];
    int64_t edge[2][2] = {{0, j->inside[0]}, {j->inside[1], j->p->out[2]}};
    for (int side = 0; side < 2; side++) {
        int64_t start = edge[side][0], n = edge[side][1] - start;
        char *to = y + start * j->size;
        switch (j->size) {
        case 1: take_1((const void *)x, from + start, n, (void *)to); break;
        case 2: take_2((const void *)x, from + start, n, (void *)to); break;
        case 4: take_4((const void *)x, from + start, n, (void *)to); break;
        case 8: take_8((const void *)x, from + start, n, (void *)to); break;
        default: take_16((const void *)x, from + start, n, (void *)to); break;
        }
    }
    int64_t first = j->inside[0], n = j->inside[1] - first;
    if (n > 0)
        memcpy(y + first * j->size, x + from[first] * j->size, (size_t)(n * j->size));
}

/* One image: row after row of the result, from the rows that the outer tables name. */
static void take_plane(void *ctx, int64_t plane) {
    const pad_job *j = ctx;
    const asnd_pads *p = j->p;
    const char *x = j->from + plane * p->in[0] * p->in[1] * p->in[2] * j->size;
    char *y = j->to + plane * p->out[0] * p->out[1] * p->out[2] * j->size;
    for (int64_t a = 0; a < p->out[0]; a++)
        for (int64_t b = 0; b < p->out[1]; b++) {
            int64_t row = p->from[0][a] * p->in[1] + p->from[1][b];
            take_row(j, x + row * p->in[2] * j->size, y);
            y += p->out[2] * j->size;
        }
}

/* The gradient of one image, which begins as zeros. */
static void add_plane(void *ctx, int64_t plane) {
    const pad_job *j = ctx;
    const asnd_pads *p = j->p;
    int64_t many = p->in[0] * p->in[1] * p->in[2];
    const char *y = j->from + plane * p->out[0] * p->out[1] * p->out[2] * j->size;
    char *x = j->to + plane * many * j->size;
    memset(x, 0, (size_t)(many * j->size));
    for (int64_t a = 0; a < p->out[0]; a++)
        for (int64_t b = 0; b < p->out[1]; b++) {
            char *to =
                x + (p->from[0][a] * p->in[1] + p->from[1][b]) * p->in[2] * j->size;
            if (j->size / j->parts == 4) {
                add_4((const void *)y, p->from[2], p->out[2], j->parts, (void *)to);
            } else {
                add_8((const void *)y, p->from[2], p->out[2], j->parts, (void *)to);
            }
            y += p->out[2] * j->size;
        }
}

/* The longest run of the last table that goes up one by one. */
static void find_inside(pad_job *j) {
    const int64_t *from = j->p->from[2];
    int64_t n = j->p->out[2], start = 0;
    j->inside[0] = j->inside[1] = 0;
    for (int64_t i = 1; i <= n; i++) {
        if (i < n && from[i] == from[i - 1] + 1) continue;
        if (i - start > j->inside[1] - j->inside[0]) {
            j->inside[0] = start;
            j->inside[1] = i;
        }
        start = i;
    }
}

static double work_of(const asnd_pads *p) {
    return (double)p->planes * (double)(p->out[0] * p->out[1] * p->out[2]);
}

void asn_pads_take(const asnd_pads *p, int itemsize, const void *x, void *y) {
    pad_job j = {p, x, y, itemsize, 1, {0, 0}};
    find_inside(&j);
    asn_pool_run(take_plane, &j, p->planes, 0.5 * work_of(p));
}

void asn_pads_add(const asnd_pads *p, asn_dtype t, int parts, const void *y, void *x) {
    pad_job j = {p, y, x, asn_itemsize(t) * parts, parts, {0, 0}};
    asn_pool_run(add_plane, &j, p->planes, work_of(p));
}
