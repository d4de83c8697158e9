/* L2 graph: the shortest path of small operations (see direct.h).
 *
 * What a ten-element operation costs is not its loop (5 ns) but everything around it.
 * Here nothing is described: the loop for an operation and its operands' dtypes is found
 * once and kept in a table (binding.h), and is called with plain addresses. A result's
 * buffer comes with storage from the thread's stock.
 *
 * Order: an operation may run now only if nothing recorded writes its inputs or touches
 * its output, and nothing is queued on the stream. Everything else is the general path's.
 */
#include "graph/small/direct.h"

#include <string.h>

#include "array/broadcast.h"
#include "graph/small/binding.h"
#include "graph/small/small_call.h"
#include "graph/engine.h"
#include "graph/ufunc/ufunc.h"
#include "graph/lock.h"
#include "graph/ufunc/operands.h"
#include "graph/profile_events.h"
#include "graph/ufunc/truth.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "graph/fp.h"
#include "graph/counters.h"

enum { SCRATCH_BYTES = ASN_DIRECT_SCRATCH };

/* ---- memory */

/* Row-major elements whose values are there: they have memory, nothing recorded writes
 * it, and bool elements are canonical. */
static inline bool lies_ready(const asn_array *a) {
    return (a->layout.flags & (ASN_C_CONTIGUOUS | ASN_NONCANONICAL)) ==
               ASN_C_CONTIGUOUS &&
           a->buffer->data && !a->buffer->trace_writes && a->layout.size > 0;
}

/* The same, few enough for this path. */
static inline bool readable(const asn_array *a) {
    return lies_ready(a) && a->layout.size <= ASN_DIRECT_ELEMENTS;
}

/* Host address of element (0, ..., 0) of such an array. */
static inline void *address(const asn_array *a) {
    return (char *)a->buffer->data + a->layout.offset;
}

/* (Contract in direct.h.) For writing, nothing recorded may read it either. */
void *asn_direct_large_memory(const asn_array *a, bool for_write) {
    if (!asn_direct_ready() || !lies_ready(a)) return NULL;
    if (for_write && (a->buffer->trace_refs || !(a->layout.flags & ASN_WRITEABLE)))
        return NULL;
    return address(a);
}

/* (Contract in direct.h.) */
void *asn_direct_memory(const asn_array *a, bool for_write) {
    return a->layout.size <= ASN_DIRECT_ELEMENTS ? asn_direct_large_memory(a, for_write)
                                                 : NULL;
}

/* Row-major over `shape`, with storage. */
static inline bool new_result(asn_array *r, asn_dtype dtype, int ndim,
                              const int64_t *shape, int64_t size, uint8_t flags) {
    asn_layout *l = &r->layout;
    int64_t item = asn_itemsize(dtype), stride = item;
    if (asn_buffer_new(&r->buffer, size * item) != ASN_OK) return false;
    if (!r->buffer->data && asn_buffer_ensure(r->buffer) != ASN_OK) {
        asn_buffer_release(r->buffer);
        return false;
    }
    l->ndim = ndim;
    l->dtype = (uint8_t)dtype;
    l->flags = flags;
    l->size = size;
    l->offset = 0;
    l->shape = l->dims;
    l->strides = l->dims + ASN_INLINE_DIMS;
    for (int d = ndim - 1; d >= 0; d--) {
        l->shape[d] = shape[d];
        l->strides[d] = stride;
        stride *= shape[d];
    }
    return true;
}

/* The flags of a row-major array of l's shape: whether that is column-major too depends
 * on the shape alone, and l is row-major. */
static inline uint8_t fresh_flags(const asn_layout *l) {
    return (uint8_t)((l->flags & (ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS)) | ASN_WRITEABLE |
                     ASN_ALIGNED);
}

/* (Contract in direct.h.) In one dimension an array is row-major and column-major at
 * once. */
bool asn_direct_new(asn_array *result, asn_dtype dtype, int ndim, const int64_t *shape,
                    void **data) {
    int64_t size = 1;
    if (ndim > ASN_INLINE_DIMS) return false;
    for (int d = 0; d < ndim; d++) {
        if (shape[d] <= 0 || shape[d] > ASN_DIRECT_ELEMENTS) return false;
        size *= shape[d];
        if (size > ASN_DIRECT_ELEMENTS) return false;
    }
    if (!asn_direct_ready()) return false;
    uint8_t both = ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS | ASN_WRITEABLE | ASN_ALIGNED;
    if (!new_result(result, dtype, ndim, shape, size, both)) {
        asn_error_clear();
        return false;
    }
    if (ndim > 1) asn_layout_update(&result->layout);
    *data = result->buffer->data;
    return true;
}

