/* CPU device, operators: views and temporaries (see view.h).
 *
 * Views change in place; none of these functions allocates. Temporaries are a list of
 * blocks that ends with the body: from the workspace where phase 1 asked for one and it
 * has room, from the stream's scratch allocator where the program has set one, else from
 * the C library, 64 bytes aligned for the vector loops.
 */
#include "device/opapi/core/view.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "device/cpu/move/copy.h"
#include "device/cpu/fused/fused.h"

/* After nd was copied from elsewhere: its dimensions are this view's. */
static void own(asnd_view *v) {
    v->nd.shape = v->shape;
    v->nd.strides = v->strides;
}

void asn_view_set(asnd_view *v, const asnd_nd *a) {
    v->nd = *a;
    memcpy(v->shape, a->shape, (size_t)a->ndim * sizeof *v->shape);
    memcpy(v->strides, a->strides, (size_t)a->ndim * sizeof *v->strides);
    own(v);
}

void asn_view_plain(asnd_view *v, asn_dtype dtype, int ndim, const int64_t *shape,
                    void *data) {
    int64_t stride = asn_itemsize(dtype);
    for (int d = ndim - 1; d >= 0; d--) {
        v->shape[d] = shape[d];
        v->strides[d] = stride;
        stride *= shape[d];
    }
    v->nd.data = data;
    v->nd.ndim = ndim;
    v->nd.dtype = dtype;
    own(v);
}

void asn_view_drop(asnd_view *v, int axis) {
    size_t after = (size_t)(v->nd.ndim - axis - 1) * sizeof *v->shape;
    memmove(v->shape + axis, v->shape + axis + 1, after);
    memmove(v->strides + axis, v->strides + axis + 1, after);
    v->nd.ndim--;
}

void asn_view_insert(asnd_view *v, int axis, int64_t extent, int64_t stride) {
    size_t after = (size_t)(v->nd.ndim - axis) * sizeof *v->shape;
    memmove(v->shape + axis + 1, v->shape + axis, after);
    memmove(v->strides + axis + 1, v->strides + axis, after);
    v->shape[axis] = extent;
    v->strides[axis] = stride;
    v->nd.ndim++;
}

void asn_view_permute(asnd_view *v, const int *axes) {
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
    for (int d = 0; d < v->nd.ndim; d++) {
        shape[d] = v->shape[axes[d]];
        strides[d] = v->strides[axes[d]];
    }
    memcpy(v->shape, shape, (size_t)v->nd.ndim * sizeof *shape);
    memcpy(v->strides, strides, (size_t)v->nd.ndim * sizeof *strides);
}

void asn_view_to_front(asnd_view *v, int place, int count) {
    int order[ASN_ND_MAX_DIMS], n = 0;
    for (int d = place; d < place + count; d++)
        order[n++] = d;
    for (int d = 0; d < v->nd.ndim; d++)
        if (d < place || d >= place + count) order[n++] = d;
    asn_view_permute(v, order);
}

void asn_view_swap_last(asnd_view *v) {
    int n = v->nd.ndim, axes[ASN_ND_MAX_DIMS];
    for (int d = 0; d < n; d++)
        axes[d] = d;
    axes[n - 1] = n - 2;
    axes[n - 2] = n - 1;
    asn_view_permute(v, axes);
}

/* Of no elements: the address must not move. */
void asn_view_flip(asnd_view *v, int axis) {
    if (v->shape[axis] > 0) v->nd.data += (v->shape[axis] - 1) * v->strides[axis];
    v->strides[axis] = -v->strides[axis];
}

/* Of no elements, start may lie past the end: the address must not move. */
void asn_view_slice(asnd_view *v, int axis, int64_t start, int64_t count, int64_t step) {
    if (count > 0) v->nd.data += start * v->strides[axis];
    v->shape[axis] = count;
    v->strides[axis] *= step;
}

void asn_view_broadcast(asnd_view *v, int ndim, const int64_t *shape) {
    /* Missing dimensions are in front, of extent 1. */
    while (v->nd.ndim < ndim)
        asn_view_insert(v, 0, 1, 0);
    for (int d = 0; d < ndim; d++) {
        if (v->shape[d] != shape[d]) v->strides[d] = 0;
        v->shape[d] = shape[d];
    }
}

/* Every element along a reduced dimension meets the one result by a stride of 0. */
void asn_view_reduced(asnd_view *v, const asnd_nd *out, uint64_t mask, bool keep,
                      int ndim) {
    asn_view_set(v, out);
    for (int d = 0; d < ndim; d++) {
        if (!(mask >> d & 1)) continue;
        if (!keep) asn_view_insert(v, d, 1, 0);
        v->strides[d] = 0;
    }
}

