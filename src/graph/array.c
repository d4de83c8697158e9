/* L2 graph: arrays: making them, sharing them, bringing bytes in and out (see array.h).
 */
#include "graph/array.h"

#include <string.h>

#include "array/views.h"
#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/lock.h"
#include "graph/streams.h"
#include "graph/trace/trace.h"
#include "graph/ufunc/ufunc.h"
#include "runtime/device.h"
#include "runtime/streams/stream.h"
#include "runtime/streams/sync.h"
#include "runtime/streams/uses.h"

static asn_status with_buffer(asn_array *out) {
    asn_status status = asn_buffer_new(&out->buffer, asn_layout_nbytes(&out->layout));
    if (status) asn_layout_fini(&out->layout);
    return status;
}

asn_status asn_array_new(asn_array *out, asn_dtype dtype, int ndim, const int64_t *shape,
                         char order) {
    ASN_TRY(asn_layout_init(&out->layout, dtype, ndim, shape, order));
    return with_buffer(out);
}

asn_status asn_array_new_like(asn_array *out, const asn_array *a, asn_dtype dtype,
                              char order) {
    ASN_TRY(asn_layout_like(&out->layout, &a->layout, dtype, order));
    return with_buffer(out);
}

asn_status asn_array_share(asn_array *out, const asn_array *a) {
    ASN_TRY(asn_layout_copy(&out->layout, &a->layout));
    out->buffer = asn_buffer_retain(a->buffer);
    return ASN_OK;
}

void asn_array_view(asn_array *out, const asn_array *a, asn_layout *view) {
    asn_layout_move(&out->layout, view);
    out->buffer = asn_buffer_retain(a->buffer);
}

asn_status asn_array_range(asn_array *out, const asn_array *a, int axis, int64_t start,
                           int64_t extent) {
    asn_layout l;
    ASN_TRY(asn_view_range(&l, &a->layout, axis, start, extent));
    asn_array_view(out, a, &l);
    return ASN_OK;
}

bool asn_array_distance(const asn_array *a, const asn_array *b, int64_t *bytes) {
    const char *first = a->buffer->data, *second = b->buffer->data;
    *bytes = b->layout.offset - a->layout.offset;
    if (a->buffer == b->buffer) return true;
    *bytes += second - first;
    return first && second;
}

bool asn_array_may_share(const asn_array *a, const asn_array *b) {
    int64_t low[2], high[2], apart;
    if (!asn_array_distance(a, b, &apart)) return false;
    asn_layout_bounds(&a->layout, &low[0], &high[0]);
    asn_layout_bounds(&b->layout, &low[1], &high[1]);
    apart += a->layout.offset - b->layout.offset; /* of the buffers */
    low[1] += apart, high[1] += apart;
    return low[0] < high[1] && low[1] < high[0] && low[0] < high[0] && low[1] < high[1];
}

bool asn_array_is(const asn_array *a, const asn_array *b) {
    const asn_layout *x = &a->layout, *y = &b->layout;
    const size_t bytes = (size_t)x->ndim * sizeof *x->shape;
    return a->buffer == b->buffer && x->dtype == y->dtype && x->offset == y->offset &&
           x->ndim == y->ndim && memcmp(x->shape, y->shape, bytes) == 0 &&
           memcmp(x->strides, y->strides, bytes) == 0;
}

void asn_array_move(asn_array *to, asn_array *from) {
    asn_layout_move(&to->layout, &from->layout);
    to->buffer = from->buffer;
    from->buffer = NULL;
}

/* ---- host memory */

asn_status asn_array_adopt(asn_array *out, asn_layout *layout, void *data, int64_t nbytes,
                           void (*release)(void *), void *context) {
    asn_status status = asn_device_open();
    if (!status && asn_device_host_access()) {
        asn_layout_move(&out->layout, layout);
        status = asn_buffer_adopt(&out->buffer, data, nbytes, release, context);
        if (status) asn_layout_fini(&out->layout);
        return status;
    }
    if (!status)
        status = asn_array_from_host_as(out, asn_layout_dtype(layout), layout->ndim,
                                        layout->shape, layout->strides,
                                        (char *)data + layout->offset, 'K');
    asn_layout_fini(layout);
    if (!status) release(context);
    return status;
}

