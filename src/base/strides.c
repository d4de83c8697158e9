/* L0 base: elements that share memory (see strides.h).
 *
 * Sorted by |stride|, each dimension must step over everything that the smaller ones
 * reach: then an address tells its indices, as the digits of a number do. Both houses ask
 * this: the planner, where what is read back may not be what an element wrote, and the
 * device, where the last of several writes must be the last in order.
 */
#include "base/strides.h"

static int64_t size_of(int64_t stride) {
    return stride < 0 ? -stride : stride;
}

bool asn_strides_collide(int ndim, const int64_t *shape, const int64_t *strides,
                         int64_t item) {
    int64_t reach = item, last = -1;
    for (int d = 0; d < ndim; d++)
        if (shape[d] == 0) return false;
    for (;;) {
        int next = -1, same = 0;
        for (int d = 0; d < ndim; d++) {
            int64_t s = size_of(strides[d]);
            if (shape[d] < 2 || s <= last) continue;
            if (next < 0 || s < size_of(strides[next])) {
                next = d;
                same = 0;
            }
            same += s == size_of(strides[next]);
        }
        if (next < 0) return false;
        int64_t step = size_of(strides[next]);
        if (same > 1 || step < reach) return true;
        reach += (shape[next] - 1) * step;
        last = step;
    }
}
