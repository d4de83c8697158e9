/* L2 graph: tensors (see tensor.h).
 *
 * Conversions are the device's work: the host's bytes go there as they are, unless the
 * device reads them where they lie. Memory of the pool is aligned to 64 bytes; a stricter
 * descriptor gets more bytes than its elements need, and its first element moves up. */
#include "graph/operators/tensor.h"

#include <string.h>

#include "graph/capture/capture.h"
#include "graph/engine.h"
#include "graph/lock.h"
#include "graph/trace/trace.h"
#include "graph/ufunc/ufunc.h"
#include "runtime/acl_api.h"
#include "runtime/device.h"
#include "runtime/streams/uses.h"
#include "runtime/streams/waits.h"

enum { LEAST_ALIGNMENT = 64, MOST_ALIGNMENT = 4096 };

/* Whether the order is a permutation of the axes. */
static asn_status check_order(const asn_descriptor *d) {
    uint64_t seen = 0;
    for (int i = 0; i < d->ndim; i++) {
        int axis = d->order[i];
        if (axis < 0 || axis >= d->ndim || seen >> axis & 1)
            return asn_error_set(ASN_ERR_VALUE,
                                 "descriptor: the layout names axis %d at place %d; it "
                                 "names each of the %d axes once",
                                 axis, i, d->ndim);
        seen |= (uint64_t)1 << axis;
    }
    return ASN_OK;
}

/* (Contract in tensor.h.) Making the layout checks dtype, shape and size. */
asn_status asn_descriptor_check(const asn_descriptor *d, int64_t *nbytes) {
    asn_layout l;
    if (d->alignment < LEAST_ALIGNMENT || d->alignment > MOST_ALIGNMENT ||
        (d->alignment & (d->alignment - 1)))
        return asn_error_set(ASN_ERR_VALUE,
                             "descriptor: alignment is %lld; it may be a power of two "
                             "from %d to %d",
                             (long long)d->alignment, LEAST_ALIGNMENT, MOST_ALIGNMENT);
    ASN_TRY(asn_layout_init(&l, d->dtype, d->ndim, d->shape, 'C'));
    *nbytes = asn_layout_nbytes(&l);
    asn_layout_fini(&l);
    return check_order(d);
}

/* The descriptor's layout, at offset 0. */
static asn_status layout_of(const asn_descriptor *d, asn_layout *out) {
    int64_t strides[ASN_MAX_DIMS], step = asn_itemsize(d->dtype);
    for (int i = d->ndim - 1; i >= 0; i--) {
        strides[d->order[i]] = step;
        step *= d->shape[d->order[i]] ? d->shape[d->order[i]] : 1;
    }
    return asn_layout_init_strided(out, d->dtype, d->ndim, d->shape, strides, 0, true);
}

/* Moves the first element to a multiple of the alignment, for which there is room. */
static asn_status align(asn_array *a, int64_t alignment) {
    ASN_TRY(asn_buffer_ensure(a->buffer));
    uint64_t past = (uint64_t)(uintptr_t)a->buffer->data & (uint64_t)(alignment - 1);
    a->layout.offset = past ? alignment - (int64_t)past : 0;
    return ASN_OK;
}

/* (Contract in tensor.h.) Buffers begin at multiples of LEAST_ALIGNMENT; for more the
 * block is that much larger, and is taken at once, since only then is its address
 * known. */
asn_status asn_tensor_new(asn_array *out, const asn_descriptor *d) {
    int64_t nbytes;
    ASN_TRY(asn_descriptor_check(d, &nbytes));
    ASN_TRY(layout_of(d, &out->layout));
    asn_status status =
        /* room for the first element to move */
        asn_buffer_new(&out->buffer, nbytes + d->alignment - LEAST_ALIGNMENT);
    if (status) {
        asn_layout_fini(&out->layout);
        return status;
    }
    if (d->alignment > LEAST_ALIGNMENT && nbytes) status = align(out, d->alignment);
    if (status) asn_array_fini(out);
    return status;
}

/* Whether a dead array's memory may be taken: it is the library's own, nothing but the
 * trace and `dead` holds it, and it is large enough. The trace does not count, since it
 * runs in order: what it still reads there is read before the new elements are written.
 */
