/* CPU device: softmax along rows (contract in softmax_rows.h). */
#include "device/cpu/nn/softmax_rows.h"

#include <stdatomic.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/kernels.h"
#include "device/cpu/scratch.h"
#include "device/cpu/threads.h"

enum {
    MOST = 1 << 18, /* bytes of a row */
    CHUNK = 1 << 14 /* elements that one visit of a thread takes */
};

/* What the chunks of one region share. n: elements of a row; rows: of one chunk. */
typedef struct {
    const asnd_nd *x, *out;
    asn_dtype t;
    int64_t n, rows, total;
    atomic_bool failed; /* for lack of memory */
} job;

static bool last_is_contiguous(const asnd_nd *a) {
    return a->strides[a->ndim - 1] == (int64_t)asn_itemsize(a->dtype);
}

bool asn_softmax_rows_fit(const asnd_nd *x, const asnd_nd *out) {
    if (x->ndim == 0 || !asn_is_floating(x->dtype) || !asn_is_floating(out->dtype))
        return false;
    const int64_t n = x->shape[x->ndim - 1];
    return n > 0 && n <= MOST / (int64_t)sizeof(double) && last_is_contiguous(x) &&
           last_is_contiguous(out);
}

/* One row, by way of `room` where its dtype is another than the arithmetic's. */
static void soften_row(const job *j, const char *from, char *to, char *room) {
    const asnd_kernels *by = asn_kernels_get();
    const asn_dtype t = j->t, in = j->x->dtype, result = j->out->dtype;
    union {
        float f;
        double d;
    } most;
    double sum;
    char *y = result == t ? to : room;
    if (in != t) {
        by->cast[in][t](j->n, room, from, NULL, NULL);
        from = room;
    }
    memcpy(&most, from, asn_itemsize(t));
    by->fold[ASN_OP_MAXIMUM][t](j->n, &most, from);
    by->soften[t](j->n, y, from, t == ASN_F32 ? (double)most.f : most.d, &sum);
    by->times[t](j->n, y, y, 1 / sum);
    if (result != t) by->cast[t][result](j->n, to, y, NULL, NULL);
}

static void soften_chunk(void *ctx, int64_t chunk) {
    job *j = ctx;
    char *room = NULL;
    if (j->x->dtype != j->t || j->out->dtype != j->t) {
        room = asn_scratch_take((size_t)j->n * asn_itemsize(j->t));
        if (room == NULL) {
            atomic_store(&j->failed, true);
            return;
        }
    }
    const int64_t first = chunk * j->rows;
    for (int64_t r = first; r < first + j->rows && r < j->total; r++)
        soften_row(j, asn_nd_item(j->x, 1, r), asn_nd_item(j->out, 1, r), room);
    if (room) asn_scratch_give(room);
}

asn_status asn_softmax_rows(const asnd_nd *x, const asnd_nd *out, asn_dtype t) {
    const int64_t n = x->shape[x->ndim - 1];
    job j = {.x = x, .out = out, .t = t, .n = n, .total = 1};
    for (int d = 0; d < x->ndim - 1; d++)
        j.total *= x->shape[d];
    j.rows = n < CHUNK ? CHUNK / n : 1;
    atomic_init(&j.failed, false);
    const double ns = (double)j.total * (20 + 0.5 * (double)n);
    asn_pool_run(soften_chunk, &j, (j.total + j.rows - 1) / j.rows, ns);
    if (!atomic_load(&j.failed)) return ASN_OK;
    return asn_error_set(ASN_ERR_MEMORY, "softmax: out of memory");
}