/* ---- elementwise */

/* Whether two row-major arrays have one shape. */
static inline bool same_shape(const asn_layout *a, const asn_layout *b) {
    if (a == b) return true;
    if (a->ndim != b->ndim || a->size != b->size) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* Whether `out` can be written by a loop that reads the arrays of `in`. */
static bool out_fits(const asn_array *out, const asn_layout *l, const asn_binding *b,
                     int num_in, const asn_operand *in) {
    const asn_layout *o = &out->layout;
    if (o->dtype != b->result || !(o->flags & ASN_WRITEABLE) || !readable(out) ||
        out->buffer->trace_refs || !same_shape(o, l))
        return false;
    for (int k = 0; k < num_in; k++) {
        const asn_array *a = in[k].array;
        if (a && asn_buffers_alias(a->buffer, out->buffer) &&
            (address(a) != address(out) || asn_itemsize(asn_layout_dtype(&a->layout)) !=
                                               asn_itemsize(asn_layout_dtype(o))))
            return false;
    }
    return true;
}

/* A number as the loop wants it; false when it does not fit. */
static bool immediate(const asn_operand *o, asn_dtype want, asn_scalar *cast,
                      const void **src) {
    asn_status status = ASN_OK;
    *src = o->scalar.bytes;
    if (o->weak == 'i' && asn_is_integer(want)) status = asn_operand_check(o, want);
    if (!status && o->scalar.dtype != want) {
        status = asn_scalar_convert(&o->scalar, want, cast);
        *src = cast->bytes;
    }
    if (status) asn_error_clear();
    return !status;
}

/* Operands of other dtypes are converted on the stack first. */
static __attribute__((noinline)) void run_casting(const asn_binding *b, int num_in,
                                                  int64_t n, void *out, const void **src,
                                                  uint32_t immediates, uint32_t *met) {
    _Alignas(64) char scratch[3][SCRATCH_BYTES];
    for (int k = 0; k < num_in; k++) {
        if (!b->cast[k] || (immediates >> k & 1)) continue;
        const void *from[3] = {src[k]};
        asn_loop_run(b->cast[k], n, scratch[k], from, 0, met);
        src[k] = scratch[k];
    }
    asn_loop_run(b->loop, n, out, src, immediates, met);
}

/* The common layout of the array operands; NULL when they differ or are not ready. */
static inline const asn_layout *common_layout(int num_in, const asn_operand *in,
                                              uint32_t *key) {
    const asn_layout *l = NULL;
    for (int k = 0; k < num_in; k++) {
        const asn_array *a = in[k].array;
        *key |= asn_binding_type(&in[k]) << (5 * k);
        if (!a) continue;
        if (!readable(a) || (l && !same_shape(l, &a->layout))) return NULL;
        l = &a->layout;
    }
    return l && l->ndim <= ASN_INLINE_DIMS ? l : NULL;
}

/* An operation on row-major arrays of one shape, and numbers: no broadcasting. */
static bool call_locked(asn_op op, const asn_operand *in, const asn_array *out,
                        asn_array *result) {
    int num_in = asn_op_table[op].num_in;
    uint32_t key = (uint32_t)op << 15;
    const asn_layout *l = common_layout(num_in, in, &key);
    if (!l || !asn_direct_ready()) return false;
    const asn_binding *b = asn_binding_get(key, op, in);
    if (!b->loop || (b->casts && l->size * 16 > SCRATCH_BYTES)) return false;
    asn_scalar cast[3];
    const void *src[3];
    uint32_t immediates = 0, met = 0;
    for (int k = 0; k < num_in; k++) {
        if (in[k].array) {
            src[k] = address(in[k].array);
            continue;
        }
        /* the general path says what is wrong with the number */
        if (!immediate(&in[k], b->operand[k], &cast[k], &src[k])) return false;
        immediates |= 1u << k;
    }
    if (b->refuses && asn_binding_refuses(b, in[1].array ? l->size : 1, src[1]))
        return false;
    if (out && !out_fits(out, l, b, num_in, in)) return false;
    if (!out &&
        !new_result(result, b->result, l->ndim, l->shape, l->size, fresh_flags(l))) {
        asn_error_clear();
        return false;
    }
    void *dst = out ? address(out) : result->buffer->data;
    uint32_t *sink = asn_fp_sink() ? &met : NULL;
    if (b->casts)
        run_casting(b, num_in, l->size, dst, src, immediates, sink);
    else
        asn_loop_run(b->loop, l->size, dst, src, immediates, sink);
    asn_loop_report(met, op);
    asn_counters.eager++;
    return true;
}

/* ---- operands of different shapes, or not row-major */

/* Elements apart, in row-major order: slices of rows. */
static bool lies_in_order(const asn_layout *l) {
    int64_t least = asn_itemsize(asn_layout_dtype(l));
    for (int d = l->ndim - 1; d >= 0; d--) {
        if (l->shape[d] == 1) continue;
        if (l->strides[d] < least) return false;
        least = l->strides[d] * l->shape[d];
    }
    return true;
}

/* The common shape, when NumPy would lay the result out row-major: all operands lie in
 * order, or the result is 1-d. */
static bool spread_shape(int num_in, const asn_operand *in, int *ndim, int64_t *shape,
                         int64_t *size) {
    const asn_layout *layouts[3];
    int num = 0;
    bool rows = true;
    for (int k = 0; k < num_in; k++) {
        if (!in[k].array) continue;
        const asn_layout *l = &in[k].array->layout;
        if (!asn_direct_materialised(in[k].array) || l->ndim > ASN_INLINE_DIMS ||
            l->size > ASN_SPREAD_ELEMENTS || l->size == 0)
            return false;
        rows = rows && ((l->flags & ASN_C_CONTIGUOUS) || lies_in_order(l));
        layouts[num++] = l;
    }
    if (num == 0) return false;
    if (asn_broadcast_shape(num, layouts, ndim, shape) != ASN_OK) {
        asn_error_clear(); /* the general path says it again */
        return false;
    }
    *size = 1;
    for (int d = 0; d < *ndim; d++)
        *size *= shape[d];
    return *ndim > 0 && *size <= ASN_SPREAD_ELEMENTS && (rows || *ndim == 1);
}

/* Whether what was computed aside may be written to `out`. */
static bool takes_spread(const asn_array *out, const asn_binding *b, int ndim,
                         const int64_t *shape) {
    const asn_layout *o = &out->layout;
    bool same = o->ndim == ndim && o->dtype == b->result;
    for (int d = 0; d < ndim && same; d++)
        same = o->shape[d] == shape[d];
    return same && (o->flags & ASN_WRITEABLE) && asn_direct_materialised(out) &&
           !out->buffer->trace_refs && lies_in_order(o);
}

/* Operands are gathered on the stack, where the result for a strided `out` is made, too.
 */
static __attribute__((noinline)) bool
call_spread(asn_op op, const asn_operand *in, const asn_array *out, asn_array *result) {
    _Alignas(64) char scratch[4][SCRATCH_BYTES];
    int num_in = asn_op_table[op].num_in, ndim;
    int64_t shape[ASN_MAX_DIMS], size;
    uint32_t key = (uint32_t)op << 15, immediates = 0, met = 0;
    asn_scalar cast[3];
    const void *src[3];
    if (!spread_shape(num_in, in, &ndim, shape, &size) || !asn_direct_ready())
        return false;
    for (int k = 0; k < num_in; k++)
        key |= asn_binding_type(&in[k]) << (5 * k);
    const asn_binding *b = asn_binding_get(key, op, in);
    if (!b->loop || b->refuses || (out && !takes_spread(out, b, ndim, shape)))
        return false;
    for (int k = 0; k < num_in; k++) {
        if (!in[k].array) {
            if (!immediate(&in[k], b->operand[k], &cast[k], &src[k])) return false;
            immediates |= 1u << k;
            continue;
        }
        const asn_array *a = in[k].array;
        bool there = a->layout.size == size && (a->layout.flags & ASN_C_CONTIGUOUS);
        if (!there && !asn_direct_stretch(scratch[k], a, ndim, shape, size)) return false;
        src[k] = there ? address(a) : scratch[k];
    }
    uint8_t both = ASN_C_CONTIGUOUS | ASN_F_CONTIGUOUS | ASN_WRITEABLE | ASN_ALIGNED;
    if (!out && !new_result(result, (asn_dtype)b->result, ndim, shape, size, both)) {
        asn_error_clear();
        return false;
    }
    if (!out && ndim > 1) asn_layout_update(&result->layout);
    void *dst = out ? scratch[3] : result->buffer->data;
    uint32_t *sink = asn_fp_sink() ? &met : NULL;
    if (b->casts)
        run_casting(b, num_in, size, dst, src, immediates, sink);
    else
        asn_loop_run(b->loop, size, dst, src, immediates, sink);
    if (out) asn_direct_unspread(out, dst);
    asn_loop_report(met, op);
    asn_counters.eager++;
    return true;
}

/* ---- calls */

/* A call that is timed. Comes back to asn_direct_call, so that the path without is
 * inlined there. */
static _Thread_local bool profiled;

/* Times a call for the profile. */
static ASN_RECORDS bool call_profiled(asn_op op, const asn_operand *in,
                                      const asn_array *out, asn_array *result) {
    uint64_t begin = asn_profile_small_open();
    profiled = true;
    bool done = asn_direct_call(op, in, out, result);
    profiled = false;
    if (!done) return false;
    asn_small_passed -= asn_small_passed > 0; /* it counted itself */
    const asn_layout *l = out ? &out->layout : &result->layout;
    asn_dtype dtype = asn_layout_dtype(l);
    int arrays = 1;
    for (int k = 0; k < asn_op_table[op].num_in; k++)
        if (in[k].array) {
            arrays++;
            dtype = asn_layout_dtype(&in[k].array->layout);
        }
    asn_record_small(begin, op, l->size, dtype, arrays);
    return true;
}

/* (Contract in direct.h.) The two ways are tried one after the other, the cheap one
 * first. */
bool asn_direct_call(asn_op op, const asn_operand *in, const asn_array *out,
                     asn_array *result) {
    if (ASN_PROFILING && asn_profile_take_small() && !profiled)
        return call_profiled(op, in, out, result);
    asn_lock();
    bool done = call_locked(op, in, out, result) || call_spread(op, in, out, result);
    if (ASN_PROFILING) asn_small_passed += done;
    asn_unlock();
    return done;
}

bool asn_direct_scalar(asn_op op, const asn_operand *in, asn_scalar *out) {
    int num_in = asn_op_table[op].num_in;
    if (op == ASN_OP_LDEXP && asn_exponent_is_wide(in)) return false;
    uint32_t key = (uint32_t)op << 15, met = 0;
    const void *src[3];
    asn_scalar cast[3];
    for (int k = 0; k < num_in; k++)
        key |= asn_binding_type(&in[k]) << (5 * k);
    uint64_t begin = asn_small_begin();
    /* No array is read: what is queued does not matter. */
    bool known = asn_direct_since == asn_device_generation || asn_direct_find();
    const asn_binding *b = known ? asn_binding_get(key, op, in) : NULL;
    bool done = b && b->loop && !b->refuses;
    for (int k = 0; k < num_in && done; k++)
        done = immediate(&in[k], (asn_dtype)b->operand[k], &cast[k], &src[k]);
    if (done) {
        out->dtype = b->result;
        asn_loop_run(b->loop, 1, out->bytes, src, 0, asn_fp_sink() ? &met : NULL);
        asn_loop_report(met, op);
        asn_counters.eager++;
    }
    return asn_small_end_op(begin, done, op, 1, b ? (asn_dtype)b->result : ASN_F64,
                            num_in + 1);
}

/* As call_profiled, of a copy. */
static ASN_RECORDS bool copy_profiled(asn_array *result, const asn_array *a,
                                      asn_dtype dtype) {
    uint64_t begin = asn_profile_small_open();
    profiled = true;
    bool done = asn_direct_copy(result, a, dtype);
    profiled = false;
    if (!done) return false;
    asn_small_passed -= asn_small_passed > 0;
    asn_record_small(begin, ASN_OP_COPY, a->layout.size, dtype, 2);
    return done;
}

/* (Contract in direct.h.) A copy in the same dtype is a copy of bytes. */
bool asn_direct_copy(asn_array *result, const asn_array *a, asn_dtype dtype) {
    if (ASN_PROFILING && asn_profile_take_small() && !profiled)
        return copy_profiled(result, a, dtype);
    asn_lock();
    const asn_layout *l = &a->layout;
    const aclnnxLoop *cast = NULL;
    bool same = (asn_dtype)l->dtype == dtype;
    bool done = readable(a) && l->ndim <= ASN_INLINE_DIMS && asn_direct_ready() &&
                (same || (cast = asn_binding_cast((asn_dtype)l->dtype, dtype))) &&
                new_result(result, dtype, l->ndim, l->shape, l->size, fresh_flags(l));
    if (done && same) {
        memcpy(result->buffer->data, address(a), (size_t)(l->size * asn_itemsize(dtype)));
    } else if (done) {
        uint32_t met = 0;
        const void *src[3] = {address(a)};
        asn_loop_run(cast, l->size, result->buffer->data, src, 0,
                     asn_fp_sink() ? &met : NULL);
        asn_loop_report(met, ASN_OP_CAST);
    }
    if (ASN_PROFILING) asn_small_passed += done;
    asn_unlock();
    return done;
}

/* ---- reductions */

const void *asn_direct_converted(const asn_array *a, asn_dtype dtype, void *scratch,
                                 uint32_t *met) {
    const asn_layout *l = &a->layout;
    if (!readable(a) || !asn_direct_ready() ||
        l->size * asn_itemsize(dtype) > SCRATCH_BYTES)
        return NULL;
    if ((asn_dtype)l->dtype == dtype) return address(a);
    const aclnnxLoop *cast = asn_binding_cast((asn_dtype)l->dtype, dtype);
    if (!cast) return NULL;
    const void *src[3] = {address(a)};
    asn_loop_run(cast, l->size, scratch, src, 0, met);
    return scratch;
}

/* (Contract in direct.h.) One loop after a conversion on the stack, where the default
 * dtype asks for one. */
bool asn_direct_reduce(asn_op op, const asn_array *a, asn_scalar *out) {
    _Alignas(64) char scratch[SCRATCH_BYTES];
    uint32_t met = 0;
    uint64_t begin = asn_small_begin();
    uint32_t *sink = asn_fp_sink() ? &met : NULL;
    const asn_binding *b =
        readable(a) && asn_direct_ready() ? asn_binding_fold(op, a) : NULL;
    const void *src[3] = {
        b && b->loop ? asn_direct_converted(a, (asn_dtype)b->result, scratch, sink)
                     : NULL};
    if (src[0]) {
        out->dtype = b->result;
        asn_loop_run(b->loop, a->layout.size, out->bytes, src, 0, sink);
        asn_loop_report(met, op);
        asn_counters.eager++;
    }
    return asn_small_end_op(begin, src[0] != NULL, op, a->layout.size,
                            b ? (asn_dtype)b->result : ASN_F64, 1);
}

/* (Contract in direct.h.) It takes more elements than the others do: nothing is copied,
 * and one pass is short. */
bool asn_direct_arg(const asn_array *a, bool smallest, int64_t *out) {
    uint64_t begin = asn_small_begin();
    const asn_layout *l = &a->layout;
    const aclnnxLoop *loop = NULL;
    if (lies_ready(a) && asn_direct_ready() &&
        l->size <= ACLNNX_LOOP_ARG_BYTES / asn_itemsize(asn_layout_dtype(l)))
        loop = asn_binding_arg(smallest, asn_layout_dtype(l));
    if (loop) {
        const void *src[3] = {address(a)};
        asn_loop_run(loop, l->size, out, src, 0, NULL);
        asn_counters.eager++;
    }
    return asn_small_end_work(begin, loop != NULL, smallest ? "argmin" : "argmax",
                              l->size * asn_itemsize(asn_layout_dtype(l)), 0);
}

/* (Contract in direct.h.) Up to so many rows, one after the other: more of them are
 * worth the device's loop over rows (10 rows of 10 float64: 0.2 us so, 0.6 by it). */
bool asn_direct_arg_rows(asn_array *result, const asn_array *a, bool keepdims,
                         bool smallest) {
    enum { MOST_ROWS = 32 };
    const asn_layout *l = &a->layout;
    const int ndim = keepdims ? l->ndim : l->ndim - 1;
    int64_t shape[ASN_INLINE_DIMS];
    void *data;
    if (ndim < 1 || l->ndim > ASN_INLINE_DIMS || l->size > ASN_DIRECT_ELEMENTS)
        return false;
    const int64_t n = l->shape[l->ndim - 1];
    if (n < 1 || l->size / n > MOST_ROWS) return false;
    memcpy(shape, l->shape, (size_t)l->ndim * sizeof *shape);
    shape[l->ndim - 1] = 1; /* read where it is kept */
    uint64_t begin = asn_small_begin();
    const aclnnxLoop *loop = lies_ready(a) && asn_direct_ready()
                                 ? asn_binding_arg(smallest, asn_layout_dtype(l))
                                 : NULL;
    bool done = loop && asn_direct_new(result, ASN_I64, ndim, shape, &data);
    for (int64_t r = 0; done && r < l->size / n; r++) {
        const void *src[3] = {(char *)address(a) +
                              r * n * asn_itemsize(asn_layout_dtype(l))};
        asn_loop_run(loop, n, (int64_t *)data + r, src, 0, NULL);
    }
    if (done) asn_counters.eager++;
    return asn_small_end_work(begin, done, smallest ? "argmin" : "argmax",
                              asn_layout_nbytes(l), 0);
}
