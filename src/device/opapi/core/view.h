/* CPU device, operators: views and temporaries, the vocabulary of operator bodies.
 *
 * An asnd_view is an asnd_nd that owns its dimensions, so that a body may drop, insert,
 * move, broadcast them freely. Temporaries belong to an asnd_tmp and end with the body.
 */
#ifndef ASN_DEVICE_OPAPI_CORE_VIEW_H
#define ASN_DEVICE_OPAPI_CORE_VIEW_H

#include "device/cpu/nd.h"
#include "device/opapi/core/call.h"

typedef struct {
    asnd_nd nd; /* shape and strides point into this struct: never copy a view by
                  assignment */
    int64_t shape[ASN_ND_MAX_DIMS], strides[ASN_ND_MAX_DIMS];
} asnd_view;

/* A view of the same elements. */
void asn_view_set(asnd_view *v, const asnd_nd *a);
/* Contiguous, of this shape, at `data`. */
void asn_view_plain(asnd_view *v, asn_dtype dtype, int ndim, const int64_t *shape,
                    void *data);
/* Dimensions are dropped without a look at their extent: it is 1, or the address is where
 * the caller wants it. */
void asn_view_drop(asnd_view *v, int axis);
void asn_view_insert(asnd_view *v, int axis, int64_t extent, int64_t stride);
void asn_view_permute(asnd_view *v, const int *axes); /* new dimension d is old axes[d] */
/* Moves `count` dimensions at `place` to the front. */
void asn_view_to_front(asnd_view *v, int place, int count);
void asn_view_swap_last(asnd_view *v); /* the last two dimensions: matrices transposed */
/* The same elements, last first. */
void asn_view_flip(asnd_view *v, int axis);
/* Rows [start, start + count * step) of the axis; within bounds. */
void asn_view_slice(asnd_view *v, int axis, int64_t start, int64_t count, int64_t step);
/* Broadcasts to `shape`: the caller has checked that it fits. */
void asn_view_broadcast(asnd_view *v, int ndim, const int64_t *shape);
/* One element long where the mask says, as reductions with kept dimensions have it. */
void asn_view_reduced(asnd_view *v, const asnd_nd *out, uint64_t mask, bool keep,
                      int ndim);
/* A 0-d view becomes 1-d. */
void asn_view_at_least_1d(asnd_view *v);
/* NumPy's rule: `a` stretched over the shape, missing dimensions in front. */
bool asn_nd_broadcasts(const asnd_nd *a, int ndim, const int64_t *shape);
bool asn_nd_same_shape(const asnd_nd *a, const asnd_nd *b);

/* Whether the bytes that two views can touch meet, by their bounds alone: views that
 * interleave count as meeting. */
bool asn_nds_meet(const asnd_nd *a, const asnd_nd *b);

/* ---- temporaries */

typedef struct asnd_tmp {
    void *blocks;          /* a list */
    char *room, *room_end; /* what is left of the run's workspace; NULL: there is none */
} asnd_tmp;

/* Uninitialised memory, 64-byte aligned; NULL with the error set. */
void *asn_tmp_alloc(asnd_tmp *tmp, size_t size);
void asn_tmp_free(asnd_tmp *tmp);
ASN_CHECK_RESULT asn_status asn_tmp_view(asnd_tmp *tmp, asn_dtype dtype, int ndim,
                                         const int64_t *shape, asnd_view *out);
/* `a` itself when it has the dtype, else a converted temporary. */
ASN_CHECK_RESULT asn_status asn_tmp_as(asnd_tmp *tmp, const asnd_nd *a, asn_dtype dtype,
                                       asnd_view *out);
/* dst[...] = src[...] with conversion; the views may overlap in any way. */
ASN_CHECK_RESULT asn_status asn_move(const asnd_nd *dst, const asnd_nd *src);

/* ---- bodies: a plan struct starts with asnd_plan_head */

/* Runs a plan in phase 2; temporaries in *tmp end with it. */
typedef asn_status (*asnd_body_fn)(aclOpExecutor *e, void *plan, asnd_tmp *tmp);

typedef struct {
    asnd_body_fn fn;
} asnd_plan_head;

/* Memory for the plan in the executor, with its body set; NULL with the error set. */
void *asn_call_plan(asnd_call *c, asnd_body_fn fn, size_t size, double work_ns);

/* A copy of a plan of `size` bytes, but for its head. ASN_ERR_MEMORY. */
ASN_CHECK_RESULT asn_status asn_call_keep(asnd_call *c, asnd_body_fn fn, const void *plan,
                                          size_t size, double work_ns);

/* The same for a plan that exists already, at the executor's memory. */
ASN_CHECK_RESULT asn_status asn_call_adopt(asnd_call *c, asnd_body_fn fn,
                                           asnd_plan_head *plan, double work_ns);

/* The operand's view as the body shall use it now. */
static inline const asnd_nd *asn_exec_nd(const aclOpExecutor *e, int operand) {
    return &e->operands[operand].nd;
}

/* Tells the program's aclTensor the shape that a data-dependent result turned out to
 * have. */
void asn_exec_resize(aclOpExecutor *e, int operand, int ndim, const int64_t *shape);

#endif