void asn_view_at_least_1d(asnd_view *v) {
    if (v->nd.ndim == 0) asn_view_insert(v, 0, 1, asn_itemsize(v->nd.dtype));
}

bool asn_nd_broadcasts(const asnd_nd *a, int ndim, const int64_t *shape) {
    if (a->ndim > ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != 1 && a->shape[d] != shape[d + ndim - a->ndim]) return false;
    return true;
}

bool asn_nd_same_shape(const asnd_nd *a, const asnd_nd *b) {
    bool same = a->ndim == b->ndim;
    for (int d = 0; d < a->ndim && same; d++)
        same = a->shape[d] == b->shape[d];
    return same;
}

/* ---- temporaries */

typedef struct block {
    struct block *next;
    asnrtScratch own; /* owner NULL: of the C library, or of the workspace */
    bool lent;        /* of the workspace */
    _Alignas(64) char bytes[];
} block;

/* From the stream's own allocator where it has one; NULL when there is no memory. */
static block *block_new(size_t size) {
    if (asn_alloc_fault()) return NULL;
    asnrtScratch own = {NULL, NULL, NULL};
    block *b;
    /* The program's allocator promises no alignment: 63 bytes more leave room to round
     * up. */
    if (asnrtHooked() && asnrtScratchNew(size + 63, &own)) {
        if (own.data == NULL) return NULL;
        b = (block *)(((uintptr_t)own.data + 63) & ~(uintptr_t)63);
    } else {
        b = aligned_alloc(64, size);
    }
    if (b != NULL) {
        b->own = own;
        b->lent = false;
    }
    return b;
}

/* The next bytes of the workspace; NULL when it has no room for them. */
static block *block_lent(asnd_tmp *tmp, size_t size) {
    char *at = (char *)(((uintptr_t)tmp->room + 63) & ~(uintptr_t)63);
    if (at >= tmp->room_end || (size_t)(tmp->room_end - at) < size) return NULL;
    tmp->room = at + size;
    block *b = (block *)at;
    b->own = (asnrtScratch){NULL, NULL, NULL};
    b->lent = true;
    return b;
}

/* Whole multiples of 64 bytes, as aligned_alloc wants them; the list's newest is
 * first. */
void *asn_tmp_alloc(asnd_tmp *tmp, size_t size) {
    const size_t whole = (sizeof(block) + size + 63) & ~(size_t)63;
    block *b = tmp->room != NULL ? block_lent(tmp, whole) : NULL;
    if (b == NULL) b = block_new(whole);
    if (b == NULL) {
        (void)asn_error_set(ASN_ERR_MEMORY, "no memory for %zu temporary bytes", size);
        return NULL;
    }
    b->next = tmp->blocks;
    tmp->blocks = b;
    return b->bytes;
}

void asn_tmp_free(asnd_tmp *tmp) {
    for (block *b = tmp->blocks; b != NULL;) {
        block *next = b->next;
        if (b->own.owner != NULL) {
            /* The description lies in the block that it frees. */
            const asnrtScratch own = b->own;
            asnrtScratchFree(&own);
        } else if (!b->lent) {
            free(b);
        }
        b = next;
    }
    tmp->blocks = NULL;
}

/* The size is computed without overflow: shapes come from programs. */
asn_status asn_tmp_view(asnd_tmp *tmp, asn_dtype dtype, int ndim, const int64_t *shape,
                        asnd_view *out) {
    int64_t size = asn_itemsize(dtype);
    for (int d = 0; d < ndim; d++)
        if (!asn_mul_size(size, shape[d], &size))
            return asn_error_set(ASN_ERR_MEMORY, "a temporary is too large");
    void *data = asn_tmp_alloc(tmp, (size_t)size);
    if (data == NULL) return ASN_ERR_MEMORY;
    asn_view_plain(out, dtype, ndim, shape, data);
    return ASN_OK;
}

asn_status asn_tmp_as(asnd_tmp *tmp, const asnd_nd *a, asn_dtype dtype, asnd_view *out) {
    if (a->dtype == dtype) {
        asn_view_set(out, a);
        return ASN_OK;
    }
    ASN_TRY(asn_tmp_view(tmp, dtype, a->ndim, a->shape, out));
    return asn_cpu_cast(a, &out->nd, NULL);
}

