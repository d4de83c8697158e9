/* Heat in a plate, in C with AsNumpy: the five-point stencil on views, in place.
 *
 * A 64 x 64 plate is kept at 1 along its top edge and at 0 along the others. The interior
 * is replaced by the mean of its neighbours until it moves less than 1e-6; after that the
 * centre is a quarter of the top's heat, by symmetry of the four edges.
 *
 *     cc heat.c -I$PREFIX/include -L$PREFIX/lib64 -lasnumpy -o heat
 */
#include <math.h>
#include <stdio.h>

#include "asnumpy/asnumpy.h"

enum { N = 65 };

/* A view of the plate's interior, moved by (dy, dx). */
static AsnStatus shifted(asn_handle *plate, int dy, int dx, asn_handle **out) {
    asn_handle *rows = NULL;
    AsnStatus status = asn_slice(plate, 0, 1 + dy, N - 1 + dy, 1, &rows);
    if (!status) status = asn_slice(rows, 1, 1 + dx, N - 1 + dx, 1, out);
    asn_release(rows);
    return status;
}

/* One sweep; *moved receives the largest change. */
static AsnStatus sweep(asn_handle *inner, asn_handle *const side[4], double *moved) {
    asn_handle *t[6] = {NULL};
    AsnStatus status = asn_ufunc("add", 2, (asn_handle *[]){side[0], side[1]}, &t[0]);
    if (!status) status = asn_ufunc("add", 2, (asn_handle *[]){side[2], side[3]}, &t[1]);
    if (!status) status = asn_ufunc("add", 2, (asn_handle *[]){t[0], t[1]}, &t[2]);
    if (!status) status = asn_ufunc_scalar("multiply", t[2], 0.25, &t[3]);
    if (!status) status = asn_ufunc("subtract", 2, (asn_handle *[]){t[3], inner}, &t[4]);
    if (!status) status = asn_ufunc_into("absolute", 1, &t[4], t[4]);
    if (!status) status = asn_reduce("maximum", t[4], -1, 0, &t[5]);
    if (!status) status = asn_ufunc_into("positive", 1, &t[3], inner);
    if (!status) status = asn_to_host(t[5], moved, sizeof *moved);
    for (int i = 0; i < 6; i++)
        asn_release(t[i]);
    return status;
}

int main(void) {
    asn_handle *plate = NULL, *top = NULL, *one = NULL, *inner = NULL, *side[4] = {NULL};
    const int64_t shape[2] = {N, N};
    static double host[N][N];
    double moved = 1;
    int sweeps = 0;
    AsnStatus status = asn_fill(ASN_TYPE_FLOAT64, 2, shape, 0.0, &plate);
    if (!status) status = asn_slice(plate, 0, 0, 1, 1, &top);
    if (!status) status = asn_fill(ASN_TYPE_FLOAT64, 0, NULL, 1.0, &one);
    if (!status) status = asn_ufunc_into("positive", 1, &one, top);
    if (!status) status = shifted(plate, 0, 0, &inner);
    for (int i = 0; i < 4 && !status; i++)
        status = shifted(plate, (i == 0) - (i == 1), (i == 2) - (i == 3), &side[i]);
    while (!status && moved > 1e-6) {
        status = sweep(inner, side, &moved);
        sweeps++;
    }
    if (!status) status = asn_to_host(plate, host, sizeof host);
    for (int i = 0; i < 4; i++)
        asn_release(side[i]);
    asn_release(inner);
    asn_release(one);
    asn_release(top);
    asn_release(plate);
    if (status) {
        fprintf(stderr, "heat: %s\n", asn_message());
        return 1;
    }
    printf("after %d sweeps the centre has %.4f of the edge's heat\n", sweeps,
           host[N / 2][N / 2]);
    return fabs(host[N / 2][N / 2] - 0.25) > 1e-2;
}