asn_status asn_array_adopt_device(asn_array *out, asn_layout *layout, void *data,
                                  int64_t nbytes, void (*release)(void *),
                                  void *context) {
    int device = 0;
    asn_status status = asn_device_get(&device);
    if (!status) status = asn_buffer_adopt(&out->buffer, data, nbytes, release, context);
    if (status) {
        asn_layout_fini(layout);
        return status;
    }
    asn_layout_move(&out->layout, layout);
    out->buffer->device = device;
    return ASN_OK;
}

/* Row-major bytes from host memory of any strides. */
static void gather_host(char **to, const char *from, int ndim, const int64_t *shape,
                        const int64_t *strides, int itemsize) {
    if (ndim == 0) {
        memcpy(*to, from, (size_t)itemsize);
        *to += itemsize;
        return;
    }
    for (int64_t i = 0; i < shape[0]; i++)
        gather_host(to, from + i * strides[0], ndim - 1, shape + 1, strides + 1,
                    itemsize);
}

/* Between the host and the device. */
static asn_status cross(void *to, const void *from, size_t bytes, bool to_device) {
    ASN_TRY(asn_device_open()); /* of arrays over host memory it may be closed */
    ASN_ACL_TRY(asn_acl.aclrtMemcpy(to, bytes, from, bytes,
                                    to_device ? ACL_MEMCPY_HOST_TO_DEVICE
                                              : ACL_MEMCPY_DEVICE_TO_HOST),
                to_device ? "copy from host" : "copy to host");
    return ASN_OK;
}

/* Fills the array's memory, which it has from here on, with elements that lie row-major
 * in `packed`. Waits for the streams that use the memory, and for nothing else. */
static asn_status copy_in(asn_array *a, const void *packed) {
    static const char why[] = "memory is filled from the host";
    asn_mark mark;
    ASN_TRY(asn_buffer_ensure(a->buffer));
    if (ASN_CAPTURING && asn_capture_open())
        return asn_capture_upload(a, packed, (size_t)asn_layout_nbytes(&a->layout));
    /* The block may have been another array's, with tasks still reading it. */
    asn_look_begin();
    bool busy = asn_stream_busy;
    asn_look_end();
    if (busy) {
        ASN_TRY(asn_sync_begin(why, &mark));
        asn_lock();
        asn_status status = asn_streams_wait_for(a->buffer, true);
        asn_unlock();
        ASN_TRY(status);
        asn_sync_end(why, mark);
    }
    size_t bytes = (size_t)asn_layout_nbytes(&a->layout);
    return cross(a->buffer->data, packed, bytes, true);
}

/* Copies the source's elements in the order in which `out`, without gaps, has its axes.
 */
static asn_status gather_in(asn_array *out, const asn_layout *source, const void *data) {
    const asn_layout *l = &out->layout;
    int64_t shape[ASN_MAX_DIMS], strides[ASN_MAX_DIMS], steps[ASN_MAX_DIMS];
    for (int d = 0; d < l->ndim; d++) { /* the largest steps first, of equal ones as is */
        int at = d;
        for (; at > 0 && steps[at - 1] < l->strides[d]; at--) {
            steps[at] = steps[at - 1];
            shape[at] = shape[at - 1];
            strides[at] = strides[at - 1];
        }
        steps[at] = l->strides[d];
        shape[at] = l->shape[d];
        strides[at] = source->strides[d];
    }
    char *packed = asn_malloc((size_t)asn_layout_nbytes(l)), *to = packed;
    if (!packed) return ASN_ERR_MEMORY;
    gather_host(&to, data, l->ndim, shape, strides, asn_itemsize(asn_layout_dtype(l)));
    asn_status status = copy_in(out, packed);
    asn_free(packed);
    return status;
}

asn_status asn_array_from_host_as(asn_array *out, asn_dtype dtype, int ndim,
                                  const int64_t *shape, const int64_t *strides,
                                  const void *data, char order) {
    asn_layout source;
    ASN_TRY(asn_layout_init_strided(&source, dtype, ndim, shape, strides, 0, false));
    bool contiguous = asn_layout_contiguous(&source);
    asn_status status = asn_layout_like(&out->layout, &source, dtype,
                                        contiguous && order == 'K' ? 'C' : order);
    if (!status) status = with_buffer(out);
    if (!status && out->layout.size) {
        bool same = contiguous && (out->layout.flags & ASN_C_CONTIGUOUS);
        status = same ? copy_in(out, data) : gather_in(out, &source, data);
        if (status) asn_array_fini(out);
    }
    asn_layout_fini(&source);
    return status;
}