/* The bytes that a view can touch: [low, high). */
static void extent_of(const asnd_nd *a, uintptr_t *low, uintptr_t *high) {
    *low = (uintptr_t)a->data;
    *high = *low + (uintptr_t)asn_itemsize(a->dtype);
    for (int d = 0; d < a->ndim; d++) {
        int64_t reach = (a->shape[d] - 1) * a->strides[d];
        if (reach < 0) {
            *low -= (uintptr_t)-reach;
        } else {
            *high += (uintptr_t)reach;
        }
    }
}

/* By bounds alone: views that interleave count as meeting. */
bool asn_nds_meet(const asnd_nd *a, const asnd_nd *b) {
    uintptr_t a_low, a_high, b_low, b_high;
    extent_of(a, &a_low, &a_high);
    extent_of(b, &b_low, &b_high);
    return a_low < b_high && b_low < a_high;
}

/* Overlapping views go by way of a copy, in whatever direction they overlap. */
asn_status asn_move(const asnd_nd *dst, const asnd_nd *src) {
    if (asn_nd_size(dst) == 0) return ASN_OK;
    if (!asn_nds_meet(dst, src))
        return dst->dtype == src->dtype ? asn_cpu_copy(dst, src)
                                        : asn_cpu_cast(src, dst, NULL);
    asnd_tmp tmp = {0};
    asnd_view copy;
    asn_status status = asn_tmp_view(&tmp, dst->dtype, src->ndim, src->shape, &copy);
    if (status == ASN_OK)
        status = dst->dtype == src->dtype ? asn_cpu_copy(&copy.nd, src)
                                          : asn_cpu_cast(src, &copy.nd, NULL);
    if (status == ASN_OK) status = asn_cpu_copy(dst, &copy.nd);
    asn_tmp_free(&tmp);
    return status;
}

/* ---- bodies */

/* Temporaries end here, also where the body failed. The run's workspace is taken: an
 * operator that the body runs inside (inner.h) has temporaries while this one's live. */
static asn_status run_planned(aclOpExecutor *e) {
    asnd_tmp tmp = {0};
    if (e->workspace != NULL) {
        tmp.room = e->workspace;
        tmp.room_end = e->workspace + e->workspace_size;
        e->workspace = NULL;
    }
    asn_status status = ((asnd_plan_head *)e->plan)->fn(e, e->plan, &tmp);
    asn_tmp_free(&tmp);
    return status;
}

void *asn_call_plan(asnd_call *c, asnd_body_fn fn, size_t size, double work_ns) {
    asnd_plan_head *plan = asnop_executor_alloc(c->e, size);
    if (plan == NULL) {
        (void)asn_call_no_memory();
        return NULL;
    }
    return asn_call_adopt(c, fn, plan, work_ns) == ASN_OK ? plan : NULL;
}

asn_status asn_call_keep(asnd_call *c, asnd_body_fn fn, const void *plan, size_t size,
                         double work_ns) {
    const size_t head = sizeof(asnd_plan_head);
    char *kept = asn_call_plan(c, fn, size, work_ns);
    if (kept == NULL) return ASN_ERR_MEMORY;
    memcpy(kept + head, (const char *)plan + head, size - head);
    return ASN_OK;
}

asn_status asn_call_adopt(asnd_call *c, asnd_body_fn fn, asnd_plan_head *plan,
                          double work_ns) {
    plan->fn = fn;
    c->e->plan = plan;
    c->e->body = run_planned;
    c->e->work_ns = work_ns;
    return ASN_OK;
}

/* The handle may be another tensor's by now, which its generation tells. A result of more
 * dimensions than the tensor was made with cannot be told. */
void asn_exec_resize(aclOpExecutor *e, int operand, int ndim, const int64_t *shape) {
    const asnd_operand *o = &e->operands[operand];
    asnd_nd result = {NULL, ndim, o->nd.dtype, shape, shape};
    /* An output of the right length is left alone: its aclTensor may be gone by now. */
    if (asn_nd_same_shape(&o->nd, &result)) return;
    aclTensor *t = o->source;
    if (!asnop_alive(ASN_OBJECT_TENSOR, t) || t->member.generation != o->generation)
        return;
    if (ndim > (int)t->ndim) return;
    int64_t stride = 1;
    t->ndim = (uint32_t)ndim;
    for (int d = ndim - 1; d >= 0; d--) {
        t->shape[d] = shape[d];
        t->strides[d] = stride;
        /* As for any tensor, an extent of 0 counts as 1 in strides. */
        stride *= shape[d] > 0 ? shape[d] : 1;
    }
}
