/* CPU device: an indexing is looked at (see index_run.h): J's neighbouring dimensions
 * that every operand walks as one are one, and so are the rest's; a contiguous tail of
 * the rest is a run that moves as it is.
 */
#include "device/cpu/index/index_run.h"
#include "device/cpu/index/index_add.h"
#include "device/cpu/kernels.h"

#include "device/cpu/index/bounds.h"

/* Whether dimension d of J goes on where the last one collected ends, for every
 * operand. */
static bool j_merges(const asnd_index_run *r, const asnd_nd *const idx[],
                     const asnd_nd *other, int d) {
    int last = r->num_j - 1;
    if (last < 0 || other->strides[d] != r->other_stride[last] * r->extent[last])
        return false;
    for (int k = 0; k < r->num_idx; k++)
        if (idx[k]->strides[d] != r->idx_stride[last][k] * r->extent[last]) return false;
    return true;
}

/* J's dimensions of extent above 1, innermost first, merged; one of extent 1 where there
 * are none. */
static void collect_j(asnd_index_run *r, const asnd_nd *const idx[], const asnd_nd *other,
                      int ndim_j) {
    r->num_j = 0;
    r->size_j = 1;
    for (int d = ndim_j - 1; d >= 0; d--) {
        int64_t extent = idx[0]->shape[d];
        r->size_j *= extent;
        if (extent == 1) continue;
        if (j_merges(r, idx, other, d)) {
            r->extent[r->num_j - 1] *= extent;
            continue;
        }
        for (int k = 0; k < r->num_idx; k++)
            r->idx_stride[r->num_j][k] = idx[k]->strides[d];
        r->other_stride[r->num_j] = other->strides[d];
        r->extent[r->num_j++] = extent;
    }
    if (r->num_j == 0) {
        r->extent[r->num_j++] = 1;
        r->other_stride[0] = 0;
        for (int k = 0; k < r->num_idx; k++)
            r->idx_stride[0][k] = 0;
    }
}

/* The longest dimension of J becomes the innermost one, where that is short: x[np.ix_(r,
 * c)] of few columns. A get has no order to keep. */
static void turn_j(asnd_index_run *r) {
    enum { SHORT = 32 };
    int longest = 0;
    for (int d = 1; d < r->num_j; d++)
        if (r->extent[d] > r->extent[longest]) longest = d;
    if (r->kind != ASN_MOVE_GET || r->extent[0] >= SHORT || longest == 0) return;
    int64_t extent = r->extent[0], step = r->other_stride[0];
    r->extent[0] = r->extent[longest];
    r->other_stride[0] = r->other_stride[longest];
    r->extent[longest] = extent;
    r->other_stride[longest] = step;
    for (int k = 0; k < r->num_idx; k++) {
        step = r->idx_stride[0][k];
        r->idx_stride[0][k] = r->idx_stride[longest][k];
        r->idx_stride[longest][k] = step;
    }
}

/* The rest's dimensions, innermost first; the contiguous tail becomes r->run bytes. Of an
 * accumulation that has no loop over elements in self's dtype it stays elements. */
static void collect_rest(asnd_index_run *r, const asnd_nd *self, const asnd_nd *other,
                         int ndim_j) {
    r->num_rest = 0;
    r->size_rest = 1;
    r->run = r->item;
    bool tail = r->kind != ASN_MOVE_ACCUMULATE ||
                (r->loop == r->dtype && asn_kernels_get()->ew[r->op][r->dtype]);
    for (int d = self->ndim - 1; d >= r->num_idx; d--) {
        asnd_index_rest dim = {self->shape[d], self->strides[d],
                               other->strides[ndim_j + d - r->num_idx]};
        r->size_rest *= dim.extent;
        if (dim.extent == 1) continue;
        if (tail && dim.self == r->run && dim.other == r->run) {
            r->run *= dim.extent;
            continue;
        }
        tail = false;
        asnd_index_rest *last = r->num_rest ? &r->rest[r->num_rest - 1] : NULL;
        if (last && dim.self == last->self * last->extent &&
            dim.other == last->other * last->extent)
            last->extent *= dim.extent;
        else
            r->rest[r->num_rest++] = dim;
    }
}

