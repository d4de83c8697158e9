/* CPU device, operators: views and temporaries, the vocabulary of operator bodies.
 *
 * An asn_view is an asn_nd that owns its dimensions, so that a body may drop, insert,
 * move, broadcast them freely. Temporaries belong to an asn_tmp and end with the body.
 */
#ifndef ASN_DEVICE_OPAPI_VIEW_H
#define ASN_DEVICE_OPAPI_VIEW_H

#include "device/cpu/nd.h"
#include "device/opapi/call.h"

typedef struct {
    asn_nd nd; /* shape and strides point into this struct: never copy a view by
                  assignment */
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
} asn_view;

void asn_view_set(asn_view *v, const asn_nd *a);
/* Contiguous, of this shape, at `data`. */
void asn_view_plain(asn_view *v, asn_dtype dtype, int ndim, const int64_t *shape,
                    void *data);
void asn_view_drop(asn_view *v, int axis);
void asn_view_insert(asn_view *v, int axis, int64_t extent, int64_t stride);
void asn_view_permute(asn_view *v, const int *axes); /* new dimension d is old axes[d] */
/* Moves `count` dimensions at `place` to the front. */
void asn_view_to_front(asn_view *v, int place, int count);
void asn_view_swap_last(asn_view *v); /* the last two dimensions: matrices transposed */
void asn_view_flip(asn_view *v, int axis);
/* Rows [start, start + count * step) of the axis; within bounds. */
void asn_view_slice(asn_view *v, int axis, int64_t start, int64_t count, int64_t step);
/* Broadcasts to `shape`: the caller has checked that it fits. */
void asn_view_broadcast(asn_view *v, int ndim, const int64_t *shape);
/* One element long where the mask says, as reductions with kept dimensions have it. */
void asn_view_reduced(asn_view *v, const asn_nd *out, uint64_t mask, bool keep, int ndim);
/* A 0-d view becomes 1-d. */
void asn_view_at_least_1d(asn_view *v);
bool asn_nd_broadcasts(const asn_nd *a, int ndim, const int64_t *shape);
bool asn_nd_same_shape(const asn_nd *a, const asn_nd *b);

/* Whether the bytes that two views can touch meet. */
bool asn_nds_meet(const asn_nd *a, const asn_nd *b);

/* ---- temporaries */

typedef struct asn_tmp {
    void *blocks; /* a list */
} asn_tmp;

/* Uninitialised memory, 64-byte aligned; NULL with the error set. */
void *asn_tmp_alloc(asn_tmp *tmp, size_t size);
void asn_tmp_free(asn_tmp *tmp);
ASN_CHECK_RESULT asn_status asn_tmp_view(asn_tmp *tmp, asn_dtype dtype, int ndim,
                                         const int64_t *shape, asn_view *out);
/* `a` itself when it has the dtype, else a converted temporary. */
ASN_CHECK_RESULT asn_status asn_tmp_as(asn_tmp *tmp, const asn_nd *a, asn_dtype dtype,
                                       asn_view *out);
/* dst[...] = src[...] with conversion; the views may overlap in any way. */
ASN_CHECK_RESULT asn_status asn_move(const asn_nd *dst, const asn_nd *src);

/* ---- bodies: a plan struct starts with asn_plan_head */

typedef asn_status (*asn_body_fn)(aclOpExecutor *e, void *plan, asn_tmp *tmp);

typedef struct {
    asn_body_fn fn;
} asn_plan_head;

/* Memory for the plan in the executor, with its body set; NULL with the error set. */
void *asn_call_plan(asn_call *c, asn_body_fn fn, size_t size, double work_ns);

/* The same for a plan that exists already, at the executor's memory. */
ASN_CHECK_RESULT asn_status asn_call_adopt(asn_call *c, asn_body_fn fn,
                                           asn_plan_head *plan, double work_ns);

/* The operand's view as the body shall use it now. */
static inline const asn_nd *asn_exec_nd(const aclOpExecutor *e, int operand) {
    return &e->operands[operand].nd;
}

/* Tells the program's aclTensor the shape that a data-dependent result turned out to
 * have. */
void asn_exec_resize(aclOpExecutor *e, int operand, int ndim, const int64_t *shape);

#endif