asn_status asn_array_from_host(asn_array *out, asn_dtype dtype, int ndim,
                               const int64_t *shape, const int64_t *strides,
                               const void *data) {
    return asn_array_from_host_as(out, dtype, ndim, shape, strides, data, 'C');
}

/* A source, for a replay. */
typedef struct {
    asn_filling fill;
    void *engine;
    const void *what;
    int64_t n;
} filling;

static asn_status run_filling(const void *context, void *const *memory) {
    const filling *f = context;
    return f->fill(f->engine, f->what, f->n, memory[0]);
}

static asn_status fill_captured(const asn_array *a, const asn_filler *source) {
    void *what = asn_capture_copy(source->what, source->size);
    filling f = {source->fill, source->engine, what, a->layout.size};
    if (!what || (source->keep && !source->keep(what, f.n))) return ASN_ERR_MEMORY;
    const filling *kept = asn_capture_copy(&f, sizeof f);
    if (!kept) return ASN_ERR_MEMORY;
    asn_lock();
    asn_status status = asn_capture_hold(&source->keeper);
    if (!status) status = asn_capture_host("random", run_filling, kept, 0, 1, &a);
    asn_unlock();
    return status;
}

asn_status asn_array_fill(const asn_array *a, const asn_filler *source) {
    void *data;
    if (a->layout.size == 0) return ASN_OK;
    if (asn_capture_open()) return fill_captured(a, source);
    ASN_TRY(asn_device_open());
    if (asn_device_host_access()) {
        ASN_TRY(asn_array_host(a, &data));
        return source->fill(source->engine, source->what, a->layout.size, data);
    }
    data = asn_malloc((size_t)asn_layout_nbytes(&a->layout));
    if (!data) return ASN_ERR_MEMORY;
    asn_array host;
    asn_status status = source->fill(source->engine, source->what, a->layout.size, data);
    if (!status)
        status = asn_array_from_host(&host, (asn_dtype)a->layout.dtype, a->layout.ndim,
                                     a->layout.shape, a->layout.strides, data);
    asn_free(data);
    ASN_TRY(status);
    asn_operand value = {.array = &host};
    status = asn_assign(a, &value, ASN_CASTING_NO, NULL);
    asn_array_fini(&host);
    return status;
}

/* Nothing is recorded or queued that writes the buffer (or, for a writer, reads it). */
static inline bool is_materialised(const asn_buffer *b, bool for_write) {
    asn_look_begin();
    bool yes =
        b->data && !asn_stream_busy && !b->trace_writes && !(for_write && b->trace_refs);
    asn_look_end();
    return yes;
}

/* The host is about to reach the elements: everything that computes them (for_write, also
 * what reads them) runs, and is waited for. */
static asn_status sync_for(const asn_array *a, bool for_write, const char *why) {
    const asn_buffer *b = a->buffer;
    asn_mark mark = ASN_NO_MARK;
    asn_lock();
    asn_status status = ASN_OK;
    if (ASN_CAPTURING)
        status = for_write ? asn_capture_refuse(why) : asn_capture_look(a, why);
    else if (asn_stream_busy || b->trace_writes || (for_write && b->trace_refs) ||
             (asn_device_open() == ASN_OK && !asn_device_host_access()))
        status = asn_sync_begin(why, &mark);
    if (!status) status = asn_trace_materialise(b, for_write);
    if (!status) status = asn_buffer_ensure(a->buffer);
    if (!status) status = asn_streams_wait_for(b, for_write);
    asn_sync_end(why, mark);
    asn_unlock();
    return status;
}

asn_status asn_array_sync(const asn_array *a) {
    if (is_materialised(a->buffer, false)) return ASN_OK;
    return sync_for(a, false, "a result is written to an array of the host");
}

asn_status asn_array_host(const asn_array *a, void **data) {
    if (!is_materialised(a->buffer, true))
        ASN_TRY(sync_for(a, true, "the host reaches for the array's memory"));
    if (!asn_device_host_access())
        return asn_error_set(
            ASN_ERR_TYPE,
            "the array lives on %s, whose memory the host cannot reach; copy "
            "it with to_numpy()",
            asn_device_kind());
    *data = (char *)a->buffer->data + a->layout.offset;
    return ASN_OK;
}

asn_status asn_array_export(const asn_array *a, void **data) {
    ASN_TRY(asn_array_host(a, data));
    asn_look_begin();
    a->buffer->shared = a->buffer->lasting = true;
    asn_look_end();
    return ASN_OK;
}