static asn_status check_dead(const asn_array *dead, int64_t needed) {
    const asn_buffer *b = dead->buffer;
    if (b->release || b->shared)
        return asn_error_set(ASN_ERR_VALUE, "reuse: the host holds the array's memory");
    int32_t holders =
        atomic_load_explicit(&b->refs, memory_order_acquire) - b->trace_refs;
    if (holders > 1)
        return asn_error_set(ASN_ERR_VALUE,
                             "reuse: %d other arrays share the array's memory",
                             holders - 1);
    int64_t room = b->capacity > b->nbytes ? b->capacity : b->nbytes;
    if (needed > room)
        return asn_error_set(ASN_ERR_VALUE,
                             "reuse: the array has %lld bytes of memory; the descriptor "
                             "needs %lld",
                             (long long)room, (long long)needed);
    return ASN_OK;
}

/* (Contract in tensor.h.) Both arrays hold the buffer, which may use all of its block's
 * bytes. */
asn_status asn_tensor_reuse(asn_array *out, const asn_descriptor *d,
                            const asn_array *dead) {
    int64_t needed;
    ASN_TRY(asn_descriptor_check(d, &needed));
    needed += d->alignment - LEAST_ALIGNMENT;
    ASN_TRY(check_dead(dead, needed));
    ASN_TRY(layout_of(d, &out->layout));
    out->buffer = asn_buffer_retain(dead->buffer);
    if (out->buffer->nbytes < needed) out->buffer->nbytes = needed;
    asn_status status = ASN_OK;
    if (d->alignment > LEAST_ALIGNMENT) status = align(out, d->alignment);
    if (status) asn_array_fini(out);
    return status;
}

/* ---- from and to the host */

/* The release of memory that is only lent. */
static void nothing(void *context) {
    (void)context;
}

/* Host memory as an array for the length of a call. */
static asn_status lend(asn_array *out, asn_dtype dtype, int ndim, const int64_t *shape,
                       const int64_t *strides, const void *host) {
    asn_layout l;
    int64_t low, high;
    ASN_TRY(asn_layout_init_strided(&l, dtype, ndim, shape, strides, 0, true));
    asn_layout_bounds(&l, &low, &high);
    l.offset = -low;
    return asn_array_adopt(out, &l, (char *)host + low, high - low, nothing, NULL);
}

/* to[...] = from, as astype converts. */
static asn_status convert(const asn_array *to, const asn_array *from) {
    asn_operand value = {.array = (asn_array *)from};
    return asn_assign(to, &value, ASN_CASTING_UNSAFE, NULL);
}

/* (Contract in tensor.h.) The device has read the host's memory when it returns. */
asn_status asn_tensor_prepare(asn_array *out, const asn_descriptor *d, asn_dtype dtype,
                              const int64_t *strides, const void *host) {
    asn_array source;
    ASN_TRY(asn_tensor_new(out, d));
    asn_status status = ASN_OK;
    if (out->layout.size) {
        status = lend(&source, dtype, d->ndim, d->shape, strides, host);
        if (!status) {
            status = convert(out, &source);
            if (!status) status = asn_array_sync(out);
            asn_array_fini(&source);
        }
    }
    if (status) asn_array_fini(out);
    return status;
}

/* Through memory of the device: converted there, then copied as it lies. */
static asn_status copy_out(const asn_array *a, const asn_descriptor *d, void *host) {
    asn_array made;
    ASN_TRY(asn_tensor_new(&made, d));
    asn_status status = convert(&made, a);
    if (!status) status = asn_array_sync(&made);
    size_t bytes = (size_t)asn_layout_nbytes(&made.layout);
    const char *data = (const char *)made.buffer->data + made.layout.offset;
    int code =
        status ? 0
               : asn_acl.aclrtMemcpy(host, bytes, data, bytes, ACL_MEMCPY_DEVICE_TO_HOST);
    if (code) status = asn_acl_failed(code, "copy to host");
    asn_array_fini(&made);
    return status;
}

/* (Contract in tensor.h.) A device that reaches the host's memory writes there itself. */
asn_status asn_tensor_copy_back(const asn_array *a, const asn_descriptor *d, void *host) {
    asn_layout l;
    int64_t nbytes;
    ASN_TRY(asn_descriptor_check(d, &nbytes));
    ASN_TRY(layout_of(d, &l));
    asn_status status = ASN_OK;
    if (!asn_layout_same_shape(&a->layout, &l)) {
        char got[128], want[128];
        status = asn_error_set(
            ASN_ERR_VALUE, "copy_back: the array has shape %s, the descriptor %s",
            asn_shape_format(got, sizeof got, a->layout.ndim, a->layout.shape),
            asn_shape_format(want, sizeof want, l.ndim, l.shape));
    }
    asn_array target;
    bool direct = asn_device_host_access();
    if (!status && nbytes && direct) {
        status = lend(&target, d->dtype, d->ndim, d->shape, l.strides, host);
        if (!status) {
            status = convert(&target, a);
            if (!status) status = asn_array_sync(&target);
            asn_array_fini(&target);
        }
    } else if (!status && nbytes) {
        status = copy_out(a, d, host);
    }
    asn_layout_fini(&l);
    return status;
}