/* Whether index array k says the same for all of J. */
static bool is_one(const asnd_index_run *r, int k) {
    for (int d = 0; d < r->num_j; d++)
        if (r->idx_stride[d][k]) return false;
    return true;
}

/* What one index says for all of J, as the 2 of x[r, 2], is where self begins. The
 * indices are checked. */
static void fold_ones(asnd_index_run *r) {
    int kept = 0;
    for (int k = 0; k < r->num_idx; k++) {
        if (is_one(r, k) && (kept || k + 1 < r->num_idx)) {
            int64_t v = *(const int64_t *)(const void *)r->idx[k];
            r->self += asn_index_resolve(v, r->bound[k], r->mode) * r->self_stride[k];
            continue;
        }
        r->idx[kept] = r->idx[k];
        r->bound[kept] = r->bound[k];
        r->self_stride[kept] = r->self_stride[k];
        for (int d = 0; d < r->num_j; d++)
            r->idx_stride[d][kept] = r->idx_stride[d][k];
        kept++;
    }
    r->num_idx = kept;
}

bool asn_index_is_simple(const asnd_index_run *r) {
    if (r->num_idx != 1 || r->size_rest != 1 || r->mode != ASN_INDEX_RAISE) return false;
    return r->kind != ASN_MOVE_ACCUMULATE ||
           (r->op == ASN_OP_ADD && r->loop == r->dtype && asn_index_adds_get(r->dtype));
}

/* move_pairs in index.c takes these; the rest goes by offsets (block_offsets), which is
 * the general path. */
bool asn_index_is_pairs(const asnd_index_run *r) {
    return r->kind == ASN_MOVE_GET && r->mode == ASN_INDEX_RAISE && r->num_idx == 2 &&
           r->size_rest == 1 && r->num_j == 1 && r->idx_stride[0][0] == 8 &&
           r->idx_stride[0][1] == 8;
}

asn_status asn_index_setup(asnd_index_run *r, const asnd_nd *self, int nidx,
                           const asnd_nd *const idx[], const asnd_nd *other) {
    int ndim_j = nidx ? idx[0]->ndim : 0;
    if (nidx < 1 || nidx > self->ndim || other->ndim != ndim_j + self->ndim - nidx ||
        (other->dtype != self->dtype && r->kind != ASN_MOVE_ACCUMULATE))
        return asn_error_set(
            ASN_ERR_VALUE,
            "index: %d index arrays of %d dimensions into a %d-d %s do not "
            "give a %d-d %s",
            nidx, ndim_j, self->ndim, asn_dtype_name(self->dtype), other->ndim,
            asn_dtype_name(other->dtype));
    r->self = self->data;
    r->other = other->data;
    r->dtype = self->dtype;
    r->loop = other->dtype;
    r->item = asn_itemsize(self->dtype);
    r->num_idx = nidx;
    collect_j(r, idx, other, ndim_j);
    turn_j(r);
    collect_rest(r, self, other, ndim_j);
    r->checks =
        (r->kind == ASN_MOVE_GET && asn_index_is_simple(r)) || asn_index_is_pairs(r);
    for (int k = 0; k < nidx; k++) {
        r->idx[k] = idx[k]->data;
        r->bound[k] = self->shape[k];
        r->self_stride[k] = self->strides[k];
        /* Where no element moves, no loop sees an index: NumPy's are checked even so. */
        const bool unseen = !r->checks || !r->size_rest;
        if (r->mode == ASN_INDEX_RAISE && r->size_j && unseen)
            ASN_TRY(asn_bounds_check(idx[k], self->shape[k], k));
        else if (r->size_j && self->shape[k] == 0)
            return asn_error_set(ASN_ERR_INDEX,
                                 "cannot do a non-empty take from an empty axes.");
    }
    if (nidx > 1 && !r->checks && r->size_j && r->size_rest) fold_ones(r);
    return ASN_OK;
}