static asn_buffer *lent(const asn_array *a) {
    asn_lock();
    asn_buffer *loan = asn_buffer_retain(a->buffer);
    asn_buffer_lend(loan);
    asn_unlock();
    return loan;
}

asn_status asn_array_lend(const asn_array *a, void **data, asn_buffer **loan) {
    ASN_TRY(asn_array_host(a, data));
    *loan = lent(a);
    return ASN_OK;
}

asn_status asn_array_lend_device(const asn_array *a, void **data, asn_buffer **loan) {
    if (!is_materialised(a->buffer, true))
        ASN_TRY(sync_for(a, true, "another library reaches for the array's memory"));
    *data = (char *)a->buffer->data + a->layout.offset;
    *loan = lent(a);
    return ASN_OK;
}

void asn_array_take_back(asn_buffer *loan) {
    if (!loan) return;
    asn_lock();
    asn_buffer_take_back(loan);
    asn_buffer_release(loan);
    asn_unlock();
}

void asn_array_take_back_device(asn_buffer *loan) {
    if (!loan) return;
    asn_lock();
    asn_buffer_used_outside(loan);
    asn_buffer_take_back(loan);
    asn_buffer_release(loan);
    asn_unlock();
}

asn_status asn_array_to_host(const asn_array *a, void *dst) {
    if (a->layout.size == 0) return ASN_OK;
    if (!asn_layout_contiguous(&a->layout)) {
        asn_array packed;
        ASN_TRY(asn_copy(&packed, a, asn_layout_dtype(&a->layout), 'C'));
        asn_status status = asn_array_to_host(&packed, dst);
        asn_array_fini(&packed);
        return status;
    }
    if (!is_materialised(a->buffer, false))
        ASN_TRY(sync_for(a, false, "the array is copied to the host"));
    size_t bytes = (size_t)asn_layout_nbytes(&a->layout);
    return cross(dst, (char *)a->buffer->data + a->layout.offset, bytes, false);
}

asn_status asn_array_get_item(const asn_array *a, int64_t byte_offset, asn_scalar *out) {
    if (!is_materialised(a->buffer, false))
        ASN_TRY(sync_for(a, false, "the value of an element is read"));
    const char *from = (const char *)a->buffer->data + a->layout.offset + byte_offset;
    size_t bytes = (size_t)asn_itemsize(asn_layout_dtype(&a->layout));
    out->dtype = a->layout.dtype;
    if (asn_device_host_access()) {
        memcpy(out->bytes, from, bytes);
        return ASN_OK;
    }
    ASN_ACL_TRY(
        asn_acl.aclrtMemcpy(out->bytes, bytes, from, bytes, ACL_MEMCPY_DEVICE_TO_HOST),
        "read an element");
    return ASN_OK;
}

/* By the device, in order with what is recorded. */
static asn_status assign_element(const asn_array *a, int64_t byte_offset,
                                 const asn_scalar *value) {
    asn_layout l;
    asn_array element;
    asn_operand source = {.scalar = *value};
    ASN_TRY(asn_layout_init_strided(&l, asn_layout_dtype(&a->layout), 0, NULL, NULL,
                                    a->layout.offset + byte_offset, true));
    asn_array_view(&element, a, &l);
    asn_status status = asn_assign(&element, &source, ASN_CASTING_UNSAFE, NULL);
    asn_array_fini(&element);
    return status;
}

asn_status asn_array_set_item(const asn_array *a, int64_t byte_offset,
                              const asn_scalar *value) {
    asn_scalar cast;
    ASN_TRY(asn_scalar_convert(value, asn_layout_dtype(&a->layout), &cast));
    if (asn_capture_open()) return assign_element(a, byte_offset, &cast);
    if (!is_materialised(a->buffer, true))
        ASN_TRY(sync_for(a, true, "an element is written from the host"));
    char *to = (char *)a->buffer->data + a->layout.offset + byte_offset;
    size_t bytes = (size_t)asn_itemsize(asn_layout_dtype(&a->layout));
    if (asn_device_host_access()) {
        memcpy(to, cast.bytes, bytes);
        return ASN_OK;
    }
    ASN_ACL_TRY(
        asn_acl.aclrtMemcpy(to, bytes, cast.bytes, bytes, ACL_MEMCPY_HOST_TO_DEVICE),
        "write an element");
    return ASN_OK;
}