/* ---- behind the caller */

/* A copy of bytes of an array, from an offset after its first element on. */
typedef struct {
    bool to_device;
    int64_t offset, bytes;
    void *host;
    int priority;
} copying;

/* With the library's lock: what is recorded for the array (and, where it is written, what
 * reads it) is on the stream, and its memory is taken, before the transfer. */
static asn_status submit(asn_dma *q, const asn_array *a, const copying *c,
                         asn_transfer **transfer) {
    ASN_TRY(asn_capture_forbid("a transfer is queued"));
    asn_lock();
    asn_status status = asn_trace_materialise(a->buffer, c->to_device);
    if (!status) status = asn_buffer_ensure(a->buffer);
    if (!status) status = asn_buffer_use(a->buffer, c->to_device);
    if (!status) {
        char *device = (char *)a->buffer->data + a->layout.offset + c->offset;
        status = asn_dma_submit(q, c->to_device, c->host, device, c->bytes, c->priority,
                                transfer);
    }
    asn_unlock();
    return status;
}

/* (Contract in tensor.h.) The array's memory is taken now, so that the transfer knows
 * where to. */
asn_status asn_tensor_send(asn_dma *q, const asn_descriptor *d, void *host, int priority,
                           asn_array *out, asn_transfer **transfer) {
    ASN_TRY(asn_tensor_new(out, d));
    copying all = {true, 0, asn_layout_nbytes(&out->layout), host, priority};
    asn_status status = submit(q, out, &all, transfer);
    if (status) asn_array_fini(out);
    return status;
}

/* (Contract in tensor.h.) With one stream the transfer orders itself. With several the
 * array's memory notes who uses it last, and what the program has recorded so far must be
 * enqueued before, in program order. */
asn_status asn_tensor_order(asn_transfer *transfer, const asn_array *a) {
    if (!asn_stream_many) return asn_transfer_order(transfer);
    asn_lock();
    asn_status status = asn_trace_flush();
    if (!status) status = asn_waits_check_host(asn_queue_active); /* it may wait */
    if (!status) status = asn_transfer_order(transfer);
    if (!status) status = asn_buffer_use(a->buffer, true);
    asn_unlock();
    return status;
}

/* (Contract in tensor.h.) Without gaps the copy is one transfer, and later writes to `a`
 * do not touch it. */
asn_status asn_tensor_fetch(asn_dma *q, const asn_array *a, void *host, int priority,
                            asn_array *kept, asn_transfer **transfer) {
    ASN_TRY(asn_array_new(kept, asn_layout_dtype(&a->layout), a->layout.ndim,
                          a->layout.shape, 'C'));
    asn_status status = convert(kept, a);
    copying all = {false, 0, asn_layout_nbytes(&kept->layout), host, priority};
    if (!status) status = submit(q, kept, &all, transfer);
    if (status) asn_array_fini(kept);
    return status;
}

/* (Contract in tensor.h.) Offsets count bytes of memory, which are the elements' own only
 * where nothing lies between them and the first one comes first. */
asn_status asn_tensor_copy_bytes(asn_dma *q, const asn_array *a, int64_t offset,
                                 void *host, int64_t bytes, bool to_device, int priority,
                                 asn_transfer **transfer) {
    int64_t low, high, room = asn_layout_nbytes(&a->layout);
    asn_layout_bounds(&a->layout, &low, &high);
    if (high - low != room || low != a->layout.offset)
        return asn_error_set(ASN_ERR_VALUE,
                             "copy: the array's elements do not lie one behind the other "
                             "from the first one on");
    if (offset < 0 || bytes < 0 || offset > room || bytes > room - offset)
        return asn_error_set(
            ASN_ERR_VALUE,
            "copy: %lld bytes from byte %lld on of an array that has %lld bytes",
            (long long)bytes, (long long)offset, (long long)room);
    copying c = {to_device, offset, bytes, host, priority};
    return submit(q, a, &c, transfer);
}
