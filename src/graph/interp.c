/* L2 graph: piecewise linear interpolation, np.interp (see families.h).
 *
 * NumPy's rules, point by point: outside the knots the given ends, on a knot its value
 * (an infinite slope beside it does not matter), between two knots the line through the
 * left one, through the right one when that is NaN, and their common value when both are.
 * NaN stays NaN. A host loop where the host reaches the elements: one search and one line
 * per point, where a composition of array operations needs twenty passes.
 */
#include <math.h>
#include <string.h>

#include "graph/families.h"
#include "graph/launch.h"
#include "graph/lock.h"
#include "runtime/device.h"

enum { BLOCK = 16 };

typedef struct {
    const double *x, *y;
    int64_t n;
    double left, right;
} knots;

/* The last knot at or before each value, 0 for one before all (or NaN): searches without
 * branches, BLOCK of them side by side, since one alone waits for memory at every step.
 */
static void find_block(const knots *k, const double *v, int64_t at[BLOCK]) {
    for (int i = 0; i < BLOCK; i++)
        at[i] = 0;
    for (int64_t n = k->n; n > 1;) {
        int64_t half = n / 2;
        for (int i = 0; i < BLOCK; i++)
            at[i] += k->x[at[i] + half] <= v[i] ? half : 0;
        n -= half;
    }
}

static inline double between(const knots *k, int64_t j, double v) {
    double slope = (k->y[j + 1] - k->y[j]) / (k->x[j + 1] - k->x[j]);
    double r = slope * (v - k->x[j]) + k->y[j];
    if (__builtin_expect(isnan(r), 0)) {
        r = slope * (v - k->x[j + 1]) + k->y[j + 1];
        if (isnan(r) && k->y[j] == k->y[j + 1]) r = k->y[j];
    }
    return r;
}

static inline double at_knot(const knots *k, int64_t j, double v) {
    if (v < k->x[0]) return k->left;
    if (v > k->x[k->n - 1]) return k->right;
    if (k->n == 1) return k->y[0];
    if (isnan(v)) return v;
    return j == k->n - 1 || k->x[j] == v ? k->y[j] : between(k, j, v);
}

static void interpolate(const knots *k, int64_t n, const double *v, double *out) {
    int64_t at[BLOCK];
    double few[BLOCK] = {0};
    for (int64_t i = 0; i < n; i += BLOCK) {
        int m = n - i < BLOCK ? (int)(n - i) : BLOCK;
        const double *from = v + i;
        if (m < BLOCK) {
            memcpy(few, from, (size_t)m * sizeof *few);
            from = few;
        }
        find_block(k, from, at);
        for (int b = 0; b < m; b++)
            out[i + b] = at_knot(k, at[b], from[b]);
    }
}

asn_status asn_interp(asn_array *result, const asn_array *x, const asn_array *xp,
                      const asn_array *fp, double left, double right) {
    const asn_array *all[3] = {x, xp, fp};
    void *data[3];
    if (!asn_device_host_access())
        return asn_error_set(ASN_ERR_UNSUPPORTED, "interp: the elements are on %s",
                             asn_device_kind());
    for (int i = 0; i < 3; i++) {
        if (asn_layout_dtype(&all[i]->layout) != ASN_F64 ||
            !asn_layout_contiguous(&all[i]->layout))
            return asn_error_set(ASN_ERR_TYPE,
                                 "interp: operand %d must be row-major "
                                 "float64",
                                 i);
        ASN_TRY(asn_array_host(all[i], &data[i]));
    }
    knots k = {data[1], data[2], xp->layout.size, left, right};
    ASN_TRY(asn_array_new(result, ASN_F64, x->layout.ndim, x->layout.shape, 'C'));
    asn_status status = asn_buffer_ensure(result->buffer);
    if (status) {
        asn_array_fini(result);
        return status;
    }
    asn_lock();
    void *state = x->layout.size > 1 << 15 ? asn_blocking_enter() : NULL;
    interpolate(&k, x->layout.size, data[0], result->buffer->data);
    asn_blocking_leave(state);
    asn_unlock();
    return ASN_OK;
}
