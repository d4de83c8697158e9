/* L1 array: broadcasting and overlap (see broadcast.h).
 *
 * Overlap is decided by byte ranges first; two interleaved views of equal strides
 * (a[::2], a[1::2]) are then told apart by their offset modulo the greatest common
 * divisor of the strides. Deciding the general case is a bounded Diophantine problem
 * (NP-hard in the number of axes); a cautious yes only costs a copy.
 */
#include "array/broadcast.h"

#include <stdio.h>
#include <string.h>

#include "base/strides.h"

/* The error of shapes that do not go together, in NumPy's words. */
static asn_status mismatch(int n, const asn_layout *const *layouts) {
    char text[512];
    size_t at = 0;
    for (int i = 0; i < n && at < sizeof text - 1; i++) {
        char shape[256];
        asn_shape_format(shape, sizeof shape, layouts[i]->ndim, layouts[i]->shape);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s ", shape);
    }
    return asn_error_set(ASN_ERR_VALUE,
                         "operands could not be broadcast together with shapes %s", text);
}

asn_status asn_broadcast_shape(int n, const asn_layout *const *layouts, int *ndim,
                               int64_t *shape) {
    /* NumPy: shapes are aligned at their last axes; an extent of 1, or a missing one,
     * takes the other's. */
    int most = 0;
    for (int i = 0; i < n; i++)
        most = layouts[i]->ndim > most ? layouts[i]->ndim : most;
    for (int d = 0; d < most; d++)
        shape[d] = 1;
    for (int i = 0; i < n; i++) {
        int lead = most - layouts[i]->ndim;
        for (int d = 0; d < layouts[i]->ndim; d++) {
            int64_t extent = layouts[i]->shape[d];
            if (extent == 1) continue;
            if (shape[lead + d] != 1 && shape[lead + d] != extent)
                return mismatch(n, layouts);
            shape[lead + d] = extent;
        }
    }
    *ndim = most;
    return ASN_OK;
}

bool asn_broadcast_strides(const asn_layout *l, int ndim, const int64_t *shape,
                           int64_t *strides) {
    /* Axes that l lacks come first. */
    int lead = ndim - l->ndim;
    if (lead < 0) return false;
    for (int d = 0; d < lead; d++)
        strides[d] = 0;
    for (int d = 0; d < l->ndim; d++) {
        if (l->shape[d] == shape[lead + d])
            strides[lead + d] = shape[lead + d] == 1 ? 0 : l->strides[d];
        else if (l->shape[d] == 1)
            strides[lead + d] = 0;
        else
            return false;
    }
    return true;
}

/* Whether two layouts share a byte is whether a sum of steps, each taken a bounded number
 * of times, falls into a window: the steps are the strides of both, equal ones together,
 * those of the second backwards. Largest first, the rest can reach so little that hardly
 * ever more than two numbers of times come into question: a column and the columns beside
 * it are told apart at once. What branches more is taken to overlap. */
enum { MOST_TRIES = 64 };

typedef struct {
    int64_t step, least, most; /* step > 0 */
} walk;

/* Adds the steps of l's axes, times sign, to n walks, which stay in falling order;
 * returns their number. An axis of extent 1 or of stride 0 goes nowhere. */
static int add_walks(walk *walks, int n, const asn_layout *l, int sign) {
    for (int d = 0; d < l->ndim; d++) {
        int64_t step = sign * l->strides[d], last = l->shape[d] - 1;
        int at = n;
        if (last == 0 || step == 0) continue;
        bool back = step < 0;
        step = back ? -step : step;
        while (at > 0 && walks[at - 1].step < step)
            at--;
        if (at == 0 || walks[at - 1].step != step) {
            memmove(&walks[at + 1], &walks[at], (size_t)(n - at) * sizeof *walks);
            walks[at] = (walk){step, 0, 0};
            at++;
            n++;
        }
        if (back)
            walks[at - 1].least -= last;
        else
            walks[at - 1].most += last;
    }
    return n;
}

/* Of numbers not negative. */
static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

/* Towards minus infinity, for b > 0. */
static int64_t floor_divide(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

/* Whether some sum of walks lies in [low, high]. *tries: how many numbers of times may
 * still be tried; when they are used up the answer is yes. */
static bool can_reach(const walk *walks, int n, int64_t low, int64_t high, int *tries) {
    if (n == 0) return low <= 0 && 0 <= high;
    int64_t rest_low = 0, rest_high = 0;
    for (int k = 1; k < n; k++) {
        rest_low += walks[k].least * walks[k].step;
        rest_high += walks[k].most * walks[k].step;
    }
    /* Times of the largest step for which the rest can make up the difference. */
    int64_t step = walks[0].step;
    int64_t first = -floor_divide(rest_high - low, step),
            last = floor_divide(high - rest_low, step);
    first = first > walks[0].least ? first : walks[0].least;
    last = last < walks[0].most ? last : walks[0].most;
    for (int64_t m = first; m <= last; m++) {
        if (--*tries < 0) return true;
        if (can_reach(walks + 1, n - 1, low - m * step, high - m * step, tries))
            return true;
    }
    return false;
}

bool asn_layouts_overlap(const asn_layout *a, const asn_layout *b) {
    int64_t alow, ahigh, blow, bhigh;
    asn_layout_bounds(a, &alow, &ahigh);
    asn_layout_bounds(b, &blow, &bhigh);
    if (alow >= ahigh || blow >= bhigh || ahigh <= blow || bhigh <= alow) return false;
    walk walks[2 * ASN_MAX_DIMS];
    int n = add_walks(walks, 0, a, 1), tries = MOST_TRIES;
    n = add_walks(walks, n, b, -1);
    /* An element of each overlap when their first bytes are less than an element apart: a
     * sum of walks in [low, high]. */
    int64_t gap = b->offset - a->offset, step = 0;
    int64_t low = gap - asn_itemsize((asn_dtype)a->dtype) + 1;
    int64_t high = gap + asn_itemsize((asn_dtype)b->dtype) - 1;
    for (int k = 0; k < n; k++)
        step = gcd(step, walks[k].step);
    /* Every sum is a multiple of the steps' common divisor: is there one in the
     * window? */
    if (step && floor_divide(high, step) * step < low) return false;
    return can_reach(walks, n, low, high, &tries);
}

bool asn_layout_self_overlaps(const asn_layout *l) {
    return asn_strides_collide(l->ndim, l->shape, l->strides,
                               asn_itemsize((asn_dtype)l->dtype));
}
