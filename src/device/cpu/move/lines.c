/* CPU device: walking several views together, line by line (see lines.h).
 *
 * The state of a walk is an index for each dimension outside of the line and an address
 * for each view, which are moved on as an odometer is: no multiplication a line. A chunk
 * of a region begins with asn_lines_seek, which divides.
 */
#include "device/cpu/move/lines.h"

/* Appends dimension d, or lengthens the last one where every view goes on in it. */
static void add_dim(asnd_lines *l, int64_t extent, int d, const int64_t *const strides[],
                    bool may_merge) {
    int last = l->num_dims - 1;
    bool merges = may_merge && last >= 0;
    for (int v = 0; v < l->num_views && merges; v++)
        merges = strides[v][d] == l->stride[last][v] * l->extent[last];
    if (merges) {
        l->extent[last] *= extent;
        return;
    }
    for (int v = 0; v < l->num_views; v++)
        l->stride[l->num_dims][v] = strides[v][d];
    l->extent[l->num_dims++] = extent;
}

void asn_lines_init(asnd_lines *l, int ndim, const int64_t *shape, int axis,
                    int num_views, char *const data[], const int64_t *const strides[]) {
    l->num_views = num_views;
    l->num_dims = 0;
    for (int v = 0; v < num_views; v++)
        l->data[v] = data[v];
    if (axis >= 0) add_dim(l, shape[axis], axis, strides, false);
    for (int d = ndim - 1; d >= 0; d--)
        if (d != axis && shape[d] != 1)
            add_dim(l, shape[d], d, strides, axis < 0 || l->num_dims > 1);
    if (l->num_dims == 0) {
        l->extent[l->num_dims++] = 1;
        for (int v = 0; v < num_views; v++)
            l->stride[0][v] = 0;
    }
    l->length = l->extent[0];
    l->count = 1;
    for (int d = 1; d < l->num_dims; d++)
        l->count *= l->extent[d];
    if (l->length == 0 && axis < 0) l->count = 0;
}

/* The addresses and indices of line `number`, in row-major order. */
void asn_lines_seek(const asnd_lines *l, asnd_line *line, int64_t number) {
    for (int v = 0; v < l->num_views; v++)
        line->at[v] = l->data[v];
    for (int d = 1; d < l->num_dims; d++) {
        line->index[d] = number % l->extent[d];
        number /= l->extent[d];
        for (int v = 0; v < l->num_views; v++)
            line->at[v] += line->index[d] * l->stride[d][v];
    }
}

/* After the last line it is back at the first. */
void asn_lines_next(const asnd_lines *l, asnd_line *line) {
    for (int d = 1; d < l->num_dims; d++) {
        for (int v = 0; v < l->num_views; v++)
            line->at[v] += l->stride[d][v];
        if (++line->index[d] < l->extent[d]) return;
        for (int v = 0; v < l->num_views; v++)
            line->at[v] -= l->stride[d][v] * l->extent[d];
        line->index[d] = 0;
    }
}

int64_t asn_lines_per_chunk(const asnd_lines *l, int64_t elements) {
    int64_t length = l->length ? l->length : 1;
    return length < elements ? elements / length : 1;
}
