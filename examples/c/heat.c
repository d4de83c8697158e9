/* Heat in a plate, in C with AsNumpy: the five-point stencil on views, in place.
 *
 * A 65 x 65 plate is kept at 1 along its top edge and at 0 along the others. The interior
 * is replaced by the mean of its neighbours until it moves less than 1e-6; after that the
 * centre has a quarter of the top's heat, by symmetry of the four edges.
 *
 *     cc heat.c $(pkg-config --cflags --libs asnumpy) -o heat && ./heat
 */
#include <asnumpy/asnumpy.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 65 };

static void must(asnp_status status) {
    if (!status) return;
    fprintf(stderr, "heat: %s: %s\n", asnp_status_name(status), asnp_message());
    exit(1);
}

/* A view of the plate's interior, moved by (dy, dx). */
static asnp_array *shifted(const asnp_array *plate, int dy, int dx) {
    asnp_index at[2] = {asnp_span(1 + dy, N - 1 + dy, 1),
                        asnp_span(1 + dx, N - 1 + dx, 1)};
    asnp_array *view = NULL;
    must(asnp_index_get(plate, 2, at, &view));
    return view;
}

/* One sweep: the mean of the four neighbours into the interior. Returns the largest
 * change. Nothing runs before that number is read; then all of it does, as one program.
 */
static double sweep(asnp_array *inner, asnp_array *const side[4]) {
    asnp_array *t[6] = {NULL, NULL, NULL, NULL, NULL, NULL}, *moved = NULL;
    double largest = 0;
    must(asnp_add(side[0], side[1], &t[0]));
    must(asnp_add(side[2], side[3], &t[1]));
    must(asnp_add(t[0], t[1], &t[2]));
    must(asnp_binary_number("multiply", t[2], asnp_float(0.25), &t[3]));
    must(asnp_subtract(t[3], inner, &t[4]));
    must(asnp_unary("absolute", t[4], &t[5]));
    must(asnp_max(t[5], 0, NULL, 0, &moved));
    must(asnp_assign(inner, asnp_of(t[3])));
    must(asnp_get_double(moved, NULL, &largest));
    for (int i = 0; i < 6; i++)
        asnp_release(t[i]);
    asnp_release(moved);
    return largest;
}

int main(void) {
    const int64_t shape[2] = {N, N}, centre[2] = {N / 2, N / 2};
    asnp_array *plate = NULL, *top = NULL, *side[4], *inner;
    double heat = 0;
    int sweeps = 0;
    must(asnp_zeros(ASNP_FLOAT64, 2, shape, &plate));
    must(asnp_pick(plate, 0, 0, &top));
    must(asnp_assign(top, asnp_of_number(asnp_int(1))));
    inner = shifted(plate, 0, 0);
    for (int i = 0; i < 4; i++)
        side[i] = shifted(plate, (i == 0) - (i == 1), (i == 2) - (i == 3));
    do
        sweeps++;
    while (sweep(inner, side) > 1e-6);
    must(asnp_get_double(plate, centre, &heat));
    printf("after %d sweeps the centre has %.4f of the edge's heat\n", sweeps, heat);
    for (int i = 0; i < 4; i++)
        asnp_release(side[i]);
    asnp_release(inner);
    asnp_release(top);
    asnp_release(plate);
    return fabs(heat - 0.25) > 1e-2;
}
